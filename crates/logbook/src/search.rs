//! A search for the highest rate that meets a condition, as a document of its own: `sonde load --find --json`.
//!
//! It holds the condition, what was found, and every probe with its whole record, in the order they were made: what was
//! found can be judged, and judged again, from it alone. Versions are kept as the record's are; the records within have
//! versions of their own.

use measure::search::condition::{Condition, Verdict};
use measure::search::{Bounds, Bracket};
use measure::unit::{Nanos, Rate};
use serde::{Deserialize, Serialize};

use crate::document::{Form, Head};
use crate::record::{Ended, Record, Target};

/// A search: what was asked, what was found, and by which probes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchDocument {
    /// Its name, and who made it when.
    #[serde(flatten)]
    pub head: Head<SearchDocument>,
    /// Peer of the measurements.
    pub target: Target,
    /// Condition on a rate, as clauses with commas between them: `p99<1ms,loss<0.1%,achieved>=99.9%`.
    pub condition: Condition,
    /// Bounds of the search, and its confidence.
    pub bounds: Bounds,
    /// Length of a probe as asked for, nanoseconds; where the condition needs more messages, probes were longer.
    pub probe_ns: Nanos,
    /// Highest rate that met the condition and lowest that did not.
    pub bracket: Bracket,
    /// The probes, in the order they were made.
    pub probes: Vec<Probe>,
    /// End of the search.
    pub ended: Ended,
}

impl Form for SearchDocument {
    const FORMAT: &'static str = "sonde-search";
    const NAME: &'static str = "search";
}

/// One probe of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Probe {
    /// The rate it offered, messages per 1000 seconds.
    pub rate_per_1000s: Rate,
    /// Verdict on the rate.
    pub verdict: Verdict,
    /// The clauses that did not hold, with what was found.
    pub missed: Vec<String>,
    /// Measurement at that rate: a whole record, as `record.v1.json` describes it.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub record: Record,
}

impl SearchDocument {
    /// The probes by their rates, those of one rate in the order they were made.
    pub fn by_rate(&self) -> Vec<&Probe> {
        let mut probes: Vec<&Probe> = self.probes.iter().collect();
        probes.sort_by_key(|probe| probe.rate_per_1000s);
        probes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Line;
    use crate::fixture;
    use crate::read::{Document, ReadError};
    use serde_json::{Value, json};

    fn value() -> Value {
        serde_json::to_value(fixture::search()).unwrap()
    }

    #[test]
    fn a_search_is_read_as_it_was_written() {
        let search = fixture::search();
        let text = search.to_json().unwrap();
        assert_eq!(Document::read(&text), Ok(Document::Search(Box::new(search))));
        let wrong = ReadError::NotARecord { found: Some("sonde-search".to_owned()) };
        assert_eq!(Record::read(&text), Err(wrong), "it is not one record");
    }

    #[test]
    fn the_last_line_of_a_search_holds_it_whole() {
        let search = fixture::search();
        let lines = [Line::Probe(Box::new(search.probes[0].clone())), Line::Found(Box::new(search.clone()))];
        let text: String = lines.iter().map(Line::to_json).collect();
        assert_eq!(text.lines().count(), 2);
        assert_eq!(Document::read(&text), Ok(Document::Search(Box::new(search))));
        assert_eq!(Document::read(text.lines().next().unwrap()), Err(ReadError::NoEnd));
        let validator = jsonschema::validator_for(&crate::schema::event_schema()).unwrap();
        for line in text.lines() {
            let faults: Vec<String> =
                validator.iter_errors(&serde_json::from_str(line).unwrap()).map(|fault| fault.to_string()).collect();
            assert_eq!(faults, [] as [String; 0]);
        }
    }

    #[test]
    fn a_search_that_cannot_be_read_says_why() {
        let with = |change: &dyn Fn(&mut Value)| {
            let mut changed = value();
            change(&mut changed);
            Document::read(&changed.to_string()).unwrap_err()
        };
        let future = with(&|search| search["version"] = json!(9));
        assert_eq!(future, ReadError::FromTheFuture { what: "search", version: 9, newest: 1 });
        let record = with(&|search| search["probes"][1]["record"]["version"] = json!(99));
        let later = "a record of version 99 is newer than this program, which reads up to 1";
        assert!(
            matches!(&record, ReadError::Malformed { what: "search", place: Some(_), reason } if reason == later),
            "{record}"
        );
        let lacking = with(&|search| {
            search.as_object_mut().unwrap().remove("condition");
        });
        assert!(lacking.to_string().ends_with(": missing field `condition`"), "{lacking}");
        let nonsense = with(&|search| search["condition"] = json!("p99"));
        assert!(nonsense.to_string().contains("`p99` is not a condition"), "{nonsense}");
        assert!(!nonsense.hint().is_empty());
    }

    #[test]
    fn what_is_written_is_what_the_schema_says() {
        let validator = jsonschema::validator_for(&crate::schema::search_schema()).unwrap();
        let faults: Vec<String> = validator.iter_errors(&value()).map(|fault| fault.to_string()).collect();
        assert_eq!(faults, [] as [String; 0]);
        let mut wrong = value();
        wrong["bracket"]["reached"] = json!("heaven");
        assert!(!validator.is_valid(&wrong));
    }

    #[test]
    fn probes_are_told_by_rate() {
        let mut search = fixture::search();
        search.probes.reverse();
        let rates: Vec<u64> = search.by_rate().iter().map(|probe| probe.rate_per_1000s.0.get() / 1_000).collect();
        assert_eq!(rates, [1_000, 2_000, 2_000]);
    }
}
