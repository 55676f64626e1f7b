//! Facts of single things a measurement uses: its threads and its sockets. The host's are in [`crate::environment`].

pub mod process;
pub mod socket;
pub mod thread;
