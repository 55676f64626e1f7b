//! Worlds whose groups are known: noise with a heavy tail, spikes, and a drift that all flows share.

use fastrand::Rng;

use super::*;
use crate::statistics::simulated::normal;
use test_case::test_case;

const LEAST: Least = Least { time_ns: 2_000.0, share: 0.05 };

/// Groups of `rounds` without further facts.
fn groups(rounds: &[Round], least: Least, seed: u64) -> Groups {
    super::groups(rounds, least, LEFT_OUT, seed, |_| None)
}

/// Rounds of flows whose times are `base` and their own shift, with noise of a heavy tail, spikes, and a drift that all of a round share.
/// Units of nanoseconds; the interquartile range of the noise is about 5 µs.
fn world(rng: &mut Rng, shifts: &[f64], rounds: usize) -> Vec<Round> {
    let mut drift = 0.0;
    let draw = |rng: &mut Rng| 4_300.0 * (0.8 * normal(rng)).exp() * if rng.u32(0..50) == 0 { 20.0 } else { 1.0 };
    (0..rounds)
        .map(|_| {
            drift = 0.8 * drift + 6_000.0 * normal(rng);
            shifts.iter().map(|shift| Some(100_000.0 + drift + shift + draw(rng))).collect()
        })
        .collect()
}

fn sizes(found: &Groups) -> Vec<usize> {
    found.groups.iter().map(|group| group.flows.len()).collect()
}

/// Returns true where flow n of world `shifts` is in the group of its shift, with as many groups as there are shifts.
fn is_exact(found: &Groups, shifts: &[f64]) -> bool {
    let mut levels = shifts.to_vec();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    found.groups.len() == levels.len()
        && found
            .groups
            .iter()
            .zip(&levels)
            .all(|(group, level)| group.flows.iter().all(|flow| shifts[*flow as usize] == *level))
}

fn members(rng: &mut Rng, flows: usize, levels: &[f64]) -> Vec<f64> {
    let mut shifts: Vec<f64> = (0..flows).map(|flow| levels[flow % levels.len()]).collect();
    rng.shuffle(&mut shifts);
    shifts
}

#[test]
fn flows_that_do_not_differ_are_one_group() {
    let mut rng = Rng::with_seed(1);
    for (flows, rounds) in [(8, 6), (16, 30), (64, 24)] {
        let split =
            (0..100).filter(|seed| groups(&world(&mut rng, &vec![0.0; flows], rounds), LEAST, *seed).groups.len() > 1);
        let split = split.count();
        assert!(split <= 5, "{split} of 100 with {flows} flows and {rounds} rounds");
    }
}

#[test]
fn offsets_that_do_not_matter_are_one_group_however_sure_they_are() {
    let mut rng = Rng::with_seed(2);
    let split = (0..50).filter(|seed| {
        let shifts: Vec<f64> = (0..16).map(|_| 1_000.0 * normal(&mut rng)).collect();
        groups(&world(&mut rng, &shifts, 60), LEAST, *seed).groups.len() > 1
    });
    assert_eq!(split.count(), 0);
}

#[test]
fn two_four_and_eight_groups_are_found_with_every_flow_in_its_own() {
    let mut rng = Rng::with_seed(3);
    for (levels, flows) in [(2, 16), (4, 32), (8, 64)] {
        let levels: Vec<f64> = (0..levels).map(|level| f64::from(level) * 20_000.0).collect();
        let exact = (0..20).filter(|seed| {
            let shifts = members(&mut rng, flows, &levels);
            is_exact(&groups(&world(&mut rng, &shifts, 60), LEAST, *seed), &shifts)
        });
        let exact = exact.count();
        assert!(exact >= 19, "{exact} of 20 with {} levels", levels.len());
    }
}

#[test]
fn the_few_rounds_of_a_first_look_show_a_path_that_is_much_longer() {
    let mut rng = Rng::with_seed(4);
    let shown = (0..100).filter(|seed| {
        let shifts = members(&mut rng, 8, &[0.0, 300_000.0]);
        is_exact(&groups(&world(&mut rng, &shifts, 6), LEAST, *seed), &shifts)
    });
    let shown = shown.count();
    assert!(shown >= 70, "{shown} of 100");
}

