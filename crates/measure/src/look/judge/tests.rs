//! Planted causes, and their absence: times are made here, by a generator that knows nothing of the analysis.

use super::*;
use crate::event::{Exchange, Fate};
use crate::look::Sums;
use crate::look::Timed;
use crate::look::course::Course;
use crate::method::{Asked as Wish, Schedule};
use crate::reach::{PortFinding, Seen};
use crate::schedule::Due;
use crate::unit::Instant;
use fastrand::Rng;
use test_case::test_case;

const ROUND: u64 = 100_000_000;

/// A leg of the first address with these times, nanoseconds, one a round.
pub(in crate::look) fn leg(carrier: Carrier, times: &[u64]) -> Leg {
    with_losses(carrier, &times.iter().map(|time| Some(*time)).collect::<Vec<_>>())
}

pub(in crate::look) fn with_losses(carrier: Carrier, times: &[Option<u64>]) -> Leg {
    let mut course = Course::new(Nanos(ROUND));
    for (round, time) in (0..).zip(times) {
        let due = Instant(round * ROUND + 7);
        let received = time.map(|time| Instant(due.0 + time));
        let fate = if time.is_some() { Fate::Answered } else { Fate::Lost };
        course.take(
            &Exchange { flow: 0, seq: round, intended: Some(due), sent: Some(due), received, fate, details: None },
            0,
        );
    }
    let program = matches!(carrier, Carrier::Tcp | Carrier::Udp);
    let exchanges: Vec<Timed> = course.exchanges();
    Leg {
        address: 0,
        carrier,
        who: if program { Who::Program { service: Service::Netserver } } else { Who::Kernel },
        port: (carrier != Carrier::Icmp).then_some(12_865),
        method: Some(Box::new(Wish { carrier: Some(carrier), ..Wish::default() }.resolve().unwrap())),
        trouble: None,
        sums: course.sums(),
        peer_ns: None,
        ttl: None,
        reply: None,
        dark: None,
        exchanges,
    }
}

/// Round trips of a host: a level that wanders from round to round for all legs alike, a body with a long tail for each.
struct Host {
    rng: Rng,
    /// The wander, as a share.
    wander: Vec<f64>,
}

impl Host {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let mut level = 0.0;
        let wander = (0..50).map(|_| {
            level = 0.9 * level + 0.05 * normal(&mut rng);
            level
        });
        let wander = wander.collect();
        Self { rng, wander }
    }

    /// Fifty times around `middle` microseconds.
    fn times(&mut self, middle: f64) -> Vec<u64> {
        let Self { rng, wander } = self;
        let time = |level: &f64| {
            let tail = if rng.f64() < 0.02 { 20.0 } else { 1.0 };
            (middle * 1e3 * (1.0 + level) * (0.15 * normal(rng)).exp() * tail) as u64
        };
        wander.iter().map(time).collect()
    }
}

fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

pub(in crate::look) fn judged(legs: &[Leg], bursts: &[Burst]) -> Judgement {
    judge(&Evidence { legs, bursts, ..Evidence::default() })
}

fn cause_of(judgement: &Judgement, leg: u32) -> Option<Cause> {
    judgement.findings.iter().find(|found| found.of == Subject::Leg { leg })?.cause
}

/// Echo, handshake and program, so far away, microseconds.
fn three(seed: u64, [icmp, handshake, program]: [f64; 3]) -> Vec<Leg> {
    let mut host = Host::new(seed);
    let carriers = [(Carrier::Icmp, icmp), (Carrier::TcpConnect, handshake), (Carrier::Tcp, program)];
    carriers.map(|(carrier, middle)| leg(carrier, &host.times(middle))).to_vec()
}

fn burst(leg: u32, runs: [u64; 5]) -> Burst {
    let times: Vec<u64> = runs.iter().flat_map(|time| [*time; 20]).collect();
    let counts = crate::event::Counts { scheduled: 100, answered: 100, ..Default::default() };
    let method = Box::new(Wish::default().resolve().unwrap());
    Burst { leg, method, sums: Sums::of(times, &counts), quartiles_ns: runs.map(Nanos).to_vec() }
}

