//! Runs: a client, a server, and the lines of both on their streams.

pub mod client;
pub mod parts;
pub mod place;
pub mod server;
pub mod sums;
pub mod teller;
