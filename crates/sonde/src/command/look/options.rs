//! The options of `sonde look`, each defined once.

use clap::Args;
use measure::unit::Nanos;

use crate::command::check::target::{PortList, PortWish};
use crate::command::key_file::KeyOptions;
use crate::command::result_options::ResultOptions;
use crate::command::value::{self, Far};

const EXAMPLES: &str = "\
Examples:
  sonde db1                        the same without the word look
  sonde look db1:5432              TCP connect to that port
  sonde look db1 --port 9999=sonde a program on an unusual port
  sonde look 10.0.0.2 --also 34.1.2.3
                                   two addresses of one host, side by side
  sonde look db1 -t 20 --every 50ms --json > look.json
";

/// What `sonde look` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct LookOptions {
    /// The host: a name or an address, with :PORT to measure a further TCP port
    #[arg(value_name = "HOST")]
    pub host: Far,

    /// TCP port to measure, as HOST:PORT; PORT=PROGRAM names the program there
    #[arg(long, value_name = "PORT", value_parser = port)]
    pub port: Option<PortWish>,
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

fn port(text: &str) -> Result<PortWish, String> {
    let ports: PortList = text.parse()?;
    match ports.0.as_slice() {
        [one] => Ok(one.or_measured()),
        _ => Err("is more than one port: give one port".to_owned()),
    }
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
