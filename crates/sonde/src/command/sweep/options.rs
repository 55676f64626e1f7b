//! The options of `sonde sweep`.

use std::path::PathBuf;

use clap::Args;
use measure::study::figure::Figure;

use crate::command::result_options::ResultOptions;
use crate::command::study::options::TrialOptions;

const EXAMPLES: &str = "\
Examples:
  sonde sweep db1 --over interval=1us..1s --window 1 --method '--icmp' --method '--tcp'
                                        round-trip time against the interval, over ICMP and TCP
  sonde sweep db1 --over size=64..64KiB --tcp
  sonde sweep db1 --over rate=1k/s..200k/s --method load
  sonde sweep db1 --over streams=1..16 --method throughput --method 'throughput --reverse'
  sonde sweep db1 --over congestion=cubic,reno --method throughput
  sonde sweep 10.0.0.2 --over address=10.0.0.2,34.1.2.3 --blocks 6
  sonde sweep db1 --over interval=0,10us..100ms/9 --budget 2m -o curve.json
  sonde sweep --resume curve.json                       complete an interrupted sweep
";

/// A point may well have no interval.
const BLOCKS: &str = "Trials of each point, one per block; a 95 % interval takes at least 6 [default: 3]";

/// Arguments of `sonde sweep`.
#[derive(Debug, Args)]
#[command(mut_arg("blocks", |arg| arg.help(BLOCKS)))]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct SweepOptions {
    /// Peer of every method that names no host
    #[arg(value_name = "HOST", requires = "over")]
    pub host: Option<String>,

    /// The setting and its values: interval=1us..1s, size=64,1400, window=1..64, rate=1k/s..100k/s/9
    ///
    /// Settings: interval, rate, size, window, connections, flow, threads, streams, cores, protocol, address, peer, pacing, wait,
    /// peer-wait, cpu, peer-cpu, dscp, congestion, direction, send, discard, segments, batch, reply-every, nagle, send-buffer,
    /// receive-buffer, bind and interface.
    ///
    /// `A..B` expands to 1, 2 and 5 per decade. Counts and sizes expand to powers of two. A..B/N has N points at equal ratios. Separate
    /// values and ranges by commas. An interval of 0 is no pause.
    #[arg(long, value_name = "SETTING=RANGE", required_unless_present = "resume")]
    pub over: Option<String>,
    /// Method of a curve: options of `sonde rtt`, or load or throughput and their options, or ping, `tcp_rr`, `udp_rr`, `tcp_crr`,
    /// `tcp_stream` or `udp_stream`; repeatable [default: one method, from the other options]
    #[arg(long = "method", value_name = "WORDS", allow_hyphen_values = true, requires = "over")]
    pub methods: Vec<String>,
    /// Value to plot: min, mean, p50 to p99.999, loss, rate, throughput; for a time the table has p99 too [default: p50, for streams
    /// throughput]
    #[arg(long, value_name = "FIGURE", requires = "over")]
    pub figure: Option<Figure>,
    /// Its trials
    #[command(flatten)]
    pub trials: TrialOptions,
    /// Complete the sweep in FILE, which -o wrote: sonde measures the missing trials and writes FILE again
    ///
    /// FILE holds the options. You may repeat them; if they differ, sonde prints an error and measures nothing.
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,

    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,

    /// Options of `sonde rtt` for every method; the `--` may be omitted
    #[arg(value_name = "OPTIONS", last = true, requires = "over")]
    pub common: Vec<String>,
}
