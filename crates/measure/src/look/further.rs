//! Reasons to continue a survey beyond its usual rounds: too little data, or a contradiction. The bound is here too.
//!
//! More rounds are no cure: where a reason is still there at the bound, the verdict is that of all rounds, as careful as any.

use serde::{Deserialize, Serialize};

use super::blocks::Blocks;
use super::judge::{APART_SHARE, CONNECTIONS_APART};
use super::{Cause, Judgement, Leg, Stands, Subject, losses};
use crate::comparison::{Design, Runs, Word, compare};
use crate::outcome::Standing;
use crate::outcome::periodic::Periodic;
use crate::unit::Nanos;

/// Continuations of a survey, at most, each by [`step`].
pub const STEPS: u32 = 2;
/// Judgements of a survey, at most.
pub const JUDGED: u32 = 1 + STEPS;
/// No step is longer.
const LONGEST: Nanos = Nanos::secs(15);

/// The length of one step, of a look whose usual rounds last for `length`.
pub fn step(length: Nanos) -> Nanos {
    length.min(LONGEST)
}

/// Rounds that are added at the most to a look whose usual ones come at this `interval` for `length`, a count.
pub fn most_rounds(length: Nanos, interval: Nanos) -> u64 {
    u64::from(STEPS) * step(length).0 / interval.0.max(1)
}

/// Rounds beyond the usual ones, and the reason for them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Further {
    /// Rounds that were added, a count.
    pub rounds: u64,
    /// The reason, as it was before them.
    pub reason: Reason,
}

/// The reason for more rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Reason {
    /// The reference had too few replies for a median.
    FewReplies {
        /// Replies, a count.
        answered: u64,
    },
    /// One leg alone lost requests, too few to tell that from chance.
    LossOfOne {
        /// Number of the leg, from 0.
        leg: u32,
        /// Lost requests, a count.
        lost: u64,
    },
    /// The reference took another time in the second half of the rounds than in the first.
    Halves {
        /// Estimate of the second half less the first, nanoseconds.
        shift_ns: f64,
    },
    /// Long times seemed to come back at even distances, too few of them to tell that from chance.
    Period {
        /// From one to the next, nanoseconds.
        period_ns: Nanos,
    },
    /// A kernel answered later than the program behind it.
    KernelLater {
        /// Number of the leg, from 0.
        leg: u32,
    },
}

/// The reason to go on with more rounds after these; `None` where they do. `is_change_known`: a part of the time at another level was established,
/// so that halves that differ are no contradiction. `supposed`: a period of long times that the rounds do not show surely.
pub fn reason(
    legs: &[Leg],
    judgement: &Judgement,
    is_change_known: bool,
    supposed: Option<Periodic>,
) -> Option<Reason> {
    let reference = judgement.believed?;
    let leg = legs.get(reference.leg as usize)?;
    let by_connection = judgement.findings.iter().any(|finding| finding.cause == Some(Cause::Flow));
    let is_printed = |q: f64| leg.sums.quantiles.iter().any(|of| of.q == q && of.standing != Standing::TooFew);
    if !is_printed(0.5) {
        return Some(Reason::FewReplies { answered: leg.sums.answered });
    }
    if let Some(place) = losses::undecided(legs) {
        return Some(Reason::LossOfOne { leg: place, lost: legs[place as usize].sums.lost });
    }
    if let Some(Periodic { period_ns, .. }) = supposed {
        return Some(Reason::Period { period_ns });
    }
    // Differences between connections explain both remaining reasons.
    if by_connection {
        return None;
    }
    let halves = halves(legs, leg).filter(|_| !is_change_known);
    halves.map(|shift_ns| Reason::Halves { shift_ns }).or_else(|| {
        let is_program = reference.stands == Stands::Application;
        is_program.then(|| kernel_later(legs, leg, judgement)).flatten()
    })
}

/// Returns the growth of `leg` in the second half of the rounds, where that is shown and is noticed.
fn halves(legs: &[Leg], leg: &Leg) -> Option<f64> {
    let quartiles = Blocks::of(legs).quartiles(&leg.exchanges);
    let (first, second) = quartiles.split_at(quartiles.len() / 2);
    let compared = compare(&[Runs { first: first.to_vec(), second: second.to_vec() }], Design::Apart).pop()?;
    let (shift, median) = compared.difference.map(|shift| shift.value).zip(compared.first)?;
    let least = CONNECTIONS_APART.time_ns.max(CONNECTIONS_APART.share * median);
    let is_shown = matches!(compared.word, Word::More | Word::Less);
    (is_shown && shift.abs() >= least).then_some(shift)
}

