//! The far side: answers native sessions, a thread per flow, any number of clients at once.
//!
//! One port. TCP carries control and data connections, told apart by their first bytes; UDP carries data alone, and
//! nothing is answered there without a session's token.

pub mod answer;
pub mod control;
pub mod datagram;
pub mod session;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use measure::environment::Environment;
use measure::method::Waiting;
use measure::unit::{Nanos, Rate};
use protocol::native::key::Key;
use protocol::native::limits::Limits;
use rustix::event::{PollFd, PollFlags, poll};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::environment::Reader;
use crate::error::{EndpointError, Step};
use crate::socket::GLANCE;
use crate::stop::Stop;
use session::Sessions;

/// The port of the native protocol: not assigned to anyone by IANA.
pub const PORT: u16 = 7663;
/// Connections that may be open at once beyond those of sessions: control connections and ones that have not said yet
/// what they are.
const CONNECTIONS: u32 = 4_096;

/// How a reflector is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to listen, TCP and UDP alike.
    pub listen: Vec<SocketAddr>,
    /// Who may use it; absent: anyone who reaches it.
    pub key: Option<Key>,
    /// How its threads wait where the client does not say.
    pub waiting: Waiting,
    /// CPUs its threads are pinned to, in turn, where the client does not say.
    pub cpus: Vec<u32>,
    /// Its bounds.
    pub limits: Limits,
    /// What tests ask of it.
    pub behaviour: Behaviour,
    /// Name and version of the program.
    pub program: String,
}

impl Settings {
    /// Listening at `listen`, no key, blocking, usual limits.
    pub fn at(listen: SocketAddr, program: &str) -> Self {
        Self {
            listen: vec![listen],
            key: None,
            waiting: Waiting::Block,
            cpus: Vec::new(),
            limits: Limits::default(),
            behaviour: Behaviour::default(),
            program: program.to_owned(),
        }
    }

    /// On a free port of the loopback interface: the reflector of a run that was given no target.
    pub fn loopback(program: &str) -> Self {
        Self::at(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0), program)
    }
}

/// What a reflector does besides answering at once: for tests, and to keep below a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// Holds each reply for so long.
    pub hold: Option<Nanos>,
    /// Stalls so long, once in so many requests of a flow.
    pub stall: Option<(Nanos, u64)>,
    /// Answers no more than this on one flow.
    pub rate: Option<Rate>,
}

impl Behaviour {
    fn is_unusual(&self) -> bool {
        self.hold.is_some() || self.stall.is_some() || self.rate.is_some()
    }
}

/// A reflector whose sockets are bound.
#[derive(Debug)]
pub struct Reflector {
    places: Vec<Place>,
    shared: Arc<Shared>,
}

/// One address it listens at.
#[derive(Debug)]
struct Place {
    address: SocketAddr,
    tcp: TcpListener,
    udp: UdpSocket,
}

/// What all its threads know.
#[derive(Debug)]
pub struct Shared {
    settings: Settings,
    sessions: Sessions,
    connections: AtomicU32,
    environment: Environment,
    stop: Stop,
}

/// Binds all sockets of a reflector; nothing is answered before [`Reflector::run`].
pub fn bind(settings: Settings) -> Result<Reflector, EndpointError> {
    let places = settings.listen.iter().map(|address| Place::bind(*address)).collect::<Result<_, _>>()?;
    let environment = Reader::host(settings.program.clone()).read();
    let mut settings = settings;
    settings.behaviour.rate = settings.behaviour.rate.or(settings.limits.rate_per_flow);
    let shared = Shared {
        settings,
        sessions: Sessions::default(),
        connections: AtomicU32::new(0),
        environment,
        stop: Stop::default(),
    };
    Ok(Reflector { places, shared: Arc::new(shared) })
}

impl Place {
    fn bind(address: SocketAddr) -> Result<Self, EndpointError> {
        let fail = |cause: std::io::Error| EndpointError::new(Step::Listen, address, cause);
        // A free port of TCP's may be taken in UDP: then another is tried.
        let tries = if address.port() == 0 { 32 } else { 1 };
        let mut last = None;
        for _ in 0..tries {
            match Self::bind_once(address) {
                Ok(place) => return Ok(place),
                Err(cause) if cause.kind() == std::io::ErrorKind::AddrInUse => last = Some(cause),
                Err(cause) => return Err(fail(cause)),
            }
        }
        Err(fail(last.unwrap_or_else(|| std::io::ErrorKind::AddrInUse.into())))
    }

    fn bind_once(address: SocketAddr) -> std::io::Result<Self> {
        // TCP first: without address sharing it tells whether somebody else has the port.
        let tcp = listener(address, Type::STREAM, Protocol::TCP)?;
        tcp.listen(1_024)?;
        let tcp: TcpListener = tcp.into();
        let address = tcp.local_addr()?;
        let udp = listener(address, Type::DGRAM, Protocol::UDP)?;
        Ok(Self { address, tcp, udp: udp.into() })
    }
}

fn listener(address: SocketAddr, kind: Type, protocol: Protocol) -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind, Some(protocol))?;
    socket.set_reuse_address(true)?;
    if kind == Type::DGRAM {
        // Each flow gets a socket of its own on this port, connected to its client.
        socket.set_reuse_port(true)?;
        datagram::prepare(&socket, address.is_ipv6())?;
    }
    if address.is_ipv6() {
        // The wildcard of IPv6 serves IPv4 too, unless that is listened at on its own.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.bind(&SockAddr::from(address))?;
    Ok(socket)
}

impl Reflector {
    /// Where it listens, ports filled in.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.places.iter().map(|place| place.address).collect()
    }

    /// Answers until `stop`, then ends every session in order.
    pub fn run(self, stop: &Stop) -> Result<(), EndpointError> {
        let Self { places, shared } = self;
        thread::scope(|scope| {
            for place in &places {
                let shared = &shared;
                scope.spawn(move || accept(place, shared));
                scope.spawn(move || datagram::serve(&place.udp, place.address, shared));
            }
            wait_for(stop);
            shared.stop.request();
        });
        Ok(())
    }
}

/// Looks every now and then whether to stop; nothing else is done on this thread.
fn wait_for(stop: &Stop) {
    while !stop.requested() {
        thread::park_timeout(GLANCE.into());
    }
}

fn accept(place: &Place, shared: &Arc<Shared>) {
    while !shared.stop.requested() {
        if !readable(&place.tcp) {
            continue;
        }
        // What fails here is the client's connection, or a shortage that passes: the next one is tried.
        let Ok((connection, from)) = place.tcp.accept() else { continue };
        if shared.connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS + shared.settings.limits.sessions {
            shared.connections.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let shared_with_thread = Arc::clone(shared);
        let started = thread::Builder::new().name("sonde-session".into()).spawn(move || {
            control::attend(&Socket::from(connection), from, &shared_with_thread);
            shared_with_thread.connections.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_err() {
            shared.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn readable(listener: &TcpListener) -> bool {
    let timeout = rustix::fs::Timespec { tv_sec: 0, tv_nsec: GLANCE.0 as i64 };
    poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&timeout)).is_ok_and(|ready| ready > 0)
}
