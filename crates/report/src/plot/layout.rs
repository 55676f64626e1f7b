//! Layout of everything in a chart.

use super::letters::Letters;
use super::ruler::{Ruler, Rulers};
use super::scene::{Anchor, Field, Fill, Part, Scene, Shape, Stroke, Tone};
use super::{Caveats, Chart, Frame, Line, Mark, On, Point, Series};

/// Sizes of letters, in units of the frame.
pub(super) const TITLE: f64 = 15.0;
/// The margins of everything but the title.
pub(super) const TEXT: f64 = 12.0;
/// From one line of words to the next.
const LEADING: f64 = 18.0;
/// Between words and what they belong to.
const GAP: f64 = 8.0;
/// Length of the sample of a line in the legend.
const SAMPLE: f64 = 18.0;
/// Radius of a dot.
pub(super) const DOT: f64 = 2.6;
/// Room for the label of a place on the x axis; labels that are wider are fewer.
const X_LABEL: f64 = 74.0;
/// From one label of the y axis to the next, at least.
const Y_LABEL: f64 = 30.0;
/// Half of the sign of a caveat.
const SIGN: f64 = 4.0;
/// Height of the strip that marks what a column misses.
const STRIP: f64 = 6.0;
/// Shades of a cell.
const SHADES: usize = 12;

/// The chart laid out in `frame`, its words in `letters`.
pub(super) fn scene(chart: &Chart, frame: &Frame, letters: Letters) -> Scene {
    let (width, height) = (f64::from(frame.width), f64::from(frame.height));
    let title = if frame.titled { LEADING + GAP } else { 0.0 };
    let legend = legend(chart, width, title, letters);
    let top = title + legend.height + if chart.y.label.is_empty() { GAP } else { LEADING + 4.0 };
    let caveats = caveats_of(chart);
    let below = |left_out: bool| {
        let label = if chart.x.label.is_empty() { 0.0 } else { LEADING };
        let told = if caveats.contains(&true) { LEADING } else { 0.0 };
        LEADING + label + told + if left_out { LEADING } else { 0.0 } + 4.0
    };
    let most_x = (width / X_LABEL) as usize;
    let rulers = |left_out| {
        let most_y = ((height - top - below(left_out)) / Y_LABEL).max(2.0) as usize;
        Rulers::of(chart, most_x, most_y)
    };
    let mut parts = words(chart, frame, letters);
    let Some(found) = rulers(false).and_then(|found| rulers(found.left_out > 0)) else {
        let at = (width / 2.0, height / 2.0);
        parts.push(text(at, Anchor::Middle, Tone::Note, "no values to draw"));
        return Scene { parts: gathered(parts), field: Field::default(), axes: None };
    };
    let widest = found.y.ticks.iter().map(|tick| letters.width(&tick.text, TEXT)).fold(0.0, f64::max);
    // A picture always has room for its field, however long the labels are.
    let left = (widest + GAP).min(width / 2.0);
    let bottom = (height - below(found.left_out > 0)).max(top + 1.0);
    let field = Field { left, top, right: width - right_margin(&found.x, letters), bottom };
    let drawing = Drawing { chart, rulers: &found, field, letters };
    parts.extend(drawing.axes());
    if found.left_out > 0 {
        let told = format!("{} of the points have no place on these axes", found.left_out);
        parts.push(text((field.left, height - 4.0), Anchor::Start, Tone::Note, &told));
    }
    let above = if found.left_out > 0 { LEADING } else { 0.0 };
    parts.extend(caveats_told(caveats, (field.left, height - 4.0 - above), letters));
    let mut all = vec![drawing.grid()];
    all.extend(drawing.below());
    all.extend(chart.series.iter().enumerate().map(|(number, series)| drawing.series(number, series)));
    all.push(drawing.caveats());
    all.push(drawing.marks());
    all.push(Part { shapes: parts, ..Part::default() });
    all.extend(legend.parts);
    all.retain(|part| !part.shapes.is_empty());
    Scene { parts: all, field, axes: Some((found.x.told(), found.y.told())) }
}

