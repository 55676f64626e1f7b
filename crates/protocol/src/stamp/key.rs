//! The key of authenticated packets, and their seal: HMAC-SHA-256, of which the first 16 octets travel (RFC 8762 section 4.4).

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac::{self, HMAC_SHA256};

use crate::native::key;

/// Octets of a seal.
pub const SEAL: usize = 16;
/// Octets that a key has at least, as RFC 4868 wants it for SHA-256 … or what is shared with other programs at the least.
const SHORTEST: usize = 16;
/// Octets that a key has at most.
const LONGEST: usize = 128;

/// A key that both ends of a session have.
#[derive(Clone)]
pub struct Key {
    octets: Vec<u8>,
    ready: Arc<hmac::Key>,
}

impl Key {
    /// A key of these octets.
    pub fn new(octets: &[u8]) -> Self {
        Self { octets: octets.to_vec(), ready: Arc::new(hmac::Key::new(HMAC_SHA256, octets)) }
    }

    /// Reads the text of a key file: one line of hexadecimal digits, 16 to 128 octets of them, or a key made by `sonde key`.
    /// Empty lines and lines that start with `#` are passed over.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let is_content = |line: &&str| !line.is_empty() && !line.starts_with('#');
        let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim).filter(is_content);
        let (Some(line), None) = (lines.next(), lines.next()) else { return Err(KeyError::Lines) };
        let digits = line.strip_prefix(key::PREFIX).unwrap_or(line).as_bytes();
        let digit = |octet: u8| char::from(octet).to_digit(16).map(|value| value as u8);
        let pair = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?);
        let octets: Option<Vec<u8>> = digits.chunks(2).map(pair).collect();
        let octets = octets.ok_or(KeyError::Digits)?;
        if (SHORTEST..=LONGEST).contains(&octets.len()) {
            Ok(Self::new(&octets))
        } else {
            Err(KeyError::Length { octets: octets.len() })
        }
    }

    /// The seal of `message`.
    pub fn seal(&self, message: &[u8]) -> [u8; SEAL] {
        let mut seal = [0; SEAL];
        seal.copy_from_slice(&hmac::sign(&self.ready, message).as_ref()[..SEAL]);
        seal
    }

    /// Returns true where `seal` is that of `message`; takes as long whatever is wrong.
    pub fn verifies(&self, message: &[u8], seal: &[u8]) -> bool {
        verify_slices_are_equal(&self.seal(message), seal).is_ok()
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        verify_slices_are_equal(&self.octets, &other.octets).is_ok()
    }
}

impl Eq for Key {}

/// `Key(…)`, always.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// A text that holds no key; the text itself is never repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// None or several lines beside comments.
    #[error("a STAMP key is one line of hexadecimal digits")]
    Lines,
    /// Something else than digits, or half an octet.
    #[error("it must be pairs of hexadecimal digits only")]
    Digits,
    /// Too short to be a secret, or too long.
    #[error("it has {octets} octets; a STAMP key has {SHORTEST} to {LONGEST}")]
    Length {
        /// Number of octets.
        octets: usize,
    },
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    /// RFC 4231 test case 1 and 2, of which the first 16 octets count here.
    #[test_case(&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b"; "case 1")]
    #[test_case(b"Jefe", b"what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c7"; "case 2")]
    fn a_seal_is_the_beginning_of_the_hmac(key: &[u8], message: &[u8], expected: &str) {
        let key = Key::new(key);
        let seal = key.seal(message);
        assert_eq!(format!("{:032x}", u128::from_be_bytes(seal)), expected);
        assert!(key.verifies(message, &seal));
        assert!(!key.verifies(message, &seal[..15]));
        assert!(!key.verifies(&message[1..], &seal));
    }

    #[test_case("00112233445566778899aabbccddeeff\n", 16; "hexadecimal digits")]
    #[test_case("# lab\n\n00112233445566778899AABBCCDDEEFF", 16; "with a comment")]
    #[test_case("sonde-key-1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", 32; "made by sonde key")]
    fn a_key_is_read(text: &str, octets: usize) {
        assert_eq!(Key::parse(text).unwrap().octets.len(), octets);
    }

    #[test_case("", KeyError::Lines; "nothing")]
    #[test_case("00112233445566778899aabbccddeeff\n00", KeyError::Lines; "two lines")]
    #[test_case("00112233445566778899aabbccddeef", KeyError::Digits; "half an octet")]
    #[test_case("secret secret secret secret sec", KeyError::Digits; "no digits")]
    #[test_case("é0112233445566778899aabbccddeeff", KeyError::Digits; "other letters")]
    #[test_case("0011", KeyError::Length { octets: 2 }; "too short")]
    fn what_is_no_key_is_refused(text: &str, error: KeyError) {
        assert_eq!(Key::parse(text).unwrap_err(), error);
    }

    #[test]
    fn no_key_is_shown() {
        assert_eq!(format!("{:?}", Key::new(b"0123456789abcdef")), "Key(…)");
    }
}
