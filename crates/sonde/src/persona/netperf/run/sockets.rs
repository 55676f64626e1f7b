//! The bench that measures: a session with the server, and what is kept of each iteration.

use std::net::SocketAddr;

use endpoint::clock;
use endpoint::cpu_usage::{Snapshot, TICKS_PER_SECOND};
use endpoint::error::{Cause, EndpointError, Step};
use endpoint::name::Family;
use endpoint::peer::netperf::client::{self, Measured, Session, Setup};
use endpoint::rtt::Ending;
use endpoint::signal::Signal;
use endpoint::stop::Stop;
use logbook::moment::Moment;
use logbook::whole;
use measure::event::Event;
use measure::method::{Asked, LoopKind};
use measure::unit::Instant;
use protocol::netperf::passphrase::Passphrase;

use crate::command::rtt::samples::Samples;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::netperf::facts::{Iteration, Latency, Path};
use crate::persona::netperf::options::{Length, Options};
use crate::persona::netperf::output::failure;
use crate::persona::netperf::output::interim::Interval;
use crate::persona::netperf::passphrase;
use crate::persona::netperf::run::facts::Durations;
use crate::persona::netperf::run::places::Places;
use crate::persona::netperf::run::{Bench, facts, record, task};
use crate::persona::netperf::test_name::Test;
use crate::persona::process;
use crate::persona::record::Keeping;
use crate::program::PROGRAM;
use crate::signal::Interruption;
use crate::words;

/// The sockets of one run, and what was found over them so far.
pub struct Sockets<'a> {
    options: &'a Options,
    command: &'a [String],
    output: &'a Output,
    stop: Stop,
    interruption: Interruption,
    session: Option<Session>,
    places: Option<Places>,
    listener: Listener,
    durations: Durations,
    iterations: usize,
    /// Reason for which the last iteration ended early.
    fault: Option<String>,
    keeping: Keeping,
    documents: Vec<String>,
}

impl<'a> Sockets<'a> {
    /// No connection yet; the file of samples is made, and signals are heeded from here on.
    ///
    /// # Errors
    /// A file that cannot be made.
    pub fn new(options: &'a Options, command: &'a [String], output: &'a Output) -> Result<Self, Answer> {
        let stop = Stop::default();
        let own = &options.own;
        let interruption = process::heed_test(&stop, own.keeps())
            .map_err(|error| failure::other(&format!("cannot wait for signals: {error}")))?;
        let samples = own.samples.as_ref().map(|file| Samples::create(file, LoopKind::Closed));
        let samples = samples.transpose()?;
        let keeping = Keeping::of(own.record.as_deref(), own.json)?;
        Ok(Self {
            options,
            command,
            output,
            stop,
            interruption,
            session: None,
            places: None,
            listener: Listener { samples, intervals: 0, bytes_each: bytes_each(options), began_ns: clock::wall() },
            durations: Durations::default(),
            iterations: 0,
            fault: None,
            keeping,
            documents: Vec::new(),
        })
    }

    /// Prints the records, where they were asked for in place of the text.
    pub fn print_records(&self) {
        for document in &self.documents {
            self.output.result(document);
        }
    }

    fn connect(&mut self) -> Result<&mut Session, Answer> {
        let mut places = Places::of(self.options, &self.stop)?;
        let word = self.options.passphrase.as_ref();
        let word = word.map(|said| passphrase::read(said, |path| whole::text(path, whole::BY_HAND))).transpose()?;
        let passphrase = word.map(Passphrase::new).transpose().map_err(|fault| failure::other(&fault.to_string()))?;
        let setup = Setup {
            servers: places.servers.clone(),
            local: places.control_local,
            interface: None,
            passphrase,
            server_cpu: self.options.bind_cpu.remote,
            program: PROGRAM.to_owned(),
        };
        let family = family_of(places.servers.first());
        let session = Session::open(setup, &self.stop)
            .map_err(|error| failure::unreachable(&self.options.control, family, &reason(&error)))?;
        places.settle(self.options, session.peer(), &self.stop)?;
        self.places = Some(places);
        Ok(self.session.insert(session))
    }

