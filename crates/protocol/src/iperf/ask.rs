//! A client's headers, as iperf 2.1.8 writes them.

use super::datagram::{self, Opening};
use super::first::{self, First};
use super::flag::{Flags, Upper};
use super::frame::Layout;
use super::settings::{Amount, BASE, Base, EXTENSION, Extension, Rate, Version};
use super::time::Stamp;
use super::wish::{Back, Pace, Way};
use super::word;

/// Request of a client to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the wire")]
pub struct Ask {
    /// Sender over the client's own connection or flow.
    pub way: Way,
    /// Connection back that the server is to open; absent: none.
    pub back: Option<Back>,
    /// The port where the server listens, which is said where it is not to connect back.
    pub port: u16,
    /// Amount that the server is to send, where it sends.
    pub amount: Amount,
    /// Rate of the server's sending; absent: as fast as it goes.
    pub pace: Option<Pace>,
    /// Octets of a write or a datagram, where that was asked for.
    pub buffer: Option<u32>,
    /// Streams in all.
    pub streams: u32,
    /// True where the clocks are synchronised (`--trip-times`).
    pub trip_times: bool,
    /// True where the client waits for the acknowledgement (`-X`).
    pub detects: bool,
    /// For datagrams: true where there is no exchange at the end (`--no-udp-fin`).
    pub silent: bool,
    /// Type of service.
    pub service: u16,
    /// Octets that TCP may hold unsent, where that is bounded.
    pub prefetch: Option<u32>,
    /// True where data are acknowledged at once.
    pub quick_acks: bool,
    /// Frames in place of a steady stream; absent: none.
    pub frames: Option<Framing>,
}

/// Form of what is sent in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Isochronous traffic. Each datagram says of which frame it is.
    Isochronous(Layout),
    /// Bursts of one size at fixed times. Datagrams say nothing of them.
    Periodic {
        /// Millionths of a burst that there are a second.
        micro_hertz: u64,
        /// Octets of a burst.
        octets: u32,
    },
}

impl Default for Ask {
    /// An upload of ten seconds over one stream.
    fn default() -> Self {
        Self {
            way: Way::Upload,
            back: None,
            port: super::PORT,
            amount: Amount(-1_000),
            pace: None,
            buffer: None,
            streams: 1,
            trip_times: false,
            detects: false,
            silent: false,
            service: 0,
            prefetch: None,
            quick_acks: false,
            frames: None,
        }
    }
}

impl Ask {
    /// The header of a connection that starts at `start`.
    pub fn first(&self, start: Stamp) -> First {
        let mut tail = Vec::new();
        if self.trip_times || matches!(self.frames, Some(Framing::Isochronous(_))) {
            tail = vec![0; first::STAMPED - first::USUAL];
            word::write_all(&mut tail, 4, &[start.seconds, start.micros]);
        }
        let mut length = BASE + EXTENSION + tail.len();
        if let Some(Framing::Periodic { micro_hertz, octets }) = self.frames {
            tail.resize(first::SETTINGS + 32 - first::USUAL, 0);
            let (whole, part) = (micro_hertz / 1_000_000, micro_hertz % 1_000_000);
            let settings = [u32::try_from(whole).unwrap_or(u32::MAX), part as u32, octets];
            word::write_all(&mut tail, first::SETTINGS - first::USUAL, &settings);
            // Without a start time the original counts too few, and the settings are cut off behind what it reads of them.
            length = if self.trip_times { first::SETTINGS + 32 } else { first::SETTINGS + 16 };
            tail.truncate(length - first::USUAL);
        }
        let version2 = self.way != Way::Upload || self.detects;
        let flags = [(version2, Flags::VERSION2), (self.detects, Flags::PEER_DETECT)];
        let framed = match self.frames {
            None => Upper::default(),
            Some(Framing::Isochronous(_)) => Upper::ISOCHRONOUS,
            Some(Framing::Periodic { .. }) => Upper::PERIODIC,
        };
        let extension = Some(self.extension(self.upper().with(framed), self.rate()));
        First { base: self.base(&flags, length), extension, tail, key: None }
    }

    /// The header of a flow of datagrams that starts at `start`.
    pub fn opening(&self, start: Stamp) -> Opening {
        let mut tail = Vec::new();
        let layout = if let Some(Framing::Isochronous(layout)) = self.frames { Some(layout) } else { None };
        if let Some(layout) = layout {
            tail = vec![0; layout.end() - datagram::USUAL];
        }
        if self.trip_times {
            tail = vec![0; datagram::LONGEST - datagram::USUAL];
            word::write_all(&mut tail, 112 - datagram::USUAL, &[start.seconds, start.micros]);
        }
        let turned = self.way != Way::Upload;
        let upper =
            if self.silent || self.way == Way::Duplex { self.upper().with(Upper::NO_FIN) } else { self.upper() };
        let upper = if layout.is_some() { upper.with(Upper::ISOCHRONOUS) } else { upper };
        let tests = turned || upper != Upper::default();
        let flags = [(true, Flags::WIDE), (turned, Flags::VERSION2), (tests, Flags::UDP_TESTS)];
        let usual = if self.trip_times { datagram::STAMPED } else { datagram::USUAL };
        let length = layout.map_or(usual, Layout::end);
        let mut extension = self.extension(upper, self.rate());
        if layout == Some(Layout::Barred) {
            extension.version = Version::BARRED;
        }
        Opening { base: self.base(&flags, length), extension: Some(extension), tail }
    }

    fn base(&self, more: &[(bool, Flags)], length: usize) -> Base {
        let now = self.back.is_some_and(|back| back.now);
        let mut flags = Flags::EXTENDED.with_length(length);
        let own = [(self.back.is_some(), Flags::DUAL), (now, Flags::NOW)];
        for (_, flag) in own.iter().chain(more).filter(|(set, _)| *set) {
            flags = flags.with(*flag);
        }
        Base {
            flags,
            threads: self.streams,
            port: self.back.map_or(self.port, |back| back.port).into(),
            buffer: self.buffer.unwrap_or(0),
            window: 0,
            amount: self.amount,
        }
    }

    fn extension(&self, upper: Upper, rate: Rate) -> Extension {
        let prefetch = self.prefetch.unwrap_or(0);
        Extension { upper, version: Version::OURS, service: self.service, rate, prefetch, ..Extension::default() }
    }

    fn upper(&self) -> Upper {
        let way = match self.way {
            Way::Upload => Upper::default(),
            Way::Reverse => Upper::REVERSE,
            Way::Duplex => Upper::DUPLEX,
        };
        // In an upload, the unit of the rate is the client's own affair.
        let packets = self.way != Way::Upload && matches!(self.pace, Some(Pace::Packets(_)));
        let set = [
            (self.trip_times, Upper::TRIP_TIMES),
            (packets, Upper::PACKETS),
            (self.prefetch.is_some(), Upper::PREFETCH),
            (self.quick_acks, Upper::QUICK),
        ];
        set.iter().filter(|(set, _)| *set).fold(way, |upper, (_, flag)| upper.with(*flag))
    }

    fn rate(&self) -> Rate {
        match self.pace {
            Some(Pace::Bits(rate) | Pace::Packets(rate)) => Rate::of(rate),
            None => Rate::default(),
        }
    }
}
