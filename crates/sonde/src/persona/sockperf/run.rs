//! Where words meet sockets: one run of either end.

pub mod client;
pub mod server;
mod teller;
