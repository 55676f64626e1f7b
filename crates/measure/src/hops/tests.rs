//! Judgement of worlds that are known: routers, their answers, and losses between them.

use fastrand::Rng;
use test_case::test_case;

use super::*;
use crate::outcome::hops::Parting;

const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 9, 9, 9));
const MANNER: Manner = Manner { protocol: Probing::Tcp, rounds: 5, max_hops: 32, timeout: Nanos::millis(900) };

fn router(place: u8, which: u8) -> IpAddr {
    IpAddr::from([10, 0, place, which])
}

fn answer(from: IpAddr, says: Says) -> Answer {
    Answer { from, says, time: Nanos::micros(50), stamped: true, ttl: Some(64) }
}

/// Five rounds over `hops` hops, the last one the peer; `meets` says who answers this flow's probe with this TTL, if anybody.
fn walk(flow: u32, hops: u8, mut meets: impl FnMut(u8) -> Option<IpAddr>) -> Walk {
    let mut walk = Walk { flow, ..Walk::default() };
    for _ in 0..MANNER.rounds {
        for ttl in 1..=hops {
            let says = if ttl == hops { Says::Reached } else { Says::Passed };
            walk.probes.push(Probe { ttl, answer: meets(ttl).map(|from| answer(from, says)) });
        }
    }
    walk
}

fn seen(hops: &Hops, side: usize) -> Vec<Option<IpAddr>> {
    hops.sides[side].hops.iter().map(|hop| hop.addresses.first().map(|answering| answering.address)).collect()
}

/// Three routers in a row, of which the second has two next hops; `odd` flows take the other one.
fn two_ways(flow: u32, ttl: u8) -> Option<IpAddr> {
    match ttl {
        0 => None,
        4 => Some(PEER),
        3 => Some(router(3, (flow % 2) as u8)),
        _ => Some(router(ttl, 0)),
    }
}

#[test]
fn a_few_of_each_group_are_traced_and_of_one_group_eight() {
    let (one, other): (Vec<u32>, Vec<u32>) = (0..64).partition(|flow| flow % 3 > 0);
    let chosen = choose(&[&one, &other], 64);
    assert_eq!(chosen.len(), 8);
    assert_eq!(chosen.iter().filter(|flow| other.contains(flow)).count(), 4);
    assert_eq!(choose(&[], 3), [0, 1, 2]);
    assert_eq!(choose(&[&one], 64), [0, 8, 16, 24, 32, 40, 48, 56]);
}

#[test]
fn groups_part_where_no_address_answers_both() {
    let walks: Vec<Walk> = (0..8).map(|flow| walk(flow, 4, |ttl| two_ways(flow, ttl))).collect();
    let hops = judge(walks, &[&[0, 2, 4, 6], &[1, 3, 5, 7]], PEER, MANNER);
    assert_eq!(hops.sides.len(), 2);
    assert_eq!(hops.sides[1].parting, Some(Parting { first_apart: Some(3), last_common: 2, gaps: false }));
    assert!(hops.each.iter().all(|flow| flow.reached == Some(4) && !flow.circles));
    assert_eq!(seen(&hops, 1), [Some(router(1, 0)), Some(router(2, 0)), Some(router(3, 1)), Some(PEER)]);
}

#[test]
fn ways_of_equal_times_are_found_by_their_addresses() {
    let walks: Vec<Walk> = (0..8).map(|flow| walk(flow, 4, |ttl| two_ways(flow, ttl))).collect();
    let hops = judge(walks, &[&[0, 1, 2, 3, 4, 5, 6, 7]], PEER, MANNER);
    let flows: Vec<&[u32]> = hops.sides.iter().map(|side| &side.flows[..]).collect();
    assert_eq!(flows, [&[0, 2, 4, 6], &[1, 3, 5, 7]]);
    let ways: Vec<Option<u32>> = hops.sides.iter().map(|side| side.way).collect();
    assert_eq!(ways, [Some(0), Some(1)]);
}

#[test]
fn a_flow_without_an_answer_where_ways_differ_is_of_none() {
    let mut walks: Vec<Walk> = (0..8).map(|flow| walk(flow, 4, |ttl| two_ways(flow, ttl))).collect();
    walks[0] = walk(0, 4, |ttl| two_ways(0, ttl).filter(|_| ttl != 3));
    let hops = judge(walks, &[], PEER, MANNER);
    let unsettled = &hops.sides[2];
    assert_eq!((hops.sides.len(), unsettled.way, &unsettled.flows[..]), (3, None, &[0][..]));
}

