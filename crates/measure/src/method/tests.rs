//! Settings resolve to a method, or are refused.

use super::*;
use crate::unit::{Bytes, Nanos};
use test_case::test_case;

const EVERY_MS: Option<Schedule> = Some(Schedule::Every { interval_ns: Nanos::millis(1) });

fn not(what: Part, carrier: Carrier, pattern: Pattern) -> Refusal {
    Refusal::NotOf(NotOf { what, carrier, pattern })
}

#[test]
fn what_a_foreign_server_sends_has_a_rate_only_where_its_protocol_says_one() {
    let asked = Asked {
        pattern: Some(Pattern::Stream),
        direction: Some(Direction::Receive),
        schedule: Some(Schedule::Every { interval_ns: Nanos::millis(1) }),
        ..Asked::default()
    };
    assert_eq!(asked.resolve_towards(Far::Foreign).unwrap_err(), Refusal::PacedReceiver);
    for far in [Far::Native, Far::ForeignPaced] {
        assert_eq!(asked.resolve_towards(far).unwrap().schedule, Schedule::Every { interval_ns: Nanos::millis(1) });
    }
}

#[test]
fn nothing_said_is_a_closed_tcp_exchange() {
    let method = Asked::default().resolve().unwrap();
    assert_eq!(method.traffic.window(), Window::Closed(1));
    assert_eq!(method.loop_kind(), LoopKind::Closed);
    assert_eq!(method.stop.after_ns, Some(default::DURATION));
    assert_eq!(method.to_string(), "tcp exchange · window 1 · back to back · 64 B ⇄ 64 B · block · 10 s");
}

#[test_case(&Asked::default(), 8; "nothing said")]
#[test_case(&Asked { carrier: Some(Carrier::Udp), waiting: Some(Waiting::Spin), ..Asked::default() }, 8; "datagrams, our end spinning")]
#[test_case(&Asked { stop: Stop { after_ns: Some(Nanos::secs(1)), ..Stop::default() }, ..Asked::default() }, 8; "by time")]
#[test_case(&Asked { connections: Some(1), ..Asked::default() }, 1; "one said")]
#[test_case(&Asked { connections: Some(4), ..Asked::default() }, 4; "four at once")]
#[test_case(&Asked { connections: Some(4), in_turn: true, ..Asked::default() }, 4; "four in turn")]
#[test_case(&Asked { window: Some(4), ..Asked::default() }, 1; "a window")]
#[test_case(&Asked { schedule: Some(Schedule::Every { interval_ns: Nanos::millis(1) }), ..Asked::default() }, 1; "a schedule")]
#[test_case(&Asked { stop: Stop { count: Some(9), ..Stop::default() }, ..Asked::default() }, 1; "by count")]
#[test_case(&Asked { peer_waiting: Some(Waiting::Spin), ..Asked::default() }, 1; "a peer that is to spin")]
#[test_case(&Asked { carrier: Some(Carrier::Icmp), ..Asked::default() }, 1; "echoes")]
#[test_case(&Asked { pattern: Some(Pattern::ConnectExchange), ..Asked::default() }, 1; "a connection each")]
#[test_case(&Asked { socket: SocketOptions { source_ports: Some(SourcePorts { first: 40_000, last: 40_000 }), ..SocketOptions::default() }, ..Asked::default() }, 1; "one port")]
fn round_trips_one_after_the_other_are_over_several_connections(asked: &Asked, connections: u32) {
    let spread = asked.clone().over_several().resolve().unwrap().spread;
    assert_eq!(spread.connections, connections);
}

