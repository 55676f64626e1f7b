//! Echo requests of ICMP over IPv4 and IPv6 (RFC 792, RFC 4443 section 4), and whose replies come back.
//!
//! | octets of the message | |
//! |---|---|
//! | 0 | type: 8 or 128, of a reply 0 or 129 |
//! | 1 | code: 0 |
//! | 2-3 | checksum; a ping socket, and every socket over IPv6, has its kernel fill it |
//! | 4-5 | identifier; a ping socket has its kernel fill it |
//! | 6-7 | sequence number, its lower 16 bits |
//! | 8-15 | sequence number, 64 bits: requests far apart are never taken for each other. In requests that
//! [keep one checksum](Echo::keeping_checksum) the first 16 bits are the complement of the others and of the header's |
//! | 16-19 | random number of this run, where the payload has 12 octets or more |
//!
//! A payload of n octets makes a message of n + 8. Octets behind these fields stay as the caller filled them.

use etherparse::checksum::Sum16BitWords;
use etherparse::{IpNumber, Ipv4HeaderSlice};

use crate::native::header::Flags;
use crate::wire::{Reading, Wire};

/// Length of the ICMP echo header, octets: a message is so much longer than its payload.
pub const HEADER: usize = 8;
/// The smallest payload that carries the 64-bit sequence number, octets.
pub const SMALLEST_PAYLOAD: usize = 8;

const CHECKSUM: std::ops::Range<usize> = 2..4;
const IDENTIFIER: std::ops::Range<usize> = 4..6;
const SHORT_SEQ: std::ops::Range<usize> = 6..8;
const SEQ: std::ops::Range<usize> = 8..16;
/// The bits of a number that are left where the others keep the checksum.
const STEADY: u64 = (1 << 48) - 1;
const NONCE: std::ops::Range<usize> = 16..20;

/// Version of ICMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Over IPv4.
    V4,
    /// Over IPv6.
    V6,
}

impl Family {
    /// Type of an echo request.
    pub const fn request(self) -> u8 {
        match self {
            Self::V4 => 8,
            Self::V6 => 128,
        }
    }

    /// Type of an echo reply.
    pub const fn reply(self) -> u8 {
        match self {
            Self::V4 => 0,
            Self::V6 => 129,
        }
    }
}

/// Kind of socket that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Socket {
    /// Unprivileged: the kernel sets the identifier and the checksum, and delivers only replies to it.
    Ping,
    /// Privileged: everything that comes to the host is seen; over IPv4 with the IP header in front, and with a
    /// checksum that nobody has looked at.
    Raw,
}

/// Echo requests of one run on one socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    family: Family,
    socket: Socket,
    identifier: u16,
    nonce: u32,
    /// Sequence number in the header of request 0.
    first: u16,
    /// True where the payload has no room for the 64-bit number.
    short: bool,
    /// True where all requests of one content have one checksum.
    steady: bool,
}

impl Echo {
    /// Requests with this identifier (constant for the run, for load balancers may hash it; a ping socket has the kernel
    /// set it) and this random number.
    pub fn new(family: Family, socket: Socket, identifier: u16, nonce: u32) -> Self {
        Self { family, socket, identifier, nonce, first: 0, short: false, steady: false }
    }

    /// The same with another random number.
    pub fn carrying(self, nonce: u32) -> Self {
        Self { nonce, ..self }
    }

    /// The same, with request 0 numbered `first` in the header, for those who look at the wire.
    pub fn counting_from(self, first: u16) -> Self {
        Self { first, ..self }
    }

    /// The same for a payload of `octets`. With fewer than [`SMALLEST_PAYLOAD`] the header's 16 bits are all there is to
    /// tell replies apart: one to a request 49,152 or more before the oldest unanswered one is taken for a later one's.
    pub fn for_payload(self, octets: usize) -> Self {
        Self { short: octets < SMALLEST_PAYLOAD, ..self }
    }

