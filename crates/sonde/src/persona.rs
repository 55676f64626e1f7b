//! Other tools' command lines and outputs, spoken so that their scripts and parsers can't tell.
//!
//! A persona is a folder: argv in, exact text out. It has no socket; what it measures with is the same engine that
//! everything here measures with. The bytes it speaks are the folder of the same name in `protocol`.

pub mod install;
pub mod netperf;

use std::ffi::OsStr;
use std::path::Path;

/// The programs whose place this binary takes when it is called by their names.
pub const NAMES: [&str; 2] = ["netperf", "netserver"];

/// A program whose place this binary takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persona {
    /// The client of netperf.
    Netperf,
    /// Its server.
    Netserver,
}

impl Persona {
    /// Whom the binary is called as: the file name of its first word, whatever folder it lies in.
    pub fn called(program: &OsStr) -> Option<Self> {
        Self::named(Path::new(program).file_name()?.to_str()?)
    }

    /// The persona of a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "netperf" => Some(Self::Netperf),
            "netserver" => Some(Self::Netserver),
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
    #[test_case("sonde", None; "ourselves")]
    #[test_case("netperf-2.7", None; "another name")]
    fn the_first_word_tells_whom_to_play(program: &str, expected: Option<Persona>) {
        assert_eq!(Persona::called(OsStr::new(program)), expected);
    }

    #[test]
    fn every_name_is_a_persona() {
        assert!(NAMES.into_iter().all(|name| Persona::named(name).is_some()));
    }
}
