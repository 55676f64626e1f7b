//! netperf's control connection, both ends: its messages and their order, without a socket.
//!
//! A test is an [`ask`] to the server, its answer and the results at the end ([`answer`]), in any layout:
//! [`omni`](ask::Dialect::Omni), which every test but a few uses today, or one of the classic layouts. [`client`] and
//! [`server`] are the two ends as machines without I/O; [`data`] holds the facts about data connections that both must know.
//!
//! Every message, either way, is [`MESSAGE`] octets: two words of 32 bits and a body, big-endian, without a version, a
//! length or a checksum. Source for all of it: the behaviour of netperf and netserver 2.7.0 and 2.7.1 (its public
//! repository's head of July 2025), as captured on the wire; numbers of tests are netperf's own.

use measure::unit::Nanos;

pub mod answer;
pub mod ask;
mod classic;
pub mod client;
pub mod data;
pub mod error;
mod inbox;
mod kind;
mod message;
mod omni;
mod pass;
pub mod passphrase;
pub mod server;
pub mod system;

/// Octets of every message since netperf 2.6.
pub const MESSAGE: usize = 656;

/// Octets of every message before netperf 2.6.
pub const OLD_MESSAGE: usize = 256;

/// TCP port a netserver listens on unless told otherwise.
pub const PORT: u16 = 12865;

/// Longest wait for the rest of a message, once its first octets are here: a peer writes it in one piece, so a message that
/// is not whole by then is not of this size. The drivers' timers ask the sessions after it.
pub const REST: Nanos = Nanos::secs(5);
