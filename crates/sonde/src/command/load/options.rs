//! The options of `sonde load`, each defined once: help, man page, completions and reference are made from here. What
//! it shares with `sonde rtt` is defined there.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use measure::method::{Carrier, Pacing};
use measure::unit::{Bytes, Nanos, Rate};

use crate::command::load::find::options::FindOptions;
use crate::command::load::words::{RateWord, SizeWord};
use crate::command::result_options::ResultOptions;
use crate::command::rtt::options::{KeptOptions, ReachOptions, StopOptions, WaitingOptions, pacings};
use crate::command::value::{self, Far};
use crate::command::verify::VerifyOptions;

const EXAMPLES: &str = "\
Examples:
  sonde load                            10 000/s to a reflector of our own, over loopback
  sonde load db1 --rate 100k            what does an exchange cost at 100 000/s?
  sonde load db1 --rate 100k --reply-every 100
                                        the same, where one in a hundred is answered
  sonde load db1 --poisson 20k          arrivals at random, as from many clients
  sonde load db1 --every 10ms --burst 50
                                        50 at once, every 10 ms
  sonde load db1 --rate 50k --size 64:7,576:4,1400:1 --reply-every 10
                                        messages of three sizes, 7 to 4 to 1
  sonde load db1 --rate 200k --connections 8 --threads 2 --cpu 0,1 --strict
                                        on two CPUs; exit with 99 where the rate was not reached
  sonde load db1 --find 'p99<1ms,loss<0.1%'
                                        which rate still holds?
  sonde load db1 --rate max --reply-every 100 -t 5
                                        as many as this end can send, a datagram a call
  sonde load db1 --rate max --reply-every 100 --segments 64
                                        the same by segmentation offload
";

/// What `sonde load` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct LoadOptions {
    /// The far side: a name or an address, with :PORT where it is not 7663
    ///
    /// `sonde serve` answers there. Without HOST a reflector in this very process answers over loopback, and the output
    /// says so.
    #[arg(value_name = "HOST")]
    pub host: Option<Far>,

    /// What carries the messages
    #[command(flatten)]
    pub carrier: CarrierOptions,

    /// When messages are due
    #[command(flatten)]
    pub schedule: ScheduleOptions,

    /// Search for a rate
    #[command(flatten)]
    pub find: FindOptions,

    /// What the messages are like
    #[command(flatten)]
    pub shape: ShapeOptions,

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

/// What carries the messages.
#[derive(Debug, Args)]
#[command(next_help_heading = "What carries it")]
pub struct CarrierOptions {
    /// What carries the messages: udp or tcp [default: udp]
    #[arg(long, value_name = "CARRIER", hide_possible_values = true, value_parser = carriers())]
    #[arg(conflicts_with_all = ["tcp", "udp"])]
    pub carrier: Option<Carrier>,
    /// UDP datagrams: --carrier udp
    #[arg(long, conflicts_with = "tcp")]
    pub udp: bool,
    /// TCP connections that stay open: --carrier tcp
    #[arg(long)]
    pub tcp: bool,
}

fn carriers() -> impl TypedValueParser<Value = Carrier> {
    PossibleValuesParser::new(["udp", "tcp"]).map(|word| if word == "tcp" { Carrier::Tcp } else { Carrier::Udp })
}

/// When messages are due. They leave then whatever the replies do, and each latency counts from that instant.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "When messages leave")]
pub struct ScheduleOptions {
    /// So many messages a second over all connections, evenly, as in 100/s or 10k; max: as many as this end can send
    /// [default: 10k]
    ///
    /// Messages leave at their instants whatever the replies do (open loop), and each latency counts from that instant:
    /// what a stall costs is seen in full. Where this end cannot keep up, the output says what was reached. With max
    /// nothing is due at an instant, so latencies count from the send.
    #[arg(long, value_name = "RATE", conflicts_with_all = ["every", "poisson"])]
    pub rate: Option<RateWord>,
    /// One message each TIME, as in 10ms or 250us
    #[arg(long, value_name = "TIME", value_parser = value::time, conflicts_with = "poisson")]
    pub every: Option<Nanos>,
    /// So many messages a second on average, at random (exponential gaps): what independent arrivals see
    #[arg(long, value_name = "RATE", value_parser = value::rate)]
    pub poisson: Option<Rate>,
    /// With --every: so many messages at once each time, on each connection
    #[arg(long, value_name = "MESSAGES", requires = "every")]
    pub burst: Option<u32>,
    /// How to wait for a due instant: sleep, spin, or hybrid (sleep, then spin the last bit) [default: hybrid]
    #[arg(long, value_name = "HOW", hide_possible_values = true, value_parser = pacings())]
    pub pace: Option<Pacing>,
}

/// What the messages are like, and how many flow at once.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is sent")]
pub struct ShapeOptions {
    /// Every NUMBER-th message asks for a reply, on each connection; the others go one way [default: 1]
    ///
    /// Those that ask are timed. The others are counted here when they are sent, and by the far side when they come: so
    /// it is known which way messages were lost.
    #[arg(long, value_name = "NUMBER")]
    pub reply_every: Option<u32>,
    /// Bytes of a message: one size, a range, or sizes with their shares: 64, 64..1400 or 64:7,576:4,1400:1 [default: 64]
    #[arg(long, value_name = "BYTES")]
    pub size: Option<SizeWord>,
    /// Bytes of a reply; over udp at most those of the smallest message [default: those of the smallest message]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub response_size: Option<Bytes>,
    /// Let up to NUMBER one-way messages that are due together leave in one call (`sendmmsg`)
    ///
    /// No message waits for others: only what is due already is sent together. Messages that ask for a reply always go
    /// alone. What left in one call arrives close together, so this stands in the method.
    #[arg(long, value_name = "NUMBER", conflicts_with = "segments")]
    pub batch: Option<u32>,
    /// The same by segmentation offload (`UDP_SEGMENT`): up to NUMBER messages of one size as one buffer
    ///
    /// The kernel or the card cuts it into datagrams. On a path without a wire it is not cut at all: a rate reached so
    /// says nothing of a wire.
    #[arg(long, value_name = "NUMBER")]
    pub segments: Option<u32>,
    /// Connections (flows) at once; the rate is shared among them [default: 1]
    #[arg(long, value_name = "NUMBER")]
    pub connections: Option<u32>,
    /// Threads of ours that own the connections [default: one for each connection, up to 64]
    #[arg(long, value_name = "NUMBER")]
    pub threads: Option<u32>,
}
