//! Sender of a reset: the host itself, or a box on the way that answers in its place.
//!
//! Answers of a closed port are compared with answers that come from a port of the same host where connections are
//! accepted. An answer that the host cannot have sent is said to come from another hop, with the evidence. Everything
//! else is "who answered is not shown", for a box that copies the host in every visible trait looks like the host. It
//! is never said that the host answered.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::answer::{Flags, Segment};
use crate::unit::Nanos;

/// Answers of either kind below which nobody is accused, and source ports below which a trait of the path accuses
/// nobody: paths of several lengths lead to many a host, and back, chosen by the ports.
pub const LEAST: usize = 5;
/// Fewer than this say nothing by their times.
const LEAST_TIMED: usize = 20;
/// Difference of round trips below which they show nothing about the sender.
const CLEAR: Nanos = Nanos::micros(200);
/// A counter of packets that many hosts share out grows by no more from one answer to the next.
const STRIDE: u16 = 2_000;

/// An answer as it is compared. Those of both ports are told in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Its place among the answers of both ports.
    pub order: u64,
    /// The segment that came.
    pub segment: Segment,
    /// From the probe's departure to it; `None` where the clock stepped back.
    pub round_trip: Option<Nanos>,
}

/// Sender of the answers, as far as it can be established.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Origin {
    /// The port of the host where connections are accepted, with whose answers they were compared; absent: none.
    pub compared_port: Option<u16>,
    /// Answers that are in question.
    pub questioned: u64,
    /// True where those accept connections too: then the question is whether one box answers both ports.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub both_accept: bool,
    /// Answers of the port where connections are accepted.
    pub accepted: u64,
    /// The verdict.
    pub verdict: Verdict,
    /// Traits in which the answers differ from the host's, and those in which they agree.
    pub traits: Vec<Finding>,
}

/// Sender of the answers, as far as it can be established.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Another box than the one that accepts connections at the compared port: the answers cannot be its own.
    AnotherHop,
    /// The host or somebody who answers in its place: both fit the answers.
    NotShown,
}

/// Result for one trait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Agreement with the host.
    pub fit: Fit,
    /// The compared trait.
    #[serde(rename = "trait")]
    pub of: Trait,
}

/// Agreement of answers with the host's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// As the host's.
    Same,
    /// Otherwise, as a host may do it.
    Otherwise,
    /// So that they cannot be the host's.
    Impossible,
}

/// Compared trait, with its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Trait {
    /// Hops that packets could still have gone (TTL, hop limit): the values seen, smallest and largest.
    Ttl {
        /// Values of the host's answers.
        host: (u8, u8),
        /// Values of the answers in question that are the farthest from them, smallest and largest.
        theirs: (u8, u8),
        /// Answers in question that lie outside the host's values, a count.
        outside: u64,
    },
    /// The identification of IPv4.
    IpId {
        /// Counter of the host.
        host: Counting,
        /// Counter of the answers in question.
        theirs: Counting,
    },
    /// Permission to fragment packets on their way (DF).
    DontFragment {
        /// True where the host forbids it.
        host: bool,
        /// True where the answers in question do.
        theirs: bool,
    },
    /// Round trips, in nanoseconds.
    Time {
        /// The shortest of the host's.
        host_min_ns: Nanos,
        /// The median of the host's.
        host_median_ns: Nanos,
        /// The median of those in question.
        their_median_ns: Nanos,
    },
}

/// Scheme by which a sender numbers its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
    /// All are 0.
    Zero,
    /// All are alike, but not 0.
    Constant,
    /// They rise in small steps.
    Rising,
    /// Neither.
    Scattered,
}

/// Judges `questioned`, answers of a port in question, by `accepted`, answers of `compared_port` of the same address where
/// connections are accepted.
pub fn judge(compared_port: Option<u16>, accepted: &[Sight], questioned: &[Sight]) -> Origin {
    let enough = accepted.len() >= LEAST && questioned.len() >= LEAST;
    let both_accept = !questioned.is_empty() && questioned.iter().all(|sight| sight.segment.flags.has(Flags::SYN));
    let traits: Vec<Finding> = if enough {
        let several = [accepted, questioned].into_iter().all(|sights| flows(sights) >= LEAST);
        let of_path = |found: Option<Finding>| {
            found.map(|found| Finding { fit: if several { found.fit } else { found.fit.in_doubt() }, ..found })
        };
        let ttl = of_path(ttl(accepted, questioned));
        let as_far = ttl.as_ref().is_some_and(|found| found.fit == Fit::Same);
        // A host, or what stands before it, may take its time to accept and none to refuse; a nearer box is seldom as many hops away.
        let time = time(accepted, questioned, both_accept).map(|found| Finding {
            fit: if as_far && !both_accept { found.fit.in_doubt() } else { found.fit },
            ..found
        });
        let found = [ttl, ip_id(accepted, questioned)];
        let rest = [dont_fragment(accepted, questioned), of_path(time)];
        found.into_iter().chain(rest).flatten().collect()
    } else {
        Vec::new()
    };
    let impossible = traits.iter().any(|found| found.fit == Fit::Impossible);
    Origin {
        compared_port,
        questioned: questioned.len() as u64,
        both_accept,
        accepted: accepted.len() as u64,
        verdict: if impossible { Verdict::AnotherHop } else { Verdict::NotShown },
        traits,
    }
}

