//! Each limiter planted in observations, alone and beside those it hides.

use test_case::test_case;

use super::moved::leg::Leg;
use super::reason::Untested;
use super::*;
use crate::interval::arrivals::Datagrams;

/// A stream of a gigabyte a second that nothing holds back.
fn easy() -> Evidence {
    let end = EndSeen { busiest_thread: Some(0.4), throttled: Some(0.0), softirq: Some(0.2), ..EndSeen::default() };
    let tcp = TcpSeen {
        window_limited: Some(0.0),
        buffer_limited: Some(0.0),
        retransmitted: Some(0.0),
        needless: None,
        marked: Some(0.0),
        unscaled: false,
        cumulative: false,
        segments: Some((Bytes(1_448), Bytes(1_500))),
        window: Some(Bytes(3_000_000)),
        receive_buffer: Some(Bytes(6_000_000)),
        rtt: Some(Nanos::millis(11)),
        send_buffer: Some(Bytes(60_000_000)),
        rtts: 10,
        min_rtt: Some(Nanos::millis(10)),
    };
    Evidence {
        elapsed: Some(Nanos::secs(10)),
        asked_bytes_per_s: None,
        not_sent: 0.0,
        shaper: None,
        drops: None,
        silence: None,
        datagrams_lost: None,
        moved: Err(Untried::NotAsked),
        sent_bytes_per_s: Some(1e9),
        received_bytes_per_s: Some(1e9),
        later_bytes_per_s: None,
        streams: 1,
        sender: end,
        receiver: end,
        tcp: Some(tcp),
    }
}

/// A gigabyte a second in round trips of 10 ms is 10 MB a round trip, about the size of the window.
fn small_window() -> Evidence {
    tcp(|tcp| {
        (tcp.window_limited, tcp.window, tcp.receive_buffer) =
            (Some(0.9), Some(Bytes(11_000_000)), Some(Bytes(20_000_000)));
    })
}

/// The same with another share of the time, and another receive buffer.
fn window(share: f64, buffer: u64) -> Evidence {
    let mut small = small_window();
    let tcp = small.tcp.as_mut().unwrap();
    (tcp.window_limited, tcp.receive_buffer) = (Some(share), Some(Bytes(buffer)));
    small
}

fn tcp(change: impl Fn(&mut TcpSeen)) -> Evidence {
    let mut evidence = easy();
    change(evidence.tcp.as_mut().unwrap());
    evidence
}

fn end(receiver: bool, change: impl Fn(&mut EndSeen)) -> Evidence {
    let mut evidence = easy();
    change(if receiver { &mut evidence.receiver } else { &mut evidence.sender });
    evidence
}

fn leg(rate: f64, lost: f64, queue: Nanos) -> Leg {
    let expected = 10_000;
    let missing = (lost * expected as f64) as i64;
    let received = expected - missing.cast_unsigned();
    let waited_ns = Some(queue.0 as f64);
    let datagrams = Datagrams { expected, received, lost: missing, waited_ns, ..Datagrams::default() };
    Leg {
        asked_bytes_per_s: rate,
        sent_bytes_per_s: rate,
        datagrams,
        dropped: 0.0,
        standing: Some(queue),
        after_loss: Some(queue).filter(|_| lost > 0.0),
        through_bytes_per_s: Some(rate * (1.0 - lost)).filter(|_| lost > 0.0),
    }
}

/// Legs of these shares lost, each at twice the rate of the one before; the queue stands in the last.
fn legs(lost: &[f64], queue: Nanos) -> Moved {
    let each = (0..).zip(lost).map(|(place, lost)| leg(0.5e9 * f64::from(1 << place), *lost, Nanos::micros(30)));
    let mut moved = Moved { legs: each.collect() };
    let last = moved.legs.last_mut().unwrap();
    (last.standing, last.after_loss) = (Some(queue), last.after_loss.and(Some(queue)));
    if queue >= Nanos::millis(1) && last.through_bytes_per_s.is_none() {
        last.through_bytes_per_s = Some(last.sent_bytes_per_s / 1.2);
    }
    moved
}

/// The same, and then half as many again as in the last, with as much getting through.
fn confirmed(lost: &[f64], queue: Nanos) -> Moved {
    let mut moved = legs(lost, queue);
    let last = *moved.legs.last().unwrap();
    let loss = lost.last().unwrap();
    moved.legs.push(leg(last.sent_bytes_per_s * 1.5, 1.0 - (1.0 - loss) / 1.5, queue));
    moved
}

/// 3.2 MB/s in round trips of 20 ms, through a window that nobody scales and a buffer that has grown all the same.
fn unscaled(share: f64, rate: f64) -> Evidence {
    let evidence = tcp(|tcp| {
        (tcp.unscaled, tcp.window_limited, tcp.window) = (true, Some(share), Some(Bytes(65_535)));
        (tcp.receive_buffer, tcp.min_rtt) = (Some(Bytes(378_099)), Some(Nanos::millis(20)));
    });
    Evidence { received_bytes_per_s: Some(rate), ..evidence }
}

