//! Charts drawn whole: what stands in the picture is what the chart says.

use insta::assert_snapshot;
use test_case::test_case;

use super::*;

/// A rate and two quantiles of the times at it, with intervals: what a sweep shows.
fn curve() -> Chart {
    let point = |x: f64, y: f64| Point { interval: Some((y * 0.9, y * 1.2)), ..Point::new(x, y) };
    let rates = [1e3, 2e3, 4e3, 8e3];
    let p50 = Series { dots: true, ..Series::new("p50", rates.map(|rate| point(rate, 20e3 + rate)).to_vec()) };
    let p99 =
        Series { dots: true, ..Series::new("p99", rates.map(|rate| point(rate, 40e3 + rate * rate / 20.0)).to_vec()) };
    Chart {
        alternative: "p50 from 21 to 28 µs, p99 from 90 µs to 3.24 ms".to_owned(),
        series: vec![p50, p99],
        marks: vec![Mark { on: On::X, at: 4e3, text: "holds".to_owned() }],
        ..Chart::new(
            "Response by rate",
            Axis::new("rate", Unit::PerSecond, Scale::Log),
            Axis::new("response", Unit::Time, Scale::Log),
        )
    }
}

fn cells() -> Chart {
    Chart {
        cells: Some(Cells {
            missing: Vec::new(),
            columns: vec![0.0, 1e9, 2e9],
            rows: vec![1e4, 1e5, 1e6],
            counts: vec![vec![1_000, 1], vec![0, 30]],
        }),
        ..Chart::new("Heat", Axis::new("time", Unit::Time, Scale::Linear), Axis::new("", Unit::Time, Scale::Log))
    }
}

fn paths<'a>(svg: &'a str, class: &str) -> Vec<&'a str> {
    let start = format!("<path class=\"{class}\" d=\"");
    svg.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// The pairs of numbers of a path of straight lines.
fn points(path: &str) -> Vec<(f64, f64)> {
    let pair = |pair: &str| {
        let (x, y) = pair.split_once(',')?;
        Some((x.parse().ok()?, y.parse().ok()?))
    };
    path.trim_start_matches('M').split(' ').filter_map(pair).collect()
}

/// The numbers in an attribute of the element.
fn attribute(svg: &str, name: &str) -> Vec<f64> {
    let value = svg.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    value.split(' ').filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn a_curve_as_svg() {
    assert_snapshot!(curve().svg("c", Frame { width: 400, height: 240, titled: true }));
}

#[test]
fn equal_ratios_are_equal_steps() {
    let svg = curve().svg("c", Frame::default());
    let lines = paths(&svg, "line c0");
    let places: Vec<f64> = points(lines[0]).iter().map(|(x, _)| *x).collect();
    assert_eq!(places.len(), 4, "{lines:?}");
    let steps: Vec<f64> = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps.iter().all(|step| (step - steps[0]).abs() < 0.3), "{steps:?}");
}

#[test]
fn a_point_stands_where_the_axes_that_are_told_say() {
    let svg = curve().svg("c", Frame::default());
    let (field, y) = (attribute(&svg, "data-field"), attribute(&svg, "data-y"));
    let (_, top) = points(paths(&svg, "line c1")[0])[3];
    let share = (field[3] - top) / (field[3] - field[1]);
    let told = 10_f64.powf(y[0] + share * (y[1] - y[0]));
    assert!((told / 3.24e6 - 1.0).abs() < 0.01, "{told}");
}

#[test]
fn an_interval_is_drawn_to_its_ends() {
    let mut chart = curve();
    chart.series[0].points[0].interval = Some((19e3, f64::INFINITY));
    let svg = chart.svg("c", Frame::default());
    let whiskers = paths(&svg, "whisker c0");
    assert_eq!(whiskers.len(), 4);
    let top = points(whiskers[0]).iter().map(|(_, y)| *y).fold(f64::INFINITY, f64::min);
    let field = attribute(&svg, "data-field");
    assert_eq!(top, field[1], "an open end goes to the edge");
}

