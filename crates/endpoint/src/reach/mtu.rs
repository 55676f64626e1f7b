//! Whether echo requests are answered, and how large they may be.

use std::net::SocketAddr;

use measure::reach::Seen;
use measure::reach::mtu::{MtuFinding, MtuSearch};
use measure::unit::Nanos;
use protocol::icmp::error::IcmpError;

use super::echo::{Echoer, Heard};
use super::tcp::{since, stopped};
use super::{Plan, seen};
use crate::clock::Monotonic;
use crate::stop::Stop;

/// Bytes of payload of the first echo request: what ping sends.
const PAYLOAD: u32 = 56;
/// A size is waited for at least so long in each try …
const LEAST_WAIT: Nanos = Nanos::millis(200);
/// … and so many times what the small one took.
const ROUND_TRIPS: u64 = 8;
/// Sizes tried at most: twice what halving takes from the largest packet there is.
const STEPS: u32 = 40;

/// Asks for an echo, and where one comes for the largest packet that gets there.
pub(super) fn path(peer: SocketAddr, interface: Option<u32>, plan: &Plan, stop: &Stop) -> (Seen, MtuFinding) {
    let not_found = |why: &str| MtuFinding::NotFound { why: why.to_owned() };
    let mut echoer = match Echoer::open(peer) {
        Ok(echoer) => echoer,
        Err(why) => {
            let mtu = not_found("it is found by echo requests, which cannot be made here");
            return (Seen::NotAsked { why }, mtu);
        }
    };
    let seen = first(&mut echoer, plan, stop);
    let Seen::Answer { after_ns } = seen else {
        return (seen, not_found("echo requests, by which it is found, are not answered"));
    };
    let Some(interface) = interface else { return (seen, not_found("the interface does not tell its own")) };
    let wait = Nanos(after_ns.0.saturating_mul(ROUND_TRIPS)).max(LEAST_WAIT).min(plan.timeout);
    (seen, search(&mut echoer, interface, wait, plan, stop))
}

/// An echo request of the usual size, so often as the plan says.
fn first(echoer: &mut Echoer, plan: &Plan, stop: &Stop) -> Seen {
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
                    let (peer, local) = (echoer.peer.ip(), echoer.local);
                    if let Some(seen) = seen::of_report(&report, peer, local, since(start)) {
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

fn search(echoer: &mut Echoer, interface: u32, wait: Nanos, plan: &Plan, stop: &Stop) -> MtuFinding {
    let mut search = MtuSearch::new(interface, echoer.packet(PAYLOAD));
    for _ in 0..STEPS {
        if let Some(size) = search.next() {
            attempt(echoer, &mut search, size, wait, plan.tries, stop);
            continue;
        }
        // Before it is said that packets vanish, the size that decides it is given all the time there is.
        match search.in_doubt() {
            Some(size) => attempt(echoer, &mut search, size, plan.timeout, plan.tries.max(2), stop),
            None => break,
        }
        if search.next().is_none() || stop.requested() {
            break;
        }
    }
    if stop.requested() { MtuFinding::NotFound { why: "a signal ended the check".into() } } else { search.finding() }
}

/// Sends packets of `size` bytes until one is answered, or told to be too big, or all tries were silent.
fn attempt(echoer: &mut Echoer, search: &mut MtuSearch, size: u32, wait: Nanos, tries: u32, stop: &Stop) {
    for _ in 0..tries {
        if let Err(error) = echoer.send(size) {
            if error.raw_os_error() == Some(libc::EMSGSIZE) {
                return search.told(size, None, None);
            }
            continue;
        }
        let give_up = Monotonic::now().after(wait);
        loop {
            match echoer.hear(give_up, stop) {
                // A late reply to another size is worth as much.
                Heard::Reply { size: of, .. } => {
                    search.passes(of);
                    if of >= size {
                        return;
                    }
                }
                Heard::Report { size: of, report } => {
                    if let Some(IcmpError::TooBig { mtu }) = seen::icmp(&report, echoer.peer.ip()) {
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
