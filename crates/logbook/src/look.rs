//! A first look at a host, as a document of its own: `sonde HOST --json`.
//!
//! It holds what was tried, every exchange of every leg in its round, and what follows from them, so that it can be judged again
//! from it alone. Versions are kept as the record's are.

use measure::look::Look;
use measure::reach::Seen;
use serde::{Deserialize, Serialize};

use crate::document::{Form, Head};
use crate::record::Ended;

/// A first look: by whom, when, and what it found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LookDocument {
    /// Its name, and who made it when.
    #[serde(flatten)]
    pub head: Head<LookDocument>,
    /// Results of the survey.
    pub look: Look,
    /// End of the survey.
    pub ended: Ended,
}

impl Form for LookDocument {
    const FORMAT: &'static str = "sonde-look";
    const NAME: &'static str = "quick survey";
}

/// The very first that was heard of a host by one way, told before anything is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirstAnswer {
    /// The address that was asked.
    pub address: String,
    /// Protocol of the request: `icmp`, `tcp` or `udp`.
    pub over: String,
    /// The port number, 1 to 65535; absent of an echo.
    pub port: Option<u16>,
    /// Result of the request.
    pub seen: Seen,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Line;
    use crate::fixture;
    use crate::read::{Document, ReadError};
    use crate::record::Record;
    use measure::unit::Nanos;
    use serde_json::{Value, json};

    fn value() -> Value {
        serde_json::to_value(fixture::look()).unwrap()
    }

    #[test]
    fn a_look_is_read_as_it_was_written() {
        let look = fixture::look();
        let text = look.to_json().unwrap();
        assert_eq!(Document::read(&text), Ok(Document::Look(Box::new(look))));
        let wrong = ReadError::NotARecord { found: Some("sonde-look".to_owned()) };
        assert_eq!(Record::read(&text), Err(wrong), "it is not one record");
    }

    #[test]
    fn the_last_line_of_a_look_holds_it_whole() {
        let look = fixture::look();
        let answer = FirstAnswer {
            address: "10.0.0.2".to_owned(),
            over: "icmp".to_owned(),
            port: None,
            seen: Seen::Answer { after_ns: Nanos(7) },
        };
        let lines = [Line::Answer(Box::new(answer)), Line::Looked(Box::new(look.clone()))];
        let text: String = lines.iter().map(Line::to_json).collect();
        assert_eq!(Document::read(&text), Ok(Document::Look(Box::new(look))));
        assert_eq!(Document::read(text.lines().next().unwrap()), Err(ReadError::NoEnd));
        let validator = jsonschema::validator_for(&crate::schema::event_schema()).unwrap();
        for line in text.lines() {
            let faults: Vec<String> =
                validator.iter_errors(&serde_json::from_str(line).unwrap()).map(|fault| fault.to_string()).collect();
            assert_eq!(faults, [] as [String; 0]);
        }
    }

    #[test]
    fn a_look_that_cannot_be_read_says_why() {
        let with = |change: &dyn Fn(&mut Value)| {
            let mut changed = value();
            change(&mut changed);
            Document::read(&changed.to_string()).unwrap_err()
        };
        let future = with(&|look| look["version"] = json!(9));
        assert_eq!(
            future.to_string(),
            "a quick survey of version 9, which is newer than this program supports (up to 1)"
        );
        let lacking = with(&|look| {
            look.as_object_mut().unwrap().remove("look");
        });
        assert!(lacking.to_string().ends_with(": missing field `look`"), "{lacking}");
        assert!(!lacking.hint().is_empty() && !future.hint().is_empty());
        let cut = value().to_string();
        assert!(matches!(Document::read(&cut[..cut.len() / 2]), Err(ReadError::NotJson { .. })));
    }

    #[test]
    fn what_is_written_is_what_the_schema_says() {
        let validator = jsonschema::validator_for(&crate::schema::look_schema()).unwrap();
        let faults: Vec<String> = validator.iter_errors(&value()).map(|fault| fault.to_string()).collect();
        assert_eq!(faults, [] as [String; 0]);
        let mut wrong = value();
        wrong["look"]["judgement"]["believed"]["stands"] = json!("nothing");
        assert!(!validator.is_valid(&wrong));
    }
}
