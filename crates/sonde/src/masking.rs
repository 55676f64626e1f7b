//! Passwords in URLs, which are not repeated: who reads an error or a record need not learn them.

use std::borrow::Cow;
use std::ops::Range;

/// The text that stands in place of a password.
const MASK: &str = "***";

/// The place of the password in a URL's part behind `://`, where it has one: `word` in `me:word@db1/x`. One that is not encoded as a URL has it
/// may hold the signs that end the host's part.
pub fn password(rest: &str) -> Option<Range<usize>> {
    let host_ends = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (begin, end) = if let Some(at) = rest[..host_ends].rfind('@') {
        (rest[..at].find(':')? + 1, at)
    } else {
        let begin = rest[..host_ends].rfind(':')? + 1;
        let is_port = rest[begin..host_ends].bytes().all(|octet| octet.is_ascii_digit());
        (begin, rest.rfind('@').filter(|_| !is_port)?)
    };
    (begin < end).then_some(begin..end)
}

/// A URL without its password; another word as it is.
pub fn word(text: &str) -> Cow<'_, str> {
    let behind = text.find("://").map_or(text.len(), |at| at + 3);
    match password(&text[behind..]) {
        Some(at) => format!("{}{MASK}{}", &text[..behind + at.start], &text[behind + at.end..]).into(),
        None => text.into(),
    }
}

/// The same of each URL in a text, which spaces and quotation marks end.
pub fn text(text: &str) -> Cow<'_, str> {
    if !text.contains("://") {
        return text.into();
    }
    let ends = |sign: char| sign.is_whitespace() || matches!(sign, '\'' | '"' | '`');
    text.split_inclusive(ends).map(word).collect::<Vec<_>>().concat().into()
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("redis://me:secret@db1:6379/0", "redis://me:***@db1:6379/0")]
    #[test_case("amqp://me:s:e@c@db1", "amqp://me:***@db1"; "signs in it")]
    #[test_case("redis://:secret@db1", "redis://:***@db1"; "no name")]
    #[test_case("mysql://me:se/cr?et@db1/shop", "mysql://me:***@db1/shop"; "signs that end a host")]
    #[test_case("http://db1:8080/a@b", "http://db1:8080/a@b"; "a port")]
    #[test_case("http://[::1]:80/a@b", "http://[::1]:80/a@b"; "an address")]
    #[test_case("postgres://me@db1", "postgres://me@db1"; "a name alone")]
    #[test_case("me:secret@db1", "me:secret@db1"; "no URL")]
    fn a_url_is_shown_without_its_password(url: &str, shown: &str) {
        assert_eq!(word(url), shown);
    }

    #[test]
    fn each_url_in_a_text_is() {
        let told = "invalid value 'redis://me:secret@db1' for '[HOST]', and https://a:b@c";
        assert_eq!(text(told), "invalid value 'redis://me:***@db1' for '[HOST]', and https://a:***@c");
    }
}
