//! Frames of HTTP/2 (RFC 9113 section 4): their header, their padding, and header blocks that go on in further frames.

use std::borrow::Cow;

/// Octets of the header of a frame.
pub const HEADER: usize = 9;
/// Longest payload of a frame, octets: the initial `SETTINGS_MAX_FRAME_SIZE`, which stays as it is both ways (RFC 9113 section 4.2).
pub const LONGEST: usize = 16_384;
/// Longest header block that is believed with the headers of its frames, octets.
const LONGEST_BLOCK: usize = 64 << 10;

/// `DATA`.
pub const DATA: u8 = 0;
/// `HEADERS`.
pub const HEADERS: u8 = 1;
/// `RST_STREAM`.
pub const RST_STREAM: u8 = 3;
/// `SETTINGS`.
pub const SETTINGS: u8 = 4;
/// `PUSH_PROMISE`.
pub const PUSH_PROMISE: u8 = 5;
/// `PING`.
pub const PING: u8 = 6;
/// `GOAWAY`.
pub const GOAWAY: u8 = 7;
/// `WINDOW_UPDATE`.
pub const WINDOW_UPDATE: u8 = 8;
/// `CONTINUATION`.
pub const CONTINUATION: u8 = 9;

/// The flag by which `SETTINGS` and `PING` are acknowledged.
pub const ACK: u8 = 0x1;
/// The flag of the last frame of a stream.
pub const END_STREAM: u8 = 0x1;
/// The flag of the last frame of a header block.
pub const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const WITH_PRIORITY: u8 = 0x20;

/// Octets of a priority before a header block.
const PRIORITY_LENGTH: usize = 5;
/// The bits of a word that are an identifier of a stream.
const STREAM: u32 = 0x7FFF_FFFF;

/// Fault of octets that are none of HTTP/2.
pub const FOREIGN: &str = "the reply is none of HTTP/2";

/// A header block, and the octets of all its frames.
pub type Block<'a> = (Cow<'a, [u8]>, usize);

/// A whole frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its type.
    pub kind: u8,
    flags: u8,
    /// Its stream; 0 is the connection.
    pub stream: u32,
    /// Its octets behind the header.
    pub payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The frame that `octets` begin with; `None`: more has to come.
    ///
    /// # Errors
    /// Octets that are no frame, or one that is longer than was allowed.
    pub fn read(octets: &'a [u8]) -> Result<Option<Self>, &'static str> {
        let [high, middle, low, rest @ ..] = octets else { return Ok(None) };
        let length = u32::from_be_bytes([0, *high, *middle, *low]) as usize;
        if length > LONGEST {
            let is_old = octets.starts_with(b"HTT");
            return Err(if is_old { "the server answers in HTTP/1: it has no HTTP/2 here" } else { FOREIGN });
        }
        let [kind, flags, rest @ ..] = rest else { return Ok(None) };
        let Some((stream, rest)) = word(rest) else { return Ok(None) };
        let stream = stream & STREAM;
        let sound = match *kind {
            DATA | HEADERS | CONTINUATION => stream % 2 == 1,
            RST_STREAM => stream % 2 == 1 && length == 4,
            SETTINGS => stream == 0 && length.is_multiple_of(6) && (flags & ACK == 0 || length == 0),
            PING => stream == 0 && length == 8,
            GOAWAY => stream == 0 && length >= 8,
            WINDOW_UPDATE => length == 4,
            // Pushing was forbidden.
            PUSH_PROMISE => false,
            // A frame of an unknown type is passed over (RFC 9113 section 5.5).
            _ => true,
        };
        if !sound {
            return Err(FOREIGN);
        }
        let whole = rest.get(..length);
        Ok(whole.map(|payload| Self { kind: *kind, flags: *flags, stream, payload }))
    }

    /// Its octets, with those of its header.
    pub fn octets(&self) -> usize {
        HEADER + self.payload.len()
    }

    /// True where it has this flag.
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Its payload without padding.
    ///
    /// # Errors
    /// More padding than payload.
    pub fn unpadded(&self) -> Result<&'a [u8], &'static str> {
        if !self.has(PADDED) {
            return Ok(self.payload);
        }
        let (padding, rest) = self.payload.split_first().ok_or(FOREIGN)?;
        let length = rest.len().checked_sub(usize::from(*padding)).ok_or(FOREIGN)?;
        rest.get(..length).ok_or(FOREIGN)
    }

    /// The header block that begins with this frame, which `octets` begin with, and the octets of all its frames; `None`: more has to come.
    ///
    /// Nothing may come between the frames of a block (RFC 9113 section 6.10). One in a single frame is not copied.
    ///
    /// # Errors
    /// Another frame in its middle, or no end.
    pub fn block(&self, octets: &'a [u8]) -> Result<Option<Block<'a>>, &'static str> {
        let mut first = self.unpadded()?;
        if self.has(WITH_PRIORITY) {
            first = first.get(PRIORITY_LENGTH..).ok_or(FOREIGN)?;
        }
        if self.has(END_HEADERS) {
            return Ok(Some((Cow::Borrowed(first), self.octets())));
        }
        let Some(end) = self.end_of_block(octets)? else { return Ok(None) };
        let (mut block, mut at) = (first.to_vec(), self.octets());
        while let Some(next) = octets.get(at..end).filter(|rest| !rest.is_empty()) {
            let Some(frame) = Frame::read(next)? else { return Err(FOREIGN) };
            block.extend_from_slice(frame.payload);
            at += frame.octets();
        }
        Ok(Some((Cow::Owned(block), end)))
    }

    /// The place where the last frame of a block ends.
    fn end_of_block(&self, octets: &[u8]) -> Result<Option<usize>, &'static str> {
        let mut at = self.octets();
        loop {
            if at > LONGEST_BLOCK {
                return Err("the fields of a response have no end");
            }
            let Some(frame) = Frame::read(octets.get(at..).unwrap_or_default())? else { return Ok(None) };
            if frame.kind != CONTINUATION || frame.stream != self.stream {
                return Err(FOREIGN);
            }
            at += frame.octets();
            if frame.has(END_HEADERS) {
                return Ok(Some(at));
            }
        }
    }
}

