//! Words of a command that a person may copy into a shell: names in it may come from a peer, a file or a record.

/// `word` so that a shell takes it as it is, whatever is in it.
pub fn word(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=+.,:/@%^±".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if word.chars().any(char::is_control) {
        let shown: String = word
            .chars()
            .flat_map(|letter| match letter {
                '\'' | '\\' => format!("\\{letter}").chars().collect::<Vec<_>>(),
                letter if letter.is_ascii_control() => format!("\\x{:02x}", u32::from(letter)).chars().collect(),
                letter => vec![letter],
            })
            .collect();
        return format!("$'{shown}'");
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// `words` so that a shell takes each as it is.
pub fn line(words: &[String]) -> String {
    words.iter().map(|each| word(each)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("db1:5432", "db1:5432"; "as it is")]
    #[test_case("p99<1ms,loss<0.1%", "'p99<1ms,loss<0.1%'"; "what a shell would take for itself")]
    #[test_case("it's", r"'it'\''s'"; "a quote")]
    #[test_case("a\u{1b}b", r"$'a\x1bb'"; "a control character")]
    #[test_case("", "''"; "nothing")]
    fn a_word_is_as_a_shell_takes_it(given: &str, text: &str) {
        assert_eq!(word(given), text);
    }

    #[test]
    fn a_command_line_is_the_words_it_was() {
        let words = ["sonde", "rtt", "$(reboot)", "--peer", "a b"].map(str::to_owned);
        assert_eq!(line(&words), "sonde rtt '$(reboot)' --peer 'a b'");
    }
}
