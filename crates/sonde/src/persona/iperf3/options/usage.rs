//! Texts of the help, `--version` and a complaint. Their first lines are the original's, the words are ours.

use std::fmt::{Display, Write};

use crate::persona::answer::Answer;
use crate::persona::iperf3::options::table::{ENTRIES, End};

/// The version whose behaviour this is, and who behaves so: parsers find a number where they look for one.
pub const VERSION: &str = concat!("iperf 3.21 (sonde ", env!("CARGO_PKG_VERSION"), ")");

const HINT: &str = "Usage: iperf3 [-s|-c host] [options]\nTry `iperf3 --help' for more information.\n";

const FEATURES: &str = "CPU affinity setting, TCP congestion algorithm setting, sendfile / zerocopy, socket pacing, \
                        authentication, bind to device, support IPv4 don't fragment, POSIX threads";

/// A word that getopt does not take.
pub fn complaint(fault: &str) -> Answer {
    Answer::complaint(format!("iperf3: {fault}\n\n{HINT}"))
}

/// A value, or options beside each other, that make no sense.
pub fn parameter_error(fault: impl Display) -> Answer {
    Answer::complaint(format!("iperf3: parameter error - {fault}\n\n{HINT}"))
}

/// `--version`.
pub fn version() -> String {
    format!("{VERSION}\n{}\nOptional features available: {FEATURES}\n", system_info())
}

/// The system as `uname -a` tells it, in the original's order.
pub fn system_info() -> String {
    let uname = rustix::system::uname();
    let parts = [uname.sysname(), uname.nodename(), uname.release(), uname.version(), uname.machine()];
    parts.map(|part| part.to_string_lossy().into_owned()).join(" ")
}

/// `--help`.
pub fn help() -> String {
    let mut text = "Usage: iperf3 [-s|-c host] [options]\n       iperf3 [-h|--help] [-v|--version]\n".to_owned();
    let parts = [(End::Either, "Server or client"), (End::Server, "Server alone"), (End::Client, "Client alone")];
    for (end, title) in parts {
        let _ = writeln!(text, "\n{title}:");
        for entry in ENTRIES.iter().filter(|entry| entry.place == end) {
            text += &entry.line(usize::MAX, 36);
        }
    }
    text + "\nRates take K, M, G or T for powers of 1000, sizes and counts for powers of 1024.\n"
}
