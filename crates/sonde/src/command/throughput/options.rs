//! The options of `sonde throughput`, each defined once: help, man page, completions and reference are made from here. Those
//! that it shares with `sonde rtt` are defined there.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use measure::method::{Carrier, Pacing, Sending};
use measure::unit::{Bytes, Nanos};

use crate::command::result_options::ResultOptions;
use crate::command::rtt::options::{ReachOptions, WaitingOptions, pacings};
use crate::command::throughput::words::{BitRate, Counts};
use crate::command::value::{self, Far};
use crate::command::verify::VerifyOptions;

const EXAMPLES: &str = "\
Examples:
  sonde throughput                      one TCP stream over loopback, for trying it out
  sonde throughput db1                  one TCP stream to db1, 10 s, and its bottleneck
  sonde throughput db1 --reverse -P 4   four streams from db1
  sonde throughput db1 --bidir          both directions at once
  sonde throughput db1 --udp --rate 1G  datagrams at 1 Gbit/s, and their loss
  sonde throughput db1 --udp --segments 46
                                        as fast as possible, with segmentation offload
  sonde throughput db1 --with-latency   round-trip time with and without the stream
  sonde throughput db1 -P 1,4,8         with 1, 4 and 8 streams
  sonde throughput db1 --send sendfile --discard
                                        the fastest path through this host
";

/// Arguments of `sonde throughput`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct ThroughputOptions {
    /// The peer: a name or an address, with :PORT if it is not 7663
    ///
    /// It runs `sonde serve`. Without HOST sonde measures loopback, and the output says so.
    #[arg(value_name = "HOST")]
    pub host: Option<Far>,

    /// Protocol and direction
    #[command(flatten)]
    pub carrier: CarrierOptions,

    /// Streams at once
    #[command(flatten)]
    pub shape: ShapeOptions,

    /// Sending and receiving calls
    #[command(flatten)]
    pub handing: HandingOptions,

    /// Measurements beside the streams
    #[command(flatten)]
    pub beside: BesideOptions,

    /// Wait modes of both ends
    #[command(flatten)]
    pub waiting: WaitingOptions,

    /// End of the measurement
    #[command(flatten)]
    pub stop: StopOptions,

    /// The way to the peer
    #[command(flatten)]
    pub reach: ReachOptions,

    /// Packets on the wire
    #[command(flatten)]
    pub verify: VerifyOptions,

    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,
}

/// Protocol and direction.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
#[command(next_help_heading = "Protocol and direction")]
pub struct CarrierOptions {
    /// Protocol: tcp or udp [default: tcp]
    #[arg(long = "protocol", alias = "carrier", value_name = "PROTOCOL", hide_possible_values = true, value_parser = carriers())]
    #[arg(conflicts_with_all = ["tcp", "udp"])]
    pub carrier: Option<Carrier>,
    /// TCP connections: --protocol tcp
    #[arg(long, conflicts_with = "udp")]
    pub tcp: bool,
    /// Numbered UDP datagrams: --protocol udp
    #[arg(long)]
    pub udp: bool,
    /// The peer sends
    #[arg(long, conflicts_with = "bidir")]
    pub reverse: bool,
    /// Both hosts send at once, over separate streams
    #[arg(long)]
    pub bidir: bool,
}

fn carriers() -> impl TypedValueParser<Value = Carrier> {
    PossibleValuesParser::new(["tcp", "udp"]).map(|word| if word == "udp" { Carrier::Udp } else { Carrier::Tcp })
}

/// Streams at once.
#[derive(Debug, Args)]
#[command(next_help_heading = "Streams and rate")]
pub struct ShapeOptions {
    /// Streams at once, each with its own thread and connection; several numbers, as in 1,4,8, are measured one after the other
    /// [default: 1]
    #[arg(short = 'P', long, value_name = "NUMBERS", visible_alias = "flows")]
    pub streams: Option<Counts>,
    /// Number of CPUs per host: threads are pinned to the first ones; several numbers, as in 1,2, are measured one after the other
    /// [default: the scheduler decides]
    #[arg(long, value_name = "NUMBERS", conflicts_with_all = ["cpu", "peer_cpu"])]
    pub cores: Option<Counts>,
    /// Bytes per send call, with UDP per datagram [default: 128KiB, with UDP 1400]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub size: Option<Bytes>,
    /// Payload bits per second over all streams, as in 100M or 1.5G [default: as fast as possible]
    #[arg(long, value_name = "BITS")]
    pub rate: Option<BitRate>,
    /// Pacing until the next send: sleep, spin, or hybrid (sleep, then spin at the end) [default: hybrid]
    #[arg(long, value_name = "HOW", hide_possible_values = true, value_parser = pacings(), requires = "rate")]
    pub pace: Option<Pacing>,
}

/// The calls that hand bytes to the kernel and take them from it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Send and receive calls")]
pub struct HandingOptions {
    /// Calls by which the sender passes bytes to the kernel: copy, zero-copy (`MSG_ZEROCOPY`) or sendfile [default: copy]
    ///
    /// Most programs copy. TCP only. Within one machine the kernel copies in spite of zero-copy; the result says so.
    #[arg(long, value_name = "HOW", hide_possible_values = true, value_parser = sendings())]
    pub send: Option<Sending>,
    /// The receiver's kernel discards the payload unread (`MSG_TRUNC`): shows the limit of the path, not of a program
    #[arg(long)]
    pub discard: bool,
    /// UDP: send NUMBER datagrams, up to 64, as one buffer by segmentation offload (`UDP_SEGMENT`)
    ///
    /// Within one machine the buffer is never split: such a rate does not apply to a real network.
    #[arg(long, value_name = "NUMBER")]
    pub segments: Option<u32>,
}

fn sendings() -> impl TypedValueParser<Value = Sending> {
    PossibleValuesParser::new(["copy", "zero-copy", "sendfile"]).map(|word| match word.as_str() {
        "zero-copy" => Sending::ZeroCopy,
        "sendfile" => Sending::File,
        _ => Sending::Copy,
    })
}

/// The measurements beside the streams.
#[derive(Debug, Args)]
#[command(next_help_heading = "Additional measurements")]
pub struct BesideOptions {
    /// Measure round-trip time before, during and after the streams: the latency added by load
    #[arg(long)]
    pub with_latency: bool,
    /// Skip the path test: where the path may be the bottleneck, sonde sends datagrams slower and faster than the stream for two to six
    /// seconds, to distinguish a policer, a queue and a lossy path
    #[arg(long)]
    pub no_test: bool,
}

/// End of the measurement.
#[derive(Debug, Args)]
#[command(next_help_heading = "Duration")]
pub struct StopOptions {
    /// Measure for TIME: seconds, or with a unit, as in 10, 500ms, 5m [default: 10s]
    #[arg(short = 't', long, value_name = "TIME", value_parser = value::run_length)]
    pub time: Option<Nanos>,
    /// End after BYTES of payload over all streams of a direction, as in 1GB or 1GiB
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub bytes: Option<Bytes>,
    /// Do not count the first TIME [default: 0]
    #[arg(long, value_name = "TIME", value_parser = value::time_or_none)]
    pub warm_up: Option<Nanos>,
    /// Time between two values of the series [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub interval: Option<Nanos>,
}
