//! The search for the highest rate that meets a condition, one probe after the other.
//!
//! First upward from a start, each rate a fixed multiple of the one before, until one does not meet it; then by halves
//! of the interval, in the logarithm of the rate, until its ends are as near as asked; then both ends are probed again
//! until enough probes of each agree. A verdict that changes when it is repeated is settled by majority, and where that
//! turns an end over the search goes on from what is left. The next rate follows from the verdicts so far and from
//! nothing else: nothing here sends, waits or draws lots.
//!
//! The result is a bracket: the highest rate that met the condition with none below it that did not, and the lowest
//! that did not. A path whose verdict is not the same above and below one rate has no such rate; its probes show it.
//!
//! [`condition`] judges the probe of a rate.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::search::condition::Verdict;
use crate::unit::Rate;

pub mod condition;
pub mod seen;

/// Values for settings that were not given.
pub mod default {
    use crate::unit::Nanos;

    /// Width of the bracket: its ends differ by at most 2 %, about as much as runs on one machine differ.
    pub const WIDTH: f64 = 0.02;
    /// Probes that must agree at each end: best of five.
    pub const AGREEING: u32 = 3;
    /// Probes at most. A search takes some 20 of them where each verdict stands.
    pub const PROBES: u32 = 60;
    /// First rate, messages per second: low enough for any path, 10 doublings below a million.
    pub const START_PER_S: u64 = 1_000;
    /// Length of a probe. An overload of the bracket's width adds this times the width to a queue, 40 ms at 2 %: it is
    /// seen where queues are shorter, or where a time is asked for.
    pub const LENGTH: Nanos = Nanos::secs(2);
}

/// On the way up each rate is so many times the one before.
const FACTOR: f64 = 2.0;
/// On the way down each is the one before over so much: probes get longer there, where a condition needs many messages.
const DOWNWARD: f64 = 4.0;
/// Probes at one rate that our own side's lateness may spoil ([`Verdict::Bunched`]) before it is taken as not reaching it.
const SPOILT: u32 = 12;
/// Verdicts that must agree on the first rate that does not meet the condition, before the interval below it is halved: a
/// single disturbance far below would cost a whole search there.
const AGREEING_BEFORE_HALVING: u32 = 2;

/// Where is searched, and how surely.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bounds {
    /// The first rate probed, messages per 1000 seconds.
    pub start_per_1000s: Rate,
    /// No rate below this is probed, messages per 1000 seconds.
    pub lowest_per_1000s: Rate,
    /// No rate above this is probed, messages per 1000 seconds.
    pub highest_per_1000s: Rate,
    /// Largest relative width of the bracket: the ratio of its ends is at most 1 plus this share.
    pub width: f64,
    /// Number of probes that must agree at each end; of up to twice as many less one the majority counts.
    pub agreeing: u32,
    /// Number of probes at most.
    pub probes: u32,
}

/// Reason to refuse bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoundsError {
    /// The start is not between lowest and highest.
    #[error("the search starts outside its bounds: start between the lowest and the highest rate")]
    Start,
    /// No sensible width.
    #[error("the width must be from 0.1% to 100%")]
    Width,
    /// Too few probes.
    #[error("too few probes: at least 10 are needed, and twice as many as must agree")]
    Probes,
}

/// Verdicts on one rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tally {
    /// Number of probes that met the condition.
    pub met: u32,
    /// Number of probes that did not.
    pub missed: u32,
    /// Number of those missed probes that our own side caused.
    pub ours: u32,
    /// Number of inconclusive probes: our own side sent the lost messages in bunches.
    #[serde(default, skip_serializing_if = "is_none")]
    pub bunched: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form serde asks for")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

