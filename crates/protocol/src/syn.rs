//! Packets on their own: probes of a host without a connection, and what comes back for them.
//!
//! [`segment`] writes and reads those of TCP (RFC 9293 section 3), [`delivered`] is how a link hands one over with all that
//! it knows of its way, and [`probe`] is the wire: which answer belongs to which probe. [`datagram`] is the same for
//! datagrams of UDP, [`echoed`] for echo requests of ICMP.

pub mod datagram;
pub mod delivered;
pub mod echoed;
pub mod probe;
pub mod segment;
