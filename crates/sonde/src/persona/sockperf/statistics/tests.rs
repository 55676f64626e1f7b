//! Slots and what they come to.

use measure::recorder::EXACT;
use test_case::test_case;

use super::*;
use crate::persona::sockperf::options::{self, Command, Histogram};

const MS: u64 = 1_000_000;

fn setting(window: Window) -> Setting {
    Setting { reply_every: 1, window, full_rtt: false, histogram: None }
}

fn slot(sequence: u64, sent_ns: u64, received_ns: impl Into<Option<u64>>) -> Slot {
    Slot { socket: 0, sequence, sent_ns, received_ns: received_ns.into(), duplicates: 0 }
}

/// One message each millisecond for `millis`, each answered after 10 µs.
fn steady(millis: u64) -> Vec<Slot> {
    (0..millis).map(|at| slot(at + 1, at * MS, at * MS + 10_000)).collect()
}

#[test_case("ul --reply-every 7", 7, Window::Trimmed; "by time")]
#[test_case("pp -n 5000 --full-rtt", 1, Window::Numbered { first: 8_001, count: 5_000 }; "by number")]
#[test_case("pb --data-file p", 100, Window::All; "a playback")]
fn settings(line: &str, reply_every: u32, window: Window) {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let Command::Client(client) = options::parse(&words).unwrap().command else { panic!("a client") };
    let full_rtt = line.contains("--full-rtt");
    assert_eq!(Setting::of(&client), Setting { reply_every, window, full_rtt, histogram: None });
}

fn collect(setting: &Setting, slots: &[Slot]) -> (Statistics, Vec<Observation>) {
    let mut collector = Collector::new(setting);
    let mut observations = Vec::new();
    for slot in slots {
        collector.slot(*slot, &mut |observation| observations.push(observation));
    }
    let statistics = collector.finish(&mut |observation| observations.push(observation));
    (statistics, observations)
}

