//! A check of a host, as a document of its own: `sonde check --json`.

use measure::reach::Reach;
use serde::{Deserialize, Serialize};

/// Version of the document's form.
pub const VERSION: u32 = 1;

/// What one check found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReachDocument {
    /// Always `sonde-check`.
    pub format: Format,
    /// Version of this form, a count from 1.
    pub version: u32,
    /// The program that asked, and its version.
    pub program: String,
    /// Whether all that was asked for answers: what the exit status says too.
    pub holds: bool,
    /// What it found.
    pub check: Reach,
}

impl ReachDocument {
    /// What `program` found, as a document.
    pub fn new(program: impl Into<String>, holds: bool, check: Reach) -> Self {
        Self { format: Format::Check, version: VERSION, program: program.into(), holds, check }
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
    /// A check of a host.
    #[default]
    #[serde(rename = "sonde-check")]
    Check,
}

#[cfg(test)]
mod tests {
    use measure::reach::{LookedUp, Lookup};
    use measure::unit::Nanos;

    use super::*;

    #[test]
    fn a_document_is_read_back_as_it_was_written() {
        let lookup = Lookup { by: LookedUp::HostsFile, took_ns: Some(Nanos(7)), addresses: vec!["::1".into()] };
        let check = Reach { host: "db1".into(), lookup, addresses: Vec::new(), took_ns: Nanos(9), cut_short: false };
        let document = ReachDocument::new("sonde test", false, check);
        let text = document.to_json();
        assert!(
            text.starts_with("{\n  \"format\": \"sonde-check\",\n  \"version\": 1,\n") && text.ends_with("}\n"),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<ReachDocument>(&text).unwrap(), document);
    }
}
