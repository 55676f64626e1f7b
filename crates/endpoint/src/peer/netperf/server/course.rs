//! End of a test that its client did not end.
//!
//! The client ends most tests by closing its data connection, or by an empty datagram. Some it cannot end (connections
//! per transaction, the classic tests), and some ends get lost. A netserver then waits four seconds beyond the length
//! of the test; we wait until nothing has come for a while after it, which is over sooner and cuts off no client.

use std::cell::Cell;
use std::os::fd::AsFd;

use measure::unit::{Instant, Nanos};
use protocol::netperf::ask::{Carrier, Dialect, Length};
use protocol::netperf::data::PAD;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::test::Setting;
use crate::clock::Monotonic;

/// Longest wait for the first data: a client may be set to wait before it sends (`netperf -s`). Shorter than a client's
/// wait for results: one whose data never arrives learns it.
const FIRST: Nanos = Nanos::secs(60);
/// Silence beyond the test's length that ends it: data that left the client before its end have arrived by then. The
/// server's time starts with the client's first data, so the path's delay does not count.
const QUIET: Nanos = Nanos::millis(250);
/// Silence that ends a test without a length of time. A client waits 120 s for its results.
const IDLE: Nanos = Nanos::secs(100);

/// Cause of a test's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Nothing has come for long enough.
    Quiet,
    /// Nothing ever came.
    Unused,
    /// The client is gone, or the netserver stops: no client waits for results.
    Abandoned,
}

/// Watches over one test.
#[derive(Debug)]
pub struct Course<'a> {
    setting: &'a Setting<'a>,
    opened: Instant,
    length: Option<Nanos>,
    quiet: Nanos,
    began: Cell<Option<Instant>>,
    progress: Cell<u64>,
    active: Cell<Instant>,
    over: Cell<Option<Over>>,
}

impl<'a> Course<'a> {
    /// A test that the client has just been told to begin.
    pub fn new(setting: &'a Setting<'a>) -> Self {
        let ask = setting.ask;
        let now = Monotonic::now();
        let length = match ask.length {
            Length::Seconds(seconds) => Some(Nanos::secs(u64::from(seconds))),
            Length::UntilTold | Length::Count(_) => None,
        };
        // Over TCP the client closes, perhaps late: its data may still be in buffers on the path.
        let closes = ask.carrier == Carrier::Tcp
            && !ask.per_connection
            && (ask.dialect == Dialect::Omni || ask.server_sends != ask.server_receives);
        Self {
            setting,
            opened: now,
            length,
            quiet: if closes { PAD } else { QUIET },
            began: Cell::new(None),
            progress: Cell::new(0),
            active: Cell::new(now),
            over: Cell::new(None),
        }
    }

    /// The first data are here: the test's time starts now.
    pub fn begin(&self) -> Instant {
        let now = Monotonic::now();
        self.began.set(Some(now));
        self.active.set(now);
        now
    }

    /// Returns the arrival of the first data; `None`: none came.
    pub fn began(&self) -> Option<Instant> {
        self.began.get()
    }

    /// Checks for the end of the test, after a tenth of a second without data or of data; `progress` is any number that
    /// grows while the test continues. `Some`: the test is over.
    pub fn over(&self, progress: u64) -> Option<Over> {
        let over = self.judge(progress);
        self.over.set(self.over.get().or(over));
        over
    }

    /// Returns the time of the latest arrival.
    pub fn active(&self) -> Instant {
        self.active.get()
    }

    /// Returns the cause of the test's end; `None`: no end was found.
    pub fn why(&self) -> Option<Over> {
        self.over.get()
    }

    fn judge(&self, progress: u64) -> Option<Over> {
        if self.setting.stop.requested() || self.client_is_gone() {
            return Some(Over::Abandoned);
        }
        let now = Monotonic::now();
        if self.progress.replace(progress) != progress {
            self.active.set(now);
        }
        let silence = now.since(self.active.get()).unwrap_or_default();
        match (self.began.get(), self.length) {
            (None, _) => (now >= self.opened.after(FIRST)).then_some(Over::Unused),
            (Some(began), Some(length)) => (now >= began.after(length) && silence >= self.quiet).then_some(Over::Quiet),
            (Some(_), None) => (silence >= IDLE).then_some(Over::Quiet),
        }
    }

    /// A client that waits for its results says nothing on the control connection, and does not close it.
    fn client_is_gone(&self) -> bool {
        match recv(self.setting.control.as_fd(), &mut [0_u8; 1][..], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok((count, _)) => count == 0,
            Err(Errno::AGAIN | Errno::INTR) => false,
            Err(_) => true,
        }
    }
}
