//! The peer's side: answers native sessions, any number of clients at once. A data connection or flow has a thread
//! while requests come. A flow with hardly any requests rests in the [`yard`], and connections that wait for their
//! client's next message stand in the [`lobby`]: neither has a thread.
//!
//! One port. TCP carries control and data connections, told apart by their first bytes; UDP carries data alone, and
//! nothing is answered there without a session's token.

pub mod answer;
mod behaviour;
pub mod budget;
pub mod control;
pub mod datagram;
pub mod exchange;
mod flow;
pub mod lobby;
pub mod permit;
mod seen;
pub mod session;
pub mod sessions;
pub mod stream;
pub mod yard;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;

use measure::authentication::Authentication;
use measure::method::{Batch, BatchBy, Carrier, Waiting};
use measure::served::RefusalReason;
use measure::unit::Nanos;
pub use protocol::native::PORT;
use protocol::native::limits::Limits;
use protocol::native::message::Open;
use protocol::native::preamble::{Answer, Decline, Versions};
use rustix::net::{SendFlags, send};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::clock::Monotonic;
use crate::error::{EndpointError, Step};
use crate::link::bulk::make_spare;
use crate::serve::book::Book;
use crate::serve::gate::Gate;
use crate::serve::places::Places;
use crate::serve::visits::Visit;
use crate::serve::{Hall, listen};
use crate::socket::many;
use crate::stop::Stop;
pub use behaviour::Behaviour;
use control::Guest;
use lobby::Lobby;
use permit::{Permit, Permits};
use sessions::{Sessions, Together};
use yard::Yard;

/// Connections of clients that have a session, which have not said yet what they are: each has a thread until it has.
const EXPECTED: u32 = 1_024;
/// Longest wait for the threads at the end: each checks for the end every tenth of a second, then informs its client.
const END: Nanos = Nanos::secs(1);

/// Settings of a reflector.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Addresses to listen at, TCP and UDP alike.
    pub listen: Vec<SocketAddr>,
    /// Networks that it is used from; packets from elsewhere are not heard.
    pub gate: Gate,
    /// Clients that may use it, and the limits of each.
    pub permits: Permits,
    /// Wait mode of its threads where the client asks for none.
    pub waiting: Waiting,
    /// CPUs its threads are pinned to, in turn, where the client does not say.
    pub cpus: Vec<u32>,
    /// Its bounds.
    pub limits: Limits,
    /// Those of all sessions together.
    pub together: Together,
    /// Book in which sessions and refusals are kept.
    pub book: Book,
    /// Deviations from answering at once, used by tests.
    pub behaviour: Behaviour,
    /// Name and version of the program.
    pub program: String,
}

impl Settings {
    /// Listening at `listen`, no key, blocking, usual limits.
    pub fn at(listen: SocketAddr, program: &str) -> Self {
        Self {
            listen: vec![listen],
            gate: Gate::default(),
            permits: Permits::open(Permit::within(Limits::default())),
            waiting: Waiting::Block,
            cpus: Vec::new(),
            limits: Limits::default(),
            together: Together::default(),
            book: Book::default(),
            behaviour: Behaviour::default(),
            program: program.to_owned(),
        }
    }

    /// On a free port of the loopback interface: the reflector of a run that was given no target.
    pub fn loopback(program: &str) -> Self {
        Self::at(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0), program)
    }
}

/// A reflector whose sockets are bound.
#[derive(Debug)]
pub struct Reflector {
    doors: Vec<Door>,
    shared: Arc<Shared>,
}

/// One address it listens at.
#[derive(Debug)]
struct Door {
    address: SocketAddr,
    tcp: Socket,
    udp: Socket,
}

/// State that all its threads share.
#[derive(Debug)]
pub struct Shared {
    settings: Settings,
    sessions: Sessions,
    /// TCP connections as they come: the end of all, and the threads.
    hall: Hall,
    /// TCP connections that wait for their client's word.
    lobby: Lobby,
    /// Flows that hardly anything is asked of.
    yard: Yard,
    /// Those that are expected.
    expected: Places,
    /// Work on threads: UDP flows, data connections, and the slow tasks of control connections.
    flows: Places,
    /// True where this kernel delivers segments that arrive together in one call.
    segments: bool,
}

impl Shared {
    /// Batching granted to a client that wants to send many messages in one call. Segments are taken as they come,
    /// where the kernel can; messages that left in one call but in separate buffers arrive one by one.
    fn batch(&self, open: &Open) -> Option<Batch> {
        let taken = |batch: &Batch| batch.by == BatchBy::Segments && open.carrier == Carrier::Udp && self.segments;
        open.batch.filter(taken)
    }
}

/// Runs `measure` with the address of a reflector of this process, which ends behind it.
pub fn beside<T>(program: &str, measure: impl FnOnce(SocketAddr) -> T) -> Result<T, EndpointError> {
    let reflector = bind(Settings::loopback(program))?;
    let address = reflector.addresses()[0];
    let stop = Stop::default();
    thread::scope(|scope| {
        let running = scope.spawn(|| reflector.run(&stop));
        let measured = measure(address);
        stop.request();
        running.thread().unpark();
        drop(running.join());
        Ok(measured)
    })
}

