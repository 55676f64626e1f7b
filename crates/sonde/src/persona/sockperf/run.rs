//! Runs over sockets: one of either end.

pub mod client;
pub mod server;
mod teller;
