//! Texts of the help and the version, in our words. First lines are the original's form.

use std::fmt::Write;

use crate::persona::answer::Answer;
use crate::persona::iperf::options::table::{ENTRIES, Entry, Side};

/// The version whose behaviour this is, and who behaves so: parsers find a number where they look for one.
pub const VERSION: &str = concat!("2.2.1-sonde.", env!("CARGO_PKG_VERSION"));

/// `-v`: on standard error and with status 1, as the original says it.
pub fn version() -> Answer {
    Answer::complaint(format!("iperf version {VERSION} ({} answers in its place) pthreads\n", crate::program::PROGRAM))
}

/// Neither end was asked for.
pub fn brief() -> String {
    "Usage: iperf [-s|-c host] [options]\nTry `iperf --help' for more information.\n".to_owned()
}

/// `-h`.
pub fn help() -> String {
    let mut text = "Usage: iperf [-s|-c host] [options]\n       iperf [-h|--help] [-v|--version]\n".to_owned();
    for (side, title) in
        [(Side::Both, "Client/Server"), (Side::Server, "Server specific"), (Side::Client, "Client specific")]
    {
        let _ = writeln!(text, "\n{title}:");
        for entry in ENTRIES.iter().filter(|entry| entry.place == side && !is_refused(entry)) {
            text.push_str(&entry.line(1, 40));
        }
    }
    let refused: Vec<String> = ENTRIES.iter().filter(|entry| is_refused(entry)).map(Entry::name).collect();
    text.push_str("\nRefused, each with its reason:\n");
    for line in wrapped(&refused) {
        let _ = writeln!(text, "  {line}");
    }
    text + "\nNumbers may end in k, m, g (powers of 1000) or K, M, G (powers of 1024).\n\
        Options may come from the environment, as IPERF_BANDWIDTH for --bandwidth.\n"
}

fn is_refused(entry: &Entry) -> bool {
    super::refused::why(entry.key).is_some()
}

/// Words in lines of 76 columns.
fn wrapped(words: &[String]) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words {
        let Some(line) = lines.last_mut() else { continue };
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + word.len() < 76 {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.clone());
        }
    }
    lines
}
