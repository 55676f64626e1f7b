//! Frames of WebSocket (RFC 6455 section 5.2): the head of one that came from a server, and a short one that goes to it.

/// Set in the first octet of the last frame of a message.
const LAST: u8 = 0x80;
/// Bits of the first octet that belong to extensions.
const EXTENSIONS: u8 = 0x70;
/// Set in the second octet where the payload is masked.
const MASKED: u8 = 0x80;
/// Longest payload of a control frame (section 5.5).
pub const LONGEST_CONTROL: usize = 125;
/// Octets before the payload of a frame that goes.
pub const HEAD: usize = 6;
/// The opcode of a Close.
pub const CLOSE: u8 = 8;
/// The opcode of a Ping.
pub const PING: u8 = 9;
/// The opcode of a Pong.
pub const PONG: u8 = 10;

/// A frame that is about the connection (section 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The end of the connection.
    Close,
    /// A request for a Pong.
    Ping,
    /// The reply to a Ping, or a sign of life.
    Pong,
}

/// The head of a frame that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Absent of a message, or a part of one.
    pub control: Option<Control>,
    /// Octets before the payload.
    pub octets: usize,
    /// Octets of the payload: of a control frame no more than [`LONGEST_CONTROL`], of data up to 2^63 - 1.
    pub length: u64,
}

/// The head that `octets` begin with; `None`: more has to come.
///
/// # Errors
/// A frame that no server sends to a client that agreed on no extension.
#[inline]
pub fn read(octets: &[u8]) -> Result<Option<Head>, &'static str> {
    let [first, second, rest @ ..] = octets else { return Ok(None) };
    if first & EXTENSIONS != 0 {
        return Err("a frame is of an extension that was not agreed on");
    }
    if second & MASKED != 0 {
        return Err("a frame of the server is masked");
    }
    let control = match first & 0x0F {
        0..=2 => None,
        CLOSE => Some(Control::Close),
        PING => Some(Control::Ping),
        PONG => Some(Control::Pong),
        _ => return Err("a frame has an opcode that WebSocket does not have"),
    };
    if control.is_some() && (first & LAST == 0 || usize::from(*second) > LONGEST_CONTROL) {
        return Err("a control frame is in parts or has more than 125 octets");
    }
    let (octets, length) = match second {
        126 => match rest.first_chunk() {
            Some(length) => (4, u64::from(u16::from_be_bytes(*length))),
            None => return Ok(None),
        },
        127 => match rest.first_chunk() {
            Some(length) => (10, u64::from_be_bytes(*length)),
            None => return Ok(None),
        },
        short => (2, u64::from(*short)),
    };
    if length >> 63 != 0 {
        return Err("the length of a frame has more than 63 bits");
    }
    Ok(Some(Head { control, octets, length }))
}

/// Writes a control frame with `payload`, masked by `key`, in place of the content of `frame`. A payload that is too long is cut.
pub fn write(frame: &mut Vec<u8>, opcode: u8, payload: &[u8], key: [u8; 4]) {
    let length = payload.len().min(LONGEST_CONTROL);
    frame.clear();
    frame.extend_from_slice(&[LAST | opcode, MASKED | length as u8]);
    frame.extend_from_slice(&key);
    frame.extend(masked(&payload[..length], key));
}

/// `payload` under the mask of `key`, or from under it (section 5.3).
#[inline]
pub fn masked(payload: &[u8], key: [u8; 4]) -> impl Iterator<Item = u8> {
    payload.iter().zip(key.into_iter().cycle()).map(|(octet, key)| octet ^ key)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(&[0x8A, 8, 0], Ok(Some(Head { control: Some(Control::Pong), octets: 2, length: 8 })); "a pong")]
    #[test_case(&[0x01, 125], Ok(Some(Head { control: None, octets: 2, length: 125 })); "the beginning of a text")]
    #[test_case(&[0x82, 126, 1, 0], Ok(Some(Head { control: None, octets: 4, length: 256 })); "a length in two octets")]
    #[test_case(&[0x80, 127, 0x7F, 255, 255, 255, 255, 255, 255, 255], Ok(Some(Head { control: None, octets: 10, length: u64::MAX >> 1 })); "the longest")]
    #[test_case(&[0x80, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], Err("the length of a frame has more than 63 bits"); "beyond the longest")]
    #[test_case(&[0x82, 127, 0, 0, 0, 0, 0, 0, 0], Ok(None); "half a length")]
    #[test_case(&[0x82, 126, 0], Ok(None); "half a short length")]
    #[test_case(&[0x82], Ok(None); "one octet")]
    #[test_case(&[0x8A, 0x88], Err("a frame of the server is masked"); "masked")]
    #[test_case(&[0xC1, 1], Err("a frame is of an extension that was not agreed on"); "compressed")]
    #[test_case(&[0x83, 1], Err("a frame has an opcode that WebSocket does not have"); "an opcode that is reserved")]
    #[test_case(&[0x0A, 8], Err("a control frame is in parts or has more than 125 octets"); "a part of a pong")]
    #[test_case(&[0x89, 126], Err("a control frame is in parts or has more than 125 octets"); "a long ping")]
    fn heads_are_read(octets: &[u8], expected: Result<Option<Head>, &'static str>) {
        assert_eq!(read(octets), expected);
    }

    #[test]
    fn a_frame_is_masked_as_the_standard_has_it() {
        // The Ping with "Hello" in it of section 5.7, under the mask of the text there.
        let mut frame = vec![0; 300];
        write(&mut frame, PING, b"Hello", [0x37, 0xFA, 0x21, 0x3D]);
        assert_eq!(frame, [0x89, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]);
        write(&mut frame, PONG, &[0; 300], [0; 4]);
        assert_eq!((frame.len(), frame[1]), (HEAD + LONGEST_CONTROL, 0xFD));
    }
}
