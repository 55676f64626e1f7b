//! An iperf3 server: any number of tests at once, a thread for each control connection and one for each stream.
//!
//! A connection shows by its first 37 octets whose it is (`arrivals`): a test's further stream, or a new test. Flows of
//! datagrams are known by the address they come from alone (`flows`): one client's tests open theirs one after the other.
//! What a test is, and how it ends, is in `test`. Nothing waits without bound, and nothing that comes by the network ends
//! the server. Nothing is printed: an [`Observer`] is told.

mod arrivals;
mod control;
pub mod event;
mod flows;
pub mod settings;
mod test;

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use measure::unit::{Instant, Nanos};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use self::event::{Event, Observer};
use self::flows::Flows;
use self::settings::Settings;
use crate::clock::Monotonic;
use crate::error::{EndpointError, Step};
use crate::pace;
use crate::socket::{self, GLANCE};
use crate::stop::Stop;

/// How long the end waits for its threads: each looks up every tenth of a second, and tests have results to tell.
const END: Nanos = Nanos::secs(2);

/// A server whose sockets are bound.
#[derive(Debug)]
pub struct Server {
    listeners: Vec<TcpListener>,
    datagrams: Vec<Socket>,
    shared: Arc<Shared>,
}

/// What all its threads know.
struct Shared {
    settings: Settings,
    observer: Arc<dyn Observer>,
    /// Connections that are attended to, whatever they are; tests; threads of streams; bytes of their buffers.
    connections: Arc<AtomicU32>,
    tests: Arc<AtomicU32>,
    streams: AtomicU64,
    memory: AtomicU64,
    /// Tests so far: the number of the next.
    count: AtomicU64,
    /// Those that wait for connections, by their cookies.
    waiting: Mutex<arrivals::Waiting>,
    flows: Flows,
    stop: Stop,
    /// Readable once the server stops.
    ended: OwnedFd,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Shared {
    fn end(&self) {
        self.stop.request();
        // The count of the event is never read, so it cannot be full.
        let _woken = rustix::io::write(&self.ended, &1_u64.to_ne_bytes());
    }

    fn waiting(&self) -> MutexGuard<'_, arrivals::Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, event: &Event<'_>) {
        self.observer.told(event);
    }

    /// Waits until `socket` has something to read, the server stops, or `until`.
    fn await_input(&self, socket: impl std::os::fd::AsFd, until: Instant) {
        let left = until.since(Monotonic::now()).unwrap_or_default();
        let timeout =
            rustix::fs::Timespec { tv_sec: (left.0 / 1_000_000_000) as i64, tv_nsec: (left.0 % 1_000_000_000) as i64 };
        let mut set = [PollFd::new(&socket, PollFlags::IN), PollFd::new(&self.ended, PollFlags::IN)];
        // An interruption ends the wait early, which every caller allows.
        let _woken = poll(&mut set, Some(&timeout));
    }
}

/// Takes so much of a shared amount, while it lives.
#[derive(Debug)]
struct Taken<'a> {
    from: &'a AtomicU64,
    amount: u64,
}

impl<'a> Taken<'a> {
    /// `amount` of what may be `most` together; `None`: so much is not left.
    fn of(from: &'a AtomicU64, amount: u64, most: u64) -> Option<Self> {
        let taken = Self { from, amount };
        let before = from.fetch_add(amount, Ordering::AcqRel);
        (before.saturating_add(amount) <= most).then_some(taken)
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.from.fetch_sub(self.amount, Ordering::AcqRel);
    }
}

/// Binds the sockets of a server, TCP and UDP on the same port; nothing is answered before [`Server::run`]. No thread is
/// started: a process may still go into the background after this.
pub fn bind(settings: Settings, observer: Arc<dyn Observer>) -> Result<Server, EndpointError> {
    let (mut listeners, mut datagrams) = (Vec::new(), Vec::new());
    for address in &settings.listen {
        let listener = listener(*address)?;
        let bound = listener.local_addr().map_err(|cause| EndpointError::new(Step::Listen, *address, cause))?;
        datagrams.push(flows::bind(bound)?);
        listeners.push(listener);
    }
    // Best effort: with fewer descriptors fewer clients are served.
    socket::raise_descriptor_limit();
    let fail = |cause: rustix::io::Errno| EndpointError::new(Step::OpenSocket("event"), "this host", cause);
    let ended = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(fail)?;
    let shared = Shared {
        settings,
        observer,
        connections: Arc::default(),
        tests: Arc::default(),
        streams: AtomicU64::new(0),
        memory: AtomicU64::new(0),
        count: AtomicU64::new(0),
        waiting: Mutex::default(),
        flows: Flows::default(),
        stop: Stop::default(),
        ended,
    };
    Ok(Server { listeners, datagrams, shared: Arc::new(shared) })
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
    socket.set_nonblocking(true).map_err(fail)?;
    Ok(socket.into())
}

impl Server {
    /// Where it listens, ports filled in.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Serves until `stop`, or by itself where one test is all it is to serve; then ends every test.
    pub fn run(self, stop: &Stop) -> Result<(), EndpointError> {
        let Self { listeners, datagrams, shared } = self;
        thread::scope(|scope| {
            for listener in &listeners {
                let shared = &shared;
                scope.spawn(move || arrivals::accept(listener, shared));
            }
            for socket in datagrams {
                let shared = &shared;
                scope.spawn(move || flows::serve(socket, shared));
            }
            let mut idle_since = Monotonic::now();
            while !stop.requested() && !shared.stop.requested() {
                thread::park_timeout(GLANCE.into());
                let now = Monotonic::now();
                if shared.tests.load(Ordering::Acquire) > 0 {
                    idle_since = now;
                }
                if shared.settings.idle_timeout.is_some_and(|patience| now >= idle_since.after(patience)) {
                    shared.tell(&Event::Idle);
                    if shared.settings.one_off {
                        break;
                    }
                    idle_since = now;
                }
            }
            shared.end();
        });
        // The listeners are closed first: whoever comes now is refused by the kernel.
        drop(listeners);
        let give_up = Monotonic::now().after(END);
        while shared.connections.load(Ordering::Acquire) > 0 && Monotonic::now() < give_up {
            pace::sleep_until(Monotonic::now().after(Nanos::millis(5)));
        }
        Ok(())
    }
}
