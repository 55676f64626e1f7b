//! What is said makes a method, and what makes none is refused.

use super::*;
use crate::unit::{Bytes, Nanos};
use test_case::test_case;

const EVERY_MS: Option<Schedule> = Some(Schedule::Every { interval_ns: Nanos::millis(1) });

#[test]
fn nothing_said_is_a_closed_tcp_exchange() {
    let method = Asked::default().resolve().unwrap();
    assert_eq!(method.window, Window::Closed(1));
    assert_eq!(method.loop_kind(), LoopKind::Closed);
    assert_eq!(method.stop.after_ns, Some(default::DURATION));
    assert_eq!(method.to_string(), "tcp exchange · window 1 · back to back · 64 B ⇄ 64 B · block · 10 s");
}

#[test]
fn a_schedule_alone_is_an_open_loop_and_a_window_closes_it() {
    let open = Asked { schedule: EVERY_MS, ..Asked::default() }.resolve().unwrap();
    assert_eq!(open.loop_kind(), LoopKind::Open);
    let closed = Asked { schedule: EVERY_MS, window: Some(1), ..Asked::default() }.resolve().unwrap();
    assert_eq!(closed.window, Window::Closed(1));
}

#[test]
fn a_count_alone_has_no_time_limit() {
    let stop = Stop { count: Some(100), ..Stop::default() };
    assert_eq!(Asked { stop, ..Asked::default() }.resolve().unwrap().stop.after_ns, None);
}

#[test_case(&Asked { carrier: Some(Carrier::TcpConnect), request_bytes: Some(Bytes(1)), ..Asked::default() }, &Refusal::HandshakeCarriesNothing; "payload in a handshake")]
#[test_case(&Asked { connections: Some(0), ..Asked::default() }, &Refusal::NothingToMeasureWith; "no connection")]
#[test_case(&Asked { threads: Some(2), ..Asked::default() }, &Refusal::IdleThreads { threads: 2, connections: 1 }; "threads without connections")]
#[test_case(&Asked { window: Some(0), ..Asked::default() }, &Refusal::UnboundedBackToBack; "open loop without schedule")]
#[test_case(&Asked { carrier: Some(Carrier::Icmp), peer_cpus: vec![1], ..Asked::default() }, &Refusal::NoPeerProgram { carrier: Carrier::Icmp }; "peer cpu for icmp")]
#[test_case(&Asked { pacing: Some(Pacing::Spin), ..Asked::default() }, &Refusal::NothingToPace; "pacing without schedule")]
#[test_case(&Asked { carrier: Some(Carrier::Udp), nagle: true, ..Asked::default() }, &Refusal::TcpOnly { carrier: Carrier::Udp }; "nagle on udp")]
#[test_case(&Asked { carrier: Some(Carrier::Udp), pattern: Some(Pattern::ConnectExchange), ..Asked::default() }, &Refusal::NothingToConnect { carrier: Carrier::Udp }; "crr on udp")]
#[test_case(&Asked { carrier: Some(Carrier::TcpConnect), window: Some(4), ..Asked::default() }, &Refusal::OneHandshakeAtATime; "window of handshakes")]
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
    assert_eq!((method.direction, method.request_bytes), (Some(Direction::Send), default::CALL));
    assert_eq!((method.response_bytes, method.warm_up_ns, method.stamps), (Bytes(0), Nanos::ZERO, None));
    assert_eq!(method.to_string(), "tcp stream · send · back to back · 128 KiB a call · block · 10 s");
    let stop = Stop { bytes: Some(Bytes(1_000_000)), ..Stop::default() };
    let by_bytes = Asked { carrier: Some(Carrier::Udp), stop, ..stream(Some(Direction::Receive)) }.resolve().unwrap();
    assert_eq!((by_bytes.stop.after_ns, by_bytes.request_bytes), (None, default::DATAGRAM));
    assert_eq!(by_bytes.to_string(), "udp stream · receive · back to back · 1400 B a call · block · 1.000 MB in all");
}

#[test]
fn a_connection_that_is_only_closed_again_has_no_size() {
    let method = connect_close().resolve().unwrap();
    assert_eq!((method.request_bytes, method.response_bytes, method.direction), (Bytes(0), Bytes(0), None));
    assert_eq!(method.to_string(), "tcp connect + close · window 1 · back to back · block · 10 s");
}

#[test_case(&Asked { carrier: Some(Carrier::Icmp), ..stream(None) }, &Refusal::NothingToStream { carrier: Carrier::Icmp }; "a stream of echoes")]
#[test_case(&Asked { window: Some(1), ..stream(None) }, &Refusal::StreamHasNoWindow; "a window of a stream")]
#[test_case(&Asked { stop: Stop { count: Some(9), ..Stop::default() }, ..stream(None) }, &Refusal::StreamHasNoRequests; "requests of a stream")]
#[test_case(&Asked { stop: Stop { bytes: Some(Bytes(0)), ..Stop::default() }, ..stream(None) }, &Refusal::NothingToMeasure; "no bytes")]
#[test_case(&Asked { stop: Stop { bytes: Some(Bytes(9)), ..Stop::default() }, ..Asked::default() }, &Refusal::OnlyStreamsEndByBytes; "bytes of exchanges")]
#[test_case(&Asked { schedule: EVERY_MS, ..stream(Some(Direction::Receive)) }, &Refusal::PacedReceiver; "a schedule for the peer")]
#[test_case(&Asked { stamps: Some(true), ..stream(None) }, &Refusal::NoStampsOnStreams; "stamps of a stream")]
#[test_case(&Asked { direction: Some(Direction::Send), ..Asked::default() }, &Refusal::ExchangesGoBothWays; "a direction of exchanges")]
#[test_case(&Asked { request_bytes: Some(Bytes(1)), ..connect_close() }, &Refusal::CloseCarriesNothing; "payload in a close")]
#[test_case(&Asked { window: Some(2), ..connect_close() }, &Refusal::OneHandshakeAtATime; "two at once")]
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
    assert_eq!(call(Direction::Receive).unwrap().request_bytes, Bytes(212_992));
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
