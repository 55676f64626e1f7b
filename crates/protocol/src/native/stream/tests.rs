//! Numbers as the document has them, shares that add up, and the remainder of a report that is too long.

use measure::interval::arrivals::Datagrams;
use measure::interval::glance::TcpGlance;
use measure::throughput::Interval;
use proptest::prelude::*;

use super::*;

const TOKEN: Token = Token(*b"0123456789abcdef");

fn numbers() -> Numbers {
    Numbers::new(&TOKEN, 0x0102)
}

#[test]
fn a_number_is_where_the_document_has_it() {
    let mut datagram = [0xEE; 30];
    numbers().write(&mut datagram, 0x0A0B, Nanos(0x0C0D));
    assert_eq!(&datagram[..8], b"0123\x01\x01\x01\x02");
    assert_eq!(datagram[8..24], [0, 0, 0, 0, 0, 0, 0x0A, 0x0B, 0, 0, 0, 0, 0, 0, 0x0C, 0x0D]);
    assert_eq!(datagram[24..], [0xEE; 6], "what follows stays");
    assert_eq!(numbers().read(&datagram), Some(Mark::Data { number: 0x0A0B, sent: Nanos(0x0C0D) }));
    let last = numbers().last(7, Nanos(9));
    assert_eq!((last[5], numbers().read(&last)), (2, Some(Mark::Last { count: 7, sent: Nanos(9) })));
}

#[test]
fn what_is_not_of_this_flow_is_none_of_it() {
    let mut whole = [0; OCTETS];
    numbers().write(&mut whole, 5, Nanos(1));
    assert_eq!(numbers().read(&whole[..OCTETS - 1]), None, "cut off");
    for octet in 0..8 {
        let mut wrong = whole;
        wrong[octet] ^= 0x80;
        assert_eq!(numbers().read(&wrong), None, "octet {octet}");
    }
    numbers().write(&mut whole, 0, Nanos(1));
    assert_eq!(numbers().read(&whole), None, "numbers count from 1");
    assert_eq!(numbers().read(&numbers().last(0, Nanos(1))), Some(Mark::Last { count: 0, sent: Nanos(1) }));
}

#[test]
fn flows_are_shared_out_by_direction() {
    let ways = |direction: Direction| {
        let flows = flows(direction, 2);
        (0..flows).map(|flow| (goes_there(direction, flow, flows), place(direction, flow, flows))).collect::<Vec<_>>()
    };
    assert_eq!(ways(Direction::Send), [(true, 0), (true, 1)]);
    assert_eq!(ways(Direction::Receive), [(false, 0), (false, 1)]);
    assert_eq!(ways(Direction::Both), [(true, 0), (true, 1), (false, 0), (false, 1)]);
    assert_eq!((streams(Direction::Both, 4), streams(Direction::Send, 4)), (2, 4));
}

#[test]
fn an_ask_has_a_default_for_all_it_does_not_say() {
    let ask: Ask = serde_json::from_str("{}").unwrap();
    assert_eq!(ask, Ask::default());
    let ask: Ask = serde_json::from_str(r#"{"direction": "both", "sending": "zero-copy", "later": 1}"#).unwrap();
    assert_eq!((ask.direction, ask.sending), (Direction::Both, Sending::ZeroCopy));
}

fn told(intervals: u64) -> Told {
    let interval = |n| Interval {
        at_ns: Nanos(n * 10),
        length_ns: Nanos(10),
        carried: Carried { bytes: Bytes(3), calls: 1, failed_calls: 0 },
        tcp: Some(TcpGlance::default()),
        ..Interval::default()
    };
    let carried = Carried { bytes: Bytes(3 * intervals), calls: intervals, failed_calls: 0 };
    let stream = Stream {
        carried,
        intervals: (0..intervals).map(interval).collect(),
        tcp: Some(TcpGlance::default()),
        datagrams: Some(Datagrams::default()),
        ..Stream::default()
    };
    Told { stream, socket: Some(SocketFacts::default()), ..Told::default() }
}

#[test]
fn what_is_told_is_read_again() {
    let told = Told { user_ns: Some(Nanos(5)), zero_copy: Some(ZeroCopied { sends: 2, copied: 1 }), ..told(2) };
    let text = serde_json::to_string(&told).unwrap();
    assert_eq!(serde_json::from_str::<Told>(&text).unwrap(), told);
}

#[test]
fn what_nobody_can_have_carried_is_cut_to_what_can_be_added_up() {
    let all = Carried { bytes: Bytes(u64::MAX), calls: u64::MAX, failed_calls: u64::MAX };
    let counted = Datagrams { expected: u64::MAX, lost: i64::MIN, ..Datagrams::default() };
    let mut told = Told { omitted: all, user_ns: Some(Nanos(u64::MAX)), ..told(1) };
    told.stream.carried = all;
    told.stream.datagrams = Some(counted);
    let told = told.bounded();
    let sums = [told.stream.carried.bytes.0, told.omitted.calls, told.user_ns.unwrap().0];
    assert!(sums.iter().all(|count| count.checked_mul(1 << 13).is_some() && *count > 1 << 50), "{sums:?}");
    let counted = told.stream.datagrams.unwrap();
    assert!(counted.lost.checked_mul(1 << 12).is_some() && counted.lost < -1 << 50, "{counted:?}");
    assert_eq!(told.clone().bounded(), told);
}

#[test]
fn details_go_first_and_what_was_carried_last() {
    let mut streams = vec![told(5), told(1)];
    let mut steps = Vec::new();
    loop {
        let first = streams.first();
        let spans = first.map(|told| told.stream.intervals.len());
        let bytes: Option<u64> = first.map(|told| told.stream.intervals.iter().map(|span| span.carried.bytes.0).sum());
        steps.push((spans, bytes, first.map(|told| told.stream.carried.bytes.0)));
        if !shorten(&mut streams) {
            break;
        }
    }
    let some = |spans, bytes| (Some(spans), Some(bytes), Some(15));
    let expected =
        [some(5, 15), some(5, 15), some(3, 15), some(2, 15), some(1, 15), some(0, 0), some(0, 0), (None, None, None)];
    assert_eq!(steps, expected);
}

proptest! {
    #[test]
    fn shares_add_up(bytes in 0..u64::MAX, streams in 1..200_u32) {
        let shares: Vec<u64> = (0..streams).map(|place| share(Bytes(bytes), place, streams).0).collect();
        prop_assert_eq!(shares.iter().sum::<u64>(), bytes);
        prop_assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
    }

    #[test]
    fn a_number_is_read_as_written(token: [u8; 16], flow: u16, number in 1..u64::MAX, sent: u64) {
        let numbers = Numbers::new(&Token(token), flow);
        let mut datagram = [0; OCTETS];
        numbers.write(&mut datagram, number, Nanos(sent));
        prop_assert_eq!(numbers.read(&datagram), Some(Mark::Data { number, sent: Nanos(sent) }));
        prop_assert_eq!(numbers.read(&numbers.last(number, Nanos(sent))), Some(Mark::Last { count: number, sent: Nanos(sent) }));
    }

    #[test]
    fn no_octets_panic(datagram: Vec<u8>) {
        let _ = numbers().read(&datagram);
    }
}
