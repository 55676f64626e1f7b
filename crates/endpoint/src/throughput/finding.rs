//! Result of a throughput run: the counts of both ends, side by side.

use std::net::SocketAddr;

use measure::environment::Environment;
use measure::method::Direction;
use measure::outcome::SocketFacts;
use measure::throughput::detail::{Autotuning, ZeroCopied};
use measure::throughput::meter::Metered;
use measure::throughput::{Carried, Theirs, Throughput};
use measure::unit::Nanos;
use protocol::native::stream::{HostCpu, Told};

use super::{Ours, Task, Word, together};
use crate::engine::Ended;
use crate::rtt::{Ending, PeerFacts};
use crate::session::threads::worse;
use crate::thread::CpuTime;
use crate::wire::Watched;

/// Result of one throughput measurement.
#[derive(Debug)]
pub struct Finding {
    /// Payload that this end sent; `None` where it did not send. Over TCP its time ends when the reflector has taken
    /// all.
    pub sent: Option<Metered>,
    /// Payload that this end received; `None` where it did not receive.
    pub received: Option<Metered>,
    /// Duration of our calls, the longest of all streams. The time of `sent` may be longer: it includes the draining.
    pub running: Nanos,
    /// Counts of the reflector for each stream that this end sent, in their order; empty where it reported none.
    pub peer_received: Vec<Told>,
    /// Counts of the reflector for each stream that this end received, in their order; empty where it reported none.
    pub peer_sent: Vec<Told>,
    /// Our threads, in the order of their flows: those that send first.
    pub threads: Vec<Thread>,
    /// CPU use of this host, warm-up included; absent: not readable.
    pub cpu: Option<HostCpu>,
    /// CPU use of the reflector's host; the same host where [`Finding::own_reflector`]. Absent: not reported.
    pub peer_cpu: Option<HostCpu>,
    /// Socket facts read back from the kernel, in the order of their flows.
    pub sockets: Vec<SocketFacts>,
    /// Kernel's automatic sizing of the socket buffers, on or off; absent for datagrams, whose buffers it never sizes.
    pub autotuning: Option<Autotuning>,
    /// Outcome of the zero-copy sends of this end; absent: none were used.
    pub zero_copy: Option<ZeroCopied>,
    /// This host.
    pub ours: Environment,
    /// The reflector's host, where it told.
    pub theirs: Option<Environment>,
    /// The reflector's program.
    pub peer: PeerFacts,
    /// Cause of the end: complete, stopped, or the peer lost.
    pub ended: Ending,
    /// Streams whose receiver did not confirm that it had taken all: missing payload may still have been in transit.
    pub undrained: u32,
    /// Address of the peer that was measured.
    pub target: SocketAddr,
    /// True where the peer was a reflector that this measurement started.
    pub own_reflector: bool,
    /// Reason for which the reflector's counts and its host's facts are missing; absent: they arrived.
    pub report_missing: Option<String>,
    /// Wall clock at the start of the threads, nanoseconds since 1970.
    pub began_wall: u64,
    /// True where the wall clock was stepped during the run.
    pub clock_stepped: bool,
    /// Packets seen on the wire; absent where nothing was captured.
    pub wire: Option<Watched>,
}

/// One thread of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The flow that it had, from 0.
    pub flow: u32,
    /// True for a sender, false for a receiver.
    pub sent: bool,
    /// Datagrams that it sent in all, warm-up included; absent for other flows.
    pub sent_datagrams: Option<u64>,
    /// CPU time of the thread.
    pub cpu: CpuTime,
}

impl Finding {
    /// Returns the record of one direction: goodput is the payload that the receiver's program had, beside the payload
    /// that the sender handed over. `None` where nothing was to go in that direction.
    pub fn throughput(&self, direction: Direction) -> Option<Throughput> {
        let sends = direction.sends();
        let (metered, told) =
            if sends { (self.sent.as_ref()?, &self.peer_received) } else { (self.received.as_ref()?, &self.peer_sent) };
        let mut carried = Carried::default();
        for told in told {
            carried.add(&told.stream.carried);
        }
        let elapsed_ns = told.iter().map(|told| told.stream.elapsed_ns).max();
        let theirs = (!told.is_empty()).then_some(Theirs { carried, elapsed_ns });
        let flows = self.threads.iter().zip(&self.sockets).filter(|(thread, _)| thread.sent == sends);
        Some(Throughput::of(direction, metered, theirs, flows.map(|(_, socket)| socket.clone()).collect()))
    }
}

