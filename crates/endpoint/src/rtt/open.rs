//! Opens the connections of a run with a reflector or a kernel, each kind its own way, and hands them to the threads.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::num::NonZeroU64;

use measure::method::{Carrier, Method, Pattern, Schedule, SocketOptions, Traffic};
use measure::outcome::SocketFacts;
use measure::unit::{Bytes, Instant, Nanos, Rate};
use protocol::icmp::echo::Echo;
use protocol::link::{Fault, Link};
use protocol::native::header::{Apart, Authenticated, Flags, LENGTH, Native, Ordered, Token};
use protocol::native::mac::Mac;
use protocol::native::message::{Open, capability};
use protocol::native::preamble::{DATA_LENGTH, Data, DataAnswer, DataRefusal};
use protocol::wire::{Reading, Wire};
use socket2::Socket;

use super::Task;
use crate::clock::Monotonic;
use crate::control::Control;
use crate::engine::Flow;
use crate::error::hint::Hint;
use crate::error::{Cause, EndpointError, Side, Step};
use crate::facts::socket::socket_facts;
use crate::link::datagram::Datagram;
use crate::link::elsewhere;
use crate::link::handshake::{Content, Course, Handshake};
use crate::link::stream::Stream;
use crate::session::connections::{self, Connection, Opened, echo_facts};
use crate::session::scene::Scene;
use crate::session::workers::Gathered;
use crate::socket::{self, icmp};
use crate::stop::{GLANCE, Stop};

/// Silence after which the reflector may take us for dead; a control message is sent in a third of it.
const IDLE: Nanos = Nanos::secs(30);
/// Longest time for a data connection to be established and accepted.
pub(super) const CONNECT: Nanos = Nanos::secs(5);
/// Times that a first datagram is sent before silence is reported: one lost packet is no closed port.
const HELLOS: u32 = 5;
/// Longest wait for the answer to each of them.
const HELLO: Nanos = Nanos::millis(400);
/// Beyond the duration asked for: warm-up, the last replies, the report.
const SLACK: Nanos = Nanos::secs(15);

/// Receive buffer of a flow of a load at either end: 20 ms of half a million small messages a second.
const ROOM: Bytes = Bytes(4 << 20);
/// Largest receive buffer of all flows of one end together.
const ROOM_IN_ALL: Bytes = Bytes(64 << 20);

/// Builds the request that opens the session.
pub fn request(method: &Method, task: &Task) -> Open {
    let capabilities: BTreeSet<String> = [capability::STAMPS.to_owned()].into();
    Open {
        program: task.program.clone(),
        capabilities,
        carrier: method.traffic.carrier(),
        // The messages of a load are exchanges of which most are silent: each says so by itself.
        pattern: method.traffic.load().map_or(method.traffic.pattern(), |_| Pattern::Exchange),
        request_bytes: method.traffic.request_bytes(),
        response_bytes: method.traffic.response_bytes(),
        reply_every: 1,
        waiting: method.peer_waiting,
        cpus: method.spread.peer_cpus.clone(),
        flows: method.spread.connections,
        stamps: method.traffic.stamps().is_some(),
        batch: method.traffic.load().and_then(|load| load.batch),
        receive_buffer_bytes: receive_room(method),
        stream: None,
        rate_per_flow: announced_rate(method),
        duration_ns: method.stop.after_ns.map(|length| longest(method, length)),
        idle_ns: IDLE,
    }
}

/// Receive buffer of both ends of a load over UDP; `None` for other traffic. Messages arrive at the rate of the sender,
/// and an end that does not run for some milliseconds must not lose them: the default buffer fills in one.
fn receive_room(method: &Method) -> Option<Bytes> {
    let of_datagrams = method.traffic.load().is_some_and(|load| load.carrier == Carrier::Udp);
    of_datagrams.then(|| ROOM.min(Bytes(ROOM_IN_ALL.0 / u64::from(method.spread.connections.max(1)))))
}

/// The rate on one connection, where a schedule says it: shared among the connections, but for bursts that each has.
fn announced_rate(method: &Method) -> Option<Rate> {
    let gap = method.schedule.mean_gap().filter(|gap| *gap > Nanos::ZERO)?;
    let own = matches!(method.schedule, Schedule::Bursts { .. }) && !method.shares_bursts();
    let share = if own { 1 } else { method.spread.connections };
    NonZeroU64::new(1_000_000_000_000 / gap.0 / u64::from(share.max(1))).map(Rate)
}

fn longest(method: &Method, length: Nanos) -> Nanos {
    let warm_up = method.warm_up_ns.0.saturating_mul(4);
    Nanos(length.0.saturating_add(warm_up).saturating_add(method.timeout_ns.0).saturating_add(SLACK.0))
}

