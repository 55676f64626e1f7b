//! Facts about the data connections that both ends must know. No data of a test has a header: the engine's
//! [`Bare`](crate::wire::Bare) wire takes it in order.

use measure::unit::Nanos;

/// Content of the data, over and over, running on from one call to the next. Nobody looks at it.
pub const PATTERN: &[u8; 8] = b"netperf\0";

/// A UDP test is ended by so many datagrams of no octets from the client; one is enough for the server.
pub const END_DATAGRAMS: usize = 3;

/// A server that receives waits so much longer than a timed test lasts, from its [`Ready`](super::answer::Ready) on. Also how
/// long it accepts the first connection, so a client must not dawdle.
pub const PAD: Nanos = Nanos::secs(4);

/// Connections that wait to be accepted by the server.
pub const BACKLOG: u32 = 5;

/// The largest message of UDP over IPv4, octets: the most a server sends by one call unless it is told a size.
pub const LARGEST_DATAGRAM: u32 = 65_507;

/// Ports a client takes in turn for a connection per transaction, from a random one on; the server's is left out.
pub const CLIENT_PORTS: std::ops::RangeInclusive<u16> = 5_000..=65_535;
