//! The options of `sonde sweep`.

use std::path::PathBuf;

use clap::Args;
use measure::study::figure::Figure;

use crate::command::result_options::ResultOptions;
use crate::command::study::options::TrialOptions;

const EXAMPLES: &str = "\
Examples:
  sonde sweep db1 --over interval=1us..1s --window 1 --method '--icmp' --method '--tcp'
                                        round trips against the interval: what ping sees, and what netperf sees
  sonde sweep db1 --over size=64..64KiB --tcp
  sonde sweep db1 --over rate=1k/s..200k/s --method load
  sonde sweep db1 --over streams=1..16 --method throughput --method 'throughput --reverse'
  sonde sweep db1 --over congestion=cubic,reno --method throughput
  sonde sweep 10.0.0.2 --over address=10.0.0.2,34.1.2.3 --blocks 6
  sonde sweep db1 --over interval=0,10us..100ms/9 --budget 2m -o curve.json
  sonde sweep --resume curve.json                       what is missing of one that was cut short
";

/// A point may well have no interval.
const BLOCKS: &str = "Trials of each point, one in each block; from 6 on a point has a 95 % interval [default: 3]";

/// What `sonde sweep` takes.
#[derive(Debug, Args)]
#[command(mut_arg("blocks", |arg| arg.help(BLOCKS)))]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{}", crate::exit::TABLE))]
pub struct SweepOptions {
    /// The far side, of every method that names none itself
    #[arg(value_name = "HOST", requires = "over")]
    pub host: Option<String>,

    /// Along which axis, and at which points: interval=1us..1s, size=64,1400, window=1..64, rate=1k/s..100k/s/9
    ///
    /// Axes: interval, rate, size, window, connections, threads, streams, cores, carrier, address, peer, pacing, wait,
    /// peer-wait, cpu, peer-cpu, dscp, congestion, direction, send, discard, segments, batch, reply-every, nagle, send-buffer,
    /// receive-buffer, bind and interface.
    ///
    /// A..B has three points a decade (1, 2 and 5), of counts and sizes the powers of two; A..B/N has N points, each the same
    /// ratio above the one before; values stand with commas between them, and any of them may be a range. An interval of 0 is
    /// back to back.
    #[arg(long, value_name = "AXIS=RANGE", required_unless_present = "resume")]
    pub over: Option<String>,
    /// A method whose curve is drawn: options of `sonde rtt`, or of load or throughput behind that word; or one of the names
    /// ping, `tcp_rr`, `udp_rr`, `tcp_crr`, `tcp_stream` and `udp_stream`; may be given again [default: one, of the other options]
    #[arg(long = "method", value_name = "WORDS", allow_hyphen_values = true, requires = "over")]
    pub methods: Vec<String>,
    /// What is drawn: min, mean, p50 to p99.999, loss, rate, throughput; beside a time the p99 is told too [default: p50, of streams
    /// throughput]
    #[arg(long, value_name = "FIGURE", requires = "over")]
    pub figure: Option<Figure>,
    /// How its trials are made
    #[command(flatten)]
    pub trials: TrialOptions,
    /// Go on with the sweep in FILE, which -o wrote, and write it there again: what is missing is measured
    ///
    /// The words by which it was begun stand in the file. They may be said again; where they ask another question, that is said and
    /// nothing is measured.
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,

    /// Where the result goes
    #[command(flatten)]
    pub result: ResultOptions,

    /// Options of `sonde rtt` that every method has in common; they may stand among the others, without the `--`
    #[arg(value_name = "OPTIONS", last = true, requires = "over")]
    pub common: Vec<String>,
}
