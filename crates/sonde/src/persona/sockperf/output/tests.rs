//! Texts held against those of the original, each made from the numbers of its transcript.

mod clients;
mod lines;
mod logs;
mod servers;

use crate::persona::sockperf::options::usage::VERSION;
use crate::persona::sockperf::options::{self, Activity};
use crate::persona::sockperf::output::activity::Ticker;
use crate::persona::sockperf::output::failure;
use crate::persona::sockperf::transcript::{Transcript, names};

/// Output expected of ours in a transcript's place: its own version, nothing of a thread that ends another by a signal, no
/// debugging output.
fn expected(transcript: &Transcript) -> String {
    let left_out = |line: &&str| {
        let debugging = ["sockperf: +INFO", "\t", "sockperf: thread", "sockperf: [fd=", "sockperf: testStart"];
        *line == "sockperf: Test end (interrupted by signal 2)" || debugging.iter().any(|begin| line.starts_with(begin))
    };
    let text = transcript.stdout.replace(&transcript.version, VERSION);
    text.split_inclusive('\n').filter(|line| !left_out(&line.trim_end_matches('\n'))).collect()
}

/// The lines of `-a` and `-A`, made anew from their intervals.
fn progress(transcript: &Transcript, activity: Option<Activity>, messages: u64) -> String {
    let Some(activity) = activity else { return String::new() };
    let intervals = transcript.stdout.lines().filter_map(|line| line.split_once(" [usec]"));
    let mut intervals = intervals.map(|(micros, _)| micros.trim().parse::<u64>().unwrap() * 1_000);
    let (mut ticker, mut now) = (Ticker::new(activity, 0), 0);
    let told = (1..=messages).filter_map(|count| {
        if count % activity.every == 0 {
            now += intervals.next().unwrap_or(0);
        }
        ticker.message(count, now)
    });
    told.collect()
}

/// Transcripts that are held against text elsewhere, or the reasons for which they are not.
#[test]
fn every_transcript_is_covered_or_named() {
    for name in names() {
        let (number, words) = (&name[..2], Transcript::of(&name).words);
        let covered = match number {
            "01" => help_and_version(&name),
            "24" => bad_arguments(&name),
            // A listener that lacks, or goes away: `lines`.
            "21" | "36" | "37" => true,
            // Unix sockets, which ours refuses.
            "29" | "30" => options::parse(&words).is_err_and(|answer| answer.stderr.contains("unix socket")),
            _ if name.ends_with("-server") => servers::is_the_same(&name),
            "38" if name.ends_with("-1") => servers::is_the_same(&name),
            _ => clients::is_the_same(&name),
        };
        assert!(covered, "{name}");
    }
}

/// The first line is the original's; the rest is in our words.
fn help_and_version(name: &str) -> bool {
    let transcript = Transcript::of(name);
    let answer = options::parse(&transcript.words).unwrap_err();
    answer.status == 0 && answer.stdout.lines().next() == expected(&transcript).lines().next()
}

/// The complaint begins as the original's does; it stands on standard error, and the status tells of it.
fn bad_arguments(name: &str) -> bool {
    let transcript = Transcript::of(name);
    let first = transcript.stdout.lines().next().unwrap();
    let answer = match options::parse(&transcript.words) {
        Err(answer) => answer,
        // A name is looked up, and a file opened, by who runs.
        Ok(_) if name == "24-bad-arguments-11" => return true,
        Ok(_) => {
            let missing = failure::Errno { number: 2, said: "No such file or directory" };
            let answer = failure::no_file("nosuch.txt".as_ref(), missing);
            return (answer.stdout, answer.status) == (transcript.stdout, transcript.status);
        }
    };
    // The original complains of an unknown option, and of an unknown subcommand, by its help alone.
    let is_help = !first.starts_with("sockperf: ") && !first.starts_with("Option ");
    answer.status == 1 && (is_help || answer.stderr.starts_with(first))
}
