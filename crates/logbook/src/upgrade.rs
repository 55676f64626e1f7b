//! The way from an older record to the present form: one step per version, each from its own version to the next.
//!
//! A step works on JSON, not on types, so that the types of old versions need not be kept.

use serde_json::Value;

use crate::read::ReadError;
use crate::record::VERSION;

/// Turns a record of one version into one of the next.
type Step = fn(Value) -> Value;

/// The steps by the version they start from. Version 1 is the first that there was.
const STEPS: &[(u32, Step)] = &[(1, from_1), (2, from_2)];

/// Version 2 knows streams, connect + close and peers of another protocol, which no record of version 1 has: what stands
/// in one means the same.
fn from_1(record: Value) -> Value {
    record
}

/// Version 3 knows more kinds of warnings, which no record of version 2 has: what stands in one means the same. A reader of
/// version 2 cannot read a record with one of them, so it has to be told that it is newer.
fn from_2(record: Value) -> Value {
    record
}

/// `record`, of `version`, in the present form.
pub(crate) fn to_present(record: Value, version: u32) -> Result<Value, ReadError> {
    climb(STEPS, record, version)
}

fn climb(steps: &[(u32, Step)], mut record: Value, version: u32) -> Result<Value, ReadError> {
    for from in version..VERSION {
        let Some((_, step)) = steps.iter().find(|(start, _)| *start == from) else {
            return Err(ReadError::NoSuchVersion { version });
        };
        record = step(record);
        record["version"] = Value::from(from + 1);
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use serde_json::json;
    use test_case::test_case;

    #[test]
    fn a_step_leads_from_its_version_to_the_next() {
        let step: Step = |mut record| {
            let date = record.as_object_mut().and_then(|fields| fields.remove("date"));
            record["started"] = date.unwrap_or_default();
            record
        };
        let old = json!({ "format": "sonde-record", "version": 0, "date": "2026-10-20T14:03:12Z" });
        let new = json!({ "format": "sonde-record", "version": VERSION, "started": "2026-10-20T14:03:12Z" });
        let all: Vec<(u32, Step)> = [(0, step)].into_iter().chain(STEPS.iter().copied()).collect();
        assert_eq!(climb(&all, old, 0), Ok(new));
    }

    #[test_case(include_str!("../fixtures/record.v1.json"), 1)]
    #[test_case(include_str!("../fixtures/record.v2.json"), 2)]
    fn a_record_of_an_older_version_is_read_and_nothing_of_it_is_lost(text: &str, version: u32) {
        let record = Record::read(text).unwrap();
        let outcome = record.outcome.as_ref().unwrap();
        assert_eq!((record.version, outcome.counts.answered, record.stream.is_none()), (VERSION, 3, true));
        let (old, new): (Value, Value) = (serde_json::from_str(text).unwrap(), serde_json::to_value(&record).unwrap());
        assert_eq!(
            (old["version"].as_u64(), missing(&old, &new, "")),
            (Some(version.into()), vec!["/version".to_owned()])
        );
    }

    /// Where what stands in `old` does not stand in `new`.
    fn missing(old: &Value, new: &Value, place: &str) -> Vec<String> {
        match old {
            Value::Object(fields) => fields
                .iter()
                .flat_map(|(key, value)| missing(value, &new[key.as_str()], &format!("{place}/{key}")))
                .collect(),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .flat_map(|(index, value)| missing(value, &new[index], &format!("{place}/{index}")))
                .collect(),
            value if value == new => Vec::new(),
            _ => vec![place.to_owned()],
        }
    }

    #[test]
    fn a_version_without_a_step_is_refused() {
        assert_eq!(to_present(json!({}), 0), Err(ReadError::NoSuchVersion { version: 0 }));
    }
}
