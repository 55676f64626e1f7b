//! Colours: the original always writes them; here only a terminal gets them, so that a file is plain text.

use report::markup::sealed;

/// Use of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Colours are written.
    Coloured,
    /// No colours are written.
    Plain,
}

impl Paint {
    /// Colours text that stands out.
    pub fn magenta(self, text: &str) -> String {
        self.with("2;35", text)
    }

    /// Colours a fault.
    pub fn red(self, text: &str) -> String {
        self.with("0;31", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        match self {
            Self::Coloured => format!("{}{text}{}", sealed(&format!("\x1b[{code}m")), sealed("\x1b[0m")),
            Self::Plain => text.to_owned(),
        }
    }
}
