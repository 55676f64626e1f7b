//! Comparison of a run's connections: their results, the groups with similar times, and those that lose.

use fastrand::Rng;
use hdrhistogram::Histogram;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::groups::{self, FEWEST_ROUNDS, Least, Round};
use super::paired::{Estimate, median};
use super::payload;
use super::quantile::{ROUGH_FROM, Ranked, beyond};
use crate::outcome::flows::{Between, FlowGroup, Flows, OfFlow};
use crate::recorder::{FlowCounts, Kept, LONGEST, Recording};
use crate::unit::Nanos;

/// Connections up to which they are compared with each other.
pub const MOST: usize = 4_096;
/// Where one in so many connections moves in mid-run, or more, none is in a group.
const MANY: usize = 8;
/// Connections up to which groups are sought.
const MOST_GROUPED: usize = 512;
/// Into so many rounds a run is cut at the most.
const MOST_ROUNDS: usize = 60;
/// No smaller difference between connections is told: queues and processors differ by about so much anyway.
pub const LEAST: Least = Least { time_ns: 2_000.0, share: 0.05 };
/// Probability that losses which have nothing to do with the connection are told to have.
const LEFT_OUT: f64 = 0.01;
/// From so many losses a connection on, the sum of squares is distributed as theory has it; below, losses are dealt out anew.
const ENOUGH: u64 = 5;
/// Deals of losses that the test takes.
const DEALS: u32 = 1_999;

/// The connections of `recording` apart; `None` of one alone and of more than [`MOST`]. `seed` decides the draws of the tests.
///
/// Groups are sought among those of one thread: connections of several differ by the processors that their threads run on.
pub fn flows(recording: &Recording, seed: u64) -> Option<Flows> {
    if !(2..=MOST).contains(&recording.flows.len()) {
        return None;
    }
    let mut counts = recording.flows.clone();
    counts.sort_by_key(|counts| counts.flow);
    let times = times(recording, counts.len());
    let rounds = rounds(&turns(recording, counts.len()));
    let each: Vec<OfFlow> = counts.iter().zip(&times).map(|(counts, times)| of_flow(counts, times)).collect();
    let alike = recording.series.len() == 1 && counts.len() <= MOST_GROUPED;
    let typical = |flow: u32| each.get(flow as usize)?.p50_ns.map(|time| time.0 as f64);
    let grouped = |rounds: &[Round]| groups::groups(rounds, LEAST, groups::LEFT_OUT, seed, typical);
    let told = (alike && rounds.len() >= FEWEST_ROUNDS).then(|| grouped(&rounds));
    let least_ns = told.as_ref().map_or(LEAST.time_ns, |told| told.least_ns);
    let several = told.as_ref().filter(|told| told.groups.len() > 1);
    let moved = several.map_or_else(Vec::new, |told| groups::moved(&rounds, told.least_ns));
    let told = told.filter(|_| MANY * moved.len() < counts.len());
    let told = if moved.is_empty() { told } else { told.map(|_| grouped(&without(rounds, &moved))) };
    let groups: Option<Vec<FlowGroup>> =
        told.map(|told| told.groups.into_iter().map(|group| of_group(group, &counts)).collect());
    let periods = recording.loss_periods.periods;
    let by_group = groups.as_ref().map_or_else(Vec::new, |groups| of_losing_groups(groups, &counts, periods, seed));
    let mut losing = if by_group.is_empty() { losing(&counts, periods, seed) } else { by_group };
    if losing.is_empty() {
        losing = shut_out(&counts);
    }
    Some(Flows { each, groups, least_ns, moved, losing })
}

/// The rounds without these connections.
fn without(mut rounds: Vec<Round>, left_out: &[u32]) -> Vec<Round> {
    for round in &mut rounds {
        for flow in left_out {
            if let Some(time) = round.get_mut(*flow as usize) {
                *time = None;
            }
        }
    }
    rounds
}

