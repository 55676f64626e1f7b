//! Where everything stands in a packet: two modes, each with its own places (RFC 8762 sections 4.2 and 4.3, RFC 8972
//! section 3 for the session's identifier).

use super::key::{Key, SEAL};
use super::time::ErrorEstimate;

/// Octets of an unauthenticated packet without what may follow.
pub const BARE: usize = 44;
/// Octets of an authenticated one.
pub const SEALED: usize = 112;
/// Octets of the shortest packet of a TWAMP Light sender: number, time and error estimate.
pub const SHORTEST: usize = 14;
/// Octets of an answer of a TWAMP Light reflector: up to the TTL.
pub const LIGHT_ANSWER: usize = 41;
/// Octets of the shortest answer that holds all times: up to the packet's error estimate. Nokia's twampy ends there.
pub const SHORTEST_ANSWER: usize = 38;
/// Octets of the longest packet that a reflector looks at: what UDP can carry.
pub const LONGEST: usize = 65_507;

/// The places of one mode, as offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Octets of a packet without what may follow.
    pub length: usize,
    /// Time of departure, of either end.
    pub timestamp: usize,
    /// Its error estimate.
    pub error: usize,
    /// The session's identifier.
    pub session: usize,
    /// In answers: when the packet arrived.
    pub received: usize,
    /// In answers: the packet's number.
    pub number: usize,
    /// In answers: the packet's own time of departure.
    pub sent: usize,
    /// In answers: the packet's own error estimate.
    pub sent_error: usize,
    /// In answers: what was left of the packet's time to live.
    pub time_to_live: usize,
}

/// The places of unauthenticated packets.
pub const UNAUTHENTICATED: Layout = Layout {
    length: BARE,
    timestamp: 4,
    error: 12,
    session: 14,
    received: 16,
    number: 24,
    sent: 28,
    sent_error: 36,
    time_to_live: 40,
};

/// The places of authenticated packets; the seal stands in their last 16 octets.
pub const AUTHENTICATED: Layout = Layout {
    length: SEALED,
    timestamp: 16,
    error: 24,
    session: 26,
    received: 32,
    number: 48,
    sent: 64,
    sent_error: 72,
    time_to_live: 80,
};

impl Layout {
    /// The places of packets with a key, or without.
    pub fn of(key: Option<&Key>) -> &'static Self {
        if key.is_some() { &AUTHENTICATED } else { &UNAUTHENTICATED }
    }
}

/// `N` octets at `at`; what a short packet lacks is zero (RFC 8762 section 4.6).
pub fn take<const N: usize>(packet: &[u8], at: usize) -> [u8; N] {
    let mut octets = [0; N];
    let there = packet.get(at..packet.len().min(at + N)).unwrap_or_default();
    octets[..there.len()].copy_from_slice(there);
    octets
}

/// Puts octets to `at`, as far as the packet reaches.
pub fn put(packet: &mut [u8], at: usize, octets: &[u8]) {
    let end = packet.len().min(at + octets.len());
    if let Some(place) = packet.get_mut(at..end) {
        place.copy_from_slice(&octets[..place.len()]);
    }
}

/// Seals an authenticated packet.
pub fn seal(packet: &mut [u8], key: &Key) {
    if let Some((message, rest)) = packet.split_at_mut_checked(SEALED - SEAL)
        && let Some(place) = rest.first_chunk_mut()
    {
        *place = key.seal(message);
    }
}

/// Returns true where a packet is sealed by `key`.
pub fn is_sealed(packet: &[u8], key: &Key) -> bool {
    let parts = packet.split_at_checked(SEALED - SEAL);
    parts.is_some_and(|(message, rest)| rest.len() >= SEAL && key.verifies(message, &rest[..SEAL]))
}

/// The error estimate at `at`.
pub fn error(packet: &[u8], at: usize) -> ErrorEstimate {
    ErrorEstimate::decode(take(packet, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_short_packet_lacks_is_zero() {
        assert_eq!(take::<4>(&[1, 2, 3], 1), [2, 3, 0, 0]);
        assert_eq!(take::<4>(&[1, 2, 3], 9), [0; 4]);
    }

    #[test]
    fn what_does_not_fit_is_left_away() {
        let mut packet = [0; 4];
        put(&mut packet, 2, &[7, 8, 9]);
        put(&mut packet, 9, &[7]);
        assert_eq!(packet, [0, 0, 7, 8]);
    }

    #[test]
    fn the_seal_covers_all_before_it() {
        let key = Key::new(b"0123456789abcdef");
        let mut packet = [5; SEALED + 3];
        seal(&mut packet, &key);
        assert!(is_sealed(&packet, &key));
        for place in 0..SEALED {
            packet[place] ^= 1;
            assert!(!is_sealed(&packet, &key), "octet {place}");
            packet[place] ^= 1;
        }
        // Octets behind it have a seal of their own, where they have one.
        packet[SEALED] ^= 1;
        assert!(is_sealed(&packet, &key));
        assert!(!is_sealed(&packet[..SEALED - 1], &key));
    }
}
