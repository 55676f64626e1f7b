//! Results of the messages that asked for a reply, and counts of those that did not.

use endpoint::engine::Ended;
use measure::event::Fate;
use measure::method::{Asked, Traffic};
use measure::recorder::{HeldBack, Values};
use measure::unit::Nanos;
use testbed::path::Path;

use crate::virtual_load::harness::{MS, at, every, load, response, run, run_by};

#[test]
fn what_the_path_did_is_what_the_recorder_says() {
    // A thousand messages; those numbered 9, 19, … ask.
    let path = Path::seeded(7)
        .delay(Nanos::millis(2))
        .lose([3, 4, 9, 19])
        .lose_replies([29])
        .duplicate([39, 40])
        .reorder(59, 20)
        .hold(89, Nanos::millis(900))
        .corrupt([109])
        .send_fail([119, 120, 121]);
    let seen = run(&load(1_000, 10, every(MS)), path);
    let recording = &seen.run.recording;
    let counts = recording.counts;
    assert_eq!((counts.scheduled, counts.one_way, counts.one_way_failed), (100, 898, 2));
    assert_eq!((counts.messages(), counts.messages_sent()), (1_000, 997));
    assert_eq!(seen.fate(Fate::Lost), [9, 19, 29, 89], "89 comes after its timeout");
    assert_eq!((counts.lost, counts.late, counts.answered), (3, 1, 94));
    assert_eq!((seen.fate(Fate::Corrupt), seen.fate(Fate::SendFailed)), (vec![109], vec![119]));
    assert_eq!((counts.duplicated, counts.strays), (1, 0), "what goes one way cannot come back twice");
    assert_eq!((recording.loss_periods.periods, recording.loss_periods.longest), (2, 3), "three requests in a row");
    assert_eq!((counts.reordered, recording.extents[1]), (1, 1), "two replies were before it");
    assert_eq!(seen.passages().iter().filter(|passage| passage.reached.is_none()).count(), 4, "on the way there");
    assert!(seen.told.iter().all(|exchange| exchange.seq % 10 == 9));
    let slow =
        |exchange: &&measure::event::Exchange| exchange.fate == Fate::Answered && response(exchange) != Some(4 * MS.0);
    assert_eq!(seen.told.iter().filter(slow).map(|exchange| exchange.seq).collect::<Vec<_>>(), [59]);
    assert_eq!(seen.run.ended, Ended::Complete);
}

#[test]
fn a_stall_is_seen_in_full_by_each_request_it_delays() {
    let (delay, from, length) = (Nanos::micros(20), Nanos::millis(500), Nanos::millis(100));
    let path = Path::seeded(1).delay(delay).stall(from, length);
    let seen = run(&load(4_000, 4, every(Nanos::micros(250))), path);
    let (begin, end) = (at(&seen, from), at(&seen, Nanos(from.0 + length.0)));
    let mut delayed = 0;
    for exchange in &seen.told {
        let due = exchange.intended.expect("scheduled");
        let reached = due.after(delay);
        let read = if begin <= reached && reached < end { end } else { reached };
        delayed += u32::from(read == end);
        assert_eq!(response(exchange), read.after(delay).since(due).map(|span| span.0), "{exchange:?}");
    }
    assert_eq!(delayed, 100, "one a millisecond");
    assert_eq!(seen.run.recording.slip.as_ref().and_then(Values::max), Some(Nanos::ZERO), "none left late");
}

#[test]
fn at_the_cap_requests_wait_and_are_recorded_from_their_instants() {
    // Every second message asks, at most four wait, and each reply takes 102 ms: the fifth request, due in the tenth
    // millisecond, leaves with the first reply.
    let mut method = load(100, 2, every(MS)).resolve().expect("a sensible method");
    let Traffic::Load(load) = &mut method.traffic else { panic!("{method}") };
    load.cap = 4;
    let seen = run_by(&method, None, vec![Path::seeded(1).delay(MS).hold_each(Nanos::millis(100))]);
    let recording = &seen.run.recording;
    assert_eq!((recording.counts.answered, recording.counts.one_way), (50, 50), "none was skipped");
    let service = recording.service.as_ref().expect("scheduled");
    assert_eq!((service.min(), service.max()), (Some(Nanos::millis(102)), Some(Nanos::millis(102))));
    let mut sorted = seen.told.clone();
    sorted.sort_by_key(|exchange| exchange.seq);
    assert_eq!(response(&sorted[3]), Some(102 * MS.0));
    let fifth = sorted[4].sent.zip(sorted[4].intended).and_then(|(sent, due)| sent.since(due));
    assert_eq!((sorted[4].seq, fifth), (9, Some(Nanos::millis(94))), "due 8 ms after the first, sent 102 after it");
    let HeldBack { by_cap, by_socket } = recording.held_back;
    assert!(by_cap > Nanos::millis(1_000) && by_socket == Nanos::ZERO, "{by_cap}");
}

