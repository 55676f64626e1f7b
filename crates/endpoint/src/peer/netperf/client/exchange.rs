//! Requests and replies with netservers: one control connection and one data connection each, all measured together.

use std::net::SocketAddr;

use measure::event::Event;
use measure::method::{Carrier, Traffic};
use measure::outcome::SocketFacts;
use measure::unit::Nanos;
use protocol::link::Link;
use protocol::netperf::answer::Ready;
use protocol::netperf::data::PATTERN;
use protocol::wire::{Bare, Unnumbered, Wire};
use socket2::Socket;

use super::data::{self, Prepared};
use super::end::{Ends, Went};
use super::phase::{Open, Opening, Phase};
use super::stream::{Calls, content_of, unreadable};
use super::{Session, Test};
use crate::engine::{Ended, Flow};
use crate::environment::watch::Watch;
use crate::error::{EndpointError, Step};
use crate::facts::socket::socket_facts;
use crate::link::datagram::Datagram;
use crate::link::handshake::{self, Content, Handshake};
use crate::link::stream::Stream;
use crate::session::connections::{self, Connection};
use crate::session::workers::Gathered;
use crate::socket::any;
use crate::stop::Stop;

/// Measures `test` over one data connection of each session at once.
pub fn measure(
    sessions: &mut [Session],
    test: &Test,
    stop: &Stop,
    watch: &mut Watch,
    on_event: &mut dyn FnMut(Event),
) -> Result<(Gathered, Ends), EndpointError> {
    let phase = Phase::new(test, stop, watch, on_event);
    match test.method.traffic.carrier() {
        Carrier::Udp => over(phase, sessions, datagram, |link: &Datagram| Some(link.socket())),
        _ if test.ask.per_connection => over(phase, sessions, each, |_: &Handshake| None),
        _ => over(phase, sessions, stream, |link: &Stream| Some(link.socket())),
    }
}

/// Measures over connections that `open` makes.
fn over<L, W>(
    mut phase: Phase<'_>,
    sessions: &mut [Session],
    open: impl Fn(&Opening<'_>, Prepared, Ready) -> Result<(Connection<L, W>, Open), EndpointError>,
    socket_of: fn(&L) -> Option<&Socket>,
) -> Result<(Gathered, Ends), EndpointError>
where
    L: Link + Send,
    W: Wire + Send,
{
    let (connections, opened) = phase.open(sessions, open)?;
    let flows = connections.into_iter().collect();
    let gathered = phase.during(sessions, &opened, |scene| connections::measure(flows, scene, socket_of))?;
    let counts = gathered.recording.counts;
    let went = Went {
        silently: gathered.trouble.is_some() || counts.answered == 0,
        unanswered: gathered.recording.ends_lost,
        short: counts.answered < counts.scheduled || gathered.ended != Ended::Complete,
    };
    let ends = phase.close(sessions, opened, &gathered.sockets, went);
    Ok((gathered, ends))
}

fn stream(
    opening: &Opening<'_>,
    prepared: Prepared,
    ready: Ready,
) -> Result<(Connection<Stream, Bare>, Open), EndpointError> {
    let (socket, open) = opening.connect(prepared, ready)?;
    let mut connection = connections::stream(socket, Bare, opening.index, &opening.test.method, opening.halt);
    fill(&mut connection.flow.request, &opening.test.calls)?;
    Ok((connection, open))
}

fn datagram(
    opening: &Opening<'_>,
    prepared: Prepared,
    ready: Ready,
) -> Result<(Connection<Datagram, Unnumbered>, Open), EndpointError> {
    let method = &opening.test.method;
    let (socket, open) = opening.connect(prepared, ready)?;
    let length = method.traffic.request_bytes().0 as usize;
    let mut connection = connections::datagram(socket, Unnumbered, opening.index, length, method, opening.halt);
    let expected = method.traffic.response_bytes().0 as usize;
    connection.flow.expected = Some(expected);
    // One byte more, so that a reply that is too long is seen as such.
    connection.flow.reply.resize(expected + 1, 0);
    fill(&mut connection.flow.request, &opening.test.calls)?;
    Ok((connection, open))
}

/// A connection for each transaction.
fn each(
    opening: &Opening<'_>,
    prepared: Prepared,
    ready: Ready,
) -> Result<(Connection<Handshake, Unnumbered>, Open), EndpointError> {
    let (test, method) = (opening.test, &opening.test.method);
    let remote = opening.remote(&ready);
    let Prepared::Each(ports) = prepared else {
        return Err(EndpointError::new(
            Step::ConnectData,
            remote,
            std::io::Error::from(std::io::ErrorKind::NotConnected),
        ));
    };
    let ports = ports.without(remote.port());
    let local = SocketAddr::new(method.socket.bind.unwrap_or_else(|| any(remote)), ports.peek());
    let reply_length = method.traffic.response_bytes().0 as usize;
    let content = match method.traffic {
        Traffic::ConnectExchange { .. } => Content::Exchange { preamble: Vec::new(), accepted: None, reply_length },
        _ => Content::None,
    };
    let course = handshake::Course::Whole { ports, tuning: data::tuning(test) };
    let link = Handshake::new(remote, &method.socket, method.waiting, content, course, opening.halt.clone())?;
    let facts = link.socket().map(socket_facts).unwrap_or_default();
    let facts = SocketFacts { local: local.to_string(), remote: remote.to_string(), ..facts };
    let (mut request, reply) = (vec![0; method.traffic.request_bytes().0 as usize], vec![0; reply_length]);
    fill(&mut request, &test.calls)?;
    let flow = Flow { link, wire: Unnumbered, index: opening.index, request, reply, expected: Some(reply_length) };
    let open = Open { ready, facts: facts.clone(), local, remote, connecting: Nanos::ZERO, socket: None };
    Ok((Connection { flow, facts, refused: None, handed: None, errors: None }, open))
}

/// Fills a request as netperf does: with its pattern over and over, or with the content of a file.
fn fill(request: &mut [u8], calls: &Calls) -> Result<(), EndpointError> {
    if request.is_empty() {
        return Ok(());
    }
    let content = match &calls.fill {
        None => PATTERN.to_vec(),
        Some(path) => content_of(path, request.len()).map_err(|cause| unreadable(path, cause))?,
    };
    request.iter_mut().zip(content.iter().copied().cycle()).for_each(|(to, from)| *to = from);
    Ok(())
}