    fn take(&mut self, before: &Before, measured: Measured) -> Result<Iteration, Answer> {
        self.iterations += 1;
        self.fault = early_end(before.server, &before.test, &measured);
        let iteration = facts::iteration(self.options, &before.test, &measured);
        if let Some(recording) = facts::timed(&measured) {
            self.durations.add(recording);
        }
        let inquiry = record::Inquiry {
            options: self.options,
            command: self.command,
            asked: &before.asked,
            test: &before.test,
            server: before.server,
            offset_before: before.wall_offset,
            started: before.started,
            signal: self.interruption.signal(),
        };
        let several = self.options.confidence.is_some();
        let keeping = if several { self.keeping.numbered(self.iterations) } else { self.keeping.clone() };
        // At once: what was measured is kept whatever comes after it.
        self.documents.extend(keeping.deliver(|| Ok(inquiry.record(measured)))?);
        Ok(iteration)
    }

    /// The status of a run that a signal ended: one by time is a shorter run, of a count the rest is missing. A signal that
    /// asks a program to go away is no wish for a result.
    fn cut_short(&self) -> Option<Answer> {
        let signal = self.interruption.signal()?;
        let status = 128 + u8::try_from(signal.number()).unwrap_or_default();
        if self.is_dismissed() {
            return Some(Answer { status, ..Answer::default() });
        }
        let counted = matches!(self.options.length, Length::Count(_));
        counted.then(|| Answer { status, ..failure::other(&format!("{}: the count was not reached", signal.name())) })
    }
}

impl Bench for Sockets<'_> {
    fn open(&mut self, options: &Options) -> Result<Path, Answer> {
        let local = matches!(options.test, Test::Uuid | Test::LocCpu);
        if !local {
            self.connect()?;
        }
        Ok(self.places.as_ref().map(|places| places.path.clone()).unwrap_or_default())
    }

    fn iterate(&mut self, options: &Options, tell: &mut dyn FnMut(Interval)) -> Result<Iteration, Answer> {
        let none = || failure::other("there is no control connection");
        let (session, places) = self.session.as_mut().zip(self.places.as_ref()).ok_or_else(none)?;
        let asked = task::asked(options, places);
        let test = task::test(options, places, &asked)?;
        let (started, wall_offset, server) = (record::now(), clock::wall_offset(), session.peer());
        let listener = &mut self.listener;
        let measured = session.measure(&test, &self.stop, &mut |event| listener.hear(&event, tell));
        let measured = measured.map_err(|error| not_run(options, &error))?;
        let before = Before { asked, test, started, server, wall_offset };
        self.take(&before, measured)
    }

    fn latency(&mut self) -> Option<Latency> {
        std::mem::take(&mut self.durations).latency(self.options.buckets())
    }

    fn is_dismissed(&self) -> bool {
        matches!(self.interruption.signal(), Some(Signal::Terminate | Signal::Hangup))
    }

    fn cpu_rate(&mut self, of_server: bool) -> Result<(f64, u32), Answer> {
        if !of_server {
            let cpus =
                Snapshot::take().ok_or_else(|| failure::other("/proc/stat does not tell the CPUs of this host"))?;
            return Ok((f64::from(TICKS_PER_SECOND), cpus.cpus()));
        }
        let stop = self.stop.clone();
        let session = self.session.as_mut().ok_or_else(|| failure::other("there is no control connection"))?;
        let calibration = session.calibrate(&stop).map_err(|error| not_run(self.options, &error))?;
        let rate = calibration.rate.ok_or_else(|| failure::other("the server does not know its CPU rate"))?;
        Ok((f64::from(rate), calibration.count))
    }

    fn goes_on(&self) -> bool {
        self.fault.is_none() && !self.stop.requested()
    }

    fn close(&mut self) -> Option<Answer> {
        // An orderly end is not waited for either where the server gave no results.
        if let Some(session) = self.session.take().filter(|_| self.fault.is_none()) {
            session.close(&self.stop);
        }
        if let Some((missing, why)) = self.listener.samples.take().and_then(Samples::end) {
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            self.output.aside(&format!("netperf: the file of samples lacks {missing}{why}\n"));
        }
        let early = self.fault.take().map(|fault| failure::other(&format!("the test ended early: {fault}")));
        early.or_else(|| self.cut_short())
    }
}

