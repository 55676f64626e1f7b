//! A delay that is planted in a program comes out where the program is waited for, and one of the path in each round trip.
//!
//! Each is planted once, or as often as `SONDE_PLANTED` says. A delay in a wrong part may not happen at all. The shortest of some requests is held
//! against the shortest of as many: other work on this machine makes some longer, and none shorter but greetings (see [`Times`]). So
//! more requests bring both nearer to what the programs take, and a run has as many as show the delay where it belongs, within a bound: a busy
//! machine has made each of fifteen longer by more than half of a delay. What is told wrongly of every request stays wrong in any number. A part
//! that carries the delay and is longer than by that after all of them is not held against sonde in one run, unless it is by another delay.

use serde_json::Value;
use testbed::slow::{HELD_NS, Slow};

use super::Asked;
use super::row::{PHASES, Row};
use crate::plant::{FORWARDED, Forward};
use crate::scene::{Scene, counts, number, tell};

/// The delay of the path each way: together as long as a program's answer is held.
const EACH_WAY: &str = "10ms";
/// Rounds of a run at most, each with a measurement of either kind beside one without a delay.
const ROUNDS: usize = 12;
/// Words of each measurement: fifteen requests, of which none is given up however busy this machine is.
const WORDS: [&str; 6] = ["-c", REQUESTS, "--warm-up", "0", "--timeout", "60s"];
const REQUESTS: &str = "15";

/// Runs of each planted case: once, where nobody wants it more often.
#[expect(clippy::disallowed_methods, reason = "how often is up to whoever runs the tests")]
pub fn runs() -> usize {
    let asked = std::env::var("SONDE_PLANTED").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or_else(|| {
        testbed::skip::aloud(
            "delays of programs and of their paths, planted in 20 runs each: `make planted`; here one run of each",
        );
        1
    })
}

/// A longer path to the far host, beside its cable.
pub fn longer_path(scene: &Scene) -> Forward {
    Forward::start(scene, &["--delay", EACH_WAY])
}

/// Complaints about a program after so many runs of each delay.
pub fn complaints(asked: &Asked<'_>, runs: usize) -> Vec<String> {
    let (row, near) = (asked.row, asked.scene.target(false));
    let (mut program, mut path) = (Series::new(row, "program"), Series::new(row, "path"));
    for _ in 0..runs {
        // What was measured without a delay serves both.
        let mut plain = Times::default();
        if let Some(calls) = row.calls {
            program.run(&mut plain, row.answers, || {
                let without = asked.times(&near);
                let _slow = Slow::hold(&asked.servers[0], calls);
                [without, asked.times(&near)]
            });
        }
        path.run(&mut plain, row.trips.unwrap_or_default(), || [asked.times(&near), asked.times(FORWARDED)]);
    }
    [program, path].into_iter().flat_map(Series::told).collect()
}

/// The shortest of what was measured, nanoseconds.
#[derive(Clone, Copy, Default)]
struct Times {
    /// On connections that are kept; absent where none are.
    kept: Option<u64>,
    /// The parts of requests with a connection each; absent over UDP.
    parts: Option<[Option<u64>; 5]>,
    /// Such requests from their beginning to their end.
    whole: Option<u64>,
}

/// The place of the greeting among the parts.
const GREETING: usize = 2;

impl Times {
    /// Takes in what was measured of the same with further requests.
    fn add(&mut self, more: Self) {
        let shorter = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        self.kept = shorter(self.kept, more.kept);
        self.whole = shorter(self.whole, more.whole);
        self.parts = match (self.parts, more.parts) {
            (Some(one), Some(other)) => Some(std::array::from_fn(|part| shorter(one[part], other[part]))),
            (one, other) => one.or(other),
        };
    }

    /// The greeting as the other parts leave it of the whole. A server that speaks first does so while a busy client has not noticed yet that it is
    /// connected, and the shortest greeting is then the one whose beginning was noticed last.
    fn greeting(&self) -> Option<u64> {
        let mut others = self.parts?;
        let shortest = others[GREETING].take()?;
        Some(shortest.max(self.whole?.saturating_sub(others.iter().flatten().sum())))
    }
}

