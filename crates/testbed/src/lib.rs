//! For tests only: a virtual clock, a path whose every fault is known, and links over it that the real engines run on.
//!
//! Time stands still but where something waits, chance comes from a seed, and what the path did is kept beside
//! ([`link::Network::passages`]): a test injects, and the recorder must say exactly that. The modules that touch the machine
//! stand apart: [`client`], which speaks to a reflector over real sockets, [`process`], [`port`] and [`wait`], for programs,
//! [`servers`], [`slow`], [`template`] and [`certificate`], for those of others, [`page`], for the documentation, and [`skip`], which tells what could
//! not be tested.

pub mod bulk;
pub mod certificate;
pub mod client;
pub mod clock;
pub mod console;
pub mod corpus;
pub mod drive;
pub mod form;
pub mod link;
pub mod page;
pub mod path;
pub mod peer;
pub mod port;
pub mod process;
pub mod servers;
pub mod skip;
pub mod slow;
pub mod template;
pub mod transcript;
pub mod wait;