/// A stream whose receiver got nothing for this share of the time, and whose send buffer was full for more.
fn silent(share: f64) -> Evidence {
    let total_ns = Nanos((share * 1e10) as u64);
    let (longest_from_ns, longest_to_ns) = (Nanos::secs(1), Nanos(1_000_000_000 + total_ns.0));
    let bytes = Bytes(0);
    let silence = Silence { times: 1, total_ns, share, bytes, longest_from_ns, longest_to_ns, to_the_end: false };
    Evidence { silence: Some(silence), ..tcp(|tcp| tcp.buffer_limited = Some(0.9)) }
}

/// The same, of whose bytes so many were sent again, beside datagrams that lost as many at any rate.
fn silent_and_lossy(again: f64) -> Evidence {
    let silence = silent(0.25).silence;
    let moved = Ok(legs(&[again, again + 0.002], Nanos::micros(200)));
    Evidence { silence, moved, ..tcp(|tcp| tcp.retransmitted = Some(again)) }
}

/// A stream that takes this share of what a shaper of its own host lets through.
fn behind_a_shaper(share: f64) -> Evidence {
    let shaper = Shaper { qdisc: "tbf".to_owned(), bytes_per_s: 1_000_000_000 };
    Evidence { shaper: Some(ShaperSeen { interface: "eth0".to_owned(), shaper, share }), ..easy() }
}

/// The same beside a thread that runs so much of its time, at an end that its control group stops so much of it.
fn shaped_and_busy(share: f64, ran: f64, throttled: f64) -> Evidence {
    let receiver = EndSeen { busiest_thread: Some(ran), throttled: Some(throttled), ..EndSeen::default() };
    Evidence { receiver, ..behind_a_shaper(share) }
}

/// A stream that lost 1,000 segments, beside so many packets that the sending host's interface dropped.
fn dropped_at_home(packets: u64) -> Evidence {
    let drops = DropsSeen { interface: "tun0".to_owned(), packets, lost: 1_000 };
    Evidence { drops: Some(drops), ..lossy(legs(&[0.019, 0.021], Nanos::micros(200))) }
}

/// A stream of which 2 % was sent again, of that such a share needlessly, beside datagrams that lost nothing.
fn overtaken(needless: f64) -> Evidence {
    let moved = Ok(legs(&[0.0, 0.0, 0.0, 0.0], Nanos::micros(90)));
    Evidence { moved, ..tcp(|tcp| (tcp.retransmitted, tcp.needless) = (Some(0.02), Some(needless))) }
}

fn lossy(moved: Moved) -> Evidence {
    Evidence { moved: Ok(moved), ..tcp(|tcp| tcp.retransmitted = Some(0.02)) }
}

/// A third of its rate.
fn slower(evidence: Evidence) -> Evidence {
    Evidence { received_bytes_per_s: Some(0.3e9), ..evidence }
}

/// Four times what gets through to datagrams.
fn faster(evidence: Evidence) -> Evidence {
    Evidence { received_bytes_per_s: Some(4.0e9), ..evidence }
}

/// Datagrams of which so large a share was refused by their own host's queue, at 93 % of the rate asked for, with a thread that paces them.
fn refused(not_sent: f64) -> Evidence {
    let asked_bytes_per_s = Some(1e9 / 0.93);
    Evidence { tcp: None, asked_bytes_per_s, not_sent, ..end(false, |end| end.busiest_thread = Some(0.95)) }
}

/// Datagrams of which the receiver's kernel dropped such a share, while its thread ran for such a part of the time.
fn dropping(ran: f64, dropped: f64) -> Evidence {
    let dropping = end(true, |end| (end.busiest_thread, end.dropped) = (Some(ran), Some(dropped)));
    Evidence { tcp: None, datagrams_lost: Some(dropped), ..dropping }
}