pub(super) fn conclude(
    task: &Task,
    ours: Ours,
    report: Word,
    environment: Environment,
    mut peer: PeerFacts,
    target: SocketAddr,
    own_reflector: bool,
) -> Finding {
    let Ours { brought, cpu, clock_stepped } = ours;
    let mut homes = brought.each;
    homes.sort_by_key(|home| home.number);
    let ended = homes.iter().map(|home| home.ended).reduce(worse).unwrap_or(Ended::Stopped);
    let ended = match (ended, brought.trouble) {
        (_, Some(error)) => Ending::PeerLost { reason: error.cause.to_string() },
        (Ended::Complete, None) => Ending::Complete,
        (Ended::Stopped, None) => Ending::Stopped,
        (Ended::Broken(fault), None) => Ending::PeerLost { reason: fault.to_string() },
    };
    let threads = homes.iter().map(|home| Thread {
        flow: u32::from(home.number),
        sent: home.sent,
        sent_datagrams: home.sent_datagrams,
        cpu: home.cpu,
    });
    let (threads, sockets) = (threads.collect(), homes.iter().map(|home| home.socket.clone()).collect());
    let running = homes.iter().map(|home| home.running).max().unwrap_or_default();
    let undrained = homes.iter().filter(|home| !home.drained).count() as u32;
    let zero_copy = homes
        .iter()
        .filter_map(|home| home.zero_copy)
        .reduce(|one, other| ZeroCopied { sends: one.sends + other.sends, copied: one.copied + other.copied });
    let (mut sent, mut received): (Vec<_>, Vec<_>) = homes.into_iter().partition(|home| home.sent);
    let (report, report_missing) = match report {
        Ok(report) => (report, None),
        Err(why) => (protocol::native::message::Report::default(), Some(why)),
    };
    peer.receive_buffer = report.receive_buffer_bytes;
    peer.elsewhere = report.elsewhere;
    peer.limited = report.limited_ns;
    let mut told = told_by(task, report.streams.unwrap_or_default());
    for (home, told) in sent.iter_mut().zip(&mut told.0).chain(received.iter_mut().zip(&mut told.1)) {
        home.make_up_for_end(told);
    }
    // To us the end of a sender looks alike, whatever it is for.
    let broke = told.1.iter().find_map(|told| told.trouble.clone());
    // The receiver decides how much arrived: where the peer fell silent before its counts, the result is incomplete.
    let silent = report_missing.as_ref().map(|why| format!("it sent no report at the end: {why}"));
    let ended = match broke.or(silent) {
        Some(reason) if ended == Ending::Complete => Ending::PeerLost { reason },
        _ => ended,
    };
    let buffers = &task.method.socket;
    let tuned =
        Autotuning { send: buffers.send_buffer_bytes.is_none(), receive: buffers.receive_buffer_bytes.is_none() };
    Finding {
        sent: together(sent.into_iter().map(|home| home.metered)),
        received: together(received.into_iter().map(|home| home.metered)),
        running,
        peer_received: told.0,
        peer_sent: told.1,
        threads,
        cpu,
        peer_cpu: report.cpu,
        sockets,
        autotuning: (!task.is_of_datagrams()).then_some(tuned),
        zero_copy,
        ours: environment,
        theirs: report_missing.is_none().then_some(report.environment),
        peer,
        ended,
        undrained,
        target,
        own_reflector,
        report_missing,
        began_wall: brought.began_wall,
        clock_stepped,
        wire: None,
    }
}

/// Splits the reflector's counts into the streams that we sent and those that we received. Counts for another number of
/// flows are discarded.
fn told_by(task: &Task, mut told: Vec<Told>) -> (Vec<Told>, Vec<Told>) {
    if told.len() != task.flows() as usize {
        return (Vec::new(), Vec::new());
    }
    let ours = if task.direction().sends() { task.streams() } else { 0 };
    let received = told.split_off(ours as usize);
    let bounded = |told: Vec<Told>| told.into_iter().map(Told::bounded).collect();
    (bounded(told), bounded(received))
}
