//! Exchanges back to back, in short runs by turns: what the interval does to the believed number, and whether the echo keeps its
//! place in another rhythm.

use measure::event::{Counts, Exchange, Fate};
use measure::look::blocks::QUARTILE;
use measure::look::judge::believed;
use measure::look::{Burst, Leg, Sums, Who};
use measure::method::{Carrier, Method, Schedule, Stop as End};
use measure::statistics::quantile::Ranked;
use measure::unit::Nanos;
use protocol::inquiry::left_alone;

use crate::command::look::asking::{Pace, ask, method};
use crate::command::look::rounds::{Means, Rounds};
use crate::command::look::ways::Way;
use crate::system::drawn_seed;

/// Runs of each leg: the fewest with which two sides can be called different.
const RUNS: usize = 5;
/// Exchanges of a run at most; handshakes and echoes back to back are a flood where they are many.
const MOST: u64 = 100;
/// A run lasts no longer.
const LONGEST: Nanos = Nanos::millis(150);
/// Fewest exchanges of a run that count.
const FEWEST: usize = 5;

/// Makes the bursts of what `rounds` have found so far; or says why there are none.
///
/// # Errors
/// The reason why nothing was asked without pause.
pub fn make(rounds: &Rounds, interval: Nanos, means: Means<'_>) -> Result<Vec<Burst>, String> {
    let legs = rounds.legs();
    // A reflector of ours may be asked so beside a program at work that somebody named.
    let best = believed(&legs, None).ok_or("nothing answers")?.leg as usize;
    let median = legs[best].sums.median().ok_or("nothing answers")?;
    // Also where only handshakes are made with it.
    let at_work = |leg: &Leg| match leg.who {
        Who::Program { service } if service.is_at_work() && leg.port == legs[best].port => Some(service),
        _ => None,
    };
    if let Some(service) = legs.iter().find_map(at_work) {
        return Err(format!("{service} serves other users, who would wait"));
    }
    if let Some(why) = legs[best].port.and_then(left_alone) {
        return Err(why.to_owned());
    }
    if median.0 * FEWEST as u64 > LONGEST.0 || median.0 > interval.0 / 4 {
        return Err(format!("a round trip of {median} is too long for one"));
    }
    let echo = |leg: &Leg| leg.carrier == Carrier::Icmp && leg.address == legs[best].address && leg.answers();
    let echo = legs.iter().position(echo).filter(|place| *place != best);
    let legs = [Some(best), echo].into_iter().flatten().filter(|leg| rounds.is_open(*leg));
    let mut made: Vec<Volley> = legs.filter_map(|leg| Volley::of(leg, rounds)).collect();
    for _ in 0..RUNS {
        for volley in &mut made {
            if !means.stop.requested() && volley.trouble.is_none() {
                volley.run(means);
            }
        }
    }
    // Without those of the best way there is nothing that the echo's would be held against.
    match made.first() {
        None => Err("no answers came".to_owned()),
        Some(best) if best.quartiles.is_empty() => {
            Err(best.trouble.clone().unwrap_or_else(|| "too few answers came".to_owned()))
        }
        Some(_) => Ok(made.into_iter().filter_map(Volley::finish).collect()),
    }
}

/// The runs of one leg.
struct Volley {
    leg: usize,
    way: Way,
    method: Method,
    times: Vec<u64>,
    counts: Counts,
    quartiles: Vec<Nanos>,
    /// The reason why a run could not be made: no other is waited for.
    trouble: Option<String>,
}

impl Volley {
    fn of(leg: usize, rounds: &Rounds) -> Option<Self> {
        let way = rounds.way(leg).clone();
        let end = End { count: Some(MOST), after_ns: Some(LONGEST), ..End::default() };
        let method = method(&way, &Pace { schedule: Schedule::BackToBack, end, seed: drawn_seed(), flows: 1 }).ok()?;
        Some(Self {
            leg,
            way,
            method,
            times: Vec::new(),
            counts: Counts::default(),
            quartiles: Vec::new(),
            trouble: None,
        })
    }

    fn run(&mut self, means: Means<'_>) {
        let mut times = Vec::new();
        let counts = &mut self.counts;
        let mut hear = |exchange: Exchange| {
            counts.end(exchange.fate);
            let answered = exchange.received.zip(exchange.sent).filter(|_| exchange.fate == Fate::Answered);
            times.extend(answered.and_then(|(received, sent)| received.since(sent)).map(|rtt| rtt.0));
        };
        // A run that could not be made is missing among the quartiles, and the rest stands.
        self.trouble =
            ask(&self.way, &self.method, means.key, means.stop, &mut hear).err().map(|error| error.to_string());
        if times.len() >= FEWEST {
            self.quartiles.extend(Ranked::exact(times.clone()).quantile(QUARTILE).map(Nanos));
        }
        self.times.append(&mut times);
    }

    fn finish(self) -> Option<Burst> {
        let Self { leg, method, times, counts, quartiles, .. } = self;
        let burst = Burst {
            leg: leg as u32,
            method: Box::new(method),
            sums: Sums::of(times, &counts),
            quartiles_ns: quartiles,
        };
        (!burst.quartiles_ns.is_empty()).then_some(burst)
    }
}