/// The kept times of each connection in order, nanoseconds, from the send.
fn times(recording: &Recording, flows: usize) -> Vec<Vec<u64>> {
    let mut times = vec![Vec::new(); flows];
    for kept in recording.series.iter().flat_map(|series| &series.samples) {
        if let Some(times) = times.get_mut(kept.flow as usize) {
            times.push(from_send(kept));
        }
    }
    times
}

/// Returns the median time of each turn of each connection, in order. A turn is a row of answers over one connection.
fn turns(recording: &Recording, flows: usize) -> Vec<Vec<f64>> {
    let mut turns = vec![Vec::new(); flows];
    for series in &recording.series {
        for turn in series.samples.chunk_by(|one, next| one.flow == next.flow) {
            let times: Vec<f64> = turn.iter().map(|kept| from_send(kept) as f64).collect();
            if let (Some(turns), Some(time)) = (turns.get_mut(turn[0].flow as usize), median(&times)) {
                turns.push(time);
            }
        }
    }
    turns
}

/// Cuts the run into parts with as many turns of each connection, and returns each connection's median in every part: a
/// disturbance meets them alike, and no turn is in two parts.
fn rounds(turns: &[Vec<f64>]) -> Vec<Round> {
    let mut lengths: Vec<usize> = turns.iter().map(Vec::len).filter(|length| *length > 0).collect();
    lengths.sort_unstable();
    // A connection that has fewer than most is out of some rounds; it does not take them from the others.
    let count = lengths.get(lengths.len() / 4).map_or(0, |length| (*length).min(MOST_ROUNDS));
    let part =
        |turns: &[f64], round: usize| median(&turns[round * turns.len() / count..(round + 1) * turns.len() / count]);
    (0..count).map(|round| turns.iter().map(|turns| part(turns, round)).collect()).collect()
}

/// Time from the actual send: our own lag behind the schedule has nothing to do with the connection.
fn from_send(kept: &Kept) -> u64 {
    kept.response.saturating_sub(kept.slip)
}

fn of_flow(counts: &FlowCounts, times: &[u64]) -> OfFlow {
    let mut histogram =
        Histogram::new_with_bounds(1, LONGEST.0, 3).expect("three digits up to an hour are valid bounds");
    for time in times {
        histogram.saturating_record(*time);
    }
    let ranked = Ranked::exact(times.to_vec());
    let at = |q: f64| ranked.quantile(q).map(Nanos);
    OfFlow {
        scheduled: counts.scheduled,
        answered: counts.answered,
        p50_ns: at(0.5),
        p99_ns: at(0.99).filter(|_| beyond(0.99, times.len() as u64) >= ROUGH_FROM),
        histogram: payload::encode(&histogram),
    }
}

fn of_group(group: groups::Group, counts: &[FlowCounts]) -> FlowGroup {
    let of = |count: fn(&FlowCounts) -> u64| {
        group.flows.iter().filter_map(|flow| counts.get(*flow as usize)).map(count).sum()
    };
    let between =
        |estimate: Estimate| Between { value_ns: estimate.value, low_ns: estimate.low, high_ns: estimate.high };
    FlowGroup {
        scheduled: of(|counts| counts.scheduled),
        answered: of(|counts| counts.answered),
        time: group.time.map(between),
        shift: group.shift.map(between),
        flows: group.flows,
    }
}

/// The connections that lose more than the others, where losses are spread over them more unevenly than by chance: the cut between two rates that
/// makes the counts likeliest. A connection of a losing path that lost none by chance is not among them.
///
/// Losses that follow each other without a reply in between are one event, and there are `periods` of them: it meets
/// whichever connection's turn it is. Where connections take turns, a turn ends with its first loss, for the wait for
/// it is longer: one that loses early has sent little. So turns with a loss are counted among turns, not requests among
/// requests.
fn losing(counts: &[FlowCounts], periods: u64, seed: u64) -> Vec<u32> {
    let (lost, sent) = events(counts, periods);
    if is_uneven(&lost, &sent, seed) { above_cut(&lost, &sent) } else { Vec::new() }
}

