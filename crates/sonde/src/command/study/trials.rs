//! Trials of a study, the duration of each, and that of all of them: known, and said, before the first.

use measure::claim;
use measure::comparison::{LOOKS, Look};
use measure::method::{Method, SourcePorts};
use measure::study::lengths::{self, Wish};
use measure::study::{Turn, stretched};
use measure::unit::Nanos;

use crate::command::study::words::Words;
use crate::failure::Failure;

/// A stream needs so long to leave its slow start behind.
const STREAM: Nanos = Nanos::secs(3);
/// No trial of exchanges is made longer than this for the sake of its samples.
const MOST: Nanos = Nanos::secs(100);
/// More time than a trial should take, after which it is ended: the peer's silence has a timeout of its own before.
const PATIENCE: Nanos = Nanos::secs(20);

/// Most times that the looks of a comparison are stretched: more runs say little more.
const MOST_STRETCH: u32 = 5;

/// Fewest exchanges that a trial's median is of.
pub const FEWEST: u64 = 5;

/// The wanted length of trials.
#[derive(Clone, Copy, Debug)]
pub struct Aim {
    /// Exchanges a trial should have.
    pub samples: u64,
    /// Exchanges without which a trial says nothing that is asked of it: none has fewer, whatever the budget.
    pub fewest: u64,
    /// No trial is shorter where the budget allows.
    pub least: Nanos,
}

/// The time that a study may take.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// All of it.
    pub whole: Nanos,
    /// The part that something else than trials needs.
    pub aside: Nanos,
}

impl From<Nanos> for Budget {
    fn from(whole: Nanos) -> Self {
        Self { whole, aside: Nanos::ZERO }
    }
}

/// The trials to be made.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The words of each setting, with the length of its trials.
    pub words: Vec<Words>,
    /// The method of each.
    pub methods: Vec<Method>,
    /// The most that a trial of each may take.
    pub most: Vec<Nanos>,
    /// The time that one of each should take, with what lies around it.
    pub each: Vec<Nanos>,
    /// Order of the trials.
    pub turns: Vec<Turn>,
    /// Blocks that are compared with each other: they share their source ports.
    stretch: u32,
    /// Trials are made by the words as they are.
    as_said: bool,
    /// Decides the order and the ports.
    seed: u64,
    /// The time that all should take.
    pub takes: Nanos,
    /// The time that they may take.
    pub budget: Option<Nanos>,
}

/// Plans trials of these settings.
///
/// # Errors
/// A setting that its command would refuse, and a budget that cannot be kept.
pub fn plan(
    settings: Vec<Words>,
    blocks: u32,
    seed: u64,
    aim: Aim,
    budget: Option<Budget>,
) -> Result<Planned, Failure> {
    let methods = settings.iter().map(Words::method).collect::<Result<Vec<_>, _>>()?;
    let wishes: Vec<Wish> = settings.iter().zip(&methods).map(|(words, method)| wish(words, method, aim)).collect();
    within(settings, wishes, Stretches { blocks, stretch: 1, seed }, budget)
}

/// Plans trials of these settings, as long as wished where the budget allows.
///
/// # Errors
/// As of [`plan`].
pub fn within(
    settings: Vec<Words>,
    mut wishes: Vec<Wish>,
    stretches: Stretches,
    budget: Option<Budget>,
) -> Result<Planned, Failure> {
    let blocks = stretches.blocks;
    let time = budget.map(|budget| Nanos(budget.whole.0.saturating_sub(budget.aside.0)));
    if let Some((budget, time)) = budget.zip(time) {
        // A block that lacks a setting shows nothing: where that leaves room for them at all, a part of the budget is kept in hand.
        let careful = lengths::within(in_hand(time), &wishes, blocks);
        let lengths = careful.or_else(|| lengths::within(time, &wishes, blocks));
        let lengths = lengths.ok_or_else(|| unkept(budget, &wishes, blocks))?;
        for (wish, length) in wishes.iter_mut().zip(lengths) {
            wish.length = length;
        }
    }
    made_of(settings, &wishes, stretches, time)
}

/// Moments at which a study that may end early is judged: those of a comparison, stretched as far as the budget has room, so that it is spent where
/// the answer takes it. The first comes after `first` runs of each setting at the latest.
pub fn looks(wishes: &[Wish], budget: Option<Nanos>, first: u32) -> Vec<Look> {
    let least = LOOKS[LOOKS.len() - 1].runs;
    let has_room = |times: &u32| budget.is_some_and(|budget| lengths::whole(wishes, least * times) <= in_hand(budget));
    let times = (1..=MOST_STRETCH).rev().find(has_room).unwrap_or(1);
    let mut looks = claim::looks(least * times).to_vec();
    looks[0].runs = looks[0].runs.min(first);
    looks
}

