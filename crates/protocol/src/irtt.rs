//! irtt's datagrams (protocol version 1, as irtt 0.9 speaks it), both ends: the opening of a session, its packets, its end.
//!
//! All numbers are little-endian. A packet begins with a magic number and flags; with a key a seal follows. Behind them stand the
//! session's token, the packet's number, the server's count of packets and its times, each only where it was asked for. The server
//! decides on the parameters of the session: it may answer less often, shorter or without times, and says so in its reply.

pub mod fill;
pub mod key;
mod md5;
pub mod opening;
pub mod parameters;
pub mod reply;
pub mod server;
pub mod session;

/// UDP port of a server.
pub const PORT: u16 = 2112;
/// Version of the protocol; both ends have to have the same.
pub const VERSION: i64 = 1;
/// Octets that a session's packet has at least, without a key.
pub const BARE: usize = 52;
/// The same with a key.
pub const SEALED: usize = BARE + key::SEAL;

const MAGIC: [u8; 3] = [0x14, 0xa7, 0x5b];
/// Octets in front of the seal.
const HEAD: usize = MAGIC.len() + 1;

/// Bits of the flags.
const OPEN: u8 = 1;
const REPLY: u8 = 2;
const CLOSE: u8 = 4;
const SEALED_FLAG: u8 = 8;

/// The flags of a datagram, and where its fields begin; `None`: it is none of irtt's, or its seal is not as expected.
fn head(datagram: &[u8], key: Option<&key::Key>) -> Option<(u8, usize)> {
    let (magic, rest) = datagram.split_first_chunk::<3>()?;
    let (flags, _) = rest.split_first()?;
    if *magic != MAGIC || *flags > OPEN | REPLY | CLOSE | SEALED_FLAG {
        return None;
    }
    let sealed = flags & SEALED_FLAG != 0;
    match key {
        Some(key) if sealed && key.is_seal_of(datagram) => Some((*flags, HEAD + key::SEAL)),
        None if !sealed => Some((*flags, HEAD)),
        _ => None,
    }
}

/// A datagram with these flags and fields, sealed where there is a key.
fn datagram(flags: u8, fields: &[&[u8]], key: Option<&key::Key>) -> Vec<u8> {
    let mut datagram = MAGIC.to_vec();
    datagram.push(flags | if key.is_some() { SEALED_FLAG } else { 0 });
    datagram.resize(if key.is_some() { HEAD + key::SEAL } else { HEAD }, 0);
    for field in fields {
        datagram.extend_from_slice(field);
    }
    if let Some(key) = key {
        key.seal(&mut datagram);
    }
    datagram
}
