//! Ways of a stream beyond plain calls, over real sockets on loopback: numbered datagrams, alone and cut by the kernel,
//! sending in place, and receiving without reading. The payload sent is known, so the payload received is too.

use std::thread;

use endpoint::clock::Monotonic;
use endpoint::engine::Ended;
use endpoint::engine::stream::{self, Plan};
use endpoint::link::bulk::any::Any;
use endpoint::link::bulk::numbered::{NumberedReceiver, NumberedSender};
use endpoint::link::bulk::zero_copy::ZeroCopySender;
use endpoint::link::bulk::{Receiver, Sender};
use endpoint::link::ring::{Ring, Shape};
use endpoint::stop::Stop;
use measure::method::Waiting;
use measure::unit::{Bytes, Nanos};
use protocol::bulk::{Bulk, Call, Mark, Numbering, StampClock};
use test_case::test_case;
use testbed::wait;

use crate::bulk::{connection, datagrams};

/// A number and an instant, 8 octets each; the highest bit of the number says that it is the last.
#[derive(Clone, Copy, Debug)]
struct Plain(StampClock);

/// The same, whose last word is none of the datagrams.
#[derive(Debug)]
struct Worded;

impl Numbering for Worded {
    fn octets(&self) -> usize {
        16
    }

    fn clock(&self) -> StampClock {
        StampClock::Monotonic
    }

    fn last_is_data(&self) -> bool {
        false
    }

    fn write(&self, datagram: &mut [u8], number: u64, sent: Nanos) {
        Plain(StampClock::Monotonic).write(datagram, number, sent);
    }

    fn read(&self, datagram: &[u8]) -> Option<Mark> {
        Plain(StampClock::Monotonic).read(datagram)
    }
}

const LAST: u64 = 1 << 63;

impl Numbering for Plain {
    fn octets(&self) -> usize {
        16
    }

    fn clock(&self) -> StampClock {
        self.0
    }

    fn write(&self, datagram: &mut [u8], number: u64, sent: Nanos) {
        datagram[..8].copy_from_slice(&number.to_be_bytes());
        datagram[8..16].copy_from_slice(&sent.0.to_be_bytes());
    }

    fn read(&self, datagram: &[u8]) -> Option<Mark> {
        let word = |at: usize| datagram.get(at..)?.first_chunk().map(|octets| u64::from_be_bytes(*octets));
        let (number, sent) = (word(0)?, Nanos(word(8)?));
        Some(if number & LAST == 0 { Mark::Data { number, sent } } else { Mark::Last { count: number & !LAST, sent } })
    }
}

fn ring(size: usize) -> Ring {
    Ring::filled(Shape { buffers: 2, ..Shape::of(size) }, b"stream\0")
}

/// Calls until `datagrams` have come.
fn take(way: &mut NumberedReceiver<Plain>, datagrams: usize) {
    let mut taken = 0;
    while taken < datagrams {
        match way.call().unwrap() {
            Call::Moved(_) => taken += 1,
            Call::MovedMany { datagrams, .. } => taken += datagrams,
            other => panic!("{other:?} after {taken}"),
        }
    }
}

#[test_case(1, Waiting::Block; "one a call")]
#[test_case(1, Waiting::Spin; "one a call, spinning")]
#[test_case(8, Waiting::Block; "eight a call")]
fn numbered_datagrams_arrive_as_they_were_sent(segments: usize, waiting: Waiting) {
    let (near, far) = datagrams();
    let mut sender = NumberedSender::new(near, Plain(StampClock::Wall), 500, segments, b"abc", waiting).at_most(300);
    let mut receiver = NumberedReceiver::new(far, Plain(StampClock::Wall), Waiting::Block);
    let mut left = Vec::new();
    loop {
        // Never more than a turn is under way: no buffer runs over.
        let moved = match sender.call().unwrap() {
            Call::Moved(_) => 1,
            Call::MovedMany { bytes, datagrams } => {
                assert_eq!(bytes, datagrams * 500);
                datagrams
            }
            Call::End => break,
            other => panic!("{other:?}"),
        };
        take(&mut receiver, moved);
        left.push(moved);
    }
    assert_eq!((left.iter().sum::<usize>(), left[0], sender.sent()), (300, segments, 300));
    let counted = receiver.total().datagrams.unwrap();
    assert_eq!((counted.expected, counted.received, counted.lost, counted.out_of_order), (300, 300, 0, 0));
    let transit = counted.transit.expect("two clocks of one kind");
    assert!(transit.count == 300 && transit.min_ns >= 0 && transit.min_ns <= transit.max_ns, "{transit:?}");
}

