//! Send time of each request, computed from the start and never from the request before: a late send moves nothing.

use fastrand::Rng;

use crate::method::Schedule;
use crate::trace::{Departure, Trace};
use crate::unit::{Bytes, Instant, Nanos};

/// The due instants of one connection, in order.
#[derive(Clone, Debug)]
pub struct Due<'t> {
    schedule: Schedule,
    /// Departures to replay; empty where the schedule is no trace.
    trace: &'t [Departure],
    start: Instant,
    next: u64,
    /// Time of the latest Poisson arrival after the start, in nanoseconds; gaps add up without rounding.
    drawn: f64,
    rng: Rng,
    /// The seed of all streams that share the schedule.
    seed: u64,
    share: u64,
    /// Number of this connection's first burst, and the number of connections that take turns of one.
    bursts: (u64, u64),
    /// Place of this connection and the seed of the order, where that is another one in each round.
    drawn_order: Option<(u32, u64)>,
    /// The place of this connection in the round that is next, in such an order: from 0.
    place: u64,
}

/// Up to so many connections any order of a round is as likely as any other.
const DEALT: usize = 64;

impl<'t> Due<'t> {
    /// Due instants from `start`. Where several connections share one schedule, each gets every `share`-th request,
    /// beginning at `turn` (from 0), so that together they offer the stated rate; Poisson streams of a `share`-th of
    /// the rate each add up to a Poisson stream.
    pub fn new(schedule: Schedule, start: Instant, turn: u32, share: u32, seed: u64) -> Self {
        let rng = Rng::with_seed(seed ^ (u64::from(turn) << 32));
        let share = u64::from(share.max(1));
        let next =
            if matches!(schedule, Schedule::Bursts { .. } | Schedule::Poisson { .. }) { 0 } else { u64::from(turn) };
        // RFC 3432: a periodic stream starts at a random phase within one interval. The phase is one of the clock, so
        // that streams whose seeds are chosen for it keep apart whenever each of them starts. Each of several
        // connections has its own instants of the clock, so that they keep their turns whenever each of them starts.
        let (start, next) = match schedule {
            Schedule::Every { interval_ns } => {
                let cycle = Nanos(interval_ns.0.saturating_mul(share));
                let own =
                    Nanos(interval_ns.0.saturating_mul(u64::from(turn)).saturating_add(phase(interval_ns, seed).0));
                (first(start, cycle, own), 0)
            }
            // Rounds begin with the intervals of the clock, so that all streams of one seed have the same.
            Schedule::Slots { interval_ns, .. } => (first(start, interval_ns, Nanos::ZERO), next),
            _ => (start, next),
        };
        let mut due = Self {
            schedule,
            trace: &[],
            start,
            next,
            drawn: 0.0,
            rng,
            seed,
            share,
            bursts: (0, 1),
            drawn_order: None,
            place: 0,
        };
        if let Schedule::Poisson { .. } = schedule {
            due.draw();
        }
        due
    }

    /// As [`Due::new`], with bursts shared too: each connection gets every `share`-th burst, whole.
    pub fn in_turn(schedule: Schedule, start: Instant, turn: u32, share: u32, seed: u64) -> Self {
        Self { bursts: (turn.into(), share.max(1).into()), ..Self::new(schedule, start, turn, share, seed) }
    }

    /// As [`Due::new`], with the order of the connections drawn anew for each round of a stream of one request an interval: otherwise each would
    /// always follow the same other one, and meet whatever else is periodic at the same phase. All of them have the same `start`, and their first
    /// round begins with the next interval.
    pub fn in_any_order(schedule: Schedule, start: Instant, turn: u32, share: u32, seed: u64) -> Self {
        match schedule {
            Schedule::Every { .. } | Schedule::Slots { .. } if share > 1 => {
                let alone = Self::new(schedule, start, 0, 1, seed);
                // Streams that share a seed have orders of their own.
                let number = if let Schedule::Slots { slot, .. } = schedule { u64::from(slot) } else { 0 };
                let drawn_order = Some((turn, seed ^ number << 48));
                let mut due = Self { share: share.into(), drawn_order, ..alone };
                due.take_place();
                due
            }
            _ => Self::new(schedule, start, turn, share, seed),
        }
    }

