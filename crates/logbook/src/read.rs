//! From text to a record, with a reason where there is none in it.
//!
//! First only name and version are looked at, so that a record of another version is called so instead of malformed.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::document::Form;
use crate::failure::ErrorDocument;
use crate::look::LookDocument;
use crate::record::Record;
use crate::run::RunDocument;
use crate::search::SearchDocument;
use crate::study::StudyDocument;
use crate::whole;

/// A document of ours that tells of measurements.
#[derive(Clone, Debug, PartialEq)]
pub enum Document {
    /// One measurement.
    Record(Box<Record>),
    /// A search, with its measurements in it.
    Search(Box<SearchDocument>),
    /// A comparison, a sweep or the like, with its measurements in it.
    Study(Box<StudyDocument>),
    /// A first look at a host.
    Look(Box<LookDocument>),
    /// A run of a plan, its measurements by their names.
    Run(Box<RunDocument>),
}

impl Document {
    /// The document in `text`: one of its own, or the end of a stream of events.
    ///
    /// # Errors
    /// As of [`Record::read`].
    pub fn read(text: &str) -> Result<Self, ReadError> {
        check_values(text)?;
        match text.lines().next().map(parse::<Envelope>) {
            Some(Ok(_)) => end_of_stream(text),
            _ => Self::alone(text),
        }
    }

    fn alone(text: &str) -> Result<Self, ReadError> {
        match head(text)?.format.as_deref() {
            Some(SearchDocument::FORMAT) => document(text).map(|found| Self::Search(Box::new(found))),
            Some(StudyDocument::FORMAT) => document(text).map(|found| Self::Study(Box::new(found))),
            Some(LookDocument::FORMAT) => document(text).map(|found| Self::Look(Box::new(found))),
            Some(RunDocument::FORMAT) => document(text).map(|found| Self::Run(Box::new(found))),
            _ => measurement(text).map(|found| Self::Record(Box::new(found))),
        }
    }

    /// The name of its form.
    fn format(&self) -> &'static str {
        match self {
            Self::Record(_) => Record::FORMAT,
            Self::Search(_) => SearchDocument::FORMAT,
            Self::Study(_) => StudyDocument::FORMAT,
            Self::Look(_) => LookDocument::FORMAT,
            Self::Run(_) => RunDocument::FORMAT,
        }
    }
}

/// Reason for which a text holds no record that can be read. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Not JSON, or cut short.
    #[error("not JSON at line {line}, column {column}: {reason}")]
    NotJson {
        /// Line of the fault.
        line: usize,
        /// Column of the fault.
        column: usize,
        /// Error of the parser.
        reason: String,
    },
    /// JSON of another kind.
    #[error("JSON, but not a sonde record{}", .found.as_ref().map_or(String::new(), |found| format!(": its format is `{found}`")))]
    NotARecord {
        /// The name of its form, where it has one.
        found: Option<String>,
    },
    /// An error document: there was no measurement, or only part of one.
    #[error("not a record but an error from sonde: {}", .0.error.what)]
    Failure(Box<ErrorDocument>),
    /// Written by a later sonde.
    #[error("a {what} of version {version}, which is newer than this program supports (up to {newest})")]
    FromTheFuture {
        /// Kind of the document, as `search`.
        what: &'static str,
        /// Its version.
        version: u32,
        /// The newest version that can be read.
        newest: u32,
    },
    /// A document whose content is not what its form says.
    #[error("a sonde {what}, but{} {reason}", .place.map_or(String::new(), |(line, column)| format!(" at line {line}, column {column}:")))]
    Malformed {
        /// Kind of the document, as `search`.
        what: &'static str,
        /// Line and column; absent where it has no text of its own.
        place: Option<(usize, usize)>,
        /// The part that does not fit.
        reason: String,
    },
    /// More values than a document of ours has: it was made to fill the memory.
    #[error("it has more than {} million values, the limit for its size", .most / 1_000_000)]
    TooManyValues {
        /// The most that is read.
        most: u64,
    },
    /// A stream of events that was cut off before its record.
    #[error("an event stream without an end: the measurement was cut off, so it holds no record")]
    NoEnd,
}

impl ReadError {
    /// Next step for the reader.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotJson { .. } => "the file may be cut short or changed by hand: take the original",
            Self::Malformed { .. } => {
                "the file may be changed by hand or of a later sonde: take the original, or that sonde"
            }
            Self::TooManyValues { .. } => "no sonde writes so many: take the original",
            Self::NotARecord { .. } => "give a file that `sonde rtt --json` or `-o FILE.json` wrote",
            Self::Failure(_) => "measure again: the document says what failed and what to try",
            Self::FromTheFuture { .. } => "read it with the sonde that wrote it, or a later one",
            Self::NoEnd => "each line of it is sound by itself; `jq` reads them",
        }
    }
}