#[test_case(&easy(), Limiter::NotDetermined; "nothing")]
#[test_case(&Evidence { asked_bytes_per_s: Some(1.01e9), ..easy() }, Limiter::Rate; "the rate")]
#[test_case(&Evidence { asked_bytes_per_s: Some(2e9), ..easy() }, Limiter::NotDetermined; "a rate that was not reached")]
#[test_case(&end(false, |end| end.busiest_thread = Some(0.97)), Limiter::SenderCpu; "the sender's thread")]
#[test_case(&end(true, |end| end.busiest_thread = Some(0.97)), Limiter::ReceiverCpu; "the receiver's thread")]
#[test_case(&end(true, |end| end.softirq = Some(0.95)), Limiter::ReceiverCpu; "soft interrupts")]
#[test_case(&end(false, |end| (end.busiest_thread, end.throttled) = (Some(0.2), Some(0.8))), Limiter::SenderCpu; "a quota")]
#[test_case(&end(true, |end| (end.busiest_thread, end.throttled) = (Some(0.2), Some(0.8))), Limiter::ReceiverCpu; "a quota there")]
#[test_case(&small_window(), Limiter::ReceiveWindow; "the window")]
#[test_case(&window(0.3, 20_000_000), Limiter::ReceiveWindow; "the window of a sender that paces")]
#[test_case(&window(0.3, 200_000_000), Limiter::ReceiveWindow; "a window that a box keeps small beside a great buffer")]
#[test_case(&window(0.05, 20_000_000), Limiter::NotDetermined; "a window that is full and hardly waited for")]
#[test_case(&window(0.9, 200_000_000), Limiter::NotDetermined; "a window that is what a slow reader leaves of a great buffer")]
#[test_case(&tcp(|tcp| (tcp.window_limited, tcp.min_rtt) = (Some(0.9), Some(Nanos::micros(30)))), Limiter::NotDetermined; "a window that is shut and not small")]
#[test_case(&unscaled(0.31, 3.17e6), Limiter::ReceiveWindow; "a window that nobody scales")]
#[test_case(&unscaled(0.0, 3.17e6), Limiter::ReceiveWindow; "a window that nobody scales and no sender waits for, for it paces itself")]
#[test_case(&unscaled(0.0, 1e6), Limiter::NotDetermined; "a window that nobody scales and nobody fills")]
#[test_case(&silent(0.25), Limiter::NotDetermined; "a send buffer that was full while nothing arrived")]
#[test_case(&silent(0.05), Limiter::SendBuffer; "a send buffer, and a short silence beside")]
#[test_case(&silent_and_lossy(0.25), Limiter::Loss; "losses that make silences")]
#[test_case(&silent_and_lossy(0.02), Limiter::NotDetermined; "a silence after which a window was sent again")]
#[test_case(&behind_a_shaper(0.97), Limiter::SenderQueue; "a shaper of its own host")]
#[test_case(&shaped_and_busy(0.97, 0.97, 0.0), Limiter::SenderQueue; "a shaper that keeps a thread busy")]
#[test_case(&shaped_and_busy(0.91, 0.3, 0.5), Limiter::ReceiverCpu; "a quota near the rate of a shaper")]
#[test_case(&shaped_and_busy(0.5, 0.97, 0.0), Limiter::ReceiverCpu; "a thread that is busy beside a shaper that lets more through")]
#[test_case(&dropped_at_home(1_000), Limiter::SenderQueue; "an interface that drops itself what is lost")]
#[test_case(&dropped_at_home(300), Limiter::Loss; "one that drops the smaller part of it")]
#[test_case(&dropped_at_home(9_000), Limiter::Loss; "one that drops what others send")]
#[test_case(&Evidence { tcp: Some(TcpSeen { retransmitted: Some(0.0001), ..TcpSeen::default() }), ..dropped_at_home(1_000) }, Limiter::NotDetermined; "one that drops too little to matter")]
#[test_case(&behind_a_shaper(0.7), Limiter::NotDetermined; "a shaper that lets more through")]
#[test_case(&behind_a_shaper(1.4), Limiter::NotDetermined; "a shaper of other traffic, which the stream exceeds")]
#[test_case(&Evidence { tcp: None, not_sent: 0.99, ..end(false, |end| end.busiest_thread = Some(0.97)) }, Limiter::SenderQueue; "messages that are not sent keep a thread busy")]
#[test_case(&Evidence { tcp: None, not_sent: 0.01, ..end(false, |end| end.busiest_thread = Some(0.97)) }, Limiter::SenderCpu; "few that are not sent explain nothing")]
#[test_case(&refused(0.06), Limiter::SenderQueue; "messages that are not sent account for the missing rate")]
#[test_case(&refused(0.02), Limiter::SenderCpu; "messages that are not sent account for little of it")]
#[test_case(&dropping(0.10, 0.03), Limiter::NotDetermined; "a receiver that is stopped now and then")]
#[test_case(&dropping(0.95, 0.03), Limiter::ReceiverCpu; "a receiver that is too slow")]
#[test_case(&tcp(|tcp| tcp.buffer_limited = Some(0.9)), Limiter::SendBuffer; "the send buffer")]
#[test_case(&tcp(|tcp| (tcp.buffer_limited, tcp.send_buffer) = (Some(0.3), Some(Bytes(13_000_000)))), Limiter::SendBuffer; "a small send buffer")]
#[test_case(&tcp(|tcp| (tcp.buffer_limited, tcp.retransmitted) = (Some(0.9), Some(0.08))), Limiter::NotDetermined; "a send buffer full of what waits to be sent again")]
#[test_case(&Evidence { tcp: None, asked_bytes_per_s: Some(1e9), received_bytes_per_s: None, ..easy() }, Limiter::NotDetermined; "a rate of datagrams that nobody saw arrive")]
#[test_case(&Evidence { moved: Ok(legs(&[0.037, 0.037], Nanos::micros(200))), ..easy() }, Limiter::NotDetermined; "losses of datagrams beside a stream that lost nothing")]
#[test_case(&Evidence { moved: Ok(legs(&[0.019, 0.021], Nanos::micros(200))), ..tcp(|tcp| (tcp.retransmitted, tcp.rtt) = (Some(0.02), Some(Nanos::millis(60)))) }, Limiter::NotDetermined; "losses of datagrams beside a stream that fills a queue of its own")]
#[test_case(&faster(lossy(confirmed(&[0.0, 0.23], Nanos::micros(200)))), Limiter::NotDetermined; "a policer of datagrams far below the stream's rate")]
#[test_case(&faster(lossy(confirmed(&[0.0, 0.23], Nanos::millis(40)))), Limiter::NotDetermined; "a queue of datagrams far below the stream's rate")]
#[test_case(&tcp(|tcp| tcp.buffer_limited = Some(0.49)), Limiter::NotDetermined; "a send buffer that is not small and waited for less than half of the time")]
#[test_case(&tcp(|tcp| tcp.rtt = Some(Nanos::millis(80))), Limiter::NotDetermined; "round trips that nobody compared with those without a stream")]
#[test_case(&tcp(|tcp| tcp.retransmitted = Some(0.02)), Limiter::NotDetermined; "losses that nobody looked into")]
#[test_case(&lossy(confirmed(&[0.0, 0.23], Nanos::micros(200))), Limiter::Policer; "losses above a rate, and no delay")]
#[test_case(&lossy(confirmed(&[0.0, 0.0, 0.4], Nanos::micros(200))), Limiter::Policer; "losses far above the stream's rate")]
#[test_case(&lossy(legs(&[0.0, 0.23], Nanos::micros(200))), Limiter::NotDetermined; "losses at one rate alone")]
#[test_case(&lossy(legs(&[0.0, 0.23, 0.24], Nanos::micros(200))), Limiter::NotDetermined; "losses that grow no further")]
#[test_case(&lossy(legs(&[0.0, 0.23], Nanos::millis(40))), Limiter::Congestion; "losses above a rate, and a queue")]
#[test_case(&lossy(legs(&[0.0, 0.0], Nanos::millis(40))), Limiter::Congestion; "a queue that loses nothing yet")]
#[test_case(&slower(lossy(legs(&[0.0, 0.0], Nanos::millis(40)))), Limiter::NotDetermined; "a queue that lets far more through than the stream had")]
#[test_case(&slower(lossy(confirmed(&[0.0, 0.23], Nanos::millis(40)))), Limiter::NotDetermined; "a full one")]
#[test_case(&lossy(confirmed(&[0.0, 0.23], Nanos::micros(700))), Limiter::NotDetermined; "a queue too short to be told from none")]
#[test_case(&lossy(legs(&[0.019, 0.021], Nanos::micros(200))), Limiter::Loss; "losses at any rate")]
#[test_case(&lossy(legs(&[0.0, 0.0, 0.025], Nanos::micros(200))), Limiter::NotDetermined; "losses of the fastest alone")]
#[test_case(&lossy(legs(&[0.004, 0.004], Nanos::micros(200))), Limiter::NotDetermined; "far fewer losses than the stream had")]
#[test_case(&lossy(legs(&[0.001, 0.0005], Nanos::micros(200))), Limiter::NotDetermined; "too few losses to tell")]
#[test_case(&lossy(legs(&[0.0, 0.0, 0.0, 0.0], Nanos::micros(90))), Limiter::NotDetermined; "no datagram met what the stream did")]
fn what_was_planted_is_named(evidence: &Evidence, limiter: Limiter) {
    let limit = evidence.limit();
    assert_eq!(limit.limiter, limiter, "{:?}", limit.evidence);
    assert!(!limit.evidence.is_empty(), "a finding rests on something");
}