/// Runs without a pause of the program at that place and of the echo at the first one, in which both are awake.
fn awake(program: u32) -> [Burst; 2] {
    [burst(program, [40_000; 5]), burst(0, [38_000; 5])]
}

/// Two paths, one of them longer by `apart` microseconds, which a share of all connections take; nothing else differs between the ways
/// to ask. Echoes go one way throughout, handshakes each their own, and exchanges by `flows` connections in each half.
fn two_paths(seed: u64, apart: f64, share: f64, flows: usize) -> (Vec<Leg>, Vec<Burst>) {
    let mut host = Host::new(seed);
    let mut draw = Rng::with_seed(seed ^ 0x70_61_74_68);
    let mut longer = || if draw.f64() < share { apart * 1e3 } else { 0.0 };
    let echo = longer();
    let handshakes: Vec<f64> = (0..50).map(|_| longer()).collect();
    let connections: Vec<f64> = (0..2 * flows).map(|_| longer()).collect();
    let flow = |round: usize| round % flows + if round < 25 { 0 } else { flows };
    let mut times = |by: &dyn Fn(usize) -> f64| -> Vec<u64> {
        host.times(100.0).into_iter().enumerate().map(|(round, time)| time + by(round) as u64).collect()
    };
    let mut legs = vec![
        leg(Carrier::Icmp, &times(&|_| echo)),
        leg(Carrier::TcpConnect, &times(&|round| handshakes[round])),
        leg(Carrier::Tcp, &times(&|round| connections[flow(round)])),
    ];
    for (round, timed) in legs[2].exchanges.iter_mut().enumerate() {
        timed.flow = flow(round) as u32;
    }
    let bursts = vec![burst(2, [(); 5].map(|()| 100_000 + longer() as u64)), burst(0, [90_000 + echo as u64; 5])];
    (legs, bursts)
}

#[test_case(4; "four connections in each half")]
#[test_case(1; "a connection in each half")]
fn of_two_paths_no_other_cause_is_named(flows: usize) {
    let (mut named, mut shown, mut plain, mut worlds) = (Vec::new(), 0, 0, 0);
    for apart in [20.0, 50.0, 100.0, 200.0, 300.0, 500.0, 1_000.0, 5_000.0] {
        for share in [0.125, 0.25, 0.5, 0.75, 0.875] {
            for seed in 0..50 {
                let (legs, bursts) = two_paths(seed, apart, share, flows);
                let judgement = judged(&legs, &bursts);
                worlds += 1;
                let of_flows = |found: &&Finding| found.cause == Some(Cause::Flow);
                if apart >= 200.0 && share == 0.5 {
                    plain += 1;
                    shown += usize::from(judgement.findings.iter().any(|found| of_flows(&found)));
                }
                let causes = judgement.findings.iter().filter(|found| !of_flows(found));
                let causes = causes.filter_map(|found| found.cause.filter(|cause| cause.is_established()));
                named.extend(causes.map(|cause| (apart, share, seed, cause)));
            }
        }
    }
    assert!(named.len() * 500 <= worlds, "{} of {worlds}: {named:?}", named.len());
    // By one leg; a look has two of several connections.
    assert!(flows == 1 || shown * 10 >= plain * 7, "{shown} of {plain}");
}

/// Each second a program stands still, and connections take turns of four rounds: each tenth round meets every other connection alone.
#[test]
fn what_meets_the_same_connections_now_and_then_is_no_path() {
    let split = (0..200).filter(|seed| {
        let (mut legs, bursts) = two_paths(*seed, 0.0, 0.5, 4);
        let rng = &mut Rng::with_seed(*seed);
        for timed in legs[2].exchanges.iter_mut().filter(|timed| timed.round % 10 == 0) {
            // Rounds two apart are met too, by the wider half of the stops.
            timed.rtt_ns = timed.rtt_ns.map(|rtt| Nanos(rtt.0 + rng.u64(5_000_000..100_000_000)));
        }
        for timed in legs[2].exchanges.iter_mut().filter(|timed| timed.flow % 4 == 2 && timed.round % 3 == 0) {
            timed.rtt_ns = timed.rtt_ns.map(|rtt| Nanos(rtt.0 + rng.u64(1_000_000..20_000_000)));
        }
        judged(&legs, &bursts).findings.iter().any(|found| found.cause == Some(Cause::Flow))
    });
    assert!(split.count() <= 2);
}