/// Returns true where requests have room for the native header.
pub fn headed(method: &Method) -> bool {
    method.traffic.request_bytes().0 >= LENGTH as u64
}

/// Token, version and key from the opening of the session, shown on each data connection.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    token: Token,
    version: u16,
    mac: Option<Mac>,
}

impl Admission {
    /// That of an open session.
    pub fn of(control: &Control) -> Self {
        Self { token: control.opened.token, version: control.version, mac: control.mac() }
    }
}

impl Admission {
    /// The name of the session.
    pub fn token(&self) -> Token {
        self.token
    }

    /// Key that authenticates the session's datagrams; `None`: they are not authenticated.
    pub fn mac(&self) -> Option<Mac> {
        self.mac
    }

    /// First message on the data connection of `flow`.
    fn preamble(self, flow: u16) -> [u8; DATA_LENGTH] {
        Data { version: self.version, token: self.token, flow }.encode()
    }
}

/// A data connection of `flow`, let in by the reflector.
pub fn connected(
    peer: SocketAddr,
    admission: Admission,
    flow: u16,
    method: &Method,
    stop: &Stop,
) -> Result<Socket, EndpointError> {
    let fail = |cause| EndpointError::new(Step::ConnectData, peer, cause);
    let mut options = method.options_of(u32::from(flow));
    let socket = loop {
        let socket = socket::tcp(peer, &options)?;
        socket::set_waiting(&socket, peer, method.waiting)?;
        match socket::connect(&socket, peer, CONNECT, stop) {
            Ok(true) => break socket,
            Ok(false) => return Err(EndpointError::new(Step::ConnectData, peer, Cause::Stopped)),
            // The connection of a moment ago that had this port is not over for this host.
            Err(cause) if matches!(cause.kind(), ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable) => {
                let port = socket.local_addr().ok().and_then(|local| Some(local.as_socket()?.port()));
                let others = options.source_ports.zip(port).and_then(|(ports, port)| ports.after(port));
                options.source_ports = Some(others.ok_or_else(|| fail(cause))?);
            }
            Err(cause) => return Err(fail(cause)),
        }
    };
    socket::set_glance(&socket).map_err(fail)?;
    introduce(&socket, peer, &admission.preamble(flow), stop)?;
    Ok(socket)
}

/// Says on a data connection whose it is, and waits to be let in.
fn introduce(socket: &Socket, peer: SocketAddr, preamble: &[u8], stop: &Stop) -> Result<(), EndpointError> {
    let fail = |cause: std::io::Error| EndpointError::new(Step::ConnectData, peer, cause);
    (&mut &*socket).write_all(preamble).map_err(fail)?;
    let give_up = Monotonic::now().after(CONNECT);
    let mut answer = [0];
    loop {
        match (&mut &*socket).read(&mut answer) {
            Ok(0) => return Err(fail(ErrorKind::ConnectionReset.into())),
            Ok(_) => break,
            Err(error) if error.kind() == ErrorKind::WouldBlock && stop.requested() => {
                return Err(EndpointError::new(Step::ConnectData, peer, Cause::Stopped));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock && Monotonic::now() < give_up => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(EndpointError::new(Step::ConnectData, peer, Cause::Silence(CONNECT)));
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(fail(error)),
        }
    }
    match DataAnswer::from_code(answer[0]) {
        DataAnswer::Accepted => Ok(()),
        DataAnswer::Refused(why) => {
            let refused = EndpointError::new(Step::ConnectData, peer, Cause::Peer(why.to_string()));
            Err(if why == DataRefusal::UnknownToken { refused.with_hint(Hint::AnotherReflector) } else { refused })
        }
    }
}

/// Arguments that every kind of connection needs to be opened.
struct Opening<'a> {
    method: &'a Method,
    peer: SocketAddr,
    admission: Option<Admission>,
    /// Set once the user requests the end.
    stop: &'a Stop,
    /// Flag that the links check; see [`Scene::halt`].
    halt: &'a Stop,
}