/// Octets 40 of each datagram and of the end mark, which is data in this format, and 5 of a datagram of others.
#[test_case(false, 5 * 40 + 5; "all that comes")]
#[test_case(true, 4 * 40; "each once")]
fn payload_that_the_path_doubled_counts_as_asked(once: bool, payload: usize) {
    let (near, far) = datagrams();
    let numbering = Plain(StampClock::Monotonic);
    let mut receiver = NumberedReceiver::new(far, numbering, Waiting::Block);
    if once {
        receiver = receiver.once();
    }
    let mut datagram = [0; 40];
    for number in [1, 2, 2, 3] {
        numbering.write(&mut datagram, number, Nanos(1));
        near.send(&datagram).unwrap();
    }
    near.send(b"other").unwrap();
    numbering.write(&mut datagram, LAST | 3, Nanos(1));
    near.send(&datagram).unwrap();
    let mut moved = 0;
    loop {
        match receiver.call().unwrap() {
            Call::Moved(bytes) | Call::MovedMany { bytes, .. } => moved += bytes,
            Call::Nothing => {}
            Call::End => break,
            other @ Call::Failed => panic!("{other:?}"),
        }
    }
    let counted = receiver.total().datagrams.unwrap();
    assert_eq!((moved, counted.received, counted.duplicates, counted.foreign), (payload, 3, 1, 1));
}

#[test]
fn what_is_missing_doubled_and_foreign_is_told_apart() {
    let (near, far) = datagrams();
    let numbering = Plain(StampClock::Monotonic);
    let mut receiver = NumberedReceiver::new(far, numbering, Waiting::Block);
    let mut datagram = [0; 40];
    for number in [1, 2, 2, 5, 4] {
        numbering.write(&mut datagram, number, Nanos(1));
        near.send(&datagram).unwrap();
    }
    near.send(b"short").unwrap();
    numbering.write(&mut datagram, LAST | 9, Nanos(1));
    near.send(&datagram).unwrap();
    take(&mut receiver, 7);
    assert_eq!((receiver.call().unwrap(), receiver.last()), (Call::End, Some(9)));
    let counted = receiver.total().datagrams.unwrap();
    assert_eq!((counted.expected, counted.received, counted.lost), (9, 4, 5));
    assert_eq!((counted.duplicates, counted.out_of_order, counted.foreign), (1, 1, 1));
    assert_eq!(counted.transit, None, "two clocks that have nothing in common");
}

/// A path that lets later datagrams overtake earlier ones does so with the last word too.
#[test]
fn what_the_last_word_overtook_is_not_lost() {
    let (near, far) = datagrams();
    let mut receiver = NumberedReceiver::new(far, Worded, Waiting::Block);
    let send = |number: u64, late: Nanos| {
        let mut datagram = [0; 40];
        Worded.write(&mut datagram, number, Nanos(Monotonic::now().0 - late.0));
        near.send(&datagram).unwrap();
    };
    // One took a minute longer than another. Said again the word changes nothing, and the last that is missing ends the wait.
    let (now, minute) = (Nanos::ZERO, Nanos::secs(60));
    for (number, late) in [(1, now), (2, minute), (LAST | 5, now), (4, now), (LAST | 5, now), (5, now), (3, now)] {
        send(number, late);
    }
    let calls: Vec<Call> = std::iter::from_fn(|| Some(receiver.call().unwrap())).take(8).collect();
    let moved = Call::MovedMany { bytes: 40, datagrams: 1 };
    assert_eq!(calls, [moved, moved, Call::Nothing, moved, Call::Nothing, moved, moved, Call::End]);
    let counted = receiver.total().datagrams.unwrap();
    assert_eq!((counted.expected, counted.received, counted.lost, counted.out_of_order), (5, 5, 0, 3));
}

