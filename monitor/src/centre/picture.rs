//! Present state of a monitor, as its page, its metrics and its screens show it.

use std::collections::BTreeMap;

use logbook::monitor::talk::{Counters, Over};
use measure::span::Span;
use measure::unit::Nanos;
use serde::{Deserialize, Serialize};

/// All of it, at one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Picture {
    /// The second, counted since 1970.
    pub at: u64,
    /// Name of the plan; absent where it has none.
    pub name: Option<String>,
    /// The time between two requests of a cell, nanoseconds.
    pub every_ns: Nanos,
    /// Hosts and targets, in the order of the plan.
    pub hosts: Vec<HostNow>,
    /// Cells, by the places of their hosts in `hosts`.
    pub cells: Vec<CellNow>,
    /// Incidents that go on, the latest first.
    pub incidents: Vec<IncidentNow>,
    /// Incidents that are over, the latest first, a few.
    pub past: Vec<IncidentNow>,
    /// Changes that people noted, the latest first, a few.
    pub marks: Vec<MarkNow>,
    /// Reason for which history is not kept at the moment; absent: it is.
    pub store_fault: Option<String>,
    /// The collector of OpenTelemetry that metrics are sent to; absent: none is named.
    pub collector: Option<CollectorNow>,
}

/// A collector of metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CollectorNow {
    /// Reason for which it does not take the metrics at the moment; absent: it does, or was not tried yet.
    pub fault: Option<String>,
}

/// A host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostNow {
    /// Its name.
    pub name: String,
    /// Its zone; absent: in none.
    pub zone: Option<String>,
    /// State of its agent; absent: it is a target, which has none.
    pub agent: Option<AgentNow>,
    /// The scheme of its URL; absent: it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
}

/// The agent on a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentNow {
    /// State of the agent.
    pub standing: Standing,
    /// Time since which it is so, seconds since 1970.
    pub since: u64,
    /// Its latest second that came; absent: none yet.
    pub last: Option<u64>,
    /// The program's version; absent: not told yet.
    pub version: Option<String>,
    /// The longest that one of its requests left too late in its latest second, nanoseconds.
    pub slip_ns: Option<Nanos>,
    /// Share of its latest second in which something on its host waited for a processor, 0 to 1.
    pub cpu_pressure: Option<f64>,
    /// Its counters since it started, as of its last message; absent: it is not reached, or does not tell.
    pub counters: Option<Counters>,
    /// Faults, for people.
    pub troubles: Vec<String>,
}

/// State of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It is being reached.
    Starting,
    /// Its seconds come.
    Measuring,
    /// Its line stands, and nothing comes.
    Quiet,
    /// It is connected, and its seconds are old: it tells what it kept.
    CatchingUp,
    /// It is not reached.
    Away,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellNow {
    /// Place of the host that asks.
    pub from: u32,
    /// Place of the host that is asked.
    pub to: u32,
    /// Protocol of the cell.
    pub over: Over,
    /// State of the cell.
    pub state: State,
    /// Median of its latest whole minute, nanoseconds; absent: too few answers.
    pub p50_ns: Option<u64>,
    /// 99th percentile likewise.
    pub p99_ns: Option<u64>,
    /// Requests that left in that minute.
    pub sent: u64,
    /// Requests among these that were not answered in time.
    pub lost: u64,
    /// Its usual median, nanoseconds; absent: not known yet.
    pub usual_ns: Option<u64>,
    /// Its latest second in which something was due; absent: nothing came yet, or nothing of late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeNow>,
}

/// One second of a cell, as a probe that is made once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProbeNow {
    /// True where all that was due in it was answered.
    pub success: bool,
    /// The longest response time, nanoseconds; absent: nothing was answered.
    pub took_ns: Option<Nanos>,
    /// The latest reply of a program at work, by the name that its protocol gives its kind, as in `200`; absent: none came, or no program is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
    /// The time at which the first of a program's certificates ends, seconds after the begin of 1970 (UTC); absent: it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certified_until_s: Option<u64>,
}

