//! Kinds of traffic, each with the settings that it alone has. The schedule and the end are the method's.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::asked::default;
use super::axis::{Carrier, Direction, Pattern, Sending, Stamps, Window};
use super::flat::Flat;
use super::message::{Batch, BatchBy, Sizes};
use super::mix::Mix;
use crate::unit::Bytes;

/// Kind of traffic with its protocol. A record has it flat: the settings of all kinds, side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Flat", into = "Flat")]
pub enum Traffic {
    /// Requests and their replies over a connection or socket that is open already.
    Exchange(Exchange),
    /// The TCP handshake alone, of a new connection each time.
    Handshake {
        /// True where each is made when it is due, however long those before took. Otherwise they follow one another on a
        /// connection.
        open_loop: bool,
    },
    /// A new connection, a request and its reply over it, and its end.
    ConnectExchange {
        /// TCP; UDP where the program's connections are those of QUIC.
        carrier: Carrier,
        /// As of a handshake.
        open_loop: bool,
        /// Size of a request, bytes of payload.
        request_bytes: Bytes,
        /// Size of a reply, bytes of payload; 0 where the program that is asked chooses.
        response_bytes: Bytes,
        /// The program that is asked, as of an exchange.
        application: Option<Application>,
    },
    /// A new connection and its end, which the peer makes first.
    ConnectClose {
        /// As of a handshake.
        open_loop: bool,
    },
    /// Bytes in one direction, as fast as the path or a schedule allows.
    Stream(Stream),
    /// Messages one way, of which some ask for a reply.
    Load(Load),
}

/// Requests and replies over open connections, or to any program that answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// All but a handshake, which is a traffic of its own.
    pub carrier: Carrier,
    /// Bound on the outstanding requests of one connection.
    pub window: Window,
    /// Size of a request, bytes of payload; the largest where they differ.
    pub request_bytes: Bytes,
    /// Sizes of requests, where they differ; only in volleys.
    pub sizes: Sizes,
    /// Size of a reply, bytes of payload; 0 of a bare segment, and where the program that is asked chooses.
    pub response_bytes: Bytes,
    /// Sampling of exchanges that are split into their parts; absent: none is.
    pub stamps: Option<Stamps>,
    /// The program that is asked, in its own protocol; absent where one that is there for measurements answers.
    pub application: Option<Application>,
}

/// Request to a program in its own protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Application {
    /// The protocol, as in `redis`, `http`, `dns`.
    pub protocol: String,
    /// One request, as in `PING`, `GET /health`, `A example.org`; of several that they are.
    pub request: String,
    /// The classes of several requests; absent where it is asked one thing over and over.
    #[serde(default)]
    pub mix: Option<Mix>,
}

impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.protocol, self.request)
    }
}

/// Bytes one way, or both.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Direction of the stream.
    pub direction: Direction,
    /// Bytes of one call at our end.
    pub call_bytes: Bytes,
    /// Bytes of one call at the peer's end, 0 where the peer chooses.
    pub peer_call_bytes: Bytes,
    /// Transport of the stream, with its send call.
    pub over: StreamOver,
}

/// Transport of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamOver {
    /// A TCP connection.
    Tcp {
        /// Send call of the sender.
        sending: Sending,
        /// True where the receiver has its kernel discard data unread.
        discard: bool,
    },
    /// UDP datagrams.
    Udp {
        /// Datagrams of one send call, cut by the kernel; absent: each in one of its own.
        segments: Option<u32>,
    },
}

/// Messages one way in an open loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// TCP or UDP.
    pub carrier: Carrier,
    /// At so many requests outstanding a due one waits.
    pub cap: u32,
    /// Every n-th message asks for a reply, counted from 1; 0 is none.
    pub reply_every: u32,
    /// Size of a message, bytes of payload; the largest where they differ.
    pub request_bytes: Bytes,
    /// Sizes of messages, where they differ.
    pub sizes: Sizes,
    /// Size of a reply, bytes of payload.
    pub response_bytes: Bytes,
    /// One-way messages that may leave in one call; absent: each in one of its own. Only for UDP.
    pub batch: Option<Batch>,
}

impl Traffic {
    /// Returns the protocol that carries it.
    pub fn carrier(&self) -> Carrier {
        match self {
            Self::Exchange(exchange) => exchange.carrier,
            Self::Load(load) => load.carrier,
            Self::Handshake { .. } => Carrier::TcpConnect,
            Self::Stream(Stream { over: StreamOver::Udp { .. }, .. }) => Carrier::Udp,
            Self::ConnectExchange { carrier, .. } => *carrier,
            Self::ConnectClose { .. } | Self::Stream(_) => Carrier::Tcp,
        }
    }

