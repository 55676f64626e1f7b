//! What is left of a run of streams: both ends' counts, side by side.

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

/// What was found.
#[derive(Debug)]
pub struct Finding {
    /// What our end sent; `None` where nothing was to be sent. It ended when the reflector had taken all, over TCP.
    pub sent: Option<Metered>,
    /// What our end received; `None` where nothing was to be received.
    pub received: Option<Metered>,
    /// How long our calls went on, the longest of all streams; with what drained, `sent` may be longer.
    pub running: Nanos,
    /// What the reflector received of each stream we sent, in their order; empty where it told nothing.
    pub peer_received: Vec<Told>,
    /// What the reflector sent of each stream we received, in their order; empty where it told nothing.
    pub peer_sent: Vec<Told>,
    /// Our threads, in the order of their flows: those that send first.
    pub threads: Vec<Thread>,
    /// How busy our machine was, warm-up included.
    pub cpu: Option<HostCpu>,
    /// How busy the reflector's was; it is the same one where [`Finding::own_reflector`].
    pub peer_cpu: Option<HostCpu>,
    /// What the sockets got, in the order of their flows.
    pub sockets: Vec<SocketFacts>,
    /// Whether our kernel fits the buffers of our sockets to the path; absent for datagrams, whose it never does.
    pub autotuning: Option<Autotuning>,
    /// What the kernel did with what our end sent in place.
    pub zero_copy: Option<ZeroCopied>,
    /// This host.
    pub ours: Environment,
    /// The reflector's host, where it told.
    pub theirs: Option<Environment>,
    /// The reflector's program.
    pub peer: PeerFacts,
    /// How it ended.
    pub ended: Ending,
    /// Streams whose receiver did not say that it had taken all: what is missing may have been on its way.
    pub undrained: u32,
    /// Whom it was measured against.
    pub target: SocketAddr,
    /// Whether that was a reflector of our own.
    pub own_reflector: bool,
    /// Why the reflector's counts and its machine's facts are missing.
    pub report_missing: Option<String>,
    /// When the threads were let go, nanoseconds since 1970.
    pub began_wall: u64,
    /// Whether the wall clock was stepped meanwhile.
    pub clock_stepped: bool,
    /// What was seen on the wire; absent where it was not watched.
    pub wire: Option<Watched>,
}

/// One thread of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The flow that it had, from 0.
    pub flow: u32,
    /// Whether it sent.
    pub sent: bool,
    /// Datagrams that it sent in all, warm-up included.
    pub sent_datagrams: Option<u64>,
    /// What CPU time it took.
    pub cpu: CpuTime,
}

impl Finding {
    /// What goes into the record of one way: goodput is what the receiver's program had, beside what the sender handed
    /// over. `None` where nothing went that way.
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
    let (sent, received): (Vec<_>, Vec<_>) = homes.into_iter().partition(|home| home.sent);
    let (report, report_missing) = match report {
        Ok(report) => (report, None),
        Err(why) => (protocol::native::message::Report::default(), Some(why)),
    };
    peer.receive_buffer = report.receive_buffer_bytes;
    peer.limited = report.limited_ns;
    let told = told_by(task, report.streams.unwrap_or_default());
    // To us the end of a sender looks alike, whatever it is for.
    let broke = told.1.iter().find_map(|told| told.trouble.clone());
    // What arrived is the receiver's to say: where the far side fell silent before its counts, the result is not whole.
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

/// What was told of the streams that we sent, and of those that we received. A peer that tells of another number of flows
/// tells of none.
fn told_by(task: &Task, mut told: Vec<Told>) -> (Vec<Told>, Vec<Told>) {
    if told.len() != task.flows() as usize {
        return (Vec::new(), Vec::new());
    }
    let ours = if task.direction().sends() { task.streams() } else { 0 };
    let received = told.split_off(ours as usize);
    let bounded = |told: Vec<Told>| told.into_iter().map(Told::bounded).collect();
    (bounded(told), bounded(received))
}