    /// Draws the place of this connection in the round that is next.
    fn take_place(&mut self) {
        let (Some((turn, seed)), Some(interval)) = (self.drawn_order, self.schedule.mean_gap()) else { return };
        // By the clock, so that two runs of one seed have orders of their own.
        let round = self.start.0 / interval.0.saturating_mul(self.share).max(1) + self.next / self.share;
        self.place = place(turn, self.share, seed, round);
    }

    /// The departures of `trace`, or of its first `limit` messages, from `start` on: of several connections each gets
    /// every `share`-th, `turn` (from 0) saying which.
    pub fn replaying(trace: &'t Trace, start: Instant, turn: u32, share: u32, limit: Option<u64>) -> Self {
        let all = trace.departures();
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(all.len());
        Self { trace: &all[..limit.min(all.len())], ..Self::new(trace.schedule(), start, turn, share, 0) }
    }

    /// Returns true where the trace has no more departures; no other schedule ends by itself.
    #[inline]
    pub fn is_over(&self) -> bool {
        matches!(self.schedule, Schedule::Trace { .. }) && self.next >= self.trace.len() as u64
    }

    /// Returns the size of the next message, where a trace gives it.
    #[inline]
    pub fn bytes(&self) -> Option<Bytes> {
        self.departure().map(|departure| Bytes(departure.bytes.into()))
    }

    #[inline]
    fn departure(&self) -> Option<&Departure> {
        self.trace.get(usize::try_from(self.next).ok()?)
    }

    /// Returns the send time of the next request; `None` back to back: whenever the window allows. [`Instant::NEVER`]
    /// after the end of a trace.
    #[inline]
    pub fn peek(&self) -> Option<Instant> {
        let offset = match self.schedule {
            Schedule::BackToBack | Schedule::AtLatest { .. } => return None,
            Schedule::Every { interval_ns } => interval_ns.0.saturating_mul(self.next + self.place),
            Schedule::Slots { interval_ns, slots, slot } => {
                let number = self.next + self.place;
                let round = (self.start.0 / interval_ns.0.max(1)).wrapping_add(number);
                interval_ns.0.saturating_mul(number).saturating_add(self.within(round, interval_ns, slots, slot))
            }
            Schedule::Preloaded { count, interval_ns } => {
                interval_ns.0.saturating_mul(self.next.saturating_sub(u64::from(count.max(1)) - 1))
            }
            Schedule::Rate { rate_per_1000s } => {
                (u128::from(self.next) * 1_000_000_000_000 / u128::from(rate_per_1000s.0.get())) as u64
            }
            Schedule::Poisson { .. } => self.drawn as u64,
            Schedule::Bursts { count, interval_ns } => {
                let (first, each) = self.bursts;
                interval_ns.0.saturating_mul((self.next / u64::from(count)).saturating_mul(each).saturating_add(first))
            }
            Schedule::Trace { .. } => match self.departure() {
                Some(departure) => departure.at.0,
                None => return Some(Instant::NEVER),
            },
        };
        Some(self.start.after(Nanos(offset)))
    }

    /// The request that was due is dealt with: on to the one after it.
    #[inline]
    pub fn advance(&mut self) {
        match self.schedule {
            Schedule::BackToBack | Schedule::AtLatest { .. } => {}
            Schedule::Poisson { .. } => self.draw(),
            // Bursts are whole: they are shared out by their instants, or each connection has its own.
            Schedule::Bursts { .. } => self.next += 1,
            Schedule::Every { .. }
            | Schedule::Slots { .. }
            | Schedule::Preloaded { .. }
            | Schedule::Rate { .. }
            | Schedule::Trace { .. } => {
                self.next += self.share;
                self.take_place();
            }
        }
    }

