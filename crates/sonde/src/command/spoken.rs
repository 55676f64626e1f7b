//! Protocols of a peer, as far as its numbers mean something else for them.

use endpoint::rtt::Protocol;

/// The protocol of a peer over TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// Our own protocol.
    Native,
    /// That of another program.
    Foreign {
        /// Its name.
        name: &'static str,
        /// True where a reply carries what tells whose it is.
        marks: bool,
    },
    /// Nobody knows: whoever is there was not asked.
    Unknown,
}

impl Spoken {
    /// The protocol of another program, whose replies do not tell whose they are.
    pub const fn foreign(name: &'static str) -> Self {
        Self::Foreign { name, marks: false }
    }
}

impl From<&Protocol> for Spoken {
    fn from(protocol: &Protocol) -> Self {
        match protocol {
            Protocol::Native => Self::Native,
            Protocol::Netperf { .. } => Self::foreign("netperf"),
            Protocol::Stamp { .. } => Self::Foreign { name: "stamp", marks: true },
            Protocol::Twamp { .. } => Self::Foreign { name: "twamp", marks: true },
            Protocol::Irtt { .. } => Self::Foreign { name: "irtt", marks: true },
            Protocol::Echo => Self::foreign("echo"),
            Protocol::Application(application) => Self::foreign(application.protocol.name()),
        }
    }
}
