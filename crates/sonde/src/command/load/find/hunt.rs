//! The plan of a search: its condition, its bounds, and the method of each probe. No I/O.

use std::num::NonZeroU64;

use measure::method::{Asked, Schedule, Stop};
use measure::search::condition::Condition;
use measure::search::{Bounds, default};
use measure::unit::{Nanos, Rate};

use crate::command::load::find::options::FindOptions;
use crate::command::load::options::ScheduleOptions;
use crate::command::load::words::RateWord;
use crate::failure::Failure;

/// No probe is longer: a search takes twenty of them.
const LONGEST: Nanos = Nanos::secs(60);
/// Where the condition does not hold at the start, no probe below it is more than so many times as long as asked: whether a
/// rate that nobody needs would hold is not worth the wait.
const PATIENCE: u64 = 5;
/// No rate is above this where nobody says: no machine sends so many, so its own side ends the search before.
const HIGHEST_PER_S: u64 = 1_000_000_000;

/// A search as it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Hunt {
    /// The condition that a rate has to meet.
    pub condition: Condition,
    /// Bounds of the search.
    pub bounds: Bounds,
    /// The least length of a probe.
    pub probe: Nanos,
    /// True where messages leave at random.
    random: bool,
    /// Messages that the condition needs.
    needed: u64,
}

impl Hunt {
    /// The search that these options ask for; `None`: none. `reply_every` is how many messages there are to an answer.
    ///
    /// # Errors
    /// A start that is no rate, is too low for the condition, or lies outside the bounds.
    pub fn of(options: &FindOptions, schedule: &ScheduleOptions, reply_every: u32) -> Result<Option<Self>, Failure> {
        let Some(condition) = options.find.clone() else { return Ok(None) };
        let needed = condition.needed(reply_every);
        let lowest = rate_for(needed, LONGEST)?;
        let asked = match (schedule.rate, schedule.poisson) {
            (Some(RateWord::Max), _) => {
                return Err(Failure::usage("--find searches a rate, and max is none")
                    .hint("give --rate a number to start from, or leave it away"));
            }
            (Some(RateWord::Rate(rate)), _) | (None, Some(rate)) => Some(rate),
            (None, None) => None,
        };
        if let Some(rate) = asked.filter(|rate| *rate < lowest) {
            return Err(too_low(&condition, rate, lowest, needed));
        }
        let usual = Rate::per_second(default::START_PER_S).map_or(lowest, |usual| usual.max(lowest));
        let highest = options.up_to.or(Rate::per_second(HIGHEST_PER_S)).unwrap_or(usual);
        let start = asked.unwrap_or(usual.min(highest));
        let probe = options.probe.unwrap_or(default::LENGTH);
        let patient = rate_for(needed, Nanos(probe.0.saturating_mul(PATIENCE)))?;
        let bounds = Bounds {
            start_per_1000s: start,
            lowest_per_1000s: lowest.max(patient).min(start),
            highest_per_1000s: highest,
            width: options.width.unwrap_or(default::WIDTH),
            agreeing: options.agree.unwrap_or(default::AGREEING),
            probes: options.probes.unwrap_or(default::PROBES),
        };
        bounds.check().map_err(|error| {
            Failure::usage(error.to_string()).hint("look at --rate, --up-to, --width, --agree and --probes")
        })?;
        Ok(Some(Self { condition, bounds, probe, random: schedule.poisson.is_some(), needed }))
    }

    /// The length of a probe at `rate`: so long that the condition can be told.
    pub fn length(&self, rate: Rate) -> Nanos {
        // A twentieth more, for what chance, warm-up and the ends of the run may take.
        let messages = u128::from(self.needed) * 21 / 20;
        let needed = messages * 1_000_000_000_000 / u128::from(rate.0.get());
        self.probe.max(Nanos(u64::try_from(needed).unwrap_or(u64::MAX)).min(LONGEST))
    }

    /// The method of a probe at `rate`, everything else as in `asked`.
    pub fn asked(&self, asked: &Asked, rate: Rate) -> Asked {
        let schedule = if self.random {
            Schedule::Poisson { rate_per_1000s: rate }
        } else {
            Schedule::Rate { rate_per_1000s: rate }
        };
        let stop = Stop { after_ns: Some(self.length(rate)), ..Stop::default() };
        Asked { schedule: Some(schedule), stop, ..asked.clone() }
    }
}

/// The lowest rate at which a probe of this length has as many messages as are `needed`.
fn rate_for(needed: u64, length: Nanos) -> Result<Rate, Failure> {
    let per_1000s = (u128::from(needed) * 21 / 20 * 1_000_000_000_000).div_ceil(u128::from(length.0.max(1)));
    let rate = u64::try_from(per_1000s).ok().and_then(NonZeroU64::new).map(Rate);
    rate.ok_or_else(|| Failure::usage("no run is long enough for this condition").hint("ask for a lower quantile"))
}

