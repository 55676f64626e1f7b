//! The document of a run: a cell for each thing that was to be measured.
//!
//! It holds no records but their names: a mesh of a thousand hosts has a million cells. The store keeps the records beside it. A run
//! that was cut short says so, and what was not begun is told from the plan.

use std::collections::BTreeMap;
use std::net::IpAddr;

use measure::outcome::Standing;
use measure::statistics::quantile::standing;
use measure::study::figure::Figure;
use measure::unit::Nanos;
use measure::verdict::Warning;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::document::Tool;
use crate::document::{Form, Head};
use crate::failure::Failure;
use crate::host::Address;
use crate::moment::Moment;
use crate::plan::Plan;
use crate::record::{Ended, Record};

/// A run of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunDocument {
    /// Its name, and who made it when.
    #[serde(flatten)]
    pub head: Head<RunDocument>,
    /// The plan with nothing left open: hosts of inventories, and the seed that was drawn.
    pub plan: Plan,
    /// Places that were to be measured, a count; absent where that was not told.
    pub planned: Option<u64>,
    /// Facts of each host, in the plan's order.
    pub hosts: Vec<HostSeen>,
    /// Answers at each pair before it was measured.
    pub checks: Vec<PairCheck>,
    /// The cells, measured or failed, in the order in which they ended.
    pub cells: Vec<Cell>,
    /// Stages that were done, in order.
    pub stages: Vec<Stage>,
    /// Its end; absent while it goes on, and where it was killed.
    pub ended: Option<Ended>,
}

impl Form for RunDocument {
    const FORMAT: &'static str = "sonde-run";
    const NAME: &'static str = "run";
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Machines are made, where the hosts are to be made.
    Provision,
    /// The program is put onto each host, its facts are read, and pairs are asked what answers.
    Prepare,
    /// Cells are measured.
    Run,
    /// Programs that were started on the hosts are ended, and files that were put there are removed where asked.
    Cleanup,
    /// Machines that were made are removed.
    Teardown,
}

/// Facts of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostSeen {
    /// Its name in the plan.
    pub host: String,
    /// The program there, as it named itself; absent where it was not reached.
    pub tool: Option<Tool>,
    /// Its kernel, as `uname -rv` tells of it; absent where it was not told.
    pub kernel: Option<String>,
    /// Its processors, a count; absent where it was not told.
    pub cpus: Option<u32>,
    /// Names its running kernel: hosts that tell the same share a machine; absent where it was not told.
    pub boot_id: Option<String>,
    /// Distance of its wall clock ahead of ours, nanoseconds, to within half the time its answer took; absent where it was
    /// not told. Nothing measured depends on it.
    pub clock_ahead_ns: Option<i64>,
    /// Port number, over TCP and UDP, at which the run's reflector answered there; absent where none was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The moment at which it was given up, and the reason; absent where it was there until the end.
    pub lost: Option<Failure>,
}

/// Answers at a pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairCheck {
    /// The host that asked.
    pub from: String,
    /// The host that was asked.
    pub to: String,
    /// Kind of its address.
    pub over: Address,
    /// That address; absent where it was a name that could not be looked up.
    pub address: Option<IpAddr>,
    /// The name that was looked up for it; absent where the plan has the address itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Answer to an echo.
    pub icmp: Answer,
    /// Answer of the test port over TCP.
    pub tcp: Answer,
    /// Answer of the test port over UDP.
    pub udp: Answer,
    /// The largest packet that got through, bytes with its IP header; absent where it was not found.
    pub mtu_bytes: Option<u32>,
    /// Packets of the size its interface takes vanish without a word.
    pub mtu_hole: bool,
    /// The reason why nothing could be asked; absent where it was.
    pub failure: Option<Failure>,
}

/// Answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It was answered.
    Open,
    /// It was refused by the host: nobody listens.
    Closed,
    /// Somebody on the way refused it.
    Rejected,
    /// Nothing came back.
    Silent,
    /// It was not asked.
    NotAsked,
}

/// Place of a cell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    /// The host that measured.
    pub from: String,
    /// The host that answered.
    pub to: String,
    /// Kind of its address.
    pub over: Address,
    /// The method's name in the plan.
    pub method: String,
    /// Number of the repeat, from 0.
    pub repeat: u32,
}

