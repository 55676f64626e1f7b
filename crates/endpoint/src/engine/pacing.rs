//! Waits for a scheduled send time as the method says: asleep, spinning, or asleep until shortly before.

use measure::method::Pacing;
use measure::unit::Instant;
use protocol::link::Link;

use super::edge::Edges;
use crate::pace::Margin;
use crate::stop::GLANCE;

/// Waits for scheduled times in a loop that has no request in flight.
#[derive(Clone, Debug)]
pub struct Pacer {
    pacing: Pacing,
    margin: Margin,
}

impl Pacer {
    /// A pacer of this kind.
    pub fn new(pacing: Pacing) -> Self {
        Self { pacing, margin: Margin::default() }
    }

    /// Returns the time at which sleeping for a send at `due` ends and spinning starts.
    #[inline]
    pub fn wake(&self, due: Instant) -> Instant {
        match self.pacing {
            Pacing::Sleep => due,
            Pacing::Hybrid => due.before(self.margin.now()),
            Pacing::Spin => Instant(0),
        }
    }

    /// A sleep that was to end at `wake` ended at `now`.
    #[inline]
    pub fn woke(&mut self, wake: Instant, now: Instant) {
        if let (Pacing::Hybrid, Some(late)) = (self.pacing, now.since(wake)) {
            self.margin.woke(late);
        }
    }

    /// Waits until `due`, or until an edge is due before it. Returns the clock's latest reading.
    pub fn keep<L: Link>(&mut self, link: &mut L, due: Instant, edges: &Edges) -> Instant {
        let mut now = link.now();
        let wake = self.wake(due);
        // In steps, so that a long interval does not keep the thread from looking up.
        while now < wake && !edges.due(now) {
            let step = wake.min(now.after(GLANCE));
            link.idle(step);
            now = link.now();
            if step == wake {
                self.woke(wake, now);
            }
        }
        while now < due && now >= wake && !edges.due(now) {
            link.spin(due);
            now = link.now();
        }
        now
    }
}
