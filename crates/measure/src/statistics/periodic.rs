//! Long times that come back at even distances in time, as where a peer is stopped once a second.
//!
//! A closed loop meets a stop once, however long it lasts, so no quantile shows it. Its return at even distances does. Times that
//! keep step with the schedule are another thing (`rhythm`), and so is a time without replies (`dark`).
//!
//! An event is a stretch of exchanges that take at least half, a quarter, an eighth … of the longest excess over the median. From each
//! pair of events that are neighbours, or nearly so, their distance is carried on to the end of the run, and at each instant where the next
//! event would end it either does, or not. Events that come by chance do so with a probability that follows from how many there are. The period
//! is told where so many ends in place would come up in less than one of two thousand runs, all pairs tried and all levels counted.
//!
//! At a constant rate an even distance in time is one in requests too, as of a server that stops at each hundredth. So both are looked
//! for (`counted`), and where the run cannot tell them apart, both are told.

mod counted;

use counted::Counted;
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::outcome::periodic::Periodic;
use crate::unit::Nanos;

/// Runs without a period in which one is told, at the most, a share.
const CHANCE: f64 = 0.000_5;
/// The same of a period that is only supposed, so that a longer run is worth its time.
const SUPPOSED: f64 = 0.1;
/// An end is in place where it differs by this share of the period at the most: timers keep the finest, programs that sleep the coarsest.
const PLACES: [f64; 3] = [0.05, 0.01, 0.002];
/// Share of its instants at which the period must meet events.
const COVERED: f64 = 0.6;
/// It must last for this share of the time since the first event, to the end.
const LASTING: f64 = 0.5;
/// Halvings of the longest excess.
const LEVELS: u32 = 12;
/// Events of a level at the most: more are no longer rare.
const MOST: usize = 1_024;
/// A distance is that of an event and one of so many behind it: others may come in between.
const NEIGHBOURS: usize = 4;
/// Times that the delays of a chain, together, exceed those of the one that chance explains least, from which it is told in its place.
const OUTWEIGHS: u64 = 4;
/// Kernels end waits at their timer's ticks: chance is no finer.
const TICK: u64 = 4_000_000;

/// A long time is at least so many times as far above the median as the third quartile is.
const BEYOND: u64 = 8;

/// One exchange of a lane: of those that are asked one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Number of its lane.
    pub lane: u32,
    /// The instant at which it was due, nanoseconds.
    pub from: u64,
    /// Its duration, nanoseconds.
    pub took: u64,
    /// Excess over the median, nanoseconds; 0 where it is not long.
    pub excess: u64,
}

/// Returns the excess of a time over the median where it is long, else 0: twice the median, and clear of the spread.
pub fn excess_above(median: u64, third_quartile: u64) -> impl Fn(u64) -> u64 + Copy {
    let least = median.max(third_quartile.saturating_sub(median).saturating_mul(BEYOND)).max(1);
    move |took: u64| Some(took.saturating_sub(median)).filter(|excess| *excess >= least).unwrap_or(0)
}

/// The period of the long times among `taken`, in order of lanes and within one of time, of which one comes `step_ns` nanoseconds after the
/// other on average. `None` where chance explains them.
pub fn periodic(taken: &[Taken], step_ns: f64) -> Option<Periodic> {
    likeliest(taken, step_ns).filter(|chain| chain.chance < CHANCE).map(|chain| chain.found)
}

/// The same of one lane that holds all requests in their order, so that a count of them may explain the long times as well as time does, or better.
/// `at_random` where they leave at random instants: then a count that is exact is none of time.
pub fn periodic_or_counted(taken: &[Taken], step_ns: f64, at_random: bool) -> Option<Periodic> {
    let timed = periodic(taken, step_ns);
    let Some(counted) = counted::counted(taken) else { return timed };
    Some(either(timed, &counted, at_random))
}

/// The period that is told where a count fits. One in time is ruled out where the long times are uneven in it, and not by being too weak to be shown.
fn either(timed: Option<Periodic>, counted: &Counted, at_random: bool) -> Periodic {
    let by_requests_alone = at_random || counted.is_uneven_in_time;
    let found = timed.filter(|_| !by_requests_alone).unwrap_or(counted.found);
    Periodic { requests: counted.found.requests, by_requests_alone, ..found }
}

/// The period that [`periodic`] would tell of a longer run, if it went on like this. `None` also where it is told of this one.
pub fn supposed(taken: &[Taken], step_ns: f64) -> Option<Periodic> {
    likeliest(taken, step_ns).filter(|chain| (CHANCE..SUPPOSED).contains(&chain.chance)).map(|chain| chain.found)
}

/// The chain that chance explains least, all levels counted; or one that takes far more time, and that chance does not explain either: a small cycle
/// that comes often must not hide a long stop that comes seldom.
fn likeliest(taken: &[Taken], step_ns: f64) -> Option<Chain> {
    let longest = taken.iter().map(|taken| taken.excess).max()?;
    let end = taken.iter().map(|taken| taken.from.saturating_add(taken.took)).max()?;
    let mut levels: Vec<Vec<Event>> = Vec::new();
    for level in (1..=LEVELS).map(|halvings| longest >> halvings).take_while(|level| *level > 0) {
        let found = events(taken, level);
        if found.len() > MOST {
            break;
        }
        if levels.last().is_none_or(|last| last.len() != found.len()) {
            levels.push(found);
        }
    }
    let of_level = |chain: Chain| Chain { chance: chain.chance * levels.len() as f64, ..chain };
    let mut chains: Vec<Chain> = levels.iter().filter_map(|events| best(events, end, step_ns)).map(of_level).collect();
    chains.sort_by(|one, other| one.chance.total_cmp(&other.chance));
    let in_all = |chain: &Chain| chain.found.longer_ns.0.saturating_mul(chain.found.count);
    let least = OUTWEIGHS.saturating_mul(in_all(chains.first()?));
    let outweighs = |chain: &Chain| chain.chance < CHANCE && in_all(chain) >= least;
    let place = chains.iter().position(outweighs).unwrap_or(0);
    Some(chains.swap_remove(place))
}

