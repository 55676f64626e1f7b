//! TCP segments on their own: probes of a port without a connection, and what comes back for them (RFC 9293 section 3).
//!
//! [`segment`] writes and reads them, [`delivered`] is how a link hands one over with all that it knows of its way, and
//! [`probe`] is the wire: which answer belongs to which probe.

pub mod delivered;
pub mod probe;
pub mod segment;
