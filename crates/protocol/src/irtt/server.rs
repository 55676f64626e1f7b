//! A server: which datagrams open a session, which are answered and with what, and which end one.
//!
//! A datagram comes with where it is from and when, and what is to leave stands in its place afterwards. Nothing of a datagram is
//! believed but what its session was granted: a reply is never longer than its packet, and one to an opening is longer by the
//! session's name and by what was restricted. Sessions, and the openings of each source, have a bound (`server/sessions.rs`).
//!
//! It behaves as irtt 0.9.0 does, whose packets have to come from where the session was opened, each within the rate that is
//! granted, and whose bits of the last packets begin anew with one that was overtaken. Not here: sockets, clocks, lines.

pub mod event;
mod session;
mod sessions;

use std::net::SocketAddr;
use std::num::NonZeroU32;

use measure::unit::{Instant, Nanos};

use super::fill::{Fill, Filler, fits};
use super::key::{Key, SEAL};
use super::parameters::{MIDPOINT, Parameters, RECEIVE, SEND};
use super::{CLOSE, HEAD, MAGIC, OPEN, REPLY, SEALED_FLAG, VERSION, datagram};
use crate::stamp::share::Limiter;
use event::{Dropped, Event};
use session::Session;
use sessions::Sessions;

/// Silence beyond the timeout after which a session is over.
const GRACE: Nanos = Nanos::secs(5);
/// Part of the timeout that packets may be apart at the most.
const GAPS: u64 = 4;
/// Openings a second of each source that are answered, a tenth of it at once: a reply is longer than its opening.
const OPENINGS: NonZeroU32 = NonZeroU32::MIN.saturating_add(499);
/// Names that are drawn for one session, where others have them already.
const DRAWS: usize = 4;
/// Octets behind the head of a session's name.
const TOKEN: usize = 8;

/// The rules of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The key; absent: datagrams are not sealed.
    pub key: Option<Key>,
    /// Longest time of a session; absent: any.
    pub duration: Option<Nanos>,
    /// Shortest time between two packets; absent: any.
    pub interval: Option<Nanos>,
    /// Octets of the longest packet; absent: any.
    pub length: Option<usize>,
    /// Silence that ends a session; absent: none does, but where its place is needed.
    pub timeout: Option<Nanos>,
    /// Packets that may come at once.
    pub burst: u32,
    /// Fill of replies where none was asked for and granted.
    pub fill: Fill,
    /// Patterns of names of fills that are granted.
    pub fills: Vec<String>,
    /// Times in replies.
    pub stamps: Stamps,
    /// True where replies have the type of service that is asked for.
    pub marks: bool,
}

/// Times that are granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// None.
    None,
    /// One: where both are asked for, the time halfway.
    Single,
    /// Those that are asked for.
    Dual,
}

impl Default for Rules {
    /// Those of irtt 0.9.0 where nothing is said.
    fn default() -> Self {
        Self {
            key: None,
            duration: None,
            interval: Some(Nanos::millis(10)),
            length: None,
            timeout: Some(Nanos::secs(60)),
            burst: 5,
            fill: Fill::usual(),
            fills: vec!["rand".to_owned()],
            stamps: Stamps::Dual,
            marks: true,
        }
    }
}

/// A moment by both clocks of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds since 1970.
    pub wall: i64,
    /// Nanoseconds of the monotonic clock, from a start of the server's.
    pub monotonic: i64,
}

impl Moment {
    /// The moment halfway to a later one.
    fn halfway(self, later: Self) -> Self {
        let half = |from: i64, to: i64| from.wrapping_add(to.wrapping_sub(from) / 2);
        Self { wall: half(self.wall, later.wall), monotonic: half(self.monotonic, later.monotonic) }
    }
}

/// Facts about a datagram besides its octets.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its sender.
    pub from: SocketAddr,
    /// The instant by the clock that rates and silences are counted by.
    pub now: Instant,
    /// The moment of its arrival, as replies tell it.
    pub at: Moment,
}

/// A datagram that is to leave for the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its octets, from the beginning of the buffer.
    pub length: usize,
    /// The octet of its type of service.
    pub class: u8,
}

