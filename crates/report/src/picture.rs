//! Charts of a measurement, and their words.
//!
//! A chart shows what the record has and no more: means and extremes by the second are no quantiles, and a heat map takes
//! the samples. Curves are thinned to what a screen shows. Not here: how a chart is drawn (`plot`).

mod causes;
mod distribution;
mod flows;
mod heat;
mod look;
mod name;
mod one_way;
mod rate;
mod stretches;
mod study;
mod time;

use std::fmt;
use std::str::FromStr;

use logbook::read::Document;
use logbook::record::Record;
use logbook::study::Question;

use crate::number;
use crate::plot::Chart;
use crate::samples::grid::Grid;
use crate::source::Source;

pub use causes::causes;
pub use distribution::{histogram, percentiles, percentiles_together, under_load};
pub use flows::connections;
pub use heat::{heat, heat_of};
pub use look::ways;
pub use name::names;
pub use one_way::one_way;
pub use rate::by_rate;
pub use study::{runs, shifts, sides, sweep};
pub use time::{carried, rates, times};

/// One chart of a document, as it is asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Times by the share of exchanges that took longer.
    Percentiles,
    /// The distribution: counts by time.
    Histogram,
    /// The course of the measurement.
    Series,
    /// The distribution over time; from samples alone.
    Heat,
    /// Times by rate, of a search; a figure along the axis of a sweep.
    Curve,
    /// The shift of each quantile, of a comparison.
    Shift,
    /// The effect of each cause of a round trip.
    Causes,
    /// The ways of a first look side by side.
    Ways,
    /// Delays there and back apart.
    OneWay,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Percentiles,
        Self::Histogram,
        Self::Series,
        Self::Heat,
        Self::Curve,
        Self::Shift,
        Self::Causes,
        Self::Ways,
        Self::OneWay,
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Percentiles => "percentiles",
            Self::Histogram => "histogram",
            Self::Series => "series",
            Self::Heat => "heat",
            Self::Curve => "curve",
            Self::Shift => "shift",
            Self::Causes => "causes",
            Self::Ways => "ways",
            Self::OneWay => "one-way",
        })
    }
}

