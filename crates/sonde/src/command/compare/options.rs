//! The options of `sonde compare`.

use clap::Args;
use measure::study::figure::Figure;
use measure::study::threshold::Threshold;

use crate::command::result_options::ResultOptions;
use crate::command::runs::place::StoreOptions;
use crate::command::study::options::TrialOptions;

const EXAMPLES: &str = "\
Examples:
  sonde compare db1 db2                        the same round trips to two hosts
  sonde compare 10.0.0.2 34.1.2.3              internal against external address
  sonde compare 'ping db1' 'tcp_rr db1'        why ping and netperf disagree
  sonde compare '--wait block' '--wait spin' --with db1   the same except for one setting
  sonde compare 'throughput db1' 'throughput db1 --congestion bbr'
  sonde compare before/ after/ --fail-if 'p99>+5%'   stored records, in CI
  sonde compare db1 db1 --runner-a ./old/sonde --runner-b ./new/sonde --fail-if 'p99>+5%' --budget 5m
  sonde compare 0199f2ab-1234 last              two runs of a plan, cell by cell
";

/// A comparison has a run of each side in a block, and people count those.
const RUNS: &str = "Runs of each side, in pairs of random order; a significant difference takes at least 6 [default: 7; up to 12 short ones where the comparison can end early]";
/// It draws more than an order.
const SEED: &str =
    "Seed of the order of runs and of the bootstrap, to repeat them [default: random, stored in the result]";

/// Arguments of `sonde compare`.
#[derive(Debug, Args)]
#[command(mut_arg("blocks", |arg| arg.long("runs").help(RUNS)))]
#[command(mut_arg("seed", |arg| arg.help(SEED)))]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct CompareOptions {
    /// Sides: measuring commands (each quoted as one word), stored records, or two stored runs
    ///
    /// A command is a host, options of `sonde rtt`, or both. It may start with rtt, load or throughput, or with `ping`, `tcp_rr`, `udp_rr`,
    /// `tcp_crr`, `tcp_stream` or `udp_stream`, which name common methods. Stored records are files or folders, separated by commas. Each
    /// side is compared with the first. Two stored runs (`sonde runs`), by the first digits of their IDs or `last`, are compared cell by
    /// cell.
    #[arg(value_name = "SIDE", num_args = 2.., required = true)]
    pub sides: Vec<String>,

    /// Options for all live sides; a side overrides them by its own
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    pub with: Option<String>,
    /// Words before side A's measuring command that lead to the sonde that measures it: 'ip netns exec a sonde', `build-a/sonde`
    #[arg(long, value_name = "WORDS", requires = "runner_b")]
    pub runner_a: Option<String>,
    /// The same of side B, for two builds or hosts; both sides may have the same words
    #[arg(long, value_name = "WORDS", requires = "runner_a")]
    pub runner_b: Option<String>,
    /// Its trials
    #[command(flatten)]
    pub trials: TrialOptions,
    /// Values to compare, separated by commas: min, mean, p50 to p99.999, loss, rate, throughput; effects are of the first
    /// [default: p50,p90,p99; for streams throughput]
    ///
    /// Several are tested together (Holm's correction): more values need more runs for a significant difference.
    #[arg(long, value_name = "FIGURES", value_delimiter = ',')]
    pub figures: Vec<Figure>,
    /// Do not measure the effect of each setting in which two methods differ
    #[arg(long)]
    pub no_moves: bool,
    /// Exit with 99 if a difference exceeds LIMIT: p99>+5%, p50>+20us, throughput<-3%; repeatable
    ///
    /// It exceeds LIMIT if the whole 95 % interval of the difference lies beyond it.
    #[arg(long, value_name = "LIMIT")]
    pub fail_if: Vec<Threshold>,
    /// Exit with 99 also if a limit is not shown to be kept
    #[arg(long, requires = "fail_if")]
    pub strict: bool,

    #[command(flatten)]
    pub place: StoreOptions,
    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,
}
