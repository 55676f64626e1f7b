//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::refining::Refining;
use crate::{estimate, generate, past};

/// Live view of what sonde measures.
#[derive(Debug, Parser)]
#[command(name = "sonde-monitor", bin_name = "sonde-monitor", version)]
pub struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// Commands of the program.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Latency and loss of hosts, live on one screen
    #[command(bin_name = "sonde watch", after_help = EXAMPLES)]
    Watch(Options),
    /// Latency and loss between all hosts of a plan, for ever
    #[command(bin_name = "sonde monitor", after_help = MONITOR_EXAMPLES, args_conflicts_with_subcommands = true)]
    Monitor(MonitorOptions),
    /// History that a monitor has kept: latency and loss of hosts over days and months
    #[command(bin_name = "sonde history", after_help = HISTORY_EXAMPLES)]
    History(past::Options),
    /// Two stretches of what a monitor has kept, compared
    #[command(bin_name = "sonde compare")]
    Compare(past::CompareOptions),
    /// Accept a stretch of time as how things should be
    #[command(bin_name = "sonde accept", after_help = ACCEPT_EXAMPLES)]
    Accept(past::accept::Options),
    /// Size of the store of a monitor of so many hosts: rows, octets a day, and in the end
    Estimate(estimate::Options),
    /// Fill a store with time that never passed, and measure it
    #[command(hide = true)]
    Generate(generate::Options),
}

const MONITOR_EXAMPLES: &str = "\
Examples:
  sonde monitor check plan.toml               is the plan right, and what does it come to?
  sonde monitor plan.toml --listen 7680       with a page at http://127.0.0.1:7680/ and /metrics
  sonde monitor mark 'mtu 9000 on db3'        what you change now, for history and page
  sonde monitor silence plan.toml --host db3 --for 2h
                                              no alerts for this host while you work
  sonde monitor end plan.toml                 end the agents too; Ctrl-C ends the monitor alone

docs/howto/monitor.md has a plan to begin with. The plan is read again when it changes, and on SIGHUP.
Exit status: 0 where it ended as it was told to; 2 for an error.";

/// Options of `sonde monitor`.
#[derive(Clone, Debug, Args)]
pub struct MonitorOptions {
    /// Something else than to monitor
    #[command(subcommand)]
    pub command: Option<MonitorCommand>,
    /// The plan, in TOML
    #[arg(value_name = "PLAN")]
    pub plan: Option<PathBuf>,
    /// Say what the plan comes to, and start nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Keep history in FILE, or in a database, as `postgres://user@host/name` [default: the plan's, else the user's own]
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
    /// Serve page and metrics at ADDRESS, as 127.0.0.1:7680, or at a port of loopback [default: the plan's, else nowhere]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// Let those read who know the word in FILE
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Let everybody read who reaches the address
    #[arg(long, conflicts_with = "token_file")]
    pub open: bool,
    /// A name under which readers may call the server, beside addresses; repeatable
    #[arg(long, value_name = "NAME")]
    pub host: Vec<String>,
    /// Where readers find the page, for what is told to people [default: as it listens]
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Tell /metrics of each cell too, not of hosts and zones alone
    #[arg(long)]
    pub cells: bool,
    /// Keep what the monitor knows beside its store in FOLDER [default: the user's own]
    #[arg(long, value_name = "FOLDER")]
    pub state: Option<PathBuf>,
    /// The program that measures [default: the one beside this, else from PATH]
    #[arg(long, value_name = "FILE", hide = true, global = true)]
    pub sonde: Option<PathBuf>,
}