#[test_case(&Asked { carrier: Some(Carrier::Icmp), ..Asked::default() }, Schedule::Every { interval_ns: Nanos::millis(10) }; "echoes")]
#[test_case(&Asked { carrier: Some(Carrier::Icmp), schedule: Some(Schedule::BackToBack), ..Asked::default() }, Schedule::BackToBack; "a flood is asked for")]
#[test_case(&Asked { carrier: Some(Carrier::Icmp), schedule: EVERY_MS, ..Asked::default() }, EVERY_MS.unwrap(); "an interval is asked for")]
#[test_case(&Asked { carrier: Some(Carrier::Icmp), stop: Stop { after_ns: Some(Nanos::millis(5)), ..Stop::default() }, ..Asked::default() }, Schedule::BackToBack; "no time for a pause")]
#[test_case(&Asked { carrier: Some(Carrier::Udp), ..Asked::default() }, Schedule::BackToBack; "a program")]
fn echoes_pause_where_nobody_said_when_they_are_due(asked: &Asked, expected: Schedule) {
    assert_eq!(asked.clone().with_pause().resolve().unwrap().schedule, expected);
}

#[test]
fn a_schedule_alone_is_an_open_loop_and_a_window_closes_it() {
    let open = Asked { schedule: EVERY_MS, ..Asked::default() }.resolve().unwrap();
    assert_eq!(open.loop_kind(), LoopKind::Open);
    let closed = Asked { schedule: EVERY_MS, window: Some(1), ..Asked::default() }.resolve().unwrap();
    assert_eq!(closed.traffic.window(), Window::Closed(1));
}

#[test]
fn requests_a_millisecond_apart_are_stamped_throughout_one_in_four() {
    let stamps = |interval_ns: Nanos| {
        let asked = Asked { schedule: Some(Schedule::Every { interval_ns }), window: Some(1), ..Asked::default() };
        asked.resolve().unwrap().traffic.stamps().unwrap()
    };
    assert_eq!(stamps(Nanos::micros(999)), default::STAMPS);
    assert_eq!(stamps(Nanos::millis(1)), Stamps { spacing_ns: Nanos::millis(4), in_a_row: 1, rest: 0 });
}

#[test]
fn a_count_alone_has_no_time_limit() {
    let stop = Stop { count: Some(100), ..Stop::default() };
    assert_eq!(Asked { stop, ..Asked::default() }.resolve().unwrap().stop.after_ns, None);
}

#[test_case(&Asked { carrier: Some(Carrier::TcpConnect), request_bytes: Some(Bytes(1)), ..Asked::default() }, &not(Part::RequestBytes, Carrier::TcpConnect, Pattern::Exchange); "payload in a handshake")]
#[test_case(&Asked { connections: Some(0), ..Asked::default() }, &Refusal::NothingToMeasureWith; "no connection")]
#[test_case(&Asked { threads: Some(2), ..Asked::default() }, &Refusal::IdleThreads { threads: 2, connections: 1 }; "threads without connections")]
#[test_case(&Asked { window: Some(0), ..Asked::default() }, &Refusal::UnboundedBackToBack; "open loop without schedule")]
#[test_case(&Asked { carrier: Some(Carrier::Icmp), peer_cpus: vec![1], ..Asked::default() }, &not(Part::FarProgram, Carrier::Icmp, Pattern::Exchange); "peer cpu for icmp")]
#[test_case(&Asked { pacing: Some(Pacing::Spin), ..Asked::default() }, &Refusal::NothingToPace; "pacing without schedule")]
#[test_case(&Asked { carrier: Some(Carrier::Udp), nagle: true, ..Asked::default() }, &not(Part::TcpOptions, Carrier::Udp, Pattern::Exchange); "nagle on udp")]
#[test_case(&Asked { carrier: Some(Carrier::Udp), pattern: Some(Pattern::ConnectExchange), ..Asked::default() }, &not(Part::Pattern, Carrier::Udp, Pattern::ConnectExchange); "crr on udp")]
#[test_case(&Asked { carrier: Some(Carrier::TcpConnect), window: Some(4), ..Asked::default() }, &not(Part::Window, Carrier::TcpConnect, Pattern::Exchange); "window of handshakes")]
#[test_case(&Asked { carrier: Some(Carrier::Udp), response_bytes: Some(Bytes(128)), ..Asked::default() }, &Refusal::Amplifies { request: Bytes(64), response: Bytes(128) }; "amplification")]
#[test_case(&Asked { schedule: Some(Schedule::Every { interval_ns: Nanos::ZERO }), ..Asked::default() }, &Refusal::ZeroInterval; "interval of zero")]
#[test_case(&Asked { schedule: Some(Schedule::Bursts { count: 8, interval_ns: Nanos::millis(1) }), window: Some(4), ..Asked::default() }, &Refusal::BurstBeyondWindow { burst: 8, window: 4 }; "burst beyond window")]
#[test_case(&Asked { stop: Stop { count: Some(0), ..Stop::default() }, ..Asked::default() }, &Refusal::NothingToMeasure; "no requests")]
fn nonsense_is_refused_with_its_reason(asked: &Asked, refusal: &Refusal) {
    assert_eq!(asked.resolve().unwrap_err(), *refusal);
}

