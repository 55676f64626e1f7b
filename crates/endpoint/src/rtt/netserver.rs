//! A measurement with a netserver: as with a reflector, but for what netperf's protocol cannot do.
//!
//! It knows one data connection for each control connection, and reports at the end the number of transactions it saw.
//! It has no header to mark the warm-up with, no timestamps, and no field for its wait mode.

use std::net::SocketAddr;

use measure::event::Event;
use measure::method::{Carrier, Method, Stop as StopAt, Traffic};
use measure::statistics::loss::PeerCounts;
use measure::unit::Nanos;
use protocol::netperf::ask::{self, Ask, Flags, Length};
use protocol::netperf::passphrase::Passphrase;

use super::{Finding, PeerFacts, Task, clock_tolerance, conclude, timed, watch};
use crate::clock::wall_offset;
use crate::error::{Cause, EndpointError, Side, Step};
use crate::peer::netperf::client::{Course, Session, Setup, Test, exchange};
use crate::stop::Stop;
use crate::thread::cpu_for;
use crate::wire;

/// Beyond the time asked for: the set-up of all connections, the last replies.
const SLACK: Nanos = Nanos::secs(30);
/// Longest duration of a method where only a count ends the run. The server is informed of the end when it comes; its
/// timer is for the case that we are gone.
const LONGEST: Nanos = Nanos::secs(7 * 86_400);

pub(super) fn against(
    task: &Task,
    method: Method,
    peer: SocketAddr,
    passphrase: Option<&Passphrase>,
    stop: &Stop,
    on_event: &mut dyn FnMut(Event),
) -> Result<Finding, EndpointError> {
    let test = test(task, method, peer)?;
    // Its data connections go to ports that the server names when it is asked.
    let any_port = SocketAddr::new(peer.ip(), 0);
    let wire = task.verify.map(|wish| wire::Watch::start_foreign(&test.method, any_port, wish)).transpose()?;
    let mut sessions = (0..test.method.spread.connections)
        .map(|index| {
            let setup = Setup {
                servers: vec![peer],
                local: test.method.socket.bind.map(|bind| SocketAddr::new(bind, 0)),
                interface: test.method.socket.interface.clone(),
                passphrase: passphrase.cloned(),
                server_cpu: cpu_for(&test.method.spread.peer_cpus, index),
                program: task.program.clone(),
            };
            Session::open(setup, stop)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let mut watch = watch(task, &test.method, peer);
    let offset_before = wall_offset();
    let (gathered, ends) = exchange::measure(&mut sessions, &test, stop, &mut watch, on_event)?;
    let clock_stepped = (wall_offset() - offset_before).unsigned_abs() > clock_tolerance(&gathered.recording);
    let environment = watch.finish();
    let controls = sessions.iter().filter_map(Session::local).collect();
    let wire = wire.map(|wire| timed(wire.finish(controls), &gathered.recording));
    for session in sessions {
        session.close(stop);
    }
    let (received, report_missing) = if test.wants_results { seen(ends.courses, &test.method) } else { (None, None) };
    let facts = PeerFacts { program: Some("netserver".to_owned()), ..PeerFacts::default() };
    let finding = conclude(gathered, Ok(None), environment, facts, peer, false, clock_stepped);
    let peer_counts = PeerCounts { received, ..PeerCounts::default() };
    Ok(Finding { peer_counts, report_missing, wire, ..finding })
}

/// Sum of the transactions that the servers saw, or the reason for which one reported none. Absent where there was a
/// warm-up: the servers count that too.
fn seen(courses: Vec<Course>, method: &Method) -> (Option<u64>, Option<String>) {
    let mut transactions = Some(0_u64);
    for course in courses {
        match course.results {
            Ok(results) => transactions = transactions.zip(results.transactions).map(|(sum, more)| sum + more),
            Err(error) => return (None, Some(error.cause.to_string())),
        }
    }
    (transactions.filter(|_| method.warm_up_ns == Nanos::ZERO), None)
}

/// The test that measures by `method`.
fn test(task: &Task, method: Method, peer: SocketAddr) -> Result<Test, EndpointError> {
    let refuse = |what: String| EndpointError::new(Step::Agree, peer, Cause::Peer(what)).on(Side::Ours);
    let carrier = match method.traffic.carrier() {
        Carrier::Tcp => ask::Carrier::Tcp,
        Carrier::Udp => ask::Carrier::Udp,
        Carrier::Icmp | Carrier::TcpConnect | Carrier::TcpSyn => {
            return Err(refuse(format!("no netserver is needed for {}", method.traffic.carrier())));
        }
    };
    let per_connection = match method.traffic {
        Traffic::ConnectExchange { .. } => true,
        Traffic::Exchange(_) => false,
        _ => return Err(refuse(format!("a round trip is no {method}"))),
    };
    let size = |bytes: u64| u32::try_from(bytes).ok();
    let length = length(&method);
    let flags = if method.socket.nodelay && carrier == ask::Carrier::Tcp { Flags::NODELAY } else { Flags::NONE };
    let ask = Ask {
        per_connection,
        request_bytes: size(method.traffic.request_bytes().0),
        response_bytes: size(method.traffic.response_bytes().0),
        flags: Flags::ROUTE.with(flags),
        ..Ask::omni(carrier, true, true, length)
    };
    let wants_results = !per_connection || matches!(length, Length::Count(_));
    let Task { samples, interval, .. } = *task;
    Ok(Test { wants_results, samples, interval, ..Test::new(method, ask) })
}

/// Length of the test that the server is asked for. It is a count only where both ends count the same transactions: one
/// connection, no warm-up.
fn length(method: &Method) -> Length {
    let StopAt { after_ns, count, settled, .. } = &method.stop;
    let alike = method.warm_up_ns == Nanos::ZERO && method.spread.connections == 1 && settled.is_none();
    if let (Some(count), None, true) = (*count, after_ns, alike)
        && count <= u64::from(i32::MAX.unsigned_abs())
    {
        return Length::Count(count);
    }
    let run = after_ns.unwrap_or(LONGEST).0;
    let before = method.warm_up_ns.0.saturating_mul(4);
    let whole = run.saturating_add(before).saturating_add(method.timeout_ns.0).saturating_add(SLACK.0);
    Length::Seconds(u32::try_from(whole / 1_000_000_000).unwrap_or(u32::MAX / 2))
}
