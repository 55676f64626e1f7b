//! From what an engine found to the record, and from the record to the exit status. No I/O.

use std::net::{IpAddr, Ipv4Addr};

use endpoint::rtt::{Ending, Finding, PeerFacts, Task};
use endpoint::signal::Signal;
use logbook::event::{self, Start};
use logbook::moment::Moment;
use logbook::record::{Ended, Format, Instrument, Peer, PeerKind, Question, Record, Target, Tool, VERSION};
use measure::method::{Asked, Carrier};
use measure::outcome::{Outcome, Split};
use measure::statistics::summary::{Extra, summarise};
use measure::verdict::judge::{Context, judge};
use uuid::Uuid;

use crate::command::rtt::plan::Plan;
use crate::exit::Exit;

/// What is known of a measurement before it is made.
#[derive(Clone, Debug)]
pub struct Inquiry {
    /// The name of the measurement.
    pub id: Uuid,
    /// When it was started.
    pub started: Moment,
    /// The command line.
    pub command: Vec<String>,
    /// The method as asked for.
    pub asked: Asked,
    /// What is to be done.
    pub task: Task,
}

/// What became of the file of samples: how many it lacks, and why where that is known.
pub type SamplesMissing = Option<(u64, Option<String>)>;

impl Inquiry {
    /// The inquiry that `plan` makes by `task`, started at `started`.
    pub fn new(plan: &Plan, task: Task, command: Vec<String>, started: Moment) -> Self {
        Self { id: Uuid::now_v7(), started, command, asked: plan.asked.clone(), task }
    }

    /// The first line of the events.
    pub fn start(&self) -> Start {
        // A reflector of our own gets its port when it starts; its address is known.
        let own = (IpAddr::V4(Ipv4Addr::LOCALHOST), None);
        let (address, port) = self.task.target.as_ref().map_or(own, |t| (t.address.ip(), Some(t.address.port())));
        Start {
            version: event::VERSION,
            id: self.id,
            tool: tool(),
            started: self.started,
            target: self.target(address, port, self.task.target.is_none()),
            method: self.task.method.clone(),
        }
    }

    /// The record of what was found. `signal` is the one that ended the run early, where one did.
    pub fn record(&self, finding: Finding, signal: Option<Signal>, samples: SamplesMissing) -> Record {
        let method = self.task.method.clone();
        let context = Context {
            own_reflector: finding.own_reflector,
            interrupted: finding.ended == Ending::Stopped,
            peer_lost: peer_lost(&finding.ended),
            samples_missing: samples,
        };
        let outcome = outcome(&finding, &self.task);
        let Finding { ours, theirs, peer, ended, target, own_reflector, .. } = finding;
        Record {
            format: Format::Record,
            version: VERSION,
            id: self.id,
            tool: tool(),
            command: self.command.clone(),
            started: self.started,
            question: Question::Rtt,
            target: self.target(target.ip(), Some(target.port()), own_reflector),
            peer: who(peer, method.carrier),
            asked: self.asked.clone(),
            warnings: judge(&outcome, &method, Some(&ours), theirs.as_ref(), &context),
            method,
            outcome,
            ended: how(ended, signal),
            instrument: Instrument::default(),
            ours: Some(ours),
            theirs,
        }
    }

    fn target(&self, address: IpAddr, port: Option<u16>, own_reflector: bool) -> Target {
        let host = self.task.target.as_ref().map(|target| target.host.clone());
        // ICMP has no ports: the one that stands in the socket address means nothing.
        let port = port.filter(|port| *port > 0 && self.task.method.carrier != Carrier::Icmp);
        Target { host, address, port, own_reflector }
    }
}

fn tool() -> Tool {
    Tool { name: env!("CARGO_PKG_NAME").to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

fn outcome(finding: &Finding, task: &Task) -> Outcome {
    let extra = Extra { split: split(finding), sockets: finding.sockets.clone(), peer_received: finding.peer_received };
    summarise(&finding.recording, &task.method, extra)
}

/// The split, with the reason in it where the kernel refused to stamp.
fn split(finding: &Finding) -> Option<Split> {
    let Some(reason) = finding.stamps_refused.clone() else { return finding.split.clone() };
    let mut split = finding.split.clone().unwrap_or_default();
    if !split.missing.contains(&reason) {
        split.missing.push(reason);
    }
    Some(split)
}

fn peer_lost(ended: &Ending) -> Option<String> {
    match ended {
        Ending::PeerLost { reason } => Some(reason.clone()),
        Ending::Complete | Ending::Stopped => None,
    }
}

fn how(ended: Ending, signal: Option<Signal>) -> Ended {
    match ended {
        Ending::Complete => Ended::Complete,
        // Without a signal of ours it was the reader of our output that went away.
        Ending::Stopped => Ended::Interrupted { signal: signal.map_or("SIGPIPE", Signal::name).to_owned() },
        Ending::PeerLost { reason } => Ended::PeerLost { reason },
    }
}

/// Who answered. A handshake is answered by a kernel too, but on behalf of a program that did not say its name.
fn who(facts: PeerFacts, carrier: Carrier) -> Peer {
    let kind = match carrier {
        Carrier::Tcp | Carrier::Udp => PeerKind::Native,
        Carrier::Icmp => PeerKind::Kernel,
        Carrier::TcpConnect => PeerKind::Unknown,
    };
    let named = facts.program.as_deref().map(|program| program.split_once(' ').unwrap_or((program, "")));
    Peer {
        kind,
        program: named.map(|(name, _)| name.to_owned()),
        version: named.map(|(_, version)| version.to_owned()).filter(|version| !version.is_empty()),
        protocol_version: facts.protocol.map(u32::from),
    }
}

/// The exit status of a measurement.
pub fn exit(record: &Record, strict: bool, signal: Option<Signal>) -> Exit {
    let outcome = &record.outcome;
    let lost = outcome.counts.scheduled - outcome.counts.answered;
    let too_slow = outcome.slip.as_ref().is_some_and(|slip| !slip.rate_achieved);
    match (&record.ended, signal) {
        (Ended::Interrupted { .. }, Some(signal)) => Exit::CutShort(signal),
        (Ended::PeerLost { .. }, _) => Exit::NothingAnswered,
        _ if outcome.counts.answered == 0 => Exit::NothingAnswered,
        _ if strict && (lost > 0 || too_slow) => Exit::Threshold,
        _ => Exit::Done,
    }
}
