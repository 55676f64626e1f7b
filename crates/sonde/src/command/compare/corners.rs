//! Between two methods: the settings in which some of the axes have been moved from one to the other.

use measure::study::moves::{self, Corner, MOST};

use crate::command::study::axis::{Axis, differing, unmoved};
use crate::command::study::words::Words;

/// The axes in which two commands differ, as far as they can be moved apart, and the settings that takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Corners {
    /// The axes that move at once: one, or several that cannot be told apart since a setting between is none.
    pub groups: Vec<Vec<Axis>>,
    /// Each corner of the moves, in their order: the first is the first side, the last is the second.
    pub settings: Vec<(Corner, Words)>,
}

/// The corners between two commands; `None` where there is nothing to move apart, or no way to.
pub fn between(first: &Words, second: &Words) -> Option<Corners> {
    if first.command != second.command || !unmoved(first, second).is_empty() {
        return None;
    }
    let mut groups: Vec<Vec<Axis>> = differing(first, second).into_iter().map(|axis| vec![axis]).collect();
    while groups.len() > MOST {
        let last = groups.pop()?;
        groups.last_mut()?.extend(last);
    }
    while groups.len() > 1 {
        let settings = settings(&groups, first, second);
        if none_of(&settings) == 0 {
            return Some(Corners { groups, settings });
        }
        groups = joined(&groups, first, second)?;
    }
    None
}

fn settings(groups: &[Vec<Axis>], first: &Words, second: &Words) -> Vec<(Corner, Words)> {
    let at = |corner: Corner| {
        let moved = groups.iter().enumerate().filter(|(place, _)| corner & 1 << place != 0);
        moved.flat_map(|(_, axes)| axes).fold(first.clone(), |words, axis| axis.moved(&words, second))
    };
    moves::corners(groups.len()).into_iter().map(|corner| (corner, at(corner))).collect()
}

/// The number of settings that cannot be measured.
fn none_of(settings: &[(Corner, Words)]) -> usize {
    settings.iter().filter(|(_, words)| words.method().is_err()).count()
}

/// Two groups become one: those whose joining leaves the fewest settings that cannot be measured. A setting that a protocol
/// does not have is the usual reason, so where the protocol is moved it is one of the two.
fn joined(groups: &[Vec<Axis>], first: &Words, second: &Words) -> Option<Vec<Vec<Axis>>> {
    let one = groups.iter().position(|axes| axes.iter().any(|axis| axis.name == "carrier")).unwrap_or(0);
    let with = |other: usize| {
        let mut joined = groups.to_vec();
        let taken = joined.remove(one.max(other));
        joined[one.min(other)].extend(taken);
        joined
    };
    let others = (0..groups.len()).filter(|other| *other != one).map(with);
    others.min_by_key(|joined| none_of(&settings(joined, first, second)))
}
#[cfg(test)]
mod tests {
    use super::*;

    fn corners(first: &str, second: &str) -> Option<Vec<(Vec<String>, usize)>> {
        let words = |text| Words::read(text).unwrap();
        let found = between(&words(first), &words(second))?;
        let method = |words: &Words| measure::method::Method { seed: 0, ..words.method().unwrap() };
        assert_eq!(found.settings.first().map(|(_, words)| method(words)), Some(method(&words(first))));
        assert_eq!(found.settings.last().map(|(_, words)| method(words)), Some(method(&words(second))));
        let names = |axes: &Vec<Axis>| axes.iter().map(|axis| axis.name.to_owned()).collect();
        Some(found.groups.iter().map(|axes| (names(axes), found.settings.len())).collect())
    }

    #[test]
    fn three_axes_have_eight_corners() {
        let found = corners("ping db1", "tcp_rr db1 --size 56 --wait spin").unwrap();
        let names: Vec<&str> = found.iter().map(|(names, _)| names[0].as_str()).collect();
        assert_eq!((names, found[0].1), (vec!["interval", "carrier", "wait"], 8));
    }

    #[test]
    fn axes_that_exclude_each_other_move_together() {
        // An echo of one octet is none.
        let found = corners("ping db1", "tcp_rr db1").unwrap();
        assert_eq!((found.len(), &found[1].0), (2, &vec!["carrier".to_owned(), "size".to_owned()]));
        // An exchange of one octet cannot go over our datagrams.
        let found = corners("db1 --tcp --size 1 --wait spin", "db1 --udp --size 64 --wait block").unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].0, ["carrier", "size"]);
    }

    #[test]
    fn one_axis_has_nothing_between() {
        assert_eq!(corners("db1", "db2"), None);
        assert_eq!(corners("db1", "db1 -t 5"), None);
        assert_eq!(corners("db1 --every 1ms --wait spin", "load db1"), None, "commands are no axis");
    }
}
