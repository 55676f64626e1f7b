//! Pairs that are measured at the same time: rounds in which no host appears twice.
//!
//! A mesh of n hosts takes n - 1 rounds (n where n is odd), by the circle method; any other list takes at most one round more than
//! the most pairs that one host has, by the edge colouring of Misra and Gries (Information Processing Letters 41, 1992). Hosts that
//! share a machine would take its processors from each other, so no machine appears in two pairs of a round either, unless asked.
//!
//! Not here: which pairs there are ([`crate::pairs`]), and who measures them.

mod colouring;
mod machine;
mod mesh;
mod order;
#[cfg(test)]
mod tests;

use logbook::plan::AtOnce;

use crate::pairs::{Pair, PairList};

pub use order::{Task, Turn, repeat};

/// Pairs that are measured at the same time.
pub type Round = Vec<Pair>;

/// The rounds of `pairs`. `machines` has the machine of each host, as [`crate::pairs::machines`] tells it: a host beyond it has one of its own.
///
/// ```
/// use lab::pairs::{Pair, PairList};
/// use logbook::plan::AtOnce;
///
/// let mesh = (0..4).flat_map(|first| (first + 1..4).map(move |second| Pair { first, second })).collect();
/// let mesh = PairList::of(4, mesh)?;
/// assert_eq!(lab::rounds::of(&mesh, &[0, 1, 2, 3], AtOnce::Rounds).len(), 3);
/// assert_eq!(lab::rounds::of(&mesh, &[0, 0, 0, 0], AtOnce::Rounds).len(), 6, "one machine measures one pair at a time");
/// # Ok::<(), lab::pairs::NoPairList>(())
/// ```
pub fn of(pairs: &PairList, machines: &[usize], at_once: AtOnce) -> Vec<Round> {
    match at_once {
        AtOnce::One => pairs.pairs().iter().map(|&pair| vec![pair]).collect(),
        AtOnce::Sharing => without_machines(pairs),
        AtOnce::All if pairs.pairs().is_empty() => Vec::new(),
        AtOnce::All => vec![pairs.pairs().to_vec()],
        AtOnce::Rounds => machine::split(without_machines(pairs), pairs.hosts(), machines),
    }
}

/// Rounds in which no host appears twice, whatever machines they lie on.
fn without_machines(pairs: &PairList) -> Vec<Round> {
    mesh::rounds(pairs).unwrap_or_else(|| colouring::rounds(pairs).0)
}
