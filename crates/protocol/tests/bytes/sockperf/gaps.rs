//! Gap detection as `sockperf server -g`, 3.7 and 3.10, told of the same messages.

use proptest::prelude::*;
use protocol::sockperf::gaps::{Gap, Seen, Sender};
use protocol::sockperf::message::{Flags, Header};

fn message(sequence: u64) -> Header {
    Header { sequence, flags: Flags::CLIENT, length: 14 }
}

const WARM_UP: Header = Header { sequence: 0, flags: Flags(5), length: 14 };

fn gap(first: u64, last: u64, missing: u64) -> Seen {
    Seen::Gap(Gap { first, last, missing })
}

#[test]
fn gaps_are_told_as_theirs_are() {
    let mut sender = Sender::default();
    let seen: Vec<_> = [1, 2, 5, 3, 6, 6, 10, 4, 11].map(|number| sender.see(&message(number))).to_vec();
    let nothing = Seen::Nothing;
    let expected = [Seen::Started, nothing, gap(3, 4, 2), nothing, nothing, nothing, gap(7, 9, 5), nothing, nothing];
    assert_eq!(seen, expected);
    assert_eq!((sender.see(&WARM_UP), sender.missing()), (Seen::Ended { missing: 5 }, None));
    assert_eq!([1, 2, 4].map(|number| sender.see(&message(number))), [Seen::Started, nothing, gap(3, 3, 1)]);
    assert_eq!(sender.missing(), Some(1));
    let mut other = Sender::default();
    assert_eq!([5, 6, 9].map(|number| other.see(&message(number))), [Seen::Started, nothing, gap(7, 8, 2)]);
}

#[test]
fn a_gap_counts_its_messages() {
    assert_eq!(Gap { first: 7, last: 9, missing: 5 }.count(), 3);
}

#[test]
fn what_is_no_clients_message_tells_nothing() {
    let mut sender = Sender::default();
    assert_eq!(sender.see(&WARM_UP), Seen::Nothing, "no session to end");
    assert_eq!(sender.see(&Header { flags: Flags::PONG_REQUEST, ..message(1) }), Seen::Nothing);
    assert_eq!(sender.see(&Header { flags: Flags::WARMUP, ..message(0) }), Seen::Nothing);
    assert_eq!(sender.missing(), None);
}

#[test]
fn numbers_at_the_end_of_their_range_are_numbers() {
    let mut sender = Sender::default();
    assert_eq!(sender.see(&message(0)), Seen::Started);
    assert_eq!(sender.see(&message(u64::MAX)), gap(1, u64::MAX - 1, u64::MAX - 1));
    assert_eq!(sender.see(&message(u64::MAX)), Seen::Nothing);
    assert_eq!(sender.see(&message(3)), Seen::Nothing);
    assert_eq!(sender.missing(), Some(u64::MAX - 1));
}

proptest! {
    #[test]
    fn what_is_missing_is_what_did_not_come_in_order(numbers in prop::collection::vec(0..200_u64, 1..50)) {
        let mut sender = Sender::default();
        for number in &numbers {
            sender.see(&message(*number));
        }
        let (first, highest) = (numbers[0], *numbers.iter().max().expect("one at least"));
        let mut records = 0;
        let mut above = None;
        for number in &numbers {
            if *number >= first && above.is_none_or(|above| *number > above) {
                above = Some(*number);
                records += 1;
            }
        }
        prop_assert_eq!(sender.missing(), Some(highest.max(first) - first + 1 - records));
    }
}
