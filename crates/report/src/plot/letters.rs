//! The widths of words, before anything draws them.

use unicode_width::UnicodeWidthChar;

/// The font of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Letters {
    /// The reader's own sans serif: widths are estimates, a little too wide rather than too narrow.
    Proportional,
    /// Letters that are all of this width, in hundredths of a unit.
    Fixed(u32),
}

impl Letters {
    /// Width of `text` at `size`, in units of the frame.
    pub(super) fn width(self, text: &str, size: f64) -> f64 {
        match self {
            Self::Proportional => text.chars().map(share).sum::<f64>() * size,
            Self::Fixed(width) => in_fixed(text).chars().count() as f64 * f64::from(width) / 100.0,
        }
    }

    /// `text` cut to `room`, with a sign where it was.
    pub(super) fn cut(self, text: &str, size: f64, room: f64) -> String {
        if self.width(text, size) <= room {
            return text.to_owned();
        }
        let mut kept = String::new();
        for letter in text.chars() {
            kept.push(letter);
            if self.width(&kept, size) + self.width("…", size) > room {
                kept.pop();
                break;
            }
        }
        format!("{}…", kept.trim_end())
    }
}

/// `text` as letters of one width can write it: those of western Europe; any other is the sign of a letter that is missing.
pub(super) fn in_fixed(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '−' | '–' | '—' => plain.push('-'),
            'μ' => plain.push('µ'),
            '…' => plain.push_str(".."),
            '≥' => plain.push_str(">="),
            '≤' => plain.push_str("<="),
            '→' => plain.push_str("->"),
            '⇄' => plain.push_str("<->"),
            '\u{202f}' | '\u{2009}' | '\u{a0}' => plain.push(' '),
            ' '..='~' | '¡'..='ÿ' => plain.push(letter),
            _ => plain.push(char::REPLACEMENT_CHARACTER),
        }
    }
    plain
}

/// Width of a letter, share of the size of its font, as of the wider of usual fonts.
fn share(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | ' ' | '·' => 0.33,
        'f' | 't' | 'r' | '(' | ')' | '/' | '-' | '[' | ']' => 0.41,
        'm' | 'w' | 'M' | 'W' | '%' | '…' | '→' | '⇄' => 0.97,
        'A'..='Z' => 0.72,
        _ if letter.is_ascii() => 0.63,
        _ => 0.64 * letter.width().unwrap_or(0) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_with_a_sign() {
        let letters = Letters::Fixed(700);
        assert_eq!(letters.cut("short", 12.0, 35.0), "short");
        assert_eq!(letters.cut("a long name", 12.0, 56.0), "a long…");
        assert_eq!(letters.cut("a long name", 12.0, 0.0), "…");
        assert!(Letters::Proportional.width("mmm", 10.0) > Letters::Proportional.width("iii", 10.0));
    }
}
