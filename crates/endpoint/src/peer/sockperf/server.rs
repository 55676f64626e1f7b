//! A sockperf server: any number of clients at once, by datagrams, connections and groups.
//!
//! `protocol::sockperf::server` handles the messages; here are its sockets and threads. No state of a client is kept
//! between its datagrams, so clients cannot disturb each other; a connection that has said something has a thread and a
//! buffer, and their number is limited. Nothing from the network ends the server.

mod askers;
pub mod bound;
mod datagrams;
pub mod event;
pub mod settings;
mod stream;
mod tally;

use std::net::{Shutdown, SocketAddr};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use measure::unit::{Instant, Nanos};
use protocol::sockperf::message::HEADER;
use rustix::thread::gettid;

use crate::clock::Monotonic;
use crate::error::{EndpointError, Step};
use crate::pace;
use crate::serve::open_sockets::OpenSockets;
use crate::serve::{FOR_EVER, FirstMessage, Hall};
use crate::socket::option;
use crate::stop::Stop;
use crate::thread::{check_allowed, cpu_for, settle};
use bound::{Bound, Kind};
use event::{Event, Totals};
use settings::Settings;
use tally::Tally;

/// Longest wait of the end for connections to be read up to the messages that have arrived by then.
const END: Nanos = Nanos::secs(1);
/// Silence after which all messages sent before the end count as arrived.
const QUIET: Nanos = Nanos::millis(20);

/// A server whose sockets are bound.
#[derive(Debug)]
pub struct Server {
    sockets: Vec<Bound>,
    shared: Arc<Shared>,
}

/// State that all its threads share.
#[derive(Debug)]
struct Shared {
    settings: Settings,
    hall: Hall,
    open: OpenSockets,
    tally: Tally,
    /// True where messages that have arrived and were not read are abandoned.
    given_up: AtomicBool,
}

impl Shared {
    fn given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// Connections end once what their clients have sent is read; those that go on sending, or do not read, when `END` is
    /// over.
    fn end_connections(&self) {
        let give_up = Monotonic::now().after(END);
        self.await_quiet(give_up);
        self.open.end(Shutdown::Read);
        self.hall.end(give_up.since(Monotonic::now()).unwrap_or_default().max(QUIET));
        self.given_up.store(true, Ordering::Relaxed);
        self.open.end(Shutdown::Both);
        self.hall.end(END);
    }

    /// Waits until nothing has come for [`QUIET`]: what a client has written may still be on its way.
    fn await_quiet(&self, give_up: Instant) {
        let mut quiet_at = Monotonic::now().after(QUIET);
        loop {
            let now = Monotonic::now();
            if !self.open.is_quiet() {
                quiet_at = now.after(QUIET);
            }
            if now >= quiet_at.min(give_up) || self.hall.served() == 0 {
                return;
            }
            pace::sleep_until(now.after(Nanos::millis(2)));
        }
    }
}

/// Binds the sockets of a server; nothing is answered before [`Server::run`]. No thread is started: a process may still
/// go into the background after this.
pub fn bind(settings: Settings) -> Result<Server, EndpointError> {
    check_allowed(&settings.cpus)?;
    let sockets = bound::open_all(&settings)?;
    let most = settings.limits.connections_of(settings.rules.largest);
    let first = FirstMessage { patience: FOR_EVER, rest: FOR_EVER, needs: |_| HEADER };
    let hall = Hall::new(most)?.served_once_they_speak(first)?.with_book(&settings.door.book);
    let shared = Shared {
        hall,
        open: OpenSockets::default(),
        tally: Tally::of(&settings),
        given_up: AtomicBool::new(false),
        settings,
    };
    Ok(Server { sockets, shared: Arc::new(shared) })
}

impl Server {
    /// Its sockets, in the order of the places asked for.
    pub fn sockets(&self) -> &[Bound] {
        &self.sockets
    }

