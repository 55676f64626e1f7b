//! `sonde-bench`: runs the rows, prints the table, keeps it. Arguments, folders and printing are here and nowhere else.
#![expect(clippy::disallowed_macros, reason = "a tool prints its result, and its progress beside it")]

use std::cell::OnceCell;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use bench::c_loop::CLoops;
use bench::machine::Machine;
use bench::process::Priority;
use bench::results;
use bench::row::{self, Family, Row};
use bench::sonde::Sonde;
use bench::subject::Bench;
use bench::table::Report;
use bench::trial::PAIRS;
use bench::verdict::Verdict;
use clap::Parser;
use jiff::Timestamp;

/// Compares sonde with plain C loops, and prints what was seen
///
/// Exits with 1 when a row could not be run; that a target is not shown is a result, and exits with 0.
#[derive(Debug, Parser)]
struct Arguments {
    /// Run only these rows; what comes of it is not kept
    #[arg(long, value_name = "NAME", num_args = 1..)]
    rows: Vec<String>,
    /// Run the rows of one family, and keep what comes of it beside those of the others
    #[arg(long, value_enum, conflicts_with = "rows")]
    family: Option<Family>,
    /// Fewer pairs: to try the bench itself, not a result
    #[arg(long)]
    quick: bool,
    /// List the rows
    #[arg(long)]
    list: bool,
    /// Seed of the order within pairs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The binary to measure [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    sonde: Option<PathBuf>,
    /// The folder of the built C loops
    #[arg(long, value_name = "FOLDER", default_value = "bench/build")]
    c: PathBuf,
    /// The folder that keeps the latest outputs
    #[arg(long, value_name = "FOLDER", default_value = "bench/results")]
    results: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(exit) => exit,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let rows = chosen(&arguments.rows, arguments.family)?;
    if arguments.list {
        for row in &rows {
            println!("{}", row.name);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let bench = prepare(arguments)?;
    let mut report = Report {
        began: Timestamp::now(),
        machine: Machine::here(bench.sonde.program(), bench.c.clock_read_ns().ok()),
        priority: bench.priority,
        pairs: bench.pairs,
        seed: bench.seed,
        family: arguments.family,
        rows: Vec::with_capacity(rows.len()),
    };
    for (index, row) in rows.iter().enumerate() {
        eprintln!("{} of {}: {}", index + 1, rows.len(), row.name);
        report.rows.push(bench.run(row));
    }
    print!("{}", report.table());
    if arguments.rows.is_empty() && !arguments.quick {
        eprintln!("kept: {}", results::keep(&report, &arguments.results)?.display());
    } else {
        eprintln!("not kept: only a whole run of all rows, or of a family's, is");
    }
    let all_ran = report.rows.iter().all(|seen| seen.verdict != Verdict::NotRun);
    Ok(if all_ran { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn chosen(names: &[String], family: Option<Family>) -> Result<Vec<Row>> {
    let mut rows = family.map_or_else(row::all, Family::rows);
    if let Some(unknown) = names.iter().find(|name| rows.iter().all(|row| row.name != **name)) {
        anyhow::bail!("there is no row `{unknown}`; --list names them");
    }
    if !names.is_empty() {
        rows.retain(|row| names.contains(&row.name));
    }
    Ok(rows)
}

fn prepare(arguments: &Arguments) -> Result<Bench> {
    let beside = std::env::current_exe().context("cannot tell where this program is")?;
    ensure!(arguments.c.join("rr").exists(), "{} holds no C loops; bench/run builds them", arguments.c.display());
    let sonde = arguments.sonde.clone().unwrap_or_else(|| beside.with_file_name("sonde"));
    Ok(Bench {
        c: CLoops::within(&arguments.c.canonicalize()?),
        sonde: Sonde::at(&sonde),
        record_loop: beside.with_file_name("record-loop"),
        profiles: arguments.c.join("callgrind"),
        priority: Priority::allowed(),
        pairs: if arguments.quick { 6 } else { PAIRS },
        seed: arguments.seed,
        original: OnceCell::new(),
    })
}
