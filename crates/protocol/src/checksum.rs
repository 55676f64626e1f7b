//! SHA-256 in its usual digits: names a program by its content.

use std::fmt::Write;

use aws_lc_rs::digest::{SHA256, digest};

/// SHA-256 of `octets` (FIPS 180-4): 64 hexadecimal digits, lowercase.
///
/// ```
/// assert!(protocol::checksum::sha256(b"abc").starts_with("ba7816bf8f01cfea"));
/// ```
pub fn sha256(octets: &[u8]) -> String {
    digest(&SHA256, octets).as_ref().iter().fold(String::new(), |mut digits, octet| {
        let _ = write!(digits, "{octet:02x}");
        digits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_sums() {
        // FIPS 180-4's examples.
        assert_eq!(sha256(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