/// State of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing came yet, or nothing of late.
    #[default]
    Unknown,
    /// Within what is usual.
    Fine,
    /// Slower than usual.
    Slower,
    /// Faster than usual.
    Faster,
    /// It loses.
    Loses,
    /// Nothing is answered.
    Silent,
    /// The host that asks is late itself, so that nothing is known of the network.
    Disturbed,
}

/// Something that is wrong, or was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IncidentNow {
    /// Its number, which no other has.
    pub id: u64,
    /// The incident, in one sentence.
    pub text: String,
    /// The kind, as machines name it.
    pub kind: String,
    /// Scope that it is put down to, as machines name it.
    pub scope: String,
    /// Earliest time at which it may have begun, seconds since 1970.
    pub onset_from: u64,
    /// The same: to.
    pub onset_to: u64,
    /// Time at which it was noticed.
    pub found: u64,
    /// Time at which it ended; absent: it goes on.
    pub ended: Option<u64>,
    /// Cells that show it.
    pub cells: u64,
    /// Time until which it is told to nobody, seconds since 1970; absent: no silence is about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_until: Option<u64>,
    /// Reason, as somebody wrote it; absent: nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_why: Option<String>,
}

/// Change that somebody noted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MarkNow {
    /// Time of the change, seconds since 1970.
    pub at: u64,
    /// His words.
    pub text: String,
}

/// Requests since the centre started, in sums that never fall.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Start of the centre, seconds since 1970.
    pub since: f64,
    /// By the host that asks.
    pub hosts: BTreeMap<(String, Over), Sum>,
    /// By the zones of who asks and who is asked, where both are in one.
    pub zones: BTreeMap<(String, String, Over), Sum>,
    /// By cell, where that is wanted.
    pub cells: Option<BTreeMap<(String, String, Over), Sum>>,
}

/// Sums of one series, with examples of its answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sum {
    /// The sums.
    pub span: Span,
    /// An answer of each doubling of the response time, by the doubling; of the latest minute that has one.
    pub examples: BTreeMap<u32, Example>,
}

/// One answer, and where more is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The response time, exactly.
    pub took: Nanos,
    /// Its second, counted since 1970.
    pub at: u64,
    /// The record of its minute, as the page's address has it: `FROM/TO/OVER/MINUTE`.
    pub record: String,
}

impl Sum {
    /// Takes in another.
    pub fn add(&mut self, other: &Self) {
        self.span.add(&other.span);
        for (doubling, example) in &other.examples {
            if self.examples.get(doubling).is_none_or(|held| held.at < example.at) {
                self.examples.insert(*doubling, example.clone());
            }
        }
    }

    fn take(&mut self, (from, to, over): (&str, &str, Over), at: u64, span: &Span) {
        self.span.add(span);
        // The longest alone of several answers of a second is known exactly.
        let Some(took) = span.max.filter(|took| took.0 > 0) else { return };
        let minute = at - at % 60;
        let held = self.examples.get(&took.0.ilog2());
        if held.is_none_or(|held| held.at < minute) {
            let record = format!("{from}/{to}/{}/{minute}", over.name());
            self.examples.insert(took.0.ilog2(), Example { took, at, record });
        }
    }
}

impl Totals {
    /// Takes in second `at` of a cell.
    pub fn take(&mut self, cell: (&str, &str, Over), (near, far): (Option<&str>, Option<&str>), at: u64, span: &Span) {
        let (from, to, over) = cell;
        self.hosts.entry((from.to_owned(), over)).or_default().take(cell, at, span);
        if let (Some(near), Some(far)) = (near, far) {
            self.zones.entry((near.to_owned(), far.to_owned(), over)).or_default().take(cell, at, span);
        }
        if let Some(cells) = &mut self.cells {
            cells.entry((from.to_owned(), to.to_owned(), over)).or_default().take(cell, at, span);
        }
    }
}
