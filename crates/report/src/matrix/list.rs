//! The text of a matrix that is too large to be shown square by square: zones towards zones, and the squares that are worst.

use std::collections::BTreeMap;

use measure::statistics::paired;

use super::{Matrix, Square};

/// The values between two zones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Between {
    /// Median over the squares, in the unit of the figure.
    pub median: f64,
    /// Squares that have the figure.
    pub squares: usize,
}

/// By zone and zone, their places among [`Matrix::zones`].
pub(super) fn zones(matrix: &Matrix) -> BTreeMap<(usize, usize), Between> {
    let zones = matrix.zones();
    let zone = |host: usize| zones.iter().position(|(_, range)| range.contains(&host)).unwrap_or(0);
    let of: Vec<usize> = (0..matrix.hosts.len()).map(zone).collect();
    let mut values: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    for (&(from, to), square) in &matrix.squares {
        if let Some(spread) = square.spread {
            values.entry((of[from], of[to])).or_default().push(spread.median);
        }
    }
    let between = |values: &Vec<f64>| Some(Between { median: paired::median(values)?, squares: values.len() });
    values.iter().filter_map(|(place, values)| Some((*place, between(values)?))).collect()
}

/// The `most` squares that are worst, the worst first.
pub(super) fn worst(matrix: &Matrix, most: usize) -> Vec<((usize, usize), &Square)> {
    let mut squares: Vec<((usize, usize), &Square, f64)> =
        matrix.squares.iter().filter_map(|(&place, square)| Some((place, square, square.spread?.median))).collect();
    let sign = if matrix.figure.more_is_better() { 1.0 } else { -1.0 };
    squares.sort_by(|(_, _, one), (_, _, other)| (sign * one).total_cmp(&(sign * other)));
    squares.into_iter().take(most).map(|(place, square, _)| (place, square)).collect()
}