/// Connections of a leg in each half, as a survey of our own reflector has them.
const EACH: u32 = 4;

/// A connection in each round of a leg, as those of each half take turns in any order, or always in the same.
fn connections(rounds: usize, seed: u64, any_order: bool) -> Vec<u32> {
    let interval = Nanos(ROUND);
    let mut all: Vec<(u64, u32)> = Vec::new();
    for (half, turn) in [0, 1].into_iter().flat_map(|half| (0..EACH).map(move |turn| (half, turn))) {
        let (every, start) = (Schedule::Every { interval_ns: interval }, Instant(half * rounds as u64 / 2 * ROUND));
        let due = if any_order { Due::in_any_order } else { Due::new };
        let mut due = due(every, start, turn, EACH, seed ^ half);
        while let Some(at) = due.peek().filter(|at| at.0 < (half + 1) * rounds as u64 / 2 * ROUND) {
            all.push((at.0, turn + EACH * half as u32));
            due.advance();
        }
    }
    all.sort_unstable();
    all.into_iter().map(|(_, flow)| flow).collect()
}

/// Surveys of one path in which connections are said to differ, of so many; another's traffic adds `by` nanoseconds in a round.
fn split(of: u64, any_order: bool, by: impl Fn(usize, &mut Rng) -> f64) -> usize {
    let is_split = |seed: &u64| {
        let (mut host, mut rng) = (Host::new(*seed), Rng::with_seed(*seed));
        let mut program = leg(Carrier::Tcp, &host.times(100.0));
        let flows = connections(50, *seed, any_order);
        for (round, (timed, flow)) in program.exchanges.iter_mut().zip(flows).enumerate() {
            timed.flow = flow;
            timed.rtt_ns = timed.rtt_ns.map(|rtt| Nanos(rtt.0 + by(round, &mut rng) as u64));
        }
        judged(&[program], &[]).findings.iter().any(|found| found.cause == Some(Cause::Flow))
    };
    (0..of).filter(is_split).count()
}

#[test]
fn one_path_is_not_taken_for_several() {
    let quiet = split(2_000, true, |_, _| 0.0);
    assert!(quiet <= 2, "{quiet} of 2,000");
    let uneven = split(2_000, true, |_, rng| 1e5 * normal(rng).exp());
    assert!(uneven <= 3, "{uneven} of 2,000 with delays of a long tail");
}

/// A queue that another fills and empties, at a pace of rounds or of turns; and one that grows and is emptied.
#[test]
fn what_keeps_step_with_the_turns_is_no_path() {
    for rounds in 1..=4 {
        let on_and_off = |round: usize, _: &mut Rng| if (round / rounds).is_multiple_of(2) { 6e5 } else { 0.0 };
        let found = split(1_000, true, on_and_off);
        assert!(found <= 2, "{found} of 1,000 in step with {rounds} rounds");
    }
    let saw = split(1_000, true, |round, _| (round % 30) as f64 * 1e5);
    assert!(saw <= 2, "{saw} of 1,000");
    // The order alone causes it.
    assert!(split(100, false, |round, _| if round / 2 % 2 == 0 { 6e5 } else { 0.0 }) >= 90);
}

/// The line takes its time for each octet of both packets: 60 of a SYN and its answer, 92 of an echo, 116 of a request.
#[test_case(1.0)]
#[test_case(2.0)]
#[test_case(5.0)]
fn a_slow_line_is_not_a_program_that_is_woken(megabits: f64) {
    let over = |octets: f64| 2.0 * octets * 8.0 / megabits;
    for seed in 0..200 {
        let judgement = judged(&three(seed, [60.0 + over(92.0), 75.0 + over(60.0), 75.0 + over(116.0)]), &awake(2));
        for leg in [0, 1] {
            assert_ne!(cause_of(&judgement, leg), Some(Cause::NobodyWoken), "{seed}");
        }
    }
}

