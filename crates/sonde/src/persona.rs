//! Other tools' command lines and outputs, spoken so that their scripts and parsers can't tell.
//!
//! A persona is a folder: argv in, exact text out. It has no socket; what it measures with is the same engine that
//! everything here measures with. The bytes it speaks are the folder of the same name in `protocol`. Personas share the kit:
//! [`answer`], [`call`], [`getopt`], [`number`], [`own`], [`process`] and [`record`]. None of them knows another.

pub mod answer;
pub mod call;
pub mod fping;
pub mod getopt;
pub mod hping3;
pub mod httping;
pub mod install_names;
pub mod iperf;
pub mod iperf3;
pub mod irtt;
pub mod mtr;
pub mod netperf;
pub mod number;
pub mod own;
pub mod part;
pub mod ping;
pub mod pkb;
pub mod process;
pub mod record;
pub mod redis_cli;
pub mod sockperf;
pub mod tcping;
pub mod traceroute;
pub mod twping;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::persona::call::Persona;

/// The programs whose place this binary takes.
pub static ALL: &[&Persona] = &[
    &netperf::CLIENT,
    &netperf::SERVER,
    &sockperf::PERSONA,
    &iperf::PERSONA,
    &iperf3::PERSONA,
    &hping3::PERSONA,
    &ping::PERSONA,
    &fping::PERSONA,
    &mtr::PERSONA,
    &traceroute::PERSONA,
    &twping::PERSONA,
    &irtt::PERSONA,
    &pkb::PERSONA,
    &redis_cli::PERSONA,
    &httping::PERSONA,
    &tcping::PERSONA,
];

/// Persona that the binary is called as: the file name of its first word, whatever folder it lies in.
pub fn called(program: &OsStr) -> Option<&'static Persona> {
    named(Path::new(program).file_name()?.to_str()?)
}

/// Persona that a whole command line asks for, and the words that are meant for it, untouched: the binary is called by that
/// name, or the name is its first word.
pub fn asked(argv: &[OsString]) -> Option<(&'static Persona, Vec<String>)> {
    let (first, words) = argv.split_first()?;
    let (persona, words) = match called(first) {
        Some(persona) => (persona, words),
        None => (named(words.first()?.to_str()?)?, &words[1..]),
    };
    Some((persona, words.iter().map(|word| word.to_string_lossy().into_owned()).collect()))
}

/// The persona of a name.
pub fn named(name: &str) -> Option<&'static Persona> {
    ALL.iter().copied().find(|persona| persona.name == name || persona.alias == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case("netperf", Some("netperf"); "bare")]
    #[test_case("/usr/local/bin/netserver", Some("netserver"); "in a folder")]
    #[test_case("./sockperf", Some("sockperf"); "here")]
    #[test_case("./pkb.py", Some("pkb"); "a script's name")]
    #[test_case("sonde", None; "ourselves")]
    #[test_case("netperf-2.7", None; "another name")]
    fn the_first_word_tells_whom_to_play(program: &str, expected: Option<&str>) {
        assert_eq!(called(OsStr::new(program)).map(|persona| persona.name), expected);
    }

    #[test_case(&["netperf", "-v", "2"], Some(("netperf", &["-v", "2"])); "by its name")]
    #[test_case(&["/bin/sonde", "netserver", "-D"], Some(("netserver", &["-D"])); "by our first word")]
    #[test_case(&["sonde", "rtt", "netperf"], None; "by a later word")]
    #[test_case(&["sonde"], None; "no word")]
    fn words_are_handed_on_untouched(argv: &[&str], expected: Option<(&str, &[&str])>) {
        let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
        let asked = asked(&argv).map(|(whom, words)| (whom.name, words));
        assert_eq!(asked, expected.map(|(whom, words)| (whom, words.iter().map(ToString::to_string).collect())));
    }

    #[test]
    fn every_name_is_one_persona() {
        assert!(ALL.iter().all(|persona| named(persona.name).is_some_and(|named| std::ptr::eq(named, *persona))));
    }
}
