//! Comparison of two sides: the figures that differ, by how much and how surely. Every command compares by this one procedure.
//!
//! A run gives one number for each figure. Runs made in pairs, one of each side beside the other, are compared pair by pair;
//! others as two groups. Where several figures are asked about, each is called different only as surely as all of them
//! together allow. A difference that is not shown is never called equality.
//!
//! A comparison may end as soon as it is settled: it is judged at a few stated [`LOOKS`], among which [`ALARMS`] is divided. So whichever
//! of them ends it, all of them together raise a false alarm no more often than one would, and the interval of the look that ended it
//! holds the truth as often as it says (Bonferroni over the looks).

pub mod attribution;
pub mod single;

use serde::{Deserialize, Serialize};

use crate::statistics::joint;
use crate::statistics::paired::{self, Estimate};
use crate::statistics::sides::{self, FEWEST, Sides};
use crate::statistics::strata::{self, Block};

/// Probability that a comparison of two sides that do not differ calls them different, at most.
pub const ALARMS: f64 = 0.05;

/// Runs of each side that a block of [`Design::Triples`] has. With three the fewest runs of all show a difference: two such blocks have
/// 400 ways to deal their runs out, and six pairs have 64.
pub const STRETCH: u32 = 3;

/// The moments at which a comparison that may end early is judged, with their parts of [`ALARMS`]: of three figures together the first look
/// can show a difference just so (3 · 2/400 = 1.5 %), the last has the most for what is hard to see.
pub const LOOKS: [Look; 3] =
    [Look { runs: 6, alarms: 0.016 }, Look { runs: 9, alarms: 0.012 }, Look { runs: 12, alarms: 0.022 }];

/// A moment at which a comparison is judged, and ends where it is settled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Look {
    /// Runs of each side that are made by then, a count.
    pub runs: u32,
    /// Rate of false alarms allowed to it, a probability 0 to 1: its part of the 5 % that all looks have together. Its
    /// intervals leave out as much.
    pub alarms: f64,
}

/// The order in which the runs were made, and the rate of false alarms that they may raise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The order in which the runs were made.
    pub design: Design,
    /// A probability, 0 to 1.
    pub alarms: f64,
}

impl Rule {
    /// The rule by which runs are judged once.
    pub fn once(design: Design) -> Self {
        Self { design, alarms: ALARMS }
    }

    /// The rule after so many `runs` of each side: that of the look that is due then. A comparison that ends elsewhere,
    /// by a signal or its budget, has left the last look's part untouched, and is judged by that. Without looks it is
    /// judged once.
    pub fn after(design: Design, looks: &[Look], runs: u32) -> Self {
        let due = looks.iter().find(|look| look.runs == runs).or(looks.last());
        Self { design, alarms: due.map_or(ALARMS, |look| look.alarms) }
    }
}

/// More runs than any number of figures takes: the probability of the outermost ways to deal them out is 10^-18.
const MANY: usize = 60;

/// Order in which the runs of both sides were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// In blocks of one run of each side, in random order: the k-th of one side belongs to the k-th of the other.
    Paired,
    /// In blocks of three runs of each side, in random order.
    Triples,
    /// Each side by itself.
    Apart,
}

/// The numbers that the runs of both sides have for one figure, absent where a run has none.
#[derive(Clone, Debug, PartialEq)]
pub struct Runs {
    /// Numbers of the first side, in the order of its runs.
    pub first: Vec<Option<f64>>,
    /// Numbers of the second side, in the order of its runs.
    pub second: Vec<Option<f64>>,
}

/// Result of comparing the runs in one figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compared {
    /// Median over the first side's runs, in the unit of the figure; absent where none has it.
    pub first: Option<f64>,
    /// Median over the second side's runs, in the unit of the figure.
    pub second: Option<f64>,
    /// Runs that have the figure, of the first side and the second; pairs count on both.
    pub runs: (u32, u32),
    /// Second side minus the first, in the figure's own unit.
    pub difference: Option<Interval>,
    /// The same as a share of the first side: 0.05 is 5 % more. Absent where a number is not above 0.
    pub change: Option<Interval>,
    /// Probability, 0 to 1, of this or more if the sides did not differ, before it is set against those of the other figures.
    pub p: Option<f64>,
    /// Cliff's delta, −1 to 1 and without unit, of runs that were not made in pairs; within blocks where there are some.
    pub delta: Option<f64>,
    /// Conclusion that the numbers support.
    pub word: Word,
}

/// An estimate and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// The estimate, in the unit of the figure, or as a share of it.
    pub value: f64,
    /// Lower end, in the unit of the figure, or as a share of it; absent where so few runs cannot reach 95 %.
    pub low: Option<f64>,
    /// Upper end, likewise in the unit of the figure.
    pub high: Option<f64>,
}

