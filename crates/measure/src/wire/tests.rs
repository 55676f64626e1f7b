//! Wires whose truth is planted.

use std::net::SocketAddr;

use super::finding::{CaptureFacts, Subject, Verdict, Wire};
use super::judge::{Claim, Counted, Place, judge};
use super::observer::{Observer, Setting};
use super::{Mark, Seen, Segment, Way, What};
use crate::unit::Nanos;
use crate::verdict::Warning;
use crate::verdict::judge::contradictions;

const ROUTE: u32 = 4;
const OTHER: u32 = 5;

fn local() -> SocketAddr {
    ([10, 0, 0, 1], 40_000).into()
}

fn remote() -> SocketAddr {
    ([10, 0, 0, 2], 7_663).into()
}

fn packet(at_ns: u64, way: Way) -> Seen {
    Seen {
        at_ns,
        way,
        interface: ROUTE,
        local: local(),
        remote: remote(),
        packet_bytes: 92,
        payload_bytes: 64,
        what: What::Datagram,
        mark: Mark::None,
    }
}

fn datagram(at_ns: u64, way: Way, number: u64) -> Seen {
    Seen { mark: Mark::Number(number), ..packet(at_ns, way) }
}

fn segment(at_ns: u64, way: Way, segment: Segment, length: u32) -> Seen {
    Seen { what: What::Segment(segment), payload_bytes: length, packet_bytes: length + 52, ..packet(at_ns, way) }
}

/// SYN, SYN-ACK, ACK with these first numbers, 20 µs there and back.
fn handshake(at: u64, ours: u32, theirs: u32) -> [Seen; 3] {
    let syn = Segment { number: ours, syn: true, ..Segment::default() };
    let syn_ack = Segment { number: theirs, acknowledges: ours.wrapping_add(1), syn: true, ack: true, ..syn };
    let ack =
        Segment { number: ours.wrapping_add(1), acknowledges: theirs.wrapping_add(1), ack: true, ..Segment::default() };
    [segment(at, Way::Out, syn, 0), segment(at + 20_000, Way::In, syn_ack, 0), segment(at + 25_000, Way::Out, ack, 0)]
}

fn data(at: u64, way: Way, number: u32, length: u32) -> Seen {
    segment(at, way, Segment { number, ack: true, ..Segment::default() }, length)
}

fn watched(setting: Setting, packets: &[Seen], counted: &Counted, dropped: u64) -> Wire {
    let mut observer = Observer::new(Setting { interface: ROUTE, mtu_bytes: Some(1_500), ..setting });
    for seen in packets {
        observer.take(seen);
    }
    let place = Place {
        interface: "eth0".into(),
        mtu_bytes: Some(1_500),
        others: vec![(OTHER, "eth1".into())],
        capture: CaptureFacts { packets: packets.len() as u64, dropped, ..CaptureFacts::default() },
    };
    judge(&observer.finish(), counted, place)
}

fn claims(claims: &[(Subject, u64)]) -> Counted {
    let claims = claims.iter().map(|&(subject, counted)| Claim { subject, counted: Ok(counted) }).collect();
    Counted { claims, ..Counted::default() }
}

fn verdicts(wire: &Wire) -> Vec<(Verdict, Option<u64>, Option<u64>)> {
    wire.checks.iter().map(|check| (check.verdict, check.counted, check.seen)).collect()
}

/// Exchanges of datagrams, one in 100 µs, each answered after 30 µs.
fn exchanges(count: u64) -> Vec<Seen> {
    let pair = |n: u64| [datagram(n * 100_000, Way::Out, n), datagram(n * 100_000 + 30_000, Way::In, n)];
    (0..count).flat_map(pair).collect()
}

