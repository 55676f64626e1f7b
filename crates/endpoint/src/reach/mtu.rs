//! Answers to echo requests, and the largest size that is answered.

use std::net::{IpAddr, SocketAddr};

use measure::reach::mtu::{MtuFinding, MtuSearch};
use measure::reach::{MtuBy, Seen};
use measure::unit::Nanos;
use protocol::icmp::error::IcmpError;

use super::datagram::Datagrams;
use super::echo::{Echoer, Heard, Prober};
use super::tcp::{since, stopped};
use super::{Plan, seen};
use crate::clock::Monotonic;
use crate::stop::Stop;

/// Bytes of payload of the first echo request: what ping sends.
pub(crate) const PAYLOAD: u32 = 56;
/// Shortest wait for a size in each try …
const LEAST_WAIT: Nanos = Nanos::millis(200);
/// … and the wait as a multiple of the small one's round trip.
const ROUND_TRIPS: u64 = 8;
/// Between two refusals that a kernel grants one host, and a little more.
pub(crate) const RATION: Nanos = Nanos::millis(1_200);
/// Sizes tried at most: twice what halving takes from the largest packet there is.
const STEPS: u32 = 40;

/// Sizes of packets that a path shows.
#[derive(Debug)]
pub(super) struct Sizes {
    /// The largest that gets there.
    pub(super) there: MtuFinding,
    /// Kind of the packets that found it.
    pub(super) by: Option<MtuBy>,
    /// The largest piece of replies that were cut on the way back.
    pub(super) back: Option<u32>,
}

impl Sizes {
    /// Nothing, for this reason.
    pub(super) fn not_found(why: &str) -> Self {
        Self { there: MtuFinding::NotFound { why: why.to_owned() }, by: None, back: None }
    }
}

/// Asks for an echo, and by echoes for the largest packet that gets there; where none comes, by datagrams that the host
/// refuses.
pub(super) fn path(peer: SocketAddr, interface: Option<u32>, plan: &Plan, stop: &Stop) -> (Seen, Sizes) {
    let mut echoer = Echoer::open(peer);
    let seen = match &mut echoer {
        Ok(echoer) => first(echoer, peer.ip(), plan, stop),
        Err(why) => Seen::NotAsked { why: why.clone() },
    };
    let Some(interface) = interface else { return (seen, Sizes::not_found("the interface does not tell its own")) };
    if let (Seen::Answer { after_ns }, Ok(echoer)) = (&seen, &mut echoer) {
        let wait = Nanos(after_ns.0.saturating_mul(ROUND_TRIPS)).max(LEAST_WAIT).min(plan.timeout);
        let known = echoer.packet(PAYLOAD);
        let found = search(echoer, peer.ip(), interface, known, wait, plan, stop);
        return (seen, Sizes { there: found, by: Some(MtuBy::Echo), back: echoer.fragment });
    }
    if let Seen::Error { .. } = seen {
        return (seen, Sizes::not_found("the host is not reached"));
    }
    let Ok(mut datagrams) = Datagrams::open(peer) else {
        return (seen, Sizes::not_found("neither echo requests nor datagrams leave"));
    };
    if !refused(&mut datagrams, plan, stop) {
        return (seen, Sizes::not_found("neither echo requests nor datagrams to a closed port are answered"));
    }
    // Refusals are rationed: a kernel sends one a second to each host.
    let (known, wait) = (datagrams.packet(PAYLOAD), plan.timeout.max(RATION));
    let found = search(&mut datagrams, peer.ip(), interface, known, wait, plan, stop);
    (seen, Sizes { there: found, by: Some(MtuBy::RefusedDatagram), back: None })
}

/// Asks for an echo alone.
pub(super) fn echo(peer: SocketAddr, plan: &Plan, stop: &Stop) -> Seen {
    match Echoer::open(peer) {
        Ok(mut echoer) => first(&mut echoer, peer.ip(), plan, stop),
        Err(why) => Seen::NotAsked { why },
    }
}

/// Returns true where the host itself refuses a small datagram.
fn refused(datagrams: &mut Datagrams, plan: &Plan, stop: &Stop) -> bool {
    for _ in 0..plan.tries {
        let _ = datagrams.send(datagrams.packet(PAYLOAD));
        match datagrams.hear(Monotonic::now().after(plan.timeout), stop) {
            Heard::Reply { .. } => return true,
            // The host's word is final: it would answer the next in the same way.
            Heard::Report { .. } | Heard::Stopped => return false,
            Heard::Nothing => {}
        }
    }
    false
}

/// An echo request of the usual size, so often as the plan says.
fn first(echoer: &mut Echoer, peer: IpAddr, plan: &Plan, stop: &Stop) -> Seen {
    let start = Monotonic::now();
    for _ in 0..plan.tries {
        if let Err(error) = echoer.send(echoer.packet(PAYLOAD)) {
            return seen::of_error(&error, since(start));
        }
        let give_up = Monotonic::now().after(plan.timeout);
        loop {
            match echoer.hear(give_up, stop) {
                Heard::Reply { after, .. } => return Seen::Answer { after_ns: after },
                Heard::Report { report, .. } => {
                    if let Some(seen) = seen::of_report(&report, peer, echoer.local, since(start)) {
                        return seen;
                    }
                }
                Heard::Nothing => break,
                Heard::Stopped => return stopped(),
            }
        }
    }
    Seen::Silence { waited_ns: since(start) }
}

/// Tries sizes up to the interface's, where one of `known` bytes is known to get there.
pub(crate) fn search(
    prober: &mut impl Prober,
    peer: IpAddr,
    interface: u32,
    known: u32,
    wait: Nanos,
    plan: &Plan,
    stop: &Stop,
) -> MtuFinding {
    let mut search = MtuSearch::new(interface, known);
    let mut attempt =
        |search: &mut MtuSearch, size, wait, tries| attempt(prober, peer, search, size, wait, tries, stop);
    for _ in 0..STEPS {
        if let Some(size) = search.next() {
            attempt(&mut search, size, wait, plan.tries);
            continue;
        }
        // Before it is said that packets vanish, the size that decides it is given all the time there is.
        match search.in_doubt() {
            Some(size) => attempt(&mut search, size, plan.timeout.max(wait), plan.tries.max(2)),
            None => break,
        }
        if search.next().is_none() || stop.requested() {
            break;
        }
    }
    if stop.requested() { MtuFinding::NotFound { why: "a signal ended the check".into() } } else { search.finding() }
}

/// Sends packets of `size` bytes until one is answered, or told to be too big, or all tries were silent.
fn attempt(
    prober: &mut impl Prober,
    peer: IpAddr,
    search: &mut MtuSearch,
    size: u32,
    wait: Nanos,
    tries: u32,
    stop: &Stop,
) {
    for _ in 0..tries {
        if let Err(error) = prober.send(size) {
            if error.raw_os_error() == Some(libc::EMSGSIZE) {
                return search.told(size, None, None);
            }
            continue;
        }
        let give_up = Monotonic::now().after(wait);
        loop {
            match prober.hear(give_up, stop) {
                // A late reply to another size is worth as much.
                Heard::Reply { size: of, .. } => {
                    search.passes(of);
                    if of >= size {
                        return;
                    }
                }
                Heard::Report { size: of, report } => {
                    if let Some(IcmpError::TooBig { mtu }) = seen::icmp(&report, peer) {
                        search.told(of, mtu, report.from.map(|from| from.to_string()));
                        if of <= size {
                            return;
                        }
                    }
                }
                Heard::Nothing => break,
                Heard::Stopped => return,
            }
        }
    }
    search.vanishes(size);
}
