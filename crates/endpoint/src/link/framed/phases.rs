//! The parts of requests with a connection each.

use std::sync::{Mutex, MutexGuard, PoisonError};

use measure::outcome::replies::Phases;
use measure::recorder::Values;
use measure::statistics::phase::phase;
use measure::unit::Nanos;

/// The parts of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The TCP handshake, or that of QUIC, which has that of TLS within it.
    pub connect: Nanos,
    /// TLS handshake; absent where it is part of another, as the greeting.
    pub tls: Option<Nanos>,
    /// True where TLS took up an earlier session; absent in clear.
    pub resumed: Option<bool>,
    /// The words of the protocol before the request.
    pub greeting: Option<Nanos>,
    /// From the request to the first octet of the reply.
    pub wait: Nanos,
    /// From there to the last one.
    pub receive: Nanos,
}

/// Those of all requests of a measurement. It is written between requests, never while one is timed.
#[derive(Debug, Default)]
pub struct Book {
    inner: Mutex<Columns>,
}

#[derive(Debug, Default)]
struct Columns {
    connect: Values,
    tls: Values,
    resumed: u64,
    secured: u64,
    greeting: Values,
    wait: Values,
    receive: Values,
}

impl Book {
    /// Adds those of a request.
    pub fn add(&self, parts: &Parts) {
        let mut columns = self.inner();
        columns.connect.record(parts.connect.0);
        parts.tls.iter().for_each(|time| columns.tls.record(time.0));
        columns.resumed += u64::from(parts.resumed == Some(true));
        columns.secured += u64::from(parts.resumed.is_some());
        parts.greeting.iter().for_each(|time| columns.greeting.record(time.0));
        columns.wait.record(parts.wait.0);
        columns.receive.record(parts.receive.0);
    }

    /// Returns all of them, for the record.
    pub fn told(&self) -> Phases {
        let columns = self.inner();
        let some = |times: &Values| (times.count() > 0).then(|| phase(times));
        Phases {
            connect: phase(&columns.connect),
            tls: some(&columns.tls),
            resumed: (columns.secured > 0).then_some(columns.resumed),
            greeting: some(&columns.greeting),
            wait: phase(&columns.wait),
            receive: phase(&columns.receive),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Columns> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