#[test]
fn a_burst_towards_a_foreign_server_may_be_exchanges_one_after_the_other() {
    let schedule = Some(Schedule::Bursts { count: 5, interval_ns: Nanos::millis(1) });
    let asked = Asked { schedule, window: Some(1), ..Asked::default() };
    assert!(asked.resolve().is_err());
    assert!(asked.resolve_towards(Far::Foreign).is_ok());
}

fn stream(direction: Option<Direction>) -> Asked {
    Asked { pattern: Some(Pattern::Stream), direction, ..Asked::default() }
}

fn connect_close() -> Asked {
    Asked { pattern: Some(Pattern::ConnectClose), ..Asked::default() }
}

#[test]
fn a_stream_is_told_by_its_direction_and_the_size_of_its_calls() {
    let method = stream(None).resolve().unwrap();
    let direction = method.traffic.stream().map(|stream| stream.direction);
    assert_eq!((direction, method.traffic.request_bytes()), (Some(Direction::Send), default::CALL));
    assert_eq!(
        (method.traffic.response_bytes(), method.warm_up_ns, method.traffic.stamps()),
        (Bytes(0), Nanos::ZERO, None)
    );
    assert_eq!(method.to_string(), "tcp stream · send · back to back · 128 KiB a call · block · 10 s");
    let stop = Stop { bytes: Some(Bytes(1_000_000)), ..Stop::default() };
    let by_bytes = Asked { carrier: Some(Carrier::Udp), stop, ..stream(Some(Direction::Receive)) }.resolve().unwrap();
    assert_eq!((by_bytes.stop.after_ns, by_bytes.traffic.request_bytes()), (None, default::DATAGRAM));
    assert_eq!(by_bytes.to_string(), "udp stream · receive · back to back · 1400 B a call · block · 1.000 MB in all");
}

#[test]
fn a_connection_that_is_only_closed_again_has_no_size() {
    let method = connect_close().resolve().unwrap();
    assert_eq!(method.traffic, Traffic::ConnectClose { open_loop: false });
    assert_eq!(method.to_string(), "tcp connect + close · window 1 · back to back · block · 10 s");
}

