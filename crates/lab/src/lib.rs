//! Hosts and campaigns: where a plan's ends are, and how they are reached.
//!
//! A host is reached by a command prefix (nothing, `ip netns exec`, `ssh`, …), never by a protocol of ours.
//! [`namespace`] makes two hosts out of one machine, [`chain`] three, of which the middle one forwards. Not here: sockets and engines (`endpoint`), what is kept
//! (`logbook`), what is told (`report`).

pub mod chain;
pub mod cloud;
pub mod kubernetes;
pub mod namespace;
pub mod transport;
pub mod trial;
