//! A run as a record: the same document that every other measurement leaves.

use endpoint::rtt::{self, Target};
use endpoint::signal::Signal;
use endpoint::syn::{Measured, Probing};
use logbook::moment::Moment;
use logbook::record::Record;
use measure::answer::Class;
use measure::method::Asked;
use measure::origin;
use measure::probes::Counter;

use crate::command::rtt::conclude;
use crate::command::spoken::Spoken;
use crate::persona::record;

/// Facts of a run beside its results.
#[derive(Debug)]
pub struct Inquiry<'a> {
    /// The whole command line.
    pub command: &'a [String],
    /// The method as asked for.
    pub asked: &'a Asked,
    /// The probing.
    pub probing: &'a Probing,
    /// Host, as named.
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
    pub fn record(&self, measured: Measured, counter: Counter) -> Record {
        let address = self.probing.peer;
        let target = Target { host: self.host.clone(), address };
        let inquiry =
            record::inquiry(self.command, self.asked, &self.probing.method, target, Spoken::Unknown, self.started);
        let Measured { gathered, environment, unseen, .. } = measured;
        let finding = rtt::found(gathered, environment, address, self.offset_before);
        let record = inquiry.record(finding, self.signal, None);
        let resets = counter.of(Class::RstAck) + counter.of(Class::Rst);
        let origin = (resets > 0).then(|| origin::judge(None, &[], &[]));
        conclude::with_probes(record, counter.finish(unseen, origin))
    }
}
