//! The far side: answers native sessions, a thread for each connection and flow while it lasts, any number of clients
//! at once.
//!
//! One port. TCP carries control and data connections, told apart by their first bytes; UDP carries data alone, and
//! nothing is answered there without a session's token.

pub mod answer;
pub mod control;
pub mod datagram;
pub mod pool;
pub mod session;
pub mod stream;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use measure::environment::Environment;
use measure::method::{Batch, BatchBy, Carrier, Waiting};
use measure::unit::{Instant, Nanos, Rate};
use protocol::native::key::Key;
use protocol::native::limits::Limits;
use protocol::native::message::Open;
use protocol::native::preamble::{Answer, Decline, Versions};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::net::{SendFlags, send};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::clock::Monotonic;
use crate::environment::Reader;
use crate::error::{EndpointError, Step};
use crate::pace;
use crate::socket::{self, GLANCE, many};
use crate::stop::Stop;
use pool::Pool;
use session::Sessions;

/// The port of the native protocol: not assigned to anyone by IANA.
pub const PORT: u16 = 7663;
/// Connections that may be open at once beyond those of sessions: control connections and ones that have not said yet
/// what they are.
const CONNECTIONS: u32 = 4_096;
/// How long the end waits for its threads: each looks up every tenth of a second, then tells its client.
const END: Nanos = Nanos::secs(1);
/// A shortage (of descriptors, of memory) is waited out in steps of this, instead of asking again and again.
const SHORTAGE: Nanos = Nanos::millis(20);

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
    /// TCP connections that are attended to, each by a thread.
    connections: Arc<AtomicU32>,
    /// UDP flows, each with a thread.
    flows: Arc<AtomicU32>,
    pool: Arc<Pool>,
    environment: Environment,
    /// Whether sockets of this kernel take segments that come together in one call.
    segments: bool,
    stop: Stop,
    /// Readable once the reflector stops: it wakes threads that wait for a client's word, however long.
    ended: OwnedFd,
}

/// One of something that is counted while it lives.
#[derive(Debug)]
pub(crate) struct Counted(Arc<AtomicU32>);

impl Counted {
    /// Counts one more, unless there are `most` already.
    pub(crate) fn below(count: &Arc<AtomicU32>, most: u32) -> Option<Self> {
        let one = Self(Arc::clone(count));
        (count.fetch_add(1, Ordering::AcqRel) < most).then_some(one)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Shared {
    fn end(&self) {
        self.stop.request();
        self.pool.close();
        // The count of the event is never read, so it cannot be full.
        let _woken = rustix::io::write(&self.ended, &1_u64.to_ne_bytes());
    }

    /// How a client that wants to send many messages in one call is met: segments are taken as they come, where the
    /// kernel can; what left in one call but in buffers of its own comes one by one.
    fn batch(&self, open: &Open) -> Option<Batch> {
        let taken = |batch: &Batch| batch.by == BatchBy::Segments && open.carrier == Carrier::Udp && self.segments;
        open.batch.filter(taken)
    }

    /// Waits until `socket` has something to read, the reflector stops, or `until`. `true`: something is there.
    fn await_input(&self, socket: impl AsFd, until: Instant) -> bool {
        let left = until.since(Monotonic::now()).unwrap_or_default();
        let timeout =
            rustix::fs::Timespec { tv_sec: (left.0 / 1_000_000_000) as i64, tv_nsec: (left.0 % 1_000_000_000) as i64 };
        let mut set = [PollFd::new(&socket, PollFlags::IN), PollFd::new(&self.ended, PollFlags::IN)];
        poll(&mut set, Some(&timeout)).is_ok() && !set[0].revents().is_empty()
    }
}

/// Binds all sockets of a reflector; nothing is answered before [`Reflector::run`].
pub fn bind(settings: Settings) -> Result<Reflector, EndpointError> {
    let places = settings.listen.iter().map(|address| Place::bind(*address)).collect::<Result<_, _>>()?;
    // Best effort: with fewer descriptors fewer clients are served.
    socket::raise_descriptor_limit();
    let fail = |cause: rustix::io::Errno| EndpointError::new(Step::OpenSocket("event"), "this host", cause);
    let ended = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(fail)?;
    let environment = Reader::host(settings.program.clone()).read();
    let mut settings = settings;
    settings.behaviour.rate = settings.behaviour.rate.or(settings.limits.rate_per_flow);
    let shared = Shared {
        settings,
        sessions: Sessions::default(),
        connections: Arc::default(),
        flows: Arc::default(),
        pool: Arc::default(),
        environment,
        segments: takes_segments(),
        stop: Stop::default(),
        ended,
    };
    Ok(Reflector { places, shared: Arc::new(shared) })
}

fn takes_segments() -> bool {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP));
    socket.is_ok_and(|socket| many::take_segments(socket.as_fd()).is_ok())
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
        tcp.listen(4_096)?;
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
            shared.end();
        });
        // The listeners are closed first: whoever comes now is refused by the kernel.
        drop(places);
        await_threads(&shared);
        Ok(())
    }
}

/// Gives the threads of open sessions time to tell their clients; one that a client holds up is left behind.
fn await_threads(shared: &Shared) {
    let give_up = Monotonic::now().after(END);
    let busy = |count: &AtomicU32| count.load(Ordering::Acquire) > 0;
    while (busy(&shared.connections) || busy(&shared.flows)) && Monotonic::now() < give_up {
        pace::sleep_until(Monotonic::now().after(Nanos::millis(5)));
    }
}

/// Looks every now and then whether to stop; nothing else is done on this thread.
fn wait_for(stop: &Stop) {
    while !stop.requested() {
        thread::park_timeout(GLANCE.into());
    }
}

fn accept(place: &Place, shared: &Arc<Shared>) {
    let most = CONNECTIONS.saturating_add(shared.settings.limits.sessions);
    while !shared.stop.requested() {
        if !shared.await_input(&place.tcp, Monotonic::now().after(GLANCE)) {
            continue;
        }
        let (connection, from) = match place.tcp.accept() {
            Ok(accepted) => accepted,
            // The client has gone again.
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionAborted => continue,
            Err(_) => {
                pace::sleep_until(Monotonic::now().after(SHORTAGE));
                continue;
            }
        };
        let connection = Socket::from(connection);
        // Whoever measures handshakes alone has reset it already. A thread for each would fall behind them, until the
        // queue of connections is full and the kernel drops a handshake, which the client sees as lost.
        if !matches!(connection.take_error(), Ok(None)) {
            continue;
        }
        match Counted::below(&shared.connections, most) {
            Some(one) => attend(connection, from, shared, one),
            None => turn_away(&connection, shared),
        }
    }
}

/// A thread for one connection.
fn attend(connection: Socket, from: SocketAddr, shared: &Arc<Shared>, one: Counted) {
    let with_thread = Arc::clone(shared);
    // Without a thread the connection is closed, which tells the client as much as can be told.
    let _started = shared.pool.serve(move || {
        let _one = one;
        control::attend(&connection, from, &with_thread);
    });
}

/// Too many connections: said without waiting to be asked, since nothing more is read of this one.
fn turn_away(connection: &Socket, shared: &Shared) {
    let keyed = shared.settings.key.is_some();
    let answer = Answer { verdict: Err(Decline::Busy), keyed, versions: Versions::OURS };
    let _told = send(connection, &answer.encode(), SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    let _closed = connection.shutdown(std::net::Shutdown::Write);
}