#[test_case(&Asked { carrier: Some(Carrier::Icmp), ..stream(None) }, &not(Part::Pattern, Carrier::Icmp, Pattern::Stream); "a stream of echoes")]
#[test_case(&Asked { window: Some(1), ..stream(None) }, &not(Part::Window, Carrier::Tcp, Pattern::Stream); "a window of a stream")]
#[test_case(&Asked { stop: Stop { count: Some(9), ..Stop::default() }, ..stream(None) }, &not(Part::Requests, Carrier::Tcp, Pattern::Stream); "requests of a stream")]
#[test_case(&Asked { stop: Stop { bytes: Some(Bytes(0)), ..Stop::default() }, ..stream(None) }, &Refusal::NothingToMeasure; "no bytes")]
#[test_case(&Asked { stop: Stop { bytes: Some(Bytes(9)), ..Stop::default() }, ..Asked::default() }, &not(Part::End, Carrier::Tcp, Pattern::Exchange); "bytes of exchanges")]
#[test_case(&Asked { sending: Some(Sending::File), ..Asked::default() }, &not(Part::Sending, Carrier::Tcp, Pattern::Exchange); "an exchange from a file")]
#[test_case(&Asked { discard: true, carrier: Some(Carrier::Udp), ..stream(None) }, &not(Part::Sending, Carrier::Udp, Pattern::Stream); "datagrams thrown away unread")]
#[test_case(&Asked { batch: Some(Batch { messages: 9, by: BatchBy::Segments }), ..stream(None) }, &not(Part::Batch, Carrier::Tcp, Pattern::Stream); "segments of a tcp stream")]
#[test_case(&Asked { stamps: Some(true), ..stream(None) }, &not(Part::Stamps, Carrier::Tcp, Pattern::Stream); "stamps of a stream")]
#[test_case(&Asked { direction: Some(Direction::Send), ..Asked::default() }, &not(Part::Direction, Carrier::Tcp, Pattern::Exchange); "a direction of exchanges")]
#[test_case(&Asked { request_bytes: Some(Bytes(1)), ..connect_close() }, &not(Part::RequestBytes, Carrier::Tcp, Pattern::ConnectClose); "payload in a close")]
#[test_case(&Asked { window: Some(2), ..connect_close() }, &not(Part::Window, Carrier::Tcp, Pattern::ConnectClose); "two at once")]
fn what_a_stream_or_a_close_has_not_is_refused(asked: &Asked, refusal: &Refusal) {
    assert_eq!(asked.resolve().unwrap_err(), *refusal);
}

#[test]
fn a_datagram_that_is_sent_has_a_limit_and_room_for_one_has_not() {
    let call = |direction| {
        let size = Some(Bytes(212_992));
        Asked { carrier: Some(Carrier::Udp), request_bytes: size, ..stream(Some(direction)) }.resolve()
    };
    assert!(matches!(call(Direction::Send), Err(Refusal::Size { largest: LARGEST_DATAGRAM, .. })));
    assert_eq!(call(Direction::Receive).unwrap().traffic.request_bytes(), Bytes(212_992));
}

#[test]
fn a_foreign_far_side_needs_no_header_and_cannot_be_told_how_to_wait() {
    let bare = Asked {
        carrier: Some(Carrier::Udp),
        request_bytes: Some(Bytes(1)),
        response_bytes: Some(Bytes(2)),
        ..Asked::default()
    };
    assert!(bare.resolve().is_err());
    assert_eq!(bare.resolve_towards(Far::Foreign).unwrap().peer_waiting, None);
    let told = Asked { peer_waiting: Some(Waiting::Spin), ..bare };
    assert_eq!(told.resolve_towards(Far::Foreign).unwrap_err(), Refusal::ForeignWaiting);
}

#[test_case(Carrier::Udp, 31; "below the header")]
#[test_case(Carrier::Udp, 65_508; "beyond a datagram")]
#[test_case(Carrier::Tcp, 0; "nothing")]
#[test_case(Carrier::Tcp, (1 << 30) + 1; "beyond a gibibyte")]
#[test_case(Carrier::Icmp, 7; "no room for the sequence")]
fn a_size_beyond_the_carrier_is_refused_with_the_limits(carrier: Carrier, bytes: u64) {
    let asked = Asked {
        carrier: Some(carrier),
        request_bytes: Some(Bytes(bytes)),
        response_bytes: Some(Bytes(bytes)),
        ..Asked::default()
    };
    assert!(matches!(asked.resolve(), Err(Refusal::Size { .. })));
}

fn load() -> Asked {
    Asked { pattern: Some(Pattern::Load), ..Asked::default() }
}

