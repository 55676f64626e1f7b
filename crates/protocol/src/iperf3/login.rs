//! Login to run a test: a token of name, password and time, encrypted with the server's public key.
//!
//! The token is no session key: nothing else on the connection is encrypted, and anyone who sees it can send it again while the
//! server still accepts its time. A server tells nobody why a login failed: neither which part of it was wrong,
//! nor whether it could be decrypted.

mod envelope;
mod pem;

use std::collections::BTreeMap;
use std::fmt;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};

pub use self::envelope::{Padding, PrivateKey, PublicKey};
pub use self::pem::KeyError;

/// Default of the largest difference between a token's time and the server's, seconds.
pub const SKEW_S: u64 = 10;

/// Credentials of a request for a test, with their time.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// Name.
    pub user: String,
    /// Password.
    pub password: String,
    /// Creation time, seconds since 1970.
    pub made_s: i64,
}

/// Without the password.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("user", &self.user).field("made_s", &self.made_s).finish_non_exhaustive()
    }
}

impl Token {
    /// As it is encrypted. `None`: a name or a password of several lines, which nobody could read again.
    pub fn plaintext(&self) -> Option<String> {
        let Self { user, password, made_s } = self;
        let lines = [user, password].iter().any(|text| text.contains(['\n', '\r', '\0']));
        (!lines).then(|| format!("user: {user}\npwd:  {password}\nts:   {made_s}"))
    }

    /// Reads decrypted octets.
    pub fn read(plaintext: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(plaintext).ok()?;
        let mut lines = text.split('\n');
        let user = lines.next()?.strip_prefix("user: ")?.to_owned();
        let password = lines.next()?.strip_prefix("pwd:  ")?.to_owned();
        let made_s = lines.next()?.strip_prefix("ts:   ")?.trim_end_matches('\0').trim_end().parse().ok()?;
        Some(Self { user, password, made_s })
    }
}

/// Users and the hashes of their passwords.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Users(BTreeMap<String, String>);

/// Names alone.
impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Users {
    /// Reads the text of a file: a line `name,hash` for each, `#` at the start of one that is none. The first of two
    /// lines with one name counts. A line that is neither is an error with its number, from 1.
    pub fn read(text: &str) -> Result<Self, BadLine> {
        let mut users = BTreeMap::new();
        for (line, content) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            let content = content.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let (name, hash) = content.split_once(',').ok_or(BadLine { line })?;
            let hash = hash.trim().to_ascii_lowercase();
            if name.is_empty() || hash.len() != 64 || !hash.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(BadLine { line });
            }
            users.entry(name.to_owned()).or_insert(hash);
        }
        Ok(Self(users))
    }

    /// Returns true where the file has this user with this password. Takes as long for a name that is not in it.
    pub fn has(&self, user: &str, password: &str) -> bool {
        let none = "0".repeat(64);
        let known = self.0.get(user);
        let seen = password_hash(user, password);
        let same = verify_slices_are_equal(seen.as_bytes(), known.unwrap_or(&none).as_bytes()).is_ok();
        same && known.is_some()
    }
}

/// The hash of a password in a file of users: SHA-256 of the name in braces and the password, in hexadecimal.
///
/// ```
/// use protocol::iperf3::login::password_hash;
/// assert_eq!(password_hash("mario", "rossi"), "bf7a49a846d44b454a5d11e7acfaf13d138bbe0b7483aa3e050879700572709b");
/// ```
pub fn password_hash(user: &str, password: &str) -> String {
    let digest = digest(&SHA256, format!("{{{user}}}{password}").as_bytes());
    digest.as_ref().iter().flat_map(|octet| [octet >> 4, octet & 15]).map(hex).collect()
}

fn hex(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).unwrap_or('0')
}

/// A line of a file of users that says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is not a user: write a name, a comma and a SHA-256 as 64 hexadecimal digits")]
pub struct BadLine {
    /// Its number, from 1.
    pub line: usize,
}

