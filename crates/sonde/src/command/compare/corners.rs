//! Between two methods: the settings in which some of the axes have been moved from one to the other.

use measure::study::moves::{self, Corner, MOST};

use crate::command::study::axis::{Axis, differing, unmoved};
use crate::command::study::words::Words;

/// The axes in which two commands differ, as far as they can be moved apart, and the settings that takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Corners {
    /// What is moved at once: one axis, or several that cannot be told apart since a setting between is none.
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
        let Some((corner, _)) = settings.iter().find(|(_, words)| words.method().is_err()) else {
            return Some(Corners { groups, settings });
        };
        join(&mut groups, *corner);
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

/// Two groups become one: where a corner is no method, one that it moves and one that it does not exclude each other.
fn join(groups: &mut Vec<Vec<Axis>>, corner: Corner) {
    let moved = |place: &usize| corner & 1 << place != 0;
    let carries = |place: &usize| groups[*place].iter().any(|axis| axis.name == "carrier");
    let places = || 0..groups.len();
    // What a carrier cannot do is the usual reason.
    let one = places().find(carries).unwrap_or(0);
    let other = places().find(|place| moved(place) != moved(&one)).unwrap_or_else(|| usize::from(one == 0));
    let (into, from) = (one.min(other), one.max(other));
    let taken = groups.remove(from);
    groups[into].extend(taken);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corners(first: &str, second: &str) -> Option<Vec<(Vec<String>, usize)>> {
        let words = |text| Words::read(text).unwrap();
        let found = between(&words(first), &words(second))?;
        assert_eq!(found.settings.first().map(|(_, words)| words.method()), Some(words(first).method()));
        assert_eq!(found.settings.last().map(|(_, words)| words.method()), Some(words(second).method()));
        let names = |axes: &Vec<Axis>| axes.iter().map(|axis| axis.name.to_owned()).collect();
        Some(found.groups.iter().map(|axes| (names(axes), found.settings.len())).collect())
    }

    #[test]
    fn three_axes_have_eight_corners() {
        let found = corners("ping db1", "tcp_rr db1").unwrap();
        let names: Vec<&str> = found.iter().map(|(names, _)| names[0].as_str()).collect();
        assert_eq!((names, found[0].1), (vec!["interval", "carrier", "size"], 8));
    }

    #[test]
    fn axes_that_exclude_each_other_move_together() {
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