#[test]
fn a_thread_that_waits_for_a_processor_could_do_no_more() {
    let limit = end(false, |end| (end.busiest_thread, end.waiting_thread) = (Some(0.5), Some(0.45))).limit();
    assert_eq!(limit.limiter, Limiter::SenderCpu);
    assert_eq!(limit.evidence, [Reason::ThreadRan { share: 0.5, waited: Some(0.45) }]);
}

#[test_case(0.20, 0.76, None, true; "waits for a quota, or for others")]
#[test_case(0.20, 0.76, Some(0.0), false; "a quota that is read")]
#[test_case(0.50, 0.45, None, false; "as much as it ran")]
fn a_limit_by_a_processor_says_where_a_quota_may_be_it(ran: f64, waited: f64, throttled: Option<f64>, is_told: bool) {
    let limit = end(true, |end| {
        (end.busiest_thread, end.waiting_thread, end.throttled) = (Some(ran), Some(waited), throttled);
    })
    .limit();
    assert_eq!(limit.limiter, Limiter::ReceiverCpu);
    assert_eq!(limit.evidence.contains(&Reason::QuotaUnread { end: End::Receiver }), is_told, "{limit:?}");
}

#[test_case(0.03, 0.03, Some(0.03); "all that was lost")]
#[test_case(0.002, 0.2, None; "little of what the path lost")]
fn drops_that_no_processor_explains_are_evidence(dropped: f64, lost: f64, told: Option<f64>) {
    let evidence = Evidence { datagrams_lost: Some(lost), ..dropping(0.1, dropped) };
    let first = evidence.limit().evidence.into_iter().next();
    assert_eq!(first, told.map(|share| Reason::Dropped { share }).or(Some(Reason::DatagramsLost { share: lost })));
    assert_eq!(evidence.wants_moving(), told.is_none(), "no path is to be looked at for it");
}

#[test]
fn a_stream_of_moments_shows_nothing() {
    let mut evidence = end(false, |end| end.busiest_thread = Some(0.97));
    evidence.elapsed = Some(Nanos::millis(16));
    let limit = evidence.limit();
    assert_eq!(limit.limiter, Limiter::NotDetermined);
    assert_eq!(limit.evidence, [Reason::ShortStream { elapsed_ns: Nanos::millis(16) }]);
}

