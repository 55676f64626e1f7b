//! What may follow a packet: optional parts of a type, a length and a value each (RFC 8972 section 4), or plain padding.
//!
//! A reflector gives back what it was sent, and says of each part what it made of it. Of all types padding alone is known
//! here; the others come back as not known, which is what their sender then knows.

/// Octets in front of a part's value: flags, type, length.
pub const HEAD: usize = 4;
/// The type of padding (RFC 8972 section 4.1).
pub const EXTRA_PADDING: u8 = 1;

/// The sender sets it, and a reflector that knows the type clears it.
const UNKNOWN: u8 = 0x80;
/// The length goes beyond the packet: nothing behind it was read.
const MALFORMED: u8 = 0x40;

/// Writes one part of padding that fills all of `rest`, or zeros where that has no room for its head.
pub fn pad(rest: &mut [u8]) {
    rest.fill(0);
    let value = rest.len().saturating_sub(HEAD);
    if let (Some(head), Ok(length)) = (rest.first_chunk_mut::<HEAD>(), u16::try_from(value)) {
        let [high, low] = length.to_be_bytes();
        *head = [UNKNOWN, EXTRA_PADDING, high, low];
    }
}

/// Marks in `rest`, a copy of what followed a packet, what a reflector made of each part. What does not begin as parts do
/// is plain padding and stays as it is.
pub fn mark(rest: &mut [u8]) {
    if rest.first().is_none_or(|flags| flags & UNKNOWN == 0) {
        return;
    }
    let mut at = 0;
    while let Some(part) = rest.get_mut(at..).filter(|part| !part.is_empty()) {
        let Some([flags, kind, high, low]) = part.first_chunk::<HEAD>().copied() else {
            part[0] |= MALFORMED;
            return;
        };
        let known = if kind == EXTRA_PADDING { flags & !UNKNOWN } else { flags | UNKNOWN };
        let length = HEAD + usize::from(u16::from_be_bytes([high, low]));
        part[0] = if length > part.len() { known | MALFORMED } else { known };
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(&[], &[]; "nothing")]
    #[test_case(&[0, 0, 0], &[0, 0, 0]; "padding of zeros")]
    #[test_case(&[0x41, 0x80, 9, 9], &[0x41, 0x80, 9, 9]; "padding of anything")]
    #[test_case(&[0x80, 1, 0, 2, 5, 5], &[0, 1, 0, 2, 5, 5]; "padding that says so is known")]
    #[test_case(&[0x80, 2, 0, 1, 5], &[0x80, 2, 0, 1, 5]; "a location is not")]
    #[test_case(&[0x80, 1, 0, 0, 0x80, 8, 0, 1, 7], &[0, 1, 0, 0, 0x80, 8, 0, 1, 7]; "one behind the other")]
    #[test_case(&[0x80, 1, 0, 3, 5], &[0x40, 1, 0, 3, 5]; "a length beyond the packet")]
    #[test_case(&[0x80, 1, 0, 0, 0x80, 1], &[0, 1, 0, 0, 0xc0, 1]; "half a head")]
    fn what_follows_comes_back_marked(sent: &[u8], back: &[u8]) {
        let mut rest = sent.to_vec();
        mark(&mut rest);
        assert_eq!(rest, back);
    }

    #[test_case(0, &[]; "no room")]
    #[test_case(3, &[0, 0, 0]; "no room for a head")]
    #[test_case(4, &[0x80, 1, 0, 0]; "a head alone")]
    #[test_case(6, &[0x80, 1, 0, 2, 0, 0]; "with a value")]
    fn padding_fills_the_packet(length: usize, expected: &[u8]) {
        let mut rest = vec![9; length];
        pad(&mut rest);
        assert_eq!(rest, expected);
        mark(&mut rest);
        assert_eq!(rest.first().map(|flags| flags & 0xc0), expected.first().map(|_| 0));
    }
}
