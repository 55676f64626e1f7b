//! Keys as files hold them: base 64 between two lines that name the kind, and the little of DER that tells one form of
//! key from another.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A file of a key, at most, octets: a key of 8,192 bits takes a tenth.
const LONGEST: usize = 64 << 10;

/// Reason why a text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No such lines.
    #[error("it holds no {0} key: the line `-----BEGIN {0} KEY-----` is missing")]
    None(&'static str),
    /// Encrypted with a passphrase.
    #[error(
        "the key is encrypted with a passphrase, which is not supported: write it without one (openssl pkey -in …)"
    )]
    Encrypted,
    /// Something else between the lines.
    #[error("the text between its BEGIN and END lines is not base64")]
    Base64,
    /// A key of another kind or size.
    #[error("it is not an RSA key of 2048 to 8192 bits")]
    Key,
}

/// The octets of the first block in `text` that one of `labels` names, and its label.
fn block(text: &str, labels: &[&'static str]) -> Result<Option<(&'static str, Vec<u8>)>, KeyError> {
    let text = text.get(..LONGEST).unwrap_or(text);
    let Some((label, body)) = labels.iter().find_map(|label| {
        let body = text.split_once(&format!("-----BEGIN {label}-----"))?.1;
        Some((*label, body.split_once(&format!("-----END {label}-----"))?.0))
    }) else {
        return Ok(None);
    };
    // A header stands in a block that was encrypted in the old way.
    if body.contains("ENCRYPTED") {
        return Err(KeyError::Encrypted);
    }
    let packed: String = body.split_whitespace().collect();
    Ok(Some((label, STANDARD.decode(packed).map_err(|_| KeyError::Base64)?)))
}

/// A public key as DER's `SubjectPublicKeyInfo`.
pub(super) fn public(text: &str) -> Result<Vec<u8>, KeyError> {
    match block(text, &["PUBLIC KEY", "RSA PUBLIC KEY"])? {
        Some(("RSA PUBLIC KEY", der)) => {
            let bits = element(BIT_STRING, &[&[0], &der[..]].concat());
            Ok(element(SEQUENCE, &[RSA, &bits].concat()))
        }
        Some((_, der)) => Ok(der),
        None => Err(KeyError::None("PUBLIC")),
    }
}

/// A private key as PKCS #8.
pub(super) fn private(text: &str) -> Result<Vec<u8>, KeyError> {
    match block(text, &["PRIVATE KEY", "RSA PRIVATE KEY"])? {
        Some(("RSA PRIVATE KEY", der)) => {
            let octets = element(OCTET_STRING, &der);
            Ok(element(SEQUENCE, &[VERSION_0, RSA, &octets].concat()))
        }
        Some((_, der)) => Ok(der),
        None if text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") => Err(KeyError::Encrypted),
        None => Err(KeyError::None("PRIVATE")),
    }
}

const SEQUENCE: u8 = 0x30;
const OCTET_STRING: u8 = 0x04;
const BIT_STRING: u8 = 0x03;
/// The number 0.
const VERSION_0: &[u8] = &[0x02, 0x01, 0x00];
/// The algorithm's name, `rsaEncryption` (RFC 8017, appendix A), with no parameters.
const RSA: &[u8] = &[0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];

/// An element of DER.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut octets = vec![tag];
    if length < 128 {
        octets.push(length as u8);
    } else {
        let long = length.to_be_bytes();
        let long = &long[length.leading_zeros() as usize / 8..];
        octets.push(0x80 | long.len() as u8);
        octets.extend(long);
    }
    octets.extend(content);
    octets
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test]
    fn lengths_of_der_are_short_or_long() {
        assert_eq!(element(4, &[7; 3]), [4, 3, 7, 7, 7]);
        assert_eq!(element(4, &[7; 127])[..2], [4, 127]);
        assert_eq!(element(4, &[7; 200])[..3], [4, 0x81, 200]);
        assert_eq!(element(4, &[7; 1_000])[..4], [4, 0x82, 3, 0xe8]);
    }

    #[test_case("", KeyError::None("PRIVATE"); "nothing")]
    #[test_case("-----BEGIN PRIVATE KEY-----\nAAAA\n", KeyError::None("PRIVATE"); "no end")]
    #[test_case("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----", KeyError::Encrypted; "encrypted")]
    #[test_case("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----", KeyError::Encrypted; "encrypted in the old way")]
    #[test_case("-----BEGIN PRIVATE KEY-----\nA?AA\n-----END PRIVATE KEY-----", KeyError::Base64; "no base 64")]
    fn what_is_no_key_is_told(text: &str, why: KeyError) {
        assert_eq!(private(text), Err(why));
        assert!(!why.to_string().is_empty());
    }
}
