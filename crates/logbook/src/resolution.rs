//! What a machine can resolve, as a document of its own: `sonde self --json`.

use measure::resolution::Resolution;
use serde::{Deserialize, Serialize};

/// Version of the document's form.
pub const VERSION: u32 = 1;

/// A look at one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResolutionDocument {
    /// Always `sonde-self`.
    pub format: Format,
    /// Version of this form, a count from 1.
    pub version: u32,
    /// The program that looked, and its version.
    pub program: String,
    /// What it saw.
    pub resolution: Resolution,
}

impl ResolutionDocument {
    /// What `program` saw, as a document.
    pub fn new(program: impl Into<String>, resolution: Resolution) -> Self {
        Self { format: Format::Resolution, version: VERSION, program: program.into(), resolution }
    }

    /// As one JSON document, indented, with a line end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("our types have string keys alone");
        text.push('\n');
        text
    }
}

/// The name of the document's form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Format {
    /// A look of sonde's at its own machine.
    #[default]
    #[serde(rename = "sonde-self")]
    Resolution,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_back_as_it_was_written() {
        let resolution = Resolution { optimised_build: true, record_ns: Some(12.5), ..Resolution::default() };
        let document = ResolutionDocument::new("sonde test", resolution);
        let text = document.to_json();
        assert!(
            text.starts_with("{\n  \"format\": \"sonde-self\",\n  \"version\": 1,\n") && text.ends_with("}\n"),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<ResolutionDocument>(&text).unwrap(), document);
    }
}
