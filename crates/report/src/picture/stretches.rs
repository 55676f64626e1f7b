//! The seconds that a record keeps, as a picture takes them: at most [`COLUMNS`] stretches, each with its histogram.

use std::collections::BTreeMap;

use logbook::record::Record;
use measure::event::Second;
use measure::outcome::Standing;
use measure::statistics::{payload, quantile};
use measure::unit::grouped;

use crate::plot::{Band, Cells, Point, Unit};

/// Columns at most: of more, several stretches become one.
const COLUMNS: usize = 120;

/// The stretches of a record, in the order of time.
pub(super) struct Stretched(Vec<Stretch>);

struct Stretch {
    from: f64,
    to: f64,
    /// The middle of each counter that holds any, ascending, with how many.
    times: BTreeMap<u64, u64>,
    unanswered: u64,
}

impl Stretched {
    /// The stretches of a record that keeps them; one written before they were kept has none.
    pub(super) fn of(record: &Record) -> Option<Self> {
        let outcome = record.outcome.as_ref()?;
        let kept = outcome.stretches.as_ref()?;
        let each = kept.histograms.len().div_ceil(COLUMNS).max(1);
        let seconds = outcome.seconds.chunks((kept.seconds.max(1) as usize).saturating_mul(each));
        let found = seconds.zip(kept.histograms.chunks(each)).map(|(seconds, texts)| stretch(seconds, texts));
        Some(Self(found.collect::<Option<_>>()?))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Values in all of them.
    pub(super) fn kept(&self) -> u64 {
        self.0.iter().map(Stretch::count).fold(0, u64::saturating_add)
    }

    /// The number of values of the stretches, from the fewest to the most of those that have any.
    pub(super) fn values(&self) -> String {
        let counts = || self.0.iter().map(Stretch::count).filter(|count| *count > 0);
        let (low, high) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
        let range = if low == high { grouped(low) } else { format!("{} … {}", grouped(low), grouped(high)) };
        format!("{range} values")
    }

    /// The length of a stretch.
    pub(super) fn length(&self) -> String {
        self.0.first().map_or_else(String::new, |first| Unit::Time.text(first.to - first.from))
    }

    /// The quantile `q` of each in its middle, with how many values it is of: a gap where too few lie beyond it.
    pub(super) fn line(&self, q: f64) -> Vec<Point> {
        let point = |stretch: &Stretch| {
            let value = stretch.quantile(q).unwrap_or(f64::NAN);
            Point { of: Some(stretch.count()), ..Point::new(stretch.middle(), value) }
        };
        self.0.iter().map(point).collect()
    }

    /// From p10 to p90 of each: a gap where too few values lie beyond either.
    pub(super) fn band(&self) -> Vec<Band> {
        let band = |stretch: &Stretch| {
            let high = stretch.quantile(0.9);
            let low = high.and_then(|_| stretch.at(0.1));
            Band { x: stretch.middle(), low: low.unwrap_or(f64::NAN), high: high.unwrap_or(f64::NAN) }
        };
        self.0.iter().map(band).collect()
    }

    /// The distribution: the counters of the histograms are the rows, each two of them one.
    pub(super) fn cells(&self) -> Option<Cells> {
        let times = || self.0.iter().flat_map(|stretch| stretch.times.keys());
        let (least, most) = (*times().min()?, *times().max()?);
        let first = (least.max(1) as f64 / row_width(least as f64)).floor() * row_width(least as f64);
        let next = |edge: &f64| Some(edge + row_width(*edge));
        // The last edge lies beyond the longest.
        let within = std::iter::successors(Some(first), next).take_while(|edge| *edge <= most as f64);
        let mut rows: Vec<f64> = within.collect();
        rows.extend(rows.last().and_then(next));
        let counts = |stretch: &Stretch| {
            let mut counts = vec![0; rows.len() - 1];
            for (time, count) in &stretch.times {
                counts[rows.partition_point(|edge| *edge <= *time as f64).clamp(1, rows.len() - 1) - 1] += count;
            }
            counts
        };
        let columns = self.0.iter().map(|stretch| stretch.from).chain(self.0.last().map(|last| last.to)).collect();
        let missing = self.0.iter().map(|stretch| stretch.unanswered).collect();
        Some(Cells { columns, counts: self.0.iter().map(counts).collect(), rows, missing })
    }
}

/// Rows of each doubling: every two counters of the histogram.
const ROWS: f64 = 8.0;

/// An eighth of the power of two at or below `value`, and no less than a nanosecond.
fn row_width(value: f64) -> f64 {
    (value.max(1.0).log2().floor().exp2() / ROWS).max(1.0)
}

impl Stretch {
    fn count(&self) -> u64 {
        self.times.values().copied().fold(0, u64::saturating_add)
    }

