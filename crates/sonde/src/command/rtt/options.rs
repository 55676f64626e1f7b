//! The options of `sonde rtt`, each defined once: help, man page, completions and reference are made from here.
//!
//! Defaults that `measure::method::default` holds are repeated here as text; a test holds the two together.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum, builder::TypedValueParser};
use measure::method::{Carrier, Pacing, Settled};
use measure::unit::{Bytes, Nanos, Rate};

use crate::command::result_options::ResultOptions;
use crate::command::value::{self, CpuList, Far, SampleFile, WaitingWord};
use crate::command::verify::VerifyOptions;

const EXAMPLES: &str = "\
Examples:
  sonde rtt                             a reflector of our own, over loopback
  sonde rtt db1                         TCP, one request at a time, back to back, 10 s
  sonde rtt db1 --udp --every 10ms      one each 10 ms whatever the replies do (open loop)
  sonde rtt db1 --every 10ms --window 1 the same, but never two at once (closed loop)
  sonde rtt db1:5432 --connect -c 100   100 TCP handshakes with any server
  sonde rtt db1 --icmp --every 1s -t 60 as ping does it
  sonde rtt db1 --peer netperf          with the netserver that runs there
  sonde rtt db1 --peer stamp --every 10ms  each direction apart, and how far the clocks differ
  sonde rtt db1 --until p99±5%          until the 99th percentile is known
  sonde rtt db1 --rate 10k/s --wait spin --cpu 2 --json > result.json
";

/// What `sonde rtt` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct RttOptions {
    /// The far side: a name or an address, with :PORT where it is not 7663
    ///
    /// `sonde serve` answers there for tcp and udp, or a netserver with --peer netperf; icmp and tcp-connect need
    /// nothing of ours. Without HOST a reflector in this very process answers over loopback, and the output says so.
    #[arg(value_name = "HOST")]
    pub host: Option<Far>,

    /// What carries the requests
    #[command(flatten)]
    pub carrier: CarrierOptions,

    /// When requests are due
    #[command(flatten)]
    pub schedule: ScheduleOptions,

    /// How both ends wait
    #[command(flatten)]
    pub waiting: WaitingOptions,

    /// What one request is, and how many flow at once
    #[command(flatten)]
    pub shape: ShapeOptions,

    /// When it ends
    #[command(flatten)]
    pub stop: StopOptions,

    /// How the far side is reached
    #[command(flatten)]
    pub path: PathOptions,

    /// Kernel timestamps, seed
    #[command(flatten)]
    pub recording: RecordingOptions,

    /// What the wire says
    #[command(flatten)]
    pub verify: VerifyOptions,

    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,
}

/// What carries the requests.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
#[command(next_help_heading = "What carries it")]
pub struct CarrierOptions {
    /// What carries the requests: tcp, udp, icmp (echo, answered by the peer's kernel) or tcp-connect (handshakes) [default: tcp]
    #[arg(long, value_name = "CARRIER", hide_possible_values = true, value_parser = carriers())]
    #[arg(conflicts_with_all = ["tcp", "udp", "icmp", "connect"])]
    pub carrier: Option<Carrier>,
    /// A TCP connection that stays open: --carrier tcp
    #[arg(long, conflicts_with_all = ["udp", "icmp", "connect"])]
    pub tcp: bool,
    /// UDP datagrams: --carrier udp
    #[arg(long, conflicts_with_all = ["icmp", "connect"])]
    pub udp: bool,
    /// ICMP echo: --carrier icmp
    #[arg(long, conflicts_with = "connect")]
    pub icmp: bool,
    /// The TCP handshake alone, with any server: --carrier tcp-connect
    #[arg(long)]
    pub connect: bool,
    /// A new TCP connection, a request and its reply over it, for each exchange
    ///
    /// What a client without kept-alive connections pays. Needs `sonde serve` on the far side, or a netserver with
    /// --peer netperf: there the time runs from opening the socket until both ends have closed it.
    #[arg(long, conflicts_with_all = ["udp", "icmp", "connect"])]
    pub crr: bool,
}

fn carriers() -> impl TypedValueParser<Value = Carrier> {
    PossibleValuesParser::new(["tcp", "udp", "icmp", "tcp-connect"]).map(|word| match word.as_str() {
        "udp" => Carrier::Udp,
        "icmp" => Carrier::Icmp,
        "tcp-connect" => Carrier::TcpConnect,
        _ => Carrier::Tcp,
    })
}

