//! The options of `sonde replay`, each defined once. What it shares with `sonde load` and `sonde rtt` is defined there.

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
  sonde replay db1 call.pcap            the one flow in a capture
  sonde replay db1 call.pcap --flow '10.0.0.1:5060>10.0.0.2:5060'
                                        this one of several, in this direction
  sonde replay db1 log.csv --from-first --reply-every 10
                                        times of another clock; one message in ten is answered
  tcpdump -w - udp port 5060 | sonde replay db1 - -t 60
";

/// What `sonde replay` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct ReplayOptions {
    /// The far side: a name or an address, with :PORT where it is not 7663; `sonde serve` answers there
    #[arg(value_name = "HOST")]
    pub host: Far,
    /// The recorded schedule: a text of time,size lines, or a capture of packets; - is standard input
    ///
    /// In a text, times count from the start of sending, in seconds or with a unit, and sizes are in bytes or have a unit;
    /// a first line may name the columns, and lines that start with # are passed over. Playback files of sockperf are of
    /// this form. Of a capture (pcap, as `tcpdump -w` writes it) one flow in one direction is taken: the datagrams of UDP,
    /// or what each segment of TCP carried, with the first at once.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,

    /// How the recording is read
    #[command(flatten)]
    pub reading: ReadingOptions,

    /// What carries the messages
    #[command(flatten)]
    pub carrier: CarrierOptions,

    /// How the messages leave
    #[command(flatten)]
    pub shape: ReplayShapeOptions,

    /// How both ends wait
    #[command(flatten)]
    pub waiting: WaitingOptions,

    /// When it ends
    #[command(flatten)]
    pub stop: StopOptions,

    /// How the far side is reached
    #[command(flatten)]
    pub reach: ReachOptions,

    /// Seed, samples
    #[command(flatten)]
    pub kept: KeptOptions,

    /// What the wire says
    #[command(flatten)]
    pub verify: VerifyOptions,

    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,
}

/// How the recording is read.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is replayed")]
pub struct ReadingOptions {
    /// The flow of a capture, as in '10.0.0.1:5000>10.0.0.2:6000'; with udp or tcp before it where both are there
    /// [default: the only one]
    #[arg(long, value_name = "FLOW")]
    pub flow: Option<FlowPattern>,
    /// Let the first message of a text leave at once, and the others as long after it as they were
    #[arg(long)]
    pub from_first: bool,
    /// Send messages that are shorter than our header of 32 bytes as long as that, in place of refusing them
    #[arg(long)]
    pub pad: bool,
}

/// How the messages leave, and which are answered.
#[derive(Debug, Args)]
#[command(next_help_heading = "How it is sent")]
pub struct ReplayShapeOptions {
    /// Every NUMBER-th message asks for a reply, on each connection; the others go one way [default: 1]
    #[arg(long, value_name = "NUMBER")]
    pub reply_every: Option<u32>,
    /// Bytes of a reply; over udp at most those of the smallest message [default: those of the smallest message]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub response_size: Option<Bytes>,
    /// Let up to NUMBER one-way messages that are due together leave in one call (`sendmmsg`)
    #[arg(long, value_name = "NUMBER")]
    pub batch: Option<u32>,
    /// How to wait for a due instant: sleep, spin, or hybrid (sleep, then spin the last bit) [default: hybrid]
    #[arg(long, value_name = "HOW", hide_possible_values = true, value_parser = pacings())]
    pub pace: Option<Pacing>,
    /// Connections (flows) that share the messages, in turn [default: 1]
    #[arg(long, value_name = "NUMBER")]
    pub connections: Option<u32>,
    /// Threads of ours that own the connections [default: one for each connection, up to 64]
    #[arg(long, value_name = "NUMBER")]
    pub threads: Option<u32>,
}