#[test]
fn a_sender_that_keeps_its_rate_is_not_what_limits() {
    let mut paced = lossy(legs(&[0.0, 0.23], Nanos::millis(40)));
    paced.sender.busiest_thread = Some(1.0);
    assert_eq!(paced.limit().limiter, Limiter::SenderCpu);
    (paced.asked_bytes_per_s, paced.received_bytes_per_s) = (Some(1e9), Some(0.7e9));
    assert_eq!(paced.limit().limiter, Limiter::Congestion);
    paced.asked_bytes_per_s = Some(2e9);
    assert_eq!(paced.limit().limiter, Limiter::SenderCpu, "it does not keep it");
}

#[test]
fn a_slow_receiver_is_no_small_window() {
    let mut both = tcp(|tcp| (tcp.window_limited, tcp.min_rtt) = (Some(0.95), Some(Nanos::micros(30))));
    both.receiver.throttled = Some(0.7);
    assert_eq!(both.limit().limiter, Limiter::ReceiverCpu);
    (both.receiver.throttled, both.receiver.waiting_thread) = (None, Some(0.4));
    assert_eq!(both.limit().limiter, Limiter::ReceiverCpu);
}

#[test]
fn a_tiny_buffer_of_the_receiver_is_no_slow_processor() {
    let mut tiny = tcp(|tcp| {
        (tcp.window_limited, tcp.window, tcp.receive_buffer) = (Some(0.9), Some(Bytes(4_096)), Some(Bytes(8_192)));
        tcp.min_rtt = Some(Nanos::micros(20));
    });
    tiny.receiver.busiest_thread = Some(0.3);
    let limit = tiny.limit();
    assert_eq!(limit.limiter, Limiter::ReceiveWindow);
    assert_eq!(limit.evidence, [Reason::WaitedForWindow { share: 0.9 }, Reason::ReceiveBuffer { bytes: Bytes(8_192) }]);
    (tiny.receiver.busiest_thread, tiny.receiver.waiting_thread) = (Some(0.5), Some(0.45));
    let limit = tiny.limit();
    assert_eq!(limit.limiter, Limiter::NotDetermined, "either may be it");
    assert!(limit.evidence.contains(&Reason::LongestWait { end: End::Receiver, share: 0.45 }), "{limit:?}");
    tiny.receiver.throttled = Some(0.5);
    assert_eq!(tiny.limit().limiter, Limiter::ReceiverCpu, "a quota is one");
    tiny.receiver.throttled = Some(0.0);
    tiny.tcp.as_mut().unwrap().receive_buffer = Some(Bytes(131_072));
    assert_eq!(tiny.limit().limiter, Limiter::ReceiverCpu, "what the kernel begins with is not tiny");
}

#[test]
fn a_receiver_that_sleeps_keeps_no_window_shut() {
    let mut behind_a_proxy = tcp(|tcp| (tcp.window_limited, tcp.min_rtt) = (Some(0.98), Some(Nanos::micros(6))));
    (behind_a_proxy.receiver.busiest_thread, behind_a_proxy.receiver.waiting_thread) = (Some(0.07), Some(0.33));
    let limit = behind_a_proxy.limit();
    assert_eq!(limit.limiter, Limiter::NotDetermined, "{limit:?}");
    let idle = |reason: &Reason| matches!(reason, Reason::IdleReader { share } if (share - 0.6).abs() < 1e-9);
    assert!(limit.evidence.iter().any(idle), "{limit:?}");
}

#[test]
fn where_tcp_loses_and_no_datagram_does_that_is_evidence() {
    let has = |evidence: &Evidence| evidence.limit().evidence.contains(&Reason::OnlyStreamLoses);
    assert!(has(&lossy(legs(&[0.0, 0.0, 0.0, 0.0], Nanos::micros(90)))));
    assert!(!has(&lossy(legs(&[0.019, 0.021], Nanos::micros(200)))), "datagrams lose too");
    assert!(!has(&lossy(legs(&[0.0], Nanos::micros(90)))), "none was faster");
}

#[test_case(0.98, true, false; "nothing was lost")]
#[test_case(0.7, true, false; "the smaller part was")]
#[test_case(0.1, false, true; "most was")]
fn what_had_arrived_and_was_sent_again_is_no_loss(needless: f64, overtaken_told: bool, alone_told: bool) {
    let Limit { limiter, evidence, .. } = overtaken(needless).limit();
    assert_eq!(limiter, Limiter::NotDetermined);
    assert_eq!(evidence.contains(&Reason::Needless { share: needless }), overtaken_told);
    assert_eq!(evidence.contains(&Reason::OnlyStreamLoses), alone_told);
    assert!(evidence.contains(&Reason::Retransmitted { share: 0.02 }), "the share that TCP counts: {evidence:?}");
    assert!(!evidence.contains(&Reason::FewRetransmitted { share: 0.02 }));
}

#[test]
fn of_two_busy_ends_the_one_that_is_waited_for_is_named() {
    let mut both = easy();
    (both.sender.busiest_thread, both.receiver.busiest_thread) = (Some(0.99), Some(0.95));
    assert_eq!(both.limit().limiter, Limiter::SenderCpu);
    both.tcp.as_mut().unwrap().window_limited = Some(0.4);
    assert_eq!(both.limit().limiter, Limiter::ReceiverCpu);
    // One that spins while the other is kept from running is not the cause.
    both.sender.throttled = Some(0.5);
    assert_eq!(both.limit().limiter, Limiter::SenderCpu);
}

