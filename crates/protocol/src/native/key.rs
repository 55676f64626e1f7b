//! The key both ends share, and how it is written in a file.
//!
//! 256 random bits, never a passphrase. A key file is one line, `sonde-key-1:` and 64 hexadecimal digits; empty lines
//! and lines that start with `#` are skipped. Neither `Debug` nor an error shows a key. Random octets come from the
//! caller: nothing here asks the system.

use std::fmt;

/// What the line of a key file starts with.
pub const PREFIX: &str = "sonde-key-1:";

/// A pre-shared key: 256 random bits.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(pub [u8; 32]);

impl Key {
    /// Reads the text of a key file.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let mut lines = text
            .trim_start_matches('\u{feff}')
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line.trim()))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (line, content) = lines.next().ok_or(KeyError::Empty)?;
        if let Some((line, _)) = lines.next() {
            return Err(KeyError::TwoLines { line });
        }
        let digits = content.strip_prefix(PREFIX).ok_or(KeyError::Prefix { line })?.trim().as_bytes();
        if digits.len() != 64 {
            return Err(KeyError::Length { line, digits: digits.len() });
        }
        let mut octets = [0; 32];
        for (octet, pair) in octets.iter_mut().zip(digits.chunks_exact(2)) {
            *octet = (digit(pair[0]).zip(digit(pair[1])))
                .map(|(high, low)| high << 4 | low)
                .ok_or(KeyError::Digit { line })?;
        }
        Ok(Self(octets))
    }

    /// The line of a key file, without its line end. It is the secret: it goes into a file that only its owner reads.
    pub fn to_text(&self) -> String {
        self.0.iter().fold(PREFIX.to_owned(), |mut text, octet| {
            for nibble in [octet >> 4, octet & 15] {
                text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
            }
            text
        })
    }
}

fn digit(character: u8) -> Option<u8> {
    char::from(character).to_digit(16).map(|value| value as u8)
}

/// `Key(…)`, always.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// What one keyed connection needs.
#[derive(Clone)]
pub struct Secret {
    /// The key both ends share.
    pub key: Key,
    /// 32 octets fresh from the system's random source, for this connection alone: its ephemeral private key.
    pub ephemeral: [u8; 32],
}

/// `Secret(…)`, always.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A text that holds no key. Lines count from 1; the text itself is never repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Only comments and empty lines, or nothing.
    #[error("holds no key: it should have one line, `{PREFIX}` and 64 hexadecimal digits")]
    Empty,
    /// More than one line besides comments.
    #[error("line {line}: a second line; a key file holds one key")]
    TwoLines {
        /// The second line.
        line: usize,
    },
    /// The line starts with something else.
    #[error("line {line}: does not start with `{PREFIX}`")]
    Prefix {
        /// Which line.
        line: usize,
    },
    /// Not 64 digits.
    #[error("line {line}: {digits} octets after `{PREFIX}` where 64 hexadecimal digits belong")]
    Length {
        /// Which line.
        line: usize,
        /// Octets found.
        digits: usize,
    },
    /// Something that is no hexadecimal digit.
    #[error("line {line}: not all of it is hexadecimal digits")]
    Digit {
        /// Which line.
        line: usize,
    },
}
