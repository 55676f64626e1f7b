//! The hops of some of the connections that a record tells of, traced once they are measured.

use std::net::SocketAddr;

use endpoint::clock::Monotonic;
use endpoint::hops::{Flow, ROUNDS, manner, path_mtu, trace};
use endpoint::stop::Stop;
use logbook::record::{Ended, Record};
use measure::hops::{Manner, Walk, choose, judge, so_far};
use measure::method::{Carrier, SocketOptions};
use measure::outcome::Outcome;
use measure::outcome::hops::{Hops, PathMtu, Probing, Side};
use measure::unit::{Instant, Nanos};
use report::text::hops::screen;

use crate::output::Output;
use crate::signal::Interruption;

/// The trace that is wished for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracing {
    /// The largest TTL.
    pub max_hops: u8,
    /// The course of one that goes on; absent: the usual rounds.
    pub live: Option<Live>,
    /// True where the largest packets are looked for too.
    pub mtu: bool,
}

/// A trace that goes on until somebody ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// So many rounds at the most.
    pub rounds: u32,
    /// No round begins later.
    pub time: Option<Nanos>,
    /// True where it may be watched on a terminal.
    pub watched: bool,
}

/// The record with the hops of some of its connections; as it was where it was cut short, or has none.
pub fn traced(
    mut record: Record,
    tracing: &Tracing,
    stop: &Stop,
    interruption: &Interruption,
    output: &Output,
) -> Record {
    let carrier = record.method.traffic.carrier();
    let Some(outcome) = record.outcome.as_mut().filter(|_| !stop.requested()) else { return record };
    let groups: Vec<Vec<u32>> =
        outcome.flows.iter().flat_map(|flows| flows.groups.iter().flatten()).map(|group| group.flows.clone()).collect();
    let groups: Vec<&[u32]> = groups.iter().map(Vec::as_slice).collect();
    let chosen = choose(&groups, outcome.sockets.len() as u32);
    let protocol = match carrier {
        Carrier::Udp => Probing::Udp,
        Carrier::Icmp => Probing::Icmp,
        _ => Probing::Tcp,
    };
    let first_identifier = (record.head.id.as_u128() & 0x7fff) as u16 + 1;
    let addresses = |flow| match protocol {
        Probing::Icmp => echoing(outcome, flow, first_identifier),
        Probing::Tcp | Probing::Udp => addresses(outcome, flow),
    };
    let flows: Vec<Flow> = chosen.into_iter().filter_map(addresses).collect();
    if flows.is_empty() {
        return record;
    }
    let rounds = tracing.live.map_or(ROUNDS, |live| live.rounds);
    let manner = Manner { rounds, ..manner(protocol, tracing.max_hops) };
    let peer = record.target.address;
    let head = report::text::hops::method(protocol, flows.len(), peer.is_ipv6());
    let mut watch = Watch { live: tracing.live, head, peer, end: end(tracing.live), rounds, done: 0, output };
    watch.tell(&[]);
    let walks = trace(&flows, manner, &record.method.socket, stop, &mut |round, walks| watch.goes_on(round, walks));
    output.progress_done();
    let manner = Manner { rounds: watch.done, ..manner };
    let mut hops = judge(walks, &groups, peer, manner);
    if tracing.mtu {
        if output.shows_progress() {
            output.progress(&format!("{peer}: the largest packets, hop by hop"));
        }
        hops.mtu = sizes(&hops, &flows, &record.method.socket, stop);
        output.progress_done();
    }
    outcome.hops = Some(hops);
    if let (true, Some(signal)) = (stop.requested(), interruption.signal()) {
        record.ended = Ended::Interrupted { signal: signal.name().to_owned() };
    }
    record
}

/// The largest packets of the first flow of each side, where they were found.
fn sizes(hops: &Hops, flows: &[Flow], options: &SocketOptions, stop: &Stop) -> Vec<PathMtu> {
    let of_side = |side: &Side| {
        let flow = flows.iter().find(|flow| side.flows.first() == Some(&flow.flow))?;
        let answering: Vec<u8> = side.hops.iter().filter(|hop| hop.answered > 0).map(|hop| hop.ttl).collect();
        // A host that lets no datagram out says nothing of its path.
        path_mtu(flow, hops.protocol, &answering, options, stop).ok()
    };
    hops.sides.iter().take_while(|_| !stop.requested()).filter_map(of_side).collect()
}

fn end(live: Option<Live>) -> Instant {
    live.and_then(|live| live.time).map_or(Instant::NEVER, |time| Monotonic::now().after(time))
}

/// The trace as it is watched.
struct Watch<'a> {
    live: Option<Live>,
    head: String,
    peer: std::net::IpAddr,
    /// No round begins later.
    end: Instant,
    rounds: u32,
    done: u32,
    output: &'a Output,
}

impl Watch<'_> {
    fn goes_on(&mut self, round: u32, walks: &[&Walk]) -> bool {
        self.done = round;
        let further = round < self.rounds && Monotonic::now() < self.end;
        if further {
            self.tell(walks);
        }
        further
    }

    fn tell(&self, walks: &[&Walk]) {
        let Self { live, head, peer, rounds, output, .. } = self;
        let round = self.done + 1;
        if live.is_some_and(|live| live.watched) && output.shows_screen() {
            let head = format!("{peer}, round {round}: {head}");
            output.screen(&screen(&head, &so_far(walks, *peer), output.style()));
        } else if output.shows_progress() {
            let of = if *rounds == u32::MAX { String::new() } else { format!(" of {rounds}") };
            output.progress(&format!("{head}, round {round}{of}"));
        }
    }
}

/// The addresses of a connection without ports, with an identifier in the place of ours.
fn echoing(outcome: &Outcome, flow: u32, first_identifier: u16) -> Option<Flow> {
    let socket = outcome.sockets.get(flow as usize)?;
    let identifier = first_identifier.checked_add(flow as u16)?;
    let local = SocketAddr::new(socket.local.parse().ok()?, identifier);
    Some(Flow { flow, local, remote: SocketAddr::new(socket.remote.parse().ok()?, 0) })
}

/// The addresses of a connection, as its socket had them.
fn addresses(outcome: &Outcome, flow: u32) -> Option<Flow> {
    let socket = outcome.sockets.get(flow as usize)?;
    let read = |text: &str| text.parse::<SocketAddr>().ok().filter(|address| address.port() > 0);
    Some(Flow { flow, local: read(&socket.local)?, remote: read(&socket.remote)? })
}
