//! The method of a measurement, a point in one space: traffic, schedule, waiting, and end.
//!
//! [`Asked`] holds the settings of a person or a plan, with gaps. [`Asked::resolve`] fills the gaps with the defaults and refuses
//! settings that make no sense, with a reason. [`Method`] is the result, which engines run and records keep. A tool of the field
//! is a point in this space, never a case in an engine.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::unit::{Bytes, Nanos};

mod asked;
mod axis;
mod check;
mod flat;
mod message;
pub mod mix;
mod refusal;
#[cfg(test)]
mod tests;
mod traffic;

pub use asked::{Asked, Far, default};
pub use axis::{
    Carrier, Direction, LoopKind, Pacing, Pattern, Schedule, Sending, Settled, SocketOptions, SourcePorts, Spread,
    Stamps, Stop, Waiting, Window,
};
pub use check::{
    LARGEST_DATAGRAM, LARGEST_MESSAGE, LARGEST_PROBE, MOST_DATAGRAMS_A_CALL, MOST_SEGMENTS_A_CALL, SMALLEST_ECHO,
    SMALLEST_NATIVE_DATAGRAM,
};
pub use flat::{NotOf, Part};
pub use message::{Batch, BatchBy, Draws, Share, Sizes};
pub use refusal::Refusal;
pub use traffic::{Application, Exchange, Load, Stream, StreamOver, Traffic};

/// Method by which one pair of endpoints is measured, with every setting resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Method {
    /// Kind of traffic and the protocol that carries it.
    #[serde(flatten)]
    pub traffic: Traffic,
    /// Schedule of requests, or of the calls of a stream that we send.
    pub schedule: Schedule,
    /// Pacing: how the sender waits for the next send time.
    pub pacing: Pacing,
    /// Wait mode of our end, until a reply comes.
    pub waiting: Waiting,
    /// Wait mode of the peer, until a request comes; absent where the peer is no program of ours, or was not asked and
    /// has not said.
    pub peer_waiting: Option<Waiting>,
    /// Over how many connections, threads and CPUs it is spread.
    pub spread: Spread,
    /// End of the measurement.
    pub stop: Stop,
    /// A request unanswered for so long, in nanoseconds, is lost; a reply after it is late.
    pub timeout_ns: Nanos,
    /// Least length of the unrecorded exchanges of the warm-up, in nanoseconds; 0 is none.
    pub warm_up_ns: Nanos,
    /// Socket options asked for.
    pub socket: SocketOptions,
    /// Seed of every random draw of the run (Poisson gaps, start phase, requests of a mix), so that a schedule can be repeated.
    pub seed: u64,
}

impl Method {
    /// Returns the kind of loop: closed where a slow answer delays the requests after it.
    pub fn loop_kind(&self) -> LoopKind {
        match self.traffic.window() {
            Window::Closed(_) | Window::Volley(_) => LoopKind::Closed,
            Window::Open { .. } => LoopKind::Open,
        }
    }

    /// Exchanges of one thread that wait for their replies at the same time, a count, at least 1; of an open loop one for each connection.
    pub fn waiting_per_thread(&self) -> u64 {
        let window = match self.traffic.window() {
            Window::Closed(n) | Window::Volley(n) => u64::from(n),
            Window::Open { .. } => 1,
        };
        let spread = &self.spread;
        let connections = if spread.in_turn { 1 } else { u64::from(spread.connections.max(1)) };
        (window * connections).div_ceil(u64::from(spread.threads.max(1))).max(1)
    }

    /// Returns true where connections take turns of a burst each, so that together they offer the schedule's rate. Otherwise each
    /// has its own bursts.
    pub fn shares_bursts(&self) -> bool {
        matches!(self.traffic, Traffic::Load(_)) || matches!(self.traffic.window(), Window::Volley(_))
    }

    /// The smallest request that can come, bytes of payload.
    pub fn smallest_request(&self) -> Bytes {
        match (self.schedule, self.traffic.sizes().range()) {
            (Schedule::Trace { smallest, .. }, _) | (_, Some((smallest, _))) => smallest,
            (_, None) => self.traffic.request_bytes(),
        }
    }

    /// The socket options of connection `flow`, from 0: its source ports are its own.
    pub fn options_of(&self, flow: u32) -> SocketOptions {
        let ports = self.socket.source_ports.map(|ports| ports.of_flow(flow, self.spread.connections));
        SocketOptions { source_ports: ports, ..self.socket.clone() }
    }

    /// Returns true where a reflector of ours has to be on the far side.
    pub fn needs_reflector(&self) -> bool {
        matches!(self.traffic.carrier(), Carrier::Tcp | Carrier::Udp)
    }
}

/// The method on one line, as every output opens: `tcp exchange · window 1 · back to back · 64 B ⇄ 64 B`.
impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.traffic)?;
        match (&self.traffic, self.schedule) {
            (Traffic::Load(_), Schedule::BackToBack) => f.write_str(" · max rate")?,
            (_, schedule) => write!(f, " · {schedule}")?,
        }
        self.write_sizes(f)?;
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
        if self.spread.in_turn {
            f.write_str(" in turn")?;
        }
        if let Some(ports) = self.socket.source_ports {
            write!(f, " · source port {ports}")?;
        }
        if self.spread.threads > 1 {
            write!(f, " on {} threads", self.spread.threads)?;
        }
        self.write_end(f)
    }
}

impl Method {
    /// Writes the sizes of messages, and the way in which they are handed over.
    fn write_sizes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (request, response) = (self.traffic.request_bytes(), self.traffic.response_bytes());
        match &self.traffic {
            Traffic::Handshake { .. } | Traffic::ConnectClose { .. } => return Ok(()),
            Traffic::Exchange(Exchange { carrier: Carrier::TcpSyn, .. }) if request == Bytes(0) => return Ok(()),
            Traffic::Exchange(Exchange { carrier: Carrier::TcpSyn, .. }) => {
                return write!(f, " · {request} of payload");
            }
            Traffic::Stream(stream) => return write!(f, " · {request} a call{}", stream.over),
            _ => {}
        }
        match (self.traffic.sizes(), self.smallest_request()) {
            (Sizes::Fixed, smallest) if smallest < request => write!(f, " · {}..{request}", smallest.0)?,
            (Sizes::Fixed, _) => write!(f, " · {request}")?,
            (sizes, _) => write!(f, " · {sizes}")?,
        }
        let load = self.traffic.load();
        let chosen_there = self.traffic.application().is_some() && response == Bytes(0);
        if load.is_none_or(|load| load.reply_every > 0) && !chosen_there {
            write!(f, " ⇄ {response}")?;
        }
        load.and_then(|load| load.batch).iter().try_for_each(|batch| write!(f, " · {batch}"))
    }

    fn write_end(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = if matches!(self.traffic, Traffic::Load(_)) { "messages" } else { "requests" };
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
