//! `sonde lab cloud down` and `clean`: by the ledger, and by what the cloud itself lists.

use cloud::call::Caller;
use cloud::census::{self, Found};
use cloud::ledger::{Book, Ledger, Listed, State};
use cloud::make::Work;
use cloud::remove::remove;
use cloud::resource::filled;
use cloud::script::line;
use cloud::vendor::Vendor;
use lab::transport::ssh::sweep;
use logbook::machines::Cloud;

use crate::command::lab::cloud::options::{CallOptions, CleanOptions, DownOptions, TagOptions};
use crate::command::lab::cloud::up::owner;
use crate::command::lab::cloud::{Room, failure, now};
use crate::command::lab::place;
use crate::exit::Exit;
use crate::failure::Failure;

/// Removes a run.
///
/// # Errors
/// Things that could not be removed; a run of which nothing is known.
pub fn run(options: &DownOptions, room: &Room) -> Result<Exit, Failure> {
    let DownOptions { run, calls, .. } = options;
    let book = room.shelf.take(run, calls.call_timeout, &room.stop);
    let book = if options.by_tags {
        book.or_else(|told| if told.side.is_some() { Ok(None) } else { Err(told) })
    } else {
        book
    };
    let book = book.map_err(failure)?;
    if book.is_none() && options.tags.cloud.is_none() {
        return Err(Failure::usage(format!("run {run}: there is no ledger of it here")).about(run).hint(
            "`sonde lab cloud list` shows the runs; with --cloud CLOUD the cloud is asked for what carries its tags",
        ));
    }
    let by_tags = options.by_tags || book.is_none();
    if let Some(book) = book {
        if options.dry_run {
            room.output.result(&removal(&book.ledger()));
        } else if let Err(told) = by_ledger(book, calls, room) {
            return room.failed(told);
        }
    }
    if let Some(cloud) = options.tags.cloud.filter(|_| by_tags) {
        return by_tag(cloud, &options.tags, calls, &|found| found.run == *run, options.dry_run, room);
    }
    Ok(Exit::Done)
}

/// Removes what is over.
///
/// # Errors
/// The first thing that could not be removed, behind everything else that could.
pub fn clean(options: &CleanOptions, room: &Room) -> Result<Exit, Failure> {
    if !options.dry_run {
        // Runs on machines left their sockets behind where they were killed.
        sweep(&place::runtime());
    }
    let now = now();
    let oldest = options.older_than.map(|age| now.saturating_sub(age.0 / 1_000_000_000));
    let is_old = |made: Option<u64>| oldest.is_some_and(|oldest| made.is_some_and(|made| made <= oldest));
    let listed = room.shelf.all().map_err(failure)?;
    let is_over = |listed: &Listed| {
        listed.owed(now).is_some() || (!listed.busy && is_old(listed.ledger.as_ref().ok().map(|ledger| ledger.made)))
    };
    let mut failures = Vec::new();
    for over in listed.iter().filter(|listed| is_over(listed)) {
        if options.dry_run {
            match &over.ledger {
                Ok(ledger) => drop(room.output.result(&removal(ledger))),
                Err(error) => room.output.note(&format!("run {}: its ledger cannot be read: {error}\n", over.run)),
            }
            continue;
        }
        room.output.note(&format!("run {}\n", over.run));
        let taken = room.shelf.take(&over.run, options.calls.call_timeout, &room.stop);
        let removed = taken.and_then(|book| book.map_or(Ok(()), |book| by_ledger(book, &options.calls, room)));
        failures.extend(removed.err());
    }
    let mut end = Ok(Exit::Done);
    if let Some(cloud) = options.tags.cloud {
        let mine = owner(options.owner.as_deref());
        let busy: Vec<&str> = listed.iter().filter(|listed| listed.busy).map(|listed| listed.run.as_str()).collect();
        let which = |found: &Found| {
            let is_mine = options.any_owner || found.owner.as_ref() == Some(&mine);
            let is_over = found.expires.is_some_and(|expires| expires <= now) || is_old(found.made);
            is_mine && is_over && !busy.contains(&found.run.as_str())
        };
        end = by_tag(cloud, &options.tags, &options.calls, &which, options.dry_run, room);
    }
    match failures.into_iter().next() {
        Some(told) => room.failed(told),
        None => end,
    }
}

