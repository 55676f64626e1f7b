//! A check of a host, as a document of its own: `sonde check --json`.

use measure::reach::Reach;
use serde::{Deserialize, Serialize};

use crate::document::{Form, Mark};

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReachDocument {
    /// Its form.
    #[serde(flatten)]
    pub mark: Mark<ReachDocument>,
    /// The program that asked, and its version.
    pub program: String,
    /// True where all that was asked for answers, as in the exit status.
    pub holds: bool,
    /// Results of the check.
    pub check: Reach,
}

impl Form for ReachDocument {
    const FORMAT: &'static str = "sonde-check";
    const NAME: &'static str = "check";
}

impl ReachDocument {
    /// Results of `program`, as a document.
    pub fn new(program: impl Into<String>, holds: bool, check: Reach) -> Self {
        Self { mark: Mark::default(), program: program.into(), holds, check }
    }
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
        let text = document.to_json().unwrap();
        assert!(
            text.starts_with("{\n  \"format\": \"sonde-check\",\n  \"version\": 1,\n") && text.ends_with("}\n"),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<ReachDocument>(&text).unwrap(), document);
    }
}
