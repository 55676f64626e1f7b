//! Words as they may stand in HTML, in SVG and on a terminal: whatever a record holds, it stays words.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

/// `text` for the content of an element or for an attribute in double quotes.
///
/// Characters that would end either are written by their names. Invisible characters, and those that turn the order of
/// letters around, are shown as a sign of their own: a host's name must not be able to look like another one's.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + text.len() / 8);
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => shown(letter, &mut safe),
        }
    }
    safe
}

/// `text` for a script that puts it into a page as words: what cannot be seen is shown, as [`escaped`] does.
pub fn visible(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    text.chars().for_each(|letter| shown(letter, &mut safe));
    safe
}

/// `text` as a part of a line: a tab or an end of a line in it is shown, since it would move what stands behind it.
pub fn on_one_line(text: &str) -> Cow<'_, str> {
    if text.contains(['\t', '\n']) {
        Cow::Owned(text.replace('\t', "\u{2409}").replace('\n', "\u{2424}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Stands before each colour that is ours: six letters that mean nothing (noncharacters of Unicode), drawn anew by each process, so that
/// nobody who writes a name or a file can have them in it.
static SEAL: LazyLock<String> = LazyLock::new(|| {
    let drawn = RandomState::new().hash_one("colour");
    (0..6).filter_map(|place| char::from_u32(0xfdd0 + (drawn >> (5 * place) & 31) as u32)).collect()
});

/// `text`, all of which is ours, with its colours sealed: [`for_terminal`] lets them through, and no others.
pub fn sealed(text: &str) -> String {
    text.replace("\u{1b}[", &format!("{}\u{1b}[", *SEAL))
}

/// As much of a line of ours as has room in so many letters; colours take none.
pub fn cut(line: &str, letters: usize) -> &str {
    let mut taken = 0;
    let mut at = 0;
    while let Some(letter) = line[at..].chars().next() {
        if let Some((_, length)) = our_colour(&line[at..]) {
            at += length;
            continue;
        }
        if taken == letters {
            break;
        }
        taken += 1;
        at += letter.len_utf8();
    }
    &line[..at]
}

/// `text` for a terminal, whoever wrote its parts: what a terminal would obey is shown, but for colours that are [`sealed`] as ours. In
/// a JSON document, where it can only stand within a string, it is escaped as JSON does.
pub fn for_terminal(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unseen) {
        return Cow::Borrowed(text);
    }
    let is_json = text.starts_with(['{', '[']);
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let colour = our_colour(rest);
        let length = colour.map_or(letter.len_utf8(), |(_, length)| length);
        match colour {
            Some((colour, _)) => safe.push_str(colour),
            None if is_json && is_unseen(letter) => {
                let mut units = [0; 2];
                safe.extend(letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
            }
            None => shown(letter, &mut safe),
        }
        rest = &rest[length..];
    }
    Cow::Owned(safe)
}

/// The sealed sequence at the start of `text` that sets colours, and how much it is with its seal.
fn our_colour(text: &str) -> Option<(&str, usize)> {
    let sealed = text.strip_prefix(SEAL.as_str())?;
    let inner = sealed.strip_prefix("\u{1b}[")?;
    let end = inner.find(|letter: char| !letter.is_ascii_digit() && letter != ';')?;
    inner[end..].starts_with('m').then(|| (&sealed[..end + 3], SEAL.len() + end + 3))
}

/// True where it cannot be seen, or turns others around: it is shown as something else than itself.
fn is_unseen(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\0'..='\u{1f}'
        | '\u{7f}'..='\u{9f}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fdd0}'..='\u{fdef}'
        | '\u{feff}'
        | '\u{fffe}'
        | '\u{ffff}' => true,
        _ => false,
    }
}

/// Unicode has pictures of the control characters; of the others their number is written.
fn shown(letter: char, safe: &mut String) {
    match letter {
        _ if !is_unseen(letter) => safe.push(letter),
        '\0'..='\u{1f}' => safe.extend(char::from_u32(0x2400 + u32::from(letter))),
        '\u{7f}' => safe.push('\u{2421}'),
        _ => safe.extend(format!("⟨U+{:04X}⟩", u32::from(letter)).chars()),
    }
}

/// JSON for a script element: nothing in it can end the element or begin a comment.
pub fn json_in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;

    #[test_case("</script><b x='1' y=\"2\">&", "&lt;/script&gt;&lt;b x=&#39;1&#39; y=&quot;2&quot;&gt;&amp;"; "markup")]
    #[test_case("a\u{1b}[31m\0\u{7f}b", "a␛[31m␀␡b"; "control characters")]
    #[test_case("evil\u{202e}moc.\u{feff}", "evil⟨U+202E⟩moc.⟨U+FEFF⟩"; "letters that turn others around")]
    #[test_case("µs ± 3 · 10 → 日本", "µs ± 3 · 10 → 日本"; "words")]
    fn words_stay_words(text: &str, safe: &str) {
        assert_eq!(escaped(text), safe);
    }

    #[test_case("\u{1b}[1;31mred\u{1b}[0m", "␛[1;31mred␛[0m"; "colours of others")]
    #[test_case("\u{fdd0}\u{fdd1}\u{fdd2}\u{fdd3}\u{fdd4}\u{fdd5}\u{1b}[1m", "⟨U+FDD0⟩⟨U+FDD1⟩⟨U+FDD2⟩⟨U+FDD3⟩⟨U+FDD4⟩⟨U+FDD5⟩␛[1m"; "a guessed seal")]
    #[test_case("a\u{1b}]0;title\u{7}b\u{1b}[2Jc\u{1b}[31", "a␛]0;title␇b␛[2Jc␛[31"; "what is no colour")]
    #[test_case("a\u{9b}2J\u{202e}b\rc", "a⟨U+009B⟩2J⟨U+202E⟩b␍c"; "what has no escape before it")]
    #[test_case("{\"host\":\"a\u{9b}2J\u{202e}b\"}\n", "{\"host\":\"a\\u009b2J\\u202eb\"}\n"; "in json")]
    fn a_terminal_obeys_nothing_of_others(text: &str, safe: &str) {
        assert_eq!(for_terminal(text), safe);
    }

    #[test]
    fn our_colours_come_through_and_take_no_room() {
        let line = format!("a{}b\u{1b}[1mc{}", sealed("\u{1b}[1;31m"), sealed("\u{1b}[0m"));
        assert_eq!(for_terminal(&line), "a\u{1b}[1;31mb␛[1mc\u{1b}[0m");
        assert_eq!(for_terminal(&sealed("\u{1b}[1m\u{1b}[33mbold\u{1b}[0m")), "\u{1b}[1m\u{1b}[33mbold\u{1b}[0m");
        assert_eq!(for_terminal(cut(&line, 2)), "a\u{1b}[1;31mb");
        assert_eq!(cut(&line, 80), line);
    }

    proptest! {
        #[test]
        fn whatever_comes_nothing_that_a_terminal_obeys_is_left(text in "(\\PC|[\u{0}-\u{1f}\u{7f}-\u{9f}\u{202e}\u{fdd0}-\u{fdef}]|\u{1b}\\[[0-9;]{0,4}[A-Za-z]){0,40}") {
            let safe = for_terminal(&text);
            prop_assert!(!safe.contains(is_unseen), "{:?}", safe);
        }

        #[test]
        fn a_json_document_says_the_same(host: String) {
            let json = serde_json::json!({ "host": host }).to_string();
            let read: serde_json::Value = serde_json::from_str(&for_terminal(&json)).unwrap();
            prop_assert_eq!(read["host"].as_str(), Some(host.as_str()));
        }
    }

    #[test]
    fn no_json_ends_its_script() {
        let json = json_in_script(r#"{"host":"</script><!--"}"#);
        assert_eq!(json, r#"{"host":"\u003c/script>\u003c!--"}"#);
    }
}
