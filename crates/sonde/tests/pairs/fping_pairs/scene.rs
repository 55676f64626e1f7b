//! A router between two hosts, networks behind it that are silent or refused, and both programs on the near host.

use std::process::Command;

use lab::chain::Chain;
use lab::namespace::NamespaceError;
use testbed::process::{Ended, LIMIT, ended};
use testbed::skip;

pub struct Scene {
    chain: Chain,
}

impl Scene {
    /// `None`: no namespaces, or no such program, which was said aloud.
    pub fn new(program: &str, package: &str) -> Option<Self> {
        if Command::new(program).arg("--version").output().is_err() {
            skip::aloud(&format!("our {program} beside the original: no `{program}`; install {package}"));
            return None;
        }
        let chain = match Chain::new() {
            Ok(chain) => chain,
            Err(error @ NamespaceError::Step { .. }) => panic!("{error}"),
            Err(error) => {
                skip::aloud(&format!("our {program} beside the original: {error}"));
                return None;
            }
        };
        for words in ["blackhole 198.51.100.0/25", "unreachable 198.51.100.128/25"] {
            let mut command = chain.middle().command("ip");
            let made = ended(command.args(["route", "add"]).args(words.split(' ')), LIMIT);
            assert_eq!(made.code, Some(0), "{}", made.told());
        }
        Some(Self { chain })
    }

    /// A line with `F` and `F6` for the far host, `L` for a host that is silent and `U` for one that is refused.
    pub fn words(&self, line: &str) -> Vec<String> {
        let place = |word: &str| match word {
            "F" => self.chain.far().v4().to_string(),
            "F6" => self.chain.far().v6().to_string(),
            "L" => "198.51.100.1".to_owned(),
            "U" => "198.51.100.200".to_owned(),
            other => other.to_owned(),
        };
        line.split_whitespace().map(place).collect()
    }

    pub fn near(&self, program: &str) -> Command {
        self.chain.near().command(program)
    }

    /// Ours, then the original.
    pub fn both(&self, program: &str, line: &str) -> (Ended, Ended) {
        let words = self.words(line);
        let ours = ended(self.near(env!("CARGO_BIN_EXE_sonde")).arg(program).args(&words), LIMIT);
        (ours, ended(self.near(program).args(&words), LIMIT))
    }
}

/// The lines in the order of their text, each number with a point that stands for a time as `T`; figures without one, and addresses, stay.
pub fn form(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(line).collect();
    lines.sort();
    lines
}

fn line(line: &str) -> String {
    let edges = |c: char| matches!(c, ' ' | '/' | '(' | ')' | '[' | ']' | ',' | '<' | '>' | ':');
    let is_time = |word: &str| word.contains('.') && word.parse::<f64>().is_ok();
    let words = line.split_inclusive(edges).map(|part| {
        let word = part.trim_end_matches(edges);
        if is_time(word) { part.replacen(word, "T", 1) } else { part.to_owned() }
    });
    words.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}
