//! The options of `sonde why`.

use clap::Args;

use crate::command::result_options::ResultOptions;
use crate::command::study::options::TrialOptions;

const EXAMPLES: &str = "\
Examples:
  sonde why db1                         an exchange over TCP each 10 ms: where does its time go?
  sonde why db1 --udp --every 1ms       over UDP, each millisecond
  sonde why db1 --pace spin             of a program that does not sleep between requests
  sonde why db1 --budget 1m             in a minute
  sonde why db1 --intervals 0,1us..1s -o why.json
                                        with three intervals a decade, and every record
";

/// How many it takes is a matter of how many causes are judged together.
const BLOCKS: &str =
    "Trials of each setting, one in each block; 8 are the fewest that can show any of them [default: 9]";

/// What `sonde why` takes.
#[derive(Debug, Args)]
#[command(mut_arg("blocks", |arg| arg.help(BLOCKS)))]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct WhyOptions {
    /// The far side; `sonde serve` there has a switch and stamps of its own, others less
    #[arg(value_name = "HOST")]
    pub host: Option<String>,

    /// The intervals whose time is taken apart, as `sonde sweep` takes them; back to back and that of the question are always
    /// among them [default: 0,10us..100ms/5]
    #[arg(long, value_name = "RANGE")]
    pub intervals: Option<String>,
    /// How its trials are made
    #[command(flatten)]
    pub trials: TrialOptions,

    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,

    /// Options of `sonde rtt` that say what is to be explained; they may stand among the others, without the `--` [default: --every
    /// 10ms --window 1 --pace sleep --wait block --peer-wait block]
    #[arg(value_name = "OPTIONS", last = true)]
    pub common: Vec<String>,
}