fn sized(sizes: Sizes) -> Asked {
    Asked { sizes, ..load() }
}

fn range(smallest: u64, largest: u64) -> Sizes {
    Sizes::Uniform { smallest: Bytes(smallest), largest: Bytes(largest) }
}

fn mix(shares: &[(u64, u32)]) -> Sizes {
    Sizes::Mix(shares.iter().map(|&(bytes, weight)| Share { bytes: Bytes(bytes), weight }).collect())
}

fn trace(smallest: u64, largest: u64) -> Asked {
    let (smallest, largest) = (Bytes(smallest), Bytes(largest));
    let schedule =
        Schedule::Trace { messages: 12_345, length_ns: Nanos::millis(3_200), bytes: Bytes(9_000), smallest, largest };
    Asked { schedule: Some(schedule), ..load() }
}

fn batched(messages: u32, by: BatchBy) -> Asked {
    Asked { batch: Some(Batch { messages, by }), reply_every: Some(100), ..load() }
}

#[test]
fn a_load_is_an_open_loop_of_datagrams_and_says_which_are_answered() {
    let schedule = Some(Schedule::Rate { rate_per_1000s: crate::unit::Rate::per_second(100_000).unwrap() });
    let method = Asked { schedule, reply_every: Some(100), ..load() }.resolve().unwrap();
    assert_eq!((method.traffic.window(), method.traffic.stamps()), (Window::Open { cap: default::OPEN_CAP }, None));
    let line = "udp load · reply every 100 · open loop · 100 000/s · 64 B ⇄ 64 B · pace hybrid · block · 10 s";
    assert_eq!(method.to_string(), line);
    let stop = Stop { count: Some(5_000), ..Stop::default() };
    let max = Asked { stop, carrier: Some(Carrier::Tcp), ..load() }.resolve().unwrap();
    let line = "tcp load · reply to each · open loop · max rate · 64 B ⇄ 64 B · block · 5 000 messages";
    assert_eq!(max.to_string(), line);
}

#[test_case(&sized(range(64, 1_400)), 64, 1_400, "64..1400 B ⇄ 64 B"; "a range")]
#[test_case(&sized(mix(&[(576, 4), (64, 7), (1_500, 1)])), 64, 1_500, "576:4,64:7,1500:1 B ⇄ 64 B"; "a mix")]
#[test_case(&trace(40, 900), 40, 900, "40..900 B ⇄ 40 B"; "a trace")]
#[test_case(&trace(99, 99), 99, 99, "99 B ⇄ 99 B"; "a trace of one size")]
#[test_case(&Asked { request_bytes: Some(Bytes(1_000)), ..load() }, 1_000, 1_000, "1000 B ⇄ 1000 B"; "one size")]
fn the_reply_is_as_long_as_the_smallest(asked: &Asked, smallest: u64, largest: u64, words: &str) {
    let method = asked.resolve().unwrap();
    assert_eq!((method.smallest_request(), method.traffic.request_bytes()), (Bytes(smallest), Bytes(largest)));
    assert_eq!(method.traffic.response_bytes(), Bytes(smallest));
    assert!(method.to_string().contains(&format!(" · {words} · ")), "{method}");
}

#[test]
fn a_trace_lasts_as_long_as_it_is() {
    let method = trace(64, 64).resolve().unwrap();
    assert_eq!(method.stop, Stop::default());
    assert!(method.to_string().contains("open loop · trace of 12 345 messages, 9000 B over 3.20 s · "), "{method}");
}

#[test]
fn what_shares_a_call_stands_in_the_line() {
    let calls = batched(64, BatchBy::Calls).resolve().unwrap();
    assert!(calls.to_string().contains(" · up to 64 datagrams a call · "), "{calls}");
    let segments = batched(128, BatchBy::Segments).resolve().unwrap();
    assert!(segments.to_string().contains(" · up to 128 segments a call · "), "{segments}");
}