/// Binds all sockets of a reflector; nothing is answered before [`Reflector::run`].
pub fn bind(settings: Settings) -> Result<Reflector, EndpointError> {
    make_spare();
    let doors = settings.listen.iter().map(|address| Door::open(*address)).collect::<Result<_, _>>()?;
    let mut settings = settings;
    settings.behaviour.rate = settings.behaviour.rate.or(settings.limits.rate_per_flow);
    let together = settings.together;
    let shared = Shared {
        hall: Hall::new(u32::MAX)?,
        lobby: Lobby::new().map_err(|cause| EndpointError::new(Step::OpenSocket("event"), "this host", cause))?,
        yard: Yard::new().map_err(|cause| EndpointError::new(Step::OpenSocket("event"), "this host", cause))?,
        expected: Places::new(EXPECTED),
        flows: Places::new(u32::MAX),
        sessions: Sessions::new(together, settings.book.memory()),
        settings,
        segments: takes_segments(),
    };
    Ok(Reflector { doors, shared: Arc::new(shared) })
}

fn takes_segments() -> bool {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP));
    socket.is_ok_and(|socket| many::take_segments(socket.as_fd()).is_ok())
}

impl Door {
    fn open(address: SocketAddr) -> Result<Self, EndpointError> {
        let fail = |cause: std::io::Error| EndpointError::new(Step::Listen, address, cause);
        // A free port of TCP's may be taken in UDP: then another is tried.
        let tries = if address.port() == 0 { 32 } else { 1 };
        let mut last = None;
        for _ in 0..tries {
            match Self::open_once(address) {
                Ok(door) => return Ok(door),
                Err(cause) if cause.kind() == std::io::ErrorKind::AddrInUse => last = Some(cause),
                Err(cause) => return Err(fail(cause)),
            }
        }
        Err(fail(last.unwrap_or_else(|| std::io::ErrorKind::AddrInUse.into())))
    }

    fn open_once(address: SocketAddr) -> std::io::Result<Self> {
        // Refused clients are reported, so the kernel is not asked to drop any. TCP first: without address sharing it
        // shows whether another program has the port.
        let tcp = listen::listen(listen::unbound(address, Type::STREAM, &Gate::default())?, address)?;
        let address = tcp.local_addr()?.as_socket().unwrap_or(address);
        let udp = listen::unbound(address, Type::DGRAM, &Gate::default())?;
        // Each flow gets a socket of its own on this port, connected to its client. Not SO_REUSEADDR: any program that sets it too could
        // take the port, and what comes to it.
        udp.set_reuse_port(true)?;
        datagram::prepare(&udp, address.is_ipv6())?;
        udp.bind(&SockAddr::from(address))?;
        Ok(Self { address, tcp, udp })
    }
}

impl Reflector {
    /// Returns the addresses it listens at, ports filled in.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.doors.iter().map(|door| door.address).collect()
    }

    /// Answers until `stop`, then ends every session in order.
    pub fn run(self, stop: &Stop) -> Result<(), EndpointError> {
        let Self { doors, shared } = self;
        let served = thread::scope(|scope| {
            let shared = &shared;
            // Without events no client would be served: that ends all.
            let lobby = scope.spawn(|| shared.lobby.run(shared).inspect_err(|_| shared.hall.stop.request()));
            let yard = scope.spawn(|| shared.yard.run(&shared.hall.stop).inspect_err(|_| shared.hall.stop.request()));
            for door in &doors {
                scope.spawn(move || datagram::serve(&door.udp, door.address, shared));
            }
            let listeners = doors.iter().map(|door| &door.tcp);
            let attend = |_, connection, from| job(connection, from, shared);
            let served = shared.hall.serve(listeners, stop, attend, |_, _| ());
            let ended =
                [lobby, yard].map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            let waited = ended.into_iter().collect::<std::io::Result<()>>();
            served
                .and(waited.map_err(|cause| EndpointError::new(Step::OpenSocket("set of events"), "this host", cause)))
        });
        drop(doors);
        // The threads of open sessions have time to tell their clients.
        let give_up = Monotonic::now().after(END);
        shared.hall.end(END);
        shared.flows.await_empty(give_up);
        served
    }
}

/// Returns the work for a new connection, or `None` where it has ended already or its address is refused.
fn job(
    connection: Arc<Socket>,
    from: SocketAddr,
    shared: &Arc<Shared>,
) -> Option<impl FnOnce(&Visit) + Send + 'static> {
    // A client that measures handshakes alone has reset it already. A thread for each would fall behind them, until the
    // queue of connections is full and the kernel drops a handshake, which the client sees as lost.
    if !matches!(connection.take_error(), Ok(None)) {
        return None;
    }
    if !shared.settings.gate.admits(from.ip()) {
        let why = "its address is in no network that is served here";
        shared.settings.book.refuse(Some(from), RefusalReason::Network, &why);
        return None;
    }
    let guest = Box::new(Guest::new(connection, from, shared)?);
    // One thread less on the way of a measured connection.
    if shared.sessions.expects(guest.source())
        && let Some(place) = shared.expected.take()
    {
        return Some(move |_: &Visit| guest.attend(place));
    }
    shared.lobby.keep(guest);
    None
}

/// There is no room: said without waiting to be asked, since nothing more is read of this one.
fn turn_away(connection: &Socket, shared: &Shared) {
    let keyed = shared.settings.permits.offered().is_keyed().then_some(Authentication::PreShared);
    let answer = Answer { verdict: Err(Decline::Busy), keyed, versions: Versions::OURS };
    let _told = send(connection, &answer.encode(), SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    let _closed = connection.shutdown(std::net::Shutdown::Write);
}
