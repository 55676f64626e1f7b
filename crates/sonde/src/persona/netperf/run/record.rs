//! An iteration as a record: the same document that every other measurement leaves.

use std::path::{Path, PathBuf};

use endpoint::peer::netperf::client::{Found, Measured, Test};
use endpoint::resolution::clock_cost;
use endpoint::rtt::{self, Ending, PeerFacts};
use endpoint::signal::Signal;
use logbook::moment::Moment;
use measure::method::Asked;
use measure::throughput::{Carried, Theirs, Throughput};
use measure::unit::{Bytes, Nanos};
use protocol::netperf::answer::Results;

use crate::command::rtt::conclude::{self, Subject};
use crate::failure::Failure;
use crate::persona::netperf::options::Options;

pub use crate::command::rtt::now;

/// What is known of an iteration beside what it found.
pub struct Inquiry<'a> {
    /// What was typed.
    pub options: &'a Options,
    /// The whole command line.
    pub command: &'a [String],
    /// The method as asked for.
    pub asked: &'a Asked,
    /// The test as it was run.
    pub test: &'a Test,
    /// When it was started.
    pub started: Moment,
    /// The signal that ended it early, where one did.
    pub signal: Option<Signal>,
}
