//! The form of traffic in a record, and the settings that a kind does not have.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::axis::{Carrier, Direction, Pattern, Sending, Stamps, Window};
use super::message::{Batch, BatchBy, Sizes};
use super::traffic::{Application, Exchange, Load, Stream, StreamOver, Traffic};
use crate::unit::Bytes;

/// [`Traffic`] as a record has it: the settings of all kinds, side by side. A setting that a kind does not have is at its
/// default.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Flat {
    /// Protocol that carries the requests.
    pub carrier: Carrier,
    /// Kind of request.
    pub pattern: Pattern,
    /// Direction of a stream; absent where requests are exchanged.
    pub direction: Option<Direction>,
    /// Bound on the outstanding requests of one connection; a stream makes one call at a time.
    pub window: Window,
    /// Every n-th message asks for a reply, counted from 1; 0 is none. Exchanges always ask.
    pub reply_every: u32,
    /// One-way messages, or datagrams of a stream, that may leave in one call; absent: each in one of its own.
    pub batch: Option<Batch>,
    /// Send call of a stream's sender.
    #[serde(default, skip_serializing_if = "Sending::is_plain")]
    pub sending: Sending,
    /// True where the receiver of a stream has its kernel discard data unread (`MSG_TRUNC`); of TCP alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub discard: bool,
    /// Size of a request, bytes of payload: 1 to 1 GiB on TCP, up to 65,507 in one datagram. For a stream: bytes of one
    /// call at our end. Where sizes differ: the largest.
    pub request_bytes: Bytes,
    /// Sizes of the messages of a load, where they differ.
    pub sizes: Sizes,
    /// Size of a reply, bytes of payload. For a stream: bytes of one call at the peer's end, 0 where the peer chooses.
    pub response_bytes: Bytes,
    /// Kernel timestamps: how often an exchange is split into its parts; absent: not at all.
    pub stamps: Option<Stamps>,
    /// The program that is asked, in its own protocol; absent where one that is there for measurements answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
}

impl From<Traffic> for Flat {
    fn from(traffic: Traffic) -> Self {
        let flat = Self {
            carrier: traffic.carrier(),
            pattern: traffic.pattern(),
            direction: None,
            window: traffic.window(),
            reply_every: 1,
            batch: None,
            sending: Sending::Copy,
            discard: false,
            request_bytes: traffic.request_bytes(),
            sizes: Sizes::Fixed,
            response_bytes: traffic.response_bytes(),
            stamps: None,
            application: None,
        };
        match traffic {
            Traffic::Handshake { .. } | Traffic::ConnectClose { .. } => flat,
            Traffic::ConnectExchange { application, .. } => Self { application, ..flat },
            Traffic::Exchange(Exchange { sizes, stamps, application, .. }) => {
                Self { sizes, stamps, application, ..flat }
            }
            Traffic::Load(load) => Self { reply_every: load.reply_every, batch: load.batch, sizes: load.sizes, ..flat },
            Traffic::Stream(Stream { direction, over, .. }) => match over {
                StreamOver::Tcp { sending, discard } => Self { direction: Some(direction), sending, discard, ..flat },
                StreamOver::Udp { segments } => {
                    let batch = segments.map(|messages| Batch { messages, by: BatchBy::Segments });
                    Self { direction: Some(direction), batch, ..flat }
                }
            },
        }
    }
}

impl TryFrom<Flat> for Traffic {
    type Error = NotOf;

