//! A measurement with an echo service (RFC 862): a connection or a socket each, and nothing is agreed on. Whatever is sent comes back.

use std::net::SocketAddr;

use measure::event::Event;
use measure::method::{Carrier, Exchange, Method, Traffic};
use measure::unit::Bytes;
use protocol::echo::Marked;
use protocol::link::Fault;

use super::open::CONNECT;
use super::{Finding, PeerFacts, Task, clock_tolerance, conclude, timed, watch};
use crate::clock::wall_offset;
use crate::error::{Cause, EndpointError, Side, Step};
use crate::link::datagram::Datagram;
use crate::link::stream::Stream;
use crate::random;
use crate::session::connections::{self, Connection, Opened};
use crate::session::scene::{Nobody, Scene};
use crate::socket;
use crate::stop::Stop;
use crate::wire;

pub(super) fn against(
    task: &Task,
    method: &Method,
    peer: SocketAddr,
    stop: &Stop,
    on_event: &mut dyn FnMut(Event),
) -> Result<Finding, EndpointError> {
    refuse(method, peer)?;
    let wire = task.verify.map(|wish| wire::Watch::start_foreign(method, peer, wish)).transpose()?;
    let mut watch = watch(task, method, peer);
    let offset_before = wall_offset();
    let halt = Stop::default();
    let mut scene = Scene {
        method,
        trace: task.trace.as_deref(),
        peer,
        far: &mut Nobody,
        samples: task.samples,
        interval: task.interval,
        stop,
        halt: &halt,
        watch: &mut watch,
        on_event,
    };
    let flows = 0..method.spread.connections;
    let gathered = if method.traffic.carrier() == Carrier::Tcp {
        let opened: Opened<Stream, Marked> = flows.map(|flow| stream(flow, &scene)).collect::<Result<_, _>>()?;
        connections::measure(opened, &mut scene, |link: &Stream| Some(link.socket()))?
    } else {
        let opened: Opened<Datagram, Marked> = flows.map(|flow| datagram(flow, &scene)).collect::<Result<_, _>>()?;
        connections::measure(opened, &mut scene, |link: &Datagram| Some(link.socket()))?
    };
    let clock_stepped = (wall_offset() - offset_before).unsigned_abs() > clock_tolerance(&gathered.recording);
    let wire = wire.map(|wire| timed(wire.finish(Vec::new()), &gathered.recording));
    let facts = PeerFacts { program: Some("echo".to_owned()), ..PeerFacts::default() };
    let finding = conclude(gathered, Ok(None), watch.finish(), facts, peer, false, clock_stepped);
    Ok(Finding { wire, ..finding })
}

/// Refuses what an echo cannot be: another carrier, connections made anew, replies of another length.
fn refuse(method: &Method, peer: SocketAddr) -> Result<(), EndpointError> {
    if let Traffic::Exchange(Exchange { carrier: Carrier::Tcp | Carrier::Udp, request_bytes, response_bytes, .. }) =
        method.traffic
        && request_bytes == response_bytes
        && request_bytes > Bytes(0)
    {
        return Ok(());
    }
    let what = format!("an echo service sends back what it gets, over TCP or UDP: it has no {method}");
    Err(EndpointError::new(Step::Agree, peer, Cause::Peer(what)).on(Side::Ours))
}

fn wire_of(method: &Method, peer: SocketAddr) -> Result<Marked, EndpointError> {
    let fail = |cause: std::io::Error| EndpointError::new(Step::Agree, peer, cause);
    Ok(Marked::new(random::bytes().map_err(fail)?, method.traffic.request_bytes().0 as usize))
}

fn stream(flow: u32, scene: &Scene<'_>) -> Result<Connection<Stream, Marked>, EndpointError> {
    let Scene { method, peer, stop, halt, .. } = *scene;
    let fail = |cause| EndpointError::new(Step::ConnectData, peer, cause);
    let socket = socket::tcp(peer, &method.options_of(flow))?;
    socket::set_waiting(&socket, peer, method.waiting)?;
    if !socket::connect(&socket, peer, CONNECT, stop).map_err(fail)? {
        return Err(EndpointError::new(Step::ConnectData, peer, Cause::Stopped));
    }
    socket::set_glance(&socket).map_err(fail)?;
    Ok(connections::stream(socket, wire_of(method, peer)?, flow, method, halt))
}

fn datagram(flow: u32, scene: &Scene<'_>) -> Result<Connection<Datagram, Marked>, EndpointError> {
    let Scene { method, peer, halt, .. } = *scene;
    let fail = |fault: Fault| EndpointError::new(Step::ConnectData, peer, fault);
    let socket = socket::udp(peer, &method.options_of(flow))?;
    socket::set_waiting(&socket, peer, method.waiting)?;
    socket::set_glance(&socket).map_err(|cause| EndpointError::new(Step::Set("timeouts"), peer, cause))?;
    let length = usize::try_from(method.traffic.request_bytes().0).map_err(|_| fail(Fault::TooLong))?;
    let mut connection = connections::datagram(socket, wire_of(method, peer)?, flow, length, method, halt);
    connection.flow.expected = Some(length);
    // One octet more, so that a reply that is too long is seen as such.
    connection.flow.reply.resize(length + 1, 0);
    Ok(connection)
}
