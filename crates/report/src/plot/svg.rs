//! A laid-out chart as SVG.
//!
//! Looks come from classes alone, so that a page can turn them dark or print them; a document of its own carries the same
//! rules with it.

use std::fmt::Write;

use super::layout::{DOT, TEXT, TITLE, scene};
use super::letters::Letters;
use super::scene::{Anchor, Fill, Part, Scene, Shape, Stroke, Tone};
use super::{Chart, Frame};
use crate::markup::escaped;

/// The style of charts, for the page that holds elements of [`Chart::svg`].
pub const STYLE: &str = include_str!("plot.css");

/// Colours that differ; further series take them again, with other dashes.
pub(super) const COLOURS: usize = 8;

/// As an element for a page.
pub(super) fn element(chart: &Chart, id: &str, frame: &Frame) -> String {
    let scene = scene(chart, frame, Letters::Proportional);
    let mut svg = opening(chart, id, frame, &scene);
    painted(&mut svg, &scene, id);
    svg.push_str("</svg>");
    svg
}

/// As a document.
pub(super) fn document(chart: &Chart, frame: &Frame) -> String {
    /// Around the chart, in units of the frame.
    const MARGIN: u32 = 20;
    let (id, scene) = ("chart", scene(chart, frame, Letters::Proportional));
    let (width, height) = (frame.width + 2 * MARGIN, frame.height + 2 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"-{MARGIN} -{MARGIN} {width} \
         {height}\" class=\"chart\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\n{}<style>\n{STYLE}</style>\n<rect \
         class=\"back\" x=\"-{MARGIN}\" y=\"-{MARGIN}\" width=\"{width}\" height=\"{height}\"/>\n",
        names(chart, id)
    );
    painted(&mut svg, &scene, id);
    svg.push_str("</svg>\n");
    svg
}

fn opening(chart: &Chart, id: &str, frame: &Frame, scene: &Scene) -> String {
    let Frame { width, height, .. } = frame;
    let field = &scene.field;
    let axes = scene.axes.as_ref().map_or_else(String::new, |(x, y)| {
        let field = [field.left, field.top, field.right, field.bottom].map(number).join(" ");
        format!(" data-field=\"{field}\" data-x=\"{x}\" data-y=\"{y}\"")
    });
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" class=\"chart\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\"{axes}>{}",
        names(chart, id)
    )
}

/// The title and the description, for who cannot see the chart.
fn names(chart: &Chart, id: &str) -> String {
    let (title, told) = (escaped(&chart.title), escaped(&chart.alternative));
    format!("<title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{told}</desc>\n")
}

fn painted(svg: &mut String, scene: &Scene, id: &str) {
    let field = &scene.field;
    if scene.parts.iter().any(|part| part.within) {
        let [x, y, width, height] =
            [field.left, field.top - DOT, field.right - field.left + DOT, field.bottom - field.top + 2.0 * DOT]
                .map(number);
        let rect = format!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>");
        let _ = writeln!(svg, "<clipPath id=\"{id}-c\">{rect}</clipPath>");
    }
    for part in &scene.parts {
        group(svg, part, id);
    }
}

fn group(svg: &mut String, part: &Part, id: &str) {
    svg.push_str("<g");
    if let Some(series) = part.series {
        let kind = if part.within { "series" } else { "key" };
        let _ = write!(svg, " class=\"{kind}\" data-series=\"{series}\"");
    }
    if part.within {
        let _ = write!(svg, " clip-path=\"url(#{id}-c)\"");
    }
    svg.push_str(">\n");
    for shape in &part.shapes {
        paint(svg, shape);
        svg.push('\n');
    }
    svg.push_str("</g>\n");
}

fn paint(svg: &mut String, shape: &Shape) {
    // Writing to a string does not fail.
    let _ = match shape {
        Shape::Line(points, stroke) => {
            write!(svg, "<path class=\"{}\" d=\"{}\"/>", stroke_class(*stroke), path(points))
        }
        Shape::Area(points, fill) => write!(svg, "<path{} d=\"{}z\"/>", fill_class(*fill), path(points)),
        Shape::Boxes(boxes, fill) => write!(svg, "<path{} d=\"{}\"/>", fill_class(*fill), rectangles(boxes)),
        Shape::Dots(points, colour) => {
            write!(svg, "<path class=\"dot c{}\" d=\"{}\"/>", colour % COLOURS, dots(points))
        }
        Shape::Text { at, anchor, tone, text } => {
            let (x, y, text) = (number(at.0), number(at.1), escaped(text));
            let (class, size) = (tone_class(*tone), if *tone == Tone::Title { TITLE } else { TEXT });
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            write!(svg, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{anchor}>{text}</text>")
        }
    };
}

fn path(points: &[(f64, f64)]) -> String {
    let mut path = String::with_capacity(points.len() * 12);
    for (place, (x, y)) in points.iter().enumerate() {
        // A point that follows a move is joined to it without another letter.
        path.push(if place == 0 { 'M' } else { ' ' });
        let _ = write!(path, "{},{}", number(*x), number(*y));
    }
    path
}

fn rectangles(boxes: &[[f64; 4]]) -> String {
    let mut path = String::with_capacity(boxes.len() * 28);
    for [x, y, width, height] in boxes {
        let [x, y, width, height] = [*x, *y, *width, *height].map(number);
        let _ = write!(path, "M{x},{y}h{width}v{height}h-{width}z");
    }
    path
}

/// Dots as lines of no length, which round caps make dots of.
fn dots(points: &[(f64, f64)]) -> String {
    points.iter().fold(String::new(), |mut path, (x, y)| {
        let _ = write!(path, "M{},{}h0", number(*x), number(*y));
        path
    })
}

/// To a tenth of a unit, which no screen shows.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let short = text.strip_suffix(".0").unwrap_or(&text);
    if short == "-0" { "0".to_owned() } else { short.to_owned() }
}

fn stroke_class(stroke: Stroke) -> String {
    let coloured = |kind: &str, colour: usize| {
        let round = if colour / COLOURS % 2 == 1 { " again" } else { "" };
        format!("{kind} c{}{round}", colour % COLOURS)
    };
    match stroke {
        Stroke::Grid => "grid".to_owned(),
        Stroke::Axis => "axis".to_owned(),
        Stroke::Mark => "mark".to_owned(),
        Stroke::Caveat => "caveat".to_owned(),
        Stroke::Series(colour) => coloured("line", colour),
        Stroke::Dashed(colour) => coloured("line dashed", colour),
        Stroke::Doubtful(colour) => coloured("line doubtful", colour),
        Stroke::Whisker(colour) => coloured("whisker", colour),
    }
}

fn fill_class(fill: Fill) -> String {
    match fill {
        Fill::Band(colour) => format!(" class=\"band c{}\"", colour % COLOURS),
        Fill::Bar => " class=\"bar\"".to_owned(),
        Fill::Missing => " class=\"missing\"".to_owned(),
        Fill::Cell(shade) => format!(" class=\"cell\" fill-opacity=\"{shade:.2}\""),
    }
}

fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Title => "title",
        Tone::Label => "label",
        Tone::Tick => "tick",
        Tone::Legend => "legend",
        Tone::Mark => "named",
        Tone::Note => "note",
    }
}