/// Conclusion about a figure. Equality is not among them: it takes a margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// The second side has more of it.
    More,
    /// The second side has less of it.
    Less,
    /// No difference was shown.
    NotShown,
    /// So few runs cannot show one.
    TooFewRuns,
}

/// Compares each figure, with Holm's correction where there are several.
pub fn compare(figures: &[Runs], design: Design) -> Vec<Compared> {
    compare_by(figures, Rule::once(design))
}

/// [`compare`] by a rule: as often as it allows, and with intervals that leave out as much.
pub fn compare_by(figures: &[Runs], rule: Rule) -> Vec<Compared> {
    let mut compared: Vec<Compared> = figures.iter().map(|runs| runs.compared(rule.design, rule.alarms)).collect();
    let probabilities: Vec<f64> = compared.iter().filter_map(|figure| figure.p).collect();
    let mut adjusted = sides::holm(&probabilities).into_iter();
    for figure in &mut compared {
        let p = figure.p.and_then(|_| adjusted.next());
        figure.word = figure.judged(p, probabilities.len(), rule);
    }
    compared
}

/// Compares figures of cells that were all measured in the same rounds, each side by itself: the k-th run of one was made when the
/// k-th of the others was. However many they are, each is called different by as few runs as one alone takes; `seed` says which ways
/// to deal the rounds out are tried, where there are very many.
pub fn compare_rounds(figures: &[Runs], seed: u64) -> Vec<Compared> {
    let rule = Rule::once(Design::Apart);
    let mut compared: Vec<Compared> = figures.iter().map(|runs| runs.compared(rule.design, rule.alarms)).collect();
    let most = |side: fn(&Runs) -> &Vec<Option<f64>>| figures.iter().map(|runs| side(runs).len()).max().unwrap_or(0);
    let (first, second) = (most(|runs| &runs.first), most(|runs| &runs.second));
    let probabilities = if let [one] = &compared[..] {
        one.p.into_iter().collect()
    } else {
        let judged = figures.iter().zip(&compared).filter(|(_, compared)| compared.p.is_some());
        let rounds: Vec<joint::Rounds> = judged.map(|(runs, _)| runs.rounds(first, second)).collect();
        joint::probabilities(&rounds, first, seed)
    };
    let mut probabilities = probabilities.into_iter();
    for figure in &mut compared {
        let p = figure.p.and_then(|_| probabilities.next());
        figure.word = figure.judged(p, 1, rule);
    }
    compared
}

/// Fewest runs of each side, or pairs, with which one of so many figures can be called different at all; five at least.
///
/// ```
/// use measure::comparison::{Design, fewest};
/// assert_eq!((fewest(1, Design::Apart), fewest(1, Design::Paired)), (5, 6));
/// assert_eq!((fewest(3, Design::Apart), fewest(3, Design::Paired)), (5, 7));
/// ```
pub fn fewest(figures: usize, design: Design) -> usize {
    let reached = |runs: &usize| least_probability(*runs, *runs, design) * figures as f64 <= ALARMS;
    (FEWEST..MANY).find(reached).unwrap_or(MANY)
}

/// The smallest two-sided probability that so many runs can have: of all ways to deal them out, the two outermost.
fn least_probability(first: usize, second: usize, design: Design) -> f64 {
    let ways = match design {
        Design::Paired => 2_f64.powi(first.min(second) as i32),
        Design::Triples => {
            let (runs, stretch) = (first.min(second), STRETCH as usize);
            dealings(stretch, stretch).powi((runs / stretch) as i32) * dealings(runs % stretch, runs % stretch)
        }
        Design::Apart => dealings(first, second),
    };
    2.0 / ways
}

/// In how many ways runs are dealt out to two groups of these sizes.
fn dealings(first: usize, second: usize) -> f64 {
    (1..=first).map(|k| (second + k) as f64 / k as f64).product()
}

impl Runs {
    /// The effect with the interval by which `among` figures that were not called different are judged together: each leaves out
    /// its part of the rule's alarms, as the last step of Holm's procedure does. So it holds 0 where the word is that no difference was
    /// shown. As a share of the first side where there is one, else in the figure's unit.
    pub fn joint(&self, rule: Rule, among: usize) -> Option<Interval> {
        let compared = self.compared(rule.design, rule.alarms / among.max(1) as f64);
        compared.change.or(compared.difference)
    }