/// The outcome of a datagram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The reply; absent: none leaves.
    pub reply: Option<Reply>,
    /// Events that it caused, in order.
    pub events: Vec<Event>,
}

/// A server.
#[derive(Debug)]
pub struct Server {
    rules: Rules,
    sessions: Sessions,
    limiter: Limiter,
    /// Fill of all sessions that have none of their own.
    filler: Filler,
}

impl Server {
    /// One without sessions, by these rules. A fill of chance begins with `seed`.
    pub fn new(rules: Rules, seed: u64) -> Self {
        let filler = Filler::new(rules.fill.clone(), seed);
        Self { rules, sessions: Sessions::default(), limiter: Limiter::new(OPENINGS), filler }
    }

    /// Takes a datagram, the first `length` octets of `buffer`, in whose place the reply stands afterwards. Where a session is
    /// opened `draw` draws its name; `depart` tells the time as late as can be, for the reply may have to be sealed afterwards.
    pub fn take(
        &mut self,
        buffer: &mut [u8],
        length: usize,
        arrival: &Arrival,
        draw: impl FnMut() -> Option<u64>,
        depart: impl FnOnce() -> Moment,
    ) -> Outcome {
        let mut events = Vec::new();
        let length = length.min(buffer.len());
        let reply = self.recognise(&buffer[..length]).and_then(|(flags, at)| {
            if flags & OPEN != 0 {
                self.open(buffer, (at, length), flags, arrival, draw, &mut events)
            } else {
                self.attend(&mut buffer[..length], at, flags, arrival, depart, &mut events)
            }
        });
        let reply = reply.unwrap_or_else(|dropped| {
            events.push(Event::Dropped(dropped));
            None
        });
        Outcome { reply, events }
    }

    /// The flags of a client's datagram, and the place behind head and seal.
    fn recognise(&self, packet: &[u8]) -> Result<(u8, usize), Dropped> {
        let key = self.rules.key.as_ref();
        let head = if key.is_some() { HEAD + SEAL } else { HEAD };
        has(packet, head)?;
        let [first, second, third, flags, ..] = *packet else {
            return Err(Dropped::Short { needs: head, has: packet.len() });
        };
        if [first, second, third] != MAGIC {
            return Err(Dropped::Magic([first, second, third]));
        }
        if flags > OPEN | REPLY | CLOSE | SEALED_FLAG {
            return Err(Dropped::Flags(flags));
        }
        match key {
            Some(_) if flags & SEALED_FLAG == 0 => Err(Dropped::NoSeal),
            Some(key) if !key.is_seal_of(packet) => Err(Dropped::Seal),
            None if flags & SEALED_FLAG != 0 => Err(Dropped::UnexpectedSeal),
            _ if flags & REPLY != 0 => Err(Dropped::Reply),
            _ => Ok((flags, head)),
        }
    }

    /// An opening, whose parameters stand from `at` to `end`.
    fn open(
        &mut self,
        buffer: &mut [u8],
        (at, end): (usize, usize),
        flags: u8,
        arrival: &Arrival,
        draw: impl FnMut() -> Option<u64>,
        events: &mut Vec<Event>,
    ) -> Result<Option<Reply>, Dropped> {
        if !self.limiter.admits(arrival.from.ip(), arrival.now) {
            return Err(Dropped::Openings);
        }
        let mut parameters =
            Parameters::decode(buffer.get(at..end).unwrap_or_default()).map_err(Dropped::Parameters)?;
        self.restrict(&mut parameters);
        let fill = own_fill(&mut parameters, events);
        let token = if flags & CLOSE != 0 {
            events.push(Event::OpenClose);
            0
        } else {
            let token = self.begin(&parameters, fill, arrival, draw).ok_or(Dropped::Sessions)?;
            events.push(Event::New { token });
            token
        };
        let reply = datagram(flags & CLOSE | OPEN | REPLY, &[&token.to_le_bytes(), &parameters.encode()], self.key());
        let place = buffer.get_mut(..reply.len()).ok_or(Dropped::Short { needs: reply.len(), has: end })?;
        place.copy_from_slice(&reply);
        Ok(Some(Reply { length: reply.len(), class: 0 }))
    }

    fn key(&self) -> Option<&Key> {
        self.rules.key.as_ref()
    }