    /// The same with one checksum for all requests of one length and content: a router that chooses a path by the first
    /// octets of IP's payload sends them all one way. It takes 16 bits of the long number, so numbers are below 2⁴⁸; a
    /// payload without room for it has none of this.
    pub fn keeping_checksum(self) -> Self {
        Self { steady: true, ..self }
    }

    /// Returns the number in the payload of request `seq`.
    fn long_number(&self, seq: u64) -> [u8; 8] {
        let mut number = seq.to_be_bytes();
        if self.steady {
            let rest = Sum16BitWords::new().add_slice(&number[2..]).add_2bytes(self.header_number(seq).to_be_bytes());
            number[..2].copy_from_slice(&rest.ones_complement().to_ne_bytes());
        }
        number
    }

    /// Returns the version of ICMP.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The identifier of the requests; of a ping socket the kernel has another.
    pub fn identifier(&self) -> u16 {
        self.identifier
    }

    /// Returns the sequence number in the header of request `seq`.
    pub fn header_number(&self, seq: u64) -> u16 {
        self.first.wrapping_add(seq as u16)
    }

    /// The request near `oldest` that has this number in its header: from 16,384 before it to 49,151 behind.
    fn number_near(&self, oldest: u64, header_number: u16) -> u64 {
        let low = oldest.saturating_sub(0x4000);
        low.wrapping_add(u64::from(header_number.wrapping_sub(self.header_number(low))))
    }

    /// Returns the number in the header of an echo request that somebody quotes, from its first octet on. `None` where it is
    /// none of ours.
    pub fn quoted(&self, request: &[u8]) -> Option<u16> {
        let header = request.first_chunk::<HEADER>()?;
        let number = || header[SHORT_SEQ].try_into().map(u16::from_be_bytes).ok();
        (header[0] == self.family.request() && self.is_ours(header)).then(number).flatten()
    }

    /// Octets of the message that carries a payload of `payload` octets: the room that the engine's buffer needs.
    pub const fn message_length(payload: usize) -> usize {
        HEADER + payload
    }

    /// The ICMP message within the octets of the socket; `None` where there is none, or not all of its header.
    #[inline]
    pub fn message<'a>(&self, delivered: &'a [u8]) -> Option<&'a [u8]> {
        let message = match (self.family, self.socket) {
            (Family::V4, Socket::Raw) => Delivered::read(delivered)?.message,
            _ => delivered,
        };
        (message.len() >= HEADER).then_some(message)
    }

    /// Returns true where the identifier is ours, or is not ours to judge.
    fn is_ours(self, message: &[u8]) -> bool {
        self.socket == Socket::Ping || message[IDENTIFIER] == self.identifier.to_be_bytes()
    }
}

/// Message as a raw IPv4 socket delivers it.
struct Delivered<'a> {
    message: &'a [u8],
    /// True where `message` is all of it; a longer one was cut at the end of the caller's buffer.
    whole: bool,
}

impl<'a> Delivered<'a> {
    #[inline]
    fn read(delivered: &'a [u8]) -> Option<Self> {
        let header = Ipv4HeaderSlice::from_slice(delivered).ok()?;
        if header.protocol() != IpNumber::ICMP {
            return None;
        }
        let total = usize::from(header.total_len());
        let end = total.min(delivered.len());
        let message = delivered.get(header.slice().len()..end)?;
        Some(Self { message, whole: total <= delivered.len() })
    }
}

/// The Internet checksum (RFC 1071) as octets of the message; 0 over a message that carries its own.
fn checksum(message: &[u8]) -> [u8; 2] {
    Sum16BitWords::new().add_slice(message).ones_complement().to_ne_bytes()
}

