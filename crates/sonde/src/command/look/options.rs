//! The options of `sonde look`, each defined once.

use std::path::PathBuf;

use clap::Args;
use measure::unit::Nanos;

use crate::command::check::target::{PortList, PortWish};
use crate::command::result_options::ResultOptions;
use crate::command::value::{self, Far};

const EXAMPLES: &str = "\
Examples:
  sonde db1                        the same without the word: how far is it, and which number is right?
  sonde look db1:5432              handshakes with that port
  sonde look db1 --port 9999=sonde a program where it usually is not
  sonde look 10.0.0.2 --also 34.1.2.3
                                   two addresses of one host, side by side
  sonde look db1 -t 20 --every 50ms --json > look.json
";

/// What `sonde look` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct LookOptions {
    /// The host: a name or an address, with :PORT where a TCP port is to be asked that is not among the usual ones
    #[arg(value_name = "HOST")]
    pub host: Far,

    /// A TCP port to make handshakes with; PORT=PROGRAM says which program is there
    #[arg(long, value_name = "PORT", value_parser = port)]
    pub port: Option<PortWish>,
    /// Another address of the same host, asked by the same ways in the same rounds
    #[arg(long, value_name = "ADDRESS")]
    pub also: Option<String>,
    /// How long the rounds go on: seconds, or with a unit, 1 s to 5 min
    #[arg(short = 't', long, value_name = "TIME", value_parser = length, default_value = "5")]
    pub time: Nanos,
    /// From one round to the next: each way is asked once in a round; 10ms to 10s
    #[arg(long, value_name = "TIME", value_parser = interval, default_value = "100ms")]
    pub every: Nanos,
    /// The pre-shared key of a reflector there, a file made by `sonde key`
    #[arg(long, value_name = "FILE", env = "SONDE_KEY_FILE")]
    pub key: Option<PathBuf>,
    /// Over IPv4 only
    #[arg(short = '4', conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Over IPv6 only
    #[arg(short = '6')]
    pub ipv6: bool,

    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,
}

fn port(text: &str) -> Result<PortWish, String> {
    let ports: PortList = text.parse()?;
    match ports.0.as_slice() {
        [one] => Ok(*one),
        _ => Err("is more than one port: handshakes go to one".to_owned()),
    }
}

fn length(text: &str) -> Result<Nanos, String> {
    let time = value::run_length(text)?;
    let holds = (Nanos::secs(1)..=Nanos::secs(300)).contains(&time);
    if holds { Ok(time) } else { Err("is too short or too long for a look: 1 s to 5 min".to_owned()) }
}

fn interval(text: &str) -> Result<Nanos, String> {
    let time = value::time(text)?;
    let holds = (Nanos::millis(10)..=Nanos::secs(10)).contains(&time);
    if holds { Ok(time) } else { Err("is no length of a round: 10ms to 10s".to_owned()) }
}
