//! Search for the largest packet that reaches the host: the sizes to try, and the conclusion from their results.
//!
//! The first size is the interface's MTU, which nearly always passes or is answered by a hop that tells the size of its link
//! (RFC 1191, RFC 8201). Where nobody tells, sizes are halved between the largest that passed and the smallest that did not
//! (as RFC 8899 does). Sizes are those of whole IP packets. Nothing here sends or waits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The largest packet that gets there and back without being cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "found", rename_all = "kebab-case")]
pub enum MtuFinding {
    /// As large as the interface takes.
    Whole {
        /// Bytes of the packet.
        bytes: u32,
    },
    /// Smaller, and a hop says so of larger ones, as it must.
    Told {
        /// Bytes of the packet.
        bytes: u32,
        /// The hop.
        by: Option<String>,
    },
    /// Smaller, and larger ones vanish without a word: connections that need them hang.
    Hole {
        /// Bytes of the largest packet that passed.
        bytes: u32,
        /// Bytes of the smallest that vanished.
        vanishing_bytes: u32,
    },
    /// Not found out.
    NotFound {
        /// Reason why no size was found.
        why: String,
    },
}

/// Failure of a size: reported by an ICMP error, or silent.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fail {
    Told { mtu: Option<u32>, by: Option<String> },
    Vanished,
}

/// The search.
#[derive(Clone, Debug)]
pub struct MtuSearch {
    /// MTU of the interface, bytes.
    largest: u32,
    passed: u32,
    failed: BTreeMap<u32, Fail>,
}

/// The largest packet that an IP header can tell of, bytes; loopback's MTU is beyond.
pub const LARGEST: u32 = 65_535;

impl MtuSearch {
    /// Begins a search up to the interface's MTU, where a packet of `passed` bytes is known to get there.
    pub fn new(interface: u32, passed: u32) -> Self {
        Self { largest: interface.min(LARGEST), passed, failed: BTreeMap::new() }
    }

    /// The size to try next; `None`: it is found.
    ///
    /// ```
    /// use measure::reach::mtu::{MtuFinding, MtuSearch};
    /// let mut search = MtuSearch::new(1_500, 84);
    /// while let Some(size) = search.next() {
    ///     if size <= 1_372 { search.passes(size) } else { search.vanishes(size) }
    /// }
    /// assert_eq!(search.finding(), MtuFinding::Hole { bytes: 1_372, vanishing_bytes: 1_373 });
    /// ```
    pub fn next(&self) -> Option<u32> {
        if self.passed >= self.largest {
            return None;
        }
        let Some((size, fail)) = self.failure() else { return Some(self.largest) };
        match fail {
            Fail::Told { mtu: Some(mtu), .. } if *mtu == self.passed => None,
            Fail::Told { mtu: Some(mtu), .. } if (self.passed + 1..*size).contains(mtu) => Some(*mtu),
            _ if self.passed + 1 >= *size => None,
            _ => Some(self.passed + (size - self.passed) / 2),
        }
    }

    /// A packet of `size` bytes got there, now or late.
    pub fn passes(&mut self, size: u32) {
        self.passed = self.passed.max(size);
    }

    /// A hop says that `size` bytes are too many for its link, and perhaps which MTU that has.
    pub fn told(&mut self, size: u32, mtu: Option<u32>, by: Option<String>) {
        self.failed.insert(size, Fail::Told { mtu, by });
    }

    /// Nothing came of `size` bytes, in all tries.
    pub fn vanishes(&mut self, size: u32) {
        self.failed.insert(size, Fail::Vanished);
    }

    /// Returns the size to try once more before anybody is accused: the one that would make it a hole.
    pub fn in_doubt(&self) -> Option<u32> {
        match self.finding() {
            MtuFinding::Hole { vanishing_bytes, .. } => Some(vanishing_bytes),
            _ => None,
        }
    }

