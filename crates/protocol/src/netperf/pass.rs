//! A pass over a message's fields that either reads or writes: each offset stands once, for both directions.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::netperf::ask::{Carrier, Family, Flags, Length};
use crate::netperf::error::{Nonsense, Unsayable};
use crate::netperf::message::Message;

/// A walk over a message's fields. In reading, each call stores the field in its `value`; in writing, it puts
/// `value` into the message and leaves it alone. The first impossible field is remembered, and the walk continues.
pub(super) struct Pass {
    message: Message,
    reads: bool,
    unsayable: Option<Unsayable>,
    nonsense: Option<Nonsense>,
}

impl Pass {
    /// A walk that reads.
    pub fn over(message: &Message) -> Self {
        Self { message: message.clone(), reads: true, unsayable: None, nonsense: None }
    }

    /// A walk that writes into a new message of these first two words.
    pub fn writing(first: u32, second: u32) -> Self {
        Self { message: Message::new(first, second), reads: false, unsayable: None, nonsense: None }
    }

    /// The end of a walk that read.
    pub fn read(self) -> Result<(), Nonsense> {
        self.nonsense.map_or(Ok(()), Err)
    }

    /// The end of a walk that wrote.
    pub fn written(self) -> Result<Message, Unsayable> {
        self.unsayable.map_or(Ok(self.message), Err)
    }

    /// Returns the message even where something could not be said: a value out of range is the nearest that can.
    pub fn nearest(self) -> Message {
        self.message
    }

    fn unsayable(&mut self, field: &'static str, value: impl Into<u64>, most: u64) {
        let value = value.into();
        self.unsayable.get_or_insert(Unsayable::TooMuch { field, value, most });
    }

    fn nonsense(&mut self, field: &'static str, value: i64) {
        self.nonsense.get_or_insert(Nonsense { field, value });
    }

    /// The word as it stands.
    fn raw(&mut self, at: usize, ours: u32) -> u32 {
        if self.reads {
            return self.message.word(at);
        }
        self.message.put(at, ours);
        ours
    }

    /// An unsigned word.
    pub fn word(&mut self, at: usize, value: &mut u32) {
        *value = self.raw(at, *value);
    }

    /// A counter, with its low 32 bits on the wire.
    pub fn count(&mut self, at: usize, value: &mut u64) {
        let low = self.raw(at, *value as u32);
        if self.reads {
            *value = u64::from(low);
        }
    }

    /// A counter in two words, the high one first.
    pub fn wide(&mut self, at: usize, value: &mut u64) {
        let high = self.raw(at, (*value >> 32) as u32);
        let low = self.raw(at + 4, *value as u32);
        *value = u64::from(high) << 32 | u64::from(low);
    }

    /// A counter as a double. A double that is no count reads as 0.
    pub fn double(&mut self, at: usize, value: &mut u64) {
        let mut bits = (*value as f64).to_bits();
        self.wide(at, &mut bits);
        if self.reads {
            *value = f64::from_bits(bits) as u64;
        }
    }

    /// A signed word that is no less than 0 where it is said at all; −1 is written where it is not.
    pub fn size(&mut self, at: usize, field: &'static str, value: &mut Option<u32>) {
        let ours = match *value {
            None => -1,
            Some(some) => self.signed(field, some),
        };
        *value = u32::try_from(self.raw(at, ours as u32) as i32).ok();
    }

    /// A signed word that is above 0 where it is said at all; 0 is written where it is not.
    pub fn positive(&mut self, at: usize, field: &'static str, value: &mut Option<u32>) {
        let ours = match *value {
            None => 0,
            Some(some) => self.signed(field, some),
        };
        let said = self.raw(at, ours as u32) as i32;
        if self.reads {
            *value = u32::try_from(said).ok().filter(|said| *said > 0);
        }
    }

    fn signed(&mut self, field: &'static str, value: u32) -> i32 {
        i32::try_from(value).unwrap_or_else(|_| {
            self.unsayable(field, value, i32::MAX as u64);
            i32::MAX
        })
    }

