//! A client: whom it asks is said, then it sends until its time is over, its file played or its messages gone, and says
//! what came of it.

pub mod ending;
pub mod full_log;
pub mod listener;
pub mod places;
pub mod record;
pub mod task;

use std::io;
use std::sync::Arc;

use endpoint::clock::{self, Monotonic};
use endpoint::daemon::{self, Side, Streams};
use endpoint::pace;
use endpoint::peer::sockperf::client::{self as peer, Measured, Prepared, Session, Test};
use endpoint::stop::Stop;
use measure::unit::{Instant, Nanos};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::process;
use crate::persona::sockperf::options::{Client, Kind, Own};
use crate::persona::sockperf::output::paint::Paint;
use crate::persona::sockperf::output::{end, failure, latency, start, throughput};
use crate::persona::sockperf::run::client::listener::{Heard, Listener};
use crate::persona::sockperf::run::client::places::Places;
use crate::persona::sockperf::run::client::record::Files;
use crate::signal::Interruption;

/// Time that a group's joins are given to settle before anything is measured, as the original waits before every test.
const SETTLE: Nanos = Nanos::secs(2);

/// Measures and prints. `command` is the whole command line.
///
/// # Errors
/// The text that is printed in place of a result.
pub fn run(client: &Client, own: &Own, command: &[String], output: &Arc<Output>) -> Result<Exit, Answer> {
    let began = Monotonic::now();
    let files = Files::open(client, own)?;
    let say = Say { output, silent: own.json };
    if client.common.daemonize {
        say.text(&start::daemon());
        let side = daemon::detach(Streams::OutputKept)
            .map_err(|error| failure::other(&format!("cannot go into the background: {error}")))?;
        if side == Side::Foreground {
            return Ok(Exit::Done);
        }
    }
    let stop = Stop::default();
    let interruption =
        process::heed(&stop).map_err(|error| failure::other(&format!("cannot wait for signals: {error}")))?;
    let places = Places::of(client, &stop)?;
    let asked = task::asked(client, own, &places, files.trace.as_deref());
    let test = task::test(client, own, &places, &asked, files.trace.clone())?;
    let prepared = peer::prepare(&test).map_err(|error| ending::not_set_up(&error))?;
    say.text(&beginning(client, &prepared));
    let course = Course { client, command, say, stop, interruption, places, asked, test, began };
    let session = course.connect(prepared)?;
    course.measure(session, files)
}

/// Output of a run that is not printed as a record alone.
#[derive(Clone, Copy)]
struct Say<'a> {
    output: &'a Output,
    silent: bool,
}

impl Say<'_> {
    fn text(&self, text: &str) {
        if !self.silent && !text.is_empty() {
            self.output.result(text);
        }
    }
}

/// Lines before the connections are made.
fn beginning(client: &Client, prepared: &Prepared) -> String {
    let buffers = prepared.buffers();
    let mut text = String::new();
    for got in &buffers {
        if client.common.pacing_rate.is_some() {
            text += &start::pacing_rate();
        }
        if client.common.buffer_bytes.is_some() {
            text += &start::buffers(got.descriptor, got.receive_bytes, got.send_bytes);
        }
    }
    text + &start::version(Paint::Coloured)
}

/// A run on its way.
struct Course<'a> {
    client: &'a Client,
    command: &'a [String],
    say: Say<'a>,
    stop: Stop,
    interruption: Interruption,
    places: Places,
    asked: measure::method::Asked,
    test: Test,
    /// Start of the process, from which a full log counts.
    began: Instant,
}

