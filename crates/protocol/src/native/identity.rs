//! An identity: a key pair of X25519 whose private part its owner alone has, and how both parts are written.
//!
//! The file of an identity is one line, `sonde-identity-1:` and 64 hexadecimal digits, which is the private part. The public part is
//! `sonde-public-1:` and 64 digits, and may be shown to anybody. Neither `Debug` nor an error shows a private part.

use std::fmt;

use snow::params::DHChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::Dh;

use crate::native::key::{self, KeyError};

/// Start of the line of a private part.
pub const PREFIX: &str = "sonde-identity-1:";
/// Start of the line of a public part.
pub const PUBLIC_PREFIX: &str = "sonde-public-1:";

/// A key pair, which its owner alone has.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    private: [u8; 32],
    public: Public,
}

impl Identity {
    /// The identity of these 32 random octets.
    pub fn new(private: [u8; 32]) -> Self {
        let public = pair(&private).and_then(|pair| Some(*pair.pubkey().first_chunk()?));
        let public = Public(public.expect("the resolver is built with Curve25519, whose public part is 32 octets"));
        Self { private, public }
    }

    /// Reads the text of its file.
    ///
    /// # Errors
    /// A text that is none.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        key::read(text, PREFIX).map(|(private, _)| Self::new(private))
    }

    /// Returns true where `text` has a line of a private part.
    pub fn is_in(text: &str) -> bool {
        text.trim_start_matches('\u{feff}').lines().any(|line| line.trim_start().starts_with(PREFIX))
    }

    /// The line of its file, without its line end. It is the secret: it goes into a file that only its owner reads.
    pub fn to_text(&self) -> String {
        key::write(&self.private, PREFIX)
    }

    /// Its public part.
    pub fn public(&self) -> &Public {
        &self.public
    }

    /// Its private part.
    pub(super) fn private(&self) -> &[u8; 32] {
        &self.private
    }
}

/// `Identity(…)`, always.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity(…)")
    }
}

/// Public part of an identity: by it the owner is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Public([u8; 32]);

impl Public {
    /// Reads its line, as [`fmt::Display`] writes it; comments and empty lines are skipped.
    ///
    /// # Errors
    /// A text that is none, or a key that is everybody's: a point of low order.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let (octets, line) = key::read(text, PUBLIC_PREFIX)?;
        // The result of X25519 with such a point is 0 for every private part.
        let mut shared = [0; 32];
        let agreed = pair(&[1; 32]).is_some_and(|pair| pair.dh(&octets, &mut shared).is_ok());
        if agreed && shared != [0; 32] { Ok(Self(octets)) } else { Err(KeyError::Everybodys { line }) }
    }

    /// That of these octets, which came through a handshake.
    pub(super) fn of(octets: &[u8; 32]) -> Self {
        Self(*octets)
    }

    /// Its octets.
    pub fn octets(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The line that [`Public::parse`] reads.
impl fmt::Display for Public {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&key::write(&self.0, PUBLIC_PREFIX))
    }
}

fn pair(private: &[u8; 32]) -> Option<Box<dyn Dh>> {
    let mut pair = DefaultResolver.resolve_dh(&DHChoice::Curve25519)?;
    pair.set(private);
    Some(pair)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    /// RFC 7748, section 6.1: Bob's private and public key.
    const PRIVATE: &str = "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb";
    const PUBLIC: &str = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";

    #[test]
    fn the_public_part_is_that_of_rfc_7748_and_both_are_read_as_written() {
        let identity = Identity::parse(&format!("# bob\n{PREFIX}{PRIVATE}\n")).unwrap();
        assert_eq!(identity.public().to_string(), format!("{PUBLIC_PREFIX}{PUBLIC}"));
        assert_eq!(Identity::parse(&identity.to_text()), Ok(identity.clone()));
        assert_eq!(Public::parse(&identity.public().to_string()).as_ref(), Ok(identity.public()));
    }

    #[test]
    fn one_part_is_not_read_as_the_other_and_neither_shows_the_private_one() {
        let (private, public) = (format!("{PREFIX}{PRIVATE}"), format!("{PUBLIC_PREFIX}{PUBLIC}"));
        assert_eq!(Identity::parse(&public), Err(KeyError::Prefix { line: 1, prefix: PREFIX }));
        let error = Public::parse(&private).unwrap_err();
        assert_eq!(error, KeyError::Prefix { line: 1, prefix: PUBLIC_PREFIX });
        let identity = Identity::parse(&private).unwrap();
        assert!(!format!("{error} {error:?} {identity:?}").contains(PRIVATE));
        assert_eq!((Identity::is_in(&format!("# a\n {private}")), Identity::is_in(&public)), (true, false));
    }

    /// The points of low order, as <https://cr.yp.to/ecdh.html#validate> lists them.
    #[test_case("0000000000000000000000000000000000000000000000000000000000000000")]
    #[test_case("0100000000000000000000000000000000000000000000000000000000000000")]
    #[test_case("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800")]
    #[test_case("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157")]
    #[test_case("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f")]
    #[test_case("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f")]
    #[test_case("eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f")]
    fn a_key_that_is_everybody_s_is_none(digits: &str) {
        assert_eq!(Public::parse(&format!("{PUBLIC_PREFIX}{digits}")), Err(KeyError::Everybodys { line: 1 }));
    }
}
