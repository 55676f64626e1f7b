//! A laid-out chart as PNG, without a browser and without fonts of the system.
//!
//! Lines and areas are painted by `tiny-skia`; letters are Noto Sans Mono as `noto-sans-mono-bitmap` has them, painted once
//! and for all. Two pixels stand for each unit of the frame. Colours are the light ones of `plot.css`.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Mask, Paint, PathBuilder, Pixmap, Rect, Stroke as Pen, StrokeDash, Transform,
};

use super::layout::{DOT, scene};
use super::letters::{Letters, in_fixed};
use super::scene::{Anchor, Field, Fill, Part, Shape, Stroke, Tone};
use super::svg::COLOURS;
use super::{Chart, Frame, Undrawn};

/// Pixels to a unit of the frame.
const SCALE: f32 = 2.0;
/// Around the chart, in units of the frame.
const MARGIN: u32 = 20;
/// Height of a letter's box, and how far below its top letters stand, in pixels.
const RASTER: RasterHeight = RasterHeight::Size32;
const BASELINE: i32 = 25;

const BACK: u32 = 0x00ff_ffff;
const INK: u32 = 0x001c_2126;
const SOFT: u32 = 0x005a_6570;
const RULE: u32 = 0x00e3_e7ea;
const SERIES: [u32; COLOURS] =
    [0x000b_6e99, 0x00c2_571a, 0x004d_7c0f, 0x008b_3fa0, 0x00a8_7400, 0x00a6_1e4d, 0x004a_5568, 0x000f_8a7e];

/// The chart as the bytes of a PNG.
pub(super) fn encoded(chart: &Chart, frame: &Frame) -> Result<Vec<u8>, Undrawn> {
    let letter = get_raster_width(FontWeight::Regular, RASTER) as u32 * 100 / SCALE as u32;
    let scene = scene(chart, frame, Letters::Fixed(letter));
    let side = |length: u32| (length + 2 * MARGIN) * SCALE as u32;
    let (width, height) = (side(frame.width), side(frame.height));
    let no_room = || Undrawn { reason: format!("no memory for {width} × {height} pixels") };
    let mut pixmap = Pixmap::new(width, height).ok_or_else(no_room)?;
    pixmap.fill(colour(BACK, 1.0));
    let mask = inside(&scene.field, width, height).ok_or_else(no_room)?;
    let mut painter = Painter { pixmap, mask };
    scene.parts.iter().for_each(|part| painter.part(part));
    painter.pixmap.encode_png().map_err(|fault| Undrawn { reason: fault.to_string() })
}

/// The pixels that may be painted where nothing is to lie outside the field.
fn inside(field: &Field, width: u32, height: u32) -> Option<Mask> {
    let mut mask = Mask::new(width, height)?;
    let edges = [field.left, field.top - DOT, field.right + DOT, field.bottom + DOT].map(|edge| edge as f32);
    // No field, nothing to paint in it.
    if let Some(rect) = Rect::from_ltrb(edges[0], edges[1], edges[2], edges[3]) {
        mask.fill_path(&PathBuilder::from_rect(rect), FillRule::Winding, true, transform());
    }
    Some(mask)
}

fn transform() -> Transform {
    Transform::from_translate(MARGIN as f32, MARGIN as f32).post_scale(SCALE, SCALE)
}

fn colour(rgb: u32, opacity: f32) -> Color {
    let [_, red, green, blue] = rgb.to_be_bytes();
    Color::from_rgba8(red, green, blue, (opacity.clamp(0.0, 1.0) * 255.0).round() as u8)
}

fn paint(rgb: u32, opacity: f32) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color(colour(rgb, opacity));
    paint
}

struct Painter {
    pixmap: Pixmap,
    mask: Mask,
}

impl Painter {
    fn part(&mut self, part: &Part) {
        for shape in &part.shapes {
            match shape {
                Shape::Line(points, stroke) => self.line(points, *stroke, part.within),
                Shape::Area(points, fill) => self.area(&around(points), *fill, part.within),
                Shape::Boxes(boxes, fill) => self.area(&rectangles(boxes), *fill, part.within),
                Shape::Dots(points, colour) => self.dots(points, *colour, part.within),
                Shape::Text { at, anchor, tone, text } => self.text(*at, *anchor, *tone, text),
            }
        }
    }

    fn line(&mut self, points: &[(f64, f64)], stroke: Stroke, within: bool) {
        let mut builder = PathBuilder::new();
        for (place, (x, y)) in points.iter().enumerate() {
            if place == 0 { builder.move_to(*x as f32, *y as f32) } else { builder.line_to(*x as f32, *y as f32) }
        }
        let (rgb, width, dash) = looks(stroke);
        let pen = Pen {
            width,
            line_cap: LineCap::Round,
            line_join: LineJoin::Round,
            dash: dash.and_then(|dash| StrokeDash::new(dash, 0.0)),
            ..Pen::default()
        };
        // No path: a single point or none.
        if let Some(path) = builder.finish() {
            let mask = within.then_some(&self.mask);
            self.pixmap.stroke_path(&path, &paint(rgb, 1.0), &pen, transform(), mask);
        }
    }

