//! Dark time: without any reply, and more than lost requests explain.
//!
//! A gap between two replies is dark where
//!
//! - **it was asked, and asked again**: at least two requests of it got no reply in time, whether they were lost, refused or could not
//!   be sent, and from the first of them to the last lies a quarter of the gap or more, with the time for which a full socket held back those that were due. One request, or one full window, that is lost and then waited for is a loss: in the
//!   rest of its timeout nobody asked. A reply that took long is no gap either, for its time is in the distribution; but for what follows.
//! - **chance does not explain it**: were the requests that this run got no answer to dealt out among all of them by chance, so many in a row
//!   would come up less than once in two thousand runs: at any place, or at the very end, where a run that fell silent shows it. Three that are lost
//!   there after two that were answered show nothing: a path that loses half of all does as much in one run of eight. Requests that were refused or could not be sent are not
//!   lost by chance: where they are three or more, half of the run or more by time and by number, and its end, that is dark however few.
//!
//! - **nothing that was asked in it was answered**: an open loop asks on, and where replies are only read late, as on a busy host, those
//!   that are lost by chance have others between them. So between the first and the last of them there are to be no fewer than were due.
//!   Behind a gap that lasts to the end nothing was read, so that there it holds of itself.
//!
//! An open loop whose requests were all answered is dark too in a gap that stands alone: where TCP holds back what comes while a link is down,
//! the replies come later and together, and quantiles say neither when nor for how long. Such a gap is long (`HELD`), is no longest one of
//! many (`ALONE`), and this host sent its requests in it (`SENT_IN_IT`) when they were due.
//!
//! A gap that is shorter than the median beyond the shortest is no dark time but at the end: a queue that is full for most of the run drops
//! many in a row.
//!
//! All of them together are told from one hundredth of the run's time on. So the rule follows the timeout, the schedule and the
//! losses of the run itself; no length is dark by itself.

use crate::method::LoopKind;
use crate::outcome::dark::Dark;
use crate::recorder::{Asked, Gap, Recording, Values};
use crate::unit::{Instant, Nanos};

/// Requests of a gap leave over at least this share of it.
const SPREAD: f64 = 0.25;
/// Losses in a row that chance brings in more than this share of runs are no gap.
const CHANCE: f64 = 0.000_5;
/// An end without a reply of at least this share of the run, by time and by requests that were refused or not sent, is dark whatever
/// chance brings …
const HALF: f64 = 0.5;
/// … where there were so many of them.
const FEW: u64 = 3;
/// The share that has to be unanswered of the requests that an open loop is to send within a gap at its mean rate, but for
/// some that chance spares.
const DENSE: f64 = 0.7;
const SPARED: f64 = 2.0;
/// Least share of the run that a gap takes whose requests were answered after it, …
const HELD: f64 = 0.05;
/// … the most that there may be of those, …
const ALONE: usize = 2;
/// … and the fewest requests that are due in it: at random instants so long a gap comes in less than one of a million runs.
const SENT_IN_IT: f64 = 30.0;
/// Less than this share of the time is told as loss alone.
const NOTABLE: f64 = 0.01;