#[test]
fn a_shift_is_told_with_its_size_and_of_the_slower_group() {
    let mut rng = Rng::with_seed(5);
    let shifts = [0.0, 300_000.0, 0.0, 0.0, 300_000.0, 0.0, 300_000.0, 300_000.0];
    let found = groups(&world(&mut rng, &shifts, 30), LEAST, 1);
    assert_eq!(found.groups[0].flows, [0, 2, 3, 5]);
    assert_eq!(found.groups[1].flows, [1, 4, 6, 7]);
    assert_eq!(found.groups[0].shift, None);
    let shift = found.groups[1].shift.unwrap();
    assert!(shift.low.unwrap() <= 300_000.0 && 300_000.0 <= shift.high.unwrap(), "{shift:?}");
    assert!((290_000.0..310_000.0).contains(&shift.value), "{shift:?}");
}

#[test]
fn what_was_not_answered_is_left_out() {
    let mut rng = Rng::with_seed(6);
    let mut rounds = world(&mut rng, &[0.0, 300_000.0, 0.0, 300_000.0, 0.0], 40);
    for (number, round) in rounds.iter_mut().enumerate() {
        round[number % 4] = None;
        round[4] = None;
    }
    let found = groups(&rounds, LEAST, 1);
    assert_eq!(sizes(&found), [2, 2], "the one that never answered is in none: {found:?}");
}

#[test]
fn nothing_and_one_flow_are_no_groups_and_one() {
    assert_eq!(groups(&[], LEAST, 1), Groups { groups: Vec::new(), least_ns: LEAST.time_ns });
    let silent = vec![vec![None, None]; 10];
    assert!(groups(&silent, LEAST, 1).groups.is_empty());
    let one = groups(&vec![vec![Some(50_000.0)]; 10], LEAST, 1);
    assert_eq!((sizes(&one), one.least_ns), (vec![1], 2_500.0));
    let equal = groups(&vec![vec![Some(50_000.0); 4]; 10], LEAST, 1);
    assert_eq!(sizes(&equal), [4]);
}

/// Two connections that always have the last turns of a round, and a host that stands still in the middle of some rounds: most rounds
/// show no difference that matters.
#[test]
fn a_host_that_stands_still_for_some_rounds_makes_no_groups() {
    let mut rng = Rng::with_seed(7);
    let rounds: Vec<Round> = (0..24)
        .map(|round| {
            let held = |flow: u32| if flow >= 6 && round % 5 < 2 { 4_000_000.0 } else { 0.0 };
            let later = |flow: u32| if flow >= 6 { 300.0 } else { 0.0 };
            (0..8).map(|flow| Some(16_000.0 + later(flow) + held(flow) + 200.0 * rng.f64())).collect()
        })
        .collect();
    let found = groups(&rounds, LEAST, 1);
    assert_eq!(sizes(&found), [8]);
    let time = found.groups[0].time.unwrap();
    assert!((16_000.0..17_000.0).contains(&time.value) && time.high.unwrap() < 17_000.0, "{time:?}");
}

#[test]
fn parts_that_differ_in_few_of_their_exchanges_are_not_cut() {
    let mut rng = Rng::with_seed(8);
    let rounds = world(&mut rng, &[0.0, 300_000.0, 0.0, 300_000.0], 30);
    let found = |by: f64| {
        let typical = |flow: u32| Some(100_000.0 + f64::from(flow % 2) * by);
        sizes(&super::groups(&rounds, LEAST, LEFT_OUT, 1, typical))
    };
    assert_eq!((found(140_000.0), found(160_000.0)), (vec![4], vec![2, 2]));
}

/// Rounds of flows that a router sends by one of two paths, drawn anew for each flow after so many rounds.
fn redrawn(rng: &mut Rng, flows: usize, rounds: usize, each: usize) -> Vec<Round> {
    let draws: Vec<Vec<f64>> =
        (0..rounds.div_ceil(each)).map(|_| (0..flows).map(|_| f64::from(rng.u8(0..2)) * 2e6).collect()).collect();
    (0..rounds).flat_map(|round| world(rng, &draws[round / each], 1)).collect()
}

