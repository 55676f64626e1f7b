//! Place, onset and size of a change, from the last minutes of the cells.

use std::collections::BTreeMap;

use fastrand::Rng;

use super::CellId;
use super::culprit::{Seen, culprits, effect};
use super::incident::{Direction, Estimate, Kind, Onset, Size};
use super::kept::Step;
use super::parts::Part;
use super::slot::SLOT;
use super::stream::{Losses, Stream, TAIL};
use crate::statistics::loss::wilson;

/// Blocks of time that are drawn again.
const BLOCKS: u64 = 6;
/// Draws, and in how many of them a name has to come out again.
const DRAWS: usize = 40;
const AGREE: usize = 38;
/// Logarithm of the likelihood by which a time may be worse than the best to be in the onset's interval.
const WITHIN: f64 = 3.0;
/// Share of the slack that a cell's shift has to reach to be one.
const SHOWS: f64 = 0.7;
/// Smallest standard deviation of a part's steps that is believed.
const SMALLEST_DEVIATION: f64 = 0.02;

/// A part that explains a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// Its index; absent: no part explains enough.
    pub part: Option<usize>,
    pub size: Option<Size>,
    pub onset: Onset,
    /// Cells that show it.
    pub affected: Vec<CellId>,
    pub direction: Option<Direction>,
}

/// Data from which changes are placed.
pub struct View<'a> {
    pub parts: &'a [Part],
    pub of: &'a [Vec<u32>],
    pub streams: &'a [Stream],
    /// Cells whose change has its incident already.
    pub masked: &'a [bool],
    pub now: u64,
}

/// Sum and reference of each cell in each block of time.
type Blocks = Vec<[(f64, f64); BLOCKS as usize]>;
/// Blocks as they were drawn.
type Draw = [usize; BLOCKS as usize];
/// Each block once.
const STRAIGHT: Draw = [0, 1, 2, 3, 4, 5];

/// What is drawn from, since a slot, and how.
struct Drawn<'a> {
    since: u64,
    blocks: &'a Blocks,
    draws: &'a [Draw],
}

