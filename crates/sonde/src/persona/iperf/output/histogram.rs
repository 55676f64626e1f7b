//! Histograms in one line: `BB8-PDF: bin(w=100us):cnt(30)=1:29,3:1 (5.00/95.00/99.7%=1/1/3,Outliers=0,obl/obu=0/0)`.

use std::collections::BTreeMap;
use std::fmt::Write;

use measure::interval::bins::{Bins, Layout};

use crate::persona::iperf::options::{Form, Histograms};
use crate::persona::iperf::output::line::{Span, Style, Tag};

/// Times in bins, numbered from 1: bin k holds what took more than (k−1) widths and no more than k.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    bins: Histograms,
    counts: BTreeMap<u32, u64>,
    /// Times below 0: clocks that do not agree.
    below: u64,
    /// Times beyond the last bin.
    beyond: u64,
}

impl Histogram {
    /// Nothing yet.
    pub fn new(bins: Histograms) -> Self {
        Self { bins, counts: BTreeMap::new(), below: 0, beyond: 0 }
    }

    /// Takes a time.
    pub fn take(&mut self, nanos: i64) {
        let Ok(nanos) = u64::try_from(nanos) else {
            self.below += 1;
            return;
        };
        let bin = nanos.div_ceil(u64::from(self.bins.width_us).max(1) * 1_000).max(1);
        match u32::try_from(bin) {
            Ok(bin) if bin <= self.bins.bins => *self.counts.entry(bin).or_default() += 1,
            _ => self.beyond += 1,
        }
    }

    /// A histogram of bins that are counted already.
    pub fn of(bins: Histograms, counts: BTreeMap<u32, u64>, outside: (u64, u64)) -> Self {
        Self { bins, counts, below: outside.0, beyond: outside.1 }
    }

    /// The histogram of what a server kept.
    pub fn kept(bins: &Bins) -> Self {
        let Layout { width, count } = bins.layout();
        let width_us = u32::try_from(width.0 / 1_000).unwrap_or(u32::MAX);
        Self::of(Histograms { width_us, bins: count }, bins.counts().collect(), bins.outside())
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.counts.values().sum::<u64>() + self.below + self.beyond
    }

    /// The line of a stream; `name` says what of: `BB8`, `T8(f)`.
    pub fn line(&self, tag: Tag, span: Span, name: &str, style: Style) -> String {
        // The line of a bounce has one blank more in 2.2.
        let blank = if style.form == Form::V2_2_1 && name.starts_with("BB") { " " } else { "" };
        let (span, width) = (span.text(style), self.bins.width_us);
        let mut text = format!("{tag}{span} {blank}{name}-PDF: bin(w={width}us):cnt({})=", self.count());
        for (place, (bin, count)) in self.counts.iter().enumerate() {
            let _ = write!(text, "{}{bin}:{count}", if place > 0 { "," } else { "" });
        }
        let [low, high, top] = [5.0, 95.0, 99.7].map(|share| self.reaches(share));
        let (below, beyond, outliers) = (self.below, self.beyond, self.outliers());
        let _ = writeln!(text, " (5.00/95.00/99.7%={low}/{high}/{top},Outliers={outliers},obl/obu={below}/{beyond})");
        text
    }

    /// Times far beyond most: the original takes the bins by which a tenth and nine tenths are not reached yet for fences, and what lies three
    /// times their distance beyond the upper one for outliers.
    fn outliers(&self) -> u64 {
        let all = self.count() as f32;
        let (mut sum, mut fences, mut beyond, mut outliers) = (0, (0, 0), 0, 0);
        for (bin, count) in &self.counts {
            sum += count;
            // As exact as there: nine tenths are not reached by nine of ten.
            let share = f64::from(sum as f32 / all);
            if share < 0.1 {
                fences.0 = *bin;
            }
            if share < 0.9 {
                fences.1 = *bin;
            } else if beyond == 0 {
                beyond = fences.1 + 3 * (fences.1 - fences.0);
            } else if bin - 1 > beyond {
                outliers += count;
            }
        }
        outliers
    }

    /// The bin where the share of all, in percent, is passed.
    fn reaches(&self, percent: f64) -> u32 {
        let all = self.count() as f64;
        let mut sum = self.below;
        for (bin, count) in &self.counts {
            sum += count;
            if sum as f64 * 100.0 > percent * all {
                return *bin;
            }
        }
        self.counts.keys().next_back().copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::unit::Nanos;

    const BINS: Histograms = Histograms { width_us: 100, bins: 10 };

    /// As 2.2.1 printed it.
    #[test]
    fn what_lies_far_beyond_most_is_an_outlier() {
        let bins = Histograms { width_us: 100, bins: 100_000 };
        let counts = [(1, 3), (2, 12), (3, 4), (360, 1), (884, 1)].into();
        let span = Span { from: Nanos::ZERO, to: Nanos::millis(1_051) };
        let line = Histogram::of(bins, counts, (0, 0)).line(Tag::Stream(1), span, "F8(f)", Style::default());
        assert_eq!(
            line,
            "[  1] 0.0000-1.0510 sec F8(f)-PDF: bin(w=100us):cnt(21)=1:3,2:12,3:4,360:1,884:1 \
             (5.00/95.00/99.7%=1/360/884,Outliers=2,obl/obu=0/0)\n"
        );
    }

    #[test]
    fn what_lies_outside_is_counted_beside() {
        let mut histogram = Histogram::new(BINS);
        for micros in [-5, 0, 99, 100, 101, 1_000, 1_001] {
            histogram.take(micros * 1_000);
        }
        let span = Span { from: Nanos::ZERO, to: Nanos::secs(1) };
        let line = histogram.line(Tag::Stream(1), span, "T8(f)", Style::default());
        assert_eq!(
            line,
            "[  1] 0.0000-1.0000 sec T8(f)-PDF: bin(w=100us):cnt(7)=1:3,2:1,10:1 \
             (5.00/95.00/99.7%=1/10/10,Outliers=0,obl/obu=1/1)\n"
        );
    }
}