/// When requests are due.
#[derive(Debug, Args)]
#[command(next_help_heading = "When requests leave")]
pub struct ScheduleOptions {
    /// How many requests of a connection may be outstanding; 0: any number (open loop) [default: 1, with a schedule 0]
    ///
    /// From 1 up, a due request waits for a reply when the window is full (closed loop): a slow answer delays the
    /// requests after it, and instants that pass meanwhile are counted as missed. 0 sends at each due instant whatever
    /// the replies do, and counts each latency from that instant: what a stall costs is then seen in full.
    #[arg(long, value_name = "REQUESTS")]
    pub window: Option<u32>,
    /// One request each TIME, as in 10ms or 250us
    #[arg(long, value_name = "TIME", value_parser = value::time, conflicts_with_all = ["rate", "poisson"])]
    pub every: Option<Nanos>,
    /// So many requests a second, evenly, as in 100/s or 10k/s
    #[arg(long, value_name = "RATE", value_parser = value::rate, conflicts_with = "poisson")]
    pub rate: Option<Rate>,
    /// So many requests a second on average, at random (exponential gaps): what independent arrivals see
    #[arg(long, value_name = "RATE", value_parser = value::rate)]
    pub poisson: Option<Rate>,
    /// With --every: so many requests at once each time
    #[arg(long, value_name = "REQUESTS", requires = "every")]
    pub burst: Option<u32>,
    /// How to wait for a due instant: sleep, spin, or hybrid (sleep, then spin the last bit) [default: hybrid]
    ///
    /// It changes the result: a CPU that spins is awake and warm, one that slept has to be woken.
    #[arg(long, value_name = "HOW", hide_possible_values = true, value_parser = pacings())]
    pub pace: Option<Pacing>,
}

/// Reads how a due instant is waited for.
pub fn pacings() -> impl TypedValueParser<Value = Pacing> {
    PossibleValuesParser::new(["sleep", "hybrid", "spin"]).map(|word| match word.as_str() {
        "sleep" => Pacing::Sleep,
        "spin" => Pacing::Spin,
        _ => Pacing::Hybrid,
    })
}

/// How both ends wait.
#[derive(Debug, Args)]
#[command(next_help_heading = "How an end waits, and where it runs")]
pub struct WaitingOptions {
    /// How our end waits for a reply: block, spin, or busy-poll=US [default: block]
    ///
    /// block is woken by the scheduler, as most applications are. spin polls the socket and keeps a CPU at 100 %.
    /// busy-poll blocks while the kernel polls the card for US microseconds (50 where none are given).
    #[arg(long, value_name = "HOW", hide_possible_values = true)]
    pub wait: Option<WaitingWord>,
    /// How the far side waits for a request: block, spin or busy-poll=US [default: as it was started]
    #[arg(long, value_name = "HOW", hide_possible_values = true)]
    pub peer_wait: Option<WaitingWord>,
    /// CPUs to pin our measuring threads to, in turn, as in 2 or 0,2-3 [default: the scheduler decides]
    #[arg(long, value_name = "CPUS")]
    pub cpu: Option<CpuList>,
    /// CPUs the far side pins its threads to [default: as it was started]
    #[arg(long, value_name = "CPUS")]
    pub peer_cpu: Option<CpuList>,
}

/// What one request is, and how many flow at once.
#[derive(Debug, Args)]
#[command(next_help_heading = "How much")]
pub struct ShapeOptions {
    /// Bytes of a request and of its reply, as in 64, 1kB (1000) or 1KiB (1024) [default: 64]
    #[arg(long, value_name = "BYTES", value_parser = value::size, conflicts_with_all = ["request_size", "response_size"])]
    pub size: Option<Bytes>,
    /// Bytes of a request [default: 64]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub request_size: Option<Bytes>,
    /// Bytes of a reply; over udp at most those of the request [default: 64]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub response_size: Option<Bytes>,
    /// Connections (flows) at once; a schedule's rate is shared among them [default: 1]
    #[arg(long, value_name = "NUMBER")]
    pub connections: Option<u32>,
    /// Threads of ours that own the connections [default: one for each connection, up to 64]
    #[arg(long, value_name = "NUMBER")]
    pub threads: Option<u32>,
}

/// When it ends.
#[derive(Debug, Args)]
#[command(next_help_heading = "When it ends")]
pub struct StopOptions {
    /// After TIME: seconds, or with a unit, as in 10, 500ms, 5m [default: 10s]
    #[arg(short = 't', long, value_name = "TIME", value_parser = value::run_length)]
    pub time: Option<Nanos>,
    /// After COUNT requests, or messages of a load, as in 1000 or 10k
    #[arg(short = 'c', long, value_name = "COUNT", value_parser = value::count)]
    pub count: Option<u64>,
    /// As soon as a quantile is known well enough: p99±5%, typed also p99+-5% or p99:5%
    ///
    /// Ends when the 95 % confidence interval of the quantile is within so many percent of its value, or after -t
    /// (1 h where not given). p99 alone ends as soon as enough exchanges were seen for the quantile to be printed.
    #[arg(long, value_name = "QUANTILE", value_parser = value::settled)]
    pub until: Option<Settled>,
    /// A request unanswered for TIME is lost; a reply after it is late [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub timeout: Option<Nanos>,
    /// Exchanges beforehand that are not recorded last at least TIME; 0: none [default: 400ms]
    #[arg(long, value_name = "TIME", value_parser = value::time_or_none)]
    pub warm_up: Option<Nanos>,
}

