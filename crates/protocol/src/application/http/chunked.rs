//! Bodies in chunks (RFC 9112 section 7.1): where the last one ends.

use crate::application::speech::line;

/// Longest line of a chunk or a trailer that is believed, octets.
const LONGEST_LINE: usize = 8 << 10;

/// The place in a chunked body that a reader has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Chunked {
    /// A line with the length of a chunk comes next.
    #[default]
    Length,
    /// Octets of the chunk that are still to come.
    Chunk(u64),
    /// The end of line behind it.
    End,
    /// Fields behind the last chunk, until an empty line.
    Trailer,
}

impl Chunked {
    /// Octets of data that the chunk under way still has.
    pub fn data(&self) -> u64 {
        match self {
            Self::Chunk(left) => *left,
            Self::Length | Self::End | Self::Trailer => 0,
        }
    }

    /// Takes a part of `octets`; returns its length, and true where it was the end.
    ///
    /// # Errors
    /// Octets that are no chunk.
    pub fn take(&mut self, octets: &[u8]) -> Result<(usize, bool), &'static str> {
        match self {
            Self::Length => {
                let Some((text, end)) = line(octets, LONGEST_LINE).map_err(|()| "a line of a chunk has no end")? else {
                    return Ok((0, false));
                };
                let length = length(text).ok_or("the length of a chunk is none")?;
                *self = if length == 0 { Self::Trailer } else { Self::Chunk(length) };
                Ok((end, false))
            }
            Self::Chunk(left) => {
                let part = octets.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= part as u64;
                if *left == 0 {
                    *self = Self::End;
                }
                Ok((part, false))
            }
            Self::End => {
                let end = match octets {
                    [] | [b'\r'] => return Ok((0, false)),
                    [b'\n', ..] => 1,
                    [b'\r', b'\n', ..] => 2,
                    _ => return Err("a chunk is longer than it says"),
                };
                *self = Self::Length;
                Ok((end, false))
            }
            Self::Trailer => {
                let Some((text, end)) = line(octets, LONGEST_LINE).map_err(|()| "a line of a chunk has no end")? else {
                    return Ok((0, false));
                };
                Ok((end, text.is_empty()))
            }
        }
    }
}

/// The length that a line says before its extensions; a chunk of 2^60 octets and more is none that one waits for.
fn length(text: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(text.split(|octet| *octet == b';').next()?).ok()?.trim_end_matches([' ', '\t']);
    let plain = (1..=15).contains(&digits.len()) && digits.bytes().all(|octet| octet.is_ascii_hexdigit());
    plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_hexadecimal() {
        let lengths =
            [&b"1f"[..], b"0A;name=value", b"0", b"5 ", b"", b";x", b"-1", b"0x5", b"1234567890abcdef"].map(length);
        assert_eq!(lengths, [Some(31), Some(10), Some(0), Some(5), None, None, None, None, None]);
    }
}