#[test]
fn flows_that_move_are_told_from_flows_that_stay() {
    let mut rng = Rng::with_seed(7);
    let several = |moved: &[u32]| 8 * moved.len() >= 16;
    let found = (0..100).filter(|_| several(&moved(&redrawn(&mut rng, 16, 60, 15), 5_000.0))).count();
    assert!(found >= 89, "{found} of 100 that are redrawn");
    let stay = (0..200).filter(|_| {
        let shifts = members(&mut rng, 16, &[0.0, 20_000.0]);
        !moved(&world(&mut rng, &shifts, 60), 5_000.0).is_empty()
    });
    assert_eq!(stay.count(), 0);
    // One of sixteen.
    let mut shifts = members(&mut rng, 16, &[0.0, 2e6]);
    let mut rounds = world(&mut rng, &shifts, 30);
    shifts[5] = 2e6 - shifts[5];
    rounds.extend(world(&mut rng, &shifts, 30));
    assert_eq!(moved(&rounds, 5_000.0), [5]);
    assert_eq!(moved(&[], 5_000.0), [0; 0]);
}

/// A router that deals out half of the flows anew, early, in the middle or late.
#[test_case(17; "early")]
#[test_case(30; "in the middle")]
#[test_case(43; "late")]
fn flows_that_move_at_any_time_are_all_told(at: usize) {
    let mut rng = Rng::with_seed(11);
    let mut shifts: Vec<f64> = (0..64).map(|flow| f64::from(flow % 2) * 2e6).collect();
    let mut rounds = world(&mut rng, &shifts, at);
    for flow in (0..64).step_by(4) {
        shifts[flow] = 2e6 - shifts[flow];
        shifts[flow + 1] = 2e6 - shifts[flow + 1];
    }
    rounds.extend(world(&mut rng, &shifts, 60 - at));
    let wanted: Vec<u32> = (0..64).filter(|flow| flow % 4 < 2).collect();
    assert_eq!(moved(&rounds, 5_000.0), wanted);
}

/// The longer path becomes that of most.
#[test]
fn flows_that_move_to_the_path_of_most_are_told_too() {
    let mut rng = Rng::with_seed(12);
    let shifts =
        |slow: &dyn Fn(u32) -> bool| (0..64).map(|flow| f64::from(u8::from(slow(flow))) * 2e6).collect::<Vec<_>>();
    let mut rounds = world(&mut rng, &shifts(&|flow| flow >= 39), 20);
    rounds.extend(world(&mut rng, &shifts(&|flow| (14..50).contains(&flow)), 40));
    let found = moved(&rounds, 5_000.0);
    assert!(found.iter().all(|flow| (14..39).contains(flow) || *flow >= 50), "none that stays: {found:?}");
    assert!(found.len() >= 37, "{} of 39: one whose times scatter may be missed", found.len());
}

/// A first cut in two may fall through the middle one of several groups, whose flows lie half way between both parts.
#[test]
fn groups_of_unlike_sizes_are_found_with_every_flow_in_its_own() {
    let mut rng = Rng::with_seed(13);
    let levels: Vec<f64> = (0..8).map(|level| f64::from(level) * 20_000.0).collect();
    let exact = (0..20).filter(|seed| {
        let mut shifts = levels.clone();
        shifts.extend((levels.len()..64).map(|_| levels[rng.usize(..levels.len())]));
        is_exact(&groups(&world(&mut rng, &shifts, 46), LEAST, *seed), &shifts)
    });
    let exact = exact.count();
    assert!(exact >= 19, "{exact} of 20");
}

/// Rounds of ways 120 µs apart beyond 600 µs, each time longer by up to 700 µs, or by some, in `share` of the exchanges: as where others take the
/// processors away from a host, which never makes a time shorter.
fn disturbed(rng: &mut Rng, shifts: &[f64], rounds: usize, share: f64) -> Vec<Round> {
    let draw = |rng: &mut Rng| {
        let held = if rng.f64() < share { 700_000.0 * rng.f64() } else { 0.0 };
        15_000.0 * normal(rng).abs() + held
    };
    (0..rounds).map(|_| shifts.iter().map(|shift| Some(600_000.0 + shift + draw(rng))).collect()).collect()
}

#[test_case(2; "2 ways")]
#[test_case(4; "4 ways")]
#[test_case(8; "8 ways")]
fn groups_are_found_on_a_host_that_others_disturb(ways: u32) {
    let mut rng = Rng::with_seed(14);
    let levels: Vec<f64> = (0..ways).map(|way| f64::from(way) * 120_000.0).collect();
    let exact = (0..20).filter(|seed| {
        let shifts: Vec<f64> = (0..64).map(|_| levels[rng.usize(..levels.len())]).collect();
        is_exact(&groups(&disturbed(&mut rng, &shifts, 45, 0.35), LEAST, *seed), &shifts)
    });
    let exact = exact.count();
    assert!(exact >= 19, "{exact} of 20");
}

