//! iperf3's protocol on real sockets, both ends: the messages of `protocol::iperf3`, and streams on the bulk engine.
//!
//! Both ends run a test's streams alike, a thread for each. They share the end of a test (`course`), the set-up of a
//! data socket ([`sockets`]), the threads ([`streams`]) and the report afterwards (`tell`).

pub mod client;
mod course;
pub mod server;
pub mod sockets;
pub mod streams;
mod tell;
