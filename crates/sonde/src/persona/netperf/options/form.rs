//! The shape of a result: the table of the test, or what is selected in one of three forms.

use std::path::PathBuf;

/// Selected values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The default of the direction.
    Default,
    /// Blocks of selectors by their names, each in the order asked for.
    Blocks(Vec<Vec<&'static str>>),
    /// Those of a file, not read yet.
    File(PathBuf),
}

/// The shape of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// The table of the test.
    Classic,
    /// `-o`: comma-separated.
    Csv(Selection),
    /// `-O`: columns for people.
    Human(Selection),
    /// `-k`: keyword and value.
    Keyval(Selection),
}

impl Form {
    /// Selected values; `None` for the classic table.
    pub fn selection(&self) -> Option<&Selection> {
        match self {
            Self::Classic => None,
            Self::Csv(selection) | Self::Human(selection) | Self::Keyval(selection) => Some(selection),
        }
    }

    /// The same with a selection in its place.
    pub fn with(&self, selection: Selection) -> Self {
        match self {
            Self::Classic => Self::Classic,
            Self::Csv(_) => Self::Csv(selection),
            Self::Human(_) => Self::Human(selection),
            Self::Keyval(_) => Self::Keyval(selection),
        }
    }
}
