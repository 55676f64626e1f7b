//! Texts of the help, the version and a complaint. Their first lines are the original's, the words are ours.

use std::fmt::Write;

use crate::persona::answer::Answer;
use crate::persona::hping3::options::table::{ENTRIES, Fate};

/// The version whose behaviour this is, and who behaves so.
pub const VERSION: &str = concat!("hping3 version 3.0.0-alpha-2 (sonde ", env!("CARGO_PKG_VERSION"), ")");

/// A word that is none.
pub fn complaint(fault: &str) -> Answer {
    Answer::complaint(format!("hping3: {fault}\nTry hping3 --help\n"))
}

/// Nobody was named; the original says so on standard output.
pub fn no_host() -> Answer {
    Answer::said("hping3: missing host argument\nTry `hping3 --help' for more information.\n", 1)
}

/// `--version`.
pub fn version() -> String {
    format!("{VERSION}\n")
}

/// `--help`.
pub fn help() -> String {
    let mut text = "usage: hping3 host [options]\n".to_owned();
    for entry in ENTRIES.iter().filter(|entry| entry.place == Fate::Taken) {
        let letter = if entry.letters.is_empty() { "  ".to_owned() } else { format!("-{}", entry.letters) };
        let _ = writeln!(text, "  {letter}  {:<16} {}", entry.name(), entry.help);
    }
    text + "Other options of the original are read, and refused with the reason.\n"
}
