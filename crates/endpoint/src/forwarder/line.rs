//! One direction of an impaired link: the result of each packet, and its departure. No I/O, no clock: instants come in.
//!
//! Every packet draws the same number of times, whatever its result, so that the result depends on the seed and on its
//! place among the packets alone. A lost packet takes nothing of the rate: it is lost before the bottleneck. Waiting
//! for the line and the line itself come first, then the delay, whose packets wait in no queue.
//!
//! Where one protocol alone is impaired, packets of others pass all of that.
//!
//! Invariant: `taken + duplicated = lost + dropped + delivered + refused + held`.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use measure::unit::{Bytes, Instant, Nanos};

/// Impairment of packets. The default lets all pass at once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impairment {
    /// Time on the way.
    pub delay: Nanos,
    /// The delay is uniform within so much to either side, never below zero; packets overtake each other.
    pub jitter: Nanos,
    /// Share of packets that are lost, 0 to 1.
    pub loss: f64,
    /// Share of packets of which a second copy is made, 0 to 1.
    pub duplicate: f64,
    /// Share of packets that skip the delay, 0 to 1.
    pub reorder: f64,
    /// Bits of IP a second that the line takes; `None`: as many as come.
    pub bits_per_s: Option<u64>,
    /// Bytes that wait for the line at most, the one on it included; a packet beyond is dropped. One that
    /// finds the line free passes. Means nothing without a rate.
    pub queue: Bytes,
    /// Packets of this protocol alone are meant; all others pass at once. `None`: all are.
    pub only: Option<Protocol>,
}

/// Protocol that an IP packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// ICMP, of IPv4 or IPv6.
    Icmp,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Protocol {
    /// Returns the protocol of `packet`, where it is one of these and stands right behind the IP header.
    fn of(packet: &[u8]) -> Option<Self> {
        let number = match packet.first()? >> 4 {
            4 => packet.get(9)?,
            6 => packet.get(6)?,
            _ => return None,
        };
        match number {
            1 | 58 => Some(Self::Icmp),
            6 => Some(Self::Tcp),
            17 => Some(Self::Udp),
            _ => None,
        }
    }
}

/// Counts of the packets of one direction, by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Packets that came in.
    pub taken: u64,
    /// Bytes of IP of them.
    pub taken_bytes: Bytes,
    /// Packets that went out.
    pub delivered: u64,
    /// Bytes of IP of them.
    pub delivered_bytes: Bytes,
    /// Packets lost by chance.
    pub lost: u64,
    /// Second copies made.
    pub duplicated: u64,
    /// Packets that skipped the delay.
    pub reordered: u64,
    /// Packets dropped because the queue was full.
    pub dropped: u64,
    /// Packets that the far interface did not take.
    pub refused: u64,
    /// Packets that were on the way at the end.
    pub held: u64,
}

/// A packet on its way.
#[derive(Debug)]
pub struct Packet {
    due: Instant,
    order: u64,
    bytes: Vec<u8>,
}

/// One direction.
#[derive(Debug)]
pub struct Line {
    impairment: Impairment,
    draws: Draws,
    underway: BinaryHeap<Packet>,
    /// Time at which the line has sent all packets that wait for it.
    free_at: Instant,
    order: u64,
    counts: Counts,
    /// Room of packets that are gone.
    spare: Vec<Vec<u8>>,
}

/// Packets underway at most, whatever the settings: memory is bounded.
const MOST: usize = 1 << 16;

impl Line {
    /// A line with this impairment; `number` separates the two directions of a seed.
    pub fn new(impairment: Impairment, seed: u64, number: u64) -> Self {
        Self {
            impairment,
            draws: Draws(seed.wrapping_mul(2).wrapping_add(number)),
            underway: BinaryHeap::new(),
            free_at: Instant(0),
            order: 0,
            counts: Counts::default(),
            spare: Vec::new(),
        }
    }