impl Kind {
    /// The one that these documents tell most by.
    pub fn best(sources: &[Source], samples: Option<&Grid>) -> Self {
        let [source] = sources else { return if samples.is_some() { Self::Heat } else { Self::Percentiles } };
        match &source.document {
            Document::Search(_) => Self::Curve,
            Document::Study(study) => match study.question {
                Question::Sweep { .. } => Self::Curve,
                Question::Why { .. } => Self::Causes,
                _ => Self::Shift,
            },
            Document::Look(_) => Self::Ways,
            Document::Record(record) if record.outcome.is_none() => Self::Series,
            _ if samples.is_some() => Self::Heat,
            _ => Self::Percentiles,
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = || Self::ALL.map(|kind| kind.to_string()).join(", ");
        Self::ALL.into_iter().find(|kind| kind.to_string() == text).ok_or_else(|| format!("one of {}", all()))
    }
}

/// The chart of `kind` of these documents; of several records their curves together.
///
/// # Errors
/// The reason why there is none: what the documents do not hold.
pub fn of(sources: &[Source], kind: Kind, samples: Option<&Grid>) -> Result<Chart, &'static str> {
    let records: Vec<(&str, &Record)> = sources.iter().filter_map(record).collect();
    let alone = || match (sources, records.as_slice()) {
        ([_], [(_, record)]) => Ok(*record),
        _ => Err("it shows one record at a time"),
    };
    let only = match sources {
        [source] => Some(&source.document),
        _ => None,
    };
    match kind {
        Kind::Percentiles if let Some(Document::Study(study)) = only => runs(study).ok_or("no trial has answers"),
        Kind::Percentiles if records.len() > 1 => {
            let named = names(&records);
            let records = records.iter().map(|(_, record)| *record);
            let named: Vec<_> = named.into_iter().zip(records).collect();
            percentiles_together(&named).ok_or("none of them has answered exchanges")
        }
        Kind::Percentiles => percentiles(alone()?).ok_or("the record has no answered exchanges"),
        Kind::Histogram => histogram(alone()?).ok_or("a shape takes 100 answered exchanges at least"),
        Kind::Series => {
            let record = alone()?;
            times(record).or_else(|| carried(record)).ok_or("the record has no course: it takes two seconds at least")
        }
        Kind::Heat => match samples {
            Some(grid) => heat(grid).ok_or("no exchange of the samples was answered"),
            None => heat_of(alone()?)
                .ok_or("the record keeps no times of its seconds: it takes samples (--samples FILE.csv, which --samples wrote)"),
        },
        Kind::Curve => match only {
            Some(Document::Search(search)) => by_rate(search).ok_or("the search has no two rates with answered messages"),
            Some(Document::Study(study)) => sweep(study).ok_or("the study is no sweep, or has no trial that was answered"),
            _ => Err("it takes the document of a search (`sonde load --find … -o found.json`) or of a sweep"),
        },
        Kind::Shift => match only {
            Some(Document::Study(study)) => {
                let found = study.comparisons.iter().find(|comparison| !comparison.shifts.is_empty());
                let chart = found.and_then(|found| shifts(found, &study.settings.get(found.second as usize)?.name));
                chart.ok_or("no quantiles were compared")
            }
            _ => Err("it takes the document of a comparison: `sonde compare … -o study.json`"),
        },
        Kind::Causes => match only {
            Some(Document::Study(study)) => causes(study).ok_or("no causes were looked for, or none was measured"),
            _ => Err("it takes the document of causes: `sonde why … -o why.json`"),
        },
        Kind::Ways => match only {
            Some(Document::Look(found)) => ways(found).ok_or("nothing answered"),
            _ => Err("it takes the document of a quick survey: `sonde HOST -o look.json`"),
        },
        Kind::OneWay => {
            let both = alone()?.outcome.as_ref().and_then(|outcome| outcome.one_way.as_ref());
            both.and_then(one_way)
                .ok_or("the record tells of no direction by itself: a STAMP reflector does (--peer stamp)")
        }
    }
}

/// The basis of a point of `record`: so many values, measured so.
fn settings(record: &Record, values: u64) -> String {
    format!("{} · {}", number::count(values, "value", "values"), record.method)
}

fn record(source: &Source) -> Option<(&str, &Record)> {
    match &source.document {
        Document::Record(record) => Some((&source.name, record)),
        Document::Search(_) | Document::Study(_) | Document::Look(_) | Document::Run(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::plot::Frame;
    use insta::assert_snapshot;
    use test_case::test_case;

    fn source(record: Record) -> Vec<Source> {
        vec![Source { name: "run.json".to_owned(), document: Document::Record(Box::new(record)) }]
    }

    fn documents() -> Vec<Source> {
        source(fixture::closed())
    }

    #[test_case(Kind::Percentiles; "percentiles")]
    #[test_case(Kind::Histogram; "histogram")]
    fn a_chart_of_a_record(kind: Kind) {
        let chart = of(&documents(), kind, None).unwrap();
        assert_snapshot!(format!("{kind}"), chart.svg("c", Frame { titled: true, ..Frame::default() }));
    }

    #[test]
    fn what_there_is_no_chart_of_says_what_it_takes() {
        let reason = |kind| of(&documents(), kind, None).unwrap_err();
        assert!(reason(Kind::Heat).contains("--samples"));
        assert!(reason(Kind::Curve).contains("--find"));
        let both = [documents(), documents()].concat();
        assert_eq!(of(&both, Kind::Histogram, None).unwrap_err(), "it shows one record at a time");
        assert!(of(&both, Kind::Percentiles, None).is_ok());
        let silent = source(fixture::silent());
        assert!(of(&silent, Kind::Percentiles, None).unwrap_err().contains("no answered"));
    }

    #[test]
    fn every_kind_has_a_name() {
        for kind in Kind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert!(
            "pie".parse::<Kind>().unwrap_err().contains("percentiles, histogram, series, heat, curve, shift, causes")
        );
    }
}
