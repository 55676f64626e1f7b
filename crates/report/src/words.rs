//! Words for what was found, each matter in one file: the facts come from `measure`, the words stand here.
//!
//! Options and commands of ours are named here and in `sonde` alone. Not here: how it is laid out.

pub mod change;
pub mod command;
pub mod dark;
pub mod limit;
pub mod method;
pub mod origin;
pub mod periodic;
pub(crate) mod port;
pub mod remark;
pub mod silence;
pub mod split;
pub mod spoiler;
pub(crate) mod target;
pub mod warning;

use measure::event::Counts;

/// `text` as a sentence begins.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The name of the quantiles in which lost requests have their rank: those that were refused have none.
pub(crate) fn of_sent(counts: &Counts) -> &'static str {
    if counts.refused > 0 { "not refused" } else { "of all sent" }
}

/// The caution for connections that differ on a busy host: each has a thread or a queue on one CPU or another.
pub(crate) const BUSY_BY_CONNECTION: &str =
    " Hosts were busy: CPUs that other work takes may be the reason, and not the path.";
