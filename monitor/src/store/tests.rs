//! Cases of every store: the same ones against each of them.

use measure::event::Fate;
use measure::lookout::incident::Kind;
use measure::unit::Nanos;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

/// Opens the store that a case is about, as often as it likes.
pub type Open<'a> = &'a dyn Fn() -> Box<dyn Store>;

/// Case of a store, by name.
type Case = (&'static str, fn(Open));

/// All cases.
pub const CASES: [Case; 10] = [
    ("parts of a minute add up", parts_add_up),
    ("what comes twice adds nothing", twice_is_once),
    ("beats of which some are kept are refused, with all that came with them", overlap_is_refused),
    ("hours and days are sums, made or not", longer_intervals_are_sums),
    ("what comes late is in its hour and day", late_minutes_count),
    ("what is removed is in the longer intervals", removed_minutes_stay_in_hours),
    ("incidents, marks and baselines are found", documents_are_found),
    ("times beyond all are refused", absurd_times_are_refused),
    ("silences are kept until they end or are ended", silences_end),
    ("whatever is lost on the way, each beat counts once", each_beat_counts_once),
];

/// A day's first second.
pub const DAY: u64 = 20_000 * 86_400;

pub fn cell(from: &str, to: &str) -> Cell {
    Cell { from: from.to_owned(), to: to.to_owned(), over: Over::Udp }
}

/// One answer of `took` nanoseconds, and one that was lost.
pub fn seen(took: u64) -> Span {
    let mut span = Span::default();
    span.answer(Nanos(took));
    span.counts.end(Fate::Lost);
    span
}

pub fn agent(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

/// A batch of one part.
pub fn batch(instance: Uuid, beats: (u64, u64), minutes: Vec<(Cell, u64, Span)>) -> Batch {
    Batch { parts: vec![Part { instance, first: beats.0, last: beats.1, minutes }], ..Batch::default() }
}

fn added(spans: &[Span]) -> Span {
    sum(spans.iter().cloned()).unwrap()
}

fn parts_add_up(open: Open) {
    let (ab, ba) = (cell("a", "b"), cell("b", "a"));
    let mut store = open();
    assert_eq!((store.cells().unwrap(), store.latest().unwrap()), (vec![], None));
    let first = vec![(ab.clone(), DAY, seen(1_000)), (ba.clone(), DAY, seen(2_000)), (ab.clone(), DAY, seen(3_000))];
    store.keep(&batch(agent(1), (1, 3), first)).unwrap();
    store
        .keep(&batch(agent(2), (1, 1), vec![(ab.clone(), DAY, seen(9_000)), (ab.clone(), DAY + 60, seen(5))]))
        .unwrap();
    drop(store);
    let mut store = open();
    assert_eq!(store.kept().unwrap(), BTreeMap::from([(agent(1), 3), (agent(2), 1)]));
    assert_eq!(store.cells().unwrap(), [ab.clone(), ba.clone()]);
    let sum = added(&[seen(1_000), seen(3_000), seen(9_000)]);
    let minutes = store.history(&ab, Level::Minute, 0, LATEST).unwrap();
    assert_eq!(minutes, [(DAY, sum.clone()), (DAY + 60, seen(5))]);
    assert_eq!(store.history(&ab, Level::Minute, DAY + 1, DAY + 60).unwrap(), []);
    assert_eq!(store.slice(Level::Minute, DAY + 7).unwrap(), [(ab.clone(), sum), (ba, seen(2_000))]);
    assert_eq!(store.latest().unwrap(), Some(DAY + 60));
    assert_eq!(store.history(&cell("a", "c"), Level::Minute, 0, LATEST).unwrap(), []);
    assert_eq!(store.history(&Cell { over: Over::Icmp, ..ab }, Level::Hour, 0, LATEST).unwrap(), []);
    assert!(store.size().unwrap() > 0);
}

fn twice_is_once(open: Open) {
    let ab = cell("a", "b");
    let mut store = open();
    let one = batch(agent(1), (1, 10), vec![(ab.clone(), DAY, seen(1_000))]);
    store.keep(&one).unwrap();
    store.keep(&one).unwrap();
    open().keep(&one).unwrap();
    store.keep(&batch(agent(1), (4, 9), vec![(ab.clone(), DAY, seen(7))])).unwrap();
    assert_eq!(store.history(&ab, Level::Minute, 0, LATEST).unwrap(), [(DAY, seen(1_000))]);
    // Beats that were given up leave a gap.
    store.keep(&batch(agent(1), (15, 15), vec![(ab.clone(), DAY, seen(1_000))])).unwrap();
    let twice = added(&[seen(1_000), seen(1_000)]);
    assert_eq!(store.history(&ab, Level::Minute, 0, LATEST).unwrap(), [(DAY, twice)]);
    assert_eq!(store.kept().unwrap()[&agent(1)], 15);
}

fn overlap_is_refused(open: Open) {
    let ab = cell("a", "b");
    let mut store = open();
    store.keep(&batch(agent(1), (1, 10), vec![(ab.clone(), DAY, seen(1_000))])).unwrap();
    let mut both = batch(agent(2), (1, 1), vec![(ab.clone(), DAY, seen(5))]);
    both.parts.extend(batch(agent(1), (10, 11), vec![(ab.clone(), DAY, seen(6))]).parts);
    both.marks.push(Mark { id: agent(9), at: DAY, text: "changed qdisc".to_owned(), hosts: vec![] });
    let fault = store.keep(&both).unwrap_err().fault;
    assert!(matches!(fault, Fault::Overlap { first: 10, last: 11, kept: 10, .. }), "{fault}");
    assert!(!fault.passes());
    assert_eq!(store.history(&ab, Level::Minute, 0, LATEST).unwrap(), [(DAY, seen(1_000))]);
    assert_eq!(store.kept().unwrap(), BTreeMap::from([(agent(1), 10)]));
    assert_eq!(store.marks(0, LATEST).unwrap(), []);
}

/// Three minutes in each of 30 hours of `from`; their sum.
fn fill(store: &mut dyn Store, from: &Cell, instance: Uuid) -> Vec<(u64, Span)> {
    let at = |k: u64| DAY + (k / 3) * 3_600 + (k % 3) * 60;
    let minutes: Vec<(u64, Span)> = (0..90).map(|k| (at(k), seen(1_000 + 97 * k))).collect();
    let given = minutes.iter().map(|(at, span)| (from.clone(), *at, span.clone())).collect();
    store.keep(&batch(instance, (1, 90), given)).unwrap();
    minutes
}

fn sums(minutes: &[(u64, Span)], level: Level) -> Vec<(u64, Span)> {
    let mut sums = BTreeMap::<u64, Span>::new();
    for (at, span) in minutes {
        sums.entry(level.start(*at)).or_default().add(span);
    }
    sums.into_iter().collect()
}

fn longer_intervals_are_sums(open: Open) {
    let (ab, ba) = (cell("a", "b"), cell("b", "a"));
    let mut store = open();
    let minutes = fill(store.as_mut(), &ab, agent(1));
    fill(store.as_mut(), &ba, agent(2));
    let (hours, days) = (sums(&minutes, Level::Hour), sums(&minutes, Level::Day));
    let check = |store: &mut dyn Store| {
        assert_eq!(store.history(&ab, Level::Hour, 0, LATEST).unwrap(), hours);
        assert_eq!(store.history(&ab, Level::Day, 0, LATEST).unwrap(), days);
        assert_eq!(store.history(&ab, Level::Hour, DAY + 3_600, DAY + 7_200).unwrap(), hours[1..2]);
        for (level, first) in [(Level::Hour, &hours[0].1), (Level::Day, &days[0].1)] {
            let both = [(ab.clone(), first.clone()), (ba.clone(), first.clone())];
            assert_eq!(store.slice(level, DAY + 5).unwrap(), both, "{level:?}");
        }
    };
    check(store.as_mut());
    // The last hour and the second day are not over yet.
    let now = DAY + 30 * 3_600;
    let due = store.due(now - 1).unwrap();
    assert_eq!(due.len(), 30, "29 hours and a day: {due:?}");
    assert_eq!(store.due(now).unwrap().len(), 31);
    for (level, at) in due {
        store.roll(level, at).unwrap();
        store.roll(level, at).unwrap();
    }
    assert_eq!(store.due(now - 1).unwrap(), []);
    check(store.as_mut());
    check(open().as_mut());
}

fn late_minutes_count(open: Open) {
    let ab = cell("a", "b");
    let mut store = open();
    let mut minutes = fill(store.as_mut(), &ab, agent(1));
    let later = DAY + 10 * 86_400;
    for (level, at) in store.due(later).unwrap() {
        store.roll(level, at).unwrap();
    }
    store.keep(&batch(agent(3), (1, 1), vec![(ab.clone(), DAY + 60, seen(40))])).unwrap();
    minutes.push((DAY + 60, seen(40)));
    let [hours, days] = [Level::Hour, Level::Day].map(|level| sums(&minutes, level));
    assert_eq!(store.history(&ab, Level::Day, 0, LATEST).unwrap(), days, "before it is made");
    assert_eq!(store.due(later).unwrap(), [(Level::Hour, DAY), (Level::Day, DAY)]);
    // The day alone: its hour comes with it.
    store.roll(Level::Day, DAY).unwrap();
    assert_eq!(store.due(later).unwrap(), []);
    assert_eq!(store.history(&ab, Level::Day, 0, LATEST).unwrap(), days);
    assert_eq!(store.history(&ab, Level::Hour, 0, LATEST).unwrap(), hours);
}

fn removed_minutes_stay_in_hours(open: Open) {
    let ab = cell("a", "b");
    let mut store = open();
    let mut minutes = fill(store.as_mut(), &ab, agent(1));
    let keep = |minutes, hours| Retention { minutes: Some(minutes), hours: Some(hours), days: None };
    // Nothing was made yet, and the edge is that of an hour and of a day, so that any store may remove all that is before it.
    let now = DAY + 28 * 3_600 + 1_800;
    store.retain(now, &keep(4 * 3_600, 400 * 86_400)).unwrap();
    let left: Vec<_> = minutes.iter().filter(|(at, _)| *at >= DAY + 24 * 3_600).cloned().collect();
    assert_eq!(store.history(&ab, Level::Minute, 0, LATEST).unwrap(), left);
    assert_eq!(store.history(&ab, Level::Hour, 0, LATEST).unwrap(), sums(&minutes, Level::Hour));
    // Answers that come late for a minute that is gone count in its hour and day; making those again loses nothing.
    store.keep(&batch(agent(4), (1, 1), vec![(ab.clone(), DAY + 120, seen(40))])).unwrap();
    minutes.push((DAY + 120, seen(40)));
    let check = |store: &mut dyn Store, minutes: &[(u64, Span)]| {
        for level in [Level::Hour, Level::Day] {
            assert_eq!(store.history(&ab, level, 0, LATEST).unwrap(), sums(minutes, level), "{level:?}");
        }
    };
    check(store.as_mut(), &minutes);
    store.roll(Level::Hour, DAY).unwrap();
    store.roll(Level::Day, DAY).unwrap();
    check(store.as_mut(), &minutes);
    assert_eq!(store.history(&ab, Level::Minute, 0, DAY + 19 * 3_600).unwrap(), []);
    // Then the hours of the first day.
    let now = DAY + 3 * 86_400 + 100;
    store.retain(now, &keep(0, 86_400)).unwrap();
    assert_eq!(store.history(&ab, Level::Minute, 0, LATEST).unwrap(), []);
    assert_eq!(store.history(&ab, Level::Hour, 0, LATEST).unwrap(), []);
    store.keep(&batch(agent(5), (1, 1), vec![(ab.clone(), DAY + 120, seen(50))])).unwrap();
    minutes.push((DAY + 120, seen(50)));
    for (level, at) in store.due(now).unwrap() {
        store.roll(level, at).unwrap();
    }
    assert_eq!(store.history(&ab, Level::Day, 0, LATEST).unwrap(), sums(&minutes, Level::Day));
    // An edge never goes back.
    store.retain(DAY, &keep(0, 0)).unwrap();
    assert_eq!(store.history(&ab, Level::Day, 0, LATEST).unwrap(), sums(&minutes, Level::Day));
}

pub fn incident(id: u128, begun: u64, ended: Option<u64>) -> Incident {
    let told = serde_json::json!({"size": {"value": 0.31}, "cells": [3, 4]});
    Incident {
        id: agent(id),
        kind: "slower".to_owned(),
        hosts: vec!["db1".to_owned()],
        onset: begun - 30,
        begun,
        ended,
        silent_until: None,
        told,
    }
}

fn silences_end(open: Open) {
    let mut store = open();
    let work = |until| Silence {
        hosts: vec!["db'1".to_owned()],
        pairs: vec![["a".to_owned(), "b".to_owned()]],
        zones: Vec::new(),
        kinds: vec![Kind::AgentSilent],
        from: None,
        until,
        why: Some("new \"kernel\"".to_owned()),
    };
    let short = store.silence(&work(DAY + 60), DAY).unwrap();
    let long = store.silence(&work(DAY + 600), DAY + 1).unwrap();
    assert!(short < long);
    let kept = |number, asked, until| KeptSilence { number, asked, silence: work(until) };
    let mut store = open();
    assert_eq!(store.silences(DAY + 59).unwrap(), [kept(short, DAY, DAY + 60), kept(long, DAY + 1, DAY + 600)]);
    assert_eq!(store.silences(DAY + 60).unwrap(), [kept(long, DAY + 1, DAY + 600)]);
    assert!(!store.end_silence(short, DAY + 60).unwrap(), "it is over");
    assert!(store.end_silence(long, DAY + 90).unwrap() && !store.end_silence(long, DAY + 90).unwrap());
    assert_eq!(store.silences(DAY + 89).unwrap(), [kept(long, DAY + 1, DAY + 90)]);
    assert_eq!(store.silences(DAY + 90).unwrap(), []);
    assert!(!store.end_silence(u64::MAX, DAY).unwrap());
    assert!(store.silence(&work(DAY + 60), DAY).unwrap() > long, "no number is given twice");
    let fault = store.silence(&work(LATEST), DAY).unwrap_err().fault;
    assert!(matches!(fault, Fault::Impossible(_)), "{fault}");
}

fn documents_are_found(open: Open) {
    let mut store = open();
    let [early, later] = [incident(1, DAY + 100, Some(DAY + 400)), incident(2, DAY + 5_000, None)];
    let mark = Mark {
        id: agent(7),
        at: DAY + 50,
        text: "it's <b>\"new\"</b>; DROP TABLE cells".to_owned(),
        hosts: vec!["a".to_owned()],
    };
    let open_first = Incident { ended: None, ..early.clone() };
    store.keep(&Batch { incidents: vec![open_first], marks: vec![mark.clone()], ..Batch::default() }).unwrap();
    let other = Mark { text: "another".to_owned(), ..mark.clone() };
    store
        .keep(&Batch { incidents: vec![early.clone(), later.clone()], marks: vec![other], ..Batch::default() })
        .unwrap();
    let mut store = open();
    let mut found = |filter: IncidentFilter| store.incidents(&filter).unwrap();
    let all = IncidentFilter::default();
    assert_eq!(found(all.clone()), [later.clone(), early.clone()]);
    assert_eq!(found(IncidentFilter { most: 1, ..all.clone() }), vec![later.clone()]);
    assert_eq!(found(IncidentFilter { open: true, ..all.clone() }), vec![later.clone()]);
    assert_eq!(found(IncidentFilter { from: DAY + 401, ..all.clone() }), [later]);
    assert_eq!(found(IncidentFilter { to: DAY + 80, ..all.clone() }), [early]);
    assert_eq!(found(IncidentFilter { to: DAY + 70, ..all }), []);
    assert_eq!(store.marks(DAY, DAY + 51).unwrap(), [mark], "as it was first given");
    assert_eq!(store.marks(DAY, DAY + 50).unwrap(), []);
    let (from, to, accepted) = (DAY, DAY + 3_600, DAY + 4_000);
    let good = Baseline { name: "good".to_owned(), from, to, hosts: vec![], accepted, incident: None };
    let better = Baseline { from: DAY + 1, incident: Some(agent(2)), ..good.clone() };
    store.accept(&good).unwrap();
    store.accept(&better).unwrap();
    assert_eq!(store.baselines().unwrap(), [better]);
    assert_eq!((store.withdraw("good").unwrap(), store.withdraw("good").unwrap()), (true, false));
    assert_eq!(store.baselines().unwrap(), []);
}

fn absurd_times_are_refused(open: Open) {
    let mut store = open();
    let fault = store.keep(&batch(agent(1), (1, 1), vec![(cell("a", "b"), LATEST + 60, seen(1))])).unwrap_err().fault;
    assert!(matches!(fault, Fault::Impossible(_)), "{fault}");
    let fault = store.keep(&batch(agent(1), (1, u64::MAX), vec![])).unwrap_err().fault;
    assert!(matches!(fault, Fault::Impossible(_)), "{fault}");
    assert_eq!(store.kept().unwrap(), BTreeMap::new());
}

/// Fate of a beat on its way.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many further beats come to the monitor.
    Come(u64),
    /// It keeps what it has, and tells the agents.
    Keep,
    /// It keeps what it has, and is killed before it can tell.
    KeepAndDie,
    /// It is killed with what it has.
    Die,
    /// It loses the agent, which then tells again what it was not told to be kept.
    Detach,
    /// Hours are made, in the middle of it all.
    Roll,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1_u64..90).prop_map(Step::Come),
        3 => Just(Step::Keep),
        1 => Just(Step::KeepAndDie),
        1 => Just(Step::Die),
        1 => Just(Step::Detach),
        1 => Just(Step::Roll),
    ];
    proptest::collection::vec(step, 1..25)
}

