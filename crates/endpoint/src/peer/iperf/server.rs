//! An iperf 2 server: any number of clients at once, over connections and by datagrams.
//!
//! There is no session: each connection, and each flow of datagrams, is a test of its own, which its first octets
//! describe. A connection has a thread; the flows that come by one socket share one, and are told apart by their
//! sources. What goes on is told to an observer as values. Nothing that comes by the network ends the server, and what a
//! client can have it do is bounded: see [`settings::Limits`].
//!
//! Unlike 2.1.8, whose next client by datagrams within 250 ms waits in vain, one flow knows nothing of another. A server
//! of this protocol sends datagrams to whoever asks for them (`-R`), without a handshake: the source of the request may be
//! forged. [`settings::Settings::sends_datagrams`] turns that off.

mod back;
mod bounce;
mod connection;
mod datagrams;
pub mod event;
pub mod settings;
mod telling;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

use measure::unit::Nanos;
use rustix::io::Errno;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::clock::Monotonic;
use crate::error::{EndpointError, Step};
use crate::link::clockwork::poll_one;
use crate::pace;
use crate::reflector::Counted;
use crate::reflector::pool::Pool;
use crate::socket::{self, GLANCE, option};
use crate::stop::Stop;
use event::{Event, Transport};
use settings::{Place, Settings};
use telling::Telling;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1_024;
/// How long the end waits for threads.
const END: Nanos = Nanos::secs(3);
/// A shortage (of descriptors, of memory) is waited out in steps of this, instead of asking again and again.
const SHORTAGE: Nanos = Nanos::millis(20);

/// A server whose sockets are bound.
#[derive(Debug)]
pub struct Server {
    sockets: Vec<Bound>,
    shared: Arc<Shared>,
}

/// A socket that listens.
#[derive(Debug)]
pub struct Bound {
    /// Where, port filled in.
    pub address: SocketAddr,
    /// For what.
    pub transport: Transport,
    /// What the system made of its receive buffer, bytes; `None` where it does not say.
    pub receive_buffer: Option<usize>,
    socket: Socket,
}

/// What all threads know.
#[derive(Debug)]
struct Shared {
    settings: Settings,
    connections: Arc<AtomicU32>,
    senders: Arc<AtomicU32>,
    pool: Arc<Pool>,
    telling: Telling,
    stop: Stop,
    next: AtomicU64,
}

impl Shared {
    /// The next test's number, from 1.
    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn fail(&self, peer: Option<SocketAddr>, why: &dyn fmt::Display) {
        self.telling.tell(&Event::Failed { peer, why: why.to_string() });
    }

    /// Has `job` done on a thread of its own, of which there is a bound for those that send.
    fn send_on_thread(self: &Arc<Self>, peer: SocketAddr, job: impl FnOnce(&Arc<Self>) + Send + 'static) -> bool {
        let Some(one) = Counted::below(&self.senders, self.settings.limits.senders) else {
            self.fail(Some(peer), &format_args!("{} streams are sent already", self.settings.limits.senders));
            return false;
        };
        let shared = Arc::clone(self);
        let started = self.pool.serve(move || {
            let _one = one;
            job(&shared);
        });
        if let Err(error) = &started {
            self.fail(Some(peer), &format_args!("cannot start a thread: {error}"));
        }
        started.is_ok()
    }
}

/// Binds the sockets of a server; nothing is served before [`Server::run`]. No thread is started: a process may still go
/// into the background after this.
pub fn bind(settings: Settings) -> Result<Server, EndpointError> {
    // Best effort: with fewer descriptors fewer clients are served.
    socket::raise_descriptor_limit();
    let sockets = settings.places.iter().map(|place| open(place, &settings)).collect::<Result<_, _>>()?;
    let shared = Shared {
        connections: Arc::default(),
        senders: Arc::default(),
        pool: Arc::default(),
        telling: Telling::new(settings.tell.clone()),
        stop: Stop::default(),
        next: AtomicU64::new(0),
        settings,
    };
    Ok(Server { sockets, shared: Arc::new(shared) })
}

impl Server {
    /// Its sockets, in the order of the places asked for.
    pub fn sockets(&self) -> &[Bound] {
        &self.sockets
    }