/// A stretch of long times.
#[derive(Clone, Copy, Debug)]
struct Event {
    from: u64,
    until: u64,
    excess: u64,
}

impl Event {
    fn join(&mut self, other: &Self) {
        self.from = self.from.min(other.from);
        self.until = self.until.max(other.until);
        self.excess = self.excess.max(other.excess);
    }
}

/// Stretches of exchanges with at least this excess: in a lane without another one in between, and of several lanes where they overlap.
fn events(taken: &[Taken], level: u64) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for run in taken.chunk_by(|one, next| one.lane == next.lane && (one.excess >= level) == (next.excess >= level)) {
        let of = |taken: &Taken| Event {
            from: taken.from,
            until: taken.from.saturating_add(taken.took),
            excess: taken.excess,
        };
        let mut event = of(&run[0]);
        if event.excess >= level {
            for taken in &run[1..] {
                event.join(&of(taken));
            }
            events.push(event);
        }
    }
    events.sort_unstable_by_key(|event| event.from);
    events.dedup_by(|next, event| {
        let overlaps = next.from <= event.until;
        if overlaps {
            event.join(next);
        }
        overlaps
    });
    events
}

/// Events at even distances, and the probability of so many in place among those that come by chance.
struct Chain {
    found: Periodic,
    /// End of each event, in order.
    ends: Vec<u64>,
    chance: f64,
}

/// The chain that chance explains least; its probability counts all that were tried.
fn best(events: &[Event], end: u64, step_ns: f64) -> Option<Chain> {
    let firsts = events.iter().enumerate();
    let pairs = firsts
        .flat_map(|(first, _)| (first + 1..events.len().min(first + 1 + NEIGHBOURS)).map(move |next| (first, next)));
    let pairs: Vec<(usize, usize)> = pairs.collect();
    let tried = (pairs.len() * PLACES.len()) as f64;
    let each = pairs.iter().flat_map(|pair| PLACES.map(|place| (*pair, place)));
    let chains = each.filter_map(|(pair, place)| chain(events, pair, place, end, step_ns));
    let likeliest = chains.min_by(|one, other| one.chance.total_cmp(&other.chance))?;
    Some(Chain { chance: likeliest.chance * tried, ..likeliest })
}

fn chain(events: &[Event], (first, next): (usize, usize), place: f64, end: u64, step_ns: f64) -> Option<Chain> {
    let ends = |event: usize| events[event].until as f64;
    let (began, end) = (ends(first), end as f64);
    let mut period = ends(next) - began;
    let behind = end - ends(next);
    if period <= 0.0
        || end - began < LASTING * (end - ends(0))
        || COVERED * (behind / period - 1.0) > (events.len() - next) as f64
    {
        return None;
    }
    // Where they became more, their rate is that of the time since; where there were more before, of the whole.
    let in_place = [0, first].into_iter().filter_map(|since| in_place(&events[since..], end, period, place, step_ns));
    let in_place = in_place.max_by(f64::total_cmp)?;
    let (mut steps, mut met) = (1_u64, vec![first, next]);
    let (mut slots, mut since, mut last) = (0_u64, 0_u64, ends(next));
    loop {
        since += 1;
        let (expected, margin) = (last + since as f64 * period, place * period);
        if expected + margin > end {
            break;
        }
        slots += 1;
        let from = events.partition_point(|event| (event.until as f64) < expected - margin);
        if events.get(from).is_some_and(|event| event.until as f64 <= expected + margin) {
            (steps, since, last) = (steps + since, 0, ends(from));
            period = (last - began) / steps as f64;
            met.push(from);
        }
    }
    let hits = met.len() as u64 - 2;
    if hits == 0 || (hits as f64) < COVERED * slots as f64 {
        return None;
    }
    let chance = Binomial::new(in_place, slots).ok()?.sf(hits - 1);
    let mut excesses: Vec<u64> = met.iter().map(|event| events[*event].excess).collect();
    excesses.sort_unstable();
    let (period_ns, longer_ns) = (Nanos(period.round() as u64), Nanos(excesses[excesses.len() / 2]));
    let found = Periodic { period_ns, longer_ns, count: met.len() as u64, ..Periodic::default() };
    Some(Chain { found, ends: met.iter().map(|event| events[*event].until).collect(), chance })
}

/// The probability that an event of those that come by chance ends in the place of one that is expected. None comes while another one lasts;
/// so their rate is that of the other time.
fn in_place(events: &[Event], end: f64, period: f64, place: f64, step_ns: f64) -> Option<f64> {
    let whole = end - events.first()?.until as f64;
    let lasting: f64 = events[1..].iter().map(|event| (event.until - event.from) as f64).sum();
    let free = (whole > lasting).then_some(whole - lasting)?;
    let width = 2.0 * place * period + step_ns.max(TICK as f64);
    Some(1.0 - (-(events.len() as f64) / free * width).exp())
}

#[cfg(test)]
mod tests;
