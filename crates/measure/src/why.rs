//! Causes of a round trip's time, each with the difference that one switch makes.
//!
//! The time at an interval is taken apart: how an end waits (one switch each, moved in every order:
//! [`crate::study::moves`]), the rest of the interval when nothing sleeps, how long the peer's program kept the reply,
//! and the gain where the peer runs on another CPU. Several causes are judged together: a switch shows one only where
//! that is as sure as one test alone would be (Wilcoxon's signed ranks over the blocks, two-sided, by Holm's
//! procedure), and only where it is worth [`SHARE`] of the measured time. The rest, which no named cause explains, is
//! reported as unexplained.

use serde::{Deserialize, Serialize};

use crate::comparison::{self, ALARMS, Design, Interval};
use crate::statistics::{paired, sides};
use crate::study::moves;

/// Share of the measured time below which a cause is not named.
pub const SHARE: f64 = 0.1;
/// Where a cause would save so many times the measured time, it is no part of that; chance makes one that is all of it a little more.
pub const BEYOND: f64 = 1.25;
/// Time for which any program keeps a reply on a warm path, in nanoseconds: a program that keeps it for less is prompt.
pub const PROMPT_NS: f64 = 25_000.0;
/// A thread that waits for its CPU for less than this share of the time is not disturbed by others there.
pub const BUSY: f64 = 0.05;

/// A possible cause of a round trip's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// We sleep until a request is due, and are woken late and cold.
    SleepPacing,
    /// We sleep until the reply is there, and have to be woken.
    OurWakeUp,
    /// The peer's program sleeps until a request is there, and has to be woken.
    PeerWakeUp,
    /// No switch is left to move, and yet it takes longer than back to back: caches, predictors and clocks of CPUs went cold
    /// in between, and links and queues saved power.
    ColdPath,
    /// The peer's program keeps the reply.
    PeerHolds,
    /// Others run on the peer's CPU. Part of its wake-up, and so not added to that.
    PeerCpuBusy,
}

impl Cause {
    /// True where its effect adds to those of the others.
    pub fn adds(self) -> bool {
        self != Self::PeerCpuBusy
    }

    /// True where a switch shows it, so that it is judged together with the others that have one.
    pub fn has_switch(self) -> bool {
        self != Self::PeerHolds
    }
}

/// Numbers of the blocks, in their order; absent where a block has none.
pub type Blocks = Vec<Option<f64>>;

/// The measured times: medians of trials, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// The causes that have a switch, in the order of the bits of a corner.
    pub switches: Vec<Cause>,
    /// The times of each block at every corner of [`moves::corners`], in that order: no switch moved first, all of them last.
    pub corners: Vec<Blocks>,
    /// Back to back, all switches moved.
    pub floor: Blocks,
    /// Time that the peer's program kept a reply without pause, by its own stamps.
    pub holds: Blocks,
    /// Share of the time that the peer's threads waited for a CPU, no switch moved; 0 to 1.
    pub waits: Blocks,
    /// The same with the peer on a CPU that it was moved to.
    pub moved: Vec<Moved>,
}

/// The peer on another CPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moved {
    /// Number of the CPU on the peer's host.
    pub cpu: u32,
    /// Times, no switch moved, nanoseconds.
    pub times: Blocks,
    /// Share of the time that its threads waited for that CPU, 0 to 1.
    pub waits: Blocks,
}

/// The causes of a round trip, and the unexplained rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// Measured time with no switch moved: median over the blocks, nanoseconds.
    pub measured: Option<Interval>,
    /// Time of an exchange without pause where nothing sleeps, nanoseconds; whatever else it is, it is not one of the waits.
    pub floor: Option<Interval>,
    /// The causes that were looked at.
    pub causes: Vec<Examined>,
    /// Measured time less all named causes, nanoseconds.
    pub unexplained: Option<Interval>,
    /// Share of the measured time, 0 to 1, below which a cause is not named.
    pub least_share: f64,
    /// Fewest blocks, a count, in which a switch can show one of so many causes at all; absent where none was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fewest_blocks: Option<u32>,
}

/// One cause, looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Examined {
    /// The cause.
    pub cause: Cause,
    /// Its effect: the time that would be saved without it, nanoseconds.
    pub takes: Option<Interval>,
    /// The same as a share of the measured time.
    pub share: Option<Interval>,
    /// Probability, 0 to 1, of a worth so far from nothing if there were none, larger for there being others that are judged beside
    /// it (Holm); absent where no switch shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The reason why it is not named; absent where it is.
    pub doubt: Option<Doubt>,
    /// The CPU to which the peer was moved, by its number there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Share of the time that the peer's threads waited for a CPU, 0 to 1; of that cause alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<f64>,
}