    fn area(&mut self, builder: &PathBuilder, fill: Fill, within: bool) {
        let (rgb, opacity) = match fill {
            Fill::Band(colour) => (SERIES[colour % COLOURS], 0.16),
            Fill::Bar => (SERIES[0], 1.0),
            Fill::Missing => (SERIES[5], 1.0),
            Fill::Cell(shade) => (SERIES[0], shade as f32),
        };
        if let Some(path) = builder.clone().finish() {
            let mut paint = paint(rgb, opacity);
            // Cells touch: smoothed edges would leave seams between them.
            paint.anti_alias = !matches!(fill, Fill::Cell(_));
            let mask = within.then_some(&self.mask);
            self.pixmap.fill_path(&path, &paint, FillRule::Winding, transform(), mask);
        }
    }

    fn dots(&mut self, points: &[(f64, f64)], colour: usize, within: bool) {
        let mut builder = PathBuilder::new();
        for (x, y) in points {
            builder.push_circle(*x as f32, *y as f32, DOT as f32);
        }
        if let Some(path) = builder.finish() {
            let mask = within.then_some(&self.mask);
            let paint = paint(SERIES[colour % COLOURS], 1.0);
            self.pixmap.fill_path(&path, &paint, FillRule::Winding, transform(), mask);
        }
    }

    fn text(&mut self, at: (f64, f64), anchor: Anchor, tone: Tone, text: &str) {
        let text = in_fixed(text);
        let (rgb, weight) = match tone {
            Tone::Title => (INK, FontWeight::Bold),
            Tone::Legend | Tone::Mark => (INK, FontWeight::Regular),
            Tone::Label | Tone::Tick | Tone::Note => (SOFT, FontWeight::Regular),
        };
        let letter = get_raster_width(weight, RASTER) as i32;
        let whole = letter * text.chars().count() as i32;
        let before = match anchor {
            Anchor::Start => 0,
            Anchor::Middle => whole / 2,
            Anchor::End => whole,
        };
        let pixel = |place: f64| ((place as f32 + MARGIN as f32) * SCALE).round() as i32;
        let (left, top) = (pixel(at.0) - before, pixel(at.1) - BASELINE);
        for (number, letter_) in text.chars().enumerate() {
            let Some(raster) = get_raster(letter_, weight, RASTER) else { continue };
            for (row, coverage) in raster.rows().enumerate() {
                self.row((left + number as i32 * letter, top + row as i32), coverage, rgb);
            }
        }
    }

    /// Lays a row of a letter over what is there, which is never transparent.
    fn row(&mut self, (left, top): (i32, i32), coverage: &[u8], rgb: u32) {
        let (width, height) = (self.pixmap.width() as i32, self.pixmap.height() as i32);
        if !(0..height).contains(&top) {
            return;
        }
        let [_, red, green, blue] = rgb.to_be_bytes();
        for (column, share) in coverage.iter().enumerate() {
            let x = left + column as i32;
            if *share == 0 || !(0..width).contains(&x) {
                continue;
            }
            let at = (top * width + x) as usize * 4;
            let data = &mut self.pixmap.data_mut()[at..at + 3];
            for (under, over) in data.iter_mut().zip([red, green, blue]) {
                let (share, over) = (u32::from(*share), u32::from(over));
                *under = ((over * share + u32::from(*under) * (255 - share) + 127) / 255) as u8;
            }
        }
    }
}

fn around(points: &[(f64, f64)]) -> PathBuilder {
    let mut builder = PathBuilder::new();
    for (place, (x, y)) in points.iter().enumerate() {
        if place == 0 { builder.move_to(*x as f32, *y as f32) } else { builder.line_to(*x as f32, *y as f32) }
    }
    builder.close();
    builder
}

fn rectangles(boxes: &[[f64; 4]]) -> PathBuilder {
    let mut builder = PathBuilder::new();
    for [x, y, width, height] in boxes {
        if let Some(rect) = Rect::from_xywh(*x as f32, *y as f32, *width as f32, *height as f32) {
            builder.push_rect(rect);
        }
    }
    builder
}

/// Colour, width and dashes, as `plot.css` has them.
fn looks(stroke: Stroke) -> (u32, f32, Option<Vec<f32>>) {
    match stroke {
        Stroke::Grid => (RULE, 1.0, None),
        Stroke::Axis => (SOFT, 1.0, None),
        Stroke::Mark => (INK, 1.0, Some(vec![2.0, 3.0])),
        Stroke::Caveat => (INK, 1.25, None),
        Stroke::Series(colour) => {
            let again = (colour / COLOURS % 2 == 1).then(|| vec![9.0, 3.0, 2.0, 3.0]);
            (SERIES[colour % COLOURS], 1.75, again)
        }
        Stroke::Dashed(colour) => (SERIES[colour % COLOURS], 1.75, Some(vec![6.0, 4.0])),
        Stroke::Doubtful(colour) => (SERIES[colour % COLOURS], 1.5, Some(vec![0.5, 4.0])),
        Stroke::Whisker(colour) => (SERIES[colour % COLOURS], 1.25, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_of_the_style() {
        let style = include_str!("plot.css");
        let light = &style[..style.find("@media").unwrap()];
        for (name, rgb) in [("back", BACK), ("ink", INK), ("soft", SOFT), ("rule", RULE)] {
            assert!(light.contains(&format!("--{name}: #{rgb:06x};")), "{name}");
        }
        for (number, rgb) in SERIES.iter().enumerate() {
            assert!(light.contains(&format!("--c{number}: #{rgb:06x};")), "{number}");
        }
    }
}