impl Asked<'_> {
    fn times(&self, host: &str) -> Times {
        let kept = self.row.keeps.then(|| number(&self.record(host, &[]), "/outcome/response/min_ns"));
        let anew = self.row.trips.map(|_| self.record(host, &["--crr"]));
        let parts = anew.as_ref().map(|record| {
            let phases = &record["outcome"]["replies"]["phases"];
            PHASES.map(|name| phases[name]["min_ns"].as_u64())
        });
        let whole = anew.as_ref().map(|record| number(record, "/outcome/response/min_ns"));
        Times { kept, parts, whole }
    }

    fn record(&self, host: &str, more: &[&str]) -> Value {
        let words = self.words(host);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let record = self.scene.record(&[&words[..], &WORDS, more].concat());
        assert_eq!(counts(&record).answered.to_string(), REQUESTS, "{}: {:?}", self.row.name, counts(&record));
        record
    }
}

/// A part that was found to be longer by some delays, of which some number was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judged {
    Right,
    Unclear,
    Wrong,
}

impl Judged {
    pub fn of(found: f64, expected: u32) -> Self {
        let more = found - f64::from(expected);
        // Another one where none belongs is told by half of it.
        let another = if expected == 0 { 0.5 } else { 1.0 };
        match more {
            -0.25..=0.25 => Self::Right,
            -0.5..0.0 => Self::Unclear,
            _ if more > 0.0 && more < another => Self::Unclear,
            // Too short, another delay, or a part that only one of both has.
            _ => Self::Wrong,
        }
    }
}

/// A part, by how many delays it is longer with one, and by how many it ought to be; absent where that is not sure.
type Longer = (&'static str, f64, Option<u32>);

/// By how many delays each part is longer.
fn longer(plain: &Times, delayed: &Times, expected: [Option<u32>; 5]) -> Vec<Longer> {
    let longer = |before: u64, after: u64| (after as f64 - before as f64) / HELD_NS as f64;
    let kept = plain.kept.zip(delayed.kept);
    let mut found: Vec<_> = kept.map(|(before, after)| ("kept", longer(before, after), Some(1))).into_iter().collect();
    if let Some((before, after)) = plain.parts.zip(delayed.parts) {
        let parts = PHASES.iter().zip(before.into_iter().zip(after)).zip(expected);
        found.extend(parts.map(|((name, (before, after)), expected)| {
            let both = before.zip(after).map(|(before, after)| longer(before, after));
            (*name, both.unwrap_or(if before == after { 0.0 } else { f64::NAN }), expected)
        }));
        let whole = plain.greeting().zip(delayed.greeting()).map(|(before, after)| longer(before, after));
        for (name, found, expected) in &mut found {
            let is_short = expected.is_some_and(|expected| *found < f64::from(expected) - 0.25);
            if let (true, "greeting", Some(whole)) = (is_short, *name, whole) {
                *found = whole;
            }
        }
    }
    found
}

/// Runs of one delay.
struct Series<'a> {
    row: &'a Row,
    of: &'static str,
    runs: usize,
    right: usize,
    wrong: Vec<String>,
    unclear: Vec<String>,
}

impl<'a> Series<'a> {
    fn new(row: &'a Row, of: &'static str) -> Self {
        Self { row, of, runs: 0, right: 0, wrong: Vec::new(), unclear: Vec::new() }
    }

    /// A run: rounds of measurements without the delay and with it, until each part is longer by so many delays.
    fn run(&mut self, plain: &mut Times, expected: [Option<u32>; 5], round: impl Fn() -> [Times; 2]) {
        self.runs += 1;
        let (mut delayed, mut last) = (Times::default(), None);
        for _ in 0..ROUNDS {
            let [without, with] = round();
            plain.add(without);
            delayed.add(with);
            let found = longer(plain, &delayed, expected);
            let judged =
                |(_, found, expected): &Longer| expected.map_or(Judged::Right, |expected| Judged::of(*found, expected));
            let worst = found.iter().map(judged).max().unwrap_or(Judged::Right);
            last = Some((worst, found));
            if worst == Judged::Right {
                break;
            }
        }
        let Some((worst, found)) = last else { return };
        let told = || format!("{}, delay of the {}: {found:.3?}", self.row.name, self.of);
        match worst {
            Judged::Right => self.right += 1,
            Judged::Unclear => self.unclear.push(told()),
            Judged::Wrong => self.wrong.push(told()),
        }
    }

    /// The complaints; all of them are told.
    fn told(self) -> Vec<String> {
        let Self { row, of, runs, right, wrong, unclear } = self;
        if runs == 0 {
            return Vec::new();
        }
        tell(&format!(
            "{}: a delay of the {of} came out right in {right} of {runs}, wrong in {}",
            row.name,
            wrong.len()
        ));
        for told in &unclear {
            tell(told);
        }
        let too_few = runs - right > runs.div_ceil(20);
        wrong.into_iter().chain(unclear.into_iter().filter(|_| too_few)).collect()
    }
}
