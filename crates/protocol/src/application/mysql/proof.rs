//! Proofs of a password without the password: `mysql_native_password` and the fast path of `caching_sha2_password` (MySQL Source Code
//! Documentation, "Authentication Methods").
//!
//! A proof is the digest of the password, hidden by the digest of the server's nonce and of the stored hash. An
//! eavesdropper with nonce and proof can try guesses against them, as with every client of MySQL without TLS.

use aws_lc_rs::digest::{Algorithm, Digest, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};

use crate::application::login::Password;

/// Octets of a nonce.
pub const NONCE: usize = 20;

/// A way to log in that is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plugin {
    /// `mysql_native_password`, by SHA-1.
    Native,
    /// `caching_sha2_password`, by SHA-256.
    CachingSha2,
}

impl Plugin {
    /// That of this name.
    pub fn named(name: &[u8]) -> Option<Self> {
        [Self::Native, Self::CachingSha2].into_iter().find(|plugin| plugin.name().as_bytes() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
        }
    }

    /// The proof of `password` for `nonce`: at most 32 octets, and empty without a password.
    pub fn prove(self, password: Option<&Password>, nonce: [u8; NONCE]) -> Vec<u8> {
        let Some(password) = password.map(Password::octets).filter(|password| !password.is_empty()) else {
            return Vec::new();
        };
        match self {
            Self::Native => {
                let (hidden, kept) = twice(&SHA1_FOR_LEGACY_USE_ONLY, password);
                let mask = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[&nonce, kept.as_ref()].concat());
                hide(&hidden, &mask)
            }
            Self::CachingSha2 => {
                let (hidden, kept) = twice(&SHA256, password);
                let mask = digest(&SHA256, &[kept.as_ref(), &nonce].concat());
                hide(&hidden, &mask)
            }
        }
    }
}

/// The digest of `password`, and the digest of that.
fn twice(algorithm: &'static Algorithm, password: &[u8]) -> (Digest, Digest) {
    let once = digest(algorithm, password);
    (once, digest(algorithm, once.as_ref()))
}

fn hide(hidden: &Digest, mask: &Digest) -> Vec<u8> {
    hidden.as_ref().iter().zip(mask.as_ref()).map(|(octet, mask)| octet ^ mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORD: &str = "pencil";

    fn password(word: &str) -> Password {
        Password::new(word.to_owned())
    }

    #[test]
    fn a_proof_is_that_of_other_clients() {
        // A nonce of MariaDB 10.11.19, and the proof by which its own client was let in with this password.
        let proof = Plugin::Native.prove(Some(&password(WORD)), *b"5}8<c_4$Vds6S~Cn$cI\"");
        let seen = b"\xa2\xd7\x3d\xc4\x33\xcc\x38\x55\x20\x33\x65\x5d\x59\x09\x40\x94\xbb\xc1\x37\x1f";
        assert_eq!(proof, seen);
    }

    #[test]
    fn a_server_finds_in_a_proof_what_it_keeps() {
        let nonce = *b"abcdefghijklmnopqrst";
        for (plugin, algorithm) in [(Plugin::Native, &SHA1_FOR_LEGACY_USE_ONLY), (Plugin::CachingSha2, &SHA256)] {
            let proof = plugin.prove(Some(&password(WORD)), nonce);
            let kept = digest(algorithm, digest(algorithm, WORD.as_bytes()).as_ref());
            let parts: [&[u8]; 2] = match plugin {
                Plugin::Native => [&nonce, kept.as_ref()],
                Plugin::CachingSha2 => [kept.as_ref(), &nonce],
            };
            let mask = digest(algorithm, &parts.concat());
            let once: Vec<u8> = proof.iter().zip(mask.as_ref()).map(|(octet, mask)| octet ^ mask).collect();
            assert_eq!(digest(algorithm, &once).as_ref(), kept.as_ref(), "{plugin:?}");
        }
    }

    #[test]
    fn no_password_has_no_proof() {
        for plugin in [Plugin::Native, Plugin::CachingSha2] {
            assert!(plugin.prove(None, [1; NONCE]).is_empty());
            assert!(plugin.prove(Some(&password("")), [1; NONCE]).is_empty());
            assert_eq!(Plugin::named(plugin.name().as_bytes()), Some(plugin));
        }
        assert_eq!(Plugin::named(b"client_ed25519"), None);
    }
}
