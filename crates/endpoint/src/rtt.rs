//! A measurement of round trips, whole: the session with the peer, connections, threads, the engines on them, and
//! what is left at the end.

pub(crate) mod asking;
mod echoing;
mod netserver;
pub mod open;
mod stamp;

use std::net::SocketAddr;
use std::sync::Arc;

use measure::authentication::Authentication;
use measure::environment::Environment;
use measure::event::Event;
use measure::method::{Batch, Carrier, Method, Traffic, Waiting};
use measure::outcome::one_way::OneWay;
use measure::outcome::replies::Replies;
use measure::outcome::{SocketFacts, Split};
use measure::recorder::Recording;
use measure::statistics::loss::PeerCounts;
use measure::trace::Trace;
use measure::unit::{Bytes, Nanos};
use protocol::application::Application;
use protocol::irtt::key::Key as IrttKey;
use protocol::link::Fault;
use protocol::native::message::Report;
use protocol::netperf::passphrase::Passphrase;
use protocol::stamp::key::Key as StampKey;
use protocol::stamp::part::Part as StampPart;

use crate::clock::wall_offset;
use crate::control::{Control, Credential};
use crate::engine::warm_up::Warmed;
use crate::engine::{Ended, MOST_REFUSED};
use crate::environment::Reader;
use crate::environment::watch::Watch;
use crate::error::{Cause, EndpointError};
use crate::peer::stamp::sender::Each;
use crate::reflector;
use crate::session::scene::{FarEnd, Nobody, Scene};
use crate::session::workers::Gathered;
use crate::stop::Stop;
use crate::wire::{self, Watched, timed};
use open::Admission;

pub use crate::session::Ending;

/// Settings of one round-trip measurement.
#[derive(Clone, Debug)]
pub struct Task {
    /// Method: traffic, schedule, number of connections, end.
    pub method: Method,
    /// Trace to replay; present where the schedule is a trace.
    pub trace: Option<Arc<Trace>>,
    /// Peer to measure against; absent: a reflector of our own, over loopback.
    pub target: Option<Target>,
    /// Protocol that a peer over TCP or UDP speaks.
    pub protocol: Protocol,
    /// The key that the reflector wants.
    pub key: Option<Credential>,
    /// True where one connection will do for the reflector: the user gave no number, and it admits no more, or spins,
    /// so that those of its threads that wait for their turn would take the processors from the one that answers.
    pub one_will_do: bool,
    /// True where every exchange is reported as an event.
    pub samples: bool,
    /// Length of an interval of the series; usually [`measure::event::INTERVAL`].
    pub interval: Nanos,
    /// Name and version of the program, for the peer and the record.
    pub program: String,
    /// Settings of the packet capture beside the measurement; absent: no capture.
    pub verify: Option<wire::Wish>,
}

/// Protocol that the peer speaks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Ours: a reflector.
    #[default]
    Native,
    /// netperf's: a netserver, with a control connection for each data connection.
    Netperf {
        /// Passphrase sent before the first request; absent: none.
        passphrase: Option<Passphrase>,
    },
    /// STAMP's (RFC 8762): a session-reflector, over UDP.
    Stamp {
        /// The key of authenticated packets; without one they are not.
        key: Option<StampKey>,
        /// Largest difference of both ends' clocks, as the user states it; absent: not stated.
        clocks_agree: Option<Nanos>,
        /// The optional parts by which its packets ask.
        parts: Vec<StampPart>,
    },
    /// TWAMP's (RFC 5357): a server grants sessions by a control connection, whose packets are STAMP's.
    Twamp {
        /// Largest difference of both ends' clocks, as the user states it; absent: not stated.
        clocks_agree: Option<Nanos>,
    },
    /// irtt's: a server grants sessions by datagrams, and its replies have its own times.
    Irtt {
        /// The key of sealed packets; without one they are not.
        key: Option<Box<IrttKey>>,
        /// Within what the clocks of both ends are said to agree.
        clocks_agree: Option<Nanos>,
    },
    /// That of an echo service (RFC 862), which sends back what it gets: nothing is agreed on.
    Echo,
    /// That of a program at work.
    Application(Box<Application>),
}

/// Peer to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// As the user named it.
    pub host: String,
    /// Its address.
    pub address: SocketAddr,
}