    /// Returns the addresses it listens at, ports filled in.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.sockets.iter().flat_map(|socket| socket.listens.iter().copied()).collect()
    }

    /// Serves until `stop`, then what has come by then; what there is to tell of it.
    pub fn run(self, stop: &Stop) -> Result<Totals, EndpointError> {
        let Self { sockets, shared } = self;
        if shared.settings.multicast.warm_up {
            for socket in &sockets {
                datagrams::warm_up(socket, &shared);
            }
        }
        shared.hall.stop.follow(stop);
        let started = thread::scope(|scope| {
            let started = deal(sockets.len(), shared.settings.threads)
                .into_iter()
                .enumerate()
                .try_for_each(|(thread, range)| start(scope, &sockets, thread, range, &shared));
            if started.is_ok() {
                shared.hall.stop.wait(Instant::NEVER);
            }
            started
        });
        let dropped = dropped(&sockets);
        // The listeners are closed first: the kernel refuses later clients.
        drop(sockets);
        shared.end_connections();
        started.map(|()| Totals { dropped, ..shared.tally.end() })
    }
}

/// Datagrams that the kernel dropped at all sockets; `None` where it does not say so for each.
fn dropped(sockets: &[Bound]) -> Option<u64> {
    let datagrams = sockets.iter().filter(|socket| socket.kind != Kind::Tcp);
    datagrams.map(|socket| option::dropped(socket.fd()).ok().map(u64::from)).sum()
}

/// Rows of neighbours among `sockets`, one for each thread, none empty; the first ones have one more where they must.
fn deal(sockets: usize, threads: u32) -> Vec<Range<usize>> {
    let threads = (threads.max(1) as usize).min(sockets);
    let mut start = 0;
    let row = |thread: usize| {
        let length = sockets / threads + usize::from(thread < sockets % threads);
        let row = start..start + length;
        start = row.end;
        row
    };
    (0..threads).map(row).collect()
}

/// Starts the threads of one row of sockets and returns when they serve: one for all its datagrams, one that accepts its
/// connections.
fn start<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    sockets: &'scope [Bound],
    thread: usize,
    range: Range<usize>,
    shared: &'scope Arc<Shared>,
) -> Result<(), EndpointError> {
    let (listeners, datagrams): (Vec<&Bound>, Vec<&Bound>) =
        sockets[range.clone()].iter().partition(|socket| socket.kind == Kind::Tcp);
    let cpu = cpu_for(&shared.settings.cpus, thread as u32);
    let (ready, is_ready) = channel();
    let serving = Serving { thread, range, ready };
    let with_listeners = if datagrams.is_empty() {
        Some(serving)
    } else {
        spawn(scope, shared, move || {
            let _pinned = settle(cpu, "server");
            serving.tell(shared);
            datagrams::serve(&datagrams, shared);
        })?;
        None
    };
    if !listeners.is_empty() {
        spawn(scope, shared, move || {
            let _pinned = settle(cpu, "server");
            if let Some(serving) = with_listeners {
                serving.tell(shared);
            }
            stream::accept(&listeners, shared);
        })?;
    }
    // A thread that cannot say so has ended, which it does only with the server.
    let _ended = is_ready.recv();
    Ok(())
}

fn spawn<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    shared: &Shared,
    body: impl FnOnce() + Send + 'scope,
) -> Result<(), EndpointError> {
    let thread = thread::Builder::new().name("sonde-sockperf".into()).spawn_scoped(scope, body);
    thread.map(drop).map_err(|cause| {
        // Those that run already are not waited for without an end.
        shared.hall.stop.request();
        EndpointError::new(Step::StartThread, "this host", cause)
    })
}

/// Report of a thread as it begins.
struct Serving {
    thread: usize,
    range: Range<usize>,
    ready: Sender<()>,
}

impl Serving {
    fn tell(self, shared: &Shared) {
        let tid = gettid().as_raw_nonzero().get().cast_unsigned();
        shared.tally.tell(&Event::Serving { thread: self.thread, tid, sockets: self.range });
        // The one who started it waits for this.
        let _told = self.ready.send(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case(4, 2 => vec![0..2, 2..4]; "even")]
    #[test_case(5, 2 => vec![0..3, 3..5]; "odd")]
    #[test_case(2, 8 => vec![0..1, 1..2]; "more threads than sockets")]
    #[test_case(3, 0 => vec![0..3]; "none asked for")]
    #[test_case(0, 3 => Vec::<Range<usize>>::new(); "nothing to serve")]
    fn sockets_are_dealt_out_in_rows(sockets: usize, threads: u32) -> Vec<Range<usize>> {
        deal(sockets, threads)
    }
}
