//! Removing a lab, however much of it is there.

use std::path::Path;
use std::process::{Command, Stdio};

use endpoint::stop::Stop;
use logbook::failure::Failure;
use measure::unit::Nanos;

use crate::child;
use crate::network::state::{Held, Phase};
use crate::network::{layout, ours, process};

/// Longest wait for `ip` to remove one namespace.
const PATIENCE: Nanos = Nanos::secs(30);

/// Removes all of it: processes, namespaces, files. The parts that are left stay noted.
pub(super) fn all(mut held: Held) -> Result<(), Failure> {
    held.state.phase = Phase::Removing;
    // Where not even this can be noted, as on a full disk, removing it is the better for that.
    let _ = held.save();
    if held.state.boot == process::boot() {
        let left = process::end_all(&held.state);
        if !left.is_empty() {
            let hint = "end them by hand, and try again";
            return Err(ours(&held.state.id, format!("these processes do not end: {left:?}"), hint));
        }
        namespaces(&held.state.id)?;
    }
    held.forget()
}

/// Removes its namespaces, and with them bridge and cables. Those that were made without root went with their holder.
fn namespaces(id: &str) -> Result<(), Failure> {
    let mut fault = None;
    for name in process::listed(Path::new("/"), &layout::prefix(id)) {
        // Not to be stopped: what began to be removed is removed.
        let run =
            child::run(Command::new("ip").args(["netns", "delete", &name]), Stdio::null(), PATIENCE, &Stop::default());
        let said = match run {
            Ok(finished) if finished.status.success() => continue,
            Ok(finished) => finished.last_words().unwrap_or("it says nothing").to_owned(),
            Err(error) => format!("{error:?}"),
        };
        fault.get_or_insert_with(|| {
            ours(id, format!("network namespace {name} cannot be removed: {said}"), "removing it takes root")
        });
    }
    fault.map_or(Ok(()), Err)
}