/// Opens the connections and measures over them.
pub fn measure(admission: Option<Admission>, scene: &mut Scene<'_>) -> Result<Gathered, EndpointError> {
    let opening = Opening { method: scene.method, peer: scene.peer, admission, stop: scene.stop, halt: scene.halt };
    let method = opening.method;
    match (method.traffic.carrier(), &method.traffic) {
        (_, Traffic::Handshake { .. } | Traffic::ConnectExchange { .. }) => {
            let opened = opening.each(|flow| opening.handshake(flow))?;
            connections::measure(opened, scene, |_: &Handshake| None)
        }
        // Probes have their own opening: `crate::syn`.
        (Carrier::TcpSyn | Carrier::TcpConnect, _) | (_, Traffic::ConnectClose { .. } | Traffic::Stream(_)) => {
            Err(opening.not_native())
        }
        (Carrier::Tcp, _) if headed(method) && method.traffic.response_bytes().0 >= LENGTH as u64 => {
            let opened = opening.each(|flow| opening.stream(flow, opening.native(flow)?))?;
            connections::measure(opened, scene, |link: &Stream| Some(link.socket()))
        }
        (Carrier::Tcp, _) => {
            let opened = opening.each(|flow| opening.stream(flow, Ordered(opening.native(flow)?)))?;
            connections::measure(opened, scene, |link: &Stream| Some(link.socket()))
        }
        (Carrier::Udp, _) => match opening.admission()?.mac {
            None => connections::measure(
                opening.each(|flow| opening.udp(flow, opening.native(flow)?))?,
                scene,
                |link: &Datagram| Some(link.socket()),
            ),
            Some(mac) => {
                let wire = |flow| Ok(Authenticated::new(opening.native(flow)?, mac));
                connections::measure(opening.each(|flow| opening.udp(flow, wire(flow)?))?, scene, |link: &Datagram| {
                    Some(link.socket())
                })
            }
        },
        (Carrier::Icmp, _) => {
            let opened = opening.each(|flow| opening.icmp(flow))?;
            connections::measure(opened, scene, |link: &Datagram| Some(link.socket()))
        }
    }
}

