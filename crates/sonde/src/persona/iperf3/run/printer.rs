//! Destination of the output: standard output or the file of `--logfile`, with time and title in front of its lines.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use endpoint::clock;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use protocol::iperf3::code::Code;

use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::iperf3::options::{Common, Form};
use crate::persona::iperf3::output::failure;
use crate::persona::iperf3::output::lines::Prefix;
use crate::persona::process::said;

/// Puts out what is to be put out.
#[derive(Debug)]
pub struct Printer {
    output: Arc<Output>,
    log: Option<Mutex<File>>,
    prefix: Prefix,
    form: Form,
}

impl Printer {
    /// For these options. `title`: a client's.
    ///
    /// # Errors
    /// A file that cannot be opened.
    pub fn open(common: &Common, title: Option<String>, output: &Arc<Output>) -> Result<Self, Answer> {
        let log = common.logfile.as_ref().map(|path| {
            let opened = OpenOptions::new().create(true).append(true).open(path);
            opened
                .map(Mutex::new)
                .map_err(|cause| Answer::complaint(failure::line(&failure::text(Code(17), Some(&said(&cause))))))
        });
        let prefix = Prefix { timestamps: common.timestamps.clone(), title };
        Ok(Self { output: Arc::clone(output), log: log.transpose()?, prefix, form: common.form })
    }

    /// Prints a part of the result: JSON as it is, text with what stands in front of its lines.
    pub fn print(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        let text = if self.form == Form::Text { self.prefix.on(text, &now()) } else { text.to_owned() };
        match &self.log {
            Some(log) => self.write(log, &text),
            None => {
                self.output.result(&text);
            }
        }
    }

    /// Tells an error, which goes where the rest goes where that is a file.
    pub fn error(&self, line: &str) {
        match &self.log {
            Some(log) => self.write(log, line),
            None => self.output.aside(line),
        }
    }

    /// Says on standard error what the original has no line for.
    pub fn note(&self, text: &str) {
        self.output.note(&format!("iperf3: {text}\n"));
    }

    fn write(&self, log: &Mutex<File>, text: &str) {
        let mut file = log.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(text.as_bytes()) {
            self.output.aside(&format!("iperf3: the log file cannot be written: {error}\n{text}"));
        }
    }
}

/// The present time of this place.
pub fn now() -> Zoned {
    let at = Timestamp::from_nanosecond(i128::from(clock::wall())).unwrap_or(Timestamp::UNIX_EPOCH);
    at.to_zoned(TimeZone::system())
}
