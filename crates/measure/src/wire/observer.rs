//! Takes the packets of a measurement as they pass and keeps the data that the end needs, in bounded memory.
//!
//! Not here: the choice of the measurement's own flows, and their expected counts ([`super::judge`]).

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::stream::Octets;
use super::{Mark, Seen, Segment, Way, What};

/// Flows that are told apart; packets of others are counted together. All ports of one address.
const FLOWS: usize = 65_536;
/// Times kept at most; beyond, every other one is left out.
const TIMES: usize = 1 << 19;
/// Requests on their way whose replies are told by number: so many places, and in each so many. Flows whose numbers run side by side may share all
/// their places for as long as they run.
const PLACES: usize = 1_024;
const IN_EACH: usize = 4;

/// Settings of an observer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// Index of the interface that the measurement should cross.
    pub interface: u32,
    /// The largest packet it takes, bytes of IP; longer ones were merged.
    pub mtu_bytes: Option<u32>,
    /// Length of the datagrams that segmentation offload cuts; absent: each packet is one.
    pub segment_bytes: Option<u32>,
    /// True where no message carries a number and one is out at a time: then a reply belongs to the request before it.
    pub in_turn: bool,
}

/// Watches.
#[derive(Debug)]
pub struct Observer {
    setting: Setting,
    index: BTreeMap<(SocketAddr, SocketAddr), u32>,
    flows: Vec<Flow>,
    pending: Vec<[Option<Pending>; IN_EACH]>,
    times: Vec<Time>,
    /// Number of times of which one is kept.
    stride: u64,
    offered: u64,
    /// Packets of flows beyond those that are told apart.
    beyond: u64,
}

/// A request on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pending {
    flow: u32,
    number: u64,
    at_ns: u64,
}

/// From a request's departure to its reply's arrival, on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// Place of its flow in [`Observed::flows`].
    pub flow: u32,
    /// Passage of the request, nanoseconds since 1970.
    pub at_ns: u64,
    /// Duration, nanoseconds; below zero where the clock was stepped.
    pub took_ns: i64,
    /// True where it is of a handshake: SYN to SYN-ACK.
    pub of_handshake: bool,
}

/// One flow, both ways.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Our end.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
    /// To the peer.
    pub out: OneWay,
    /// From the peer.
    pub back: OneWay,
    /// Its handshakes; of TCP alone.
    pub handshakes: Handshakes,
    turn: Turn,
    opening: Option<Opening>,
}

/// One way of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OneWay {
    /// Packets.
    pub packets: u64,
    /// Datagrams that are recorded, or say nothing of themselves.
    pub datagrams: u64,
    /// Datagrams that belong to it and are not recorded.
    pub aside: u64,
    /// Octets of a connection.
    pub octets: Octets,
    /// Packets longer than the interface takes: merged before or after it.
    pub merged: u64,
    /// The longest packet, bytes of IP.
    pub longest_bytes: u32,
    /// Later fragments of datagrams.
    pub fragments: u64,
    /// Packets that passed another interface, and its index.
    pub elsewhere: Option<(u32, u64)>,
}

/// Handshakes of a flow's connections, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshakes {
    /// Connections asked for: SYNs, but for those sent again.
    pub asked: u64,
    /// SYNs sent again.
    pub asked_again: u64,
    /// Connections whose SYN-ACK came.
    pub answered: u64,
    /// Connections that we acknowledged after that: made.
    pub made: u64,
    /// Connections that the peer reset before they were made.
    pub refused: u64,
}

/// A handshake under way.
#[derive(Clone, Copy, Debug)]
struct Opening {
    ours: u32,
    at_ns: u64,
    theirs: Option<u32>,
}

/// One request and its reply, where neither has a number.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    first_out: Option<u64>,
    last_in: Option<u64>,
}

/// Result of an observer.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The flows, in the order in which they appeared.
    pub flows: Vec<Flow>,
    /// Times on the wire, in the order of their replies.
    pub times: Vec<Time>,
    /// Number of such times of which one was kept.
    pub stride: u64,
    /// Packets of more flows than are told apart: nothing is known of them.
    pub beyond: u64,
}

