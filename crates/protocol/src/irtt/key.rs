//! The key of sealed packets, and the seal: HMAC-MD5 (RFC 2104) of the whole datagram, in which its own octets are zeros.

use std::fmt;

use aws_lc_rs::constant_time::verify_slices_are_equal;

use super::HEAD;
use super::md5::{BLOCK, DIGEST, Md5};

/// Octets of a seal.
pub const SEAL: usize = DIGEST;

/// A key that both ends have.
#[derive(Clone)]
pub struct Key {
    octets: Vec<u8>,
    /// Digests that have taken the key, within and around the message.
    inner: Md5,
    outer: Md5,
}

impl Key {
    /// A key of these octets.
    pub fn new(octets: &[u8]) -> Self {
        let mut block = [0; BLOCK];
        if octets.len() > BLOCK {
            let mut digest = Md5::new();
            digest.take(octets);
            block[..DIGEST].copy_from_slice(&digest.finish());
        } else {
            block[..octets.len()].copy_from_slice(octets);
        }
        let padded = |pad: u8| {
            let mut digest = Md5::new();
            digest.take(&block.map(|octet| octet ^ pad));
            digest
        };
        Self { octets: octets.to_vec(), inner: padded(0x36), outer: padded(0x5c) }
    }

    /// Reads the text of a key file: one line as irtt takes it, any text, or hexadecimal digits behind `0x`. Empty lines and
    /// lines that start with `#` are passed over.
    ///
    /// # Errors
    /// No line or several ones, or digits that are none.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let is_content = |line: &&str| !line.is_empty() && !line.starts_with('#');
        let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim).filter(is_content);
        let (Some(line), None) = (lines.next(), lines.next()) else { return Err(KeyError::Lines) };
        let Some(digits) = line.strip_prefix("0x") else { return Ok(Self::new(line.as_bytes())) };
        let digit = |octet: u8| char::from(octet).to_digit(16).map(|value| value as u8);
        let pair = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?);
        let octets: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(pair).collect();
        let octets = octets.filter(|octets| !octets.is_empty()).ok_or(KeyError::Digits)?;
        Ok(Self::new(&octets))
    }

    /// Seals a datagram, which has room for the seal.
    pub(super) fn seal(&self, datagram: &mut [u8]) {
        if datagram.len() >= HEAD + SEAL {
            let seal = self.seal_of(datagram);
            datagram[HEAD..HEAD + SEAL].copy_from_slice(&seal);
        }
    }

    /// True where a datagram has the seal of this key; takes as long whatever is wrong.
    pub(super) fn is_seal_of(&self, datagram: &[u8]) -> bool {
        let seal = datagram.get(HEAD..HEAD + SEAL);
        seal.is_some_and(|seal| verify_slices_are_equal(seal, &self.seal_of(datagram)).is_ok())
    }

    /// The seal of a datagram of [`HEAD`] and [`SEAL`] octets at least.
    fn seal_of(&self, datagram: &[u8]) -> [u8; SEAL] {
        let (mut inner, mut outer) = (self.inner.clone(), self.outer.clone());
        inner.take(&datagram[..HEAD]);
        inner.take(&[0; SEAL]);
        inner.take(&datagram[HEAD + SEAL..]);
        outer.take(&inner.finish());
        outer.finish()
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
    #[error("an irtt key is one line")]
    Lines,
    /// Something else than digits, or half an octet.
    #[error("only pairs of hexadecimal digits may follow 0x")]
    Digits,
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    /// RFC 2202, test cases 1, 2 and 6: the message stands around the place of a seal, which cannot be taken out here.
    fn hmac(key: &Key, message: &[u8]) -> String {
        let (mut inner, mut outer) = (key.inner.clone(), key.outer.clone());
        inner.take(message);
        outer.take(&inner.finish());
        format!("{:032x}", u128::from_be_bytes(outer.finish()))
    }

    #[test_case(&[0x0b; 16], b"Hi There", "9294727a3638bb1c13f48ef8158bfc9d"; "case 1")]
    #[test_case(b"Jefe", b"what do ya want for nothing?", "750c783e6ab0b503eaa86e310a5db738"; "case 2")]
    #[test_case(&[0xaa; 80], b"Test Using Larger Than Block-Size Key - Hash Key First", "6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd"; "case 6")]
    fn the_seal_is_made_as_the_rfc_says(key: &[u8], message: &[u8], expected: &str) {
        assert_eq!(hmac(&Key::new(key), message), expected);
    }

    #[test]
    fn a_seal_covers_every_other_octet() {
        let key = Key::new(b"0123456789abcdef");
        let mut datagram = [5; 40];
        key.seal(&mut datagram);
        assert!(key.is_seal_of(&datagram) && !Key::new(b"another").is_seal_of(&datagram));
        for place in 0..datagram.len() {
            datagram[place] ^= 1;
            assert!(!key.is_seal_of(&datagram), "octet {place}");
            datagram[place] ^= 1;
        }
        assert!(!key.is_seal_of(&datagram[..HEAD + SEAL - 1]));
    }

    #[test_case("secret\n", Ok(b"secret"); "a text")]
    #[test_case("# lab\n\n0x73656372 6574", Err(KeyError::Digits); "a space between digits")]
    #[test_case("0x736563726574", Ok(b"secret"); "digits")]
    #[test_case("0x7", Err(KeyError::Digits); "half an octet")]
    #[test_case("0x", Err(KeyError::Digits); "no digits")]
    #[test_case("0xé9", Err(KeyError::Digits); "other letters")]
    #[test_case("", Err(KeyError::Lines); "nothing")]
    #[test_case("a\nb", Err(KeyError::Lines); "two lines")]
    fn a_key_is_read_as_its_program_takes_it(text: &str, expected: Result<&[u8; 6], KeyError>) {
        assert_eq!(Key::parse(text).map(|key| key.octets), expected.map(|octets| octets.to_vec()));
    }

    #[test]
    fn no_key_is_shown() {
        assert_eq!(format!("{:?}", Key::new(b"0123456789abcdef")), "Key(…)");
    }
}
