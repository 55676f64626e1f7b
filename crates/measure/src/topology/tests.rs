//! Load and pairs of each rule, for any hosts.

use proptest::prelude::*;

use super::*;

fn hosts(count: usize, zones: usize) -> Vec<Host> {
    (0..count).map(|k| Host { name: format!("h{k}"), zone: Some(format!("z{}", k % zones)), machine: None }).collect()
}

fn named(hosts: &[Host], pairs: &[(HostId, HostId)]) -> BTreeSet<(String, String)> {
    let name = |host: HostId| hosts[host as usize].name.clone();
    pairs.iter().map(|(from, to)| (name(*from), name(*to))).collect()
}

proptest! {
    #[test]
    fn random_partners_are_as_many_as_asked_and_nobody_is_forgotten(
        count in 2_usize..60, partners in 1_usize..12, seed: u64, epoch in 0_u64..1_000_000,
    ) {
        let pairs = Topology::Random { partners }.pairs(&hosts(count, 3), seed, epoch);
        let degree = partners.min(count - 1);
        for host in 0..count as HostId {
            prop_assert_eq!(pairs.iter().filter(|pair| pair.0 == host).count(), degree, "out of {}", host);
        }
        prop_assert!(pairs.iter().all(|(from, to)| from != to));
        // Circles and distances ask each host as often as it asks; only pairs met twice are made up for elsewhere.
        let most = (0..count as HostId).map(|host| pairs.iter().filter(|pair| pair.1 == host).count()).max();
        prop_assert!(most.unwrap() <= 2 * degree + 2, "{:?} in, {} out", most, degree);
    }

    #[test]
    fn all_pairs_have_their_turn_in_the_epochs_that_are_named(
        count in 2_usize..40, partners in 1_usize..9, seed: u64, from in 0_u64..1_000_000,
    ) {
        let hosts = hosts(count, 2);
        for topology in [Topology::Random { partners }, Topology::Rotation, Topology::All] {
            let epochs = topology.epochs_to_cover(count).unwrap();
            let seen: BTreeSet<_> = (from..from + epochs).flat_map(|epoch| topology.pairs(&hosts, seed, epoch)).collect();
            prop_assert_eq!(seen.len(), count * (count - 1), "{:?}", topology);
        }
    }

    #[test]
    fn a_host_that_leaves_disturbs_only_those_that_had_it(
        count in 4_usize..50, partners in 1_usize..6, seed: u64, leaves in 0_usize..50,
    ) {
        let before = hosts(count, 1);
        let gone = before[leaves % count].name.clone();
        let after: Vec<Host> = before.iter().filter(|host| host.name != gone).cloned().collect();
        let staying = |hosts: &[Host]| {
            let all: Vec<HostId> = (0..hosts.len() as HostId).collect();
            let draw = Draw { hosts, seed, epoch: 0 };
            named(hosts, &draw.staying(&all, partners, |_, _| true).into_iter().collect::<Vec<_>>())
        };
        let (before, after) = (staying(&before), staying(&after));
        let had: BTreeSet<_> = before.iter().filter(|pair| pair.1 == gone).map(|pair| pair.0.clone()).collect();
        let kept = |pairs: &BTreeSet<(String, String)>| -> BTreeSet<_> {
            pairs.iter().filter(|pair| pair.0 != gone && !had.contains(&pair.0)).cloned().collect()
        };
        prop_assert_eq!(kept(&before), kept(&after));
    }

    #[test]
    fn the_order_of_the_list_is_of_no_matter(count in 2_usize..40, seed: u64, epoch in 0_u64..9_999) {
        let straight = hosts(count, 3);
        let turned: Vec<Host> = straight.iter().rev().cloned().collect();
        for topology in [Topology::ZONES, Topology::Random { partners: 5 }, Topology::Rotation] {
            prop_assert_eq!(
                named(&straight, &topology.pairs(&straight, seed, epoch)),
                named(&turned, &topology.pairs(&turned, seed, epoch))
            );
        }
    }
}

#[test]
fn zones_are_whole_within_and_represented_between() {
    let hosts = hosts(60, 3);
    let pairs = Topology::Zones { within: 8, representatives: 3, across: 0 }.pairs(&hosts, 7, 0);
    let zone = |host: HostId| host % 3;
    let within = pairs.iter().filter(|(from, to)| zone(*from) == zone(*to)).count();
    assert_eq!(within, 60 * 19);
    for (from, to) in complete_indices(3) {
        let between: Vec<_> =
            pairs.iter().filter(|pair| (zone(pair.0), zone(pair.1)) == (from as u32, to as u32)).collect();
        assert_eq!(between.len(), 3);
        assert_eq!(between.iter().map(|pair| pair.0).collect::<BTreeSet<_>>().len(), 3, "three different hosts");
    }
}

#[test]
fn a_large_zone_is_thinned_and_a_thousand_hosts_have_about_sixteen_cells_each() {
    let hosts = hosts(1_000, 10);
    let pairs = Topology::ZONES.pairs(&hosts, 1, 5);
    assert!((12_000..17_000).contains(&pairs.len()), "{}", pairs.len());
    for host in 0..1_000 {
        assert!(pairs.iter().filter(|pair| pair.0 == host).count() >= 12);
    }
}

#[test]
fn one_host_or_none_has_no_pairs() {
    for topology in [Topology::All, Topology::ZONES, Topology::Random { partners: 4 }, Topology::Rotation] {
        assert!(topology.pairs(&hosts(1, 1), 1, 1).is_empty());
        assert!(topology.pairs(&[], 1, 1).is_empty());
        assert!(topology.epoch_seconds(0) > 0);
    }
}

#[test]
fn an_outlook_says_what_a_plan_costs_and_sees() {
    let second = Nanos::secs(1);
    let all = Outlook::of(Topology::All, &hosts(100, 4), 1, 1, second, second);
    assert_eq!((all.cells, all.per_second, all.most_sent_per_second), (9_900, 9_900.0, 99.0));
    assert_eq!((all.covered, all.unprobed, all.cover_seconds), (Some(1.0), 0, Some(3_600)));
    let few = Outlook::of(Topology::Random { partners: 8 }, &hosts(100, 4), 1, 1, second, second);
    assert_eq!((few.cells, few.unprobed, few.cover_seconds), (800, 0, Some(25 * 3_600)));
    // Silence does not wait for more requests than three in a row; loss is sooner seen by many.
    assert_eq!(few.silence_seconds, 5.0);
    assert!(all.loss_seconds.unwrap() < 60.0 && few.loss_seconds.unwrap() > all.loss_seconds.unwrap());
    let none = Outlook::of(Topology::Random { partners: 0 }, &hosts(9, 1), 1, 1, second, second);
    assert_eq!((none.cells, none.unprobed, none.loss_seconds, none.cover_seconds), (0, 9, None, None));
}