#[test_case(&Asked { reply_every: Some(0), ..load() }, &Refusal::ReplyEveryNothing; "no replies")]
#[test_case(&Asked { reply_every: Some(2), ..Asked::default() }, &not(Part::ReplyEvery, Carrier::Tcp, Pattern::Exchange); "exchanges without replies")]
#[test_case(&Asked { window: Some(3), ..load() }, &not(Part::Window, Carrier::Udp, Pattern::Load); "a window")]
#[test_case(&Asked { stamps: Some(true), ..load() }, &not(Part::Stamps, Carrier::Udp, Pattern::Load); "stamps")]
#[test_case(&Asked { carrier: Some(Carrier::Icmp), ..load() }, &not(Part::Pattern, Carrier::Icmp, Pattern::Load); "echoes")]
#[test_case(&Asked { carrier: Some(Carrier::TcpConnect), ..load() }, &not(Part::Pattern, Carrier::TcpConnect, Pattern::Load); "handshakes")]
#[test_case(&Asked { request_bytes: Some(Bytes(64)), ..sized(range(64, 65)) }, &Refusal::SizesTwice; "a size and a range")]
#[test_case(&Asked { request_bytes: Some(Bytes(64)), ..trace(64, 64) }, &Refusal::SizesTwice; "a size and a trace")]
#[test_case(&Asked { sizes: range(64, 65), ..trace(64, 64) }, &Refusal::SizesTwice; "a range and a trace")]
#[test_case(&Asked { pattern: None, ..sized(range(64, 65)) }, &not(Part::Sizes, Carrier::Tcp, Pattern::Exchange); "sizes of exchanges")]
#[test_case(&Asked { carrier: Some(Carrier::Tcp), ..sized(range(64, 65)) }, &Refusal::SizesOnStreams; "sizes on a stream")]
#[test_case(&Asked { carrier: Some(Carrier::Tcp), ..trace(64, 65) }, &Refusal::SizesOnStreams; "a trace of sizes on a stream")]
#[test_case(&sized(range(65, 64)), &Refusal::SizesBackwards { smallest: Bytes(65), largest: Bytes(64) }; "a range backwards")]
#[test_case(&sized(mix(&[])), &Refusal::EmptyShare; "a mix of nothing")]
#[test_case(&sized(mix(&[(64, 1), (65, 0)])), &Refusal::EmptyShare; "a size that never comes")]
#[test_case(&Asked { pattern: None, ..trace(64, 64) }, &not(Part::Trace, Carrier::Tcp, Pattern::Exchange); "a trace of exchanges")]
#[test_case(&Asked { carrier: Some(Carrier::Tcp), request_bytes: Some(Bytes(31)), reply_every: Some(2), ..load() }, &Refusal::NoRoomToAsk { bytes: Bytes(31), smallest: 32 }; "no room on a stream")]
#[test_case(&Asked { response_bytes: Some(Bytes(65)), ..sized(range(64, 100)) }, &Refusal::Amplifies { request: Bytes(64), response: Bytes(65) }; "amplification of the smallest")]
#[test_case(&Asked { stop: Stop { bytes: Some(Bytes(9)), ..Stop::default() }, ..load() }, &not(Part::End, Carrier::Udp, Pattern::Load); "an end by bytes")]
#[test_case(&Asked { pattern: None, reply_every: None, ..batched(9, BatchBy::Calls) }, &not(Part::Batch, Carrier::Tcp, Pattern::Exchange); "a batch of exchanges")]
#[test_case(&Asked { carrier: Some(Carrier::Tcp), ..batched(9, BatchBy::Calls) }, &not(Part::Batch, Carrier::Tcp, Pattern::Load); "a batch on a stream")]
#[test_case(&Asked { reply_every: None, ..batched(9, BatchBy::Calls) }, &Refusal::NothingToBatch; "a batch of requests")]
#[test_case(&batched(1, BatchBy::Calls), &Refusal::Batch { messages: 1, most: 1_024, bytes: Bytes(64) }; "a batch of one")]
#[test_case(&batched(129, BatchBy::Segments), &Refusal::Batch { messages: 129, most: 128, bytes: Bytes(64) }; "too many segments")]
#[test_case(&Asked { request_bytes: Some(Bytes(1_400)), ..batched(47, BatchBy::Segments) }, &Refusal::Batch { messages: 47, most: 46, bytes: Bytes(1_400) }; "segments beyond a datagram")]
fn what_makes_no_load_is_refused_with_its_reason(asked: &Asked, refusal: &Refusal) {
    assert_eq!(asked.resolve().unwrap_err(), *refusal);
}

