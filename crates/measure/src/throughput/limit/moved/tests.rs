//! The search on virtual paths whose truth is known, thousands of times, with hosts that are kept from running now and then:
//! the planted path is found nearly always, and no other ever.

use test_case::test_case;

use super::course::{Course, Wanted};
use super::*;
use crate::interval::arrivals::{Arrivals, Datagrams};
use crate::throughput::{Carried, Interval};
use crate::unit::Bytes;

/// Bytes of a datagram on the way, and of its payload.
const PACKET: f64 = 1_428.0;
const PAYLOAD: f64 = 1_400.0;

/// Seeded chance (xorshift64*, Vigna 2016).
struct Chance(u64);

impl Chance {
    /// Uniform in 0 ≤ x < 1.
    fn share(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn within(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.share()
    }
}

/// Effect of a path on packets.
#[derive(Clone, Copy, Debug)]
enum Path {
    /// Loses this share, in runs of so many on average.
    Lossy { share: f64, run: f64 },
    /// Lets so many bytes a second through, and as much at once as `burst`; the rest waits in a queue of so many bytes.
    Bottleneck { rate: f64, burst: f64, queue: f64 },
}

/// Disturbance by the hosts: gaps in which a thread does not run, of a millisecond to ten, in this share of the time.
#[derive(Clone, Copy, Debug)]
struct Disturbed {
    sender: f64,
    receiver: f64,
}

/// A host that is disturbed in a share of the time. It delays each due time, in seconds; times only grow.
struct Host<'a> {
    share: f64,
    next: f64,
    until: f64,
    chance: &'a mut Chance,
}

impl<'a> Host<'a> {
    fn new(share: f64, chance: &'a mut Chance) -> Self {
        let mut host = Self { share, next: f64::INFINITY, until: 0.0, chance };
        host.draw(0.0);
        host
    }

    fn draw(&mut self, now: f64) {
        if self.share > 0.0 {
            let gap = self.chance.within(0.001, 0.010);
            let pause = 0.0055 * (1.0 - self.share) / self.share;
            self.next = now - pause * (1.0 - self.chance.share()).ln();
            self.until = self.next + gap;
        }
    }

    fn runs(&mut self, at: f64) -> f64 {
        while at >= self.until {
            if self.next.is_infinite() {
                return at;
            }
            self.draw(self.until);
        }
        if at >= self.next { self.until } else { at }
    }
}

/// The state of a path.
struct Way {
    path: Path,
    tokens: f64,
    at: f64,
    /// Instant at which the queue is empty.
    free: f64,
    losing: bool,
}

impl Way {
    /// With so much of its bucket full.
    fn new(path: Path, full: f64) -> Self {
        let tokens = if let Path::Bottleneck { burst, .. } = path { burst * full } else { 0.0 };
        Self { path, tokens, at: 0.0, free: 0.0, losing: false }
    }

    /// Returns the instant at which a packet that comes at `now` has passed; `None`: never.
    fn passes(&mut self, now: f64, chance: &mut Chance) -> Option<f64> {
        match self.path {
            Path::Lossy { share, run } => {
                let ends = 1.0 / run;
                let begins = ends * share / (1.0 - share);
                self.losing = if self.losing { chance.share() >= ends } else { chance.share() < begins };
                (!self.losing).then_some(now)
            }
            Path::Bottleneck { rate, burst, queue } => {
                self.tokens = (self.tokens + (now - self.at) * rate).min(burst);
                self.at = now;
                if self.free <= now && self.tokens >= PACKET {
                    self.tokens -= PACKET;
                    return Some(now);
                }
                let begins = self.free.max(now);
                let passed = begins + PACKET / rate;
                if (passed - now) * rate > queue {
                    return None;
                }
                (self.free, self.tokens) = (passed, 0.0);
                Some(passed)
            }
        }
    }
}

