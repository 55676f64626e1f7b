//! The options of `sonde load`, each defined once: help, man page, completions and reference are made from here. Those that
//! it shares with `sonde rtt` are defined there.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use measure::method::{Carrier, Pacing};
use measure::unit::{Bytes, Nanos, Rate};

use crate::command::application::{ApplicationOptions, Whom};
use crate::command::load::find::options::FindOptions;
use crate::command::load::words::{RateWord, SizeWord};
use crate::command::result_options::ResultOptions;
use crate::command::rtt::options::{KeptOptions, ReachOptions, StopOptions, WaitingOptions, pacings};
use crate::command::value;
use crate::command::verify::VerifyOptions;

const EXAMPLES: &str = "\
Examples:
  sonde load                            10 000/s over loopback, for trying it out
  sonde load db1 --rate 100k            latency and loss at 100 000/s
  sonde load db1 --rate 100k --reply-every 100
                                        the same, one reply per 100 messages
  sonde load db1 --poisson 20k          Poisson arrivals, as from many clients
  sonde load db1 --every 10ms --burst 50
                                        50 at once, every 10 ms
  sonde load db1 --rate 50k --size 64:7,576:4,1400:1 --reply-every 10
                                        three sizes in the ratio 7 : 4 : 1
  sonde load db1 --rate 200k --connections 8 --threads 2 --cpu 0,1 --strict
                                        on two CPUs; exit with 99 if the rate is not reached
  sonde load db1 --find 'p99<1ms,loss<0.1%'
                                        highest rate that meets the condition
  sonde load redis://db1 --find 'p99<5ms' --force --connections 8
                                        highest rate at which Redis does
  sonde load db1 --rate max --reply-every 100 -t 5
                                        as many as this host can send, one datagram per call
  sonde load db1 --rate max --reply-every 100 --segments 64
                                        the same with segmentation offload
";

/// Arguments of `sonde load`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct LoadOptions {
    /// The peer: a name or an address, with :PORT if it is not 7663, or the URL of a program at work
    ///
    /// It runs `sonde serve`, or is a program that answers in its own protocol, as in `redis://db1`. Without HOST sonde measures loopback, and
    /// the output says so.
    #[arg(value_name = "HOST")]
    pub host: Option<Whom>,

    /// The question to a program at work
    #[command(flatten)]
    pub application: ApplicationOptions,

    /// Protocol of the messages
    #[command(flatten)]
    pub carrier: CarrierOptions,

    /// Times of the messages
    #[command(flatten)]
    pub schedule: ScheduleOptions,

    /// Search for a rate
    #[command(flatten)]
    pub find: FindOptions,

    /// The messages
    #[command(flatten)]
    pub shape: ShapeOptions,

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

/// Protocol of the messages.
#[derive(Debug, Args)]
#[command(next_help_heading = "Protocol")]
pub struct CarrierOptions {
    /// Protocol: udp or tcp [default: udp]
    #[arg(long = "protocol", alias = "carrier", value_name = "PROTOCOL", hide_possible_values = true, value_parser = carriers())]
    #[arg(conflicts_with_all = ["tcp", "udp"])]
    pub carrier: Option<Carrier>,
    /// UDP datagrams: --protocol udp
    #[arg(long, conflicts_with = "tcp")]
    pub udp: bool,
    /// TCP connections that stay open: --protocol tcp
    #[arg(long)]
    pub tcp: bool,
}

fn carriers() -> impl TypedValueParser<Value = Carrier> {
    PossibleValuesParser::new(["udp", "tcp"]).map(|word| if word == "tcp" { Carrier::Tcp } else { Carrier::Udp })
}

/// Times of the messages. They leave then whatever the replies do, and each latency counts from that instant.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Schedule")]
pub struct ScheduleOptions {
    /// Messages per second over all connections, at equal intervals, as in 100/s or 10k; max: as many as this host can send
    /// [default: 10k]
    ///
    /// sonde sends on schedule without waiting for replies (open loop) and measures response time from the scheduled send time, so that
    /// a stall is counted in full. If this host is too slow, the output shows the achieved rate. max has no schedule: it measures from
    /// the actual send.
    #[arg(long, value_name = "RATE", conflicts_with_all = ["every", "poisson"])]
    pub rate: Option<RateWord>,
    /// Interval between messages, as in 10ms or 250us
    #[arg(long, value_name = "TIME", value_parser = value::time, conflicts_with = "poisson")]
    pub every: Option<Nanos>,
    /// Mean messages per second with random exponential gaps (Poisson arrivals)
    #[arg(long, value_name = "RATE", value_parser = value::rate)]
    pub poisson: Option<Rate>,
    /// Messages per burst and connection: all have the same scheduled time (with --every)
    #[arg(long, value_name = "MESSAGES", requires = "every")]
    pub burst: Option<u32>,
    /// Pacing until the next send: sleep, spin, or hybrid (sleep, then spin at the end) [default: hybrid]
    #[arg(long, value_name = "HOW", hide_possible_values = true, value_parser = pacings())]
    pub pace: Option<Pacing>,
}

/// The messages, and the number of connections.
#[derive(Debug, Args)]
#[command(next_help_heading = "Messages and connections")]
pub struct ShapeOptions {
    /// One reply per NUMBER messages of a connection; the others are one-way [default: 1]
    ///
    /// Messages with a reply are timed. The others are counted here when sent and by the peer when received. The counts show in which
    /// direction messages were lost.
    #[arg(long, value_name = "NUMBER")]
    pub reply_every: Option<u32>,
    /// Bytes per message: one size, a range, or sizes with shares: 64, 64..1400 or 64:7,576:4,1400:1 [default: 64]
    #[arg(long, value_name = "BYTES")]
    pub size: Option<SizeWord>,
    /// Bytes per reply; over UDP at most those of the smallest message [default: those of the smallest message]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub response_size: Option<Bytes>,
    /// Send up to NUMBER due one-way messages in one call (`sendmmsg`)
    ///
    /// No message waits for others: only messages already due are sent together, and messages with a reply are sent alone. Messages of
    /// one call arrive close together; the result lists this setting.
    #[arg(long, value_name = "NUMBER", conflicts_with = "segments")]
    pub batch: Option<u32>,
    /// Send up to NUMBER messages of one size as one buffer by segmentation offload (`UDP_SEGMENT`)
    ///
    /// The kernel or the network card splits it into datagrams. Within one machine it is never split: such a rate does not apply to a
    /// real network.
    #[arg(long, value_name = "NUMBER")]
    pub segments: Option<u32>,
    /// Connections at once; they share the rate [default: 1]
    #[arg(long, value_name = "NUMBER", visible_alias = "flows")]
    pub connections: Option<u32>,
    /// Threads on this host for the connections [default: one per connection, up to 64]
    #[arg(long, value_name = "NUMBER")]
    pub threads: Option<u32>,
}
