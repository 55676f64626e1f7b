//! Output: the plan before, the samples after.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::persona::pkb::ask::Row;
use crate::persona::pkb::job::{Job, Session};

/// Lines on standard error before the work; `toml` is the plan.
pub fn announcement(session: &Session, job: &Job, toml: &str) -> String {
    let stages: Vec<String> = session.stages.iter().map(|stage| format!("{stage:?}").to_lowercase()).collect();
    let mut text = format!("pkb: {} of run {}, stages {}\n", job.uid, session.run_uri, stages.join(", "));
    let _ = writeln!(text, "pkb: measures for {} at least, by this plan:", time(job.seconds));
    for line in toml.lines() {
        let _ = writeln!(text, "    {line}");
    }
    for note in &job.notes {
        let _ = writeln!(text, "pkb: note: {note}");
    }
    text
}

/// The plan as its file would say it.
pub fn toml_of(job: &Job) -> String {
    toml::to_string(&job.plan).unwrap_or_else(|fault| format!("# the plan cannot be written as TOML: {fault}\n"))
}

fn time(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// The samples, by benchmark, laid out as PKB's own table; metadata that is the same throughout is told once. Nothing where there are none.
pub fn summary(rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let dashes = "-".repeat(25);
    let mut text = format!("\n{dashes}PerfKitBenchmarker Results Summary{dashes}\n");
    let everywhere = constant(rows.iter());
    let tests: BTreeSet<&str> = rows.iter().map(|row| row.test.as_str()).collect();
    for test in tests {
        let own: Vec<&Row> = rows.iter().filter(|row| row.test == test).collect();
        let here = constant(own.iter().copied());
        let _ = writeln!(text, "{}:", test.to_uppercase());
        let local = metadata(here.iter().filter(|(key, _)| !everywhere.contains_key(*key)));
        if !local.is_empty() {
            let _ = writeln!(text, "  {local}");
        }
        text.extend(own.iter().map(|row| line(row, &here)));
    }
    let _ = writeln!(text, "\n{dashes}\nFor all tests: {}", metadata(everywhere.iter()));
    text
}

/// A sample in its columns, which are 30, 15 and 30 wide and are filled up with blanks, as scripts that cut them expect.
fn line(row: &Row, told: &BTreeMap<&str, &str>) -> String {
    let own = metadata(row.metadata.iter().filter(|(key, _)| !told.contains_key(key.as_str())));
    let own = if own.is_empty() { own } else { format!(" ({own})") };
    format!("  {:<30} {:>15.6} {:<30}{own}\n", row.metric, row.value, row.unit)
}

fn metadata<K: AsRef<str>, V: AsRef<str>>(pairs: impl Iterator<Item = (K, V)>) -> String {
    /// Longer values stand in the samples alone: a histogram takes a page.
    const LONGEST: usize = 120;
    let told = pairs.filter(|(_, value)| value.as_ref().len() <= LONGEST);
    told.map(|(key, value)| format!("{}=\"{}\"", key.as_ref(), value.as_ref())).collect::<Vec<_>>().join(" ")
}

/// Metadata that are alike in every row.
fn constant<'a>(mut rows: impl Iterator<Item = &'a Row>) -> BTreeMap<&'a str, &'a str> {
    let Some(first) = rows.next() else { return BTreeMap::new() };
    let mut same: BTreeMap<&str, &str> =
        first.metadata.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    for row in rows {
        same.retain(|key, value| row.metadata.get(*key).is_some_and(|own| own == value));
    }
    same
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(test: &str, metric: &str, value: f64, unit: &str, more: &[(&str, &str)]) -> Row {
        let mut metadata = BTreeMap::from([("cloud".to_owned(), "GCP".to_owned())]);
        metadata.extend(more.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
        Row { test: test.into(), metric: metric.into(), value, unit: unit.into(), metadata }
    }

    /// Columns as in a table that the real one printed.
    #[test]
    fn samples_stand_in_a_table() {
        let rows = [
            row("ping", "Min Latency", 0.058, "ms", &[("ip_type", "internal"), ("sending_zone", "a")]),
            row("ping", "Average Latency", 0.081, "ms", &[("ip_type", "external"), ("sending_zone", "a")]),
            row(
                "netperf",
                "TCP_RR_Transaction_Rate",
                14_987.0,
                "transactions_per_second",
                &[("histogram", &"9".repeat(200))],
            ),
        ];
        let expected = [
            "",
            "-------------------------PerfKitBenchmarker Results Summary-------------------------",
            "NETPERF:",
            "  TCP_RR_Transaction_Rate           14987.000000 transactions_per_second       ",
            "PING:",
            "  sending_zone=\"a\"",
            "  Min Latency                           0.058000 ms                             (ip_type=\"internal\")",
            "  Average Latency                       0.081000 ms                             (ip_type=\"external\")",
            "",
            "-------------------------",
            "For all tests: cloud=\"GCP\"",
            "",
        ];
        assert_eq!(summary(&rows), expected.join("\n"));
    }

    #[test]
    fn no_sample_is_no_table() {
        assert_eq!(summary(&[]), "");
    }

    #[test]
    fn times_are_told_by_their_length() {
        assert_eq!((time(100), time(720), time(7_260)), ("100 s".into(), "12 min 0 s".into(), "2 h 1 min".into()));
    }
}