/// A leg of so many bytes a second over `path`, as its receiver would tell it.
fn leg(path: Path, wanted: Wanted, disturbed: Disturbed, seed: u64) -> Leg {
    let [mut chance, mut of_sender, mut of_receiver] = [1, 2, 3].map(|part| Chance(seed * 3 + part));
    let (mut sender, mut receiver) =
        (Host::new(disturbed.sender, &mut of_sender), Host::new(disturbed.receiver, &mut of_receiver));
    let (mut way, mut came) = (Way::new(path, chance.within(0.2, 1.0)), Vec::new());
    let gap = PAYLOAD / wanted.bytes_per_s;
    let (end, mut due, mut place, mut number) = (wanted.length.as_secs_f64(), 0.0, 0.0, 0);
    while due < end {
        let now = sender.runs(due);
        number += 1;
        if let Some(passed) = way.passes(now, &mut chance) {
            let waking = if chance.share() < 0.01 { chance.within(1e-4, 5e-4) } else { chance.within(1e-5, 6e-5) };
            came.push((receiver.runs(passed + waking), now, number));
        }
        // Datagrams due in the meantime are left out.
        place = f64::max(place, (now / gap).floor()) + 1.0;
        due = gap * place;
    }
    came.sort_by(|one, other| one.0.total_cmp(&other.0));
    // The receiver's intervals end while the sender sends; all that comes behind it is in the last.
    let (mut arrivals, mut intervals, mut edge, mut before) =
        (Arrivals::new(false), Vec::new(), 0.1, Datagrams::default());
    let mut close = |arrivals: &mut Arrivals, length: f64| {
        let sight = arrivals.sight();
        let datagrams = sight.since(&before);
        let carried = Carried { bytes: Bytes(datagrams.received * PAYLOAD as u64), ..Carried::default() };
        let length_ns = Nanos((length * 1e9) as u64);
        intervals.push(Interval { carried, length_ns, datagrams: Some(datagrams), ..Interval::default() });
        before = sight;
    };
    for (at, sent, number) in came {
        if at >= edge && at < end {
            close(&mut arrivals, 0.1 + at - edge);
            edge = at + 0.1;
        }
        arrivals.arrived(number, 1_000_000 + ((at - sent) * 1e9) as i64);
    }
    arrivals.last(number);
    close(&mut arrivals, 0.05);
    let sent = number as f64 * PAYLOAD / end;
    Leg::of((wanted.bytes_per_s, sent), arrivals.total(), intervals.iter())
}

/// Runs the whole search on `path`, for a stream of which so many bytes a second arrived.
fn search(path: Path, arrived: f64, lost: Option<f64>, disturbed: Disturbed, seed: u64) -> (Option<Limiter>, Moved) {
    let course = Course {
        arrived_bytes_per_s: arrived,
        lost,
        datagram: Bytes(PAYLOAD as u64),
        most_bytes_per_s: 300_000.0 * PAYLOAD,
    };
    let mut moved = Moved::default();
    while let Some(wanted) = moved.next(&course) {
        let seed = seed * 16 + moved.legs.len() as u64 + 1;
        moved.legs.push(leg(path, wanted, disturbed, seed));
    }
    (moved.tells(lost, Some(arrived), Some(arrived)).0, moved)
}

const QUIET: Disturbed = Disturbed { sender: 0.0, receiver: 0.0 };
const BUSY: Disturbed = Disturbed { sender: 0.1, receiver: 0.1 };
const CROWDED: Disturbed = Disturbed { sender: 0.35, receiver: 0.3 };

/// 20 Mbit/s and 50 Mbit/s of IP.
const SLOW: f64 = 2.5e6;
const FAST: f64 = 6.25e6;
const POLICER: Path = Path::Bottleneck { rate: SLOW, burst: 50e3, queue: 0.0 };
/// As `nft` makes them: a bucket that its rate fills in a second.
const SAVING: Path = Path::Bottleneck { rate: SLOW, burst: SLOW + 50e3, queue: 0.0 };
const SHORT: Path = Path::Bottleneck { rate: 12.5e6, burst: 100e3, queue: 3_028.0 };
const DROP_TAIL: Path = Path::Bottleneck { rate: FAST, burst: 0.0, queue: 128e3 };
const SHALLOW: Path = Path::Bottleneck { rate: FAST, burst: 0.0, queue: 16e3 };
const DEEP: Path = Path::Bottleneck { rate: FAST, burst: 5e3, queue: 5e6 };
/// 64 kbit/s of IP.
const SLOW_LINE: Path = Path::Bottleneck { rate: 8e3, burst: 0.0, queue: 6e3 };
const TWO_PERCENT: Path = Path::Lossy { share: 0.02, run: 1.0 };
const A_PERCENT: Path = Path::Lossy { share: 0.01, run: 1.0 };
const A_TENTH: Path = Path::Lossy { share: 0.1, run: 1.0 };

/// Number of searches in each test.
const TRIES: u64 = 300;

#[test]
fn what_a_slow_line_lets_through_is_not_what_fell_into_one_interval() {
    let truth = 8e3 * PAYLOAD / PACKET;
    let throughs = (0..TRIES).flat_map(|seed| {
        let (_, moved) = search(SLOW_LINE, 0.95 * truth, Some(0.4), QUIET, seed);
        moved.legs.into_iter().filter_map(|leg| leg.through_bytes_per_s)
    });
    let ratios: Vec<f64> = throughs.map(|through| through / truth).collect();
    assert!(ratios.len() as u64 >= TRIES, "{}", ratios.len());
    assert!(ratios.iter().all(|ratio| (0.7..1.4).contains(ratio)), "{ratios:?}");
}

