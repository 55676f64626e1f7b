//! The options of `sonde replay`, each defined once. Those that it shares with `sonde load` and `sonde rtt` are defined
//! there.

use std::path::PathBuf;

use clap::Args;
use measure::method::Pacing;
use measure::unit::Bytes;
use protocol::capture::flow::FlowPattern;

use crate::command::load::options::CarrierOptions;
use crate::command::result_options::ResultOptions;
use crate::command::rtt::options::{KeptOptions, ReachOptions, StopOptions, WaitingOptions, pacings};
use crate::command::value::{self, Far};
use crate::command::verify::VerifyOptions;

const EXAMPLES: &str = "\
Examples:
  sonde replay db1 monday.csv           lines of time,size: 0.00125,200
  sonde replay db1 playback.txt         a playback file of sockperf
  sonde replay db1 call.pcap            the only flow of a capture
  sonde replay db1 call.pcap --flow '10.0.0.1:5060>10.0.0.2:5060'
                                        this one of several, in this direction
  sonde replay db1 log.csv --from-first --reply-every 10
                                        times of another clock; one message in ten is answered
  tcpdump -w - udp port 5060 | sonde replay db1 - -t 60
";

/// Arguments of `sonde replay`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct ReplayOptions {
    /// The peer, which runs `sonde serve`: a name or an address, with :PORT if it is not 7663
    #[arg(value_name = "HOST")]
    pub host: Far,
    /// The recording: a text of time,size lines, or a packet capture; - for standard input
    ///
    /// Text: times from the start of sending, in seconds or with a unit; sizes in bytes or with a unit. The first line may name the
    /// columns; lines that start with # are ignored. Playback files of sockperf have this format. Capture (pcap, as written by `tcpdump
    /// -w`): one flow in one direction, either UDP datagrams or the payload of TCP segments; the first is sent at once.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,

    /// The reading of the recording
    #[command(flatten)]
    pub reading: ReadingOptions,

    /// Protocol of the messages
    #[command(flatten)]
    pub carrier: CarrierOptions,

    /// The sending of the messages
    #[command(flatten)]
    pub shape: ReplayShapeOptions,

    /// Wait modes of both ends
    #[command(flatten)]
    pub waiting: WaitingOptions,

    /// End of the measurement
    #[command(flatten)]
    pub stop: StopOptions,

    /// The way to the peer
    #[command(flatten)]
    pub reach: ReachOptions,

    /// Seed, samples
    #[command(flatten)]
    pub kept: KeptOptions,

    /// Packets on the wire
    #[command(flatten)]
    pub verify: VerifyOptions,

    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,
}

/// The reading of the recording.
#[derive(Debug, Args)]
#[command(next_help_heading = "Recording to replay")]
pub struct ReadingOptions {
    /// Flow of the capture, as in '10.0.0.1:5000>10.0.0.2:6000', after udp or tcp if both exist [default: the only flow]
    #[arg(long, value_name = "FLOW")]
    pub flow: Option<FlowPattern>,
    /// Send the first message of a text at once and keep the gaps to the others
    #[arg(long)]
    pub from_first: bool,
    /// Pad messages shorter than the header of 32 bytes instead of rejecting them
    #[arg(long)]
    pub pad: bool,
}

/// The sending of the messages, and which are answered.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sending")]
pub struct ReplayShapeOptions {
    /// One reply per NUMBER messages of a connection; the others are one-way [default: 1]
    #[arg(long, value_name = "NUMBER")]
    pub reply_every: Option<u32>,
    /// Bytes per reply; over UDP at most those of the smallest message [default: those of the smallest message]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub response_size: Option<Bytes>,
    /// Send up to NUMBER due one-way messages in one call (`sendmmsg`)
    #[arg(long, value_name = "NUMBER")]
    pub batch: Option<u32>,
    /// Pacing until the next send: sleep, spin, or hybrid (sleep, then spin at the end) [default: hybrid]
    #[arg(long, value_name = "HOW", hide_possible_values = true, value_parser = pacings())]
    pub pace: Option<Pacing>,
    /// Connections that share the messages, in turn [default: 1]
    #[arg(long, value_name = "NUMBER")]
    pub connections: Option<u32>,
    /// Threads on this host for the connections [default: one per connection, up to 64]
    #[arg(long, value_name = "NUMBER")]
    pub threads: Option<u32>,
}
