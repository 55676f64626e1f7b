//! Sockets and loops: the engines that measure, the reflector that answers, and the facts of the host they run on.
//!
//! The only crate with `unsafe`. No async runtime; nothing between a stamp and a socket but the call itself.

pub mod clock;
pub mod control;
pub mod cpu_usage;
pub mod daemon;
pub mod echoes;
pub mod engine;
pub mod environment;
pub mod error;
pub mod facts;
pub mod forwarder;
pub mod hops;
pub mod link;
pub mod name;
pub mod pace;
pub mod peer;
pub mod probe;
pub mod prober;
pub mod random;
pub mod reach;
pub mod reflector;
pub mod resolution;
pub mod rtt;
pub mod sandbox;
pub mod serve;
pub mod session;
pub mod signal;
pub mod socket;
pub mod stop;
pub mod syn;
pub mod tcp_info;
pub mod thread;
pub mod throughput;
pub mod wire;
