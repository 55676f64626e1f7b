//! iperf3's protocol on real sockets, both ends: what the machines of `protocol::iperf3` say, and streams on the bulk engine.
//!
//! Both ends run a test's streams alike, a thread for each: what they share is how a test ends (`course`), how a data
//! socket is set up ([`sockets`]), the threads ([`streams`]) and what is told afterwards (`tell`).

pub mod client;
mod course;
pub mod server;
pub mod sockets;
pub mod streams;
mod tell;
