//! The layout of a chart: plain shapes at places, each told what it is and not how it looks.

/// A laid-out chart: its parts in the order in which they are painted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Scene {
    pub(super) parts: Vec<Part>,
    /// The field within the axes.
    pub(super) field: Field,
    /// The axes as a page's script reads them; absent where nothing is drawn.
    pub(super) axes: Option<(String, String)>,
}

/// The field within the axes: left, top, right and bottom.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Field {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Field {
    /// The point at these shares of both axes.
    pub(super) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.left + x * (self.right - self.left), self.bottom - y * (self.bottom - self.top))
    }
}

/// Shapes that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Part {
    /// Series of the part; absent: none.
    pub(super) series: Option<usize>,
    /// True where what lies outside the field is cut off.
    pub(super) within: bool,
    pub(super) shapes: Vec<Shape>,
}

/// One shape.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// Joined points.
    Line(Vec<(f64, f64)>, Stroke),
    /// An area within joined points.
    Area(Vec<(f64, f64)>, Fill),
    /// Rectangles that look alike: left, top, width, height of each.
    Boxes(Vec<[f64; 4]>, Fill),
    /// A dot at each point.
    Dots(Vec<(f64, f64)>, usize),
    /// Words.
    Text { at: (f64, f64), anchor: Anchor, tone: Tone, text: String },
}

/// The sort of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stroke {
    /// Line behind the drawing.
    Grid,
    /// The foot of the chart.
    Axis,
    /// A place with a name.
    Mark,
    /// A series, of this colour.
    Series(usize),
    /// The same, dashed.
    Dashed(usize),
    /// The same where little is known.
    Doubtful(usize),
    /// The sign of a caveat.
    Caveat,
    /// The interval of a point.
    Whisker(usize),
}

/// The sort of an area.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fill {
    /// The band of a series of this colour.
    Band(usize),
    /// A bar.
    Bar,
    /// The missing part of a column of cells.
    Missing,
    /// A cell, from 0 (nothing) to 1 (the fullest).
    Cell(f64),
}

/// End of the words that stands at their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// The sort of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Title,
    Label,
    Tick,
    Legend,
    Mark,
    Note,
}