/// Caveats that any of its points has.
fn caveats_of(chart: &Chart) -> [bool; 3] {
    let points = chart.series.iter().flat_map(|series| &series.points);
    points.fold([false; 3], |seen, point| {
        let here = point.caveats.all();
        [0, 1, 2].map(|kind| seen[kind] || here[kind])
    })
}

/// The meaning of the signs that were used, side by side.
fn caveats_told(caveats: [bool; 3], (left, y): (f64, f64), letters: Letters) -> Vec<Shape> {
    let mut shapes = Vec::new();
    let mut x = left;
    for (kind, words) in Caveats::WORDS.iter().enumerate().filter(|(kind, _)| caveats[*kind]) {
        shapes.extend(sign(kind, (x + SIGN, y - SIGN)));
        shapes.push(text((x + 2.0 * SIGN + GAP / 2.0, y), Anchor::Start, Tone::Note, words));
        x += 2.0 * SIGN + letters.width(words, TEXT) + 2.0 * GAP;
    }
    shapes
}

/// The sign of a caveat around a place: a triangle, a circle, a cross.
fn sign(kind: usize, (x, y): (f64, f64)) -> Vec<Shape> {
    let around = |corners: u32, turned: f64| {
        let corner = |number: u32| {
            let angle = (f64::from(number) / f64::from(corners) + turned) * std::f64::consts::TAU;
            (x + SIGN * angle.cos(), y + SIGN * angle.sin())
        };
        Shape::Line((0..=corners).map(corner).collect(), Stroke::Caveat)
    };
    let across = |up: f64| Shape::Line(vec![(x - SIGN, y - up * SIGN), (x + SIGN, y + up * SIGN)], Stroke::Caveat);
    match kind {
        0 => vec![around(3, -0.25)],
        1 => vec![around(16, 0.0)],
        _ => vec![across(1.0), across(-1.0)],
    }
}

fn gathered(shapes: Vec<Shape>) -> Vec<Part> {
    vec![Part { shapes, ..Part::default() }]
}

fn text(at: (f64, f64), anchor: Anchor, tone: Tone, text: &str) -> Shape {
    Shape::Text { at, anchor, tone, text: text.to_owned() }
}

/// Half of the last label sticks out.
fn right_margin(x: &Ruler, letters: Letters) -> f64 {
    let sticks_out =
        |tick: &super::ruler::Tick| if tick.place > 0.9 { letters.width(&tick.text, TEXT) / 2.0 } else { 0.0 };
    x.ticks.iter().map(sticks_out).fold(GAP, f64::max)
}

/// The title.
fn words(chart: &Chart, frame: &Frame, letters: Letters) -> Vec<Shape> {
    if !frame.titled {
        return Vec::new();
    }
    let title = letters.cut(&chart.title, TITLE, f64::from(frame.width));
    vec![text((0.0, TITLE), Anchor::Start, Tone::Title, &title)]
}

/// Names of series with a sample of each.
struct Legend {
    parts: Vec<Part>,
    height: f64,
}

/// Side by side, as many lines as it takes; none where there is only one series.
fn legend(chart: &Chart, width: f64, top: f64, letters: Letters) -> Legend {
    let named = || chart.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty());
    let mut legend = Legend { parts: Vec::new(), height: 0.0 };
    if named().count() < 2 {
        return legend;
    }
    let (mut x, mut line) = (0.0, 0.0);
    for (number, series) in named() {
        let name = letters.cut(&series.name, TEXT, width - SAMPLE - GAP);
        let wide = SAMPLE + GAP + letters.width(&name, TEXT);
        if x > 0.0 && x + wide > width {
            (x, line) = (0.0, line + LEADING);
        }
        let y = top + line + TEXT;
        let mut shapes = sample(series, colour(number, series), x, y - 4.0);
        shapes.push(text((x + SAMPLE + GAP, y), Anchor::Start, Tone::Legend, &name));
        legend.parts.push(Part { series: Some(number), within: false, shapes });
        x += wide + 2.0 * GAP;
    }
    legend.height = line + LEADING + 4.0;
    legend
}

