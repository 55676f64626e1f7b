//! The values of parts that both ends know (RFC 8972 section 4): what a sender leaves empty, what a reflector fills in, and what
//! comes back.
//!
//! | part | octets of its value | a reflector tells |
//! |---|---|---|
//! | location (4.2) | 4 and sub-parts of 4 + 16 | the ports and addresses that it saw |
//! | class of service (4.4) | 4 | code point and congestion marks as they arrived |
//! | direct measurement (4.5) | 12 | how many packets of the session it has received and answered |
//! | follow-up telemetry (4.7) | 16 | when the answer before this one left |

use std::net::{IpAddr, SocketAddr};

use super::layout::{put, take};
use super::time::Format;

/// A part that a sender may ask by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// Ports and addresses.
    Location,
    /// Code point and congestion marks.
    Class,
    /// Counts of packets.
    Counts,
    /// The departure of the answer before.
    FollowUp,
}

/// Octets in front of an address within [`Part::Location`], and of it.
const ADDRESS: usize = 4 + 16;
/// Types within [`Part::Location`]: where a packet went …
const TO: u8 = 4;
/// … and whence it came; behind each of them the same as an address of IPv4, and of IPv6.
const FROM: u8 = 7;

/// Code points of network control (RFC 2474 section 4.2.2.2), which no stranger's packet is answered with.
const CONTROL: u8 = 48;

impl Part {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Location, Self::Class, Self::Counts, Self::FollowUp];

    /// Its type.
    pub fn kind(self) -> u8 {
        match self {
            Self::Location => 2,
            Self::Class => 4,
            Self::Counts => 5,
            Self::FollowUp => 7,
        }
    }

    /// The part of a type.
    pub fn of(kind: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.kind() == kind)
    }

    /// Octets of the value that a sender writes.
    pub fn length(self) -> usize {
        match self {
            Self::Location => 4 + 2 * ADDRESS,
            Self::Class => 4,
            Self::Counts => 12,
            Self::FollowUp => 16,
        }
    }

    /// True where a value of so many octets can be one of this part.
    pub fn fits(self, octets: usize) -> bool {
        match self {
            Self::Location => octets >= 4,
            part => octets == part.length(),
        }
    }

    /// Writes the value of a question; `class`: the code point that answers are to have.
    pub fn ask(self, value: &mut [u8], class: u8) {
        value.fill(0);
        match self {
            Self::Location => {
                for (place, kind) in [(4, FROM), (4 + ADDRESS, TO)] {
                    put(value, place, &[super::tlv::UNKNOWN, kind, 0, 16]);
                }
            }
            Self::Class => put(value, 0, &[class << 2]),
            Self::Counts | Self::FollowUp => {}
        }
    }
}

/// Facts of a reflector that parts ask for.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Whence the packet came.
    pub from: SocketAddr,
    /// Where it went; absent where the kernel did not tell.
    pub to: Option<SocketAddr>,
    /// The octet of its type of service; absent where the kernel did not tell.
    pub service: Option<u8>,
    /// Its counts of the session; absent where it keeps no sessions.
    pub session: Option<Counted>,
}

/// The counts of a session at its reflector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Packets received, this one among them.
    pub received: u32,
    /// Packets answered, this one among them.
    pub answered: u32,
    /// The number of the answer before, and the time of departure that it said, as it was written.
    pub before: Option<(u32, [u8; 8])>,
}

/// The answer to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// It was; with what type of service the packet is to be answered, where that was asked for.
    Known(Option<u8>),
    /// The reflector does not know it.
    Unknown,
    /// Its value is none.
    Malformed,
}

/// Fills in the value of a part, whose length fits.
pub fn fill(part: Part, value: &mut [u8], known: &Known) -> Filled {
    match part {
        Part::Location => locate(value, known),
        Part::Class => {
            let Some(service) = known.service else { return Filled::Unknown };
            let asked = take::<1>(value, 0)[0] >> 2;
            let refused = asked >= CONTROL;
            let answered = if refused { service >> 2 } else { asked };
            let bits = u32::from(asked) << 26
                | u32::from(service >> 2) << 20
                | u32::from(service & 3) << 18
                | u32::from(refused) << 16;
            put(value, 0, &bits.to_be_bytes());
            Filled::Known(Some(answered << 2))
        }
        Part::Counts => {
            let Some(counted) = known.session else { return Filled::Unknown };
            put(value, 4, &counted.received.to_be_bytes());
            put(value, 8, &counted.answered.to_be_bytes());
            Filled::Known(None)
        }
        Part::FollowUp => {
            // A reflector without sessions has none to report, and says so by zeros; so does the first answer.
            value.fill(0);
            if let Some((number, at)) = known.session.and_then(|counted| counted.before) {
                put(value, 0, &number.to_be_bytes());
                put(value, 4, &at);
                put(value, 12, &[SOFTWARE]);
            }
            Filled::Known(None)
        }
    }
}