#[test]
fn a_box_that_holds_what_tcp_carries_is_not_a_program_that_is_woken() {
    for seed in 0..200 {
        let mut host = Host::new(seed);
        let carriers =
            [(Carrier::Icmp, 80.0), (Carrier::TcpConnect, 110.0), (Carrier::Udp, 170.0), (Carrier::Tcp, 500.0)];
        let legs = carriers.map(|(carrier, middle)| leg(carrier, &host.times(middle)));
        let judgement = judged(&legs, &awake(3));
        for leg in [0, 1] {
            assert_ne!(cause_of(&judgement, leg), Some(Cause::NobodyWoken), "{seed}");
        }
    }
}

#[test]
fn a_millisecond_on_icmp_alone_is_another_path() {
    let named = (0..200).filter(|seed| {
        let judgement = judged(&three(*seed, [1_100.0, 140.0, 180.0]), &[]);
        assert_eq!(judgement.believed, Some(Believed { leg: 2, stands: Stands::Application }));
        let cause = cause_of(&judgement, 0);
        assert!([Some(Cause::SlowIcmp), Some(Cause::NotEstablished), None].contains(&cause), "{cause:?}");
        cause == Some(Cause::SlowIcmp)
    });
    assert!(named.count() >= 190);
}

#[test_case([80.0, 140.0, 180.0]; "a cable")]
#[test_case([1_080.0, 1_140.0, 1_180.0]; "a millisecond on all")]
#[test_case([20_080.0, 20_140.0, 20_180.0]; "a country")]
#[test_case([180.0, 180.0, 180.0]; "alike")]
#[test_case([1_080.0, 1_140.0, 180.0]; "a millisecond on all that is first")]
fn without_that_it_is_never_said(middles: [f64; 3]) {
    for seed in 0..2_000 {
        let judgement = judged(&three(seed, middles), &[]);
        assert_ne!(cause_of(&judgement, 0), Some(Cause::SlowIcmp), "{seed}");
    }
}

#[test]
fn echoes_that_are_quick_in_another_rhythm_are_no_slow_path() {
    let legs = three(1, [1_100.0, 140.0, 180.0]);
    let bursts = |icmp| [burst(2, [90_000; 5]), burst(0, [icmp; 5])];
    assert_eq!(cause_of(&judged(&legs, &bursts(70_000)), 0), Some(Cause::NotEstablished));
    assert_eq!(cause_of(&judged(&legs, &bursts(1_050_000)), 0), Some(Cause::SlowIcmp));
}

/// One connection of a strange program in each half, which is the least there can be, and four of ours.
#[test_case(1, 120; "a connection in each half")]
#[test_case(4, 190; "four connections in each half")]
fn a_kernel_that_answers_sooner_wakes_nobody(flows: usize, least: usize) {
    let named = (0..200).filter(|seed| {
        let mut legs = three(*seed, [80.0, 110.0, 190.0]);
        for (round, timed) in legs[2].exchanges.iter_mut().enumerate() {
            timed.flow = (round % flows + if round < 25 { 0 } else { flows }) as u32;
        }
        let judgement = judged(&legs, &awake(2));
        (cause_of(&judgement, 0), cause_of(&judgement, 1)) == (Some(Cause::NobodyWoken), Some(Cause::NobodyWoken))
    });
    let named = named.count();
    assert!(named >= least, "{named} of 200");
}

/// It holds them as long without a pause, where the program and the machine are awake. Nor is it known of a program that was not asked so.
#[test_case(&[burst(2, [40_000 + 300_000; 5]), burst(0, [12_000; 5])]; "with data")]
#[test_case(&[burst(2, [340_000; 5])]; "no echo beside it")]
#[test_case(&[]; "nothing without a pause")]
fn a_box_that_holds_packets_with_data_is_not_a_program_that_is_woken(bursts: &[Burst]) {
    for seed in 0..200 {
        let judgement = judged(&three(seed, [80.0, 110.0, 190.0 + 300.0]), bursts);
        for leg in [0, 1] {
            assert_eq!(cause_of(&judgement, leg), Some(Cause::NotEstablished), "{seed}");
        }
    }
}

