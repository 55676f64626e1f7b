//! Numbers as C reads and prints them, where several tools do it alike. The numbers of one tool alone are in its own folder.

/// `%.*g`: so many significant digits, the shorter of the two ways.
pub fn general(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value.is_finite() { "0".to_owned() } else { value.to_string().to_lowercase() };
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..digits as i32).contains(&exponent) {
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        return trimmed(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
}

/// Without noughts behind a point that say nothing.
fn trimmed(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// A decimal of digits and at most one point.
pub fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|octet| octet.is_ascii_digit() || octet == b'.');
    text.parse().ok().filter(|_| plain)
}

/// Digits alone.
pub fn whole<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.parse().ok().filter(|_| text.bytes().all(|octet| octet.is_ascii_digit()))
}

/// An octet as C reads one: `52`, `064`, `0x34`.
pub fn octet(text: &str) -> Option<u8> {
    let lower = text.to_ascii_lowercase();
    match (lower.strip_prefix("0x"), lower.strip_prefix('0')) {
        (Some(digits), _) => u8::from_str_radix(digits, 16).ok(),
        (_, Some(digits)) if !digits.is_empty() => u8::from_str_radix(digits, 8).ok(),
        _ => whole(&lower),
    }
}

/// The octet of a code point: `csN` is N in the upper three bits (RFC 2474 §4.2.2), `afXY` class X with drop precedence Y (RFC 2597 §6), `ef` 46
/// (RFC 3246 §2.7); each above the two bits of ECN.
pub fn code_point(name: &str) -> Option<u8> {
    let digit = |text: &str, most: u8| text.parse::<u8>().ok().filter(|digit| text.len() == 1 && *digit <= most);
    let bits = if name == "ef" {
        46
    } else if let Some(class) = name.strip_prefix("cs") {
        digit(class, 7)? << 3
    } else {
        let (class, drop) = name.strip_prefix("af")?.split_at_checked(1)?;
        let (class, drop) = (digit(class, 4)?, digit(drop, 3)?);
        if class == 0 || drop == 0 {
            return None;
        }
        (class << 3) | (drop << 1)
    };
    Some(bits << 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case(0.0, "0"; "nought")]
    #[test_case(1.5, "1.5"; "short")]
    #[test_case(5.0, "5"; "whole")]
    #[test_case(4.8, "4.8"; "two digits")]
    #[test_case(4.954, "5"; "rounded")]
    #[test_case(18.2, "18"; "no decimals")]
    #[test_case(100.0, "1e+02"; "three digits")]
    #[test_case(0.000_012, "1.2e-05"; "small")]
    #[test_case(-3.3, "-3.3"; "negative")]
    fn two_digits(value: f64, text: &str) {
        assert_eq!(general(value, 2), text);
    }

    #[test_case(0.1_f32.into(), "0.1"; "single precision")]
    #[test_case(16.666_667, "16.6667"; "a sixth")]
    #[test_case(-100.0, "-100"; "below nought")]
    #[test_case(0.000_01, "1e-05"; "one of ten million")]
    fn six_digits(value: f64, text: &str) {
        assert_eq!(general(value, 6), text);
    }

    #[test_case("52", Some(52); "decimal")]
    #[test_case("064", Some(52); "octal")]
    #[test_case("0x34", Some(52); "hexadecimal")]
    #[test_case("0", Some(0); "nought")]
    #[test_case("256", None; "too large")]
    #[test_case("+1", None; "a sign")]
    fn octets(text: &str, value: Option<u8>) {
        assert_eq!(octet(text), value);
    }

    #[test_case("ef", Some(0xb8); "expedited")]
    #[test_case("cs1", Some(0x20); "class selector")]
    #[test_case("af41", Some(0x88); "assured")]
    #[test_case("cs8", None; "no such class")]
    #[test_case("af14", None; "no such precedence")]
    #[test_case("af50", None; "no such assured class")]
    #[test_case("af", None; "half a name")]
    #[test_case("", None; "nothing")]
    fn code_points(name: &str, octet: Option<u8>) {
        assert_eq!(code_point(name), octet);
    }
}
