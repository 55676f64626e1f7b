//! The state of agents: reports that come or do not, and their punctuality.

use serde::{Deserialize, Serialize};

use super::slot::SLOT;

/// Seconds without a report, beyond those that any report takes, after which an agent is silent.
const SILENT: u64 = 10;
/// Seconds that are looked back upon.
const MINUTE: u32 = 60;
/// Seconds that are needed for a share.
const FEWEST: u32 = 20;
/// Share of disturbed seconds from which a host is overloaded, and up to which it no longer is.
const OVERLOADED: (f64, f64) = (0.3, 0.05);

/// Punctuality of an agent in a second. A delay by its own host looks like one by the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Punctuality {
    /// All left when it was due.
    #[default]
    Punctual,
    /// Some requests left late: as many replies may have been late too, which hides a tail and makes one, and moves no median.
    SomeLate,
    /// Enough requests left late, or enough replies were dropped, that nothing of the second is the network's for sure.
    Disturbed,
}

/// Punctuality in each second of a slot.
pub type Own = [Punctuality; SLOT as usize];

/// One agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// Last second that was reported.
    pub last: Option<u64>,
    /// The last seconds, the latest in the lowest bit: reported, disturbed, and those with late requests, which the disturbed are too.
    reported: u64,
    disturbed: u64,
    #[serde(default)]
    late: u64,
}

impl Agent {
    /// Takes a second.
    pub fn take(&mut self, second: u64, own: Punctuality) {
        let later = self.last.map_or(64, |last| second.saturating_sub(last));
        let earlier = self.last.map_or(0, |last| last.saturating_sub(second));
        let shift = |bits: u64| bits.checked_shl(u32::try_from(later).unwrap_or(64)).unwrap_or(0);
        for seconds in [&mut self.reported, &mut self.disturbed, &mut self.late] {
            *seconds = shift(*seconds);
        }
        if let Some(bit) = 1_u64.checked_shl(u32::try_from(earlier).unwrap_or(64)) {
            self.reported |= bit;
            self.disturbed |= if own == Punctuality::Disturbed { bit } else { 0 };
            self.late |= if own == Punctuality::Punctual { 0 } else { bit };
        }
        self.last = self.last.max(Some(second));
    }

    /// Punctuality in the slot that begins with the second `first`; a second that is not remembered counts as punctual.
    pub fn slot(&self, first: u64) -> Own {
        std::array::from_fn(|second| {
            let back = self.last.and_then(|last| last.checked_sub(first + second as u64));
            let was = |of: u64| back.and_then(|back| of.checked_shr(u32::try_from(back).ok()?)).unwrap_or(0) & 1 == 1;
            match (was(self.disturbed), was(self.late)) {
                (true, _) => Punctuality::Disturbed,
                (false, true) => Punctuality::SomeLate,
                (false, false) => Punctuality::Punctual,
            }
        })
    }

    /// Share of the last minute's seconds that were disturbed; absent where too few were reported.
    pub fn disturbed(&self) -> Option<f64> {
        let minute = (1 << MINUTE) - 1;
        let reported = (self.reported & minute).count_ones();
        (reported >= FEWEST).then(|| f64::from((self.disturbed & minute).count_ones()) / f64::from(reported))
    }

    /// Returns true where its host is overloaded; `before` says that it was until now.
    pub fn is_overloaded(&self, before: bool) -> bool {
        self.disturbed().is_some_and(|share| if before { share > OVERLOADED.1 } else { share >= OVERLOADED.0 })
    }

    /// Returns true where the machine of these agents is overloaded. It begins where one agent is, and at least half of
    /// all, two or more, are at least half so. Where it was overloaded `before`, one agent above the lower limit is
    /// enough.
    pub fn is_machine_overloaded(agents: &[Self], before: bool) -> bool {
        let shares: Vec<f64> = agents.iter().filter_map(Self::disturbed).collect();
        let from = |least: f64| shares.iter().filter(|share| **share >= least).count();
        let most = from(OVERLOADED.0 / 2.0);
        let begins = from(OVERLOADED.0) > 0 && most > 1 && most * 2 >= shares.len();
        if before { shares.iter().any(|share| *share > OVERLOADED.1) } else { begins }
    }

    /// Returns true where it stopped reporting; it has been listened to since `since`.
    pub fn is_silent(&self, now: u64, settle: u64, since: u64) -> bool {
        self.last.is_some_and(|last| last.max(since) + settle + SILENT < now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_remembered_in_whatever_order_they_come() {
        use Punctuality::{Disturbed, Punctual, SomeLate};
        let mut agent = Agent::default();
        assert_eq!(agent.slot(0), [Punctual; 5]);
        for (second, own) in [(107, Punctual), (101, SomeLate), (106, Disturbed)] {
            agent.take(second, own);
        }
        assert_eq!(agent.slot(100), [Punctual, SomeLate, Punctual, Punctual, Punctual]);
        assert_eq!(agent.slot(105), [Punctual, Disturbed, Punctual, Punctual, Punctual]);
        // After more than a minute it is forgotten.
        agent.take(171, Punctual);
        assert_eq!(agent.slot(105), [Punctual; 5]);
    }
}
