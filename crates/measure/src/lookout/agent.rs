//! How the agents themselves are: whether they report, and whether their seconds were disturbed.

use serde::{Deserialize, Serialize};

/// Seconds without a report, beyond those that any report takes, after which an agent is silent.
const SILENT: u64 = 10;
/// Seconds that are looked back upon.
const MINUTE: u32 = 60;
/// Seconds that are needed for a share.
const FEWEST: u32 = 20;
/// Share of disturbed seconds from which a host is overloaded, and up to which it no longer is.
const OVERLOADED: (f64, f64) = (0.3, 0.05);

/// One agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// Last second that was reported.
    pub last: Option<u64>,
    /// The last seconds, the latest in the lowest bit: reported, and disturbed.
    reported: u64,
    disturbed: u64,
}

impl Agent {
    /// Takes a second.
    pub fn take(&mut self, second: u64, disturbed: bool) {
        let later = self.last.map_or(64, |last| second.saturating_sub(last));
        let earlier = self.last.map_or(0, |last| last.saturating_sub(second));
        let shift = |bits: u64| bits.checked_shl(u32::try_from(later).unwrap_or(64)).unwrap_or(0);
        (self.reported, self.disturbed) = (shift(self.reported), shift(self.disturbed));
        if let Some(bit) = 1_u64.checked_shl(u32::try_from(earlier).unwrap_or(64)) {
            self.reported |= bit;
            self.disturbed |= if disturbed { bit } else { 0 };
        }
        self.last = self.last.max(Some(second));
    }

    /// Share of the last minute's seconds that were disturbed; absent where too few were reported.
    pub fn disturbed(&self) -> Option<f64> {
        let minute = (1 << MINUTE) - 1;
        let reported = (self.reported & minute).count_ones();
        (reported >= FEWEST).then(|| f64::from((self.disturbed & minute).count_ones()) / f64::from(reported))
    }

    /// Whether its host is overloaded, if it was `before`.
    pub fn is_overloaded(&self, before: bool) -> bool {
        self.disturbed().is_some_and(|share| if before { share > OVERLOADED.1 } else { share >= OVERLOADED.0 })
    }

    /// Whether the machine of these agents is overloaded, if it was `before`: one of them is, and most of them are at least half so.
    pub fn is_machine_overloaded(agents: &[Self], before: bool) -> bool {
        let shares: Vec<f64> = agents.iter().filter_map(Self::disturbed).collect();
        let from = |least: f64| shares.iter().filter(|share| **share >= least).count();
        let most = from(OVERLOADED.0 / 2.0);
        let begins = from(OVERLOADED.0) > 0 && most > 1 && most * 2 >= shares.len();
        if before { shares.iter().any(|share| *share > OVERLOADED.1) } else { begins }
    }

    /// Whether it stopped to report, where it is listened to since `since`.
    pub fn is_silent(&self, now: u64, settle: u64, since: u64) -> bool {
        self.last.is_some_and(|last| last.max(since) + settle + SILENT < now)
    }
}
