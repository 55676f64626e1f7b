//! Ceilings and floors of a stretch of exchanges, and the lines that fit between.

use super::FourTimes;
use crate::unit::Nanos;

/// No two clocks drift apart faster: crystals are off by tens of parts per million, and a time service slews by 500 at the
/// most (adjtimex(2)), at either end.
const FASTEST: f64 = 1e-3;
/// Halvings that leave nothing of a range of drifts.
const HALVINGS: u32 = 64;

/// The corners that a line has to stay below, and those it has to stay above; the others are behind these.
#[derive(Clone, Debug)]
pub(super) struct Envelope {
    /// The instant from which instants are counted.
    pub origin: u64,
    /// The difference from which differences are counted.
    pub base: i64,
    ceiling: Vec<Point>,
    floor: Vec<Point>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    x: f64,
    y: f64,
}

impl Envelope {
    /// That of `exchanges`, which are not none, each allowed to be off by `grain`.
    pub fn of(exchanges: &[FourTimes], grain: Nanos) -> Self {
        let middle = exchanges[exchanges.len() / 2];
        let (origin, base, grain) = (middle.sent, middle.ceiling(), grain.0 as f64);
        let point = |at: u64, difference: i64, off: f64| Point {
            x: at.wrapping_sub(origin).cast_signed() as f64,
            y: difference.wrapping_sub(base) as f64 + off,
        };
        let ceiling = exchanges.iter().map(|e| point(e.sent, e.ceiling(), grain)).collect();
        let floor = exchanges.iter().map(|e| point(e.came, e.floor(), -grain)).collect();
        Self { origin, base, ceiling: hull(ceiling, 1.0), floor: hull(floor, -1.0) }
    }

    /// Where an instant stands.
    pub fn place(&self, instant: u64) -> f64 {
        instant.wrapping_sub(self.origin).cast_signed() as f64
    }

    /// Returns the lowest and the highest offset at the origin of lines with this drift; none is possible where the first
    /// is above the second.
    fn offsets(&self, drift: f64) -> (f64, f64) {
        let at = |point: &Point| point.y - drift * point.x;
        let low = self.floor.iter().map(at).fold(f64::NEG_INFINITY, f64::max);
        let high = self.ceiling.iter().map(at).fold(f64::INFINITY, f64::min);
        (low, high)
    }

    /// Returns the range of offsets of lines with this drift; below zero no line is possible. Over drifts it rises to its
    /// highest and falls again.
    fn room(&self, drift: f64) -> f64 {
        let (low, high) = self.offsets(drift);
        high - low
    }

    /// The slowest and the fastest drift that a line can have; `None`: no line fits.
    pub fn drifts(&self) -> Option<(f64, f64)> {
        let widest = highest(-FASTEST, FASTEST, |drift| self.room(drift));
        if self.room(widest) < 0.0 {
            return None;
        }
        let edge = |beyond: f64| {
            if self.room(beyond) >= 0.0 {
                return beyond;
            }
            let (mut fits, mut not) = (widest, beyond);
            for _ in 0..HALVINGS {
                let between = f64::midpoint(fits, not);
                if self.room(between) >= 0.0 { fits = between } else { not = between }
            }
            fits
        };
        Some((edge(-FASTEST), edge(FASTEST)))
    }

    /// The drift of the lines along the ceilings and along the floors where most of the exchanges are, the longer one
    /// counting more, within what is possible.
    pub fn drift(&self, (slowest, fastest): (f64, f64)) -> f64 {
        let edges = [edge_at_middle(&self.ceiling), edge_at_middle(&self.floor)];
        let (weighted, weight) =
            edges.iter().flatten().fold((0.0, 0.0), |(sum, all), (slope, length)| (sum + slope * length, all + length));
        let drift = if weight > 0.0 { weighted / weight } else { 0.0 };
        drift.clamp(slowest, fastest)
    }

    /// The middle of the offsets of lines with this drift.
    pub fn offset(&self, drift: f64) -> f64 {
        let (low, high) = self.offsets(drift);
        f64::midpoint(low, high)
    }

