//! Resolution of a machine, as a document of its own: `sonde self --json`.

use measure::resolution::Resolution;
use serde::{Deserialize, Serialize};

use crate::document::{Form, Mark};

/// A look at one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResolutionDocument {
    /// Its form.
    #[serde(flatten)]
    pub mark: Mark<ResolutionDocument>,
    /// The program that looked, and its version.
    pub program: String,
    /// The resolution.
    pub resolution: Resolution,
}

impl Form for ResolutionDocument {
    const FORMAT: &'static str = "sonde-self";
    const NAME: &'static str = "look at a machine";
}

impl ResolutionDocument {
    /// Resolution that `program` found, as a document.
    pub fn new(program: impl Into<String>, resolution: Resolution) -> Self {
        Self { mark: Mark::default(), program: program.into(), resolution }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_back_as_it_was_written() {
        let resolution = Resolution { optimised_build: true, record_ns: Some(12.5), ..Resolution::default() };
        let document = ResolutionDocument::new("sonde test", resolution);
        let text = document.to_json().unwrap();
        assert!(
            text.starts_with("{\n  \"format\": \"sonde-self\",\n  \"version\": 1,\n") && text.ends_with("}\n"),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<ResolutionDocument>(&text).unwrap(), document);
    }
}
