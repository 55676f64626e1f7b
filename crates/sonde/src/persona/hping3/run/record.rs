//! A run as a record: the same document that every other measurement leaves.

use endpoint::resolution::clock_cost;
use endpoint::rtt::{self, Protocol, Target, Task};
use endpoint::signal::Signal;
use endpoint::syn::{Kind, Measured, Probing};
use logbook::moment::Moment;
use logbook::record::PeerKind;
use measure::answer::Class;
use measure::method::Asked;
use measure::origin;
use measure::probes::Counter;
use uuid::Uuid;

use crate::PROGRAM;
use crate::command::rtt::conclude;

/// What is known of a run beside what it found.
#[derive(Debug)]
pub struct Inquiry<'a> {
    /// The whole command line.
    pub command: &'a [String],
    /// The method as asked for.
    pub asked: &'a Asked,
    /// What was probed.
    pub probing: &'a Probing,
    /// Whom, as named.
    pub host: String,
    /// How far the wall clock was ahead of the monotonic one before.
    pub offset_before: i128,
    /// When it was started.
    pub started: Moment,
    /// The signal that ended it early, where one did.
    pub signal: Option<Signal>,
}

impl Inquiry<'_> {
    /// The record as a JSON document.
    ///
    /// # Errors
    /// A number that JSON does not have.
    pub fn document(&self, measured: Measured, counter: Counter) -> Result<String, String> {
        let address = self.probing.peer;
        let task = Task {
            trace: None,
            method: self.probing.method.clone(),
            target: Some(Target { host: self.host.clone(), address }),
            protocol: Protocol::Native,
            key: None,
            samples: true,
            interval: self.probing.interval,
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
        let Measured { gathered, environment, unseen, .. } = measured;
        let finding = rtt::found(gathered, environment, address, self.offset_before);
        let mut record = inquiry.record(finding, self.signal, None);
        if self.probing.kind == Kind::Datagrams {
            record.peer.kind = PeerKind::Unknown;
        }
        let resets = counter.of(Class::RstAck) + counter.of(Class::Rst);
        let origin = (resets > 0).then(|| origin::judge(None, &[], &[]));
        let record = conclude::with_probes(record, counter.finish(unseen, origin));
        record.to_json().map_err(|error| error.to_string())
    }
}
