//! The words, signs and values of a line, and the class that a value belongs to.

use std::net::IpAddr;

/// Signs that stand for themselves wherever they are.
const SIGNS: &[char] = &[',', '=', '(', ')', '[', ']', '"', '\'', '|', ';', '?', '%'];

/// Names of congestion control algorithms, which are a matter of the machine.
const CONGESTION_CONTROL: &[&str] = &[
    "bbr",
    "bbr2",
    "bbr3",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// A word, a sign or a value, and where it stands in its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atom<'a> {
    /// Characters in front of it.
    pub at: usize,
    /// Itself.
    pub text: &'a str,
}

/// Kind of an atom: everything but a word may differ within its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// A word or a sign, which must be the same.
    Word(String),
    /// A number without a point.
    Integer,
    /// A number with a point, and its decimals.
    Decimal(usize),
    /// A number with an exponent, as C prints a large one in few digits.
    Exponent,
    /// No number, as C prints it.
    NotANumber,
    /// Hexadecimal digits behind `0x`.
    Hexadecimal,
    /// A UUID.
    Uuid,
    /// An address of IPv4 or IPv6.
    Address,
    /// The name of a congestion control algorithm.
    CongestionControl,
}

impl Class {
    /// Returns true where a value of class `seen` may stand where the model has one of this. A value that the model could
    /// not compute may be a number, and one that it cut to a few digits may have all of them.
    pub fn admits(&self, seen: &Self) -> bool {
        self == seen || matches!((self, seen), (Self::NotANumber, Self::Decimal(_)) | (Self::Exponent, Self::Integer))
    }
}

impl Atom<'_> {
    /// Its characters.
    pub fn length(&self) -> usize {
        self.text.chars().count()
    }

    /// Characters in front of what follows it.
    pub fn end(&self) -> usize {
        self.at + self.length()
    }

    /// Its class.
    pub fn class(&self) -> Class {
        class(self.text)
    }
}

/// The class of a text that has no blank.
pub fn class(text: &str) -> Class {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
    let hexadecimal = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_hexdigit());
    let number = text.strip_prefix('-').unwrap_or(text);
    if digits(number) {
        Class::Integer
    } else if let Some((_, decimals)) = number.split_once('.').filter(|(whole, rest)| digits(whole) && digits(rest)) {
        Class::Decimal(decimals.len())
    } else if let Some((mantissa, power)) = number.split_once("e+")
        && mantissa.parse::<f64>().is_ok()
        && digits(power)
    {
        Class::Exponent
    } else if number == "nan" {
        Class::NotANumber
    } else if text.strip_prefix("0x").is_some_and(hexadecimal) {
        Class::Hexadecimal
    } else if text.len() == 36 && text.split('-').map(str::len).eq([8, 4, 4, 4, 12]) && text.split('-').all(hexadecimal)
    {
        Class::Uuid
    } else if text.parse::<IpAddr>().is_ok() || text == "::0" {
        Class::Address
    } else if CONGESTION_CONTROL.contains(&text) {
        Class::CongestionControl
    } else {
        Class::Word(text.to_owned())
    }
}

/// The atoms of a line without its end.
pub fn atoms(line: &str) -> Vec<Atom<'_>> {
    let mut atoms = Vec::new();
    let mut rest = line;
    let mut at = 0;
    while let Some(first) = rest.chars().next() {
        let length = if first == ' ' {
            first.len_utf8()
        } else {
            let length = if SIGNS.contains(&first) { 1 } else { word(rest) };
            atoms.push(Atom { at, text: &rest[..length] });
            length
        };
        at += rest[..length].chars().count();
        rest = &rest[length..];
    }
    atoms
}

/// Octets of the word that `text` begins with. A colon behind a word is a sign; within an address it is not.
fn word(text: &str) -> usize {
    let end = text.find(|c: char| c == ' ' || SIGNS.contains(&c)).unwrap_or(text.len());
    let word = &text[..end];
    match word.strip_suffix(':') {
        Some(before) if !before.is_empty() && word.parse::<IpAddr>().is_err() => before.len(),
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("-1", &Class::Integer)]
    #[test_case("2147483648", &Class::Integer)]
    #[test_case("119524.99", &Class::Decimal(2))]
    #[test_case("-1.000", &Class::Decimal(3))]
    #[test_case("-nan", &Class::NotANumber)]
    #[test_case("2.791e+08", &Class::Exponent; "an exponent")]
    #[test_case("e+08", &Class::Word("e+08".into()); "no exponent")]
    #[test_case("0xfffffffe", &Class::Hexadecimal)]
    #[test_case("a7fc24e2-e549-11f1-9bf7-d7c389918441", &Class::Uuid)]
    #[test_case("0.0.0.0", &Class::Address)]
    #[test_case("::1", &Class::Address)]
    #[test_case("::0", &Class::Address)]
    #[test_case("cubic", &Class::CongestionControl)]
    #[test_case("10^6bits/s", &Class::Word("10^6bits/s".into()); "a unit")]
    #[test_case("1.", &Class::Word("1.".into()); "no number")]
    #[test_case("-", &Class::Word("-".into()); "a dash")]
    #[test_case("0x", &Class::Word("0x".into()); "no digits")]
    #[test_case(">100_SECS", &Class::Word(">100_SECS".into()); "a word with digits")]
    fn an_atom_has_a_class(text: &str, expected: &Class) {
        assert_eq!(class(text), *expected);
    }

    #[test]
    fn a_line_falls_apart_at_blanks_and_signs() {
        let texts = |line| atoms(line).iter().map(|atom| atom.text).collect::<Vec<_>>();
        assert_eq!(texts("A=1,b (127.0.0.1) : x"), ["A", "=", "1", ",", "b", "(", "127.0.0.1", ")", ":", "x"]);
        assert_eq!(texts("UNIT_USEC     :    0:  12"), ["UNIT_USEC", ":", "0", ":", "12"]);
        assert_eq!(texts("from ::0 (::) to ::1 10.0:"), ["from", "::0", "(", "::", ")", "to", "::1", "10.0", ":"]);
        let places: Vec<usize> = atoms("  a  bc:").iter().map(|atom| atom.at).collect();
        assert_eq!(places, [2, 5, 7]);
    }

    #[test]
    fn only_what_was_no_number_may_become_one() {
        assert!(Class::NotANumber.admits(&Class::Decimal(2)));
        assert!(!Class::Decimal(2).admits(&Class::NotANumber));
        assert!(!Class::Decimal(2).admits(&Class::Decimal(3)));
        assert!(!Class::Integer.admits(&Class::Decimal(2)));
        assert!(Class::Exponent.admits(&Class::Integer) && !Class::Integer.admits(&Class::Exponent));
    }
}
