//! Words for a shell elsewhere.

/// `word` so that a POSIX shell reads it as one word, whatever is in it: within single quotes nothing has a meaning but their end.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const HOSTILE: [&str; 18] = [
        "",
        " ",
        "plain",
        "two words",
        "'",
        "''",
        "it's",
        "\"$HOME\"",
        "$(reboot)",
        "`id`",
        "a;b|c&d>e<f",
        "\\",
        "\\'",
        "line\nline",
        "tab\tbell\x07",
        "*?[a-z]~",
        "!history #comment",
        "größe – 時間",
    ];

    fn echoed(shell: &str, words: &[String]) -> Option<Vec<String>> {
        // The words arrive as those of `sh -c`, each told with its length in front so that none can hide in another.
        let script = quoted("for word; do printf '%s\\0' \"$word\"; done");
        let line = format!("exec sh -c {script} sh {}", words.join(" "));
        let output = Command::new(shell).args(["-c", &line]).output().ok()?;
        assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        Some(text.split_terminator('\0').map(str::to_owned).collect())
    }

    #[test]
    fn hostile_words_come_through_whole() {
        let quoted: Vec<String> = HOSTILE.iter().map(|word| quoted(word)).collect();
        assert_eq!(echoed("sh", &quoted).unwrap(), HOSTILE);
        for other in ["bash", "dash", "busybox", "zsh"] {
            if let Some(words) = (other != "busybox").then(|| echoed(other, &quoted)).flatten() {
                assert_eq!(words, HOSTILE, "{other}");
            }
        }
    }

    #[test]
    fn every_byte_comes_through() {
        let all: String = (1..=127).map(char::from).collect();
        assert_eq!(echoed("sh", &[quoted(&all)]).unwrap(), [all]);
    }

    #[test]
    fn what_needs_no_quotes_has_none() {
        assert_eq!(quoted("/srv/.cache/sonde/0123/sonde"), "/srv/.cache/sonde/0123/sonde");
        assert_eq!(quoted("--json"), "--json");
    }
}
