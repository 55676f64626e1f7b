//! Decides which warnings a result carries, by the numbers of [`super::threshold`].
//!
//! Only facts that were read are judged: an absent fact raises no warning. A warning that explains another stands alone
//! ([`super::order`]).

#[cfg(test)]
mod cases;
mod fates;
mod machines;
mod pace;
mod reading;
mod settings;
mod statistics;
mod stream;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use crate::answer::Class;
use crate::environment::Environment;
use crate::method::{Carrier, LoopKind, Method};
use crate::origin;
use crate::outcome::Outcome;
use crate::outcome::flows::FlowGroup;
use crate::outcome::periodic::Periodic;
use crate::probes::Probes;
use crate::throughput::Throughput;
use crate::unit::Nanos;
use crate::verdict::Warning;
use crate::verdict::order::{SENT_AGAIN, settle, spare, spoil, wait_for, wait_to_send_again};
use crate::verdict::threshold::RESETS;
use crate::wire::finding::{Verdict, Wire};
pub use fates::{SentAgain, retransmitted};

/// Facts around a measurement that its outcome does not hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    /// True where the peer was a reflector in this very process.
    pub own_reflector: bool,
    /// True where small packets to the peer were answered: a connection to it was made and lasted.
    pub connected: bool,
    /// The address that was measured.
    pub target: Option<IpAddr>,
    /// True where the user ended the run early.
    pub interrupted: bool,
    /// Reason why the peer stopped in the middle; absent where it did not.
    pub peer_lost: Option<String>,
    /// Reason why the peer did not report at the end; absent where it did, or had nothing to report.
    pub no_report: Option<String>,
    /// Time that the server's threads waited because of a bound set by its owner; absent where they did not.
    pub server_limited: Option<Nanos>,
    /// Samples missing from the file they were asked into, and why where it is known.
    pub samples_missing: Option<(u64, Option<String>)>,
    /// The smallest step of our clock, nanoseconds.
    pub clock_step_ns: Option<Nanos>,
    /// Duration of one reading of our clock, nanoseconds.
    pub clock_read_ns: Option<Nanos>,
}

/// Both ends, as far as their environments were read.
#[derive(Clone, Copy, Debug)]
struct Ends<'a> {
    ours: Option<&'a Environment>,
    theirs: Option<&'a Environment>,
    /// The address, where it is this host's own, and no fact of the peer says that it is another.
    same_host: Option<IpAddr>,
    /// The address, where it is this host's own, with a fact of this host and that of the peer, which differ.
    apart: Option<(IpAddr, &'a str, &'a str)>,
    own_reflector: bool,
}

impl<'a> Ends<'a> {
    fn of(ours: Option<&'a Environment>, theirs: Option<&'a Environment>, context: &Context) -> Self {
        // A reflector of our own runs in this very process: its machine is ours, and is judged once.
        let theirs = theirs.filter(|_| !context.own_reflector);
        // The interface is that of the route to the peer, which for each address of this host is the loopback's.
        let looped = ours.and_then(|ours| ours.interface.as_ref()).is_some_and(|interface| interface.name == "lo");
        let own = context.target.filter(|_| looped);
        let different = told_by_both(ours, theirs).into_iter().find(|(ours, theirs)| ours != theirs);
        let apart = own.zip(different).map(|(address, (ours, theirs))| (address, ours, theirs));
        let same_host = own.filter(|_| apart.is_none());
        Self { ours, theirs, same_host, apart, own_reflector: context.own_reflector }
    }

    /// Each that was read, by its name.
    fn each(self) -> impl Iterator<Item = (&'static str, &'a Environment)> {
        [("our", self.ours), ("the peer's", self.theirs)].into_iter().filter_map(|(name, end)| Some((name, end?)))
    }
}