/// Result of one round-trip measurement.
#[derive(Debug)]
pub struct Finding {
    /// Recording of all threads together.
    pub recording: Recording,
    /// Time breakdown from kernel stamps; absent: none were taken.
    pub split: Option<Split>,
    /// Both directions apart, where the peer told its own times.
    pub one_way: Option<OneWay>,
    /// Socket facts read back from the kernel, one entry for each connection.
    pub sockets: Vec<SocketFacts>,
    /// This host.
    pub ours: Environment,
    /// The peer's host, where it told.
    pub theirs: Option<Environment>,
    /// The peer's program.
    pub peer: PeerFacts,
    /// Cause of the end: complete, stopped, or the peer lost.
    pub ended: Ending,
    /// Recorded requests that the peer counted; `None` where it did not separate them from those of the warm-up.
    pub peer_counts: PeerCounts,
    /// Address of the peer that was measured.
    pub target: SocketAddr,
    /// True where the peer was a reflector that this measurement started.
    pub own_reflector: bool,
    /// Reason for which the peer's counts and its host's facts are missing; absent: they arrived, or none were
    /// expected.
    pub report_missing: Option<String>,
    /// Kernel stamps that were asked for and not to be had: why.
    pub stamps_refused: Option<String>,
    /// Wall clock at the start of the threads, nanoseconds since 1970.
    pub began_wall: u64,
    /// Warm-up before the recording.
    pub warmed: Warmed,
    /// Packets seen on the wire; absent where nothing was captured.
    pub wire: Option<Watched>,
    /// Replies of a program at work.
    pub replies: Option<Replies>,
}

/// The program at the far end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerFacts {
    /// Its name and version; absent where the peer's kernel answers.
    pub program: Option<String>,
    /// Version of the native protocol agreed on.
    pub protocol: Option<u16>,
    /// Wait mode of its threads; absent: not reported.
    pub waiting: Option<Waiting>,
    /// CPUs its threads are pinned to; empty: none, or it did not say.
    pub cpus: Vec<u32>,
    /// Batching by which it took one-way messages that came together; absent: one by one.
    pub batch: Option<Batch>,
    /// Receive buffer of its sockets of datagrams, as its kernel counts it, of several the smallest; where it said.
    pub receive_buffer: Option<Bytes>,
    /// Datagrams that reached it from another address or port than their flow began with; absent: not reported.
    pub elsewhere: Option<u64>,
    /// Time that its threads waited because of a rate or bandwidth limit set by its owner; absent: not reported.
    pub limited: Option<Nanos>,
    /// Authentication of the session; absent: there was no key.
    pub authentication: Option<Authentication>,
    /// True where each native datagram was authenticated; absent: other traffic, or no key.
    pub authenticated: Option<bool>,
}

/// Measures. Blocks until it is over; `on_event` is called on this thread, never on a measuring one.
pub fn run(task: &Task, stop: &Stop, on_event: &mut dyn FnMut(Event)) -> Result<Finding, EndpointError> {
    // Best effort: a thousand connections take more descriptors than a process usually gets.
    crate::socket::raise_descriptor_limit();
    match &task.target {
        Some(target) => against(task, target.address, false, stop, on_event),
        // Told apart in the record.
        None => reflector::beside(&task.program, |address| against(task, address, true, stop, on_event))?,
    }
}

/// The same with a peer whose answers have its own times, and these answers one by one in `each`. Packets leave with the largest
/// time to live, so that hops can be counted, and may be as short as those of TWAMP. With any other peer `each` stays empty.
pub fn run_each(
    task: &Task,
    each: &mut Each,
    stop: &Stop,
    on_event: &mut dyn FnMut(Event),
) -> Result<Finding, EndpointError> {
    match (&task.target, said(&task.protocol)) {
        (Some(target), Some(said)) => stamp::against(task, target.address, said, Some(each), stop, on_event),
        _ => run(task, stop, on_event),
    }
}

/// Statements about a peer whose answers have its own times; `None`: it speaks another protocol.
fn said(protocol: &Protocol) -> Option<stamp::Said<'_>> {
    let (spoken, clocks_agree) = match protocol {
        Protocol::Stamp { key, clocks_agree, parts } => {
            (stamp::Spoken::Stamp { key: key.as_ref(), parts }, clocks_agree)
        }
        Protocol::Twamp { clocks_agree } => (stamp::Spoken::Twamp, clocks_agree),
        Protocol::Irtt { key, clocks_agree } => (stamp::Spoken::Irtt { key: key.as_deref() }, clocks_agree),
        Protocol::Native | Protocol::Netperf { .. } | Protocol::Echo | Protocol::Application(_) => return None,
    };
    Some(stamp::Said { spoken, clocks_agree: *clocks_agree })
}

