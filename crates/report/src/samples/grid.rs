//! Samples read back as a grid of time and response, in bounded memory however many they are.
//!
//! Rows are a 96th of a decade, 2.4 % apart; columns start at a millisecond and double whenever the run does not fit. So a
//! quantile of a column is right to 1.2 %, and the whole takes a few megabytes.

use std::io::Read;

/// Rows of a decade.
const FINE: usize = 96;
/// Rows of a decade that a picture shows.
const SHOWN: usize = 24;
/// Decades, from 1 ns to an hour and more.
const DECADES: usize = 13;
/// Columns at most; an even number.
const COLUMNS: usize = 240;
/// Width of a column to begin with, nanoseconds.
const FIRST_WIDTH: u64 = 1_000_000;

/// Counts of exchanges by their time and by when they were due.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    width_ns: u64,
    columns: Vec<Vec<u32>>,
    answered: u64,
    others: u64,
}

/// Text that holds no samples.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoSamples {
    /// Not CSV, or not to be read.
    #[error("{0}")]
    Csv(#[from] csv::Error),
    /// CSV of something else.
    #[error("no column `{0}`: these are not sonde samples")]
    NoColumn(&'static str),
    /// A field that should be a number of nanoseconds.
    #[error("line {line}: `{text}` is not a number of nanoseconds")]
    NoNumber {
        /// Number of the line, from 1.
        line: u64,
        /// The text there.
        text: String,
    },
}

impl Grid {
    /// The grid of samples written as CSV, as `--samples FILE.csv` does.
    ///
    /// # Errors
    /// A text that is no CSV, lacks the columns, or has other things than numbers in them.
    pub fn read(from: impl Read) -> Result<Self, NoSamples> {
        let mut reader = csv::Reader::from_reader(from);
        let head = reader.headers()?.clone();
        let column = |name: &'static str| head.iter().position(|other| other == name).ok_or(NoSamples::NoColumn(name));
        let (intended, sent) = (column("intended_ns")?, column("sent_ns")?);
        let (response, fate) = (column("response_ns")?, column("fate")?);
        let mut grid = Self { width_ns: FIRST_WIDTH, columns: Vec::new(), answered: 0, others: 0 };
        let mut row = csv::StringRecord::new();
        while reader.read_record(&mut row)? {
            let line = row.position().map_or(0, csv::Position::line);
            let number = |place: usize| -> Result<Option<i64>, NoSamples> {
                match row.get(place).unwrap_or_default() {
                    "" => Ok(None),
                    text => text.parse().map(Some).map_err(|_| NoSamples::NoNumber { line, text: text.to_owned() }),
                }
            };
            let at = number(intended)?.or(number(sent)?);
            match (at, number(response)?, row.get(fate)) {
                (Some(at), Some(time), Some("answered")) => grid.add(at, time),
                _ => grid.others += 1,
            }
        }
        Ok(grid)
    }

    /// One that was due before recording began is counted in the first column.
    fn add(&mut self, at: i64, time: i64) {
        let (at, time) = (u64::try_from(at).unwrap_or(0), u64::try_from(time).unwrap_or(0));
        while at / self.width_ns >= COLUMNS as u64 {
            self.halve();
        }
        let place = (at / self.width_ns) as usize;
        if self.columns.len() <= place {
            self.columns.resize(place + 1, Vec::new());
        }
        let column = &mut self.columns[place];
        if column.is_empty() {
            column.resize(FINE * DECADES, 0);
        }
        let row = ((time.max(1) as f64).log10() * FINE as f64) as usize;
        let cell = &mut column[row.min(FINE * DECADES - 1)];
        *cell = cell.saturating_add(1);
        self.answered += 1;
    }

    /// Each two columns become one.
    fn halve(&mut self) {
        let pair = |pair: &[Vec<u32>]| match pair {
            [one, other] if !one.is_empty() && !other.is_empty() => {
                one.iter().zip(other).map(|(one, other)| one.saturating_add(*other)).collect()
            }
            [one, other] if one.is_empty() => other.clone(),
            [one, ..] => one.clone(),
            [] => Vec::new(),
        };
        self.columns = self.columns.chunks(2).map(pair).collect();
        self.width_ns *= 2;
    }

    /// Answered exchanges in it.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// Those that were not answered in time, and so have no response.
    pub fn unanswered(&self) -> u64 {
        self.others
    }

    /// Edges of the columns, nanoseconds since recording began.
    pub fn column_edges(&self) -> Vec<f64> {
        (0..=self.columns.len() as u64).map(|number| (number * self.width_ns) as f64).collect()
    }

    /// The rows of a picture that are not all empty.
    fn rows(&self) -> Option<(usize, usize)> {
        let used = || self.columns.iter().flat_map(|column| column.iter().enumerate().filter(|(_, count)| **count > 0));
        let places = || used().map(|(place, _)| place / (FINE / SHOWN));
        Some((places().min()?, places().max()?))
    }

    /// Edges of the rows, nanoseconds; `None` where nothing was answered.
    pub fn row_edges(&self) -> Option<Vec<f64>> {
        let (first, last) = self.rows()?;
        Some((first..=last + 1).map(|place| 10_f64.powf(place as f64 / SHOWN as f64)).collect())
    }

    /// Counts by column, each from the shortest row up.
    pub fn counts(&self) -> Vec<Vec<u64>> {
        let Some((first, last)) = self.rows() else { return Vec::new() };
        let within = FINE / SHOWN;
        let sum = |column: &Vec<u32>, row: usize| {
            column.iter().skip(row * within).take(within).map(|count| u64::from(*count)).sum()
        };
        self.columns.iter().map(|column| (first..=last).map(|row| sum(column, row)).collect()).collect()
    }

    /// The quantile `q` of each column at its middle; absent where ten values or more beyond it are not had.
    pub fn quantiles(&self, q: f64) -> Vec<(f64, Option<f64>)> {
        let of = |column: &Vec<u32>| {
            let total: u64 = column.iter().map(|count| u64::from(*count)).sum();
            if measure::statistics::quantile::standing(q, total) == measure::outcome::Standing::TooFew {
                return None;
            }
            let rank = measure::statistics::quantile::rank(q, total)?;
            let mut seen = 0;
            let place = column.iter().position(|count| {
                seen += u64::from(*count);
                seen >= rank
            })?;
            Some(10_f64.powf((place as f64 + 0.5) / FINE as f64))
        };
        let middle = |number: usize| (number as f64 + 0.5) * self.width_ns as f64;
        self.columns.iter().enumerate().map(|(number, column)| (middle(number), of(column))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "flow,seq,intended_ns,sent_ns,received_ns,response_ns,service_ns,slip_ns,fate\n";

    #[test]
    fn a_run_of_any_length_fits_and_none_is_lost() {
        for gap in [1_000_u64, 10_000_000, 3_600_000_000_000] {
            let row = |n: u64| format!("0,{n},{0},{0},{0},{1},1,0,answered\n", n * gap, 1_000 + n);
            let rows = (0..5_000).map(row).collect::<Vec<_>>().concat();
            let grid = Grid::read(format!("{HEAD}{rows}").as_bytes()).unwrap();
            assert!(grid.columns.len() <= COLUMNS);
            assert_eq!(grid.counts().iter().flatten().sum::<u64>(), 5_000);
            assert!(grid.column_edges().last().is_some_and(|end| *end > (4_999 * gap) as f64));
        }
    }

    #[test]
    fn a_quantile_is_right_to_the_width_of_a_row() {
        let row = |n: u64| format!("0,{n},{n},{n},{n},{},1,0,answered\n", 100_000 + n * 100);
        let rows = (0..1_000).map(row).collect::<Vec<_>>().concat();
        let grid = Grid::read(format!("{HEAD}{rows}").as_bytes()).unwrap();
        let found = grid.quantiles(0.5)[0].1.unwrap();
        assert!((found / 150_000.0 - 1.0).abs() < 0.013, "{found}");
        assert_eq!(grid.quantiles(0.9999)[0].1, None, "too few beyond");
    }

    #[test]
    fn what_was_not_answered_has_no_response() {
        let rows = "0,1,0,0,,,,0,lost\n0,2,5,,,,,,send-failed\n0,3,-5,-5,9,14,14,0,answered\n";
        let grid = Grid::read(format!("{HEAD}{rows}").as_bytes()).unwrap();
        assert_eq!((grid.answered(), grid.unanswered()), (1, 2));
    }

    #[test]
    fn what_is_no_file_of_samples_is_refused() {
        let refused = |text: &str| Grid::read(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(refused("a,b\n1,2\n"), "no column `intended_ns`: these are not sonde samples");
        let word = refused(&format!("{HEAD}0,1,x,0,0,1,1,0,answered\n"));
        assert_eq!(word, "line 2: `x` is not a number of nanoseconds");
        assert!(!refused(&format!("{HEAD}0,1\n")).is_empty());
        let empty = Grid::read(HEAD.as_bytes()).unwrap();
        assert_eq!((empty.answered(), empty.row_edges()), (0, None));
    }
}