/// The dark time of `recording`. `None` where there is none, and where nothing answered at all.
pub fn dark(recording: &Recording) -> Option<Dark> {
    let counts = &recording.counts;
    let (gone, all) = (counts.missing() + counts.refused + counts.send_failed, counts.scheduled);
    if counts.answered == 0 {
        return None;
    }
    let gaps = common(&recording.gaps);
    let end = gaps.iter().map(|gap| gap.to).fold(recording.ended, Instant::max);
    let length = end.since(recording.began).filter(|length| *length > Nanos::ZERO)?;
    let is_half = |gap: &Gap| {
        let barred = gap.asked.count - gap.asked.left;
        let shares = [gap.length().0 as f64 / length.0 as f64, barred as f64 / all as f64];
        gap.to == end && barred >= FEW && shares.iter().all(|share| *share >= HALF)
    };
    let is_no_chance = |gap: &Gap| {
        let run = gap.asked.count;
        let anywhere = (all.saturating_sub(run) + 1) as f64;
        // An end has one place by number; a loop that waits for each is the more often in one that it waits for.
        let waits = gap.length().0 as f64 / run.max(1) as f64 / length.0 as f64;
        let places = if gap.to == end { (all as f64 * waits).clamp(1.0, anywhere) } else { anywhere };
        by_chance(run, gone, all, places) < CHANCE
    };
    let is_dense = |gap: &Gap| {
        let due = all as f64 * spread(gap).0 as f64 / length.0 as f64;
        recording.kind == LoopKind::Closed || gap.to == end || gap.asked.count as f64 >= DENSE * due - SPARED
    };
    let is_lost = |gap: &&Gap| {
        is_asked_again(gap, recording.held_back.by_socket) && (is_half(gap) || (is_dense(gap) && is_no_chance(gap)))
    };
    let is_held = |gap: &&Gap| {
        // Behind the last request nothing was due: its reply alone is waited for.
        let until = gap.to.min(recording.sent_until.unwrap_or(recording.ended)).min(recording.ended);
        let share = until.since(gap.from).unwrap_or(Nanos::ZERO).0 as f64 / length.0 as f64;
        // What was sent late came late by this host's doing.
        let late = recording.slip.as_ref().and_then(Values::max).is_some_and(|late| late.0 > gap.length().0 / 4);
        share >= HELD && all as f64 * share >= SENT_IN_IT && gap.asked.count == 0 && gap.from > recording.began && !late
    };
    let mut spells: Vec<&Gap> = gaps.iter().filter(is_lost).collect();
    if !spells.is_empty() {
        let queued = queued(recording);
        spells.retain(|gap| gap.to == end || gap.length() > queued);
    }
    if spells.is_empty() && recording.kind == LoopKind::Open {
        spells = gaps.iter().filter(is_held).collect();
        spells.truncate(if spells.len() > ALONE { 0 } else { ALONE });
    }
    let longest = spells.iter().max_by_key(|gap| gap.length())?;
    let total = Nanos(spells.iter().map(|gap| gap.length().0).sum());
    let share = total.0 as f64 / length.0 as f64;
    let since = |at: Instant| at.since(recording.began).unwrap_or(Nanos::ZERO);
    let other = length.0.saturating_sub(total.0);
    let due = (recording.kind == LoopKind::Closed && other > 0)
        .then(|| (counts.answered as f64 * total.0 as f64 / other as f64).round() as u64);
    (share >= NOTABLE).then(|| Dark {
        spells: spells.len() as u64,
        total_ns: total,
        share,
        longest_from_ns: since(longest.from),
        longest_to_ns: since(longest.to),
        // The replies that were held back are its end.
        to_the_end: spells.last().is_some_and(|gap| gap.to == end && gap.asked.count > 0),
        unanswered: spells.iter().map(|gap| gap.asked.left).sum(),
        refused_or_not_sent: spells.iter().map(|gap| gap.asked.count - gap.asked.left).sum(),
        due,
    })
}

/// The time that the middle one of the answered took beyond the shortest: a full queue, which drops many in a row and lets others through.
fn queued(recording: &Recording) -> Nanos {
    let values = recording.service.as_ref().unwrap_or(&recording.response);
    let median = values.histogram().value_at_quantile(0.5);
    Nanos(values.min().map_or(0, |shortest| median.saturating_sub(shortest.0)))
}

/// At most how probable it is that of `gone` requests without an answer, among `all`, `run` stand in a row at one of so many places: the
/// sum over them.
fn by_chance(run: u64, gone: u64, all: u64, places: f64) -> f64 {
    let run = run.min(gone);
    let mut probability = places;
    for k in 0..run {
        probability *= (gone - k) as f64 / (all - k) as f64;
        if probability < CHANCE * f64::EPSILON {
            break;
        }
    }
    probability
}

