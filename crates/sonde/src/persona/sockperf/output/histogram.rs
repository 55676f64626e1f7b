//! Histogram of the latencies, in bins of one width, a `#` for each so many.

use crate::persona::sockperf::output::paint::Paint;
use crate::persona::sockperf::output::say;
use crate::persona::sockperf::statistics::bins::Bins;
use crate::persona::sockperf::statistics::latency::Latency;

/// Columns where there is no terminal.
const COLUMNS: u16 = 80;
/// Length of the beginning of every line.
const PREFIX: usize = "sockperf: ".len();
/// Length of the end of a line of outliers, and a blank before it.
const OUTLIERS: usize = " (outliers)".len() + 1;
/// Blanks between a bin and its bar.
const GAP: usize = 2;

/// The histogram; `columns`: those of the terminal, if there is one.
pub fn text(bins: &Bins, latency: &Latency, columns: Option<u16>, paint: Paint) -> String {
    let shape = Shape::of(bins, latency, columns);
    let mut text = say(match shape.each {
        1 => "[Histogram] Display to scale".to_owned(),
        each => format!("[Histogram] Display scaled to fit on screen (Key: '#' = up to {each} samples)"),
    });
    text += &say(shape.header());
    for row in rows(bins, latency) {
        let bar = "#".repeat(row.count.div_ceil(shape.each) as usize);
        let bar = if row.is_outlier { paint.magenta(&format!("{bar} (outliers)")) } else { bar };
        let (begin, end) = (row.begin_us, row.end_us);
        text += &say(format_args!("{begin:>0$}-{end:<1$}{bar}", shape.begin, shape.end + GAP));
    }
    text
}

/// A bin that holds something.
pub(super) struct Row {
    pub(super) begin_us: u64,
    pub(super) end_us: u64,
    pub(super) count: u64,
    pub(super) is_outlier: bool,
}

/// Those bins that hold something, outliers first and last.
pub(super) fn rows(bins: &Bins, latency: &Latency) -> Vec<Row> {
    let outliers = |begin_us, end_us, count| Row { begin_us, end_us, count, is_outlier: true };
    let below = outliers(latency.min_ns / 1_000, u64::from(bins.histogram.low_us), bins.below);
    let above = outliers(bins.upper_edge_us(), latency.max_ns / 1_000, bins.above);
    let within = bins.within.iter().map(|(index, count)| {
        let (begin_us, end_us) = (bins.edge_us(*index), bins.edge_us(*index + 1));
        Row { begin_us, end_us, count: *count, is_outlier: false }
    });
    let all = std::iter::once(below).chain(within).chain(std::iter::once(above));
    all.filter(|row| row.count > 0).collect()
}

/// Widths.
struct Shape {
    /// Width of the begin of a bin.
    begin: usize,
    /// Width of its end.
    end: usize,
    /// Length of the longest bar.
    bar: usize,
    /// Observations a `#` stands for, at most.
    each: u64,
}

impl Shape {
    fn of(bins: &Bins, latency: &Latency, columns: Option<u16>) -> Self {
        let begin = digits(bins.upper_edge_us());
        // The last bin may end behind the longest observation.
        let end = digits((latency.max_ns / 1_000).max(bins.upper_edge_us()));
        let widest = digits(u64::from(bins.histogram.high_us) + u64::from(bins.histogram.bin_us)) + 1 + end;
        let columns = usize::from(columns.filter(|columns| *columns > 0).unwrap_or(COLUMNS));
        let bar = columns.saturating_sub(PREFIX + widest + OUTLIERS + GAP).max(1);
        Self { begin, end, bar, each: bins.most().div_ceil(bar as u64).max(1) }
    }

    /// `bins` and `frequency`, each over the middle of its column.
    fn header(&self) -> String {
        let bins = usize::midpoint(self.begin, self.end + 2) + "bins".len() / 2;
        let frequency = self.bar / 2 + "frequency".len() / 2;
        format!("{:>bins$}  {:>frequency$}", "bins", "frequency")
    }
}

pub(super) fn digits(number: u64) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}
