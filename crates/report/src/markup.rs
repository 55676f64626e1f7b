//! Words as they may stand in HTML and SVG: whatever a record holds, it stays words.

/// `text` for the content of an element or for an attribute in double quotes.
///
/// What would end either is written by its name. What cannot be seen, and what turns the order of letters around, is shown as
/// a sign of its own: a host's name must not be able to look like another one's.
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

/// Unicode has pictures of the control characters; of the others their number is written.
fn shown(letter: char, safe: &mut String) {
    match letter {
        '\n' | '\t' => safe.push(letter),
        '\0'..='\u{1f}' => safe.extend(char::from_u32(0x2400 + u32::from(letter))),
        '\u{7f}' => safe.push('\u{2421}'),
        '\u{80}'..='\u{9f}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fdd0}'..='\u{fdef}'
        | '\u{feff}'
        | '\u{fffe}'
        | '\u{ffff}' => safe.extend(format!("⟨U+{:04X}⟩", u32::from(letter)).chars()),
        _ => safe.push(letter),
    }
}

/// JSON for a script element: nothing in it can end the element or begin a comment.
pub fn json_in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("</script><b x='1' y=\"2\">&", "&lt;/script&gt;&lt;b x=&#39;1&#39; y=&quot;2&quot;&gt;&amp;"; "markup")]
    #[test_case("a\u{1b}[31m\0\u{7f}b", "a␛[31m␀␡b"; "control characters")]
    #[test_case("evil\u{202e}moc.\u{feff}", "evil⟨U+202E⟩moc.⟨U+FEFF⟩"; "letters that turn others around")]
    #[test_case("µs ± 3 · 10 → 日本", "µs ± 3 · 10 → 日本"; "words")]
    fn words_stay_words(text: &str, safe: &str) {
        assert_eq!(escaped(text), safe);
    }

    #[test]
    fn no_json_ends_its_script() {
        let json = json_in_script(r#"{"host":"</script><!--"}"#);
        assert_eq!(json, r#"{"host":"\u003c/script>\u003c!--"}"#);
    }
}