/// From the first request of a gap without an answer to the last.
fn spread(gap: &Gap) -> Nanos {
    gap.asked.last.since(gap.asked.first).unwrap_or(Nanos::ZERO)
}

fn is_asked_again(gap: &Gap, held: Nanos) -> bool {
    gap.asked.count >= 2 && spread(gap).0.saturating_add(held.0) as f64 >= SPREAD * gap.length().0 as f64
}

/// Returns the overlaps of the gaps of all threads: a time in which one of them heard something was not dark.
fn common(threads: &[Vec<Gap>]) -> Vec<Gap> {
    let mut threads = threads.iter();
    let first = threads.next().cloned().unwrap_or_default();
    threads.fold(first, |found, thread| {
        let both = |a: &Gap, b: &Gap| {
            let (from, to) = (a.from.max(b.from), a.to.min(b.to));
            (from < to).then(|| Gap { from, to, asked: together(a.asked, b.asked, from, to) })
        };
        let mut overlaps: Vec<Gap> = found.iter().flat_map(|a| thread.iter().filter_map(move |b| both(a, b))).collect();
        overlaps.sort_unstable_by_key(|gap| gap.from);
        overlaps
    })
}

fn together(a: Asked, b: Asked, from: Instant, to: Instant) -> Asked {
    let within = |asked: Asked| (asked.count > 0 && asked.first <= to && asked.last >= from).then_some(asked);
    match (within(a), within(b)) {
        (Some(a), Some(b)) => {
            let (first, last) = (a.first.min(b.first).max(from), a.last.max(b.last).min(to));
            Asked { count: a.count + b.count, left: a.left + b.left, first, last }
        }
        // A thread that did not ask, or not then, shows nothing.
        _ => Asked::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Fate;
    use crate::recorder::{Recorder, Sequence};
    use fastrand::Rng;
    use test_case::test_case;

    const TIMEOUT: Nanos = Nanos::secs(1);
    const TRIP: Nanos = Nanos::micros(200);

    /// A loop of one request at a time: of each that leaves at an instant `reply` says how long its reply takes, if one comes. The
    /// next leaves when it is there, or `pause` after the last one.
    fn closed(length: Nanos, pause: Nanos, mut reply: impl FnMut(Instant) -> Option<Nanos>) -> Recording {
        let start = Instant(1_000);
        let (mut recorder, mut sequence) = (Recorder::new(LoopKind::Closed, 1_000), Sequence::default());
        recorder.begin(start, None);
        let (mut now, end, mut seq) = (start, start.after(length), 0);
        while now < end {
            let sent = now;
            if let Some(took) = reply(sent).filter(|took| *took <= TIMEOUT) {
                now = now.after(took);
                recorder.heard(now);
                recorder.answered(sent, now);
            } else {
                now = now.after(TIMEOUT).min(end);
                recorder.ended(Fate::Lost, &mut sequence, seq, None);
                recorder.unanswered(Fate::Lost, sent);
            }
            now = now.max(sent.after(pause));
            seq += 1;
        }
        recorder.finish(now)
    }

    /// A schedule that waits for nothing: requests without a reply are given up a timeout later.
    fn open(length: Nanos, gap: Nanos, mut reply: impl FnMut(Instant) -> Option<Nanos>) -> Recording {
        let start = Instant(1_000);
        let (mut recorder, mut sequence) = (Recorder::new(LoopKind::Open, 1_000), Sequence::default());
        recorder.begin(start, None);
        let mut ends: Vec<(Instant, u64, Instant, bool)> = (0..length.0 / gap.0)
            .map(|seq| {
                let sent = start.after(Nanos(seq * gap.0));
                reply(sent).map_or((sent.after(TIMEOUT), seq, sent, false), |took| (sent.after(took), seq, sent, true))
            })
            .collect();
        ends.sort_unstable();
        for (at, seq, sent, came) in ends {
            if came {
                recorder.answered_as_scheduled(sent, sent, at);
            } else {
                recorder.ended(Fate::Lost, &mut sequence, seq, None);
                recorder.unanswered(Fate::Lost, sent);
            }
        }
        recorder.finish(start.after(length))
    }

    /// Dark from the one second to the other, and else a reply at once.
    fn dark_from(from: f64, to: f64) -> impl FnMut(Instant) -> Option<Nanos> {
        move |sent| {
            let at = (sent.0 - 1_000) as f64 / 1e9;
            (!(from..to).contains(&at)).then_some(TRIP)
        }
    }

    fn close(found: Nanos, wanted: f64) -> bool {
        (found.0 as f64 / 1e9 - wanted).abs() < 0.01
    }

    /// A path that loses half, and a host that reads nothing for half a second: replies of that time are read after it.
    #[test]
    fn replies_that_are_read_late_leave_no_dark_time_between_losses() {
        let wrong = (0..200).filter(|seed| {
            let rng = &mut Rng::with_seed(*seed);
            let late = |sent: Instant| {
                let at = (sent.0 - 1_000) as f64 / 1e9;
                if (1.0..1.5).contains(&at) { Nanos(((1.5 - at) * 1e9) as u64 + 1) } else { TRIP }
            };
            let found = dark(&open(Nanos::secs(5), Nanos::millis(5), |sent| (rng.f64() < 0.5).then(|| late(sent))));
            found.is_some_and(|found| found.total_ns >= Nanos::millis(300))
        });
        assert!(wrong.count() <= 1);
        // The same in which nothing is answered then.
        let rng = &mut Rng::with_seed(1);
        let mut dead = dark_from(1.0, 1.5);
        let found = dark(&open(Nanos::secs(5), Nanos::millis(5), |sent| dead(sent).filter(|_| rng.f64() < 0.5)));
        assert!(found.is_some_and(|found| found.total_ns.0.abs_diff(500_000_000) < 50_000_000), "{found:?}");
    }

    #[test_case(1, true; "a path that is down for 8 ms of each 20")]
    #[test_case(100, false; "a queue of 100 ms that drops so many in a row")]
    fn what_a_full_queue_drops_in_a_row_is_no_outage(trip: u64, told: bool) {
        let reply = |sent: Instant| {
            let at = sent.0 - 1_000;
            match (at < 100_000_000, at % 20_000_000 < 8_000_000) {
                (true, _) => Some(Nanos::millis(1)),
                (false, true) => None,
                (false, false) => Some(Nanos::millis(trip)),
            }
        };
        assert_eq!(dark(&open(Nanos::secs(5), Nanos::micros(200), reply)).is_some(), told);
    }

    #[test_case(2.0, 9.0, 2.0, 5.0, true; "to the end")]
    #[test_case(1.0, 3.0, 1.0, 3.0, false; "in the middle")]
    #[test_case(1.0, 2.6, 1.0, 3.0, false; "its end is seen when the next request leaves")]
    fn a_closed_loop_that_waits_in_silence_says_so(from: f64, to: f64, first: f64, last: f64, ends: bool) {
        let found = dark(&closed(Nanos::secs(5), Nanos::ZERO, dark_from(from, to))).expect("dark");
        assert!(close(found.longest_from_ns, first) && close(found.longest_to_ns, last), "{found:?}");
        assert!((found.share - (last - first) / 5.0).abs() < 0.005 && close(found.total_ns, last - first));
        assert_eq!((found.spells, found.to_the_end, found.unanswered), (1, ends, (last - first) as u64));
        let due = found.due.expect("a closed loop") as f64;
        assert!((due / ((last - first) * 5_000.0) - 1.0).abs() < 0.01, "{due}: one each 200 us");
    }

    #[test_case(2.0, 9.0, 5.0, true; "to the end")]
    #[test_case(1.0, 1.4, 1.4, false; "shorter than the timeout")]
    fn an_open_loop_says_the_same_and_has_lost_them(from: f64, to: f64, last: f64, ends: bool) {
        let found = dark(&open(Nanos::secs(5), Nanos::millis(1), dark_from(from, to))).expect("dark");
        assert!(close(found.longest_from_ns, from) && close(found.longest_to_ns, last), "{found:?}");
        assert_eq!((found.due, found.to_the_end), (None, ends));
        assert!(found.unanswered.abs_diff(((last - from) * 1_000.0) as u64) <= 1);
    }

    /// Answers one each millisecond for two seconds, and for three more each ends with a status of `fates` in turn.
    fn then(fates: &[Fate]) -> Option<Dark> {
        let (mut recorder, mut sequence) = (Recorder::new(LoopKind::Open, 1_000), Sequence::default());
        recorder.begin(Instant(0), None);
        for n in 0..5_000 {
            let sent = Instant(n * 1_000_000);
            if n < 2_000 {
                recorder.answered_as_scheduled(sent, sent, sent.after(TRIP));
            } else {
                let fate = fates[n as usize % fates.len()];
                recorder.ended(fate, &mut sequence, n, None);
                recorder.unanswered(fate, sent);
                if fate.is_reply() {
                    recorder.heard(sent.after(TRIP));
                }
            }
        }
        dark(&recorder.finish(Instant(5_000_000_000)))
    }

    #[test_case(&[Fate::SendFailed], (0, 3_000); "nothing could be sent")]
    #[test_case(&[Fate::Refused], (0, 3_000); "all were refused")]
    #[test_case(&[Fate::Lost, Fate::SendFailed, Fate::Refused], (1_000, 2_000); "of each some")]
    fn time_without_an_answer_is_dark_whatever_kept_the_requests_from_it(fates: &[Fate], counts: (u64, u64)) {
        let found = then(fates).expect("dark");
        assert!(close(found.longest_from_ns, 2.0) && close(found.longest_to_ns, 5.0), "{found:?}");
        assert!(found.to_the_end && (found.share - 0.6).abs() < 0.01, "{found:?}");
        assert_eq!((found.unanswered, found.refused_or_not_sent), counts);
    }

    #[test]
    fn spoiled_replies_are_no_dark_time() {
        assert_eq!(then(&[Fate::Corrupt]), None);
    }

    #[test]
    fn several_are_counted_and_the_longest_stands_for_them() {
        let path = |sent: Instant| {
            let at = (sent.0 - 1_000) / 100_000_000;
            let is_dark = [7, 17, 27].contains(&at) || (37..40).contains(&at);
            (!is_dark).then_some(TRIP)
        };
        let found = dark(&open(Nanos::secs(5), Nanos::millis(1), path)).expect("dark");
        assert_eq!((found.spells, found.to_the_end), (4, false));
        assert!(close(found.total_ns, 0.6) && close(found.longest_from_ns, 3.7) && close(found.longest_to_ns, 4.0));
    }

    #[test_case(&mut |sent| if sent.0 == 1_000 { None } else { Some(TRIP) }; "one lost, and its timeout waited for")]
    #[test_case(&mut dark_from(2.0, 2.9); "what one timeout hides")]
    #[test_case(&mut |sent| Some(if sent.0 == 1_000 { Nanos::millis(900) } else { TRIP }); "one reply that took long")]
    #[test_case(&mut |_| None; "nothing answered at all")]
    fn what_is_loss_or_a_time_is_not_dark(path: &mut dyn FnMut(Instant) -> Option<Nanos>) {
        assert_eq!(dark(&closed(Nanos::secs(5), Nanos::ZERO, path)), None);
    }

    /// Replies that are held back in these tenths of a second come together at the end of the time.
    fn held(tenths: &[u64]) -> impl FnMut(Instant) -> Option<Nanos> + '_ {
        move |sent| {
            let (mut tenth, since) = ((sent.0 - 1_000) / 100_000_000, (sent.0 - 1_000) % 100_000_000);
            let first = tenth;
            while tenths.contains(&tenth) {
                tenth += 1;
            }
            Some(if tenth == first { TRIP } else { Nanos((tenth - first) * 100_000_000 - since + TRIP.0) })
        }
    }

    #[test_case(&[20, 21, 22, 23, 24, 25], 10, Some((2.0, 2.6)); "a link that was down, over TCP")]
    #[test_case(&[0, 1, 2, 3, 4, 5], 10, None; "a first reply that took long")]
    #[test_case(&[20, 21, 22, 23, 24, 25], 50, None; "too few requests in it")]
    #[test_case(&[20, 21], 5, None; "a short one")]
    #[test_case(&[5, 6, 7, 15, 16, 17, 25, 26, 27], 5, None; "one of many")]
    fn replies_that_come_late_and_together_are_dark_where_that_stands_alone(
        tenths: &[u64],
        gap_ms: u64,
        expected: Option<(f64, f64)>,
    ) {
        let found = dark(&open(Nanos::secs(5), Nanos::millis(gap_ms), held(tenths)));
        assert_eq!(found.is_some(), expected.is_some(), "{found:?}");
        if let Some((found, (from, to))) = found.zip(expected) {
            let near = |at: Nanos, wanted: f64| (at.0 as f64 / 1e9 - wanted).abs() < 0.02;
            assert!(near(found.longest_from_ns, from) && near(found.longest_to_ns, to), "{found:?}");
            assert_eq!((found.spells, found.unanswered, found.to_the_end), (1, 0, false));
        }
    }

    #[test]
    fn replies_that_were_held_back_until_the_end_came() {
        let tenths: Vec<u64> = (44..50).collect();
        let found = dark(&open(Nanos::secs(5), Nanos::millis(10), held(&tenths))).unwrap();
        assert_eq!((found.spells, found.unanswered, found.to_the_end), (1, 0, false), "{found:?}");
    }

    /// The same by the doing of this host, which sent nothing in that time.
    #[test]
    fn what_was_sent_late_is_not_dark() {
        let mut recorder = Recorder::new(LoopKind::Open, 1_000);
        recorder.begin(Instant(0), None);
        for n in 0..500_u64 {
            let due = Instant(n * 10_000_000);
            let sent = if (200..260).contains(&n) { Instant(2_600_000_000) } else { due };
            recorder.answered_as_scheduled(due, sent, sent.after(TRIP));
        }
        assert_eq!(dark(&recorder.finish(Instant(5_000_000_000))), None);
    }

    /// Thirty requests, one each 100 ms, of which these are the last ones: too few for chance to be ruled out.
    #[test_case(28, Fate::Refused, true; "all but two")]
    #[test_case(28, Fate::SendFailed, true; "all but two that could not be sent")]
    #[test_case(28, Fate::Lost, false; "lost ones")]
    #[test_case(1, Fate::Refused, false; "one alone")]
    fn an_end_that_is_refused_is_dark_however_few(last: u64, fate: Fate, is_dark: bool) {
        let (mut recorder, mut sequence) = (Recorder::new(LoopKind::Open, 100), Sequence::default());
        recorder.begin(Instant(0), None);
        for n in 0..30 {
            let sent = Instant(n * 100_000_000);
            if n < 30 - last {
                recorder.answered_as_scheduled(sent, sent, sent.after(TRIP));
            } else {
                recorder.ended(fate, &mut sequence, n, None);
                recorder.unanswered(fate, sent);
            }
        }
        let found = dark(&recorder.finish(Instant(3_000_000_000)));
        assert_eq!(found.map(|dark| dark.to_the_end), is_dark.then_some(true));
    }

    /// A handshake each 10 ms, and one each timeout once nobody answers: three are lost until the end of 3 s.
    #[test_case(80, true; "eighty were answered")]
    #[test_case(22, false; "too few were answered")]
    #[test_case(2, false; "of five which chance may have lost")]
    fn an_end_in_which_few_were_asked_is_dark_where_chance_does_not_bring_it(answered: u64, is_dark: bool) {
        let pause = Nanos::millis(10);
        let length = Nanos(pause.0 * answered + 2 * TIMEOUT.0 + TIMEOUT.0 / 2);
        let found = dark(&closed(length, pause, dark_from(answered as f64 * 0.01 - 0.005, 9.0)));
        assert_eq!(found.map(|found| (found.to_the_end, found.unanswered)), is_dark.then_some((true, 3)));
    }

    #[test]
    fn a_request_lost_of_a_sparse_schedule_is_a_loss() {
        let lost = |from: f64, to: f64| dark(&closed(Nanos::secs(20), Nanos::secs(1), dark_from(from, to)));
        assert_eq!((lost(4.5, 5.5), lost(4.5, 6.5)), (None, None));
        assert!(lost(8.5, 20.0).is_some());
    }

    #[test]
    fn a_window_lost_at_once_was_asked_once() {
        let mut recorder = Recorder::new(LoopKind::Closed, 100);
        recorder.begin(Instant(0), None);
        let mut sequence = Sequence::default();
        for n in 0..100 {
            recorder.heard(Instant(n * 1_000 + 900));
            recorder.answered(Instant(n * 1_000), Instant(n * 1_000 + 900));
        }
        for n in 0..16 {
            recorder.ended(Fate::Lost, &mut sequence, 100 + n, None);
            recorder.unanswered(Fate::Lost, Instant(100_000 + n));
        }
        for n in 0..100 {
            recorder.heard(Instant(1_000_000_900 + n));
            recorder.answered(Instant(1_000_000_000 + n), Instant(1_000_000_900 + n));
        }
        assert_eq!(dark(&recorder.finish(Instant(1_000_002_000))), None);
    }

    #[test]
    fn what_one_thread_hears_was_not_dark() {
        let thread = |from, to| closed(Nanos::secs(10), Nanos::ZERO, dark_from(from, to));
        let both = |mut one: Recording, other| {
            one.merge(other);
            dark(&one)
        };
        assert_eq!(both(thread(2.0, 6.0), thread(20.0, 20.0)), None);
        let found = both(thread(2.0, 7.0), thread(3.0, 8.0)).expect("where both were dark");
        assert!(close(found.longest_from_ns, 3.0) && close(found.longest_to_ns, 7.0), "{found:?}");
    }

    /// Worlds that lose by chance and stall now and then, and are never dark: at most one in five hundred may be called so.
    #[test_case(0.0, 0.0; "without loss")]
    #[test_case(0.001, 0.0; "rare loss")]
    #[test_case(0.01, 0.0; "one in a hundred")]
    #[test_case(0.05, 0.0; "one in twenty")]
    #[test_case(0.3, 0.0; "one in three")]
    #[test_case(0.7, 0.0; "most of them")]
    #[test_case(0.02, 0.02; "and stalls of up to a second")]
    fn what_chance_loses_is_not_dark(loss: f64, stall: f64) {
        let mut rng = Rng::with_seed(18);
        let mut found = [0_u32; 3];
        for _ in 0..350 {
            let path = |rng: &mut Rng| {
                let stalls = rng.f64() < stall;
                let took = Nanos(if stalls { rng.u64(1_000_000..999_000_000) } else { rng.u64(5_000_000..9_000_000) });
                (rng.f64() >= loss).then_some(took)
            };
            let worlds = [
                closed(Nanos::secs(10), Nanos::ZERO, |_| path(&mut rng)),
                closed(Nanos::secs(60), Nanos::secs(1), |_| path(&mut rng)),
                open(Nanos::secs(5), Nanos::millis(5), |_| path(&mut rng)),
            ];
            worlds.iter().zip(&mut found).for_each(|(world, found)| *found += u32::from(dark(world).is_some()));
        }
        assert!(found.iter().sum::<u32>() <= 2, "{found:?}");
    }
}
