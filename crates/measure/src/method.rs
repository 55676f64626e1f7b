//! The one space every measurement is a point of: what is exchanged, when, how it is waited for, and when it ends.
//!
//! [`Asked`] is what a person or a plan said, with gaps; [`Asked::resolve`] fills the gaps with the defaults and refuses
//! what makes no sense, with a reason; [`Method`] is the result, which engines run and records keep. A tool of the field
//! is a point in this space, never a case in an engine.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::unit::{Bytes, Nanos};

mod asked;
mod axis;
mod check;
mod message;
mod refusal;
#[cfg(test)]
mod tests;

pub use asked::{Asked, Far, default};
pub use axis::{
    Carrier, Direction, LoopKind, Pacing, Pattern, Schedule, Sending, Settled, SocketOptions, Spread, Stamps, Stop,
    Waiting, Window,
};
pub use check::{
    LARGEST_DATAGRAM, LARGEST_MESSAGE, LARGEST_PROBE, MOST_DATAGRAMS_A_CALL, MOST_SEGMENTS_A_CALL, SMALLEST_ECHO,
    SMALLEST_NATIVE_DATAGRAM,
};
pub use message::{Batch, BatchBy, Draws, Share, Sizes};
pub use refusal::Refusal;

/// How one pair of endpoints is measured, every axis settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Method {
    /// What carries the requests.
    pub carrier: Carrier,
    /// What one request is.
    pub pattern: Pattern,
    /// Which way a stream goes; absent where requests are exchanged.
    pub direction: Option<Direction>,
    /// How many requests of one connection may be outstanding; a stream makes one call at a time.
    pub window: Window,
    /// When requests, or the calls of a stream that we send, are due.
    pub schedule: Schedule,
    /// How the sender waits for the next due instant.
    pub pacing: Pacing,
    /// How our end waits for a reply.
    pub waiting: Waiting,
    /// How the peer waits for a request; absent where the peer is no program of ours, or was not asked and has not said.
    pub peer_waiting: Option<Waiting>,
    /// Which messages ask for a reply: every n-th, counted from 1; 0 is none. Exchanges always ask.
    pub reply_every: u32,
    /// How many one-way messages, or datagrams of a stream, may leave in one call; absent: each in one of its own.
    pub batch: Option<Batch>,
    /// How the sender of a stream hands over what it sends.
    #[serde(default, skip_serializing_if = "Sending::is_plain")]
    pub sending: Sending,
    /// Whether the receiver of a stream has its kernel throw away what comes, unread (`MSG_TRUNC`); of TCP alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub discard: bool,
    /// Size of a request, bytes of payload: 1 to 1 GiB on TCP, up to 65,507 in one datagram. Of a stream: bytes of one
    /// call at our end. Where sizes differ: the largest.
    pub request_bytes: Bytes,
    /// Whether messages of a load differ in size, and how.
    pub sizes: Sizes,
    /// Size of a reply, bytes of payload. Of a stream: bytes of one call at the peer's end, 0 where the peer chooses.
    pub response_bytes: Bytes,
    /// Over how many connections, threads and CPUs it is spread.
    pub spread: Spread,
    /// When it ends.
    pub stop: Stop,
    /// A request unanswered for so long, in nanoseconds, is lost; a reply after it is late.
    pub timeout_ns: Nanos,
    /// Unrecorded exchanges beforehand last at least so long, in nanoseconds; 0 is none.
    pub warm_up_ns: Nanos,
    /// Socket options asked for.
    pub socket: SocketOptions,
    /// Kernel timestamps: how often an exchange is split into its parts; absent: not at all.
    pub stamps: Option<Stamps>,
    /// Seed of every random draw of the run (Poisson gaps, start phase), so that a schedule can be repeated.
    pub seed: u64,
}

impl Method {
    /// Whether a slow answer delays the requests after it.
    pub fn loop_kind(&self) -> LoopKind {
        match self.window {
            Window::Closed(_) | Window::Volley(_) => LoopKind::Closed,
            Window::Open { .. } => LoopKind::Open,
        }
    }

    /// Whether connections take turns of a burst each, so that together they offer the schedule's rate. Where not, each
    /// has its own bursts.
    pub fn shares_bursts(&self) -> bool {
        self.pattern == Pattern::Load || matches!(self.window, Window::Volley(_))
    }

