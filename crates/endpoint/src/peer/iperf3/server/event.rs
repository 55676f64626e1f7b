//! What a server tells while it serves.

use std::net::SocketAddr;

use measure::throughput::Interval;
use protocol::iperf3::code::Code;
use protocol::iperf3::cookie::Cookie;
use protocol::iperf3::parameters::Parameters;
use protocol::iperf3::results::{Output, Results};

use crate::peer::iperf3::sockets::Connection;
use crate::peer::iperf3::streams::Ran;

/// Who is told what goes on, on the thread that it concerns, which waits meanwhile: the events of one test come in their
/// order, those of several at once in any.
pub trait Observer: Send + Sync {
    /// This happened.
    fn told(&self, event: &Event<'_>);

    /// What was printed of this test, where its client wants it: asked for just before the results are told.
    fn output(&self, test: u64) -> Option<Output> {
        let _ = test;
        None
    }
}

/// Nobody is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Observer for Nobody {
    fn told(&self, _: &Event<'_>) {}
}

/// Something that happened. Tests are numbered from 1.
#[derive(Debug)]
pub enum Event<'a> {
    /// A client made a control connection.
    Accepted {
        /// Its test.
        test: u64,
        /// Whence.
        from: SocketAddr,
        /// What tells its connections.
        cookie: &'a Cookie,
    },
    /// It asks for this, and may have it.
    Asked {
        /// Its test.
        test: u64,
        /// For what.
        parameters: &'a Parameters,
        /// Who, where the server lets in only those it knows.
        user: Option<&'a str>,
    },
    /// All streams are there, in this order; the test begins.
    Streams {
        /// Its test.
        test: u64,
        /// Which.
        connections: &'a [Connection],
        /// A congestion control that the client wants and this host does not have.
        no_congestion: Option<&'a str>,
    },
    /// A stream's interval went by.
    Interval {
        /// Its test.
        test: u64,
        /// Which stream, from 0 in the order of [`Event::Streams`].
        stream: usize,
        /// What was carried in it.
        interval: &'a Interval,
    },
    /// The streams have run: the test is over, results are told, or it was cut short.
    Ran {
        /// Its test.
        test: u64,
        /// When the streams were let go, nanoseconds since 1970.
        began_wall: u64,
        /// What each brought.
        streams: &'a [Ran],
        /// What our end tells of it.
        ours: &'a Results,
        /// What the client told; `None`: it did not come to that, which [`Event::Failed`] tells.
        theirs: Option<&'a Results>,
    },
    /// The test is over and the client content.
    Done {
        /// Its test.
        test: u64,
    },
    /// The test, or what was to be one, ended otherwise.
    Failed {
        /// Its test.
        test: u64,
        /// iperf3's number for it.
        code: Code,
        /// What happened.
        why: &'a str,
    },
    /// A connection was closed at once: it belonged to no test, or there were too many.
    TurnedAway {
        /// Whose; absent where nobody could be taken.
        from: Option<SocketAddr>,
        /// Why.
        why: &'a str,
    },
    /// There was no test for as long as the settings say.
    Idle,
}
