//! Charts as values, and one drawing of each as SVG or PNG.
//!
//! A [`Chart`] says what is shown: two axes, series with their uncertainty, bars, cells, marks. It is laid out once
//! (`layout`, on the rulers of `ruler`) and painted twice: as SVG with names for every part, so that a page may restyle and
//! operate it, and as PNG without a browser and without fonts of the system. A value that an axis has no place for, as 0 on
//! a logarithmic one, is counted and said under the chart, never moved to where it could be drawn.
//!
//! Not here: which charts there are of a record (`picture`), pages (`page`), and plots of characters (`curve`, `histogram`).

mod layout;
mod letters;
mod png;
mod ruler;
mod scene;
mod svg;
#[cfg(test)]
mod tests;

use measure::unit::quantile_name;
use measure::unit::{Bytes, grouped};

use crate::number;

pub use svg::STYLE;

/// A drawing. Everything is optional: a chart of cells has no series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// Its subject in a few words.
    pub title: String,
    /// The same in a sentence with the numbers that matter, for who cannot see it.
    pub alternative: String,
    /// From left to right.
    pub x: Axis,
    /// From the bottom up.
    pub y: Axis,
    /// Series, the first drawn first.
    pub series: Vec<Series>,
    /// Bars side by side, from the foot of the chart.
    pub bars: Vec<Bar>,
    /// Cells, the fuller the darker.
    pub cells: Option<Cells>,
    /// Places on an axis that have a name.
    pub marks: Vec<Mark>,
}

/// One axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// The quantity, without its unit: `round trip`.
    pub label: String,
    /// The unit of its numbers.
    pub unit: Unit,
    /// The scale on which they are laid out.
    pub scale: Scale,
    /// Its ends; absent: the drawn values decide.
    pub range: Option<(f64, f64)>,
    /// True where 0 is always on it; of a linear one alone.
    pub from_zero: bool,
}

/// The scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps for equal differences.
    #[default]
    Linear,
    /// Equal steps for equal ratios; has no place for 0 and below.
    Log,
    /// For shares from 0 to 1: equal steps for each tenth of what lies beyond. p90, p99 and p99.9 are as far from one another.
    Tail,
}

/// The unit of an axis' numbers; they are written as `number` writes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Unit {
    /// Mere numbers.
    #[default]
    Plain,
    /// Nanoseconds.
    Time,
    /// Events a second.
    PerSecond,
    /// Bytes a second, written as bits a second.
    BytesPerSecond,
    /// Bytes.
    Bytes,
    /// Counts.
    Count,
    /// Shares, 0 to 1, written in percent.
    Share,
    /// Quantiles, 0 to 1, written as `p99`.
    Quantile,
    /// Things by name: 0 is the first, 1 the second.
    Names(Vec<String>),
}

/// Points of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points from left to right. One whose y is not finite breaks the line.
    pub points: Vec<Point>,
    /// The band around it: from one value to another at each place.
    pub band: Vec<Band>,
    /// The line that joins its points.
    pub line: Line,
    /// True where each point has a dot; one with an interval has one anyway.
    pub dots: bool,
    /// Its colour, a number from 0; absent: its place among the series.
    pub colour: Option<usize>,
    /// From this x on too little is known to rely on: the line is dotted.
    pub doubtful_from: Option<f64>,
    /// Settings that all its points have in common, and of how many values they are.
    pub about: String,
}

/// A point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Its place on the x axis, in that axis's unit.
    pub x: f64,
    /// Its place on the y axis, in that axis's unit.
    pub y: f64,
    /// Ends of its interval on the y axis; an end that is open is not finite.
    pub interval: Option<(f64, f64)>,
    /// Values that it is of, where that is not the same for all points.
    pub of: Option<u64>,
    /// The caveats of the point.
    pub caveats: Caveats,
}

/// Caveats of a point; each has a sign beside it that can be read without colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caveats {
    /// Something else kept a machine busy.
    pub busy: bool,
    /// The interval or the rate that was asked for was not kept.
    pub pace: bool,
    /// Some of it failed, was lost or was refused.
    pub incomplete: bool,
}

impl Caveats {
    /// Words of those that there can be, in the order of [`Caveats::all`].
    pub(crate) const WORDS: [&'static str; 3] = ["busy machine", "interval not kept", "incomplete"];

    /// The caveats, in their order: true where there is one.
    pub(crate) fn all(self) -> [bool; 3] {
        [self.busy, self.pace, self.incomplete]
    }
}

/// The range of a band at one place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Band {
    /// Place on the axis.
    pub x: f64,
    /// From this value …
    pub low: f64,
    /// … to this.
    pub high: f64,
}

/// The line between points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Line {
    /// Straight from one to the next.
    #[default]
    Straight,
    /// The value holds until the next point.
    Steps,
    /// Dashed, straight.
    Dashed,
    /// Not at all.
    None,
}

/// A bar.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bar {
    /// Its left edge on the x axis …
    pub from: f64,
    /// … and its right one.
    pub to: f64,
    /// Its height on the y axis.
    pub height: f64,
}

