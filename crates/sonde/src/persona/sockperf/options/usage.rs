//! Texts of the help and `--version`. First lines are the original's, the words are ours.

use std::fmt::Write;

use crate::persona::answer::Answer;
use crate::persona::getopt::Takes;
use crate::persona::sockperf::options::table::{Entry, Subcommand, entries};

/// The version whose behaviour this is, and who behaves so: parsers find a number where they look for one.
pub const VERSION: &str = concat!("3.10-sonde.", env!("CARGO_PKG_VERSION"));

/// `--version`.
pub fn version() -> Answer {
    let stdout = format!("sockperf, version {VERSION}\n");
    Answer { stdout, stderr: format!("({} answers in its place)\n", crate::program::PROGRAM), status: 0 }
}

/// Text of the general help.
pub fn general() -> String {
    let mut text = format!(
        "sockperf is a tool for testing network latency and throughput.\nversion {VERSION}\n\n\
         Usage: sockperf <subcommand> [options] [args]\n\
         Type: 'sockperf <subcommand> --help' for help on a specific subcommand.\n\
         Type: 'sockperf --version' to see the program version number.\n\n\
         Available subcommands:\n"
    );
    let mut row = |name: &str, says: &str| {
        let _ = writeln!(text, "   {name:<20}\t{says}");
    };
    row("help (h ,?)", "this text");
    for it in Subcommand::ALL {
        row(&format!("{} ({})", it.name(), it.alias()), says(it));
    }
    text
}

/// The help of a subcommand.
pub fn of(subcommand: Subcommand) -> String {
    let name = subcommand.name();
    let mut text = format!(
        "{name} ({}): {}\n\nUsage: sockperf {name} [options] [args]...\n",
        subcommand.alias(),
        says(subcommand)
    );
    for line in examples(subcommand) {
        let _ = writeln!(text, " sockperf {name} {line}");
    }
    text.push_str("\nOptions:\n");
    for entry in entries(subcommand) {
        text.push_str(&option(entry));
    }
    text
}

fn says(subcommand: Subcommand) -> &'static str {
    match subcommand {
        Subcommand::UnderLoad => "send on schedule, measure the latency of every n-th message",
        Subcommand::PingPong => "send, wait for the answer, send the next; measure the latency of each",
        Subcommand::Playback => "send at the times and sizes of a file, measure latency",
        Subcommand::Throughput => "only send: how many messages go out",
        Subcommand::Server => "the other end: answers whoever asks",
    }
}

fn examples(subcommand: Subcommand) -> &'static [&'static str] {
    match subcommand {
        Subcommand::UnderLoad => &[
            "-i address [-p port] [-m bytes] [-t seconds] --mps rate --reply-every n",
            "-f file [-m bytes] [-t seconds]",
        ],
        Subcommand::PingPong => {
            &["-i address [-p port] [-m bytes] [-t seconds | -n count]", "-f file [-m bytes] [-t seconds | -n count]"]
        }
        Subcommand::Playback => &["-i address [-p port] --data-file file"],
        Subcommand::Throughput => &["-i address [-p port] [-m bytes] [-t seconds]", "-f file [-m bytes] [-t seconds]"],
        Subcommand::Server => &["[-i address] [-p port] [--tcp]", "-f file [--threads-num count]"],
    }
}

/// ` -t      --time seconds            how long` and so on.
fn option(entry: &Entry) -> String {
    let letters: Vec<String> = entry.letters.chars().map(|letter| format!("-{letter}")).collect();
    let names: Vec<String> = entry.names.iter().map(|name| format!("--{name}")).collect();
    let (value, says) = match (entry.takes, entry.help.split_once("  ")) {
        (Takes::Nothing, _) => ("", entry.help),
        (_, Some(parts)) => parts,
        (_, None) => (entry.help, ""),
    };
    let left = format!(" {:<7} {} {value}", letters.join(","), names.join(","));
    if says.is_empty() {
        return left.trim_end().to_owned() + "\n";
    }
    format!("{left:<46} {says}\n")
}