/// Start of every document of ours, as far as the text has it.
#[derive(Deserialize)]
struct Head {
    format: Option<String>,
    version: Option<u32>,
}

/// One line of a stream of events, its content not yet looked at.
#[derive(Deserialize)]
struct Envelope {
    event: String,
    data: Value,
}

impl Record {
    /// The record in `text`: a document of its own, or the end of a stream of events.
    ///
    /// Fields that this program does not know are passed over. Fails on text that is not JSON (line and column), on
    /// JSON that is no record, on a record of a later version, and on one whose content is not as its version says.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        match Document::read(text)? {
            Document::Record(record) => Ok(*record),
            other => Err(ReadError::NotARecord { found: Some(other.format().to_owned()) }),
        }
    }
}

fn end_of_stream(text: &str) -> Result<Document, ReadError> {
    let last = text.lines().next_back().and_then(|line| parse::<Envelope>(line).ok()).ok_or(ReadError::NoEnd)?;
    match last.event.as_str() {
        "end" | "found" | "studied" | "ran" | "looked" => Document::alone(&last.data.to_string()),
        // From text: from a value all readers of a record would be compiled a second time.
        "error" => match parse(&last.data.to_string()) {
            Ok(error) => Err(ReadError::Failure(Box::new(ErrorDocument::new(error)))),
            Err(_) => Err(ReadError::NoEnd),
        },
        _ => Err(ReadError::NoEnd),
    }
}

/// The record in `text`, in which something was found.
fn measurement(text: &str) -> Result<Record, ReadError> {
    let record: Record = document(text)?;
    if record.outcome.is_none() && record.stream.is_none() {
        let reason = "missing field `outcome`, and there is no `stream` either".to_owned();
        return Err(ReadError::Malformed { what: Record::NAME, place: None, reason });
    }
    Ok(record)
}

/// The document of form `T` in `text`.
///
/// # Errors
/// As of [`Record::read`].
pub fn document<T: Form>(text: &str) -> Result<T, ReadError> {
    check_values(text)?;
    match head(text)? {
        Head { format: Some(format), version: Some(version) } if format == T::FORMAT => {
            if version > T::VERSION {
                return Err(ReadError::FromTheFuture { what: T::NAME, version, newest: T::VERSION });
            }
            parse(text).map_err(|fault| {
                let place = (fault.line() > 0).then(|| (fault.line(), fault.column()));
                ReadError::Malformed { what: T::NAME, place, reason: bare(&fault) }
            })
        }
        Head { format: Some(format), .. } if format == ErrorDocument::FORMAT => Err(failure(text)),
        Head { format, .. } => Err(ReadError::NotARecord { found: format }),
    }
}

/// Refuses a text with more values than documents of ours have, before memory is taken for them.
fn check_values(text: &str) -> Result<(), ReadError> {
    let octets = text.len() as u64;
    let most = whole::VALUES * octets.div_ceil(whole::RECORD);
    // A value has an octet at least.
    if octets > most && values(text) > most { Err(ReadError::TooManyValues { most }) } else { Ok(()) }
}

/// At most so many values are in a text of JSON, a count: of an object its pairs.
fn values(text: &str) -> u64 {
    let (mut count, mut is_string, mut is_escaped) = (1, false, false);
    for octet in text.bytes() {
        match octet {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_string,
            b'"' => is_string = !is_string,
            b',' | b'[' | b'{' => count += u64::from(!is_string),
            _ => {}
        }
    }
    count
}

fn head(text: &str) -> Result<Head, ReadError> {
    parse(text).map_err(|fault| if fault.is_data() { ReadError::NotARecord { found: None } } else { not_json(&fault) })
}

fn failure(text: &str) -> ReadError {
    parse(text).map_or(ReadError::NotARecord { found: Some(ErrorDocument::FORMAT.to_owned()) }, |document| {
        ReadError::Failure(Box::new(document))
    })
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    // Files saved by some editors open with a byte order mark.
    serde_json::from_str(text.trim_start_matches('\u{feff}'))
}

fn not_json(fault: &serde_json::Error) -> ReadError {
    ReadError::NotJson { line: fault.line(), column: fault.column(), reason: bare(fault) }
}

