//! Removes what a ledger tells of, the last made first, and says what could not be removed.
//!
//! A thing that was begun and never seen may still come: it is looked for until it settles. A ledger that cannot be written
//! any more stops no removal: what it said last is enough to do the same again.

use std::sync::Mutex;

use endpoint::clock::Monotonic;
use logbook::failure::{Failure, Side};

use crate::fault::{Fault, Kind};
use crate::ledger::{Book, Entry, Phase, State};
use crate::make::{Work, look};
use crate::parallel;
use crate::resource::{Condition, Resource, Values, filled, levels};

/// Removes everything of the ledger's run. Whoever gets no error closes the ledger.
///
/// # Errors
/// Things that could not be removed, each with its fault; the ledger keeps them.
pub fn remove(work: Work) -> Result<(), Failure> {
    let ledger = work.book.ledger();
    // As said above: that the ledger cannot be written is no reason to leave machines running.
    let _ = work.book.note(|ledger| {
        ledger.phase = Phase::Removing;
        ledger.trouble = None;
    });
    let left: Mutex<Vec<(String, Fault)>> = Mutex::default();
    let levels = levels(ledger.entries.iter().map(|entry| &entry.resource));
    for level in levels.iter().rev() {
        let own = ledger.entries.iter().filter(|entry| level.contains(&entry.resource.key) && is_to_remove(entry));
        let own: Vec<&Entry> = own.collect();
        let faults = parallel::each(&own, work.at_once, true, |entry| {
            one(work, entry).map_err(|fault| (entry.resource.what.clone(), fault))
        });
        lock(&left).extend(faults);
    }
    let left = left.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if left.is_empty() { Ok(()) } else { Err(owed(work, &left)) }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn is_to_remove(entry: &Entry) -> bool {
    entry.resource.delete.is_some() && matches!(entry.state, State::Begun | State::Refused | State::Made)
}

fn owed(work: Work, left: &[(String, Fault)]) -> Failure {
    let tool = work.caller.tool;
    let told = left.iter().map(|(what, fault)| fault.failure(tool, &format!("cannot remove {what}")).what);
    let told = told.collect::<Vec<_>>().join("; ");
    let run = work.book.ledger().run;
    let _ = work.book.note(|ledger| ledger.trouble = Some(told.clone()));
    let first = left.first().and_then(|(what, fault)| fault.failure(tool, what).hint);
    let again = format!("`sonde lab cloud down --run {run}` tries again; until then its clean-up is owed");
    Failure {
        what: told,
        to_whom: Some(run),
        side: Some(Side::Theirs),
        hint: Some(first.into_iter().chain([again]).collect::<Vec<_>>().join("; ")),
        partial: None,
    }
}

/// Removes one thing and waits until it is gone.
fn one(work: Work, entry: &Entry) -> Result<(), Fault> {
    let Work { book, caller, .. } = work;
    let resource = &entry.resource;
    if let Some(user) = still_used(book, resource) {
        return Err(Fault::new(Kind::Busy, format!("{user} is still there")));
    }
    let Some(values) = seen(work, entry)? else {
        gone(work, resource);
        return Ok(());
    };
    (work.tell)(&format!("removing {}", resource.what));
    let values: Values = book.values().into_iter().chain(values).collect();
    let words = filled(resource.delete.as_deref().unwrap_or_default(), &values)
        .map_err(|name| Fault::new(Kind::Rubbish, format!("no answer told {name}")))?;
    let until = Monotonic::now().after(caller.patience.ready);
    let asked = caller.delete(&words);
    // One that hangs or fails in passing may have had its effect all the same.
    if let Err(fault) = asked
        && !matches!(fault.kind, Kind::Hung | Kind::Passing)
    {
        return Err(fault);
    }
    while look(work, resource)?.0 != Condition::Absent {
        if Monotonic::now() >= until {
            return Err(Fault::new(Kind::Hung, "it is still there"));
        }
        if !caller.pause(caller.patience.look) {
            return Err(Fault::new(Kind::Stopped, "its end was being waited for"));
        }
    }
    gone(work, resource);
    Ok(())
}

/// Values read of a thing that is there. `None`: it is not; one that may still come was waited for.
fn seen(work: Work, entry: &Entry) -> Result<Option<Values>, Fault> {
    let until = Monotonic::now().after(work.caller.patience.settle);
    loop {
        match look(work, &entry.resource)? {
            (Condition::Absent, _) if entry.state == State::Begun && Monotonic::now() < until => {
                if !work.caller.pause(work.caller.patience.look) {
                    return Err(Fault::new(Kind::Stopped, "it may still come"));
                }
            }
            (Condition::Absent, _) => return Ok(None),
            (_, values) => return Ok(Some(values)),
        }
    }
}

/// First thing that needs this one and was not removed; `None`: none.
fn still_used(book: &Book, resource: &Resource) -> Option<String> {
    let ledger = book.ledger();
    let user = |entry: &&Entry| is_to_remove(entry) && entry.resource.needs.contains(&resource.key);
    ledger.entries.iter().find(user).map(|entry| entry.resource.what.clone())
}

fn gone(work: Work, resource: &Resource) {
    // As said above.
    let _ = work.book.note_state(&resource.key, State::Gone, &Values::new());
}