/// One thing that was to be measured, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// Its place.
    pub place: Place,
    /// The round it was measured in, a count from 0 within its repeat.
    pub round: u32,
    /// Other cells that were measured at the same time on machines of this one, a count: with any, they shared processors.
    pub beside: u32,
    /// Start of the measurement.
    pub started: Moment,
    /// Its record's name in the store; absent where nothing was measured.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>", extend("format" = "uuid")))]
    pub record: Option<Uuid>,
    /// The record's chief numbers; absent where nothing was measured.
    pub figures: Option<Figures>,
    /// The reason why nothing was measured, or not all of it; absent where all was.
    pub failure: Option<Failure>,
    /// True where it was given up because one of its hosts was.
    pub host_lost: bool,
}

/// The numbers of a record that a matrix shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figures {
    /// Median of the round trip, nanoseconds; absent where none was measured or too few were answered.
    pub p50_ns: Option<Nanos>,
    /// Its 99th percentile, nanoseconds; absent likewise.
    pub p99_ns: Option<Nanos>,
    /// Share of requests or datagrams that were lost, 0 to 1; absent where the carrier repairs losses itself.
    pub lost_ratio: Option<f64>,
    /// Payload that came through, bits a second; absent where no stream was measured.
    pub bits_per_second: Option<f64>,
    /// Exchanges, a second; absent where a stream was measured.
    pub exchanges_per_second: Option<f64>,
    /// Round trips that the percentiles are of, a count; absent where none was measured, and in runs of versions that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<u64>,
    /// True where a host was busy with other work meanwhile, as the record's warning `disturbed` says; absent in runs of versions that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<bool>,
}

impl RunDocument {
    /// A run of `plan` at its start, with so many places to be measured, where that is known.
    pub fn new(head: Head<Self>, plan: Plan, planned: Option<u64>) -> Self {
        Self {
            head,
            plan,
            planned,
            hosts: Vec::new(),
            checks: Vec::new(),
            cells: Vec::new(),
            stages: Vec::new(),
            ended: None,
        }
    }

    /// The cells that count, by place: of several at one the last.
    pub fn last_cells(&self) -> BTreeMap<&Place, &Cell> {
        self.cells.iter().map(|cell| (&cell.place, cell)).collect()
    }

    /// The cell at `place` that was measured last, where there is one.
    pub fn cell(&self, place: &Place) -> Option<&Cell> {
        self.cells.iter().rev().find(|cell| cell.place == *place)
    }
}

impl Figures {
    /// Those of `record`.
    pub fn of(record: &Record) -> Self {
        let of = |figure: Figure| figure.of(record.outcome.as_ref(), record.stream.as_ref());
        let time = |q: f64| of(Figure::Quantile(q)).map(|ns| Nanos(ns.round() as u64));
        Self {
            p50_ns: time(0.5),
            p99_ns: time(0.99),
            lost_ratio: of(Figure::Loss),
            bits_per_second: of(Figure::Throughput).map(|bytes| bytes * 8.0),
            exchanges_per_second: of(Figure::Rate),
            round_trips: record.outcome.as_ref().map(|outcome| outcome.response.count),
            disturbed: Some(record.warnings.iter().any(|warning| matches!(warning, Warning::Disturbed { .. }))),
        }
    }

    /// The printing rule for `figure` of all of these together: percentiles by the count of round trips. Other figures, and those of runs
    /// that did not keep that count, pass as firm.
    pub fn standing(all: &[Self], figure: Figure) -> Standing {
        let count = all.iter().try_fold(0_u64, |sum, one| Some(sum.saturating_add(one.round_trips?)));
        match (figure, count) {
            (Figure::Quantile(q), Some(count)) => standing(q, count),
            _ => Standing::Firm,
        }
    }

    /// The value of `figure`, in its unit; absent where they have none, and where it is none of these ([`Figures::keeps`]).
    pub fn figure(&self, figure: Figure) -> Option<f64> {
        match figure {
            Figure::Quantile(0.5) => self.p50_ns.map(|ns| ns.0 as f64),
            Figure::Quantile(0.99) => self.p99_ns.map(|ns| ns.0 as f64),
            Figure::Loss => self.lost_ratio,
            Figure::Throughput => self.bits_per_second.map(|bits| bits / 8.0),
            Figure::Rate => self.exchanges_per_second,
            _ => None,
        }
    }

