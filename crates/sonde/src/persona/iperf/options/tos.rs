//! Names of the type of service that `-S` takes, as the octet of the header (RFC 2474, RFC 8622, RFC 1349).

/// The octet of a name or a number.
pub fn read(text: &str) -> Option<u8> {
    named(&text.to_ascii_lowercase()).or_else(|| number(text))
}

fn number(text: &str) -> Option<u8> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u8::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn named(name: &str) -> Option<u8> {
    let class = |first: char, text: &str| {
        let digits = text.strip_prefix(if first == 'c' { "cs" } else { "af" })?;
        let digit = |at: usize| digits.as_bytes().get(at).map(|octet| octet.wrapping_sub(b'0'));
        match (first, digits.len()) {
            ('c', 1) => digit(0).filter(|class| *class < 8).map(|class| class << 5),
            ('a', 2) => {
                let (class, drop) = (digit(0)?, digit(1)?);
                ((1..=4).contains(&class) && (1..=3).contains(&drop)).then_some(class << 5 | drop << 3)
            }
            _ => None,
        }
    };
    let plain = match name {
        "ef" | "ac_vo" => 0xb8,
        "le" | "reliability" => 0x04,
        "nqb" => 0xb4,
        "nqb2" => 0x14,
        "ac_be" => 0x00,
        "ac_bk" => 0x20,
        "ac_vi" => 0x80,
        "lowdelay" => 0x10,
        "throughput" => 0x08,
        "lowcost" => 0x02,
        _ => return class('c', name).or_else(|| class('a', name)),
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
