//! The JSON Schemas of what is written, generated from the types: a doc comment there is a description here.
//!
//! The copies in `schema/` are for those who read our output with other tools; a test holds them to the types, and
//! another to the rule that every number tells its unit.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::event::Line;
use crate::failure::ErrorDocument;
use crate::look::LookDocument;
use crate::plan::Plan;
use crate::reach::ReachDocument;
use crate::record::Record;
use crate::resolution::ResolutionDocument;
use crate::run::RunDocument;
use crate::run_comparison::RunComparisonDocument;
use crate::run_list::RunListDocument;
use crate::search::SearchDocument;
use crate::study::StudyDocument;

/// Schema of the record, draft 2020-12: `schema/record.v1.json`.
pub fn json_schema() -> Value {
    of::<Record>()
}

/// Schema of the error document: `schema/error.v1.json`.
pub fn error_schema() -> Value {
    of::<ErrorDocument>()
}

/// Schema of one line of a stream of events: `schema/event.v1.json`.
pub fn event_schema() -> Value {
    of::<Line>()
}

/// Schema of what a machine can resolve: `schema/self.v1.json`.
pub fn self_schema() -> Value {
    of::<ResolutionDocument>()
}

/// Schema of a check of a host: `schema/check.v1.json`.
pub fn check_schema() -> Value {
    of::<ReachDocument>()
}

/// Schema of a search: `schema/search.v1.json`.
pub fn search_schema() -> Value {
    of::<SearchDocument>()
}

/// Schema of a study: `schema/study.v1.json`.
pub fn study_schema() -> Value {
    of::<StudyDocument>()
}

/// Schema of a first look: `schema/look.v1.json`.
pub fn look_schema() -> Value {
    of::<LookDocument>()
}

/// Schema of a run of a plan: `schema/run.v1.json`.
pub fn run_schema() -> Value {
    of::<RunDocument>()
}

/// Schema of two runs, compared: `schema/run-comparison.v1.json`.
pub fn run_comparison_schema() -> Value {
    of::<RunComparisonDocument>()
}

/// Schema of a plan: `schema/plan.v1.json`. A plan is written by people, so what may be left away is not required.
pub fn plan_schema() -> Value {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Plan>().to_value()
}

/// Schema of a list of runs: `schema/runs.v1.json`.
pub fn runs_schema() -> Value {
    of::<RunListDocument>()
}

