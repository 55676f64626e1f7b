//! The key both ends share, and how it is written in a file.
//!
//! 256 random bits, never a passphrase. A key file is one line, `sonde-key-1:` and 64 hexadecimal digits; empty lines
//! and lines that start with `#` are skipped. Neither `Debug` nor an error shows a key. Random octets come from the
//! caller: nothing here asks the system.

use std::fmt;
use std::sync::Arc;

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

/// What a server needs of all its keys for one connection: any of them lets in, and which one did is known.
#[derive(Clone)]
pub struct Keyring {
    /// The keys, each tried in turn: a handshake says by its first message alone whether it was made with one.
    pub keys: Arc<[Key]>,
    /// As in [`Secret`].
    pub ephemeral: [u8; 32],
}

impl From<Secret> for Keyring {
    fn from(Secret { key, ephemeral }: Secret) -> Self {
        Self { keys: [key].into(), ephemeral }
    }
}

/// `Keyring(…)`, always.
impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyring(…)")
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;

    const TEXT: &str = "sonde-key-1:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

    fn key() -> Key {
        Key(std::array::from_fn(|index| index as u8))
    }

    #[test_case(TEXT; "the line alone")]
    #[test_case(&format!("{TEXT}\n"); "with its line end")]
    #[test_case(&format!("# lab\r\n\r\n  {TEXT}  \r\n# end"); "with comments, as an editor of another system leaves it")]
    #[test_case(&format!("\u{feff}{TEXT}\n"); "with a byte order mark")]
    #[test_case(&TEXT.replace("0a0b0c", "0A0B0C"); "in capitals")]
    fn a_key_is_read(text: &str) {
        assert_eq!(Key::parse(text), Ok(key()));
    }

    #[test_case("", KeyError::Empty; "nothing")]
    #[test_case("# only a comment\n\n", KeyError::Empty; "a comment")]
    #[test_case("hunter2", KeyError::Prefix { line: 1 }; "a passphrase")]
    #[test_case("# a\nsonde-key-2:00", KeyError::Prefix { line: 2 }; "another version")]
    #[test_case("sonde-key-1:00", KeyError::Length { line: 1, digits: 2 }; "too short")]
    #[test_case(&format!("{TEXT}0"), KeyError::Length { line: 1, digits: 65 }; "too long")]
    #[test_case(&TEXT.replace("1f", "1g"), KeyError::Digit { line: 1 }; "no digit")]
    #[test_case(&TEXT.replace("1f", "é"), KeyError::Digit { line: 1 }; "no digit of one octet")]
    #[test_case(&format!("{TEXT}\n\n{TEXT}"), KeyError::TwoLines { line: 3 }; "two keys")]
    fn what_is_no_key_is_refused(text: &str, error: KeyError) {
        assert_eq!(Key::parse(text), Err(error));
    }

    #[test]
    fn neither_a_key_nor_an_error_shows_itself() {
        let secret = Secret { key: key(), ephemeral: [9; 32] };
        assert_eq!(format!("{:?} {secret:?}", key()), "Key(…) Secret(…)");
        let error = Key::parse("hunter2").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }

    proptest! {
        #[test]
        fn a_key_is_read_as_written(octets: [u8; 32]) {
            let key = Key(octets);
            prop_assert_eq!(Key::parse(&key.to_text()), Ok(key.clone()));
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = Key::parse(&text);
        }
    }
}
