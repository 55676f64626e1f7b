//! Links over real sockets: what an engine sends through and waits on.

pub mod batching;
pub mod bulk;
pub mod clockwork;
pub mod datagram;
pub mod handshake;
pub mod ring;
pub mod stamping;
pub mod stream;
