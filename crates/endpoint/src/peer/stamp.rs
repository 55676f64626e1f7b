//! STAMP (RFC 8762) on real sockets: a session-sender for the engines, a session-reflector, and a control connection of TWAMP.

pub mod control;
pub mod reflector;
pub mod sender;
