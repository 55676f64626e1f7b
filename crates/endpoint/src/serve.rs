//! One way to be a server: listening sockets, admission, a limit on connections, a thread for each that has said
//! something, and the end.
//!
//! All waits here are waits for events: an unused server is not woken. Messages over a connection do not belong here: a
//! peer brings their protocol, with its limits and its reports to those who watch.

mod accept;
pub mod book;
pub mod datagrams;
pub mod door;
pub mod gate;
pub mod listen;
pub mod mailbox;
pub mod open_sockets;
pub mod places;
pub mod pool;
mod silent;
pub mod sources;
pub mod visits;

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;

use measure::served::RefusalReason;
use measure::unit::{Instant, Nanos};
use socket2::Socket;

use crate::clock::Monotonic;
use crate::error::{EndpointError, Step};
use crate::socket;
use crate::stop::Stop;
use crate::thread::share_memory;
use accept::{Arrival, Reception};
use book::Book;
use pool::Pool;
pub use silent::FirstMessage;
use silent::{Awaited, Silence, SilentConnections};
use visits::{Gone, Visit, Visits};

/// A shortage (of descriptors, of memory) is waited out in steps of this, instead of asking again and again.
pub const SHORTAGE: Nanos = Nanos::millis(20);

/// A patience without an end.
pub const FOR_EVER: Nanos = Nanos(u64::MAX);

/// Connections of one server, served until the end of all: a limited number, each on a thread of its own. In a protocol
/// whose client speaks first, a connection has no thread until it does. [`visits`] says which connection gives way
/// where there is no room.
#[derive(Debug)]
pub struct Hall {
    /// The end of this server; each wait here ends with it.
    pub stop: Stop,
    /// The threads, for what is served beside connections too.
    pub pool: Arc<Pool>,
    most: u32,
    visits: Visits,
    one_by_one: bool,
    /// First message that a client must send before it is served; absent where the server speaks first.
    silence: Option<Silence>,
    /// Book in which refusals are kept.
    book: Book,
}

/// Reason for which a client is not served.
#[derive(Debug, thiserror::Error)]
pub enum TurnedAway {
    /// No connection can be accepted at the moment.
    #[error("cannot accept a connection: {0}")]
    NotAccepted(io::Error),
    /// As many are served as may be.
    #[error("the limit of {most} connections is reached")]
    Full {
        /// Limit on connections.
        most: u32,
        /// The one that is closed behind this.
        connection: Arc<Socket>,
    },
    /// It gave way to one that came later.
    #[error(
        "the limit of {most} connections is reached: {}",
        if *known { "its address held more than half of them" } else { "it had sent no request yet" }
    )]
    GaveWay {
        /// Limit on connections.
        most: u32,
        /// True where it was being served, its address having more than its share.
        known: bool,
    },
    /// There is no thread for it.
    #[error("cannot start a thread: {0}")]
    NoThread(io::Error),
}

impl TurnedAway {
    fn reason(&self) -> RefusalReason {
        match self {
            Self::NotAccepted(_) | Self::NoThread(_) => RefusalReason::Unable,
            Self::Full { .. } => RefusalReason::Full,
            Self::GaveWay { .. } => RefusalReason::GaveWay,
        }
    }
}

impl Hall {
    /// For `most` connections at once, of a server that does not run yet; no thread is started. This process may have as many
    /// descriptors as the system grants from here on: each client takes one.
    pub fn new(most: u32) -> Result<Self, EndpointError> {
        // Best effort: with fewer descriptors fewer clients are served.
        socket::raise_descriptor_limit();
        share_memory();
        let stop = Stop::default();
        stop.event().map_err(no_event)?;
        Ok(Self {
            stop,
            pool: Arc::default(),
            most,
            visits: Visits::new(most, Nanos::ZERO),
            one_by_one: false,
            silence: None,
            book: Book::default(),
        })
    }

    /// Sets that connections are served one after the other, on the thread that accepts them: the next waits to be
    /// accepted.
    #[must_use]
    pub fn one_by_one(self, one_by_one: bool) -> Self {
        Self { one_by_one, ..self }
    }

    /// Keeps refusals in `book`.
    #[must_use]
    pub fn with_book(self, book: &Book) -> Self {
        Self { book: book.clone(), ..self }
    }

    /// It is the client that speaks first: a connection is served once its `first` message is here, it ends, or the patience for that is
    /// over. Where nothing has come in the latter two the job is done by the thread that accepts, and finds nothing that it would have
    /// to wait for.
    ///
    /// # Errors
    /// A system that has no descriptor left to wait for them with.
    pub fn served_once_they_speak(self, first: FirstMessage) -> Result<Self, EndpointError> {
        Ok(Self { silence: Some(Silence::new(first).map_err(no_event)?), ..self })
    }

