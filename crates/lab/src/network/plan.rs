//! Request for a lab.

use std::path::PathBuf;

/// The most hosts of a lab.
pub const MOST: u16 = 100;
/// The most letters of a lab's name.
pub const LONGEST: usize = 16;

/// A wanted lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its name: [`is_name`].
    pub id: String,
    /// Hosts, 1 to [`MOST`].
    pub hosts: u16,
    /// Zones that they are dealt to in turn, 1 to as many as there are hosts; `None`: they have none.
    pub zones: Option<u16>,
    /// Bits a second that each host's cable takes each way; `None`: as many as come.
    pub rate: Option<u64>,
    /// True where each host has an `sshd`.
    pub ssh: bool,
    /// The part of its network that is worse.
    pub worse: Option<Worse>,
    /// This program, which makes it worse.
    pub program: PathBuf,
}

/// A worse way between some of the hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worse {
    /// Between which.
    pub ends: Ends,
    /// Impairments of packets, in the words of `sonde forward`.
    pub words: Vec<String>,
}

/// Between which hosts a way is worse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Between this one and all others.
    Host(String),
    /// Between those of two zones.
    Zones(String, String),
}

/// Returns true where this can be a lab's name: lowercase letters and digits, 1 to 16.
pub fn is_name(text: &str) -> bool {
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}
