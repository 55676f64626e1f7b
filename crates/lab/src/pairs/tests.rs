//! Choices of pairs: their meaning, the refused ones, and those that are left out and reported.

use logbook::host::Reach;
use logbook::plan::{Addresses, Pairs, PlannedMethod};
use proptest::prelude::*;
use test_case::test_case;

use super::*;

/// A host in a zone; those of the zone `none` have no label.
fn host(name: &str, zone: &str) -> Host {
    let labels = if zone == "none" { BTreeMap::new() } else { [("zone".to_owned(), zone.to_owned())].into() };
    Host {
        name: name.to_owned(),
        reach: Reach::Ssh(logbook::host::Ssh {
            to: name.to_owned(),
            port: None,
            key_file: None,
            options: Vec::new(),
            through: Vec::new(),
        }),
        internal: Some([10, 0, 0, 1].into()),
        external: None,
        labels,
        machine: None,
    }
}

#[test]
fn who_would_measure_itself_is_refused() {
    let mut local = plan(Pairs::All);
    let localhost = &mut local.hosts[2];
    (localhost.reach, localhost.internal) = (Reach::Local, Some([127, 0, 0, 1].into()));
    let refused = of(&local).unwrap_err();
    let expected = NoPairs::Loopback { host: text("c"), address: IpAddr::from([127, 0, 0, 1]), from: text("a") };
    assert_eq!(refused, expected);
    local.directions = Directions::Forward;
    local.pairs = Pairs::OneToAll(text("c"));
    assert!(of(&local).is_ok(), "nothing is measured to it");
    local.directions = Directions::Both;
    local.hosts.iter_mut().for_each(|host| host.reach = Reach::Local);
    assert!(of(&local).is_ok(), "all are this machine");
}

fn plan(pairs: Pairs) -> Plan {
    Plan {
        hosts: vec![host("a", "x"), host("b", "x"), host("c", "y"), host("d", "none")],
        pairs,
        methods: vec![PlannedMethod { name: "rtt".to_owned(), command: "rtt".to_owned() }],
        ..Plan::default()
    }
}

fn text(word: &str) -> String {
    word.to_owned()
}

fn ends(chosen: &Chosen) -> Vec<(usize, usize)> {
    chosen.pairs.pairs().iter().map(|pair| (pair.first, pair.second)).collect()
}

#[test_case(Pairs::All, &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]; "all")]
#[test_case(Pairs::OneToAll(text("c")), &[(2, 0), (2, 1), (2, 3)]; "one to all")]
#[test_case(Pairs::Between(text("zone")), &[(0, 2), (1, 2)]; "between zones")]
#[test_case(Pairs::Within(text("zone")), &[(0, 1)]; "within a zone")]
#[test_case(Pairs::Labels(text("zone=y"), text("zone=x")), &[(2, 0), (2, 1)]; "from a zone to another")]
#[test_case(Pairs::Labels(text("zone=x"), text("zone=x")), &[(0, 1)]; "a label with itself")]
#[test_case(Pairs::Listed(vec![(text("d"), text("a")), (text("b"), text("c"))]), &[(3, 0), (1, 2)]; "listed")]
fn a_choice_means(pairs: Pairs, expected: &[(usize, usize)]) {
    assert_eq!(ends(&of(&plan(pairs)).unwrap()), expected);
}

#[test]
fn hosts_without_the_label_are_said() {
    let chosen = of(&plan(Pairs::Between(text("zone")))).unwrap();
    assert_eq!(
        chosen.left_out.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["d has no label `zone`: it is not part of any pair"]
    );
}

#[test_case(Pairs::OneToAll(text("e1")), "no host is named `e1`"; "unknown")]
#[test_case(Pairs::Listed(vec![]), "the plan selects no pair: its list of pairs is empty"; "empty list")]
#[test_case(Pairs::Listed(vec![(text("a"), text("a"))]), "`a` is paired with itself: a pair needs two hosts; to measure within one host, run `sonde rtt` alone"; "with itself")]
#[test_case(Pairs::Listed(vec![(text("a"), text("b")), (text("b"), text("a"))]), "the pair `b` and `a` is listed twice: list it once; both of its directions are measured unless `directions` says otherwise"; "twice")]
#[test_case(Pairs::Between(text("rack")), "no host has the label `rack`; hosts have `zone`"; "no such label")]
#[test_case(Pairs::Labels(text("zone=x"), text("zone=w")), "no host has the label `zone=w`; hosts have `zone=x`, `zone=y`"; "no such value")]
#[test_case(Pairs::Labels(text("zone"), text("zone=w")), "`zone` is not a label: write `name=value`, for example `zone=us-east1-b`"; "no label")]
#[test_case(Pairs::Labels(text("zone=y"), text("zone=y")), "the plan selects no pair: the one host that has `zone=y` is the one that has `zone=y`"; "one host alone")]
fn a_choice_that_cannot_be(pairs: Pairs, expected: &str) {
    assert_eq!(of(&plan(pairs)).unwrap_err().to_string(), expected);
}

