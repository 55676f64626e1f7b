//! A run as a record: the same document that every other measurement leaves; and the files that a run reads and writes.

use std::path::Path;
use std::sync::Arc;

use endpoint::peer::sockperf::client::{Measured, Test};
use endpoint::rtt::{self, Target};
use endpoint::signal::Signal;
use logbook::moment::Moment;
use logbook::record::Record;
use logbook::whole;
use measure::method::{Asked, LoopKind};
use measure::statistics::loss::PeerCounts;
use measure::trace::{Departure, Trace};
use measure::verdict::judge::half_round_trip;
use protocol::sockperf::playback;

use crate::command::rtt::conclude;
use crate::command::rtt::samples::Samples;
use crate::command::spoken::Spoken;
use crate::persona::answer::Answer;
use crate::persona::record::{self, Keeping};
use crate::persona::sockperf::options::{Client, Kind, Own};
use crate::persona::sockperf::output::failure;
use crate::persona::sockperf::run::client::full_log::FullLog;
use crate::persona::sockperf::run::client::listener::Heard;
use crate::persona::sockperf::run::client::places::unreadable;

pub use crate::system::now;

/// The files of a run: what can't be read or made ends it before it began.
pub struct Files {
    /// Recording that is played back.
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
        let samples = own.samples.as_ref().map(|file| Samples::create(file, kind)).transpose()?;
        // As seen from here: a daemon goes elsewhere.
        let path = own.record.as_ref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
        let record = Keeping::of(path.as_deref(), own.json)?;
        Ok(Self { trace, full_log, samples, record })
    }
}

fn played(file: &Path) -> Result<Trace, Answer> {
    let text = whole::text(file, whole::LONGEST).map_err(|error| unreadable(file, &error))?;
    let departures = playback::parse(&text)
        .map_err(|error| failure::unplayable(file, error.line, error.fault, &error.to_string()))?;
    let departures = departures.into_iter().map(|one| Departure { at: one.at, bytes: one.size }).collect();
    Trace::new(departures).map_err(|error| failure::other(&format!("{}: {error}", file.display())))
}

/// Facts of a run beside its results.
#[derive(Debug)]
pub struct Inquiry<'a> {
    /// The whole command line.
    pub command: &'a [String],
    /// The method as asked for.
    pub asked: &'a Asked,
    /// The test as it was run.
    pub test: &'a Test,
    /// True where whole round trips are printed.
    pub full_rtt: bool,
    /// The first server as it was named.
    pub host: String,
    /// Distance of the wall clock ahead of the monotonic one before the run, nanoseconds.
    pub offset_before: i128,
    /// Start of the run.
    pub started: Moment,
    /// The signal that ended it early, where one did.
    pub signal: Option<Signal>,
}

impl Inquiry<'_> {
    /// The record of what was found.
    pub fn record(&self, measured: Measured, heard: &Heard) -> Record {
        let address = self.test.places[0].address;
        let target = Target { host: self.host.clone(), address };
        let spoken = Spoken::foreign("sockperf");
        let inquiry = record::inquiry(self.command, self.asked, &self.test.method, target, spoken, self.started);
        let Measured { gathered, environment, arrived, .. } = measured;
        let peer_counts = PeerCounts { received: arrived, ..PeerCounts::default() };
        let finding = rtt::found(gathered, environment, address, self.offset_before);
        let finding = rtt::Finding { peer_counts, ..finding };
        let record = inquiry.record(finding, self.signal, heard.samples_missing().clone());
        let halves = record.outcome.as_ref().and_then(|outcome| half_round_trip(outcome, self.full_rtt));
        conclude::with_warnings(record, halves)
    }
}
