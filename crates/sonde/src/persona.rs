//! Other tools' command lines and outputs, spoken so that their scripts and parsers can't tell.
//!
//! A persona is a folder: argv in, exact text out. It has no socket; what it measures with is the same engine that
//! everything here measures with. The bytes it speaks are the folder of the same name in `protocol`.

pub mod answer;
pub mod getopt;
pub mod hping3;
pub mod iperf;
pub mod iperf3;
pub mod netperf;
pub mod ping;
pub mod pkb;
pub mod record;
#[expect(dead_code, reason = "some of what its files read and compute is looked at by tests alone")]
pub mod sockperf;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use anstream::ColorChoice;

use crate::exit::Exit;
use crate::output::Output;

/// The programs whose place this binary takes when it is called by their names.
pub const NAMES: [&str; 8] = ["netperf", "netserver", "sockperf", "iperf", "iperf3", "hping3", "ping", "pkb"];

/// A program whose place this binary takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persona {
    /// The client of netperf.
    Netperf,
    /// Its server.
    Netserver,
    /// sockperf, client and server.
    Sockperf,
    /// iperf 2, client and server.
    Iperf,
    /// iperf3, client and server.
    Iperf3,
    /// hping3, its TCP mode.
    Hping3,
    /// ping of iputils.
    Ping,
    /// PerfKit Benchmarker, its benchmarks of networks.
    Pkb,
}

impl Persona {
    /// Whom the binary is called as: the file name of its first word, whatever folder it lies in.
    pub fn called(program: &OsStr) -> Option<Self> {
        Self::named(Path::new(program).file_name()?.to_str()?)
    }

    /// Whom a whole command line asks for, and the words that are meant for it, untouched: the binary is called by
    /// that name, or the name is its first word.
    pub fn asked(argv: &[OsString]) -> Option<(Self, Vec<String>)> {
        let (first, words) = argv.split_first()?;
        let (persona, words) = match Self::called(first) {
            Some(persona) => (persona, words),
            None => (Self::named(words.first()?.to_str()?)?, &words[1..]),
        };
        Some((persona, words.iter().map(|word| word.to_string_lossy().into_owned()).collect()))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Netperf => "netperf",
            Self::Netserver => "netserver",
            Self::Sockperf => "sockperf",
            Self::Iperf => "iperf",
            Self::Iperf3 => "iperf3",
            Self::Hping3 => "hping3",
            Self::Ping => "ping",
            Self::Pkb => "pkb",
        }
    }

    /// Plays the part. Standard output that cannot be written to is a failure here too.
    pub fn play(self, words: &[String]) -> Exit {
        // netperf and iperf3 know no colours; those of sockperf are for a terminal. ping has none either, but bells and
        // backspaces, which are not to be taken for colours and left out.
        let colours = match self {
            Self::Sockperf => ColorChoice::Auto,
            Self::Ping => ColorChoice::AlwaysAnsi,
            _ => ColorChoice::Never,
        };
        let output = Arc::new(Output::new(colours, false, false));
        let exit = match self {
            Self::Netperf => netperf::client(self.name(), words, &output),
            Self::Netserver => netperf::server(self.name(), words, &output),
            Self::Sockperf => sockperf::play(words, &output),
            Self::Iperf => iperf::play(words, &output),
            Self::Iperf3 => iperf3::play(words, &output),
            Self::Hping3 => hping3::play(words, &output),
            Self::Ping => ping::play(words, &output),
            Self::Pkb => pkb::play(words, &output),
        };
        match output.fault() {
            Some(fault) if exit == Exit::Done => {
                output.aside(&format!("{}: standard output: cannot write the result: {fault}\n", self.name()));
                Exit::Persona(1)
            }
            _ => exit,
        }
    }

    /// The persona of a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "netperf" => Some(Self::Netperf),
            "netserver" => Some(Self::Netserver),
            "sockperf" => Some(Self::Sockperf),
            "iperf" => Some(Self::Iperf),
            "iperf3" => Some(Self::Iperf3),
            "hping3" => Some(Self::Hping3),
            "ping" => Some(Self::Ping),
            "pkb" | "pkb.py" => Some(Self::Pkb),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("netperf", Some(Persona::Netperf); "bare")]
    #[test_case("/usr/local/bin/netserver", Some(Persona::Netserver); "in a folder")]
    #[test_case("./sockperf", Some(Persona::Sockperf); "here")]
    #[test_case("./pkb.py", Some(Persona::Pkb); "a script's name")]
    #[test_case("sonde", None; "ourselves")]
    #[test_case("netperf-2.7", None; "another name")]
    fn the_first_word_tells_whom_to_play(program: &str, expected: Option<Persona>) {
        assert_eq!(Persona::called(OsStr::new(program)), expected);
    }

    #[test_case(&["netperf", "-v", "2"], Some((Persona::Netperf, &["-v", "2"])); "by its name")]
    #[test_case(&["/bin/sonde", "netserver", "-D"], Some((Persona::Netserver, &["-D"])); "by our first word")]
    #[test_case(&["sonde", "rtt", "netperf"], None; "by a later word")]
    #[test_case(&["sonde"], None; "no word")]
    fn words_are_handed_on_untouched(argv: &[&str], expected: Option<(Persona, &[&str])>) {
        let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
        let expected = expected.map(|(whom, words)| (whom, words.iter().map(ToString::to_string).collect()));
        assert_eq!(Persona::asked(&argv), expected);
    }

    #[test]
    fn every_name_is_a_persona() {
        assert!(NAMES.into_iter().all(|name| Persona::named(name).map(Persona::name) == Some(name)));
    }
}
