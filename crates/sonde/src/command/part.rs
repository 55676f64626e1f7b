//! `sonde netperf`, `sonde ping` and the other programs whose place is taken as commands among others: for help, man pages and
//! completions.
//! Their words are read in [`crate::persona`], before anything here sees them.

use std::ffi::OsString;

use clap::Args;

use crate::failure::Failure;
use crate::persona::Persona;
use crate::persona::hping3::options::usage as hping3_usage;
use crate::persona::iperf::options::usage as iperf_usage;
use crate::persona::iperf3::options::usage as iperf3_usage;
use crate::persona::netperf::options::usage;
use crate::persona::ping::options::usage as ping_usage;
use crate::persona::pkb::flags::help as pkb_help;
use crate::persona::sockperf::options::usage as sockperf_usage;

const CLIENT_EXAMPLES: &str = "\
Examples:
  sonde netperf -H db1 -t TCP_RR -l 5                    transactions a second
  sonde netperf -H db1 -t TCP_RR -- -k MIN_LATENCY,P99_LATENCY,P999_LATENCY
  sonde netperf -H db1 -t UDP_RR -w 10ms -b 1 --pacing spin -- -o THROUGHPUT,LOST
  sonde install-names ~/bin                              from then on as netperf

docs/netperf.md says where it differs from the original.
";

const SERVER_EXAMPLES: &str = "\
Examples:
  sonde netserver                                        a daemon on port 12865
  sonde netserver -D -L 10.0.0.2 --passphrase-file pass  in the foreground, for those who know
";

const SOCKPERF_EXAMPLES: &str = "\
Examples:
  sonde sockperf server                                  the far side, on UDP port 11111
  sonde sockperf server --tcp -i 10.0.0.2 -g
  sonde install-names ~/bin                              from then on as sockperf

docs/sockperf.md says where it differs from the original.
";

const IPERF_EXAMPLES: &str = "\
Examples:
  sonde iperf -s                                         the far side, on TCP port 5001
  sonde iperf -c db1 -t 5 -i 1 -P 4
  sonde iperf -u -c db1 -b 100m --record run.json
  sonde install-names ~/bin                              from then on as iperf

docs/iperf.md says where it differs from the original.
";

const IPERF3_EXAMPLES: &str = "\
Examples:
  sonde iperf3 -s                                        the far side, on port 5201
  sonde iperf3 -c db1 -t 5 -P 4                          here
  sonde iperf3 -c db1 -u -b 100M -R -J --record run.json
  sonde install-names ~/bin                              from then on as iperf3

docs/iperf3.md says where it differs from the original.
";

const HPING3_EXAMPLES: &str = "\
Examples:
  sonde hping3 -S -p 5432 -c 4 db1                       needs CAP_NET_RAW, as the original does
  sonde hping3 -S -p 5432 -i u10000 -q -c 1000 db1
  sonde install-names ~/bin                              from then on as hping3

docs/hping3.md says where it differs from the original.
";

const PING_EXAMPLES: &str = "\
Examples:
  sonde ping -c 100 db1
  sonde ping -c 1000 -i 0.0005 -q db1                    every 500 us, which no other ping does
  sonde ping -c 1000 -i 0.01 --record run.json db1       and what ping does not tell: sonde show run.json
  sonde install-names ~/bin                              from then on as ping

docs/ping.md says where it differs from the original.
";

const PKB_EXAMPLES: &str = "\
Examples:
  sonde pkb --benchmarks=ping --cloud=GCP --zone=us-east1-c --dry_run
  sonde pkb --benchmarks=netperf --static_vm_file=hosts.json --netperf_benchmarks=TCP_RR,UDP_RR
  sonde pkb --benchmarks=ping,iperf --cloud=AWS --zone=us-east-1a --zone=eu-west-1a --ip_addresses=BOTH
  sonde pkb --helpmatch=netperf                          flags of one matter, those refused among them
  sonde install-names ~/bin                              from then on as pkb

docs/pkb.md says what each benchmark measures by, and what differs.
";

/// What `sonde netperf` takes.
#[derive(Debug, Args)]
#[command(after_help = format!("{CLIENT_EXAMPLES}{}", usage::GLOBAL), disable_help_flag = true, disable_version_flag = true)]
pub struct NetperfOptions {
    /// The words, as the original takes them; options that sonde has everywhere are not among them
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// What `sonde netserver` takes.
#[derive(Debug, Args)]
#[command(after_help = format!("{SERVER_EXAMPLES}{}", usage::SERVER), disable_help_flag = true, disable_version_flag = true)]
pub struct NetserverOptions {
    /// The words, as the original takes them; options that sonde has everywhere are not among them
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// What `sonde sockperf` takes.
#[derive(Debug, Args)]
#[command(after_help = format!("{SOCKPERF_EXAMPLES}\n{}", sockperf_usage::general()), disable_help_flag = true, disable_version_flag = true)]
pub struct SockperfOptions {
    /// The words, as the original takes them; options that sonde has everywhere are not among them
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// What `sonde iperf` takes.
#[derive(Debug, Args)]
#[command(after_help = format!("{IPERF_EXAMPLES}\n{}", iperf_usage::help()), disable_help_flag = true, disable_version_flag = true)]
pub struct IperfOptions {
    /// The words, as the original takes them; options that sonde has everywhere are not among them
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// What `sonde iperf3` takes.
#[derive(Debug, Args)]
#[command(after_help = format!("{IPERF3_EXAMPLES}\n{}", iperf3_usage::help()), disable_help_flag = true, disable_version_flag = true)]
pub struct Iperf3Options {
    /// The words, as the original takes them; options that sonde has everywhere are not among them
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// What `sonde hping3` takes.
#[derive(Debug, Args)]
#[command(after_help = format!("{HPING3_EXAMPLES}\n{}", hping3_usage::help()), disable_help_flag = true, disable_version_flag = true)]
pub struct Hping3Options {
    /// The words, as the original takes them; options that sonde has everywhere are not among them
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// What `sonde ping` takes.
#[derive(Debug, Args)]
#[command(after_help = format!("{PING_EXAMPLES}{}", ping_usage::text()), disable_help_flag = true, disable_version_flag = true)]
pub struct PingOptions {
    /// The words, as the original takes them; options that sonde has everywhere are not among them
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// What `sonde pkb` takes.
#[derive(Debug, Args)]
#[command(after_help = format!("{PKB_EXAMPLES}\n{}", pkb_help::usage()), disable_help_flag = true, disable_version_flag = true)]
pub struct PkbOptions {
    /// The words, as the original takes them; options that sonde has everywhere are not among them
    #[arg(value_name = "WORDS", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Options of ours before the name would be lost on it.
pub fn misplaced(persona: Persona) -> Failure {
    let name = persona.name();
    Failure::usage(format!("{name} has to be the first word: it takes its own options alone"))
        .hint(format!("write `sonde {name} …`"))
}
