//! The exchanges of all legs side by side in time: dark times, and delays that come back at even distances.

use super::course::{Course, Exchanged};
use crate::event::Fate;
use crate::method::LoopKind;
use crate::outcome::change::Change;
use crate::outcome::dark::Dark;
use crate::outcome::periodic::Periodic;
use crate::recorder::{Recorder, Sequence};
use crate::statistics::change;
use crate::statistics::dark;
use crate::statistics::periodic::{self, Taken, excess_above};
use crate::statistics::quantile::Ranked;
use crate::unit::Instant;

/// Changes of two legs that are so near each other, as a part of the time, are one.
const ALIKE: u64 = 10;

/// Where nobody asks for so many times the mean distance of two requests, there is a pause between two parts: for a connection that does not
/// come, as long as its patience.
const PAUSE: u64 = 10;

/// The time in which no leg got a reply, of those that get any; `None` where chance explains it, or where most of them were not asked then. A look
/// that fell silent during a pause, and to the end, is told by the time in which it asked.
pub fn dark(courses: &[Course]) -> Option<Dark> {
    let answering: Vec<&Course> = courses.iter().filter(|course| course.median().is_some()).collect();
    let asked: Vec<Exchanged> = answering.iter().flat_map(|course| course.rounds()).copied().collect();
    let began = asked.iter().map(|asked| asked.sent).min()?;
    // One that waits for its connections while the others are at their end asks alone for a while.
    let is_of_most = |found: &Dark| {
        let [from, to] = [found.longest_from_ns, found.longest_to_ns].map(|since| began.after(since));
        let in_it = |asked: &Exchanged| asked.fate != Fate::Answered && from <= asked.sent && asked.sent <= to;
        let missing = answering.iter().filter(|course| course.rounds().any(in_it)).count();
        found.to_the_end || 2 * missing >= answering.len()
    };
    let silence = || dark_of(without_pauses(asked.clone())).filter(|silence| silence.to_the_end);
    dark_of(asked.clone()).filter(is_of_most).or_else(silence)
}

fn dark_of(mut asked: Vec<Exchanged>) -> Option<Dark> {
    asked.sort_unstable_by_key(|asked| asked.received().unwrap_or(asked.sent));
    let began = asked.iter().map(|asked| asked.sent).min()?;
    let end = asked.iter().map(|asked| asked.received().unwrap_or(asked.sent)).max()?;
    let mut recorder = Recorder::new(LoopKind::Open, 0);
    recorder.begin(began, None);
    for (sent, received) in asked.iter().filter_map(|asked| Some((asked.sent, asked.received()?))) {
        recorder.answered_as_scheduled(sent, sent, received);
    }
    // Requests within a gap are counted there once the gap is known.
    let (missed, mut sequence) = (asked.iter().filter(|asked| asked.fate != Fate::Answered), Sequence::default());
    for (seq, asked) in (0..).zip(missed) {
        recorder.ended(asked.fate, &mut sequence, seq, None);
        recorder.unanswered(asked.fate, asked.sent);
    }
    dark::dark(&recorder.finish(end))
}

/// Requests as if they had left without the pauses in which nobody asked.
fn without_pauses(mut asked: Vec<Exchanged>) -> Vec<Exchanged> {
    asked.sort_unstable_by_key(|asked| asked.sent);
    let length = asked.last().zip(asked.first()).and_then(|(last, first)| last.sent.since(first.sent));
    let mean = length.map_or(0, |length| length.0 / asked.len() as u64);
    let (mut left_out, mut before) = (0, asked.first().map_or(0, |asked| asked.sent.0));
    for asked in &mut asked {
        let gap = asked.sent.0 - before;
        before = asked.sent.0;
        if gap > PAUSE * mean {
            left_out += gap - mean;
        }
        asked.sent = Instant(before - left_out);
    }
    asked
}

/// The time in which each leg got no reply while others did; absent where nobody did.
pub fn dark_apart(courses: &[Course]) -> Vec<Option<Dark>> {
    let all = dark(courses).is_some();
    courses.iter().map(|course| dark(std::slice::from_ref(course)).filter(|_| !all)).collect()
}

