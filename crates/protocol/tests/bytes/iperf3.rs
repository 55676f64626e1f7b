//! Both ends of iperf3's control connection: against captures of the real one, against each other, and against nonsense.

mod captures;
mod client;
mod login;
mod server;
mod transcript;
