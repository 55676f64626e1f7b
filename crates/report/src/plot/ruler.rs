//! Rulers: where on an axis a value lies, and which places on it are labelled.

use super::{Axis, Chart, On, Scale, Unit};

/// Room left beyond the outermost values, share of the axis.
const MARGIN: f64 = 0.04;
/// Furthest that a tail is shown: p99.9999999.
const FURTHEST_TAIL: f64 = 9.0;

/// An axis as it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ruler {
    scale: Scale,
    /// Ends, in the scale's own steps.
    low: f64,
    high: f64,
    /// Labelled places.
    pub(super) ticks: Vec<Tick>,
}

/// A labelled place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// Place on the axis, 0 to 1.
    pub(super) place: f64,
    pub(super) text: String,
}

/// Both axes of a chart.
pub(super) struct Rulers {
    pub(super) x: Ruler,
    pub(super) y: Ruler,
    /// Values that have no place on them.
    pub(super) left_out: usize,
}

impl Rulers {
    /// With at most so many labels on each; `None` where nothing can be drawn.
    pub(super) fn of(chart: &Chart, most_x: usize, most_y: usize) -> Option<Self> {
        let (xs, ys) = values(chart);
        let left_out =
            points(chart).filter(|(x, y)| step(chart.x.scale, *x).is_none() || step(chart.y.scale, *y).is_none());
        let left_out = left_out.count();
        Some(Self { x: Ruler::over(&chart.x, &xs, most_x)?, y: Ruler::over(&chart.y, &ys, most_y)?, left_out })
    }
}

/// The points that are meant to be seen; one whose y is not finite is a gap that was asked for.
fn points(chart: &Chart) -> impl Iterator<Item = (f64, f64)> {
    chart
        .series
        .iter()
        .flat_map(|series| series.points.iter())
        .filter(|point| point.y.is_finite())
        .map(|point| (point.x, point.y))
}

/// All that wants a place on either axis.
fn values(chart: &Chart) -> (Vec<f64>, Vec<f64>) {
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    for series in &chart.series {
        for point in &series.points {
            xs.push(point.x);
            ys.push(point.y);
            ys.extend(point.interval.iter().flat_map(|(low, high)| [*low, *high]));
        }
        for band in &series.band {
            xs.push(band.x);
            ys.extend([band.low, band.high]);
        }
    }
    for bar in &chart.bars {
        xs.extend([bar.from, bar.to]);
        ys.push(bar.height);
    }
    if let Some(cells) = &chart.cells {
        xs.extend(&cells.columns);
        ys.extend(&cells.rows);
    }
    for mark in &chart.marks {
        if mark.on == On::X { xs.push(mark.at) } else { ys.push(mark.at) }
    }
    (xs, ys)
}

/// A value in the steps of a scale; `None` where that has no place for it.
fn step(scale: Scale, value: f64) -> Option<f64> {
    let step = match scale {
        Scale::Linear => value,
        Scale::Log => (value > 0.0).then(|| value.log10())?,
        Scale::Tail => ((0.0..=1.0).contains(&value)).then(|| -(1.0 - value).log10())?.min(FURTHEST_TAIL),
    };
    // Adding 0 takes the sign from −0.
    step.is_finite().then_some(step + 0.0)
}

impl Ruler {
    fn over(axis: &Axis, values: &[f64], most: usize) -> Option<Self> {
        let steps = || values.iter().filter_map(|value| step(axis.scale, *value));
        let (least, greatest) = (steps().reduce(f64::min)?, steps().reduce(f64::max)?);
        let asked = axis.range.and_then(|(low, high)| Some((step(axis.scale, low)?, step(axis.scale, high)?)));
        let (low, high) = match asked.filter(|(low, high)| low < high) {
            Some(asked) => asked,
            None => spread(axis, least, greatest),
        };
        let mut ruler = Self { scale: axis.scale, low, high, ticks: Vec::new() };
        ruler.ticks = ruler.ticks(&axis.unit, most.max(2));
        Some(ruler)
    }