#[test]
fn what_a_program_is_not_waited_for_is_not_laid_on_it() {
    // TCP alone is delayed: the handshake is as late as the program.
    let judgement = judged(&three(4, [80.0, 1_120.0, 1_180.0]), &awake(2));
    assert_eq!(cause_of(&judgement, 0), Some(Cause::NotEstablished));
    // The box that answers handshakes is far nearer than the program that serves.
    let judgement = judged(&three(5, [80.0, 110.0, 30_000.0]), &awake(2));
    assert_eq!(
        (cause_of(&judgement, 0), cause_of(&judgement, 1)),
        (Some(Cause::NotEstablished), Some(Cause::NotEstablished))
    );
    // A handshake that takes longer than an exchange shows nothing.
    let judgement = judged(&three(6, [80.0, 300.0, 190.0]), &awake(2));
    assert_eq!(
        (cause_of(&judgement, 0), cause_of(&judgement, 1)),
        (Some(Cause::NotEstablished), Some(Cause::NotEstablished))
    );
}

#[test]
fn a_far_side_that_tells_how_long_it_had_the_request_shows_it() {
    let mut legs = three(7, [80.0, 300.0, 2_190.0]);
    legs[2].peer_ns = Some(Nanos::millis(2));
    assert_eq!(cause_of(&judged(&legs, &awake(2)), 0), Some(Cause::NobodyWoken), "it held it");
    legs[2].peer_ns = Some(Nanos::micros(60));
    assert_eq!(cause_of(&judged(&legs, &awake(2)), 0), Some(Cause::NotEstablished), "it did not");
}

#[test]
fn what_does_not_differ_has_no_cause_and_few_rounds_show_nothing() {
    let constant = vec![180_000; 50];
    let legs = [leg(Carrier::TcpConnect, &constant), leg(Carrier::Tcp, &constant)];
    let judgement = judged(&legs, &[]);
    assert_eq!((judgement.findings[0].word, cause_of(&judgement, 0)), (Some(Word::NotShown), None));
    let legs = [leg(Carrier::Icmp, &[1_000_000; 4]), leg(Carrier::Tcp, &[10_000; 4])];
    let judgement = judged(&legs, &[]);
    assert_eq!((judgement.findings[0].word, cause_of(&judgement, 0)), (Some(Word::TooFewRuns), None));
}

#[test_case(&[Carrier::Icmp, Carrier::TcpConnect, Carrier::Udp, Carrier::Tcp], 3, Stands::Application; "a program over TCP")]
#[test_case(&[Carrier::Icmp, Carrier::TcpConnect, Carrier::Udp], 2, Stands::Application; "a program over UDP")]
#[test_case(&[Carrier::Icmp, Carrier::TcpConnect], 1, Stands::Handshake; "a handshake")]
#[test_case(&[Carrier::Icmp], 0, Stands::Echo; "an echo alone")]
fn what_is_most_like_an_application_is_believed(carriers: &[Carrier], place: u32, stands: Stands) {
    let legs: Vec<Leg> = carriers.iter().map(|carrier| leg(*carrier, &[100_000; 20])).collect();
    assert_eq!(judged(&legs, &[]).believed, Some(Believed { leg: place, stands }));
}

#[test_case(None, 0; "a reflector of ours before a program at work")]
#[test_case(Some(6_379), 2; "the program at the port that was named")]
#[test_case(Some(80), 0; "a named port without a program")]
fn the_program_at_a_named_port_is_believed_first(named: Option<u16>, place: u32) {
    let at = |carrier, who, port| Leg { who, port: Some(port), ..leg(carrier, &[100_000; 20]) };
    let redis = Who::Program { service: Service::Redis };
    let legs = [
        at(Carrier::Tcp, Who::Program { service: Service::Sonde }, 7_663),
        at(Carrier::TcpConnect, Who::Kernel, 6_379),
        at(Carrier::Tcp, redis, 6_379),
        at(Carrier::TcpConnect, Who::Kernel, 80),
    ];
    assert_eq!(believed(&legs, named), Some(Believed { leg: place, stands: Stands::Application }));
}

#[test]
fn who_mostly_fails_is_not_believed_and_nobody_is_nobody() {
    let mostly: Vec<Option<u64>> = (0..20).map(|round| (round % 4 == 0).then_some(50_000)).collect();
    let legs = [leg(Carrier::TcpConnect, &[90_000; 20]), with_losses(Carrier::Tcp, &mostly)];
    assert_eq!(judged(&legs, &[]).believed.map(|believed| believed.leg), Some(0));
    assert_eq!(judged(&[with_losses(Carrier::Icmp, &[None; 20])], &[]), Judgement::default());
}