fn too_low(condition: &Condition, rate: Rate, lowest: Rate, needed: u64) -> Failure {
    let needed = measure::unit::grouped(needed);
    Failure::usage(format!("{condition} needs {needed} messages, which at {rate} take longer than {LONGEST}"))
        .hint(format!("start from {lowest} or more, ask for a lower quantile, or let more messages be answered"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::method::Pattern;
    use test_case::test_case;

    fn hunt(find: &str, rate: Option<u64>, reply_every: u32) -> Result<Hunt, Failure> {
        let options = FindOptions { find: Some(find.parse().unwrap()), ..FindOptions::default() };
        let rate = rate.map(|rate| RateWord::Rate(Rate::per_second(rate).unwrap()));
        let schedule = ScheduleOptions { rate, ..ScheduleOptions::default() };
        Hunt::of(&options, &schedule, reply_every).map(|hunt| hunt.expect("a search"))
    }

    fn per_second(rate: u64) -> Rate {
        Rate::per_second(rate).unwrap()
    }

    #[test]
    fn a_search_starts_at_a_thousand_a_second() {
        let hunt = hunt("p99<1ms", None, 1).unwrap();
        assert_eq!(hunt.bounds.start_per_1000s, per_second(1_000));
        assert_eq!((hunt.bounds.width, hunt.bounds.agreeing, hunt.probe), (0.02, 3, Nanos::secs(2)));
    }

    #[test_case("p99<1ms", 1, 10_000, 2_000; "long enough as it is")]
    #[test_case("p99<1ms", 1, 100, 10_500; "a thousand messages, and a twentieth")]
    #[test_case("loss<0.1%", 100, 1_500, 2_100; "three thousand")]
    fn a_probe_is_as_long_as_the_condition_needs(find: &str, reply_every: u32, rate: u64, millis: u64) {
        assert_eq!(hunt(find, Some(rate), reply_every).unwrap().length(per_second(rate)), Nanos::millis(millis));
    }

    #[test]
    fn no_rate_is_probed_at_which_the_condition_could_not_be_told() {
        // 100 000 answers, each to the hundredth message: 10 million messages in a minute, and a twentieth more.
        let hunt_from = |rate| hunt("p99.99<1ms", rate, 100);
        assert_eq!(hunt_from(None).unwrap().bounds.start_per_1000s, per_second(175_000), "the usual start is too low");
        let failure = hunt_from(Some(10_000)).unwrap_err();
        assert!(failure.told.what.contains("needs 10 000 000 messages, which at 10 000/s take longer than 60 s"));
        assert!(failure.told.hint.unwrap().contains("start from 175 000/s or more"));
    }

    #[test]
    fn the_way_down_is_no_longer_than_five_probes_each() {
        // A thousand messages and a twentieth, in 10 s.
        assert_eq!(hunt("p99<1ms", None, 1).unwrap().bounds.lowest_per_1000s, per_second(105));
        assert_eq!(hunt("p99<1ms", Some(50), 1).unwrap().bounds.lowest_per_1000s, per_second(50), "as low as asked");
    }

    #[test]
    fn a_probe_differs_in_its_rate_and_its_length_alone() {
        let asked = Asked { pattern: Some(Pattern::Load), reply_every: Some(7), ..Asked::default() };
        let probe = hunt("p99<1ms", None, 7).unwrap().asked(&asked, per_second(20_000));
        assert_eq!(probe.schedule, Some(Schedule::Rate { rate_per_1000s: per_second(20_000) }));
        assert_eq!(probe.stop.after_ns, Some(Nanos::secs(2)));
        assert_eq!(Asked { schedule: None, stop: Stop::default(), ..probe }, asked);
    }

    #[test]
    fn a_search_at_random_stays_at_random() {
        let options = FindOptions { find: Some("mean<1ms".parse().unwrap()), ..FindOptions::default() };
        let schedule = ScheduleOptions { poisson: Some(per_second(5_000)), ..ScheduleOptions::default() };
        let hunt = Hunt::of(&options, &schedule, 1).unwrap().unwrap();
        assert_eq!(hunt.bounds.start_per_1000s, per_second(5_000));
        let probe = hunt.asked(&Asked::default(), per_second(9_000));
        assert_eq!(probe.schedule, Some(Schedule::Poisson { rate_per_1000s: per_second(9_000) }));
    }

    #[test]
    fn what_makes_no_search_is_refused() {
        let find = || Some("p99<1ms".parse().unwrap());
        let with = |options: FindOptions, rate: RateWord| {
            let schedule = ScheduleOptions { rate: Some(rate), ..ScheduleOptions::default() };
            Hunt::of(&options, &schedule, 1).unwrap_err().told.what
        };
        let max = with(FindOptions { find: find(), ..FindOptions::default() }, RateWord::Max);
        assert!(max.contains("max is none"), "{max}");
        let rate = RateWord::Rate(per_second(5_000));
        let below = with(FindOptions { find: find(), up_to: Some(per_second(100)), ..FindOptions::default() }, rate);
        assert!(below.contains("starts outside its bounds"), "{below}");
        let few = with(FindOptions { find: find(), probes: Some(3), ..FindOptions::default() }, rate);
        assert!(few.contains("too few probes"), "{few}");
        assert_eq!(Hunt::of(&FindOptions::default(), &ScheduleOptions::default(), 1).unwrap(), None);
    }
}
