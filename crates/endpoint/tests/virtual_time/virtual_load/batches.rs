//! One-way messages that are due together leave together, and no message waits for another.

use measure::method::{Asked, Batch, BatchBy, Schedule, Share, Sizes};
use measure::recorder::Values;
use measure::unit::{Bytes, Nanos};
use testbed::path::Path;

use crate::virtual_load::harness::{MS, Seen, every, load, run};

fn batches(messages: u32, asked: Asked) -> Asked {
    Asked { batch: Some(Batch { messages, by: BatchBy::Calls }), ..asked }
}

/// Number of messages in each call, in the order of the calls.
fn calls(seen: &Seen) -> Vec<usize> {
    seen.left().chunk_by(|one, next| one == next).map(<[u64]>::len).collect()
}

const BURSTS: Schedule = Schedule::Bursts { count: 20, interval_ns: Nanos::millis(10) };

#[test]
fn what_is_due_together_leaves_together_and_what_asks_alone() {
    let path = Path::seeded(1).delay(Nanos::micros(20)).send_takes(Nanos::micros(10));
    let seen = run(&batches(8, load(200, 20, BURSTS)), path);
    let each = [8, 8, 3, 1].repeat(10);
    assert_eq!(calls(&seen), each);
    let counts = seen.run.recording.counts;
    assert_eq!((counts.answered, counts.one_way), (10, 190));
    // 8 at once, 8 after 10 us, 3 after 20, the last after 30.
    assert_eq!(seen.run.recording.slip.as_ref().expect("scheduled").sum(), 10 * (80 + 60 + 30) * 1_000);
}

#[test]
fn what_a_call_does_not_take_leaves_with_the_next() {
    let path = Path::seeded(1).delay(Nanos::micros(20)).send_takes(Nanos::micros(10)).take_together(3);
    let seen = run(&batches(8, load(20, 20, BURSTS)), path);
    assert_eq!(calls(&seen), [3, 3, 2, 3, 3, 2, 3, 1]);
    assert_eq!(seen.passages().iter().map(|passage| passage.number).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
}

#[test]
fn no_message_waits_for_others_to_join_it() {
    let seen = run(&batches(64, load(500, 100, every(MS))), Path::seeded(1).delay(Nanos::micros(20)));
    assert_eq!(calls(&seen), [1; 500]);
    assert_eq!(seen.run.recording.slip.as_ref().and_then(Values::max), Some(Nanos::ZERO));
}

#[test]
fn as_fast_as_it_can_each_batch_is_full_up_to_the_next_that_asks() {
    let path = Path::seeded(1).delay(Nanos::micros(3)).send_takes(Nanos::micros(10));
    let seen = run(&batches(64, load(1_000, 100, Schedule::BackToBack)), path);
    assert_eq!(calls(&seen), [64, 35, 1].repeat(10));
    assert_eq!(seen.run.recording.counts.answered, 10);
}

#[test]
fn a_batch_has_messages_of_one_size() {
    let share = |bytes, weight| Share { bytes: Bytes(bytes), weight };
    let sizes = Sizes::Mix(vec![share(64, 3), share(900, 1)]);
    let asked = Asked { sizes, seed: Some(5), ..batches(32, load(640, 64, Schedule::BackToBack)) };
    let seen = run(&asked, Path::seeded(1).delay(Nanos::micros(3)).send_takes(Nanos::micros(10)));
    let passages = seen.passages();
    let together = passages.chunk_by(|one, next| one.left == next.left);
    assert!(together.clone().all(|call| call.iter().all(|passage| passage.bytes == call[0].bytes)));
    assert!(together.clone().any(|call| call.len() > 2) && together.count() > 100);
    assert_eq!((seen.run.recording.counts.answered, seen.run.recording.counts.corrupt), (10, 0));
}

#[test]
fn of_a_batch_only_what_could_not_be_sent_is_missing() {
    let seen = run(&batches(8, load(200, 20, BURSTS)), Path::seeded(1).delay(MS).send_fail([2, 3, 19]));
    let counts = seen.run.recording.counts;
    assert_eq!((counts.one_way, counts.one_way_failed, counts.send_failed), (188, 2, 1));
    assert_eq!(seen.passages().len(), 197);
}
