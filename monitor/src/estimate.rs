//! Size of a monitor's store, before it keeps anything: rows, octets a day, and their sum in the end.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use measure::unit::{Bytes, Nanos, grouped};

use crate::failure::Failure;
use crate::generate::octets_of_a_span;
use crate::store::{Level, Retention};

/// Octets of a row: its span times the first number, and the second beside. As measured of stores that were filled
/// (`docs/howto/history.md` says how): keys, heads of rows, pages that are not quite full.
const STORES: [(&str, f64, f64); 2] = [("SQLite", 1.13, 16.0), ("PostgreSQL", 1.05, 90.0)];

/// Size of the monitor.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Hosts
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub hosts: u64,
    /// Cells of each host: hosts that it asks, once for each protocol
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub cells: u64,
    /// Interval between requests of a cell, as in 100ms or 1s
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub every: String,
}

/// Prints the estimate.
///
/// # Errors
/// An interval that is none, an output that takes nothing.
pub fn run(options: &Options) -> Result<ExitCode> {
    let wrong = |cause: String| Failure::new(format!("--every {}: {cause}", options.every), "write 100ms or 1s");
    let every: Nanos = options.every.parse().map_err(|cause| wrong(format!("{cause}")))?;
    if every == Nanos::ZERO {
        return Err(wrong("there is a time between two requests".to_owned()).into());
    }
    io::stdout().lock().write_all(text(options, every).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn text(options: &Options, every: Nanos) -> String {
    let cells = options.hosts * options.cells;
    let requests = |level: Level| ((level.seconds() as f64 * 1e9 / every.0.max(1) as f64) as u64).max(1);
    let retention = Retention::default();
    let days = |level: Level| retention.of(level).map_or(365, |seconds| seconds / Level::Day.seconds());
    let rows = |level: Level| cells * Level::Day.seconds() / level.seconds();
    // A distribution that has its shape already grows no more: an hour's is asked for by no more answers than tell its shape.
    let spans = Level::ALL.map(|level| octets_of_a_span(requests(level).min(20_000)));
    let minutes = rows(Level::Minute);
    let mut text = format!(
        "{} cells, one request each {}: {} minutes a day, {} a second\n",
        grouped(cells),
        every,
        grouped(minutes),
        grouped(minutes.div_ceil(Level::Day.seconds())),
    );
    // Writing to a string does not fail.
    let _written = writeln!(text, "  {:<26}{:>14}{:>14}", "", STORES[0].0, STORES[1].0);
    let mut line = |label: &str, octets: [f64; 2]| {
        let [one, other] = octets.map(|octets| report::number::size(Bytes(octets as u64)));
        let _written = writeln!(text, "  {label:<26}{one:>14}{other:>14}");
    };
    let row = |level: usize| STORES.map(|(_, times, beside)| spans[level] * times + beside);
    let of = |level: Level, days: u64| row(level as usize).map(|octets| octets * (rows(level) * days) as f64);
    line("minutes, a day", of(Level::Minute, 1));
    line("hours, a day", of(Level::Hour, 1));
    let kept = Level::ALL.map(|level| of(level, days(level)));
    line(&format!("minutes of {} days", days(Level::Minute)), kept[0]);
    line(&format!("hours of {} days", days(Level::Hour)), kept[1]);
    line("days of a year", kept[2]);
    line("all of it", [0, 1].map(|store| kept.iter().map(|octets| octets[store]).sum()));
    text + "  Days are kept for ever: each further year adds as much as one line says.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_adds_up() {
        let options = Options { hosts: 1_000, cells: 16, every: "1s".to_owned() };
        let text = text(&options, Nanos::secs(1));
        assert!(
            text.starts_with("16 000 cells, one request each 1 s: 23 040 000 minutes a day, 267 a second\n"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        // 23 million rows of 100 and 168 octets were measured.
        let day = text.lines().find(|line| line.contains("minutes, a day")).unwrap();
        let numbers: Vec<f64> = day.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        assert!((2.1..2.5).contains(&numbers[0]) && (3.6..4.2).contains(&numbers[1]), "{day}");
        let page = testbed::page::read("docs/howto/history.md");
        let blocks = testbed::page::blocks(&page);
        let shown = blocks.iter().find(|block| block.screen == Some("estimate")).unwrap();
        assert_eq!(text.trim(), shown.text.trim());
    }
}