/// Reads the word of 32 bits that `octets` begin with, and returns the rest too.
pub fn word(octets: &[u8]) -> Option<(u32, &[u8])> {
    octets.split_first_chunk().map(|(word, rest)| (u32::from_be_bytes(*word), rest))
}

/// Writes a frame, whose payload is no longer than [`LONGEST`].
pub fn write(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let [_, length @ ..] = (payload.len() as u32).to_be_bytes();
    out.extend_from_slice(&length);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// Writes a request: its header block and its body, in as many frames as they take. Its stream is written later: [`set_stream`].
pub fn write_request(out: &mut Vec<u8>, block: &[u8], body: &[u8]) {
    let mut fragments = block.chunks(LONGEST).peekable();
    let mut kind = HEADERS;
    while let Some(fragment) = fragments.next() {
        let last = if fragments.peek().is_none() { END_HEADERS } else { 0 };
        let only = if kind == HEADERS && body.is_empty() { END_STREAM } else { 0 };
        write(out, kind, last | only, 0, fragment);
        kind = CONTINUATION;
    }
    let mut parts = body.chunks(LONGEST).peekable();
    while let Some(part) = parts.next() {
        let last = if parts.peek().is_none() { END_STREAM } else { 0 };
        write(out, DATA, last, 0, part);
    }
}

/// The body of a request whose header block and whose body are a frame each.
pub fn body(request: &[u8]) -> Option<&[u8]> {
    let [a, b, c, ..] = *request else { return None };
    request.get(2 * HEADER + u32::from_be_bytes([0, a, b, c]) as usize..)
}

/// Writes the stream of each frame of a request.
#[inline]
pub fn set_stream(request: &mut [u8], stream: u32) {
    let mut rest = request;
    while let Some((header, behind)) = rest.split_first_chunk_mut::<HEADER>() {
        let [a, b, c, _, _, place @ ..] = header;
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        *place = stream.to_be_bytes();
        rest = behind.get_mut(length..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, kind, flags, stream, payload);
        out
    }

    #[test]
    fn a_frame_is_what_was_written() {
        let octets = frame(HEADERS, END_HEADERS, 0x0102_0305, b"abc");
        assert_eq!(octets, b"\0\0\x03\x01\x04\x01\x02\x03\x05abc");
        let read = Frame::read(&octets).unwrap().unwrap();
        assert_eq!((read.kind, read.stream, read.payload, read.octets()), (HEADERS, 0x0102_0305, &b"abc"[..], 12));
        assert!(read.has(END_HEADERS) && !read.has(END_STREAM));
        for end in 0..octets.len() {
            assert_eq!(Frame::read(&octets[..end]), Ok(None));
        }
    }

    #[test_case(&frame(DATA, 0, 2, b""); "a stream of the server's")]
    #[test_case(&frame(DATA, 0, 0, b""); "data of the connection")]
    #[test_case(&frame(SETTINGS, 0, 1, b""); "settings of a stream")]
    #[test_case(&frame(SETTINGS, 0, 0, b"12345"); "part of a setting")]
    #[test_case(&frame(SETTINGS, ACK, 0, b"123456"); "an acknowledgement that says something")]
    #[test_case(&frame(PING, 0, 0, b"1234567"); "a short ping")]
    #[test_case(&frame(GOAWAY, 0, 0, b"1234567"); "a short end")]
    #[test_case(&frame(PUSH_PROMISE, 0, 1, b"12345678"); "a push")]
    #[test_case(b"\0\x40\x01"; "longer than was allowed")]
    #[test_case(b"SSH-2.0"; "another program")]
    fn frames_that_are_none(octets: &[u8]) {
        assert_eq!(Frame::read(octets), Err(FOREIGN));
    }

    #[test]
    fn padding_is_no_payload() {
        let unpadded = |payload: &[u8]| {
            Frame::read(&frame(DATA, PADDED, 1, payload)).unwrap().unwrap().unpadded().map(<[u8]>::to_vec)
        };
        assert_eq!(unpadded(b"\x02ab\0\0"), Ok(b"ab".to_vec()));
        assert_eq!(unpadded(b"\x02\0\0"), Ok(Vec::new()));
        assert_eq!(unpadded(b"\x03\0\0"), Err(FOREIGN));
        assert_eq!(unpadded(b""), Err(FOREIGN));
    }

    #[test]
    fn a_block_goes_on_in_further_frames() {
        let block = |octets: &[u8]| {
            let first = Frame::read(octets).unwrap().unwrap();
            first.block(octets).map(|found| found.map(|(block, end)| (block.into_owned(), end)))
        };
        let first = frame(HEADERS, PADDED | WITH_PRIORITY, 1, b"\x01.....ab\0");
        let second = frame(CONTINUATION, 0, 1, b"c");
        let last = frame(CONTINUATION, END_HEADERS, 1, b"d");
        let whole = [&first[..], &second, &last, b"more"].concat();
        assert_eq!(block(&whole), Ok(Some((b"abcd".to_vec(), whole.len() - 4))));
        assert_eq!(block(&whole[..whole.len() - 5]), Ok(None));
        assert_eq!(block(&[&first[..], &frame(CONTINUATION, END_HEADERS, 3, b"d")].concat()), Err(FOREIGN));
        assert_eq!(block(&[&first[..], &frame(PING, 0, 0, b"12345678")].concat()), Err(FOREIGN));
        let flood = [&first[..], &second.repeat(LONGEST_BLOCK / second.len())].concat();
        assert_eq!(block(&flood[..LONGEST_BLOCK - 50]), Ok(None));
        assert_eq!(block(&flood), Err("the fields of a response have no end"));
    }

    #[test]
    fn a_request_has_one_stream_in_all_its_frames() {
        let mut request = Vec::new();
        write_request(&mut request, &vec![b'h'; LONGEST + 1], &vec![b'b'; LONGEST + 2]);
        set_stream(&mut request, 0x0708_090B);
        let (mut rest, mut seen) = (&request[..], Vec::new());
        while let Some(frame) = Frame::read(rest).unwrap() {
            assert_eq!(frame.stream, 0x0708_090B);
            seen.push((frame.kind, frame.flags, frame.payload.len()));
            rest = &rest[frame.octets()..];
        }
        let expected =
            [(HEADERS, 0, LONGEST), (CONTINUATION, END_HEADERS, 1), (DATA, 0, LONGEST), (DATA, END_STREAM, 2)];
        assert_eq!(seen, expected);
        let mut short = Vec::new();
        write_request(&mut short, b"h", b"");
        assert_eq!(short, frame(HEADERS, END_HEADERS | END_STREAM, 0, b"h"));
        // Whatever the octets, nothing beyond them is written.
        set_stream(&mut [0xFF; 20], 1);
    }
}
