//! Where words meet sockets: one run of the client, one of the server.
//!
//! The client hands each iteration's facts to what prints; the server says where it listens and serves.

pub mod client;
pub mod facts;
pub mod places;
pub mod record;
pub mod server;
pub mod task;
