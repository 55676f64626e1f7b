//! iperf 2's messages, both ends, without a socket. iperf 3 is another protocol and another folder.
//!
//! There is no control connection: every connection, and every flow of datagrams, begins with a header that tells the
//! server what to do. [`first`] is a connection's beginning and [`ack`] the server's acknowledgement; [`datagram`] is the
//! header of datagrams, [`fin`] the server's report, [`closing`] the exchange that asks for it and [`flow`] a server's
//! memory of a flow. [`bounce`] is requests and replies, which [`wire`] shows to an engine, and [`burst`] the pieces of a stream
//! with `--trip-times`. [`ask`] makes a client's headers, [`wish`] reads them.
//!
//! Source for all of it: the behaviour of iperf 2.1.8 (Debian 12's package) and 2.2.1, as captured on the wire. Where
//! they do different things, it is said. Numbers on the wire are big-endian.

pub mod ack;
pub mod ask;
pub mod bounce;
pub mod burst;
pub mod closing;
pub mod datagram;
pub mod fin;
pub mod first;
pub mod flag;
pub mod flow;
pub mod frame;
pub mod settings;
pub mod time;
pub mod wire;
pub mod wish;

mod word;

/// UDP or TCP port an iperf 2 server listens on unless told otherwise.
pub const PORT: u16 = 5_001;

/// Content of traffic, over and over.
pub const PATTERN: &[u8; 10] = b"0123456789";

/// Fills `content` with the pattern, as if it had begun `offset` octets earlier.
pub fn fill(content: &mut [u8], offset: usize) {
    for (place, octet) in content.iter_mut().enumerate() {
        *octet = PATTERN[(place + offset) % PATTERN.len()];
    }
}