/// Facts by which machines are told apart, as each end has them, where both do: name, kernel, machine and CPU.
fn told_by_both<'a>(ours: Option<&'a Environment>, theirs: Option<&'a Environment>) -> Vec<(&'a str, &'a str)> {
    let facts = |end: &'a Environment| [&end.host, &end.kernel, &end.machine, &end.cpu_model].map(Option::as_deref);
    let Some((ours, theirs)) = ours.zip(theirs) else { return Vec::new() };
    facts(ours).into_iter().zip(facts(theirs)).filter_map(|(ours, theirs)| ours.zip(theirs)).collect()
}

/// Returns all warnings about `outcome`, the weightiest first. `ours` and `theirs` are the ends' environments,
/// as far as they were read; an absent fact raises none.
pub fn judge(
    outcome: &Outcome,
    method: &Method,
    ours: Option<&Environment>,
    theirs: Option<&Environment>,
    context: &Context,
) -> Vec<Warning> {
    let ends = Ends::of(ours, theirs, context);
    let mut warnings: Vec<Warning> = who_answered(ends, method).collect();
    if outcome.counts.answered > 0 {
        warnings.extend(kernel_answers(method.traffic.carrier()));
    }
    warnings.extend(around(context));
    warnings.extend(statistics::clocks(outcome));
    warnings.extend(fates::size_unanswered(outcome, method, context));
    warnings.extend(fates::fates(outcome, method, ours));
    let there = ends.theirs.or(ours.filter(|_| context.own_reflector));
    warnings.extend(fates::lost_on_the_way(outcome, method, there));
    warnings.extend(pace::schedule(outcome, method));
    warnings.extend(machines::machines(method, ends));
    warnings.extend(machines::power_saving(method, ends));
    warnings.extend(reading::reading(outcome, method));
    warnings.extend(statistics::statistics(outcome, method));
    warnings.extend(machines::coarse_clock(outcome, ends, context));
    warnings.extend(settings::got_less(&outcome.sockets, method));
    warnings.extend(settings::not_batched(&outcome.sockets));
    warnings.extend(settings::held_replies(outcome));
    warnings.extend(settings::nagle(outcome, method));
    warnings.extend(settings::fragmented(&outcome.sockets, method, ends, context.target));
    warnings.extend(settings::idle_restart(outcome, method, ends));
    warnings.extend(settings::no_stamps(outcome, method));
    let mut settled = settle(warnings);
    // Threads of the peer, each on a CPU of its own, part connections into groups too where some of those CPUs are busy.
    let groups = outcome.flows.as_ref().and_then(|flows| flows.groups.as_ref()).is_some_and(|groups| groups.len() > 1);
    let groups = groups && !outcome.is_parted_by_next_hop();
    // Messages that leave late leave in the order of the connections, so that a limit on the way meets the last of them.
    let losing = outcome.flows.as_ref().is_some_and(|flows| !flows.losing.is_empty());
    // And other work that comes or goes changes their places among the others.
    let moved = outcome.flows.as_ref().is_some_and(|flows| !flows.moved.is_empty());
    let found: Vec<&'static str> = [("groups", groups), ("losing", losing), ("moved", moved)]
        .into_iter()
        .filter_map(|(name, is)| is.then_some(name))
        .collect();
    spoil(&mut settled, &found);
    let shift_ns = settled.iter().find_map(|warning| match warning {
        Warning::NotSteady { shift_ns } => *shift_ns,
        _ => None,
    });
    let at_once = method.waiting_per_thread() * u64::from(method.spread.threads.max(1));
    // A closed loop sends no more meanwhile.
    let gap = match method.loop_kind() {
        LoopKind::Closed => SENT_AGAIN,
        LoopKind::Open => Nanos(outcome.elapsed_ns.0 / outcome.counts.scheduled.max(1)),
    };
    let sent_again = wait_to_send_again(&settled, at_once, gap, outcome.elapsed_ns);
    spare(&mut settled, |kind| match kind {
        "retransmitted" if outcome.dark.is_none() => Some(sent_again),
        // One wait makes all late that are on their way.
        "groups" => waits_needed(kind, outcome, shift_ns).map(|share| share / at_once.max(1) as f64),
        _ => waits_needed(kind, outcome, shift_ns),
    });
    settled
}