#[test]
fn only_what_is_not_explained_is_worth_moving_the_rate() {
    assert!(tcp(|tcp| tcp.retransmitted = Some(0.02)).wants_moving());
    assert!(tcp(|tcp| tcp.rtt = Some(Nanos::millis(80))).wants_moving());
    // Both ends have time to spare, so that it may be a queue which the stream itself does not see.
    assert!(easy().wants_moving());
    assert!(!end(true, |end| end.busiest_thread = Some(0.8)).wants_moving());
    assert!(!end(true, |end| end.busiest_thread = None).wants_moving());
    assert!(!small_window().wants_moving());
    let mut busy = tcp(|tcp| tcp.retransmitted = Some(0.02));
    busy.sender.busiest_thread = Some(0.99);
    assert!(!busy.wants_moving());
}

#[test]
fn legs_that_tell_nothing_accuse_nobody() {
    let lost = || confirmed(&[0.0, 0.3], Nanos::micros(200));
    assert_eq!(lossy(lost()).limit().limiter, Limiter::Policer);
    let mut moved = lost();
    moved.legs[0].sent_bytes_per_s *= 0.4;
    assert_eq!(lossy(moved).limit().limiter, Limiter::NotDetermined, "the slower one did not leave as it should");
    let mut moved = lost();
    moved.legs.pop();
    moved.legs[1].sent_bytes_per_s = 0.55e9;
    assert_eq!(lossy(moved).limit().limiter, Limiter::NotDetermined, "the faster one was none");
    let mut moved = legs(&[0.0, 0.3], Nanos::millis(40));
    moved.legs[1].dropped = 0.3;
    moved.legs[1].after_loss = Some(Nanos::micros(200));
    assert_eq!(lossy(moved).limit().limiter, Limiter::NotDetermined, "it was lost at the receiver's socket");
    let mut moved = lost();
    moved.legs[1].after_loss = Some(Nanos::micros(700));
    assert_eq!(lossy(moved).limit().limiter, Limiter::NotDetermined, "a queue, or a host that is late");
    let mut moved = lost();
    moved.legs[1..].iter_mut().for_each(|leg| leg.after_loss = Some(Nanos::millis(4)));
    assert_eq!(lossy(moved).limit().limiter, Limiter::Congestion, "a queue that was full now and then");
    let mut moved = lost();
    moved.legs[1].standing = None;
    assert_eq!(lossy(moved).limit().limiter, Limiter::NotDetermined, "nobody knows whether it waited");
}

/// As of two gigabits a second through a shaper: neither end does much, and each round trip waits in its queue.
fn shaped(change: impl Fn(&mut Evidence)) -> Evidence {
    let mut evidence = tcp(|tcp| {
        (tcp.rtt, tcp.min_rtt, tcp.rtts) = (Some(Nanos::micros(840)), Some(Nanos::micros(70)), 3);
    });
    (evidence.sender.busiest_thread, evidence.receiver.busiest_thread) = (Some(0.04), Some(0.09));
    evidence.moved = Ok(legs(&[0.0, 0.0], Nanos::micros(30)));
    change(&mut evidence);
    evidence
}

/// Sets the mean wait of the slowest leg, microseconds.
fn waiting(seen: &mut Evidence, micros: u64) {
    seen.moved.as_mut().unwrap().legs[0].datagrams.waited_ns = Some(Nanos::micros(micros).0 as f64);
}

#[test_case(|_| {}, Limiter::Congestion; "as it is")]
#[test_case(|seen| seen.moved = Ok(legs(&[0.0, 0.0, 0.0], Nanos::micros(30))), Limiter::NotDetermined; "faster datagrams got through")]
#[test_case(|seen| waiting(seen, 400), Limiter::NotDetermined; "slower datagrams waited as long, as where the delay is uneven")]
#[test_case(|seen| seen.moved = Err(Untried::Refused), Limiter::NotDetermined; "nothing to compare with")]
#[test_case(|seen| seen.receiver.throttled = None, Limiter::NotDetermined; "a quota of the receiver that cannot be read")]
#[test_case(|seen| seen.sender.throttled = None, Limiter::NotDetermined; "a quota of the sender that cannot be read")]
#[test_case(|seen| seen.receiver.busiest_thread = Some(0.3), Limiter::NotDetermined; "a reader that may be late")]
#[test_case(|seen| seen.sender.waiting_thread = Some(0.3), Limiter::NotDetermined; "a sender that waits for a processor")]
#[test_case(|seen| seen.receiver.softirq = Some(0.6), Limiter::NotDetermined; "a host busy with soft interrupts")]
#[test_case(|seen| seen.sender.busiest_thread = None, Limiter::NotDetermined; "an end of which nothing is known")]
#[test_case(|seen| seen.tcp.as_mut().unwrap().rtts = 2, Limiter::NotDetermined; "hardly looked at")]
#[test_case(|seen| seen.tcp.as_mut().unwrap().rtt = Some(Nanos::micros(340)), Limiter::NotDetermined; "no longer than hosts make them")]
#[test_case(|seen| seen.tcp.as_mut().unwrap().retransmitted = Some(0.02), Limiter::NotDetermined; "losses, which a policer makes too")]
#[test_case(|seen| seen.tcp.as_mut().unwrap().buffer_limited = Some(0.3), Limiter::NotDetermined; "a buffer that was waited for")]
fn a_short_queue_is_one_where_both_ends_are_idle(change: impl Fn(&mut Evidence), limiter: Limiter) {
    let limit = shaped(change).limit();
    assert_eq!(limit.limiter, limiter);
    let is_idle = |reason: &Reason| matches!(reason, Reason::RoundTrips { idle: true, .. });
    assert_eq!(limit.evidence.iter().any(is_idle), limiter == Limiter::Congestion);
}