#[test]
fn flows_whose_numbers_run_side_by_side_keep_their_times() {
    const FLOWS: u64 = 3;
    const WINDOW: u64 = 8;
    // Any distance between their numbers, as warm-ups of different lengths make it.
    for apart in 0..200 {
        let mut packets = Vec::new();
        for round in 0..20 {
            for (way, later) in [(Way::Out, 0), (Way::In, 30_000)] {
                for flow in 0..FLOWS {
                    let port = 40_000 + flow as u16;
                    let numbers = (round * WINDOW..(round + 1) * WINDOW).map(|n| 1_000 + n - flow * apart % 1_000);
                    packets.extend(numbers.map(|number| Seen {
                        local: ([10, 0, 0, 1], port).into(),
                        ..datagram(round * 100_000 + later, way, number)
                    }));
                }
            }
        }
        let all = 20 * FLOWS * WINDOW;
        let wire = watched(Setting::default(), &packets, &claims(&[(Subject::Requests, all)]), 0);
        assert_eq!(wire.times.map(|times| times.count), Some(all), "{apart} apart");
    }
}

#[test]
fn exchanges_that_all_crossed_are_verified() {
    let counted = claims(&[(Subject::Requests, 2_000), (Subject::Replies, 2_000)]);
    let counted =
        Counted { application: (Some(Nanos(38_000)), Some(Nanos(70_000))), kernel_p50: Some(Nanos(30_100)), ..counted };
    let wire = watched(Setting::default(), &exchanges(2_000), &counted, 0);
    assert_eq!(wire.verdict(), Verdict::Verified);
    let times = wire.times.unwrap();
    assert_eq!((times.count, times.min_ns, times.p50_ns, times.p99_ns), (2_000, 30_000, 30_000, Some(30_000)));
    assert_eq!((times.application_less_p50_ns, times.application_less_p99_ns), (Some(8_000), Some(40_000)));
    assert_eq!(times.kernel_less_p50_ns, Some(100));
}

#[test]
fn a_request_that_never_left_is_a_contradiction_with_both_numbers() {
    let mut packets = exchanges(10);
    packets.remove(6);
    let wire = watched(Setting::default(), &packets, &claims(&[(Subject::Requests, 10), (Subject::Replies, 10)]), 0);
    let found = [(Verdict::Contradicted, Some(10), Some(9)), (Verdict::Verified, Some(10), Some(10))];
    assert_eq!(verdicts(&wire), found);
    assert!(wire.checks[0].reason.as_ref().unwrap().contains("did not leave"), "{:?}", wire.checks[0]);
}

#[test]
fn a_contradiction_is_a_warning_and_what_is_not_established_is_none() {
    let claims = claims(&[(Subject::Requests, 12_000), (Subject::Replies, 10)]);
    let wire = watched(Setting::default(), &exchanges(10), &claims, 0);
    let warnings = contradictions(&wire);
    let [Warning::WireContradicts { subject, counted, seen, interface, reason: Some(reason) }] = &warnings[..] else {
        panic!("{warnings:?}")
    };
    assert_eq!((*subject, *counted, *seen, interface.as_str()), (Subject::Requests, 12_000, 10, "eth0"));
    assert!(reason.starts_with("the missing packets"), "{reason}");
    assert_eq!(contradictions(&watched(Setting::default(), &exchanges(10), &claims, 1)), []);
}

#[test]
fn what_the_capture_dropped_establishes_nothing() {
    let mut packets = exchanges(10);
    packets.remove(6);
    let wire = watched(Setting::default(), &packets, &claims(&[(Subject::Requests, 10), (Subject::Replies, 10)]), 1);
    assert_eq!(verdicts(&wire)[0].0, Verdict::NotEstablished);
    assert_eq!(wire.checks[0].reason.as_deref(), Some("the capture itself dropped 1 packets"));
    assert_eq!((verdicts(&wire)[1].0, wire.verdict()), (Verdict::Verified, Verdict::NotEstablished));
}

#[test]
fn a_reply_that_the_program_did_not_have_is_a_contradiction() {
    let wire = watched(Setting::default(), &exchanges(10), &claims(&[(Subject::Replies, 9)]), 0);
    assert_eq!(verdicts(&wire), [(Verdict::Contradicted, Some(9), Some(10))]);
}

