//! Values of both ends, and the two rules by which `x`, `x,`, `,y` and `x,y` are told apart.

/// A value of ours and one of the server's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair<T> {
    /// Ours.
    pub local: T,
    /// The server's.
    pub remote: T,
}

impl<T> Pair<T> {
    /// Pair of two values.
    pub fn new(local: T, remote: T) -> Self {
        Self { local, remote }
    }
}

impl<T: Clone> Pair<T> {
    /// The same at both ends.
    pub fn both(value: T) -> Self {
        Self { local: value.clone(), remote: value }
    }
}

/// Meaning of a single value without a comma.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It is both values.
    Both,
    /// It is the first alone.
    Explicit,
}

/// The two parts of a value; `None` where a part is empty or absent.
pub fn split(text: &str, rule: Rule) -> (Option<&str>, Option<&str>) {
    let given = |part: &'_ str| !part.is_empty();
    match text.split_once(',') {
        Some((first, second)) => (Some(first).filter(|p| given(p)), Some(second).filter(|p| given(p))),
        None => (Some(text).filter(|p| given(p)), Some(text).filter(|p| given(p) && rule == Rule::Both)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("5", Some("5"), Some("5"), Some("5"), None; "one value")]
    #[test_case("5,", Some("5"), None, Some("5"), None; "the first")]
    #[test_case(",6", None, Some("6"), None, Some("6"); "the second")]
    #[test_case("5,6", Some("5"), Some("6"), Some("5"), Some("6"); "two")]
    #[test_case(",", None, None, None, None; "a comma alone")]
    #[test_case("", None, None, None, None; "nothing")]
    fn a_comma_tells_the_ends_apart(
        text: &str,
        both_first: Option<&str>,
        both_second: Option<&str>,
        first: Option<&str>,
        second: Option<&str>,
    ) {
        assert_eq!(split(text, Rule::Both), (both_first, both_second));
        assert_eq!(split(text, Rule::Explicit), (first, second));
    }
}
