//! A netserver: any number of netperfs at once, a thread for each control connection whose first message is here, which also runs
//! its tests.
//!
//! `protocol::netperf::server` reads the requests; here are its sockets. A test that makes no sense, or that this host
//! cannot do, is answered with the system's error number, and the client may ask again. No wait for a client is
//! endless, but for one that is idle between tests: the system itself probes its connection (`SO_KEEPALIVE`).

mod connections;
mod control;
mod course;
mod data;
mod exchange;
mod stream;
mod test;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use measure::unit::Nanos;
use protocol::netperf::passphrase::Passphrase;
use protocol::netperf::server::PASSPHRASE;
use protocol::netperf::{MESSAGE, REST};
use socket2::Socket;

use crate::error::EndpointError;
use crate::link::bulk::make_spare;
use crate::serve::door::Door;
use crate::serve::places::Places;
use crate::serve::visits::Visit;
use crate::serve::{FOR_EVER, FirstMessage, Hall, listen};
use crate::stop::Stop;

/// Longest wait for the threads at the end: each checks every tenth of a second.
const END: Nanos = Nanos::secs(1);

/// Settings of a netserver.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Addresses to listen at. The wildcard of IPv6 serves IPv4 too.
    pub listen: Vec<SocketAddr>,
    /// Networks that are served, and the book of the clients.
    pub door: Door,
    /// Passphrase that a client must send first; absent: none.
    pub passphrase: Option<Passphrase>,
    /// Its bounds.
    pub limits: Limits,
    /// True where clients are served one after the other: the next waits to be accepted.
    pub serial: bool,
    /// Listener to the log; absent: none.
    pub log: Option<Log>,
}

impl Settings {
    /// Listening at `listen`, no passphrase, usual limits.
    pub fn at(listen: SocketAddr) -> Self {
        Self {
            listen: vec![listen],
            door: Door::default(),
            passphrase: None,
            limits: Limits::default(),
            serial: false,
            log: None,
        }
    }
}

/// Limits of a netserver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Control connections at once; for one more a stranger gives way, or it is closed at once: see [`crate::serve::visits`]. Each whose
    /// first message is here has a thread.
    pub clients: u32,
    /// Bytes of memory of one test's buffers. A request for more is answered `ENOMEM`.
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

/// Listener to the log, a line at a time, called on the thread of the client.
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
    listeners: Vec<Socket>,
    shared: Arc<Shared>,
}

/// State that all its threads share.
#[derive(Debug)]
struct Shared {
    settings: Settings,
    /// Control connections, each attended to by a thread.
    hall: Hall,
    /// Bytes of buffers in use.
    memory: Places,
}

impl Shared {
    fn log(&self, who: SocketAddr, what: impl fmt::Display) {
        if let Some(log) = &self.settings.log {
            (log.0)(&format!("{who}: {what}"));
        }
    }
}

/// Binds the sockets of a netserver; nothing is answered before [`Netserver::run`]. No thread is started: a process may
/// still go into the background after this.
pub fn bind(settings: Settings) -> Result<Netserver, EndpointError> {
    make_spare();
    let listeners = settings
        .listen
        .iter()
        .map(|address| listen::listener(*address, &settings.door.gate))
        .collect::<Result<_, _>>()?;
    let patience = settings.passphrase.as_ref().map_or(FOR_EVER, |_| PASSPHRASE);
    // Clients older than netperf 2.6 say less, and receive the reason why that is not enough.
    let needs = |part: &[u8]| if part.is_empty() { 1 } else { MESSAGE };
    let first = FirstMessage { patience, rest: REST, needs };
    let hall = Hall::new(settings.limits.clients)?.one_by_one(settings.serial).served_once_they_speak(first)?;
    let hall = hall.with_book(&settings.door.book);
    let shared =
        Shared { memory: Places::told_at(settings.limits.all_bytes, settings.door.book.memory()), settings, hall };
    Ok(Netserver { listeners, shared: Arc::new(shared) })
}

impl Netserver {
    /// Returns the addresses it listens at, ports filled in.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        listen::addresses(&self.listeners)
    }

    /// Serves until `stop`, then ends every test.
    pub fn run(self, stop: &Stop) -> Result<(), EndpointError> {
        let Self { listeners, shared } = self;
        let at = listen::addresses(&listeners)[0];
        let attend = |_, connection: Arc<Socket>, from| {
            let shared = Arc::clone(&shared);
            if !control::greet(&connection, from, &shared) {
                return None;
            }
            Some(move |visit: &Visit| control::attend(&connection, from, &shared, visit))
        };
        let turned_away = |from: Option<SocketAddr>, why| shared.log(from.unwrap_or(at), format!("turned away: {why}"));
        let served = shared.hall.serve(&listeners, stop, attend, turned_away);
        drop(listeners);
        shared.hall.end(END);
        served
    }
}
