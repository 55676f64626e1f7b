//! The options of `sonde rtt`, each defined once: help, man page, completions and reference are made from here.
//!
//! Defaults that `measure::method::default` holds are repeated here as text; a test holds the two together.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum, builder::TypedValueParser};
use measure::method::{Carrier, Pacing, Settled, SourcePorts};
use measure::unit::{Bytes, Nanos, Rate};

use crate::command::application::{ApplicationOptions, Whom};
use crate::command::key_file::KeyOptions;
use crate::command::result_options::ResultOptions;
use crate::command::value::{self, CpuList, SampleFile, WaitingWord};
use crate::command::verify::VerifyOptions;

const EXAMPLES: &str = "\
Examples:
  sonde rtt                             loopback, for trying it out
  sonde rtt db1                         TCP, one request at a time, no pause, 10 s
  sonde rtt db1 --udp --every 10ms      one per 10 ms, does not wait for replies (open loop)
  sonde rtt db1 --every 10ms --window 1 the same, one request in flight (closed loop)
  sonde rtt db1:5432 --connect -c 100   100 TCP handshakes with any server
  sonde rtt db1 --icmp --every 1s -t 60 as ping does
  sonde rtt db1 --peer netperf          with the netserver that runs there
  sonde rtt db1 --peer stamp --every 10ms  one-way delays, and the clock offset
  sonde rtt redis://db1                 what a Redis PING takes, 100 a second
  sonde rtt http://api/health --every 1s
  sonde rtt db1 --until p99±5%          until p99 is known to ±5 %
  sonde rtt db1 --rate 10k/s --wait spin --cpu 2 --json > result.json
";

/// Arguments of `sonde rtt`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct RttOptions {
    /// The peer: a name or an address, with :PORT if it is not 7663; or a URL of a program, as in `redis://db1`
    ///
    /// TCP and UDP need `sonde serve` there, or a netserver with --peer netperf; ICMP and TCP connect need nothing there. A URL asks the
    /// program there in its own protocol: redis://, memcached://, http://, https://, h2://, h3://, grpc://, ws://, dns://,
    /// dns+tls://, ntp://, nats://, mqtt://, postgres://, mysql://, kafka://, sip://, quic:// and others of --app.
    /// Without HOST
    /// sonde measures loopback, and the output says so.
    #[arg(value_name = "HOST")]
    pub host: Option<Whom>,

    /// Protocol of the requests
    #[command(flatten)]
    pub carrier: CarrierOptions,

    /// Times of the requests
    #[command(flatten)]
    pub schedule: ScheduleOptions,

    /// Wait modes of both ends
    #[command(flatten)]
    pub waiting: WaitingOptions,

    /// One request, and the number of connections
    #[command(flatten)]
    pub shape: ShapeOptions,

    /// End of the measurement
    #[command(flatten)]
    pub stop: StopOptions,

    /// The way to the peer
    #[command(flatten)]
    pub path: PathOptions,

    /// Requests to a program at work
    #[command(flatten)]
    pub application: ApplicationOptions,

    /// Kernel timestamps, seed
    #[command(flatten)]
    pub recording: RecordingOptions,

    /// Packets on the wire
    #[command(flatten)]
    pub verify: VerifyOptions,

    /// With --crr: print TEMPLATE for each request, in curl's variables, as in `%{time_connect} %{time_total}\n`; @FILE reads it
    ///
    /// It takes the place of the printed result, which -o still writes to a file. Times are seconds since the connection was asked for;
    /// what did not happen is empty. Variables: `time_connect`, `time_appconnect`, `time_pretransfer`, `time_posttransfer`,
    /// `time_starttransfer`, `time_total`, `response_code`, `size_header`, `size_download`, `speed_download`, `num_connects`, `remote_ip`,
    /// `remote_port`, `local_port`, `ssl_verify_result`; `time_namelookup` and `time_redirect` are always empty (names are looked up
    /// once, redirects not followed), and `num_redirects` is 0. Our own: `reply`, `fate`, `seq`.
    #[arg(long, value_name = "TEMPLATE", requires = "host", conflicts_with_all = ["json", "json_lines", "export"], help_heading = "Output")]
    pub write_out: Option<String>,

    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,
}

