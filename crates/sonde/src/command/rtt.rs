//! `sonde rtt`: what does one exchange cost, by this method?

pub mod conclude;
pub mod hops;
pub mod options;
pub mod plan;
pub mod progress;
pub mod samples;
pub mod stream;
pub mod watch;
pub mod write_out;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};

use endpoint::error::{Cause, EndpointError, Step};
use endpoint::name;
use endpoint::resolution::clock_cost;
use endpoint::rtt::{self, Finding, Protocol, Target, Task};
use endpoint::stop::Stop;
use logbook::event::Line;
use logbook::record::Record;
use measure::event::INTERVAL;
use measure::method::{Asked, Method};
use protocol::application::Application;

use crate::command::deliver;
use crate::command::key_file::KeyFile;
use crate::command::rtt::conclude::Inquiry;
use crate::command::rtt::hops::Tracing;
use crate::command::rtt::options::RttOptions;
use crate::command::rtt::plan::Plan;
use crate::command::rtt::progress::Tally;
use crate::command::rtt::watch::Watch;
use crate::command::rtt::write_out::Writing;
use crate::command::verify::Verify;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::program::PROGRAM;
use crate::signal::{self, Interruption};
use crate::system::{drawn_seed, now};
use crate::words;

/// Measures, and delivers what was found.
///
/// # Errors
/// A plan that makes no sense, a file that cannot be made, a far side that cannot be measured.
pub fn run(options: RttOptions, command: Vec<String>, output: &Arc<Output>) -> Result<Exit, Failure> {
    options.application.note_on_password().iter().for_each(|note| output.note(note));
    let plan = Plan::of(options)?;
    let native = plan.protocol == Protocol::Native;
    let asked = if native { plan.asked.over_several().with_pause() } else { plan.asked };
    carry_out(&Plan { asked, ..plan }, command, output)
}

/// Measures by `plan`, and delivers what was found.
///
/// # Errors
/// As [`run`].
pub fn carry_out(plan: &Plan, command: Vec<String>, output: &Arc<Output>) -> Result<Exit, Failure> {
    carry_out_and_trace(plan, None, command, output)
}

/// The same, and then the hops of some of its connections, where they are to be traced.
///
/// # Errors
/// As [`run`].
pub fn carry_out_and_trace(
    plan: &Plan,
    tracing: Option<Tracing>,
    command: Vec<String>,
    output: &Arc<Output>,
) -> Result<Exit, Failure> {
    let method = method(plan)?;
    note_unused_key(plan, &method, output);
    let (stop, tally) = (Stop::default(), Arc::new(Mutex::new(Tally::new(&method))));
    let interruption = heed_signals(&tally, &stop, output)?;
    let task = task(plan, method, &stop, &interruption)?;
    let instrument = conclude::instrument(&clock_cost());
    let inquiry = Inquiry::new(plan, &task, command, now(), instrument);
    deliver::check(&plan.result)?;
    let pcap = plan.verify.as_ref().map(Verify::open).transpose()?.flatten();
    let mut watch = Watch::open(plan, &inquiry.method, tally, output)?.writing(writing(plan, &task));
    watch.start(inquiry.start(), &stop);
    let found = rtt::run(&task, &stop, &mut |event| watch.take(&event, &stop));
    output.progress_done();
    match found {
        Ok(mut finding) => {
            let saved = pcap.map_or(Ok(()), |pcap| pcap.save(finding.wire.as_mut()));
            let inquiry = inquiry.over(finding.sockets.len());
            let trace = |record: Record| match &tracing {
                Some(tracing) => hops::traced(record, tracing, &stop, &interruption, output),
                None => record,
            };
            let exit = conclude(finding, &inquiry, watch, plan, &interruption, trace, output);
            saved.and(exit)
        }
        Err(error) if is_unread(&error, &interruption) => {
            // The fault is reported at the very end, as every fault of standard output; a reader that has gone is none.
            Ok(if output.fault().is_some() { Exit::Usage } else { Exit::NothingAnswered })
        }
        Err(error) => {
            let failure = failure(error, plan, &interruption);
            watch.end().0.write_to_files(&Line::Error(Box::new(failure.told.clone())));
            Err(failure)
        }
    }
}

/// The text of each request, where one is asked for.
fn writing(plan: &Plan, task: &Task) -> Option<Writing> {
    let (template, target) = plan.write_out.clone().zip(task.target.as_ref())?;
    match &task.protocol {
        Protocol::Application(application) => {
            Some(Writing::new(template, target.address, Application::clone(application)))
        }
        _ => None,
    }
}

/// Says that a key was named which measuring by `method` has no use for.
pub fn note_unused_key(plan: &Plan, method: &Method, output: &Output) {
    if plan.key_for(method).is_none() && plan.key.as_ref().is_some_and(KeyFile::is_asked_for) {
        output.note(&format!("note: {}\n", words::unused_key(plan.target.is_some(), &plan.protocol, method)));
    }
}

/// True where the measurement was not begun because its events could not be written: nobody else stops one without a signal.
fn is_unread(error: &EndpointError, interruption: &Interruption) -> bool {
    matches!(error.cause, Cause::Stopped) && interruption.signal().is_none()
}