/// Connections that differ by up to this are put down to a busy host whatever it is known to have waited: the interrupts of one CPU serve some of them.
const PARTED: Nanos = Nanos::micros(200);

/// The share of the run for which a host has to wait to bring this finding about, where its size is known.
fn waits_needed(kind: &str, outcome: &Outcome, drift: Option<i64>) -> Option<f64> {
    let length = outcome.elapsed_ns.0.max(1);
    let gap = Nanos(length / outcome.counts.answered.max(1));
    match kind {
        "changed" => {
            let change = outcome.change?;
            let size = Nanos(change.within_ns.0.abs_diff(change.before_ns.0));
            let to = change.to_ns.map_or(length, |to| to.0);
            let once = to.saturating_sub(change.from_ns.0) as f64 / length as f64;
            let within = once * f64::from(change.stretches);
            let longer = if change.within_ns > change.before_ns { within } else { 1.0 - within };
            wait_for(size, longer.clamp(0.0, 1.0), gap)
        }
        // Every second request, say, takes as much longer as the slow ones are above the middle.
        "rhythm" => {
            let at = |q: f64| outcome.response.quantiles.iter().find(|of| of.q == q)?.value_ns;
            wait_for(Nanos(at(0.9)?.0.saturating_sub(at(0.5)?.0)), 0.2, gap)
        }
        "not-steady" => wait_for(Nanos(drift?.unsigned_abs()), 1.0 / 3.0, gap),
        "groups" => {
            let groups = outcome.flows.as_ref()?.groups.as_ref()?;
            // Half of the exchanges of each group have to be late by so much.
            let late = |group: &FlowGroup| Some(group.shift?.value_ns.abs() * group.answered as f64 / 2.0);
            let most =
                groups.iter().filter_map(|group| group.shift).map(|shift| shift.value_ns.abs()).fold(0.0, f64::max);
            let late: f64 = groups.iter().filter_map(late).sum();
            (most > PARTED.0 as f64).then(|| (late / length as f64).min(1.0))
        }
        "periodic" => {
            let Periodic { longer_ns, count, .. } = outcome.periodic?;
            Some(longer_ns.0 as f64 * count as f64 / length as f64)
        }
        "stalled" => outcome.stalls.map(|stalls| stalls.share),
        // TCP sends again what a path that is dark loses, however the host is.
        "retransmitted" => outcome.dark.map(|_| f64::INFINITY),
        _ => None,
    }
}

/// Warnings about this host and the peer's, as far as they were read, whatever was measured of `target`: that they were busy or kept from running,
/// share one CPU, or have a slow clock; and that the peer, asked at an address of this host, is another.
pub fn machines(
    method: &Method,
    ours: Option<&Environment>,
    theirs: Option<&Environment>,
    target: Option<IpAddr>,
) -> Vec<Warning> {
    let ends = Ends::of(ours, theirs, &Context { target, ..Context::default() });
    machines::machines(method, ends).into_iter().chain(carried_on(ends)).collect()
}

/// Returns the warnings of a stream: of the run and both ends, for it has no exchanges to be judged by.
pub fn judge_stream(
    stream: &Throughput,
    method: &Method,
    ours: Option<&Environment>,
    theirs: Option<&Environment>,
    context: &Context,
) -> Vec<Warning> {
    let ends = Ends::of(ours, theirs, context);
    let mut warnings: Vec<Warning> = who_answered(ends, method).chain(around(context)).collect();
    warnings.extend(stream::send_failed(stream));
    let machines = machines::machines(method, ends);
    warnings.extend(machines.into_iter().filter(|warning| !stream::is_told_as_limit(warning, stream)));
    warnings.extend(machines::power_saving(method, ends));
    warnings.extend(stream::one_cpu_of_many(stream, method, ends));
    warnings.extend(stream::rebound(stream));
    warnings.extend(stream::silent(stream));
    warnings.extend(stream::rate_changed(stream));
    warnings.extend(stream::course(stream));
    warnings.extend(settings::got_less(&stream.sockets, method));
    warnings.extend(settings::not_batched(&stream.sockets));
    warnings.extend(settings::fragmented(&stream.sockets, method, ends, context.target));
    let mut settled = settle(warnings);
    spoil(&mut settled, stream::limited_by_cpu(stream).as_slice());
    settled
}