/// Whose protocol the far side speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PeerWord {
    /// Ours.
    Sonde,
    /// netperf's.
    Netperf,
    /// STAMP's.
    Stamp,
}

/// How the far side is reached, and whose protocol it speaks.
#[derive(Debug, Args)]
#[command(next_help_heading = "How the far side is reached")]
pub struct PathOptions {
    /// Whose protocol the far side speaks over tcp and udp: sonde (`sonde serve`), netperf (a netserver, whose port
    /// is 12865) or stamp (a session-reflector of RFC 8762, port 862) [default: sonde]
    ///
    /// A netserver takes a control connection and a process for each connection, and each of --peer-cpu pins one of
    /// them. It has no stamps of its own, no word for how it waits, and counts the warm-up with the rest. Its datagrams
    /// carry no numbers: a reply that comes after its timeout is taken for the next one.
    ///
    /// A session-reflector tells with each answer when its packet came and when the answer left: delays and losses of each
    /// direction are found then, and how far the two clocks differ. It is asked over udp, 44 bytes at a time, or 112 with
    /// a --stamp-key.
    #[arg(long, value_name = "PROTOCOL", requires = "host", hide_possible_values = true)]
    pub peer: Option<PeerWord>,
    /// What a netserver that was started with a passphrase wants to hear; it travels in the clear
    #[arg(long, value_name = "TEXT", requires = "peer")]
    pub passphrase: Option<String>,
    /// The key of authenticated packets, with --peer stamp: a file of hexadecimal digits, or one made by `sonde key`
    #[arg(long, value_name = "FILE", requires = "peer")]
    pub stamp_key: Option<PathBuf>,
    /// How the far side is reached
    #[command(flatten)]
    pub reach: ReachOptions,
}

/// How the far side is reached.
#[derive(Debug, Args)]
#[command(next_help_heading = "How the far side is reached")]
pub struct ReachOptions {
    /// The far side's port [default: 7663]
    #[arg(long, value_name = "PORT", requires = "host", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Over IPv4 only
    #[arg(short = '4', requires = "host", conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Over IPv6 only
    #[arg(short = '6', requires = "host")]
    pub ipv6: bool,
    /// The pre-shared key of the far side's reflector, a file made by `sonde key`; where no such reflector is asked, it
    /// is not used
    #[arg(long, value_name = "FILE", env = "SONDE_KEY_FILE")]
    pub key: Option<PathBuf>,
    /// The local address to send from
    #[arg(long, value_name = "ADDRESS")]
    pub bind: Option<IpAddr>,
    /// The network interface to send by (`SO_BINDTODEVICE`)
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
    /// The type-of-service octet, 0 to 255
    #[arg(long, value_name = "OCTET", value_parser = value::tos, conflicts_with = "dscp")]
    pub tos: Option<u8>,
    /// The differentiated-services code point, 0 to 63 or a name: ef, cs5, af21
    #[arg(long, value_name = "CODE", value_parser = value::dscp)]
    pub dscp: Option<u8>,
    /// Leave Nagle's algorithm on: small TCP segments may wait for an acknowledgement [default: off]
    #[arg(long)]
    pub nagle: bool,
    /// TCP congestion control by name, as in cubic [default: the system's]
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Send buffer asked for; the record says what the socket got [default: the system's]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub send_buffer: Option<Bytes>,
    /// Receive buffer asked for; for TCP it ends the kernel's autotuning [default: the system's; up to 4MiB for each
    /// connection of a load over UDP]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub receive_buffer: Option<Bytes>,
}

/// Kernel timestamps, seed, samples.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is recorded")]
pub struct RecordingOptions {
    /// Split one exchange each 2 ms into its parts by kernel timestamps; refuse where impossible [default: a few each
    /// 300 ms, where possible]
    ///
    /// The kernel then stamps every packet of the host throughout, which takes a few percent of a short round trip. By
    /// default it stamps for a hundredth of the time.
    #[arg(long, conflicts_with = "no_stamps")]
    pub stamps: bool,
    /// Take no kernel timestamps
    #[arg(long)]
    pub no_stamps: bool,
    /// Seed, samples
    #[command(flatten)]
    pub kept: KeptOptions,
}

/// Seed, samples.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is recorded")]
pub struct KeptOptions {
    /// Seed of random gaps and start phase, to repeat a schedule [default: random; the record keeps it]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Write every exchange into FILE: .csv or .parquet
    ///
    /// When it was due, when it was sent, when its reply was there, and what became of it.
    #[arg(long, value_name = "FILE")]
    pub samples: Option<SampleFile>,
    /// Exit with 99 when the stated rate was not reached or anything was lost
    #[arg(long)]
    pub strict: bool,
}
