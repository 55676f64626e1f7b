//! What is printed: the plan before, the samples and how each benchmark ended after.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::persona::pkb::ask::Row;
use crate::persona::pkb::job::{Job, Session};

/// How a benchmark ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All that was asked for was done.
    Succeeded,
    /// Something was not.
    Failed,
    /// It was not begun.
    Skipped,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Self::Succeeded => "SUCCEEDED",
            Self::Failed => "FAILED",
            Self::Skipped => "SKIPPED",
        }
    }

    /// What PKB writes beside one that failed and is of none of its kinds.
    fn substatus(self) -> &'static str {
        if self == Self::Failed { "UNCATEGORIZED" } else { "" }
    }
}

/// What is about to be done, for standard error; `toml` is the plan.
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

/// The samples, by benchmark; metadata that is the same throughout is told once.
pub fn summary(rows: &[Row]) -> String {
    let dashes = "-".repeat(25);
    let mut text = format!("\n{dashes}PerfKitBenchmarker Results Summary{dashes}\n");
    let everywhere = constant(rows.iter());
    let tests = rows.iter().fold(Vec::new(), |mut tests: Vec<&str>, row| {
        if !tests.contains(&row.test.as_str()) {
            tests.push(&row.test);
        }
        tests
    });
    for test in tests {
        let own: Vec<&Row> = rows.iter().filter(|row| row.test == test).collect();
        let here = constant(own.iter().copied());
        let _ = writeln!(text, "{}:", test.to_uppercase());
        let local: BTreeMap<_, _> = here.iter().filter(|(key, _)| !everywhere.contains_key(*key)).collect();
        if !local.is_empty() {
            let _ = writeln!(text, "  {}", metadata(local.into_iter()));
        }
        table(&mut text, &own, &here);
        text.push('\n');
    }
    if !everywhere.is_empty() {
        let _ = writeln!(text, "{dashes}\nFor all tests: {}", metadata(everywhere.iter()));
    }
    text
}

fn table(text: &mut String, rows: &[&Row], told: &BTreeMap<&str, &str>) {
    let values: Vec<String> = rows.iter().map(|row| format!("{:.6}", row.value)).collect();
    let wide = |of: &dyn Fn(usize) -> usize| (0..rows.len()).map(of).max().unwrap_or_default();
    let name = wide(&|at| rows[at].metric.chars().count());
    let value = wide(&|at| values[at].len());
    let unit = wide(&|at| rows[at].unit.chars().count());
    for (row, number) in rows.iter().zip(&values) {
        let more: Vec<(&String, &String)> =
            row.metadata.iter().filter(|(key, _)| !told.contains_key(key.as_str())).collect();
        let line = format!("  {:<name$} {number:>value$} {:<unit$}", row.metric, row.unit);
        let more = if more.is_empty() { String::new() } else { format!(" ({})", metadata(more.into_iter())) };
        let _ = writeln!(text, "{}", format!("{line}{more}").trim_end());
    }
}

fn metadata<K: AsRef<str>, V: AsRef<str>>(pairs: impl Iterator<Item = (K, V)>) -> String {
    /// Longer values stand in the samples alone: a histogram takes a page.
    const LONGEST: usize = 120;
    let told = pairs.filter(|(_, value)| value.as_ref().len() <= LONGEST);
    told.map(|(key, value)| format!("{}=\"{}\"", key.as_ref(), value.as_ref())).collect::<Vec<_>>().join(" ")
}

/// What every row has, and alike.
fn constant<'a>(mut rows: impl Iterator<Item = &'a Row>) -> BTreeMap<&'a str, &'a str> {
    let Some(first) = rows.next() else { return BTreeMap::new() };
    let mut same: BTreeMap<&str, &str> =
        first.metadata.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    for row in rows {
        same.retain(|key, value| row.metadata.get(*key).is_some_and(|own| own == value));
    }
    same
}

/// How each benchmark ended, and the share of those that did well.
pub fn statuses(ended: &[(&Job, Status)]) -> String {
    let head = ["Name", "UID", "Status", "Failed Substatus"];
    let rows: Vec<[&str; 4]> = ended
        .iter()
        .map(|(job, status)| [job.benchmark.name(), job.uid.as_str(), status.word(), status.substatus()])
        .collect();
    let width = |at: usize| rows.iter().chain([&head]).map(|row| row[at].len()).max().unwrap_or_default();
    let widths = [0, 1, 2, 3].map(width);
    let line = |row: &[&str; 4]| {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    let dashes = format!("{}\n", "-".repeat(widths.iter().sum::<usize>() + 6));
    let body: String = rows.iter().map(line).collect();
    let good = ended.iter().filter(|(_, status)| *status == Status::Succeeded).count();
    let share = 100.0 * good as f64 / ended.len().max(1) as f64;
    format!(
        "Benchmark run statuses:\n{dashes}{}{dashes}{body}{dashes}Success rate: {share:.2}% ({good}/{})\n",
        line(&head),
        ended.len()
    )
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn row(test: &str, metric: &str, value: f64, unit: &str, more: &[(&str, &str)]) -> Row {
        let mut metadata = BTreeMap::from([("cloud".to_owned(), "GCP".to_owned())]);
        metadata.extend(more.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
        Row { test: test.into(), metric: metric.into(), value, unit: unit.into(), metadata }
    }

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
        assert_snapshot!(summary(&rows), @r#"

        -------------------------PerfKitBenchmarker Results Summary-------------------------
        PING:
          sending_zone="a"
          Min Latency     0.058000 ms (ip_type="internal")
          Average Latency 0.081000 ms (ip_type="external")

        NETPERF:
          
          TCP_RR_Transaction_Rate 14987.000000 transactions_per_second

        -------------------------
        For all tests: cloud="GCP"
        "#);
    }

    #[test]
    fn no_sample_is_no_table() {
        assert_eq!(summary(&[]).lines().count(), 2);
    }

    #[test]
    fn times_are_told_by_their_length() {
        assert_eq!((time(100), time(720), time(7_260)), ("100 s".into(), "12 min 0 s".into(), "2 h 1 min".into()));
    }
}
