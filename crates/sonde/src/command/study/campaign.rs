//! Makes the trials of a study, one after the other, each in a process of its own.
//!
//! Trials that were made are kept: a signal, a budget that is used up or a peer that goes away end the campaign, and what there is
//! until then is its result.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use endpoint::clock::Monotonic;
use endpoint::stop::Stop;
use lab::trial::{Run, Runner};
use logbook::record::Ended;
use logbook::study::{Setting, Trial};
use measure::study::Turn;
use measure::unit::{Instant, Nanos};
use report::layout::Style;

use crate::command::study::trials::{Planned, Span};
use crate::failure::Failure;
use crate::output::Output;
use crate::signal::{self, Interruption};

/// A setting that could not be measured so often in a row is not tried again.
const TRIES: u32 = 2;

/// A study that takes longer says how it could take less.
const LONG: Nanos = Nanos::secs(120);

/// The maker of trials.
#[derive(Debug)]
pub struct Campaign<'a> {
    /// One for each setting in turn; a single one makes all trials.
    runners: Vec<Runner>,
    stop: Stop,
    interruption: Interruption,
    told: Arc<Mutex<String>>,
    remark: Mutex<String>,
    output: &'a Arc<Output>,
}

/// The course of a campaign.
#[derive(Debug)]
pub struct Course {
    /// The trials, in the order they were made.
    pub trials: Vec<Trial>,
    /// Its end.
    pub ended: Ended,
}

impl<'a> Campaign<'a> {
    /// A campaign whose signals are taken from here on.
    ///
    /// # Errors
    /// The system's error where it grants no thread, or does not tell which program this is.
    pub fn new(output: &'a Arc<Output>) -> Result<Self, Failure> {
        Self::by(vec![Runner::here()], output)
    }

    /// A campaign whose settings are measured by these runners in turn; one makes all trials.
    ///
    /// # Errors
    /// As of [`Campaign::new`].
    pub fn by(runners: Vec<Runner>, output: &'a Arc<Output>) -> Result<Self, Failure> {
        let (stop, told) = (Stop::default(), Arc::new(Mutex::new(String::from("nothing was measured yet"))));
        let (asked, line, out) = (stop.clone(), Arc::clone(&told), Arc::clone(output));
        let interruption =
            signal::watch(move || asked.request(), move || out.aside(&format!("so far: {}\n", lock(&line))))
                .map_err(|error| Failure::usage(format!("cannot wait for signals: {error}")))?;
        Ok(Self { runners, stop, interruption, told, remark: Mutex::default(), output })
    }

    /// The signal that ended it, where one did.
    pub fn interruption(&self) -> &Interruption {
        &self.interruption
    }

    /// The result of the trials so far: printed beside the progress, until something else is said.
    pub fn remark(&self, text: &str) {
        text.clone_into(&mut lock(&self.remark));
    }

    /// Says how long it takes, unless quiet, where so many trials are `made` already, and how it could take less: `fewer` is the option
    /// that makes fewer trials.
    pub fn announce(&self, planned: &Planned, made: &[Trial], fewer: &str) {
        let missing = planned.turns.iter().filter(|turn| !is_made(made, **turn));
        let (count, takes) = missing.fold((0, 0_u64), |(count, takes), turn| {
            (count + 1, takes.saturating_add(planned.each[turn.setting as usize].0))
        });
        let trials = if count == 1 { "1 trial".to_owned() } else { format!("{count} trials") };
        let budget = planned.budget.map_or(String::new(), |budget| format!(" of the {} allowed", Span(budget)));
        self.output.note(&format!("{trials} in random order, about {}{budget}\n", Span(Nanos(takes))));
        if planned.budget.is_none() && Nanos(takes) > LONG {
            self.output.note(&format!("--budget TIME shortens the trials; {fewer} makes fewer of them\n"));
        }
    }