    /// Returns the result so far.
    pub fn finding(&self) -> MtuFinding {
        let bytes = self.passed;
        match self.failure() {
            _ if bytes >= self.largest => MtuFinding::Whole { bytes },
            Some((_, Fail::Told { by, .. })) => MtuFinding::Told { bytes, by: by.clone() },
            Some((size, Fail::Vanished)) => MtuFinding::Hole { bytes, vanishing_bytes: *size },
            None => MtuFinding::NotFound { why: "no size was tried".into() },
        }
    }

    /// Returns the smallest size that failed above the one that passed: a late reply overrides an earlier failure.
    fn failure(&self) -> Option<(&u32, &Fail)> {
        self.failed.range(self.passed + 1..).next()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Runs `search` over links of these MTUs, of which those that are `mute` tell nothing.
    fn over(links: &[(u32, bool)], interface: u32) -> (MtuFinding, usize) {
        let mut search = MtuSearch::new(interface, 84);
        let mut steps = 0;
        while let Some(size) = search.next() {
            steps += 1;
            assert!(steps < 40, "it ends");
            match links.iter().find(|(mtu, _)| size > *mtu) {
                None => search.passes(size),
                Some((_, true)) => search.vanishes(size),
                Some((mtu, false)) => search.told(size, Some(*mtu), Some(format!("hop of {mtu}"))),
            }
        }
        (search.finding(), steps)
    }

    #[test]
    fn an_honest_path_takes_one_step_per_link() {
        assert_eq!(over(&[(9_000, false)], 1_500), (MtuFinding::Whole { bytes: 1_500 }, 1));
        let told = |bytes: u32| MtuFinding::Told { bytes, by: Some(format!("hop of {bytes}")) };
        assert_eq!(over(&[(1_400, false), (1_300, false)], 1_500), (told(1_300), 3));
    }

    #[test]
    fn a_hole_behind_an_honest_hop_is_a_hole() {
        let (finding, _) = over(&[(1_400, false), (1_300, true)], 1_500);
        assert_eq!(finding, MtuFinding::Hole { bytes: 1_300, vanishing_bytes: 1_301 });
    }

    #[test]
    fn a_hop_that_tells_no_mtu_is_searched() {
        let mut search = MtuSearch::new(1_500, 84);
        while let Some(size) = search.next() {
            if size > 1_006 { search.told(size, None, None) } else { search.passes(size) }
        }
        assert_eq!(search.finding(), MtuFinding::Told { bytes: 1_006, by: None });
    }

    #[test]
    fn a_late_reply_turns_the_accusation_over() {
        let mut search = MtuSearch::new(1_500, 84);
        search.vanishes(1_500);
        search.passes(1_499);
        assert_eq!(search.in_doubt(), Some(1_500));
        search.passes(1_500);
        assert_eq!((search.finding(), search.in_doubt()), (MtuFinding::Whole { bytes: 1_500 }, None));
    }

    proptest! {
        #[test]
        fn the_smallest_link_is_found(
            links in prop::collection::vec((85_u32..70_000, any::<bool>()), 1..5), interface in 576_u32..66_000,
        ) {
            let smallest = links.iter().map(|(mtu, _)| *mtu).min().unwrap_or(0).min(interface).min(LARGEST);
            let (finding, steps) = over(&links, interface);
            let bytes = match &finding {
                MtuFinding::Whole { bytes } | MtuFinding::Told { bytes, .. } | MtuFinding::Hole { bytes, .. } => *bytes,
                MtuFinding::NotFound { .. } => 0,
            };
            prop_assert_eq!(bytes, smallest, "{:?}", finding);
            prop_assert!(steps <= 24, "{} steps", steps);
        }

        #[test]
        fn a_hop_that_tells_nonsense_does_not_make_it_endless(told in prop::collection::vec(any::<Option<u32>>(), 60)) {
            let mut search = MtuSearch::new(1_500, 84);
            let mut lies = told.into_iter();
            let mut steps = 0;
            while let Some(size) = search.next() {
                search.told(size, lies.next().flatten(), None);
                steps += 1;
                prop_assert!(steps < 1_500);
            }
        }
    }
}
