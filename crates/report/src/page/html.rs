//! Text that becomes HTML: whatever is put in as words stays words.

use crate::markup::escaped;

/// HTML as it grows.
#[derive(Clone, Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup of ours.
    pub(super) fn raw(&mut self, markup: &str) {
        self.0.push_str(markup);
    }

    /// Words of whoever.
    pub(super) fn words(&mut self, text: &str) {
        self.0.push_str(&escaped(text));
    }

    /// `text` in an element of its own, with these attributes of ours.
    pub(super) fn element(&mut self, tag: &str, attributes: &str, text: &str) {
        let space = if attributes.is_empty() { "" } else { " " };
        self.raw(&format!("<{tag}{space}{attributes}>{}</{tag}>\n", escaped(text)));
    }

    /// A part that is opened when it is wanted.
    pub(super) fn details(&mut self, summary: &str, within: impl FnOnce(&mut Self)) {
        self.raw("<details>\n<summary>");
        self.words(summary);
        self.raw("</summary>\n");
        within(self);
        self.raw("</details>\n");
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}
