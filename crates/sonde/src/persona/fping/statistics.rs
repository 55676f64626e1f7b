//! Counts and times of each host, and of all.

use measure::unit::Nanos;

/// Counts and times, of a whole run or of a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests whose end is known.
    pub sent: u64,
    /// Replies in time.
    pub received: u64,
    /// The shortest round trip.
    pub shortest: Nanos,
    /// The longest.
    pub longest: Nanos,
    sum: u64,
}

impl Tally {
    fn take(&mut self, time: Nanos) {
        self.sent += 1;
        self.received += 1;
        self.shortest = if self.received == 1 { time } else { self.shortest.min(time) };
        self.longest = self.longest.max(time);
        self.sum = self.sum.saturating_add(time.0);
    }

    /// The mean round trip; absent where there is none.
    pub fn mean(&self) -> Option<Nanos> {
        self.sum.checked_div(self.received).map(Nanos)
    }

    /// Requests without a reply, in the hundred, rounded down.
    pub fn loss(&self) -> u64 {
        ((self.sent - self.received) * 100).checked_div(self.sent).unwrap_or(0)
    }

    /// Replies, in the hundred.
    pub fn returned(&self) -> u64 {
        (self.received * 100).checked_div(self.sent).unwrap_or(0)
    }
}

/// A host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// The name by which it is shown.
    pub shown: String,
    /// Its name as netdata takes one.
    pub id: String,
    /// All of the run.
    pub all: Tally,
    /// Since the last summary.
    pub part: Tally,
    /// The round trip of each request, where they are wanted.
    pub each: Vec<Option<Nanos>>,
}

/// All hosts together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Hosts that answered.
    pub alive: usize,
    /// Names without an address.
    pub unknown: usize,
    /// Waits without a reply.
    pub timeouts: u64,
    /// Requests that left.
    pub sent: u64,
    /// Replies, late ones and second copies among them.
    pub replies: u64,
    /// ICMP errors.
    pub others: u64,
    /// Replies in time.
    pub times: Tally,
}

impl Host {
    /// A host by the name that is shown, and the given one.
    pub fn new(shown: String, given: &str) -> Self {
        let id = given.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
        Self { shown, id, ..Self::default() }
    }

    /// A reply to request `index` came in time.
    pub fn answered(&mut self, index: u32, time: Nanos, keeps: bool) {
        self.all.take(time);
        self.part.take(time);
        self.keep(index, Some(time), keeps);
    }

    /// Request `index` has no reply.
    pub fn lost(&mut self, index: u32, keeps: bool) {
        self.all.sent += 1;
        self.part.sent += 1;
        self.keep(index, None, keeps);
    }

    fn keep(&mut self, index: u32, time: Option<Nanos>, keeps: bool) {
        let place = index as usize;
        if !keeps {
            return;
        }
        if self.each.len() <= place {
            self.each.resize(place + 1, None);
        }
        self.each[place] = time;
    }
}

impl Totals {
    /// A reply came in time.
    pub fn answered(&mut self, time: Nanos) {
        self.replies += 1;
        self.times.take(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_is_absent() {
        let mut host = Host::new("db1".into(), "db1.example");
        assert_eq!((host.all.mean(), host.all.loss(), host.id.as_str()), (None, 0, "db1_example"));
        host.lost(0, true);
        host.answered(2, Nanos(300), true);
        assert_eq!(host.each, [None, None, Some(Nanos(300))]);
        assert_eq!((host.all.mean(), host.all.loss(), host.all.returned()), (Some(Nanos(300)), 50, 50));
        host.part = Tally::default();
        host.answered(3, Nanos(100), false);
        assert_eq!((host.part.shortest, host.all.shortest, host.each.len()), (Nanos(100), Nanos(100), 3));
    }
}