/// A leg that a kernel answers, at the address of `reference`, that is shown to take longer, for no reason that was seen.
fn kernel_later(legs: &[Leg], reference: &Leg, judgement: &Judgement) -> Option<Reason> {
    let least = APART_SHARE * reference.sums.median()?.0 as f64;
    judgement.findings.iter().find_map(|finding| {
        let Subject::Leg { leg } = finding.of else { return None };
        let later = finding.word == Some(Word::More) && finding.cause == Some(Cause::NotEstablished);
        let is_noticed = finding.shift.is_some_and(|shift| shift.value_ns >= least);
        let is_kernel = !legs.get(leg as usize)?.who.is_program();
        (later && is_noticed && is_kernel).then_some(Reason::KernelLater { leg })
    })
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::look::judge::tests::{judged, leg, losing, with_losses};
    use crate::method::Carrier;

    fn why(legs: &[Leg]) -> Option<Reason> {
        reason(legs, &judged(legs, &[]), false, None)
    }

    /// Fifty times around `middle`, which no two rounds have alike, rising by `rise` after half of them.
    fn times(middle: u64, rise: u64) -> Vec<u64> {
        (0..50).map(|round| middle + (round * 37 % 50) * 100 + if round < 25 { 0 } else { rise }).collect()
    }

    #[test]
    fn usual_rounds_do() {
        let legs = [(Carrier::Icmp, 80_000), (Carrier::TcpConnect, 120_000), (Carrier::Tcp, 180_000)];
        assert_eq!(why(&legs.map(|(carrier, middle)| leg(carrier, &times(middle, 0)))), None);
        assert_eq!(why(&[]), None);
    }

    #[test_case(19, Some(Reason::FewReplies { answered: 19 }))]
    #[test_case(20, None)]
    fn a_reference_without_a_median_is_too_little(replies: usize, expected: Option<Reason>) {
        assert_eq!(why(&[leg(Carrier::Tcp, &times(180_000, 0)[..replies])]), expected);
    }

    #[test_case(1, 0, Some(Reason::LossOfOne { leg: 0, lost: 1 }); "one may be chance")]
    #[test_case(13, 0, None; "a quarter is none")]
    #[test_case(2, 1, None; "all lose")]
    fn a_loss_that_may_be_chance_is_too_little(echoes: usize, handshakes: usize, expected: Option<Reason>) {
        let legs = [(Carrier::Icmp, echoes), (Carrier::TcpConnect, handshakes), (Carrier::Udp, 0), (Carrier::Tcp, 0)];
        assert_eq!(why(&legs.map(|(carrier, lost)| losing(carrier, lost))), expected);
    }

    #[test]
    fn a_loss_with_nothing_to_hold_it_against_is_no_reason() {
        let mut lossy: Vec<Option<u64>> = times(180_000, 0).into_iter().map(Some).collect();
        lossy[7] = None;
        assert_eq!(why(&[with_losses(Carrier::Udp, &lossy)]), None);
    }

    #[test]
    fn halves_that_differ_contradict_each_other() {
        let legs = [leg(Carrier::Tcp, &times(180_000, 60_000))];
        assert!(matches!(why(&legs), Some(Reason::Halves { shift_ns }) if (shift_ns - 60e3).abs() < 5e3));
        assert_eq!(reason(&legs, &judged(&legs, &[]), true, None), None, "the change is known");
        assert_eq!(why(&[leg(Carrier::Tcp, &times(180_000, 10_000))]), None, "too little to be noticed");
    }

    #[test]
    fn a_period_that_is_only_supposed_takes_more_rounds() {
        let (legs, period_ns) = ([leg(Carrier::Tcp, &times(180_000, 0))], Nanos::secs(1));
        let supposed = Some(Periodic { period_ns, longer_ns: Nanos::millis(60), count: 4, ..Periodic::default() });
        assert_eq!(reason(&legs, &judged(&legs, &[]), false, supposed), Some(Reason::Period { period_ns }));
    }

    #[test]
    fn a_kernel_that_is_later_than_its_program_contradicts_it() {
        let legs = [leg(Carrier::TcpConnect, &times(240_000, 0)), leg(Carrier::Tcp, &times(180_000, 0))];
        assert_eq!(why(&legs), Some(Reason::KernelLater { leg: 0 }));
    }

    #[test]
    fn the_bound_is_three_times_as_long_and_never_half_a_minute_more() {
        assert_eq!(most_rounds(Nanos::secs(5), Nanos::millis(100)), 100);
        assert_eq!(most_rounds(Nanos::secs(300), Nanos::millis(100)), 300);
    }
}
