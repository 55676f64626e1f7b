//! A recording returns every recorded value, within its fixed space.

use hdrhistogram::Histogram;
use proptest::prelude::*;
use test_case::test_case;

use super::*;

fn closed(exact: usize) -> Recorder {
    let mut recorder = Recorder::new(LoopKind::Closed, exact);
    recorder.begin(Instant(0), None);
    recorder
}

#[test]
fn what_answers_nothing_in_the_warm_up_is_not_counted() {
    let mut recorder = Recorder::new(LoopKind::Closed, 2);
    recorder.stray();
    recorder.begin(Instant(5), None);
    recorder.stray();
    assert_eq!(recorder.finish(Instant(9)).counts.strays, 1);
}

#[test]
fn moments_and_extremes_are_exact() {
    let mut recorder = closed(16);
    for rtt in [30_u64, 10, 20] {
        recorder.answered(Instant(1_000), Instant(1_000 + rtt));
    }
    let recording = recorder.finish(Instant(5_000));
    assert_eq!(recording.response.min(), Some(Nanos(10)));
    assert_eq!(recording.response.max(), Some(Nanos(30)));
    assert_eq!(recording.response.sum(), 60);
    assert_eq!(recording.response.sum_of_squares(), 1_400);
    assert_eq!(recording.exact(), Some(vec![30, 10, 20]));
}

#[test]
fn an_open_loop_counts_from_the_intended_instant() {
    let mut recorder = Recorder::new(LoopKind::Open, 16);
    recorder.begin(Instant(0), None);
    recorder.answered_as_scheduled(Instant(100), Instant(150), Instant(190));
    let recording = recorder.finish(Instant(1_000));
    assert_eq!(recording.response.max(), Some(Nanos(90)));
    assert_eq!(recording.service.unwrap().max(), Some(Nanos(40)));
    assert_eq!(recording.slip.unwrap().max(), Some(Nanos(50)));
    assert_eq!(recording.series[0].samples, vec![Kept { index: 0, response: 90, slip: 50, flow: 0 }]);
}

#[test]
fn a_clock_that_steps_back_is_counted_and_is_in_no_distribution() {
    let mut recorder = closed(4);
    recorder.answered(Instant(100), Instant(90));
    for _ in 0..10 {
        recorder.answered(Instant(100), Instant(110));
    }
    let recording = recorder.finish(Instant(200));
    assert_eq!(recording.counts.clock_steps, 1);
    assert_eq!((recording.counts.answered, recording.response.count()), (11, 10));
    assert!(recording.series[0].samples.iter().all(|kept| kept.response == 10));
    assert!(recording.series[0].samples.len() >= 2);
}

#[test]
fn seconds_hold_what_ended_in_them_and_add_up() {
    let mut recorder = closed(16);
    recorder.answered(Instant(0), Instant(40));
    recorder.ended(Fate::Lost, &mut Sequence::default(), 1, None);
    let one = recorder.second(Instant(1_000_000_000));
    assert_eq!((one.counts.answered, one.counts.lost), (1, 1));
    assert_eq!((one.min_ns, one.mean_ns, one.max_ns), (Some(Nanos(40)), Some(40.0), Some(Nanos(40))));
    let two = recorder.second(Instant(2_000_000_000));
    assert_eq!((two.counts.scheduled, two.min_ns, two.mean_ns), (0, None, None));
    recorder.answered(Instant(0), Instant(60));
    let recording = recorder.finish(Instant(2_500_000_000));
    assert_eq!(recording.seconds[0].len(), 3);
    assert_eq!(recording.seconds[0][2].length_ns, Nanos::millis(500));
    assert_eq!(recording.seconds[0].iter().map(|s| s.counts.scheduled).sum::<u64>(), 3);
}

#[test]
fn an_overtaken_reply_is_reordered_with_its_extent() {
    let mut recorder = closed(16);
    let mut sequence = Sequence::default();
    for seq in [0, 2, 1, 7, 8, 9, 3] {
        recorder.arrived(&mut sequence, seq);
    }
    assert_eq!(recorder.counts().reordered, 2);
    assert_eq!(recorder.arrivals.extents[0], 1); // 1 right behind 2
    assert_eq!(recorder.arrivals.extents[1], 1); // 3 the third behind 7
}

#[test]
fn consecutive_losses_are_one_period() {
    let (mut periods, mut sequence) = (LossPeriods::default(), Sequence::default());
    for seq in [3, 4, 5, 9] {
        periods.lost(&mut sequence, seq);
    }
    assert_eq!((periods.periods, periods.longest), (2, 3));
}

#[test_case("la", false; "an answer came after the loss")]
#[test_case("al", true; "nothing came after it")]
#[test_case("alk", false; "but late")]
#[test_case("", false; "nothing was asked")]
fn the_end_is_lost_where_nothing_comes_after_a_loss(course: &str, lost: bool) {
    let mut recorder = closed(16);
    for (seq, what) in (0..).zip(course.chars()) {
        match what {
            'a' => recorder.answered(Instant(0), Instant(10)),
            'l' => recorder.ended(Fate::Lost, &mut Sequence::default(), seq, None),
            _ => recorder.came_late(),
        }
    }
    let recording = recorder.finish(Instant(100));
    assert_eq!(recording.ends_lost, lost);
    let mut both = recording.clone();
    let mut other = closed(16);
    other.answered(Instant(0), Instant(10));
    both.merge(other.finish(Instant(100)));
    assert!(!both.ends_lost, "another thread was answered");
}