/// A part of the time at another level, as the leg has it whose exchanges are believed; `None` where half of the others do not have it then.
///
/// A route that moves does so for all that goes there. One leg alone may have its own reason.
pub fn change(courses: &[Course], believed: usize) -> Option<Change> {
    let asked = courses.iter().flat_map(Course::rounds);
    let (began, end) = asked.fold((Instant(u64::MAX), Instant(0)), |(began, end), asked| {
        (began.min(asked.sent), end.max(asked.received().unwrap_or(asked.sent)))
    });
    let length = end.since(began)?.0;
    let of = |course: &Course| {
        let taken: Vec<(u64, u64)> =
            course.rounds().filter_map(|asked| Some((asked.sent.since(began)?.0, asked.rtt?.0))).collect();
        change::change(&taken, length)
    };
    let found = of(courses.get(believed)?)?;
    let others: Vec<Option<Change>> = courses
        .iter()
        .enumerate()
        .filter(|(place, course)| *place != believed && course.median().is_some())
        .map(|(_, course)| of(course))
        .collect();
    let rises = |change: &Change| change.within_ns > change.before_ns;
    let agrees = |other: &&Option<Change>| {
        other.is_some_and(|other| {
            other.from_ns.0.abs_diff(found.from_ns.0) <= length / ALIKE && rises(&other) == rises(&found)
        })
    };
    (2 * others.iter().filter(agrees).count() >= others.len()).then_some(found)
}

/// The period of the long times of all legs.
pub fn periodic(courses: &[Course]) -> Option<Periodic> {
    let (taken, step_ns) = taken(courses)?;
    periodic::periodic(&taken, step_ns)
}

/// The period that they seem to have, where so few rounds do not show it.
pub fn supposed_period(courses: &[Course]) -> Option<Periodic> {
    let (taken, step_ns) = taken(courses)?;
    periodic::supposed(&taken, step_ns)
}

