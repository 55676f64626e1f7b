//! iperf3's control connection, both ends, and the formats of its data streams: bytes, without a socket.
//!
//! A test is a [`cookie`], the [`parameters`] that the client asks for, streams, and the [`results`] that each end
//! tells the other; one-octet [`state`]s order the steps. [`client`] and [`server`] are the two ends as machines
//! without I/O, [`datagram`] is the beginning and numbering of UDP streams, [`login`] the token that a server may ask
//! of a client, [`code`] the numbers by which either reports an error.
//!
//! The JSON is framed by four octets of length, big-endian. Source for all of it: the behaviour of iperf3 3.12, 3.21 and
//! the development head after it, as captured on the wire; numbers and keys are iperf3's own.

use measure::unit::Nanos;

pub mod client;
pub mod code;
pub mod cookie;
pub mod datagram;
pub mod error;
mod frame;
pub mod json;
pub mod login;
pub mod parameters;
pub mod results;
pub mod server;
pub mod state;

/// Port of a server unless told otherwise: control and data over TCP, data over UDP.
pub const PORT: u16 = 5201;

/// Longest wait for the next octet of a message, once its first ones are here. The drivers' timers ask the sessions.
pub const REST: Nanos = Nanos::secs(10);

/// Octets of parameters that a server reads at most; a client that sends more is refused.
pub const LONGEST_PARAMETERS: usize = 8_192;

/// Octets of a client's results that a server reads at most: the size for 128 streams each way, with room.
pub const LONGEST_CLIENT_RESULTS: usize = 256 << 10;

/// Octets of a server's results that a client reads at most. They hold the server's own output where that was asked for:
/// about a hundred thousand intervals of it.
pub const LONGEST_SERVER_RESULTS: usize = 32 << 20;

/// The number that stream `index`, from 0 in the order they were opened, has in the results: 1, 3, 4, 5 and so on, without 2.
pub const fn stream_id(index: usize) -> i64 {
    if index == 0 { 1 } else { index as i64 + 2 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_is_no_stream_2() {
        assert_eq!([0, 1, 2, 3].map(super::stream_id), [1, 3, 4, 5]);
    }
}