fn against(
    task: &Task,
    peer: SocketAddr,
    own: bool,
    stop: &Stop,
    on_event: &mut dyn FnMut(Event),
) -> Result<Finding, EndpointError> {
    if let Some(said) = said(&task.protocol) {
        return stamp::against(task, peer, said, None, stop, on_event);
    }
    let mut method = task.method.clone();
    match &task.protocol {
        Protocol::Netperf { passphrase } => {
            return netserver::against(task, method, peer, passphrase.as_ref(), stop, on_event);
        }
        Protocol::Echo => return echoing::against(task, &method, peer, stop, on_event),
        Protocol::Application(application) => {
            return asking::against(task, &method, peer, application, stop, on_event);
        }
        Protocol::Native | Protocol::Stamp { .. } | Protocol::Twamp { .. } | Protocol::Irtt { .. } => {}
    }
    // Before the first packet, so that each handshake is seen.
    let wire = task.verify.map(|wish| wire::Watch::start(&method, peer, wish)).transpose()?;
    let mut control = if method.needs_reflector() { Some(admitted(task, &mut method, peer, stop)?) } else { None };
    let unstamped = control.as_ref().filter(|control| method.traffic.stamps().is_some() && !control.opened.got.stamps);
    let unstamped = unstamped.map(|_| "the reflector stamps none of what comes in segments".to_owned());
    if let (Some(_), Traffic::Exchange(exchange)) = (&unstamped, &mut method.traffic) {
        exchange.stamps = None;
    }
    let mut watch = watch(task, &method, peer);
    let offset_before = wall_offset();
    let admission = control.as_ref().map(Admission::of);
    let mut nobody = Nobody;
    let far: &mut dyn FarEnd = match control.as_mut() {
        Some(control) => control,
        None => &mut nobody,
    };
    let (samples, interval) = (task.samples, task.interval);
    let (trace, halt) = (task.trace.as_deref(), Stop::default());
    let halt = &halt;
    let mut scene =
        Scene { method: &method, trace, peer, far, samples, interval, stop, halt, watch: &mut watch, on_event };
    let gathered = open::measure(admission, &mut scene)?;
    let clock_stepped = (wall_offset() - offset_before).unsigned_abs() > clock_tolerance(&gathered.recording);
    let mut peer_facts = control.as_ref().map(facts_of).unwrap_or_default();
    let apart = control.as_ref().and_then(Control::local);
    let wire = wire.map(|wire| wire.finish(apart.into_iter().collect()));
    let report = control.map(|control| control.close(stop)).transpose();
    if let Ok(Some(report)) = &report {
        peer_facts.receive_buffer = report.receive_buffer_bytes;
        peer_facts.limited = report.limited_ns;
    }
    let peer_counts = report.as_ref().ok().and_then(|report| Some(recorded(report.as_ref()?, &method)));
    let finding = conclude(gathered, report, watch.finish(), peer_facts, peer, own, clock_stepped);
    let wire = wire.map(|watched| timed(watched, &finding.recording));
    // A load that was cut short was not waited for: what is still on its way is not lost.
    let whole = method.traffic.load().is_none() || finding.ended == Ending::Complete;
    let stamps_refused = finding.stamps_refused.or(unstamped);
    Ok(Finding { peer_counts: peer_counts.filter(|_| whole).unwrap_or_default(), stamps_refused, wire, ..finding })
}

/// The session that the reflector grants, and the method with as many connections as it is for.
fn admitted(task: &Task, method: &mut Method, peer: SocketAddr, stop: &Stop) -> Result<Control, EndpointError> {
    let open =
        |method: &Method| Control::open(peer, open::request(method, task), task.key.as_ref(), &method.socket, stop);
    match open(method) {
        Ok(control) => {
            if task.one_will_do && control.opened.got.waiting == Waiting::Spin {
                method.spread = method.spread.alone();
            }
            Ok(control)
        }
        Err(error) if task.one_will_do && matches!(error.cause, Cause::Peer(_)) => {
            method.spread = method.spread.alone();
            open(method)
        }
        Err(error) => Err(error),
    }
}

/// Returns the reflector's facts from its answer to the opening of the session.
pub(crate) fn facts_of(control: &Control) -> PeerFacts {
    let got = &control.opened.got;
    PeerFacts {
        program: Some(control.opened.program.clone()).filter(|program| !program.is_empty()),
        protocol: Some(control.version),
        waiting: Some(got.waiting),
        cpus: got.cpus.clone(),
        batch: got.batch,
        receive_buffer: None,
        elsewhere: None,
        limited: None,
        authentication: control.authentication,
        authenticated: control.authenticated,
    }
}

