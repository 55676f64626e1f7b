//! One run of the client: the control connection, the test as often as asked for, and what is told of it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use endpoint::clock;
use endpoint::cpu_usage::{Snapshot, TICKS_PER_SECOND};
use endpoint::error::{EndpointError, Step};
use endpoint::peer::netperf::client::{Measured, Session, Setup, Test, buffers};
use endpoint::rtt::Ending;
use endpoint::signal::Signal;
use endpoint::stop::Stop;
use measure::event::Event;
use measure::method::Asked;
use protocol::netperf::passphrase;
use uuid::Uuid;

use crate::PROGRAM;
use crate::command::rtt::samples::Samples;
use crate::failure::Failure;
use crate::output::Output;
use crate::persona::netperf::facts::{Facts, Iteration};
use crate::persona::netperf::options::answer::Answer;
use crate::persona::netperf::options::{Length, Options, Passphrase};
use crate::persona::netperf::output::interim::{self, Interval};
use crate::persona::netperf::output::{self, banner, bare};
use crate::persona::netperf::run::facts::Durations;
use crate::persona::netperf::run::places::Places;
use crate::persona::netperf::run::{facts, record, task};
use crate::persona::netperf::{confidence, selection, test_name};
use crate::signal::{self, Interruption};

/// A test that found nothing worth telling ends like one that could not be run.
const WORTHLESS: u8 = 1;
/// What the original returns as −1.
const MINUS_ONE: u8 = 255;

/// Runs the client that `options` ask for; `command` is the whole command line. Returns the exit status.
pub fn run(options: Options, command: &[String], output: &Arc<Output>) -> u8 {
    attempt(options, command, output).unwrap_or_else(|answer| {
        output.result(&answer.stdout);
        output.aside(&answer.stderr);
        answer.status
    })
}

fn attempt(mut options: Options, command: &[String], output: &Arc<Output>) -> Result<u8, Answer> {
    selection::resolve(&mut options, |path| std::fs::read_to_string(path))?;
    for note in &options.notes {
        output.note(&format!("netperf: {note}\n"));
    }
    let stop = Stop::default();
    let interruption = heed_signals(&stop)?;
    match options.test {
        test_name::Test::Uuid => {
            output.result(&bare::uuid(&uuid(&options)));
            Ok(0)
        }
        test_name::Test::LocCpu => {
            let cpus = Snapshot::take().ok_or_else(|| complaint("cannot count the CPUs here: /proc/stat tells none"))?;
            output.result(&bare::cpu_rate(&options, f64::from(TICKS_PER_SECOND), cpus.cpus(), "local"));
            Ok(0)
        }
        test_name::Test::RemCpu => {
            let mut session = open(&options, &Places::of(&options)?, &stop)?;
            let rate = session.calibrate(&stop).map_err(failed)?;
            session.close(&stop);
            output.result(&bare::cpu_rate(&options, rate.rate.map_or(0.0, f64::from), rate.count, "remote"));
            Ok(0)
        }
        _ => measure(&options, command, &stop, &interruption, output),
    }
}

fn measure(
    options: &Options,
    command: &[String],
    stop: &Stop,
    interruption: &Interruption,
    output: &Arc<Output>,
) -> Result<u8, Answer> {
    let mut places = Places::of(options)?;
    let mut course = Course::of(options, command, output)?;
    let mut session = open(options, &places, stop)?;
    places.settle(session.peer());
    output.result(&banner::line(options, &places.path));
    while confidence::goes_on(options, &course.iterations) && !stop.requested() {
        let (asked, test) = prepare(options, &places)?;
        let started = record::now();
        let measured = session.measure(&test, stop, &mut |event| course.listen(&event)).map_err(failed)?;
        course.take(&asked, &test, measured, started, interruption.signal())?;
        if course.fault.is_some() {
            break;
        }
    }
    session.close(stop);
    course.tell(&places, interruption.signal())
}

fn prepare(options: &Options, places: &Places) -> Result<(Asked, Test), Answer> {
    let buffers = buffers(places.path.destination, options.data.transport == test_name::Transport::Udp)
        .map_err(|error| complaint(&format!("cannot make a socket: {error}")))?;
    let asked = task::asked(options, places, buffers)?;
    let test = task::test(options, places, &asked)?;
    Ok((asked, test))
}

