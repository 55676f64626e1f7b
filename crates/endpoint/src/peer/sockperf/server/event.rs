//! Events of a server while it serves, and its totals at the end.

use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

use measure::unit::Instant;
use protocol::sockperf::gaps::Seen;
use protocol::sockperf::server::Malformed;

/// Listener to the events, called on the thread that they concern, which waits for it.
#[derive(Clone)]
pub struct Tell(pub Arc<dyn Fn(&Event) + Send + Sync>);

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tell(…)")
    }
}

/// Event of a server.
#[derive(Debug)]
pub enum Event {
    /// A thread serves now. These events come in the threads' order, each before the thread reads any message.
    Serving {
        /// Number of the thread.
        thread: usize,
        /// Its number in the system.
        tid: u32,
        /// Sockets that are its own: places in [`super::Server::sockets`].
        sockets: Range<usize>,
    },
    /// Octets arrived that are no message: dropped, and on a connection the end. Only the first ones are reported, see
    /// [`Totals::malformed`].
    Malformed {
        /// Local address.
        at: SocketAddr,
        /// True over a connection, false by a datagram.
        tcp: bool,
        /// Address of the sender.
        from: Option<SocketAddr>,
        /// Defect of the message.
        what: Malformed,
    },
    /// A connection was closed at once, or could not be accepted. Only the first ones are reported.
    TurnedAway {
        /// Address of the client; absent where no connection could be accepted.
        from: Option<SocketAddr>,
        /// Reason, in words.
        why: String,
    },
    /// An answer or a warm-up could not be sent. Only the first ones are reported, see [`Totals::unsent`].
    Unsent {
        /// Destination.
        to: Option<SocketAddr>,
        /// The system's error.
        cause: std::io::Error,
    },
    /// A connection's buffers, where sizes were asked for.
    Buffers(Buffers),
    /// Gaps that a message showed in its sender's numbers.
    Gaps {
        /// The sender.
        from: SocketAddr,
        /// Gaps found.
        seen: Seen,
    },
    /// Another [`super::settings::Settings::activity`] messages were handled.
    Activity {
        /// All messages by then: a multiple of that number.
        messages: u64,
        /// Time of the last of them.
        at: Instant,
    },
}

/// Buffer sizes that the system granted a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// The socket's descriptor.
    pub descriptor: i32,
    /// `SO_RCVBUF`, bytes.
    pub receive: usize,
    /// `SO_SNDBUF`, bytes.
    pub send: usize,
}

/// Totals of a server at its end.
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
    /// Number of missing messages of each sender whose session lasted to the end, where gaps were looked for.
    pub missing: Vec<(SocketAddr, u64)>,
    /// Messages of senders beyond the limit, whose gaps were not looked for.
    pub unwatched: u64,
}
