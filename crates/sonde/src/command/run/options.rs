//! The options of `sonde run`, each defined once.

use std::path::PathBuf;

use clap::Args;
use measure::unit::Nanos;

use crate::command::result_options::ResultOptions;
use crate::command::runs::place::StoreOptions;
use crate::command::value;

const EXAMPLES: &str = "\
Examples:
  sonde run mesh.toml                                  the plan in a file
  sonde run --inventory hosts.ini --method tcp_rr      every host with every other
  sonde run --inventory hosts.toml --method tcp_rr --method udp_rr --method ping --repeats 5
  sonde run --inventory hosts.csv --pairs between=zone --method 'throughput -t 10s'
  sonde run mesh.toml --dry-run                        what would be measured, and how long that takes
  sonde run --resume last                              what is left of a run that was cut short

Exit status of a run: 0 where all cells were measured, 3 where some were, 1 where
none was; 130 and the like where a signal ended it: what was measured is kept.
";

/// What `sonde run` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "one per switch of the command line")]
pub struct RunOptions {
    /// The plan: a TOML file; what is said beside it takes the place of what stands in it
    #[arg(value_name = "PLAN", conflicts_with = "resume")]
    pub plan: Option<PathBuf>,
    /// A file that lists hosts: one a line, CSV, Ansible's INI or YAML, `tofu output -json`, PKB's static machines, or a plan's own
    /// form; may be given again
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub inventory: Vec<String>,
    /// Which hosts measure each other: all, one-to-all=HOST, between=LABEL, within=LABEL, or LABEL=VALUE,LABEL=VALUE
    #[arg(long, value_name = "PAIRS", conflicts_with = "resume")]
    pub pairs: Option<String>,
    /// A measuring command without a host, as 'rtt --udp -t 5s', or `tcp_rr`, `udp_rr`, `tcp_crr`, ping, `tcp_stream`, `udp_stream`; NAME=… names
    /// it; may be given again
    #[arg(long, value_name = "METHOD", conflicts_with = "resume")]
    pub method: Vec<String>,
    /// How often each is measured: 1 to 1000 [default: 1]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "resume")]
    pub repeats: Option<u32>,
    /// Which addresses carry what is measured: internal, external or both [default: internal]
    #[arg(long, value_name = "WHICH", conflicts_with = "resume")]
    pub addresses: Option<String>,
    /// Measure each pair from its first host alone, not from both in turn
    #[arg(long, conflicts_with = "resume")]
    pub forward: bool,
    /// Which pairs are measured at the same time: rounds (no host and no machine twice), one, or sharing (no host twice) [default: rounds]
    #[arg(long, value_name = "WHICH", conflicts_with = "resume")]
    pub at_once: Option<String>,
    /// Measure in the order of the plan, not in a random one
    #[arg(long, conflicts_with = "resume")]
    pub in_order: bool,
    /// Seed of the order: the same one makes the same order
    #[arg(long, value_name = "NUMBER", conflicts_with = "resume")]
    pub seed: Option<u64>,
    /// Port of the far side, over TCP and UDP
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), conflicts_with = "resume")]
    pub port: Option<u16>,
    /// Do not ask each pair what answers there before it is measured
    #[arg(long, conflicts_with = "resume")]
    pub no_check: bool,
    /// Go on with a run, by its id, the first digits of it, or `last`: what was not measured, or failed
    #[arg(long, value_name = "RUN")]
    pub resume: Option<String>,
    /// Stages to do, in order and without gaps, of provision, prepare, run, cleanup, teardown [default: prepare,run]
    #[arg(long, value_name = "STAGES")]
    pub stage: Option<String>,
    /// How long a host may take until its agent is there, and how long that may say nothing while it is waited for
    #[arg(long, value_name = "TIME", value_parser = value::time, default_value = "30s")]
    pub patience: Nanos,
    /// Where what is measured is kept
    #[command(flatten)]
    pub store: StoreOptions,
    /// Say what would be measured, and how long it takes, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,
}