/// This host under observation from here on.
fn watch(task: &Task, method: &Method, peer: SocketAddr) -> Watch {
    let reader = Reader::host(task.program.clone()).towards(peer.ip());
    Watch::start(match &method.socket.interface {
        Some(interface) => reader.through(interface.clone()),
        None => reader,
    })
}

/// Returns the largest plausible change between wall and monotonic clock during the recording, nanoseconds: a time
/// service that slews (at most 500 ppm, adjtimex(2)), and a millisecond for the readings.
fn clock_tolerance(recording: &Recording) -> u128 {
    let elapsed = recording.ended.since(recording.began).unwrap_or_default();
    1_000_000 + u128::from(elapsed.0 / 2_000)
}

/// Makes the finding of exchanges with `target` that another engine measured on this host, `ours`. `offset_before` is
/// the lead of the wall clock over the monotonic clock before the run ([`crate::clock::wall_offset`]), nanoseconds.
pub fn found(gathered: Gathered, ours: Environment, target: SocketAddr, offset_before: i128) -> Finding {
    let clock_stepped = (wall_offset() - offset_before).unsigned_abs() > clock_tolerance(&gathered.recording);
    conclude(gathered, Ok(None), ours, PeerFacts::default(), target, false, clock_stepped)
}

/// Requests the peer received and replied to, less those that are not recorded. Messages without a header cannot be
/// marked as warm-up: their counts are absent where there was one.
fn recorded(report: &Report, method: &Method) -> PeerCounts {
    // Counts of a peer: whatever they are, they do not overflow.
    let total = |counts: &[u64]| counts.iter().fold(0_u64, |sum, count| sum.saturating_add(*count));
    let (received, replied) = (total(&report.received), total(&report.replied));
    let (again, replied_again) = (report.again.as_deref().map(total), report.replied_again.as_deref().map(total));
    let unique = method.traffic.carrier() == Carrier::Tcp || again.is_some() && replied_again.is_some();
    let less = |count: u64, copies: Option<u64>| count.checked_sub(copies.unwrap_or(0));
    let (received, replied) = (less(received, again), less(replied, replied_again));
    let (dropped, elsewhere) = (report.dropped, report.elsewhere);
    let unrecorded = match &report.warm_up {
        Some(warm_up) if open::headed(method) => total(warm_up),
        _ if !open::headed(method) && method.warm_up_ns == Nanos::ZERO => 0,
        _ => return PeerCounts { dropped, elsewhere, ..PeerCounts::default() },
    };
    // Each request of a warm-up is replied to.
    let recorded = |count: Option<u64>| count.and_then(|count| count.checked_sub(unrecorded));
    PeerCounts { received: recorded(received), replied: recorded(replied), dropped, elsewhere, unique }
}

fn conclude(
    gathered: Gathered,
    report: Result<Option<Report>, EndpointError>,
    ours: Environment,
    peer: PeerFacts,
    target: SocketAddr,
    own_reflector: bool,
    clock_stepped: bool,
) -> Finding {
    let Gathered { recording, splits, ended, warmed, sockets, stamps_refused, began_wall, trouble } = gathered;
    let median = (recording.response.count() > 0).then(|| Nanos(recording.response.histogram().value_at_quantile(0.5)));
    let ended = match (ended, trouble) {
        (_, Some(error)) => Ending::PeerLost { reason: error.cause.to_string() },
        (Ended::Complete, None) => Ending::Complete,
        (Ended::Stopped, None) => Ending::Stopped,
        (Ended::Broken(Fault::Refused(_)), None) => {
            Ending::PeerLost { reason: format!("{MOST_REFUSED} handshakes in a row were refused") }
        }
        // A peer that is asked for its report and gives it has not gone.
        (Ended::Broken(Fault::Reset), None) if matches!(report, Ok(Some(_))) => {
            Ending::PeerLost { reason: "the connection was reset, but the peer's program still answers".to_owned() }
        }
        (Ended::Broken(fault), None) => Ending::PeerLost { reason: fault.to_string() },
    };
    let (report, report_missing) = match report {
        Ok(report) => (report, None),
        Err(error) => (None, Some(error.cause.to_string())),
    };
    Finding {
        split: splits.finish(median, clock_stepped),
        one_way: None,
        recording,
        sockets,
        ours,
        peer_counts: PeerCounts::default(),
        theirs: report.map(|report| report.environment),
        peer,
        ended,
        target,
        own_reflector,
        report_missing,
        stamps_refused,
        began_wall,
        warmed,
        wire: None,
        replies: None,
    }
}
