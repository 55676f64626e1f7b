//! Request to a server in a client's header.

use measure::unit::Nanos;

use super::datagram::Opening;
use super::first::First;
use super::flag::{Flags, Upper};
use super::settings::{Amount, Base, Extension, Version};
use super::time::Stamp;

/// Time for which a server sends where the client does not say how much.
const LENGTH: Nanos = Nanos::secs(10);

/// Request of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wish {
    /// Sender over the client's own connection or flow.
    pub way: Way,
    /// Traffic of the server over a connection that it opens itself.
    pub back: Option<Back>,
    /// Amount that a sending server is to send.
    pub quantity: Quantity,
    /// Rate of a sending server; absent: as fast as it goes.
    pub pace: Option<Pace>,
    /// Octets of a write or a datagram; absent: the default.
    pub buffer: Option<u32>,
    /// Streams of the client in all.
    pub streams: u32,
    /// Acknowledgement of the header by the server.
    pub acknowledged: Acknowledged,
    /// With `--trip-times`: when the client started.
    pub trip_times: Option<Stamp>,
    /// For datagrams: true where the client waits for a report at the end.
    pub reported: bool,
    /// Type of service.
    pub service: u16,
    /// The client's version; absent: it does not say.
    pub version: Option<Version>,
    /// Octets that TCP may hold unsent at a server that sends; absent: as many as it likes.
    pub prefetch: Option<u32>,
    /// True where the server is to acknowledge at once.
    pub quick_acks: bool,
    /// Frames in place of a steady stream; absent: none.
    pub frames: Option<Frames>,
}

/// Frames of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Frames {
    /// Isochronous traffic.
    Isochronous,
    /// Bursts at fixed times: so many a second.
    Periodic(f64),
}

/// Sender over the client's own connection or flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// The client.
    #[default]
    Upload,
    /// The server (`-R`).
    Reverse,
    /// Both (`--full-duplex`).
    Duplex,
}

/// A second connection or flow, from the server to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Back {
    /// The client's port.
    pub port: u16,
    /// At once (`-d`); else when the first test is over (`-r`).
    pub now: bool,
}

/// Amount of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// For so long.
    Time(Nanos),
    /// A number of octets.
    Bytes(u64),
}

/// Rate of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Bits a second.
    Bits(u64),
    /// Datagrams a second.
    Packets(u64),
}

/// Acknowledgement of a header by a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// Nothing.
    Not,
    /// [`super::ack::Ack`] without times.
    Plainly,
    /// With them.
    WithTimes,
}

impl Wish {
    /// Reads the request in a connection's header.
    pub fn of_first(first: &First) -> Self {
        let wish = Self::of(&first.base, first.extension.as_ref(), true);
        let stamped = first.extension.is_some_and(|extension| extension.upper.has(Upper::TRIP_TIMES));
        let flags = first.base.flags;
        let told = first.extension.is_some() && !flags.has(Flags::VERSION2) || flags.has(Flags::PEER_DETECT);
        let acknowledged = match (told, stamped) {
            (false, _) => Acknowledged::Not,
            (true, false) => Acknowledged::Plainly,
            (true, true) => Acknowledged::WithTimes,
        };
        let frames = wish.frames.or(first.bursts().map(Frames::Periodic));
        Self { acknowledged, trip_times: first.start().filter(|_| stamped), frames, ..wish }
    }

    /// Reads the request in a flow's header.
    pub fn of_opening(opening: &Opening) -> Self {
        let flags = opening.base.flags;
        // Without this bit the upper flags of a datagram mean nothing, whatever they are.
        let valid = flags.has(Flags::UDP_TESTS);
        let extension = opening.extension.as_ref();
        let stamped = valid && extension.is_some_and(|extension| extension.upper.has(Upper::TRIP_TIMES));
        let wish = Self::of(&opening.base, extension, valid);
        let silent = valid && extension.is_some_and(|extension| extension.upper.has(Upper::NO_FIN));
        let trip_times = opening.start().filter(|_| stamped);
        Self { trip_times, reported: !silent && wish.way == Way::Upload, ..wish }
    }

    fn of(base: &Base, extension: Option<&Extension>, valid: bool) -> Self {
        let upper = extension.filter(|_| valid).map_or(Upper(0), |extension| extension.upper);
        let way = match base.flags.has(Flags::VERSION2) {
            true if upper.has(Upper::DUPLEX) => Way::Duplex,
            true if upper.has(Upper::REVERSE) => Way::Reverse,
            _ => Way::Upload,
        };
        // 2.2 sets the same bit for a transfer id.
        let dual = base.flags.has(Flags::DUAL) && base.transfer_id().is_none();
        let port = u16::try_from(base.port).ok().filter(|port| *port > 0);
        let rate = extension.and_then(|extension| extension.rate.per_second());
        Self {
            way,
            back: port.filter(|_| dual).map(|port| Back { port, now: base.flags.has(Flags::NOW) }),
            quantity: Quantity::of(base.amount),
            pace: rate.map(|rate| if upper.has(Upper::PACKETS) { Pace::Packets(rate) } else { Pace::Bits(rate) }),
            buffer: (base.buffer > 0).then_some(base.buffer),
            streams: base.streams().max(1),
            acknowledged: Acknowledged::Not,
            trip_times: None,
            reported: false,
            service: extension.map_or(0, |extension| extension.service),
            version: extension.map(|extension| extension.version),
            prefetch: extension.filter(|_| upper.has(Upper::PREFETCH)).map(|extension| extension.prefetch),
            quick_acks: upper.has(Upper::QUICK),
            frames: upper.has(Upper::ISOCHRONOUS).then_some(Frames::Isochronous),
        }
    }
}

impl Quantity {
    /// Converts an amount; without one, the original's default.
    pub fn of(amount: Amount) -> Self {
        match (amount.as_time(), amount.as_bytes()) {
            (Some(time), _) => Self::Time(time),
            (None, Some(bytes)) => Self::Bytes(bytes),
            (None, None) => Self::Time(LENGTH),
        }
    }
}

impl Pace {
    /// Time from one call of `octets` to the next.
    pub fn gap(self, octets: usize) -> Nanos {
        let nanos = match self {
            Self::Bits(rate) => octets as u128 * 8 * 1_000_000_000 / u128::from(rate.max(1)),
            Self::Packets(rate) => 1_000_000_000 / u128::from(rate.max(1)),
        };
        Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}
