//! sockperf's messages on real sockets.

pub mod server;