/// Content of beat `seq`.
fn told(seq: u64) -> (Cell, u64, Span) {
    (cell("a", "b"), DAY + seq / 7 * 60, seen(1_000 + seq))
}

fn each_beat_counts_once(open: Open) {
    let instance = std::cell::Cell::new(0_u128);
    let mut runner = TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&steps(), |steps| {
        // Each story is of a start of its own; what the store had before is taken off.
        instance.set(instance.get() + 1);
        let agent = agent(instance.get());
        let ab = cell("a", "b");
        let mut store = open();
        let before = sum(store.history(&ab, Level::Day, 0, LATEST).unwrap().into_iter().map(|(_, span)| span));
        // The next beat that the agent will tell, and the last that it was told to be kept.
        let (mut next, mut acknowledged, mut held) = (1, 0, Vec::new());
        for step in steps {
            match step {
                Step::Come(count) => {
                    held.extend(next..next + count);
                    next += count;
                }
                Step::Keep | Step::KeepAndDie => {
                    // One that lost its agent holds nothing below what is kept.
                    if let (Some(first), Some(last)) = (held.first(), held.last()) {
                        let minutes = held.iter().map(|seq| told(*seq)).collect();
                        store.keep(&batch(agent, (*first, *last), minutes)).unwrap();
                        held.clear();
                    }
                    if matches!(step, Step::Keep) {
                        acknowledged = next - 1;
                    } else {
                        store = open();
                        next = acknowledged + 1;
                    }
                }
                Step::Die | Step::Detach => {
                    if matches!(step, Step::Die) {
                        store = open();
                    }
                    held.clear();
                    next = acknowledged + 1;
                }
                Step::Roll => {
                    for (level, at) in store.due(LATEST).unwrap() {
                        store.roll(level, at).unwrap();
                    }
                }
            }
            // An agent that is attached again is asked from what is kept on: what it tells below that is passed over.
            let kept = store.kept().unwrap().get(&agent).copied().unwrap_or(0);
            next = next.max(kept + 1);
            held.retain(|seq| *seq > kept);
        }
        let kept = store.kept().unwrap().get(&agent).copied().unwrap_or(0);
        prop_assert!(kept >= acknowledged);
        let expected = sum(before.into_iter().chain((1..=kept).map(|seq| told(seq).2)));
        for level in Level::ALL {
            let found = sum(store.history(&ab, level, 0, LATEST).unwrap().into_iter().map(|(_, span)| span));
            prop_assert_eq!(&found, &expected, "{:?}", level);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|fault| panic!("{fault}"));
}
