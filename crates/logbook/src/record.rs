//! The record: one measurement whole, with the method it was made by.
//!
//! Versions: a new optional field leaves [`VERSION`] as it is, for readers pass over what they do not know; anything
//! else (a field renamed, retyped, removed, a further value of an enumeration) raises it and brings a step in
//! [`crate::upgrade`]. A record is written once and never changed.
//!
//! Not here: reading text that may be no record ([`crate::read`]), files ([`crate::store`]), telling people (`report`).

use std::net::IpAddr;

use measure::environment::Environment;
use measure::method::{Asked, Batch, Method};
use measure::outcome::{Outcome, SocketFacts};
use measure::probes::Probes;
use measure::throughput::Throughput;
use measure::unit::{Bytes, Nanos};
use measure::verdict::Warning;
use measure::wire::finding::Wire;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::moment::Moment;
use crate::read::{self, ReadError};

/// Version of the record's form that this program writes.
pub const VERSION: u32 = 3;

/// One measurement: what was asked, by which method it was done, by whom, where and when, and what was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    /// Always `sonde-record`.
    pub format: Format,
    /// Version of this form, a count from 1.
    pub version: u32,
    /// Name of this measurement: a UUID of version 7, so that names sort by time.
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("format" = "uuid")))]
    pub id: Uuid,
    /// The program that measured.
    pub tool: Tool,
    /// The command line as given, the program's name first.
    pub command: Vec<String>,
    /// When the measurement was started.
    pub started: Moment,
    /// Which question was asked.
    pub question: Question,
    /// Whom it was asked of.
    pub target: Target,
    /// Who answered, as far as is known.
    pub peer: Peer,
    /// The method as asked for, gaps left open.
    pub asked: Asked,
    /// The method as carried out.
    pub method: Method,
    /// What was found of exchanges; absent where a stream was measured. A record has one of the two at least.
    pub outcome: Option<Outcome>,
    /// What was found of a stream; absent where exchanges were measured.
    pub stream: Option<Throughput>,
    /// What probes of the bare wire were answered with; absent where something else was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<Probes>,
    /// What the wire said of it; absent where it was not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Box<Wire>>,
    /// How the measurement ended.
    pub ended: Ended,
    /// What a reader must know to judge the numbers.
    pub warnings: Vec<Warning>,
    /// What our own instrument can resolve.
    #[serde(default)]
    pub instrument: Instrument,
    /// Our end's system; absent where it was not looked at.
    pub ours: Option<Environment>,
    /// The peer's system; absent where it told nothing.
    pub theirs: Option<Environment>,
}

impl Record {
    /// The record in `text`, upgraded where an older program wrote it.
    ///
    /// Fields that this program does not know are passed over. Fails on text that is not JSON (line and column), on
    /// JSON that is no record, on a record of a later version, and on one whose content is not as its version says.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        read::record(text)
    }

    /// From the start of what was measured to its end.
    pub fn elapsed(&self) -> Option<Nanos> {
        let exchanges = self.outcome.as_ref().map(|outcome| outcome.elapsed_ns);
        exchanges.or(self.stream.as_ref().map(|stream| stream.elapsed_ns))
    }

    /// What each connection's socket really got.
    pub fn sockets(&self) -> &[SocketFacts] {
        let exchanges = self.outcome.as_ref().map(|outcome| outcome.sockets.as_slice());
        exchanges.or(self.stream.as_ref().map(|stream| stream.sockets.as_slice())).unwrap_or_default()
    }

    /// The record as one JSON document, indented, with a line end.
    ///
    /// Fails where the document could not be read again: JSON has no NaN or infinity, so a number that must be there
    /// but is not finite would be lost without notice.
    pub fn to_json(&self) -> Result<String, Unwritable> {
        let mut text = serde_json::to_string_pretty(self).map_err(|fault| Unwritable { reason: fault.to_string() })?;
        read::record(&text).map_err(|fault| Unwritable { reason: fault.to_string() })?;
        text.push('\n');
        Ok(text)
    }
}

/// `document` as JSON, indented, with a line end: for documents that hold records.
///
/// # Errors
/// A number in it that JSON has no word for, so that the document could not be read again.
pub(crate) fn as_document<T: Serialize + DeserializeOwned>(document: &T) -> Result<String, Unwritable> {
    let unwritable = |fault: serde_json::Error| Unwritable { reason: fault.to_string() };
    let mut text = serde_json::to_string_pretty(document).map_err(unwritable)?;
    serde_json::from_str::<T>(&text).map_err(unwritable)?;
    text.push('\n');
    Ok(text)
}

/// A record that would not be read again as it is. A fault of ours, never of the network's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record cannot be written as JSON: {reason}")]
pub struct Unwritable {
    /// What stands in the way.
    pub reason: String,
}

/// The name of the record's form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Format {
    /// A record of sonde.
    #[default]
    #[serde(rename = "sonde-record")]
    Record,
}

/// A program by name and version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What a measurement answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Question {
    /// What does one exchange cost?
    Rtt,
    /// How much goes through?
    Throughput,
    /// What does it cost at this rate?
    Load,
}

/// Whom a measurement was asked of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Target {
    /// The host as typed; absent where none was given.
    pub host: Option<String>,
    /// The address it was resolved to.
    pub address: IpAddr,
    /// The port number, 1 to 65535; absent where the carrier has none.
    pub port: Option<u16>,
    /// Whether the peer was a reflector within this very process, over loopback: no network was measured.
    #[serde(default)]
    pub own_reflector: bool,
}

/// Who answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Peer {
    /// What kind of party.
    pub kind: PeerKind,
    /// The program that answered, as it named itself.
    pub program: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The protocol it speaks, by name, where that is not our own: `netperf`.
    pub protocol: Option<String>,
    /// Version of our own protocol that was agreed on, a count from 1.
    pub protocol_version: Option<u32>,
    /// How it took one-way messages that came together, where it took them so; otherwise one a call.
    #[serde(default)]
    pub batch: Option<Batch>,
    /// Receive buffer of its sockets of datagrams, bytes, as its kernel counts it, of several the smallest; where it said.
    #[serde(default)]
    pub receive_buffer_bytes: Option<Bytes>,
}

/// What kind of party answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PeerKind {
    /// A program that speaks our own protocol.
    Native,
    /// A program that speaks another program's protocol, which the peer names.
    Foreign,
    /// A kernel, with no program behind it.
    Kernel,
    /// Someone who did not say.
    Unknown,
}

/// How a measurement came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Ended {
    /// As the method says.
    Complete,
    /// A signal ended it early; all that was measured until then is here.
    Interrupted {
        /// The signal's name, as `SIGINT`.
        signal: String,
    },
    /// The peer went away; all that was measured until then is here.
    PeerLost {
        /// What was seen of it.
        reason: String,
    },
}

/// What our own instrument can resolve, as found on this machine beside the measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Instrument {
    /// The clock that was read, by its name in the system.
    pub clock: Option<String>,
    /// Cost of one reading of the clock, nanoseconds, median.
    pub clock_read_ns: Option<Nanos>,
    /// The smallest step of the clock that was seen, nanoseconds: no difference below it means anything.
    pub clock_step_ns: Option<Nanos>,
    /// Timer slack of the measuring threads, nanoseconds: how much later than asked the kernel may wake them.
    pub timer_slack_ns: Option<Nanos>,
    /// Lateness of a wake-up from a timed sleep, nanoseconds, median.
    pub wake_up_late_ns: Option<Nanos>,
    /// Scheduling class and priority of the measuring threads, as `other` or `fifo 50`.
    pub scheduling: Option<String>,
}