/// At most one of a hundred ends without a name, and none with another.
#[test_case(POLICER, 0.9 * SLOW, Some(0.05), QUIET, Limiter::Policer; "policer")]
#[test_case(POLICER, 0.9 * SLOW, Some(0.05), BUSY, Limiter::Policer; "policer between busy hosts")]
#[test_case(POLICER, 0.3 * SLOW, Some(0.05), BUSY, Limiter::Policer; "policer of a stream that gets a third")]
#[test_case(POLICER, 0.05 * SLOW, Some(0.05), BUSY, Limiter::Policer; "policer of a stream that gets a twentieth")]
#[test_case(SAVING, 0.6 * SLOW, Some(0.25), QUIET, Limiter::Policer; "policer of a great bucket")]
#[test_case(SAVING, 0.5 * SLOW, Some(0.25), BUSY, Limiter::Policer; "policer of a great bucket between busy hosts")]
#[test_case(SHORT, 11e6, Some(0.05), BUSY, Limiter::Policer; "policer with room for two packets")]
#[test_case(DROP_TAIL, 0.9 * FAST, Some(0.01), QUIET, Limiter::Congestion; "drop tail")]
#[test_case(DROP_TAIL, 0.9 * FAST, None, BUSY, Limiter::Congestion; "drop tail between busy hosts")]
#[test_case(DROP_TAIL, 0.6 * FAST, Some(0.01), CROWDED, Limiter::Congestion; "drop tail between crowded hosts")]
#[test_case(SHALLOW, 0.9 * FAST, Some(0.01), BUSY, Limiter::Congestion; "a shallow queue between busy hosts")]
#[test_case(DEEP, 0.95 * FAST, None, BUSY, Limiter::Congestion; "a shaper that loses nothing")]
#[test_case(TWO_PERCENT, 1.2e6, Some(0.022), QUIET, Limiter::Loss; "two percent")]
#[test_case(TWO_PERCENT, 0.9e6, Some(0.025), BUSY, Limiter::Loss; "two percent between busy hosts")]
#[test_case(A_PERCENT, 1.7e6, Some(0.012), BUSY, Limiter::Loss; "one percent")]
#[test_case(A_TENTH, 0.4e6, Some(0.11), CROWDED, Limiter::Loss; "a tenth between crowded hosts")]
fn what_is_planted_is_found(path: Path, arrived: f64, lost: Option<f64>, disturbed: Disturbed, planted: Limiter) {
    let found: Vec<_> = (0..TRIES).map(|seed| search(path, arrived, lost, disturbed, seed)).collect();
    let others = found.iter().find(|(limiter, _)| limiter.is_some_and(|limiter| limiter != planted));
    assert!(others.is_none(), "{others:?}");
    let missed: Vec<_> = found.iter().filter(|(limiter, _)| limiter.is_none()).collect();
    assert!(missed.len() as u64 <= TRIES / 100, "{} missed: {:?}", missed.len(), missed[0]);
}

/// As of a stream that had saved credits, or went by several connections: the slowest leg is beyond the bottleneck already.
#[test_case(POLICER; "policer")]
#[test_case(DROP_TAIL; "drop tail")]
fn a_bottleneck_below_all_legs_ends_the_search_early(path: Path) {
    let Path::Bottleneck { rate, .. } = path else { unreachable!() };
    let planted =
        if matches!(path, Path::Bottleneck { queue: 0.0, .. }) { Limiter::Policer } else { Limiter::Congestion };
    let mut found = 0;
    for seed in 0..TRIES {
        let (named, moved) = search(path, 4.0 * rate, Some(0.05), BUSY, seed);
        assert!(moved.legs.len() <= 4, "{seed}: {moved:?}");
        let through = rate * PAYLOAD / PACKET;
        assert_eq!(named, None, "{seed}: the stream had four times as much {moved:?}");
        let each = moved.tells(Some(0.05), Some(4.0 * rate), Some(through)).0;
        assert!(each.is_none() || each == Some(planted), "{seed}: {each:?}");
        found += u64::from(each.is_some());
    }
    assert!(found >= TRIES - TRIES / 100, "{found} of {TRIES}");
}

/// Losses that come together are losses, or nothing is said of them.
#[test_case(Path::Lossy { share: 0.02, run: 3.0 }, BUSY; "in threes")]
#[test_case(Path::Lossy { share: 0.02, run: 30.0 }, BUSY; "in thirties")]
#[test_case(Path::Lossy { share: 0.05, run: 300.0 }, BUSY; "in hundreds")]
#[test_case(Path::Lossy { share: 0.1, run: 300.0 }, CROWDED; "a tenth in hundreds")]
#[test_case(Path::Lossy { share: 0.001, run: 1.0 }, CROWDED; "hardly any")]
#[test_case(Path::Lossy { share: 0.0, run: 1.0 }, CROWDED; "none at all")]
fn losses_that_no_rate_makes_are_no_policer_and_no_queue(path: Path, disturbed: Disturbed) {
    for seed in 0..TRIES {
        for arrived in [0.5e6, 2e6] {
            let (found, moved) = search(path, arrived, Some(0.02), disturbed, seed);
            assert!([None, Some(Limiter::Loss)].contains(&found), "{seed}: {found:?} {moved:?}");
        }
    }
}

