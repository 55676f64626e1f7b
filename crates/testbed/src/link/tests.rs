//! The virtual path itself, with exact times: what the truth tests of the engines lean on.

use protocol::native::header::{Flags, Header, Native, PeerStamps, Token};
use protocol::wire::{Reading, Wire};

use super::*;

const DELAY: Nanos = Nanos::millis(5);
const RTT: u64 = 10_000_000;

fn wire() -> Native {
    Native::new(Token([1; 16]), 0, 64)
}

fn message(seq: u64) -> Vec<u8> {
    flagged(seq, Flags::NONE)
}

fn flagged(seq: u64, flags: Flags) -> Vec<u8> {
    let mut message = vec![0; 64];
    wire().open(&mut message);
    wire().prepare(&mut message, seq, flags);
    message
}

/// A link over `path`, its clock at 0.
fn link(path: Path) -> VirtualLink {
    Network::new(&VirtualClock::starting(Instant(0))).link(path, Peer::native())
}

/// The next reply until `until`: its number, and when it was had.
fn next(link: &mut VirtualLink, until: u64) -> Option<(u64, u64)> {
    let mut buffer = [0; 64];
    let length = link.receive(&mut buffer, Instant(until)).expect("no fault")?;
    match wire().identify(&buffer[..length], 0) {
        Reading::Reply(seq) => Some((seq, link.now().0)),
        other => panic!("{other:?}"),
    }
}

/// All replies until a second is over.
fn rest(link: &mut VirtualLink) -> Vec<(u64, u64)> {
    std::iter::from_fn(|| next(link, 1_000_000_000)).collect()
}

/// Sends the numbers given, one each millisecond from 0.
fn send_each_millisecond(link: &mut VirtualLink, numbers: impl IntoIterator<Item = u64>) {
    for (turn, seq) in numbers.into_iter().enumerate() {
        link.sleep(Instant(turn as u64 * 1_000_000));
        link.send(&message(seq)).unwrap();
    }
}

#[test]
fn a_round_trip_takes_both_ways_to_the_nanosecond() {
    let mut link = link(Path::seeded(1).delay_there(Nanos(3)).delay_back(Nanos(4)));
    link.send(&message(0)).unwrap();
    assert_eq!(link.now(), Instant(0), "sending takes no time");
    assert_eq!(link.try_receive(&mut [0; 64]), Ok(None));
    assert_eq!(next(&mut link, 1_000), Some((0, 7)));
    let passage = Passage {
        flow: 0,
        number: 0,
        bytes: 64,
        warm_up: false,
        left: Instant(0),
        reached: Some(Instant(3)),
        back: vec![Instant(7)],
    };
    assert_eq!(link.network.passages(), [passage]);
}

#[test]
fn messages_handed_over_together_leave_by_one_call_as_many_as_it_takes() {
    let path = Path::seeded(1).delay(DELAY).send_takes(Nanos(9)).take_together(3).send_fail([2]);
    let mut link = link(path);
    let messages: Vec<u8> = (0..5).flat_map(message).collect();
    assert_eq!(link.send_many(&messages, 64), Ok(2), "up to the one that cannot be sent");
    assert_eq!(link.send_many(&messages[3 * 64..], 64), Ok(2));
    let left: Vec<u64> = link.network.passages().iter().map(|passage| passage.left.0).collect();
    assert_eq!(left, [9, 9, 18, 18]);
}

#[test]
fn a_receive_waits_until_its_instant_and_no_longer() {
    let mut link = link(Path::seeded(1).delay(DELAY));
    link.send(&message(0)).unwrap();
    assert_eq!(next(&mut link, RTT - 1), None);
    assert_eq!(link.now(), Instant(RTT - 1));
    assert_eq!(next(&mut link, RTT), Some((0, RTT)));
    assert_eq!(next(&mut link, 5), None, "an instant that is over: what is there, without waiting");
}

#[test]
fn what_is_lost_is_lost_where_it_was_said() {
    let mut link = link(Path::seeded(1).delay(DELAY).lose([1]).lose_replies([2]));
    send_each_millisecond(&mut link, 0..4);
    assert_eq!(rest(&mut link), [(0, RTT), (3, 3_000_000 + RTT)]);
    let reached: Vec<bool> = link.network.passages().iter().map(|passage| passage.reached.is_some()).collect();
    assert_eq!(reached, [true, false, true, true]);
}

