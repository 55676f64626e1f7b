//! A run as a record: the same document that every other measurement leaves; and the files that a run reads and writes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use endpoint::peer::sockperf::client::{Measured, Test};
use endpoint::resolution::clock_cost;
use endpoint::rtt::{self, Protocol, Target, Task};
use endpoint::signal::Signal;
use logbook::moment::Moment;
use logbook::record::Record;
use measure::method::{Asked, LoopKind};
use measure::statistics::loss::PeerCounts;
use measure::trace::{Departure, Trace};
use measure::verdict::judge::half_round_trip;
use protocol::sockperf::playback;
use uuid::Uuid;

use crate::PROGRAM;
use crate::command::deliver;
use crate::command::rtt::conclude;
use crate::command::rtt::samples::Samples;
use crate::failure::Failure;
use crate::persona::answer::Answer;
use crate::persona::sockperf::options::{Client, Kind, Own};
use crate::persona::sockperf::output::failure;
use crate::persona::sockperf::run::client::full_log::FullLog;
use crate::persona::sockperf::run::client::listener::Heard;
use crate::persona::sockperf::run::client::places::unreadable;

pub use crate::command::rtt::now;

/// The files of a run: what can't be read or made ends it before it began.
pub struct Files {
    /// What is played back.
    pub trace: Option<Arc<Trace>>,
    /// The full log.
    pub full_log: Option<FullLog>,
    /// The file of samples.
    pub samples: Option<Samples>,
    /// The record.
    pub record: Keeping,
}

impl Files {
    /// Those that were asked for.
    ///
    /// # Errors
    /// A file that cannot be read or made.
    pub fn open(client: &Client, own: &Own) -> Result<Self, Answer> {
        let trace = match &client.kind {
            Kind::Playback { file, .. } => Some(Arc::new(played(file)?)),
            _ => None,
        };
        let full_log = FullLog::create(client)?;
        let kind = if matches!(client.kind, Kind::PingPong { .. }) { LoopKind::Closed } else { LoopKind::Open };
        let samples = own.samples.as_ref().map(|file| Samples::create(file, kind)).transpose();
        let samples = samples.map_err(|error| told(&error))?;
        // As seen from here: a daemon goes elsewhere.
        let path = own.record.as_ref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
        if let Some(path) = &path {
            deliver::check_path(path).map_err(|error| told(&error))?;
        }
        Ok(Self { trace, full_log, samples, record: Keeping { path, json: own.json } })
    }
}

fn played(file: &Path) -> Result<Trace, Answer> {
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(file, &error))?;
    let departures = playback::parse(&text)
        .map_err(|error| failure::unplayable(file, error.line, error.fault, &error.to_string()))?;
    let departures = departures.into_iter().map(|one| Departure { at: one.at, bytes: one.size }).collect();
    Trace::new(departures).map_err(|error| failure::other(&format!("{}: {error}", file.display())))
}

/// Where a record goes.
#[derive(Clone, Debug)]
pub struct Keeping {
    path: Option<PathBuf>,
    json: bool,
}

impl Keeping {
    /// Writes the record into its file. Returns it where it is to be printed.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn deliver(&self, inquiry: &Inquiry<'_>, measured: Measured, heard: &Heard) -> Result<Option<String>, Answer> {
        if self.path.is_none() && !self.json {
            return Ok(None);
        }
        let record = inquiry.record(measured, heard);
        let document = record.to_json().map_err(|error| failure::other(&error.to_string()))?;
        if let Some(path) = &self.path {
            deliver::write(path, &document).map_err(|error| told(&error))?;
        }
        Ok(self.json.then_some(document))
    }
}

/// What is known of a run beside what it found.
#[derive(Debug)]
pub struct Inquiry<'a> {
    /// The whole command line.
    pub command: &'a [String],
    /// The method as asked for.
    pub asked: &'a Asked,
    /// The test as it was run.
    pub test: &'a Test,
    /// Whether whole round trips are printed.
    pub full_rtt: bool,
    /// The first server as it was named.
    pub host: String,
    /// How far the wall clock was ahead of the monotonic one before.
    pub offset_before: i128,
    /// When it was started.
    pub started: Moment,
    /// The signal that ended it early, where one did.
    pub signal: Option<Signal>,
}

impl Inquiry<'_> {
    fn record(&self, measured: Measured, heard: &Heard) -> Record {
        let address = self.test.places[0].address;
        let task = Task {
            trace: self.test.trace.clone(),
            method: self.test.method.clone(),
            target: Some(Target { host: self.host.clone(), address }),
            protocol: Protocol::Sockperf,
            key: None,
            samples: self.test.samples,
            interval: self.test.interval,
            program: PROGRAM.to_owned(),
            verify: None,
        };
        let inquiry = conclude::Inquiry {
            id: Uuid::now_v7(),
            started: self.started,
            command: self.command.to_vec(),
            asked: self.asked.clone(),
            task,
            instrument: conclude::instrument(&clock_cost()),
        };
        let Measured { gathered, environment, arrived, .. } = measured;
        let peer_counts = PeerCounts { received: arrived, ..PeerCounts::default() };
        let finding = rtt::found(gathered, environment, address, self.offset_before);
        let finding = rtt::Finding { peer_counts, ..finding };
        let record = inquiry.record(finding, self.signal, heard.samples_missing().clone());
        let halves = record.outcome.as_ref().and_then(|outcome| half_round_trip(outcome, self.full_rtt));
        conclude::with_warnings(record, halves)
    }
}

fn told(failure: &Failure) -> Answer {
    Answer::complaint(failure.text())
}