#[test]
fn an_answer_by_another_interface_is_named() {
    let mut packets = exchanges(10);
    for reply in packets.iter_mut().filter(|seen| seen.way == Way::In) {
        reply.interface = OTHER;
    }
    let wire = watched(Setting::default(), &packets, &claims(&[(Subject::Requests, 10), (Subject::Replies, 10)]), 0);
    assert_eq!(verdicts(&wire)[1], (Verdict::Contradicted, Some(10), Some(0)));
    assert_eq!(wire.checks[1].reason.as_deref(), Some("10 packets passed eth1 instead"));
    assert_eq!((wire.received.elsewhere, wire.times), (10, None));
}

#[test]
fn the_warm_up_is_left_out_where_it_is_marked() {
    let mut packets = exchanges(10);
    for seen in &mut packets[..6] {
        seen.mark = Mark::Aside;
    }
    let wire = watched(Setting::default(), &packets, &claims(&[(Subject::Requests, 7), (Subject::Replies, 7)]), 0);
    assert_eq!((wire.verdict(), wire.times.unwrap().count), (Verdict::Verified, 7));
}

#[test]
fn what_segmentation_offload_merged_is_counted_by_its_parts() {
    let setting = Setting { segment_bytes: Some(64), ..Setting::default() };
    let merged = Seen { payload_bytes: 46 * 64, packet_bytes: 46 * 64 + 28, ..datagram(0, Way::Out, 0) };
    let wire = watched(setting, &[merged], &claims(&[(Subject::Requests, 46)]), 0);
    assert_eq!((wire.verdict(), wire.sent.merged, wire.sent.longest_bytes), (Verdict::Verified, 1, 2_972));
}

#[test]
fn a_connection_is_verified_by_its_handshake_and_its_octets() {
    let mut packets = handshake(0, 100, 900).to_vec();
    for n in 0..5_u32 {
        let at = 1_000_000 + u64::from(n) * 100_000;
        packets.push(data(at, Way::Out, 101 + 64 * n, 64));
        packets.push(data(at + 30_000, Way::In, 901 + 64 * n, 64));
    }
    let counted = claims(&[(Subject::Handshakes, 1), (Subject::OctetsSent, 320), (Subject::OctetsReceived, 320)]);
    let wire = watched(Setting { in_turn: true, ..Setting::default() }, &packets, &counted, 0);
    assert_eq!((wire.verdict(), wire.syns_repeated), (Verdict::Verified, Some(0)));
    assert_eq!(wire.times.map(|times| (times.count, times.p50_ns)), Some((5, 30_000)));
    let of_handshakes = Counted { of_handshakes: true, ..counted };
    let wire = watched(Setting { in_turn: true, ..Setting::default() }, &packets, &of_handshakes, 0);
    assert_eq!(wire.times.map(|times| (times.count, times.p50_ns)), Some((1, 20_000)));
}

#[test]
fn a_handshake_that_was_not_seen_is_missing() {
    let packets = [data(0, Way::Out, 101, 64), data(30_000, Way::In, 901, 64)];
    let counted = claims(&[(Subject::Handshakes, 1), (Subject::OctetsSent, 64)]);
    let wire = watched(Setting::default(), &packets, &counted, 0);
    let found = [(Verdict::Contradicted, Some(1), Some(0)), (Verdict::Verified, Some(64), Some(64))];
    assert_eq!(verdicts(&wire), found);
}

#[test]
fn a_handshake_without_its_last_word_is_not_made() {
    let wire = watched(Setting::default(), &handshake(0, 100, 900)[..2], &claims(&[(Subject::Handshakes, 1)]), 0);
    assert_eq!(verdicts(&wire), [(Verdict::Contradicted, Some(1), Some(0))]);
}

#[test]
fn octets_seen_twice_are_retransmissions_and_counted_once() {
    let mut packets = handshake(0, u32::MAX - 50, u32::MAX).to_vec();
    let first = u32::MAX - 49;
    packets.extend([
        data(1, Way::Out, first, 64),
        data(2, Way::Out, first, 64),
        data(3, Way::Out, first.wrapping_add(64), 64),
    ]);
    packets.extend([data(4, Way::In, 0, 64), data(5, Way::In, 128, 64), data(6, Way::In, 64, 64)]);
    let counted = claims(&[(Subject::OctetsSent, 128), (Subject::OctetsReceived, 192)]);
    let wire = watched(Setting::default(), &packets, &counted, 0);
    assert_eq!(wire.verdict(), Verdict::Verified);
    assert_eq!((wire.sent.repeated_segments, wire.sent.repeated_bytes, wire.sent.late_segments), (1, 64, 0));
    assert_eq!((wire.received.repeated_segments, wire.received.late_segments), (0, 1));
}