#[test_case(&sized(range(31, 64)), 31; "below the header")]
#[test_case(&sized(mix(&[(64, 1), (65_508, 1)])), 65_508; "beyond a datagram")]
#[test_case(&trace(8, 64), 8; "a trace below the header")]
fn each_size_has_to_fit_the_carrier(asked: &Asked, culprit: u64) {
    let Err(Refusal::Size { bytes, .. }) = asked.resolve() else { panic!("let in") };
    assert_eq!(bytes, Bytes(culprit));
}

#[test]
fn a_foreign_far_side_takes_its_own_messages_on_a_stream() {
    let asked = Asked { carrier: Some(Carrier::Tcp), reply_every: Some(10), ..sized(range(14, 100)) };
    assert!(asked.resolve_towards(Far::Foreign).is_ok());
}

#[test]
fn a_foreign_load_may_ask_for_nothing() {
    let asked = Asked { reply_every: Some(0), request_bytes: Some(Bytes(14)), ..load() };
    let method = asked.resolve_towards(Far::Foreign).unwrap();
    let line = method.to_string();
    assert!(line.starts_with("udp load · no replies · open loop · max rate · 14 B · "), "{line}");
}

#[test]
fn volleys_are_closed_loops_of_steps() {
    let asked = Asked { volley: Some(4), ..Asked::default() };
    let method = asked.resolve_towards(Far::Foreign).unwrap();
    assert_eq!((method.traffic.window(), method.loop_kind()), (Window::Volley(4), LoopKind::Closed));
    assert!(method.to_string().starts_with("tcp exchange · volleys of 4 · back to back · "), "{method}");
    let drawn = Asked { sizes: range(14, 20), ..asked.clone() };
    let method = drawn.resolve_towards(Far::Foreign).unwrap();
    assert_eq!((method.smallest_request(), method.traffic.request_bytes()), (Bytes(14), Bytes(20)));
    assert_eq!(
        drawn.resolve(),
        Err(not(Part::Sizes, Carrier::Tcp, Pattern::Exchange)),
        "ours have one size on a stream"
    );
    for (asked, refusal) in [
        (Asked { volley: Some(0), ..Asked::default() }, Refusal::EmptyBurst),
        (Asked { window: Some(4), ..asked.clone() }, Refusal::WindowTwice),
        (Asked { pattern: Some(Pattern::Load), ..asked }, not(Part::Window, Carrier::Udp, Pattern::Load)),
    ] {
        assert_eq!(asked.resolve(), Err(refusal));
    }
}

#[test]
fn drawn_sizes_keep_to_their_shares_and_repeat_by_seed() {
    let sizes = mix(&[(64, 7), (576, 4), (1_500, 1)]);
    let draw = |turn: u32, n: usize| {
        let mut draws = Draws::new(&sizes, turn, 3);
        (0..n).filter_map(|_| draws.draw()).collect::<Vec<_>>()
    };
    let drawn = draw(0, 120_000);
    // Five standard deviations of a binomial count of 120 000 are at most 866.
    for (bytes, share) in [(64, 70_000_i64), (576, 40_000), (1_500, 10_000)] {
        let count = drawn.iter().filter(|size| size.0 == bytes).count() as i64;
        assert!((count - share).abs() < 866, "{count} of {bytes} B");
    }
    assert_eq!(draw(0, 50), drawn[..50]);
    assert_ne!(draw(1, 50), drawn[..50], "each connection has its own");
    let range = range(64, 66);
    let mut draws = Draws::new(&range, 0, 3);
    assert!((0..1_000).filter_map(|_| draws.draw()).all(|size| (64..=66).contains(&size.0)));
}

