//! An iteration as a record: the same document that every other measurement leaves.

use std::net::SocketAddr;

use endpoint::peer::netperf::client::stream::Streams;
use endpoint::peer::netperf::client::{Course, Found, Measured, Test};
use endpoint::rtt::{self, Ending, Finding, PeerFacts, Target};
use endpoint::signal::Signal;
use logbook::moment::Moment;
use logbook::record::Record;
use measure::environment::Environment;
use measure::method::{Asked, Direction, Traffic};
use measure::statistics::loss::PeerCounts;
use measure::throughput::{Carried, Theirs, Throughput};
use measure::unit::{Bytes, Nanos};
use protocol::netperf::answer::Results;

use crate::command::rtt::conclude::Around;
use crate::command::spoken::Spoken;
use crate::persona::netperf::options::Options;
use crate::persona::record;

pub use crate::system::now;

/// Facts of an iteration beside its results.
#[derive(Debug)]
pub struct Inquiry<'a> {
    /// The options.
    pub options: &'a Options,
    /// The whole command line.
    pub command: &'a [String],
    /// The method as asked for.
    pub asked: &'a Asked,
    /// The test as it was run.
    pub test: &'a Test,
    /// Address that the control connection went to.
    pub server: SocketAddr,
    /// Distance of the wall clock ahead of the monotonic one before the iteration, nanoseconds.
    pub offset_before: i128,
    /// Start of the iteration.
    pub started: Moment,
    /// The signal that ended it early, where one did.
    pub signal: Option<Signal>,
}

impl Inquiry<'_> {
    /// The record of what was found.
    pub fn record(&self, measured: Measured) -> Record {
        let target = Target { host: self.options.control.target().to_owned(), address: self.server };
        let spoken = Spoken::foreign("netperf");
        let mut inquiry = record::inquiry(self.command, self.asked, &self.test.method, target, spoken, self.started);
        let Measured { found, course, ended, environment, .. } = measured;
        match found {
            Found::Exchanges(gathered) => {
                let received = course.results.as_ref().ok().and_then(|results| results.transactions);
                let finding = rtt::found(gathered, environment, self.server, self.offset_before);
                let finding = Finding {
                    peer: netserver(),
                    peer_counts: PeerCounts { received, ..PeerCounts::default() },
                    report_missing: missing(&course, self.test),
                    ended,
                    ..finding
                };
                inquiry.record(finding, self.signal, None)
            }
            Found::Stream(Streams { metered, call_bytes, sockets, .. }) => {
                let mut direction = Direction::Send;
                if let Traffic::Stream(stream) = &mut inquiry.method.traffic {
                    (direction, stream.call_bytes) = (stream.direction, call_bytes);
                }
                let stream = Throughput::of(direction, &metered, theirs(direction, &course), sockets);
                let report_missing = missing(&course, self.test);
                let around = around(self.server, environment, ended, report_missing);
                inquiry.stream_record(stream, around, self.signal)
            }
        }
    }
}

fn around(target: SocketAddr, ours: Environment, ended: Ending, missing: Option<String>) -> Around {
    Around { ours, theirs: None, peer: netserver(), ended, target, own_reflector: false, report_missing: missing }
}

/// It does not tell its version.
fn netserver() -> PeerFacts {
    PeerFacts { program: Some("netserver".to_owned()), ..PeerFacts::default() }
}

fn missing(course: &Course, test: &Test) -> Option<String> {
    course.results.as_ref().err().filter(|_| test.wants_results).map(|error| error.cause.to_string())
}

/// Traffic of the server's calls, by its own word.
fn theirs(direction: Direction, course: &Course) -> Option<Theirs> {
    let results: &Results = course.results.as_ref().ok()?;
    let traffic = match direction {
        Direction::Send => results.received?,
        _ => results.sent?,
    };
    let carried = Carried { bytes: Bytes(traffic.bytes), calls: traffic.calls, failed_calls: 0 };
    let elapsed_ns = results.elapsed_seconds.map(|seconds| Nanos((f64::from(seconds) * 1e9) as u64));
    Some(Theirs { carried, elapsed_ns })
}
