//! `sonde load --find`: which rate still holds? One probe after the other, each a measurement of its own with its record.

pub mod hunt;
pub mod options;

use std::sync::{Arc, Mutex, PoisonError};

use endpoint::resolution::clock_cost;
use endpoint::rtt::{self as engine, Task};
use endpoint::stop::Stop;
use logbook::document::Head;
use logbook::event::Line;
use logbook::moment::Moment;
use logbook::record::{Ended, Instrument, Record};
use logbook::search::{Probe, SearchDocument};
use measure::method::Method;
use measure::search::seen::Seen;
use measure::search::{Bracket, Next, Reached, Search};
use measure::unit::{Nanos, Rate};
use report::layout::Style;
use uuid::Uuid;

use crate::command::deliver;
use crate::command::load::find::hunt::Hunt;
use crate::command::rtt::conclude::{self, Inquiry};
use crate::command::rtt::plan::Plan;
use crate::command::rtt::stream::Stream;
use crate::command::rtt::{self, method, task};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::program::tool;
use crate::signal::{self, Interruption};
use crate::system::now;

/// Searches, and delivers what was found.
///
/// # Errors
/// A method that makes no sense, a file that cannot be made, a far side that cannot be measured at all. Where it goes
/// away later, what was found until then is delivered.
pub fn run(plan: &Plan, hunt: &Hunt, command: Vec<String>, output: &Arc<Output>) -> Result<Exit, Failure> {
    let first = method(&at(plan, hunt, hunt.bounds.start_per_1000s))?;
    let (stop, told) = (Stop::default(), Arc::new(Mutex::new(Told::default())));
    let interruption = heed_signals(&told, &stop, output)?;
    let task = task(plan, first, &stop, &interruption)?;
    deliver::check(&plan.result)?;
    let mut stream = Stream::open(&plan.result, output)?;
    if let Some(each) = task.method.stop.after_ns {
        let most = hunt.bounds.probes;
        let whole = Nanos(each.0.saturating_mul(most.into()));
        output.note(&format!(
            "up to {most} probes of {each} each (--probes, --probe), mostly half of them: {whole} at most. SIGINT ends the search \
             with the result so far\n"
        ));
    }
    let instrument = conclude::instrument(&clock_cost());
    let prober = Prober { plan, hunt, command, task, instrument, stop, interruption: &interruption };
    let started = now();
    let found = prober.search(&told, &mut stream, output);
    output.progress_done();
    match found {
        Ok(course) => conclude(prober.document(course, started), plan, stream, &interruption, output),
        Err(failure) => {
            stream.write_to_files(&Line::Error(Box::new(failure.told.clone())));
            Err(failure)
        }
    }
}

fn conclude(
    found: SearchDocument,
    plan: &Plan,
    mut stream: Stream<'_>,
    interruption: &Interruption,
    output: &Output,
) -> Result<Exit, Failure> {
    let delivered = deliver::search(&found, &plan.result, output);
    let exit = exit(&found, plan.strict, interruption.signal());
    stream.write(&Line::Found(Box::new(found)));
    stream.faults().into_iter().next().map_or(delivered, Err)?;
    Ok(exit)
}

/// The plan of a probe at `rate`.
fn at(plan: &Plan, hunt: &Hunt, rate: Rate) -> Plan {
    Plan { asked: hunt.asked(&plan.asked, rate), ..plan.clone() }
}

/// The exit status of a search: strictly, ends that were not settled are a condition that does not hold.
fn exit(found: &SearchDocument, strict: bool, signal: Option<endpoint::signal::Signal>) -> Exit {
    let outcomes = found.probes.iter().filter_map(|probe| probe.record.outcome.as_ref());
    let answered: u64 = outcomes.map(|outcome| outcome.counts.answered).sum();
    let settled = matches!(found.bracket.reached, Reached::Width | Reached::Highest) && found.bracket.met.is_some();
    match (&found.ended, signal) {
        (Ended::Interrupted { .. }, Some(signal)) => Exit::CutShort(signal),
        (Ended::PeerLost { .. }, _) => Exit::NothingAnswered,
        _ if answered == 0 => Exit::NothingAnswered,
        _ if strict && !settled => Exit::Threshold,
        _ => Exit::Done,
    }
}

/// Makes probes.
struct Prober<'a> {
    plan: &'a Plan,
    hunt: &'a Hunt,
    command: Vec<String>,
    /// The first probe's; the others differ in the method.
    task: Task,
    instrument: Instrument,
    stop: Stop,
    interruption: &'a Interruption,
}

/// The course of a search.
struct Course {
    probes: Vec<Probe>,
    bracket: Bracket,
    ended: Ended,
    target: logbook::record::Target,
}

