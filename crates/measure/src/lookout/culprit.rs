//! Names the part of a mesh that explains the changes of its cells.
//!
//! One cause moves all cells of one part and no other. So the part is sought whose single effect leaves the least
//! unexplained: by absolute deviations for latencies (an approximation of a median polish, here also for few partners),
//! and by the likelihood of counts for losses (Kulldorff's scan statistic, 1997). A second and third cause are sought
//! in the remainder.

use super::CellId;
use super::parts::Part;

/// Share of all change that the named parts explain, at least.
const EXPLAINED: f64 = 0.7;
/// Causes sought at the same time.
const CAUSES: usize = 3;
/// Share of the explained that a further cause adds, at least.
const ADDS: f64 = 0.15;

/// Changes that cells show, by cell.
#[derive(Clone, Debug)]
pub enum Seen {
    /// Shift of the logarithm of the median since the onset; absent where too little was measured.
    Shift(Vec<Option<f64>>),
    /// Counted events and expected events of each cell.
    Count(Vec<(f64, f64)>),
}

/// Returns the parts that explain the changes, by their indices, and their share of them. `None` where nothing is to be
/// explained.
pub fn culprits(parts: &[Part], of: &[Vec<u32>], seen: &Seen) -> Option<(Vec<usize>, f64)> {
    let mut left = seen.clone();
    let total = left.weight();
    if total <= 0.0 {
        return None;
    }
    let (mut found, mut explained) = (Vec::new(), 0.0);
    while found.len() < CAUSES && explained < 0.95 * total {
        let touched = left.touched(of);
        let gains = touched.into_iter().map(|index| (left.gain(&parts[index].cells), index));
        let Some((gain, best)) = gains.max_by(|one, other| one.0.total_cmp(&other.0)).filter(|best| best.0 > 0.0)
        else {
            break;
        };
        let share = left.explains(&parts[best].cells);
        if gain <= 0.0 || share < ADDS * total {
            break;
        }
        explained += share;
        left.remove(&parts[best].cells);
        found.push(best);
    }
    Some((found, explained / total))
        .map(|(found, share)| if share < EXPLAINED { (Vec::new(), share) } else { (found, share) })
}

impl Seen {
    /// Sum of all change.
    fn weight(&self) -> f64 {
        match self {
            Self::Shift(by) => by.iter().flatten().map(|shift| shift.abs()).sum(),
            Self::Count(by) => by.iter().map(|(count, expected)| (count - expected).max(0.0)).sum(),
        }
    }

    /// Parts in which something is seen.
    fn touched(&self, of: &[Vec<u32>]) -> Vec<usize> {
        let mut found: Vec<usize> = (0..of.len())
            .filter(|cell| match self {
                Self::Shift(by) => by[*cell].is_some_and(|shift| shift != 0.0),
                Self::Count(by) => by[*cell].0 > 0.0,
            })
            .flat_map(|cell| of[cell].iter().map(|part| *part as usize))
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the gain from an effect common to these cells: absolute deviation removed, or the log-likelihood ratio of
    /// the counts.
    fn gain(&self, cells: &[CellId]) -> f64 {
        match self {
            Self::Shift(by) => {
                let effect = effect(by, cells);
                values(by, cells).map(|shift| shift.abs() - (shift - effect).abs()).sum()
            }
            Self::Count(by) => {
                let (count, expected) = sums(by, cells);
                if count > expected { count * (count / expected).ln() - (count - expected) } else { 0.0 }
            }
        }
    }

    /// Returns the amount of change that these cells explain, in the unit of the sum of all change.
    fn explains(&self, cells: &[CellId]) -> f64 {
        match self {
            Self::Shift(_) => self.gain(cells),
            Self::Count(by) => {
                cells.iter().map(|cell| by[*cell as usize]).map(|(count, expected)| (count - expected).max(0.0)).sum()
            }
        }
    }

    fn remove(&mut self, cells: &[CellId]) {
        match self {
            Self::Shift(by) => {
                let effect = effect(by, cells);
                for cell in cells {
                    let Some(shift) = &mut by[*cell as usize] else { continue };
                    // Where the effect fits, it is the whole change.
                    *shift = if (*shift - effect).abs() < 0.5 * effect.abs() { 0.0 } else { *shift - effect };
                }
            }
            Self::Count(by) => {
                for cell in cells {
                    let (count, expected) = &mut by[*cell as usize];
                    *count = count.min(*expected);
                }
            }
        }
    }
}

fn values<'a>(by: &'a [Option<f64>], cells: &'a [CellId]) -> impl Iterator<Item = f64> + 'a {
    cells.iter().filter_map(|cell| by[*cell as usize])
}

/// Median of the shifts.
pub fn effect(by: &[Option<f64>], cells: &[CellId]) -> f64 {
    median(&mut values(by, cells).collect::<Vec<_>>()).unwrap_or(0.0)
}

/// Count and expectation of some cells together.
pub fn sums(by: &[(f64, f64)], cells: &[CellId]) -> (f64, f64) {
    cells.iter().map(|cell| by[*cell as usize]).fold((0.0, 0.0), |sum, next| (sum.0 + next.0, sum.1 + next.1))
}

/// The middle value, or the lower of two; `None` of none. Leaves the values in another order.
pub fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}