    /// Skips the requests that a closed loop has missed at `now`, and returns their number. A request due before `now` is
    /// missed; but the requests of a burst follow each other for as long as the next burst is not due.
    pub fn skip_to(&mut self, now: Instant) -> u64 {
        if let Schedule::Bursts { count, interval_ns } = self.schedule {
            return self.skip_bursts(now, count.into(), interval_ns);
        }
        let mut skipped = 0;
        while self.peek().is_some_and(|due| due < now && due != Instant::NEVER) {
            self.advance();
            skipped += 1;
        }
        skipped
    }

    /// A burst may be of so many requests that none is skipped alone. Shared bursts are never skipped.
    fn skip_bursts(&mut self, now: Instant, count: u64, interval: Nanos) -> u64 {
        let elapsed = now.since(self.start).unwrap_or_default();
        let running = elapsed.0.div_ceil(interval.0.max(1)).saturating_sub(1);
        let next = running.saturating_mul(count).max(self.next);
        let skipped = next - self.next;
        self.next = next;
        skipped
    }

    /// The time from the begin of an interval to the instant of `slot` in its round. A reply has half an interval, so that few requests of a closed
    /// loop are missed; and the second half of a slot keeps two streams apart.
    fn within(&self, round: u64, interval: Nanos, slots: u32, slot: u32) -> u64 {
        let count = u64::from(slots.max(1));
        let length = interval.0 / 2 / count;
        let mut own = of_round(self.seed.wrapping_add(u64::from(slot)), round);
        let half = self.seed % 2 * (interval.0 / 2);
        half + place(slot, count, self.seed, round) * length + own.u64(0..(length / 2).max(1))
    }

    fn draw(&mut self) {
        if let Schedule::Poisson { rate_per_1000s } = self.schedule {
            let mean = 1e12 * self.share as f64 / rate_per_1000s.0.get() as f64;
            // 1 - f64() lies in (0, 1]: its logarithm is finite.
            self.drawn += -mean * (1.0 - self.rng.f64()).ln();
        }
    }
}

/// The numbers below `count` in the order of round `round`, which `seed` and the round decide: so that none always follows the same other one.
pub fn turns(count: u32, seed: u64, round: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    of_round(seed, round).shuffle(&mut order);
    order
}