fn open(options: &Options, places: &Places, stop: &Stop) -> Result<Session, Answer> {
    let passphrase = options.passphrase.as_ref().map(read_passphrase).transpose()?;
    let setup = Setup {
        servers: places.servers.clone(),
        local: places.control_local,
        passphrase,
        server_cpu: options.bind_cpu.remote,
        program: PROGRAM.to_owned(),
    };
    Session::open(setup, stop).map_err(|error| no_server(options, error))
}

/// The passphrase as the protocol takes it.
///
/// # Errors
/// A file that cannot be read, a text that does not fit.
pub fn read_passphrase(said: &Passphrase) -> Result<passphrase::Passphrase, Answer> {
    let text = match said {
        Passphrase::Word(word) => word.clone(),
        Passphrase::File(path) => first_line(path).map_err(|error| {
            complaint(&format!("{}: cannot read the passphrase: {error}", path.display()))
        })?,
    };
    passphrase::Passphrase::new(text).map_err(|fault| complaint(&fault.to_string()))
}

fn first_line(path: &Path) -> io::Result<String> {
    let text = std::fs::read_to_string(path)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

fn heed_signals(stop: &Stop) -> Result<Interruption, Answer> {
    let asked = stop.clone();
    signal::watch(move || asked.request(), || {})
        .map_err(|error| complaint(&format!("cannot wait for signals: {error}")))
}

fn uuid(options: &Options) -> String {
    options.data.uuid.clone().unwrap_or_else(|| Uuid::now_v7().to_string())
}

/// What is gathered over the iterations.
struct Course<'a> {
    options: &'a Options,
    command: &'a [String],
    output: &'a Arc<Output>,
    iterations: Vec<Iteration>,
    durations: Durations,
    samples: Option<Samples>,
    /// Why it is over before its time.
    fault: Option<String>,
    json: Vec<String>,
    interims: u64,
    /// The wall clock's reading where the present iteration's instants count from.
    began_ns: u64,
}

impl<'a> Course<'a> {
    fn of(options: &'a Options, command: &'a [String], output: &'a Arc<Output>) -> Result<Self, Answer> {
        let samples = options.own.samples.as_ref().map(Samples::create).transpose().map_err(|error| refused(&error))?;
        Ok(Self {
            options,
            command,
            output,
            iterations: Vec::new(),
            durations: Durations::default(),
            samples,
            fault: None,
            json: Vec::new(),
            interims: 0,
            began_ns: clock::wall(),
        })
    }

