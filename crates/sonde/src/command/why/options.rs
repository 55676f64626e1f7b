//! The options of `sonde why`.

use clap::Args;

use crate::command::result_options::ResultOptions;
use crate::command::study::options::TrialOptions;

const EXAMPLES: &str = "\
Examples:
  sonde why db1                         TCP, one request per 10 ms
  sonde why db1 --udp --every 1ms       over UDP, one per millisecond
  sonde why db1 --pace spin             for a program that does not sleep between requests
  sonde why db1 --budget 2m             in at most two minutes
  sonde why db1 --intervals 0,1us..1s -o why.json
                                        with three intervals per decade; keeps all records
";

/// The number that it takes depends on how many causes are judged together.
const BLOCKS: &str = "Trials of each setting, one per block; establishing a cause takes at least 8 [default: 9]";

/// Arguments of `sonde why`.
#[derive(Debug, Args)]
#[command(mut_arg("blocks", |arg| arg.help(BLOCKS)))]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct WhyOptions {
    /// The peer; with `sonde serve` there, its wait mode and timestamps are examined too
    #[arg(value_name = "HOST")]
    pub host: Option<String>,

    /// Intervals of the time breakdown, as in `sonde sweep`; no pause and --every are always included [default: 0,10us..100ms/5]
    #[arg(long, value_name = "RANGE")]
    pub intervals: Option<String>,
    /// Its trials
    #[command(flatten)]
    pub trials: TrialOptions,

    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,

    /// Options of `sonde rtt` for the method to explain; the `--` may be omitted [default: --every 10ms --window 1 --pace sleep --wait
    /// block --peer-wait block]
    #[arg(value_name = "OPTIONS", last = true)]
    pub common: Vec<String>,
}