fn of_round(seed: u64, round: u64) -> Rng {
    Rng::with_seed(seed ^ round.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// The place of connection `number` of `count` in the order of round `round`. Any order may come up where there are at most [`DEALT`]; of more,
/// those of [`affine`].
fn place(number: u32, count: u64, seed: u64, round: u64) -> u64 {
    let mut places = [0_u8; DEALT];
    let Some(places) = usize::try_from(count).ok().and_then(|count| places.get_mut(..count)) else {
        return affine(u64::from(number), count, seed, round);
    };
    places.iter_mut().zip(0..).for_each(|(place, at)| *place = at);
    of_round(seed, round).shuffle(places);
    places.get(number as usize).copied().map_or(0, u64::from)
}

/// One number below `count` for each other one, by a factor and an offset that `seed` and the round decide: a draw of the order that takes no memory.
/// Numbers that lie half of an even `count` apart always do.
fn affine(number: u64, count: u64, seed: u64, round: u64) -> u64 {
    let mut rng = of_round(seed, round);
    let offset = rng.u64(0..count);
    // A factor that has no divisor in common with the count; 1 is one.
    let factor = (0..64).map(|_| rng.u64(1..=count)).find(|factor| gcd(*factor, count) == 1).unwrap_or(1);
    ((u128::from(number) * u128::from(factor) + u128::from(offset)) % u128::from(count)) as u64
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

/// Returns the remainder of a periodic stream's instants, with this seed, divided by its interval.
///
/// Below the interval; 0 for an interval of 0.
pub fn phase(interval: Nanos, seed: u64) -> Nanos {
    Nanos(Rng::with_seed(seed).u64(0..interval.0.max(1)))
}

/// The first instant from `start` on that leaves `phase` when it is divided by `interval`.
fn first(start: Instant, interval: Nanos, phase: Nanos) -> Instant {
    let interval = interval.0.max(1);
    let past = start.0 % interval;
    start.after(Nanos((phase.0 + interval - past) % interval))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Rate;

    #[test]
    fn a_phase_is_one_of_the_clock() {
        let interval = Nanos::millis(100);
        let every = Schedule::Every { interval_ns: interval };
        for start in [7, 1_234_567_891, 99_999_999] {
            let first = Due::new(every, Instant(start), 0, 1, 3).peek().unwrap().0;
            assert!((start..start + interval.0).contains(&first));
            assert_eq!(first % interval.0, phase(interval, 3).0);
        }
        assert_eq!(phase(Nanos::ZERO, 1), Nanos::ZERO);
    }

    fn slots(interval: u64, slots: u32, slot: u32) -> Schedule {
        Schedule::Slots { interval_ns: Nanos(interval), slots, slot }
    }

    #[test]
    fn each_stream_has_a_slot_of_its_own_in_each_interval_whenever_it_starts() {
        let of = |slot: u32, seed| {
            take(Due::new(slots(800, 4, slot), Instant(10_000 + 70 * u64::from(slot)), 0, 1, seed), 60)
        };
        let mut met = std::collections::BTreeSet::new();
        let mut all: Vec<u64> = Vec::new();
        for slot in 0..4 {
            assert!(of(slot, 5).iter().all(|at| at % 800 >= 400), "in the second half by an odd seed");
            let instants = of(slot, 6);
            assert!(instants.windows(2).all(|pair| pair[1] / 800 - pair[0] / 800 == 1), "one an interval");
            met.extend(instants.iter().map(|at| (slot, at % 800 / 100)));
            all.extend(instants);
        }
        assert!(all.iter().all(|at| at % 800 < 400 && at % 100 < 50), "in the first half of a slot in the first half");
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[1] - pair[0] > 50), "no two are in one slot");
        assert_eq!(met.len(), 16, "each is in every slot at times");
    }

    #[test]
    fn connections_in_any_order_share_a_stream_of_slots() {
        let of = |turn: u32| take(Due::in_any_order(slots(800, 3, 1), Instant(10_000), turn, 4, 5), 20);
        let mut all: Vec<u64> = (0..4).flat_map(of).map(|at| at / 800).collect();
        all.sort_unstable();
        assert_eq!(all, (13..93).collect::<Vec<u64>>(), "one of them in each interval");
    }

    /// A disturbance of each interval that lasts for one slot meets a stream at a fixed phase always or never, and these in a quarter of their
    /// rounds.
    #[test]
    fn a_cycle_as_long_as_the_interval_meets_all_streams_alike() {
        let of = |slot: u32| take(Due::new(slots(1_000, 4, slot), Instant(0), 0, 1, 11), 4_000);
        for slot in 0..4 {
            let met = of(slot).iter().filter(|at| *at % 500 < 125).count();
            assert!((900..1_100).contains(&met), "{met} of 4,000, a quarter of which is in the first slot");
        }
    }

    #[test]
    fn in_any_order_each_has_one_instant_in_each_round() {
        let interval = Nanos(1_000);
        let every = Schedule::Every { interval_ns: interval };
        let mut all: Vec<u64> = Vec::new();
        let mut gaps = std::collections::BTreeSet::new();
        for turn in 0..12 {
            // The first is due with the next interval, wherever in a round of the clock that is.
            let instants = take(Due::in_any_order(every, Instant(5_003_500), turn, 12, 9), 40);
            gaps.extend(instants.windows(2).map(|pair| pair[1] - pair[0]));
            all.extend(instants);
        }
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[1] - pair[0] == 1_000), "one every interval, whoever sends it");
        assert!((5_003_500..5_004_500).contains(&all[0]), "{}", all[0]);
        assert!(gaps.len() > 6, "and no connection keeps its place: {gaps:?}");
    }

    /// A disturbance that comes and goes with half of the turns meets pairs of connections as chance pairs them: three ways to pair four.
    #[test]
    fn in_any_order_no_two_are_always_half_a_round_apart() {
        let rounds = 3_000;
        let apart = |number: u32| {
            let of = |round: u64| place(0, 4, 5, round).abs_diff(place(number, 4, 5, round)) == 2;
            (0..rounds).filter(|round| of(*round)).count()
        };
        for number in 1..4 {
            assert!((900..1_100).contains(&apart(number)), "{number}: {} of {rounds}", apart(number));
        }
        let mut of_many: Vec<u64> = (0..100).map(|number| place(number, 100, 5, 7)).collect();
        of_many.sort_unstable();
        assert!(of_many.into_iter().eq(0..100));
    }

    #[test]
    fn each_has_a_turn_in_each_round_and_rounds_differ() {
        let rounds: Vec<Vec<u32>> = (0..3).map(|round| turns(16, 7, round)).collect();
        for round in &rounds {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..16).collect::<Vec<_>>());
        }
        assert!(rounds[0] != rounds[1] && rounds[1] != rounds[2]);
        assert_eq!(turns(0, 1, 1), [0; 0]);
    }

    fn take(mut due: Due<'_>, n: usize) -> Vec<u64> {
        (0..n)
            .map(|_| {
                let at = due.peek().expect("scheduled").0;
                due.advance();
                at
            })
            .collect()
    }

    fn rate(per_second: u64) -> Schedule {
        Schedule::Rate { rate_per_1000s: Rate::per_second(per_second).unwrap() }
    }

    #[test]
    fn a_burst_goes_on_until_the_next_is_due() {
        let bursts = Schedule::Bursts { count: 3, interval_ns: Nanos(100) };
        let mut due = Due::new(bursts, Instant(1_000), 0, 1, 1);
        due.advance();
        assert_eq!((due.skip_to(Instant(1_100)), due.peek()), (0, Some(Instant(1_000))), "the second, just in time");
        assert_eq!((due.skip_to(Instant(1_101)), due.peek()), (2, Some(Instant(1_100))), "the rest of it");
        assert_eq!(due.skip_to(Instant(1_250)), 3, "and all of the next");
        assert_eq!((due.skip_to(Instant(900)), due.skip_to(Instant(1_300))), (0, 0), "nothing before its time");
    }

    #[test]
    fn bursts_without_bounds_are_skipped_at_once() {
        let bursts = Schedule::Bursts { count: u32::MAX, interval_ns: Nanos(1) };
        let mut due = Due::new(bursts, Instant(0), 0, 1, 1);
        assert_eq!(due.skip_to(Instant(1_000_001)), 1_000_000 * u64::from(u32::MAX));
        assert_eq!(due.peek(), Some(Instant(1_000_000)));
        due.skip_to(Instant(u64::MAX));
    }

    #[test]
    fn a_rate_that_is_no_whole_period_does_not_drift() {
        // 3/s: the period is 333 333 333.3 ns; after 3 million requests exactly a million seconds have passed.
        let mut due = Due::new(rate(3), Instant(0), 0, 1, 1);
        due.next = 3_000_000;
        assert_eq!(due.peek(), Some(Instant(1_000_000 * 1_000_000_000)));
    }

    #[test]
    fn a_periodic_stream_starts_within_one_interval_and_keeps_it() {
        let instants = take(Due::new(Schedule::Every { interval_ns: Nanos(100) }, Instant(1_000), 0, 1, 7), 4);
        assert!((1_000..1_100).contains(&instants[0]));
        assert!(instants.windows(2).all(|w| w[1] - w[0] == 100));
    }

    #[test]
    fn what_is_preloaded_leaves_at_once_and_the_rest_evenly() {
        let preloaded = |count| Schedule::Preloaded { count, interval_ns: Nanos(100) };
        assert_eq!(take(Due::new(preloaded(1), Instant(7), 0, 1, 3), 3), [7, 107, 207]);
        assert_eq!(take(Due::new(preloaded(3), Instant(7), 0, 1, 3), 5), [7, 7, 7, 107, 207]);
    }

    #[test]
    fn connections_share_a_rate_evenly() {
        let one = take(Due::new(rate(1_000), Instant(0), 0, 2, 1), 3);
        let two = take(Due::new(rate(1_000), Instant(0), 1, 2, 1), 3);
        assert_eq!(one, [0, 2_000_000, 4_000_000]);
        assert_eq!(two, [1_000_000, 3_000_000, 5_000_000]);
    }

    #[test]
    fn a_burst_is_due_at_one_instant() {
        let bursts = Schedule::Bursts { count: 3, interval_ns: Nanos(50) };
        assert_eq!(take(Due::new(bursts, Instant(0), 0, 1, 1), 7), [0, 0, 0, 50, 50, 50, 100]);
    }

    #[test]
    fn bursts_are_taken_in_turn_where_they_are_shared() {
        let bursts = Schedule::Bursts { count: 2, interval_ns: Nanos(50) };
        let lane = |turn| take(Due::in_turn(bursts, Instant(1), turn, 3, 1), 5);
        assert_eq!((lane(0), lane(2)), (vec![1, 1, 151, 151, 301], vec![101, 101, 251, 251, 401]));
        assert_eq!(take(Due::in_turn(rate(1_000), Instant(0), 1, 2, 1), 2), [1_000_000, 3_000_000], "a rate always is");
    }

    #[test]
    fn poisson_gaps_have_the_stated_mean_and_spread_and_repeat_by_seed() {
        let poisson = Schedule::Poisson { rate_per_1000s: Rate::per_second(1_000).unwrap() };
        let instants = take(Due::new(poisson, Instant(0), 0, 1, 42), 100_001);
        let gaps: Vec<f64> = instants.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let spread = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        // Standard error of the mean of 100 000 exponential gaps is 0.32 %: five of them.
        assert!((mean / 1e6 - 1.0).abs() < 0.016, "mean {mean}");
        assert!((spread / 1e6 - 1.0).abs() < 0.03, "spread {spread}");
        assert_eq!(take(Due::new(poisson, Instant(0), 0, 1, 42), 5), instants[..5]);
    }

    #[test]
    fn a_trace_is_replayed_to_the_nanosecond_and_ends() {
        let departures = [(0, 40), (7, 41), (7, 42), (1_003, 43), (2_000, 44)];
        let departures = departures.map(|(at, bytes)| Departure { at: Nanos(at), bytes });
        let trace = Trace::new(departures.to_vec()).unwrap();
        let all = |mut due: Due<'_>| {
            let mut seen = Vec::new();
            while !due.is_over() {
                seen.push((due.peek().unwrap().0, due.bytes().unwrap().0));
                due.advance();
            }
            assert_eq!((due.peek(), due.bytes()), (Some(Instant::NEVER), None));
            seen
        };
        let one = all(Due::replaying(&trace, Instant(100), 0, 1, None));
        assert_eq!(one, [(100, 40), (107, 41), (107, 42), (1_103, 43), (2_100, 44)]);
        assert_eq!(all(Due::replaying(&trace, Instant(0), 1, 2, None)), [(7, 41), (1_003, 43)], "shared out");
        assert_eq!(all(Due::replaying(&trace, Instant(0), 0, 2, Some(4))), [(0, 40), (7, 42)], "cut short");
        assert_eq!(all(Due::replaying(&trace, Instant(0), 0, 1, Some(99))).len(), 5);
    }

    #[test]
    fn skipping_counts_what_went_by() {
        let mut due = Due::new(rate(1_000), Instant(0), 0, 1, 1);
        assert_eq!(due.skip_to(Instant(3_500_000)), 4);
        assert_eq!(due.peek(), Some(Instant(4_000_000)));
    }
}