/// The message without the place that `serde_json` adds: it is told in fields of its own.
fn bare(fault: &serde_json::Error) -> String {
    let text = fault.to_string();
    let place = format!(" at line {} column {}", fault.line(), fault.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Line, Start, ThreadSecond};
    use crate::failure::{Failure, Side};
    use crate::fixture;
    use proptest::prelude::*;
    use serde_json::json;
    use test_case::test_case;

    fn value() -> Value {
        serde_json::to_value(fixture::record()).unwrap()
    }

    fn failure() -> Failure {
        Failure {
            what: "cannot connect: connection refused".to_owned(),
            to_whom: Some("10.0.0.2:7663".to_owned()),
            side: Some(Side::Theirs),
            hint: Some("start `sonde serve` there".to_owned()),
            partial: None,
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = fixture::record();
        assert_eq!(Record::read(&record.to_json().unwrap()), Ok(record));
    }

    #[test]
    fn fields_of_a_later_program_are_passed_over() {
        let mut later = value();
        later["mood"] = json!("bright");
        later["target"]["floor"] = json!(3);
        later["outcome"]["counts"]["yawned"] = json!(1);
        assert_eq!(Record::read(&later.to_string()), Ok(fixture::record()));
    }

    #[test]
    fn what_is_not_json_is_placed() {
        let whole = fixture::record().to_json().unwrap();
        let lines = whole.lines().count();
        let cut = whole.trim_end().strip_suffix('}').unwrap();
        let Err(ReadError::NotJson { line, .. }) = Record::read(cut) else { panic!("read a record that is cut short") };
        assert_eq!(line, lines);
        assert!(matches!(Record::read(""), Err(ReadError::NotJson { line: 1, .. })));
        assert!(matches!(Record::read("{\n  \"a\": nan }"), Err(ReadError::NotJson { line: 2, column: 9, .. })));
    }

    #[test_case("[1, 2]", None; "a list")]
    #[test_case("3", None; "a number")]
    #[test_case("{}", None; "an empty object")]
    #[test_case(r#"{ "format": "fio", "version": 1 }"#, Some("fio"); "another tool's")]
    #[test_case(r#"{ "format": "sonde-record" }"#, Some("sonde-record"); "no version")]
    fn other_json_is_no_record(text: &str, found: Option<&str>) {
        assert_eq!(Record::read(text), Err(ReadError::NotARecord { found: found.map(str::to_owned) }));
    }

    #[test]
    fn a_later_version_is_called_so_whatever_else_it_holds() {
        let text = r#"{ "format": "sonde-record", "version": 2, "all": "different" }"#;
        assert_eq!(Record::read(text), Err(ReadError::FromTheFuture { what: "record", version: 2, newest: 1 }));
    }

    #[test]
    fn a_version_that_never_was_is_refused() {
        let mut record = value();
        record["version"] = json!(0);
        let fault = Record::read(&record.to_string()).unwrap_err();
        assert!(matches!(&fault, ReadError::Malformed { reason, .. } if reason == "there is no record of version 0"));
    }

    #[test]
    fn a_record_that_lacks_something_names_it() {
        let mut record = value();
        record.as_object_mut().unwrap().remove("method");
        let fault = Record::read(&record.to_string()).unwrap_err();
        assert!(
            matches!(&fault, ReadError::Malformed { what: "record", place: Some(_), reason } if reason == "missing field `method`")
        );
    }

    #[test]
    fn a_record_without_anything_found_is_none() {
        let mut record = value();
        record["outcome"] = Value::Null;
        assert!(matches!(
            Record::read(&record.to_string()),
            Err(ReadError::Malformed { what: "record", place: None, .. })
        ));
    }

    #[test]
    fn a_record_of_a_stream_is_read_as_it_was_written() {
        let record = fixture::stream();
        assert_eq!(Record::read(&record.to_json().unwrap()), Ok(record));
    }

    #[test]
    fn an_error_document_is_told_from_a_record() {
        let document = ErrorDocument::new(failure());
        let read = Record::read(&document.to_text());
        assert_eq!(read, Err(ReadError::Failure(Box::new(document))));
    }

    #[test]
    fn an_error_keeps_what_was_measured() {
        let document = ErrorDocument::new(Failure { partial: Some(Box::new(fixture::record())), ..failure() });
        assert_eq!(serde_json::from_str::<ErrorDocument>(&document.to_text()).unwrap(), document);
    }

    fn stream() -> [Line; 3] {
        let record = fixture::record();
        let start = Start {
            version: crate::event::VERSION,
            id: record.head.id,
            tool: record.head.tool.clone(),
            started: record.head.started,
            target: record.target.clone(),
            method: record.method.clone(),
        };
        let second = ThreadSecond::bare(0, record.outcome.as_ref().unwrap().seconds[0]);
        [Line::Start(Box::new(start)), Line::Second(Box::new(second)), Line::End(Box::new(record))]
    }

    #[test]
    fn the_end_of_a_stream_is_its_record() {
        let text: String = stream().iter().map(Line::to_json).collect();
        assert_eq!(text.lines().count(), 3, "an event is one line");
        assert_eq!(Record::read(&text), Ok(fixture::record()));
    }

    #[test_case("3", 1; "one")]
    #[test_case("[1, [2, 3], [4]]", 7; "lists")]
    #[test_case(r#"{"a": "x,[{", "b\",": "\\", "c,": 1}"#, 4; "what stands in strings")]
    fn values_are_counted_before_they_are_read(text: &str, count: u64) {
        assert_eq!(values(text), count);
    }

    #[test]
    fn more_values_than_ours_have_are_not_read() {
        let most = whole::VALUES;
        let of = |count: u64| format!("{{\"mood\": [{}0]}}", "0,".repeat(count as usize));
        assert_eq!(Record::read(&of(most)), Err(ReadError::TooManyValues { most }));
        assert_eq!(document::<Record>(&of(most)), Err(ReadError::TooManyValues { most }));
        // One value is the list itself, one the object, one the last.
        assert_eq!(Record::read(&of(most - 3)), Err(ReadError::NotARecord { found: None }));
    }

    #[test]
    fn a_stream_cut_off_has_no_record() {
        let lines = stream();
        let begun = lines[0].to_json() + &lines[1].to_json();
        assert_eq!(Record::read(&begun), Err(ReadError::NoEnd));
        let whole = lines[2].to_json();
        assert_eq!(Record::read(&(begun + &whole[..whole.len() / 2])), Err(ReadError::NoEnd));
    }

    #[test]
    fn a_stream_that_failed_says_why() {
        let text = stream()[0].to_json() + &Line::Error(Box::new(failure())).to_json();
        assert_eq!(Record::read(&text), Err(ReadError::Failure(Box::new(ErrorDocument::new(failure())))));
    }

    #[test]
    fn a_number_that_is_none_is_not_lost_without_notice() {
        let mut record = fixture::record();
        record.outcome.as_mut().unwrap().response.mean_ns = Some(f64::NAN);
        assert!(record.to_json().is_ok(), "an optional value that cannot be computed is absent");
        record.warnings = vec![measure::verdict::Warning::BehindSchedule { share: f64::INFINITY }];
        assert!(record.to_json().is_err());
    }

    #[test_case(&crate::schema::json_schema(), &value())]
    #[test_case(&crate::schema::json_schema(), &serde_json::to_value(fixture::stream()).unwrap(); "stream")]
    #[test_case(&crate::schema::error_schema(), &serde_json::to_value(ErrorDocument::new(Failure { partial: Some(Box::new(fixture::record())), ..failure() })).unwrap(); "error")]
    fn what_is_written_is_what_the_schema_says(schema: &Value, document: &Value) {
        let validator = jsonschema::validator_for(schema).unwrap();
        let faults: Vec<String> = validator.iter_errors(document).map(|fault| fault.to_string()).collect();
        assert_eq!(faults, [] as [String; 0]);
        let mut wrong = document.clone();
        wrong["version"] = json!("one");
        assert!(!validator.is_valid(&wrong), "a schema that takes everything says nothing");
    }

    #[test]
    fn every_line_of_a_stream_is_what_the_schema_says() {
        let validator = jsonschema::validator_for(&crate::schema::event_schema()).unwrap();
        for line in stream().into_iter().chain([Line::Error(Box::new(failure()))]) {
            let document: Value = serde_json::from_str(&line.to_json()).unwrap();
            let faults: Vec<String> = validator.iter_errors(&document).map(|fault| fault.to_string()).collect();
            assert_eq!(faults, [] as [String; 0], "{}", line.to_json());
        }
        assert!(!validator.is_valid(&json!({ "event": "second", "data": { "thread": 0 } })));
    }

    proptest! {
        #[test]
        fn no_damage_to_a_record_is_more_than_an_error(at in 0_usize..20_000, with in "\\PC{0,3}", taken in 0_usize..40) {
            let whole = fixture::record().to_json().unwrap();
            let start = (0..=at % whole.len()).rev().find(|place| whole.is_char_boundary(*place)).unwrap_or(0);
            let end = (start + taken..=whole.len()).find(|place| whole.is_char_boundary(*place)).unwrap_or(whole.len());
            let damaged = format!("{}{with}{}", &whole[..start], &whole[end..]);
            if let Err(fault) = Record::read(&damaged) {
                prop_assert!(!fault.to_string().is_empty() && !fault.hint().is_empty());
            }
        }
    }
}