/// Further commands of `sonde monitor`.
#[derive(Clone, Debug, Subcommand)]
pub enum MonitorCommand {
    /// Say whether a plan is right, and what it comes to
    Check {
        /// The plan
        #[arg(value_name = "PLAN")]
        plan: PathBuf,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// End the agents on the hosts of a plan: without it they go on and keep what they measure
    End {
        /// The plan
        #[arg(value_name = "PLAN")]
        plan: PathBuf,
        /// Remove what they have not told yet too
        #[arg(long)]
        purge: bool,
        /// The monitor's folder [default: the user's own]
        #[arg(long, value_name = "FOLDER")]
        state: Option<PathBuf>,
    },
    /// Note what you change now: history and page show it
    Mark {
        /// Your change, in words
        #[arg(value_name = "TEXT")]
        text: String,
        /// Only this host; repeatable
        #[arg(long, value_name = "HOST")]
        host: Vec<String>,
        /// The store [default: the user's own]
        #[arg(long, value_name = "STORE")]
        store: Option<String>,
    },
    /// Silence incidents for a time: no alerts; page, history and metrics still show them
    #[command(after_help = SILENCE_EXAMPLES)]
    Silence(Box<past::silence::Options>),
}

const SILENCE_EXAMPLES: &str = "\
Examples:
  sonde monitor silence plan.toml --host db2 --for 2h --why 'new kernel'
  sonde monitor silence plan.toml --pair db1 db3 --kind loss --for 1d
  sonde monitor silence plan.toml --list         active silences, those of the plan too
  sonde monitor silence plan.toml --end 4        end silence 4: open incidents are alerted again

Exit status: 0; 1 where no silence is active; 2 for an error in usage or of the store.";

const ACCEPT_EXAMPLES: &str = "\
Examples:
  sonde accept good tue                          Tuesday, for all hosts
  sonde accept moved 10m..now                    the last ten minutes: what changed before them is as it should be
  sonde accept moved --incident 12               what incident 12 shows is normal from now on
  sonde accept                                   all baselines
  sonde history a b --since today --against good compared with it

Exit status: 0; 1 where there is none; 2 for an error in usage or of the store.";

const HISTORY_EXAMPLES: &str = "\
Examples:
  sonde history                             all hosts, and what is wrong now
  sonde history a b --since 7d              from a to b, by days
  sonde history a b --since mon --by hour   since Monday, by hours
  sonde history a b --since today --against yesterday
                                            whether today differs
  sonde compare 'a>b@mon' 'a>c@mon'         the same for two cells

Exit status: 0 where something is known; 1 where nothing is; 2 for an error in usage or of the store.";

const EXAMPLES: &str = "\
Keys: up, down: host; space: freeze; m: mark what you do now; p: percentile; + and -: time per column;
h: histogram; enter: larger; s: order; w: write a page; ?: help; q: end, with a summary.

Examples:
  sonde watch db1 db2                 by every way that answers: TCP, UDP and ICMP
  sonde watch db1 --protocol tcp      by one
  sonde watch db1 redis://db1 https://api/health --ca ca.pem
                                      programs at work, in their own protocols
  sonde watch db1 -o records          and keep the record of each way, for `sonde show`
  sonde watch db1 --json-lines        without a screen, for machines

Exit status: 0 where every way was answered at least once; 1 where one was not; 2 for an error in usage.";

/// Whom to watch, and how.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Hosts: names or addresses, with :PORT if `sonde serve` is not at 7663; or URLs of programs, as in `redis://db1`
    #[arg(required = true, value_name = "HOST")]
    pub hosts: Vec<String>,
    /// By these protocols alone; repeatable [default: TCP and UDP where `sonde serve` answers, ICMP where the host does, else a handshake]
    #[arg(long, value_name = "PROTOCOL")]
    pub protocol: Vec<Protocol>,
    /// Interval between requests of one way, as in 100ms or 1s
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    pub every: String,
    /// End after TIME [default: when you end it]
    #[arg(short = 't', long, value_name = "TIME")]
    pub time: Option<String>,
    /// Key file of `sonde serve`
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Print events as they happen, one JSON object per line, and no screen
    #[arg(long)]
    pub json_lines: bool,
    /// Keep the record of each way in FOLDER, as HOST-PROTOCOL.json; without -t one each hour
    #[arg(short = 'o', long = "output", value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Use no kernel timestamps: they tell where the time went, and add a few percent to a short round trip
    #[arg(long)]
    pub no_stamps: bool,
    /// Draw with ASCII letters alone [default: where the locale names another encoding than UTF-8]
    #[arg(long)]
    pub ascii: bool,
    /// Options that refine the question to programs.
    #[command(flatten)]
    pub refining: Refining,
    /// The program that measures [default: the one beside this, else from PATH]
    #[arg(long, value_name = "FILE", hide = true)]
    pub sonde: Option<PathBuf>,
}

/// A way of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    /// A request and a reply over TCP
    Tcp,
    /// The same over UDP
    Udp,
    /// ICMP echo
    Icmp,
    /// The TCP handshake alone
    TcpConnect,
    /// A program at work in its own protocol, which a URL says
    #[value(skip)]
    Application,
}

impl Protocol {
    /// As `sonde rtt --protocol` has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Icmp => "icmp",
            Self::TcpConnect => "tcp-connect",
            Self::Application => "app",
        }
    }

    /// The same in at most four letters, for a table.
    pub fn short(self) -> &'static str {
        match self {
            Self::TcpConnect => "conn",
            other => other.word(),
        }
    }
}