impl Tally {
    fn take(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Met => self.met += 1,
            Verdict::Missed | Verdict::TooFew => self.missed += 1,
            Verdict::Bunched if self.bunched < SPOILT => self.bunched += 1,
            Verdict::OurSide | Verdict::Bunched => {
                self.missed += 1;
                self.ours += 1;
            }
        }
    }

    /// Returns true where any probe was conclusive.
    fn told(self) -> bool {
        self.met + self.missed > 0
    }

    /// Returns true where it meets the condition by majority; a draw does not.
    fn holds(self) -> bool {
        self.met > self.missed
    }

    fn majority(self) -> u32 {
        self.met.max(self.missed)
    }

    /// Returns true where verdicts differ and have to be settled by further probes, or where there is none yet.
    fn is_open(self, agreeing: u32) -> bool {
        !self.told() || self.met > 0 && self.missed > 0 && self.majority() < agreeing
    }
}

/// One end of a bracket.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct End {
    /// The rate, messages per 1000 seconds.
    pub rate_per_1000s: Rate,
    /// Verdicts on it, number of probes.
    pub tally: Tally,
    /// True where as many probes as have to agree do.
    pub confirmed: bool,
}

impl End {
    /// Returns true where our own side did not reach this rate, in more than half of the probes that missed it.
    pub fn is_ours(&self) -> bool {
        2 * self.tally.ours > self.tally.missed
    }

    /// Returns true where the search gave up probing it, because our own side was late and so many probes were inconclusive: its
    /// verdict then rests on few.
    pub fn is_spoilt(&self) -> bool {
        self.tally.bunched >= SPOILT
    }
}

/// Between which rates the condition ceases to be met.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bracket {
    /// The highest rate that met it, with none below that did not; absent where none did.
    pub met: Option<End>,
    /// The lowest rate that did not; absent where all did.
    pub missed: Option<End>,
    /// Reason for the end of the search.
    pub reached: Reached,
}

/// Reason for the end of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reached {
    /// Both ends are confirmed, and as near as asked.
    Width,
    /// The highest rate allowed meets the condition.
    Highest,
    /// The lowest rate allowed does not.
    Lowest,
    /// No more probes were allowed.
    Probes,
    /// It was ended early, by a signal or because the peer went away.
    Stopped,
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Search {
    bounds: Bounds,
    tallies: BTreeMap<Rate, Tally>,
    probes: u32,
}

/// Next step of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A probe at this rate.
    Probe(Rate),
    /// Nothing: it is found, or cannot be.
    Done(Reached),
}

impl Bounds {
    /// Refuses bounds that make no sense.
    ///
    /// # Errors
    /// The first thing wrong with them.
    pub fn check(&self) -> Result<(), BoundsError> {
        if !(self.lowest_per_1000s..=self.highest_per_1000s).contains(&self.start_per_1000s) {
            return Err(BoundsError::Start);
        }
        if !(0.001..=1.0).contains(&self.width) {
            return Err(BoundsError::Width);
        }
        if self.agreeing == 0 || self.probes < self.agreeing.saturating_mul(2).max(10) {
            return Err(BoundsError::Probes);
        }
        Ok(())
    }
}

impl Search {
    /// A search within `bounds`.
    ///
    /// # Errors
    /// Bounds that make no sense.
    pub fn new(bounds: Bounds) -> Result<Self, BoundsError> {
        bounds.check().map(|()| Self { bounds, tallies: BTreeMap::new(), probes: 0 })
    }

    /// Takes the verdict of a probe at `rate`.
    pub fn take(&mut self, rate: Rate, verdict: Verdict) {
        self.tallies.entry(rate).or_default().take(verdict);
        self.probes += 1;
    }

    /// Number of probes so far.
    pub fn probes(&self) -> u32 {
        self.probes
    }

    /// Returns the next step.
    pub fn next(&self) -> Next {
        if self.probes >= self.bounds.probes {
            return Next::Done(Reached::Probes);
        }
        let open = self.tallies.iter().find(|(_, tally)| tally.is_open(self.bounds.agreeing));
        if let Some((&rate, _)) = open {
            return Next::Probe(rate);
        }
        match self.ends() {
            (None, None) => Next::Probe(self.bounds.start_per_1000s),
            (Some(met), None) => self.upward(met),
            (None, Some(missed)) => self.downward(missed),
            (Some(met), Some(missed)) => self.inward(met, missed),
        }
    }

