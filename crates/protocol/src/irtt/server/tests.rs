//! A server in virtual time, asked by the packets of a client.

use proptest::prelude::*;
use test_case::test_case;

use super::*;
use crate::irtt::fill::FillError;
use crate::irtt::opening::Opening;
use crate::irtt::parameters::{COUNT, WALL, WINDOW};

const CLIENT: &str = "192.0.2.1:5000";
/// Departure of each reply: 300 ns behind the arrival of its packet, of which the wall clock lost 50.
const HELD: Moment = Moment { wall: 250, monotonic: 300 };
/// Time by the clocks where the instant is 0.
const START: Moment = Moment { wall: 1_700_000_000_000_000_000, monotonic: 1_000 };

/// A server, the time, and the names that it draws.
struct World {
    server: Server,
    now: Instant,
    token: u64,
}

/// Octets that left, and lines.
type Seen = (Option<Vec<u8>>, Vec<String>);

impl World {
    fn new(rules: Rules) -> Self {
        Self { server: Server::new(rules, 7), now: Instant(0), token: 0 }
    }

    fn take_from(&mut self, from: &str, datagram: &[u8]) -> Seen {
        let at = Moment {
            wall: START.wall + self.now.0.cast_signed(),
            monotonic: START.monotonic + self.now.0.cast_signed(),
        };
        let arrival = Arrival { from: from.parse().unwrap(), now: self.now, at };
        let mut buffer = vec![0xEE; 1_024];
        buffer[..datagram.len()].copy_from_slice(datagram);
        let token = &mut self.token;
        let mut draw = || {
            *token += 1;
            Some(*token)
        };
        let depart = || Moment { wall: at.wall + HELD.wall, monotonic: at.monotonic + HELD.monotonic };
        let outcome = self.server.take(&mut buffer, datagram.len(), &arrival, &mut draw, depart);
        let left = outcome.reply.map(|reply| buffer[..reply.length].to_vec());
        (left, outcome.events.iter().map(ToString::to_string).collect())
    }

    fn take(&mut self, datagram: &[u8]) -> Seen {
        self.take_from(CLIENT, datagram)
    }

    /// Asks for a session with these parameters; those that are granted, and the lines.
    fn open(&mut self, asked: &Parameters) -> (Parameters, Vec<String>) {
        let (reply, lines) = self.take(&datagram(OPEN, &[&asked.encode()], None));
        let reply = reply.expect("a reply");
        assert_eq!(reply[..4], [0x14, 0xa7, 0x5b, OPEN | REPLY]);
        assert_eq!(reply[4..12], self.token.to_le_bytes());
        (Parameters::decode(&reply[12..]).unwrap(), lines)
    }

    /// A packet of the latest session; its reply.
    fn packet(&mut self, number: u32, length: usize) -> Seen {
        let packet = packet(self.token, number, length);
        self.take(&packet)
    }

    fn after(&mut self, span: Nanos) -> &mut Self {
        self.now = self.now.after(span);
        self
    }
}

/// A packet, its fields zeros and all behind them ones.
fn packet(token: u64, number: u32, length: usize) -> Vec<u8> {
    let mut packet = datagram(0, &[&token.to_le_bytes(), &number.to_le_bytes(), &[1; 200]], None);
    packet.truncate(length);
    packet
}

fn asked() -> Parameters {
    Parameters {
        version: 1,
        duration: 5_000_000_000,
        interval: 20_000_000,
        length: 70,
        stats: COUNT | WINDOW,
        stamp_at: RECEIVE | SEND,
        clock: WALL,
        ..Parameters::default()
    }
}

fn number<const N: usize>(reply: &[u8], at: usize) -> [u8; N] {
    *reply[at..].first_chunk().unwrap()
}

