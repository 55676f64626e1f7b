//! Our own session: a control connection that agrees on a method, and data that carries a token.
//!
//! Every TCP connection to the one port opens with a [`preamble`]. A control connection continues with a Noise
//! handshake where there is a [`key`] or an [`identity`], then with [`frame`]s that hold JSON [`message`]s; [`client`]
//! and [`server`] are its two ends as machines without I/O, and [`limits`] is the server's check of a request. Data
//! messages open with a [`header`], and [`reply`] decides how each is answered; a session of [`stream`]s has none. With
//! a key each datagram is authenticated by a [`mac`]. `docs/protocol/native.md` describes the same octet by octet.

mod channel;
pub mod client;
mod conversation;
pub mod error;
pub mod frame;
pub mod header;
pub mod identity;
pub mod key;
pub mod limits;
pub mod mac;
pub mod message;
pub mod noise;
pub mod preamble;
pub mod reply;
pub mod server;
pub mod stranger;
pub mod stream;

/// The port of the native protocol: not assigned to anyone by IANA.
pub const PORT: u16 = 7663;