    /// Makes a session, and its name; `None`: there is no room.
    fn begin(
        &mut self,
        parameters: &Parameters,
        fill: Option<Fill>,
        arrival: &Arrival,
        mut draw: impl FnMut() -> Option<u64>,
    ) -> Option<u64> {
        let is_free = |token: &u64| *token != 0 && !self.sessions.has(*token);
        let token = (0..DRAWS).find_map(|_| draw().filter(is_free))?;
        let filler = fill.map(|fill| Filler::new(fill, arrival.now.0 ^ arrival.at.wall.cast_unsigned()));
        let session = Session::new(arrival, parameters, filler, self.rules.burst);
        self.sessions.add(token, session, arrival.now, self.rules.timeout).then_some(token)
    }

    /// Restricts parameters to those that are granted.
    fn restrict(&self, asked: &mut Parameters) {
        let rules = &self.rules;
        let number = |span: Nanos| i64::try_from(span.0).unwrap_or(i64::MAX);
        asked.version = VERSION;
        if let Some(longest) = rules.duration {
            asked.duration = asked.duration.min(number(longest));
        }
        if let Some(shortest) = rules.interval {
            asked.interval = asked.interval.max(number(shortest));
        }
        if let Some(timeout) = rules.timeout {
            asked.interval = asked.interval.min(number(Nanos(timeout.0 / GAPS)));
        }
        if let Some(longest) = rules.length {
            asked.length = asked.length.min(i64::try_from(longest).unwrap_or(i64::MAX));
        }
        asked.stamp_at = match (rules.stamps, asked.stamp_at) {
            (Stamps::None, _) => 0,
            (Stamps::Single, both) if both == RECEIVE | SEND => MIDPOINT,
            (_, asked) => asked,
        };
        if !rules.marks || u8::try_from(asked.class).is_err() {
            asked.class = 0;
        }
        if !asked.fill.is_empty() && !rules.fills.iter().any(|pattern| fits(pattern, &asked.fill)) {
            asked.fill = Fill::usual().to_string();
        }
    }

    /// A packet of a session, or the end of one, whose name stands at `at`.
    fn attend(
        &mut self,
        packet: &mut [u8],
        at: usize,
        flags: u8,
        arrival: &Arrival,
        depart: impl FnOnce() -> Moment,
        events: &mut Vec<Event>,
    ) -> Result<Option<Reply>, Dropped> {
        has(packet, at + TOKEN)?;
        let token = packet.get(at..).and_then(<[u8]>::first_chunk).copied().map_or(0, u64::from_le_bytes);
        let session = self.sessions.of(token).ok_or(Dropped::Token(token))?;
        // A session that is over answers once more, as the original's do.
        let is_over = session.is_over(arrival.now, self.rules.timeout);
        let answered = if session.from() != arrival.from {
            Err(Dropped::Address { expected: session.from(), token })
        } else if flags & CLOSE != 0 {
            events.push(Event::Closed { token });
            events.extend(is_over.then_some(Event::NotThere { token }));
            Ok((None, true))
        } else {
            session.answer(packet, at, &self.rules, arrival, &mut self.filler, depart)
        };
        if is_over || answered.as_ref().is_ok_and(|(_, is_last)| *is_last) {
            self.sessions.remove(token);
        }
        let (reply, is_last) = answered?;
        if is_last && reply.is_some() {
            events.push(Event::Exceeded);
        }
        Ok(reply)
    }
}

/// The fill that is asked for and granted, where it is not that of the server. One that there is not becomes that.
fn own_fill(granted: &mut Parameters, events: &mut Vec<Event>) -> Option<Fill> {
    let usual = Fill::usual().to_string();
    if granted.fill.is_empty() || granted.fill == usual {
        return None;
    }
    match Fill::of(&granted.fill) {
        Ok(fill) => Some(fill),
        Err(why) => {
            let asked = std::mem::replace(&mut granted.fill, usual);
            events.push(Event::NoFill { asked, why });
            None
        }
    }
}

/// Refuses a datagram that is shorter than its fields.
fn has(packet: &[u8], needs: usize) -> Result<(), Dropped> {
    if packet.len() < needs { Err(Dropped::Short { needs, has: packet.len() }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