    fn try_from(flat: Flat) -> Result<Self, NotOf> {
        let Flat { carrier, pattern, window, reply_every, batch, request_bytes, sizes, response_bytes, stamps, .. } =
            flat;
        let application = flat.application;
        let by_calls = batch.is_some_and(|batch| batch.by == BatchBy::Calls);
        let usual = match pattern {
            Pattern::Stream => window == Window::Closed(1),
            Pattern::Load => matches!(window, Window::Open { .. }),
            _ => matches!(window, Window::Closed(1) | Window::Open { .. }),
        };
        Part::check(
            carrier,
            pattern,
            [
                (Part::Pattern, true),
                (Part::RequestBytes, request_bytes > Bytes(0)),
                (Part::ResponseBytes, response_bytes > Bytes(0)),
                (Part::Direction, flat.direction.is_some()),
                (Part::Window, !usual),
                (Part::ReplyEvery, reply_every != 1),
                (Part::Sending, !flat.sending.is_plain() || flat.discard),
                // One program's messages say their own length.
                (Part::Sizes, sizes != Sizes::Fixed && !matches!(window, Window::Volley(_))),
                (Part::Stamps, stamps.is_some()),
                (Part::Application, application.is_some()),
                (Part::Batch, batch.is_some()),
                (Part::Calls, by_calls),
            ],
        )?;
        let (open_loop, cap) = match window {
            Window::Open { cap } => (true, cap),
            Window::Closed(cap) | Window::Volley(cap) => (false, cap),
        };
        Ok(match (carrier, pattern) {
            (Carrier::TcpConnect, _) => Self::Handshake { open_loop },
            (_, Pattern::Exchange) => {
                Self::Exchange(Exchange { carrier, window, request_bytes, sizes, response_bytes, stamps, application })
            }
            // Connections over UDP are those of a program's own.
            (Carrier::Udp, Pattern::ConnectExchange) if application.is_none() => {
                return Err(NotOf { what: Part::Pattern, carrier, pattern });
            }
            (_, Pattern::ConnectExchange) => {
                Self::ConnectExchange { carrier, open_loop, request_bytes, response_bytes, application }
            }
            (_, Pattern::ConnectClose) => Self::ConnectClose { open_loop },
            (_, Pattern::Stream) => Self::Stream(Stream {
                direction: flat.direction.ok_or(NotOf { what: Part::Direction, carrier, pattern })?,
                call_bytes: request_bytes,
                peer_call_bytes: response_bytes,
                over: match carrier {
                    Carrier::Udp => StreamOver::Udp { segments: batch.map(|batch| batch.messages) },
                    _ => StreamOver::Tcp { sending: flat.sending, discard: flat.discard },
                },
            }),
            (_, Pattern::Load) => {
                Self::Load(Load { carrier, cap, reply_every, request_bytes, sizes, response_bytes, batch })
            }
        })
    }
}

/// Setting that only some kinds of traffic have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The pattern itself, over this carrier.
    Pattern,
    /// A payload.
    RequestBytes,
    /// A payload of the answer.
    ResponseBytes,
    /// A direction.
    Direction,
    /// A window, or volleys, of its own.
    Window,
    /// Messages that ask for no reply.
    ReplyEvery,
    /// A way of handing over a stream's bytes, or of throwing them away.
    Sending,
    /// Messages of different sizes.
    Sizes,
    /// Kernel timestamps that split an exchange.
    Stamps,
    /// A program that is asked in its own protocol.
    Application,
    /// Messages that share a call.
    Batch,
    /// Messages that share one and stay apart.
    Calls,
    /// A trace as its schedule.
    Trace,
    /// Requests to count, and times with a quantile to settle.
    Requests,
    /// An end by bytes.
    End,
    /// Settings of a program on the far side that can be asked for them.
    FarProgram,
    /// The options of TCP.
    TcpOptions,
    /// Ports.
    Ports,
}

impl Part {
    /// Refuses the first of those said that there is not.
    pub(super) fn check<const N: usize>(
        carrier: Carrier,
        pattern: Pattern,
        said: [(Self, bool); N],
    ) -> Result<(), NotOf> {
        let nothing = said.into_iter().find(|(what, said)| *said && !what.is_of(carrier, pattern));
        nothing.map_or(Ok(()), |(what, _)| Err(NotOf { what, carrier, pattern }))
    }

    fn is_of(self, carrier: Carrier, pattern: Pattern) -> bool {
        let (tcp, udp) = (carrier == Carrier::Tcp, carrier == Carrier::Udp);
        let (stream, load) = (pattern == Pattern::Stream, pattern == Pattern::Load);
        match self {
            Self::Pattern => match pattern {
                Pattern::Exchange => true,
                Pattern::ConnectClose => tcp,
                Pattern::ConnectExchange | Pattern::Stream | Pattern::Load => tcp || udp,
            },
            Self::RequestBytes => carrier != Carrier::TcpConnect && pattern != Pattern::ConnectClose,
            Self::ResponseBytes => carrier != Carrier::TcpSyn && Self::RequestBytes.is_of(carrier, pattern),
            Self::Window | Self::Stamps => pattern == Pattern::Exchange && carrier != Carrier::TcpConnect,
            Self::Direction | Self::End => stream,
            Self::Requests => !stream,
            Self::ReplyEvery | Self::Sizes | Self::Trace | Self::Calls => load,
            Self::Sending => stream && tcp,
            Self::Batch => (stream || load) && udp,
            Self::Application => match pattern {
                Pattern::Exchange | Pattern::ConnectExchange => tcp || udp,
                _ => false,
            },
            Self::FarProgram => tcp || udp,
            Self::TcpOptions => tcp,
            Self::Ports => carrier != Carrier::Icmp,
        }
    }
}

/// A setting for traffic that does not have it, or a missing one for traffic that needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotOf {
    /// Setting that was given or is missing.
    pub what: Part,
    /// Protocol of the traffic.
    pub carrier: Carrier,
    /// And its pattern.
    pub pattern: Pattern,
}

impl fmt::Display for NotOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} has no {:?}", self.carrier, self.pattern, self.what)
    }
}
