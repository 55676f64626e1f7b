//! Rounds of meshes, stars and any list: no host or machine twice, every pair once, as few rounds as promised.

use std::collections::BTreeSet;

use logbook::plan::{Addresses, Directions, Order, Plan, PlannedMethod};
use proptest::prelude::*;
use test_case::test_case;

use super::*;

fn pair(first: usize, second: usize) -> Pair {
    Pair { first, second }
}

fn list(hosts: usize, pairs: impl IntoIterator<Item = (usize, usize)>) -> PairList {
    PairList::of(hosts, pairs.into_iter().map(|(first, second)| pair(first, second)).collect()).unwrap()
}

fn mesh(hosts: usize) -> PairList {
    list(hosts, (0..hosts).flat_map(|first| (first + 1..hosts).map(move |second| (first, second))))
}

/// Each host with those of other zones, of which there are as many as `zones` hosts have room in.
fn between(zones: usize, each: usize) -> PairList {
    let hosts = zones * each;
    let pairs = (0..hosts).flat_map(|first| (first + 1..hosts).map(move |second| (first, second)));
    list(hosts, pairs.filter(|(first, second)| first % zones != second % zones))
}

/// Faults of `rounds` of `pairs`, where no two pairs of a round may share the value that `of` gives for their hosts.
fn faults(pairs: &PairList, rounds: &[Round], of: impl Fn(usize) -> usize) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, round) in rounds.iter().enumerate() {
        let mut seen = BTreeSet::new();
        for pair in round {
            let ends: BTreeSet<usize> = [of(pair.first), of(pair.second)].into();
            faults.extend(ends.intersection(&seen).map(|end| format!("{end} twice in round {number}")));
            seen.extend(ends);
        }
        if round.is_empty() {
            faults.push(format!("round {number} is empty"));
        }
    }
    let mut made: Vec<Pair> = rounds.iter().flatten().copied().collect();
    let mut asked = pairs.pairs().to_vec();
    made.sort_unstable();
    asked.sort_unstable();
    if made != asked {
        faults.push("the pairs are others".to_owned());
    }
    faults
}

fn most(pairs: &PairList) -> usize {
    pairs.degrees().into_iter().max().unwrap_or(0)
}

fn alone(pairs: &PairList) -> Vec<usize> {
    (0..pairs.hosts()).collect()
}

#[test_case(2, 1; "two")]
#[test_case(3, 3; "three")]
#[test_case(4, 3; "four")]
#[test_case(7, 7; "seven")]
#[test_case(10, 9; "ten")]
#[test_case(1_000, 999; "a thousand")]
fn a_mesh_takes_as_few_rounds_as_can_be(hosts: usize, expected: usize) {
    let pairs = mesh(hosts);
    let rounds = of(&pairs, &alone(&pairs), AtOnce::Rounds);
    assert_eq!(rounds.len(), expected);
    assert_eq!(faults(&pairs, &rounds, |host| host), [""; 0]);
}

#[test]
fn a_mesh_keeps_who_was_listed_first() {
    let pairs = list(5, [(4, 1), (1, 2), (2, 4)]);
    let rounds = of(&pairs, &alone(&pairs), AtOnce::Rounds);
    assert_eq!(rounds.len(), 3, "three of five hosts, each with each");
    assert_eq!(faults(&pairs, &rounds, |host| host), [""; 0]);
}

