//! Reasons why a capture gives no schedule.

use measure::unit::{Nanos, grouped};

use crate::capture::flow::{FlowPattern, Seen};

/// Reason why a capture gives no schedule. Packets count from 1, as in other programs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// Not a capture at all.
    #[error("is not a packet capture")]
    NotACapture,
    /// A capture of a later form.
    #[error("is a pcapng file, and only classic pcap is supported")]
    Pcapng,
    /// A capture of an odd form.
    #[error("is a modified pcap with longer packet headers")]
    Modified,
    /// A compressed file.
    #[error("is compressed ({by})")]
    Compressed {
        /// The program that did it.
        by: &'static str,
    },
    /// The file ends within its header.
    #[error("the file ends within its header")]
    NoHeader,
    /// A kind of link that is not read.
    #[error("was captured on a link of type {link}, which is not supported")]
    Link {
        /// Its number, as libpcap lists them.
        link: u32,
    },
    /// The header of a packet that no program writes.
    #[error("packet {packet} is damaged: {what}")]
    Damaged {
        /// Number of the packet, from 1.
        packet: u64,
        /// Fault of the packet.
        what: &'static str,
    },
    /// The file ends within a packet.
    #[error("the file ends within packet {packet}")]
    BrokenOff {
        /// Number of the packet, from 1.
        packet: u64,
    },
    /// No message of UDP or TCP in it.
    #[error(
        "no packet in it carries a UDP or TCP message{}",
        .broken_off.map_or(String::new(), |packet| format!("; it ends within packet {packet}"))
    )]
    NoFlow {
        /// The packet that the file ends in, where it does.
        broken_off: Option<u64>,
    },
    /// The flow asked for is not in it.
    #[error("the flow {asked} is not in it")]
    NotThere {
        /// The flow asked for.
        asked: FlowPattern,
        /// All there are, the largest first.
        flows: Vec<Seen>,
    },
    /// More than one flow, and it was not said which.
    #[error("it has {} flows", grouped(.flows.len() as u64))]
    WhichFlow {
        /// Those that may have been meant, the largest first.
        flows: Vec<Seen>,
    },
    /// More flows, or more messages of one, than are told apart.
    #[error("it has more than {} {what}", grouped(*.most as u64))]
    TooMany {
        /// Most that are read.
        most: usize,
        /// Things of which there are too many: `flows` or `messages`.
        what: &'static str,
    },
    /// Time runs backwards within the flow.
    #[error("packet {packet}: time runs backwards by {back}")]
    Backwards {
        /// Number of the packet, from 1.
        packet: u64,
        /// Size of the step back, nanoseconds.
        back: Nanos,
    },
}
