//! A measurement as it happens, one JSON document a line: `{"event": "second", "data": {…}}`.
//!
//! The first line is `start`, then comes a `second` (of a stream: a `carried`) for each thread and interval, and `end`
//! carries the whole record; where the measurement failed the last line is `error`. A search for a rate has a `probe` for
//! each probe in place of seconds, and its last line is `found`; a study has a `trial` for each trial, and its last line is
//! `studied`. A first look begins with an `answer` for each way by which the host was heard of, and its last line is
//! `looked`. A run of a plan has `ran` for its last line. A stream of lines has one of the six, as its last; without any it
//! was cut off.

use std::collections::BTreeMap;

use measure::environment::Disturbance;
use measure::event::Second;
use measure::method::Method;
use measure::outcome::Split;
use measure::outcome::replies::Kind;
use measure::throughput::Interval;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::document::Tool;
use crate::failure::Failure;
use crate::look::{FirstAnswer, LookDocument};
use crate::moment::Moment;
use crate::record::{Record, Target};
use crate::run::RunDocument;
use crate::search::{Probe, SearchDocument};
use crate::study::{StudyDocument, Trial};

/// Version of the events' form.
pub const VERSION: u32 = 1;

/// One line of the stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", content = "data", rename_all = "kebab-case")]
pub enum Line {
    /// The measurement starts; comes once, first.
    Start(Box<Start>),
    /// A second of one thread went by.
    Second(Box<ThreadSecond>),
    /// An interval of one thread's stream went by.
    Carried(ThreadInterval),
    /// The measurement is over: its record, as `record.v1.json` describes it.
    End(#[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, serde_json::Value>"))] Box<Record>),
    /// A probe of a search is over.
    Probe(Box<Probe>),
    /// The search is over: its document, as `search.v1.json` describes it.
    Found(
        #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, serde_json::Value>"))]
        Box<SearchDocument>,
    ),
    /// A trial of a study is over.
    Trial(Box<Trial>),
    /// The study is over: its document, as `study.v1.json` describes it.
    Studied(
        #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, serde_json::Value>"))]
        Box<StudyDocument>,
    ),
    /// A host was heard of for the first time, by one way.
    Answer(Box<FirstAnswer>),
    /// A first look is over: its document, as `look.v1.json` describes it.
    Looked(
        #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, serde_json::Value>"))]
        Box<LookDocument>,
    ),
    /// A run of a plan is over: its document, as `run.v1.json` describes it.
    Ran(
        #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, serde_json::Value>"))] Box<RunDocument>,
    ),
    /// The measurement failed.
    Error(Box<Failure>),
}

impl Line {
    /// The line as JSON with its line end. No number in it is NaN or infinite: JSON has neither, and a value that could
    /// not be computed is absent.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string(self).expect("our types have string keys alone");
        text.push('\n');
        text
    }
}

/// First event: the measurement that is about to begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Start {
    /// Version of the events' form, a count from 1.
    pub version: u32,
    /// Name of the measurement; its record has the same.
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("format" = "uuid")))]
    pub id: Uuid,
    /// The program that measures.
    pub tool: Tool,
    /// Start of the measurement.
    pub started: Moment,
    /// Peer of the measurement.
    pub target: Target,
    /// The method as it will be carried out.
    pub method: Method,
}

/// A second as one thread of ours saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadSecond {
    /// The thread's number, from 0.
    pub thread: u32,
    /// Counts of that second.
    #[serde(flatten)]
    pub second: Second,
    /// Histogram of the response times of the requests that were answered since the second before it in this stream, of whichever
    /// thread, in nanoseconds: `HdrHistogram` V2 with three digits, in base64. Histograms add up. It holds fewer values than were answered
    /// where its writer fell behind. Absent unless it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<String>,
    /// Breakdown of the time: medians of the exchanges that were stamped and settled since the second before it in this
    /// stream, of whichever thread. Absent where there were none, and unless histograms were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// Disturbance of this host since the second before it in this stream; absent unless histograms were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbance: Option<Disturbance>,
    /// Packets that the kernel of this host dropped since then because a queue was full, by `protocol.counter`: of all programs, not of this one alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<String, i64>,
    /// Replies of a program at work since the second before it in this stream, by the names that its protocol gives their kinds, as in
    /// [`measure::outcome::replies::Replies`]. Absent where another one was asked, and unless histograms were asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub replies: BTreeMap<String, Kind>,
}

impl ThreadSecond {
    /// With its counts alone.
    pub fn bare(thread: u32, second: Second) -> Self {
        Self {
            thread,
            second,
            histogram: None,
            split: None,
            disturbance: None,
            dropped: BTreeMap::new(),
            replies: BTreeMap::new(),
        }
    }
}

/// An interval of a stream as one thread of ours saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadInterval {
    /// The thread's number, from 0.
    pub thread: u32,
    /// Counts and times of that interval.
    #[serde(flatten)]
    pub interval: Box<Interval>,
}