fn sample(series: &Series, colour: usize, x: f64, y: f64) -> Vec<Shape> {
    let mut shapes = Vec::new();
    if let Some(stroke) = stroke(series.line, colour) {
        shapes.push(Shape::Line(vec![(x, y), (x + SAMPLE, y)], stroke));
    }
    if series.dots || shapes.is_empty() {
        shapes.push(Shape::Dots(vec![(x + SAMPLE / 2.0, y)], colour));
    }
    shapes
}

fn colour(number: usize, series: &Series) -> usize {
    series.colour.unwrap_or(number)
}

fn stroke(line: Line, colour: usize) -> Option<Stroke> {
    match line {
        Line::Straight | Line::Steps => Some(Stroke::Series(colour)),
        Line::Dashed => Some(Stroke::Dashed(colour)),
        Line::None => None,
    }
}

/// The measures by which the parts of a chart are placed.
struct Drawing<'a> {
    chart: &'a Chart,
    rulers: &'a Rulers,
    field: Field,
    letters: Letters,
}

impl Drawing<'_> {
    fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some(self.field.at(self.rulers.x.place(x)?, self.rulers.y.place(y)?))
    }

    /// The height of `value`; of what the scale has no place for, the foot.
    fn height_or_foot(&self, value: f64) -> f64 {
        self.rulers.y.place(value).map_or(self.field.bottom, |place| self.field.at(0.0, place).1)
    }

    fn grid(&self) -> Part {
        let across = self.rulers.y.ticks.iter().map(|tick| {
            let y = self.field.at(0.0, tick.place).1;
            Shape::Line(vec![(self.field.left, y), (self.field.right, y)], Stroke::Grid)
        });
        let up = self.rulers.x.ticks.iter().map(|tick| {
            let x = self.field.at(tick.place, 0.0).0;
            Shape::Line(vec![(x, self.field.bottom), (x, self.field.bottom + 4.0)], Stroke::Axis)
        });
        let (left, right, bottom) = (self.field.left, self.field.right, self.field.bottom);
        let foot = Shape::Line(vec![(left, bottom), (right, bottom)], Stroke::Axis);
        Part { shapes: across.chain(up).chain([foot]).collect(), ..Part::default() }
    }

    /// Labels of both axes and of places on them.
    fn axes(&self) -> Vec<Shape> {
        let Field { left, top, right, bottom } = self.field;
        let mut shapes = Vec::new();
        for tick in &self.rulers.y.ticks {
            let y = self.field.at(0.0, tick.place).1;
            shapes.push(text((left - GAP, y + 4.0), Anchor::End, Tone::Tick, &tick.text));
        }
        let mut edge = f64::NEG_INFINITY;
        for tick in &self.rulers.x.ticks {
            let (x, half) = (self.field.at(tick.place, 0.0).0, self.letters.width(&tick.text, TEXT) / 2.0);
            // One that would run into the one before it is left out.
            if x - half >= edge {
                shapes.push(text((x, bottom + LEADING), Anchor::Middle, Tone::Tick, &tick.text));
                edge = x + half + GAP / 2.0;
            }
        }
        if !self.chart.y.label.is_empty() {
            let label = self.letters.cut(&self.chart.y.label, TEXT, right);
            shapes.push(text((0.0, top - GAP), Anchor::Start, Tone::Label, &label));
        }
        if !self.chart.x.label.is_empty() {
            let label = self.letters.cut(&self.chart.x.label, TEXT, right);
            shapes.push(text((right, bottom + 2.0 * LEADING), Anchor::End, Tone::Label, &label));
        }
        shapes
    }

    /// Cells and bars.
    fn below(&self) -> Vec<Part> {
        let bars = self.chart.bars.iter().filter_map(|bar| {
            let (left, right) = (self.rulers.x.place(bar.from)?, self.rulers.x.place(bar.to)?);
            let (left, right) = (self.field.at(left, 0.0).0, self.field.at(right, 0.0).0);
            let foot = self.height_or_foot(0.0).min(self.field.bottom);
            let top = self.height_or_foot(bar.height);
            // A hair between neighbours, where there is room for one.
            let hair = if right - left > 3.0 { 1.0 } else { 0.0 };
            Some([left, top.min(foot), (right - left - hair).max(0.5), (foot - top).abs()])
        });
        let bars: Vec<[f64; 4]> = bars.collect();
        let mut shapes = self.cells();
        shapes.extend(self.missing());
        if !bars.is_empty() {
            shapes.push(Shape::Boxes(bars, Fill::Bar));
        }
        vec![Part { series: None, within: true, shapes }]
    }

    /// Cells by their shade, which goes by the logarithm of the count: one of a thousand is still seen.
    fn cells(&self) -> Vec<Shape> {
        let Some(cells) = &self.chart.cells else { return Vec::new() };
        let most = cells.counts.iter().flatten().copied().max().unwrap_or(0);
        let mut shades: Vec<Vec<[f64; 4]>> = vec![Vec::new(); SHADES + 1];
        for (column, counts) in cells.columns.windows(2).zip(&cells.counts) {
            for (row, count) in cells.rows.windows(2).zip(counts).filter(|(_, count)| **count > 0) {
                let (from, to) = (self.place(column[0], row[0]), self.place(column[1], row[1]));
                let (Some(from), Some(to)) = (from, to) else { continue };
                let share = ((*count as f64).ln_1p() / (most as f64).ln_1p() * SHADES as f64).ceil() as usize;
                shades[share.min(SHADES)].push([from.0, to.1, to.0 - from.0, from.1 - to.1]);
            }
        }
        let shade = |(number, boxes): (usize, Vec<[f64; 4]>)| {
            (!boxes.is_empty()).then(|| Shape::Boxes(boxes, Fill::Cell(number as f64 / SHADES as f64)))
        };
        shades.into_iter().enumerate().filter_map(shade).collect()
    }

    /// A strip along the top where a column misses some.
    fn missing(&self) -> Option<Shape> {
        let cells = self.chart.cells.as_ref()?;
        let columns = cells.columns.windows(2).zip(&cells.missing).filter(|(_, missing)| **missing > 0);
        let strip = columns.filter_map(|(column, _)| {
            let (from, to) = (self.rulers.x.place(column[0])?, self.rulers.x.place(column[1])?);
            let (left, right) = (self.field.at(from, 0.0).0, self.field.at(to, 0.0).0);
            Some([left, self.field.top, (right - left).max(2.0), STRIP])
        });
        let strip: Vec<[f64; 4]> = strip.collect();
        (!strip.is_empty()).then_some(Shape::Boxes(strip, Fill::Missing))
    }

    fn series(&self, number: usize, series: &Series) -> Part {
        let colour = colour(number, series);
        let mut shapes = self.band(series, colour);
        for (doubtful, run) in self.runs(series) {
            let stroke = if doubtful { Some(Stroke::Doubtful(colour)) } else { stroke(series.line, colour) };
            let stroke = stroke.filter(|_| series.line != Line::None && run.len() > 1);
            shapes.extend(stroke.map(|stroke| Shape::Line(run, stroke)));
        }
        shapes.extend(series.points.iter().filter_map(|point| {
            let ends = point.interval.map(|ends| self.whisker(point.x, ends))?;
            Some(Shape::Line(ends?.to_vec(), Stroke::Whisker(colour)))
        }));
        let marked = |point: &&Point| series.dots || point.interval.is_some() || series.points.len() == 1;
        let dots = series.points.iter().filter(marked).filter_map(|point| self.place(point.x, point.y));
        let dots: Vec<(f64, f64)> = dots.collect();
        if !dots.is_empty() {
            shapes.push(Shape::Dots(dots, colour));
        }
        Part { series: Some(number), within: true, shapes }
    }

    /// Ends of an interval; an open end goes to the edge of the field.
    fn whisker(&self, x: f64, (low, high): (f64, f64)) -> Option<[(f64, f64); 2]> {
        let x = self.field.at(self.rulers.x.place(x)?, 0.0).0;
        let end = |value: f64, edge: f64| self.rulers.y.place(value).map_or(edge, |place| self.field.at(0.0, place).1);
        Some([(x, end(low, self.field.bottom)), (x, end(high, self.field.top))])
    }

    fn band(&self, series: &Series, colour: usize) -> Vec<Shape> {
        let mut shapes = Vec::new();
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        let mut close = |upper: &mut Vec<(f64, f64)>, lower: &mut Vec<(f64, f64)>| {
            if upper.len() > 1 {
                let mut around = std::mem::take(upper);
                around.extend(lower.drain(..).rev());
                shapes.push(Shape::Area(around, Fill::Band(colour)));
            }
            upper.clear();
            lower.clear();
        };
        for band in &series.band {
            let ends = (self.place(band.x, band.high), self.place(band.x, band.low));
            if let (Some(high), Some(low)) = ends {
                upper.push(high);
                lower.push(low);
            } else {
                close(&mut upper, &mut lower);
            }
        }
        close(&mut upper, &mut lower);
        shapes
    }

    /// The line in unbroken runs, each with whether it is doubtful.
    fn runs(&self, series: &Series) -> Vec<(bool, Vec<(f64, f64)>)> {
        let mut runs: Vec<(bool, Vec<(f64, f64)>)> = Vec::new();
        let mut last: Option<(f64, f64)> = None;
        for point in &series.points {
            let Some(at) = self.place(point.x, point.y) else {
                last = None;
                continue;
            };
            let doubtful = series.doubtful_from.is_some_and(|from| point.x > from);
            match (runs.last_mut(), last) {
                (Some((same, run)), Some(before)) if *same == doubtful => step_to(run, before, at, series.line),
                (_, Some(before)) => {
                    let mut run = vec![before];
                    step_to(&mut run, before, at, series.line);
                    runs.push((doubtful, run));
                }
                (_, None) => runs.push((doubtful, vec![at])),
            }
            last = Some(at);
        }
        runs
    }

    /// Signs above the points that have them, or below where there is no room.
    fn caveats(&self) -> Part {
        let points = self.chart.series.iter().flat_map(|series| &series.points);
        let mut shapes = Vec::new();
        for (point, at) in points.filter_map(|point| Some((point, self.place(point.x, point.y)?))) {
            let kinds = point.caveats.all().into_iter().enumerate().filter(|(_, is)| *is);
            for (number, (kind, _)) in kinds.enumerate() {
                let away = 3.0 * SIGN * (number as f64 + 1.0);
                let y = if at.1 - away < self.field.top { at.1 + away } else { at.1 - away };
                shapes.extend(sign(kind, (at.0, y)));
            }
        }
        Part { shapes, ..Part::default() }
    }

    fn marks(&self) -> Part {
        let shapes = self.chart.marks.iter().filter_map(|mark| self.mark(mark)).flatten().collect();
        Part { series: None, within: false, shapes }
    }

    fn mark(&self, mark: &Mark) -> Option<[Shape; 2]> {
        let Field { left, top, right, bottom } = self.field;
        let ruler = if mark.on == On::X { &self.rulers.x } else { &self.rulers.y };
        let place = ruler.place(mark.at).filter(|place| (0.0..=1.0).contains(place))?;
        let (x, y) = self.field.at(place, place);
        Some(match mark.on {
            On::X => {
                let (anchor, aside) = if place > 0.5 { (Anchor::End, -5.0) } else { (Anchor::Start, 5.0) };
                let line = Shape::Line(vec![(x, top), (x, bottom)], Stroke::Mark);
                [line, text((x + aside, top + TEXT), anchor, Tone::Mark, &mark.text)]
            }
            On::Y => {
                let line = Shape::Line(vec![(left, y), (right, y)], Stroke::Mark);
                [line, text((right, y - 5.0), Anchor::End, Tone::Mark, &mark.text)]
            }
        })
    }
}

/// Goes on from `before` to `at`, as the line does.
fn step_to(run: &mut Vec<(f64, f64)>, before: (f64, f64), at: (f64, f64), line: Line) {
    if line == Line::Steps {
        run.push((at.0, before.1));
    }
    run.push(at);
}
