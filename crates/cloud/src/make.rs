//! Makes what a list of resources says, and takes everything back where that does not work out.
//!
//! Level by level: each thing is called for, and then looked at until it is good. Before each call it is noted that it begins.

use endpoint::clock::Monotonic;
use endpoint::stop::Stop;
use logbook::failure::Failure;

use crate::answer::sentence;
use crate::call::Caller;
use crate::fault::{Fault, Kind};
use crate::ledger::{Book, Phase, State};
use crate::parallel;
use crate::remove::remove;
use crate::resource::{Condition, Resource, Values, filled, levels};

/// Tools by which things are made and removed.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// The ledger.
    pub book: &'a Book,
    /// Caller of the vendor's program.
    pub caller: &'a Caller<'a>,
    /// Calls at once.
    pub at_once: usize,
    /// Receiver of each step's name.
    pub tell: &'a (dyn Fn(&str) + Sync),
}

/// Makes everything; where that fails, or somebody asks to stop, what was made is removed.
///
/// # Errors
/// Things that could not be made, and those that could not be removed either: these are owed.
pub fn make_or_remove(work: Work) -> Result<(), Failure> {
    let Err(failure) = make(work) else { return Ok(()) };
    (work.tell)(&format!("{}; removing what was made", failure.what));
    // Whoever asked to stop wants this too; a second signal ends the process, and the ledger stays.
    let lock = work.book.lock()?;
    let caller = Caller {
        tool: work.caller.tool,
        account: work.caller.account.clone(),
        patience: work.caller.patience.clone(),
        stop: Stop::default(),
        input: Some(lock),
    };
    match remove(Work { caller: &caller, ..work }) {
        Ok(()) => Err(Failure { what: format!("{}; everything made was removed", failure.what), ..failure }),
        Err(left) => {
            let hint = [failure.hint, left.hint].into_iter().flatten().collect::<Vec<_>>().join("; ");
            Err(Failure { what: format!("{}; and {}", failure.what, left.what), hint: Some(hint), ..failure })
        }
    }
}

fn make(work: Work) -> Result<(), Failure> {
    let resources: Vec<Resource> = work.book.ledger().entries.into_iter().map(|entry| entry.resource).collect();
    for level in levels(resources.iter()) {
        let level: Vec<&Resource> = resources.iter().filter(|resource| level.contains(&resource.key)).collect();
        first(parallel::each(&level, work.at_once, false, |resource| create(work, resource)))?;
        first(parallel::each(&level, work.at_once, false, |resource| await_good(work, resource)))?;
    }
    work.book.note(|ledger| ledger.phase = Phase::Up)
}

fn first(failures: Vec<Failure>) -> Result<(), Failure> {
    failures.into_iter().next().map_or(Ok(()), Err)
}

/// Calls for a thing.
fn create(work: Work, resource: &Resource) -> Result<(), Failure> {
    let Some(words) = &resource.create else { return Ok(()) };
    let Work { book, caller, .. } = work;
    let fail = |fault: &Fault| fault.failure(caller.tool, &format!("cannot make {}", resource.what));
    if caller.stop.requested() {
        return Err(fail(&Fault::new(Kind::Stopped, "it was not begun")));
    }
    let words = filled(words, &book.values()).map_err(|name| fail(&untold(&name)))?;
    (work.tell)(&format!("making {}", resource.what));
    book.note_state(&resource.key, State::Begun, &Values::new())?;
    match caller.patiently(Kind::is_worth_another_try, || caller.call(&words)) {
        Ok(_) => book.note_state(&resource.key, State::Made, &Values::new()),
        // Its name holds the run's id: it is ours, of a call that did more than it said.
        Err(fault) if fault.kind == Kind::AlreadyExists => book.note_state(&resource.key, State::Made, &Values::new()),
        Err(fault) => {
            if fault.kind.is_refusal() {
                book.note_state(&resource.key, State::Refused, &Values::new())?;
            }
            Err(fail(&fault))
        }
    }
}

/// Looks at a thing until it is good, and notes what is read of it.
fn await_good(work: Work, resource: &Resource) -> Result<(), Failure> {
    let Work { book, caller, .. } = work;
    let fail = |fault: &Fault| {
        let doing = if resource.create.is_some() { "no use of" } else { "cannot find" };
        fault.failure(caller.tool, &format!("{doing} {}", resource.what))
    };
    let began = Monotonic::now();
    let mut asked_why = began;
    loop {
        let (condition, values) = look(work, resource).map_err(|fault| fail(&fault))?;
        let now = Monotonic::now();
        match &condition {
            Condition::Good => {
                let state = if resource.create.is_some() { State::Made } else { State::Planned };
                return book.note_state(&resource.key, state, &values);
            }
            Condition::Bad(state) => {
                let reason = why(work, resource);
                return Err(fail(&reason.unwrap_or_else(|| Fault::new(Kind::Other, format!("it is {state}")))));
            }
            Condition::Absent if now >= asked_why.after(caller.patience.settle) => {
                asked_why = now;
                if let Some(reason) = why(work, resource) {
                    return Err(fail(&reason));
                }
                if resource.create.is_none() {
                    return Err(fail(&Fault::new(Kind::NotFound, "it is not there")));
                }
            }
            Condition::Absent | Condition::Pending => {}
        }
        if now >= began.after(caller.patience.ready) {
            let long = caller.patience.ready;
            return Err(fail(&Fault::new(Kind::Hung, format!("after {long} it is {}", told(&condition)))));
        }
        if !caller.pause(caller.patience.look) {
            return Err(fail(&Fault::new(Kind::Stopped, "it was being waited for")));
        }
    }
}

fn told(condition: &Condition) -> &'static str {
    if *condition == Condition::Absent { "not there" } else { "not ready" }
}

/// Condition of a thing now, and the values read of it. A thing that the program does not know is absent, except where it
/// was only to be looked up.
pub(super) fn look(work: Work, resource: &Resource) -> Result<(Condition, Values), Fault> {
    let words = filled(&resource.find.words, &work.book.values()).map_err(|name| untold(&name))?;
    match work.caller.patient_json(&words) {
        Ok(answer) => resource.find.judge(&answer).ok_or_else(|| {
            Fault::new(Kind::Rubbish, format!("it told of {} in a form that is not known", resource.what))
        }),
        Err(fault) if fault.kind == Kind::NotFound && resource.create.is_some() => {
            Ok((Condition::Absent, Values::new()))
        }
        Err(fault) => Err(fault),
    }
}

/// The reason the vendor gives for a thing that does not come about, where it gives one.
fn why(work: Work, resource: &Resource) -> Option<Fault> {
    let (words, path) = resource.find.why.as_ref()?;
    let words = filled(words, &work.book.values()).ok()?;
    let answer = work.caller.json(&words).ok()?;
    sentence(&answer, path).map(|reason| Fault::read(work.caller.tool, &reason))
}

fn untold(name: &str) -> Fault {
    Fault::new(Kind::Rubbish, format!("no answer told {name}"))
}