    /// Its name among the patterns.
    pub fn pattern(&self) -> Pattern {
        match self {
            Self::Exchange(_) | Self::Handshake { .. } => Pattern::Exchange,
            Self::ConnectExchange { .. } => Pattern::ConnectExchange,
            Self::ConnectClose { .. } => Pattern::ConnectClose,
            Self::Stream(_) => Pattern::Stream,
            Self::Load(_) => Pattern::Load,
        }
    }

    /// Returns the bound on the outstanding requests of one connection; a stream makes one call at a time.
    pub fn window(&self) -> Window {
        match *self {
            Self::Exchange(Exchange { window, .. }) => window,
            Self::Load(Load { cap, .. }) => Window::Open { cap },
            Self::Handshake { open_loop: true }
            | Self::ConnectExchange { open_loop: true, .. }
            | Self::ConnectClose { open_loop: true } => Window::Open { cap: default::OPEN_CAP },
            _ => Window::Closed(1),
        }
    }

    /// Payload of a request, the largest; of a stream, of a call at our end.
    pub fn request_bytes(&self) -> Bytes {
        self.bytes().0
    }

    /// Payload of a reply; of a stream, of a call at the peer's end.
    pub fn response_bytes(&self) -> Bytes {
        self.bytes().1
    }

    fn bytes(&self) -> (Bytes, Bytes) {
        match *self {
            Self::Handshake { .. } | Self::ConnectClose { .. } => (Bytes(0), Bytes(0)),
            Self::Stream(Stream { call_bytes, peer_call_bytes, .. }) => (call_bytes, peer_call_bytes),
            Self::Exchange(Exchange { request_bytes, response_bytes, .. })
            | Self::ConnectExchange { request_bytes, response_bytes, .. }
            | Self::Load(Load { request_bytes, response_bytes, .. }) => (request_bytes, response_bytes),
        }
    }

    /// Returns the sizes of messages.
    pub fn sizes(&self) -> &Sizes {
        match self {
            Self::Exchange(Exchange { sizes, .. }) | Self::Load(Load { sizes, .. }) => sizes,
            _ => &Sizes::Fixed,
        }
    }

    /// Returns the sampling of exchanges that are split into their parts; `None`: none is.
    pub fn stamps(&self) -> Option<Stamps> {
        match self {
            Self::Exchange(exchange) => exchange.stamps,
            _ => None,
        }
    }

    /// The program that is asked in its own protocol, where one is.
    pub fn application(&self) -> Option<&Application> {
        match self {
            Self::Exchange(Exchange { application, .. }) | Self::ConnectExchange { application, .. } => {
                application.as_ref()
            }
            _ => None,
        }
    }

    /// The stream, where it is one.
    pub fn stream(&self) -> Option<&Stream> {
        match self {
            Self::Stream(stream) => Some(stream),
            _ => None,
        }
    }

    /// The load, where it is one.
    pub fn load(&self) -> Option<&Load> {
        match self {
            Self::Load(load) => Some(load),
            _ => None,
        }
    }

    /// Returns true where each request takes a connection of its own.
    pub fn connects(&self) -> bool {
        matches!(self, Self::Handshake { .. } | Self::ConnectExchange { .. } | Self::ConnectClose { .. })
    }
}

/// Writes the kind of traffic and the bound on requests in flight: `udp load · reply every 100 · open loop`.
impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handshake { .. } => f.write_str("tcp handshake")?,
            Self::Exchange(Exchange { carrier: Carrier::TcpSyn, .. }) => f.write_str("tcp-syn probe")?,
            Self::Exchange(Exchange { application: Some(application), .. }) => write!(f, "{application}")?,
            Self::ConnectExchange { application: Some(application), .. } => {
                write!(f, "{application} · new connection each")?;
            }
            _ => write!(f, "{} {}", self.carrier(), self.pattern())?,
        }
        match self {
            Self::Stream(stream) => return write!(f, " · {}", stream.direction),
            Self::Load(Load { reply_every: 0, .. }) => f.write_str(" · no replies")?,
            Self::Load(Load { reply_every: 1, .. }) => f.write_str(" · reply to each")?,
            Self::Load(Load { reply_every, .. }) => write!(f, " · reply every {reply_every}")?,
            _ => {}
        }
        match self.window() {
            Window::Closed(n) => write!(f, " · window {n}"),
            Window::Volley(n) => write!(f, " · volleys of {n}"),
            Window::Open { .. } => f.write_str(" · open loop"),
        }
    }
}

/// Writes the settings that are not the default.
impl fmt::Display for StreamOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Udp { segments: None } => Ok(()),
            Self::Udp { segments: Some(messages) } => write!(f, " · {}", Batch { messages, by: BatchBy::Segments }),
            Self::Tcp { sending, discard } => {
                if !sending.is_plain() {
                    write!(f, " · {sending}")?;
                }
                f.write_str(if discard { " · payload not read" } else { "" })
            }
        }
    }
}