#[test]
fn a_copy_comes_right_behind() {
    let mut link = link(Path::seeded(1).delay(DELAY).duplicate([0]));
    send_each_millisecond(&mut link, 0..2);
    assert_eq!(rest(&mut link), [(0, RTT), (0, RTT), (1, 1_000_000 + RTT)]);
}

#[test]
fn a_held_reply_comes_later_and_holds_up_no_other() {
    let mut link = link(Path::seeded(1).delay(DELAY).hold(0, Nanos::millis(900)).hold_each(Nanos(1)));
    send_each_millisecond(&mut link, 0..2);
    assert_eq!(rest(&mut link), [(1, 1_000_001 + RTT), (0, 900_000_001 + RTT)]);
}

#[test]
fn a_reply_is_overtaken_by_as_many_as_were_said() {
    let mut link = link(Path::seeded(1).delay(DELAY).reorder(1, 2).duplicate([1]));
    send_each_millisecond(&mut link, 0..5);
    let order: Vec<u64> = rest(&mut link).iter().map(|reply| reply.0).collect();
    assert_eq!(order, [0, 2, 3, 1, 1, 4]);
    assert_eq!(link.network.passages()[1].back, [Instant(3_000_000 + RTT); 2]);
}

#[test]
fn a_wrong_octet_is_seen_by_the_wire() {
    let mut link = link(Path::seeded(1).corrupt([0]).corrupt_at(1, 0));
    let mut buffer = [0; 64];
    link.send(&message(0)).unwrap();
    assert_eq!(link.try_receive(&mut buffer), Ok(Some(64)));
    assert_eq!(wire().identify(&buffer, 0), Reading::Corrupt(Some(0)));
    link.send(&message(1)).unwrap();
    assert_eq!(link.try_receive(&mut buffer), Ok(Some(64)));
    assert_eq!(wire().identify(&buffer, 0), Reading::Stray);
}

#[test]
fn a_refusal_is_met_once_by_the_next_call() {
    let mut link = link(Path::seeded(1).delay(DELAY).refuse([0, 2]));
    let mut buffer = [0; 64];
    link.send(&message(0)).unwrap();
    assert_eq!(link.receive(&mut buffer, Instant(RTT * 2)), Err(Fault::Refused(111)));
    assert_eq!(link.now(), Instant(RTT));
    link.send(&message(1)).unwrap();
    link.send(&message(2)).unwrap();
    link.sleep(Instant(RTT * 3));
    assert_eq!(link.send(&message(3)), Err(Fault::Refused(111)), "a send meets it too, and sends nothing");
    link.send(&message(3)).unwrap();
    let numbers: Vec<u64> = rest(&mut link).iter().map(|reply| reply.0).collect();
    assert_eq!(numbers, [1, 3]);
    assert_eq!(link.network.passages().len(), 4);
}

#[test]
fn what_cannot_be_sent_never_leaves() {
    let mut link = link(Path::seeded(1).send_fail([0]));
    assert_eq!(link.send(&message(0)), Err(Fault::SendFailed(105)));
    link.send(&message(1)).unwrap();
    assert_eq!(link.network.passages().len(), 1);
}

#[test]
fn a_closed_connection_stays_closed() {
    let mut link = link(Path::seeded(1).delay(DELAY).close_at(1));
    send_each_millisecond(&mut link, 0..2);
    link.sleep(Instant(RTT * 2));
    assert_eq!(link.send(&message(2)), Err(Fault::Closed));
    assert_eq!(next(&mut link, RTT * 2), Some((0, RTT * 2)), "what came before the end is still read");
    assert_eq!(link.try_receive(&mut [0; 64]), Err(Fault::Closed));
    assert_eq!(link.send(&message(3)), Err(Fault::Closed));
    assert_eq!(link.receive(&mut [0; 64], Instant(RTT * 9)), Err(Fault::Closed));
    assert_eq!(link.now(), Instant(RTT * 2));
}

