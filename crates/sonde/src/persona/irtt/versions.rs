//! The versions that are told: those of the original whose output this is.

use crate::persona::answer::Answer;

/// The version whose output this is.
pub const VERSION: &str = "0.9.0";
/// The version of its protocol.
pub const PROTOCOL: i64 = protocol::irtt::VERSION;
/// The version of its JSON.
pub const JSON_FORMAT: u8 = 1;

/// The text in the place of the version of Go: there is none in this program.
pub fn go_version() -> String {
    concat!("none (sonde ", env!("CARGO_PKG_VERSION"), ")").to_owned()
}

/// The versions, as each command tells them.
pub fn version() -> Answer {
    let machine = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let lines = [
        format!("irtt version: {VERSION}\n"),
        format!("protocol version: {PROTOCOL}\n"),
        format!("json format version: {JSON_FORMAT}\n"),
        format!("go version: {} on linux/{machine}\n", go_version()),
    ];
    Answer::said(lines.concat(), 0)
}
