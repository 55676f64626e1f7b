//! The options of `sonde syn`, each defined once.

use std::net::IpAddr;

use clap::Args;
use measure::unit::Bytes;

use crate::command::result_options::ResultOptions;
use crate::command::rtt::options::{RecordingOptions, ScheduleOptions, StopOptions};
use crate::command::value::{self, CpuList, Far, WaitingWord};
use crate::command::verify::VerifyOptions;

const EXAMPLES: &str = "\
Examples:
  sonde syn db1:5432                        ten SYNs a second for 10 s: open, closed or filtered, and how far
  sonde syn db1:5432 --every 1s -c 4        as hping3 -S does it
  sonde syn db1:11111 --compare-port 5432   closed: does the host say so, or a box before it?
  sonde syn db1:5432 --rate 5k/s --force    more than 1,000 a second look like an attack
";

/// What `sonde syn` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct SynOptions {
    /// The far side and its port: HOST:PORT; brackets around an IPv6 address
    #[arg(value_name = "HOST:PORT")]
    pub host: Far,

    /// What is probed
    #[command(flatten)]
    pub probe: ProbeOptions,

    /// When probes are due
    #[command(flatten)]
    pub schedule: ScheduleOptions,

    /// When it ends
    #[command(flatten)]
    pub stop: StopOptions,

    /// Stamps, seed, samples
    #[command(flatten)]
    pub recording: RecordingOptions,

    /// What the wire says
    #[command(flatten)]
    pub verify: VerifyOptions,

    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,
}

/// What is probed, and from where.
#[derive(Debug, Args)]
#[command(next_help_heading = "What is probed")]
pub struct ProbeOptions {
    /// The far side's port, where it does not stand behind HOST
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// A port where the host accepts connections: its answers show whether the resets of the other can be the host's
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub compare_port: Option<u16>,
    /// Bytes of payload in each SYN; some filters drop those that have any [default: 0]
    #[arg(long, value_name = "BYTES", value_parser = value::size)]
    pub size: Option<Bytes>,
    /// Probe at more than 1,000 a second
    #[arg(long)]
    pub force: bool,
    /// Over IPv4 only
    #[arg(short = '4', conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Over IPv6 only
    #[arg(short = '6')]
    pub ipv6: bool,
    /// The local address to send from
    #[arg(long, value_name = "ADDRESS")]
    pub bind: Option<IpAddr>,
    /// The network interface to send by (`SO_BINDTODEVICE`)
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
    /// The type-of-service octet, 0 to 255
    #[arg(long, value_name = "OCTET", value_parser = value::tos)]
    pub tos: Option<u8>,
    /// How to wait for an answer: block, spin, or busy-poll=US [default: block]
    #[arg(long, value_name = "HOW", hide_possible_values = true)]
    pub wait: Option<WaitingWord>,
    /// CPU to pin the measuring thread to [default: the scheduler decides]
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<CpuList>,
}
