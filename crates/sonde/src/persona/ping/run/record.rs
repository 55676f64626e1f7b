//! A run as a record: the same document that every other measurement leaves.

use std::collections::BTreeMap;

use endpoint::peer::ping::{Measured, Test};
use endpoint::rtt::{self, Target};
use endpoint::signal::Signal;
use logbook::moment::Moment;
use logbook::record::Record;
use measure::method::Asked;

use crate::command::spoken::Spoken;
use crate::persona::ping::options::Options;
use crate::persona::record;

/// Facts of a run beside its results.
#[derive(Debug)]
pub struct Inquiry<'a> {
    /// The whole command line.
    pub command: &'a [String],
    /// The method as asked for.
    pub asked: &'a Asked,
    /// The test as it was run.
    pub test: &'a Test,
    /// The options.
    pub options: &'a Options,
    /// Distance of the wall clock ahead of the monotonic one before the run, nanoseconds.
    pub offset_before: i128,
    /// Start of the run.
    pub started: Moment,
    /// The signal that ended it early, where one did.
    pub signal: Option<Signal>,
}

impl Inquiry<'_> {
    /// The record of what was found.
    pub fn record(&self, measured: Measured, errors: &BTreeMap<String, u64>) -> Record {
        let address = self.test.address;
        let target = Target { host: self.options.destination.clone(), address };
        let inquiry =
            record::inquiry(self.command, self.asked, &self.test.method, target, Spoken::Unknown, self.started);
        let Measured { mut gathered, environment, .. } = measured;
        if let Some(socket) = gathered.sockets.first_mut() {
            socket.icmp_errors.clone_from(errors);
        }
        let finding = rtt::found(gathered, environment, address, self.offset_before);
        inquiry.record(finding, self.signal, None)
    }
}