    /// Serves until `stop`; tests that go on then are cut short and told of.
    pub fn run(self, stop: &Stop) -> Result<(), EndpointError> {
        let Self { sockets, shared } = self;
        let started = thread::scope(|scope| {
            let started = sockets.iter().try_for_each(|bound| {
                let shared = &shared;
                let body = move || match bound.transport {
                    Transport::Tcp => accept(bound, shared),
                    Transport::Udp => datagrams::serve(&bound.socket, bound.address, shared),
                };
                let thread = thread::Builder::new().name("sonde-iperf".into()).spawn_scoped(scope, body);
                thread.map(drop).map_err(|cause| EndpointError::new(Step::StartThread, bound.address, cause))
            });
            while started.is_ok() && !stop.requested() {
                shared.telling.pass_on();
                thread::park_timeout(Nanos(GLANCE.0 / 4).into());
            }
            shared.stop.request();
            shared.pool.close();
            started
        });
        // The listeners are closed first: whoever comes now is refused by the kernel.
        drop(sockets);
        let give_up = Monotonic::now().after(END);
        let busy = || shared.connections.load(Ordering::Acquire) + shared.senders.load(Ordering::Acquire) > 0;
        while busy() && Monotonic::now() < give_up {
            shared.telling.pass_on();
            pace::sleep_until(Monotonic::now().after(Nanos::millis(1)));
        }
        shared.telling.pass_on();
        started
    }
}

fn accept(bound: &Bound, shared: &Arc<Shared>) {
    while !shared.stop.requested() {
        poll_one(bound.socket.as_fd(), false, Monotonic::now().after(GLANCE));
        match bound.socket.accept() {
            Ok((connection, peer)) => {
                if let Some(peer) = peer.as_socket() {
                    attend(connection, peer, shared);
                }
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => {
                shared.fail(None, &format_args!("cannot accept a connection: {error}"));
                pace::sleep_until(Monotonic::now().after(SHORTAGE));
            }
        }
    }
}

/// Whether the client has gone again, or none came.
fn is_passing(error: &io::Error) -> bool {
    let passing = [Errno::AGAIN, Errno::CONNABORTED, Errno::INTR, Errno::PROTO];
    Errno::from_io_error(error).is_some_and(|errno| passing.contains(&errno))
}

/// A thread for one connection; beyond the bound it is closed, which tells its client as much as can be told.
fn attend(socket: Socket, peer: SocketAddr, shared: &Arc<Shared>) {
    if !shared.settings.serves(peer.ip()) {
        return shared.fail(Some(peer), &"not from whom a connection is awaited");
    }
    let most = shared.settings.limits.connections;
    let Some(one) = Counted::below(&shared.connections, most) else {
        return shared.fail(Some(peer), &format_args!("{most} connections are served already"));
    };
    // It may have been handed down by the listener.
    if socket.set_nonblocking(false).and_then(|()| socket::set_glance(&socket)).is_err() {
        return;
    }
    let with_thread = Arc::clone(shared);
    let started = shared.pool.serve(move || {
        let _one = one;
        connection::serve(&socket, peer, &with_thread);
    });
    if let Err(error) = started {
        shared.fail(Some(peer), &format_args!("cannot start a thread: {error}"));
    }
}

fn open(place: &Place, settings: &Settings) -> Result<Bound, EndpointError> {
    let address = place.address;
    let fail = |cause: io::Error| EndpointError::new(Step::Listen, address, cause);
    let (kind, protocol, name) = match place.transport {
        Transport::Tcp => (Type::STREAM, Protocol::TCP, "TCP"),
        Transport::Udp => (Type::DGRAM, Protocol::UDP, "UDP"),
    };
    let socket = Socket::new(Domain::for_address(address), kind, Some(protocol))
        .map_err(|cause| EndpointError::new(Step::OpenSocket(name), address, cause))?;
    let wildcard = address.ip().is_unspecified();
    if address.is_ipv6() {
        socket.set_only_v6(!wildcard).map_err(fail)?;
    }
    if let Some(bytes) = settings.buffer_bytes {
        let set = |cause| EndpointError::new(Step::Set("buffers"), address, cause);
        socket.set_recv_buffer_size(bytes as usize).map_err(set)?;
        socket.set_send_buffer_size(bytes as usize).map_err(set)?;
    }
    match place.transport {
        Transport::Tcp => {
            // Else a server could not be started again while what it closed itself is kept (TIME_WAIT).
            socket.set_reuse_address(true).map_err(fail)?;
            socket.bind(&SockAddr::from(address)).map_err(fail)?;
            socket.listen(BACKLOG).map_err(fail)?;
            // A client may go between the wait for it and the call that takes it.
            socket.set_nonblocking(true).map_err(fail)?;
        }
        Transport::Udp => {
            if wildcard {
                option::tell_destination(socket.as_fd(), address.is_ipv6()).map_err(fail)?;
            }
            socket.bind(&SockAddr::from(address)).map_err(fail)?;
            socket.set_read_timeout(Some(GLANCE.into())).map_err(fail)?;
        }
    }
    let local = socket.local_addr().map_err(fail)?.as_socket().unwrap_or(address);
    let receive_buffer = socket.recv_buffer_size().ok();
    Ok(Bound { address: local, transport: place.transport, receive_buffer, socket })
}
