//! Events of a server.

use std::net::SocketAddr;

use measure::throughput::Interval;
use protocol::iperf3::code::Code;
use protocol::iperf3::cookie::Cookie;
use protocol::iperf3::parameters::Parameters;
use protocol::iperf3::results::{Output, Results};

use crate::peer::iperf3::sockets::Connection;
use crate::peer::iperf3::streams::Ran;

/// Observer of the events, called on the thread of the test, which waits for it. The events of one test come in their
/// order, those of parallel tests in any.
pub trait Observer: Send + Sync {
    /// This happened.
    fn told(&self, event: &Event<'_>);

    /// Returns the output printed for this test, where its client wants it: asked for just before the results are sent.
    fn output(&self, test: u64) -> Option<Output> {
        let _ = test;
        None
    }
}

/// Observer that ignores all events.
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
        /// Address of the client.
        from: SocketAddr,
        /// Cookie that its connections share.
        cookie: &'a Cookie,
    },
    /// It asks for this, and may have it.
    Asked {
        /// Its test.
        test: u64,
        /// Parameters of the test.
        parameters: &'a Parameters,
        /// User, where the server admits only known users.
        user: Option<&'a str>,
    },
    /// All streams are there, in this order; the test begins.
    Streams {
        /// Its test.
        test: u64,
        /// Streams, in their order.
        connections: &'a [Connection],
        /// A congestion control that the client wants and this host does not have.
        no_congestion: Option<&'a str>,
    },
    /// A stream's interval went by.
    Interval {
        /// Its test.
        test: u64,
        /// Number of the stream, from 0 in the order of [`Event::Streams`].
        stream: usize,
        /// Payload of the interval.
        interval: &'a Interval,
    },
    /// The streams have run: the test is over and results are exchanged, or it was cut short.
    Ran {
        /// Its test.
        test: u64,
        /// Wall clock at the start of the streams, nanoseconds since 1970.
        began_wall: u64,
        /// Result of each stream.
        streams: &'a [Ran],
        /// Results of our end.
        ours: &'a Results,
        /// Results of the client; `None`: none came, and [`Event::Failed`] says why.
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
        /// iperf3's number for the failure.
        code: Code,
        /// Failure, in words.
        why: &'a str,
    },
    /// A connection was closed at once: it belonged to no test, or there were too many.
    TurnedAway {
        /// Address of the client; absent where no connection could be accepted.
        from: Option<SocketAddr>,
        /// Reason, in words.
        why: &'a str,
    },
    /// There was no test for as long as the settings say.
    Idle,
}
