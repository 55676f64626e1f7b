//! An iperf3 server: any number of tests at once, a thread for each control connection and one for each stream.
//!
//! The first 37 octets of a connection show its test (`arrivals`): a further stream of one, or a new test. Flows of
//! datagrams are known by the address they come from alone (`flows`): one client's tests open theirs one after the
//! other. `test` has the course of a test, and its end. Nothing waits without bound, and nothing from the network ends
//! the server. Nothing is printed: an [`Observer`] receives the events.

mod arrivals;
mod control;
pub mod event;
mod flows;
pub mod settings;
mod test;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use measure::served::RefusalReason;
use measure::unit::{Instant, Nanos};
use socket2::Socket;

use self::event::{Event, Observer};
use self::flows::Flows;
use self::settings::Settings;
use crate::clock::Monotonic;
use crate::error::{Cause, EndpointError, Step};
use crate::link::bulk::make_spare;
use crate::serve::places::Places;
use crate::serve::visits::{Visit, Visits};
use crate::serve::{Hall, listen};
use crate::stop::Stop;

/// Longest wait for the threads at the end: each checks every tenth of a second, and tests have results to send.
const END: Nanos = Nanos::secs(2);

/// A client that has said its cookie says what it wants within this, or gives way where another has come.
const PEACE: Nanos = Nanos::secs(1);

/// A server whose sockets are bound.
#[derive(Debug)]
pub struct Server {
    listeners: Vec<Socket>,
    datagrams: Vec<Socket>,
    shared: Arc<Shared>,
}

/// State that all its threads share.
struct Shared {
    settings: Settings,
    observer: Arc<dyn Observer>,
    /// Connections that are attended to, whatever they are; tests; threads of streams; bytes of their buffers.
    hall: Hall,
    tests: Visits,
    streams: Places,
    memory: Places,
    /// Tests so far: the number of the next.
    count: AtomicU64,
    /// End of the latest of them, or the start of the server: an [`Instant`].
    idle_since: AtomicU64,
    /// Those that wait for connections, by their cookies.
    waiting: Mutex<arrivals::Waiting>,
    flows: Flows,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, arrivals::Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection is closed at once.
    fn refuse(&self, from: SocketAddr, reason: RefusalReason, why: &str) {
        self.settings.door.book.refuse(Some(from), reason, &why);
        self.tell(&Event::TurnedAway { from: Some(from), why });
    }

    fn tell(&self, event: &Event<'_>) {
        self.observer.told(event);
    }

    fn test_ended(&self) {
        self.idle_since.store(Monotonic::now().0, Ordering::Release);
    }

    /// Tells each time that there was no test for `patience`; a server for one test ends then.
    fn watch_idleness(&self, patience: Nanos) {
        let mut due = Monotonic::now().after(patience);
        while !self.hall.stop.wait(due) {
            let now = Monotonic::now();
            let idle_since = Instant(self.idle_since.load(Ordering::Acquire));
            due = if self.tests.count() > 0 { now.after(patience) } else { idle_since.after(patience) };
            if due <= now {
                self.tell(&Event::Idle);
                if self.settings.one_off {
                    return self.hall.stop.request();
                }
                self.test_ended();
                due = now.after(patience);
            }
        }
    }
}

/// Binds the sockets of a server, TCP and UDP on the same port; nothing is answered before [`Server::run`]. No thread is
/// started: a process may still go into the background after this.
pub fn bind(settings: Settings, observer: Arc<dyn Observer>) -> Result<Server, EndpointError> {
    make_spare();
    let (mut listeners, mut datagrams) = (Vec::new(), Vec::new());
    for address in &settings.listen {
        let (listener, flows) = open(*address, &settings)?;
        datagrams.push(flows);
        listeners.push(listener);
    }
    let shared = Shared {
        hall: Hall::new(settings.limits.connections)?
            .served_once_they_speak(arrivals::FIRST)?
            .with_book(&settings.door.book),
        tests: Visits::new(settings.limits.tests, PEACE),
        streams: Places::new(settings.limits.streams),
        memory: Places::told_at(settings.limits.buffer_bytes, settings.door.book.memory()),
        settings,
        observer,
        count: AtomicU64::new(0),
        idle_since: AtomicU64::new(0),
        waiting: Mutex::default(),
        flows: Flows::default(),
    };
    Ok(Server { listeners, datagrams, shared: Arc::new(shared) })
}

/// The sockets of an address, of connections and of datagrams. A free port of TCP's may be taken in UDP: where the system chooses, another is
/// tried.
fn open(address: SocketAddr, settings: &Settings) -> Result<(Socket, Socket), EndpointError> {
    let mut tries = if address.port() == 0 { 32 } else { 1 };
    loop {
        tries -= 1;
        match open_once(address, settings) {
            Err(EndpointError { cause: Cause::System(cause), .. })
                if tries > 0 && cause.kind() == ErrorKind::AddrInUse => {}
            ended => return ended,
        }
    }
}

fn open_once(address: SocketAddr, settings: &Settings) -> Result<(Socket, Socket), EndpointError> {
    let gate = &settings.door.gate;
    // Whoever is not let in by address is not let in over several paths either.
    let listener = if settings.multipath && gate.0.is_empty() {
        listen::multipath_listener(address)?
    } else {
        listen::listener(address, gate)?
    };
    let bound = listener.local_addr().map_err(|cause| EndpointError::new(Step::Listen, address, cause))?;
    let flows = flows::bind(bound.as_socket().unwrap_or(address), gate)?;
    Ok((listener, flows))
}

impl Server {
    /// Returns the addresses it listens at, ports filled in.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        listen::addresses(&self.listeners)
    }

    /// Serves until `stop`, or by itself where one test is all it is to serve; then ends every test.
    pub fn run(self, stop: &Stop) -> Result<(), EndpointError> {
        let Self { listeners, datagrams, shared } = self;
        shared.test_ended();
        let served = thread::scope(|scope| {
            for socket in datagrams {
                let shared = &shared;
                scope.spawn(move || flows::serve(socket, shared));
            }
            if let Some(patience) = shared.settings.idle_timeout {
                let shared = &shared;
                scope.spawn(move || shared.watch_idleness(patience));
            }
            let mut place = 0;
            let attend = |_, connection: Arc<Socket>, from| {
                place += 1;
                let (place, shared) = (place, Arc::clone(&shared));
                Some(move |visit: &Visit| arrivals::greet(connection, from, place, &shared, visit))
            };
            shared.hall.serve(&listeners, stop, attend, |from, why| arrivals::turn_away(from, &why, &shared))
        });
        drop(listeners);
        shared.hall.end(END);
        served
    }
}