impl Observer {
    /// An observer that has its memory.
    pub fn new(setting: Setting) -> Self {
        Self {
            setting,
            index: BTreeMap::new(),
            flows: Vec::with_capacity(64),
            pending: vec![[None; IN_EACH]; PLACES],
            times: Vec::with_capacity(TIMES),
            stride: 1,
            offered: 0,
            beyond: 0,
        }
    }

    /// Takes a packet.
    pub fn take(&mut self, seen: &Seen) {
        let Some(place) = self.flow_of(seen) else {
            self.beyond += 1;
            return;
        };
        let flow = &mut self.flows[place as usize];
        let way = if seen.way == Way::Out { &mut flow.out } else { &mut flow.back };
        if seen.interface != self.setting.interface {
            let count = way.elsewhere.map_or(0, |(_, count)| count);
            way.elsewhere = Some((seen.interface, count + 1));
            return;
        }
        way.packets += 1;
        way.longest_bytes = way.longest_bytes.max(seen.packet_bytes);
        way.merged += u64::from(self.setting.mtu_bytes.is_some_and(|mtu| seen.packet_bytes > mtu));
        let time = match seen.what {
            What::Fragment => {
                way.fragments += 1;
                None
            }
            What::Datagram => self.datagram(place, seen),
            What::Segment(segment) => self.segment(place, seen, segment),
        };
        if let Some(time) = time {
            self.keep(time);
        }
    }

    fn flow_of(&mut self, seen: &Seen) -> Option<u32> {
        let key = (seen.local, seen.remote);
        if let Some(place) = self.index.get(&key) {
            return Some(*place);
        }
        if self.flows.len() >= FLOWS {
            return None;
        }
        let place = self.flows.len() as u32;
        self.index.insert(key, place);
        self.flows.push(Flow::new(seen.local, seen.remote));
        Some(place)
    }

    fn datagram(&mut self, place: u32, seen: &Seen) -> Option<Time> {
        let each = self.setting.segment_bytes.filter(|each| *each > 0);
        let count = each.map_or(1, |each| u64::from(seen.payload_bytes.div_ceil(each)).max(1));
        let flow = &mut self.flows[place as usize];
        let way = if seen.way == Way::Out { &mut flow.out } else { &mut flow.back };
        if seen.mark == Mark::Aside {
            way.aside += count;
            return None;
        }
        way.datagrams += count;
        self.time(place, seen)
    }

    fn segment(&mut self, place: u32, seen: &Seen, segment: Segment) -> Option<Time> {
        let flow = &mut self.flows[place as usize];
        let of_handshake = flow.handshake(place, seen, segment);
        let way = if seen.way == Way::Out { &mut flow.out } else { &mut flow.back };
        let first = segment.number.wrapping_add(u32::from(segment.syn));
        let fresh = way.octets.take(first, seen.payload_bytes);
        if fresh == 0 || seen.mark == Mark::Aside {
            return of_handshake;
        }
        of_handshake.or(self.time(place, seen))
    }

    /// Returns the time that a reply, or the request after it, completes.
    fn time(&mut self, place: u32, seen: &Seen) -> Option<Time> {
        if let Mark::Number(number) = seen.mark {
            // Flows count alike: each starts at another place.
            let held = &mut self.pending[(number as usize).wrapping_add(place as usize * 61) % PLACES];
            let is_it = |asked: &Pending| (asked.flow, asked.number) == (place, number);
            if seen.way == Way::Out {
                // In place of itself where it is sent again, of nobody, or of the one that has waited longest.
                let slot = held.iter_mut().min_by_key(|slot| match slot {
                    Some(asked) if is_it(asked) => (0, 0),
                    None => (1, 0),
                    Some(asked) => (2, asked.at_ns),
                });
                if let Some(slot) = slot {
                    *slot = Some(Pending { flow: place, number, at_ns: seen.at_ns });
                }
                return None;
            }
            let asked = held.iter_mut().find_map(|slot| slot.take_if(|asked| is_it(asked)))?;
            return Some(Time::between(place, asked.at_ns, seen.at_ns, false));
        }
        if !self.setting.in_turn {
            return None;
        }
        self.flows[place as usize].turn.take(place, seen)
    }