    pub(crate) fn compared(&self, design: Design, left_out: f64) -> Compared {
        let (first, second) = match design {
            Design::Paired => self.first.iter().zip(&self.second).filter_map(|(a, b)| Some(((*a)?, (*b)?))).unzip(),
            Design::Triples | Design::Apart => (of(&self.first), of(&self.second)),
        };
        let positive = first.iter().chain(&second).all(|value| *value > 0.0);
        let found = match design {
            Design::Paired => {
                let differences: Vec<f64> = first.iter().zip(&second).map(|(a, b)| b - a).collect();
                // Logarithms where they exist: a disturbance of a pair moves both by a share.
                let pairs: Vec<(f64, f64)> = second.iter().copied().zip(first.iter().copied()).collect();
                let shares = || pairs.iter().map(|(b, a)| b.ln() - a.ln()).collect::<Vec<_>>();
                let p = paired::probability(&if positive { shares() } else { differences.clone() });
                Found {
                    difference: paired::hodges_lehmann_within(&differences, left_out),
                    ratio: positive.then(|| paired::ratio_within(&pairs, left_out)).flatten(),
                    p: p.filter(|_| !pairs.is_empty()),
                    delta: None,
                }
            }
            Design::Triples => {
                let blocks = self.blocks();
                // The ranks within a block are those of the logarithms too.
                let plain = strata::compared_within(&blocks, left_out);
                Found::of(plain, strata::ratio_within(&blocks, left_out))
            }
            Design::Apart => Found::of(
                sides::compared_within(&first, &second, left_out),
                sides::ratio_within(&first, &second, left_out),
            ),
        };
        let share = |ratio: Estimate| Interval {
            value: ratio.value - 1.0,
            low: ratio.low.map(|low| low - 1.0),
            high: ratio.high.map(|high| high - 1.0),
        };
        Compared {
            first: paired::median(&first),
            second: paired::median(&second),
            runs: (first.len() as u32, second.len() as u32),
            difference: found.difference.map(|Estimate { value, low, high }| Interval { value, low, high }),
            change: found.ratio.map(share),
            p: found.p,
            delta: found.delta,
            word: Word::TooFewRuns,
        }
    }

    /// The numbers of so many rounds of each side, as logarithms where there are: a disturbance of a round moves all by a share.
    fn rounds(&self, first: usize, second: usize) -> joint::Rounds {
        let positive = self.first.iter().chain(&self.second).flatten().all(|value| *value > 0.0);
        let side = |runs: &[Option<f64>], count: usize| {
            let told = |round: usize| runs.get(round).copied().flatten();
            (0..count)
                .map(|round| told(round).map(|value| if positive { value.ln() } else { value }))
                .collect::<Vec<_>>()
        };
        [side(&self.first, first), side(&self.second, second)].concat()
    }

    /// The runs of each block of [`STRETCH`].
    fn blocks(&self) -> Vec<Block> {
        let count = self.first.len().max(self.second.len()).div_ceil(STRETCH as usize);
        let block = |side: &[Option<f64>], at: usize| side.chunks(STRETCH as usize).nth(at).map(of).unwrap_or_default();
        (0..count).map(|at| (block(&self.first, at), block(&self.second, at))).collect()
    }
}

/// Statistics of one design.
struct Found {
    difference: Option<Estimate>,
    ratio: Option<Estimate>,
    p: Option<f64>,
    delta: Option<f64>,
}

impl Found {
    /// Both comparisons in one: of differences and of ratios.
    fn of(plain: Option<Sides>, ratio: Option<Sides>) -> Self {
        Self {
            difference: plain.map(|sides| sides.shift),
            ratio: ratio.map(|sides| sides.shift),
            p: plain.map(|sides| sides.p),
            delta: plain.map(|sides| sides.delta),
        }
    }
}

/// The numbers of the runs that have one.
fn of(runs: &[Option<f64>]) -> Vec<f64> {
    runs.iter().flatten().copied().collect()
}

impl Compared {
    /// Judges the figure by `p`, which considers the other figures; `figures` is their number with this one.
    fn judged(&self, p: Option<f64>, figures: usize, rule: Rule) -> Word {
        let (first, second) = (self.runs.0 as usize, self.runs.1 as usize);
        let enough = first.min(second) >= FEWEST
            && least_probability(first, second, rule.design) * figures as f64 <= rule.alarms;
        let effect = self.change.or(self.difference).map_or(0.0, |effect| effect.value);
        match p {
            Some(p) if enough && p <= rule.alarms && effect > 0.0 => Word::More,
            Some(p) if enough && p <= rule.alarms && effect < 0.0 => Word::Less,
            _ if enough => Word::NotShown,
            _ => Word::TooFewRuns,
        }
    }
}

#[cfg(test)]
mod tests;
