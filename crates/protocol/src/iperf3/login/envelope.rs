//! The encryption of a token: RSA, as OpenSSL has it by default.
//!
//! Done by `aws-lc-rs`, whose decryption runs in constant time (a library in Rust alone, `rsa`, does not: RUSTSEC-2023-0071).
//! Keys have 2,048 to 8,192 bits.

use std::fmt;

use aws_lc_rs::rsa::{
    OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey, Pkcs1PrivateDecryptingKey,
    Pkcs1PublicEncryptingKey, PrivateDecryptingKey, PublicEncryptingKey,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::Token;
use super::pem::{self, KeyError};

/// Padding of encrypted data (RFC 8017).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// OAEP with SHA-1, for its masks too: iperf3 since 3.17.
    #[default]
    Oaep,
    /// PKCS #1 v1.5: iperf3 before 3.17, and later ones by `--use-pkcs1-padding`.
    Pkcs1,
}

/// The server's public key, which a client has.
#[derive(Clone)]
pub struct PublicKey(PublicEncryptingKey);

/// The server's private key.
#[derive(Clone)]
pub struct PrivateKey(PrivateDecryptingKey);

/// Its size alone.
impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({} bits)", self.0.key_size_bits())
    }
}

/// Its size alone.
impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({} bits)", self.0.key_size_bits())
    }
}

impl PublicKey {
    /// Reads a key in PEM: `PUBLIC KEY` or `RSA PUBLIC KEY`.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        PublicEncryptingKey::from_der(&pem::public(text)?).map(Self).map_err(|_| KeyError::Key)
    }

    /// Encrypts a token: base 64, without line breaks. `None`: name and password are too long for this key, or of several
    /// lines.
    pub fn seal(&self, token: &Token, padding: Padding) -> Option<String> {
        let text = token.plaintext()?;
        let mut room = vec![0; self.0.key_size_bytes()];
        let sealed = match padding {
            Padding::Oaep => OaepPublicEncryptingKey::new(self.0.clone())
                .and_then(|key| key.encrypt(&OAEP_SHA1_MGF1SHA1, text.as_bytes(), &mut room, None)),
            Padding::Pkcs1 => {
                Pkcs1PublicEncryptingKey::new(self.0.clone()).and_then(|key| key.encrypt(text.as_bytes(), &mut room))
            }
        };
        sealed.ok().map(|octets| STANDARD.encode(octets))
    }
}

impl PrivateKey {
    /// Reads a key in PEM, not encrypted: `PRIVATE KEY` (PKCS #8) or `RSA PRIVATE KEY` (PKCS #1).
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        PrivateDecryptingKey::from_pkcs8(&pem::private(text)?).map(Self).map_err(|_| KeyError::Key)
    }

    /// Decrypts a token. `None`: it is none for this key with this padding; nobody is told more.
    pub fn open(&self, sealed: &str, padding: Padding) -> Option<Token> {
        let sealed = STANDARD.decode(sealed.trim()).ok()?;
        let mut room = vec![0; self.0.key_size_bytes()];
        let opened = match padding {
            Padding::Oaep => OaepPrivateDecryptingKey::new(self.0.clone())
                .and_then(|key| key.decrypt(&OAEP_SHA1_MGF1SHA1, &sealed, &mut room, None)),
            Padding::Pkcs1 => {
                Pkcs1PrivateDecryptingKey::new(self.0.clone()).and_then(|key| key.decrypt(&sealed, &mut room))
            }
        };
        Token::read(opened.ok()?)
    }
}
