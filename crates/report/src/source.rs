//! A document with the name of its file.

use logbook::read::Document;

/// A document and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The file's name, or what stands for it.
    pub name: String,
    /// The document.
    pub document: Document,
}