/// As where the host is disturbed at most times: the middle of a flow's times says more of the host than of the way.
#[test]
fn groups_are_found_on_a_host_that_others_disturb_at_most_times() {
    let mut rng = Rng::with_seed(17);
    let exact = (0..20).filter(|seed| {
        let shifts = members(&mut rng, 64, &[0.0, 120_000.0]);
        is_exact(&groups(&disturbed(&mut rng, &shifts, 60, 0.6), LEAST, *seed), &shifts)
    });
    let exact = exact.count();
    assert!(exact >= 19, "{exact} of 20");
}

#[test]
fn flows_that_do_not_differ_are_one_group_on_a_host_that_others_disturb() {
    let mut rng = Rng::with_seed(15);
    let split = (0..50).filter(|seed| {
        let rounds = disturbed(&mut rng, &[0.0; 64], 36, 0.4);
        groups(&rounds, LEAST, *seed).groups.len() > 1
    });
    let split = split.count();
    assert!(split <= 2, "{split} of 50");
}

/// One way has a queue at most times, and none at the others: the quarter of its times is that of the other way.
#[test]
fn ways_that_differ_at_most_times_are_told_apart() {
    let mut rng = Rng::with_seed(16);
    let exact = (0..20).filter(|seed| {
        let shifts = members(&mut rng, 32, &[0.0, 1.0]);
        let queue = |rng: &mut Rng, shift: f64| if rng.f64() < 0.7 { 100_000.0 * shift } else { 0.0 };
        let rounds: Vec<Round> = (0..60)
            .map(|_| {
                let time = |shift: &f64| 100_000.0 + queue(&mut rng, *shift) + 3_000.0 * normal(&mut rng);
                shifts.iter().map(time).map(Some).collect()
            })
            .collect();
        is_exact(&groups(&rounds, LEAST, *seed), &shifts)
    });
    let exact = exact.count();
    assert!(exact >= 19, "{exact} of 20");
}

/// A round that is longer for all: flows of few rounds do not stand in another place for it.
#[test]
fn a_flow_is_timed_apart_from_what_its_rounds_are_longer_by() {
    let rounds: Vec<Round> = (0..10)
        .map(|round| {
            let shared = f64::from(round) * 1_000.0;
            vec![Some(100.0 + shared), Some(200.0 + shared), (round >= 5).then_some(150.0 + shared)]
        })
        .collect();
    let times = polished(&rounds, &[0, 1, 2], 0.5, POLISHED);
    let beyond = |flow: u32| at(&times, flow).unwrap() - at(&times, 0).unwrap();
    assert_eq!((beyond(1), beyond(2)), (100.0, 50.0));
}

/// Rounds without noise.
fn still(times: &[f64]) -> Vec<Round> {
    vec![times.iter().map(|time| Some(*time)).collect(); 20]
}

#[test_case(&[&[0, 1, 3], &[2, 4, 5]], &[&[0, 1, 2], &[3, 4, 5]]; "two that changed places")]
#[test_case(&[&[3, 4, 5], &[0, 1, 2]], &[&[0, 1, 2], &[3, 4, 5]]; "sets in any order")]
#[test_case(&[&[0, 1, 2, 3, 4, 5]], &[&[0, 1, 2, 3, 4, 5]]; "one set")]
#[test_case(&[], &[]; "none")]
fn flows_are_placed_by_the_nearest_centre(sets: &[&[u32]], expected: &[&[u32]]) {
    let rounds = still(&[100.0, 101.0, 102.0, 200.0, 201.0, 202.0]);
    let placed = placed(&rounds, &sets.iter().map(|set| set.to_vec()).collect::<Vec<_>>());
    assert_eq!(placed, expected.iter().map(|set| set.to_vec()).collect::<Vec<_>>());
}

#[test_case(100.0, &[&[0, 1, 2], &[3]]; "that differ enough")]
#[test_case(102.0, &[&[0, 1, 2, 3]]; "that do not")]
fn neighbours_are_joined_where_they_do_not_differ_enough(last: f64, expected: &[&[u32]]) {
    let rounds = still(&[50.0, 50.0, 51.0, last]);
    let least_ns = if last > 101.0 { 60.0 } else { 40.0 };
    let joined = joined(&rounds, vec![vec![0, 1], vec![2], vec![3]], least_ns);
    assert_eq!(joined, expected.iter().map(|set| set.to_vec()).collect::<Vec<_>>());
}
