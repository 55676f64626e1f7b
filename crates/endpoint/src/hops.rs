//! Probes with a growing TTL, from ordinary sockets: the socket's error queue names the router where each ends, until
//! the peer answers.
//!
//! All probes of a flow have its addresses and ports, so that a router that balances load by them chooses the same
//! path. Each is alone under way in its flow, from a socket of its own; flows run beside each other. A hop is asked by
//! one flow once a round, and rounds are a second apart, for hosts limit their errors to about one a second.

mod beside;
mod mtu;
mod probe;

use std::net::SocketAddr;
use std::os::fd::AsFd;

use measure::hops::{Answer, Manner, Probe, Says, Walk};
use measure::method::SocketOptions;
use measure::outcome::hops::Probing;
use measure::unit::Nanos;
use socket2::{Domain, Socket, Type};

use crate::clock::Monotonic;
use crate::random;
use crate::socket;
use crate::stop::Stop;
pub use beside::Probes;
pub use mtu::path_mtu;
use probe::{Content, Heard, Out, usual};

/// Times that each hop is asked.
pub const ROUNDS: u32 = 5;
/// The wait for an answer: TCP sends its SYN again after a second, and that must not happen.
pub const TIMEOUT: Nanos = Nanos::millis(900);
/// Default of the largest TTL.
pub const MAX_HOPS: u8 = 32;
/// Between two rounds.
const PAUSE: Nanos = Nanos::secs(1);
/// Hops in a row without any answer after which a walk ends: in the first round, and after it.
const SILENT: (u8, u8) = (5, 1);

/// A flow to trace; ICMP has its identifier in the place of our port, and none in the place of the peer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The number of its connection from 0.
    pub flow: u32,
    /// Our address and port.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
}

/// The manner in which connections over `protocol` are traced, at most so far.
pub fn manner(protocol: Probing, max_hops: u8) -> Manner {
    Manner { protocol, rounds: ROUNDS, max_hops, timeout: TIMEOUT }
}

/// Traces `flows`, by sockets with `options`. After each round, from 1, `goes_on` receives its number and all walks so
/// far, and returns true for another round. Where `stop` is requested, returns the answers so far.
pub fn trace(
    flows: &[Flow],
    manner: Manner,
    options: &SocketOptions,
    stop: &Stop,
    goes_on: &mut dyn FnMut(u32, &[&Walk]) -> bool,
) -> Vec<Walk> {
    socket::raise_descriptor_limit();
    // Stamping begins a moment after the first socket asks for it, and ends with the last: this one asks all the time.
    let stamping = Socket::new(Domain::IPV4, Type::DGRAM, None).ok();
    let _asked = stamping.as_ref().map(probe::stamp_arrivals);
    let mut walkers: Vec<Walker<'_>> = flows.iter().map(|flow| Walker::new(*flow, manner, options)).collect();
    let mut farthest = 0;
    for round in 1..=manner.rounds {
        if round > 1 && stop.wait(Monotonic::now().after(PAUSE)) {
            break;
        }
        // A hop that limits its answers has some for the first who ask: those that have fewest so far.
        walkers.sort_by_key(|walker| walker.answers);
        let allowance = if round == 1 { SILENT.0 } else { SILENT.1 };
        for walker in &mut walkers {
            walker.begin(round, farthest, allowance);
        }
        let whole = run(&mut walkers, stop);
        farthest = walkers.iter().map(|walker| walker.farthest).max().unwrap_or(0);
        walkers.sort_by_key(|walker| walker.flow.flow);
        let walks: Vec<&Walk> = walkers.iter().map(|walker| &walker.walk).collect();
        let further = goes_on(round, &walks) && walks.iter().any(|walk| walk.failed.is_none());
        if !whole || !further {
            break;
        }
    }
    walkers.sort_by_key(|walker| walker.flow.flow);
    walkers.into_iter().map(|walker| walker.walk).collect()
}

/// Waits until all walks of the round are over; `false` where the end was requested.
fn run(walkers: &mut [Walker<'_>], stop: &Stop) -> bool {
    loop {
        let out: Vec<&Out> = walkers.iter().filter_map(|walker| walker.out.as_ref()).collect();
        let Some(first) = out.iter().map(|out| out.until).min() else { return true };
        let sockets: Vec<_> = out.iter().map(|out| out.socket.as_fd()).collect();
        stop.wait_or_events(&sockets, out[0].events(), first);
        if stop.requested() {
            return false;
        }
        for walker in walkers.iter_mut() {
            walker.look();
        }
    }
}

/// A flow on its way.
struct Walker<'a> {
    flow: Flow,
    manner: Manner,
    options: &'a SocketOptions,
    walk: Walk,
    /// The probe that is under way.
    out: Option<Out>,
    round: u32,
    ttl: u8,
    /// The farthest TTL that was answered, of all flows in the rounds before, of this one in this round.
    farthest: u8,
    /// A walk ends so far behind it.
    allowance: u8,
    answers: u32,
    /// The random number that echo requests of this flow carry.
    nonce: u32,
}