#[test]
fn connections_neither_overtake_each_other_nor_lose_together() {
    let mut recorder = closed(16);
    let mut sequences = [Sequence::default(), Sequence::default()];
    for (connection, seq) in [(0, 0), (0, 1), (1, 0), (0, 2), (1, 1)] {
        recorder.arrived(&mut sequences[connection], seq);
    }
    assert_eq!(recorder.counts().reordered, 0);
    for (connection, seq) in [(0, 3), (1, 2), (0, 4), (1, 3), (1, 4)] {
        recorder.ended(Fate::Lost, &mut sequences[connection], seq, None);
    }
    let periods = recorder.arrivals.loss_periods;
    assert_eq!((periods.periods, periods.longest), (2, 3));
}

#[test]
fn one_way_messages_are_counted_beside_the_fates_and_their_slip_with_the_others() {
    let mut recorder = Recorder::new(LoopKind::Open, 16);
    recorder.begin(Instant(0), None);
    recorder.one_way(Some(Nanos(5)));
    recorder.one_way_failed(Some(Nanos(7)));
    recorder.answered_as_scheduled(Instant(0), Instant(9), Instant(100));
    let recording = recorder.finish(Instant(200));
    let counts = recording.counts;
    assert!(counts.balance());
    assert_eq!((counts.scheduled, counts.one_way, counts.one_way_failed), (1, 1, 1));
    assert_eq!((counts.messages(), counts.messages_sent()), (3, 2));
    let slip = recording.slip.unwrap();
    assert_eq!((slip.count(), slip.min(), slip.max()), (3, Some(Nanos(5)), Some(Nanos(9))));
    assert_eq!(recording.seconds[0][0].counts, counts);
}

#[test]
fn an_open_loop_as_fast_as_it_can_has_no_schedule_to_be_behind() {
    let method = crate::method::Asked { pattern: Some(crate::method::Pattern::Load), ..Default::default() };
    let mut recorder = Recorder::of(&method.resolve().unwrap(), 16);
    recorder.one_way(None);
    recorder.answered(Instant(10), Instant(30));
    let recording = recorder.finish(Instant(200));
    assert!(recording.slip.is_none() && recording.service.is_none());
    assert_eq!((recording.kind, recording.response.max()), (LoopKind::Open, Some(Nanos(20))));
}

#[test]
fn times_of_being_held_back_add_up_by_their_cause() {
    let mut one = closed(16);
    one.held_back(Held::Cap, Nanos(5));
    one.held_back(Held::Socket, Nanos(7));
    let mut other = closed(16);
    other.held_back(Held::Cap, Nanos(11));
    let mut whole = one.finish(Instant(1));
    whole.merge(other.finish(Instant(1)));
    assert_eq!(whole.held_back, HeldBack { by_cap: Nanos(16), by_socket: Nanos(7) });
}

#[test]
fn a_time_beyond_the_histogram_is_counted_as_saturated() {
    let mut values = Values::new();
    values.record(LONGEST.0 + 1);
    assert_eq!((values.saturated(), values.max()), (1, Some(Nanos(LONGEST.0 + 1))));
}

proptest! {
    #[test]
    fn thinning_is_even_and_bounded(count in 0_u64..5_000, capacity in 2_usize..300) {
        let mut recorder = closed(capacity);
        for index in 0..count {
            recorder.answered(Instant(0), Instant(index));
        }
        let series = recorder.finish(Instant(9_999)).series.remove(0);
        prop_assert!(series.samples.len() <= capacity);
        let expected: Vec<u64> = (0..count).step_by(series.stride as usize).collect();
        let kept: Vec<u64> = series.samples.iter().map(|kept| kept.index).collect();
        // All of the old half is there; of the newest round at most what has not been reached yet is missing.
        prop_assert_eq!(&kept[..], &expected[..kept.len()]);
        prop_assert_eq!(kept.len(), expected.len());
        prop_assert!(series.samples.iter().all(|kept| kept.response == kept.index));
        prop_assert!(count <= capacity as u64 || series.samples.len() * 2 >= capacity - 1);
    }

    #[test]
    fn the_counters_are_those_of_an_hdr_histogram(values in prop::collection::vec(prop_oneof![0_u64..5_000, 0_u64..100_000_000, 0..LONGEST.0 + 2_000], 0..200)) {
        let mut ours = Values::new();
        let mut theirs = Histogram::<u64>::new_with_bounds(1, LONGEST.0, 3).unwrap();
        for value in values {
            ours.record(value);
            theirs.saturating_record(value);
        }
        prop_assert_eq!(ours.histogram(), theirs);
    }

    #[test]
    fn merging_is_the_same_as_recording_together(left in prop::collection::vec(1_u64..1_000_000_000, 0..200), right in prop::collection::vec(1_u64..1_000_000_000, 0..200)) {
        let mut together = Values::new();
        let (mut one, mut other) = (Values::new(), Values::new());
        for v in &left { together.record(*v); one.record(*v); }
        for v in &right { together.record(*v); other.record(*v); }
        one.merge(&other);
        prop_assert_eq!(one.histogram(), together.histogram());
        prop_assert_eq!((one.count(), one.sum(), one.sum_of_squares(), one.min(), one.max()), (together.count(), together.sum(), together.sum_of_squares(), together.min(), together.max()));
    }
}