/// Protocol of the requests.
#[derive(Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
#[command(next_help_heading = "Protocol")]
pub struct CarrierOptions {
    /// Protocol: tcp, udp, icmp (echo, answered by the peer's kernel) or tcp-connect (handshakes) [default: tcp]
    #[arg(long = "protocol", alias = "carrier", value_name = "PROTOCOL", hide_possible_values = true, value_parser = carriers())]
    #[arg(conflicts_with_all = ["tcp", "udp", "icmp", "connect"])]
    pub carrier: Option<Carrier>,
    /// A TCP connection that stays open: --protocol tcp
    #[arg(long, conflicts_with_all = ["udp", "icmp", "connect"])]
    pub tcp: bool,
    /// UDP datagrams: --protocol udp
    #[arg(long, conflicts_with_all = ["icmp", "connect"])]
    pub udp: bool,
    /// ICMP echo: --protocol icmp
    #[arg(long, conflicts_with = "connect")]
    pub icmp: bool,
    /// The TCP handshake alone, with any server: --protocol tcp-connect
    #[arg(long)]
    pub connect: bool,
    /// Open a new TCP connection for every request, as clients without keep-alive do
    ///
    /// Needs `sonde serve` on the peer, or a netserver with --peer netperf. With a netserver the time includes opening the socket and
    /// closing it at both ends.
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

/// Times of the requests.
#[derive(Debug, Args)]
#[command(next_help_heading = "Schedule")]
pub struct ScheduleOptions {
    /// Maximum requests in flight per connection; 0: no limit (open loop) [default: 1, with a schedule 0]
    ///
    /// With 1 or more, a request waits for an earlier reply if the limit is reached (closed loop). A slow reply then delays later
    /// requests; scheduled sends that pass are counted as skipped. With 0, sonde sends on schedule and measures response time from the
    /// scheduled send time, so that a stall is counted in full.
    #[arg(long, value_name = "REQUESTS")]
    pub window: Option<u32>,
    /// Interval between requests, as in 10ms or 250us; 0: no pause
    ///
    /// Without it sonde sends the next request as soon as the reply arrives. Only `sonde rtt --icmp` pauses by itself: 10 ms, because a kernel
    /// answers as fast as it is asked. `--every 0` asks for the flood, `--every 1s` is ping's interval.
    #[arg(long, value_name = "TIME", value_parser = value::time_or_none, conflicts_with_all = ["rate", "poisson"])]
    pub every: Option<Nanos>,
    /// Requests per second at equal intervals, as in 100/s or 10k/s
    #[arg(long, value_name = "RATE", value_parser = value::rate, conflicts_with = "poisson")]
    pub rate: Option<Rate>,
    /// Mean requests per second with random exponential gaps (Poisson arrivals)
    #[arg(long, value_name = "RATE", value_parser = value::rate)]
    pub poisson: Option<Rate>,
    /// Requests per burst: all have the same scheduled time (with --every)
    #[arg(long, value_name = "REQUESTS", requires = "every")]
    pub burst: Option<u32>,
    /// Pacing until the next send: sleep, spin, or hybrid (sleep, then spin at the end) [default: hybrid]
    ///
    /// It changes the result: a CPU that sleeps must be woken, one that spins need not.
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

/// Wait modes of both ends.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Wait mode and CPUs")]
pub struct WaitingOptions {
    /// Wait mode of this host: block, spin, or busy-poll=US [default: block]
    ///
    /// block: the kernel wakes the thread, as in most applications. spin: the thread polls the socket and uses 100 % of a CPU.
    /// busy-poll: the thread blocks while the kernel polls the network card for US microseconds (default 50).
    #[arg(long, value_name = "HOW", hide_possible_values = true)]
    pub wait: Option<WaitingWord>,
    /// Wait mode of the peer: block, spin or busy-poll=US [default: as it was started]
    #[arg(long, value_name = "HOW", hide_possible_values = true)]
    pub peer_wait: Option<WaitingWord>,
    /// CPUs for the measuring threads, in turn, as in 2 or 0,2-3 [default: the scheduler decides]
    #[arg(long, value_name = "CPUS")]
    pub cpu: Option<CpuList>,
    /// CPUs for the peer's threads [default: as it was started]
    #[arg(long, value_name = "CPUS")]
    pub peer_cpu: Option<CpuList>,
}

/// One request, and the number of connections.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Size and connections")]
pub struct ShapeOptions {
    /// Bytes per request and reply, as in 64, 1kB (1000) or 1KiB (1024) [default: 64]
    #[arg(long, value_name = "BYTES", value_parser = value::size, conflicts_with_all = ["request_size", "response_size"])]
    pub size: Option<Bytes>,
    /// Bytes per request [default: 64]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub request_size: Option<Bytes>,
    /// Bytes per reply; over UDP at most those of the request [default: 64]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub response_size: Option<Bytes>,
    /// Connections at once; they share the rate [default: see --flows]
    #[arg(long, value_name = "NUMBER")]
    pub connections: Option<u32>,
    /// Connections one after the other, in turns [default: 8 where a request follows each reply, else 1]
    ///
    /// One request at a time, over each connection for a while, in random order: a path, a queue or a CPU that only some connections
    /// take is seen. The result has the latency and loss of each connection, and says whether they differ. `sonde paths` shows which
    /// ones. By default one connection: with a schedule, a window, a count or threads, over ICMP, by another program's protocol, and to
    /// a peer that spins.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["connections", "threads"])]
    pub flows: Option<u32>,
    /// Threads on this host for the connections [default: one per connection, up to 64]
    #[arg(long, value_name = "NUMBER")]
    pub threads: Option<u32>,
}

/// End of the measurement.
#[derive(Debug, Args)]
#[command(next_help_heading = "Duration")]
pub struct StopOptions {
    /// Measure for TIME: seconds, or with a unit, as in 10, 500ms, 5m [default: 10s]
    #[arg(short = 't', long, value_name = "TIME", value_parser = value::run_length)]
    pub time: Option<Nanos>,
    /// End after COUNT requests or messages, as in 1000 or 10k
    #[arg(short = 'c', long, value_name = "COUNT", value_parser = value::count)]
    pub count: Option<u64>,
    /// End when a percentile is known precisely: p99±5%, also written p99+-5% or p99:5%
    ///
    /// Ends when the 95 % confidence interval of the percentile is within 5 % of its value, or after -t (1 h if not given). p99 alone
    /// ends when there are enough exchanges to print the percentile.
    #[arg(long, value_name = "PERCENTILE", value_parser = value::settled)]
    pub until: Option<Settled>,
    /// A request without reply for TIME is lost; a later reply is late [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub timeout: Option<Nanos>,
    /// Minimum warm-up before recording; 0: none [default: a quarter of -t, at most 400ms]
    #[arg(long, value_name = "TIME", value_parser = value::time_or_none)]
    pub warm_up: Option<Nanos>,
}

/// Facts that a session-reflector is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StampAsk {
    /// Code point and congestion marks.
    Class,
    /// Ports and addresses.
    Location,
    /// Counts of packets.
    Counts,
    /// Send time of the reply before.
    FollowUp,
}

/// Protocol of the far side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PeerWord {
    /// Ours.
    Sonde,
    /// netperf's.
    Netperf,
    /// STAMP's.
    Stamp,
    /// TWAMP's.
    Twamp,
    /// irtt's.
    Irtt,
}