    /// Place of `value`, 0 to 1 within the axis; `None` where the scale has no place for it.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        Some((step(self.scale, value)? - self.low) / (self.high - self.low))
    }

    /// Its scale and its ends in that scale's steps, as a page's script reads them.
    pub(super) fn told(&self) -> String {
        let scale = match self.scale {
            Scale::Linear => "linear",
            Scale::Log => "log",
            Scale::Tail => "tail",
        };
        format!("{scale} {} {}", self.low, self.high)
    }

    fn ticks(&self, unit: &Unit, most: usize) -> Vec<Tick> {
        let values = match (unit, self.scale) {
            (Unit::Names(names), _) => thinned((0..names.len()).map(|place| place as f64).collect(), most),
            // Their labels are bits: round in these.
            (Unit::BytesPerSecond, Scale::Linear) => {
                round(self.low * 8.0, self.high * 8.0, most).into_iter().map(|bits| bits / 8.0).collect()
            }
            (_, Scale::Linear) => round(self.low, self.high, most),
            (_, Scale::Log) => self.powers(most),
            (_, Scale::Tail) => self.tails(most),
        };
        let texts = labels(unit, self.scale, &values);
        let tick = |(value, text): (&f64, String)| Some(Tick { place: self.place(*value)?, text });
        let within = |tick: &Tick| (-1e-9..=1.0 + 1e-9).contains(&tick.place) && !tick.text.is_empty();
        values.iter().zip(texts).filter_map(tick).filter(within).collect()
    }

    /// Round values on a logarithmic axis: as many to a decade as there is room for.
    fn powers(&self, most: usize) -> Vec<f64> {
        const WITHIN: [&[f64]; 4] = [&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
        let decades = (self.low.floor() as i32)..=(self.high.ceil() as i32);
        let inside = |value: &f64| self.place(*value).is_some_and(|place| (-1e-9..=1.0 + 1e-9).contains(&place));
        let all = |factors: &[f64]| -> Vec<f64> {
            let of = |decade: i32| factors.iter().map(move |factor| factor * 10_f64.powi(decade)).collect::<Vec<_>>();
            decades.clone().flat_map(of).filter(inside).collect()
        };
        let fitting = WITHIN.iter().map(|factors| all(factors)).find(|values| values.len() <= most);
        match fitting {
            Some(values) if values.len() >= 2 => values,
            // Less than a step between two decades: as on a linear axis.
            Some(_) => round(10_f64.powf(self.low), 10_f64.powf(self.high), most),
            None => thinned(all(&[1.0]), most),
        }
    }

    /// p50, p90, p99 and so on.
    fn tails(&self, most: usize) -> Vec<f64> {
        let nines = 1..=(self.high.ceil().max(1.0) as i32);
        let mut values: Vec<f64> = nines.map(|nines| 1.0 - 10_f64.powi(-nines)).collect();
        values = thinned(values, most.saturating_sub(2).max(1));
        [0.0, 0.5].into_iter().chain(values).collect()
    }
}

/// The ends of an axis that shows values from `least` to `greatest`, all in the scale's steps.
fn spread(axis: &Axis, least: f64, greatest: f64) -> (f64, f64) {
    if let Unit::Names(names) = &axis.unit {
        return (-0.5, names.len().max(1) as f64 - 0.5);
    }
    let (mut least, mut greatest) = (least, greatest);
    if axis.scale == Scale::Tail {
        return (0.0, greatest.max(1.0));
    }
    if axis.scale == Scale::Linear && axis.from_zero {
        (least, greatest) = (least.min(0.0), greatest.max(0.0));
    }
    if greatest - least < f64::EPSILON * greatest.abs().max(1.0) * 8.0 {
        // A single value: a tenth around it, or a third of a decade.
        let around = match axis.scale {
            Scale::Linear if greatest != 0.0 => greatest.abs() / 10.0,
            Scale::Linear => 1.0,
            _ => 0.15,
        };
        (least, greatest) = (least - around, greatest + around);
    }
    let margin = (greatest - least) * MARGIN;
    let keeps_zero = axis.scale == Scale::Linear && axis.from_zero;
    let low = if keeps_zero && least == 0.0 { least } else { least - margin };
    let high = if keeps_zero && greatest == 0.0 { greatest } else { greatest + margin };
    (low, high)
}

