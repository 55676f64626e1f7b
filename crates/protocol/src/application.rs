//! Protocols of programs at work, as far as a measurement needs them: the opening of a connection, one request, the end of a reply, and its kind.
//!
//! A protocol over TCP is a [`Speech`]: a machine without a socket that takes octets as they come, in pieces of any
//! length, and returns their meaning. It keeps no octets: those it did not take are offered again with more behind
//! them. A protocol over UDP is a [`crate::wire::Wire`] of its own. Either repeats one request: it is written once, and
//! only its mark changes where the protocol gives one back. Where requests differ ([`mix::Mix`]), all are written at
//! the start.
//!
//! A reply in time is an answer of the program, whatever it says; its kind is counted ([`tally::Tally`]). Kinds that say that
//! the program did not do the request (`503`, `LOADING`, `SERVFAIL`) end their request as refused.

pub mod dns;
pub mod h2;
pub mod h3;
pub mod http;
pub mod kafka;
pub mod login;
pub mod memcached;
pub mod mix;
pub mod mqtt;
pub mod mysql;
pub mod nats;
pub mod ntp;
pub mod number;
pub mod packet;
pub mod postgres;
pub mod quic;
pub mod redis;
pub mod sip;
pub mod speech;
pub mod ssh;
pub mod talk;
pub mod tally;
pub mod websocket;

use std::borrow::Cow;

use measure::method;

use self::dns::{OverUdp, Question};
use self::h3::H3;
use self::mix::Mix;
use self::ntp::Ntp;
use self::quic::Quic;
use self::sip::{Options, Sip};
use self::talk::Talk;
use crate::tls::Terms;

pub use self::speech::{Came, Kind, Protocol, Reply, Speech, Taken, Words};

/// A question to a program at work, in its protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// The protocol.
    pub protocol: &'static Protocol,
    /// One request in words: `PING`, `GET /health`, `A example.org`.
    pub words: String,
    /// The way of asking.
    pub asked: Asked,
    /// The requests where they differ; absent where one is asked over and over.
    pub mix: Option<Mix>,
    /// The terms of TLS; absent where the protocol goes in clear.
    pub tls: Option<Terms>,
}

/// The way a program is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Over TCP.
    Talk(Talk),
    /// A question of DNS over UDP.
    Dns(Question),
    /// The time, over UDP.
    Ntp,
    /// OPTIONS of SIP, over UDP.
    Sip(Options),
    /// The versions of QUIC, over UDP.
    Quic,
    /// A request of HTTP/3, over QUIC.
    H3(Box<H3>),
}

impl Asked {
    /// The name that the protocol gives a kind of its replies.
    pub fn kind(&self, kind: Kind) -> Cow<'static, str> {
        match self {
            Self::Talk(talk) => talk.kind(kind),
            Self::Dns(_) => OverUdp::kind(kind),
            Self::Ntp => Ntp::kind(kind),
            Self::Sip(_) => Sip::kind(kind),
            Self::Quic => Quic::kind(kind),
            Self::H3(_) => H3::named(kind),
        }
    }
}

impl Application {
    /// The question of `talk`, over TCP.
    pub fn talk(protocol: &'static Protocol, talk: Talk) -> Self {
        Self { protocol, words: talk.words(), asked: Asked::Talk(talk), mix: None, tls: None }
    }

    /// As a method and a record have it.
    pub fn said(&self) -> method::Application {
        let (protocol, request) = (self.protocol.name().to_owned(), self.words.clone());
        method::Application { protocol, request, mix: self.mix.as_ref().map(Mix::said) }
    }

    /// Returns the name of a kind of its replies, which count as answered or not: where requests expect different
    /// statuses, the same one may be either.
    pub fn kind(&self, kind: Kind, sound: bool) -> String {
        let name = self.asked.kind(kind);
        let differs = || self.mix.as_ref().is_some_and(Mix::expects_by_request);
        if !sound && differs() { format!("{name} not expected") } else { name.into_owned() }
    }

    /// Octets of one request, of several the longest.
    pub fn request_length(&self) -> usize {
        if let Some(mix) = &self.mix {
            return mix.longest();
        }
        match &self.asked {
            Asked::Talk(talk) => talk.request().len(),
            Asked::Dns(question) => question.length(),
            Asked::Ntp => ntp::LENGTH,
            Asked::Sip(options) => options.length(),
            Asked::Quic => quic::LENGTH,
            Asked::H3(h3) => h3.length(),
        }
    }
}

/// All that can be asked.
pub static ALL: &[Protocol] = &[
    redis::PROTOCOL,
    redis::SECURE,
    memcached::PROTOCOL,
    http::PROTOCOL,
    http::SECURE,
    h2::PROTOCOL,
    h2::SECURE,
    h2::PING,
    h2::SECURE_PING,
    h2::HEALTH,
    h2::SECURE_HEALTH,
    dns::PROTOCOL,
    dns::OVER_TCP,
    dns::OVER_TLS,
    dns::OVER_HTTPS,
    ntp::PROTOCOL,
    nats::PROTOCOL,
    mqtt::PROTOCOL,
    mqtt::SECURE,
    postgres::PROTOCOL,
    postgres::SECURE,
    mysql::PROTOCOL,
    mysql::SECURE,
    kafka::PROTOCOL,
    websocket::PROTOCOL,
    websocket::SECURE,
    ssh::PROTOCOL,
    sip::PROTOCOL,
    quic::PROTOCOL,
    h3::PROTOCOL,
];

/// The protocol of this scheme.
pub fn of(scheme: &str) -> Option<&'static Protocol> {
    ALL.iter().find(|protocol| protocol.schemes.contains(&scheme))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::speech::tests::hear;
    use super::*;

    #[test]
    fn each_scheme_is_of_one_protocol() {
        let schemes: Vec<_> = ALL.iter().flat_map(|protocol| protocol.schemes).collect();
        assert_eq!(schemes.iter().collect::<BTreeSet<_>>().len(), schemes.len());
        assert_eq!(of("valkey").map(Protocol::name), Some("redis"));
        assert_eq!(of("gopher"), None);
    }

    proptest! {
        /// Whatever comes, in whatever pieces: no panic, nothing taken that is not there, and the same is said of it however it is cut.
        #[test]
        fn no_octets_upset_a_reader(octets in prop::collection::vec(any::<u8>(), 0..400), every in 1_usize..40) {
            for talk in Talk::samples() {
                let whole = hear(&mut talk.clone(), &octets, |_| false);
                let cut = hear(&mut talk.clone(), &octets, |end| end.is_multiple_of(every));
                prop_assert_eq!(whole, cut, "{:?}", talk);
            }
        }
    }
}
