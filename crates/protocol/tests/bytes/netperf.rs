//! netperf's control protocol against captures of the real program, against whatever a peer may send, and by properties.

mod captures;
mod client;
mod properties;
mod says;
mod server;
mod transcript;