    fn listen(&mut self, event: &Event) {
        match *event {
            Event::Started { at, .. } => {
                self.began_ns = u64::try_from(i128::from(at.0) + clock::wall_offset()).unwrap_or_else(|_| clock::wall());
                if let Some(samples) = &mut self.samples {
                    samples.begin(at);
                }
            }
            Event::Second { second, .. } => {
                let answered = second.counts.answered;
                let data = &self.options.data;
                let bytes = data.request_bytes.unwrap_or_default() + data.response_bytes.unwrap_or_default();
                let interval = Interval {
                    index: self.interims,
                    transactions: answered,
                    bytes: answered * u64::from(bytes),
                    duration_ns: second.length_ns.0,
                    ended_ns: self.began_ns + second.at_ns.0 + second.length_ns.0,
                };
                self.interim(&interval);
            }
            Event::Carried { interval, .. } => {
                let interval = Interval {
                    index: self.interims,
                    transactions: 0,
                    bytes: interval.carried.bytes.0,
                    duration_ns: interval.length_ns.0,
                    ended_ns: self.began_ns + interval.at_ns.0 + interval.length_ns.0,
                };
                self.interim(&interval);
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
        }
    }

    fn interim(&mut self, interval: &Interval) {
        if self.options.display.interim.is_some() && !self.options.own.json {
            self.output.result(&interim::line(self.options, interval));
            self.interims += 1;
        }
    }

    fn take(
        &mut self,
        asked: &Asked,
        test: &Test,
        measured: Measured,
        started: logbook::moment::Moment,
        signal: Option<Signal>,
    ) -> Result<(), Answer> {
        self.fault = match &measured.ended {
            Ending::PeerLost { reason } => Some(reason.clone()),
            Ending::Complete | Ending::Stopped => measured
                .course
                .results
                .as_ref()
                .err()
                .filter(|_| test.wants_results)
                .map(|error| Failure::from(error.clone()).text()),
        };
        self.iterations.push(facts::iteration(self.options, test, &measured));
        if let Some(recording) = facts::timed(&measured) {
            self.durations.add(recording);
        }
        if self.options.own.json || self.options.own.record.is_some() {
            let inquiry = record::Inquiry { options: self.options, command: self.command, asked, test, started, signal };
            let document = inquiry.document(measured).map_err(|error| refused(&error))?;
            self.keep(&document)?;
        }
        Ok(())
    }

    /// The record goes into its file at once: an iteration that was measured is kept whatever comes after it.
    fn keep(&mut self, document: &str) -> Result<(), Answer> {
        if let Some(path) = &self.options.own.record {
            let several = self.options.confidence.is_some();
            let path = if several { record::numbered(path, self.iterations.len()) } else { path.clone() };
            crate::command::deliver::write(&path, document).map_err(|error| refused(&error))?;
        }
        if self.options.own.json {
            self.json.push(document.to_owned());
        }
        Ok(())
    }

    fn tell(self, places: &Places, signal: Option<Signal>) -> Result<u8, Answer> {
        let Self { options, output, iterations, durations, samples, fault, json, .. } = self;
        if let Some((missing, reason)) = samples.and_then(Samples::end) {
            let why = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            output.aside(&format!("netperf: the file of samples lacks {missing}{why}\n"));
        }
        let worthless = iterations.last().is_none_or(|last| is_worthless(options, last));
        let latency = if options.keeps_latency() { durations.latency() } else { None };
        let facts = Facts { iterations, latency, uuid: uuid(options), path: places.path.clone() };
        if options.own.json {
            json.iter().for_each(|document| {
                output.result(document);
            });
        } else if options.test == test_name::Test::TcpMss {
            let mss = facts.iterations.last().and_then(|last| last.mss_bytes);
            output.result(&mss.map_or_else(String::new, |mss| bare::mss(options, mss)));
        } else {
            output.result(&output::result(options, &facts));
        }
        if let Some(fault) = &fault {
            output.aside(&format!("netperf: the test ended early: {fault}\n"));
        } else if worthless {
            output.aside("netperf: nothing came through: the result says nothing of the path\n");
        }
        Ok(match signal {
            // A test by time that is interrupted is a shorter test; of a count the rest is missing.
            Some(signal) if matches!(options.length, Length::Count(_)) => 128 + signal.number() as u8,
            _ if worthless || fault.is_some() => WORTHLESS,
            _ => 0,
        })
    }
}

/// Whether nothing at all was carried, so that every figure of it is meaningless.
fn is_worthless(options: &Options, last: &Iteration) -> bool {
    let direction = options.data.direction;
    if options.test == test_name::Test::TcpMss {
        return last.mss_bytes.is_none();
    }
    if direction.is_transactions() {
        return last.transactions == 0;
    }
    let received = if direction.is_receive() { last.local.received_bytes } else { last.remote.received_bytes };
    received == 0
}

fn complaint(why: &str) -> Answer {
    Answer::complaint(format!("netperf: {why}\n"))
}

fn refused(failure: &Failure) -> Answer {
    Answer::complaint(failure.text())
}

/// Nobody is there: the original's words, by which scripts know it, and ours with what to try.
fn no_server(options: &Options, error: EndpointError) -> Answer {
    let (host, port) = (options.control.target(), options.control.port);
    let stdout = format!("establish control: are you sure there is a netserver listening on {host} at port {port}?\n");
    Answer { stdout, stderr: Failure::from(error).text(), status: MINUS_ONE }
}

fn failed(error: EndpointError) -> Answer {
    let status = match error.step {
        Step::Connect | Step::LookUp => MINUS_ONE,
        _ => 1,
    };
    Answer { stdout: String::new(), stderr: Failure::from(error).text(), status }
}
