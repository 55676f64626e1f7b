//! All protocols over UDP as one: an engine is compiled once for them, and picks by a branch.

use std::borrow::Cow;

use super::dns::OverUdp;
use super::mix::Turns;
use super::ntp::{self, Ntp};
use super::quic::{self, Quic};
use super::sip::Sip;
use super::speech::Kind;
use crate::native::header::Flags;
use crate::wire::{Reading, Wire};

/// A protocol over UDP that is spoken.
#[derive(Clone, Debug)]
pub enum Packet {
    /// DNS.
    Dns(Box<OverUdp>),
    /// NTP.
    Ntp(Box<Ntp>),
    /// SIP.
    Sip(Box<Sip>),
    /// QUIC.
    Quic(Box<Quic>),
}

impl Packet {
    /// Octets of a request.
    pub fn length(&self) -> usize {
        match self {
            Self::Dns(dns) => dns.length(),
            Self::Ntp(_) => ntp::LENGTH,
            Self::Sip(sip) => sip.length(),
            Self::Quic(_) => quic::LENGTH,
        }
    }

    /// The same of requests that differ; DNS has such.
    #[must_use]
    pub fn mixing(self, turns: Option<Turns>) -> Self {
        match self {
            Self::Dns(dns) => Self::Dns(Box::new(dns.mixing(turns))),
            other => other,
        }
    }

    /// The name of a kind of reply.
    pub fn kind(&self, kind: Kind) -> Cow<'static, str> {
        match self {
            Self::Dns(_) => OverUdp::kind(kind),
            Self::Ntp(_) => Ntp::kind(kind),
            Self::Sip(_) => Sip::kind(kind),
            Self::Quic(_) => Quic::kind(kind),
        }
    }
}

impl Wire for Packet {
    fn open(&mut self, message: &mut [u8]) {
        match self {
            Self::Dns(dns) => dns.open(message),
            Self::Ntp(ntp) => ntp.open(message),
            Self::Sip(sip) => sip.open(message),
            Self::Quic(quic) => quic.open(message),
        }
    }

    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, flags: Flags) {
        match self {
            Self::Dns(dns) => dns.prepare(message, seq, flags),
            Self::Ntp(ntp) => ntp.prepare(message, seq, flags),
            Self::Sip(sip) => sip.prepare(message, seq, flags),
            Self::Quic(quic) => quic.prepare(message, seq, flags),
        }
    }

    #[inline]
    fn prepared<'a>(&'a self, message: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Dns(dns) => dns.prepared(message),
            Self::Ntp(_) | Self::Sip(_) | Self::Quic(_) => message,
        }
    }

    #[inline]
    fn identify(&mut self, reply: &[u8], oldest: u64) -> Reading {
        match self {
            Self::Dns(dns) => dns.identify(reply, oldest),
            Self::Ntp(ntp) => ntp.identify(reply, oldest),
            Self::Sip(sip) => sip.identify(reply, oldest),
            Self::Quic(quic) => quic.identify(reply, oldest),
        }
    }
}