    /// The lowest and the highest that any line is at `x`.
    pub fn range(&self, x: f64, (slowest, fastest): (f64, f64)) -> (f64, f64) {
        let top = |drift: f64| self.offsets(drift).1 + drift * x;
        let bottom = |drift: f64| -(self.offsets(drift).0 + drift * x);
        (-bottom(highest(slowest, fastest, bottom)), top(highest(slowest, fastest, top)))
    }
}

/// Where a function that rises and then falls is highest between `low` and `high`.
fn highest(mut low: f64, mut high: f64, of: impl Fn(f64) -> f64) -> f64 {
    let ends = [low, high];
    for _ in 0..2 * HALVINGS {
        let third = (high - low) / 3.0;
        let (left, right) = (low + third, high - third);
        if of(left) < of(right) { low = left } else { high = right }
    }
    let inside = f64::midpoint(low, high);
    ends.into_iter().fold(inside, |best, end| if of(end) > of(best) { end } else { best })
}

/// The convex hull of points on the side that faces the lines: `side` 1 from below, -1 from above.
fn hull(mut points: Vec<Point>, side: f64) -> Vec<Point> {
    points.sort_by(|a, b| a.x.total_cmp(&b.x).then((side * a.y).total_cmp(&(side * b.y))));
    points.dedup_by(|later, earlier| later.x == earlier.x);
    let mut hull: Vec<Point> = Vec::new();
    for point in points {
        while let [.., before, last] = hull[..]
            && side * turn(before, last, point) <= 0.0
        {
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

/// Above zero where the way from `a` by `b` to `c` turns upwards.
fn turn(a: Point, b: Point, c: Point) -> f64 {
    (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
}

/// Slope and length of the hull's edge over the middle of its stretch.
fn edge_at_middle(hull: &[Point]) -> Option<(f64, f64)> {
    let middle = f64::midpoint(hull.first()?.x, hull.last()?.x);
    let edge = hull.windows(2).find(|edge| edge[1].x >= middle)?;
    let length = edge[1].x - edge[0].x;
    Some(((edge[1].y - edge[0].y) / length, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(list: &[(f64, f64)]) -> Vec<Point> {
        list.iter().map(|&(x, y)| Point { x, y }).collect()
    }

    #[test]
    fn a_hull_is_what_a_line_meets_first() {
        let list = points(&[(0.0, 5.0), (1.0, 1.0), (2.0, 4.0), (3.0, 1.5), (4.0, 9.0), (1.0, 7.0)]);
        assert_eq!(hull(list.clone(), 1.0), points(&[(0.0, 5.0), (1.0, 1.0), (3.0, 1.5), (4.0, 9.0)]));
        assert_eq!(hull(list, -1.0), points(&[(0.0, 5.0), (1.0, 7.0), (4.0, 9.0)]));
    }

    #[test]
    fn the_highest_place_is_found_inside_and_at_an_end() {
        assert!((highest(-1.0, 1.0, |x| -(x - 0.3).abs()) - 0.3).abs() < 1e-12);
        assert_eq!(highest(-1.0, 1.0, |x| x), 1.0);
        assert_eq!(highest(-1.0, 1.0, |x| -x), -1.0);
    }

    /// Far clock 1,000 ns ahead; 10 us there, 20 us back: between -19,000 and 11,000.
    #[test]
    fn one_exchange_allows_half_its_round_trip_to_either_side() {
        let times = FourTimes { sent: 1_000_000, received: 1_011_000, left: 1_015_000, came: 1_034_000 };
        let envelope = Envelope::of(&[times], Nanos(0));
        let drifts = envelope.drifts().unwrap();
        assert_eq!(drifts, (-FASTEST, FASTEST));
        let (low, high) = envelope.range(0.0, (0.0, 0.0));
        assert_eq!((low + envelope.base as f64, high + envelope.base as f64), (-19_000.0, 11_000.0));
    }

    #[test]
    fn no_line_fits_a_clock_that_was_set() {
        let at = |sent: u64, ahead: u64| FourTimes {
            sent,
            received: sent + ahead + 5_000,
            left: sent + ahead + 6_000,
            came: sent + 11_000,
        };
        assert!(Envelope::of(&[at(0, 0), at(1_000_000, 8_000)], Nanos(0)).drifts().is_some(), "less than the path");
        assert!(Envelope::of(&[at(0, 0), at(1_000_000, 12_000)], Nanos(0)).drifts().is_none());
    }
}
