//! SCRAM-SHA-256 (RFC 5802, RFC 7677) without channel binding: both ends prove that they know a password, and neither tells it.

use std::num::NonZeroU32;

use aws_lc_rs::{digest, hmac, pbkdf2};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::application::login::Password;

/// Its name.
pub const MECHANISM: &str = "SCRAM-SHA-256";
/// No channel is bound.
const HEADER: &str = "n,,";
/// Most rounds that are computed: PostgreSQL has 4,096; many more would keep a processor busy at a stranger's word.
const MOST_ROUNDS: u32 = 100_000;
const LONGEST_SALT: usize = 1_024;

/// A proof under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scram {
    password: Password,
    nonce: String,
    /// The proof that the server owes; absent before ours.
    expected: Option<Vec<u8>>,
    proved: bool,
}

impl Scram {
    /// A proof of `password`. Chance has made `draw`, and `times` differs each time.
    pub fn new(password: Password, draw: [u8; 16], times: u64) -> Self {
        let nonce = format!("{}{times:x}", STANDARD.encode(draw));
        Self { password, nonce, expected: None, proved: false }
    }

    /// True once the server has proved that it knows the password.
    pub fn is_proved(&self) -> bool {
        self.proved
    }

    fn bare(&self) -> String {
        // PostgreSQL reads the name in the opening of its session.
        format!("n=,r={}", self.nonce)
    }

    /// The first message.
    pub fn first(&self) -> Vec<u8> {
        format!("{HEADER}{}", self.bare()).into_bytes()
    }

    /// Makes the proof, in answer to the server's first message.
    ///
    /// # Errors
    /// Words that are none.
    pub fn prove(&mut self, says: &[u8]) -> Result<Vec<u8>, &'static str> {
        let wrong = "asks for a proof in words that are none";
        let says = std::str::from_utf8(says).map_err(|_| wrong)?;
        let mut parts = says.split(',');
        let mut part = |name: &str| parts.next().and_then(|part| part.strip_prefix(name)).ok_or(wrong);
        let (nonce, salt, rounds) = (part("r=")?, part("s=")?, part("i=")?);
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err("answers another proof than this one");
        }
        let salt = STANDARD.decode(salt).ok().filter(|salt| salt.len() <= LONGEST_SALT).ok_or(wrong)?;
        let rounds = rounds.parse().ok().filter(|rounds: &NonZeroU32| rounds.get() <= MOST_ROUNDS);
        let rounds = rounds.ok_or("asks for more rounds of a proof than are computed")?;
        let mut salted = [0; digest::SHA256_OUTPUT_LEN];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, &salt, self.password.octets(), &mut salted);
        let client = mac(&salted, b"Client Key");
        let stored = digest::digest(&digest::SHA256, client.as_ref());
        let without = format!("c={},r={nonce}", STANDARD.encode(HEADER));
        let all = format!("{},{says},{without}", self.bare());
        let signature = mac(stored.as_ref(), all.as_bytes());
        let proof: Vec<u8> = client.as_ref().iter().zip(signature.as_ref()).map(|(key, octet)| key ^ octet).collect();
        self.expected = Some(mac(mac(&salted, b"Server Key").as_ref(), all.as_bytes()).as_ref().to_vec());
        Ok(format!("{without},p={}", STANDARD.encode(proof)).into_bytes())
    }

    /// Holds the server to its proof.
    ///
    /// # Errors
    /// One that is none.
    pub fn verify(&mut self, says: &[u8]) -> Result<(), &'static str> {
        let given = says.strip_prefix(b"v=").and_then(|given| STANDARD.decode(given).ok());
        self.proved = given.is_some() && given == self.expected;
        if self.proved { Ok(()) } else { Err("does not prove that it knows the password") }
    }
}

fn mac(key: &[u8], text: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677 section 3, but for the name, which stands in the messages there.
    fn example() -> Scram {
        Scram { nonce: "rOprNGfwEbeRWgbNEkqO".into(), ..Scram::new(Password::new("pencil".into()), [0; 16], 0) }
    }

    const SAYS: &[u8] = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    #[test]
    fn a_proof_is_made_and_the_servers_is_held_to() {
        let mut scram = example();
        assert_eq!(scram.first(), b"n,,n=,r=rOprNGfwEbeRWgbNEkqO");
        let proof = String::from_utf8(scram.prove(SAYS).unwrap()).unwrap();
        assert!(proof.starts_with("c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p="), "{proof}");
        let right = format!("v={}", STANDARD.encode(scram.expected.clone().unwrap()));
        assert!(scram.verify(b"v=AAAA").is_err() && !scram.is_proved());
        assert!(scram.verify(right.as_bytes()).is_ok() && scram.is_proved());
    }

    #[test]
    fn words_that_are_none_prove_nothing() {
        for says in [
            &b""[..],
            b"\xff",
            b"r=rOprNGfwEbeRWgbNEkqO,s=W22Z,i=4096",
            b"r=another,s=W22Z,i=4096",
            b"r=rOprNGfwEbeRWgbNEkqOx,s=?,i=4096",
            b"r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=0",
            b"r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=4294967295",
        ] {
            assert!(example().prove(says).is_err(), "{}", String::from_utf8_lossy(says));
        }
    }

    #[test]
    fn a_password_is_in_no_text() {
        assert!(!format!("{:?}", example()).contains("pencil"));
    }
}