/// The exchanges of all connections that have long ones, and by how much one follows the other on average, nanoseconds. A connection is long by its
/// own times: one that is always slow goes another way.
fn taken(courses: &[Course]) -> Option<(Vec<Taken>, f64)> {
    let mut taken: Vec<Taken> = Vec::new();
    let mut lane = 0;
    for course in courses {
        let flows = course.rounds().map(|asked| asked.flow + 1).max().unwrap_or(0);
        for flow in 0..flows {
            let times = || {
                course.rounds().filter(|asked| asked.flow == flow).filter_map(|asked| Some((asked.sent, asked.rtt?)))
            };
            let ranked = Ranked::exact(times().map(|(_, rtt)| rtt.0).collect());
            let Some((median, third)) = ranked.quantile(0.5).zip(ranked.quantile(0.75)) else { continue };
            let excess = excess_above(median, third);
            if times().any(|(_, rtt)| excess(rtt.0) > 0) {
                let of = |(Instant(from), rtt): (Instant, crate::unit::Nanos)| Taken {
                    lane,
                    from,
                    took: rtt.0,
                    excess: excess(rtt.0),
                };
                taken.extend(times().map(of));
                lane += 1;
            }
        }
    }
    let (first, last) = (taken.iter().map(|taken| taken.from).min()?, taken.iter().map(|taken| taken.from).max()?);
    let step_ns = (last - first) as f64 / taken.len() as f64;
    Some((taken, step_ns))
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::event::Exchange;
    use crate::unit::Nanos;

    const SECOND: u64 = 1_000_000_000;
    const ROUND: u64 = 100_000_000;

    /// Four legs, one that asks a kernel, of a path and programs that answer at an instant as `reply` says: after how long, if ever.
    fn look(rng: &mut Rng, seconds: u64, reply: impl Fn(u64, bool) -> Option<u64>) -> Vec<Course> {
        let phases: Vec<u64> = (0..4).map(|leg| leg * 25_000_000 + rng.u64(0..3_000_000)).collect();
        let leg = |(leg, phase): (usize, &u64)| {
            let mut course = Course::new(Nanos(ROUND));
            for round in 0..seconds * SECOND / ROUND {
                let sent = SECOND + round * ROUND + phase;
                let usual = 100_000 + rng.u64(0..30_000);
                let took = reply(sent + usual, leg == 0).map(|more| usual + more).filter(|took| *took < SECOND);
                let received = took.map(|took| Instant(sent + took));
                let fate = if received.is_some() { Fate::Answered } else { Fate::Lost };
                let (intended, sent) = (Some(Instant(sent)), Some(Instant(sent)));
                course.take(
                    &Exchange { flow: 0, seq: round, intended, sent, received, fate, details: None },
                    (round % 4) as u32,
                );
            }
            course
        };
        phases.iter().enumerate().map(leg).collect()
    }

    /// A program that is stopped from `start` on for a tenth of each second.
    fn stopped(start: u64) -> impl Fn(u64, bool) -> Option<u64> {
        move |at, kernel| {
            let into = (at + SECOND - start % SECOND) % SECOND;
            Some(if kernel { 0 } else { ROUND.saturating_sub(into) })
        }
    }

    #[test]
    fn a_program_that_is_stopped_each_second_is_found() {
        let found = |seconds| {
            let is = |found: Periodic| found.period_ns.0.abs_diff(SECOND) < SECOND / 50;
            (0..40)
                .filter(|seed| {
                    let rng = &mut Rng::with_seed(*seed);
                    let start = rng.u64(0..SECOND);
                    periodic(&look(rng, seconds, stopped(start))).is_some_and(is)
                })
                .count()
        };
        assert!(found(10) >= 38, "{} of 40", found(10));
    }

    /// Five stops do not always show a period; then they are worth more rounds.
    #[test]
    fn what_five_seconds_do_not_show_of_stops_is_supposed() {
        let seen = (0..40).filter(|seed| {
            let rng = &mut Rng::with_seed(*seed);
            let start = rng.u64(0..SECOND);
            let courses = look(rng, 5, stopped(start));
            periodic(&courses).or_else(|| supposed_period(&courses)).is_some()
        });
        let seen = seen.count();
        assert!(seen >= 33, "{seen} of 40");
    }

    #[test]
    fn what_comes_by_chance_has_no_period() {
        let mut supposed = 0;
        let wrong = (0..2_000).filter(|seed| {
            let rng = &mut Rng::with_seed(*seed);
            let stops: Vec<u64> = (0..3 + seed % 20).map(|_| rng.u64(SECOND..11 * SECOND)).collect();
            let length = if seed % 2 == 0 { ROUND } else { 3_000_000 };
            let reply = |at: u64, kernel: bool| {
                let met = stops
                    .iter()
                    .map(|stop| (stop + length).saturating_sub(at))
                    .filter(|more| (1..=length).contains(more))
                    .max();
                Some(if kernel { 0 } else { met.unwrap_or(0) })
            };
            let courses = look(rng, 10, reply);
            supposed += u32::from(supposed_period(&courses).is_some());
            periodic(&courses).is_some()
        });
        assert!(wrong.count() <= 1);
        assert!(supposed <= 200, "{supposed} of 2,000: rounds for nothing");
    }

    #[test]
    fn a_slow_connection_has_no_period() {
        let mut courses = look(&mut Rng::with_seed(1), 10, |_, _| Some(0));
        for asked in courses.iter_mut().flat_map(|course| course.rounds.values_mut()).filter(|asked| asked.flow == 2) {
            asked.rtt = asked.rtt.map(|rtt| Nanos(10 * rtt.0));
        }
        assert_eq!(periodic(&courses), None);
    }

    #[test]
    fn a_route_that_moves_is_told_where_others_move_with_it() {
        let later = |at: u64, _| Some(if at < 3 * SECOND { 0 } else { 2_000_000 });
        let found = change(&look(&mut Rng::with_seed(4), 5, later), 1).expect("a change");
        assert!(found.from_ns.0.abs_diff(2 * SECOND) <= 5 * SECOND / 20 && found.to_ns.is_none(), "{found:?}");
        assert!(found.within_ns > Nanos::millis(2) && found.before_ns < Nanos::micros(150), "{found:?}");
        // One leg of four, and noise.
        let mut courses = look(&mut Rng::with_seed(5), 5, |_, _| Some(0));
        courses[1] = look(&mut Rng::with_seed(5), 5, later).swap_remove(1);
        assert_eq!(change(&courses, 1), None);
        assert_eq!(change(&look(&mut Rng::with_seed(6), 5, |_, _| Some(0)), 1), None);
    }

    #[test]
    fn a_leg_that_falls_silent_by_itself_has_its_own_dark_time() {
        let udp_ends = look(&mut Rng::with_seed(7), 5, |at, kernel| (!kernel || at < 3 * SECOND).then_some(0));
        let apart = dark_apart(&udp_ends);
        assert!(apart[0].is_some_and(|found| found.to_the_end) && apart[1..].iter().all(Option::is_none), "{apart:?}");
        let all = look(&mut Rng::with_seed(8), 5, |at, _| (at < 3 * SECOND).then_some(0));
        assert!(dark_apart(&all).iter().all(Option::is_none));
    }

    #[test]
    fn where_nobody_answers_for_two_seconds_the_look_is_dark() {
        let from_to = |from: u64, to: u64| {
            look(&mut Rng::with_seed(2), 5, move |at, _| (!(from * SECOND..to * SECOND).contains(&at)).then_some(0))
        };
        let found = dark(&from_to(3, 5)).expect("dark");
        assert!((found.share - 0.4).abs() < 0.02 && !found.to_the_end, "{found:?}");
        assert_eq!((found.spells, found.unanswered), (1, 80));
        assert!(dark(&from_to(4, 9)).is_some_and(|found| found.to_the_end));
    }

    /// Connections that a box lets no more of: one leg goes on for two seconds when the others have come to their end, and loses all.
    #[test]
    fn a_leg_that_loses_while_no_other_is_asked_is_not_dark() {
        let mut courses = look(&mut Rng::with_seed(10), 5, |_, _| Some(0));
        for round in 0..20 {
            let at = Some(Instant(6 * SECOND + round * ROUND));
            let (fate, details) = (Fate::Lost, None);
            let lost = Exchange { flow: 0, seq: 50 + round, intended: at, sent: at, received: None, fate, details };
            courses[0].take(&lost, 0);
        }
        let again = Some(Instant(8 * SECOND));
        for (leg, course) in courses.iter_mut().enumerate().skip(1) {
            let received = Some(Instant(8 * SECOND + 100_000 * leg as u64));
            let (fate, details) = (Fate::Answered, None);
            let reply = Exchange { flow: 0, seq: 90, intended: again, sent: again, received, fate, details };
            course.take(&reply, 0);
        }
        assert_eq!(dark(&courses), None);
    }

    #[test]
    fn a_look_that_fell_silent_is_dark_to_its_end_though_little_was_asked_later() {
        let mut courses = look(&mut Rng::with_seed(9), 5, |at, _| (at < 3 * SECOND + SECOND / 2).then_some(0));
        for round in 0..4 {
            let at = Some(Instant(36 * SECOND + round * ROUND));
            let (fate, details) = (Fate::Refused, None);
            let later = Exchange { flow: 0, seq: 400 + round, intended: at, sent: at, received: None, fate, details };
            courses[1].take(&later, 0);
        }
        assert!(dark(&courses).is_some_and(|found| found.to_the_end));
    }

    /// Between two parts the connections of the other legs are waited for in vain, so that one leg alone asks in the second.
    #[test]
    fn a_look_that_fell_silent_during_a_pause_is_dark_to_its_end() {
        let mut courses = look(&mut Rng::with_seed(10), 5, |_, _| Some(0));
        for round in 0..50 {
            let at = Some(Instant(33 * SECOND + round * ROUND));
            let (fate, details) = (Fate::Lost, None);
            let later = Exchange { flow: 0, seq: 400 + round, intended: at, sent: at, received: None, fate, details };
            courses[0].take(&later, 0);
        }
        assert!(dark(&courses).is_some_and(|found| found.to_the_end && found.unanswered == 50));
        // Half a minute in which nobody asks is none.
        let mut courses = look(&mut Rng::with_seed(11), 5, |_, _| Some(0));
        for round in 0..50 {
            let at = Instant(33 * SECOND + round * ROUND);
            let (intended, sent, received) = (Some(at), Some(at), Some(at.after(Nanos(100_000))));
            let seq = 400 + round;
            courses[0]
                .take(&Exchange { flow: 0, seq, intended, sent, received, fate: Fate::Answered, details: None }, 0);
        }
        assert_eq!(dark(&courses), None);
    }

    #[test]
    fn loss_by_chance_and_a_leg_that_is_silent_are_not_dark() {
        let wrong = (0..500).filter(|seed| {
            let rng = &mut Rng::with_seed(*seed);
            let losses: Vec<bool> = (0..1 << 16).map(|_| rng.f64() < 0.2).collect();
            dark(&look(rng, 5, |at, _| (!losses[(at / 1_000) as usize % losses.len()]).then_some(0))).is_some()
        });
        assert!(wrong.count() <= 1);
        assert_eq!(dark(&look(&mut Rng::with_seed(3), 5, |at, kernel| (kernel || at < 3 * SECOND).then_some(0))), None);
    }
}
