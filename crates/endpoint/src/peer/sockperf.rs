//! sockperf's messages on real sockets.

pub mod client;
pub mod server;