/// Removes everything that a ledger tells of, and then the ledger.
pub fn by_ledger(book: Book, calls: &CallOptions, room: &Room) -> Result<(), logbook::failure::Failure> {
    let ledger = book.ledger();
    let caller = Caller {
        tool: &Vendor::of(ledger.cloud).tool,
        account: calls.account.clone().or(ledger.account),
        patience: calls.patience(),
        stop: room.stop.clone(),
        input: Some(book.lock()?),
    };
    let tell = |what: &str| room.tell(what);
    remove(Work { book: &book, caller: &caller, at_once: calls.at_once.into(), tell: &tell })?;
    drop(caller);
    book.close()?;
    room.output.note(&format!("run {}: everything is removed\n", ledger.run));
    Ok(())
}

/// The commands that would remove what a ledger tells of.
fn removal(ledger: &Ledger) -> String {
    let vendor = Vendor::of(ledger.cloud);
    let lines = ledger.entries.iter().rev().filter(|entry| entry.state != State::Gone && entry.state != State::Planned);
    let lines = lines.filter_map(|entry| {
        let words = entry.resource.delete.as_ref()?;
        // A value that was not read yet stays a variable: it is looked for first.
        let words = filled(words, &ledger.values).unwrap_or_else(|_| words.clone());
        Some(format!("{}\n", line(vendor, &vendor.tool.whole(&words, ledger.account.as_deref()))))
    });
    lines.collect()
}

fn caller<'a>(cloud: Cloud, calls: &CallOptions, room: &Room) -> Caller<'a> {
    Caller {
        tool: &Vendor::of(cloud).tool,
        account: calls.account.clone(),
        patience: calls.patience(),
        stop: room.stop.clone(),
        input: None,
    }
}

/// Everything of ours in a cloud for which `which` holds.
pub(super) fn tagged(cloud: Cloud, tags: &TagOptions, calls: &CallOptions, room: &Room) -> Result<Vec<Found>, Failure> {
    let caller = caller(cloud, calls, room);
    census::find(&caller, &Vendor::of(cloud).census, &tags.region, &|_| true)
        .map_err(|fault| failure(fault.failure(caller.tool, "cannot list what carries our tags")))
}

fn by_tag(
    cloud: Cloud,
    tags: &TagOptions,
    calls: &CallOptions,
    which: &dyn Fn(&Found) -> bool,
    dry_run: bool,
    room: &Room,
) -> Result<Exit, Failure> {
    let caller = caller(cloud, calls, room);
    let fail = |fault: &cloud::fault::Fault, doing: &str| fault.failure(caller.tool, doing);
    if dry_run {
        for found in tagged(cloud, tags, calls, room)?.iter().filter(|found| which(found)) {
            for words in found.calls() {
                let whole = caller.tool.whole(&words, caller.account.as_deref());
                room.output.result(&format!("{}\n", line(Vendor::of(cloud), &whole)));
            }
        }
        return Ok(Exit::Done);
    }
    let tell = |what: &str| room.tell(what);
    let (removed, left) = match census::remove(&caller, &Vendor::of(cloud).census, &tags.region, which, &tell) {
        Ok(done) => done,
        Err(fault) => return room.failed(fail(&fault, "cannot list what carries our tags")),
    };
    room.output.note(&format!("by tags: {} things removed from {cloud}\n", removed.len()));
    match left.first() {
        None => Ok(Exit::Done),
        Some(first) => {
            let mut told = fail(&first.fault, &format!("cannot remove {}", first.what));
            if left.len() > 1 {
                told.what = format!("{}; and {} more", told.what, left.len() - 1);
            }
            room.failed(told)
        }
    }
}