    fn middle(&self) -> f64 {
        f64::midpoint(self.from, self.to)
    }

    /// The middle of the counter in which quantile `q` lies.
    fn at(&self, q: f64) -> Option<f64> {
        let rank = quantile::rank(q, self.count())?;
        let mut seen = 0;
        let found = self.times.iter().find(|(_, count)| {
            seen = u64::saturating_add(seen, **count);
            seen >= rank
        })?;
        Some(*found.0 as f64)
    }

    /// The same where the printing rule allows it.
    fn quantile(&self, q: f64) -> Option<f64> {
        self.at(q).filter(|_| quantile::standing(q, self.count()) != Standing::TooFew)
    }
}

fn stretch(seconds: &[Second], texts: &[String]) -> Option<Stretch> {
    let whole = seconds.iter().copied().reduce(|one, next| one.then(&next))?;
    let mut times = BTreeMap::new();
    for text in texts.iter().filter(|text| !text.is_empty()) {
        for (time, count) in payload::buckets(&payload::decode(text).ok()?) {
            let kept: &mut u64 = times.entry(time.0).or_default();
            *kept = kept.saturating_add(count);
        }
    }
    let counts = &whole.counts;
    let unanswered = counts.unanswered();
    let from = whole.at_ns.0 as f64;
    Some(Stretch { from, to: from + whole.length_ns.0 as f64, times, unanswered })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use measure::event::Counts;
    use measure::outcome::Stretches;
    use measure::recorder::Values;
    use measure::unit::Nanos;

    /// A record of so many seconds of 1,000 answers, slower in each; the second one has none, and lost ten.
    fn of_seconds(count: u64) -> Record {
        let mut record = fixture::closed();
        let outcome = record.outcome.as_mut().unwrap();
        let second = |k: u64| Second {
            at_ns: Nanos::secs(k),
            length_ns: Nanos::secs(1),
            counts: if k == 1 {
                Counts { scheduled: 10, lost: 10, ..Counts::default() }
            } else {
                Counts { scheduled: 1_000, answered: 1_000, ..Counts::default() }
            },
            min_ns: None,
            mean_ns: None,
            max_ns: None,
        };
        outcome.seconds = (0..count).map(second).collect();
        let histogram = |k: u64| {
            let mut times = Values::new();
            (0..1_000).for_each(|n| times.record(10_000 * (k + 1) + n));
            if k == 1 { String::new() } else { payload::encode(&times.histogram()) }
        };
        outcome.stretches = Some(Stretches { seconds: 1, stride: 1, histograms: (0..count).map(histogram).collect() });
        record
    }

    #[test]
    fn a_stretch_has_its_quantiles_and_one_without_answers_is_a_gap() {
        let stretched = Stretched::of(&of_seconds(4)).unwrap();
        let line = stretched.line(0.5);
        assert!((line[0].y / 10_500.0 - 1.0).abs() < 1.0 / 16.0 && line[1].y.is_nan(), "{line:?}");
        assert_eq!((line[2].x, line[2].of), (2.5e9, Some(1_000)));
        assert!(stretched.line(0.99)[0].y >= line[0].y);
        assert!(stretched.line(0.999).iter().all(|point| point.y.is_nan()), "one value lies beyond");
        let band = &stretched.band()[2];
        assert!(band.low <= line[2].y && line[2].y <= band.high, "{band:?}");
    }

    #[test]
    fn the_map_holds_every_value_near_p50_and_marks_what_was_lost() {
        let stretched = Stretched::of(&of_seconds(4)).unwrap();
        let (cells, line) = (stretched.cells().unwrap(), stretched.line(0.5));
        assert_eq!(cells.missing, [0, 10, 0, 0]);
        for (column, point) in cells.counts.iter().zip(&line).filter(|(_, point)| point.y.is_finite()) {
            assert_eq!(column.iter().sum::<u64>(), 1_000);
            let fullest = (0..column.len()).max_by_key(|row| column[*row]).unwrap();
            assert!(
                (cells.rows[fullest.saturating_sub(1)]..cells.rows[(fullest + 2).min(column.len())]).contains(&point.y)
            );
        }
        assert!(cells.rows.windows(2).all(|edges| edges[0] < edges[1] && edges[1] / edges[0] <= 1.126));
    }

    #[test]
    fn a_long_run_is_a_screen_wide() {
        let stretched = Stretched::of(&of_seconds(500)).unwrap();
        assert_eq!(stretched.len(), 100);
        assert_eq!(stretched.kept(), 499_000);
    }
}
