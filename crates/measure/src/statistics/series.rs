//! One series in order of time out of the series of several threads.

use crate::recorder::{Kept, Series};

/// The kept exchanges of all threads, evenly thinned: every `stride`-th of each thread, those of several threads side by
/// side by their relative place in the run. So a disturbance of all threads at once counts as one, and not as
/// one for each.
pub fn interleaved(threads: &[Series]) -> Series {
    if let [alone] = threads {
        return alone.clone();
    }
    // Strides are powers of two: the largest is a multiple of each.
    let stride = threads.iter().map(|thread| thread.stride).max().unwrap_or(1);
    let mut placed: Vec<(f64, Kept)> = Vec::new();
    for thread in threads {
        let kept = || thread.samples.iter().filter(|kept| kept.index.is_multiple_of(stride));
        let length = kept().count() as f64;
        placed.extend(kept().enumerate().map(|(i, &kept)| ((i as f64 + 0.5) / length, kept)));
    }
    // Stable, so that threads of equal pace take turns.
    placed.sort_by(|left, right| left.0.total_cmp(&right.0));
    Series { stride, samples: placed.into_iter().map(|(_, kept)| kept).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(stride: u64, indices: impl IntoIterator<Item = u64>, response: u64) -> Series {
        Series {
            stride,
            samples: indices.into_iter().map(|index| Kept { index, response, ..Kept::default() }).collect(),
        }
    }

    #[test]
    fn one_thread_stays_as_it_is() {
        let one = series(2, [0, 2, 4], 7);
        assert_eq!(interleaved(std::slice::from_ref(&one)), one);
        assert!(interleaved(&[]).samples.is_empty());
    }

    #[test]
    fn threads_of_one_pace_take_turns() {
        let found = interleaved(&[series(1, 0..3, 1), series(1, 0..3, 2)]);
        let order: Vec<(u64, u64)> = found.samples.iter().map(|kept| (kept.index, kept.response)).collect();
        assert_eq!(order, [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)]);
    }

    #[test]
    fn the_finer_series_is_thinned_to_the_coarser() {
        let found = interleaved(&[series(1, 0..8, 1), series(4, [0, 4, 8, 12], 2)]);
        assert_eq!(found.stride, 4);
        let order: Vec<(u64, u64)> = found.samples.iter().map(|kept| (kept.index, kept.response)).collect();
        assert_eq!(order, [(0, 2), (0, 1), (4, 2), (8, 2), (4, 1), (12, 2)]);
    }
}