impl View<'_> {
    /// Parts that explain a change of this kind since about slot `since`. Empty where nothing is seen.
    pub fn place(&self, kind: Kind, since: u64) -> Vec<Placed> {
        let back = (self.now - since) / 2 + 12;
        let Some((names, _)) = culprits(self.parts, self.of, &self.seen(kind, &self.blocks(kind, since), None)) else {
            return Vec::new();
        };
        let everything: Vec<CellId> = (0..self.streams.len() as CellId).collect();
        let cells = names.first().map_or(&everything, |part| &self.parts[*part].cells);
        let onset = self.onset(kind, cells, since, since.saturating_sub(back));
        let since = onset.map_or(since, |onset| onset.likely / SLOT);
        let blocks = self.blocks(kind, since);
        let seen = self.seen(kind, &blocks, None);
        let Some((names, _)) = culprits(self.parts, self.of, &seen) else { return Vec::new() };
        let mut rng = Rng::with_seed(since);
        let draws: Vec<Draw> = (0..DRAWS).map(|_| std::array::from_fn(|_| rng.usize(0..BLOCKS as usize))).collect();
        // One after the other: the draws of tens of thousands of cells together would take more memory than all their state.
        let drawn = draws.iter().map(|draw| self.seen(kind, &blocks, Some(draw)));
        let named = |seen: Seen| culprits(self.parts, self.of, &seen).map_or(Vec::new(), |found| found.0);
        let again: Vec<Vec<usize>> = drawn.map(named).collect();
        let drawn = Drawn { since, blocks: &blocks, draws: &draws };
        let sure = |part: &usize| again.iter().filter(|names| names.contains(part)).count() >= AGREE;
        if names.is_empty() || !names.iter().all(sure) {
            return vec![self.describe(kind, None, &everything, &seen, &drawn)];
        }
        names.iter().map(|part| self.describe(kind, Some(*part), &self.parts[*part].cells, &seen, &drawn)).collect()
    }

    fn describe(&self, kind: Kind, part: Option<usize>, cells: &[CellId], seen: &Seen, drawn: &Drawn<'_>) -> Placed {
        let since = drawn.since;
        let moved = |cell: &CellId| match seen {
            Seen::Shift(by) => by[*cell as usize].is_some_and(|shift| shift != 0.0),
            Seen::Count(by) => by[*cell as usize].0 > by[*cell as usize].1,
        };
        let affected: Vec<CellId> = cells.iter().copied().filter(moved).collect();
        // Where no part has a name, the size is that of the cells that moved.
        let sized = if part.is_some() { cells } else { &affected };
        let size = match seen {
            Seen::Shift(_) => {
                // Of what shows too little to be named by, the size is no less that of the change.
                let size = |draw| effect(&shifts(drawn.blocks, draw), sized).exp();
                let value = size(&STRAIGHT);
                let (low, high) = drawn
                    .draws
                    .iter()
                    .map(size)
                    .fold((value, value), |(low, high), size| (low.min(size), high.max(size)));
                (!sized.is_empty()).then_some(Size::Ratio(Estimate { value, low, high }))
            }
            Seen::Count(_) => self.share(kind, sized, since),
        };
        let exactly = Onset { earliest: since * SLOT, likely: since * SLOT, latest: (since + 1) * SLOT };
        let mut onset = self.onset(kind, sized, since, since.saturating_sub(60)).unwrap_or(exactly);
        // A gradual change began before the minutes that are kept.
        let crept = sized.iter().filter_map(|cell| self.streams[*cell as usize].crept).min();
        onset.earliest = onset.earliest.min(crept.map_or(u64::MAX, |slot| slot * SLOT));
        let direction = if kind == Kind::Loss { self.direction(sized, since) } else { None };
        Placed { part, size, onset, affected, direction }
    }

    /// Returns the sums of cells in the blocks between two slots, the first not included.
    fn blocks(&self, kind: Kind, since: u64) -> Blocks {
        let length = (self.now - since).max(1);
        let block = |slot: u64| {
            (slot > since && slot <= self.now)
                .then(|| (((slot - since - 1) * BLOCKS / length).min(BLOCKS - 1)) as usize)
        };
        let of = |(stream, masked): (&Stream, &bool)| {
            let mut found = [(0.0, 0.0); BLOCKS as usize];
            if *masked {
                return found;
            }
            match kind {
                Kind::Loss => stream.requests.iter().for_each(|(slot, losses)| {
                    if let Some(block) = block(slot) {
                        found[block].0 += losses.lost as f64;
                        found[block].1 += losses.sent as f64 * stream.usual.normal() / 2.0;
                    }
                }),
                Kind::Tail => stream.steps.iter().for_each(|step| {
                    if let Some(block) = block(step.slot) {
                        let (above, of) = step.tail;
                        found[block].0 += above as f64;
                        found[block].1 += of as f64 * TAIL.1;
                    }
                }),
                _ => stream.steps.iter().for_each(|step| {
                    if let Some(block) = block(step.slot) {
                        found[block].0 += step.off;
                        found[block].1 += 1.0;
                    }
                }),
            }
            found
        };
        self.streams.iter().zip(self.masked).map(of).collect()
    }

    /// What cells show, as far as it shows a change.
    fn seen(&self, kind: Kind, blocks: &Blocks, draw: Option<&Draw>) -> Seen {
        let draw = draw.unwrap_or(&STRAIGHT);
        match kind {
            Kind::Loss | Kind::Tail => {
                Seen::Count(sums(blocks, draw).map(|(count, expected)| (count, expected.max(1e-6))).collect())
            }
            _ => {
                let mut shifts = shifts(blocks, draw);
                for (shift, stream) in shifts.iter_mut().zip(self.streams) {
                    let shows = |shift: f64| {
                        let towards = if kind == Kind::Slower { shift } else { -shift };
                        if towards < SHOWS * stream.level.slack() { 0.0 } else { shift }
                    };
                    *shift = shift.map(shows);
                }
                Seen::Shift(shifts)
            }
        }
    }

    /// Share that was lost, or slow, since a slot.
    fn share(&self, kind: Kind, cells: &[CellId], since: u64) -> Option<Size> {
        let streams = cells.iter().map(|cell| &self.streams[*cell as usize]);
        if kind == Kind::Loss {
            let sum = self.lost(cells, since);
            return estimate(sum.lost, sum.sent).map(Size::Lost);
        }
        let steps = streams.flat_map(|stream| stream.steps.iter()).filter(|step| step.slot > since);
        let (above, count) = steps.map(|step| step.tail).fold((0, 0), |sum, (above, of)| (sum.0 + above, sum.1 + of));
        estimate(above, count).map(Size::Slow)
    }

    /// Requests of some cells since a slot.
    pub fn lost(&self, cells: &[CellId], since: u64) -> Losses {
        let mut sum = Losses::default();
        let kept = cells.iter().flat_map(|cell| self.streams[*cell as usize].requests.iter());
        kept.filter(|kept| kept.0 > since).for_each(|kept| sum.add(&kept.1));
        sum
    }

    fn direction(&self, cells: &[CellId], since: u64) -> Option<Direction> {
        let sum = self.lost(cells, since);
        let told = sum.out + sum.back;
        if told == 0 || told * 2 < sum.lost {
            return None;
        }
        Some(match sum.out as f64 / told as f64 {
            share if share >= 0.8 => Direction::Out,
            share if share <= 0.2 => Direction::Back,
            _ => Direction::Both,
        })
    }

    /// The slot in which the level most likely changed, with all that are not much less likely.
    fn onset(&self, kind: Kind, cells: &[CellId], since: u64, from: u64) -> Option<Onset> {
        let series = self.series(kind, cells, from);
        let (before, after): (Vec<_>, Vec<_>) = series.iter().partition(|at| at.slot <= since);
        let sum = |of: &[&At]| of.iter().fold((0.0, 0.0), |sum, at| (sum.0 + at.value, sum.1 + at.weight));
        let (gone, come) = (sum(&before), sum(&after));
        let counts = matches!(kind, Kind::Loss | Kind::Tail);
        let gains: Vec<f64> = if counts {
            let now = (come.0 / come.1.max(1e-9)).max(1e-9);
            let was = (gone.0 / gone.1.max(1e-9)).clamp(1e-4, now * 0.99);
            series.iter().map(|at| at.value * (now / was).ln() - at.weight * (now - was)).collect()
        } else {
            let size = come.0 / come.1.max(1e-9);
            let off = before.iter().map(|at| (at.value / at.weight).powi(2)).sum::<f64>() / before.len().max(1) as f64;
            let variance = off.max(SMALLEST_DEVIATION.powi(2));
            series.iter().map(|at| (at.value / at.weight - size / 2.0) * size / variance).collect()
        };
        let mut sums: Vec<f64> = gains
            .iter()
            .rev()
            .scan(0.0, |sum, gain| {
                *sum += gain;
                Some(*sum)
            })
            .collect();
        sums.reverse();
        let best = sums.iter().copied().max_by(f64::total_cmp)?;
        let likely = sums.iter().position(|sum| *sum == best)?;
        let first = sums.iter().position(|sum| *sum >= best - WITHIN)?;
        let last = sums.iter().rposition(|sum| *sum >= best - WITHIN)?;
        // The step before the first may hold the change's beginning, and the last may begin with it.
        let start = |at: &At| at.slot + 1 - u64::from(at.slots);
        let earliest = start(&series[first]).saturating_sub(u64::from(series[first].slots)) * SLOT;
        Some(Onset { earliest, likely: start(&series[likely]) * SLOT, latest: (series[last].slot + 1) * SLOT })
    }

    /// Returns the sums of some cells by slot.
    fn series(&self, kind: Kind, cells: &[CellId], from: u64) -> Vec<At> {
        let mut found = BTreeMap::<u64, At>::new();
        let mut take = |at: At| {
            if at.slot > from && at.slot <= self.now && at.weight > 0.0 {
                let sum = found.entry(at.slot).or_insert(At { value: 0.0, weight: 0.0, ..at });
                (sum.value, sum.weight) = (sum.value + at.value, sum.weight + at.weight);
                sum.slots = sum.slots.max(at.slots);
            }
        };
        for cell in cells.iter().filter(|cell| !self.masked[**cell as usize]) {
            let stream = &self.streams[*cell as usize];
            if kind == Kind::Loss {
                stream.requests.iter().for_each(|(slot, losses)| {
                    take(At { slot, slots: 1, value: losses.lost as f64, weight: losses.sent as f64 });
                });
            } else {
                stream.steps.iter().for_each(|Step { slot, slots, off, tail: (above, of) }| {
                    let (value, weight) = if kind == Kind::Tail { (above as f64, of as f64) } else { (off, 1.0) };
                    take(At { slot, slots, value, weight });
                });
            }
        }
        found.into_values().collect()
    }
}

/// Sums of each cell over the blocks of a draw.
fn sums(blocks: &Blocks, draw: &Draw) -> impl Iterator<Item = (f64, f64)> {
    blocks
        .iter()
        .map(|blocks| draw.iter().fold((0.0, 0.0), |sum, block| (sum.0 + blocks[*block].0, sum.1 + blocks[*block].1)))
}

/// Mean distance of each cell from its level over the blocks of a draw; absent where it has no step.
fn shifts(blocks: &Blocks, draw: &Draw) -> Vec<Option<f64>> {
    sums(blocks, draw).map(|(sum, count)| (count > 0.0).then(|| sum / count)).collect()
}

/// Sum of cells in a slot, or in the step that ended in it.
#[derive(Clone, Copy, Debug)]
struct At {
    slot: u64,
    slots: u32,
    value: f64,
    weight: f64,
}

fn estimate(part: u64, whole: u64) -> Option<Estimate> {
    let (low, high) = wilson(part, whole)?;
    Some(Estimate { value: part as f64 / whole as f64, low, high })
}