/// The part of a budget that is planned with: on a busy machine trials take longer than is allowed for.
pub fn in_hand(budget: Nanos) -> Nanos {
    Nanos(budget.0 / 4 * 3)
}

/// The number of trials of each setting, and their order.
#[derive(Clone, Copy, Debug)]
pub struct Stretches {
    /// Trials of each setting.
    pub blocks: u32,
    /// Blocks that have one random order together.
    pub stretch: u32,
    /// The seed of the order.
    pub seed: u64,
}

/// Trials of these settings, as long as wished.
///
/// # Errors
/// A setting that its command would refuse.
pub fn made_of(
    settings: Vec<Words>,
    wishes: &[Wish],
    stretches: Stretches,
    budget: Option<Nanos>,
) -> Result<Planned, Failure> {
    let Stretches { blocks, stretch, seed } = stretches;
    let words: Vec<Words> = settings.into_iter().zip(wishes).map(|(words, wish)| with_length(words, *wish)).collect();
    let methods = words.iter().map(Words::method).collect::<Result<Vec<_>, _>>()?;
    let each: Vec<Nanos> = wishes.iter().map(|wish| lengths::whole(std::slice::from_ref(wish), 1)).collect();
    let most = wishes.iter().zip(&methods).map(|(wish, method)| most(wish, method)).collect();
    let turns = stretched(methods.len() as u32, blocks, stretch, seed);
    let takes = lengths::whole(wishes, blocks);
    Ok(Planned { words, methods, most, each, turns, stretch, seed, as_said: false, takes, budget })
}

/// Trials of a single setting, the second of two whose first was measured before, by its words as they are.
///
/// # Errors
/// A method that its command would refuse.
pub fn again(words: &Words, runs: u32) -> Result<Planned, Failure> {
    let method = words.method()?;
    let wish = wish(words, &method, Aim { samples: 1, fewest: 1, least: method.stop.after_ns.unwrap_or(MOST) });
    let each = lengths::whole(std::slice::from_ref(&wish), 1);
    Ok(Planned {
        most: vec![most(&wish, &method); 2],
        words: vec![words.clone(); 2],
        methods: vec![method; 2],
        each: vec![each; 2],
        turns: (0..runs).map(|block| Turn { block, setting: 1 }).collect(),
        stretch: 1,
        seed: 0,
        as_said: true,
        takes: Nanos(each.0.saturating_mul(runs.into())),
        budget: None,
    })
}

impl Planned {
    /// The words of a trial. Trials that are compared with each other have the same source ports, and others have other ones.
    pub fn trial(&self, turn: Turn) -> Vec<String> {
        let part = self.seed.wrapping_add(u64::from(turn.block / self.stretch.max(1)));
        let setting = turn.setting as usize;
        if self.as_said {
            return self.words[setting].words();
        }
        self.words[setting].trial(&self.methods[setting], Some(SourcePorts::of_part(part)))
    }
}

/// The wanted length of a trial of a setting.
pub fn wish(words: &Words, method: &Method, aim: Aim) -> Wish {
    let gap = method.schedule.mean_gap();
    let counted = method.stop.count.map(|count| match gap {
        Some(gap) => Nanos(gap.0.saturating_mul(count)),
        // Nobody knows how long they take; a millisecond each is long.
        None => Nanos(count.saturating_mul(1_000_000)).min(MOST),
    });
    let length = words.time().or(counted).unwrap_or_else(|| {
        if method.traffic.stream().is_some() {
            return STREAM.max(aim.least);
        }
        let samples = gap.map_or(Nanos::ZERO, |gap| Nanos(gap.0.saturating_mul(aim.samples)));
        samples.min(MOST).max(aim.least)
    });
    let fixed = words.time().is_some() || counted.is_some();
    let least = gap.map_or(Nanos::ZERO, |gap| Nanos(gap.0.saturating_mul(aim.fewest))).max(lengths::SHORTEST);
    Wish { length: if fixed { length } else { length.max(least) }, warm_up: method.warm_up_ns, least, fixed }
}

fn with_length(mut words: Words, wish: Wish) -> Words {
    if !wish.fixed {
        words.say("--time", Some(format!("{}ms", wish.length.0.div_ceil(1_000_000))));
    }
    words
}

fn most(wish: &Wish, method: &Method) -> Nanos {
    let known = wish.length.0.saturating_add(wish.warm_up.0).saturating_add(method.timeout_ns.0);
    Nanos(known.saturating_add(PATIENCE.0))
}