impl Examined {
    /// True where it is named.
    pub fn is_established(&self) -> bool {
        self.doubt.is_none()
    }
}

/// The reason why a cause is not named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// It was not measured: its switch is not to be had here, or its trials failed.
    NotMeasured,
    /// So few blocks cannot show it among so many causes.
    TooFewBlocks,
    /// Its switch does not show it, as sure as that has to be among so many.
    NotShown,
    /// It would save more than all that was measured: without it the other switches cost more, and none of this is a part of the time.
    BeyondMeasured,
    /// It is worth less than the least share.
    Small,
    /// It is no more than any program takes, or requests without a pause are answered sooner than it would allow.
    AsAnyProgram,
    /// The peer's threads hardly waited for their CPU.
    NotBusy,
    /// The peer's threads waited for their CPU, and have no other to move to.
    NoOtherCpu,
}

/// Fewest blocks in which a switch can show one of `causes` causes at all, however large it is.
///
/// ```
/// assert_eq!([1, 3, 5].map(measure::why::fewest_blocks), [6, 7, 8]);
/// ```
pub fn fewest_blocks(causes: usize) -> u32 {
    comparison::fewest(causes.max(1), Design::Paired) as u32
}

/// The explanation of `observed`.
pub fn explain(observed: &Observed) -> Explanation {
    let base: Blocks = observed.corners.iter().map(|block| block.first().copied().flatten()).collect();
    let measured = median_of(&base);
    let mut parts: Vec<Part> = Vec::new();
    for (cause, worth) in observed.switches.iter().zip(switches(observed)) {
        parts.push(Part::new(*cause, worth));
    }
    parts.push(Part::new(Cause::ColdPath, cold(observed)));
    parts.push(Part::new(Cause::PeerHolds, observed.holds.clone()));
    parts.extend(busy(observed, &base));
    let probabilities: Vec<Option<f64>> = parts.iter().map(Part::probability).collect();
    let asked: Vec<f64> = probabilities.iter().copied().flatten().collect();
    let mut adjusted = sides::holm(&asked).into_iter();
    let judged: Vec<(Part, Examined)> = parts
        .into_iter()
        .zip(probabilities)
        .map(|(part, p)| {
            let found = judge(&part, (&base, &observed.floor), p.and_then(|_| adjusted.next()), asked.len());
            (part, found)
        })
        .collect();
    let unexplained = unexplained(&base, &judged);
    let causes = judged.into_iter().map(|(_, found)| found).collect();
    let fewest_blocks = (!asked.is_empty()).then(|| fewest_blocks(asked.len()));
    Explanation { measured, floor: median_of(&observed.floor), causes, unexplained, least_share: SHARE, fewest_blocks }
}

/// A cause and its worth in each block.
struct Part {
    cause: Cause,
    worth: Blocks,
    /// The reason why it is not named, whatever its effect.
    beyond: Option<Doubt>,
    /// As of [`Examined`].
    cpu: Option<u32>,
    waited: Option<f64>,
}

impl Part {
    fn new(cause: Cause, worth: Blocks) -> Self {
        Self { cause, worth, beyond: None, cpu: None, waited: None }
    }

    /// Returns the probability of its effects if there were none; `None` where it is judged otherwise.
    fn probability(&self) -> Option<f64> {
        let worths = there(&self.worth);
        let asked = self.cause.has_switch() && self.beyond.is_none() && !worths.is_empty();
        asked.then(|| paired::probability(&worths)).flatten()
    }
}

/// The effect of each switch in each block: the average over every order in which it is moved.
fn switches(observed: &Observed) -> Vec<Blocks> {
    let count = observed.switches.len();
    let of_block = |block: &Blocks| moves::worth(count, std::slice::from_ref(block));
    let found: Vec<Option<Vec<moves::Worth>>> = observed.corners.iter().map(of_block).collect();
    let of =
        |switch: usize| found.iter().map(|worths| worths.as_ref().map(|worths| -worths[switch].closes.value)).collect();
    (0..count).map(of).collect()
}

/// The rest of the interval's effect where nothing sleeps, in each block.
fn cold(observed: &Observed) -> Blocks {
    let awake = observed.corners.iter().map(|block| block.last().copied().flatten());
    awake.zip(&observed.floor).map(|(awake, floor)| Some(awake? - (*floor)?)).collect()
}

