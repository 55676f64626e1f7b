//! For tests only: a virtual clock, a path whose every fault is known, and links over it that the real engines run on.
//!
//! Time stands still but where something waits, chance comes from a seed, and what the path did is kept beside
//! ([`link::Network::passages`]): a test injects, and the recorder must say exactly that. Nothing here reads the
//! machine's clock or starts a thread; what touches the machine is [`client`], which speaks to a reflector over real
//! sockets, and [`skip`], which tells what could not be tested.

pub mod bulk;
pub mod client;
pub mod clock;
pub mod console;
pub mod form;
pub mod link;
pub mod path;
pub mod peer;
pub mod skip;
pub mod transcript;