    /// A packet comes in at `now`.
    pub fn take(&mut self, now: Instant, packet: &[u8]) {
        let Impairment { loss, duplicate, reorder, only, .. } = self.impairment;
        let [lost, doubled, ahead] = [loss, duplicate, reorder].map(|share| self.draws.share() < share);
        let sway = self.draws.share();
        self.counts.taken += 1;
        self.counts.taken_bytes.0 += packet.len() as u64;
        if only.is_some_and(|only| Protocol::of(packet) != Some(only)) {
            return self.pass(now, packet);
        }
        if lost {
            self.counts.lost += 1;
            return;
        }
        self.counts.reordered += u64::from(ahead);
        self.counts.duplicated += u64::from(doubled);
        let delay = if ahead { Nanos::ZERO } else { self.delay(sway) };
        for _ in 0..=u64::from(doubled) {
            match self.through(now, packet.len()) {
                Some(through) => self.send(through.after(delay), packet),
                None => self.counts.dropped += 1,
            }
        }
    }

    /// A packet that is not meant passes at once, but for the bound on memory.
    fn pass(&mut self, now: Instant, packet: &[u8]) {
        if self.underway.len() < MOST {
            self.send(now, packet);
        } else {
            self.counts.dropped += 1;
        }
    }

    /// Returns the departure of the next packet; `None`: none is under way.
    pub fn due(&self) -> Option<Instant> {
        self.underway.peek().map(|packet| packet.due)
    }

    /// The next that is due by `now`; to be handed back with [`Line::left`].
    pub fn leave(&mut self, now: Instant) -> Option<Packet> {
        if self.due()? > now { None } else { self.underway.pop() }
    }

    /// Takes back a packet of [`Line::leave`], and counts it as `delivered` or refused.
    pub fn left(&mut self, packet: Packet, delivered: bool) {
        if delivered {
            self.counts.delivered += 1;
            self.counts.delivered_bytes.0 += packet.bytes.len() as u64;
        } else {
            self.counts.refused += 1;
        }
        self.spare.push(packet.bytes);
    }

    /// Returns the counts of all packets so far.
    pub fn counts(&self) -> Counts {
        Counts { held: self.underway.len() as u64, ..self.counts }
    }

    /// Returns the time at which a packet that arrives now has passed the line; `None`: there is no room for it.
    fn through(&mut self, now: Instant, length: usize) -> Option<Instant> {
        if self.underway.len() >= MOST {
            return None;
        }
        let Some(rate) = self.impairment.bits_per_s.filter(|rate| *rate > 0) else { return Some(now) };
        let time = |bytes: u64| Nanos((u128::from(bytes) * 8_000_000_000 / u128::from(rate)) as u64);
        let begins = self.free_at.max(now);
        let passed = begins.after(time(length as u64));
        // The queue is measured by the time that it takes: all of it has to fit, this packet included.
        if begins > now && passed.since(now)? > time(self.impairment.queue.0) {
            return None;
        }
        self.free_at = passed;
        Some(passed)
    }

    fn delay(&self, sway: f64) -> Nanos {
        let Impairment { delay, jitter, .. } = self.impairment;
        let moved = delay.0 as f64 + (2.0 * sway - 1.0) * jitter.0 as f64;
        if jitter == Nanos::ZERO { delay } else { Nanos(moved.max(0.0) as u64) }
    }

    fn send(&mut self, due: Instant, packet: &[u8]) {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(packet);
        self.underway.push(Packet { due, order: self.order, bytes });
        self.order += 1;
    }
}

impl Packet {
    /// Returns the packet's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Ord for Packet {
    /// The heap gives the greatest first: that is the earliest due, and of those due together the first that came.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.order).cmp(&(self.due, self.order))
    }
}

impl PartialOrd for Packet {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Packet {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Packet {}

/// Seeded chance: the `SplitMix64` generator (Steele, Lea, Flood 2014), the same on every machine.
#[derive(Clone, Debug)]
struct Draws(u64);

impl Draws {
    /// Uniform in 0 ≤ x < 1.
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests;
