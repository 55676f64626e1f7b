//! The key both ends share, its form in a file, and the secrets that either end needs for one connection.
//!
//! 256 random bits, never a passphrase. A key file is one line, `sonde-key-1:` and 64 hexadecimal digits; empty lines
//! and lines that start with `#` are skipped. Neither `Debug` nor an error shows a key. Random octets come from the
//! caller: nothing here asks the system. Not here: key pairs ([`super::identity`]).

use std::fmt;
use std::sync::Arc;

use measure::authentication::Authentication;

use crate::native::identity::{Identity, Public};

/// Beginning of the line in a key file.
pub const PREFIX: &str = "sonde-key-1:";

/// A pre-shared key: 256 random bits.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(pub [u8; 32]);

impl Key {
    /// Reads the text of a key file.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        read(text, PREFIX).map(|(octets, _)| Self(octets))
    }

    /// The line of a key file, without its line end. It is the secret: it goes into a file that only its owner reads.
    pub fn to_text(&self) -> String {
        write(&self.0, PREFIX)
    }
}

/// The 32 octets of the one line of `text` that starts with `prefix`, and that line's number.
pub(super) fn read(text: &str, prefix: &'static str) -> Result<([u8; 32], usize), KeyError> {
    let mut lines = text
        .trim_start_matches('\u{feff}')
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (line, content) = lines.next().ok_or(KeyError::Empty { prefix })?;
    if let Some((line, _)) = lines.next() {
        return Err(KeyError::TwoLines { line });
    }
    let digits = content.strip_prefix(prefix).ok_or(KeyError::Prefix { line, prefix })?.trim().as_bytes();
    if digits.len() != 64 {
        return Err(KeyError::Length { line, prefix, digits: digits.len() });
    }
    let mut octets = [0; 32];
    for (octet, pair) in octets.iter_mut().zip(digits.chunks_exact(2)) {
        *octet =
            (digit(pair[0]).zip(digit(pair[1]))).map(|(high, low)| high << 4 | low).ok_or(KeyError::Digit { line })?;
    }
    Ok((octets, line))
}

/// The line that [`read`] reads, without its line end.
pub(super) fn write(octets: &[u8; 32], prefix: &str) -> String {
    octets.iter().fold(prefix.to_owned(), |mut text, octet| {
        for nibble in [octet >> 4, octet & 15] {
            text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
        }
        text
    })
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

/// Proof by which a client shows that it may come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The key both ends share.
    PreShared(Key),
    /// Its own identity, to the holder of another alone.
    Identity {
        /// Its own.
        own: Identity,
        /// The server's.
        peer: Public,
    },
}

impl Proof {
    /// Returns its kind.
    pub fn kind(&self) -> Authentication {
        match self {
            Self::PreShared(_) => Authentication::PreShared,
            Self::Identity { .. } => Authentication::Identity,
        }
    }
}

impl From<Key> for Proof {
    fn from(key: Key) -> Self {
        Self::PreShared(key)
    }
}

/// Secret by which a server knows one of its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The key both ends share.
    PreShared(Key),
    /// The client's identity.
    Identity(Public),
}

impl From<Key> for Holder {
    fn from(key: Key) -> Self {
        Self::PreShared(key)
    }
}

impl From<Public> for Holder {
    fn from(identity: Public) -> Self {
        Self::Identity(identity)
    }
}

/// Secrets of a client for one keyed connection.
#[derive(Clone)]
pub struct Secret {
    /// Proof of the client.
    pub proof: Proof,
    /// 32 octets fresh from the system's random source, for this connection alone: its ephemeral private key.
    pub ephemeral: [u8; 32],
}

/// Keys of a server for one connection: any of them lets in, and which one did is known.
#[derive(Clone)]
pub struct Keyring {
    /// Those who are let in. Pre-shared keys are tried in turn: a handshake says by its first message alone whether it was made
    /// with one.
    pub holders: Arc<[Holder]>,
    /// The server's own identity; absent: clients are let in by pre-shared keys alone.
    pub identity: Option<Arc<Identity>>,
    /// As in [`Secret`].
    pub ephemeral: [u8; 32],
}

impl Keyring {
    /// Returns the kinds of proof that clients can use.
    pub fn accepted(&self) -> &'static [Authentication] {
        match self.identity {
            Some(_) => &[Authentication::PreShared, Authentication::Identity],
            None => &[Authentication::PreShared],
        }
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
    #[error("holds no key: it should have one line, `{prefix}` and 64 hexadecimal digits")]
    Empty {
        /// Expected beginning of its line.
        prefix: &'static str,
    },
    /// More than one line besides comments.
    #[error("line {line}: a second line; a key file holds one key")]
    TwoLines {
        /// The second line.
        line: usize,
    },
    /// The line starts with something else.
    #[error("line {line}: does not start with `{prefix}`")]
    Prefix {
        /// Number of the line, from 1.
        line: usize,
        /// Expected beginning.
        prefix: &'static str,
    },
    /// Not 64 digits.
    #[error("line {line}: {digits} octets after `{prefix}` instead of 64 hexadecimal digits")]
    Length {
        /// Number of the line, from 1.
        line: usize,
        /// Beginning of the line.
        prefix: &'static str,
        /// Octets found.
        digits: usize,
    },
    /// Something that is no hexadecimal digit.
    #[error("line {line}: contains characters other than hexadecimal digits")]
    Digit {
        /// Number of the line, from 1.
        line: usize,
    },
    /// A public key of low order: the secret agreed on with its holder is known to everybody.
    #[error("line {line}: not the public part of an identity: anyone could impersonate its holder")]
    Everybodys {
        /// Number of the line, from 1.
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

    #[test_case("", KeyError::Empty { prefix: PREFIX }; "nothing")]
    #[test_case("# only a comment\n\n", KeyError::Empty { prefix: PREFIX }; "a comment")]
    #[test_case("hunter2", KeyError::Prefix { line: 1, prefix: PREFIX }; "a passphrase")]
    #[test_case("# a\nsonde-key-2:00", KeyError::Prefix { line: 2, prefix: PREFIX }; "another version")]
    #[test_case("sonde-key-1:00", KeyError::Length { line: 1, prefix: PREFIX, digits: 2 }; "too short")]
    #[test_case(&format!("{TEXT}0"), KeyError::Length { line: 1, prefix: PREFIX, digits: 65 }; "too long")]
    #[test_case(&TEXT.replace("1f", "1g"), KeyError::Digit { line: 1 }; "no digit")]
    #[test_case(&TEXT.replace("1f", "é"), KeyError::Digit { line: 1 }; "no digit of one octet")]
    #[test_case(&format!("{TEXT}\n\n{TEXT}"), KeyError::TwoLines { line: 3 }; "two keys")]
    fn what_is_no_key_is_refused(text: &str, error: KeyError) {
        assert_eq!(Key::parse(text), Err(error));
    }

    #[test]
    fn neither_a_key_nor_an_error_shows_itself() {
        let secret = Secret { proof: key().into(), ephemeral: [9; 32] };
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
