//! Prefix of each line: the time it is written at (`--timestamps`), and the title (`-T`).

use jiff::Zoned;

use crate::persona::iperf3::strftime::strftime;

/// In front of every line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// Format of the time, as `strftime` has it.
    pub timestamps: Option<String>,
    /// The title.
    pub title: Option<String>,
}

impl Prefix {
    /// The text with it in front of each line, as of `now`.
    pub fn on(&self, text: &str, now: &Zoned) -> String {
        if self.timestamps.is_none() && self.title.is_none() {
            return text.to_owned();
        }
        let time = self.timestamps.as_deref().map(|format| {
            // Checked when it was read; nothing in front is better than no line.
            strftime(format, now).unwrap_or_default()
        });
        let title = self.title.as_ref().map(|title| format!("{title}:  "));
        let prefix = time.unwrap_or_default() + &title.unwrap_or_default();
        text.split_inclusive('\n').flat_map(|line| [prefix.as_str(), line]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Zoned {
        "2026-11-21T01:11:33+00:00[UTC]".parse().unwrap()
    }

    #[test]
    fn a_line_that_is_empty_has_it_too() {
        let prefix = Prefix { timestamps: Some("%c ".to_owned()), title: None };
        let text = prefix.on("\niperf Done.\n", &now());
        assert_eq!(text, "Sat Nov 21 01:11:33 2026 \nSat Nov 21 01:11:33 2026 iperf Done.\n");
    }

    #[test]
    fn a_title_stands_behind_the_time() {
        let prefix = Prefix { timestamps: Some("%s ".to_owned()), title: Some("label".to_owned()) };
        assert_eq!(prefix.on("a\n", &now()), "1795223493 label:  a\n");
        assert_eq!(Prefix::default().on("a\n", &now()), "a\n");
    }
}