    /// Has each connection to one of `listeners` served until the end, which comes with `stop` at the latest. `job` says what
    /// is done with a connection to the listener of this number, if anything, and says of its [`Visit`] when its client is known;
    /// who cannot be served is `turned_away`.
    pub fn serve<'a, J: FnOnce(&Visit) + Send + 'static>(
        &self,
        listeners: impl IntoIterator<Item = &'a Socket>,
        stop: &Stop,
        job: impl FnMut(usize, Arc<Socket>, SocketAddr) -> Option<J>,
        turned_away: impl FnMut(Option<SocketAddr>, TurnedAway),
    ) -> Result<(), EndpointError> {
        self.stop.follow(stop);
        let silent = self.silence.as_ref().map(SilentConnections::new);
        let waiting = silent.as_ref().map(SilentConnections::events);
        let mut desk = Desk { hall: self, job, turned_away, silent };
        let waiting = waiting.as_ref().map(|events| events.as_fd());
        let served = accept::accept(listeners, &self.stop, waiting, &mut desk).map_err(no_event);
        // Ends the other waits for it too, whatever ended this one.
        self.stop.request();
        // All who have said something by then are heard.
        while desk.attend_some() {}
        served
    }

    /// The same for those who had connected to `listeners` before the end, and were not accepted by then.
    pub fn serve_rest<'a, J: FnOnce(&Visit) + Send + 'static>(
        &self,
        listeners: impl IntoIterator<Item = &'a Socket>,
        job: impl FnMut(usize, Arc<Socket>, SocketAddr) -> Option<J>,
        turned_away: impl FnMut(Option<SocketAddr>, TurnedAway),
    ) {
        let mut desk = Desk { hall: self, job, turned_away, silent: None };
        for (number, listener) in listeners.into_iter().enumerate() {
            accept::rest(listener, |arrival| desk.arrived(number, arrival));
        }
    }

    fn carry_out(&self, visit: Visit, job: impl FnOnce(&Visit) + Send + 'static) -> io::Result<()> {
        let body = move || job(&visit);
        if self.one_by_one {
            body();
            return Ok(());
        }
        self.pool.serve(body)
    }

    /// Number of connections being served.
    pub fn served(&self) -> u64 {
        self.visits.count()
    }

    /// Ends everything here; `patience` is the longest wait for connections. The listeners should be closed by now: the
    /// kernel refuses later clients. A connection that its client holds up is left behind.
    pub fn end(&self, patience: Nanos) {
        self.stop.request();
        self.pool.close();
        self.visits.await_empty(Monotonic::now().after(patience));
    }
}

/// Reception of a hall's clients.
struct Desk<'a, J, M, T> {
    hall: &'a Hall,
    job: M,
    turned_away: T,
    /// Those who have to speak first, and have not.
    silent: Option<SilentConnections<J>>,
}

impl<J, M, T> Desk<'_, J, M, T>
where
    J: FnOnce(&Visit) + Send + 'static,
    M: FnMut(usize, Arc<Socket>, SocketAddr) -> Option<J>,
    T: FnMut(Option<SocketAddr>, TurnedAway),
{
    fn turn_away(&mut self, from: Option<SocketAddr>, why: TurnedAway) {
        self.hall.book.refuse(from, why.reason(), &why);
        (self.turned_away)(from, why);
    }

    /// Some of those whose wait is over; whether there were any.
    fn attend_some(&mut self) -> bool {
        let awaited = self.silent.as_mut().map(SilentConnections::take).unwrap_or_default();
        let were_any = !awaited.is_empty();
        for Awaited { visit, job, has_spoken } in awaited {
            if has_spoken { self.carry_out(visit, job) } else { job(&visit) }
        }
        were_any
    }

    /// Serves it; without a thread the connection is closed, which is all that can be signalled to the client.
    fn carry_out(&mut self, visit: Visit, job: J) {
        let from = visit.from();
        if let Err(error) = self.hall.carry_out(visit, job) {
            self.turn_away(Some(from), TurnedAway::NoThread(error));
        }
    }
}

impl<J, M, T> Reception for Desk<'_, J, M, T>
where
    J: FnOnce(&Visit) + Send + 'static,
    M: FnMut(usize, Arc<Socket>, SocketAddr) -> Option<J>,
    T: FnMut(Option<SocketAddr>, TurnedAway),
{
    fn arrived(&mut self, number: usize, arrival: Arrival) {
        let (connection, from) = match arrival {
            Ok(arrival) => arrival,
            Err(error) => return self.turn_away(None, TurnedAway::NotAccepted(error)),
        };
        let (connection, most) = (Arc::new(connection), self.hall.most);
        let Some((visit, gone)) = self.hall.visits.enter(&connection, from) else {
            return self.turn_away(Some(from), TurnedAway::Full { most, connection });
        };
        if let Some(Gone { from, known }) = gone {
            self.turn_away(Some(from), TurnedAway::GaveWay { most, known });
            // A connection that has said nothing is informed only here: its place has to be free for those who come
            // next.
            self.attend();
        }
        let Some(job) = (self.job)(number, Arc::clone(&connection), from) else { return };
        let Some(silent) = &mut self.silent else {
            drop(connection);
            return self.carry_out(visit, job);
        };
        if let Err(error) = silent.keep(connection, visit, job) {
            self.turn_away(Some(from), TurnedAway::NotAccepted(error));
        }
    }

    fn attend(&mut self) {
        self.attend_some();
    }

    fn due(&self) -> Instant {
        self.silent.as_ref().map_or(Instant::NEVER, SilentConnections::due)
    }
}

fn no_event(cause: io::Error) -> EndpointError {
    EndpointError::new(Step::OpenSocket("event"), "this host", cause)
}
