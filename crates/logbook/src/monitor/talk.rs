//! Messages between a monitor and an agent that stays: JSON documents, one a line.
//!
//! An agent measures what it was last assigned, whether or not somebody listens. Each second of it is a [`Beat`] with a number of its own; it
//! keeps beats until it hears [`Order::Kept`], and tells those that are left to whoever connects next. So a monitor that says `Kept` in the same
//! transaction in which it keeps what beats carry has everything once.
//!
//! Versions: whoever does not know a field ignores it, and a line of an unknown kind is skipped; so both ends may differ by one.

use std::collections::BTreeMap;

use measure::event::Counts;
use measure::lookout::agent::Punctuality;
use measure::outcome::replies::Kind;
use measure::prober::second::LATE;
use measure::span::Span;
use measure::unit::Nanos;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Version of the talk, a count from 1: it counts up where an older end would misunderstand.
pub const VERSION: u32 = 1;

/// Message of a monitor to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Order {
    /// Measure this from the next second on, and nothing else.
    Assign(Assignment),
    /// Beats of `instance` up to `upto` are kept: they need not be told again.
    Kept {
        /// Start of the agent that the beats are of: see [`Hello::instance`].
        instance: Uuid,
        /// The last number that is kept.
        upto: u64,
    },
    /// Say that you are there.
    Answer,
    /// End in order: what was not kept stays, and whoever starts next tells it.
    End,
}

/// Work of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// Counts up with each change.
    pub revision: u64,
    /// The name of the agent's host.
    pub host: String,
    /// The port at which the agent answers the others, TCP and UDP, 1 to 65535; absent: it answers nobody. Without a key it answers its own host alone.
    pub port: Option<u16>,
    /// The key that all agents of the monitor share, as `sonde key` makes one. The agent keeps it in a file that only its owner reads, so that it can
    /// go on when it starts again.
    pub key: Option<String>,
    /// Longest wait for an answer, nanoseconds.
    pub timeout_ns: Nanos,
    /// Cells to ask, and their protocols.
    pub cells: Vec<CellTask>,
    /// Programs at work to ask, each in its own protocol ([`CellTask::program`]). They stand apart so that an agent that does not know of them asks the
    /// others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<CellTask>,
}

/// One cell: a host that is asked from here in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellTask {
    /// The name of the far host.
    pub to: String,
    /// Its address, or a name that the agent's host resolves.
    pub address: String,
    /// Its port; absent for ICMP.
    pub port: Option<u16>,
    /// Protocol by which it is asked.
    pub over: Over,
    /// The time between two requests, nanoseconds. Each leaves within a tenth of it around its time, by chance.
    pub every_ns: Nanos,
    /// The program that is asked; absent: none is, or it is one of [`Assignment::cells`]. Its address is in its URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
}

/// A program at work, and how it is asked. Files are those of the host that asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The URL as `sonde rtt` takes it.
    pub url: String,
    /// TLS: a file with the certificates to trust; absent: those that the host trusts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// TLS: the name that the certificate must be for, where the URL has another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_name: Option<String>,
    /// TLS: true where the certificate is not verified.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// HTTP, WebSocket: a file with header fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<String>,
    /// HTTP: status codes that count as answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
    /// PostgreSQL, MySQL: a file with the password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_file: Option<String>,
}

/// Protocol by which a host is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    /// A request and a reply over UDP, answered by sonde.
    Udp,
    /// The same over TCP.
    Tcp,
    /// ICMP echo.
    Icmp,
    /// A TCP handshake alone, with a connection of its own each time.
    TcpConnect,
    /// A program at work in its own protocol, which a URL says.
    Url,
}

impl Over {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Udp, Self::Tcp, Self::Icmp, Self::TcpConnect, Self::Url];

    /// As plans and tables write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::Icmp => "icmp",
            Self::TcpConnect => "tcp-connect",
            Self::Url => "url",
        }
    }

    /// The one of this name; `None` of another.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|over| over.name() == name)
    }
}