    /// True where `figure` is one of these; others stand in the record alone.
    pub fn keeps(figure: Figure) -> bool {
        matches!(figure, Figure::Quantile(0.5 | 0.99) | Figure::Loss | Figure::Throughput | Figure::Rate)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::Line;
    use crate::fixture;
    use crate::read::{Document, ReadError};

    #[test]
    fn a_run_is_read_as_it_was_written() {
        let run = fixture::run();
        let text = run.to_json().unwrap();
        assert_eq!(Document::read(&text), Ok(Document::Run(Box::new(run.clone()))));
        let wrong = ReadError::NotARecord { found: Some("sonde-run".to_owned()) };
        assert_eq!(Record::read(&text), Err(wrong), "it is not one record");
        let validator = jsonschema::validator_for(&crate::schema::run_schema()).unwrap();
        let mut value = serde_json::from_str(&text).unwrap();
        let faults: Vec<String> = validator.iter_errors(&value).map(|fault| fault.to_string()).collect();
        assert_eq!(faults, [] as [String; 0]);
        value["version"] = json!("one");
        assert!(!validator.is_valid(&value), "a schema that takes everything says nothing");
        let line = Line::Ran(Box::new(run.clone())).to_json();
        assert_eq!(Document::read(&line), Ok(Document::Run(Box::new(run))));
    }

    #[test]
    fn a_later_or_broken_run_is_called_so_and_an_unknown_field_is_passed_over() {
        let whole = serde_json::to_value(fixture::run()).unwrap();
        let with = |key: &str, value: serde_json::Value| {
            let mut run = whole.clone();
            run[key] = value;
            Document::read(&run.to_string())
        };
        let later = ReadError::FromTheFuture { what: "run", version: 2, newest: 1 };
        assert_eq!(with("version", json!(2)), Err(later));
        assert!(matches!(with("cells", json!(3)), Err(ReadError::Malformed { what: "run", .. })));
        assert_eq!(with("mood", json!("bright")), Ok(Document::Run(Box::new(fixture::run()))));
    }

    #[test]
    fn the_last_cell_of_a_place_counts() {
        let mut run = fixture::run();
        let first = run.cells[0].clone();
        let again = Cell { round: 9, failure: None, ..first.clone() };
        run.cells.push(again.clone());
        assert_eq!((run.cell(&first.place), run.last_cells()[&first.place]), (Some(&again), &again));
        assert_eq!(run.last_cells().len(), run.cells.len() - 1);
    }

    #[test]
    fn the_figures_of_a_cell_are_those_of_its_record() {
        let stream = Figures::of(&fixture::stream());
        assert_eq!((stream.bits_per_second, stream.p50_ns), (Some(7_600_000.0), None));
        assert_eq!(stream.figure(Figure::Throughput), Some(950_000.0));
        let exchanges = Figures::of(&fixture::record());
        assert_eq!((exchanges.lost_ratio, exchanges.figure(Figure::Loss)), (Some(0.25), Some(0.25)));
        let busy = Warning::Disturbed {
            end: "our".to_owned(),
            by: vec!["steal 4 %".to_owned()],
            waited_share: None,
            spoils: Vec::new(),
        };
        let busy = Figures::of(&Record { warnings: vec![busy], ..fixture::record() });
        assert_eq!((exchanges.disturbed, busy.disturbed), (Some(false), Some(true)));
        let of = |round_trips| Figures { round_trips, ..exchanges };
        let (p50, few, many) = (Figure::Quantile(0.5), of(Some(19)), of(Some(1)));
        assert_eq!(Figures::standing(&[few], p50), Standing::TooFew);
        assert_eq!(Figures::standing(&[few, many], p50), Standing::Rough, "they count together");
        assert_eq!(Figures::standing(&[few, of(None)], p50), Standing::Firm, "an earlier version kept no count");
        assert!(!Figures::keeps(Figure::Quantile(0.9)) && exchanges.figure(Figure::Quantile(0.9)).is_none());
    }
}
