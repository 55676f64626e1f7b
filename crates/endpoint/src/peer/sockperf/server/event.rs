//! What a server tells while it serves, and at its end.

use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

use measure::unit::Instant;
use protocol::sockperf::gaps::Seen;
use protocol::sockperf::server::Malformed;

/// Who is told what goes on, on the thread that it concerns: it waits meanwhile.
#[derive(Clone)]
pub struct Tell(pub Arc<dyn Fn(&Event) + Send + Sync>);

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tell(…)")
    }
}

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// A thread serves now. They are told in their order, each before any message is read by it.
    Serving {
        /// Which of the threads.
        thread: usize,
        /// Its number in the system.
        tid: u32,
        /// Which of the sockets are its own: places in [`super::Server::sockets`].
        sockets: Range<usize>,
    },
    /// What came is no message: forgotten, and of a connection the end. Told of the first ones only, see [`Totals::malformed`].
    Malformed {
        /// Where it came.
        at: SocketAddr,
        /// By a connection; else by a datagram.
        tcp: bool,
        /// From whom.
        from: Option<SocketAddr>,
        /// Why.
        what: Malformed,
    },
    /// A connection was closed at once, or could not be taken. Told of the first ones only.
    TurnedAway {
        /// Whose; absent where nobody could be taken.
        from: Option<SocketAddr>,
        /// Why.
        why: String,
    },
    /// An answer or a warm-up could not be sent. Told of the first ones only, see [`Totals::unsent`].
    Unsent {
        /// To whom.
        to: Option<SocketAddr>,
        /// What the system says.
        cause: std::io::Error,
    },
    /// A connection's buffers, where sizes were asked for.
    Buffers(Buffers),
    /// What a message told of its sender's gaps.
    Gaps {
        /// The sender.
        from: SocketAddr,
        /// What.
        seen: Seen,
    },
    /// Another [`super::settings::Settings::activity`] messages were handled.
    Activity {
        /// All messages by then: a multiple of that number.
        messages: u64,
        /// When.
        at: Instant,
    },
}

/// What the system made of a socket's buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// The socket's descriptor.
    pub descriptor: i32,
    /// `SO_RCVBUF`, bytes.
    pub receive: usize,
    /// `SO_SNDBUF`, bytes.
    pub send: usize,
}

/// What there is to tell at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Messages of clients, warm-ups not among them.
    pub messages: u64,
    /// Answers to datagrams that could not be sent.
    pub unsent: u64,
    /// Datagrams that were no message, wholly or at their end, and connections ended for such.
    pub malformed: u64,
    /// Datagrams that the kernel dropped, the receive buffer being full; `None` where it does not say.
    pub dropped: Option<u64>,
    /// Connections that were served.
    pub connections: u64,
    /// Connections that were closed at once.
    pub turned_away: u64,
    /// What did not come of each sender whose session lasted to the end, where gaps were looked for.
    pub missing: Vec<(SocketAddr, u64)>,
    /// Messages of senders beyond the bound, whose gaps were not looked for.
    pub unwatched: u64,
}