/// The way to the peer, and whose protocol it speaks.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Peer and network")]
pub struct PathOptions {
    /// Program on the peer for TCP and UDP: sonde (`sonde serve`), netperf (netserver, port 12865), stamp (session-reflector of RFC
    /// 8762, port 862), twamp (server of RFC 5357, TCP port 862) or irtt (`irtt server`, port 2112) [default: sonde]
    ///
    /// netperf: one control connection and one process per connection; --peer-cpu pins the processes. It has no timestamps and no wait
    /// mode, and counts the warm-up. Its datagrams have no sequence numbers: a late reply counts as the next one.
    ///
    /// stamp: each reply has timestamps of its arrival and departure at the peer. They give delay and loss of each direction and the
    /// clock offset. It uses UDP with 44 bytes, or 112 with --stamp-key.
    ///
    /// twamp: the same, but the server is asked for sessions by a control connection first, without authentication; it names the UDP
    /// port of each.
    ///
    /// irtt: each reply has the server's timestamps and its count of packets. It uses UDP with 52 bytes, or 68 with --irtt-key, one packet
    /// every 50 ms unless you say otherwise: a server answers one every 10 ms on average, unless it is started with -i.
    #[arg(long, value_name = "PROTOCOL", requires = "host", hide_possible_values = true)]
    pub peer: Option<PeerWord>,
    /// Passphrase of the netserver, sent unencrypted
    #[arg(long, value_name = "TEXT", requires = "peer")]
    pub passphrase: Option<String>,
    /// Key for authenticated packets (--peer stamp): a file of hexadecimal digits, or one made by `sonde key`
    #[arg(long, value_name = "FILE", requires = "peer")]
    pub stamp_key: Option<PathBuf>,
    /// Key for sealed packets (--peer irtt): a file with the text that the server has as --hmac
    #[arg(long, value_name = "FILE", requires = "peer")]
    pub irtt_key: Option<PathBuf>,
    /// Also ask the reflector by optional parts of the packet: class, location, counts, follow-up (--peer stamp)
    ///
    /// RFC 8972: how the packet was marked where it arrived (class of service), from and to which address and port it went there
    /// (location), how many packets the peer has received and answered (direct measurement), and when its previous reply left
    /// (follow-up telemetry). Packets grow by as much. A peer that does not know a part says so.
    #[arg(
        long,
        value_name = "PARTS",
        value_enum,
        value_delimiter = ',',
        requires = "peer",
        hide_possible_values = true
    )]
    pub stamp_ask: Vec<StampAsk>,
    /// The clocks of both hosts agree within TIME (PTP, or one host): one-way delays within it (--peer stamp, twamp, irtt)
    ///
    /// Without it the difference of the clocks is estimated from the packets, and each direction is known within half of the shortest
    /// round trip. If the packets contradict it, that is reported, and the estimate is used.
    #[arg(long, value_name = "TIME", value_parser = value::time, requires = "peer")]
    pub clocks_agree: Option<Nanos>,
    /// The way to the peer
    #[command(flatten)]
    pub reach: ReachOptions,
}