#[test_case(&list(1_001, (1..1_001).map(|leaf| (0, leaf))); "a star")]
#[test_case(&between(2, 40); "between two zones")]
#[test_case(&between(5, 12); "between five zones")]
#[test_case(&list(31, (0..30).map(|at| (at, at + 1))); "a chain")]
#[test_case(&list(31, (0..31).map(|at| (at, (at + 1) % 31))); "an odd ring")]
#[test_case(&list(6, []); "none")]
// A list of class two: three pairs a host at the most, and no three rounds do.
#[test_case(&list(10, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 5), (1, 6), (2, 7), (3, 8), (4, 9), (5, 7), (7, 9), (9, 6), (6, 8), (8, 5)]); "the graph of Petersen")]
fn any_list_takes_at_most_one_round_more_than_the_busiest_host_has_pairs(pairs: &PairList) {
    let rounds = of(pairs, &alone(pairs), AtOnce::Rounds);
    assert!(rounds.len() <= most(pairs) + 1, "{} rounds for {}", rounds.len(), most(pairs));
    assert_eq!(faults(pairs, &rounds, |host| host), [""; 0]);
}

#[test]
fn the_work_of_a_thousand_hosts_in_ten_zones_is_bounded() {
    let pairs = between(10, 100);
    let (rounds, steps) = colouring::rounds(&pairs);
    let each = steps / pairs.pairs().len() as u64;
    assert!(each < 60, "{each} steps a pair");
    assert!(rounds.len() <= 901);
}

fn any_pairs(hosts: usize) -> impl Strategy<Value = PairList> {
    let one = (0..hosts, 0..hosts).prop_filter("two hosts", |(one, other)| one != other);
    proptest::collection::vec(one, 0..hosts * hosts / 2).prop_map(move |drawn| {
        let mut seen = BTreeSet::new();
        list(hosts, drawn.into_iter().filter(|&(first, second)| seen.insert(pair(first, second).undirected())))
    })
}

/// Lists over a few hosts, dense and sparse, with the machine of each host.
fn any_lab() -> impl Strategy<Value = (PairList, Vec<usize>)> {
    (2_usize..24, 1_usize..24)
        .prop_flat_map(|(hosts, machines)| (any_pairs(hosts), proptest::collection::vec(0..machines, hosts)))
}

fn bipartite() -> impl Strategy<Value = PairList> {
    proptest::collection::vec(proptest::bool::weighted(0.6), 12 * 9).prop_map(|there| {
        let all = (0..12).flat_map(|one| (12..21).map(move |other| (one, other)));
        list(21, all.zip(there).filter(|(_, there)| *there).map(|(ends, _)| ends))
    })
}

proptest! {
    #[test]
    fn of_any_list_every_pair_comes_once_and_no_host_twice_in_a_round((pairs, _) in any_lab()) {
        let rounds = of(&pairs, &alone(&pairs), AtOnce::Rounds);
        prop_assert_eq!(faults(&pairs, &rounds, |host| host), Vec::<String>::new());
        prop_assert!(rounds.len() <= most(&pairs) + 1);
    }

    #[test]
    fn of_any_two_sides_likewise(pairs in bipartite()) {
        let rounds = of(&pairs, &alone(&pairs), AtOnce::Rounds);
        prop_assert_eq!(faults(&pairs, &rounds, |host| host), Vec::<String>::new());
        prop_assert!(rounds.len() <= most(&pairs) + 1);
    }

    #[test]
    fn no_machine_is_twice_in_a_round_unless_asked((pairs, machines) in any_lab()) {
        let rounds = of(&pairs, &machines, AtOnce::Rounds);
        prop_assert_eq!(faults(&pairs, &rounds, |host| machines[host]), Vec::<String>::new());
        let sharing = of(&pairs, &machines, AtOnce::Sharing);
        prop_assert_eq!(faults(&pairs, &sharing, |host| host), Vec::<String>::new());
        prop_assert!(sharing.len() <= most(&pairs) + 1);
        prop_assert!(sharing.len() <= rounds.len());
        let one = of(&pairs, &machines, AtOnce::One);
        prop_assert_eq!(one.len(), pairs.pairs().len());
    }
}

#[test]
fn one_machine_measures_one_pair_at_a_time() {
    let pairs = mesh(60);
    let rounds = of(&pairs, &[3; 60], AtOnce::Rounds);
    assert_eq!(rounds.len(), 60 * 59 / 2);
    assert!(rounds.iter().all(|round| round.len() == 1));
}