impl Prober<'_> {
    fn search(&self, told: &Mutex<Told>, stream: &mut Stream<'_>, output: &Output) -> Result<Course, Failure> {
        let refuse = |error: measure::search::BoundsError| Failure::usage(error.to_string());
        let mut search = Search::new(self.hunt.bounds).map_err(refuse)?;
        let mut probes: Vec<Probe> = Vec::new();
        let (_, inquiry) = self.inquiry(self.hunt.bounds.start_per_1000s)?;
        let start = inquiry.start();
        let mut target = start.target.clone();
        stream.write(&Line::Start(Box::new(start)));
        let (reached, ended) = loop {
            let rate = match search.next() {
                Next::Probe(rate) => rate,
                Next::Done(reached) => break (reached, Ended::Complete),
            };
            Told::update(told, &search, Some(rate), output);
            let (task, inquiry) = self.inquiry(rate)?;
            let record = match self.probe(&task, &inquiry) {
                Ok(record) if record.ended == Ended::Complete => record,
                Ok(record) => break (Reached::Stopped, record.ended),
                Err(failure) if probes.is_empty() => return Err(failure),
                Err(failure) => break (Reached::Stopped, self.ended_by(failure)),
            };
            target = record.target.clone();
            let probe = self.judged(rate, record);
            search.take(rate, probe.verdict);
            if !stream.write(&Line::Probe(Box::new(probe.clone()))) {
                self.stop.request();
            }
            probes.push(probe);
        };
        Told::update(told, &search, None, output);
        Ok(Course { probes, bracket: search.bracket(reached), ended, target })
    }

    fn inquiry(&self, rate: Rate) -> Result<(Task, Inquiry), Failure> {
        let plan = at(self.plan, self.hunt, rate);
        let method: Method = method(&plan)?;
        let task = Task { method, ..self.task.clone() };
        let inquiry = Inquiry::new(&plan, &task, self.command.clone(), now(), self.instrument.clone());
        Ok((task, inquiry))
    }

    fn probe(&self, task: &Task, inquiry: &Inquiry) -> Result<Record, Failure> {
        let found = engine::run(task, &self.stop, &mut |_| {});
        let finding = found.map_err(|error| rtt::failure(error, self.plan, self.interruption))?;
        Ok(inquiry.record(finding, self.interruption.signal(), None))
    }

    fn judged(&self, rate: Rate, record: Record) -> Probe {
        let judgement = record.outcome.as_ref().map(|outcome| {
            let seen = Seen::of(outcome, &record.method);
            self.hunt.condition.judge(&seen)
        });
        let (verdict, missed) = judgement.map_or_else(
            || (measure::search::condition::Verdict::TooFew, Vec::new()),
            |judgement| (judgement.verdict, judgement.missed),
        );
        Probe { rate_per_1000s: rate, verdict, missed, record }
    }

    fn document(self, course: Course, started: Moment) -> SearchDocument {
        let Course { probes, bracket, ended, target } = course;
        SearchDocument {
            head: Head::new(Uuid::now_v7(), tool(), self.command, started),
            target,
            condition: self.hunt.condition.clone(),
            bounds: self.hunt.bounds,
            probe_ns: self.hunt.probe,
            bracket,
            probes,
            ended,
        }
    }

    /// A probe that could not be made ends a search that has made others.
    fn ended_by(&self, failure: Failure) -> Ended {
        match self.interruption.signal() {
            Some(signal) => Ended::Interrupted { signal: signal.name().to_owned() },
            None => Ended::PeerLost { reason: failure.told.what },
        }
    }
}

/// The state of a search while it runs, for the line on the terminal and for whoever asks by a signal.
#[derive(Debug, Default)]
struct Told {
    line: String,
}

impl Told {
    fn update(told: &Mutex<Self>, search: &Search, next: Option<Rate>, output: &Output) {
        let line = line(search, next);
        if output.shows_progress() && next.is_some() {
            let style = Style { width: output.style().width.saturating_sub(3), ..*output.style() };
            let shown: String = style.say(&line).chars().take(style.width).collect();
            output.progress(&shown);
        }
        lock(told).line = line;
    }
}

/// `probe 7 at 3 364/s · 2 828/s holds · 4 000/s does not`.
fn line(search: &Search, next: Option<Rate>) -> String {
    let bracket = search.bracket(Reached::Stopped);
    let mut parts = vec![match next {
        Some(rate) => format!("probe {} at {rate}", search.probes() + 1),
        None => format!("{} probes", search.probes()),
    }];
    parts.extend(bracket.met.map(|end| format!("{} holds", end.rate_per_1000s)));
    parts.extend(bracket.missed.map(|end| format!("{} does not", end.rate_per_1000s)));
    parts.join(" · ")
}

fn lock(told: &Mutex<Told>) -> std::sync::MutexGuard<'_, Told> {
    // At worst the line is that of one probe before.
    told.lock().unwrap_or_else(PoisonError::into_inner)
}

fn heed_signals(told: &Arc<Mutex<Told>>, stop: &Stop, output: &Arc<Output>) -> Result<Interruption, Failure> {
    let (asked, told, output) = (stop.clone(), Arc::clone(told), Arc::clone(output));
    let interim = move || output.aside(&format!("so far: {}\n", lock(&told).line));
    signal::watch(move || asked.request(), interim)
        .map_err(|error| Failure::usage(format!("cannot wait for signals: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::search::condition::Verdict;
    use measure::search::{Bounds, default};

    #[test]
    fn the_line_says_what_is_known_so_far() {
        let rate = |rate| Rate::per_second(rate).unwrap();
        let bounds = Bounds {
            start_per_1000s: rate(1_000),
            lowest_per_1000s: rate(1),
            highest_per_1000s: rate(1_000_000),
            width: default::WIDTH,
            agreeing: default::AGREEING,
            probes: default::PROBES,
        };
        let mut search = Search::new(bounds).unwrap();
        assert_eq!(line(&search, Some(rate(1_000))), "probe 1 at 1 000/s");
        search.take(rate(1_000), Verdict::Met);
        search.take(rate(2_000), Verdict::Missed);
        assert_eq!(line(&search, Some(rate(1_414))), "probe 3 at 1 414/s · 1 000/s holds · 2 000/s does not");
        assert_eq!(line(&search, None), "2 probes · 1 000/s holds · 2 000/s does not");
    }
}
