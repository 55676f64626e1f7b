//! The client: one test, told as it goes, and how it ended as an exit status.

pub mod ending;
mod login;
mod record;
pub mod task;

use std::sync::Arc;

use endpoint::clock;
use endpoint::error::Step;
use endpoint::peer::iperf3::client::{Failure, Measured, Progress, Session, Setup, Test};
use endpoint::stop::Stop;
use measure::event::Event;
use protocol::iperf3::parameters::{DATAGRAM, Protocol};

use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::iperf3::facts::Role;
use crate::persona::iperf3::options::{Asked, Client, Common, Form};
use crate::persona::iperf3::output::{failure, start};
use crate::persona::iperf3::run::client::ending::End;
use crate::persona::iperf3::run::facts::{self, About};
use crate::persona::iperf3::run::pidfile::Pidfile;
use crate::persona::iperf3::run::printer::Printer;
use crate::persona::iperf3::run::telling::Telling;
use crate::persona::process::{self, said};
use crate::persona::record::Keeping;
use crate::program::PROGRAM;
use crate::signal::Interruption;

/// Runs the test. `command` is the whole command line.
///
/// # Errors
/// The text that is printed in place of a run.
pub fn run(asked: &Asked, client: &Client, command: &[String], output: &Arc<Output>) -> Result<Exit, Answer> {
    let printer = Printer::open(&asked.common, client.title.clone(), output)?;
    let record = Keeping::of(client.record.as_deref(), false)?;
    let _pidfile = Pidfile::write(asked.common.pidfile.as_deref())?;
    let credentials = login::credentials(client, asked.common.pkcs1)?;
    let stop = Stop::default();
    let interruption = process::heed(&stop)
        .map_err(|error| Answer::complaint(failure::line(&format!("cannot wait for signals: {}", said(&error)))))?;
    let course = Course { common: &asked.common, client, command, printer, stop, interruption };
    let test = task::test(&asked.common, client, credentials)?;
    if client.record.is_some() {
        record::check(&course, &test)?;
    }
    Ok(course.run(&test, &record))
}

/// A run on its way.
struct Course<'a> {
    common: &'a Common,
    client: &'a Client,
    command: &'a [String],
    printer: Printer,
    stop: Stop,
    interruption: Interruption,
}

impl Course<'_> {
    fn run(&self, test: &Test, record: &Keeping) -> Exit {
        if self.common.verbose && self.common.form == Form::Text {
            self.printer.print(&start::program());
        }
        let mut telling = Telling::new(self.common);
        let session = match self.connect() {
            Ok(session) => session,
            Err(end) => return self.end(&telling, &end),
        };
        let segment = session.segment().and_then(|bytes| u32::try_from(bytes.0).ok()).unwrap_or(0);
        let test = &task::complete(test, segment);
        self.tell_control(test, segment);
        let about = About {
            role: Role::Client { host: self.client.host.clone(), port: self.common.port },
            cookie: session.cookie().text(),
            began_ms: (clock::wall() / 1_000_000).cast_signed(),
            control_segment_bytes: segment,
            interval_s: self.common.interval_s,
        };
        let agreed = facts::test(about, &test.parameters);
        let inquiry = record::Inquiry::begin(self, test, session.peer());
        let mut is_told = false;
        let measured = session.measure(test, &self.stop, &mut |progress| match progress {
            Progress::Streams(connections) => {
                is_told = true;
                let streams = connections.iter().map(facts::stream).collect();
                self.printer.print(&telling.agreed(agreed.clone()));
                self.printer.print(&telling.streams(streams, buffers(connections)));
            }
            Progress::Engine(Event::Carried { thread, interval }) => {
                self.printer.print(&telling.interval(thread as usize, &interval));
            }
            Progress::Engine(_) => {}
        });
        match measured {
            Ok(measured) => self.tell(&mut telling, measured, record, &inquiry),
            Err(failure) => {
                // The server had agreed where it was the streams that failed.
                if !is_told && !matches!(failure.error.step, Step::Connect | Step::Agree) {
                    self.printer.print(&telling.agreed(agreed));
                }
                self.end(&telling, &End::of(&failure, self.interruption.signal()))
            }
        }
    }

    fn connect(&self) -> Result<Session, End> {
        let servers = endpoint::name::look_up_all(&self.client.host, self.common.port, self.common.family, &self.stop);
        let servers = servers.map_err(|error| End::unconnected(&error, self.interruption.signal()))?;
        let local = task::local(self.common, &self.stop).map_err(|error| End::unconnected(&error, None))?;
        let setup = Setup {
            local,
            interface: self.common.device.clone(),
            program: PROGRAM.to_owned(),
            ..Setup::towards(servers)
        };
        let setup = match self.client.connect_timeout_ms {
            Some(ms) => Setup { connect_timeout: measure::unit::Nanos::millis(ms.into()), ..setup },
            None => setup,
        };
        let fail = |failure: Failure| End::unconnected(&failure.error, self.interruption.signal());
        Session::open(setup, &self.stop).map_err(fail)
    }

    fn tell_control(&self, test: &Test, segment: u32) {
        if self.common.verbose && self.common.form == Form::Text {
            let chosen = test.parameters.protocol == Protocol::Udp && self.client.block_bytes.is_none();
            let datagram = test.parameters.block.filter(|bytes| chosen && DATAGRAM.contains(bytes));
            self.printer.print(&start::control(segment, datagram));
        }
    }

    fn tell(&self, telling: &mut Telling, measured: Measured, record: &Keeping, inquiry: &record::Inquiry<'_>) -> Exit {
        let intervals = measured.streams.iter().map(|stream| stream.count.intervals.as_slice());
        self.printer.print(&telling.ended(intervals));
        let theirs = measured.theirs.as_ref();
        let mut summary =
            facts::summary(&measured.parameters, &measured.streams, &measured.ours, theirs, telling.peaks());
        summary.file = task::file(self.common);
        self.printer.print(&telling.summary(summary));
        let end = End::after(&measured, self.interruption.signal(), self.client.until);
        if self.client.mptcp && self.client.protocol == Protocol::Tcp && !measured.parameters.mptcp {
            self.printer.note("-m: data went over plain TCP: the server, or a box on the way, has no MPTCP");
        }
        let server_output = measured.theirs.as_ref().and_then(|results| results.output.clone());
        let kept = record.deliver(|| inquiry.record(measured));
        self.printer.print(&telling.over(end.told(), server_output.as_ref()));
        if let Err(fault) = kept {
            self.printer.note(fault.text().trim_end());
            return Exit::Persona(1);
        }
        self.tell_error(&end)
    }

    /// A run that came to no test.
    fn end(&self, telling: &Telling, end: &End) -> Exit {
        if self.common.form != Form::Text {
            self.printer.print(&telling.over(end.told(), None));
        }
        self.tell_error(end)
    }

    /// The error as text where the form is text; what to try in any.
    fn tell_error(&self, end: &End) -> Exit {
        if let Some(line) = end.line().filter(|_| self.common.form == Form::Text) {
            self.printer.error(&line);
        }
        if let Some(hint) = &end.hint {
            self.printer.note(hint);
        }
        end.exit()
    }
}

/// Buffers that the first stream's socket got to send and to receive, in bytes.
fn buffers(connections: &[endpoint::peer::iperf3::sockets::Connection]) -> (Option<u64>, Option<u64>) {
    connections.first().map_or((None, None), |first| (first.send_buffer_bytes, first.receive_buffer_bytes))
}