    /// The smallest request that can come, bytes of payload.
    pub fn smallest_request(&self) -> Bytes {
        match (self.schedule, self.sizes.range()) {
            (Schedule::Trace { smallest, .. }, _) | (_, Some((smallest, _))) => smallest,
            (_, None) => self.request_bytes,
        }
    }

    /// Whether a reflector of ours has to be on the far side.
    pub fn needs_reflector(&self) -> bool {
        matches!(self.carrier, Carrier::Tcp | Carrier::Udp)
    }
}

/// The method on one line, as every output opens: `tcp exchange · window 1 · back to back · 64 B ⇄ 64 B`.
impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.carrier, self.pattern) {
            (Carrier::TcpConnect, _) => f.write_str("tcp handshake")?,
            (Carrier::TcpSyn, _) => f.write_str("tcp-syn probe")?,
            (carrier, Pattern::ConnectExchange) => write!(f, "{carrier} connect + exchange")?,
            (carrier, Pattern::ConnectClose) => write!(f, "{carrier} connect + close")?,
            (carrier, Pattern::Exchange) => write!(f, "{carrier} exchange")?,
            (carrier, Pattern::Stream) => {
                write!(f, "{carrier} stream")?;
                self.direction.iter().try_for_each(|direction| write!(f, " · {direction}"))?;
            }
            (carrier, Pattern::Load) if self.reply_every == 0 => write!(f, "{carrier} load · no replies")?,
            (carrier, Pattern::Load) if self.reply_every > 1 => {
                write!(f, "{carrier} load · reply every {}", self.reply_every)?;
            }
            (carrier, Pattern::Load) => write!(f, "{carrier} load · reply to each")?,
        }
        match self.window {
            _ if self.pattern == Pattern::Stream => {}
            Window::Closed(n) => write!(f, " · window {n}")?,
            Window::Volley(n) => write!(f, " · volleys of {n}")?,
            Window::Open { .. } => f.write_str(" · open loop")?,
        }
        match (self.pattern, self.schedule) {
            (Pattern::Load, Schedule::BackToBack) => f.write_str(" · max rate")?,
            (_, schedule) => write!(f, " · {schedule}")?,
        }
        self.write_sizes(f)?;
        self.batch.iter().try_for_each(|batch| write!(f, " · {batch}"))?;
        if !self.sending.is_plain() {
            write!(f, " · {}", self.sending)?;
        }
        if self.discard {
            f.write_str(" · payload not read")?;
        }
        if self.schedule.has_instants() {
            write!(f, " · pace {}", self.pacing)?;
        }
        write!(f, " · {}", self.waiting)?;
        if let Some(peer) = self.peer_waiting.filter(|peer| *peer != self.waiting) {
            write!(f, " (peer {peer})")?;
        }
        if self.spread.connections > 1 {
            write!(f, " · {} connections", self.spread.connections)?;
        }
        if self.spread.threads > 1 {
            write!(f, " on {} threads", self.spread.threads)?;
        }
        self.write_end(f)
    }
}

impl Method {
    fn write_sizes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pattern, &self.sizes) {
            _ if self.carrier == Carrier::TcpConnect => return Ok(()),
            _ if self.carrier == Carrier::TcpSyn && self.request_bytes == Bytes(0) => return Ok(()),
            _ if self.carrier == Carrier::TcpSyn => return write!(f, " · {} of payload", self.request_bytes),
            (Pattern::Stream, _) => return write!(f, " · {} a call", self.request_bytes),
            (Pattern::ConnectClose, _) => return Ok(()),
            (_, Sizes::Fixed) => match self.smallest_request() {
                smallest if smallest < self.request_bytes => write!(f, " · {}..{}", smallest.0, self.request_bytes)?,
                _ => write!(f, " · {}", self.request_bytes)?,
            },
            (_, sizes) => write!(f, " · {sizes}")?,
        }
        if self.reply_every == 0 { Ok(()) } else { write!(f, " ⇄ {}", self.response_bytes) }
    }

    fn write_end(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = if self.pattern == Pattern::Load { "messages" } else { "requests" };
        if let Some(bytes) = self.stop.bytes {
            return write!(f, " · {bytes} in all");
        }
        match (&self.stop.settled, self.stop.count, self.stop.after_ns) {
            (Some(settled), ..) => write!(f, " · until {settled}"),
            (None, Some(count), _) => write!(f, " · {} {counted}", crate::unit::grouped(count)),
            (None, None, Some(time)) => write!(f, " · {time}"),
            (None, None, None) => Ok(()),
        }
    }
}