/// Two groups by time, whose flows take either way: the groups' difference is not that of the ways.
#[test]
fn ways_within_groups_stand_apart() {
    let walks: Vec<Walk> = (0..8).map(|flow| walk(flow, 4, |ttl| two_ways(flow, ttl))).collect();
    let hops = judge(walks, &[&[0, 1, 2, 3], &[4, 5, 6, 7]], PEER, MANNER);
    let sides: Vec<_> = hops.sides.iter().map(|side| (side.group, side.way, &side.flows[..])).collect();
    let expected: [(_, _, &[u32]); 4] = [
        (Some(0), Some(0), &[0, 2]),
        (Some(0), Some(1), &[1, 3]),
        (Some(1), Some(0), &[4, 6]),
        (Some(1), Some(1), &[5, 7]),
    ];
    assert_eq!(sides, expected);
    let apart: Vec<Option<u8>> =
        hops.sides.iter().filter_map(|side| side.parting.map(|parting| parting.first_apart)).collect();
    assert_eq!(apart, [Some(3), None, Some(3)]);
}

/// A limit leaves each flow one answer where the ways differ: flows alone tell nothing then, groups do.
#[test]
fn few_answers_tell_ways_of_groups_apart() {
    let mut asked = [0; 12];
    let walks: Vec<Walk> = (0..12)
        .map(|flow| {
            walk(flow, 4, |ttl| {
                asked[flow as usize] += u32::from(ttl == 3);
                two_ways(flow, ttl).filter(|_| ttl != 3 || asked[flow as usize] == 1)
            })
        })
        .collect();
    assert_eq!(judge(walks.clone(), &[], PEER, MANNER).sides.len(), 1);
    let hops = judge(walks, &[&[0, 2, 4, 6, 8, 10], &[1, 3, 5, 7, 9, 11]], PEER, MANNER);
    let apart = hops.sides[1].parting.and_then(|parting| parting.first_apart);
    assert_eq!((hops.sides.len(), apart), (2, Some(3)));
}

/// The second router says nothing: the choice is its own, or that of the one before.
#[test]
fn behind_a_silent_hop_it_is_not_established_where_ways_part() {
    let meets = |flow: u32, ttl: u8| two_ways(flow, ttl).filter(|_| ttl != 2);
    let walks: Vec<Walk> = (0..8).map(|flow| walk(flow, 4, |ttl| meets(flow, ttl))).collect();
    let hops = judge(walks, &[&[0, 2, 4, 6], &[1, 3, 5, 7]], PEER, MANNER);
    assert_eq!(hops.sides[1].parting, Some(Parting { first_apart: Some(3), last_common: 1, gaps: true }));
    assert_eq!((hops.sides[0].hops[1].answered, hops.sides[0].hops[1].lost), (0, None));
}

#[test]
fn a_way_without_an_answer_has_no_hops_in_common_and_none_apart() {
    let mut walks: Vec<Walk> = (0..4).map(|flow| walk(flow, 4, |ttl| two_ways(0, ttl))).collect();
    walks.extend((4..8).map(|flow| walk(flow, 4, |_| None)));
    let hops = judge(walks, &[&[0, 1, 2, 3], &[4, 5, 6, 7]], PEER, MANNER);
    assert_eq!(hops.sides[1].parting, Some(Parting { first_apart: None, last_common: 0, gaps: true }));
}

/// A second hop that deals packets out one by one to two routers.
#[test]
fn balancing_by_packet_is_not_told_as_ways() {
    let mut told = 0;
    let mut random = Rng::with_seed(7);
    for _ in 0..1_000 {
        // Few answers come of some flows, as behind a limit.
        let share = random.f64();
        let walks: Vec<Walk> = (0..8)
            .map(|flow| {
                walk(flow, 3, |ttl| match ttl {
                    3 => Some(PEER),
                    2 => (random.f64() < share).then(|| router(2, random.u8(0..2))),
                    _ => Some(router(ttl, 0)),
                })
            })
            .collect();
        told += usize::from(judge(walks, &[], PEER, MANNER).sides.len() > 1);
    }
    assert!(told <= 20, "{told} of 1000");
    let walks = vec![walk(0, 3, |ttl| if ttl == 2 { Some(router(2, random.u8(0..2))) } else { two_ways(0, ttl) })];
    assert!(judge(walks, &[], PEER, MANNER).each[0].hops[1].per_packet);
}