#[test]
fn a_reply_has_its_counts_times_and_fill_in_their_places() {
    let mut world = World::new(Rules::default());
    assert_eq!(world.open(&asked()), (asked(), vec!["[NewConn] new connection, token=0000000000000001".to_owned()]));
    let (reply, lines) = world.packet(0, 70);
    let reply = reply.expect("a reply");
    assert_eq!((reply.len(), lines), (70, vec![]));
    assert_eq!(reply[..16], [0x14, 0xa7, 0x5b, REPLY, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!((number(&reply, 16), number(&reply, 20)), (1_u32.to_le_bytes(), 1_u64.to_le_bytes()));
    assert_eq!((number(&reply, 28), number(&reply, 36)), (START.wall.to_le_bytes(), (START.wall + 250).to_le_bytes()));
    assert_eq!(reply[44..], *b"irttirttirttirttirttirttir");
    let next = world.after(Nanos::millis(10)).packet(2, 70).0.expect("a reply");
    assert_eq!((number(&next, 12), number(&next, 16)), ([2, 0, 0, 0], [2, 0, 0, 0]));
    assert_eq!(number(&next, 20), 0b101_u64.to_le_bytes());
    assert_eq!(next[44..], *b"ttirttirttirttirttirttirtt", "where the last one ended");
}

#[test_case(0, 0, &[]; "none")]
#[test_case(SEND, 1, &[START.wall + 250]; "departure by the wall clock")]
#[test_case(RECEIVE, 2, &[1_000]; "arrival by the monotonic clock")]
#[test_case(RECEIVE | SEND, 3, &[START.wall, 1_000, START.wall + 250, 1_300]; "both by both")]
#[test_case(MIDPOINT, 3, &[START.wall + 125, 1_150]; "halfway by both")]
#[test_case(SEND, 0, &[]; "by no clock")]
fn times_are_those_that_were_asked_for(stamp_at: i64, clock: i64, times: &[i64]) {
    let mut world = World::new(Rules::default());
    world.open(&Parameters { stats: 0, stamp_at, clock, length: 0, ..asked() });
    let reply = world.packet(0, 16 + 8 * times.len()).0.expect("a reply");
    let seen: Vec<i64> = reply[16..].chunks(8).map(|time| i64::from_le_bytes(*time.first_chunk().unwrap())).collect();
    assert_eq!(seen, times);
}

#[test]
fn the_bits_of_the_last_packets_begin_anew_with_one_that_was_overtaken() {
    let mut world = World::new(Rules { interval: None, ..Rules::default() });
    world.open(&asked());
    let windows = [0, 1, 5, 5, 3, 4, 200].map(|sent| number(&world.packet(sent, 70).0.expect("a reply"), 20));
    assert_eq!(windows.map(u64::from_le_bytes), [1, 0b11, 0b11_0001, 0b11_0001, 1, 0b11, 1]);
    assert_eq!(number(&world.packet(201, 70).0.expect("a reply"), 16), [8, 0, 0, 0], "each is counted");
}

#[test_case(Rules { interval: None, timeout: None, ..Rules::default() }, &asked(); "nothing")]
#[test_case(Rules { interval: Some(Nanos::millis(30)), ..Rules::default() }, &Parameters { interval: 30_000_000, ..asked() }; "the interval")]
#[test_case(Rules { interval: None, timeout: Some(Nanos::millis(40)), ..Rules::default() }, &Parameters { interval: 10_000_000, ..asked() }; "the interval for the timeout")]
#[test_case(Rules { duration: Some(Nanos::secs(3)), ..Rules::default() }, &Parameters { duration: 3_000_000_000, ..asked() }; "the duration")]
#[test_case(Rules { length: Some(60), ..Rules::default() }, &Parameters { length: 60, ..asked() }; "the length")]
#[test_case(Rules { stamps: Stamps::Single, ..Rules::default() }, &Parameters { stamp_at: MIDPOINT, ..asked() }; "two times")]
#[test_case(Rules { stamps: Stamps::None, ..Rules::default() }, &Parameters { stamp_at: 0, ..asked() }; "all times")]
fn parameters_are_restricted_to_the_rules(rules: Rules, granted: &Parameters) {
    assert_eq!(World::new(rules).open(&asked()).0, *granted);
}

#[test_case(true, 184, 184; "as it is asked for")]
#[test_case(false, 184, 0; "by a server that does not")]
#[test_case(true, 256, 0; "as no octet can")]
#[test_case(true, -1, 0; "below nought")]
fn replies_are_marked(marks: bool, class: i64, granted: i64) {
    let mut world = World::new(Rules { marks, ..Rules::default() });
    assert_eq!(world.open(&Parameters { class, ..asked() }).0.class, granted);
    let arrival = Arrival { from: CLIENT.parse().unwrap(), now: Instant(0), at: START };
    let mut buffer = packet(1, 0, 70);
    let outcome = world.server.take(&mut buffer, 70, &arrival, || None, || START);
    assert_eq!(outcome.reply.map(|reply| i64::from(reply.class)), Some(granted));
}

#[test_case(&["rand"], "rand", "rand", None; "by chance")]
#[test_case(&["rand"], "pattern:00", "pattern:69727474", Some(*b"irtt"); "not granted")]
#[test_case(&["pattern:*"], "pattern:0102", "pattern:0102", Some([1, 2, 1, 2]); "a pattern")]
#[test_case(&["rand", "none"], "none", "none", Some([1; 4]); "the octets of the packet")]
#[test_case(&["*"], "pattern:69727474", "pattern:69727474", Some(*b"irtt"); "the usual one")]
fn replies_are_filled_as_it_is_granted(fills: &[&str], fill: &str, granted: &str, octets: Option<[u8; 4]>) {
    let fills = fills.iter().map(ToString::to_string).collect();
    let mut world = World::new(Rules { fills, ..Rules::default() });
    let opened = world.open(&Parameters { fill: fill.to_owned(), ..asked() });
    assert_eq!((opened.0.fill.as_str(), opened.1.len()), (granted, 1));
    let reply = world.packet(0, 70).0.expect("a reply");
    match octets {
        Some(octets) => assert_eq!(reply[44..48], octets),
        None => assert!(reply[44..] != [1; 26] && reply[44..] != *b"irttirttirttirttirttirttir"),
    }
}

#[test]
fn a_fill_that_there_is_not_is_reported_and_replaced() {
    let mut world = World::new(Rules { fills: vec!["*".to_owned()], ..Rules::default() });
    let (granted, lines) = world.open(&Parameters { fill: "pattern:0".to_owned(), ..asked() });
    assert_eq!(granted.fill, "pattern:69727474");
    let told = "[InvalidServerFill] invalid server fill pattern:0 requested, defaulting to pattern:69727474 \
                (encoding/hex: odd length hex string)";
    assert_eq!(lines, [told, "[NewConn] new connection, token=0000000000000001"]);
    let event = Event::NoFill { asked: "x".to_owned(), why: FillError::NoSuch("x".to_owned()) };
    assert!(event.to_string().ends_with("([NoSuchFiller] no such Filler x)"));
}

#[test]
fn an_opening_that_closes_opens_nothing() {
    let mut world = World::new(Rules::default());
    let (reply, lines) = world.take(&datagram(OPEN | CLOSE, &[&asked().encode()], None));
    let expected = datagram(OPEN | REPLY | CLOSE, &[&[0; 8], &asked().encode()], None);
    assert_eq!((reply, lines), (Some(expected), vec!["[OpenClose] open-close connection".to_owned()]));
    assert_eq!(world.take(&packet(0, 0, 70)).1, ["[Drop] [InvalidConnToken] invalid conn token 0000000000000000"]);
}

#[test]
fn five_come_at_once_and_then_one_in_each_interval() {
    let mut world = World::new(Rules::default());
    world.open(&asked());
    let mut answered = |gap, count: u32| {
        world.after(gap);
        (0..count).filter(|number| world.packet(*number, 70).0.is_some()).count()
    };
    assert_eq!(answered(Nanos::ZERO, 9), 5);
    assert_eq!(answered(Nanos::millis(25), 9), 2);
    assert_eq!(answered(Nanos::millis(5), 1), 1, "half of one was left");
    assert_eq!(answered(Nanos::secs(9), 9), 5);
    let halves = (0..5).map(|_| answered(Nanos::millis(5), 1)).collect::<Vec<_>>();
    assert_eq!(halves, [0, 1, 0, 1, 0], "one that is dropped takes nothing");
    assert_eq!(world.packet(7, 70).1, ["[Drop] [ShortInterval] drop due to short packet interval"]);
    assert_eq!(number(&world.after(Nanos::secs(1)).packet(8, 70).0.expect("a reply"), 16), [16, 0, 0, 0]);
}

#[test]
fn a_client_ends_its_session() {
    let mut world = World::new(Rules::default());
    world.open(&asked());
    let close = datagram(CLOSE, &[&1_u64.to_le_bytes()], None);
    let told = "[Drop] [AddressMismatch] address mismatch (expected 192.0.2.1:5000 for 0000000000000001)";
    assert_eq!(world.take_from("192.0.2.1:5001", &close), (None, vec![told.to_owned()]));
    assert_eq!(world.take(&close), (None, vec!["[CloseConn] close connection, token=0000000000000001".to_owned()]));
    assert_eq!(world.take(&close).1, ["[Drop] [InvalidConnToken] invalid conn token 0000000000000001"]);
}

#[test]
fn a_session_is_ended_two_seconds_behind_its_longest_time() {
    let mut world = World::new(Rules { duration: Some(Nanos::secs(3)), ..Rules::default() });
    world.open(&asked());
    world.after(Nanos::secs(100)).packet(0, 70).0.expect("a reply to the first");
    let within = world.after(Nanos::secs(5)).packet(1, 70);
    assert_eq!((within.0.expect("a reply")[3], within.1), (REPLY, vec![]));
    let beyond = world.after(Nanos::millis(10)).packet(2, 70);
    let told = "[ExceededDuration] closing connection due to duration limit exceeded".to_owned();
    assert_eq!((beyond.0.expect("a last reply")[3], beyond.1), (REPLY | CLOSE, vec![told]));
    assert_eq!(world.packet(3, 70).1, ["[Drop] [InvalidConnToken] invalid conn token 0000000000000001"]);
}

#[test]
fn a_session_that_was_silent_answers_once_more() {
    let mut world = World::new(Rules { timeout: Some(Nanos::secs(2)), ..Rules::default() });
    world.open(&asked());
    world.packet(0, 70).0.expect("a reply");
    world.after(Nanos::secs(7)).packet(1, 70).0.expect("a reply within the grace");
    world.after(Nanos(7_000_000_001)).packet(2, 70).0.expect("a last reply");
    assert_eq!(world.packet(3, 70).0, None);
    world.open(&asked());
    world.packet(0, 70).0.expect("a reply");
    let close = datagram(CLOSE, &[&2_u64.to_le_bytes()], None);
    let lines = world.after(Nanos::secs(8)).take(&close).1;
    assert_eq!(lines.iter().map(|line| &line[..8]).collect::<Vec<_>>(), ["[CloseCo", "[RemoveN"]);
}

#[test]
fn a_longer_packet_than_granted_is_dropped_or_answered_shorter() {
    let mut world = World::new(Rules { length: Some(80), interval: None, ..Rules::default() });
    world.open(&asked());
    assert_eq!(world.packet(0, 81).1, ["[Drop] [LargeRequest] request too large (81 > 80)"]);
    assert_eq!(world.packet(0, 80).0.expect("a reply").len(), 70);
    world.open(&Parameters { length: 0, ..asked() });
    assert_eq!(world.packet(0, 80).0.expect("a reply").len(), 44, "its fields alone");
}

#[test_case(&[], "[FieldsLengthTooLarge] fields length exceeds buffer length, 4 > 0"; "nothing")]
#[test_case(&[0x14, 0xa7, 0x5c, 0], "[BadMagic] bad magic: 14a75c != 14a75b"; "another protocol")]
#[test_case(&[0x14, 0xa7, 0x5b, 0x10], "[InvalidFlagBitsSet] invalid flag bits set (10)"; "other flags")]
#[test_case(&[0x14, 0xa7, 0x5b, 8], "[UnexpectedHMAC] unexpected HMAC present"; "a seal")]
#[test_case(&[0x14, 0xa7, 0x5b, 2], "[UnexpectedReplyFlag] unexpected reply flag set"; "a reply")]
#[test_case(&[0x14, 0xa7, 0x5b, 3], "[UnexpectedReplyFlag] unexpected reply flag set"; "a reply to an opening")]
#[test_case(&[0x14, 0xa7, 0x5b, 0, 1], "[FieldsLengthTooLarge] fields length exceeds buffer length, 12 > 5"; "cut in its name")]
#[test_case(&[0x14, 0xa7, 0x5b, 1, 2, 0], "[InvalidParamValue] duration 0 is <= 0"; "no duration")]
#[test_case(&[0x14, 0xa7, 0x5b, 0, 1, 0, 0, 0, 0, 0, 0, 0], "[FieldsLengthTooLarge] fields length exceeds buffer length, 16 > 12"; "without a number")]
#[test_case(&[0x14, 0xa7, 0x5b, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "[FieldsLengthTooLarge] fields length exceeds buffer length, 44 > 16"; "shorter than its reply")]
fn other_datagrams_are_dropped_and_told_of(datagram: &[u8], told: &str) {
    let mut world = World::new(Rules::default());
    world.open(&asked());
    assert_eq!(world.take(datagram), (None, vec![format!("[Drop] {told}")]));
}

#[test_case(&[0x14, 0xa7, 0x5b, 1], Dropped::Short { needs: 20, has: 4 }; "no room for a seal")]
#[test_case(&datagram(OPEN, &[&asked().encode()], None), Dropped::NoSeal; "none")]
#[test_case(&datagram(OPEN, &[&asked().encode()], Some(&Key::new(b"another"))), Dropped::Seal; "another's")]
fn what_is_not_sealed_by_the_key_is_dropped(datagram: &[u8], why: Dropped) {
    let mut world = World::new(Rules { key: Some(Key::new(b"secret")), ..Rules::default() });
    assert_eq!(world.take(datagram), (None, vec![format!("[Drop] {why}")]));
}

#[test]
fn a_client_of_ours_is_served_with_a_key() {
    let key = Some(Key::new(b"secret"));
    let mut world = World::new(Rules { key: key.clone(), interval: None, ..Rules::default() });
    let opening = Opening { key: key.clone(), length: 100, class: 0, duration: None, gap: None, is_even: true };
    let granted = opening.read(&world.take(&opening.request()).0.expect("a reply")).unwrap().expect("granted");
    assert_eq!((granted.token, granted.floor, granted.has_times), (1, None, true));
    let client = crate::irtt::session::Session { key, token: 1, length: 100, has_times: true };
    let mut packet = vec![0; 100];
    client.open(&mut packet);
    client.write(&mut packet, 5);
    let answer = client.read(&world.take(&packet).0.expect("a reply")).expect("a reply of this session");
    assert_eq!((answer.number, answer.count), (5, 1));
    assert_eq!(answer.times, Some((START.wall.cast_unsigned(), START.wall.cast_unsigned() + 300)));
    assert_eq!(world.take(&client.close()).1, ["[CloseConn] close connection, token=0000000000000001"]);
}

#[test]
fn a_source_opens_so_many_a_second_and_keeps_no_other_out() {
    let mut world = World::new(Rules::default());
    let opening = datagram(OPEN, &[&asked().encode()], None);
    let opened = |from: &str, world: &mut World| world.take_from(from, &opening).0.is_some();
    assert_eq!((0..100).filter(|_| opened(CLIENT, &mut world)).count(), 50);
    assert!(opened("192.0.2.2:5000", &mut world));
    assert_eq!(world.take(&opening).1, ["[Drop] [TooManyOpens] too many opens from one address"]);
    world.after(Nanos::secs(1));
    assert!(opened(CLIENT, &mut world));
}

#[test]
fn sessions_that_never_began_give_way() {
    let mut world = World::new(Rules { timeout: None, ..Rules::default() });
    let opening = datagram(OPEN, &[&asked().encode()], None);
    // So slowly that the bound on openings is not met.
    let open = |source: u32, world: &mut World| {
        world.after(Nanos::micros(20));
        let from = format!("{}:7", std::net::Ipv4Addr::from(0x0a00_0000 + source));
        world.take_from(&from, &opening)
    };
    world.open(&asked());
    let (first, packet) = (world.token, packet(1, 0, 70));
    assert!(world.take(&packet).0.is_some());
    assert_eq!((0..20_000).filter(|source| open(*source, &mut world).0.is_some()).count(), 16_383);
    assert_eq!(open(30_000, &mut world).1, ["[Drop] [TooManyConns] too many connections"]);
    world.after(Nanos::secs(6));
    assert!(open(30_001, &mut world).0.is_some(), "others have been without a packet for long");
    assert!(world.server.sessions.has(first) && world.take(&packet).0.is_some(), "one that began goes on");
    world.after(Nanos::secs(66));
    assert_eq!((0..16_384).filter(|source| open(*source, &mut world).0.is_some()).count(), 16_384);
    assert!(!world.server.sessions.has(first), "and one that stopped has gone");
}

proptest! {
    /// Whatever comes, no reply is longer than its packet, and one to an opening by no more than a name and what is restricted.
    #[test]
    fn no_reply_is_much_longer_than_what_it_answers(
        octets in prop::collection::vec(any::<u8>(), 0..120),
        head in prop::option::of(0..16_u8),
        token in 0..3_u64,
        sealed: bool,
    ) {
        let key = sealed.then(|| Key::new(b"secret"));
        let (interval, fills) = (Some(Nanos(u64::MAX)), vec!["*".to_owned()]);
        let rules = Rules { key: key.clone(), interval, timeout: None, fills, ..Rules::default() };
        let mut world = World::new(rules);
        world.take(&datagram(OPEN, &[&asked().encode()], key.as_ref()));
        let sent = match head {
            Some(flags) if flags & OPEN == 0 => datagram(flags, &[&token.to_le_bytes(), &octets], key.as_ref()),
            Some(flags) => datagram(flags, &[&octets], key.as_ref()),
            None => octets,
        };
        let (reply, lines) = world.take(&sent);
        if let Some(reply) = &reply {
            let growth = if reply[3] & OPEN != 0 { 8 + 2 + 11 + 15 } else { 0 };
            prop_assert!(reply.len() <= sent.len() + growth, "{} of {}", reply.len(), sent.len());
            prop_assert!(reply[3] & REPLY != 0 && world.take(reply).0.is_none(), "no reply has another");
        }
        prop_assert!(reply.is_some() || !lines.is_empty());
    }
}