#[test]
fn connections_on_one_pair_of_ports_are_told_apart_and_a_syn_sent_again_is_none() {
    let mut packets = handshake(0, 100, 900).to_vec();
    packets.extend(handshake(1_000_000, 70_000, 5_000));
    let again = handshake(2_000_000, 9, 9);
    packets.extend([again[0], again[0], again[1], again[1], again[2], again[2]]);
    let counted = claims(&[(Subject::ConnectionsAsked, 3), (Subject::Handshakes, 3)]);
    let wire = watched(Setting::default(), &packets, &counted, 0);
    assert_eq!((wire.verdict(), wire.syns_repeated), (Verdict::Verified, Some(1)));
}

#[test]
fn a_reset_is_no_handshake() {
    let [syn, syn_ack, _] = handshake(0, 100, 900);
    let rst = Segment { acknowledges: 101, ack: true, rst: true, ..Segment::default() };
    let packets = [syn, Seen { what: What::Segment(rst), ..syn_ack }];
    let counted = claims(&[(Subject::ConnectionsAsked, 1), (Subject::Handshakes, 0)]);
    let wire = watched(Setting::default(), &packets, &counted, 0);
    assert_eq!(wire.verdict(), Verdict::Verified);
}

#[test]
fn a_control_connection_is_not_counted() {
    let control: SocketAddr = ([10, 0, 0, 1], 39_999).into();
    let mut packets = exchanges(3);
    packets.push(Seen { local: control, ..data(7, Way::Out, 1, 500) });
    let counted = claims(&[(Subject::Requests, 3), (Subject::OctetsSent, 0)]);
    for counted in
        [Counted { apart: vec![control], ..counted.clone() }, Counted { flows: Some(vec![local()]), ..counted }]
    {
        assert_eq!(watched(Setting::default(), &packets, &counted, 0).verdict(), Verdict::Verified);
    }
}

#[test]
fn others_who_do_the_like_make_it_uncertain() {
    let mut packets = exchanges(3);
    packets.push(Seen { local: ([10, 0, 0, 1], 3).into(), ..datagram(7, Way::Out, 0) });
    let counted = Counted { most_flows: Some(1), ..claims(&[(Subject::Requests, 3)]) };
    let wire = watched(Setting::default(), &packets, &counted, 0);
    assert_eq!(wire.verdict(), Verdict::NotEstablished);
}

#[test]
fn a_number_that_was_not_counted_is_not_judged() {
    let claim = Claim { subject: Subject::OctetsSent, counted: Err("of several sizes".into()) };
    let counted = Counted { claims: vec![claim], ..Counted::default() };
    let wire = watched(Setting::default(), &exchanges(1), &counted, 0);
    assert_eq!(verdicts(&wire), [(Verdict::NotEstablished, None, Some(0))]);
    assert_eq!(wire.checks[0].reason.as_deref(), Some("of several sizes"));
}

#[test]
fn times_without_end_take_no_memory_without_end() {
    let counted = claims(&[(Subject::Requests, 1_100_000)]);
    let wire = watched(Setting::default(), &exchanges(1_100_000), &counted, 0);
    let times = wire.times.unwrap();
    assert!(times.count > 200_000 && times.count <= 1 << 19, "{}", times.count);
    assert_eq!((wire.verdict(), times.p50_ns), (Verdict::Verified, 30_000));
}

#[test]
fn flows_without_end_are_given_up_and_that_is_said() {
    let mut packets = Vec::new();
    for n in 0..70_000_u32 {
        let [a, b, c, d] = n.to_be_bytes();
        packets.push(Seen { local: ([10 + a, b, c, d], 1).into(), ..packet(0, Way::Out) });
    }
    let wire = watched(Setting::default(), &packets, &claims(&[(Subject::Requests, 70_000)]), 0);
    assert_eq!(wire.verdict(), Verdict::NotEstablished);
}
