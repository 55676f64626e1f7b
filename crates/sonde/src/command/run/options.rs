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
  sonde run --inventory hosts.ini --method tcp_rr      every pair of hosts
  sonde run --inventory hosts.toml --method tcp_rr --method udp_rr --method ping --repeats 5
  sonde run --inventory hosts.csv --pairs between=zone --method 'throughput -t 10s'
  sonde run mesh.toml --dry-run                        print the trials and the expected duration
  sonde run --resume last                              complete an interrupted run

Exit status of a run: 0 where all cells were measured, 3 where some were, 1 where
none was; 130 and the like where a signal ended it: the results so far are kept.
";

/// Arguments of `sonde run`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
// Refused, and so not offered: it has no table of records.
#[command(mut_arg("export", |arg| arg.hide(true)))]
#[expect(clippy::struct_excessive_bools, reason = "one per switch of the command line")]
pub struct RunOptions {
    /// The plan: a TOML file; options override it
    #[arg(value_name = "PLAN", conflicts_with = "resume")]
    pub plan: Option<PathBuf>,
    /// Inventory (list of hosts): one per line, CSV, Ansible's INI or YAML, `tofu output -json`, PKB's static machines, or TOML as in a
    /// plan; repeatable
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub inventory: Vec<String>,
    /// Pairs of hosts: all, one-to-all=HOST, between=LABEL, within=LABEL, or LABEL=VALUE,LABEL=VALUE
    #[arg(long, value_name = "PAIRS", conflicts_with = "resume")]
    pub pairs: Option<String>,
    /// Measuring command without a host, as in 'rtt --udp -t 5s', or `tcp_rr`, `udp_rr`, `tcp_crr`, ping, `tcp_stream`, `udp_stream`; NAME=…
    /// gives it a name; repeatable
    #[arg(long, value_name = "METHOD", conflicts_with = "resume")]
    pub method: Vec<String>,
    /// Repeats of each cell: 1 to 1000 [default: 1]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "resume")]
    pub repeats: Option<u32>,
    /// Addresses to measure: internal, external or both [default: internal]
    #[arg(long, value_name = "WHICH", conflicts_with = "resume")]
    pub addresses: Option<String>,
    /// Measure each pair only from its first host
    #[arg(long, conflicts_with = "resume")]
    pub forward: bool,
    /// Pairs at the same time: rounds (no host and no machine twice), one, sharing (no host twice), or all [default: rounds]
    #[arg(long, value_name = "WHICH", conflicts_with = "resume")]
    pub at_once: Option<String>,
    /// Measure in the order of the plan [default: random order]
    #[arg(long, conflicts_with = "resume")]
    pub in_order: bool,
    /// Seed of the order, to repeat it
    #[arg(long, value_name = "NUMBER", conflicts_with = "resume")]
    pub seed: Option<u64>,
    /// Port of the peers, TCP and UDP
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), conflicts_with = "resume")]
    pub port: Option<u16>,
    /// Do not check the ports of each pair first
    #[arg(long, conflicts_with = "resume")]
    pub no_check: bool,
    /// Complete a run, by the first digits of its ID or `last`: measures missing and failed cells
    #[arg(long, value_name = "RUN")]
    pub resume: Option<String>,
    /// Stages, in order and without gaps, of provision, prepare, run, cleanup, teardown [default: prepare,run]
    #[arg(long, value_name = "STAGES")]
    pub stage: Option<String>,
    /// Longest silence of a host: while it is reached, its agent starts, and later
    ///
    /// A host that answers slowly, or still reads the program, is waited for up to four times as long.
    #[arg(long, value_name = "TIME", value_parser = value::time, default_value = "30s")]
    pub patience: Nanos,
    /// The program for hosts of its machine, as for aarch64, in place of this one; repeatable
    ///
    /// A host by ssh and a pod are given the program for their machine. Give the `sonde` of the same version from the archive for that machine.
    /// One for this kind of machine replaces this program on all hosts, as a static build does.
    #[arg(long, value_name = "FILE")]
    pub program: Vec<PathBuf>,
    /// Where what is measured is kept
    #[command(flatten)]
    pub store: StoreOptions,
    /// Print the cells and the expected duration, measure nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,
}
