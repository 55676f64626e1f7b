//! An iperf 2 server: any number of clients at once, over connections and by datagrams.
//!
//! There is no session: each connection, and each flow of datagrams, is a test of its own, which its first octets
//! describe. A connection whose first octets are all here has a thread; flows that arrive at one socket share one, and
//! are told apart by their sources. Events go to an observer as values. Nothing from the network ends the server, and a
//! client's demands are bounded: see [`settings::Limits`].
//!
//! Unlike 2.1.8, whose next UDP client within 250 ms waits in vain, flows do not affect each other. A server of this
//! protocol sends datagrams to any client that asks for them (`-R`), without a handshake: the source of the request may
//! be forged. [`settings::Settings::sends_datagrams`] turns that off.

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
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use measure::served::RefusalReason;
use measure::unit::Nanos;
use socket2::{SockAddr, Socket, Type};

use crate::clock::Monotonic;
use crate::error::{EndpointError, Step};
use crate::peer::iperf::tcp;
use crate::serve::places::Places;
use crate::serve::visits::Visit;
use crate::serve::{FirstMessage, Hall, listen};
use crate::socket::{self, multicast, option};
use crate::stop::{GLANCE, Stop};
use event::{Event, Transport};
use settings::{Place, Settings};
use telling::Telling;

/// Longest wait for threads at the end.
const END: Nanos = Nanos::secs(3);

/// A server whose sockets are bound.
#[derive(Debug)]
pub struct Server {
    sockets: Vec<Bound>,
    shared: Arc<Shared>,
}

/// A socket that listens.
#[derive(Debug)]
pub struct Bound {
    /// Local address, port filled in.
    pub address: SocketAddr,
    /// Transport it serves.
    pub transport: Transport,
    /// Receive buffer granted by the system, bytes; `None` where it does not say.
    pub receive_buffer: Option<usize>,
    socket: Socket,
}

/// State that all threads share.
#[derive(Debug)]
struct Shared {
    settings: Settings,
    hall: Hall,
    senders: Places,
    telling: Arc<Telling>,
    next: AtomicU64,
}

impl Shared {
    /// The next test's number, from 1.
    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A client is not served, or not as it asks.
    fn refuse(&self, peer: SocketAddr, reason: RefusalReason, why: &dyn fmt::Display) {
        self.settings.door.book.refuse(Some(peer), reason, why);
        self.fail(Some(peer), why);
    }

    fn fail(&self, peer: Option<SocketAddr>, why: &dyn fmt::Display) {
        self.telling.tell(&Event::Failed { peer, why: why.to_string() });
    }

    /// Has `job` done on a separate thread; the number of those that send is limited. Returns false where none is free.
    fn send_on_thread(self: &Arc<Self>, peer: SocketAddr, job: impl FnOnce(&Arc<Self>) + Send + 'static) -> bool {
        let Some(one) = self.senders.take() else {
            let why = format_args!("{} streams are sent already", self.settings.limits.senders);
            self.refuse(peer, RefusalReason::Limit, &why);
            return false;
        };
        let shared = Arc::clone(self);
        let started = self.hall.pool.serve(move || {
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
    let first = FirstMessage { patience: tcp::HEADER, rest: tcp::HEADER, needs: tcp::needs };
    let hall = Hall::new(settings.limits.connections)?.served_once_they_speak(first)?.with_book(&settings.door.book);
    let sockets = settings.places.iter().map(|place| open(place, &settings)).collect::<Result<_, _>>()?;
    let shared = Shared {
        hall,
        senders: Places::new(settings.limits.senders),
        telling: Arc::new(Telling::new(settings.tell.clone())),
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
        let served = thread::scope(|scope| {
            let of_datagrams = sockets.iter().filter(|bound| bound.transport == Transport::Udp);
            let started = of_datagrams.into_iter().try_for_each(|bound| {
                let shared = &shared;
                let body = move || datagrams::serve(&bound.socket, bound.address, shared);
                let thread = thread::Builder::new().name("sonde-iperf".into()).spawn_scoped(scope, body);
                thread.map(drop).map_err(|cause| EndpointError::new(Step::StartThread, bound.address, cause))
            });
            let listeners = sockets.iter().filter(|bound| bound.transport == Transport::Tcp).map(|bound| &bound.socket);
            let turned_away = |from, why| shared.fail(from, &why);
            let serve =
                || shared.hall.serve(listeners, stop, |_, socket, peer| job(socket, peer, &shared), turned_away);
            let served = started.and_then(|()| serve());
            // Threads that were started are not waited for without an end.
            shared.hall.stop.request();
            served
        });
        drop(sockets);
        let give_up = Monotonic::now().after(END);
        shared.hall.end(END);
        shared.senders.await_empty(give_up);
        served
    }
}

/// Returns the work for a client; `None` where another client is awaited.
fn job(socket: Arc<Socket>, peer: SocketAddr, shared: &Arc<Shared>) -> Option<impl FnOnce(&Visit) + Send + 'static> {
    if !shared.settings.serves(peer.ip()) {
        shared.refuse(peer, RefusalReason::Network, &"not from whom a connection is awaited");
        return None;
    }
    socket::set_glance(&socket).ok()?;
    let shared = Arc::clone(shared);
    Some(move |visit: &Visit| connection::serve(&socket, peer, &shared, visit))
}

fn open(place: &Place, settings: &Settings) -> Result<Bound, EndpointError> {
    let address = place.address;
    let fail = |cause: io::Error| EndpointError::new(Step::Listen, address, cause);
    let (kind, name) = match place.transport {
        Transport::Tcp => (Type::STREAM, "TCP"),
        Transport::Udp => (Type::DGRAM, "UDP"),
    };
    let socket = listen::unbound(address, kind, &settings.door.gate)
        .map_err(|cause| EndpointError::new(Step::OpenSocket(name), address, cause))?;
    if let Some(bytes) = settings.buffer_bytes {
        let set = |cause| EndpointError::new(Step::Set("buffers"), address, cause);
        socket.set_recv_buffer_size(bytes as usize).map_err(set)?;
        socket.set_send_buffer_size(bytes as usize).map_err(set)?;
    }
    let socket = match place.transport {
        Transport::Tcp => listen::listen(socket, address).map_err(fail)?,
        Transport::Udp => {
            if address.ip().is_unspecified() {
                option::tell_destination(socket.as_fd(), address.is_ipv6()).map_err(fail)?;
            }
            let group = multicast::is_group(address);
            if group {
                // Several of a host may hear a group.
                socket.set_reuse_address(true).map_err(fail)?;
            }
            socket.bind(&SockAddr::from(address)).map_err(fail)?;
            if group {
                let join = |cause| EndpointError::new(Step::Set("multicast group"), address, cause);
                multicast::join(&socket, address.ip(), settings.interface, settings.source).map_err(join)?;
                multicast::hear_own_groups_alone(&socket, address.is_ipv6()).map_err(join)?;
            }
            socket.set_read_timeout(Some(GLANCE.into())).map_err(fail)?;
            socket
        }
    };
    let local = socket.local_addr().map_err(fail)?.as_socket().unwrap_or(address);
    let receive_buffer = socket.recv_buffer_size().ok();
    Ok(Bound { address: local, transport: place.transport, receive_buffer, socket })
}