#[test]
fn a_mistyped_name_is_told_from_its_like() {
    let mut plan = plan(Pairs::OneToAll(text("web-10")));
    plan.hosts[2].name = text("web-01");
    plan.hosts[1].name = text("db-1");
    assert_eq!(of(&plan).unwrap_err().to_string(), "no host is named `web-10`; did you mean `web-01`?");
}

#[test]
fn hosts_are_two_at_least_and_of_different_names() {
    let with = |hosts: Vec<Host>| of(&Plan { hosts, ..plan(Pairs::All) }).unwrap_err().to_string();
    assert!(with(Vec::new()).starts_with("a plan needs at least two hosts, and this one has 0"));
    assert!(with(vec![host("a", "x")]).starts_with("a plan needs at least two hosts, and this one has 1"));
    let twice = with(vec![host("a", "x"), host("b", "x"), host("a", "y")]);
    assert_eq!(twice, "two hosts are named `a` (the 1st and the 3rd of the plan): give each host its own name");
    let many = with((0..=MOST_HOSTS).map(|at| host(&at.to_string(), "x")).collect());
    assert!(many.starts_with("the plan has 4097 hosts; the limit is 4096"));
}

#[test]
fn a_host_without_an_address_is_left_out_and_said() {
    let mut external = Plan { addresses: Addresses::External, ..plan(Pairs::All) };
    assert_eq!(of(&external).unwrap_err(), NoPairs::NoAddresses(text("external")));
    external.hosts[1].external = Some([192, 0, 2, 1].into());
    let chosen = of(&external).unwrap();
    assert_eq!(ends(&chosen), [(0, 1), (1, 2), (1, 3)], "each can reach b, and no other");
    let lacks = |name: &str| LeftOut::NoAddress { host: text(name), over: Address::External };
    assert_eq!(chosen.left_out, ["a", "c", "d"].map(lacks));
    assert_eq!(chosen.left_out[0].to_string(), "a has no external address: no measurement to it uses one");
    external.directions = Directions::Forward;
    let chosen = of(&external).unwrap();
    assert_eq!(ends(&chosen), [(0, 1)], "forward, only what leads to b");
    assert_eq!(chosen.left_out, ["c", "d"].map(lacks), "nothing was to lead to a");
}

#[test]
fn hosts_that_share_a_machine_are_found() {
    let mut hosts = plan(Pairs::All).hosts;
    assert_eq!(machines(&hosts, &[]), [0, 1, 2, 3]);
    hosts[1].reach = Reach::Local;
    hosts[3].reach = Reach::Namespace(text("ns"));
    assert_eq!(machines(&hosts, &[]), [0, 1, 2, 1], "namespaces are this machine");
    hosts[0].machine = Some(text("rack-7"));
    hosts[2].machine = Some(text("rack-7"));
    assert_eq!(machines(&hosts, &[]), [0, 1, 0, 1], "as the plan says");
    let kernel = |name: &str| Some(text(name));
    assert_eq!(machines(&hosts, &[None, kernel("k"), kernel("k"), None]), [0, 0, 0, 0], "as their kernels say");
}

#[test]
fn a_list_has_each_pair_once() {
    let pair = |first, second| Pair { first, second };
    assert_eq!(PairList::of(2, vec![pair(0, 2)]), Err(NoPairList::NoPair { pair: pair(0, 2), hosts: 2 }));
    assert_eq!(PairList::of(2, vec![pair(1, 1)]), Err(NoPairList::NoPair { pair: pair(1, 1), hosts: 2 }));
    assert_eq!(PairList::of(2, vec![pair(0, 1), pair(1, 0)]), Err(NoPairList::Twice { pair: pair(1, 0) }));
}

proptest! {
    #[test]
    fn between_and_within_share_out_all_pairs(zones in proptest::collection::vec(0_u8..4, 2..12)) {
        let hosts = || zones.iter().enumerate().map(|(at, zone)| host(&at.to_string(), &zone.to_string())).collect();
        let chosen = |pairs| of(&Plan { hosts: hosts(), ..plan(pairs) }).map(|chosen| ends(&chosen)).unwrap_or_default();
        let mut both = chosen(Pairs::Between(text("zone")));
        both.extend(chosen(Pairs::Within(text("zone"))));
        both.sort_unstable();
        prop_assert_eq!(both, chosen(Pairs::All));
    }

    #[test]
    fn any_name_is_looked_for(name in ".{0,80}") {
        let _ = nearest(["a", "web-01", "", "ü"].into_iter(), &name);
        let missing = of(&plan(Pairs::OneToAll(name.clone())));
        prop_assert_eq!(missing.is_ok(), ["a", "b", "c", "d"].contains(&name.as_str()));
    }
}