/// As of a policer of 60 MB/s beside a host that sends 155 MB/s at the most.
#[test]
fn a_host_that_cannot_send_faster_confirms_below() {
    let policed = |asked: f64, sent: f64| {
        let whole = leg(
            Path::Lossy { share: 0.0, run: 1.0 },
            Wanted { bytes_per_s: 1e6, length: Nanos::millis(600) },
            QUIET,
            7,
        );
        let lost = (1.0 - 60e6 / sent).max(0.0);
        let datagrams = Datagrams { lost: (lost * whole.datagrams.expected as f64) as i64, ..whole.datagrams };
        let through_bytes_per_s = (lost > 0.0).then_some(60e6);
        let after_loss = (lost > 0.0).then_some(Nanos::micros(1));
        Leg { asked_bytes_per_s: asked, sent_bytes_per_s: sent, datagrams, through_bytes_per_s, after_loss, ..whole }
    };
    let course =
        Course { arrived_bytes_per_s: 60e6, lost: Some(0.02), datagram: Bytes(1_400), most_bytes_per_s: 420e6 };
    let mut moved = Moved { legs: vec![policed(30e6, 30e6), policed(90e6, 90e6)] };
    assert_eq!(moved.next(&course).map(|wanted| wanted.bytes_per_s), Some(180e6));
    moved.legs[1] = policed(240e6, 155e6);
    let next = moved.next(&course).unwrap().bytes_per_s;
    assert!(next < 155e6 / FASTER, "{next}");
    moved.legs.push(policed(next, next));
    assert_eq!(moved.tells(Some(0.02), Some(60e6), Some(60e6)).0, Some(Limiter::Policer));
}

/// As of a router that was kept busy by something else while it was asked for half as much again as the stream had, and let nearly
/// all of it through.
#[test]
fn a_queue_that_holds_nothing_back_is_no_bottleneck() {
    let stood = |asked: f64, through: f64, standing: Nanos| {
        let calm = Wanted { bytes_per_s: 1e6, length: Nanos::millis(600) };
        let whole = leg(Path::Lossy { share: 0.0, run: 1.0 }, calm, QUIET, 7);
        let (standing, through_bytes_per_s) = (Some(standing), Some(through));
        Leg { asked_bytes_per_s: asked, sent_bytes_per_s: asked, standing, through_bytes_per_s, ..whole }
    };
    let slow = stood(54e6, 54e6, Nanos::micros(40));
    let course = Course { arrived_bytes_per_s: 108e6, lost: None, datagram: Bytes(1_400), most_bytes_per_s: 450e6 };
    let named = |moved: &Moved| moved.tells(None, Some(108e6), Some(108e6)).0;
    let mut moved = Moved { legs: vec![slow, stood(162e6, 158e6, Nanos::micros(1_350))] };
    assert_eq!((named(&moved), moved.next(&course).is_some()), (None, true));
    moved.legs.push(stood(432e6, 425e6, Nanos::micros(1_350)));
    assert_eq!(named(&moved), None);
    *moved.legs.last_mut().unwrap() = stood(432e6, 158e6, Nanos::millis(40));
    assert_eq!((named(&moved), moved.next(&course).is_none()), (Some(Limiter::Congestion), true));
}

#[test]
fn a_search_takes_no_longer_than_it_says() {
    let course = Course { arrived_bytes_per_s: 1e5, lost: Some(0.001), datagram: Bytes(1_400), most_bytes_per_s: 1e12 };
    let (mut moved, mut whole) = (Moved::default(), Nanos::ZERO);
    while let Some(wanted) = moved.next(&course) {
        whole = Nanos(whole.0 + wanted.length.0);
        moved.legs.push(leg(Path::Lossy { share: 0.0, run: 1.0 }, wanted, QUIET, 5));
    }
    assert_eq!(moved.legs.len(), 6);
    assert!(whole <= Nanos::secs(5), "{whole}");
}

#[test]
fn few_of_many_are_no_accident() {
    assert!((at_most(0.0, 5.0) - (-5.0_f64).exp()).abs() < 1e-12);
    assert!((at_most(2.0, 3.0) - 0.423_190_081).abs() < 1e-9, "a table of the distribution");
    assert!((at_most(40.0, 3.0) - 1.0).abs() < 1e-9);
    assert!(at_most(100.0, 650.0) < 1e-100 && at_most(1_000.0, 650.0) > 0.999);
    assert!(at_most(0.0, 1e6) < 1e-9 && at_most(1e6, 1e6) > 0.4);
}
