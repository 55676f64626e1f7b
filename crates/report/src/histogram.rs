//! A distribution as bars: logarithmic bins with round edges, chosen so that the body of it fills a few rows.
//!
//! Round trips spread over decades and crowd in a few percent of them; bins of equal ratio show both. Not here: the
//! histogram's encoding (`measure`).

use measure::unit::Nanos;

/// Rows of the body; one more may hold the tail.
const ROWS: usize = 10;
/// Share of the values that the body holds at least; the rest is the tail's row.
const BODY: f64 = 0.99;
/// Bins a decade, from coarse to fine: the steps of preferred numbers.
const STEPS: [u32; 9] = [1, 3, 6, 12, 24, 48, 96, 192, 384];

/// Values from an edge up to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Its lower edge, which belongs to it.
    pub from: Nanos,
    /// Number of values in it.
    pub count: u64,
    /// True where it has no upper edge.
    pub open: bool,
}

/// The bins of values given as `(value, count)` in ascending order; empty for none. Every value is in one bin.
///
/// The finest step is taken that needs at most ten rows for 99 % of the values; what lies above is one open bin.
pub fn bins(values: &[(Nanos, u64)]) -> Vec<Bin> {
    let total: u64 = values.iter().map(|(_, count)| count).sum();
    let (Some(lowest), Some(top)) = (values.iter().find(|(_, count)| *count > 0), rank(values, total)) else {
        return Vec::new();
    };
    let fits = |step: &&u32| {
        let (first, last) = (index(lowest.0, **step), index(top, **step));
        // Near a nanosecond fine edges round to one another.
        last - first < ROWS as i64 && (first..=last).all(|number| edge(number, **step) < edge(number + 1, **step))
    };
    let step = *STEPS.iter().rev().find(fits).unwrap_or(&STEPS[0]);
    let first = index(lowest.0, step);
    let last = index(top, step);
    let mut counts = vec![0; (last - first + 2) as usize];
    for (value, count) in values {
        counts[(index(*value, step).clamp(first, last + 1) - first) as usize] += count;
    }
    let bin = |(place, count): (usize, &u64)| {
        let number = first + place as i64;
        Bin { from: edge(number, step), count: *count, open: number > last }
    };
    counts.iter().enumerate().map(bin).filter(|bin| !(bin.open && bin.count == 0)).collect()
}

/// The value below which the body's share of all values lies.
fn rank(values: &[(Nanos, u64)], total: u64) -> Option<Nanos> {
    let needed = (total as f64 * BODY).ceil() as u64;
    let mut seen = 0;
    values
        .iter()
        .find(|(_, count)| {
            seen += count;
            *count > 0 && seen >= needed
        })
        .map(|(value, _)| *value)
}

/// The number of the bin that `value` is in, at `step` bins a decade. 0 ns is counted with 1 ns.
fn index(value: Nanos, step: u32) -> i64 {
    let place = (value.0.max(1) as f64).log10() * f64::from(step);
    // Edges are rounded, so the guess may be off by one either way.
    let mut number = place.floor() as i64 - 1;
    while edge(number + 1, step) <= value.max(Nanos(1)) {
        number += 1;
    }
    number
}

/// Lower edge of bin `number`: a power of ten's fraction, rounded to as many digits as tell it from its neighbours.
fn edge(number: i64, step: u32) -> Nanos {
    let exact = 10_f64.powf(number as f64 / f64::from(step));
    let digits = if step <= 24 {
        2
    } else if step <= 96 {
        3
    } else {
        4
    };
    let unit = 10_f64.powf(exact.log10().floor() - f64::from(digits - 1)).max(1.0);
    Nanos(((exact / unit).round() * unit).round() as u64)
}

/// A bar of `share` (0 to 1) of `cells`, in eighths of a cell; what is there at all has at least one eighth.
pub fn bar(share: f64, cells: usize) -> String {
    const PARTS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (share.clamp(0.0, 1.0) * cells as f64 * 8.0).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    let mut text = "█".repeat(eighths / 8);
    if eighths % 8 > 0 {
        text.push(PARTS[eighths % 8]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(list: &[(u64, u64)]) -> Vec<(Nanos, u64)> {
        list.iter().map(|(value, count)| (Nanos(*value), *count)).collect()
    }

    #[test]
    fn every_value_is_in_one_bin_and_the_edges_rise() {
        for (start, spread) in [(1, 1), (30, 0), (20_000, 2), (20_000, 40), (20_000, 5_000), (20_000, 40_000_000)] {
            let list: Vec<(u64, u64)> = (0..1_000).map(|k| (start + k * spread, 1 + k % 7)).collect();
            let bins = bins(&values(&list));
            assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), list.iter().map(|(_, count)| count).sum::<u64>());
            assert!(bins.windows(2).all(|pair| pair[0].from < pair[1].from), "{bins:?}");
            assert!(bins.len() <= ROWS + 1, "{bins:?}");
            let below =
                |edge: Nanos| list.iter().filter(|(value, _)| *value < edge.0).map(|(_, count)| count).sum::<u64>();
            let mut counted = 0;
            for bin in &bins {
                assert_eq!(counted, below(bin.from), "{bins:?}");
                counted += bin.count;
            }
        }
    }

    #[test]
    fn a_far_outlier_does_not_flatten_the_body() {
        let mut list: Vec<(u64, u64)> = (0..100).map(|k| (20_000 + k * 100, 100)).collect();
        list.push((900_000_000, 1));
        let bins = bins(&values(&list));
        assert!(bins.len() > 5, "{bins:?}");
        assert_eq!(bins.last().map(|bin| (bin.open, bin.count)), Some((true, 1)));
    }

    #[test]
    fn one_value_is_one_bin_and_none_is_none() {
        assert_eq!(bins(&[]), []);
        assert_eq!(bins(&values(&[(5, 0)])), []);
        let one = bins(&values(&[(25_000, 3)]));
        assert_eq!(one.len(), 1);
        assert_eq!((one[0].count, one[0].open), (3, false));
        assert!(one[0].from <= Nanos(25_000));
        assert_eq!(bins(&values(&[(0, 2)]))[0].count, 2);
    }

    #[test]
    fn a_bar_is_exact_to_an_eighth_and_never_nothing_for_something() {
        assert_eq!(bar(1.0, 3), "███");
        assert_eq!(bar(0.5, 3), "█▌");
        assert_eq!(bar(0.000_1, 3), "▏");
        assert_eq!(bar(0.0, 3), "");
    }
}