#[test]
fn a_socket_without_room_is_told_from_a_sender_that_is_slow() {
    // From the 100th millisecond on there is no room for 50: the message due then leaves at its end.
    let path = Path::seeded(1).delay(MS).full(Nanos::millis(100), Nanos::millis(50));
    let seen = run(&load(200, 10, every(MS)), path);
    let HeldBack { by_cap, by_socket } = seen.run.recording.held_back;
    let late = seen.run.recording.slip.as_ref().and_then(Values::max).expect("sent");
    assert!(
        late <= by_socket && by_socket <= Nanos::millis(50) && by_socket > Nanos::millis(49),
        "{by_socket}, {late}"
    );
    assert_eq!((by_cap, seen.run.recording.counts.answered), (Nanos::ZERO, 20));
}

#[test]
fn a_refusal_ends_the_request_it_belongs_to_and_costs_no_message() {
    // The refusal of 9 is met by the send of a message after it, which then leaves all the same.
    let path = Path::seeded(1).delay(Nanos::micros(1_500)).refuse([9]).poll_takes(Nanos(100));
    let seen = run(&load(200, 10, every(MS)), path);
    let counts = seen.run.recording.counts;
    assert_eq!(seen.fate(Fate::Refused), [9]);
    assert_eq!((counts.answered, counts.one_way, counts.one_way_failed), (19, 180, 0));
    assert_eq!(seen.passages().len(), 200);
}

#[test]
fn a_load_that_ends_one_way_asks_once_more_unrecorded() {
    let marked = |messages| {
        let seen = run(&load(messages, 10, every(MS)), Path::seeded(1).delay(MS));
        let marks = seen.network.passages().iter().filter(|passage| passage.warm_up).count();
        (seen.run.recording.counts.messages(), marks)
    };
    assert_eq!((marked(25), marked(30)), ((25, 1), (30, 0)));
}

#[test]
fn a_peer_that_closes_ends_the_run_and_keeps_what_was_measured() {
    let seen = run(&load(1_000, 10, every(MS)), Path::seeded(1).delay(Nanos::micros(100)).close_at(99));
    assert!(matches!(seen.run.ended, Ended::Broken(_)), "{:?}", seen.run.ended);
    assert_eq!(seen.run.recording.counts.answered, 9);
}

#[test]
fn seconds_add_up_to_the_whole() {
    let seen = run(&load(3_500, 7, every(MS)), Path::seeded(5).delay(Nanos::micros(50)).lose_at_random(0.05));
    let seconds = &seen.run.recording.seconds[0];
    assert!(seconds.len() >= 4, "{}", seconds.len());
    let one_way: Vec<u64> = seconds.iter().map(|second| second.counts.one_way).collect();
    assert_eq!(one_way.iter().sum::<u64>(), 3_000);
    assert!(one_way[..3].iter().all(|count| (856..=858).contains(count)), "{one_way:?}");
}

#[test]
fn warm_up_is_answered_whatever_asks_and_numbers_start_behind_it() {
    let asked = Asked { warm_up_ns: Some(Nanos::millis(400)), ..load(100, 10, every(MS)) };
    let seen = run(&asked, Path::seeded(1).delay(MS));
    assert_eq!(seen.run.recording.first, Some(Nanos::millis(2)));
    let seqs: Vec<u64> = seen.told.iter().map(|exchange| exchange.seq).collect();
    assert_eq!(seqs, (0..10).map(|k| 10 * k + 9).collect::<Vec<_>>());
}
