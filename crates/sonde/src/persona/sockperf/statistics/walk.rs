//! The walk over the slots of a run in rising order of their numbers.

use std::collections::{BTreeMap, VecDeque};

use crate::persona::sockperf::statistics::latency::Keeper;
use crate::persona::sockperf::statistics::{
    COOL_DOWN_NS, Finding, Observation, Setting, Slot, Statistics, Valid, WARM_UP_NS, Window,
};

/// State of the walk so far.
#[derive(Debug)]
pub(super) struct Walk {
    window: Window,
    /// Departures of the first slot and of the last.
    sent: Option<(u64, u64)>,
    /// Slots that may still turn out to lie in the cool-down: no more than leave in that time.
    held: VecDeque<Slot>,
    received: u64,
    dropped: u64,
    pub(super) duplicated: u64,
    out_of_order: u64,
    /// Number of the first slot that counts, and when it left.
    begin: Option<(u64, u64)>,
    /// Number of the last slot that counts, and when its answer came, or when it left if it was dropped.
    end: Option<(u64, u64)>,
    observations: u64,
    /// Arrival of the answer of each socket's last observation.
    last_received_ns: BTreeMap<u32, u64>,
    kept: Keeper,
}

impl Walk {
    pub(super) fn new(setting: &Setting) -> Self {
        Self {
            window: setting.window,
            sent: None,
            held: VecDeque::new(),
            received: 0,
            dropped: 0,
            duplicated: 0,
            out_of_order: 0,
            begin: None,
            end: None,
            observations: 0,
            last_received_ns: BTreeMap::new(),
            kept: Keeper::new(setting.full_rtt, setting.histogram),
        }
    }

    /// The next slot. A slot that lies before the cool-down even if none follows is settled at once.
    pub(super) fn step(&mut self, slot: Slot, accepted: &mut dyn FnMut(Observation)) {
        let (first, _) = *self.sent.get_or_insert((slot.sent_ns, slot.sent_ns));
        self.sent = Some((first, slot.sent_ns));
        self.received += u64::from(slot.received_ns.is_some());
        self.duplicated += slot.duplicates;
        self.held.push_back(slot);
        let margin = if self.window == Window::Trimmed { COOL_DOWN_NS } else { 0 };
        while let Some(early) = self.held.pop_front_if(|early| early.sent_ns + margin <= slot.sent_ns) {
            if self.is_in_window(&early, first) {
                self.count(&early, accepted);
            }
        }
    }

    /// All slots were seen: those still held left in the cool-down.
    pub(super) fn finish(self) -> Statistics {
        let finding = self.finding();
        let Self { received, dropped, duplicated, out_of_order, .. } = self;
        Statistics { received, dropped, duplicated, out_of_order, finding }
    }

    fn finding(&self) -> Finding {
        let Some((first, last)) = self.sent.filter(|_| self.received > 0) else { return Finding::NothingReceived };
        match (self.kept.latency(), self.begin, self.end) {
            (Some(latency), Some((first, began)), Some((last, ended))) => {
                let run_ns = ended.saturating_sub(began);
                Finding::Valid(Box::new(Valid { run_ns, sent: last - first + 1, latency }))
            }
            _ if self.window == Window::Trimmed && last < first + WARM_UP_NS + COOL_DOWN_NS => Finding::TooShort,
            _ => Finding::NothingValid,
        }
    }

    fn is_in_window(&self, slot: &Slot, first_sent_ns: u64) -> bool {
        match self.window {
            Window::Trimmed => slot.sent_ns >= first_sent_ns + WARM_UP_NS,
            Window::Numbered { first, count } => (first..first + count).contains(&slot.sequence),
            Window::All => true,
        }
    }

    /// Counts a slot of the window: dropped, overtaken, or an observation.
    fn count(&mut self, slot: &Slot, accepted: &mut dyn FnMut(Observation)) {
        let &Slot { socket, sequence, sent_ns, .. } = slot;
        self.begin.get_or_insert((sequence, sent_ns));
        let Some(received_ns) = slot.received_ns else {
            self.dropped += 1;
            // A drop ends the valid duration only where it left after the last answer came.
            if self.end.is_none_or(|(_, ended)| ended < sent_ns) {
                self.end = Some((sequence, sent_ns));
            }
            return;
        };
        let last_received_ns = self.last_received_ns.entry(socket).or_default();
        if received_ns < *last_received_ns {
            self.out_of_order += 1;
            return;
        }
        *last_received_ns = received_ns;
        accepted(Observation { index: self.observations, sent_ns, received_ns });
        self.observations += 1;
        let ended = self.end.map_or(received_ns, |(_, ended)| ended.max(received_ns));
        self.end = Some((sequence, ended));
        self.kept.keep(received_ns.saturating_sub(sent_ns));
    }
}
