//! A run as a record: the same document that every other measurement leaves.

use std::collections::BTreeMap;
use std::path::PathBuf;

use endpoint::peer::ping::{Measured, Test};
use endpoint::resolution::clock_cost;
use endpoint::rtt::{self, Protocol, Target, Task};
use endpoint::signal::Signal;
use logbook::moment::Moment;
use logbook::record::Record;
use measure::method::Asked;
use uuid::Uuid;

use crate::PROGRAM;
use crate::command::deliver;
use crate::command::rtt::conclude;
use crate::failure::Failure;
use crate::persona::answer::Answer;
use crate::persona::ping::options::{Options, complain};

pub use crate::command::rtt::now;

/// Where a record goes.
#[derive(Clone, Debug)]
pub struct Keeping {
    path: Option<PathBuf>,
    json: bool,
}

impl Keeping {
    /// As was asked for.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn of(options: &Options) -> Result<Self, Answer> {
        let path = options.own.record.clone();
        if let Some(path) = &path {
            deliver::check_path(path).map_err(|error| told(&error))?;
        }
        Ok(Self { path, json: options.own.json })
    }

    /// Writes the record into its file. Returns it where it is to be printed.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn deliver(
        &self,
        inquiry: &Inquiry<'_>,
        measured: Measured,
        errors: &BTreeMap<String, u64>,
    ) -> Result<Option<String>, Answer> {
        if self.path.is_none() && !self.json {
            return Ok(None);
        }
        let document = inquiry.record(measured, errors).to_json().map_err(|error| complain(2, &error.to_string()))?;
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
    /// What was typed.
    pub options: &'a Options,
    /// How far the wall clock was ahead of the monotonic one before.
    pub offset_before: i128,
    /// When it was started.
    pub started: Moment,
    /// The signal that ended it early, where one did.
    pub signal: Option<Signal>,
}

impl Inquiry<'_> {
    fn record(&self, measured: Measured, errors: &BTreeMap<String, u64>) -> Record {
        let address = self.test.address;
        let task = Task {
            trace: None,
            method: self.test.method.clone(),
            target: Some(Target { host: self.options.destination.clone(), address }),
            protocol: Protocol::Native,
            key: None,
            samples: false,
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
        let Measured { mut gathered, environment, .. } = measured;
        if let Some(socket) = gathered.sockets.first_mut() {
            socket.icmp_errors.clone_from(errors);
        }
        let finding = rtt::found(gathered, environment, address, self.offset_before);
        inquiry.record(finding, self.signal, None)
    }
}

fn told(failure: &Failure) -> Answer {
    Answer { status: 2, ..Answer::complaint(failure.text()) }
}