/// The way to the peer.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Peer and network")]
pub struct ReachOptions {
    /// Port of the peer [default: 7663]
    #[arg(long, value_name = "PORT", requires = "host", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Use only IPv4
    #[arg(short = '4', requires = "host", conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use only IPv6
    #[arg(short = '6', requires = "host")]
    pub ipv6: bool,
    /// The key of the peer
    #[command(flatten)]
    pub key: KeyOptions,
    /// Local address to send from
    #[arg(long, value_name = "ADDRESS")]
    pub bind: Option<IpAddr>,
    /// Local ports to send from: one, or a range as in 40000..40063 that the connections share [default: the system's choice]
    ///
    /// Routers and network cards choose a path or a queue by the ports. With one port a run is repeated over the same path.
    #[arg(long, value_name = "PORTS", value_parser = value::source_ports)]
    pub source_port: Option<SourcePorts>,
    /// Network interface to send through (`SO_BINDTODEVICE`)
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
    /// Type-of-service byte, 0 to 255
    #[arg(long, value_name = "OCTET", value_parser = value::tos, conflicts_with = "dscp")]
    pub tos: Option<u8>,
    /// DSCP, 0 to 63 or a name: ef, cs5, af21
    #[arg(long, value_name = "CODE", value_parser = value::dscp)]
    pub dscp: Option<u8>,
    /// Keep Nagle's algorithm on: small TCP segments may wait for an acknowledgement [default: off]
    #[arg(long)]
    pub nagle: bool,
    /// TCP congestion control by name, as in cubic [default: the system's]
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Send buffer to request; the record has the actual size [default: the system's]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub send_buffer: Option<Bytes>,
    /// Receive buffer to request; with TCP this disables autotuning [default: the system's; up to 4MiB per connection of a UDP load]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub receive_buffer: Option<Bytes>,
}

/// Kernel timestamps, seed, samples.
#[derive(Debug, Args)]
#[command(next_help_heading = "Recording")]
pub struct RecordingOptions {
    /// Time breakdown of one exchange per 2 ms by kernel timestamps; an error if unsupported [default: a few per 300 ms, if supported]
    ///
    /// The kernel then timestamps every packet of the host, which adds a few percent to a short round trip. By default it does so for
    /// 1 % of the time. Where requests are 1 ms and more apart it does so throughout, for one request in four. It never does for programs
    /// asked over TCP.
    #[arg(long, conflicts_with = "no_stamps")]
    pub stamps: bool,
    /// Use no kernel timestamps
    #[arg(long)]
    pub no_stamps: bool,
    /// Seed, samples
    #[command(flatten)]
    pub kept: KeptOptions,
}

/// Seed, samples.
#[derive(Debug, Args)]
#[command(next_help_heading = "Recording")]
pub struct KeptOptions {
    /// Seed of random gaps and start phase, to repeat a schedule [default: random, stored in the record]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Write one row per exchange to FILE: .csv or .parquet
    ///
    /// A row has the scheduled send time, the actual one, the time of the reply and the request status.
    #[arg(long, value_name = "FILE")]
    pub samples: Option<SampleFile>,
    /// Give each second of --json-lines a histogram of its response times (histograms add up), where the time went, and what disturbed this host
    #[arg(long)]
    pub histograms: bool,
    /// Exit with 99 if a rate or --until is not reached or anything is lost
    #[arg(long)]
    pub strict: bool,
}
