//! Many hosts made out of one machine: network namespaces on a bridge that lies in one of its own.
//!
//! Unlike a [`crate::namespace::Pair`] a lab outlives the process that made it. Its parts are noted in a file before they
//! are made, so that it can be removed whole whenever that process was killed. The machine's own network is never touched:
//! bridge, cables, addresses and routes lie inside, and so two labs may have the same addresses.
//!
//! A lab's parts: `<folder>/<id>.json` says what was made, `<folder>/<id>/` holds its keys, its hosts' homes and logs; whoever makes or
//! removes a lab holds a lock on that folder. Namespaces are called `sondelab-<id>-…`. All processes in them are the lab's, and end
//! with it.

pub mod layout;
mod make;
pub mod plan;
mod process;
mod remove;
mod sshd;
pub mod state;

use std::path::Path;

use endpoint::clock;
use endpoint::stop::Stop;
use logbook::failure::{Failure, Side};
use measure::unit::Nanos;

use crate::network::layout::Layout;
use crate::network::plan::Wanted;
use crate::network::state::{Folder, Phase, State};

/// A lab as it is found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its name.
    pub id: String,
    /// Its note; absent where nothing could be read.
    pub state: Option<State>,
    /// Its state.
    pub standing: Standing,
}

/// State of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is there for use.
    Ready,
    /// Somebody makes or removes it right now.
    Busy,
    /// The process that made or removed it did not come to an end: `clean` removes the rest.
    CutShort,
    /// The machine was started anew since: of it there are only files.
    Gone,
    /// It is on another machine that shares this home.
    Elsewhere,
}

/// Result of `clean`.
#[derive(Clone, Debug, Default)]
pub struct Cleaned {
    /// Labs that were removed.
    pub removed: Vec<String>,
    /// Labs that could not be removed whole, and why.
    pub left: Vec<Failure>,
}

/// Makes a lab as `wanted`, noted in `folder`. Where that fails, or `stop` asks, nothing of it is left.
///
/// # Errors
/// A lab of that name, no permission, a program that is missing, a step that failed.
pub fn up(folder: &Folder, wanted: &Wanted, stop: &Stop) -> Result<State, Failure> {
    let layout = Layout::of(wanted)?;
    let mut held = folder.take(&layout, clock::wall())?;
    let made = make::all(&mut held, wanted, &layout, stop);
    let settled = made.and_then(|()| {
        held.state.phase = Phase::Ready;
        held.save()
    });
    match settled {
        Ok(()) => Ok(held.state),
        Err(failure) => Err(match remove::all(held) {
            Ok(()) => failure,
            Err(left) => also(failure, &left),
        }),
    }
}

/// Removes the lab of this name, whoever made it and however far that came.
///
/// # Errors
/// No such lab, one that somebody is about to make or remove, what could not be removed.
pub fn down(folder: &Folder, id: &str) -> Result<(), Failure> {
    remove::all(folder.hold(id)?)
}

/// The labs that are noted in `folder`, by name.
///
/// # Errors
/// A folder that cannot be read.
pub fn list(folder: &Folder) -> Result<Vec<Found>, Failure> {
    Ok(folder.names()?.into_iter().map(|id| found(folder, id)).collect())
}

/// Removes what killed processes left, and labs that are older than `older_than`.
///
/// # Errors
/// A folder that cannot be read.
pub fn clean(folder: &Folder, older_than: Option<Nanos>) -> Result<Cleaned, Failure> {
    let mut cleaned = Cleaned::default();
    folder.sweep();
    for lab in list(folder)? {
        let age = lab.state.as_ref().map(|state| clock::wall().saturating_sub(state.made_ns));
        let old = older_than.is_some_and(|most| age.is_some_and(|age| age >= most.0));
        let owed = match lab.standing {
            Standing::CutShort | Standing::Gone => true,
            Standing::Ready => old,
            Standing::Busy | Standing::Elsewhere => false,
        };
        if owed {
            match down(folder, &lab.id) {
                Ok(()) => cleaned.removed.push(lab.id),
                Err(failure) => cleaned.left.push(failure),
            }
        }
    }
    Ok(cleaned)
}

/// Words that lead to where the namespace of this name is listed, by what is noted in `labs`; none for most.
pub fn lead(labs: &Path, namespace: &str) -> Vec<String> {
    let id = namespace.strip_prefix(layout::PREFIX).and_then(|rest| rest.split_once('-')).map(|(id, _)| id);
    let state = id.and_then(|id| Folder::new(labs).read(id).ok().flatten());
    state.map_or_else(Vec::new, |state| make::lead(state.holder.as_ref()))
}

fn found(folder: &Folder, id: String) -> Found {
    let state = folder.read(&id).ok().flatten();
    let standing = if folder.is_held(&id) {
        Standing::Busy
    } else {
        match &state {
            Some(state) if state.is_elsewhere() => Standing::Elsewhere,
            Some(state) if state.boot != process::boot() => Standing::Gone,
            Some(state) if state.phase == Phase::Ready => Standing::Ready,
            _ => Standing::CutShort,
        }
    };
    Found { id, state, standing }
}

/// A failure of our own side.
fn ours(whom: &str, what: impl Into<String>, hint: impl Into<String>) -> Failure {
    Failure {
        what: format!("lab {whom}: {}", what.into()),
        to_whom: Some(whom.to_owned()),
        side: Some(Side::Ours),
        hint: Some(hint.into()),
        partial: None,
    }
}

fn also(failure: Failure, left: &Failure) -> Failure {
    let hint = failure.hint.map_or_else(String::new, |hint| format!("{hint}; "));
    Failure {
        what: format!("{}; and what was made could not be removed: {}", failure.what, left.what),
        hint: Some(format!("{hint}`sonde lab clean` tries that again")),
        ..failure
    }
}
