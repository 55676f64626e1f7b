//! The options of `sonde serve`, each defined once.
//!
//! Defaults that `protocol::native::limits` holds are repeated here as text; a test holds the two together.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use endpoint::reflector::PORT;
use ipnet::IpNet;
use measure::unit::{Bytes, Nanos, Rate};

use crate::command::peer::ServerOptions;
use crate::command::throughput::words::BitRate;
use crate::command::value::{self, CpuList, Listen, WaitingWord};

const EXAMPLES: &str = "\
Examples:
  sonde serve                                   loopback only, for trying it out
  sonde serve --key fleet.key                   all addresses, only for clients with the key
  sonde serve --key keys.toml --audit           keys with rights, and a line for each use of them
  sonde serve --key keys.toml --identity db1.identity  clients with identities, too
  sonde serve --open --listen 10.0.0.2          one address of a network you trust
  sonde serve --open --netperf                  also a netserver, on port 12865
  sonde serve --open --sockperf                 also a sockperf server, on port 11111
  sonde serve --open --iperf                    also an iperf 2 server, on port 5001
  sonde serve --open --iperf3                   also an iperf3 server, on port 5201
  sonde serve --open --stamp --stamp-port 8620  also a STAMP session-reflector
  sonde serve --open --irtt                     also an irtt server, on port 2112
  sonde serve --key fleet.key --wait spin --cpu 2,3 --max-sessions 2

Under systemd: Type=notify; SIGTERM ends it with status 0.";

/// Options of `sonde serve`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeOptions {
    /// Where to listen
    #[command(flatten)]
    pub door: DoorOptions,
    /// Manner of its answers
    #[command(flatten)]
    pub manner: MannerOptions,
    /// Limits
    #[command(flatten)]
    pub limits: LimitOptions,
    /// Behaviour for tests
    #[command(flatten)]
    pub test: TestOptions,
}

/// Where to listen, and who may come.
#[derive(Debug, Args)]
#[command(next_help_heading = "Addresses and access")]
#[expect(clippy::struct_excessive_bools, reason = "one per switch of the command line")]
pub struct DoorOptions {
    /// Local address to listen on, for TCP and UDP, optionally with :PORT; repeatable
    ///
    /// Default: only loopback; with --key or --open every address.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Vec<Listen>,
    /// Port for addresses without one; 0: the system chooses
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    pub port: u16,
    /// Pre-shared key, made by `sonde key`: only clients with this key are answered; or a list of keys and their rights, made by
    /// `sonde key FILE --add NAME`, read again on SIGHUP
    #[arg(long, value_name = "FILE", env = "SONDE_KEY_FILE")]
    pub key: Option<PathBuf>,
    /// Identity of this server, made by `sonde key FILE --identity`: clients whose public part is in the list of --key are let in
    /// by theirs, and know this one
    #[arg(long, value_name = "FILE", requires = "key")]
    pub identity: Option<PathBuf>,
    /// Use key files that other users of this machine can read
    #[arg(long)]
    pub insecure_key_file: bool,
    /// Answer only clients of this network, as in 10.0.0.0/8; repeatable
    ///
    /// A bare address is that host alone. Servers beside (--netperf and others) do not even refuse clients from elsewhere:
    /// nothing answers.
    #[arg(long, value_name = "NETWORK", value_parser = network)]
    pub allow: Vec<IpNet>,
    /// Do not tell clients about this host: its name, kernel, CPUs and settings
    ///
    /// Keys with `facts = true` in a list of keys are told all the same.
    #[arg(long)]
    pub no_facts: bool,
    /// Write a line on standard error for each measurement that begins or ends and each client that is refused: text or json
    ///
    /// Also for the servers beside (--netperf, --iperf, --iperf3, and connections to --sockperf). Single datagrams of --sockperf,
    /// --stamp and --irtt are no measurements: SIGUSR1 prints how many there were.
    #[arg(long, value_name = "FORMAT", value_enum, num_args = 0..=1, default_missing_value = "text", require_equals = true)]
    pub audit: Option<AuditFormat>,
    /// On SIGUSR1, also write the counters to FILE, in the text format of Prometheus
    ///
    /// SIGUSR1 prints them on standard error: sessions, refusals, requests and bytes of each server. FILE is replaced as a whole.
    #[arg(long, value_name = "FILE")]
    pub counters: Option<PathBuf>,
    /// Answer every client without a key, also outside loopback: only for networks you trust
    #[arg(long, conflicts_with = "key")]
    pub open: bool,
    /// Keep capabilities, files and system calls that the server does not need once it listens
    ///
    /// Needed for busy-poll or a restricted congestion control that a client requests, where the server runs as root.
    #[arg(long)]
    pub no_sandbox: bool,
    /// The servers of other tools' protocols beside it
    #[command(flatten)]
    pub beside: ServerOptions,
    /// Have the iperf 2 server send datagrams to clients that request them over UDP (-R, -d, -r, --full-duplex)
    ///
    /// Its protocol does not show that such a client is at its address: whoever forges a source has the server flood it.
    #[arg(long, requires = "iperf")]
    pub iperf_udp_reverse: bool,
    /// Also run a session-reflector of STAMP (RFC 8762) and TWAMP Light, over UDP on --stamp-port of the same addresses
    ///
    /// It needs --stamp-key, unless it listens only on loopback or --open is given.
    #[arg(long)]
    pub stamp: bool,
    /// Port of the session-reflector; below 1024 it needs `CAP_NET_BIND_SERVICE` [default: 862]
    #[arg(long, value_name = "PORT", requires = "stamp")]
    pub stamp_port: Option<u16>,
    /// Key of the session-reflector: a file of hexadecimal digits, or one made by `sonde key`; other packets are not answered
    #[arg(long, value_name = "FILE", requires = "stamp")]
    pub stamp_key: Option<PathBuf>,
    /// Stateless session-reflector: replies repeat the sequence number of the request; losses of the two directions are then not
    /// distinguished
    #[arg(long, requires = "stamp")]
    pub stamp_stateless: bool,
    /// Session-reflector: answer the short packets of TWAMP Light senders (from 14 bytes on) with 41 bytes, which have all times
    ///
    /// Replies are then longer than their requests: a forged source could use them against somebody, so only for networks that you trust.
    #[arg(long, requires = "stamp", conflicts_with = "stamp_key")]
    pub twamp_light: bool,
    /// Also run an irtt server, over UDP on this port of the same addresses [default: 2112]
    ///
    /// It answers every client, each within the limits of irtt's own server: only with loopback or --open. One with other limits, or
    /// with a key, is `sonde irtt server`.
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "2112", conflicts_with = "key")]
    pub irtt: Option<u16>,
}

