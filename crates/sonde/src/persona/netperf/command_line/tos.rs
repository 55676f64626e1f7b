//! Values of `-Y`: a number in any base of C, or a name.

use crate::persona::number;

/// Names beyond those of the code points.
const NAMES: [(&str, u8); 3] = [("lowdelay", 0x10), ("throughput", 0x08), ("reliability", 0x04)];

/// The octet of a number (`184`, `0xb8`, `0270`), a code point (`ef`, `af21`, `cs5`) or a type of service.
pub fn octet(text: &str) -> Option<u8> {
    let name = text.trim().to_ascii_lowercase();
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        return number::octet(&name);
    }
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, octet)| *octet).or_else(|| number::code_point(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("0x10", Some(0x10); "hexadecimal")]
    #[test_case("0X10", Some(0x10); "capital hexadecimal")]
    #[test_case("010", Some(8); "octal")]
    #[test_case("16", Some(16); "decimal")]
    #[test_case("0", Some(0); "nought")]
    #[test_case("EF", Some(0xb8); "expedited")]
    #[test_case("CS1", Some(0x20); "class selector")]
    #[test_case("af41", Some(0x88); "assured")]
    #[test_case("lowdelay", Some(0x10); "a type of service")]
    #[test_case("256", None; "too much")]
    #[test_case("cs8", None; "no such class")]
    #[test_case("af14", None; "no such precedence")]
    #[test_case("af50", None; "no such assured class")]
    #[test_case("af", None; "half a name")]
    #[test_case("", None; "nothing")]
    #[test_case("best", None; "another name")]
    fn octets(text: &str, expected: Option<u8>) {
        assert_eq!(octet(text), expected);
    }
}
