//! Links over real sockets: what an engine sends through and waits on.

pub mod clockwork;
pub mod datagram;
pub mod handshake;
pub mod stamping;
pub mod stream;