/// Counts in a grid, column by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cells {
    /// Edges of the columns, one more than there are columns.
    pub columns: Vec<f64>,
    /// Edges of the rows from the bottom up, one more than there are rows.
    pub rows: Vec<f64>,
    /// The counts of each: column by column, each from the bottom up.
    pub counts: Vec<Vec<u64>>,
    /// The counts of each column that have no place in it: marked at its top. Empty: none.
    pub missing: Vec<u64>,
}

/// A place that has a name: a line across the chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// The axis.
    pub on: On,
    /// Place on it.
    pub at: f64,
    /// Its text.
    pub text: String,
}

/// One of the axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum On {
    /// The x axis.
    #[default]
    X,
    /// The y axis.
    Y,
}

/// The size of a picture, and what is on it beside the chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Width, in units of which a small letter is some six wide: CSS pixels, where shown at its own size.
    pub width: u32,
    /// Height, likewise.
    pub height: u32,
    /// True where the title stands above it, because no text around it says so.
    pub titled: bool,
}

impl Default for Frame {
    /// As wide as a column of text.
    fn default() -> Self {
        Self { width: 720, height: 340, titled: false }
    }
}

impl Frame {
    /// A picture that stands by itself.
    pub fn alone() -> Self {
        Self { width: 860, height: 480, titled: true }
    }
}

/// The sizes that a frame may have, each way.
const SIZES: std::ops::RangeInclusive<u32> = 120..=4_000;

impl Chart {
    /// An empty chart of these axes.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, ..Self::default() }
    }

    /// True where it has nothing that its axes have a place for.
    pub fn is_empty(&self) -> bool {
        ruler::Rulers::of(self, 2, 2).is_none()
    }

    /// As an SVG element for a page: coloured by the classes of [`STYLE`], which the page has to hold. `id` is its own in that
    /// page, of letters, digits and dashes.
    pub fn svg(&self, id: &str, frame: Frame) -> String {
        svg::element(self, id, &clamped(frame))
    }

    /// As an SVG document that stands by itself.
    pub fn svg_document(&self, frame: Frame) -> String {
        svg::document(self, &clamped(frame))
    }

    /// As a PNG, two pixels to each unit of the frame.
    ///
    /// # Errors
    /// A picture that does not fit the memory.
    pub fn png(&self, frame: Frame) -> Result<Vec<u8>, Undrawn> {
        png::encoded(self, &clamped(frame))
    }
}

fn clamped(frame: Frame) -> Frame {
    let side = |length: u32| length.clamp(*SIZES.start(), *SIZES.end());
    Frame { width: side(frame.width), height: side(frame.height), ..frame }
}

/// A picture that could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot draw the chart: {reason}")]
pub struct Undrawn {
    /// The reason.
    pub reason: String,
}

impl Axis {
    /// An axis of this label, unit and scale.
    pub fn new(label: impl Into<String>, unit: Unit, scale: Scale) -> Self {
        Self { label: label.into(), unit, scale, ..Self::default() }
    }

    /// The same with 0 on it.
    #[must_use]
    pub fn from_zero(self) -> Self {
        Self { from_zero: true, ..self }
    }

    /// The same from `low` to `high`.
    #[must_use]
    pub fn over(self, low: f64, high: f64) -> Self {
        Self { range: Some((low, high)), ..self }
    }
}

impl Unit {
    /// `value` in this unit. Empty for what is not finite.
    pub fn text(&self, value: f64) -> String {
        if !value.is_finite() {
            return String::new();
        }
        match self {
            Self::Plain => plain(value),
            Self::Time => number::short_time(value).unwrap_or_default(),
            Self::PerSecond => number::rate(value).unwrap_or_default(),
            Self::BytesPerSecond => number::bit_rate(value).unwrap_or_default(),
            Self::Bytes => number::size(Bytes(value.max(0.0).round() as u64)),
            Self::Count => grouped(value.max(0.0).round() as u64),
            Self::Share => number::percent(value),
            Self::Quantile => quantile_name(value),
            Self::Names(names) => name(names, value).unwrap_or_default(),
        }
    }
}

impl Unit {
    /// The unit of the numbers as they are kept, for the head of a column; empty for mere numbers.
    pub fn base(&self) -> &'static str {
        match self {
            Self::Plain | Self::Count | Self::Names(_) => "",
            Self::Time => "ns",
            Self::PerSecond => "1/s",
            Self::BytesPerSecond => "byte/s",
            Self::Bytes => "byte",
            Self::Share | Self::Quantile => "share",
        }
    }
}

fn plain(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.replace('-', "−") }
}

fn name(names: &[String], place: f64) -> Option<String> {
    let whole = place >= 0.0 && place.fract() == 0.0;
    names.get(whole.then_some(place as usize)?).cloned()
}

impl Point {
    /// A point without an interval.
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, ..Self::default() }
    }
}

impl Series {
    /// A line through `points`.
    pub fn new(name: impl Into<String>, points: Vec<Point>) -> Self {
        Self { name: name.into(), points, ..Self::default() }
    }
}