impl Opening<'_> {
    fn each<L, W>(
        &self,
        open: impl Fn(u16) -> Result<Connection<L, W>, EndpointError>,
    ) -> Result<Opened<L, W>, EndpointError> {
        (0..self.method.spread.connections).map(|flow| open(flow as u16)).collect()
    }

    fn native(&self, flow: u16) -> Result<Native, EndpointError> {
        Ok(Native::new(self.admission()?.token, flow, self.method.traffic.response_bytes().0 as u32))
    }

    fn admission(&self) -> Result<Admission, EndpointError> {
        let none = || EndpointError::new(Step::Agree, self.peer, Cause::Peer("there is no session".into()));
        self.admission.ok_or_else(none)
    }

    fn not_native(&self) -> EndpointError {
        let told = format!("the native protocol has no {}", self.method);
        EndpointError::new(Step::Agree, self.peer, Cause::Peer(told)).on(Side::Ours)
    }

    fn stream<W>(&self, flow: u16, wire: W) -> Result<Connection<Stream, W>, EndpointError> {
        let socket = connected(self.peer, self.admission()?, flow, self.method, self.stop)?;
        Ok(connections::stream(socket, wire, u32::from(flow), self.method, self.halt))
    }

    fn preamble(&self, flow: u16) -> Result<[u8; DATA_LENGTH], EndpointError> {
        Ok(self.admission()?.preamble(flow))
    }

    fn udp<W: Wire>(&self, flow: u16, wire: W) -> Result<Connection<Datagram, W>, EndpointError> {
        let socket = socket::udp(self.peer, &self.method.options_of(u32::from(flow)))?;
        if let (Some(room), None) = (receive_room(self.method), self.method.socket.receive_buffer_bytes) {
            // Replies come faster than a sender that is behind reads them. The record shows where less was granted.
            let _granted = socket.set_recv_buffer_size(room.0 as usize);
        }
        let mut connection =
            self.datagram(socket, wire, u32::from(flow), self.method.traffic.request_bytes().0 as usize)?;
        let expected = self.method.traffic.response_bytes().0 as usize;
        connection.flow.expected = Some(expected);
        // One byte more, so that a reply that is too long is seen as such.
        connection.flow.reply.resize(expected + 1, 0);
        self.hello(&mut connection.flow)?;
        Ok(connection)
    }

    fn icmp(&self, flow: u16) -> Result<Connection<Datagram, Echo>, EndpointError> {
        let icmp::Opened { socket, kind, echo } = icmp::open(self.peer, &self.method.socket)?;
        let echo = echo.keeping_checksum();
        let Connection { mut flow, refused, handed, errors, .. } =
            self.datagram(socket, echo, u32::from(flow), icmp::request_length(self.method))?;
        flow.link.carries(echo);
        let facts = echo_facts(flow.link.socket(), self.peer.ip().to_string(), Some(kind.to_string()));
        // A raw IPv4 socket puts the IP header in front, whose length varies: there the checksum shows a cut reply.
        let bare = kind == icmp::SocketName::Ping || self.peer.is_ipv6();
        let expected = bare.then_some(flow.request.len());
        Ok(Connection { flow: Flow { expected, ..flow }, facts, refused, handed, errors })
    }

    fn datagram<W: Wire>(
        &self,
        socket: Socket,
        wire: W,
        index: u32,
        length: usize,
    ) -> Result<Connection<Datagram, W>, EndpointError> {
        socket::set_waiting(&socket, self.peer, self.method.waiting)?;
        socket::set_glance(&socket).map_err(|cause| EndpointError::new(Step::Set("timeouts"), self.peer, cause))?;
        Ok(connections::datagram(socket, wire, index, length, self.method, self.halt))
    }

    /// The first datagrams of a flow: the reflector learns where it comes from, and we whether UDP gets through.
    fn hello<W: Wire>(&self, flow: &mut Flow<Datagram, W>) -> Result<(), EndpointError> {
        let fail = |fault: Fault| EndpointError::new(Step::FirstExchange, self.peer, fault);
        flow.wire.open(&mut flow.request);
        for attempt in 0..HELLOS {
            flow.wire.prepare(&mut flow.request, u64::MAX - u64::from(attempt), Flags::WARM_UP);
            match flow.link.send(&flow.request) {
                Err(fault) if fault.ends_the_run() => return Err(fail(fault)),
                _ => {}
            }
            if hello_answered(flow, Monotonic::now().after(HELLO)).map_err(fail)? {
                return Ok(());
            }
            if self.stop.requested() {
                return Err(EndpointError::new(Step::FirstExchange, self.peer, Cause::Stopped));
            }
        }
        flow.wire.prepare(&mut flow.request, u64::MAX - u64::from(HELLOS), Flags::WARM_UP);
        let is_answer = |answer: &[u8]| matches!(flow.wire.identify(answer, 0), Reading::Reply(_));
        if let Some(from) = elsewhere::answers_from(flow.link.socket(), self.peer, &flow.request, HELLO, is_answer) {
            return Err(EndpointError::new(Step::FirstExchange, self.peer, Cause::Elsewhere(from)));
        }
        let waited = Nanos(HELLO.0 * u64::from(HELLOS));
        Err(EndpointError::new(Step::FirstExchange, self.peer, Cause::Silence(waited))
            .on(Side::Path)
            .with_hint(Hint::unanswered_flow(flow.index as u16)))
    }

    fn handshake(&self, flow: u16) -> Result<Connection<Handshake, Apart>, EndpointError> {
        // Without a route our own kernel would refuse each of them, as if a host had answered. Connecting a UDP socket
        // looks the route up, and sends nothing.
        socket::udp(self.peer, &SocketOptions { source_ports: None, ..self.method.socket.clone() })?;
        let reply_length = self.method.traffic.response_bytes().0 as usize;
        let content = match self.method.traffic {
            Traffic::ConnectExchange { .. } => Content::Exchange {
                preamble: self.preamble(flow)?.to_vec(),
                accepted: Some(DataAnswer::Accepted.code()),
                reply_length,
            },
            _ => Content::None,
        };
        // A handshake alone sends nothing, and has no session to name.
        let wire = match self.admission {
            Some(_) => self.native(flow)?,
            None => Native::new(Token([0; 16]), flow, 0),
        };
        let (peer, options) = (self.peer, self.method.options_of(u32::from(flow)));
        let link = Handshake::new(peer, &options, self.method.waiting, content, Course::Brief, self.halt.clone())?;
        let facts = link.socket().map(socket_facts).unwrap_or_default();
        let facts = SocketFacts { remote: self.peer.to_string(), ..facts };
        let request = vec![0; self.method.traffic.request_bytes().0 as usize];
        let reply = vec![0; reply_length];
        let wire = Apart::new(wire);
        let flow = Flow { link, wire, index: u32::from(flow), request, reply, expected: Some(reply_length) };
        Ok(Connection { flow, facts, refused: None, handed: None, errors: None })
    }
}

fn hello_answered<W: Wire>(flow: &mut Flow<Datagram, W>, until: Instant) -> Result<bool, Fault> {
    while Monotonic::now() < until {
        match flow.link.receive(&mut flow.reply, until.min(Monotonic::now().after(GLANCE))) {
            Ok(Some(length)) => {
                if matches!(flow.wire.identify(&flow.reply[..length], 0), Reading::Reply(_)) {
                    return Ok(true);
                }
            }
            Err(fault) if fault.ends_the_run() => return Err(fault),
            // Nothing yet, or an ICMP error for an earlier hello: the next may get through.
            Ok(None) | Err(_) => {}
        }
    }
    Ok(false)
}