#[test]
fn exchanges_back_to_back_show_what_the_interval_does() {
    let legs = three(8, [80.0, 140.0, 180.0]);
    let cause = |runs| judged(&legs, &[burst(2, runs)]).findings.pop().unwrap();
    let found = cause([41_000, 40_000, 43_000, 39_000, 42_000]);
    assert_eq!((found.word, found.cause), (Some(Word::Less), Some(Cause::Interval)));
    assert!(found.shift.unwrap().value_ns < -120_000.0);
    let found = cause([400_000, 410_000, 420_000, 430_000, 440_000]);
    assert_eq!((found.word, found.cause), (Some(Word::More), Some(Cause::NotEstablished)), "they queue");
}

#[test]
fn a_path_that_changed_meanwhile_is_no_effect_of_the_interval() {
    let times: Vec<u64> =
        (0..50).map(|round| if round < 35 { 180_000 + round * 100 } else { 60_000 + round * 100 }).collect();
    let judgement = judged(&[leg(Carrier::Tcp, &times)], &[burst(0, [61_000, 60_000, 62_000, 61_500, 60_500])]);
    assert_ne!(judgement.findings[0].cause, Some(Cause::Interval));
}

/// The exchanges back to back meet one level of a path that has two by turns.
#[test]
fn a_path_with_two_levels_is_no_effect_of_the_interval() {
    let quick = |round: u64| (6..12).contains(&round) || (36..44).contains(&round);
    let times: Vec<u64> = (0..50).map(|round| if quick(round) { 60_000 } else { 180_000 } + round * 100).collect();
    let judgement = judged(&[leg(Carrier::Tcp, &times)], &[burst(0, [61_000, 60_000, 62_000, 61_500, 60_500])]);
    assert_eq!(judgement.findings[0].cause, Some(Cause::NotEstablished));
}

/// Rounds that are added behind both halves do not move the exchanges back to back, which stood after a few of them.
#[test]
fn rounds_before_and_behind_are_told_by_the_round() {
    let times =
        |before: u64| (0..50).map(|round| if round < before { 60_000 } else { 180_000 } + round * 100).collect();
    let runs = [burst(0, [61_000, 60_000, 62_000, 61_500, 60_500])];
    let cause = |before: u64| {
        let times: Vec<u64> = times(before);
        let legs = [leg(Carrier::Tcp, &times)];
        let evidence = Evidence { legs: &legs, bursts: &runs, burst_round: Some(15), ..Evidence::default() };
        judge(&evidence).findings[0].cause
    };
    assert_eq!(cause(0), Some(Cause::Interval));
    assert_ne!(cause(16), Some(Cause::Interval), "as quick before them as they were");
}

#[test]
fn another_address_is_the_cause_where_all_legs_say_so() {
    let mut legs = three(9, [80.0, 140.0, 180.0]);
    let further = |seed, middles| {
        let mut legs = three(seed, middles);
        for leg in &mut legs {
            leg.address = 1;
        }
        legs
    };
    let causes = |all: &[Leg]| -> Vec<Option<Cause>> {
        let judgement = judged(all, &[]);
        let further = judgement.findings.iter().filter(|found| matches!(found.of, Subject::Further { .. }));
        further.map(|found| found.cause).collect()
    };
    let slower = [&legs[..], &further(9, [480.0, 540.0, 580.0])].concat();
    assert_eq!(causes(&slower), [Some(Cause::Address); 3]);
    let alike = [&legs[..], &further(9, [80.0, 140.0, 180.0])].concat();
    assert_eq!(causes(&alike), [None; 3]);
    let torn = [&legs[..], &further(9, [480.0, 540.0, 60.0])].concat();
    assert_eq!(causes(&torn), [Some(Cause::NotEstablished); 3], "one of them is quicker there");
    let alone = [&legs[..], &further(9, [80.0, 140.0, 580.0])].concat();
    assert_eq!(causes(&alone), [None, None, Some(Cause::NotEstablished)], "the others go no other way");
    legs.truncate(1);
    assert_eq!(causes(&[&legs[..], &further(9, [480.0, 540.0, 580.0])].concat()), [Some(Cause::Address)]);
}

