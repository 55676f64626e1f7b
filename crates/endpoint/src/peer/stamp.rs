//! STAMP (RFC 8762) on real sockets: a session-sender for the engines, and a session-reflector.

pub mod reflector;
pub mod sender;
