//! The options of `sonde syn`, each defined once.

use std::net::IpAddr;

use clap::Args;
use measure::method::SourcePorts;
use measure::unit::Bytes;

use crate::command::result_options::ResultOptions;
use crate::command::rtt::options::{RecordingOptions, ScheduleOptions, StopOptions};
use crate::command::value::{self, CpuList, Far, WaitingWord};
use crate::command::verify::VerifyOptions;

const EXAMPLES: &str = "\
Examples:
  sonde syn db1:5432                        ten SYNs per second for 10 s
  sonde syn db1:5432 --every 1s -c 4        as hping3 -S does
  sonde syn db1:11111 --compare-port 5432   is the RST from the host or from a middlebox?
  sonde syn db1:5432 --rate 5k/s --force    more than 1,000 per second
";

/// Arguments of `sonde syn`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct SynOptions {
    /// The peer and its port: HOST:PORT; put an IPv6 address in brackets
    #[arg(value_name = "HOST:PORT")]
    pub host: Far,

    /// The probes
    #[command(flatten)]
    pub probe: ProbeOptions,

    /// Times of the probes
    #[command(flatten)]
    pub schedule: ScheduleOptions,

    /// End of the measurement
    #[command(flatten)]
    pub stop: StopOptions,

    /// Stamps, seed, samples
    #[command(flatten)]
    pub recording: RecordingOptions,

    /// Packets on the wire
    #[command(flatten)]
    pub verify: VerifyOptions,

    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,
}

/// The probes, and where they are sent from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Probe")]
pub struct ProbeOptions {
    /// Port of the peer, if HOST has none
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// A port where the host accepts connections: its answers show whether those of the probed port can be the host's
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub compare_port: Option<u16>,
    /// Payload bytes per SYN; some filters drop SYNs with payload [default: 0]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub size: Option<Bytes>,
    /// Allow more than 1,000 probes per second: this looks like an attack
    #[arg(long)]
    pub force: bool,
    /// Use only IPv4
    #[arg(short = '4', conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use only IPv6
    #[arg(short = '6')]
    pub ipv6: bool,
    /// Local address to send from
    #[arg(long, value_name = "ADDRESS")]
    pub bind: Option<IpAddr>,
    /// Local ports to send from, in turn: one, or a range as in 40000..40063 [default: the system's choice]
    ///
    /// Routers choose a path by the ports: with one port all probes take the same one. Each port is held for the run, and one that is taken is
    /// an error. `sonde paths` compares ports.
    #[arg(long, value_name = "PORTS", value_parser = value::source_ports)]
    pub source_port: Option<SourcePorts>,
    /// Network interface to send through (`SO_BINDTODEVICE`)
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
    /// Type-of-service byte, 0 to 255
    #[arg(long, value_name = "OCTET", value_parser = value::tos)]
    pub tos: Option<u8>,
    /// Wait mode: block, spin, or busy-poll=US [default: block]
    #[arg(long, value_name = "HOW", hide_possible_values = true)]
    pub wait: Option<WaitingWord>,
    /// CPU for the measuring thread [default: the scheduler decides]
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<CpuList>,
}
