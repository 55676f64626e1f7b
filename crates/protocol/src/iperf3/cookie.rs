//! Cookie that all connections of one test share: 36 characters and a NUL.

use std::fmt;

/// Octets of a cookie on the wire.
pub const LENGTH: usize = 37;

/// Characters of a cookie: the alphabet of base 32.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A test's cookie. Two are equal when they are as C strings: up to the first NUL. A cookie of a peer may hold any octets.
#[derive(Clone, Copy)]
pub struct Cookie([u8; LENGTH]);

impl Cookie {
    /// A cookie of these unpredictable octets, one for each character.
    pub fn random(octets: [u8; LENGTH - 1]) -> Self {
        let mut cookie = [0; LENGTH];
        for (to, from) in cookie.iter_mut().zip(octets) {
            *to = ALPHABET[usize::from(from % 32)];
        }
        Self(cookie)
    }

    /// The cookie that these octets are.
    pub fn of(octets: [u8; LENGTH]) -> Self {
        Self(octets)
    }

    /// As it is sent: first on the control connection, and first on each data connection over TCP.
    pub fn octets(&self) -> [u8; LENGTH] {
        self.0
    }

    /// Its characters, as a test's output shows them; those that do not print are replaced.
    pub fn text(&self) -> String {
        let character = |octet: &u8| if octet.is_ascii_graphic() || *octet == b' ' { char::from(*octet) } else { '?' };
        self.string().iter().map(character).collect()
    }

    fn string(&self) -> &[u8] {
        self.0.split(|octet| *octet == 0).next().unwrap_or(&self.0)
    }
}

impl PartialEq for Cookie {
    fn eq(&self, other: &Self) -> bool {
        self.string() == other.string()
    }
}

impl Eq for Cookie {}

impl std::hash::Hash for Cookie {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.string().hash(state);
    }
}

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cookie({})", self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_36_letters_and_digits_and_a_nul() {
        let cookie = Cookie::random(std::array::from_fn(|index| index as u8 * 7));
        let octets = cookie.octets();
        let (text, last) = octets.split_at(36);
        assert!(text.iter().all(|octet| octet.is_ascii_lowercase() || (b'2'..=b'7').contains(octet)));
        assert_eq!((last, cookie.text().len()), (&[0][..], 36));
        assert!(cookie.text().starts_with("ahov4"), "{}", cookie.text());
    }

    #[test]
    fn cookies_are_compared_as_c_strings() {
        let with = |text: &[u8], rest: u8| {
            let mut octets = [rest; LENGTH];
            octets[..text.len()].copy_from_slice(text);
            Cookie::of(octets)
        };
        assert_eq!(with(b"host.12345\0", 7), with(b"host.12345\0", 9));
        assert_ne!(with(b"host.12345\0", 7), with(b"host.12346\0", 7));
        assert_eq!(with(b"a\x01\xff\0", 0).text(), "a??");
        assert_eq!(with(b"", b'x').text().len(), LENGTH, "one without a NUL");
    }
}
