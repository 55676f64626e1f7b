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
  sonde compare '--wait block' '--wait spin' --with db1   the same but for one axis
  sonde compare 'throughput db1' 'throughput db1 --congestion bbr'
  sonde compare before/ after/ --fail-if 'p99>+5%'   stored records, in CI
  sonde compare 0199f2ab-1234 last              two runs of a plan, cell by cell
";

/// A comparison has a run of each side in a block, and people count those.
const RUNS: &str = "Runs of each side, in pairs of random order; 6 are the fewest that can show anything [default: 7]";
/// It draws more than an order.
const SEED: &str =
    "Seed of the order of runs and of the intervals drawn, to repeat them [default: random; the result keeps it]";

/// What `sonde compare` takes.
#[derive(Debug, Args)]
#[command(mut_arg("blocks", |arg| arg.long("runs").help(RUNS)))]
#[command(mut_arg("seed", |arg| arg.help(SEED)))]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct CompareOptions {
    /// What is compared: measuring commands, each as one word (quoted), stored records, or two runs of plans
    ///
    /// A command is a far side, options, or both, of `sonde rtt`, or starts with rtt, load or throughput, or with one of the names
    /// `ping`, `tcp_rr`, `udp_rr`, `tcp_crr`, `tcp_stream` and `udp_stream`, which stand for those methods. Stored records are a file, a
    /// folder of files, or several of either with commas between them. Each side is compared with the first. Two runs that are kept (`sonde runs`),
    /// by the start of their names or `last`, are compared cell by cell.
    #[arg(value_name = "SIDE", num_args = 2.., required = true)]
    pub sides: Vec<String>,

    /// Words that all live sides have in common: put in where a side says nothing of that axis
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    pub with: Option<String>,
    /// How its trials are made
    #[command(flatten)]
    pub trials: TrialOptions,
    /// What is compared: min, mean, p50 to p99.999, loss, rate, throughput, with commas; the first is what axes are moved by
    /// [default: p50,p90,p99, of streams throughput]
    ///
    /// Several are judged together (Holm), so that more of them need more to be called different.
    #[arg(long, value_name = "FIGURES", value_delimiter = ',')]
    pub figures: Vec<Figure>,
    /// Do not move the axes in which two methods differ
    #[arg(long)]
    pub no_moves: bool,
    /// Exit with 99 where this is shown: p99>+5%, p50>+20us, throughput<-3%; may be given again
    ///
    /// It is shown where the whole 95 % interval of the difference lies beyond the limit.
    #[arg(long, value_name = "LIMIT")]
    pub fail_if: Vec<Threshold>,
    /// Exit with 99 also where a limit is not shown to be kept
    #[arg(long, requires = "fail_if")]
    pub strict: bool,

    #[command(flatten)]
    pub place: StoreOptions,
    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,
}
