//! Counts of the streams of one session, and the CPU use of the host during them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use protocol::native::stream::{HostCpu, Told};

use crate::cpu_usage::{Snapshot, Usage};

/// Kept by the session, written by each thread at its beginning and its end.
#[derive(Debug, Default)]
pub struct Tally(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    told: Vec<Option<Told>>,
    first: Option<Snapshot>,
    last: Option<Snapshot>,
}

impl Tally {
    /// An empty tally of `flows` flows.
    pub fn new(flows: u32) -> Self {
        Self(Mutex::new(State { told: vec![None; flows as usize], ..State::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A stream is about to begin.
    pub fn begin(&self) {
        let state = &mut *self.state();
        if state.first.is_none() {
            state.first = Snapshot::take();
        }
    }

    /// The stream of `flow` is over.
    pub fn end(&self, flow: u16, told: Told) {
        let state = &mut *self.state();
        state.last = Snapshot::take();
        if let Some(place) = state.told.get_mut(usize::from(flow)) {
            *place = Some(told);
        }
    }

    /// Octets that went over each flow whose stream is over, warm-up included.
    pub fn octets(&self) -> Vec<u64> {
        let of = |told: &Told| told.stream.carried.bytes.0.saturating_add(told.omitted.bytes.0);
        self.state().told.iter().map(|told| told.as_ref().map_or(0, of)).collect()
    }

    /// Counts of each flow, and the CPU use of the host from the first start to the last end; absent where not known.
    pub fn all(&self) -> (Vec<Told>, Option<HostCpu>) {
        let state = self.state();
        let silent = || Told { trouble: Some("it never began, or did not end in time".to_owned()), ..Told::default() };
        let told = state.told.iter().map(|told| told.clone().unwrap_or_else(silent)).collect();
        let usage = state.first.as_ref().zip(state.last.as_ref()).and_then(|(first, last)| last.since(first));
        (told, usage.map(host_cpu))
    }
}

/// In the words of the protocol.
pub fn host_cpu(usage: Usage) -> HostCpu {
    HostCpu {
        busy_share: usage.busy_share,
        user_share: usage.user_share,
        system_share: usage.system_share,
        irq_share: usage.irq_share,
        softirq_share: usage.softirq_share,
        most_softirq_share: usage.most_softirq_share,
        cpus: usage.cpus,
        busiest: usage.busiest,
        busiest_share: usage.busiest_share,
    }
}
