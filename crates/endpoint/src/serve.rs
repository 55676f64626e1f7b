//! One way to be a server: sockets that listen, who is let in, how many at once, a thread for each, and the end.
//!
//! Whatever waits here waits for events: a server that nobody uses is not woken. What is said over a connection is no
//! matter of this room: a peer brings that, with its bounds and what it tells those who watch.

mod accept;
pub mod gate;
pub mod listen;
pub mod mailbox;
pub mod open_sockets;
pub mod places;
pub mod pool;
pub mod sources;
pub mod visits;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use measure::unit::Nanos;
use socket2::Socket;

use crate::clock::Monotonic;
use crate::error::{EndpointError, Step};
use crate::socket;
use crate::stop::Stop;
use crate::thread::share_memory;
use accept::Arrival;
use pool::Pool;
use visits::{Gone, Visit, Visits};

/// A shortage (of descriptors, of memory) is waited out in steps of this, instead of asking again and again.
pub const SHORTAGE: Nanos = Nanos::millis(20);

/// Where connections of one server are served: so many at once, each on a thread of its own, until the end of all. Who gives
/// way where there is no room is said in [`visits`].
#[derive(Debug)]
pub struct Hall {
    /// The end of this server. What it waits for is waited for along with it.
    pub stop: Stop,
    /// The threads, for what is served beside connections too.
    pub pool: Arc<Pool>,
    most: u32,
    visits: Visits,
    one_by_one: bool,
}

/// Why somebody is not served.
#[derive(Debug, thiserror::Error)]
pub enum TurnedAway {
    /// Nobody can be let in at the moment.
    #[error("cannot accept a connection: {0}")]
    NotAccepted(io::Error),
    /// As many are served as may be.
    #[error("{most} connections are served already")]
    Full {
        /// How many.
        most: u32,
        /// The one that is closed behind this.
        connection: Arc<Socket>,
    },
    /// It gave way to one that came later.
    #[error("{most} connections are served already: {}", if *known { "its address had more than half of them" } else { "it had asked for nothing yet" })]
    GaveWay {
        /// How many.
        most: u32,
        /// Whether it was served, its address having more than its share.
        known: bool,
    },
    /// There is no thread for it.
    #[error("cannot start a thread: {0}")]
    NoThread(io::Error),
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
        Ok(Self { stop, pool: Arc::default(), most, visits: Visits::new(most, Nanos::ZERO), one_by_one: false })
    }

    /// One connection after the other, on the thread that accepts them: who comes meanwhile waits to be accepted.
    #[must_use]
    pub fn one_by_one(self, one_by_one: bool) -> Self {
        Self { one_by_one, ..self }
    }

    /// Has each connection to one of `listeners` served until the end, which comes with `stop` at the latest. `job` says what
    /// is done with a connection to the listener of this number, if anything, and says of its [`Visit`] when its client is known;
    /// who cannot be served is `turned_away`.
    pub fn serve<'a, J: FnOnce(&Visit) + Send + 'static>(
        &self,
        listeners: impl IntoIterator<Item = &'a Socket>,
        stop: &Stop,
        mut job: impl FnMut(usize, Arc<Socket>, SocketAddr) -> Option<J>,
        mut turned_away: impl FnMut(Option<SocketAddr>, TurnedAway),
    ) -> Result<(), EndpointError> {
        self.stop.follow(stop);
        let arrived = |number, arrival| self.attend(number, arrival, &mut job, &mut turned_away);
        let served = accept::accept(listeners, &self.stop, arrived).map_err(no_event);
        // Whoever waits for it beside this, however this came to its end.
        self.stop.request();
        served
    }

    /// The same for those who had connected to `listeners` before the end, and were not accepted by then.
    pub fn serve_rest<'a, J: FnOnce(&Visit) + Send + 'static>(
        &self,
        listeners: impl IntoIterator<Item = &'a Socket>,
        mut job: impl FnMut(usize, Arc<Socket>, SocketAddr) -> Option<J>,
        mut turned_away: impl FnMut(Option<SocketAddr>, TurnedAway),
    ) {
        for (number, listener) in listeners.into_iter().enumerate() {
            accept::rest(listener, |arrival| self.attend(number, arrival, &mut job, &mut turned_away));
        }
    }

    fn attend<J: FnOnce(&Visit) + Send + 'static>(
        &self,
        number: usize,
        arrival: Arrival,
        job: &mut impl FnMut(usize, Arc<Socket>, SocketAddr) -> Option<J>,
        turned_away: &mut impl FnMut(Option<SocketAddr>, TurnedAway),
    ) {
        let (connection, from) = match arrival {
            Ok(arrival) => arrival,
            Err(error) => return turned_away(None, TurnedAway::NotAccepted(error)),
        };
        let connection = Arc::new(connection);
        let Some((visit, gone)) = self.visits.enter(&connection, from) else {
            return turned_away(Some(from), TurnedAway::Full { most: self.most, connection });
        };
        if let Some(Gone { from, known }) = gone {
            turned_away(Some(from), TurnedAway::GaveWay { most: self.most, known });
        }
        let Some(job) = job(number, connection, from) else { return };
        // Without a thread the connection is closed, which tells the client as much as can be told.
        if let Err(error) = self.carry_out(visit, job) {
            turned_away(Some(from), TurnedAway::NoThread(error));
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

    /// How many connections are served.
    pub fn served(&self) -> u64 {
        self.visits.count()
    }

    /// The end, which everything here is told; `patience` is how long connections are waited for. The listeners should be
    /// closed by now: who comes then is refused by the kernel. A connection that its client holds up is left behind.
    pub fn end(&self, patience: Nanos) {
        self.stop.request();
        self.pool.close();
        self.visits.await_empty(Monotonic::now().after(patience));
    }
}

fn no_event(cause: io::Error) -> EndpointError {
    EndpointError::new(Step::OpenSocket("event"), "this host", cause)
}
