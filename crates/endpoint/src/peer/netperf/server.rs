//! A netserver: any number of netperfs at once, a thread for each control connection, which also runs its tests.
//!
//! What is asked is read by `protocol::netperf::server`; here are its sockets. A test that makes no sense, or that this host
//! cannot do, is answered with the system's error number, and the client may ask again. No client is waited for without an
//! end but one that is idle between tests, whose connection the system itself probes (`SO_KEEPALIVE`).

mod connections;
mod control;
mod course;
mod data;
mod exchange;
mod stream;
mod test;

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;

use measure::unit::Nanos;
use protocol::netperf::passphrase::Passphrase;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::clock::Monotonic;
use crate::error::{EndpointError, Step};
use crate::pace;
use crate::reflector::Counted;
use crate::socket::{self, GLANCE};
use crate::stop::Stop;

/// How long the end waits for its threads: each looks up every tenth of a second.
const END: Nanos = Nanos::secs(1);
/// A shortage (of descriptors, of memory) is waited out in steps of this, instead of asking again and again.
const SHORTAGE: Nanos = Nanos::millis(20);

/// How a netserver is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to listen. The wildcard of IPv6 serves IPv4 too.
    pub listen: Vec<SocketAddr>,
    /// What a client must say first; absent: nothing.
    pub passphrase: Option<Passphrase>,
    /// Its bounds.
    pub limits: Limits,
    /// One client after the other: who comes meanwhile waits to be accepted.
    pub serial: bool,
    /// Who is told what goes on; absent: nobody.
    pub log: Option<Log>,
}

impl Settings {
    /// Listening at `listen`, no passphrase, usual limits.
    pub fn at(listen: SocketAddr) -> Self {
        Self { listen: vec![listen], passphrase: None, limits: Limits::default(), serial: false, log: None }
    }
}

/// What a netserver does not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Control connections at once; one more is closed at once. Each has a thread.
    pub clients: u32,
    /// Bytes of memory of one test's buffers. What asks for more is answered `ENOMEM`.
    pub test_bytes: u64,
    /// Bytes of memory of all tests' buffers together, answered alike.
    pub all_bytes: u64,
}

impl Default for Limits {
    /// 2,048 clients; 64 MiB a test, which holds the largest socket buffer in use several times; 1 GiB in all.
    fn default() -> Self {
        Self { clients: 2_048, test_bytes: 64 << 20, all_bytes: 1 << 30 }
    }
}

/// Who is told what goes on, a line at a time, on the thread that it concerns.
#[derive(Clone)]
pub struct Log(pub Arc<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log(…)")
    }
}

/// A netserver whose sockets are bound.
#[derive(Debug)]
pub struct Netserver {
    listeners: Vec<TcpListener>,
    shared: Arc<Shared>,
}

/// What all its threads know.
#[derive(Debug)]
struct Shared {
    settings: Settings,
    /// Control connections that are attended to, each by a thread.
    clients: Arc<AtomicU32>,
    /// Bytes of buffers in use.
    memory: Arc<AtomicU64>,
    stop: Stop,
    /// Readable once the netserver stops: it wakes threads that wait for a client's word, however long.
    ended: OwnedFd,
}

impl Shared {
    fn end(&self) {
        self.stop.request();
        // The count of the event is never read, so it cannot be full.
        let _woken = rustix::io::write(&self.ended, &1_u64.to_ne_bytes());
    }

    /// Waits until `socket` has something to read, the netserver stops, or so long; without a time, for good.
    fn await_input(&self, socket: impl std::os::fd::AsFd, patience: Option<Nanos>) {
        let timeout = patience.map(|left| rustix::fs::Timespec {
            tv_sec: (left.0 / 1_000_000_000) as i64,
            tv_nsec: (left.0 % 1_000_000_000) as i64,
        });
        let mut set = [PollFd::new(&socket, PollFlags::IN), PollFd::new(&self.ended, PollFlags::IN)];
        // An interruption ends the wait early, which every caller allows.
        let _woken = poll(&mut set, timeout.as_ref());
    }

