//! Record of an engine's findings, and exit status of the record. No I/O.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use endpoint::rtt::{self, Ending, Finding, PeerFacts, Task};
use endpoint::signal::Signal;
use logbook::document::Head;
use logbook::event::{self, Start};
use logbook::moment::Moment;
use logbook::record::{Ended, Instrument, Peer, PeerKind, Question, Record, Target};
use measure::environment::Environment;
use measure::event::Counts;
use measure::method::{Asked, Carrier, Direction, Method};
use measure::outcome::{Outcome, Split};
use measure::probes::Probes;
use measure::resolution::ClockCost;
use measure::statistics::summary::{Extra, summarise};
use measure::throughput::Throughput;
use measure::unit::{Bytes, Nanos};
use measure::verdict::Warning;
use measure::verdict::judge::{Context, contradictions, judge, judge_stream, resets_timed};
use measure::verdict::order::settle;
use measure::wire::finding::{Verdict, Wire};
use measure::wire::judge::judge as judge_wire;
use uuid::Uuid;

use crate::command::rtt::plan::Plan;
use crate::command::spoken::Spoken;
use crate::command::verify::claims;
use crate::exit::Exit;
use crate::program::tool;

/// The facts of a measurement before it is made.
#[derive(Clone, Debug)]
pub struct Inquiry {
    /// The name of the measurement.
    pub id: Uuid,
    /// Start of the measurement.
    pub started: Moment,
    /// The command line.
    pub command: Vec<String>,
    /// The method as asked for.
    pub asked: Asked,
    /// The method as carried out.
    pub method: Method,
    /// Peer; absent: a reflector of our own.
    pub target: Option<rtt::Target>,
    /// The protocol of the peer.
    pub spoken: Spoken,
    /// The resolution of our own clock.
    pub instrument: Instrument,
}

/// The facts of our instrument, from the cost and the step of the clock that is read.
pub fn instrument(clock: &ClockCost) -> Instrument {
    Instrument {
        clock: Some("CLOCK_MONOTONIC".to_owned()),
        clock_read_ns: clock.read_ns.map(|cost| Nanos(cost.round() as u64)),
        clock_step_ns: clock.smallest_step_ns,
        ..Instrument::default()
    }
}

/// The result of the file of samples: how many it lacks, and why where that is known.
pub type SamplesMissing = Option<(u64, Option<String>)>;

impl Inquiry {
    /// The inquiry that `plan` makes by `task`, started at `started`.
    pub fn new(plan: &Plan, task: &Task, command: Vec<String>, started: Moment, instrument: Instrument) -> Self {
        Self {
            id: Uuid::now_v7(),
            started,
            command,
            asked: plan.asked.clone(),
            method: task.method.clone(),
            target: task.target.clone(),
            spoken: Spoken::from(&task.protocol),
            instrument,
        }
    }

    /// The first line of the events.
    pub fn start(&self) -> Start {
        // A reflector of our own gets its port when it starts; its address is known.
        let own = (IpAddr::V4(Ipv4Addr::LOCALHOST), None);
        let (address, port) = self.target.as_ref().map_or(own, |t| (t.address.ip(), Some(t.address.port())));
        Start {
            version: event::VERSION,
            id: self.id,
            tool: tool(),
            started: self.started,
            target: self.whom(address, port, self.target.is_none()),
            method: self.method.clone(),
        }
    }

    /// The same, where connections in turn were wished for and so many were opened.
    #[must_use]
    pub fn over(mut self, connections: usize) -> Self {
        if self.method.spread.in_turn && connections == 1 {
            self.method.spread = self.method.spread.alone();
        }
        self
    }

    /// The record of what was found. `signal` is the one that ended the run early, where one did.
    pub fn record(&self, finding: Finding, signal: Option<Signal>, samples: SamplesMissing) -> Record {
        let outcome = outcome(&finding, &self.method);
        let wire = finding.wire.as_ref().map(|watched| {
            let counted = claims::of_exchanges(&outcome, &self.method, self.spoken, &finding, watched);
            judge_wire(&watched.observed, &counted, watched.place.clone())
        });
        let Finding { ours, theirs, peer, ended, target, own_reflector, report_missing, .. } = finding;
        let around = Around { ours, theirs, peer, ended, target, own_reflector, report_missing };
        let context = Context { connected: self.connected(&around), ..around.context(samples, &self.instrument) };
        let theirs = around.theirs.as_ref();
        let method = resolved(&self.method, &around.peer);
        let question = if method.traffic.load().is_some() { Question::Load } else { Question::Rtt };
        let warnings = judge(&outcome, &method, Some(&around.ours), theirs, &context);
        let record = Record { outcome: Some(outcome), warnings, ..self.frame(question, around, signal) };
        with_wire(record, wire)
    }