/// Lost datagrams end the wait after the spread of transit times.
#[test]
fn what_is_lost_ends_the_wait() {
    let (near, far) = datagrams();
    let mut receiver = NumberedReceiver::new(far, Worded, Waiting::Block);
    for number in [1, 3, LAST | 4] {
        let mut datagram = [0; 40];
        Worded.write(&mut datagram, number, Nanos(Monotonic::now().0));
        near.send(&datagram).unwrap();
    }
    while receiver.call().unwrap() != Call::End {}
    let counted = receiver.total().datagrams.unwrap();
    assert_eq!((counted.expected, counted.received, counted.lost), (4, 2, 2));
    assert!(receiver.ended() <= Some(Monotonic::now()));
}

#[test]
fn what_the_receiver_throws_away_is_counted_all_the_same() {
    let (near, far) = connection();
    let receiving = thread::spawn(move || {
        let stop = Stop::default();
        stream::run(Receiver::new(far, ring(70_000), Waiting::Block).discarding(), &Plan::unbounded(&stop), None)
    });
    let stop = Stop::default();
    let plan = Plan { bytes: Some(5_000_000), ..Plan::unbounded(&stop) };
    let sent = stream::run(Sender::new(near, ring(50_000), Waiting::Block), &plan, None);
    drop(sent.way);
    let received = receiving.join().unwrap();
    assert_eq!((received.ended, received.metered.carried.bytes), (Ended::Complete, Bytes(5_000_000)));
}

#[test]
fn every_send_in_place_is_released_and_says_whether_it_was_copied() {
    let (near, far) = connection();
    let receiving = thread::spawn(move || {
        let stop = Stop::default();
        stream::run(Receiver::new(far, ring(70_000), Waiting::Block), &Plan::unbounded(&stop), None)
    });
    let stop = Stop::default();
    let plan = Plan { bytes: Some(20_000_000), ..Plan::unbounded(&stop) };
    let way: Any<Plain> = Any::ZeroCopy(ZeroCopySender::new(near, ring(50_000), Waiting::Block).unwrap());
    let sent = stream::run(way, &plan, None);
    let Any::ZeroCopy(mut way) = sent.way else { unreachable!("as it was made") };
    way.socket().shutdown(std::net::Shutdown::Write).unwrap();
    let received = receiving.join().unwrap();
    assert_eq!(received.metered.carried.bytes, sent.metered.carried.bytes);
    // All was received, so all is released, the last when the kernel has heard of it; on loopback it copies.
    wait::until("all is released", || way.released().sends == sent.metered.carried.calls);
    assert_eq!(way.released().copied, sent.metered.carried.calls);
}

#[test]
fn an_interval_tells_what_the_senders_tcp_knows() {
    let (near, far) = connection();
    let receiving = thread::spawn(move || {
        let stop = Stop::default();
        stream::run(Receiver::new(far, ring(70_000), Waiting::Block), &Plan::unbounded(&stop), None)
    });
    let stop = Stop::default();
    let plan = Plan { bytes: Some(1_000_000), ..Plan::unbounded(&stop) };
    let sent = stream::run(Sender::new(near, ring(50_000), Waiting::Block), &plan, None);
    let tcp = sent.metered.streams[0].sight.tcp.expect("a TCP sender");
    assert!(tcp.cwnd_bytes.is_some_and(|window| window.0 > 0) && tcp.mss_bytes.is_some(), "{tcp:?}");
    assert!(tcp.sent_bytes.is_some_and(|sent| sent.0 > 0) && tcp.busy_ns.is_some(), "{tcp:?}");
    drop(sent.way);
    let received = receiving.join().unwrap();
    assert_eq!(received.metered.streams[0].sight.tcp, None, "a receiver's says nothing of the way");
}
