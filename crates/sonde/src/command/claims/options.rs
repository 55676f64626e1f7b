//! The options of `sonde study`.

use std::path::PathBuf;

use clap::Args;

use crate::command::result_options::ResultOptions;
use crate::command::study::options::TrialOptions;

const EXAMPLES: &str = "\
Examples:
  sonde study                                   list the studies that come with sonde
  sonde study ping-or-netperf                   over this host's loopback
  sonde study ping-or-netperf --hosts db1       from this host to db1
  sonde study ping-or-netperf --hosts web1,db1  from web1, by ssh, to db1
  sonde study claims.toml --budget 10m --junit claims.xml --summary claims.md
";

const RUNS: &str = "Runs of each measurement, an exact number [default: 12, or more where --budget allows; fewer where all claims are settled]";

/// The command line of `sonde study`.
#[derive(Debug, Args)]
#[command(mut_arg("blocks", |arg| arg.long("runs").help(RUNS)))]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct ClaimOptions {
    /// The plan: a TOML file of measurements and claims, or the name of a study that comes with sonde; without it sonde lists these
    #[arg(value_name = "PLAN")]
    pub plan: Option<String>,
    /// Hosts: the peer; or the host that measures (`local`, or a destination of ssh that has sonde) and its peers, in the order of the
    /// plan [default: this host's loopback]
    #[arg(long, value_name = "HOST,…", value_delimiter = ',')]
    pub hosts: Vec<String>,
    /// Words before each measuring command that lead to the sonde that measures, as in 'ip netns exec a sonde'
    #[arg(long, value_name = "WORDS")]
    pub runner: Option<String>,
    /// Number, time and order of its trials
    #[command(flatten)]
    pub trials: TrialOptions,
    /// Also write the verdicts as JUnit XML: a claim that does not hold has failed, one that is not shown is skipped
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Also write the verdicts as Markdown, for the page of a CI job
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,

    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,
}
