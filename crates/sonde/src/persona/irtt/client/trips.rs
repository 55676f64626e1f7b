//! The round trips of a session as the original knows each: four times, what they make, and what is counted while they come.

use protocol::irtt::reply::{Reply, Time};
use serde::{Serialize, Serializer};

use crate::persona::irtt::client::statistics::Statistics;

/// A round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrip {
    /// Departure of the packet here.
    pub sent: Time,
    /// Arrival of the reply here; absent: there was none.
    pub came: Option<Time>,
    /// Arrival of the packet there.
    pub server_received: Time,
    /// Departure of the reply there.
    pub server_sent: Time,
    /// The server's bits of the packets up to this one; 0: none.
    pub window: u64,
    /// The end of the packet.
    pub lost: Lost,
}

/// The end of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lost {
    /// It was lost either way.
    #[default]
    EitherWay,
    /// Its reply was lost.
    Down,
    /// It was lost on its way there.
    Up,
    /// It was answered.
    No,
}

impl Serialize for Lost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::EitherWay => "true",
            Self::Down => "true_down",
            Self::Up => "true_up",
            Self::No => "false",
        })
    }
}

/// The first time, or the second where there is none by either clock.
fn best(first: Time, second: Time) -> Time {
    if first == Time::default() { second } else { first }
}

/// The span from one time to another, which wraps round as that of the original does.
fn span(from: Option<i64>, to: Option<i64>) -> Option<i64> {
    Some(to?.wrapping_sub(from?))
}

/// The change from one span to the next.
fn change(before: Option<i64>, now: Option<i64>) -> Option<i64> {
    span(before, now)
}

impl RoundTrip {
    /// Time that the server had it; absent where it does not tell of both its ends.
    pub fn held(&self) -> Option<i64> {
        let (received, sent) = (self.server_received, self.server_sent);
        if received == sent {
            return None;
        }
        span(received.monotonic, sent.monotonic).or_else(|| span(received.wall, sent.wall))
    }

    /// Its time, without that at the server where this is known.
    pub fn time(&self) -> Option<i64> {
        let whole = span(self.sent.monotonic, self.came?.monotonic)?;
        Some(whole.wrapping_sub(self.held().unwrap_or(0)))
    }

    /// From here to the server, by both wall clocks.
    pub fn send_delay(&self) -> Option<i64> {
        span(self.sent.wall, best(self.server_received, self.server_sent).wall)
    }

    /// From the server to here, likewise.
    pub fn receive_delay(&self) -> Option<i64> {
        span(best(self.server_sent, self.server_received).wall, self.came?.wall)
    }

    /// Change of its time since the packet before.
    pub fn variation(&self, before: &Self) -> Option<i64> {
        change(before.time(), self.time())
    }

    /// Change of the way to the server: the monotonic clocks need not agree for it, and the wall clocks stand in for them.
    pub fn send_variation(&self, before: &Self) -> Option<i64> {
        let by_monotonic =
            |trip: &Self| span(trip.sent.monotonic, best(trip.server_received, trip.server_sent).monotonic);
        change(by_monotonic(before), by_monotonic(self)).or_else(|| change(before.send_delay(), self.send_delay()))
    }

    /// The same of the way from the server.
    pub fn receive_variation(&self, before: &Self) -> Option<i64> {
        let by_monotonic =
            |trip: &Self| span(best(trip.server_sent, trip.server_received).monotonic, trip.came?.monotonic);
        change(by_monotonic(before), by_monotonic(self))
            .or_else(|| change(before.receive_delay(), self.receive_delay()))
    }
}

/// A reply as the session met it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// The first to its packet; late where one to a later packet came before it.
    New {
        /// True where it is late.
        is_late: bool,
    },
    /// A further one.
    Again,
    /// One to a packet that did not leave.
    Stray,
}

/// The round trips so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trips {
    /// Each packet that left, by its number.
    pub all: Vec<RoundTrip>,
    /// Durations of calls that send.
    pub calls: Statistics,
    /// Times of the replies.
    pub times: Statistics,
    /// Ways to the server.
    pub send_delays: Statistics,
    /// Ways from the server.
    pub receive_delays: Statistics,
    /// The server's count of packets, by its latest reply.
    pub server_count: Option<u32>,
    /// Octets sent.
    pub octets_sent: u64,
    /// Octets received, second replies left out.
    pub octets_received: u64,
    /// Second replies.
    pub duplicates: u64,
    /// Replies that a later packet's overtook.
    pub late: u64,
    /// Arrivals of the first reply and of the latest, by the monotonic clock.
    pub received: Option<(i64, i64)>,
    /// Departure of the first packet, and the end of the latest call that sent one.
    pub sent: Option<(i64, i64)>,
    /// Number of the packet whose reply came latest.
    latest: usize,
}

impl Trips {
    /// A packet of `length` octets left by a call that began at `at` and ended at `ended` by the monotonic clock.
    pub fn sent(&mut self, at: Time, ended: i64, length: usize) {
        let began = at.monotonic.unwrap_or(ended);
        self.all.push(RoundTrip { sent: at, ..RoundTrip::default() });
        self.calls.push(ended.wrapping_sub(began));
        self.octets_sent += length as u64;
        self.sent = Some((self.sent.map_or(began, |(first, _)| first), ended));
    }

    /// A reply of `length` octets came at `at`.
    pub fn came(&mut self, at: Time, length: usize, reply: &Reply) -> Met {
        let number = reply.number as usize;
        let Some(trip) = self.all.get_mut(number) else { return Met::Stray };
        if trip.came.is_some() {
            self.duplicates += 1;
            return Met::Again;
        }
        let is_late = number < self.latest;
        self.late += u64::from(is_late);
        self.latest = number;
        (trip.came, trip.server_received, trip.server_sent) = (Some(at), reply.received, reply.sent);
        (trip.lost, trip.window) = (Lost::No, reply.window.unwrap_or(0));
        let trip = *trip;
        trip.time().into_iter().for_each(|nanos| self.times.push(nanos));
        trip.send_delay().into_iter().for_each(|nanos| self.send_delays.push(nanos));
        trip.receive_delay().into_iter().for_each(|nanos| self.receive_delays.push(nanos));
        let now = at.monotonic.unwrap_or(0);
        self.received = Some((self.received.map_or(now, |(first, _)| first), now));
        self.server_count = reply.count.or(self.server_count);
        self.octets_received += length as u64;
        Met::New { is_late }
    }

    /// The packet before this number, where there is one.
    pub fn before(&self, number: usize) -> Option<&RoundTrip> {
        self.all.get(number.checked_sub(1)?)
    }

    /// Finds by the server's bits on which way packets were lost. One that reached the server was lost on the way back.
    pub fn find_ways(&mut self) {
        for number in 0..self.all.len() {
            let (before, rest) = self.all.split_at_mut(number);
            let window = rest.first().map_or(0, |trip| trip.window);
            if window & 1 == 0 {
                continue;
            }
            for (trip, back) in before.iter_mut().rev().zip(1..u64::BITS) {
                trip.lost = match (trip.lost, window >> back & 1 != 0) {
                    (Lost::No, _) => Lost::No,
                    (_, true) | (Lost::Down, false) => Lost::Down,
                    (Lost::EitherWay | Lost::Up, false) => Lost::Up,
                };
            }
        }
    }
}

#[cfg(test)]
mod tests;