#[test]
fn a_queue_at_our_own_interface_is_one() {
    // Nothing is lost: data that does not fit waits in the socket.
    let mut moved = legs(&[0.0, 0.0], Nanos::millis(17));
    moved.legs[1].sent_bytes_per_s *= 0.7;
    assert_eq!(Evidence { moved: Ok(moved), ..easy() }.limit().limiter, Limiter::Congestion);
}

#[test]
fn a_round_trip_that_was_looked_at_once_is_no_queue() {
    let once = tcp(|tcp| (tcp.rtt, tcp.rtts) = (Some(Nanos::millis(80)), 1));
    assert_eq!(once.limit().limiter, Limiter::NotDetermined);
    assert!(once.wants_moving(), "but it may be one");
    // Where datagrams met none, the stream saw another effect.
    let moved = Ok(legs(&[0.0, 0.0], Nanos::micros(90)));
    let met_none = Evidence { moved, ..tcp(|tcp| tcp.rtt = Some(Nanos::millis(80))) };
    assert_eq!(met_none.limit().limiter, Limiter::NotDetermined);
}

#[test]
fn round_trips_that_grow_while_threads_wait_are_no_queue() {
    let mut crowded = tcp(|tcp| tcp.rtt = Some(Nanos::millis(80)));
    crowded.receiver.waiting_thread = Some(0.3);
    assert_eq!(crowded.limit().limiter, Limiter::NotDetermined);
}

#[test]
fn a_sender_that_is_busy_with_datagrams_that_are_lost_is_no_limit() {
    let mut flood = end(false, |end| end.busiest_thread = Some(0.99));
    (flood.tcp, flood.datagrams_lost, flood.received_bytes_per_s) = (None, Some(0.93), Some(0.07e9));
    assert_eq!(flood.limit().limiter, Limiter::NotDetermined);
    assert!(flood.wants_moving(), "slower datagrams tell");
    // As many as the receiver's kernel dropped were not lost on the way, and few that are lost leave the sender's rate as it is.
    flood.receiver.dropped = Some(0.92);
    assert_eq!(flood.limit().limiter, Limiter::NotDetermined);
    flood.receiver.busiest_thread = Some(0.95);
    assert_eq!(flood.limit().limiter, Limiter::ReceiverCpu);
    (flood.receiver, flood.datagrams_lost) = (easy().receiver, Some(0.02));
    assert_eq!(flood.limit().limiter, Limiter::SenderCpu);
}

#[test]
fn threads_that_spin_show_nothing_by_their_time() {
    let spinning = end(false, |end| (end.spins, end.busiest_thread, end.waiting_thread) = (true, None, None));
    let limit = spinning.limit();
    assert_eq!(limit.limiter, Limiter::NotDetermined);
    assert!(limit.evidence.contains(&Reason::Spins { end: End::Sender }), "{limit:?}");
    assert!(spinning.wants_moving(), "the path may be it");
    // What a kernel does for it still shows.
    let soft = end(true, |end| (end.spins, end.busiest_thread, end.softirq) = (true, None, Some(0.95)));
    assert_eq!(soft.limit().limiter, Limiter::ReceiverCpu);
}

#[test]
fn datagrams_that_nobody_took_are_the_receivers() {
    let mut flood = Evidence { tcp: None, datagrams_lost: Some(0.3), ..easy() };
    assert!(flood.wants_moving());
    (flood.receiver.dropped, flood.receiver.busiest_thread) = (Some(0.3), Some(0.95));
    assert_eq!(flood.limit().limiter, Limiter::ReceiverCpu);
    // The rate left the sender, but did not arrive.
    let lost = Evidence { asked_bytes_per_s: Some(1e9), received_bytes_per_s: Some(0.7e9), ..flood };
    assert_eq!(lost.limit().limiter, Limiter::ReceiverCpu);
}

/// Datagrams at 0.5, 1.5 and 4 times the rate of all connections, of which a quarter of that rate gets through.
fn policed_by_connection(connections: u32, later: Option<f64>) -> Evidence {
    let legs = [0.5e9, 1.5e9].map(|rate| leg(rate, 1.0 - 0.25e9 / rate, Nanos::micros(30)));
    Evidence { streams: connections, later_bytes_per_s: later, ..lossy(Moved { legs: legs.into() }) }
}

