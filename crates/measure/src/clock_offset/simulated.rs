//! Exchanges whose truth is known: drawn here, apart from the analysis that they test. Our clock is the true one.

use fastrand::Rng;

use super::{FourTimes, Gathered};

/// A path, two clocks, and when exchanges leave.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Initial lead of the far clock, ns.
    pub offset: i64,
    /// Drifts of the far clock: each from an instant since the beginning, in parts per million gained.
    pub drifts: Vec<(u64, f64)>,
    /// Settings of the far clock: each at an instant since the beginning, by so many ns.
    pub steps: Vec<(u64, i64)>,
    /// The shortest delay there: from an instant on, so many ns.
    pub forward: Vec<(u64, u64)>,
    /// The shortest delay back.
    pub reverse: u64,
    /// Mean delay that queues add, each way.
    pub queue: f64,
    /// From one departure to the next.
    pub interval: u64,
    /// Number of exchanges.
    pub count: u64,
    /// The far side writes whole so manies of nanoseconds, cut off.
    pub grain: u64,
}

/// Beginning, ns since 1970.
pub const BEGIN: u64 = 1_790_000_000_000_000_000;

impl Scene {
    /// A hundred a second for ten seconds, 200 us there and 300 us back, with queues; clocks that agree.
    pub fn usual() -> Self {
        Self {
            offset: 0,
            drifts: vec![(0, 0.0)],
            steps: Vec::new(),
            forward: vec![(0, 200_000)],
            reverse: 300_000,
            queue: 100_000.0,
            interval: 10_000_000,
            count: 1_000,
            grain: 1,
        }
    }

    /// Returns the lead of the far clock at an instant, ns.
    pub fn ahead(&self, at: u64) -> f64 {
        let since = at - BEGIN;
        let ends = self.drifts.iter().skip(1).map(|drift| drift.0).chain([u64::MAX]);
        let drifted = self.drifts.iter().zip(ends).map(|(&(begin, ppm), end)| {
            let span = since.min(end).saturating_sub(begin);
            span as f64 * ppm / 1e6
        });
        let set = self.steps.iter().filter(|step| since >= step.0).map(|step| step.1 as f64);
        self.offset as f64 + drifted.sum::<f64>() + set.sum::<f64>()
    }

    fn far(&self, at: u64) -> u64 {
        let reading = at.saturating_add_signed(self.ahead(at).round() as i64);
        reading - reading % self.grain
    }

    /// The exchanges, and the true delay there of each.
    pub fn play(&self, seed: u64) -> (Gathered, Vec<u64>) {
        let mut rng = Rng::with_seed(seed);
        let mut queued = |shortest: u64| {
            // Now and then a burst is in front.
            let burst = if rng.u32(0..50) == 0 { 30.0 } else { 1.0 };
            shortest + (-(1.0 - rng.f64()).ln() * self.queue * burst) as u64
        };
        let (mut gathered, mut forwards) = (Gathered::default(), Vec::new());
        for number in 0..self.count {
            let sent = BEGIN + number * self.interval;
            let shortest = self.forward.iter().rev().find(|from| sent - BEGIN >= from.0).map_or(0, |from| from.1);
            let forward = queued(shortest);
            let arrived = sent + forward;
            let left = arrived + 4_000;
            let came = left + queued(self.reverse);
            gathered.add(FourTimes { sent, received: self.far(arrived), left: self.far(left), came });
            forwards.push(forward);
        }
        (gathered, forwards)
    }
}