/// Fewest requests of connections that are shut out, all together.
const SHUT_OUT: u64 = 6;
/// Probability, at most, that chance deals what is lost to some connections whole.
const DEALT_WHOLE: f64 = 0.001;

/// The connections of which nothing was answered, where every request of all others was. Refusals come one after the other, and so show nothing as
/// [`events`]; this they do show, as does a wait for each loss that leaves few requests for a connection.
fn shut_out(counts: &[FlowCounts]) -> Vec<u32> {
    let asked = || counts.iter().filter(|of| of.scheduled > 0);
    let out: Vec<&FlowCounts> = asked().filter(|of| of.answered == 0).collect();
    let is_alone = asked().all(|of| of.answered == 0 || of.answered == of.scheduled);
    let missed: u64 = out.iter().map(|of| of.scheduled).sum();
    let all = asked().count();
    let sent: u64 = asked().map(|of| of.scheduled).sum();
    let share = missed as f64 / sent.max(1) as f64;
    let whole = |of: &FlowCounts| {
        let n = i32::try_from(of.scheduled).unwrap_or(i32::MAX);
        share.powi(n) + (1.0 - share).powi(n)
    };
    let by_chance: f64 = asked().map(whole).product();
    let is = is_alone && 2 * out.len() <= all && missed >= SHUT_OUT && by_chance <= DEALT_WHOLE;
    if is { out.iter().map(|of| of.flow).collect() } else { Vec::new() }
}

/// The connections of those groups that lose more than the others. Times alone tell the groups, so that losses that no connection shows by itself are
/// shown by all of a group together. What loses all packets for a while meets the group more whose requests are longer on their way: that
/// does not suffice. Nor are those groups meant where some of their connections lose more than the rest.
fn of_losing_groups(groups: &[FlowGroup], counts: &[FlowCounts], periods: u64, seed: u64) -> Vec<u32> {
    let turns = |group: &FlowGroup| group.flows.iter().filter_map(|flow| Some(counts.get(*flow as usize)?.turns)).sum();
    let pooled = |(flow, group): (u32, &FlowGroup)| FlowCounts {
        flow,
        scheduled: group.scheduled,
        answered: group.answered,
        turns: turns(group),
    };
    let (lost, sent) = events(&(0..).zip(groups).map(pooled).collect::<Vec<_>>(), periods);
    let by_time = |(group, sent): (&FlowGroup, &u64)| Some((group.time?.value_ns * *sent as f64) as u64);
    let Some(by_time) = groups.iter().zip(&sent).map(by_time).collect::<Option<Vec<_>>>() else { return Vec::new() };
    if !is_uneven(&lost, &sent, seed) || !is_uneven(&lost, &by_time, seed) {
        return Vec::new();
    }
    let above = above_cut(&lost, &sent);
    let mut flows: Vec<u32> = above.iter().flat_map(|place| groups[*place as usize].flows.iter().copied()).collect();
    flows.sort_unstable();
    let within: Vec<FlowCounts> = flows.iter().filter_map(|flow| counts.get(*flow as usize).copied()).collect();
    let (lost, sent) = events(&within, periods);
    if is_uneven(&lost, &sent, seed) { Vec::new() } else { flows }
}

/// Losses of each, as events, and what each sent, turns where they take turns.
fn events(counts: &[FlowCounts], periods: u64) -> (Vec<u64>, Vec<u64>) {
    let gone: Vec<u64> = counts.iter().map(|counts| counts.scheduled.saturating_sub(counts.answered)).collect();
    let of_period = gone.iter().sum::<u64>() as f64 / periods.max(1) as f64;
    let take_turns = counts.iter().any(|counts| counts.turns > 0);
    let sent: Vec<u64> = counts.iter().map(|of| if take_turns { of.turns } else { of.scheduled }).collect();
    let lost = gone.iter().map(|gone| (*gone as f64 / of_period.max(1.0)).round() as u64);
    let lost = lost.zip(&sent).map(|(lost, sent)| lost.min(*sent)).collect();
    (lost, sent)
}