/// Round values from `low` to `high`, at most `most`: steps of 1, 2 or 5 times a power of ten.
fn round(low: f64, high: f64, most: usize) -> Vec<f64> {
    let rough = (high - low) / most.max(1) as f64;
    if !(rough > 0.0 && rough.is_finite()) {
        return Vec::new();
    }
    let power = 10_f64.powf(rough.log10().floor());
    let factor =
        [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough * (1.0 - 1e-9)).unwrap_or(10.0);
    let step = factor * power;
    let first = (low / step - 1e-9).ceil();
    let count = ((high / step + 1e-9).floor() - first).clamp(-1.0, 1_000.0) as i64 + 1;
    (0..count).map(|number| (first + number as f64) * step + 0.0).collect()
}

/// Every n-th so that at most `most` are left.
fn thinned(values: Vec<f64>, most: usize) -> Vec<f64> {
    let every = values.len().div_ceil(most.max(1)).max(1);
    values.into_iter().step_by(every).collect()
}

/// The labels of an axis: on a linear one all in the unit of the largest, with as many digits as tell them apart.
fn labels(unit: &Unit, scale: Scale, values: &[f64]) -> Vec<String> {
    let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let scaled = match (unit, scale) {
        (Unit::Time, Scale::Linear) => match largest {
            _ if largest < 1e3 => Some((1.0, "ns")),
            _ if largest < 1e6 => Some((1e3, "µs")),
            _ if largest < 1e9 => Some((1e6, "ms")),
            _ => Some((1e9, "s")),
        },
        (Unit::BytesPerSecond, Scale::Linear) => match largest * 8.0 {
            bits if bits < 1e3 => Some((1.0 / 8.0, "bit/s")),
            bits if bits < 1e6 => Some((1e3 / 8.0, "kbit/s")),
            bits if bits < 1e9 => Some((1e6 / 8.0, "Mbit/s")),
            _ => Some((1e9 / 8.0, "Gbit/s")),
        },
        _ => None,
    };
    let Some((size, name)) = scaled else { return values.iter().map(|value| unit.text(*value)).collect() };
    let apart = values.windows(2).map(|pair| (pair[1] - pair[0]) / size).fold(f64::INFINITY, f64::min);
    let decimals = if apart.is_finite() && apart > 0.0 { (-apart.log10()).ceil().clamp(0.0, 6.0) as usize } else { 0 };
    values.iter().map(|value| format!("{:.decimals$} {name}", value / size + 0.0).replace('-', "−")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    fn texts(axis: &Axis, values: &[f64], most: usize) -> Vec<String> {
        Ruler::over(axis, values, most).unwrap().ticks.into_iter().map(|tick| tick.text).collect()
    }

    #[test_case(Scale::Log, &[1e3, 1e6], 5, &["1 µs", "10 µs", "100 µs", "1 ms"]; "decades")]
    #[test_case(Scale::Log, &[20e3, 60e3], 6, &["20 µs", "30 µs", "40 µs", "50 µs", "60 µs"]; "within a decade")]
    #[test_case(Scale::Log, &[20.1e3, 20.9e3], 5, &["20.2 µs", "20.4 µs", "20.6 µs", "20.8 µs"]; "within a step")]
    #[test_case(Scale::Log, &[1.0, 1e12], 4, &["1 ns", "10 µs", "100 ms", "1000 s"]; "many decades")]
    #[test_case(Scale::Linear, &[0.0, 2e6], 5, &["0.0 ms", "0.5 ms", "1.0 ms", "1.5 ms", "2.0 ms"]; "one unit")]
    #[test_case(Scale::Linear, &[-4e3, 4e3], 5, &["−4 µs", "−2 µs", "0 µs", "2 µs", "4 µs"]; "both signs")]
    fn times_have_round_labels(scale: Scale, values: &[f64], most: usize, expected: &[&str]) {
        assert_eq!(texts(&Axis::new("", Unit::Time, scale), values, most), expected);
    }

    #[test_case(&[0.0, 0.7e9], &["0 Gbit/s", "2 Gbit/s", "4 Gbit/s"]; "gigabits")]
    #[test_case(&[0.0, 0.2e9], &["0.0 Gbit/s", "0.5 Gbit/s", "1.0 Gbit/s", "1.5 Gbit/s"]; "halves")]
    #[test_case(&[0.0, 0.1e9], &["0 Mbit/s", "200 Mbit/s", "400 Mbit/s", "600 Mbit/s", "800 Mbit/s"]; "megabits")]
    fn rates_have_round_labels_that_are_their_values(values: &[f64], expected: &[&str]) {
        let axis = Axis::new("", Unit::BytesPerSecond, Scale::Linear).from_zero();
        let ruler = Ruler::over(&axis, values, 5).unwrap();
        assert_eq!(ruler.ticks.iter().map(|tick| tick.text.as_str()).collect::<Vec<_>>(), expected);
        for tick in &ruler.ticks {
            let (number, unit) = tick.text.split_once(' ').unwrap();
            let bits = number.parse::<f64>().unwrap() * if unit == "Gbit/s" { 1e9 } else { 1e6 };
            assert!((ruler.place(bits / 8.0).unwrap() - tick.place).abs() < 1e-9, "{tick:?}");
        }
    }

    #[test]
    fn tails_are_nines() {
        let axis = Axis::new("", Unit::Quantile, Scale::Tail);
        assert_eq!(texts(&axis, &[0.0, 0.9999], 9), ["p0", "p50", "p90", "p99", "p99.9", "p99.99"]);
        let ruler = Ruler::over(&axis, &[0.0, 0.999], 9).unwrap();
        let place = |q: f64| (ruler.place(q).unwrap() * 3.0 * 1e6).round() / 1e6;
        assert_eq!([place(0.0), place(0.9), place(0.99), place(0.999)], [0.0, 1.0, 2.0, 3.0]);
        assert_eq!((ruler.place(1.5), ruler.place(f64::NAN)), (None, None));
    }

    #[test_case(Scale::Linear, &[5.0]; "one value")]
    #[test_case(Scale::Linear, &[0.0]; "zero")]
    #[test_case(Scale::Log, &[5.0]; "one value by ratio")]
    #[test_case(Scale::Tail, &[0.5]; "one quantile")]
    #[test_case(Scale::Linear, &[1e300, -1e300]; "far apart")]
    #[test_case(Scale::Log, &[1e-300, 1e300]; "very far apart")]
    #[test_case(Scale::Tail, &[1.0]; "nothing beyond")]
    fn whatever_it_shows_an_axis_has_room(scale: Scale, values: &[f64]) {
        let ruler = Ruler::over(&Axis::new("", Unit::Plain, scale), values, 6).unwrap();
        assert!(ruler.low < ruler.high && ruler.ticks.len() <= 9, "{ruler:?}");
        for value in values {
            assert!(ruler.place(*value).is_none_or(|place| (0.0..=1.0).contains(&place)), "{ruler:?}");
        }
    }

    #[test]
    fn what_has_no_place_makes_no_axis() {
        assert_eq!(Ruler::over(&Axis::new("", Unit::Time, Scale::Log), &[0.0, -1.0, f64::NAN], 5), None);
        assert_eq!(Ruler::over(&Axis::default(), &[], 5), None);
    }

    #[test]
    fn zero_is_on_the_axis_where_that_was_asked_for() {
        let ruler = Ruler::over(&Axis::new("", Unit::Count, Scale::Linear).from_zero(), &[90.0, 100.0], 6).unwrap();
        assert_eq!(ruler.place(0.0), Some(0.0));
    }

    #[test]
    fn names_stand_in_the_middle_of_their_share() {
        let names = Unit::Names(["a", "b"].map(str::to_owned).to_vec());
        let ruler = Ruler::over(&Axis::new("", names, Scale::Linear), &[0.0, 1.0], 9).unwrap();
        let places: Vec<f64> = ruler.ticks.iter().map(|tick| tick.place).collect();
        assert_eq!(places, [0.25, 0.75]);
    }
}
