//! The options of `sonde throughput`, each defined once: help, man page, completions and reference are made from here. What
//! it shares with `sonde rtt` is defined there.

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
  sonde throughput                      one TCP stream to a reflector of our own, over loopback
  sonde throughput db1                  one TCP stream to db1, 10 s, and what limits it
  sonde throughput db1 --reverse -P 4   four streams from db1
  sonde throughput db1 --bidir          both ways at once
  sonde throughput db1 --udp --rate 1G  datagrams at 1 Gbit/s: what is lost, and where?
  sonde throughput db1 --udp --segments 46
                                        the same as fast as it goes, by segmentation offload
  sonde throughput db1 --with-latency   what does the stream do to round trips beside it?
  sonde throughput db1 -P 1,4,8         how does it scale with streams?
  sonde throughput db1 --send sendfile --discard
                                        the fastest path through this host
";

/// What `sonde throughput` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct ThroughputOptions {
    /// The far side: a name or an address, with :PORT where it is not 7663
    ///
    /// `sonde serve` answers there. Without HOST a reflector in this very process answers over loopback, and the output
    /// says so.
    #[arg(value_name = "HOST")]
    pub host: Option<Far>,

    /// What carries it, and which way
    #[command(flatten)]
    pub carrier: CarrierOptions,

    /// How much at once
    #[command(flatten)]
    pub shape: ShapeOptions,

    /// How bytes are handed over
    #[command(flatten)]
    pub handing: HandingOptions,

    /// What is measured beside it
    #[command(flatten)]
    pub beside: BesideOptions,

    /// How both ends wait
    #[command(flatten)]
    pub waiting: WaitingOptions,

    /// When it ends
    #[command(flatten)]
    pub stop: StopOptions,

    /// How the far side is reached
    #[command(flatten)]
    pub reach: ReachOptions,

    /// What the wire says
    #[command(flatten)]
    pub verify: VerifyOptions,

    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,
}

/// What carries it, and which way.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
#[command(next_help_heading = "What carries it, and which way")]
pub struct CarrierOptions {
    /// What carries the streams: tcp or udp [default: tcp]
    #[arg(long, value_name = "CARRIER", hide_possible_values = true, value_parser = carriers())]
    #[arg(conflicts_with_all = ["tcp", "udp"])]
    pub carrier: Option<Carrier>,
    /// TCP connections: --carrier tcp
    #[arg(long, conflicts_with = "udp")]
    pub tcp: bool,
    /// UDP datagrams, each with its number: --carrier udp
    #[arg(long)]
    pub udp: bool,
    /// The far side sends
    #[arg(long, conflicts_with = "bidir")]
    pub reverse: bool,
    /// Both ends send at once, over streams of their own
    #[arg(long)]
    pub bidir: bool,
}

fn carriers() -> impl TypedValueParser<Value = Carrier> {
    PossibleValuesParser::new(["tcp", "udp"]).map(|word| if word == "udp" { Carrier::Udp } else { Carrier::Tcp })
}

/// How much at once.
#[derive(Debug, Args)]
#[command(next_help_heading = "How much")]
pub struct ShapeOptions {
    /// Streams at once, each with a thread and a connection of its own; several numbers, as in 1,4,8, measure each one after
    /// the other and end with a table [default: 1]
    #[arg(short = 'P', long, value_name = "NUMBERS")]
    pub streams: Option<Counts>,
    /// CPUs that each end may use, pinning the streams' threads to the first so many; several numbers, as in 1,2, measure
    /// each [default: the scheduler decides]
    #[arg(long, value_name = "NUMBERS", conflicts_with_all = ["cpu", "peer_cpu"])]
    pub cores: Option<Counts>,
    /// Bytes of one call that sends, over udp of one datagram [default: 128KiB, over udp 1400]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub size: Option<Bytes>,
    /// So many bits of payload a second, all streams together, as in 100M or 1.5G [default: as many as go]
    #[arg(long, value_name = "BITS")]
    pub rate: Option<BitRate>,
    /// How to wait for a due instant: sleep, spin, or hybrid (sleep, then spin the last bit) [default: hybrid]
    #[arg(long, value_name = "HOW", hide_possible_values = true, value_parser = pacings(), requires = "rate")]
    pub pace: Option<Pacing>,
}

/// How bytes are handed over to the kernel, and by it.
#[derive(Debug, Args)]
#[command(next_help_heading = "How bytes are handed over")]
pub struct HandingOptions {
    /// How whoever sends hands bytes to its kernel: copy, zero-copy (`MSG_ZEROCOPY`) or sendfile [default: copy]
    ///
    /// copy is what programs do. Over tcp alone. On a path without a card zero-copy is copied after all, which the result
    /// says.
    #[arg(long, value_name = "HOW", hide_possible_values = true, value_parser = sendings())]
    pub send: Option<Sending>,
    /// Whoever receives has its kernel throw the payload away unread (`MSG_TRUNC`): what the path carries, and no program does
    #[arg(long)]
    pub discard: bool,
    /// Over udp: hand NUMBER datagrams over as one buffer that the kernel or the card cuts (`UDP_SEGMENT`), up to 64
    ///
    /// On a path without a wire it is not cut at all: a rate reached so says nothing of a wire.
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

/// What is measured beside the streams.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is measured beside it")]
pub struct BesideOptions {
    /// Exchange small datagrams beside the streams, before, while and after they run: milliseconds added under load
    #[arg(long)]
    pub with_latency: bool,
    /// Leave out the test of the path: where that may be what limits, datagrams slower and faster than the stream are sent for two
    /// to six seconds more, to tell a policer, a queue and a lossy path apart
    #[arg(long)]
    pub no_test: bool,
}

/// When it ends.
#[derive(Debug, Args)]
#[command(next_help_heading = "When it ends")]
pub struct StopOptions {
    /// After TIME: seconds, or with a unit, as in 10, 500ms, 5m [default: 10s]
    #[arg(short = 't', long, value_name = "TIME", value_parser = value::run_length)]
    pub time: Option<Nanos>,
    /// After so many bytes of payload, all streams of a way together, as in 1GB or 1GiB
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub bytes: Option<Bytes>,
    /// What goes through in the first TIME is not counted [default: 0]
    #[arg(long, value_name = "TIME", value_parser = value::time_or_none)]
    pub warm_up: Option<Nanos>,
    /// Length of an interval of the series [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub interval: Option<Nanos>,
}