/// The schema of `T` as it is written: a field that is always there is required, though a reader may do without.
fn of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>().to_value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use test_case::test_case;

    /// Set to write the committed copies anew: `SONDE_REGENERATE=1 cargo test -p logbook schema`.
    const REGENERATE: &str = "SONDE_REGENERATE";

    #[test_case("record.v1.json", &json_schema(); "record")]
    #[test_case("error.v1.json", &error_schema(); "error")]
    #[test_case("event.v1.json", &event_schema(); "event")]
    #[test_case("search.v1.json", &search_schema(); "of a search")]
    #[test_case("study.v1.json", &study_schema(); "of a study")]
    #[test_case("look.v1.json", &look_schema(); "of a first look")]
    #[test_case("run.v1.json", &run_schema(); "of a run")]
    #[test_case("runs.v1.json", &runs_schema(); "of a list of runs")]
    #[test_case("run-comparison.v1.json", &run_comparison_schema(); "of two runs")]
    #[test_case("plan.v1.json", &plan_schema(); "of a plan")]
    #[test_case("self.v1.json", &self_schema(); "of the machine")]
    #[test_case("check.v1.json", &check_schema(); "of a check")]
    fn the_committed_schema_is_the_present_one(name: &str, schema: &Value) {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schema").join(name);
        let present = serde_json::to_string_pretty(schema).unwrap() + "\n";
        if std::env::var_os(REGENERATE).is_some() {
            std::fs::write(&path, &present).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == present,
            "schema/{name} is not what the types say: run `{REGENERATE}=1 cargo test -p logbook schema`, and raise the \
             version where a reader of the old form would be misled"
        );
    }

    #[test_case(&json_schema(); "record")]
    #[test_case(&error_schema(); "error")]
    #[test_case(&event_schema(); "event")]
    #[test_case(&search_schema(); "of a search")]
    #[test_case(&study_schema(); "of a study")]
    #[test_case(&look_schema(); "of a first look")]
    #[test_case(&run_schema(); "of a run")]
    #[test_case(&run_comparison_schema(); "of two runs")]
    #[test_case(&plan_schema(); "of a plan")]
    #[test_case(&runs_schema(); "of a list of runs")]
    #[test_case(&self_schema(); "of the machine")]
    #[test_case(&check_schema(); "of a check")]
    fn every_number_tells_its_unit(schema: &Value) {
        let mut without = Vec::new();
        units(schema, schema, "", &mut without);
        assert_eq!(without, [] as [String; 0], "numbers without a unit in their key or description");
    }

    #[test]
    fn a_number_without_a_unit_is_found() {
        let schema = serde_json::json!({
            "properties": { "delay": { "type": "number", "description": "How late." }, "delay_ns": { "type": "integer" } }
        });
        let mut without = Vec::new();
        units(&schema, &schema, "", &mut without);
        assert_eq!(without, ["/delay"]);
    }

    /// Collects the paths of properties that are numbers and say no unit.
    fn units(node: &Value, root: &Value, path: &str, without: &mut Vec<String>) {
        let Some(fields) = node.as_object() else {
            for (index, item) in node.as_array().into_iter().flatten().enumerate() {
                units(item, root, &format!("{path}/{index}"), without);
            }
            return;
        };
        let properties = fields.get("properties").and_then(Value::as_object);
        // A variant with one value is described as a whole; counts of fates name their unit once for all.
        let said = Some(description(node))
            .filter(|said| properties.is_some_and(|properties| properties.len() == 1) || said.starts_with("counts of"));
        let said = said.unwrap_or_default();
        for (key, property) in properties.into_iter().flatten() {
            let place = format!("{path}/{key}");
            if is_number(property, root) && !tells_unit(key, &said, property, root) {
                without.push(place.clone());
            }
            units(property, root, &place, without);
        }
        for (key, child) in fields.iter().filter(|(key, _)| *key != "properties") {
            units(child, root, &format!("{path}/{key}"), without);
        }
    }

    fn is_number(property: &Value, root: &Value) -> bool {
        let named = |kind: &Value| kind == "integer" || kind == "number";
        let own = match &property["type"] {
            Value::Array(kinds) => kinds.iter().any(named),
            kind => named(kind),
        };
        let array = property["items"].is_object() && is_number(&property["items"], root);
        own || array || referred(property, root).is_some_and(|there| is_number(there, root))
    }

    /// Type that a property refers to, directly or as "that or nothing".
    fn referred<'a>(property: &'a Value, root: &'a Value) -> Option<&'a Value> {
        let choices = property["anyOf"].as_array().into_iter().flatten();
        let link = [property].into_iter().chain(choices).find_map(|choice| choice["$ref"].as_str())?;
        root.pointer(link.strip_prefix('#')?)
    }

    fn description(node: &Value) -> String {
        node["description"].as_str().unwrap_or_default().to_lowercase()
    }

    /// `within`: the description of the object it belongs to, where that names one unit for all its fields.
    fn tells_unit(key: &str, within: &str, property: &Value, root: &Value) -> bool {
        const KEYS: [&str; 9] = ["_ns", "_ppm", "_bytes", "_per_s", "_per_1000s", "_mbps", "_usecs", "share", "count"];
        const WORDS: [&str; 36] = [
            "nanosecond",
            "microsecond",
            "ns)",
            "byte",
            "per second",
            "a second",
            "per 1000",
            "share",
            "ratio",
            "0 to 1",
            "-1 to 1",
            "between 0 and 1",
            "number",
            "count",
            "how many",
            "how often",
            "times ",
            "requests",
            "answers",
            "replies",
            "values",
            "messages",
            "exchanges",
            "packets",
            "connections",
            "threads",
            "cpus",
            "segments",
            "octet",
            "every n-th",
            "seed",
            "a number of",
            "unit of the figure",
            "without unit",
            "runs of",
            "percent",
        ];
        let own = description(property);
        let there = referred(property, root).map(description).unwrap_or_default();
        KEYS.iter().any(|suffix| key.ends_with(suffix))
            || WORDS.iter().any(|word| own.contains(word) || there.contains(word) || within.contains(word))
    }
}
