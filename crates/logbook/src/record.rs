//! The record: one measurement whole, with the method it was made by.
//!
//! A record is written once and never changed.
//!
//! Not here: reading text that may be no record ([`crate::read`]), files ([`crate::store`]), telling people (`report`).

use std::net::IpAddr;

use measure::authentication::Authentication;
use measure::environment::Environment;
use measure::method::{Asked, Batch, Method};
use measure::outcome::{Outcome, SocketFacts};
use measure::probes::Probes;
use measure::throughput::Throughput;
use measure::unit::{Bytes, Nanos};
use measure::verdict::Warning;
use measure::wire::finding::Wire;
use serde::{Deserialize, Serialize};

use crate::document::{Form, Head};

/// One measurement: what was asked, by which method it was done, by whom, where and when, and what was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    /// Its name, and who made it when.
    #[serde(flatten)]
    pub head: Head<Record>,
    /// Question of the measurement.
    pub question: Question,
    /// Peer of the measurement.
    pub target: Target,
    /// The one who answered, as far as is known.
    pub peer: Peer,
    /// The method as asked for, gaps left open.
    pub asked: Asked,
    /// The method as carried out.
    pub method: Method,
    /// Result of exchanges; absent where a stream was measured. A record has one of the two at least.
    pub outcome: Option<Outcome>,
    /// Result of a stream; absent where exchanges were measured.
    pub stream: Option<Throughput>,
    /// Answers to probes of the bare wire; absent where something else was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<Probes>,
    /// The wire's verdict on it; absent where it was not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Box<Wire>>,
    /// End of the measurement.
    pub ended: Ended,
    /// Facts that a reader must know to judge the numbers.
    pub warnings: Vec<Warning>,
    /// Resolution of our own instrument.
    pub instrument: Instrument,
    /// Our end's system; absent where it was not looked at.
    pub ours: Option<Environment>,
    /// The peer's system; absent where it told nothing.
    pub theirs: Option<Environment>,
}

impl Form for Record {
    const FORMAT: &'static str = "sonde-record";
    const NAME: &'static str = "record";
}

impl Record {
    /// From the start of what was measured to its end.
    pub fn elapsed(&self) -> Option<Nanos> {
        let exchanges = self.outcome.as_ref().map(|outcome| outcome.elapsed_ns);
        exchanges.or(self.stream.as_ref().map(|stream| stream.elapsed_ns))
    }

    /// Settings that each connection's socket really got.
    pub fn sockets(&self) -> &[SocketFacts] {
        let exchanges = self.outcome.as_ref().map(|outcome| outcome.sockets.as_slice());
        exchanges.or(self.stream.as_ref().map(|stream| stream.sockets.as_slice())).unwrap_or_default()
    }
}

/// Question of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Question {
    /// The time of one exchange.
    Rtt,
    /// The throughput.
    Throughput,
    /// The time of an exchange at this rate.
    Load,
}

/// Peer of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Target {
    /// The host as typed; absent where none was given.
    pub host: Option<String>,
    /// The address it was resolved to.
    pub address: IpAddr,
    /// The port number, 1 to 65535; absent where the carrier has none.
    pub port: Option<u16>,
    /// True where the peer was a reflector within this very process, over loopback: no network was measured.
    pub own_reflector: bool,
}

/// The one who answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Peer {
    /// Kind of party.
    pub kind: PeerKind,
    /// The program that answered, as it named itself.
    pub program: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The protocol it speaks, by name, where that is not our own: `netperf`.
    pub protocol: Option<String>,
    /// Version of our own protocol that was agreed on, a count from 1.
    pub protocol_version: Option<u32>,
    /// Calls by which it took one-way messages that came together, where it took them so; otherwise one a call.
    pub batch: Option<Batch>,
    /// Receive buffer of its sockets of datagrams, bytes, as its kernel counts it, of several the smallest; where it said.
    pub receive_buffer_bytes: Option<Bytes>,
    /// Authentication of both ends: a secret key that both have, or an identity of each; absent where there was no key, and
    /// where another protocol was spoken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication: Option<Authentication>,
    /// True where each datagram carried a message authentication code, which both ends compute and check; where there was a key,
    /// and our own protocol over UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams_authenticated: Option<bool>,
}

/// Kind of party that answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PeerKind {
    /// A program that speaks our own protocol.
    Native,
    /// A program that speaks another program's protocol, which the peer names.
    Foreign,
    /// A kernel, with no program behind it.
    Kernel,
    /// Someone who did not say.
    Unknown,
}

/// End of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Ended {
    /// As the method says.
    Complete,
    /// A signal ended it early; all that was measured until then is here.
    Interrupted {
        /// The signal's name, as `SIGINT`.
        signal: String,
    },
    /// The peer went away; all that was measured until then is here.
    PeerLost {
        /// The reason as far as it was seen.
        reason: String,
    },
}

/// Resolution of our own instrument, as found on this machine beside the measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Instrument {
    /// The clock that was read, by its name in the system.
    pub clock: Option<String>,
    /// Cost of one reading of the clock, nanoseconds, median.
    pub clock_read_ns: Option<Nanos>,
    /// The smallest step of the clock that was seen, nanoseconds: no difference below it means anything.
    pub clock_step_ns: Option<Nanos>,
    /// Timer slack of the measuring threads, nanoseconds: how much later than asked the kernel may wake them.
    pub timer_slack_ns: Option<Nanos>,
    /// Lateness of a wake-up from a timed sleep, nanoseconds, median.
    pub wake_up_late_ns: Option<Nanos>,
    /// Scheduling class and priority of the measuring threads, as `other` or `fifo 50`.
    pub scheduling: Option<String>,
}