impl Wire for Echo {
    /// A message shorter than header and sequence number stays as it is, unless it was said to be short.
    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, _flags: Flags) {
        let least = if self.short { HEADER } else { HEADER + SMALLEST_PAYLOAD };
        if message.len() < least {
            return;
        }
        message[0] = self.family.request();
        message[1] = 0;
        message[CHECKSUM].copy_from_slice(&[0, 0]);
        message[IDENTIFIER].copy_from_slice(&self.identifier.to_be_bytes());
        message[SHORT_SEQ].copy_from_slice(&self.header_number(seq).to_be_bytes());
        if let Some(long) = message.get_mut(SEQ) {
            long.copy_from_slice(&self.long_number(seq));
        }
        if let Some(nonce) = message.get_mut(NONCE) {
            nonce.copy_from_slice(&self.nonce.to_be_bytes());
        }
        if (self.family, self.socket) == (Family::V4, Socket::Raw) {
            let sum = checksum(message);
            message[CHECKSUM].copy_from_slice(&sum);
        }
    }

    #[inline]
    fn identify(&mut self, reply: &[u8], oldest: u64) -> Reading {
        let Some(message) = self.message(reply) else { return Reading::Stray };
        if message[0] != self.family.reply() || message[1] != 0 || !self.is_ours(message) {
            return Reading::Stray;
        }
        if message.get(NONCE).is_some_and(|nonce| nonce != self.nonce.to_be_bytes()) {
            return Reading::Stray;
        }
        // A kernel looks at the checksum before a ping socket or an ICMPv6 socket sees the message, but not before a raw
        // IPv4 socket does.
        let unchecked = (self.family, self.socket) == (Family::V4, Socket::Raw);
        if unchecked && Delivered::read(reply).is_some_and(|all| all.whole && checksum(all.message) != [0, 0]) {
            return Reading::Corrupt(None);
        }
        if self.short {
            let number = message[SHORT_SEQ].try_into().map_or(0, u16::from_be_bytes);
            return Reading::Reply(self.number_near(oldest, number));
        }
        let Some(&number) = message.get(SEQ).and_then(|octets| octets.first_chunk()) else {
            return Reading::Corrupt(None);
        };
        let seq = u64::from_be_bytes(number) & if self.steady { STEADY } else { u64::MAX };
        if message[SHORT_SEQ] == self.header_number(seq).to_be_bytes() && number == self.long_number(seq) {
            Reading::Reply(seq)
        } else {
            Reading::Corrupt(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use etherparse::{IcmpEchoHeader, Icmpv4Header, Icmpv4Type, Icmpv6Header, Icmpv6Type, PacketBuilder};
    use proptest::prelude::*;
    use test_case::test_case;

    use super::*;

    const ID: u16 = 0x1234;
    const NONCE_VALUE: u32 = 0xCAFE_F00D;

    fn echo(family: Family, socket: Socket) -> Echo {
        Echo::new(family, socket, ID, NONCE_VALUE)
    }

    /// A request of `payload` octets, turned into the reply a kernel gives, as the socket delivers it.
    fn answered(echo: &mut Echo, payload: usize, seq: u64) -> Vec<u8> {
        let mut request = vec![0xA5; Echo::message_length(payload)];
        echo.prepare(&mut request, seq, Flags::NONE);
        if (echo.family, echo.socket) != (Family::V4, Socket::Raw) {
            request[0] = echo.family.reply();
            return request;
        }
        let mut packet = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 2], [10, 0, 0, 1], 64)
            .icmpv4_echo_reply(ID, seq as u16)
            .write(&mut packet, &request[HEADER..])
            .unwrap();
        packet
    }

    #[test_case(Family::V4, Socket::Ping)]
    #[test_case(Family::V4, Socket::Raw)]
    #[test_case(Family::V6, Socket::Ping)]
    #[test_case(Family::V6, Socket::Raw)]
    fn a_reply_is_known_by_its_64_bit_number(family: Family, socket: Socket) {
        let mut echo = echo(family, socket);
        for (payload, seq) in [(8, 0), (11, 65_535), (12, 65_536), (56, u64::MAX), (1_472, 1 << 40)] {
            let reply = answered(&mut echo, payload, seq);
            assert_eq!(echo.identify(&reply, 0), Reading::Reply(seq), "payload {payload}");
        }
    }

    #[test]
    fn a_raw_request_is_what_etherparse_builds() {
        for payload in [8, 9, 12, 57, 1_473] {
            let mut message = vec![0x5A; Echo::message_length(payload)];
            echo(Family::V4, Socket::Raw).prepare(&mut message, 0x0001_0002, Flags::NONE);
            let kind = Icmpv4Type::EchoRequest(IcmpEchoHeader { id: ID, seq: 2 });
            let header = Icmpv4Header::with_checksum(kind, &message[HEADER..]);
            assert_eq!(message[..HEADER], header.to_bytes()[..], "payload {payload}");
        }
    }

    #[test]
    fn the_payload_behind_our_fields_stays() {
        let mut message = [0xEE; 28];
        echo(Family::V6, Socket::Ping).prepare(&mut message, 7, Flags::NONE);
        assert_eq!(message[0], 128);
        assert_eq!(message[8..20], [0, 0, 0, 0, 0, 0, 0, 7, 0xCA, 0xFE, 0xF0, 0x0D]);
        assert_eq!(message[20..], [0xEE; 8]);
        let mut short = [0xEE; 15];
        echo(Family::V4, Socket::Raw).prepare(&mut short, 7, Flags::NONE);
        assert_eq!(short, [0xEE; 15]);
    }

    /// The 4 octets that a router hashes in place of ports, as they stand on the wire.
    fn hashed(family: Family, payload: usize, seq: u64) -> [u8; 4] {
        let mut message = vec![0x5A; Echo::message_length(payload)];
        Echo::new(family, Socket::Ping, ID, NONCE_VALUE).keeping_checksum().prepare(&mut message, seq, Flags::NONE);
        // The kernel's part, by another's arithmetic.
        match family {
            Family::V4 => {
                let kind = Icmpv4Type::EchoRequest(IcmpEchoHeader { id: ID, seq: seq as u16 });
                let header = Icmpv4Header::with_checksum(kind, &message[HEADER..]);
                *header.to_bytes().first_chunk().unwrap()
            }
            Family::V6 => {
                let kind = Icmpv6Type::EchoRequest(IcmpEchoHeader { id: ID, seq: seq as u16 });
                let header = Icmpv6Header::with_checksum(kind, [0xFD; 16], [0xFE; 16], &message[HEADER..]).unwrap();
                *header.to_bytes().first_chunk().unwrap()
            }
        }
    }

    #[test_case(Family::V4)]
    #[test_case(Family::V6)]
    fn requests_that_keep_their_checksum_look_alike_to_a_router(family: Family) {
        for payload in [8, 9, 12, 64, 1_473] {
            let first = hashed(family, payload, 0);
            let numbers = (0..10_000).chain(65_530..65_540).chain([u64::from(u32::MAX), STEADY]);
            for seq in numbers {
                assert_eq!(hashed(family, payload, seq), first, "payload {payload}, request {seq}");
            }
        }
    }

    #[test]
    fn a_reply_is_known_where_the_checksum_is_kept() {
        for socket in [Socket::Ping, Socket::Raw] {
            let mut echo = echo(Family::V4, socket).keeping_checksum();
            for seq in [0, 1, 65_535, 65_536, STEADY] {
                let reply = answered(&mut echo, 56, seq);
                assert_eq!(echo.identify(&reply, 0), Reading::Reply(seq));
            }
        }
        let mut ping = echo(Family::V4, Socket::Ping).keeping_checksum();
        let mut reply = answered(&mut ping, 56, 7);
        reply[8] ^= 1;
        assert_eq!(ping.identify(&reply, 0), Reading::Corrupt(None), "another complement");
    }

    #[test]
    fn without_room_for_a_number_the_header_tells_replies_apart() {
        for socket in [Socket::Ping, Socket::Raw] {
            let mut echo = echo(Family::V4, socket).counting_from(1).for_payload(0);
            for (seq, oldest) in [(0, 0), (65_535, 65_530), (65_536, 65_530), (1 << 33, (1 << 33) - 9), (70, 80)] {
                let mut request = vec![0; HEADER];
                echo.prepare(&mut request, seq, Flags::NONE);
                assert_eq!(echo.quoted(&request), Some((seq + 1) as u16), "as an error quotes it");
                let mut packet = Vec::new();
                let builder = PacketBuilder::ipv4([10, 0, 0, 2], [10, 0, 0, 1], 64);
                builder.icmpv4_echo_reply(ID, (seq + 1) as u16).write(&mut packet, &[]).unwrap();
                let reply = if socket == Socket::Raw { &packet[..] } else { &packet[20..] };
                assert_eq!(echo.identify(reply, oldest), Reading::Reply(seq), "{socket:?}");
            }
        }
    }

    #[test]
    fn what_an_error_quotes_is_ours_or_not() {
        let raw = echo(Family::V4, Socket::Raw);
        let request = [8, 0, 0, 0, 0x12, 0x34, 0, 7];
        assert_eq!(raw.quoted(&request), Some(7));
        assert_eq!(raw.quoted(&request[..7]), None, "too little of it");
        assert_eq!(Echo { identifier: 1, ..raw }.quoted(&request), None, "another program's");
        assert_eq!(raw.quoted(&[0, 0, 0, 0, 0x12, 0x34, 0, 7]), None, "no request");
    }

    #[test]
    fn what_is_not_ours_is_a_stray() {
        let mut raw = echo(Family::V4, Socket::Raw);
        let reply = answered(&mut raw, 56, 3);
        let mut theirs = Echo { identifier: ID + 1, ..raw };
        assert_eq!(theirs.identify(&reply, 0), Reading::Stray, "another identifier");
        let mut earlier = Echo { nonce: 1, ..raw };
        assert_eq!(earlier.identify(&reply, 0), Reading::Stray, "another run");
        let mut request = reply.clone();
        request[20] = 8;
        assert_eq!(raw.identify(&request, 0), Reading::Stray, "a request, as seen on loopback");
        let mut udp = reply.clone();
        udp[9] = 17;
        assert_eq!(raw.identify(&udp, 0), Reading::Stray, "another protocol");
        for cut in 0..28 {
            assert_eq!(raw.identify(&reply[..cut], 0), Reading::Stray, "cut at {cut}");
        }
    }

    #[test]
    fn what_is_ours_but_wrong_is_corrupt() {
        let mut raw = echo(Family::V4, Socket::Raw);
        let mut reply = answered(&mut raw, 56, 3);
        *reply.last_mut().unwrap() ^= 1;
        assert_eq!(raw.identify(&reply, 0), Reading::Corrupt(None), "checksum");
        let mut ping = echo(Family::V4, Socket::Ping);
        let mut reply = answered(&mut ping, 56, 3);
        assert_eq!(ping.identify(&reply[..12], 0), Reading::Corrupt(None), "no room for the number");
        reply[7] = 4;
        assert_eq!(ping.identify(&reply, 0), Reading::Corrupt(None), "two numbers that differ");
    }

    #[test]
    fn the_head_of_a_long_reply_is_enough() {
        let mut raw = echo(Family::V4, Socket::Raw);
        let reply = answered(&mut raw, 1_400, 9);
        assert_eq!(raw.identify(&reply[..64], 0), Reading::Reply(9));
    }

    proptest! {
        #[test]
        fn nothing_panics(octets in prop::collection::vec(any::<u8>(), 0..128), seq: u64) {
            for family in [Family::V4, Family::V6] {
                for socket in [Socket::Ping, Socket::Raw] {
                    let mut echo = echo(family, socket);
                    echo.identify(&octets, seq);
                    let mut message = octets.clone();
                    echo.prepare(&mut message, seq, Flags::NONE);
                    prop_assert_eq!(message.len(), octets.len());
                }
            }
        }
    }
}
