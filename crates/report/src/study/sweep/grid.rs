//! The settings of a sweep as curves over the points of its axis.

use logbook::study::{Place, StudyDocument, Trial};
use measure::study::figure::Figure;
use measure::study::range::Values;
use measure::study::spread::Spread;

use super::unit_of;

/// Curves over points.
#[derive(Debug, Default)]
pub struct Grid {
    /// The points of the axis, in the order they were asked for.
    pub points: Vec<Point>,
    /// The curves.
    pub series: Vec<Series>,
}

/// A point of the axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// As it was typed.
    pub value: String,
    /// As a number in the axis's unit; absent where it is a word.
    pub number: Option<f64>,
}

impl Point {
    /// For people.
    pub fn told(&self, values: Values) -> String {
        match (self.number, unit_of(values)) {
            (Some(0.0), _) if values == Values::Times => "no pause".to_owned(),
            (Some(number), Some(unit)) => unit.told(number),
            _ => self.value.clone(),
        }
    }
}

/// A curve.
#[derive(Debug)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// The setting of each point, a number from 0; absent where the curve has none there.
    settings: Vec<Option<u32>>,
}

impl Grid {
    /// The curves of `study`.
    pub fn of(study: &StudyDocument) -> Self {
        let mut grid = Self::default();
        for (setting, at) in (0..).zip(study.settings.iter().map(|setting| &setting.at)) {
            let Place::Point { series, of, value, number } = at else { continue };
            let point = Point { value: value.clone(), number: *number };
            let place = grid.points.iter().position(|there| *there == point).unwrap_or_else(|| {
                grid.points.push(point);
                grid.points.len() - 1
            });
            let series = *series as usize;
            // A document made by hand may name any number.
            if series > grid.series.len() {
                continue;
            }
            if series == grid.series.len() {
                grid.series.push(Series { name: of.clone(), settings: Vec::new() });
            }
            let settings = &mut grid.series[series].settings;
            settings.resize(settings.len().max(place + 1), None);
            settings[place] = Some(setting);
        }
        grid
    }

    /// The medians of a curve at the points that are numbers.
    pub fn curve(&self, study: &StudyDocument, series: &Series, figure: Figure) -> Vec<(f64, f64)> {
        let median = |place: usize| series.spread(study, place, figure).map(|spread| spread.median);
        let point = |(place, point): (usize, &Point)| Some((point.number?, median(place)?));
        self.points.iter().enumerate().filter_map(point).collect()
    }
}

impl Series {
    /// Its trials at a point.
    pub fn trials<'a>(&self, study: &'a StudyDocument, place: usize) -> Vec<&'a Trial> {
        self.settings.get(place).copied().flatten().map(|setting| study.trials_of(setting)).unwrap_or_default()
    }

    /// Spread of its trials at a point.
    pub fn spread(&self, study: &StudyDocument, place: usize, figure: Figure) -> Option<Spread> {
        let setting = self.settings.get(place).copied().flatten()?;
        Spread::of(&study.figures_of(setting, figure))
    }

    /// The point between its ends that lies farthest beyond both: all its trials do, and the median by a quarter or more.
    pub fn farthest(&self, study: &StudyDocument, figure: Figure) -> Option<(usize, Spread)> {
        let last = self.settings.len().checked_sub(1)?;
        let (one, other) = (self.spread(study, 0, figure)?, self.spread(study, last, figure)?);
        let (lowest, highest) = (one.low.min(other.low), one.high.max(other.high));
        let excess = |spread: &Spread| {
            let beyond = if spread.low > highest { spread.median / highest } else { lowest / spread.median };
            (spread.low > highest || spread.high < lowest).then_some(beyond).filter(|beyond| *beyond >= 1.25)
        };
        let found = (1..last).filter_map(|place| {
            let spread = self.spread(study, place, figure)?;
            Some((excess(&spread)?, place, spread))
        });
        found.max_by(|(one, ..), (other, ..)| one.total_cmp(other)).map(|(_, place, spread)| (place, spread))
    }
}