/// Returns a warning for each of our counts that the wire contradicts.
pub fn contradictions(wire: &Wire) -> Vec<Warning> {
    let contradicted = wire.checks.iter().filter(|check| check.verdict == Verdict::Contradicted);
    contradicted
        .map(|check| Warning::WireContradicts {
            subject: check.subject,
            counted: check.counted.unwrap_or_default(),
            seen: check.seen.unwrap_or_default(),
            interface: wire.interface.clone(),
            reason: check.reason.clone(),
        })
        .collect()
}

/// Warns where most answers to the probes were resets, so that their times are those of a closed port.
pub fn resets_timed(probes: &Probes) -> Option<Warning> {
    let counted = |reset: bool| {
        let of = |class: Class| matches!(class, Class::Rst | Class::RstAck) || !reset;
        // An ICMP error is no answer: its request was refused.
        let kinds = probes.kinds.iter().filter(|kind| kind.class != Class::Icmp && of(kind.class));
        kinds.fold(0_u64, |sum, kind| sum.saturating_add(kind.count))
    };
    let (resets, answers) = (counted(true), counted(false));
    let another_hop = probes.origin.as_ref().is_some_and(|origin| origin.verdict == origin::Verdict::AnotherHop);
    (resets > 0 && resets as f64 >= RESETS * answers as f64).then_some(Warning::ResetsTimed {
        resets,
        answers,
        another_hop,
        compared: probes.origin.as_ref().is_some_and(|origin| origin.compared_port.is_some()),
    })
}

/// Warns where the printed latencies are not `whole` round trips but halves.
pub fn half_round_trip(outcome: &Outcome, whole: bool) -> Option<Warning> {
    (!whole && outcome.response.count > 0).then_some(Warning::HalfRoundTrip)
}

fn who_answered(ends: Ends<'_>, method: &Method) -> impl Iterator<Item = Warning> + use<> {
    let own = ends.own_reflector.then_some(Warning::OwnReflector);
    // A name alone is that of many a machine.
    let shown = kernel_answers(method.traffic.carrier()).is_some() || told_by_both(ends.ours, ends.theirs).len() > 1;
    let same = ends.same_host.map(|address| Warning::SameHost { address, shown });
    own.into_iter().chain(same).chain(carried_on(ends))
}

fn carried_on(ends: Ends<'_>) -> Option<Warning> {
    let (address, ours, theirs) = ends.apart?;
    Some(Warning::CarriedOn { address, ours: ours.to_owned(), theirs: theirs.to_owned() })
}

fn kernel_answers(carrier: Carrier) -> Option<Warning> {
    match carrier {
        Carrier::Icmp => Some(Warning::IcmpIsNotTheApplication),
        Carrier::TcpConnect | Carrier::TcpSyn => Some(Warning::HandshakeIsNotTheApplication),
        Carrier::Tcp | Carrier::Udp => None,
    }
}

fn around(context: &Context) -> impl Iterator<Item = Warning> {
    let lost = context.peer_lost.clone().map(|reason| Warning::PeerLost { reason });
    let silent = context.no_report.clone().map(|reason| Warning::NoReport { reason });
    let interrupted = context.interrupted.then_some(Warning::Interrupted);
    let missing = context.samples_missing.clone();
    let incomplete = missing.map(|(missing, reason)| Warning::SamplesIncomplete { missing, reason });
    let limited = context.server_limited.map(|waited_ns| Warning::ServerLimited { waited_ns });
    [lost, silent, interrupted, incomplete, limited].into_iter().flatten()
}
