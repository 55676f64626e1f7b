//! sockperf's messages, both ends: their form and their handling, without a socket.
//!
//! There is no handshake, no version and no end of a test: a client sends messages, each a [`message::Header`] and some
//! payload, and a server gives those back that ask for it ([`server`]). A datagram holds one message, a connection one
//! after the other ([`stream`]). [`wire`] is the client's side as an engine sees it; [`payload`], [`feed`] and
//! [`playback`] are the content, targets and times of a client's messages; [`gaps`] is a server's view of loss, and
//! [`count`], which is ours alone, its count for a client that asks.
//!
//! Source for all of it: the behaviour of sockperf 3.7 (Debian's package) and 3.10 (its public repository's head of
//! January 2024), as captured on the wire. Their bytes are the same; where they do different things, it is said.

pub mod count;
pub mod feed;
pub mod gaps;
pub mod message;
pub mod numbering;
pub mod payload;
pub mod playback;
pub mod server;
pub mod stream;
pub mod wire;

/// UDP or TCP port a sockperf server listens on unless told otherwise.
pub const PORT: u16 = 11_111;
