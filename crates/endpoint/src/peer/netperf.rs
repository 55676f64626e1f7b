//! netperf's protocol on real sockets: tests that its control connection asks for, set up and measured by the engines
//! that serve every protocol.

pub mod client;
pub mod server;
