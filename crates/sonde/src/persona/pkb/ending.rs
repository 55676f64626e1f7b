//! Ends of the benchmarks: their table, and the lines for programs.

use cloud::fault::Kind;
use logbook::record::Ended;
use logbook::run::{HostSeen, RunDocument};
use serde_json::Value;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::persona::pkb::job::Job;

/// End of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All that was asked for was done.
    Succeeded,
    /// Something was not.
    Failed(Substatus),
    /// It was not begun.
    Skipped,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Self::Succeeded => "SUCCEEDED",
            Self::Failed(_) => "FAILED",
            Self::Skipped => "SKIPPED",
        }
    }

    /// PKB's further word for one that failed.
    fn substatus(self) -> &'static str {
        if let Self::Failed(substatus) = self { substatus.word() } else { "" }
    }

    /// Returns true where it failed.
    pub fn is_failed(self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

/// PKB's kinds of failures, those of them that can happen here. It makes some benchmarks again by them (`--retries`); nothing here
/// does, but what reads the statuses may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Substatus {
    /// A quota of the account is used up.
    Quota,
    /// The cloud has no such machines to give now.
    InsufficientCapacity,
    /// It may do better when it is run again: a host was lost on the way.
    KnownIntermittent,
    /// The cloud does not have what was asked for, as a machine type in a zone.
    Unsupported,
    /// A signal ended it.
    ProcessKilled,
    /// A call of the cloud's program did not end in time.
    CommandTimeout,
    /// A call failed however often it was made again.
    RetriesExceeded,
    /// A request that makes no sense.
    InvalidValue,
    /// A host was not reached.
    VmNotReady,
    /// None of these.
    Uncategorized,
}

impl Substatus {
    fn word(self) -> &'static str {
        match self {
            Self::Quota => "QUOTA_EXCEEDED",
            Self::InsufficientCapacity => "INSUFFICIENT_CAPACITY",
            Self::KnownIntermittent => "KNOWN_INTERMITTENT",
            Self::Unsupported => "UNSUPPORTED",
            Self::ProcessKilled => "PROCESS_KILLED",
            Self::CommandTimeout => "COMMAND_TIMEOUT",
            Self::RetriesExceeded => "RETRIES_EXCEEDED",
            Self::InvalidValue => "INVALID_VALUE",
            Self::VmNotReady => "VM_NOT_READY",
            Self::Uncategorized => "UNCATEGORIZED",
        }
    }

    /// That of a benchmark which `failure` kept from being begun.
    pub fn of(failure: &Failure) -> Self {
        match (Kind::of(&failure.told), failure.exit) {
            (_, Exit::CutShort(_)) | (Some(Kind::Stopped), _) => Self::ProcessKilled,
            (Some(Kind::Quota), _) => Self::Quota,
            (Some(Kind::NoCapacity), _) => Self::InsufficientCapacity,
            (Some(Kind::NotFound), _) => Self::Unsupported,
            (Some(Kind::Hung), _) => Self::CommandTimeout,
            (Some(Kind::RateLimited | Kind::Passing | Kind::Busy), _) => Self::RetriesExceeded,
            (None, Exit::Usage) => Self::InvalidValue,
            _ => Self::Uncategorized,
        }
    }

    /// That of a benchmark that was begun and not done.
    pub fn of_run(run: &RunDocument) -> Self {
        let lost = |is: &dyn Fn(&HostSeen) -> bool| run.hosts.iter().any(|host| host.lost.is_some() && is(host));
        if matches!(run.ended, Some(Ended::Interrupted { .. })) {
            Self::ProcessKilled
        } else if lost(&|host| host.tool.is_none()) {
            Self::VmNotReady
        } else if lost(&|_| true) {
            Self::KnownIntermittent
        } else {
            Self::Uncategorized
        }
    }
}

/// The end of one benchmark.
#[derive(Clone, Debug)]
pub struct Ending<'a> {
    /// The job.
    pub job: &'a Job,
    /// Its status.
    pub status: Status,
    /// Things that were not done, a line each.
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

/// The same for programs: an object a line, with PKB's keys in PKB's order. A key that does not apply is absent.
pub fn lines(ended: &[Ending<'_>]) -> String {
    ended.iter().map(of_one).collect()
}

fn of_one(one: &Ending<'_>) -> String {
    let mut fields = vec![("name", Value::from(one.job.benchmark.name())), ("status", Value::from(one.status.word()))];
    if one.status.is_failed() {
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
    use cloud::fault::Fault;
    use cloud::kubernetes::TOOL;
    use test_case::test_case;

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
            (Status::Failed(Substatus::VmNotReady), vec!["h1: is away".to_owned(), "h2: too".to_owned()]),
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
        netperf  netperf0  FAILED     VM_NOT_READY
        iperf    iperf0    SKIPPED
        ----------------------------------------------
        Success rate: 33.33% (1/3)
        ");
        insta::assert_snapshot!(lines(&ended), @r#"
        {"name": "ping", "status": "SUCCEEDED", "flags": {"ip_addresses":"EXTERNAL"}}
        {"name": "netperf", "status": "FAILED", "failed_substatus": "VM_NOT_READY", "status_detail": "h1: is away\nh2: too", "flags": {}}
        {"name": "iperf", "status": "SKIPPED", "flags": {}}
        "#);
    }

    #[test_case(Kind::Quota, "QUOTA_EXCEEDED")]
    #[test_case(Kind::NoCapacity, "INSUFFICIENT_CAPACITY")]
    #[test_case(Kind::NotFound, "UNSUPPORTED")]
    #[test_case(Kind::RateLimited, "RETRIES_EXCEEDED")]
    #[test_case(Kind::Hung, "COMMAND_TIMEOUT")]
    #[test_case(Kind::Permission, "UNCATEGORIZED")]
    fn faults_of_a_cloud_have_the_categories_of_pkb(kind: Kind, word: &str) {
        let told = Fault::new(kind, "as the vendor says").failure(&TOOL, "cannot make machine x");
        assert_eq!(Substatus::of(&Failure { told, ..Failure::usage("") }).word(), word);
    }

    #[test]
    fn what_makes_no_sense_is_an_invalid_value_and_a_signal_a_kill() {
        assert_eq!(Substatus::of(&Failure::usage("the plan has no hosts")), Substatus::InvalidValue);
        let cut = Failure { exit: Exit::CutShort(endpoint::signal::Signal::Interrupt), ..Failure::usage("stopped") };
        assert_eq!(Substatus::of(&cut), Substatus::ProcessKilled);
    }
}