    /// Returns the bracket so far; `reached` is the reason for the end of the search.
    pub fn bracket(&self, reached: Reached) -> Bracket {
        let (met, missed) = self.ends();
        let end = |rate: Rate| {
            let tally = self.tally(rate);
            End { rate_per_1000s: rate, tally, confirmed: tally.majority() >= self.bounds.agreeing }
        };
        Bracket { met: met.map(end), missed: missed.map(end), reached }
    }

    /// The lowest rate that does not meet the condition, and the highest below it that does.
    fn ends(&self) -> (Option<Rate>, Option<Rate>) {
        let told = || self.tallies.iter().filter(|(_, tally)| tally.told());
        let missed = told().find(|(_, tally)| !tally.holds()).map(|(&rate, _)| rate);
        let below = told().map(|(&rate, _)| rate).take_while(|rate| missed.is_none_or(|missed| *rate < missed));
        (below.last(), missed)
    }

    fn tally(&self, rate: Rate) -> Tally {
        self.tallies.get(&rate).copied().unwrap_or_default()
    }

    fn upward(&self, met: Rate) -> Next {
        let highest = self.bounds.highest_per_1000s;
        if met < highest {
            return Next::Probe(times(met, FACTOR).clamp(self.bounds.lowest_per_1000s, highest));
        }
        self.confirmed(met, Reached::Highest)
    }

    fn downward(&self, missed: Rate) -> Next {
        let lowest = self.bounds.lowest_per_1000s;
        if missed > lowest {
            return Next::Probe(times(missed, 1.0 / DOWNWARD).clamp(lowest, self.bounds.highest_per_1000s));
        }
        self.confirmed(missed, Reached::Lowest)
    }

    fn inward(&self, met: Rate, missed: Rate) -> Next {
        let ratio = missed.0.get() as f64 / met.0.get() as f64;
        if ratio > FACTOR * 0.99 && self.tally(missed).majority() < AGREEING_BEFORE_HALVING.min(self.bounds.agreeing) {
            return Next::Probe(missed);
        }
        match self.between(met, missed) {
            Some(middle) if ratio > 1.0 + self.bounds.width => Next::Probe(middle),
            _ => match self.confirmed(met, Reached::Width) {
                Next::Done(reached) => self.confirmed(missed, reached),
                again @ Next::Probe(_) => again,
            },
        }
    }

    /// The middle in the logarithm, in no more digits than the width asks for; `None` where nothing lies between.
    fn between(&self, met: Rate, missed: Rate) -> Option<Rate> {
        let (low, high) = (met.0.get(), missed.0.get());
        let middle = (low as f64 * high as f64).sqrt();
        let step = 10_f64.powf((middle * self.bounds.width / 20.0).log10().floor()).max(1.0);
        let round = ((middle / step).round() * step) as u64;
        let inside = |rate: &u64| (low + 1..high).contains(rate);
        let found = Some(round).filter(inside).or(Some(middle as u64).filter(inside))?;
        NonZeroU64::new(found).map(Rate)
    }

    fn confirmed(&self, rate: Rate, reached: Reached) -> Next {
        if self.tally(rate).majority() < self.bounds.agreeing { Next::Probe(rate) } else { Next::Done(reached) }
    }
}