fn asked(ports: &[Verdict]) -> Asked {
    let seen = Seen::Silence { waited_ns: Nanos::secs(1) };
    let port = |(port, verdict): (u16, &Verdict)| PortFinding {
        transport: Transport::Tcp,
        port,
        verdict: *verdict,
        seen: seen.clone(),
        service: None,
    };
    let echo = Seen::Answer { after_ns: Nanos::micros(80) };
    Asked { address: "10.0.0.2".into(), echo, ports: (1..).zip(ports).map(port).collect() }
}

fn filters(ports: &[Verdict], legs: &[Leg]) -> Vec<Subject> {
    filtered_at(&asked(ports), legs)
}

fn filtered_at(asked: &Asked, legs: &[Leg]) -> Vec<Subject> {
    let addresses = std::slice::from_ref(asked);
    let judgement = judge(&Evidence { addresses, legs, ..Evidence::default() });
    let filtered = judgement.findings.iter().filter(|found| found.cause == Some(Cause::Filtered));
    filtered.map(|found| found.of).collect()
}

#[test]
fn silence_beside_answers_is_a_filter() {
    let (echo, tcp) = (leg(Carrier::Icmp, &[80_000; 20]), leg(Carrier::TcpConnect, &[140_000; 20]));
    let silent = with_losses(Carrier::Icmp, &[None; 20]);
    let (open, shut, no) = (Verdict::Open, Verdict::Filtered, Verdict::Refused);
    assert_eq!(filters(&[open], &[silent.clone(), tcp.clone()]), [Subject::Echo { address: 0 }]);
    assert_eq!(filters(&[shut, shut, shut], std::slice::from_ref(&echo)), [Subject::Tcp { address: 0 }]);
    assert_eq!(filters(&[open, shut], &[echo.clone(), tcp.clone()]), []);
    assert_eq!(filters(&[no, shut, shut], std::slice::from_ref(&echo)), [], "somebody answers for TCP");
    assert_eq!(filters(&[shut], std::slice::from_ref(&echo)), [], "one alone may have been lost");
    // An address that was just given, or a route that was not there yet: echoes are answered later.
    let early = Asked { echo: Seen::Silence { waited_ns: Nanos::secs(1) }, ..asked(&[shut, shut, shut]) };
    assert_eq!(filtered_at(&early, std::slice::from_ref(&echo)), [], "nothing answered when the ports were asked");
    assert_eq!(filters(&[shut, shut], std::slice::from_ref(&silent)), [], "nobody answers at all");
    let few = with_losses(Carrier::Icmp, &[None; 5]);
    assert_eq!(filters(&[open], &[few, tcp.clone()]), [], "too few to tell");
    let some = with_losses(Carrier::Icmp, &[&[None; 19][..], &[Some(80_000)]].concat());
    assert_eq!(filters(&[open], &[some, tcp.clone()]), [], "it answers, if seldom");
    let unasked = Leg { method: None, ..silent };
    assert_eq!(filters(&[open], &[unasked, tcp]), [], "our own side may not ask");
}

/// Echo and handshake are answered by this host, and the program by another at the end of a tunnel.
#[test]
fn where_a_tunnel_begins_here_no_program_is_told_to_be_woken() {
    for seed in 0..100 {
        let legs = three(seed, [20.0, 40.0, 300.0]);
        let judgement = judge(&Evidence { legs: &legs, carried_on: true, ..Evidence::default() });
        let causes = [0, 1].map(|leg| cause_of(&judgement, leg));
        assert_eq!(causes, [Some(Cause::NotEstablished), Some(Cause::NearerHandshake)], "{seed}");
    }
}

#[test]
fn a_proxy_near_by_is_no_program_that_is_woken() {
    for seed in 0..100 {
        // Handshakes end at the proxy, 0.2 ms away; echo and program are behind it.
        let judgement = judged(&three(seed, [6_300.0, 200.0, 6_500.0]), &[]);
        assert_eq!(cause_of(&judgement, 1), Some(Cause::NearerHandshake), "{seed}");
        // A program that takes its time is not nearer, whatever it takes.
        let judgement = judged(&three(seed, [190.0, 200.0, 6_500.0]), &[]);
        assert_ne!(cause_of(&judgement, 1), Some(Cause::NearerHandshake), "{seed}");
    }
}