/// As a record has it, and read again.
fn kept(asked: &Asked) -> serde_json::Value {
    let method = asked.resolve().unwrap();
    let json = serde_json::to_value(&method).unwrap();
    assert_eq!(serde_json::from_value::<Method>(json.clone()).unwrap(), method);
    json
}

#[test_case(&Asked { carrier: Some(Carrier::TcpSyn), ..Asked::default() }; "probes")]
#[test_case(&Asked { schedule: EVERY_MS, ..connect_close() }; "closes in an open loop")]
#[test_case(&Asked { pattern: Some(Pattern::ConnectExchange), ..Asked::default() }; "connect and exchange")]
#[test_case(&Asked { sending: Some(Sending::File), discard: true, ..stream(Some(Direction::Both)) }; "a stream from a file")]
#[test_case(&Asked { carrier: Some(Carrier::Udp), batch: Some(Batch { messages: 9, by: BatchBy::Segments }), ..stream(None) }; "segments")]
#[test_case(&Asked { batch: Some(Batch { messages: 9, by: BatchBy::Calls }), reply_every: Some(3), ..sized(range(64, 65)) }; "a load")]
fn a_record_keeps_a_method_flat_and_gives_it_back(asked: &Asked) {
    let (json, plain) = (kept(asked), kept(&Asked::default()));
    for key in plain.as_object().unwrap().keys() {
        assert!(json.get(key).is_some(), "{key}");
    }
}

#[test_case("direction", "send", "tcp exchange has no Direction"; "a direction of exchanges")]
#[test_case("pattern", "load", "tcp load has no Window"; "a window of a load")]
#[test_case("carrier", "tcp-connect", "tcp-connect exchange has no RequestBytes"; "payload in a handshake")]
fn a_record_of_nonsense_is_refused_with_its_reason(key: &str, value: &str, reason: &str) {
    let mut json = kept(&Asked::default());
    json[key] = value.into();
    assert!(serde_json::from_value::<Method>(json).unwrap_err().to_string().contains(reason));
}

#[test]
fn a_record_of_a_stream_says_which_way() {
    let mut json = kept(&stream(None));
    assert_eq!(json["direction"], "send");
    json["direction"] = serde_json::Value::Null;
    let refused = serde_json::from_value::<Method>(json).unwrap_err().to_string();
    assert!(refused.contains("tcp stream has no Direction"), "{refused}");
}

/// The ports of flows fill every remainder of the numbers that routers choose by; those that one flow may take are no other's.
#[test_case(SourcePorts::usual(64), 64; "where nobody names any")]
#[test_case(SourcePorts { first: 50_000, last: 50_255 }, 32; "as they were named")]
#[test_case(SourcePorts { first: 50_000, last: 50_063 }, 32; "two for each")]
fn flows_are_spread_over_every_remainder(ports: SourcePorts, flows: u32) {
    let each: Vec<SourcePorts> = (0..flows).map(|flow| ports.of_flow(flow, flows)).collect();
    assert!(each.windows(2).all(|pair| pair[0].last < pair[1].first), "{each:?}");
    assert!(each.last().unwrap().last <= ports.last, "{each:?}");
    // Numbers of paths are small, and 7 of them are rare.
    for divisor in [2, 3, 4, 5, 6, 8, 16] {
        let remainders: std::collections::BTreeSet<u16> = each.iter().map(|of| of.first % divisor).collect();
        assert_eq!(remainders.len(), usize::from(divisor), "by {divisor}: {each:?}");
    }
}
