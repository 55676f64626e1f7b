//! Numbers as C's `strtol` reads them with base 0: blanks, a sign, `0x` or `0` for another base, digits; the rest of the
//! word does not count.

/// A number read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number<'a> {
    /// Its value.
    pub value: i64,
    /// Text behind it.
    pub rest: &'a str,
    /// True where a leading 0 made it octal.
    pub octal: bool,
}

/// Reads a number; `None` where no digits stand there, or more than 64 bits hold.
pub fn read(text: &str) -> Option<Number<'_>> {
    let (negative, digits) = match text.trim_start().as_bytes() {
        [b'-', ..] => (true, &text.trim_start()[1..]),
        [b'+', ..] => (false, &text.trim_start()[1..]),
        _ => (false, text.trim_start()),
    };
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (base, digits) = match hexadecimal.filter(|rest| rest.starts_with(|c: char| c.is_ascii_hexdigit())) {
        Some(rest) => (16, rest),
        None if digits.starts_with('0') => (8, digits),
        None => (10, digits),
    };
    let end = digits.find(|c: char| !c.is_digit(base)).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    let value = i64::from_str_radix(digits, base).ok()?;
    Some(Number { value: if negative { -value } else { value }, rest, octal: base == 8 && digits.len() > 1 })
}

/// Returns true where the word is digits and nothing else.
pub fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("10", 10, "", false; "decimal")]
    #[test_case("0x3e8", 1_000, "", false; "hexadecimal")]
    #[test_case("010", 8, "", true; "octal")]
    #[test_case("0", 0, "", false; "nought is no octal surprise")]
    #[test_case(" -1", -1, "", false; "a sign behind a blank")]
    #[test_case("+7", 7, "", false; "a plus")]
    #[test_case("1.5", 1, ".5", false; "a fraction is dropped")]
    #[test_case("10k", 10, "k", false; "a unit is dropped")]
    #[test_case("0x", 0, "x", false; "hexadecimal without digits is a nought")]
    #[test_case("09", 0, "9", false; "a nought that no octal digit follows")]
    fn numbers(text: &str, value: i64, rest: &str, octal: bool) {
        assert_eq!(read(text), Some(Number { value, rest, octal }));
    }

    #[test_case("x"; "a word")]
    #[test_case(""; "nothing")]
    #[test_case("-"; "a sign alone")]
    #[test_case("99999999999999999999"; "more than 64 bits")]
    fn no_numbers(text: &str) {
        assert_eq!(read(text), None);
    }
}
