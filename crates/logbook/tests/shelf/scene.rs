//! Runs, cells and records that are the same for whoever makes them: a parent knows what its child wrote.

use std::path::Path;
use std::time::Duration;

use logbook::document::Head;
use logbook::document::Tool;
use logbook::host::Address;
use logbook::moment::Moment;
use logbook::plan::Plan;
use logbook::record::{Ended, Record};
use logbook::run::{Cell, Figures, HostSeen, Place, RunDocument, Stage};
use logbook::shelf::sqlite::SqliteShelf;
use uuid::Uuid;

/// An hour of wall-clock time that every run of the tests was made at, and so many seconds later.
pub fn moment(seconds: i64) -> Moment {
    Moment::utc(jiff::Timestamp::from_second(1_760_000_000 + seconds).unwrap())
}

fn id(kind: u64, number: u64) -> Uuid {
    Uuid::from_u64_pair(0x0199_f2ab_0000_7000 | number << 16, 0x8000_0000_0000_0000 | kind)
}

/// The id of the run of this number, from 0.
pub fn run_id(number: u64) -> Uuid {
    id(0, number)
}

/// A run of two hosts.
pub fn run(number: u64) -> RunDocument {
    let plan: Plan = toml::from_str(&format!(
        r#"
        name = "mesh {number}"
        hosts = [
            {{ name = "a", reach = "local", internal = "127.0.0.1" }},
            {{ name = "b", reach = {{ namespace = "b" }}, internal = "10.0.0.2", labels = {{ zone = "z2" }} }},
        ]
        methods = [{{ name = "tcp_rr", command = "rtt --tcp" }}]
        "#
    ))
    .unwrap();
    let tool = Tool { name: "sonde".to_owned(), version: "0.1.0".to_owned() };
    let command = ["sonde", "run", "mesh.toml"].map(str::to_owned).to_vec();
    RunDocument::new(Head::new(run_id(number), tool, command, moment(number as i64 * 3_600)), plan, Some(40))
}

/// State of a host.
pub fn seen(host: &str) -> HostSeen {
    HostSeen {
        host: host.to_owned(),
        tool: None,
        kernel: Some("Linux 6.1.0".to_owned()),
        cpus: Some(2),
        boot_id: None,
        clock_ahead_ns: None,
        port: None,
        lost: None,
    }
}

/// The record of the cell of this number of a run: some kilobytes that cannot be pressed, so that a transaction has several pages.
pub fn record(run: u64, number: u64) -> Record {
    let mut record = Record::read(include_str!("../../fixtures/record.json")).unwrap();
    let mut chance = fastrand::Rng::with_seed(run << 32 | number);
    record.head.id = id(1 + number, run);
    record.head.started = moment(run as i64 * 3_600 + number as i64);
    record.head.command = (0..chance.usize(1..800)).map(|_| format!("{:016x}", chance.u64(..))).collect();
    record.ended = Ended::Complete;
    record
}

/// The cell of this number of a run, with its record.
pub fn cell(run: u64, number: u64) -> (Cell, Record) {
    let record = record(run, number);
    let place = Place {
        from: "a".to_owned(),
        to: "b".to_owned(),
        over: Address::Internal,
        method: "tcp_rr".to_owned(),
        repeat: number as u32,
    };
    let cell = Cell {
        place,
        round: 0,
        beside: 0,
        started: record.head.started,
        record: Some(record.head.id),
        figures: Some(Figures::of(&record)),
        failure: None,
        host_lost: false,
    };
    (cell, record)
}

/// Stages of a run that ended.
pub const DONE: [Stage; 2] = [Stage::Prepare, Stage::Run];

/// The store in a file, without waiting for anybody.
pub fn open(file: &Path) -> SqliteShelf {
    SqliteShelf::open(file, Duration::ZERO).unwrap()
}