impl Fit {
    /// A difference that may be the path's doing is no proof.
    fn in_doubt(self) -> Self {
        if self == Self::Impossible { Self::Otherwise } else { self }
    }
}

/// Different source ports of the probes that were answered, a count.
fn flows(sights: &[Sight]) -> usize {
    sights.iter().map(|sight| sight.segment.destination_port).collect::<BTreeSet<_>>().len()
}

/// Hops behind a sender that starts at 64, 128 or 255, as nearly all do.
fn hops(ttl: u8) -> u8 {
    [64, 128, 255].into_iter().find(|start| ttl <= *start).unwrap_or(255) - ttl
}

fn ttl(accepted: &[Sight], questioned: &[Sight]) -> Option<Finding> {
    let of = |sights: &[Sight]| span(sights.iter().map(|sight| sight.segment.ttl));
    let host = of(accepted)?;
    let outside: Vec<u8> =
        questioned.iter().map(|sight| sight.segment.ttl).filter(|ttl| *ttl < host.0 || *ttl > host.1).collect();
    let theirs = span(outside.iter().copied()).or_else(|| of(questioned))?;
    let host_hops = span(accepted.iter().map(|sight| hops(sight.segment.ttl)))?;
    // Another start of the count, but as far away: some hosts send their resets so.
    let farther = |ttl: &u8| hops(*ttl) < host_hops.0 || hops(*ttl) > host_hops.1;
    let strangers = outside.iter().filter(|ttl| farther(ttl)).count();
    let fit = match (outside.len(), strangers) {
        (0, _) => Fit::Same,
        (_, strangers) if strangers >= LEAST => Fit::Impossible,
        _ => Fit::Otherwise,
    };
    Some(Finding { fit, of: Trait::Ttl { host, theirs, outside: outside.len() as u64 } })
}