/// Rules by which a server lets a client in.
#[derive(Debug)]
pub struct Login {
    /// The key that tokens are encrypted for.
    pub key: PrivateKey,
    /// Users who may run tests.
    pub users: Users,
    /// Largest difference between a token's time and ours, seconds.
    pub skew_s: u64,
    /// Padding of tokens: [`Padding::Oaep`] since iperf3 3.17, [`Padding::Pkcs1`] before. A server takes one of them.
    pub padding: Padding,
}

impl Login {
    /// Returns the name of the token's owner, who may run a test at `now_s`, seconds since 1970. The reason of a refusal
    /// is for the server's own eyes.
    pub fn admit(&self, token: Option<&str>, now_s: i64) -> Result<String, Refusal> {
        let token = self.key.open(token.ok_or(Refusal::NoToken)?, self.padding).ok_or(Refusal::Unreadable)?;
        if token.made_s.abs_diff(now_s) > self.skew_s {
            return Err(Refusal::Time);
        }
        if !self.users.has(&token.user, &token.password) {
            return Err(Refusal::Unknown);
        }
        Ok(token.user)
    }
}

/// Reason why a login failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The client sent none.
    #[error("the client sent no token")]
    NoToken,
    /// Not for our key, padded otherwise, or not a token at all.
    #[error(
        "the client's token cannot be read: it is for another key, or uses another padding (OAEP, or PKCS #1 v1.5)"
    )]
    Unreadable,
    /// Too old or too new.
    #[error("the client's token is too old or too new: the clocks differ, or it was sent before")]
    Time,
    /// No such user, or another password.
    #[error("unknown user or wrong password")]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    fn token() -> Token {
        Token { user: "mario".to_owned(), password: "ros si".to_owned(), made_s: 1_795_223_522 }
    }

    #[test]
    fn a_token_has_three_lines() {
        let text = token().plaintext().unwrap();
        assert_eq!(text, "user: mario\npwd:  ros si\nts:   1795223522");
        assert_eq!(Token::read(text.as_bytes()), Some(token()));
        assert_eq!(Token { user: "a\nb".to_owned(), ..token() }.plaintext(), None);
        assert!(!format!("{:?}", token()).contains("ros"), "no password is shown");
    }

    #[test_case(b""; "nothing")]
    #[test_case(b"user: a\npwd:  b"; "no time")]
    #[test_case(b"user: a\npwd:  b\nts:   x"; "a time that is none")]
    #[test_case(b"user:a\npwd:  b\nts:   1"; "no space")]
    #[test_case(b"user: \xff\npwd:  b\nts:   1"; "no text")]
    fn what_is_no_token_is_none(text: &[u8]) {
        assert_eq!(Token::read(text), None);
    }

    #[test]
    fn a_file_of_users_has_names_hashes_and_comments() {
        let hash = password_hash("mario", "rossi");
        let users =
            Users::read(&format!("# users\n\nmario,{hash}\r\nluigi, {hash}\nmario,{}\n", "0".repeat(64))).unwrap();
        assert!(users.has("mario", "rossi") && !users.has("mario", "Rossi"), "the first line counts");
        assert!(!users.has("luigi", "rossi"), "the hash is of the name too");
        assert!(!users.has("peach", "") && !users.has("", ""));
        assert_eq!(format!("{users:?}"), r#"{"luigi", "mario"}"#, "no hash is shown");
    }

    #[test_case("a,b", 1; "no hash")]
    #[test_case("# c\nmario", 2; "no comma")]
    #[test_case(",0000000000000000000000000000000000000000000000000000000000000000", 1; "no name")]
    #[test_case("a,g000000000000000000000000000000000000000000000000000000000000000", 1; "no digit")]
    fn a_line_that_is_no_user_is_told(text: &str, line: usize) {
        assert_eq!(Users::read(text), Err(BadLine { line }));
    }
}