/// True where losses are spread more unevenly over what was sent than by chance.
fn is_uneven(lost: &[u64], sent: &[u64], seed: u64) -> bool {
    let (all_lost, all_sent) = (lost.iter().sum::<u64>(), sent.iter().sum::<u64>());
    if all_lost < 3 || all_lost == all_sent {
        return false;
    }
    let uneven = |lost: &[u64]| -> f64 {
        let expected = |sent: u64| (all_lost as f64 * sent as f64 / all_sent as f64).max(f64::MIN_POSITIVE);
        lost.iter().zip(sent).map(|(lost, sent)| (*lost as f64 - expected(*sent)).powi(2) / expected(*sent)).sum()
    };
    let found = uneven(lost);
    let degrees = sent.iter().filter(|sent| **sent > 0).count().saturating_sub(1);
    if all_lost >= ENOUGH * sent.len() as u64 {
        return ChiSquared::new(degrees as f64).is_ok_and(|chance| chance.sf(found) <= LEFT_OUT);
    }
    let mut until = 0;
    let places: Vec<u64> = sent
        .iter()
        .map(|sent| {
            until += sent;
            until
        })
        .collect();
    let mut rng = Rng::with_seed(seed);
    let mut deal = || {
        let mut dealt = vec![0_u64; sent.len()];
        for _ in 0..all_lost {
            let at = rng.u64(0..all_sent);
            dealt[places.partition_point(|until| *until <= at)] += 1;
        }
        uneven(&dealt) >= found
    };
    let allowed = (LEFT_OUT * f64::from(DEALS + 1)).floor() as u32;
    let mut as_uneven = 1;
    for _ in 0..DEALS {
        if as_uneven > allowed {
            return false;
        }
        as_uneven += u32::from(deal());
    }
    as_uneven <= allowed
}

