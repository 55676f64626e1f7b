//! iperf 2 on real sockets, both ends. The messages are in `protocol::iperf`; here are the sockets, the threads and the
//! ways that the bulk engine streams over.

mod course;
mod datagram;
pub mod framed;
mod tcp;
mod varied;

pub mod client;
pub mod server;

/// Octets of a write or a read over TCP, and of a datagram over IPv4 and IPv6, unless told otherwise.
pub mod usual {
    /// Over a connection.
    pub const WRITE: usize = 128 << 10;
    /// In a datagram over IPv4.
    pub const DATAGRAM: usize = 1_470;
    /// In a datagram over IPv6.
    pub const DATAGRAM_V6: usize = 1_450;
    /// Bits a second of datagrams.
    pub const RATE: u64 = 1 << 20;
}
