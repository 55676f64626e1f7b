//! The options of `sonde serve`, each defined once.
//!
//! Defaults that `protocol::native::limits` holds are repeated here as text; a test holds the two together.

use std::path::PathBuf;

use clap::Args;
use endpoint::reflector::PORT;
use measure::unit::{Bytes, Nanos, Rate};

use crate::command::peer::ServerOptions;
use crate::command::value::{self, CpuList, Listen, WaitingWord};

const EXAMPLES: &str = "\
Examples:
  sonde serve                                   loopback alone: for trying it out
  sonde serve --key fleet.key                   any address, for those who have the key
  sonde serve --open --listen 10.0.0.2          one address of a network you trust
  sonde serve --open --netperf                  a netserver beside it, on port 12865
  sonde serve --open --sockperf                 a sockperf server beside it, on port 11111
  sonde serve --open --iperf                    an iperf 2 server beside it, on port 5001
  sonde serve --open --iperf3                   an iperf3 server beside it, on port 5201
  sonde serve --open --stamp --stamp-port 8620  a session-reflector of STAMP beside it
  sonde serve --key fleet.key --wait spin --cpu 2,3 --max-sessions 2

Under systemd: Type=notify; SIGTERM ends it in order with status 0.";

/// What `sonde serve` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeOptions {
    /// Where to listen
    #[command(flatten)]
    pub door: DoorOptions,
    /// How it answers
    #[command(flatten)]
    pub manner: MannerOptions,
    /// What it allows
    #[command(flatten)]
    pub limits: LimitOptions,
    /// What tests ask of it
    #[command(flatten)]
    pub test: TestOptions,
}

/// Where to listen, and who may come.
#[derive(Debug, Args)]
#[command(next_help_heading = "Where it listens, and for whom")]
pub struct DoorOptions {
    /// A local address to listen at, for TCP and UDP, with :PORT where wanted; may be given again
    ///
    /// Without it: loopback alone, or every address where --key or --open is given.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Vec<Listen>,
    /// The port where an address names none; 0 lets the system choose
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    pub port: u16,
    /// A pre-shared key, made by `sonde key`: whoever does not have it is not answered
    #[arg(long, value_name = "FILE", env = "SONDE_KEY_FILE")]
    pub key: Option<PathBuf>,
    /// Answer anybody without a key, on other addresses than loopback too: for networks you trust
    #[arg(long, conflicts_with = "key")]
    pub open: bool,
    /// The servers of other tools' protocols beside it
    #[command(flatten)]
    pub beside: ServerOptions,
    /// Be a session-reflector too, of STAMP (RFC 8762) and TWAMP Light, over UDP: on --stamp-port of the same addresses
    ///
    /// It needs --stamp-key where it is not loopback alone or --open.
    #[arg(long)]
    pub stamp: bool,
    /// Its port; below 1024 it needs `CAP_NET_BIND_SERVICE`, without which nothing else is lost [default: 862]
    #[arg(long, value_name = "PORT", requires = "stamp")]
    pub stamp_port: Option<u16>,
    /// Its key, a file of hexadecimal digits or one made by `sonde key`: packets that are not authenticated by it are not
    /// answered
    #[arg(long, value_name = "FILE", requires = "stamp")]
    pub stamp_key: Option<PathBuf>,
    /// Have its answers repeat the number of what they answer, in place of numbers of their own: losses there and back
    /// are not told apart then
    #[arg(long, requires = "stamp")]
    pub stamp_stateless: bool,
}

/// How it answers.
#[derive(Debug, Args)]
#[command(next_help_heading = "How it answers")]
pub struct MannerOptions {
    /// How to wait for requests where a client does not say: block, spin, or busy-poll=US [default: block]
    #[arg(long, value_name = "HOW", hide_possible_values = true)]
    pub wait: Option<WaitingWord>,
    /// CPUs to pin answering threads to where a client does not say, in turn, as in 2 or 0,2-3
    /// [default: the scheduler decides]
    #[arg(long, value_name = "CPUS")]
    pub cpu: Option<CpuList>,
}

/// What it allows.
#[derive(Debug, Args)]
#[command(next_help_heading = "What it allows")]
pub struct LimitOptions {
    /// Measurements at once, of all clients [default: 256]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_sessions: Option<u32>,
    /// Connections (flows) of one measurement, up to 4096 [default: 1024]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_connections: Option<u32>,
    /// Requests a second on one connection, as in 10k/s [default: any number]
    #[arg(long, value_name = "RATE", value_parser = value::rate)]
    pub max_rate: Option<Rate>,
    /// How long one measurement may last: seconds, or with a unit [default: 24h]
    #[arg(long, value_name = "TIME", value_parser = value::run_length)]
    pub max_duration: Option<Nanos>,
    /// How long a measurement may be silent before it is dropped, as in 30s [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub idle_timeout: Option<Nanos>,
    /// Memory for the messages of one measurement [default: 512MiB]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub max_memory: Option<Bytes>,
    /// The largest request and reply [default: 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub max_size: Option<Bytes>,
}

/// What tests ask of it.
#[derive(Debug, Args)]
#[command(next_help_heading = "For tests: a far side that is slow by a known time")]
pub struct TestOptions {
    /// Hold each reply back for TIME, so that a measurement's truth can be told
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub hold: Option<Nanos>,
    /// Stand still for TIME, now and then
    #[arg(long, value_name = "TIME", value_parser = value::time, requires = "stall_every")]
    pub stall: Option<Nanos>,
    /// Stand still before each NUMBER-th reply of a connection
    #[arg(long, value_name = "NUMBER", requires = "stall", value_parser = clap::value_parser!(u64).range(1..))]
    pub stall_every: Option<u64>,
    /// Have the session-reflector's clock be ahead by TIME, or behind by -TIME
    #[arg(long, value_name = "TIME", hide = true, requires = "stamp", allow_hyphen_values = true, value_parser = signed_time)]
    pub test_clock_offset: Option<i64>,
    /// Have the session-reflector's clock gain so many parts per million
    #[arg(long, value_name = "PPM", hide = true, requires = "stamp", allow_hyphen_values = true, value_parser = drift)]
    pub test_clock_ppm: Option<f64>,
}

/// A time with a sign, in nanoseconds.
fn signed_time(text: &str) -> Result<i64, String> {
    let (sign, span) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let span = value::time(span)?;
    i64::try_from(span.0).map(|span| sign * span).map_err(|_| "is too long".to_owned())
}

/// A drift that two clocks can have.
fn drift(text: &str) -> Result<f64, String> {
    let ppm: f64 = text.parse().map_err(|_| "is no number".to_owned())?;
    if ppm.abs() <= 1_000.0 { Ok(ppm) } else { Err("is no drift of a clock: at most 1000".to_owned()) }
}