#[test]
fn machines_that_share_nothing_measure_beside_each_other() {
    // Two pairs within either of two machines: two rounds do, though the circle method has the four pairs in one.
    let pairs = list(8, [(0, 1), (2, 3), (4, 5), (6, 7)]);
    let rounds = of(&pairs, &[0, 0, 0, 0, 1, 1, 1, 1], AtOnce::Rounds);
    assert_eq!(rounds.len(), 2);
    assert!(rounds.iter().all(|round| round.len() == 2));
}

#[test]
fn a_host_whose_machine_is_not_told_has_its_own() {
    let pairs = list(4, [(0, 1), (2, 3)]);
    assert_eq!(of(&pairs, &[0, 0], AtOnce::Rounds).len(), 1);
}

fn plan(hosts: usize) -> Plan {
    let host = |at: usize| logbook::host::Host {
        name: format!("h{at}"),
        reach: logbook::host::Reach::Local,
        internal: Some([10, 0, 0, at as u8].into()),
        external: at.is_multiple_of(2).then(|| [192, 0, 2, at as u8].into()),
        labels: std::collections::BTreeMap::new(),
        machine: None,
    };
    let method = |name: &str| PlannedMethod { name: name.to_owned(), command: "rtt".to_owned() };
    Plan {
        hosts: (0..hosts).map(host).collect(),
        addresses: Addresses::Both,
        methods: vec![method("one"), method("other")],
        repeats: 3,
        ..Plan::default()
    }
}

#[test]
fn each_repeat_has_everything_once_in_an_order_of_its_own() {
    let plan = plan(9);
    let pairs = mesh(9);
    let rounds = of(&pairs, &alone(&pairs), AtOnce::Rounds);
    let tasks = |seed, number| -> Vec<Task> {
        repeat(&plan, &rounds, seed, number).flatten().flat_map(|turn| turn.tasks).collect()
    };
    let sorted = |mut tasks: Vec<Task>| {
        tasks.sort_unstable();
        tasks
    };
    // 40 of 72 directions lead to one of the five hosts with an external address; two methods over each.
    assert_eq!(tasks(1, 0).len(), 2 * (72 + 40));
    assert_eq!(sorted(tasks(1, 0)).windows(2).filter(|tasks| tasks[0] == tasks[1]).count(), 0);
    assert_eq!(sorted(tasks(1, 0)), sorted(tasks(2, 7)));
    assert_eq!(tasks(1, 2), tasks(1, 2), "the seed decides");
    assert_ne!(tasks(1, 0), tasks(1, 1));
    assert_ne!(tasks(1, 0), tasks(2, 0));
}

#[test]
fn as_listed_is_the_same_each_time() {
    let plan =
        Plan { order: Order::Listed, directions: Directions::Forward, addresses: Addresses::External, ..plan(3) };
    let rounds = of(&mesh(3), &[0, 0, 0], AtOnce::One);
    let turns: Vec<Turn> = repeat(&plan, &rounds, 5, 1).flatten().collect();
    assert_eq!(turns.iter().map(|turn| turn.pair).collect::<Vec<_>>(), [pair(0, 1), pair(0, 2), pair(1, 2)]);
    // h1 has no external address, so nothing leads there.
    let to: Vec<_> =
        turns.iter().map(|turn| turn.tasks.iter().map(|task| (task.to, task.method)).collect::<Vec<_>>()).collect();
    assert_eq!(to, [vec![], vec![(2, 0), (2, 1)], vec![(2, 0), (2, 1)]]);
}

#[test]
fn all_at_once_are_one_round() {
    let star = list(4, [(0, 1), (2, 0), (3, 0)]);
    assert_eq!(of(&star, &[0, 0, 0, 0], AtOnce::All), [star.pairs().to_vec()]);
    assert!(of(&list(4, []), &[0, 1, 2, 3], AtOnce::All).is_empty());
}