fn times(rate: Rate, factor: f64) -> Rate {
    // A float beyond the range ends at the range's end.
    NonZeroU64::new((rate.0.get() as f64 * factor).round() as u64).map_or(Rate(NonZeroU64::MIN), Rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    fn per_second(rate: u64) -> Rate {
        Rate::per_second(rate).unwrap()
    }

    fn bounds() -> Bounds {
        Bounds {
            start_per_1000s: per_second(1_000),
            lowest_per_1000s: per_second(1),
            highest_per_1000s: per_second(100_000_000),
            width: 0.02,
            agreeing: 3,
            probes: 60,
        }
    }

    /// Runs a search on a far side whose verdict on the n-th probe of all, from 0, is `verdict(n, rate)`.
    fn search(bounds: Bounds, mut verdict: impl FnMut(u32, f64) -> Verdict) -> (Bracket, Vec<f64>) {
        let mut search = Search::new(bounds).unwrap();
        let mut probed = Vec::new();
        loop {
            match search.next() {
                Next::Done(reached) => return (search.bracket(reached), probed),
                Next::Probe(rate) => {
                    search.take(rate, verdict(search.probes(), rate.as_per_second()));
                    probed.push(rate.as_per_second());
                }
            }
            assert!(search.probes() <= bounds.probes);
        }
    }

    fn up_to(capacity: f64) -> impl Fn(u32, f64) -> Verdict {
        move |_, rate| if rate <= capacity { Verdict::Met } else { Verdict::Missed }
    }

    fn rates(bracket: &Bracket) -> (Option<f64>, Option<f64>) {
        let rate = |end: Option<End>| end.map(|end| end.rate_per_1000s.as_per_second());
        (rate(bracket.met), rate(bracket.missed))
    }

    #[test_case(1.5; "next to the lowest")]
    #[test_case(999.0; "just below the start")]
    #[test_case(1_000.0; "at the start")]
    #[test_case(47_311.0)]
    #[test_case(99_999_000.0; "next to the highest")]
    fn the_bracket_holds_the_capacity(capacity: f64) {
        let (bracket, probed) = search(bounds(), up_to(capacity));
        let (Some(met), Some(missed)) = rates(&bracket) else { panic!("{bracket:?}") };
        assert!(met <= capacity && capacity < missed, "{met} {capacity} {missed}");
        assert!(missed / met <= 1.02, "{met} {missed}");
        assert_eq!(bracket.reached, Reached::Width);
        let ends = [bracket.met.unwrap(), bracket.missed.unwrap()];
        assert!(ends.iter().all(|end| end.confirmed && end.tally.majority() == 3), "{ends:?}");
        assert!(probed.len() <= 32, "{} probes", probed.len());
    }

    #[test]
    fn the_way_is_up_by_doubling_and_in_by_halves() {
        let (_, probed) = search(bounds(), up_to(3_000.0));
        let way = [1_000.0, 2_000.0, 4_000.0, 4_000.0, 2_828.0, 3_363.0, 3_084.0, 2_953.0, 3_018.0];
        assert_eq!(probed[..way.len()], way);
    }

    #[test]
    fn where_all_rates_meet_it_there_is_no_upper_end() {
        let (bracket, _) = search(bounds(), |_, _| Verdict::Met);
        assert_eq!((rates(&bracket), bracket.reached), ((Some(1e8), None), Reached::Highest));
        assert!(bracket.met.unwrap().confirmed);
    }

    #[test]
    fn where_none_does_there_is_no_lower_end() {
        let (bracket, _) = search(bounds(), |_, _| Verdict::Missed);
        assert_eq!((rates(&bracket), bracket.reached), ((None, Some(1.0)), Reached::Lowest));
        assert!(bracket.missed.unwrap().confirmed);
    }

    #[test]
    fn a_disturbance_on_the_way_up_is_settled_by_majority() {
        // The third probe, at 4000/s, is disturbed; so is its repetition.
        let disturbed = |n, rate| if n == 2 || n == 3 { Verdict::Missed } else { up_to(500_000.0)(n, rate) };
        let (bracket, probed) = search(bounds(), disturbed);
        let (Some(met), Some(missed)) = rates(&bracket) else { panic!("{bracket:?}") };
        assert!(met <= 500_000.0 && 500_000.0 < missed && missed / met <= 1.02);
        assert_eq!(probed.iter().filter(|rate| **rate == 4_000.0).count(), 5, "two against three");
    }

    #[test]
    fn one_disturbance_on_the_way_up_costs_no_search_below() {
        let disturbed = |n, rate| if n == 2 { Verdict::Missed } else { up_to(500_000.0)(n, rate) };
        let (_, probed) = search(bounds(), disturbed);
        assert!(probed.iter().all(|rate| *rate <= 2_000.0 || *rate >= 4_000.0), "{probed:?}");
    }

    #[test]
    fn a_lucky_probe_far_above_does_not_stand() {
        // The tenth probe is lucky wherever it is.
        let lucky = |n, rate| if n == 9 { Verdict::Met } else { up_to(100_000.0)(n, rate) };
        let (bracket, _) = search(bounds(), lucky);
        let (Some(met), Some(missed)) = rates(&bracket) else { panic!("{bracket:?}") };
        assert!(met <= 100_000.0 && 100_000.0 < missed, "{met} {missed}");
    }

    #[test]
    fn probes_that_our_own_bunches_spoilt_are_made_again() {
        // Two of three are spoilt, whatever the rate.
        let spoilt = |n: u32, rate| if n.is_multiple_of(3) { up_to(47_311.0)(n, rate) } else { Verdict::Bunched };
        let (bracket, _) = search(Bounds { probes: 200, ..bounds() }, spoilt);
        let (Some(met), Some(missed)) = rates(&bracket) else { panic!("{bracket:?}") };
        assert!(met <= 47_311.0 && 47_311.0 < missed && missed / met <= 1.02, "{bracket:?}");
        assert!(bracket.met.unwrap().tally.bunched > 0 && !bracket.missed.unwrap().is_ours(), "{bracket:?}");
        // Where it never gets any better it is our own side that does not reach the rate.
        let (bracket, probed) =
            search(bounds(), |_, rate| if rate < 5_000.0 { Verdict::Met } else { Verdict::Bunched });
        assert!(bracket.missed.unwrap().is_ours() && probed.len() == 60, "{bracket:?}");
        assert!(bracket.missed.unwrap().is_spoilt() && !bracket.met.unwrap().is_spoilt(), "{bracket:?}");
        let mut only = Search::new(bounds()).unwrap();
        only.take(per_second(1_000), Verdict::Bunched);
        assert_eq!(rates(&only.bracket(Reached::Stopped)), (None, None), "nothing was told");
        assert_eq!(only.next(), Next::Probe(per_second(1_000)));
    }

    #[test]
    fn an_end_that_is_our_own_side_says_so() {
        let ours = |_, rate| if rate <= 70_000.0 { Verdict::Met } else { Verdict::OurSide };
        let (bracket, _) = search(bounds(), ours);
        assert!(bracket.missed.unwrap().is_ours());
        let (bracket, _) = search(bounds(), up_to(70_000.0));
        assert!(!bracket.missed.unwrap().is_ours());
    }

    #[test]
    fn verdicts_without_sense_end_the_search_too() {
        let (bracket, probed) = search(bounds(), |n, _| if n % 2 == 0 { Verdict::Missed } else { Verdict::Met });
        assert!(probed.len() <= 60 && bracket.missed.is_some(), "{bracket:?}");
        let few = Bounds { probes: 10, ..bounds() };
        let (bracket, probed) = search(few, up_to(47_311.0));
        assert_eq!((bracket.reached, probed.len()), (Reached::Probes, 10));
        assert_eq!(rates(&bracket), (Some(45_250.0), Some(53_810.0)));
        assert!(!bracket.met.unwrap().confirmed);
    }

    #[test]
    fn a_search_that_was_ended_early_tells_what_it_knows() {
        let mut search = Search::new(bounds()).unwrap();
        assert_eq!(rates(&search.bracket(Reached::Stopped)), (None, None));
        search.take(per_second(1_000), Verdict::Met);
        assert_eq!(rates(&search.bracket(Reached::Stopped)), (Some(1_000.0), None));
    }

    #[test_case(Bounds { start_per_1000s: per_second(1), lowest_per_1000s: per_second(2), ..bounds() }, BoundsError::Start)]
    #[test_case(Bounds { width: 0.0, ..bounds() }, BoundsError::Width; "no width")]
    #[test_case(Bounds { width: f64::NAN, ..bounds() }, BoundsError::Width; "not a number")]
    #[test_case(Bounds { probes: 5, ..bounds() }, BoundsError::Probes; "too few")]
    #[test_case(Bounds { agreeing: 0, ..bounds() }, BoundsError::Probes; "none to agree")]
    fn bounds_without_sense_are_refused(bounds: Bounds, error: BoundsError) {
        assert_eq!(bounds.check(), Err(error));
    }
}