fn valid(statistics: &Statistics) -> &Valid {
    match &statistics.finding {
        Finding::Valid(valid) => valid,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_ends_of_a_timed_run_are_left_out() {
    let (statistics, observations) = collect(&setting(Window::Trimmed), &steady(1_001));
    assert_eq!(statistics.received, 1_001);
    // Sent from 400 to 950 ms, both among them.
    assert_eq!((observations.len(), observations[0].sent_ns, observations[550].sent_ns), (551, 400 * MS, 950 * MS));
    let valid = valid(&statistics);
    assert_eq!((valid.sent, valid.run_ns, valid.latency.observations), (551, 550 * MS + 10_000, 551));
    assert_eq!((valid.latency.average_ns, valid.latency.deviation_ns), (5_000, 0));
}

#[test]
fn numbers_are_sent_between_slots() {
    let setting = Setting { reply_every: 10, ..setting(Window::All) };
    let slots: Vec<Slot> = (1..=5).map(|at| slot(at * 10, at * MS, at * MS + 1)).collect();
    let (statistics, _) = collect(&setting, &slots);
    assert_eq!((valid(&statistics).sent, valid(&statistics).latency.observations), (41, 5));
}

#[test]
fn a_run_by_number_leaves_out_numbers() {
    let window = Window::Numbered { first: 8, count: 3 };
    let (statistics, observations) = collect(&setting(window), &steady(20));
    let sent: Vec<u64> = observations.iter().map(|observation| observation.sent_ns / MS).collect();
    assert_eq!((sent, valid(&statistics).sent), (vec![7, 8, 9], 3));
}

#[test]
fn a_slot_without_an_answer_is_dropped() {
    let mut slots = steady(1_001);
    for lost in [0, 399, 400, 600, 950, 951] {
        slots[lost].received_ns = None;
    }
    let (statistics, observations) = collect(&setting(Window::Trimmed), &slots);
    assert_eq!((statistics.dropped, observations.len(), statistics.received), (3, 548, 995));
    // The window begins and ends with a drop: both count as sent.
    assert_eq!((valid(&statistics).sent, valid(&statistics).run_ns), (551, 550 * MS));
}

#[test]
fn a_drop_that_left_before_the_last_answer_came_does_not_end_the_duration() {
    let slots = [slot(1, 0, 5), slot(2, 10, 100), slot(3, 20, None)];
    let (statistics, _) = collect(&setting(Window::All), &slots);
    assert_eq!((valid(&statistics).run_ns, valid(&statistics).sent, statistics.dropped), (100, 2, 1));
}

#[test]
fn answers_before_that_of_an_earlier_slot_are_out_of_order_and_no_observations() {
    // The second is answered late: the two behind it are the ones counted.
    let slots = [slot(1, 0, 10), slot(2, 20, 100), slot(3, 40, 50), slot(4, 60, 99), slot(5, 80, 100)];
    let (statistics, observations) = collect(&setting(Window::All), &slots);
    assert_eq!(statistics.out_of_order, 2);
    assert_eq!(observations.iter().map(|it| it.sent_ns).collect::<Vec<_>>(), [0, 20, 80]);
    assert_eq!(observations.iter().map(|it| it.index).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn a_socket_that_is_answered_late_holds_up_no_other() {
    let late = slot(2, 20, 100);
    let other = |sequence, sent_ns, received_ns| Slot { socket: 1, ..slot(sequence, sent_ns, received_ns) };
    let slots = [slot(1, 0, 10), late, other(3, 40, 50), other(4, 60, 99), slot(5, 80, 90)];
    let (statistics, observations) = collect(&setting(Window::All), &slots);
    assert_eq!(statistics.out_of_order, 1, "that of the same socket");
    assert_eq!(observations.iter().map(|it| it.sent_ns).collect::<Vec<_>>(), [0, 20, 40, 60]);
    assert_eq!((valid(&statistics).sent, valid(&statistics).run_ns), (4, 100));
}

#[test]
fn duplicates_count_in_the_whole_run() {
    let mut slots = steady(1_001);
    (slots[0].duplicates, slots[500].duplicates, slots[1_000].duplicates) = (1, 2, 4);
    let mut collector = Collector::new(&setting(Window::Trimmed));
    for slot in slots {
        collector.slot(slot, &mut |_| {});
    }
    collector.unasked();
    assert_eq!(collector.finish(&mut |_| {}).duplicated, 8);
}

#[test]
fn losses_at_the_end_are_dropped_even_if_every_answer_is_an_observation() {
    let slots = [slot(1, 0, 10), slot(2, 20, 30), slot(3, 40, None), slot(4, 60, None)];
    let (statistics, _) = collect(&setting(Window::All), &slots);
    assert_eq!((statistics.dropped, valid(&statistics).sent, valid(&statistics).run_ns), (2, 4, 60));
}

#[test_case(&[], &Finding::NothingReceived; "no slot")]
#[test_case(&[(1, None), (2, None)], &Finding::NothingReceived; "no answer")]
#[test_case(&[(1, Some(2)), (449 * MS, Some(450 * MS))], &Finding::TooShort; "cut short")]
#[test_case(&[(0, Some(2)), (450 * MS, None)], &Finding::NothingValid; "nothing sent in the window")]
#[test_case(&[(0, Some(2)), (420 * MS, None), (500 * MS, None)], &Finding::NothingValid; "nothing answered in the window")]
fn a_run_may_come_to_nothing(slots: &[(u64, Option<u64>)], expected: &Finding) {
    let numbered = slots.iter().zip(1..);
    let slots: Vec<Slot> = numbered.map(|(&(sent, received), number)| slot(number, sent, received)).collect();
    assert_eq!(&collect(&setting(Window::Trimmed), &slots).0.finding, expected);
}

#[test]
fn slots_may_end_in_any_order() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut slots: Vec<Slot> = steady(1_001);
    for slot in &mut slots {
        let delay = random.u64(1_000..5 * MS);
        slot.received_ns = random.bool().then_some(slot.sent_ns + delay);
    }
    let setting = setting(Window::Trimmed);
    let expected = collect(&setting, &slots);
    assert!(expected.0.out_of_order > 0 && expected.0.dropped > 0);
    random.shuffle(&mut slots);
    assert_eq!(collect(&setting, &slots), expected);
}

#[test]
fn a_number_that_never_left_holds_nothing_up() {
    let mut collector = Collector::new(&setting(Window::All));
    let mut seen = 0;
    let mut count = |_| seen += 1;
    collector.slot(slot(3, 30, 31), &mut count);
    collector.slot(slot(1, 10, 11), &mut count);
    collector.unsent(2, &mut count);
    assert_eq!(seen, 2);
    // One whose end nobody told is not waited for at the end.
    collector.slot(slot(5, 50, 51), &mut |_| panic!("4 is missing"));
    let statistics = collector.finish(&mut |_| {});
    assert_eq!((valid(&statistics).latency.observations, statistics.dropped), (3, 0));
}

#[test]
fn a_slot_told_twice_counts_once() {
    let slots = [slot(1, 0, 10), slot(1, 0, 10), slot(3, 40, 50), slot(3, 40, 50), slot(2, 20, 30)];
    let (statistics, observations) = collect(&setting(Window::All), &slots);
    assert_eq!((statistics.received, observations.len()), (3, 3));
}

fn latency(values: &[u64]) -> Latency {
    let setting = Setting { full_rtt: true, ..setting(Window::All) };
    let slots: Vec<Slot> =
        values.iter().zip(1..).map(|(value, at)| slot(at, at * 10 * MS, at * 10 * MS + value)).collect();
    valid(&collect(&setting, &slots).0).latency.clone()
}

/// Worked out by hand.
#[test]
fn figures_of_a_few_values() {
    let figures = latency(&[4, 1, 8, 3, 10]);
    assert_eq!((figures.observations, figures.min_ns, figures.max_ns), (5, 1, 10));
    // 26 / 5 = 5.2; squares from it sum to 54.8, over 4 is 13.7, its root 3.70; distances from it sum to 15.2.
    assert_eq!((figures.average_ns, figures.deviation_ns, figures.mean_distance_ns), (5, 4, 3));
    // Distances from the median 4 are 0 1 3 4 6; 3 × 1.4826.
    assert_eq!(figures.median_distance_ns, 4);
    // ⌊0.5 + 0.75 · 5⌋ − 1 = 3 and ⌊0.5 + 0.25 · 5⌋ − 1 = 0: (8 − 1) / 2.
    assert_eq!(figures.half_quartile_range_ns, 3);
    let nanos = [10, 10, 10, 10, 10, 8, 4, 1].map(Some);
    assert_eq!(figures.percentiles_ns, nanos);
    assert!((figures.variation() - 0.8).abs() < 1e-12 && (figures.error_ns() - 4.0 / 5.0_f64.sqrt()).abs() < 1e-12);
}

#[test]
fn of_one_value_no_spread_is_known() {
    let figures = latency(&[7]);
    let spreads = [figures.deviation_ns, figures.mean_distance_ns, figures.half_quartile_range_ns];
    assert_eq!((figures.average_ns, spreads, figures.median_distance_ns), (7, [0; 3], 0));
    assert_eq!(figures.percentiles_ns[7], None, "nothing stands at a quarter of one value");
    assert_eq!(figures.percentiles_ns[6], Some(7));
}

#[test]
fn the_average_is_halved_at_the_end_and_each_value_before() {
    let slots = [slot(1, 0, 3), slot(2, 10, 15)];
    let (statistics, _) = collect(&setting(Window::All), &slots);
    let latency = &valid(&statistics).latency;
    // (3 + 5) / 2 / 2, of 1 and 2.
    assert_eq!((latency.average_ns, latency.min_ns, latency.max_ns), (2, 1, 2));
}

#[test]
fn the_interval_widens_with_the_level() {
    let figures = latency(&[100, 200, 300, 400]);
    let (low, high) = figures.interval_ns(99);
    let (narrow_low, narrow_high) = figures.interval_ns(50);
    assert!(low < narrow_low && narrow_low < 250.0 && 250.0 < narrow_high && narrow_high < high);
    assert!((high + low - 500.0).abs() < 1e-9);
}

#[test]
fn beyond_what_is_kept_figures_are_within_a_bucket() {
    let count = EXACT as u64 + 200_000;
    let mut random = fastrand::Rng::with_seed(1);
    let mut values: Vec<u64> = (0..count).map(|_| 1_000 + random.u64(0..1_000) * random.u64(1..2_000)).collect();
    let figures = latency(&values);
    values.sort_unstable();
    let near = |found: u64, exact: u64| assert!(found.abs_diff(exact) * 1_000 <= exact, "{found} for {exact}");
    assert_eq!((figures.min_ns, figures.max_ns), (values[0], values[values.len() - 1]));
    let sum: u64 = values.iter().sum();
    assert_eq!(figures.average_ns, sum / count);
    let mean = sum as f64 / count as f64;
    let squares: f64 = values.iter().map(|value| (*value as f64 - mean).powi(2)).sum();
    assert_eq!(figures.deviation_ns, ((squares / (count - 1) as f64).sqrt() + 0.5) as u64);
    let distances: f64 = values.iter().map(|value| (*value as f64 - mean).abs()).sum();
    near(figures.mean_distance_ns, (distances / count as f64) as u64);
    for (share, found) in latency::PERCENTILES.into_iter().zip(figures.percentiles_ns) {
        near(found.unwrap(), values[(0.5 + share * count as f64) as usize - 1]);
    }
    let median = values[values.len() / 2];
    let mut from_median: Vec<u64> = values.iter().map(|value| value.abs_diff(median)).collect();
    from_median.sort_unstable();
    let scaled = from_median[from_median.len() / 2] as f64 * 1.482_602_218_51;
    // The distance of two values, each the middle of its bucket.
    assert!((figures.median_distance_ns as f64 - scaled).abs() <= median as f64 / 1_000.0);
}

#[test]
fn bins_count_every_observation() {
    let histogram = Histogram { bin_us: 2, low_us: 4, high_us: 20 };
    let setting = Setting { histogram: Some(histogram), ..setting(Window::Trimmed) };
    let (statistics, _) = collect(&setting, &steady(1_001));
    let bins = valid(&statistics).latency.bins.clone().unwrap();
    assert_eq!((bins.below, bins.within, bins.above), (0, [(0, 551)].into(), 0));
}
