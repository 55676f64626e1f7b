//! STAMP (RFC 8762, with the header parts of RFC 8972): test packets that carry four times to and fro.
//!
//! A session-sender puts the time of its departure into a packet ([`sender`]), a session-reflector adds those of its
//! arrival and of the answer's departure ([`reflector`]). Each packet is as long as its answer, so that no reflector
//! makes more of what it is sent. There is no control channel: port, mode and key are agreed on beforehand.
//!
//! Packets of TWAMP Light (RFC 5357, appendix I) are the unauthenticated ones without their last octets.
//!
//! Not here: what the four times say of the clocks (`measure::clock_offset`), sockets, clocks.

pub mod key;
pub mod layout;
pub mod part;
pub mod reflector;
pub mod sender;
pub mod share;
pub mod time;
pub mod tlv;

/// The port of a session-reflector where nothing else is agreed on (RFC 8762 section 4.1). Below 1,024: listening
/// there needs a privilege.
pub const PORT: u16 = 862;
