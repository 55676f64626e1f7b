//! Loads on real sockets over loopback, alone and in batches: what left is what came and what was dropped, and the record
//! knows how it left.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use endpoint::control::Credential;
use endpoint::reflector::Settings;
use endpoint::reflector::permit::{Permit, Permits};
use endpoint::rtt::{self, Ending, Finding, Protocol, Target, Task};
use endpoint::stop::Stop;
use measure::event::INTERVAL;
use measure::method::{Asked, Batch, BatchBy, Carrier, Pattern, Schedule, Stop as StopAt};
use measure::outcome::Batched;
use measure::unit::{Bytes, Nanos};
use protocol::native::key::Key;
use protocol::native::limits::Limits;
use test_case::test_case;

use crate::served::{PROGRAM, with_reflector, with_settings};

/// Messages of a run.
const COUNT: u64 = 20_000;

fn load(batch: Option<Batch>) -> Asked {
    Asked {
        carrier: Some(Carrier::Udp),
        pattern: Some(Pattern::Load),
        reply_every: Some(100),
        batch,
        // Those of a burst are due together; between two the reflector has time to take them.
        schedule: Some(Schedule::Bursts { count: 150, interval_ns: Nanos::micros(1_500) }),
        stop: StopAt { count: Some(COUNT), ..StopAt::default() },
        warm_up_ns: Some(Nanos::millis(1)),
        ..Asked::default()
    }
}

fn measured(asked: &Asked, address: SocketAddr) -> Finding {
    by_key(asked, address, None)
}

fn by_key(asked: &Asked, address: SocketAddr, key: Option<Credential>) -> Finding {
    let task = Task {
        trace: None,
        method: asked.resolve().expect("a sensible method"),
        target: Some(Target { host: address.ip().to_string(), address }),
        protocol: Protocol::Native,
        key,
        one_will_do: false,
        samples: false,
        interval: INTERVAL,
        program: PROGRAM.into(),
        verify: None,
    };
    rtt::run(&task, &Stop::default(), &mut |_| {}).expect("measured")
}

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

#[test_case(V4, None; "alone")]
#[test_case(V4, Some(Batch { messages: 64, by: BatchBy::Calls }); "in calls")]
#[test_case(V6, Some(Batch { messages: 64, by: BatchBy::Calls }); "in calls over IPv6")]
#[test_case(V4, Some(Batch { messages: 64, by: BatchBy::Segments }); "in segments")]
#[test_case(V6, Some(Batch { messages: 64, by: BatchBy::Segments }); "in segments over IPv6")]
fn what_left_is_what_came_and_what_was_dropped(listen: IpAddr, batch: Option<Batch>) {
    with_reflector(listen, |address| assert_told(&measured(&load(batch), address), batch));
}

#[test_case(None; "alone")]
#[test_case(Some(Batch { messages: 64, by: BatchBy::Calls }); "in calls")]
#[test_case(Some(Batch { messages: 64, by: BatchBy::Segments }); "in segments")]
fn so_it_is_where_each_is_authenticated(batch: Option<Batch>) {
    let key = Key([7; 32]);
    let permits = Permits::keyed(vec![(key.clone(), Permit::within(Limits::default()))]);
    with_settings(Settings { permits, ..Settings::loopback(PROGRAM) }, |address, _| {
        let finding = by_key(&load(batch), address, Some(key.into()));
        assert_eq!(finding.peer.authenticated, Some(true));
        assert_told(&finding, batch);
    });
}

fn assert_told(finding: &Finding, batch: Option<Batch>) {
    let counts = &finding.recording.counts;
    assert_eq!(finding.ended, Ending::Complete);
    assert!(counts.balance(), "{counts:?}");
    assert_eq!((counts.scheduled, counts.one_way, counts.one_way_failed), (COUNT / 100, COUNT / 100 * 99, 0));
    let dropped = finding.peer_counts.dropped.expect("the reflector tells");
    let received = finding.peer_counts.received.expect("the reflector tells");
    let asked = batch.map(|batch| batch.by);
    if asked == Some(BatchBy::Segments) {
        // A buffer of segments is dropped whole and counts as one.
        let missing = COUNT - received;
        assert!((dropped == 0) == (missing == 0) && missing <= 64 * dropped, "{missing} missing, {dropped} dropped");
        assert_eq!(finding.peer.batch, batch);
    } else {
        assert_eq!(received + dropped, COUNT);
        assert_eq!(finding.peer.batch, None);
    }
    // Linux doubles what it is asked for, up to the doubled bound of the system.
    let most: u64 = std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap().trim().parse().unwrap();
    let room = Some(Bytes(2 * most.min(4 << 20)));
    assert_eq!((finding.peer.receive_buffer, finding.sockets[0].receive_buffer_bytes), (room, room));
    let batched = finding.sockets[0].batched.as_ref();
    assert_eq!(batched.map(|batched| (batched.asked, batched.got)), asked.map(|by| (by, Some(by))));
    if let Some(Batched { calls, messages, cut_short, .. }) = batched {
        // A message that is alone in its batch leaves as if there were none.
        assert!(*messages <= counts.one_way && *messages > counts.one_way / 2, "{messages}");
        assert!(*calls < *messages / 10, "{calls} calls for {messages} messages");
        assert_eq!(*cut_short, 0);
    }
}