/// A time by software of the host (RFC 8972 section 4.3).
const SOFTWARE: u8 = 2;

fn locate(value: &mut [u8], known: &Known) -> Filled {
    put(value, 0, &known.to.map_or(0, |to| to.port()).to_be_bytes());
    put(value, 2, &known.from.port().to_be_bytes());
    let mut fault = false;
    super::tlv::walk(&mut value[4..], |kind, sub| {
        let address = match kind {
            TO => known.to.map(|to| to.ip()),
            FROM => Some(known.from.ip()),
            _ => None,
        };
        let Some(address) = address else { return (kind, Filled::Unknown) };
        if sub.len() != 16 {
            fault = true;
            return (kind, Filled::Malformed);
        }
        sub.fill(0);
        match address.to_canonical() {
            IpAddr::V4(address) => put(sub, 0, &address.octets()),
            IpAddr::V6(address) => put(sub, 0, &address.octets()),
        }
        (if address.to_canonical().is_ipv4() { kind + 1 } else { kind + 2 }, Filled::Known(None))
    });
    if fault { Filled::Malformed } else { Filled::Known(None) }
}

/// Answers to the parts that were asked by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Code point and congestion marks as they arrived there.
    pub class: Option<Class>,
    /// Ports and addresses as they were seen there.
    pub location: Option<Location>,
    /// Counts of packets.
    pub counts: Option<Counts>,
    /// The number of the answer before, and when it left.
    pub before: Option<(u32, u64)>,
    /// Parts that the far side does not know, a bit each in the order of [`Part::ALL`].
    pub unknown: u8,
    /// Parts that it takes for malformed, likewise.
    pub malformed: u8,
}

/// The mark as it arrived there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Code point of the packet.
    pub code_point: u8,
    /// Its congestion marks.
    pub marks: u8,
    /// True where the far side does not answer with the code point that was asked for.
    pub refused: bool,
}

/// Ports and addresses of a packet as it arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// Whence it came: its port …
    pub from_port: u16,
    /// … and address.
    pub from: Option<IpAddr>,
    /// Where it went: the port …
    pub to_port: u16,
    /// … and address.
    pub to: Option<IpAddr>,
}

/// Counts of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Packets that the sender has sent.
    pub sent: u32,
    /// Packets that the reflector has received.
    pub received: u32,
    /// Packets that it has answered.
    pub answered: u32,
}

impl Told {
    /// Reads what came back of `part`; times are written in `format`, and those next to `near` are meant.
    pub(super) fn read(&mut self, part: Part, value: &[u8], format: Format, near: u64) {
        match part {
            Part::Location => self.location = Some(located(value)),
            Part::Class => {
                let bits = u32::from_be_bytes(take(value, 0));
                let (code_point, marks) = ((bits >> 20 & 0x3f) as u8, (bits >> 18 & 3) as u8);
                self.class = Some(Class { code_point, marks, refused: bits >> 16 & 3 != 0 });
            }
            Part::Counts => {
                let [sent, received, answered] = [0, 4, 8].map(|at| u32::from_be_bytes(take(value, at)));
                self.counts = Some(Counts { sent, received, answered });
            }
            Part::FollowUp => {
                let (number, at) = (u32::from_be_bytes(take(value, 0)), take::<8>(value, 4));
                self.before = format.decode(at, near).filter(|_| at != [0; 8]).map(|at| (number, at));
            }
        }
    }
}

fn located(value: &[u8]) -> Location {
    let port = |at| u16::from_be_bytes(take(value, at));
    let mut location = Location { to_port: port(0), from_port: port(2), ..Location::default() };
    let mut rest = value.get(4..).unwrap_or_default();
    while let Some([flags, kind, high, low]) = rest.first_chunk::<4>().copied() {
        let length = 4 + usize::from(u16::from_be_bytes([high, low]));
        let Some(sub) = rest.get(4..length) else { break };
        let address = match kind.checked_sub(if kind >= FROM { FROM } else { TO }) {
            Some(1) => Some(IpAddr::from(take::<4>(sub, 0))),
            Some(2) => Some(IpAddr::from(take::<16>(sub, 0))),
            _ => None,
        };
        if flags & super::tlv::FLAGS == 0 {
            let place = if kind >= FROM { &mut location.from } else { &mut location.to };
            *place = address.or(*place);
        }
        rest = &rest[length..];
    }
    location
}