/// Message of an agent to a monitor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "told", rename_all = "kebab-case")]
pub enum Told {
    /// The first line to whoever connects.
    Hello(Hello),
    /// Beats from here on are those of this start of the agent, until another is named: those of [`Hello::instance`] where none was. One that
    /// was ended, even killed, has left its beats to the next, which tells them first.
    Instance {
        /// Start of the agent.
        instance: Uuid,
        /// The number of its oldest beat that is left; absent: none is.
        oldest: Option<u64>,
    },
    /// A second that is over: all that was due in it has come to its end.
    Beat(Beat),
    /// Counters of the agent since its start: to whoever connects, and every ten seconds.
    Counters(Counters),
    /// A cell cannot be measured as it was assigned; it is tried again. Not repeated while it stays so.
    Trouble {
        /// The far host.
        to: String,
        /// Protocol of the cell.
        over: Over,
        /// Fault of the agent, for people; empty: it works again.
        text: String,
    },
    /// It is there, since it was asked.
    Here,
    /// Somebody else has connected since: nothing is told here any more.
    Replaced,
}

/// Identity of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the talk.
    pub version: u32,
    /// The program's name.
    pub program: String,
    /// Its version.
    pub program_version: String,
    /// Names this start of the agent: its beats are numbered from 1.
    pub instance: Uuid,
    /// The number of the oldest beat that it still has; absent: it has none.
    pub oldest: Option<u64>,
    /// Beats that it had to give up, since nobody took them for too long, those of earlier starts included.
    pub given_up: u64,
    /// The assignment that it measures by now; absent: none.
    pub revision: Option<u64>,
    /// Names the running kernel; absent where it was not to be read.
    pub boot_id: Option<String>,
    /// Its wall clock as it says this, nanoseconds since 1970.
    pub wall_ns: u64,
}

/// Counters of an agent since its start, and the resources that it uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Requests that it sent.
    pub sent: u64,
    /// Requests among them that left a millisecond or later after they were due.
    pub late: u64,
    /// Beats that it has and nobody has kept yet, those of earlier starts included.
    pub spooled: u64,
    /// Beats that it had to give up, since nobody took them for too long, those of earlier starts included.
    pub given_up: u64,
    /// Connections of whoever listens, this one included.
    pub connections: u64,
    /// Processor time of all its threads, nanoseconds.
    pub cpu_ns: Nanos,
    /// Its resident memory, octets; absent where the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resident_bytes: Option<u64>,
}

/// A second of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beat {
    /// Its number, from 1 within an instance; none is left out.
    pub seq: u64,
    /// The second by the agent's wall clock, counted since 1970: it never goes back within an instance. Where the clock was set back several beats have
    /// one second, until the clock has come to it again. Requests belong to the second in which they were due.
    pub at: u64,
    /// Health of the agent itself.
    #[serde(default)]
    pub own: Health,
    /// Requests that ended, by cell; a cell in which nothing was due is left out.
    pub cells: Vec<CellBeat>,
}

/// Health of an agent in a second: where it was late itself, its cells show its own host and not the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// The longest that a request left after it was due, nanoseconds; absent where none was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slip_ns: Option<Nanos>,
    /// Share of its requests that left a millisecond or later after they were due, 0 to 1; absent where none was due, and of an agent that does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<f64>,
    /// Share of the second in which something waited for a processor, 0 to 1 (`/proc/pressure/cpu`, some); absent where the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_pressure: Option<f64>,
    /// Replies that its own kernel dropped for want of room; looked up where something is missing, and else 0. Absent where the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<u64>,
    /// Processor time that the agent itself took in the second, share of one processor; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_cpu: Option<f64>,
}

/// The share of late requests from which a second counts as disturbed. A system that does other things too wakes nobody always in time: one request in some
/// dozens changes neither what is in the middle of the others nor how many come back.
const DISTURBED: f64 = 0.25;