    /// The record of a stream, likewise.
    pub fn stream_record(&self, stream: Throughput, around: Around, signal: Option<Signal>) -> Record {
        let context = around.context(None, &self.instrument);
        let theirs = around.theirs.as_ref();
        let warnings = judge_stream(&stream, &self.method, Some(&around.ours), theirs, &context);
        Record { stream: Some(stream), warnings, ..self.frame(Question::Throughput, around, signal) }
    }

    /// A record that lacks what was found.
    fn frame(&self, question: Question, around: Around, signal: Option<Signal>) -> Record {
        let Around { ours, theirs, peer, ended, target, own_reflector, .. } = around;
        let method = resolved(&self.method, &peer);
        Record {
            head: Head::new(self.id, tool(), self.command.clone(), self.started),
            question,
            target: self.whom(target.ip(), Some(target.port()), own_reflector),
            peer: who(&peer, self.spoken, method.traffic.carrier()),
            asked: self.asked.clone(),
            warnings: Vec::new(),
            method,
            outcome: None,
            stream: None,
            probes: None,
            wire: None,
            ended: how(ended, signal),
            instrument: self.instrument.clone(),
            ours: Some(ours),
            theirs,
        }
    }

    /// True where small packets to the peer were answered: the handshake of a connection that stayed, or the agreement on the measurement.
    fn connected(&self, around: &Around) -> bool {
        let traffic = &self.method.traffic;
        let agreed = matches!((traffic.carrier(), self.spoken), (Carrier::Tcp, _) | (Carrier::Udp, Spoken::Native));
        agreed && !traffic.connects() && peer_lost(&around.ended).is_none()
    }

    fn whom(&self, address: IpAddr, port: Option<u16>, own_reflector: bool) -> Target {
        let host = self.target.as_ref().map(|target| target.host.clone());
        // ICMP has no ports: the one that stands in the socket address means nothing.
        let port = port.filter(|port| *port > 0 && self.method.traffic.carrier() != Carrier::Icmp);
        Target { host, address, port, own_reflector }
    }
}

/// The record with what the wire said, and the warnings that follow.
pub fn with_wire(mut record: Record, wire: Option<Wire>) -> Record {
    let contradicted: Vec<Warning> = wire.iter().flat_map(contradictions).collect();
    record.wire = wire.map(Box::new);
    with_warnings(record, contradicted)
}

/// The record with what was answered to probes, and the warnings that follow.
pub fn with_probes(mut record: Record, probes: Probes) -> Record {
    let timed = resets_timed(&probes);
    record.probes = Some(probes);
    with_warnings(record, timed)
}

/// The record with further warnings, in order, and without those that they explain.
pub fn with_warnings(mut record: Record, further: impl IntoIterator<Item = Warning>) -> Record {
    record.warnings.extend(further);
    record.warnings = settle(record.warnings);
    record
}

/// The facts of a measurement beside its numbers.
#[derive(Clone, Debug)]
pub struct Around {
    /// This host.
    pub ours: Environment,
    /// The peer's host, where it told.
    pub theirs: Option<Environment>,
    /// The peer's program.
    pub peer: PeerFacts,
    /// Its end.
    pub ended: Ending,
    /// Peer of the measurement.
    pub target: SocketAddr,
    /// True where that was a reflector of our own.
    pub own_reflector: bool,
    /// The reason why the peer's counts are missing, where it was to tell them.
    pub report_missing: Option<String>,
}

impl Around {
    fn context(&self, samples_missing: SamplesMissing, instrument: &Instrument) -> Context {
        Context {
            own_reflector: self.own_reflector,
            connected: false,
            target: Some(self.target.ip()),
            clock_step_ns: instrument.clock_step_ns,
            clock_read_ns: instrument.clock_read_ns,
            interrupted: self.ended == Ending::Stopped,
            peer_lost: peer_lost(&self.ended),
            no_report: self.report_missing.clone(),
            server_limited: self.peer.limited.filter(|waited| *waited > Nanos::ZERO),
            samples_missing,
        }
    }
}

/// The method with what the peer decided.
fn resolved(method: &Method, peer: &PeerFacts) -> Method {
    let mut method = method.clone();
    method.peer_waiting = peer.waiting.or(method.peer_waiting);
    if !peer.cpus.is_empty() {
        method.spread.peer_cpus.clone_from(&peer.cpus);
    }
    method
}

