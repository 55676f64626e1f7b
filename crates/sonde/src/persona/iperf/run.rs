//! What runs: a client, a server, and what both tell of their streams.

pub mod client;
pub mod parts;
pub mod place;
pub mod server;
pub mod sums;
pub mod teller;