impl Health {
    /// Returns true where the second's results may come from the agent's own host and not from the network.
    pub fn is_disturbed(&self) -> bool {
        let is_late = match self.late {
            Some(share) => share >= DISTURBED,
            None => self.slip_ns.is_some_and(|slip| slip > LATE),
        };
        is_late || self.dropped.is_some_and(|dropped| dropped > 0)
    }

    /// Punctuality of the agent in this second.
    pub fn punctuality(&self) -> Punctuality {
        match self.slip_ns {
            _ if self.is_disturbed() => Punctuality::Disturbed,
            Some(slip) if slip > LATE => Punctuality::SomeLate,
            _ => Punctuality::Punctual,
        }
    }
}

/// Requests of one cell that ended in one second, by status. Fates that did not occur are left out; their sum is what was
/// due.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellBeat {
    /// The far host.
    pub to: String,
    /// Protocol of the cell; absent: UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Over>,
    /// Not answered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Requests among those lost that did not come to the far end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_out: u64,
    /// Requests among those lost that came to the far end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_back: u64,
    /// Answered after the timeout.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub late: u64,
    /// Refused.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused: u64,
    /// Answered with wrong content.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub corrupt: u64,
    /// Not sent, for a reason of the agent's own side.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub send_failed: u64,
    /// Further copies of replies; not among the fates.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duplicated: u64,
    /// Round-trip time of each answer, nanoseconds, exactly: as many as were answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times_ns: Vec<u64>,
    /// Replies of a program at work that came since the beat before, by the names that its protocol gives their kinds, as in `200`, `NXDOMAIN`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub replies: BTreeMap<String, Kind>,
    /// The time at which the first of a program's certificates ends, seconds after the begin of 1970 (UTC); absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certified_until_s: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl CellBeat {
    /// Protocol by which the host was asked.
    pub fn over(&self) -> Over {
        self.over.unwrap_or(Over::Udp)
    }

    /// The same as a stretch of time that adds up with others.
    pub fn span(&self, own: &Health) -> Span {
        let mut span = Span {
            counts: Counts {
                scheduled: self.lost + self.late + self.refused + self.corrupt + self.send_failed,
                lost: self.lost,
                late: self.late,
                refused: self.refused,
                corrupt: self.corrupt,
                send_failed: self.send_failed,
                duplicated: self.duplicated,
                ..Counts::default()
            },
            lost_out: self.lost_out,
            lost_back: self.lost_back,
            disturbed: u64::from(own.is_disturbed()),
            ..Span::default()
        };
        self.times_ns.iter().for_each(|took| span.answer(Nanos(*took)));
        span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_of_an_idle_cell_is_short_and_comes_back_as_it_was() {
        let cell = CellBeat { to: "db1".to_owned(), times_ns: vec![53_120], ..CellBeat::default() };
        let beat = Beat { seq: 7, at: 1_764_115_200, own: Health::default(), cells: vec![cell.clone()] };
        let text = serde_json::to_string(&Told::Beat(beat.clone())).unwrap();
        assert_eq!(
            text,
            r#"{"told":"beat","seq":7,"at":1764115200,"own":{},"cells":[{"to":"db1","times_ns":[53120]}]}"#
        );
        assert_eq!(serde_json::from_str::<Told>(&text).unwrap(), Told::Beat(beat));
        let span = cell.span(&Health::default());
        assert_eq!((span.counts.scheduled, span.counts.answered, span.max), (1, 1, Some(Nanos(53_120))));
        assert!(span.counts.balance());
    }

    #[test]
    fn a_second_in_which_the_agent_was_late_is_disturbed() {
        let late = Health { slip_ns: Some(Nanos::millis(2)), late: Some(0.4), ..Health::default() };
        assert_eq!(CellBeat { lost: 1, ..CellBeat::default() }.span(&late).disturbed, 1);
        assert!(!Health { slip_ns: Some(Nanos::micros(80)), ..Health::default() }.is_disturbed());
        // One request of sixty; and the same of an agent that does not say how many.
        let one = Health { late: Some(1.0 / 60.0), ..late };
        assert!(!one.is_disturbed() && Health { late: None, ..one }.is_disturbed());
    }
}