#[test]
fn what_has_no_place_is_counted_and_said() {
    let mut chart = curve();
    chart.series[0].points[1].y = 0.0;
    chart.series[0].points[1].interval = None;
    let svg = chart.svg("c", Frame::default());
    assert!(svg.contains("1 of the points have no place on these axes"), "{svg}");
    assert_eq!(paths(&svg, "line c0").len(), 2, "its line is broken there: the sample, and two points in a row");
    chart.series[0].points[1].y = f64::NAN;
    assert!(!chart.svg("c", Frame::default()).contains("no place"), "a gap that was asked for");
}

#[test]
fn a_fuller_cell_is_darker_and_an_empty_one_is_not_there() {
    let svg = cells().svg("c", Frame::default());
    let shades: Vec<f64> = svg
        .split("class=\"cell\" fill-opacity=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(shades.len(), 3, "one of a thousand is there");
    assert!(shades[0] < shades[1] && shades[1] < shades[2] && shades[2] == 1.0, "{shades:?}");
}

#[test]
fn a_line_is_dotted_where_too_little_is_known() {
    let mut chart = curve();
    chart.series[0].doubtful_from = Some(2e3);
    let svg = chart.svg("c", Frame::default());
    assert_eq!(points(paths(&svg, "line c0")[1]).len(), 2);
    assert_eq!(points(paths(&svg, "line doubtful c0")[0]).len(), 3);
}

#[test]
fn words_of_others_stay_words() {
    let mut chart = curve();
    chart.series[0].name = "</svg><script>alert(1)</script>".to_owned();
    chart.title = "\"><b>".to_owned();
    let svg = chart.svg_document(Frame::alone());
    assert!(!svg.contains("<script") && !svg.contains("<b>"), "{svg}");
}

#[test]
fn a_document_stands_by_itself() {
    let svg = curve().svg_document(Frame::alone());
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"520\""));
    assert!(svg.contains("<style>") && svg.contains("Response by rate</text>") && !svg.contains("href"));
}

#[test]
fn nothing_to_draw_is_said() {
    let mut chart = curve();
    chart.series.clear();
    chart.marks.clear();
    assert!(chart.is_empty());
    assert!(chart.svg("c", Frame::default()).contains("no values to draw"));
    assert!(chart.png(Frame::default()).is_ok());
}

#[test_case(f64::NAN; "none")]
#[test_case(f64::INFINITY; "infinite")]
#[test_case(-1.0; "negative")]
#[test_case(1e300; "huge")]
#[test_case(1e-300; "tiny")]
fn no_number_breaks_a_picture(value: f64) {
    let mut chart = curve();
    for series in &mut chart.series {
        series.points.push(Point { interval: Some((value, value)), ..Point::new(value, value) });
        series.band.push(Band { x: value, low: value, high: value });
    }
    chart.bars.push(Bar { from: value, to: value, height: value });
    for frame in [Frame { width: 0, height: 0, titled: true }, Frame::default()] {
        let svg = chart.svg("c", frame);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(chart.png(frame).is_ok());
    }
}

/// The pixels of a PNG, and its width.
fn decoded(png: &[u8]) -> tiny_skia::Pixmap {
    tiny_skia::Pixmap::decode_png(png).unwrap()
}

#[test]
fn the_png_shows_the_same() {
    let frame = Frame::default();
    let picture = decoded(&curve().png(frame).unwrap());
    assert_eq!((picture.width(), picture.height()), ((720 + 40) * 2, (340 + 40) * 2));
    let count = |rgb: [u8; 3]| {
        picture.pixels().iter().filter(|pixel| [pixel.red(), pixel.green(), pixel.blue()] == rgb).count()
    };
    assert!(count([0xff; 3]) > 700_000, "most of it is paper");
    assert!(count([0x0b, 0x6e, 0x99]) > 500 && count([0xc2, 0x57, 0x1a]) > 500, "both series");
    assert!(count([0x1c, 0x21, 0x26]) > 100, "words");
}

#[test]
fn cells_of_a_png_are_where_the_svg_has_them() {
    let chart = cells();
    let picture = decoded(&chart.png(Frame::default()).unwrap());
    // The fullest is at the bottom left of the field.
    let dark = |x: u32, y: u32| picture.pixel(x, y).is_some_and(|pixel| pixel.red() < 0x20);
    assert!(dark(400, 600) && !dark(1_200, 600), "the emptiest is at the bottom right");
}
