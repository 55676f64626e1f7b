//! From text to a record, with a reason where there is none in it.
//!
//! First only name and version are looked at, so that a record of another version is called so instead of malformed.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::failure::ErrorDocument;
use crate::record::{Record, VERSION};
use crate::upgrade;

/// Why a text holds no record that can be read. Lines and columns count from 1.
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
        /// What the parser met.
        reason: String,
    },
    /// JSON of another kind.
    #[error("JSON, but no record of sonde{}", .found.as_ref().map_or(String::new(), |found| format!(": its format is `{found}`")))]
    NotARecord {
        /// The name of its form, where it has one.
        found: Option<String>,
    },
    /// An error document: there was no measurement, or only part of one.
    #[error("no record but an error of sonde: {}", .0.error.what)]
    Failure(Box<ErrorDocument>),
    /// Written by a later sonde.
    #[error("record version {version} is newer than this program, which reads up to {newest}")]
    FromTheFuture {
        /// Its version.
        version: u32,
        /// The newest version that can be read.
        newest: u32,
    },
    /// A version that never was.
    #[error("there is no record version {version}")]
    NoSuchVersion {
        /// Its version.
        version: u32,
    },
    /// A record whose content is not what its version says.
    #[error("a record of version {version}, but{} {reason}", .place.map_or(String::new(), |(line, column)| format!(" at line {line}, column {column}:")))]
    Malformed {
        /// Its version.
        version: u32,
        /// Line and column; absent in an upgraded record, whose text is another.
        place: Option<(usize, usize)>,
        /// What does not fit.
        reason: String,
    },
    /// A stream of events that was cut off before its record.
    #[error("a stream of events without its end: the measurement was cut off, so there is no record in it")]
    NoEnd,
}

impl ReadError {
    /// What to try.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotJson { .. } | Self::Malformed { .. } => {
                "the file may be cut short or changed by hand: take the original"
            }
            Self::NotARecord { .. } => "give a file that `sonde rtt --json` or `-o FILE.json` wrote",
            Self::Failure(_) => "measure again: the document says what failed and what to try",
            Self::FromTheFuture { .. } => "read it with the sonde that wrote it, or a later one",
            Self::NoSuchVersion { .. } => "the version was changed by hand: take the original",
            Self::NoEnd => "each line of it is sound by itself; `jq` reads them",
        }
    }
}

/// What every document of ours opens with.
#[derive(Deserialize)]
struct Head {
    format: Option<String>,
    version: Option<u32>,
}

pub(crate) fn record(text: &str) -> Result<Record, ReadError> {
    let version = version(text)?;
    if version == VERSION {
        return parse(text).map_err(|fault| malformed(version, &fault));
    }
    let old = parse(text).map_err(|fault| not_json(&fault))?;
    let present = upgrade::to_present(old, version)?;
    serde_json::from_value(present).map_err(|fault| malformed(version, &fault))
}

/// The version of the record in `text`, if it is one that can be read.
fn version(text: &str) -> Result<u32, ReadError> {
    let head: Head = match parse(text) {
        Ok(head) => head,
        Err(fault) if fault.is_data() => return Err(ReadError::NotARecord { found: None }),
        Err(fault) => return Err(not_json(&fault)),
    };
    match (head.format.as_deref(), head.version) {
        (Some("sonde-record"), Some(version)) if version > VERSION => {
            Err(ReadError::FromTheFuture { version, newest: VERSION })
        }
        (Some("sonde-record"), Some(version)) => Ok(version),
        (Some("sonde-error"), _) => Err(failure(text)),
        _ => Err(ReadError::NotARecord { found: head.format }),
    }
}

fn failure(text: &str) -> ReadError {
    parse(text).map_or(ReadError::NotARecord { found: Some("sonde-error".to_owned()) }, |document| {
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

fn malformed(version: u32, fault: &serde_json::Error) -> ReadError {
    let place = (fault.line() > 0).then(|| (fault.line(), fault.column()));
    ReadError::Malformed { version, place, reason: bare(fault) }
}

/// The message without the place that `serde_json` adds: it is told in fields of its own.
fn bare(fault: &serde_json::Error) -> String {
    let text = fault.to_string();
    let place = format!(" at line {} column {}", fault.line(), fault.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}