    /// 0 or, for true, 1; anything else reads as true.
    pub fn switch(&mut self, at: usize, value: &mut bool) {
        *value = self.raw(at, u32::from(*value)) != 0;
    }

    /// A switch that is one of `flags`.
    pub fn flag(&mut self, at: usize, flag: Flags, flags: &mut Flags) {
        let mut on = flags.has(flag);
        self.switch(at, &mut on);
        *flags = flags.without(flag).with(flag.when(on));
    }

    /// A positive single; anything else is not said, and written as 0.
    pub fn rate(&mut self, at: usize, value: &mut Option<f32>) {
        let said = f32::from_bits(self.raw(at, value.unwrap_or(0.0).to_bits()));
        *value = Some(said).filter(|said| said.is_normal() && *said > 0.0);
    }

    /// A single that is no less than 0; anything else is absent, and written as 0. So is a value too small to be a
    /// normal number: it is an integer from an earlier answer.
    pub fn amount(&mut self, at: usize, value: &mut Option<f32>) {
        let said = f32::from_bits(self.raw(at, value.unwrap_or(0.0).to_bits()));
        if self.reads {
            *value = Some(said).filter(|said| *said == 0.0 || (said.is_normal() && *said > 0.0));
        }
    }

    /// A port; 0 where any is meant.
    pub fn port(&mut self, at: usize, field: &'static str, value: &mut u16) {
        let said = self.raw(at, u32::from(*value));
        *value = u16::try_from(said).unwrap_or_else(|_| {
            self.nonsense(field, i64::from(said));
            0
        });
    }

    /// The port of a server that is ready, which is never 0.
    pub fn data_port(&mut self, at: usize, value: &mut u16) {
        self.port(at, DATA_PORT, value);
        if self.reads && *value == 0 {
            self.nonsense(DATA_PORT, 0);
        }
    }

    /// A test's length: seconds above 0, a count below, and 0 until told.
    pub fn length(&mut self, at: usize, value: &mut Length) {
        let ours = match *value {
            Length::UntilTold => 0,
            Length::Seconds(seconds) => {
                self.no_end("seconds", u64::from(seconds));
                self.signed("seconds", seconds)
            }
            Length::Count(count) => {
                self.no_end("count", count);
                self.negated("count", count)
            }
        };
        let said = self.raw(at, ours as u32) as i32;
        if self.reads {
            *value = match said {
                0 => Length::UntilTold,
                1.. => Length::Seconds(said.unsigned_abs()),
                _ => Length::Count(u64::from(said.unsigned_abs())),
            };
        }
    }

    fn no_end(&mut self, field: &'static str, value: u64) {
        if value == 0 {
            self.unsayable.get_or_insert(Unsayable::Nothing { field });
        }
    }

    fn negated(&mut self, field: &'static str, count: u64) -> i32 {
        let most = u64::from(i32::MIN.unsigned_abs());
        if count > most {
            self.unsayable(field, count, most);
            return i32::MIN;
        }
        // Two's complement: 2³¹ is its own negative.
        (count as u32).wrapping_neg() as i32
    }

    /// An address family.
    pub fn family(&mut self, at: usize, value: &mut Family) {
        let ours = match *value {
            Family::Unspecified => 0,
            Family::V4 => 4,
            Family::V6 => 6,
            Family::Rds => 7,
        };
        match self.raw(at, ours) {
            0 => *value = Family::Unspecified,
            4 => *value = Family::V4,
            6 => *value = Family::V6,
            7 => *value = Family::Rds,
            other => self.nonsense("address family", i64::from(other)),
        }
    }

