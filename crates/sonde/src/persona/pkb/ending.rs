//! How each benchmark ended: the table of it, and the lines for programs.

use serde_json::Value;

use crate::persona::pkb::job::Job;

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

/// The end of one benchmark.
#[derive(Clone, Debug)]
pub struct Ending<'a> {
    /// Which.
    pub job: &'a Job,
    /// How.
    pub status: Status,
    /// What was not done, a line each.
    pub detail: Vec<String>,
}

/// All of them, and the share of those that did well.
pub fn table(ended: &[Ending<'_>]) -> String {
    let head = ["Name", "UID", "Status", "Failed Substatus"];
    let cells = |one: &Ending<'_>| {
        let Ending { job, status, .. } = one;
        [job.benchmark.name().to_owned(), job.uid.clone(), status.word().to_owned(), status.substatus().to_owned()]
    };
    let rows: Vec<[String; 4]> = std::iter::once(head.map(str::to_owned)).chain(ended.iter().map(cells)).collect();
    let widths = [0, 1, 2, 3].map(|at| rows.iter().map(|row| row[at].len()).max().unwrap_or_default());
    let line = |row: &[String; 4]| {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    let dashes = format!("{}\n", "-".repeat(widths.iter().sum::<usize>() + 6));
    let body: String = rows[1..].iter().map(line).collect();
    let good = ended.iter().filter(|one| one.status == Status::Succeeded).count();
    let share = 100.0 * good as f64 / ended.len().max(1) as f64;
    format!(
        "Benchmark run statuses:\n{dashes}{}{dashes}{body}{dashes}Success rate: {share:.2}% ({good}/{})\n",
        line(&rows[0]),
        ended.len()
    )
}

/// The same for programs: an object a line, with PKB's keys in PKB's order. What does not apply is absent.
pub fn lines(ended: &[Ending<'_>]) -> String {
    ended.iter().map(of_one).collect()
}

fn of_one(one: &Ending<'_>) -> String {
    let mut fields = vec![("name", Value::from(one.job.benchmark.name())), ("status", Value::from(one.status.word()))];
    if one.status == Status::Failed {
        fields.push(("failed_substatus", Value::from(one.status.substatus())));
    }
    if !one.detail.is_empty() {
        fields.push(("status_detail", Value::from(one.detail.join("\n"))));
    }
    fields.push(("flags", Value::Object(one.job.settings.clone())));
    let fields: Vec<String> = fields.into_iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
    format!("{{{}}}\n", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persona::pkb::flags::Flags;
    use crate::persona::pkb::job::{Given, session};

    #[test]
    fn endings_stand_in_a_table_and_in_lines() {
        let settings = "ping: {flags: {ip_addresses: EXTERNAL}}\n";
        let words = ["--benchmarks=ping,netperf,iperf".to_owned(), "--benchmark_config_file=f".to_owned()];
        let read = |_: &str| Ok(settings.to_owned());
        let flags = Flags::parse(&words, &read).unwrap();
        let given = Given { run_uri: "0a1b2c3d".into(), owner: "ann".into() };
        let session = session(&flags, &given, &read).unwrap();
        let ends = [
            (Status::Succeeded, vec![]),
            (Status::Failed, vec!["h1: is away".to_owned(), "h2: too".to_owned()]),
            (Status::Skipped, vec![]),
        ];
        let ended: Vec<Ending<'_>> =
            session.jobs.iter().zip(ends).map(|(job, (status, detail))| Ending { job, status, detail }).collect();
        insta::assert_snapshot!(table(&ended), @r"
        Benchmark run statuses:
        ----------------------------------------------
        Name     UID       Status     Failed Substatus
        ----------------------------------------------
        ping     ping0     SUCCEEDED
        netperf  netperf0  FAILED     UNCATEGORIZED
        iperf    iperf0    SKIPPED
        ----------------------------------------------
        Success rate: 33.33% (1/3)
        ");
        insta::assert_snapshot!(lines(&ended), @r#"
        {"name": "ping", "status": "SUCCEEDED", "flags": {"ip_addresses":"EXTERNAL"}}
        {"name": "netperf", "status": "FAILED", "failed_substatus": "UNCATEGORIZED", "status_detail": "h1: is away\nh2: too", "flags": {}}
        {"name": "iperf", "status": "SKIPPED", "flags": {}}
        "#);
    }
}