/// Format of the audit's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuditFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// A network, or the address of one host.
pub fn network(text: &str) -> Result<IpNet, String> {
    let alone = text.parse::<IpAddr>().map(IpNet::from);
    alone.or_else(|_| text.parse()).map_err(|_| "is no network: 10.0.0.0/8, 2001:db8::/32 or 192.0.2.7".to_owned())
}

/// Manner of its answers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Wait mode and CPUs")]
pub struct MannerOptions {
    /// Wait mode, unless the client requests one: block, spin, or busy-poll=US [default: block]
    #[arg(long, value_name = "HOW", hide_possible_values = true)]
    pub wait: Option<WaitingWord>,
    /// CPUs for the answering threads, unless the client requests some, in turn, as in 2 or 0,2-3
    /// [default: the scheduler decides]
    #[arg(long, value_name = "CPUS")]
    pub cpu: Option<CpuList>,
}

/// Limits.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitOptions {
    /// Maximum measurements at once, of all clients [default: 256]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_sessions: Option<u32>,
    /// Maximum connections per measurement, up to 4096 [default: 1024]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_connections: Option<u32>,
    /// Maximum requests per second and connection, as in 10k/s [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = value::rate)]
    pub max_rate: Option<Rate>,
    /// Maximum duration of a measurement: seconds, or with a unit [default: 24h]
    #[arg(long, value_name = "TIME", value_parser = value::run_length)]
    pub max_duration: Option<Nanos>,
    /// Time without messages after which a measurement is dropped, as in 30s [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub idle_timeout: Option<Nanos>,
    /// Maximum memory for the messages of a measurement [default: 512MiB]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub max_memory: Option<Bytes>,
    /// Maximum memory for the messages of all measurements together [default: 4GiB]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub max_total_memory: Option<Bytes>,
    /// Maximum bandwidth of all measurements together, each way, in bits per second of payload, as in 500M; further traffic waits
    /// [default: no limit]
    #[arg(long, value_name = "BITRATE")]
    pub max_total_bandwidth: Option<BitRate>,
    /// Maximum messages per second of all measurements together, requests and replies, as in 100k/s; further ones wait [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = value::rate)]
    pub max_total_rate: Option<Rate>,
    /// Maximum threads that wait by spin or busy-poll because a client requested it; further ones block [default: one per CPU]
    #[arg(long, value_name = "NUMBER")]
    pub max_spin: Option<u32>,
    /// Maximum CPUs that clients choose for the server's threads, all measurements together [default: no limit]
    #[arg(long, value_name = "NUMBER")]
    pub max_pin: Option<u32>,
    /// Maximum size of a request and a reply [default: 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub max_size: Option<Bytes>,
}

/// Behaviour for tests.
#[derive(Debug, Args)]
#[command(next_help_heading = "For tests: a server that is slow by a known time")]
pub struct TestOptions {
    /// Delay each reply by TIME
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub hold: Option<Nanos>,
    /// Stall for TIME before some replies
    #[arg(long, value_name = "TIME", value_parser = value::time, requires = "stall_every")]
    pub stall: Option<Nanos>,
    /// Stall before every NUMBER-th reply of a connection
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