#[test_case(4, None, Limiter::Policer, true; "as much as each of four connections")]
#[test_case(1, None, Limiter::NotDetermined, false; "a quarter of what one had")]
#[test_case(1, Some(0.25e9), Limiter::Policer, false; "as much as one had at the end")]
#[test_case(40, None, Limiter::NotDetermined, false; "ten times as much as each")]
fn a_bottleneck_below_all_datagrams_is_the_streams_where_it_had_as_much(
    connections: u32,
    later: Option<f64>,
    expected: Limiter,
    is_of_each: bool,
) {
    let limit = policed_by_connection(connections, later).limit();
    assert_eq!(limit.limiter, expected, "{limit:?}");
    assert_eq!(limit.evidence.contains(&Reason::AsMuchAsEach), is_of_each, "{limit:?}");
}

#[test]
fn evidence_has_its_figures() {
    let window = small_window().limit();
    let expected = [
        Reason::WaitedForWindow { share: 0.9 },
        Reason::Window { bytes: Bytes(11_000_000), rtt_ns: Nanos::millis(11) },
    ];
    assert_eq!(window.evidence, expected);
    let policed = lossy(confirmed(&[0.0, 0.23], Nanos::micros(200))).limit().evidence;
    let is_capped = |reason: &Reason| matches!(reason, Reason::CappedRate { bytes_per_s } if (bytes_per_s / 0.77e9 - 1.0).abs() < 1e-9);
    assert!(policed.contains(&Reason::Retransmitted { share: 0.02 }), "{policed:?}");
    assert!(policed.contains(&Reason::Datagrams { bytes_per_s: 1e9, lost: 0.23 }), "{policed:?}");
    assert!(policed.contains(&Reason::WaitedAfterLoss { waited_ns: Nanos::micros(200) }), "{policed:?}");
    assert!(policed.iter().any(is_capped), "{policed:?}");
}

#[test]
fn what_was_not_tried_says_why_and_what_was_seen_stands_beside() {
    let lost =
        |moved| Evidence { moved, ..tcp(|tcp| (tcp.retransmitted, tcp.buffer_limited) = (Some(0.02), Some(0.49))) };
    for why in [Untried::NotAsked, Untried::Stopped, Untried::TooFast, Untried::Refused] {
        let told = lost(Err(why)).limit().evidence;
        assert!(told.contains(&Reason::NotTested { what: Untested::Losses, why }), "{told:?}");
        assert!(told.contains(&Reason::HeldBySendBuffer { share: 0.49 }), "{told:?}");
    }
    let mut alone = lost(Ok(Moved { legs: vec![leg(0.5e9, 0.0, Nanos::ZERO)] }));
    alone.receiver.throttled = None;
    let told = alone.limit().evidence;
    assert!(told.contains(&Reason::NoFasterDatagrams), "{told:?}");
    assert!(told.contains(&Reason::QuotaUnread { end: End::Receiver }), "{told:?}");
}

#[test]
fn congestion_marks_stand_in_the_evidence_and_name_no_queue_by_themselves() {
    let marked = tcp(|tcp| tcp.marked = Some(0.2)).limit();
    assert_eq!(marked.limiter, Limiter::NotDetermined);
    assert!(marked.evidence.contains(&Reason::Marked { share: 0.2 }), "{marked:?}");
    let few = tcp(|tcp| tcp.marked = Some(0.0005)).limit();
    assert!(!few.evidence.iter().any(|reason| matches!(reason, Reason::Marked { .. })), "{few:?}");
}

#[test_case((524, 1_500), true; "a small MSS on Ethernet")]
#[test_case((1_448, 1_500), false; "Ethernet")]
#[test_case((1_208, 1_280), false; "the least of IPv6")]
#[test_case((32_741, 65_536), false; "half of loopback, as for a window of 64 KiB")]
fn segments_far_smaller_than_the_path_takes_stand_in_the_evidence((mss, mtu): (u64, u64), is_told: bool) {
    let limit = tcp(|tcp| tcp.segments = Some((Bytes(mss), Bytes(mtu)))).limit();
    assert_eq!(limit.limiter, Limiter::NotDetermined);
    let reason = Reason::SmallSegments { mss_bytes: Bytes(mss), path_mtu_bytes: Bytes(mtu) };
    assert_eq!(limit.evidence.contains(&reason), is_told, "{limit:?}");
}

#[test]
fn losses_without_selective_acknowledgements_say_so() {
    let told = |lost| {
        let limit = tcp(|tcp| (tcp.cumulative, tcp.retransmitted) = (true, Some(lost))).limit();
        limit.evidence.contains(&Reason::CumulativeAcks)
    };
    assert!(told(0.16));
    assert!(!told(0.0), "without losses they make no difference");
}

#[test]
fn a_silence_hides_no_retransmissions() {
    let again = |evidence: Evidence| {
        let limit = evidence.limit();
        limit.evidence.into_iter().find(|reason| matches!(reason, Reason::Retransmitted { .. }))
    };
    for share in [0.02, 0.25] {
        assert_eq!(again(silent_and_lossy(share)), Some(Reason::Retransmitted { share }));
    }
    assert!(silent_and_lossy(0.25).wants_moving() && !silent_and_lossy(0.02).wants_moving());
}
