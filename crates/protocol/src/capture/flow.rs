//! Flows: sender and receiver, as people type them, and the part of each in a capture.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use measure::unit::Bytes;

use crate::capture::error::CaptureError;
use crate::capture::packet::Segment;

/// Transport of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// Datagrams.
    Udp,
    /// Segments of a connection.
    Tcp,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
        })
    }
}

/// One direction of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// Transport of the flow.
    pub transport: Transport,
    /// Sender of the flow.
    pub from: SocketAddr,
    /// Receiver of the flow.
    pub to: SocketAddr,
}

/// As it is typed: `udp 10.0.0.1:5000>10.0.0.2:6000`.
impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}>{}", self.transport, self.from, self.to)
    }
}

/// A flow as typed: its transport may be left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPattern {
    transport: Option<Transport>,
    from: SocketAddr,
    to: SocketAddr,
}

impl FlowPattern {
    /// Returns true where this flow may be meant.
    pub fn fits(&self, flow: &Flow) -> bool {
        (self.from, self.to) == (flow.from, flow.to) && self.transport.is_none_or(|wanted| wanted == flow.transport)
    }
}

impl fmt::Display for FlowPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(transport) = self.transport {
            write!(f, "{transport} ")?;
        }
        write!(f, "{}>{}", self.from, self.to)
    }
}

/// A text that names no flow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a flow: write '10.0.0.1:5000>10.0.0.2:6000', in quotation marks because of the >")]
pub struct NoFlowText {
    text: String,
}

impl FromStr for FlowPattern {
    type Err = NoFlowText;

    /// `10.0.0.1:5000>10.0.0.2:6000`, `[fd00::1]:5000>[fd00::2]:6000`, with `udp ` or `tcp ` before it where both are there.
    fn from_str(text: &str) -> Result<Self, NoFlowText> {
        let fault = || NoFlowText { text: text.to_owned() };
        let (transport, ends) = match text.trim().split_once(' ') {
            Some(("udp", ends)) => (Some(Transport::Udp), ends),
            Some(("tcp", ends)) => (Some(Transport::Tcp), ends),
            _ => (None, text),
        };
        let (from, to) = ends.split_once('>').ok_or_else(fault)?;
        let end = |text: &str| text.trim().parse::<SocketAddr>().map_err(|_| fault());
        Ok(Self { transport, from: end(from)?, to: end(to)? })
    }
}

/// A flow that was seen, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The flow.
    pub flow: Flow,
    /// Its messages: datagrams, or segments with something new in them.
    pub messages: u64,
    /// Their payload together.
    pub bytes: Bytes,
}

/// The most flows of a capture that are told apart: more are made to fill the memory, or are cut by a filter first.
const MOST: usize = 1_000_000;

/// Finds the flows of a capture.
#[derive(Debug, Default)]
pub(super) struct Finder(BTreeMap<Flow, (Progress, u64, u64)>);

impl Finder {
    /// Takes a segment in; refuses one of a flow too many.
    pub(super) fn take(&mut self, segment: Option<Segment>) -> Result<(), CaptureError> {
        let Some(segment) = segment else { return Ok(()) };
        if self.0.len() == MOST && !self.0.contains_key(&segment.flow) {
            return Err(CaptureError::TooMany { most: MOST, what: "flows" });
        }
        let (progress, messages, bytes) = self.0.entry(segment.flow).or_default();
        if let Some(length) = progress.message(&segment) {
            *messages += 1;
            *bytes += u64::from(length);
        }
        Ok(())
    }

    /// Those with messages, most messages first.
    pub(super) fn most_first(self) -> Vec<Seen> {
        let seen = |(flow, (_, messages, bytes))| Seen { flow, messages, bytes: Bytes(bytes) };
        let mut flows: Vec<Seen> = self.0.into_iter().map(seen).filter(|seen| seen.messages > 0).collect();
        flows.sort_by_key(|seen| std::cmp::Reverse(seen.messages));
        flows
    }
}

/// Progress of a flow's stream, so that a retransmission of TCP is not taken for a message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Sequence number after the last byte seen.
    end: Option<u32>,
    repeated: u64,
}

impl Progress {
    /// Returns the number of new bytes in a segment; `None` where nothing is new. A datagram always is, even an empty one.
    pub(super) fn message(&mut self, segment: &Segment) -> Option<u32> {
        let Some(sequence) = segment.sequence else { return Some(segment.payload) };
        // An acknowledgement says nothing of sent data, though it has a number.
        if segment.payload == 0 && !sequence.opens {
            return None;
        }
        let start = sequence.number.wrapping_add(u32::from(sequence.opens));
        let end = start.wrapping_add(segment.payload);
        // A new connection between the same ports starts anywhere.
        let before = if sequence.opens { start } else { self.end.unwrap_or(start) };
        let ahead = end.wrapping_sub(before).cast_signed();
        if sequence.opens || ahead > 0 || self.end.is_none() {
            self.end = Some(end);
        }
        if segment.payload == 0 {
            return None;
        }
        let new = u32::try_from(ahead).unwrap_or(0).min(segment.payload);
        self.repeated += u64::from(new == 0);
        (new > 0).then_some(new)
    }

    /// Segments that carried nothing new.
    pub(super) fn repeated(&self) -> u64 {
        self.repeated
    }
}
