//! Counts of the servers of a running process so far.

use std::collections::BTreeMap;

use crate::unit::{Bytes, Nanos};

/// All servers of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Beginning of counting, nanoseconds since 1970.
    pub since_ns: Nanos,
    /// Its threads now; absent where the system does not say.
    pub threads: Option<u64>,
    /// Its resident memory now; absent likewise.
    pub resident_bytes: Option<Bytes>,
    /// Each server, by its name.
    pub servers: BTreeMap<&'static str, ServerCounts>,
}

/// Counts of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerCounts {
    /// Sessions that began; absent where its protocol has none.
    pub opened: Option<u64>,
    /// Those that ended, by how: only ways that have occurred.
    pub ended: BTreeMap<SessionEnd, u64>,
    /// Clients that were refused, by why: only reasons that have occurred.
    pub refused: BTreeMap<RefusalReason, u64>,
    /// Requests answered; absent where it is not told.
    pub answered: Option<u64>,
    /// Octets of messages that came. Those of a session count from its end.
    pub received: Bytes,
    /// Octets of messages that were sent, likewise.
    pub sent: Bytes,
    /// Messages that made no sense, and datagrams that belong to no session; absent where they are not counted.
    pub malformed: Option<u64>,
    /// Octets of such datagrams, and of clients that were refused for their messages; absent likewise. Malformed
    /// messages within a session are counted by messages alone.
    pub malformed_bytes: Option<Bytes>,
    /// Memory for the messages of sessions; absent where it is not granted by session.
    pub memory: Option<Memory>,
}

/// Memory that sessions may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Those that are open.
    pub now: Bytes,
    /// The most so far.
    pub most: Bytes,
}

/// End of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionEnd {
    /// As its client wanted.
    Closed,
    /// Its client was gone, or said nothing more.
    Lost,
    /// It lasted as long as it may.
    Duration,
    /// Nothing was heard of it for too long.
    Idle,
    /// Others needed its room.
    GaveWay,
    /// The server stopped.
    Stopping,
    /// Something went wrong.
    Fault,
}

impl SessionEnd {
    /// Its name where it is counted.
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Lost => "lost",
            Self::Duration => "duration",
            Self::Idle => "idle",
            Self::GaveWay => "gave_way",
            Self::Stopping => "stopping",
            Self::Fault => "fault",
        }
    }
}

/// Reason to refuse a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalReason {
    /// It comes from no network that is served.
    Network,
    /// Its key, passphrase or login is not right.
    Key,
    /// Its request is above a limit.
    Limit,
    /// Others have all the room.
    Full,
    /// Others needed its room.
    GaveWay,
    /// Its messages made no sense, or it sent none.
    Protocol,
    /// This host or server cannot do it.
    Unable,
}

impl RefusalReason {
    /// Its name where it is counted.
    pub fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Key => "key",
            Self::Limit => "limit",
            Self::Full => "full",
            Self::GaveWay => "gave_way",
            Self::Protocol => "protocol",
            Self::Unable => "unable",
        }
    }
}