    fn log(&self, who: SocketAddr, what: impl fmt::Display) {
        if let Some(log) = &self.settings.log {
            (log.0)(&format!("{who}: {what}"));
        }
    }
}

/// Binds the sockets of a netserver; nothing is answered before [`Netserver::run`]. No thread is started: a process may
/// still go into the background after this.
pub fn bind(settings: Settings) -> Result<Netserver, EndpointError> {
    let listeners = settings.listen.iter().map(|address| listener(*address)).collect::<Result<_, _>>()?;
    // Best effort: with fewer descriptors fewer clients are served.
    socket::raise_descriptor_limit();
    let fail = |cause: rustix::io::Errno| EndpointError::new(Step::OpenSocket("event"), "this host", cause);
    let ended = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(fail)?;
    let shared = Shared { settings, clients: Arc::default(), memory: Arc::default(), stop: Stop::default(), ended };
    Ok(Netserver { listeners, shared: Arc::new(shared) })
}

fn listener(address: SocketAddr) -> Result<TcpListener, EndpointError> {
    let fail = |cause: std::io::Error| EndpointError::new(Step::Listen, address, cause);
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP)).map_err(fail)?;
    socket.set_reuse_address(true).map_err(fail)?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified()).map_err(fail)?;
    }
    socket.bind(&SockAddr::from(address)).map_err(fail)?;
    socket.listen(4_096).map_err(fail)?;
    Ok(socket.into())
}

impl Netserver {
    /// Where it listens, ports filled in.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Serves until `stop`, then ends every test.
    pub fn run(self, stop: &Stop) -> Result<(), EndpointError> {
        let Self { listeners, shared } = self;
        thread::scope(|scope| {
            for listener in &listeners {
                let shared = &shared;
                scope.spawn(move || accept(listener, shared));
            }
            while !stop.requested() {
                thread::park_timeout(GLANCE.into());
            }
            shared.end();
        });
        // The listeners are closed first: whoever comes now is refused by the kernel.
        drop(listeners);
        let give_up = Monotonic::now().after(END);
        while shared.clients.load(Ordering::Acquire) > 0 && Monotonic::now() < give_up {
            pace::sleep_until(Monotonic::now().after(Nanos::millis(5)));
        }
        Ok(())
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    while !shared.stop.requested() {
        shared.await_input(listener, Some(GLANCE));
        if shared.stop.requested() {
            return;
        }
        match accept_one(listener) {
            Ok(Some((connection, from))) => attend(connection, from, shared),
            Ok(None) => {}
            Err(error) => {
                shared.log(from_nobody(listener), format!("cannot accept a client: {error}"));
                pace::sleep_until(Monotonic::now().after(SHORTAGE));
            }
        }
    }
}

/// For what concerns no client.
fn from_nobody(listener: &TcpListener) -> SocketAddr {
    listener.local_addr().unwrap_or_else(|_| SocketAddr::from(([0, 0, 0, 0], 0)))
}

/// The next client; `None` where nobody is there any more.
fn accept_one(listener: &TcpListener) -> std::io::Result<Option<(Socket, SocketAddr)>> {
    // Two threads never wait at one listener, but a client may go between the wait and this.
    listener.set_nonblocking(true)?;
    match listener.accept() {
        Ok((connection, from)) => {
            connection.set_nonblocking(false)?;
            Ok(Some((connection.into(), from)))
        }
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionAborted => Ok(None),
        Err(error) => Err(error),
    }
}

/// A thread for one client; beyond the bound its connection is closed, which tells it as much as can be told.
fn attend(connection: Socket, from: SocketAddr, shared: &Arc<Shared>) {
    let Some(one) = Counted::below(&shared.clients, shared.settings.limits.clients) else {
        return shared.log(from, format!("turned away: {} clients are served already", shared.settings.limits.clients));
    };
    let with_thread = Arc::clone(shared);
    let body = move || {
        let _one = one;
        control::attend(&connection, from, &with_thread);
    };
    if shared.settings.serial {
        return body();
    }
    if let Err(error) = thread::Builder::new().name("sonde-netserver".into()).spawn(body) {
        shared.log(from, format!("turned away: cannot start a thread: {error}"));
    }
}