fn span(values: impl Iterator<Item = u8>) -> Option<(u8, u8)> {
    values.fold(None, |span, value| {
        let (low, high) = span.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

fn ip_id(accepted: &[Sight], questioned: &[Sight]) -> Option<Finding> {
    let host = counting(accepted)?;
    let theirs = counting(questioned)?;
    let mut both: Vec<Sight> = accepted.iter().chain(questioned).copied().collect();
    both.sort_by_key(|sight| sight.order);
    let fit = match (host, theirs) {
        // One counter for all that it sends: numbers beside it were sent by somebody else.
        (Counting::Rising, Counting::Rising) if counting(&both) != Some(Counting::Rising) => Fit::Impossible,
        (host, theirs) if host == theirs => Fit::Same,
        _ => Fit::Otherwise,
    };
    Some(Finding { fit, of: Trait::IpId { host, theirs } })
}

fn counting(sights: &[Sight]) -> Option<Counting> {
    let ids: Vec<u16> = sights.iter().map(|sight| sight.segment.ip_id).collect::<Option<_>>()?;
    let first = *ids.first()?;
    let alike = ids.iter().all(|id| *id == first);
    let step = |pair: &[u16]| pair[1].wrapping_sub(pair[0]);
    Some(match (alike, first) {
        (true, 0) => Counting::Zero,
        (true, _) => Counting::Constant,
        _ if ids.windows(2).all(|pair| (1..=STRIDE).contains(&step(pair))) => Counting::Rising,
        _ => Counting::Scattered,
    })
}

fn dont_fragment(accepted: &[Sight], questioned: &[Sight]) -> Option<Finding> {
    let of = |sights: &[Sight]| {
        let first = sights.first()?.segment.dont_fragment?;
        sights.iter().all(|sight| sight.segment.dont_fragment == Some(first)).then_some(first)
    };
    let (host, theirs) = (of(accepted)?, of(questioned)?);
    let fit = if host == theirs { Fit::Same } else { Fit::Otherwise };
    Some(Finding { fit, of: Trait::DontFragment { host, theirs } })
}

/// Faster than the host ever was may be somebody nearer. Slower it may be itself: resets are limited and made on slow paths; acceptances are not.
fn time(accepted: &[Sight], questioned: &[Sight], both_accept: bool) -> Option<Finding> {
    let of = |sights: &[Sight]| {
        let mut times: Vec<Nanos> = sights.iter().filter_map(|sight| sight.round_trip).collect();
        times.sort_unstable();
        (times.len() >= LEAST_TIMED).then_some(times)
    };
    let (host, theirs) = (of(accepted)?, of(questioned)?);
    let at = |times: &[Nanos], quarters: usize| times[(times.len() * quarters / 4).min(times.len() - 1)];
    let host_min_ns = host[0];
    let is_nearer = |one: &[Nanos], other: &[Nanos]| {
        let (third, min) = (at(one, 3).0, other[0].0);
        third < min / 2 && third + CLEAR.0 < min
    };
    let nearer = is_nearer(&theirs, &host) || both_accept && is_nearer(&host, &theirs);
    let slower = at(&theirs, 1).0 > at(&host, 3).0.saturating_mul(3).saturating_add(CLEAR.0);
    let fit = match (nearer, slower) {
        (true, _) => Fit::Impossible,
        (_, true) => Fit::Otherwise,
        _ => Fit::Same,
    };
    let (host_median_ns, their_median_ns) = (at(&host, 2), at(&theirs, 2));
    Some(Finding { fit, of: Trait::Time { host_min_ns, host_median_ns, their_median_ns } })
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::answer::Options;

    fn sight(order: u64, ttl: u8, ip_id: u16, round_trip: Nanos) -> Sight {
        let segment = Segment {
            length: 40,
            ttl,
            tos: Some(0),
            ip_id: Some(ip_id),
            dont_fragment: Some(true),
            source_port: 80,
            destination_port: 40_000 + order as u16,
            seq: 0,
            ack: 1,
            flags: Flags::RST.with(Flags::ACK),
            window: 0,
            checksum: 0,
            urgent: 0,
            options: Options::default(),
        };
        Sight { order, segment, round_trip: Some(round_trip) }
    }

    /// Makes `count` answers, the open port's at even places, the closed one's at odd ones.
    fn answers(count: u64, odd: bool, mut of: impl FnMut(u64) -> (u8, u16, Nanos)) -> Vec<Sight> {
        let each = |place: u64| {
            let (ttl, ip_id, time) = of(place);
            sight(2 * place + u64::from(odd), ttl, ip_id, time)
        };
        (0..count).map(each).collect()
    }

    fn host(count: u64) -> Vec<Sight> {
        answers(count, false, |place| (63, 0, Nanos::micros(300 + place % 7 * 20)))
    }

    #[test]
    fn a_hundred_resets_like_the_host_s_accuse_nobody() {
        let genuine = answers(100, true, |place| (63, 0, Nanos::micros(280 + place % 9 * 20)));
        let origin = judge(Some(80), &host(100), &genuine);
        assert_eq!(origin.verdict, Verdict::NotShown);
        assert!(origin.traits.iter().all(|found| found.fit == Fit::Same) && origin.traits.len() == 4, "{origin:?}");
        let same = Trait::IpId { host: Counting::Zero, theirs: Counting::Zero };
        assert!(origin.traits.iter().any(|found| found.of == same), "{origin:?}");
    }

    #[test_case(64; "nearer by a hop")]
    #[test_case(250; "another start, and another distance")]
    fn resets_of_another_ttl_come_from_another_hop(ttl: u8) {
        let origin = judge(Some(80), &host(20), &answers(20, true, |_| (ttl, 0, Nanos::micros(300))));
        assert_eq!(origin.verdict, Verdict::AnotherHop);
        let against = origin.traits.iter().find(|found| found.fit == Fit::Impossible).map(|found| found.of.clone());
        assert_eq!(against, Some(Trait::Ttl { host: (63, 63), theirs: (ttl, ttl), outside: 20 }));
    }

    #[test]
    fn another_start_of_the_count_at_the_same_distance_proves_nothing() {
        let origin = judge(Some(80), &host(20), &answers(20, true, |_| (254, 0, Nanos::micros(300))));
        assert_eq!(origin.verdict, Verdict::NotShown);
        assert!(origin.traits.iter().any(|found| found.fit == Fit::Otherwise), "{origin:?}");
    }

    #[test]
    fn some_of_another_ttl_are_enough_and_few_are_not() {
        let some =
            |strangers: u64| answers(50, true, |place| (63 + u8::from(place < strangers), 0, Nanos::micros(300)));
        assert_eq!(judge(Some(80), &host(50), &some(10)).verdict, Verdict::AnotherHop);
        assert_eq!(judge(Some(80), &host(50), &some(2)).verdict, Verdict::NotShown);
    }

    #[test]
    fn paths_of_two_lengths_are_the_host_s_own() {
        let accepted = answers(20, false, |place| (62 + (place % 2) as u8, 0, Nanos::micros(300)));
        let questioned = answers(20, true, |place| (62 + (place / 3 % 2) as u8, 0, Nanos::micros(300)));
        assert_eq!(judge(Some(80), &accepted, &questioned).verdict, Verdict::NotShown);
    }

    #[test]
    fn one_flow_of_each_port_may_have_a_path_of_its_own() {
        let one_flow = |mut sights: Vec<Sight>| {
            for sight in &mut sights {
                sight.segment.destination_port = 40_000;
            }
            sights
        };
        let nearer = one_flow(answers(50, true, |_| (64, 0, Nanos::micros(100))));
        let origin = judge(Some(80), &one_flow(answers(50, false, |_| (63, 0, Nanos::millis(20)))), &nearer);
        assert_eq!(origin.verdict, Verdict::NotShown, "{origin:?}");
        assert!(origin.traits.iter().any(|found| found.fit == Fit::Otherwise), "{origin:?}");
    }

    #[test]
    fn ids_beside_the_host_s_counter_are_somebody_else_s() {
        let rising =
            |start: u16, odd| answers(20, odd, move |place| (63, start + place as u16 * 4, Nanos::micros(300)));
        let one_counter = judge(Some(80), &rising(100, false), &rising(102, true));
        assert_eq!(one_counter.verdict, Verdict::NotShown);
        let two_counters = judge(Some(80), &rising(100, false), &rising(30_000, true));
        assert_eq!(two_counters.verdict, Verdict::AnotherHop, "{two_counters:?}");
        let zeros = judge(Some(80), &rising(100, false), &answers(20, true, |_| (63, 0, Nanos::micros(300))));
        assert_eq!(zeros.verdict, Verdict::NotShown, "a host may leave it 0");
    }

    #[test_case(64, Nanos::micros(120), true; "a nearer box")]
    #[test_case(63, Nanos::millis(21), false; "the same")]
    fn of_two_ports_that_accept_one_may_be_a_box_s(ttl: u8, time: Nanos, other: bool) {
        let accepts = |mut sights: Vec<Sight>| {
            for sight in &mut sights {
                sight.segment.flags = Flags::SYN.with(Flags::ACK);
            }
            sights
        };
        let far = accepts(answers(50, false, |place| (63, 0, Nanos::millis(20 + place % 3))));
        let near = accepts(answers(50, true, move |_| (ttl, 0, time)));
        for (accepted, questioned) in [(&far, &near), (&near, &far)] {
            let origin = judge(Some(443), accepted, questioned);
            assert!(origin.both_accept);
            assert_eq!(origin.verdict == Verdict::AnotherHop, other, "{origin:?}");
        }
    }

    #[test]
    fn faster_than_the_host_ever_was_is_nearer_where_it_is_not_as_many_hops_away() {
        let far = answers(50, false, |place| (63, 0, Nanos::millis(20 + place % 3)));
        let timed = |ttl: u8, time: Nanos| judge(Some(80), &far, &answers(50, true, move |_| (ttl, 0, time)));
        let time = |origin: &Origin| {
            origin.traits.iter().find(|found| matches!(found.of, Trait::Time { .. })).map(|found| found.fit)
        };
        let nearer = timed(64, Nanos::micros(300));
        assert_eq!((nearer.verdict, time(&nearer)), (Verdict::AnotherHop, Some(Fit::Impossible)));
        // SYN-ACKs that are held back on their way, or by their host.
        let as_far = timed(63, Nanos::micros(300));
        assert_eq!((as_far.verdict, time(&as_far)), (Verdict::NotShown, Some(Fit::Otherwise)));
        assert_eq!(timed(63, Nanos::millis(15)).verdict, Verdict::NotShown);
        let slow = timed(63, Nanos::millis(200));
        assert_eq!((slow.verdict, time(&slow)), (Verdict::NotShown, Some(Fit::Otherwise)));
    }

    #[test]
    fn too_few_and_none_to_compare_with_accuse_nobody() {
        let strangers = answers(4, true, |_| (64, 0, Nanos::micros(300)));
        assert_eq!(judge(Some(80), &host(20), &strangers).verdict, Verdict::NotShown);
        let alone = judge(None, &[], &strangers);
        assert_eq!((alone.verdict, alone.compared_port), (Verdict::NotShown, None));
    }
}