impl<'a> Walker<'a> {
    fn new(flow: Flow, manner: Manner, options: &'a SocketOptions) -> Self {
        let (nonce, failed) = match random::bytes::<4>() {
            Ok(octets) => (u32::from_be_bytes(octets), None),
            Err(error) => (0, Some(crate::error::plain(&error))),
        };
        let walk = Walk { flow: flow.flow, failed, ..Walk::default() };
        Self { flow, manner, options, walk, out: None, round: 0, ttl: 0, farthest: 0, allowance: 0, answers: 0, nonce }
    }

    fn begin(&mut self, round: u32, farthest: u8, allowance: u8) {
        (self.round, self.ttl, self.farthest, self.allowance) = (round, 0, farthest, allowance);
        self.send();
    }

    /// Sends the next probe; where it does not leave, the flow is over.
    fn send(&mut self) {
        if self.walk.failed.is_some() {
            return;
        }
        self.ttl += 1;
        let content = Content { nonce: self.nonce, octets: usual(self.manner.protocol) };
        match Out::send(&self.flow, self.manner, self.options, (self.round, self.ttl), content) {
            Ok(out) => self.out = Some(out),
            Err(reason) => self.walk.failed = Some(reason),
        }
    }

    /// Checks the result of the probe, and continues where it is over.
    fn look(&mut self) {
        let Some(out) = &self.out else { return };
        let answer = match out.look(&self.flow) {
            Heard::Answer(answer) => Some(answer),
            Heard::Nothing if Monotonic::now() < out.until => return,
            Heard::Nothing | Heard::Over => None,
            Heard::Failed(reason) => {
                self.walk.failed = Some(reason);
                self.out = None;
                return;
            }
        };
        self.out = None;
        self.walk.probes.push(Probe { ttl: self.ttl, answer });
        if answer.is_some() {
            self.answers += 1;
            self.farthest = self.farthest.max(self.ttl);
        }
        let passed = answer.is_none_or(|answer: Answer| answer.says == Says::Passed);
        let hopeless = self.ttl >= self.farthest.saturating_add(self.allowance);
        if passed && !hopeless && self.ttl < self.manner.max_hops {
            self.send();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use measure::hops::judge;
    use test_case::test_case;
    use testbed::port;

    use super::*;

    fn traced(protocol: Probing, remote: SocketAddr) -> Vec<Walk> {
        let local = if protocol == Probing::Icmp { 4711 } else { port::free() };
        let manner = Manner { rounds: 1, ..manner(protocol, 1) };
        let flow = Flow { flow: 3, local: SocketAddr::new(remote.ip(), local), remote };
        trace(&[flow], manner, &SocketOptions::default(), &Stop::default(), &mut |_, _| true)
    }

    #[test_case("127.0.0.1:0"; "v4")]
    #[test_case("[::1]:0"; "v6")]
    fn a_peer_on_this_host_is_the_first_hop_open_or_not(at: &str) {
        let open = TcpListener::bind(at).unwrap();
        let datagrams = UdpSocket::bind(at).unwrap();
        let peer = open.local_addr().unwrap().ip();
        let free = SocketAddr::new(peer, port::free());
        for (protocol, remote, says) in [
            (Probing::Tcp, open.local_addr().unwrap(), Some(Says::Reached)),
            (Probing::Tcp, free, Some(Says::Reached)),
            (
                Probing::Udp,
                free,
                Some(if at.starts_with('[') { Says::Unreachable(1, 4) } else { Says::Unreachable(3, 3) }),
            ),
            (Probing::Udp, datagrams.local_addr().unwrap(), None),
            (Probing::Icmp, SocketAddr::new(peer, 0), Some(Says::Reached)),
        ] {
            let walks = traced(protocol, remote);
            let first = walks[0].probes[0];
            assert_eq!(first.answer.map(|answer| answer.says), says, "{protocol:?} {remote}: {walks:?}");
            assert!(first.answer.is_none_or(|answer| answer.time < TIMEOUT));
            let hops = judge(walks, &[], peer, manner(protocol, 1));
            assert_eq!((hops.each[0].flow, hops.each[0].reached), (3, says.map(|_| 1)));
        }
    }

    #[test]
    fn a_port_that_is_taken_ends_the_flow_with_the_reason() {
        let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
        let flow = Flow { flow: 0, local: taken.local_addr().unwrap(), remote: "127.0.0.1:9".parse().unwrap() };
        let walks =
            trace(&[flow], manner(Probing::Udp, 4), &SocketOptions::default(), &Stop::default(), &mut |_, _| true);
        assert!(walks[0].failed.is_some() && walks[0].probes.is_empty(), "{walks:?}");
    }

    #[test]
    fn who_is_asked_to_stop_hands_over_what_there_is() {
        let stop = Stop::default();
        stop.request();
        let flow = Flow { flow: 0, local: "127.0.0.1:0".parse().unwrap(), remote: "127.0.0.1:9".parse().unwrap() };
        let walks = trace(&[flow], manner(Probing::Udp, 4), &SocketOptions::default(), &stop, &mut |_, _| true);
        assert_eq!((walks.len(), walks[0].probes.len()), (1, 0));
    }
}
