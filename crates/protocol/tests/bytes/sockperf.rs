//! sockperf's messages against captures of the real program, against whatever a network may bring, and by properties.

mod captures;
mod gaps;
mod server;
mod stream;
mod transcript;
