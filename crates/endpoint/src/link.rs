//! Links over real sockets: what an engine sends through and waits on.

pub mod batching;
pub mod bulk;
pub mod clockwork;
pub mod datagram;
pub mod echo;
pub mod elsewhere;
pub mod framed;
pub mod handshake;
pub mod http3;
pub mod raw;
pub mod ring;
pub mod room;
pub mod stamping;
pub mod stream;
pub mod teller;