fn conclude(
    finding: Finding,
    inquiry: &Inquiry,
    watch: Watch,
    plan: &Plan,
    interruption: &Interruption,
    trace: impl FnOnce(Record) -> Record,
    output: &Output,
) -> Result<Exit, Failure> {
    let (mut stream, samples) = watch.end();
    let unsaved = samples::fault(plan.samples.as_ref(), &samples);
    let record = trace(inquiry.record(finding, interruption.signal(), samples));
    stream.write(&Line::End(Box::new(record.clone())));
    let delivered = match plan.write_out {
        Some(_) => deliver::record_to_files(&record, &plan.result, output),
        None => deliver::record(&record, &plan.result, output),
    };
    stream.faults().into_iter().chain(unsaved).next().map_or(delivered, Err)?;
    if let Some(apart) =
        plan.port_in_address().filter(|_| record.outcome.as_ref().is_none_or(|outcome| outcome.counts.answered == 0))
    {
        output.note(&format!("try:   {apart}\n"));
    }
    Ok(conclude::exit(&record, plan.strict, interruption.signal()))
}

/// The method of a plan, drawn what was left to chance.
///
/// # Errors
/// A method that makes no sense.
pub fn method(plan: &Plan) -> Result<Method, Failure> {
    let seed = plan.asked.seed.unwrap_or_else(drawn_seed);
    let asked = Asked { seed: Some(seed), ..plan.asked.clone() };
    asked.resolve_towards(plan.far()).map_err(|refusal| Failure::usage(words::refusal(&refusal)))
}

/// The plan resolved against this host: keys read, names looked up.
///
/// # Errors
/// A key that cannot be read, a name that is none.
pub fn task(plan: &Plan, method: Method, stop: &Stop, interruption: &Interruption) -> Result<Task, Failure> {
    let key = plan.key_for(&method).map(KeyFile::credential).transpose()?;
    let target = plan.target.as_ref().map(|target| -> Result<Target, Failure> {
        let address = name::look_up(&target.host, target.port, target.family, stop)
            .map_err(|error| failure(error, plan, interruption))?;
        check_host(address.ip())?;
        Ok(Target { host: target.host.clone(), address })
    });
    let samples = plan.samples.is_some() || plan.histograms || plan.write_out.is_some();
    Ok(Task {
        trace: plan.trace.clone(),
        method,
        target: target.transpose()?,
        protocol: spoken(plan)?,
        key,
        one_will_do: plan.asked.leaves_connections(),
        samples,
        interval: INTERVAL,
        program: PROGRAM.to_owned(),
        verify: plan.verify.as_ref().map(Verify::wish),
    })
}

/// Refuses what many would answer to: a measurement has one far side.
fn check_host(address: IpAddr) -> Result<(), Failure> {
    let kind = match address.to_canonical() {
        IpAddr::V4(Ipv4Addr::BROADCAST) => "the broadcast address",
        address if address.is_multicast() => "a multicast group",
        _ => return Ok(()),
    };
    Err(Failure::usage(format!("{address} is {kind}: one host is measured"))
        .hint("name that host; `sonde ping` reaches many"))
}

/// The protocol of the far side, its key read.
fn spoken(plan: &Plan) -> Result<Protocol, Failure> {
    match &plan.protocol {
        Protocol::Stamp { clocks_agree, parts, .. } => {
            let key = plan.stamp_key.as_ref().map(KeyFile::read_stamp).transpose()?;
            Ok(Protocol::Stamp { key, clocks_agree: *clocks_agree, parts: parts.clone() })
        }
        Protocol::Irtt { clocks_agree, .. } => {
            let key = plan.irtt_key.as_ref().map(KeyFile::read_irtt).transpose()?.map(Box::new);
            Ok(Protocol::Irtt { key, clocks_agree: *clocks_agree })
        }
        protocol => Ok(protocol.clone()),
    }
}

/// Has signals end the run, and tell the numbers so far.
///
/// # Errors
/// Signals that cannot be waited for.
pub fn heed_signals(tally: &Arc<Mutex<Tally>>, stop: &Stop, output: &Arc<Output>) -> Result<Interruption, Failure> {
    let (asked, tally, output) = (stop.clone(), Arc::clone(tally), Arc::clone(output));
    signal::watch(move || asked.request(), move || output.aside(&watch::interim(&tally)))
        .map_err(|error| Failure::usage(format!("cannot wait for signals: {error}")))
}

/// Advice where the name has another address than the one that was tried, of the other version of IP if there is one.
fn another_address(target: &plan::Target) -> Option<String> {
    let all = name::look_up_all(&target.host, target.port, target.family, &Stop::default()).ok()?;
    let (first, others) = all.split_first()?;
    let of_other_version = others.iter().find(|other| other.is_ipv4() != first.is_ipv4());
    let other = of_other_version.or(others.first())?.ip();
    Some(format!("give {other} in place of the name, which has that address too: only {} was tried", first.ip()))
}

/// The failure where nothing was found. A run that was stopped before it had anything to tell ends as the signal says.
pub fn failure(error: EndpointError, plan: &Plan, interruption: &Interruption) -> Failure {
    let stopped = matches!(error.cause, Cause::Stopped);
    let unreached =
        matches!(error.step, Step::LookUp | Step::Connect | Step::ConnectData | Step::FirstExchange | Step::Reach);
    let another = plan.target.as_ref().filter(|_| unreached && !stopped && error.step != Step::LookUp);
    let another = another.and_then(another_address);
    let mut failure = Failure::from(error);
    if let Some(signal) = interruption.signal().filter(|_| stopped) {
        failure.exit = Exit::CutShort(signal);
    }
    if let Some(apart) = another.or_else(|| plan.port_in_address().filter(|_| unreached && !stopped)) {
        let otherwise = failure.told.hint.take().map_or_else(String::new, |hint| format!("; otherwise: {hint}"));
        failure.told.hint = Some(format!("{apart}{otherwise}"));
    }
    failure
}