fn outcome(finding: &Finding, method: &Method) -> Outcome {
    let extra = Extra {
        split: split(finding),
        one_way: finding.one_way.clone(),
        sockets: finding.sockets.clone(),
        peer: finding.peer_counts,
        replies: finding.replies.clone(),
    };
    summarise(&finding.recording, method, extra)
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

/// The one who answered. A handshake is answered by a kernel too, but on behalf of a program that did not say its name.
fn who(facts: &PeerFacts, spoken: Spoken, carrier: Carrier) -> Peer {
    let (kind, protocol) = match (carrier, spoken) {
        (Carrier::Tcp | Carrier::Udp, Spoken::Native) => (PeerKind::Native, None),
        (Carrier::Tcp | Carrier::Udp, Spoken::Foreign { name, .. }) => (PeerKind::Foreign, Some(name.to_owned())),
        (Carrier::Icmp, _) => (PeerKind::Kernel, None),
        (Carrier::Tcp | Carrier::Udp | Carrier::TcpConnect | Carrier::TcpSyn, _) => (PeerKind::Unknown, None),
    };
    let named = facts.program.as_deref().map(|program| program.split_once(' ').unwrap_or((program, "")));
    Peer {
        kind,
        program: named.map(|(name, _)| name.to_owned()),
        version: named.map(|(_, version)| version.to_owned()).filter(|version| !version.is_empty()),
        protocol,
        protocol_version: facts.protocol.map(u32::from),
        batch: facts.batch,
        receive_buffer_bytes: facts.receive_buffer,
        authentication: facts.authentication,
        datagrams_authenticated: facts.authenticated,
    }
}

/// The exit status of a measurement.
pub fn exit(record: &Record, strict: bool, signal: Option<Signal>) -> Exit {
    let outcome = record.outcome.as_ref();
    let rate_achieved = outcome.and_then(|outcome| outcome.slip.as_ref()).is_none_or(|slip| slip.rate_achieved);
    let counts = outcome.map_or_else(Counts::default, |outcome| outcome.counts);
    let dark = outcome.and_then(|outcome| outcome.dark);
    let goes_on = answered_or_sent(&counts) && !dark.is_some_and(|dark| dark.to_the_end);
    let came_through = record.stream.as_ref().map_or(goes_on, came_through);
    let lacks = counts.scheduled > counts.answered || dark.is_some();
    let contradicted = record.wire.as_ref().is_some_and(|wire| wire.verdict() == Verdict::Contradicted);
    let unsettled = record.warnings.iter().any(|warning| matches!(warning, Warning::NotSettled { .. }));
    status(&record.ended, came_through, strict && (!rate_achieved || lacks || contradicted || unsettled), signal)
}

/// True where anything was answered; of a load that was shorter than its first request, where it was sent.
fn answered_or_sent(counts: &Counts) -> bool {
    counts.answered > 0 || counts.scheduled == 0 && counts.one_way > 0
}

/// True where any of a stream arrived, as far as its receiving end told; of one that told nothing, where it was sent.
fn came_through(stream: &Throughput) -> bool {
    let receiving = match stream.direction {
        Direction::Receive => stream.ours,
        _ => stream.theirs.map_or(stream.ours, |theirs| theirs.carried),
    };
    receiving.bytes > Bytes(0)
}

/// `lacking`: a condition that was asked for does not hold.
fn status(ended: &Ended, came_through: bool, lacking: bool, signal: Option<Signal>) -> Exit {
    match (ended, signal) {
        (Ended::Interrupted { .. }, Some(signal)) => Exit::CutShort(signal),
        (Ended::PeerLost { .. }, _) => Exit::NothingAnswered,
        _ if !came_through => Exit::NothingAnswered,
        _ if lacking => Exit::Threshold,
        _ => Exit::Done,
    }
}

#[cfg(test)]
mod tests {
    use endpoint::rtt::Protocol;
    use measure::method::{Far, Pattern};
    use measure::throughput::meter::{Meter, Metered};
    use measure::throughput::{Carried, Sight, Theirs};
    use measure::unit::Instant;
    use test_case::test_case;

    use super::*;

    fn counts(answered: u64, lost: u64) -> Counts {
        Counts { scheduled: answered + lost, answered, lost, ..Counts::default() }
    }

    fn lost_peer() -> Ended {
        Ended::PeerLost { reason: "connection reset".to_owned() }
    }

    #[test_case(&Ended::Complete, counts(9, 0), false, 0; "all answered")]
    #[test_case(&Ended::Complete, counts(9, 1), false, 0; "some lost")]
    #[test_case(&Ended::Complete, counts(9, 1), true, 99; "some lost, strictly")]
    #[test_case(&Ended::Complete, counts(0, 9), true, 1; "none answered")]
    #[test_case(&lost_peer(), counts(9, 0), true, 1; "the peer went away")]
    fn the_status_says_what_became_of_it(ended: &Ended, counts: Counts, strict: bool, code: u8) {
        let lacking = strict && counts.scheduled > counts.answered;
        assert_eq!(status(ended, counts.answered > 0, lacking, None).code(), code);
    }

    /// The record of a stream of which either end's calls carried so many bytes.
    fn streamed(direction: Direction, ours: u64, theirs: Option<u64>) -> Record {
        let carried = |bytes| Carried { bytes: Bytes(bytes), calls: 1, failed_calls: 0 };
        let asked = Asked { pattern: Some(Pattern::Stream), direction: Some(direction), ..Asked::default() };
        let address = SocketAddr::from(([127, 0, 0, 1], 12_865));
        let inquiry = Inquiry {
            id: Uuid::nil(),
            started: "2026-10-20T14:03:12.25+02:00".parse().unwrap(),
            command: Vec::new(),
            method: asked.resolve_towards(Far::Foreign).unwrap(),
            asked,
            target: None,
            spoken: Spoken::foreign("netperf"),
            instrument: Instrument::default(),
        };
        let around = Around {
            ours: Environment::default(),
            theirs: None,
            peer: PeerFacts::default(),
            ended: Ending::Complete,
            target: address,
            own_reflector: false,
            report_missing: None,
        };
        let metered = Metered { carried: carried(ours), ..Meter::new(0).finish(Instant(1), Sight::default()) };
        let theirs = theirs.map(|bytes| Theirs { carried: carried(bytes), elapsed_ns: None });
        inquiry.stream_record(Throughput::of(direction, &metered, theirs, Vec::new()), around, None)
    }

    #[test_case(Direction::Send, 9, Some(8), 0; "what we sent arrived")]
    #[test_case(Direction::Send, 9, Some(0), 1; "none of it arrived")]
    #[test_case(Direction::Send, 9, None, 0; "nobody says whether it arrived")]
    #[test_case(Direction::Receive, 8, Some(9), 0; "what they sent arrived")]
    #[test_case(Direction::Receive, 0, Some(9), 1; "none of theirs arrived")]
    fn a_stream_has_bytes_in_place_of_answers(direction: Direction, ours: u64, theirs: Option<u64>, code: u8) {
        let record = streamed(direction, ours, theirs);
        for strict in [false, true] {
            assert_eq!(exit(&record, strict, None).code(), code);
        }
    }

    #[test]
    fn strictly_a_percentile_that_did_not_settle_is_a_condition_that_does_not_hold() {
        let mut record = streamed(Direction::Send, 9, Some(8));
        record.warnings.push(Warning::NotSettled { q: 0.99, reached: Some(0.07) });
        assert_eq!([false, true].map(|strict| exit(&record, strict, None).code()), [0, 99]);
    }

    #[test]
    fn a_load_without_a_request_was_sent_all_the_same() {
        let one_way = Counts { one_way: 50, ..Counts::default() };
        assert!(answered_or_sent(&one_way) && answered_or_sent(&counts(1, 9)));
        assert!(!answered_or_sent(&counts(0, 9)) && !answered_or_sent(&counts(0, 0)));
        assert!(!answered_or_sent(&Counts { lost: 1, scheduled: 1, ..one_way }), "its one request was lost");
    }

    #[test_case(Some(Signal::Interrupt), "SIGINT", 130; "by hand")]
    #[test_case(Some(Signal::Terminate), "SIGTERM", 143; "by a supervisor")]
    #[test_case(Some(Signal::Hangup), "SIGHUP", 129; "as its terminal went")]
    #[test_case(None, "SIGPIPE", 0; "as nobody read any more")]
    fn a_run_cut_short_names_its_signal(signal: Option<Signal>, name: &str, code: u8) {
        let ended = how(Ending::Stopped, signal);
        assert_eq!(ended, Ended::Interrupted { signal: name.to_owned() });
        assert_eq!(status(&ended, true, false, signal).code(), code);
    }

    #[test]
    fn a_signal_that_came_when_all_was_done_changes_nothing() {
        assert_eq!(status(&Ended::Complete, true, false, Some(Signal::Interrupt)), Exit::Done);
    }

    #[test]
    fn a_peer_is_named_by_its_program_and_version() {
        let facts = PeerFacts { program: Some("sonde 0.1.0".to_owned()), protocol: Some(1), ..PeerFacts::default() };
        let peer = who(&facts, Spoken::Native, Carrier::Tcp);
        assert_eq!((peer.kind, peer.protocol_version), (PeerKind::Native, Some(1)));
        assert_eq!((peer.program.as_deref(), peer.version.as_deref()), (Some("sonde"), Some("0.1.0")));
        let kernel = who(&PeerFacts::default(), Spoken::Native, Carrier::Icmp);
        assert_eq!((kernel.kind, kernel.program), (PeerKind::Kernel, None));
        let netserver = PeerFacts { program: Some("netserver".to_owned()), ..PeerFacts::default() };
        let foreign = who(&netserver, Spoken::from(&Protocol::Netperf { passphrase: None }), Carrier::Udp);
        assert_eq!((foreign.kind, foreign.protocol.as_deref()), (PeerKind::Foreign, Some("netperf")));
        assert_eq!((foreign.program.as_deref(), foreign.version), (Some("netserver"), None));
    }
}