/// Facts of an iteration before it runs.
struct Before {
    asked: Asked,
    test: client::Test,
    started: Moment,
    server: SocketAddr,
    wall_offset: i128,
}

/// Receiver of events while a test runs.
struct Listener {
    samples: Option<Samples>,
    intervals: u64,
    /// Bytes of a transaction, both ways.
    bytes_each: u64,
    /// The wall clock's reading at the instant that the present iteration counts from.
    began_ns: u64,
}

impl Listener {
    fn hear(&mut self, event: &Event, tell: &mut dyn FnMut(Interval)) {
        match *event {
            Event::Started { at, .. } => self.begin(at),
            Event::Second { second, .. } => {
                let transactions = second.counts.answered;
                let bytes = transactions * self.bytes_each;
                tell(self.interval(transactions, bytes, second.at_ns.0, second.length_ns.0));
            }
            Event::Carried { ref interval, .. } => {
                let bytes = interval.carried.bytes.0;
                tell(self.interval(0, bytes, interval.at_ns.0, interval.length_ns.0));
            }
            Event::Exchange(exchange) => {
                if let Some(samples) = &mut self.samples {
                    samples.write(&exchange);
                }
            }
            Event::SamplesDropped { count } => {
                if let Some(samples) = &mut self.samples {
                    samples.dropped(count);
                }
            }
            Event::Split(_) | Event::Replies(_) => {}
        }
    }

    fn begin(&mut self, at: Instant) {
        let wall = i128::from(at.0) + clock::wall_offset();
        self.began_ns = u64::try_from(wall).unwrap_or_else(|_| clock::wall());
        if let Some(samples) = &mut self.samples {
            samples.begin(at);
        }
    }

    fn interval(&mut self, transactions: u64, bytes: u64, at_ns: u64, duration_ns: u64) -> Interval {
        let index = self.intervals;
        self.intervals += 1;
        Interval { index, transactions, bytes, duration_ns, ended_ns: self.began_ns + at_ns + duration_ns }
    }
}

fn bytes_each(options: &Options) -> u64 {
    let data = &options.data;
    u64::from(data.request_bytes.unwrap_or_default()) + u64::from(data.response_bytes.unwrap_or_default())
}

/// Reason for which an iteration is not what was asked for; `None` where it is.
fn early_end(server: SocketAddr, test: &client::Test, measured: &Measured) -> Option<String> {
    match (&measured.ended, measured.found.trouble()) {
        (Ending::PeerLost { .. }, Some(trouble)) => Some(reason(trouble)),
        (Ending::PeerLost { reason }, None) => Some(format!("{server}: cannot {}: {reason}", Step::Measure)),
        (Ending::Complete | Ending::Stopped, _) => {
            measured.course.results.as_ref().err().filter(|_| test.wants_results).map(reason)
        }
    }
}

fn family_of(server: Option<&SocketAddr>) -> Family {
    match server {
        Some(SocketAddr::V6(_)) => Family::V6,
        Some(SocketAddr::V4(_)) => Family::V4,
        None => Family::Any,
    }
}

/// A test that did not come to its data, in the original's words where it has some.
fn not_run(options: &Options, error: &EndpointError) -> Answer {
    match (&error.step, &error.cause) {
        (Step::ConnectData, _) => failure::no_data_connection(&reason(error)),
        (_, Cause::System(_)) if matches!(error.step, Step::Agree) && error.side == endpoint::error::Side::Theirs => {
            Answer { status: if options.test.is_classic() { 1 } else { 255 }, ..failure::other(&reason(error)) }
        }
        _ => failure::other(&reason(error)),
    }
}

/// The error in one line, and what to try in another.
fn reason(error: &EndpointError) -> String {
    let hint = words::hint(error).map_or_else(String::new, |hint| format!("\nhint:  {hint}"));
    format!("{error}{hint}")
}