/// Judges a cause by `base` and `floor`: what was measured, and the same without a pause. `p` is its probability with those of the others
/// considered, of which there are `causes` with itself.
fn judge(part: &Part, (base, floor): (&Blocks, &Blocks), p: Option<f64>, causes: usize) -> Examined {
    let takes = centre(&part.worth);
    let measured = median(base).filter(|measured| *measured > 0.0);
    let share = takes.zip(measured).map(|(takes, measured)| Interval {
        value: takes.value / measured,
        low: takes.low.map(|low| low / measured),
        high: takes.high.map(|high| high / measured),
    });
    let blocks = there(&part.worth).len();
    let few = if part.cause.has_switch() { blocks < fewest_blocks(causes) as usize } else { takes.is_none_or(no_ends) };
    let doubt = match takes {
        _ if part.beyond.is_some() => part.beyond,
        None => Some(Doubt::NotMeasured),
        Some(_) if few => Some(Doubt::TooFewBlocks),
        Some(takes) if takes.value <= 0.0 || takes.low <= Some(0.0) => Some(Doubt::NotShown),
        Some(_) if p.is_some_and(|p| p > ALARMS) => Some(Doubt::NotShown),
        Some(takes) if measured.is_some_and(|measured| takes.value > BEYOND * measured) => Some(Doubt::BeyondMeasured),
        Some(takes) if part.cause == Cause::PeerHolds && is_of_any_program(takes, median(floor)) => {
            Some(Doubt::AsAnyProgram)
        }
        Some(_) => share.is_none_or(|share| share.value < SHARE).then_some(Doubt::Small),
    };
    Examined { cause: part.cause, takes, share, p, doubt, cpu: part.cpu, waited: part.waited }
}

/// True of a reply kept so shortly that any program does, and where requests without a pause are answered sooner than that: who holds replies
/// holds those too, but a program that has idled is slower, which is the cold path's.
fn is_of_any_program(takes: Interval, floor: Option<f64>) -> bool {
    takes.low < Some(PROMPT_NS) || floor.is_some_and(|floor| takes.low > Some(floor))
}

fn no_ends(interval: Interval) -> bool {
    interval.low.is_none()
}

/// The gain where the peer runs elsewhere, if its threads waited for their CPU: of the CPUs it was moved to, the one
/// where it waited least. `None` where the peer did not tell.
fn busy(observed: &Observed, base: &Blocks) -> Option<Part> {
    let waited = median(&observed.waits)?;
    let calm = |moved: &&Moved| median(&moved.waits).is_some_and(|there| there < waited / 2.0);
    let wait = |moved: &Moved| median(&moved.waits).unwrap_or(f64::INFINITY);
    let found = observed.moved.iter().filter(calm).min_by(|one, other| wait(one).total_cmp(&wait(other)));
    let gained =
        |moved: &Moved| base.iter().zip(&moved.times).map(|(here, there)| Some((*here)? - (*there)?)).collect();
    let not_busy = (waited < BUSY).then_some(Doubt::NotBusy);
    Some(Part {
        beyond: not_busy.or_else(|| found.is_none().then_some(Doubt::NoOtherCpu)),
        cpu: found.map(|moved| moved.cpu),
        waited: Some(waited),
        ..Part::new(Cause::PeerCpuBusy, found.map(gained).unwrap_or_default())
    })
}

/// Measured time less all named causes that add, block by block.
fn unexplained(base: &Blocks, judged: &[(Part, Examined)]) -> Option<Interval> {
    let named: Vec<&Part> = judged
        .iter()
        .filter(|(part, found)| found.is_established() && part.cause.adds())
        .map(|(part, _)| part)
        .collect();
    let of_block = |(block, measured): (usize, &Option<f64>)| {
        let parts: Option<f64> = named.iter().map(|part| part.worth.get(block).copied().flatten()).sum();
        Some((*measured)? - parts?)
    };
    centre(&base.iter().enumerate().map(of_block).collect::<Blocks>())
}

fn there(blocks: &Blocks) -> Vec<f64> {
    blocks.iter().copied().flatten().collect()
}

fn median(blocks: &Blocks) -> Option<f64> {
    paired::median(&there(blocks))
}

/// The centre of the blocks' numbers with its signed-rank interval.
fn centre(blocks: &Blocks) -> Option<Interval> {
    let found = paired::hodges_lehmann(&there(blocks))?;
    Some(Interval { value: found.value, low: found.low, high: found.high })
}

/// The median over the blocks, in the signed-rank interval widened to hold it.
fn median_of(blocks: &Blocks) -> Option<Interval> {
    let value = median(blocks)?;
    let found = centre(blocks)?;
    Some(Interval { value, low: found.low.map(|low| low.min(value)), high: found.high.map(|high| high.max(value)) })
}

#[cfg(test)]
mod tests;
