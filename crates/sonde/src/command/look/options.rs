//! The options of `sonde look`, each defined once.

use clap::Args;
use measure::unit::Nanos;

use crate::command::check::target::PortList;
use crate::command::key_file::KeyOptions;
use crate::command::result_options::ResultOptions;
use crate::command::value::{self, Far};

const EXAMPLES: &str = "\
Examples:
  sonde db1                        the same without the word look
  sonde look db1:6379              that port, and the program there (Redis)
  sonde look db1 --port 7001=redis a program on an unusual port
  sonde look db1 --port 6379,5432  several programs, in the same rounds
  sonde look 10.0.0.2 --also 34.1.2.3
                                   two addresses of one host, side by side
  sonde look db1 -t 20 --every 50ms --json > look.json
";

/// Arguments of `sonde look`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct LookOptions {
    /// The host: a name or an address, with :PORT to measure a further port
    #[arg(value_name = "HOST")]
    pub host: Far,

    /// Ports to measure, as HOST:PORT; PORT=PROGRAM names the program there
    ///
    /// Up to 16, as in 6379,5432,8001=http: the program at the first is the one that the others are compared with. Programs: sonde, netserver, sockperf, stamp, iperf, iperf3, echo, redis, memcached, nats, mqtt, postgres, http, https, tls, mysql
    /// (or mariadb), dns, ntp, ssh, kafka, sip. Without a name the program that is usually at the port is asked for. At an unusual port sonde waits
    /// 300 ms for a program that speaks first, then sends its own request and at most one more, on a connection of its own. Mail, printer
    /// and control ports (25, 587, 515, 9100-9107, 102, 502, …) get only handshakes unless the program is named.
    #[arg(long, value_name = "PORTS", value_parser = ports)]
    pub port: Option<PortList>,
    /// Another address of the same host, measured in the same rounds
    #[arg(long, value_name = "ADDRESS")]
    pub also: Option<String>,
    /// Duration: seconds, or with a unit, 1 s to 5 min
    #[arg(short = 't', long, value_name = "TIME", value_parser = length, default_value = "5")]
    pub time: Nanos,
    /// Interval between rounds: one request per protocol in each; 10ms to 10s
    #[arg(long, value_name = "TIME", value_parser = interval, default_value = "100ms")]
    pub every: Nanos,
    /// The key of the peer
    #[command(flatten)]
    pub key: KeyOptions,
    /// Use only IPv4
    #[arg(short = '4', conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use only IPv6
    #[arg(short = '6')]
    pub ipv6: bool,

    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,
}

/// Ports of one look at most: each has its part of the interval between two rounds.
const MOST_PORTS: usize = 16;

fn ports(text: &str) -> Result<PortList, String> {
    let ports: PortList = text.parse()?;
    let count = ports.0.len();
    if count <= MOST_PORTS { Ok(ports) } else { Err(format!("is of {count} ports: give {MOST_PORTS} at most")) }
}

fn length(text: &str) -> Result<Nanos, String> {
    let time = value::run_length(text)?;
    let holds = (Nanos::secs(1)..=Nanos::secs(300)).contains(&time);
    if holds { Ok(time) } else { Err("is out of range: 1 s to 5 min".to_owned()) }
}

fn interval(text: &str) -> Result<Nanos, String> {
    let time = value::time(text)?;
    let holds = (Nanos::millis(10)..=Nanos::secs(10)).contains(&time);
    if holds { Ok(time) } else { Err("is out of range: 10ms to 10s".to_owned()) }
}