/// The refusal of a budget, with one that is accepted.
fn unkept(budget: Budget, wishes: &[Wish], blocks: u32) -> Failure {
    let shortest: Vec<Wish> =
        wishes.iter().map(|wish| if wish.fixed { *wish } else { Wish { length: wish.least, ..*wish } }).collect();
    let takes = Span(Nanos(lengths::whole(&shortest, blocks).0.saturating_add(budget.aside.0)));
    let sparse = wishes.iter().any(|wish| !wish.fixed && wish.least > lengths::SHORTEST);
    let each = if sparse { " with the fewest exchanges that show anything" } else { "" };
    let trials = wishes.len() * blocks as usize;
    let what = format!("{trials} trials{each} need at least {takes}, and --budget allows {}", Span(budget.whole));
    let seconds = takes.0.0.div_ceil(1_000_000_000);
    Failure::usage(what).hint(format!("--budget {seconds}s, or fewer settings or blocks, or a shorter --warm-up"))
}

/// A length of time for people: `2 min 5 s`.
pub struct Span(pub Nanos);

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.0.0.div_ceil(1_000_000_000);
        match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
            (0, 0, 1) => write!(f, "{}", self.0),
            (0, 0, seconds) => write!(f, "{seconds} s"),
            (0, minutes, 0) => write!(f, "{minutes} min"),
            (0, minutes, seconds) => write!(f, "{minutes} min {seconds} s"),
            (hours, minutes, _) => write!(f, "{hours} h {minutes} min"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AIM: Aim = Aim { samples: 10, fewest: 1, least: Nanos::secs(1) };

    fn words(text: &str) -> Words {
        Words::read(text).unwrap()
    }

    #[test]
    fn sparse_settings_run_longer_and_what_was_said_stays() {
        let settings = vec![words("db1"), words("ping db1"), words("db1 -t 4"), words("ping db1 -c 3")];
        let planned = plan(settings, 7, 1, AIM, None).unwrap();
        let times: Vec<Option<Nanos>> = planned.words.iter().map(Words::time).collect();
        assert_eq!(times, [Some(Nanos::secs(1)), Some(Nanos::secs(10)), Some(Nanos::secs(4)), None]);
        assert_eq!(planned.turns.len(), 28);
        // Four trials a block with 400 ms of warm-up and 250 ms around each; three requests a second apart take 3 s.
        assert_eq!(planned.takes, Nanos(7 * (1 + 10 + 4 + 3) * 1_000_000_000 + 28 * 650_000_000));
    }

    #[test]
    fn a_budget_is_kept_or_refused() {
        let settings = || vec![words("db1"), words("ping db1")];
        let planned = plan(settings(), 7, 1, AIM, Some(Nanos::secs(40).into())).unwrap();
        assert!(planned.takes <= Nanos::secs(30) && planned.takes > Nanos::secs(29), "{}", planned.takes);
        assert_eq!(planned.words[0].time(), Some(Nanos::secs(1)), "the sparse one is cut");
        let failure = plan(settings(), 7, 1, AIM, Some(Nanos::secs(5).into())).unwrap_err();
        assert_eq!(failure.told.hint.as_deref().and_then(|hint| hint.split(',').next()), Some("--budget 18s"));
        assert!(plan(settings(), 7, 1, AIM, Some(Nanos::secs(18).into())).is_ok(), "the advice is refused");
        assert!(
            failure.told.what.starts_with(
                "14 trials with the fewest exchanges that show anything need at least 18 s, and --budget allows 5 s"
            ),
            "{}",
            failure.told.what
        );
        // The time needed beside the trials is counted with them, in the refusal and in its advice.
        let beside = |whole| Budget { whole: Nanos::secs(whole), aside: Nanos::secs(2) };
        let failure = plan(settings(), 7, 1, AIM, Some(beside(18))).unwrap_err();
        assert_eq!(failure.told.hint.as_deref().and_then(|hint| hint.split(',').next()), Some("--budget 20s"));
        let planned = plan(settings(), 7, 1, AIM, Some(beside(20))).unwrap();
        assert_eq!(planned.budget, Some(Nanos::secs(18)));
    }

    #[test]
    fn lengths_are_told_in_words() {
        let told = |seconds| Span(Nanos::secs(seconds)).to_string();
        assert_eq!(
            [told(1), told(5), told(60), told(125), told(7_500)],
            ["1 s", "5 s", "1 min", "2 min 5 s", "2 h 5 min"]
        );
        assert_eq!(Span(Nanos::millis(1)).to_string(), "1 ms");
    }
}
