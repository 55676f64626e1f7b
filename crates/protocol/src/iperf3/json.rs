//! JSON as iperf3 writes it (compact, in a fixed order, numbers in the least digits that read back) and as it reads it:
//! missing values and those of another type are passed over.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// A number as iperf3's JSON library spells it: without a fraction where it has none, else in 15 significant digits, or 17
/// where fewer would not read back as the same. Infinity and NaN are `null`.
///
/// ```
/// use protocol::iperf3::json::number;
/// assert_eq!([1.0, 0.00143, 8.7e-5, 99.574563658233473].map(number), ["1", "0.00143", "8.7e-05", "99.574563658233473"]);
/// ```
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "null".to_owned();
    }
    if value == value.trunc() && value.abs() < 9.0e18 {
        return (value as i64).to_string();
    }
    let short = significant(value, 15);
    match short.parse::<f64>() {
        Ok(read) if (read - value).abs() <= read.abs().max(value.abs()) * f64::EPSILON => short,
        _ => significant(value, 17),
    }
}

/// As C's `%.{digits}g` has it.
fn significant(value: f64, digits: usize) -> String {
    let scientific = format!("{value:.*e}", digits - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..digits as i32).contains(&exponent) {
        let decimals = (digits as i32 - 1 - exponent) as usize;
        return without_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.unsigned_abs())
}

fn without_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// An object that is being written, key by key.
#[derive(Debug)]
pub(super) struct Object(String);

impl Object {
    /// An empty one.
    pub fn new() -> Self {
        Self("{".to_owned())
    }

    /// A whole number.
    pub fn integer(&mut self, key: &str, value: impl Into<i128>) {
        self.raw(key, &Into::<i128>::into(value).to_string());
    }

    /// Any number.
    pub fn number(&mut self, key: &str, value: f64) {
        self.raw(key, &number(value));
    }

    /// A text.
    pub fn text(&mut self, key: &str, value: &str) {
        self.raw(key, &quoted(value));
    }

    /// `true`, where it is so; else nothing at all.
    pub fn flag(&mut self, key: &str, value: bool) {
        if value {
            self.raw(key, "true");
        }
    }

    /// 1, where it is so; else nothing at all.
    pub fn one(&mut self, key: &str, value: bool) {
        if value {
            self.raw(key, "1");
        }
    }

    /// Adds a field whose value is JSON already.
    pub fn raw(&mut self, key: &str, value: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&quoted(key));
        self.0.push(':');
        self.0.push_str(value);
    }

    /// Its text.
    pub fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// Several as an array.
pub(super) fn array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The fields of an object that was read. Where a key comes twice, the last one counts.
#[derive(Debug)]
pub(super) struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    /// Those of `text`; `None`: it is no object.
    pub fn of(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self)
    }

    /// Returns true where it is the word `true`; a number is not.
    pub fn flag(&self, key: &str) -> bool {
        self.raw(key).is_some_and(|value| value.get() == "true")
    }

    /// Returns true where it is a number other than 0.
    pub fn nonzero(&self, key: &str) -> bool {
        self.integer(key).is_some_and(|value| value != 0)
    }

    /// A number, its fraction cut off, the nearest that fits where it is beyond 64 bits. One that takes all 64 bits without a
    /// sign is a negative one, as iperf3 3.12 and 3.13 write it.
    pub fn integer(&self, key: &str) -> Option<i64> {
        let text = self.raw(key)?.get();
        let exact = text.parse::<i64>().ok().or_else(|| text.parse::<u64>().ok().map(u64::cast_signed));
        exact.or_else(|| self.number(key).map(|value| value as i64))
    }

    /// Any number that is finite.
    pub fn number(&self, key: &str) -> Option<f64> {
        let text = self.raw(key)?.get();
        let starts = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        text.parse().ok().filter(|value: &f64| starts && value.is_finite())
    }

    /// A text.
    pub fn text(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.raw(key)?.get()).ok()
    }

    /// The elements of an array.
    pub fn array(&self, key: &str) -> Option<Vec<&'a RawValue>> {
        serde_json::from_str(self.raw(key)?.get()).ok()
    }

    /// The JSON of an object, as it was written.
    pub fn object(&self, key: &str) -> Option<&'a str> {
        self.raw(key).map(RawValue::get).filter(|text| text.starts_with('{'))
    }

    fn raw(&self, key: &str) -> Option<&'a RawValue> {
        self.0.get(key).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case(0.0, "0")]
    #[test_case(-1.0, "-1")]
    #[test_case(1e17, "100000000000000000")]
    #[test_case(1.5e25, "1.5e+25")]
    #[test_case(0.1, "0.1")]
    #[test_case(1.001_031_041_145_324_7, "1.0010310411453247")]
    #[test_case(6.796_142_187_125_544_5e-6, "6.7961421871255445e-06")]
    #[test_case(11.241_734_019_103_6, "11.2417340191036")]
    #[test_case(0.000_123, "0.000123")]
    #[test_case(f64::NAN, "null")]
    #[test_case(f64::NEG_INFINITY, "null")]
    fn numbers_are_spelled_as_cjson_has_them(value: f64, text: &str) {
        assert_eq!(number(value), text);
    }

    #[test]
    fn what_is_of_another_type_is_not_there() {
        let text =
            r#"{"a":1,"b":true,"c":"x","d":[1,2],"e":{"f":[{}]},"g":1e3,"h":18446744073709551615,"i":1e400,"j":null}"#;
        let fields = Fields::of(text).unwrap();
        assert_eq!((fields.flag("a"), fields.flag("b"), fields.flag("z")), (false, true, false));
        assert_eq!((fields.integer("b"), fields.integer("c"), fields.integer("g")), (None, None, Some(1_000)));
        assert_eq!((fields.integer("h"), fields.number("i"), fields.number("j")), (Some(-1), None, None));
        assert_eq!((fields.text("c"), fields.text("a")), (Some("x".to_owned()), None));
        assert_eq!((fields.array("d").map(|all| all.len()), fields.array("e").is_none()), (Some(2), true));
        assert_eq!((fields.object("e"), fields.object("d")), (Some(r#"{"f":[{}]}"#), None));
        for text in ["", "[]", "3", "{", "{}x", r#"{"a"}"#] {
            assert!(Fields::of(text).is_none(), "{text}");
        }
    }

    #[test]
    fn an_object_is_written_in_order_and_compact() {
        let mut object = Object::new();
        object.integer("b", 1_u8);
        object.flag("x", false);
        object.text("a", "\"\u{1}é");
        assert_eq!(object.finish(), r#"{"b":1,"a":"\"\u0001é"}"#);
        assert_eq!(Object::new().finish(), "{}");
    }
}
