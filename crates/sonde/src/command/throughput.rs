//! `sonde throughput`: how much goes through, what limits it, and what does it do to latency meanwhile?

pub mod beside;
pub mod evidence;
pub mod options;
pub mod plan;
pub mod words;

use std::sync::{Arc, Mutex};

use endpoint::control::Credential;
use endpoint::resolution::clock_cost;
use endpoint::rtt::Target;
use endpoint::stop::Stop;
use endpoint::throughput::{self, Finding, Task};
use logbook::event::Line;
use logbook::record::Record;
use measure::method::{Direction, Method};
use measure::throughput::Throughput;
use measure::throughput::limit::reason::Untried;
use measure::unit::Nanos;
use measure::wire::judge::judge;

use crate::command::deliver;
use crate::command::rtt::conclude::{self, Around, Inquiry};
use crate::command::rtt::progress::Tally;
use crate::command::rtt::watch::Watch;
use crate::command::rtt::{self, plan::Plan as Measurement};
use crate::command::throughput::beside::{Beside, asked_for};
use crate::command::throughput::evidence::Way;
use crate::command::throughput::options::ThroughputOptions;
use crate::command::throughput::plan::Plan;
use crate::command::verify::{Verify, claims};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::program::PROGRAM;
use crate::signal::Interruption;
use crate::system::now;

/// Measures, and delivers what was found.
///
/// # Errors
/// A plan that makes no sense, a file that cannot be made, a far side that cannot be measured.
pub fn run(options: ThroughputOptions, command: &[String], output: &Arc<Output>) -> Result<Exit, Failure> {
    let plan = plan::of(options, cpus_here())?;
    deliver::check(&plan.measurement.result)?;
    let stop = Stop::default();
    let first = rtt::method(&plan.of_run(plan.runs[0]))?;
    rtt::note_unused_key(&plan.measurement, &first, output);
    let tally = Arc::new(Mutex::new(Tally::new(&first)));
    let interruption = rtt::heed_signals(&tally, &stop, output)?;
    let mut records = Vec::new();
    for &run in &plan.runs {
        let measurement = plan.of_run(run);
        let method = rtt::method(&measurement)?;
        *tally.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Tally::new(&method);
        let one = One { plan: &plan, measurement: &measurement, stop: &stop, interruption: &interruption, output };
        let record = one.measure(method, command.to_vec(), &tally)?;
        deliver::record(&record, &measurement.result, output)?;
        records.push(record);
        if stop.requested() {
            break;
        }
    }
    let result = &plan.measurement.result;
    if records.len() > 1 && !result.json && !result.json_lines && result.export.is_none() {
        output.result(&report::scaling::render(&records, output.style()));
    }
    let exits = records.iter().map(|record| conclude::exit(record, false, interruption.signal()));
    Ok(exits.reduce(|one, other| if one == Exit::Done { other } else { one }).unwrap_or(Exit::Done))
}

/// CPUs that this process may use.
fn cpus_here() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1))
}

/// The method of the first run of these options.
///
/// # Errors
/// A method that makes no sense.
pub fn method(options: ThroughputOptions) -> Result<Method, Failure> {
    let plan = plan::of(options, cpus_here())?;
    rtt::method(&plan.of_run(plan.runs[0]))
}

/// One run of several, or the only one.
struct One<'a> {
    plan: &'a Plan,
    measurement: &'a Measurement,
    stop: &'a Stop,
    interruption: &'a Interruption,
    output: &'a Arc<Output>,
}

impl One<'_> {
    fn measure(&self, method: Method, command: Vec<String>, tally: &Arc<Mutex<Tally>>) -> Result<Record, Failure> {
        let asked = rtt::task(self.measurement, method.clone(), self.stop, self.interruption)?;
        let inquiry = Inquiry::new(self.measurement, &asked, command, now(), conclude::instrument(&clock_cost()));
        let mut watch = Watch::open(self.measurement, &method, Arc::clone(tally), self.output)?;
        watch.start(inquiry.start(), self.stop);
        let pcap = self.measurement.verify.as_ref().map(Verify::open).transpose()?.flatten();
        let task = task_of(method, asked.target.clone(), asked.key.clone(), self.plan.interval);
        let task = Task { verify: asked.verify, ..task };
        let beside = Beside { target: asked.target, key: asked.key };
        let mut streams = || throughput::measure(&task, self.stop, &mut |event| watch.take(&event, self.stop));
        let found = if self.plan.with_latency {
            let length = task.method.stop.after_ns.map(|after| Nanos(after.0 + task.method.warm_up_ns.0));
            beside.with_latency(length, self.stop, streams)
        } else {
            streams().map(|found| (found, None))
        };
        let (mut found, latency) = match found {
            Ok(found) => found,
            Err(error) => {
                self.output.progress_done();
                let failure = rtt::failure(error, self.measurement, self.interruption);
                watch.end().0.write_to_files(&Line::Error(Box::new(failure.told.clone())));
                return Err(failure);
            }
        };
        let saved = pcap.map_or(Ok(()), |pcap| pcap.save(found.wire.as_mut()));
        let wire = found.wire.as_ref().map(|watched| {
            let counted = claims::of_streams(&found, &task.method, watched);
            judge(&watched.observed, &counted, watched.place.clone())
        });
        let throughput = self
            .concluded(&task, &beside, &found)
            .map(|throughput| Throughput { latency: latency.map(Box::new), ..throughput });
        self.output.progress_done();
        let (mut stream, _) = watch.end();
        let throughput = throughput.ok_or_else(|| Failure::usage("nothing went either way"))?;
        let record = inquiry.stream_record(throughput, around(found), self.interruption.signal());
        let record = conclude::with_wire(record, wire);
        stream.write(&Line::End(Box::new(record.clone())));
        stream.faults().into_iter().next().map_or(saved.map(|()| record), Err)
    }

    /// Both ways, with what limits each.
    fn concluded(&self, task: &Task, beside: &Beside, found: &Finding) -> Option<Throughput> {
        let asked = asked_for(task.method.schedule, task.method.traffic.request_bytes());
        let conclude = |direction: Direction| {
            let way = Way::of(found, task, direction, asked)?;
            let worth = self.plan.tests_losses && way.evidence(Err(Untried::NotAsked)).wants_moving();
            let moved = if worth { beside.moved(task, &way, self.stop) } else { Err(Untried::NotAsked) };
            Some(way.concluded(found, moved))
        };
        match (conclude(Direction::Send), conclude(Direction::Receive)) {
            (Some(sent), back) => Some(Throughput { back: back.map(Box::new), ..sent }),
            (None, received) => received,
        }
    }
}

/// The request to the peer that `method` makes.
fn task_of(method: Method, target: Option<Target>, key: Option<Credential>, interval: Nanos) -> Task {
    Task { target, key, interval, ..Task::new(method, PROGRAM) }
}

fn around(found: Finding) -> Around {
    Around {
        ours: found.ours,
        theirs: found.theirs,
        peer: found.peer,
        ended: found.ended,
        target: found.target,
        own_reflector: found.own_reflector,
        report_missing: found.report_missing,
    }
}