    fn keep(&mut self, time: Time) {
        let wanted = self.offered.is_multiple_of(self.stride);
        self.offered += 1;
        if !wanted {
            return;
        }
        if self.times.len() == TIMES {
            let mut number = 0_u64;
            self.times.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride *= 2;
            if !(self.offered - 1).is_multiple_of(self.stride) {
                return;
            }
        }
        self.times.push(time);
    }

    /// Returns the flows and their times.
    pub fn finish(mut self) -> Observed {
        for place in 0..self.flows.len() {
            if let Some(last) = self.flows[place].turn.last(place as u32) {
                self.keep(last);
            }
        }
        Observed { flows: self.flows, times: self.times, stride: self.stride, beyond: self.beyond }
    }
}

impl Time {
    fn between(flow: u32, from: u64, to: u64, of_handshake: bool) -> Self {
        Self { flow, at_ns: from, took_ns: to.wrapping_sub(from).cast_signed(), of_handshake }
    }
}

impl Turn {
    /// A time runs from the first packet of a request to the last of its reply, which the next request shows.
    fn take(&mut self, place: u32, seen: &Seen) -> Option<Time> {
        if seen.way == Way::In {
            self.last_in = self.first_out.map(|_| seen.at_ns);
            return None;
        }
        let done = self.last(place);
        if done.is_some() || self.first_out.is_none() {
            *self = Self { first_out: Some(seen.at_ns), last_in: None };
        }
        done
    }

    fn last(&self, place: u32) -> Option<Time> {
        let (from, to) = self.first_out.zip(self.last_in)?;
        Some(Time::between(place, from, to, false))
    }
}

impl Flow {
    fn new(local: SocketAddr, remote: SocketAddr) -> Self {
        Self {
            local,
            remote,
            out: OneWay::default(),
            back: OneWay::default(),
            handshakes: Handshakes::default(),
            turn: Turn::default(),
            opening: None,
        }
    }

    /// Takes a segment into the handshake under way; returns the time of one that its SYN-ACK completes.
    fn handshake(&mut self, place: u32, seen: &Seen, segment: Segment) -> Option<Time> {
        match (seen.way, segment.syn, segment.rst) {
            (Way::Out, true, _) => {
                if self.opening.is_some_and(|opening| opening.ours == segment.number) {
                    self.handshakes.asked_again += 1;
                } else {
                    self.handshakes.asked += 1;
                    self.out.octets.open(segment.number.wrapping_add(1));
                    self.opening = Some(Opening { ours: segment.number, at_ns: seen.at_ns, theirs: None });
                }
                None
            }
            (Way::In, true, _) => {
                let opening = self.opening.as_mut()?;
                if opening.theirs.is_some() || segment.acknowledges != opening.ours.wrapping_add(1) {
                    return None;
                }
                opening.theirs = Some(segment.number);
                self.handshakes.answered += 1;
                let began = opening.at_ns;
                self.back.octets.open(segment.number.wrapping_add(1));
                Some(Time::between(place, began, seen.at_ns, true))
            }
            (Way::In, false, true) => {
                let refused = self.opening.take_if(|opening| opening.theirs.is_none());
                self.handshakes.refused += u64::from(refused.is_some());
                None
            }
            (Way::Out, false, false) => {
                let acknowledged = |opening: &Opening| {
                    segment.ack && opening.theirs.is_some_and(|theirs| segment.acknowledges == theirs.wrapping_add(1))
                };
                if self.opening.as_ref().is_some_and(acknowledged) {
                    self.opening = None;
                    self.handshakes.made += 1;
                }
                None
            }
            _ => None,
        }
    }
}
