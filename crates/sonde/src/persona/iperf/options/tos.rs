//! Names of the type of service that `-S` takes, as the octet of the header (RFC 2474, RFC 8622, RFC 1349).

use crate::persona::number::code_point;

/// The octet of a name or a number.
pub fn read(text: &str) -> Option<u8> {
    named(&text.to_ascii_lowercase()).or_else(|| number(text))
}

/// The value of a number, decimal or as `0x2e`.
pub fn number(text: &str) -> Option<u8> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The octet of a name in small letters.
pub fn named(name: &str) -> Option<u8> {
    let plain = match name {
        "ac_vo" => 0xb8,
        "le" | "reliability" => 0x04,
        "nqb" => 0xb4,
        "nqb2" => 0x14,
        "ac_be" => 0x00,
        "ac_bk" => 0x20,
        "ac_vi" => 0x80,
        "lowdelay" => 0x10,
        "throughput" => 0x08,
        "lowcost" => 0x02,
        _ => return code_point(name),
    };
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("ef", Some(0xb8); "expedited")]
    #[test_case("CS1", Some(0x20); "a class selector")]
    #[test_case("af41", Some(0x88); "assured forwarding")]
    #[test_case("0x10", Some(16); "hexadecimal")]
    #[test_case("184", Some(184); "decimal")]
    #[test_case("256", None; "no octet")]
    #[test_case("cs8", None; "no class")]
    #[test_case("af44", None; "no drop precedence")]
    #[test_case("", None; "nothing")]
    fn octets(text: &str, expected: Option<u8>) {
        assert_eq!(read(text), expected);
    }
}