#[test]
fn a_stall_keeps_all_that_arrives_in_it_until_its_end() {
    // One request each ms, stalled from 2.5 ms for 3 ms: 3, 4 and 5 wait for 5.5 ms.
    let mut link = link(Path::seeded(1).stall(Nanos::micros(2_500), Nanos::millis(3)));
    let mut had = Vec::new();
    for seq in 0..8 {
        let due = seq * 1_000_000;
        while let Some(reply) = next(&mut link, due) {
            had.push(reply);
        }
        link.send(&message(seq)).unwrap();
    }
    had.extend(rest(&mut link));
    let times: Vec<u64> = had.iter().map(|(seq, at)| at - seq * 1_000_000).collect();
    assert_eq!(times, [0, 0, 0, 2_500_000, 1_500_000, 500_000, 0, 0]);
}

#[test]
fn a_peer_that_works_serially_makes_a_queue() {
    let mut link = link(Path::seeded(1).delay(Nanos(100)).serve_in(Nanos(30)));
    for seq in 0..3 {
        link.send(&message(seq)).unwrap();
    }
    assert_eq!(rest(&mut link), [(0, 230), (1, 260), (2, 290)]);
}

#[test]
fn waiting_on_several_links_ends_at_the_first_arrival() {
    let network = Network::new(&VirtualClock::starting(Instant(0)));
    let far = network.link(Path::seeded(1).delay(Nanos(50)), Peer::native());
    let near = network.link(Path::seeded(1).delay(Nanos(20)), Peer::plain(1));
    let mut links = [far, near];
    links[0].send(&message(0)).unwrap();
    links[1].send(&[5]).unwrap();
    VirtualLink::wait_any(&mut links, Instant(1_000));
    assert_eq!(network.clock().true_now(), Instant(40));
    let mut buffer = [0; 64];
    assert_eq!(links[0].try_receive(&mut buffer), Ok(None));
    assert_eq!(links[1].try_receive(&mut buffer), Ok(Some(1)));
    assert_eq!(buffer[0], 5);
    VirtualLink::wait_any(&mut links[1..], Instant(60));
    assert_eq!(network.clock().true_now(), Instant(60), "nothing more comes here");
    VirtualLink::wait_any(&mut links, Instant(1_000));
    assert_eq!(network.clock().true_now(), Instant(100));
}

#[test]
fn spinning_stops_at_every_arrival_and_at_the_instant() {
    let mut link = link(Path::seeded(1).delay(Nanos(20)));
    link.send(&message(0)).unwrap();
    link.spin(Instant(100));
    assert_eq!(link.now(), Instant(40));
    link.spin(Instant(100));
    assert_eq!(link.now(), Instant(100), "a message that is there already does not hold it up");
    link.spin(Instant(90));
    assert_eq!(link.now(), Instant(100));
}

#[test]
fn our_own_end_costs_what_was_said() {
    let path = Path::seeded(1).delay(Nanos(1_000)).send_takes(Nanos(10)).wake_up(Nanos(300)).oversleep(Nanos(50));
    let mut link = link(path.coarse(Nanos(70)).poll_takes(Nanos(4)));
    link.send(&message(0)).unwrap();
    assert_eq!(link.now(), Instant(10));
    assert_eq!(next(&mut link, 9_000), Some((0, 2_310)));
    link.sleep(Instant(5_000));
    assert_eq!(link.now(), Instant(5_050));
    assert_eq!(next(&mut link, 6_000), None);
    assert_eq!(link.now(), Instant(6_070));
    link.send(&message(1)).unwrap();
    link.sleep(Instant(10_000));
    assert_eq!(next(&mut link, 20_000), Some((1, 10_050)), "what is there already needs no wake-up");
    assert_eq!(link.try_receive(&mut [0; 64]), Ok(None));
    assert_eq!(link.now(), Instant(10_054));
    VirtualLink::wait_any(std::slice::from_mut(&mut link), Instant(11_000));
    assert_eq!(link.now(), Instant(11_050));
    VirtualLink::wait_any(std::slice::from_mut(&mut link), Instant(11_050));
    assert_eq!(link.now(), Instant(11_050), "an instant that is over is not waited for");
}

