//! Faults planted at hosts, zones and between them among repeats that scatter, and what is named then.

use fastrand::Rng;
use test_case::test_case;

use super::*;
use crate::comparison::{Runs, Word, compare_rounds};

const HOSTS: usize = 12;
const REPEATS: usize = 5;
const TRIALS: u64 = 20;

/// Host `h0` to `h11`, three zones of four hosts, and two racks, each in every zone.
fn fleet() -> Vec<(String, BTreeMap<String, String>)> {
    let label = |name: &str, value: String| (name.to_owned(), value);
    let one = |host: usize| {
        let labels = [label("rack", format!("r{}", host % 2)), label("zone", ["a", "b", "c"][host / 4].to_owned())];
        (format!("h{host}"), BTreeMap::from(labels))
    };
    (0..HOSTS).map(one).collect()
}

/// What is named of a mesh whose rows of `is_planted` take two fifths longer, each repeat within some percent of its round trip.
fn named(seed: u64, is_planted: impl Fn(usize, usize) -> bool) -> Vec<Shared> {
    let mut rng = Rng::with_seed(seed);
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for from in 0..HOSTS {
        pairs.extend((0..HOSTS).filter(|to| *to != from).map(|to| (from, to)));
    }
    let mut repeats = |factor: f64| -> Vec<Option<f64>> {
        (0..REPEATS).map(|_| Some(factor * 50_000.0 * (0.97 + 0.06 * rng.f64()))).collect()
    };
    let runs = pairs.iter().map(|(from, to)| {
        let factor = if is_planted(*from, *to) { 1.4 } else { 1.0 };
        Runs { first: repeats(1.0), second: repeats(factor) }
    });
    let runs: Vec<Runs> = runs.collect();
    let compared = compare_rounds(&runs, seed);
    let fleet = fleet();
    let row =
        |((from, to), is_worse): (&(usize, usize), bool)| Row { from: &fleet[*from].0, to: &fleet[*to].0, is_worse };
    let worse = compared.iter().map(|compared| compared.word == Word::More);
    let rows: Vec<Row<'_>> = pairs.iter().zip(worse).map(row).collect();
    common(&rows, &fleet.iter().map(|(host, labels)| (host.as_str(), labels)).collect())
}

fn zone(host: usize) -> usize {
    host / 4
}

fn label(of: fn(String, String) -> Common, name: &str, value: &str) -> Common {
    of(name.to_owned(), value.to_owned())
}

fn group(label: String, value: String) -> Common {
    Common::Group { label, value }
}

#[test_case(|from, to| from == 5 || to == 5, &Common::Host { host: "h5".to_owned() }; "a host")]
#[test_case(|from, to| zone(from) == 1 || zone(to) == 1, &label(group, "zone", "b"); "a zone")]
#[test_case(|from, to| from % 2 == 1 || to % 2 == 1, &label(group, "rack", "r1"); "a rack")]
#[test_case(|from, to| (zone(from) == 1) != (zone(to) == 1), &label(|label, value| Common::Border { label, value }, "zone", "b"); "the way into a zone")]
#[test_case(|from, to| zone(from) == 2 && zone(to) == 2, &label(|label, value| Common::Inside { label, value }, "zone", "c"); "within a zone")]
#[test_case(|from, to| zone(from) + zone(to) == 2 && zone(from) != 1, &Common::Between { label: "zone".to_owned(), values: ["a".to_owned(), "c".to_owned()] }; "between two zones")]
fn what_was_planted_is_named_first(is_planted: fn(usize, usize) -> bool, expected: &Common) {
    let right =
        (0..TRIALS).filter(|seed| named(*seed, is_planted).first().is_some_and(|first| first.common == *expected));
    assert!(right.count() as u64 >= TRIALS - 1);
}

#[test]
fn of_two_faults_both_are_named() {
    let is_planted = |from: usize, to: usize| from == 0 || to == 0 || zone(from) == 2 && zone(to) == 2;
    for seed in 0..TRIALS {
        let named: Vec<Common> = named(seed, is_planted).into_iter().map(|shared| shared.common).collect();
        let inside = label(|label, value| Common::Inside { label, value }, "zone", "c");
        assert_eq!(named, [Common::Host { host: "h0".to_owned() }, inside]);
    }
}

#[test]
fn nothing_is_named_where_nothing_was_planted() {
    let alarms = (0..4 * TRIALS).filter(|seed| !named(*seed, |_, _| false).is_empty()).count();
    assert_eq!(alarms, 0);
    let everything = (0..TRIALS).filter(|seed| !named(*seed, |_, _| true).is_empty()).count();
    assert_eq!(everything, 0, "all of them have nothing in common that others have not");
}

/// Links drawn by lot have as much in common as chance gives them: in 80 trials the rule may speak of it in 5 %, and 8 are beyond
/// what that comes to in 19 of 20 such tests.
#[test]
fn links_that_have_nothing_in_common_are_seldom_said_to() {
    let alarms = (0..4 * TRIALS).filter(|seed| {
        let mut rng = Rng::with_seed(1_000 + seed);
        let mut links: Vec<(usize, usize)> = (0..HOSTS).flat_map(|a| (a + 1..HOSTS).map(move |b| (a, b))).collect();
        rng.shuffle(&mut links);
        links.truncate(6);
        !named(*seed, |from, to| links.contains(&(from.min(to), from.max(to)))).is_empty()
    });
    assert!(alarms.count() < 8);
}

#[test]
fn a_host_that_is_a_zone_of_its_own_is_called_by_its_name() {
    let labels = [("a", "x"), ("b", "y"), ("c", "y"), ("d", "y")]
        .map(|(host, zone)| (host, BTreeMap::from([("zone".to_owned(), zone.to_owned())])));
    let hosts = ["a", "b", "c", "d"];
    let pairs = hosts.iter().flat_map(|from| hosts.iter().map(move |to| (*from, *to))).filter(|(from, to)| from != to);
    let rows: Vec<Row<'_>> = pairs.map(|(from, to)| Row { from, to, is_worse: from == "a" || to == "a" }).collect();
    let named = common(&rows, &labels.iter().map(|(host, labels)| (*host, labels)).collect());
    let expected =
        Shared { common: Common::Host { host: "a".to_owned() }, worse: 6, of_worse: 6, rows: 6, of_rows: 12 };
    assert_eq!(named, [expected]);
}

/// A star: each leaf has one link, measured both ways by two methods. That the link is worse says nothing of the leaf.
#[test]
fn the_only_link_of_a_host_is_not_laid_at_its_door() {
    let ways = [("hub", "a"), ("a", "hub"), ("hub", "b"), ("b", "hub"), ("hub", "c"), ("c", "hub")];
    let row = |(from, to): &(&'static str, &'static str)| Row { from, to, is_worse: *from == "a" || *to == "a" };
    let rows: Vec<Row<'_>> = ways.iter().chain(&ways).map(row).collect();
    assert_eq!(common(&rows, &Labels::new()), []);
    let rows: Vec<Row<'_>> = ways.iter().map(|way| Row { is_worse: true, ..row(way) }).collect();
    assert_eq!(common(&rows, &Labels::new()), [], "the hub has all of them");
}