    /// Socket type at `at` and number of the IP protocol behind it.
    pub fn carrier(&mut self, at: usize, value: &mut Carrier) {
        let (protocol, socket_type) = match *value {
            Carrier::Tcp => (TCP, STREAM),
            Carrier::Udp => (UDP, DATAGRAM),
            Carrier::Other { protocol, socket_type } => (protocol, socket_type),
        };
        let socket_type = self.raw(at, socket_type as u32) as i32;
        let protocol = self.raw(at + 4, protocol);
        if self.reads {
            *value = match (protocol, socket_type) {
                // A client of few words leaves the socket's type out.
                (TCP, STREAM | 0 | -1) => Carrier::Tcp,
                (UDP, DATAGRAM | 0 | -1) => Carrier::Udp,
                _ => Carrier::Other { protocol, socket_type },
            };
        }
    }

    /// An address of `family`, of which 0 means none. IPv6 has the octets of each word reversed, as it leaves a
    /// little-endian netperf, which swaps raw octets as if they were words.
    pub fn address(&mut self, at: usize, family: Family, value: &mut Option<IpAddr>) {
        let ours = match value {
            None => [0; 4],
            Some(IpAddr::V4(address)) if family != Family::V6 => [address.to_bits(), 0, 0, 0],
            Some(IpAddr::V6(address)) if family != Family::V4 => words(*address),
            Some(address) => {
                self.unsayable.get_or_insert(Unsayable::Family { address: *address, family });
                [0; 4]
            }
        };
        let mut said = [0; 4];
        for (index, (said, ours)) in said.iter_mut().zip(ours).enumerate() {
            *said = self.raw(at + 4 * index, ours);
        }
        if self.reads {
            *value = address(said, family);
        }
    }

    /// As [`Pass::name`], where a name that makes no sense is none: from a field that may hold old words.
    pub fn lax_name(&mut self, at: usize, room: usize, value: &mut Option<String>) {
        let earlier = self.nonsense;
        self.name(at, room, "name", value);
        self.nonsense = earlier;
    }

    /// A name in `room` octets, the last of them a NUL; an empty one is none.
    pub fn name(&mut self, at: usize, room: usize, field: &'static str, value: &mut Option<String>) {
        if self.reads {
            let said = self.message.text(at, room);
            let misplaced = |octet: Option<&u8>| octet.map_or(0, |octet| i64::from(*octet));
            *value = None;
            match str::from_utf8(said) {
                Ok("") => {}
                // No NUL: it was cut.
                Ok(_) if said.len() == room => self.nonsense(field, misplaced(said.last())),
                Ok(name) if !name.chars().any(char::is_control) => *value = Some(name.to_owned()),
                _ => {
                    let control = said.iter().find(|octet| octet.is_ascii_control());
                    self.nonsense(field, misplaced(control.or(said.iter().find(|octet| !octet.is_ascii()))));
                }
            }
        } else if let Some(name) = value {
            match name.len() {
                length if length >= room => self.unsayable(field, length as u64, room as u64 - 1),
                _ if name.is_empty() || name.chars().any(char::is_control) => {
                    self.unsayable.get_or_insert(Unsayable::Name { field });
                }
                _ => self.message.put_text(at, name.as_bytes()),
            }
        }
    }
}

const DATA_PORT: &str = "data port";
const STREAM: i32 = 1;
const DATAGRAM: i32 = 2;
const TCP: u32 = 6;
const UDP: u32 = 17;

fn words(address: Ipv6Addr) -> [u32; 4] {
    let bits = address.to_bits();
    [96, 64, 32, 0].map(|shift| ((bits >> shift) as u32).swap_bytes())
}

fn address(said: [u32; 4], family: Family) -> Option<IpAddr> {
    let v4 = IpAddr::V4(Ipv4Addr::from_bits(said[0]));
    let bits = said.iter().fold(0, |bits: u128, word| bits << 32 | u128::from(word.swap_bytes()));
    let v6 = IpAddr::V6(Ipv6Addr::from_bits(bits));
    let address = match family {
        // The other words may be old.
        Family::V4 => v4,
        Family::Unspecified | Family::Rds if said[1..] == [0; 3] => v4,
        Family::V6 | Family::Unspecified | Family::Rds => v6,
    };
    (!address.is_unspecified()).then_some(address)
}
