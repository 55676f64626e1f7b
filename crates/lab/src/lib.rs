//! Hosts and campaigns: where a plan's ends are, and how they are reached.
//!
//! A host is reached by a command prefix (nothing, `ip netns exec`, `ssh`, …), never by a protocol of ours.
//! [`inventory`] reads lists of hosts that others keep, [`document`] the YAML that some of them are written in,
//! [`pairs`] tells which hosts of a plan measure each other, [`rounds`] which of them at the same time and in which order.
//! [`namespace`] makes two hosts out of one machine, [`chain`] three, of which the middle one forwards. Not here: sockets and engines (`endpoint`), what is kept
//! (`logbook`), what is told (`report`).

pub mod agent;
pub mod campaign;
pub mod chain;
mod child;
pub mod document;
pub mod inventory;
pub mod namespace;
pub mod network;
pub mod own;
pub mod pairs;
pub mod rounds;
pub mod transport;
pub mod trial;