/// The places above the cut of loss rates that is likeliest (two binomial rates).
fn above_cut(lost: &[u64], sent: &[u64]) -> Vec<u32> {
    let rate = |place: usize| lost[place] as f64 / (sent[place].max(1)) as f64;
    let mut order: Vec<usize> = (0..lost.len()).filter(|place| sent[*place] > 0).collect();
    order.sort_by(|one, other| rate(*one).total_cmp(&rate(*other)));
    let likelihood = |part: &[usize]| {
        let (lost, sent) = part.iter().fold((0, 0), |sum, place| (sum.0 + lost[*place], sum.1 + sent[*place]));
        let (lost, kept) = (lost as f64, (sent - lost) as f64);
        let of = |count: f64| if count > 0.0 { count * (count / (lost + kept)).ln() } else { 0.0 };
        of(lost) + of(kept)
    };
    let best = (1..order.len())
        .max_by(|one, other| {
            let of = |at: usize| likelihood(&order[..at]) + likelihood(&order[at..]);
            of(*one).total_cmp(&of(*other))
        })
        .unwrap_or(order.len());
    let mut above: Vec<u32> = order[best..].iter().map(|place| *place as u32).collect();
    above.sort_unstable();
    above
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::LoopKind;
    use crate::recorder::Recorder;
    use crate::unit::Instant;
    use test_case::test_case;

    /// A run of so many turns of each of `flows` connections, a few exchanges each; `trip` and `lost` give the results of
    /// a connection and a draw.
    fn recording(
        flows: u32,
        turns: u32,
        rng: &mut Rng,
        trip: impl Fn(u32, &mut Rng) -> f64,
        lost: impl Fn(u32, &mut Rng) -> bool,
    ) -> Recording {
        let mut recorder = Recorder::new(LoopKind::Closed, 1 << 16);
        recorder.begin(Instant(0), None);
        let mut counts: Vec<FlowCounts> = (0..flows).map(|flow| FlowCounts { flow, ..FlowCounts::default() }).collect();
        let mut drift = 0.0_f64;
        for _ in 0..turns {
            let mut order: Vec<u32> = (0..flows).collect();
            rng.shuffle(&mut order);
            for flow in order {
                recorder.over(flow);
                drift = 0.98 * drift + 0.2 * (rng.f64() - 0.5);
                for _ in 0..4 {
                    let of = &mut counts[flow as usize];
                    of.scheduled += 1;
                    if !lost(flow, rng) {
                        of.answered += 1;
                        let time = trip(flow, rng) * (1.0 + drift);
                        recorder.answered(Instant(0), Instant(time.max(1.0) as u64));
                    }
                }
            }
        }
        Recording { flows: counts, ..recorder.finish(Instant(1)) }
    }

    /// 20 µs, with a tail.
    fn usual(rng: &mut Rng) -> f64 {
        20_000.0 * (1.0 + 0.2 * rng.f64() + if rng.u32(0..50) == 0 { 5.0 } else { 0.0 })
    }

    #[test]
    fn connections_that_do_not_differ_are_hardly_ever_told_apart() {
        let mut rng = Rng::with_seed(11);
        let told = (0..300)
            .map(|seed| flows(&recording(16, 12, &mut rng, |_, rng| usual(rng), |_, rng| rng.u32(0..40) == 0), seed))
            .map(|told| told.expect("several connections"));
        let (mut split, mut losing) = (0, 0);
        for told in told {
            split += u32::from(told.groups.is_none_or(|groups| groups.len() != 1));
            losing += u32::from(!told.losing.is_empty());
        }
        // 1 % of either: more than 10 of 300 has a probability below 1 in 1,000.
        assert!(split <= 10 && losing <= 10, "{split} split, {losing} losing");
    }

    #[test]
    fn a_quarter_that_takes_longer_is_found_whole() {
        let mut rng = Rng::with_seed(12);
        let exact = (0..50).filter(|seed| {
            let trip = |flow: u32, rng: &mut Rng| usual(rng) + if flow.is_multiple_of(4) { 20_000.0 } else { 0.0 };
            let told = flows(&recording(16, 60, &mut rng, trip, |_, _| false), *seed).expect("several");
            let groups = told.groups.expect("enough rounds");
            groups.len() == 2 && groups[1].flows == [0, 4, 8, 12]
        });
        assert!(exact.count() >= 48);
    }

    /// A host that is busy in step with the turns holds the same connections again and again: then one exchange is all of a turn.
    #[test]
    fn connections_whose_turns_are_held_take_no_longer_way() {
        let mut rng = Rng::with_seed(15);
        let mut recorder = Recorder::new(LoopKind::Closed, 1 << 16);
        recorder.begin(Instant(0), None);
        let mut counts: Vec<FlowCounts> = (0..8).map(|flow| FlowCounts { flow, ..FlowCounts::default() }).collect();
        for turn in 0..36 {
            for of in &mut counts {
                recorder.over(of.flow);
                let held = of.flow % 6 == 0 && turn % 3 < 2;
                for _ in 0..if held { 1 } else { 12 } {
                    of.scheduled += 1;
                    of.answered += 1;
                    let time = usual(&mut rng) + if held { 4_000_000.0 } else { 0.0 };
                    recorder.answered(Instant(0), Instant(time as u64));
                }
            }
        }
        let told = flows(&Recording { flows: counts, ..recorder.finish(Instant(1)) }, 1).expect("several");
        let groups = told.groups.expect("enough rounds");
        assert_eq!(groups.len(), 1, "{groups:?}");
        let time = groups[0].time.expect("answered").value_ns;
        assert!((20_000.0..24_000.0).contains(&time), "{time}");
    }

    #[test]
    fn losses_in_a_row_are_one_event_that_meets_one_connection() {
        let lost = |in_a_row: u64| {
            let mut counts: Vec<FlowCounts> =
                (0..8).map(|flow| FlowCounts { flow, scheduled: 1_000, answered: 1_000, turns: 0 }).collect();
            counts[3].answered -= 12;
            losing(&counts, 12 / in_a_row, 1)
        };
        assert_eq!((lost(1), lost(12)), (vec![3], Vec::new()));
    }

    #[test_case(&[(5, 0), (5, 5), (4, 4), (5, 0)], &[0, 3]; "half of them each time")]
    #[test_case(&[(5, 0), (5, 4), (4, 4), (5, 0)], &[]; "another lost one too")]
    #[test_case(&[(5, 0), (5, 5), (4, 0), (5, 0)], &[]; "most of them: the others are the exception")]
    #[test_case(&[(2, 0), (5, 5), (4, 4), (2, 0)], &[]; "so few are chance")]
    #[test_case(&[(5, 5), (5, 5), (0, 0)], &[]; "one that was not asked")]
    #[test_case(&[[(2, 0), (2, 2), (2, 2), (2, 2)]; 4].concat(), &[0, 4, 8, 12]; "two requests of each of many")]
    #[test_case(&[[(1, 0), (1, 1), (1, 1), (1, 1)]; 8].concat(), &[]; "one request of each shows nothing")]
    fn connections_that_get_nothing_while_all_others_do_are_shut_out(asked: &[(u64, u64)], out: &[u32]) {
        let counts: Vec<FlowCounts> = (0..)
            .zip(asked)
            .map(|(flow, (scheduled, answered))| FlowCounts {
                flow,
                scheduled: *scheduled,
                answered: *answered,
                turns: 0,
            })
            .collect();
        assert_eq!(shut_out(&counts), out);
    }

    /// Two groups of 16 connections: the second takes `time_ns`, and some of its connections lost one request.
    fn groups_of(time_ns: f64, losses: u32) -> (Vec<FlowGroup>, Vec<FlowCounts>) {
        let counts: Vec<FlowCounts> = (0..32)
            .map(|flow| FlowCounts {
                flow,
                scheduled: 45,
                answered: 45 - u64::from(flow >= 16 && flow < 16 + losses),
                turns: 0,
            })
            .collect();
        let group = |flows: std::ops::Range<u32>, time: f64| {
            let time = Estimate { value: time, low: None, high: None };
            of_group(groups::Group { flows: flows.collect(), time: Some(time), shift: None }, &counts)
        };
        (vec![group(0..16, 50_000.0), group(16..32, time_ns)], counts)
    }

    #[test]
    fn a_group_that_loses_is_found_where_no_connection_alone_shows_it() {
        let (groups, counts) = groups_of(100_000.0, 14);
        assert_eq!(losing(&counts, 14, 1), Vec::<u32>::new());
        assert_eq!(of_losing_groups(&groups, &counts, 14, 1), (16..32).collect::<Vec<_>>());
        let (groups, counts) = groups_of(100_000.0, 4);
        assert_eq!(of_losing_groups(&groups, &counts, 4, 1), Vec::<u32>::new(), "so few are chance");
    }

    #[test]
    fn one_connection_that_loses_is_not_its_whole_group() {
        let (mut groups, mut counts) = groups_of(100_000.0, 0);
        counts[20].answered -= 14;
        groups[1].answered -= 14;
        assert_eq!(of_losing_groups(&groups, &counts, 14, 1), Vec::<u32>::new());
        assert_eq!(losing(&counts, 14, 1), [20]);
    }

    #[test]
    fn what_loses_all_for_a_while_meets_whoever_is_long_on_its_way() {
        let (groups, counts) = groups_of(10_000_000.0, 14);
        assert_eq!(of_losing_groups(&groups, &counts, 14, 1), Vec::<u32>::new());
    }

    #[test]
    fn one_alone_is_not_told_apart() {
        let mut rng = Rng::with_seed(13);
        assert_eq!(flows(&recording(1, 4, &mut rng, |_, rng| usual(rng), |_, _| false), 1), None);
    }

    #[test]
    fn too_few_values_make_no_groups() {
        let mut rng = Rng::with_seed(14);
        let told = flows(&recording(8, 1, &mut rng, |_, rng| usual(rng), |_, _| false), 1).expect("several");
        assert_eq!((told.groups, told.each.len()), (None, 8));
    }
}