#[test]
fn a_route_that_moves_once_is_not_balancing() {
    let mut asked = 0;
    let meets = |ttl: u8| {
        asked += u32::from(ttl == 2);
        Some(if ttl == 2 { router(2, u8::from(asked > 3)) } else { router(ttl, 0) })
    };
    let hop = &judge(vec![walk(0, 3, meets)], &[], PEER, MANNER).each[0].hops[1];
    assert_eq!((hop.addresses.len(), hop.per_packet), (2, false));
}

#[test]
fn a_way_in_a_circle_is_told() {
    let meets = |ttl: u8| Some(router(ttl % 2, 0));
    let mut walk = walk(0, 32, meets);
    for answer in walk.probes.iter_mut().filter_map(|probe| probe.answer.as_mut()) {
        answer.says = Says::Passed;
    }
    let hops = judge(vec![walk], &[], PEER, MANNER);
    assert_eq!((hops.each[0].circles, hops.each[0].reached), (true, None));
}

#[test]
fn what_was_sent_beyond_the_peer_is_no_hop() {
    let mut walk = walk(0, 3, |ttl| if ttl == 3 { Some(PEER) } else { Some(router(ttl, 0)) });
    walk.probes[2].answer = None;
    walk.probes.insert(3, Probe { ttl: 4, answer: Some(answer(PEER, Says::Reached)) });
    let flow = &judge(vec![walk], &[], PEER, MANNER).each[0];
    assert_eq!((flow.hops.len(), flow.hops[2].sent, flow.hops[2].answered), (3, 5, 4));
}

#[test]
fn answers_that_come_back_with_different_ttls_took_ways_of_different_length() {
    let mut walks: Vec<Walk> = (0..2).map(|flow| walk(flow, 3, |ttl| two_ways(0, ttl))).collect();
    for answer in walks[1].probes.iter_mut().filter(|probe| probe.ttl == 2).filter_map(|probe| probe.answer.as_mut()) {
        answer.ttl = Some(61);
    }
    let returns = judge(walks, &[], PEER, MANNER).returns;
    assert_eq!(returns, [Returns { address: router(2, 0), reply_ttls: vec![61, 64] }]);
}

/// Worlds of eight flows over three hops. `limited`: share of answers that a limiting hop 1 gives; `lossy`: the hop from which on packets are
/// lost, and how many.
fn losses(limited: f64, lossy: Option<(u8, f64)>) -> [usize; 3] {
    let mut random = Rng::with_seed(11);
    let mut told = [0; 3];
    for _ in 0..500 {
        let walks: Vec<Walk> = (0..8)
            .map(|flow| {
                walk(flow, 3, |ttl| {
                    let lost = lossy.is_some_and(|(from, share)| ttl >= from && random.f64() < share);
                    let kept = ttl == 1 && random.f64() >= limited;
                    (!lost && !kept).then(|| if ttl == 3 { PEER } else { router(ttl, 0) })
                })
            })
            .collect();
        let hops = judge(walks, &[], PEER, MANNER);
        for (count, hop) in told.iter_mut().zip(&hops.sides[0].hops) {
            *count += usize::from(hop.lost.is_some());
        }
    }
    told
}

#[test_case(0.3; "that answers a third")]
#[test_case(0.9; "that mostly answers")]
#[test_case(0.0; "that is silent")]
fn a_hop_that_limits_its_answers_loses_nothing(limited: f64) {
    assert_eq!(losses(limited, None), [0; 3]);
}

#[test]
fn loss_is_told_from_its_hop_on() {
    let told = losses(1.0, Some((2, 0.3)));
    assert_eq!(told[0], 0, "before it nothing is lost");
    // A hop loses as much as a later one by chance less often than not: more may be told at the peer than at the hop itself.
    assert!(told[1] > 400 && told[2] > 490, "{told:?}");
}

/// A hop that answers one in four before a loss of a tenth: more is missing at the hop than behind it.
#[test]
fn a_limit_before_a_loss_is_not_told_as_one() {
    let told = losses(0.25, Some((3, 0.1)));
    assert_eq!(told[0], 0);
    assert!(told[2] > 250, "{told:?}");
}

#[test]
fn beside_a_peer_that_limits_its_errors_no_loss_is_told() {
    let mut walk = walk(0, 2, |ttl| if ttl == 2 { Some(PEER) } else { None });
    for (place, probe) in walk.probes.iter_mut().enumerate() {
        probe.answer =
            probe.answer.filter(|_| place < 3).map(|answer| Answer { says: Says::Unreachable(3, 3), ..answer });
    }
    let hops = judge(vec![walk], &[], PEER, MANNER);
    assert!(hops.sides[0].hops.iter().all(|hop| hop.lost.is_none()));
    assert_eq!(hops.each[0].reached, Some(2));
}
