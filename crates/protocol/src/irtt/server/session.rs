//! One session of a server: the rate of its packets, its counts, and its replies.

use std::net::SocketAddr;

use measure::unit::{Instant, Nanos};

use super::event::Dropped;
use super::{Arrival, GRACE, Moment, Reply, Rules, TOKEN, has};
use crate::irtt::fill::Filler;
use crate::irtt::parameters::{COUNT, MIDPOINT, MONOTONIC, Parameters, RECEIVE, SEND, WALL, WINDOW};
use crate::irtt::{CLOSE, HEAD, MAGIC, REPLY, SEALED_FLAG};

/// Time beyond the longest one of a session after which it is ended.
const DURATION_GRACE: Nanos = Nanos::secs(2);
/// Octets of a packet's number.
const NUMBER: usize = 4;

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    from: SocketAddr,
    opened: Instant,
    /// Arrival of its first packet, and of its latest.
    first: Option<Instant>,
    latest: Option<Instant>,
    granted: Granted,
    /// Its own fill; absent: the server's.
    filler: Option<Filler>,
    /// Packets that may come at once as things stand, with parts of one.
    bucket: f64,
    /// The number of the latest packet.
    number: u32,
    count: u32,
    window: u64,
}

/// Parameters that replies are made by.
#[derive(Clone, Copy, Debug)]
struct Granted {
    length: usize,
    shortest: usize,
    stats: i64,
    stamp_at: i64,
    clock: i64,
    class: u8,
}

impl Session {
    /// One that was opened with these parameters.
    pub fn new(opening: &Arrival, granted: &Parameters, filler: Option<Filler>, burst: u32) -> Self {
        let Parameters { stats, stamp_at, clock, .. } = *granted;
        let granted = Granted {
            length: usize::try_from(granted.length).unwrap_or(0),
            shortest: granted.shortest(false),
            stats,
            stamp_at,
            clock,
            class: u8::try_from(granted.class).unwrap_or(0),
        };
        Self {
            from: opening.from,
            opened: opening.now,
            first: None,
            latest: None,
            granted,
            filler,
            bucket: f64::from(burst),
            number: u32::MAX,
            count: 0,
            window: 0,
        }
    }

    /// Where it was opened from.
    pub fn from(&self) -> SocketAddr {
        self.from
    }

    /// True where it has been silent for the timeout. One without a packet is not over before its place is needed.
    pub fn is_over(&self, now: Instant, timeout: Option<Nanos>) -> bool {
        let silence = self.latest.and_then(|latest| now.since(latest)).unwrap_or_default();
        timeout.is_some_and(|timeout| silence.0 > timeout.0.saturating_add(GRACE.0))
    }

    /// True where another may have its place: it was silent for `stalled`, or had no packet for `unused` since its opening.
    pub fn gives_way(&self, now: Instant, unused: Nanos, stalled: Nanos) -> bool {
        let since = |then: Instant| now.since(then).unwrap_or_default();
        self.latest.map_or(since(self.opened) > unused, |latest| since(latest) > stalled)
    }

    /// Makes the reply to a packet in its place, whose session's name stands at `at`; also whether it ends the session.
    pub fn answer(
        &mut self,
        packet: &mut [u8],
        at: usize,
        rules: &Rules,
        arrival: &Arrival,
        shared: &mut Filler,
        depart: impl FnOnce() -> Moment,
    ) -> Result<(Option<Reply>, bool), Dropped> {
        has(packet, at + TOKEN + NUMBER)?;
        let length = packet.len();
        if let Some(longest) = rules.length.filter(|longest| length > *longest) {
            return Err(Dropped::Large { length, longest });
        }
        // The original answers a short packet with a longer reply.
        let shortest = self.granted.shortest + at - HEAD;
        has(packet, shortest)?;
        self.spend(rules, arrival.now)?;
        let number = packet.get(at + TOKEN..).and_then(<[u8]>::first_chunk).copied().map_or(0, u32::from_le_bytes);
        self.note(number);
        let lasted = self.first.and_then(|first| arrival.now.since(first)).unwrap_or_default();
        let is_last = rules.duration.is_some_and(|longest| lasted.0 > longest.0.saturating_add(DURATION_GRACE.0));
        let reply = &mut packet[..self.granted.length.clamp(shortest, length)];
        let sealed = if rules.key.is_some() { SEALED_FLAG } else { 0 };
        let end = if is_last { CLOSE } else { 0 };
        put(reply, MAGIC.len(), &[REPLY | end | sealed]);
        self.filler.as_mut().unwrap_or(shared).fill(&mut reply[shortest..]);
        self.write(reply, at + TOKEN + NUMBER, arrival.at, depart);
        if let Some(key) = &rules.key {
            key.seal(reply);
        }
        Ok((Some(Reply { length: reply.len(), class: self.granted.class }), is_last))
    }

    /// Takes a packet off those that may come now.
    fn spend(&mut self, rules: &Rules, now: Instant) -> Result<(), Dropped> {
        self.first.get_or_insert(now);
        let before = self.latest.replace(now);
        let Some(interval) = rules.interval else { return Ok(()) };
        if let Some(gap) = before.and_then(|before| now.since(before)) {
            let earned = gap.0 as f64 / interval.0.max(1) as f64;
            self.bucket = (self.bucket + earned).min(f64::from(rules.burst));
        }
        if self.bucket < 1.0 {
            return Err(Dropped::TooSoon);
        }
        self.bucket -= 1.0;
        Ok(())
    }

    /// Counts a packet. A number below the latest is one far above it, as of a number that has wrapped.
    fn note(&mut self, number: u32) {
        let ahead = number.wrapping_sub(self.number);
        self.window = self.window.checked_shl(ahead).unwrap_or(0) | 1;
        self.count = self.count.wrapping_add(1);
        self.number = number;
    }

    /// Writes counts and times behind the number.
    fn write(&self, reply: &mut [u8], mut place: usize, came: Moment, depart: impl FnOnce() -> Moment) {
        let Granted { stats, stamp_at, clock, .. } = self.granted;
        let mut next = |octets: &[u8]| {
            put(reply, place, octets);
            place += octets.len();
        };
        if stats & COUNT != 0 {
            next(&self.count.to_le_bytes());
        }
        if stats & WINDOW != 0 {
            next(&self.window.to_le_bytes());
        }
        let mut stamp = |at: Moment| {
            if clock & WALL != 0 {
                next(&at.wall.to_le_bytes());
            }
            if clock & MONOTONIC != 0 {
                next(&at.monotonic.to_le_bytes());
            }
        };
        if stamp_at & RECEIVE != 0 {
            stamp(came);
        }
        if stamp_at & MIDPOINT != 0 {
            stamp(came.halfway(depart()));
        } else if stamp_at & SEND != 0 {
            stamp(depart());
        }
    }
}

/// Puts octets to `at`, where they have room.
fn put(packet: &mut [u8], at: usize, octets: &[u8]) {
    if let Some(place) = packet.get_mut(at..at + octets.len()) {
        place.copy_from_slice(octets);
    }
}