impl Course<'_> {
    fn connect(&self, prepared: Prepared) -> Result<Session, Answer> {
        let session = prepared.connect(&self.test, &self.stop).map_err(|error| ending::not_connected(&error))?;
        let (client, endpoints) = (self.client, &self.places.endpoints);
        self.say.text(&match client.kind {
            Kind::Throughput { .. } => start::sender(endpoints),
            _ => start::client(&client.common.place, endpoints),
        });
        if !client.common.skip_warm_up {
            self.say.text(&start::warm_up());
        }
        self.wait(Nanos::secs(client.common.pre_warm_up_wait_s.into()));
        if self.test.places.iter().any(peer::Place::is_group) {
            session.warm_up(&self.test);
            self.wait(SETTLE);
        }
        Ok(session)
    }

    /// Waits `pause`, or until somebody asks to stop.
    fn wait(&self, pause: Nanos) {
        let until = Monotonic::now().after(pause);
        while Monotonic::now() < until && !self.stop.requested() {
            pace::sleep_until(until.min(Monotonic::now().after(Nanos::millis(100))));
        }
    }

    fn measure(self, session: Session, files: Files) -> Result<Exit, Answer> {
        self.say.text(&start::starting());
        let (started, offset_before) = (record::now(), clock::wall_offset());
        let Files { full_log, samples, record, .. } = files;
        let print = |text: &str| self.say.text(text);
        let mut listener = Listener::new(self.client, &self.test, self.began, full_log, samples, &print, &self.stop);
        let measured = session
            .measure(&self.test, &self.stop, &mut |event| listener.hear(&event))
            .map_err(|error| failure::other(Failure::from(error).text().trim_end()))?;
        let mut heard = listener.finish(&measured);
        let ran = self.ran(&measured, &heard);
        self.tell(&ran, &heard);
        let fault = ending::fault(&measured, &heard, &self.places)
            .or_else(|| self.cut_short(&heard))
            .or_else(|| ending::worthless(self.client, &measured, &heard, &ran));
        heard.end_log(self.client, &ran);
        let noted = ending::besides(&measured, &heard);
        if !noted.is_empty() {
            self.say.output.note(&noted);
        }
        let inquiry = record::Inquiry {
            command: self.command,
            asked: &self.asked,
            test: &self.test,
            full_rtt: self.client.display.full_rtt,
            host: self.places.host.clone(),
            offset_before,
            started,
            signal: self.interruption.signal(),
        };
        let document = record.deliver(|| Ok(inquiry.record(measured, &heard)))?;
        if let Some(document) = document.filter(|_| self.say.silent) {
            self.say.output.result(&document);
        }
        let fault = fault.or_else(|| heard.log_fault(self.client));
        fault.map_or(Ok(Exit::Done), |fault| Err(if self.say.silent { beside_a_record(fault) } else { fault }))
    }

    fn ran(&self, measured: &Measured, heard: &Heard) -> Ran {
        let recording = &measured.gathered.recording;
        let counts = recording.counts;
        let lasted = recording.ended.since(recording.began).unwrap_or_default();
        let complete = measured.gathered.ended == endpoint::engine::Ended::Complete;
        // A run that came to its time lasted that long, whenever its last message was due.
        let lasted = self.test.method.stop.after_ns.filter(|_| complete).unwrap_or(lasted);
        let failed = counts.unsent();
        let sent = counts.messages_sent();
        Ran {
            lasted_ns: lasted.0,
            sent,
            skipped: if self.test.skips { failed } else { 0 },
            never_waited: task::rate(self.client).is_some_and(|rate| is_behind(rate, lasted, sent)),
            arrived: measured.arrived,
            end: ending::how(self.client, &self.interruption, heard),
        }
    }

    fn tell(&self, ran: &Ran, heard: &Heard) {
        let mut text = end::client(ran.end, heard.has_dots());
        text += &match &self.client.kind {
            Kind::Throughput { load } => throughput::Run {
                load,
                display: &self.client.display,
                lasted_ns: ran.lasted_ns,
                sent: ran.sent,
                skipped: ran.skipped,
                never_waited: ran.never_waited,
                arrived: ran.arrived,
            }
            .text(Paint::Coloured),
            _ => ran.latency(self.client, heard).text(Paint::Coloured),
        };
        self.say.text(&text);
    }

    /// The status of a run by count that a signal ended: the rest is missing. One by time is a shorter run.
    fn cut_short(&self, heard: &Heard) -> Option<Answer> {
        let signal = self.interruption.signal().filter(|_| !heard.timed_out())?;
        let counted = self.test.method.stop.count.is_some();
        let status = 128 + u8::try_from(signal.number()).unwrap_or_default();
        let answer = failure::other(&format!("{}: the number of messages was not reached", signal.name()));
        counted.then_some(Answer { status, ..answer })
    }
}

/// Duration of a run and its messages, beside its figures.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    lasted_ns: u64,
    sent: u64,
    skipped: u64,
    never_waited: bool,
    arrived: Option<u64>,
    end: end::End,
}

impl Ran {
    /// Messages sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// The result of a client that measured latency.
    pub fn latency<'a>(&self, client: &'a Client, heard: &'a Heard) -> latency::Run<'a> {
        latency::Run {
            client,
            lasted_ns: self.lasted_ns,
            sent: self.sent,
            skipped: self.skipped,
            never_waited: self.never_waited,
            statistics: heard.statistics(),
            columns: columns(),
        }
    }
}

/// Returns true where a rate was not reached: a hundredth of the messages lack, and more than may be on their way to the
/// kernel.
fn is_behind(rate: u32, lasted: Nanos, sent: u64) -> bool {
    let due = f64::from(rate) * lasted.as_secs_f64();
    (sent as f64) < due * 0.99 - 1.0
}

/// On standard output stands a record and nothing else.
fn beside_a_record(fault: Answer) -> Answer {
    Answer { stdout: String::new(), stderr: fault.stdout + &fault.stderr, ..fault }
}

/// Columns of the terminal; `None`: there is none.
fn columns() -> Option<u16> {
    rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| size.ws_col).filter(|columns| *columns > 0)
}