/// The leg of fifty requests, of which the first so many are lost.
pub(in crate::look) fn losing(carrier: Carrier, lost: usize) -> Leg {
    let times: Vec<Option<u64>> = (0..50).map(|round| (round >= lost).then_some(100_000)).collect();
    with_losses(carrier, &times)
}

#[test_case(0, 0, false; "none is lost")]
#[test_case(13, 0, true; "a quarter of echoes")]
#[test_case(4, 0, false; "so few come by chance")]
#[test_case(13, 1, false; "another one loses too")]
#[test_case(13, 50, false; "another one loses all")]
fn what_loses_alone(echoes: usize, handshakes: usize, is_alone: bool) {
    let legs = [(Carrier::Icmp, echoes), (Carrier::TcpConnect, handshakes), (Carrier::Udp, 0), (Carrier::Tcp, 0)];
    let judgement = judged(&legs.map(|(carrier, lost)| losing(carrier, lost)), &[]);
    let found = judgement.findings.iter().any(|found| found.of == Subject::Losses { leg: 0 });
    assert_eq!(found, is_alone, "{judgement:#?}");
    assert!(judgement.findings.iter().all(|found| found.of != Subject::Losses { leg: 3 }));
}

/// A box that drops the first packet of each flow: no handshake is lost, each takes a second more, and echoes lose beside them.
#[test]
fn handshakes_that_all_repeat_their_syn_lose_too() {
    let times = |ns: u64, count: usize| (0..50).map(|round| (round < count).then_some(ns)).collect::<Vec<_>>();
    let named = |handshake: u64| {
        let (transport, verdict, after) = (Transport::Tcp, Verdict::Open, Nanos(handshake));
        let port =
            PortFinding { transport, port: 12_865, verdict, seen: Seen::Answer { after_ns: after }, service: None };
        let addresses =
            [Asked { address: "10.0.0.2".into(), echo: Seen::Answer { after_ns: Nanos(1) }, ports: vec![port] }];
        let mut connects = with_losses(Carrier::TcpConnect, &times(handshake, 50));
        (connects.sums.due, connects.sums.lost) = (8, 0);
        let legs = [losing(Carrier::Icmp, 13), connects, losing(Carrier::Tcp, 0)];
        let evidence = Evidence { addresses: &addresses, legs: &legs, ..Evidence::default() };
        judge(&evidence).findings.iter().filter_map(|found| found.cause).collect::<Vec<_>>()
    };
    let repeated = named(1_020_000_000);
    assert!(repeated.contains(&Cause::FirstSyn) && !repeated.contains(&Cause::LosesAlone), "{repeated:?}");
    assert!(!named(2_000_000).contains(&Cause::FirstSyn));
}

#[test]
fn handshakes_that_fail_while_connections_stand_are_a_cause_of_their_own() {
    let named = |first: Seen, lost: usize, connected: usize| {
        let (transport, verdict) = (Transport::Tcp, Verdict::Open);
        let port = PortFinding { transport, port: 12_865, verdict, seen: first, service: None };
        let addresses =
            [Asked { address: "10.0.0.2".into(), echo: Seen::Answer { after_ns: Nanos(1) }, ports: vec![port] }];
        let legs = [losing(Carrier::TcpConnect, lost), losing(Carrier::Tcp, 50 - connected)];
        let evidence = Evidence { addresses: &addresses, legs: &legs, ..Evidence::default() };
        let found = judge(&evidence).findings.into_iter().find(|found| found.of == Subject::Losses { leg: 0 })?;
        found.cause
    };
    let after = |after_ns: Nanos| Seen::Answer { after_ns };
    assert_eq!(named(after(Nanos::millis(1_030)), 50, 50), Some(Cause::FirstSyn));
    assert_eq!(named(after(Nanos::micros(130)), 50, 50), Some(Cause::NewConnections));
    // Some are answered; connections are not; the port did not accept.
    assert_eq!(named(after(Nanos::millis(1_030)), 49, 50), None);
    assert_eq!(named(after(Nanos::millis(1_030)), 50, 0), None);
    assert_eq!(named(Seen::Silence { waited_ns: Nanos::secs(2) }, 50, 50), None);
}