#[test]
fn a_warm_up_meets_no_fault_by_number() {
    let mut link = link(Path::seeded(1).delay(Nanos(1)).lose([0]).send_fail([1]));
    link.send(&flagged(0, Flags::WARM_UP)).unwrap();
    link.send(&flagged(1, Flags::WARM_UP)).unwrap();
    link.send(&message(2)).unwrap();
    assert_eq!(link.send(&message(3)), Err(Fault::SendFailed(105)));
    link.send(&message(4)).unwrap();
    assert_eq!(rest(&mut link), [(0, 2), (1, 2), (4, 2)]);
    assert_eq!(link.network.passages().iter().map(|p| p.warm_up).collect::<Vec<_>>(), [true, true, false, false]);
}

#[test]
fn stamps_lie_where_they_were_put_and_add_up_to_the_round_trip() {
    let parts = Parts {
        sched: Nanos(1),
        driver: Nanos(20),
        peer_wake_up: Nanos(300),
        peer_sched: Nanos(4_000),
        peer_driver: Nanos(50_000),
        peer_clock_offset: -7,
    };
    let path = Path::seeded(1).delay(Nanos(600_000)).hold_each(Nanos(7_000_000)).wake_up(Nanos(80_000_000));
    let mut link = link(path.stamped(parts));
    link.send(&flagged(0, Flags::ANNOUNCE)).unwrap();
    next(&mut link, 1_000_000_000).unwrap();
    let begin = WALL + link.now().0;
    assert_eq!(link.send_stamped(&flagged(1, Flags::STAMPED)), Ok(Some(begin)));
    let mut buffer = [0; 64];
    let stamped = link.receive_stamped(&mut buffer, Instant(1_000_000_000)).unwrap().unwrap();
    let there = begin + 21 + 600_000;
    let back = there + 300 + 7_000_000 + 54_000 + 600_000;
    assert_eq!(stamped, Stamped { length: 64, kernel: Some(back), application: Some(back + 80_000_000) });
    assert_eq!(link.departure(), Departure { sched: Some(begin + 1), driver: Some(begin + 21) });
    assert_eq!(link.departure(), Departure::default(), "told once");
    let peer = PeerStamps::read(&buffer).unwrap();
    assert_eq!((peer.received, peer.wake_up, peer.hold), (Some(there - 7), Some(300), Some(7_000_000)));
}

#[test]
fn without_stamps_none_are_told() {
    let mut link = link(Path::seeded(1));
    assert_eq!(link.send_stamped(&flagged(0, Flags::STAMPED)), Ok(None));
    let stamped = link.receive_stamped(&mut [0; 64], Instant(1)).unwrap().unwrap();
    assert_eq!((stamped.kernel, stamped.application), (None, None));
    assert_eq!(link.departure(), Departure::default());
}

#[test]
fn a_step_of_the_clock_moves_no_message() {
    let clock = VirtualClock::starting(Instant(1_000_000)).stepping_back(Nanos(50), Nanos(500));
    let mut link = Network::new(&clock).link(Path::seeded(1).delay(Nanos(40)), Peer::native());
    let sent = link.now();
    link.send(&message(0)).unwrap();
    assert_eq!(next(&mut link, sent.0 + 1_000), Some((0, sent.0 + 80 - 500)), "received before it was sent, it seems");
    assert_eq!(clock.elapsed(), Nanos(80));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let path = Path::seeded(seed).delay(DELAY).jitter(Nanos::millis(3)).lose_at_random(0.2);
        let mut link = link(path);
        send_each_millisecond(&mut link, 0..50);
        (rest(&mut link), link.network.passages())
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
    let (had, passages) = run(5);
    let answered = passages.iter().filter(|passage| !passage.back.is_empty()).count();
    assert_eq!(had.len(), answered, "what the path says of itself is what came");
    assert!((1..50).contains(&answered));
    assert!(had.is_sorted_by_key(|reply| reply.1));
}

#[test]
fn a_reply_longer_than_the_buffer_gives_its_head() {
    let mut link = link(Path::seeded(1));
    let mut long = vec![3; 64];
    let mut wire = Native::new(Token([1; 16]), 0, 500);
    wire.open(&mut long);
    wire.prepare(&mut long, 9, Flags::NONE);
    link.send(&long).unwrap();
    let mut buffer = [0; 40];
    assert_eq!(link.try_receive(&mut buffer), Ok(Some(40)));
    assert_eq!(Header::read(&buffer).unwrap().seq, 9);
}