    /// Makes the trials of `planned` but those already `made`; each is handed to `each`, which says whether to go on.
    ///
    /// # Errors
    /// Nothing at all could be measured: what the first trial said.
    pub fn carry_out(
        &self,
        planned: &Planned,
        settings: &[Setting],
        made: Vec<Trial>,
        each: &mut dyn FnMut(&[Trial]) -> bool,
    ) -> Result<Course, Failure> {
        let started = Monotonic::now();
        let (mut trials, mut misses) = (made, BTreeMap::<u32, u32>::new());
        let mut ended = Ended::Complete;
        for (place, turn) in planned.turns.iter().enumerate() {
            let at = turn.setting as usize;
            if is_made(&trials, *turn) || misses.get(&turn.setting).is_some_and(|misses| *misses >= TRIES) {
                continue;
            }
            if over(started, planned.each[at], planned.budget) {
                continue;
            }
            self.tell(planned, place, &settings[at].name);
            let runner = &self.runners[at % self.runners.len()];
            let (record, failure) = match runner.run(&planned.trial(*turn), planned.most[at], &self.stop) {
                // A run cut short by our own end is no trial: it is shorter than the others.
                _ if self.stop.requested() => break,
                Run::Measured(record) => (Some(record), None),
                Run::Failed(failure) => (None, Some(failure)),
            };
            let missed = misses.entry(turn.setting).or_default();
            *missed = if record.is_some() { 0 } else { *missed + 1 };
            trials.push(Trial { block: turn.block, setting: turn.setting, record, failure });
            if !each(&trials) {
                break;
            }
            if (place + 1) % settings.len() == 0 && trials.iter().all(|trial| trial.record.is_none()) {
                break;
            }
        }
        self.output.progress_done();
        if let Some(signal) = self.interruption.signal() {
            ended = Ended::Interrupted { signal: signal.name().to_owned() };
        }
        if trials.iter().all(|trial| trial.record.is_none()) {
            return Err(self.nothing(&trials));
        }
        Ok(Course { trials, ended })
    }

    /// The failure where no trial measured anything.
    fn nothing(&self, trials: &[Trial]) -> Failure {
        if let Some(signal) = self.interruption.signal() {
            let mut failure = Failure::usage("interrupted during the first trial: nothing was measured");
            failure.exit = crate::exit::Exit::CutShort(signal);
            return failure;
        }
        let told = trials.iter().find_map(|trial| trial.failure.clone());
        let mut failure = Failure::usage("all trials failed");
        failure.exit = crate::exit::Exit::NothingAnswered;
        failure.told = told.unwrap_or(failure.told);
        failure
    }

    fn tell(&self, planned: &Planned, place: usize, name: &str) {
        let rest: u64 = planned.turns[place..].iter().map(|turn| planned.each[turn.setting as usize].0).sum();
        let remark = lock(&self.remark);
        let found = if remark.is_empty() { String::new() } else { format!("; so far {remark}") };
        let (place, of, left) = (place + 1, planned.turns.len(), Span(Nanos(rest)));
        let line = format!("[{place}/{of} trials]  {name}, about {left} left{found}");
        if self.output.shows_progress() {
            let style = Style { width: self.output.style().width.saturating_sub(3), ..*self.output.style() };
            let shown: String = style.say(&line).chars().take(style.width).collect();
            self.output.progress(&shown);
        }
        *lock(&self.told) = line;
    }
}

fn is_made(trials: &[Trial], turn: Turn) -> bool {
    trials.iter().any(|trial| (trial.block, trial.setting) == (turn.block, turn.setting))
}

/// True where a trial of this length would go beyond the budget.
fn over(started: Instant, length: Nanos, budget: Option<Nanos>) -> bool {
    let Some(budget) = budget else { return false };
    Monotonic::now().since(started).is_some_and(|gone| gone.0.saturating_add(length.0) > budget.0)
}

fn lock(told: &Mutex<String>) -> std::sync::MutexGuard<'_, String> {
    // At worst the line is that of one trial before.
    told.lock().unwrap_or_else(PoisonError::into_inner)
}
