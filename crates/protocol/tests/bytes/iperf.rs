//! iperf 2's messages against captures of the real program, and by properties.

mod captures;
mod datagrams;
mod properties;
mod transcript;
