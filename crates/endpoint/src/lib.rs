//! Sockets and loops: the engines that measure, the reflector that answers, and the facts of the host they run on.
//!
//! The only crate with `unsafe`. No async runtime; nothing between a stamp and a socket but the call itself.

pub mod clock;
pub mod signal;
