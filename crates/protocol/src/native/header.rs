//! The header of a native message: 32 bytes, big-endian, in front of whatever else the message carries.
//!
//! | octets | request | reply |
//! |---|---|---|
//! | 0-15 | session token; with [`super::mac`] its first 8 octets and the code | likewise |
//! | 16-23 | sequence number | sequence number of the request |
//! | 24 | version of this layout, 1 | the same |
//! | 25 | flags | flags of the request |
//! | 26-27 | connection number within the session | the same |
//! | 28-31 | length of the reply asked for | requests received so far on this connection, modulo 2^32 |
//!
//! A reply to a request with [`Flags::STAMPED`] continues, where it is long enough, with the peer's own stamps:
//!
//! | octets | |
//! |---|---|
//! | 32-39 | receive stamp of the request by the peer's kernel, ns since 1970; 0: none |
//! | 40-43 | receive stamp to application, ns |
//! | 44-47 | application's receive to its send, ns |
//! | 48-51 | of the *previous* stamped reply: send call to packet scheduler, ns; all ones: none |
//! | 52-55 | of the previous stamped reply: packet scheduler to driver, ns; all ones: none |

use crate::native::mac::{Direction, Mac, NAME};
use crate::wire::{Reading, Wire};

/// Length of the header, and so of the smallest native datagram.
pub const LENGTH: usize = 32;
/// Length of the header with the peer's stamps.
pub const STAMPED_LENGTH: usize = 56;
/// Version of this layout.
pub const VERSION: u8 = 1;

const SEQ: usize = 16;
const AFTER_SEQ: usize = 24;

/// Marks and requests of a message, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// Nothing particular.
    pub const NONE: Self = Self(0);
    /// The message after this one will be stamped: the peer takes its receive stamp.
    pub const ANNOUNCE: Self = Self(1);
    /// This message is stamped at our end; the reply carries the peer's stamps.
    pub const STAMPED: Self = Self(2);
    /// Not recorded; the peer answers as usual.
    pub const WARM_UP: Self = Self(4);
    /// No reply is wanted.
    pub const SILENT: Self = Self(8);
    /// No message is stamped for a while after this one: the peer lets its kernel stop stamping.
    pub const LAST_STAMPED: Self = Self(16);
    /// To a source of datagrams: its answer to the greeting came, and is the sequence number of this. It may send.
    pub const START: Self = Self(32);

    /// Returns true where all of `other` is set.
    #[inline]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both together.
    #[inline]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The random name of a session: who knows it may be answered, unless datagrams are authenticated besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token(pub [u8; 16]);

impl Token {
    /// The first octets, by which a session is known where the others are not said.
    #[inline]
    pub fn name(&self) -> [u8; NAME] {
        let mut name = [0; NAME];
        name.copy_from_slice(&self.0[..NAME]);
        name
    }
}

/// A header as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Token of its session.
    pub token: Token,
    /// Number of the request.
    pub seq: u64,
    /// Its marks and requests.
    pub flags: Flags,
    /// Number of its connection in the session.
    pub flow: u16,
    /// In a request the length of the reply asked for, in a reply the requests received so far.
    pub word: u32,
}

impl Header {
    /// Reads a header; `None` when there is none, or one of another version.
    #[inline]
    pub fn read(message: &[u8]) -> Option<Self> {
        let head = message.first_chunk::<LENGTH>()?;
        if head[24] != VERSION {
            return None;
        }
        let (token, rest) = head.split_first_chunk::<16>()?;
        Some(Self {
            token: Token(*token),
            seq: u64::from_be_bytes(*rest.first_chunk()?),
            flags: Flags(head[25]),
            flow: u16::from_be_bytes([head[26], head[27]]),
            word: u32::from_be_bytes([head[28], head[29], head[30], head[31]]),
        })
    }

    /// Returns true where a datagram of this header belongs to the session of that token's name, and has its code where
    /// there is a `mac`. The datagram has so many octets, of which `front` was kept.
    #[inline]
    pub fn is_of(
        &self,
        token: &Token,
        mac: Option<&Mac>,
        (front, length): (&[u8], usize),
        direction: Direction,
    ) -> bool {
        match mac {
            None => self.token == *token,
            Some(mac) => self.token.name() == token.name() && mac.holds_of(front, length, direction),
        }
    }

    /// Writes it to the front of `message`; a message shorter than a header stays as it is.
    #[inline]
    pub fn write(&self, message: &mut [u8]) {
        let Some(head) = message.first_chunk_mut::<LENGTH>() else { return };
        head[..16].copy_from_slice(&self.token.0);
        head[SEQ..AFTER_SEQ].copy_from_slice(&self.seq.to_be_bytes());
        head[24] = VERSION;
        head[25] = self.flags.0;
        head[26..28].copy_from_slice(&self.flow.to_be_bytes());
        head[28..32].copy_from_slice(&self.word.to_be_bytes());
    }
}

/// The peer's own stamps, as carried back in a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerStamps {
    /// Receipt of the request by the peer's kernel: the peer's wall clock, ns since 1970.
    pub received: Option<u64>,
    /// From there to the peer's application, ns.
    pub wake_up: Option<u32>,
    /// The peer's application, from receive to send, ns.
    pub hold: Option<u32>,
    /// The previous stamped reply: send call to packet scheduler, ns.
    pub previous_sched: Option<u32>,
    /// The previous stamped reply: packet scheduler to driver, ns.
    pub previous_driver: Option<u32>,
}

const NONE: u32 = u32::MAX;

impl PeerStamps {
    /// Reads the stamps behind a header; `None` where the message has no room for them.
    pub fn read(message: &[u8]) -> Option<Self> {
        let block = message.get(LENGTH..STAMPED_LENGTH)?;
        let word = |at: usize| {
            let value = u32::from_be_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
            (value != NONE).then_some(value)
        };
        let received = u64::from_be_bytes(*block.first_chunk()?);
        Some(Self {
            received: (received != 0).then_some(received),
            wake_up: word(8),
            hold: word(12),
            previous_sched: word(16),
            previous_driver: word(20),
        })
    }

    /// Writes the stamps behind a header, where there is room.
    pub fn write(&self, message: &mut [u8]) {
        let Some(block) = message.get_mut(LENGTH..STAMPED_LENGTH) else { return };
        block[..8].copy_from_slice(&self.received.unwrap_or(0).to_be_bytes());
        for (place, value) in
            [(8, self.wake_up), (12, self.hold), (16, self.previous_sched), (20, self.previous_driver)]
        {
            block[place..place + 4].copy_from_slice(&value.unwrap_or(NONE).to_be_bytes());
        }
    }
}

/// Native messages of one connection of one session.
#[derive(Clone, Debug)]
pub struct Native {
    token: Token,
    flow: u16,
    reply_length: u32,
    version_and_flow: [u8; 4],
}

impl Native {
    /// Messages of connection `flow` of the session named `token`, asking for replies of `reply_length` bytes.
    pub fn new(token: Token, flow: u16, reply_length: u32) -> Self {
        let [high, low] = flow.to_be_bytes();
        Self { token, flow, reply_length, version_and_flow: [VERSION, 0, high, low] }
    }
}

impl Wire for Native {
    const MARKS_WARM_UP: bool = true;

    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, flags: Flags) {
        if let Some(head) = message.first_chunk_mut::<LENGTH>() {
            head[SEQ..AFTER_SEQ].copy_from_slice(&seq.to_be_bytes());
            head[25] = flags.0;
        }
    }

    fn open(&mut self, message: &mut [u8]) {
        let word = self.reply_length;
        Header { token: self.token, seq: 0, flags: Flags::NONE, flow: self.flow, word }.write(message);
    }

    #[inline]
    fn answers(&self, request: &[u8], reply: &[u8]) -> bool {
        // All but the last word, where the peer has put its count.
        match (request.first_chunk::<28>(), reply.first_chunk::<28>()) {
            (Some(request), Some(reply)) => request == reply,
            _ => false,
        }
    }

    #[inline]
    fn identify(&mut self, reply: &[u8], _oldest: u64) -> Reading {
        match reply.first_chunk::<LENGTH>() {
            Some(head) if head[..16] == self.token.0 => self.number(head),
            _ => Reading::Stray,
        }
    }

    fn peer_stamps(&self, reply: &[u8]) -> Option<PeerStamps> {
        let flags = Flags(*reply.get(25)?);
        if !flags.has(Flags::STAMPED) {
            return None;
        }
        PeerStamps::read(reply)
    }
}

impl Native {
    /// Returns the number of the request that a reply of this session answers.
    #[inline]
    fn number(&self, head: &[u8; LENGTH]) -> Reading {
        let [version, _, high, low] = self.version_and_flow;
        let mut seq = [0; 8];
        seq.copy_from_slice(&head[SEQ..AFTER_SEQ]);
        let seq = u64::from_be_bytes(seq);
        if head[24] != version || head[26] != high || head[27] != low {
            return Reading::Corrupt(Some(seq));
        }
        Reading::Reply(seq)
    }
}

/// The same over UDP where each datagram is authenticated: a reply without the right code is nobody's.
#[derive(Clone, Debug)]
pub struct Authenticated {
    native: Native,
    mac: Mac,
}

impl Authenticated {
    /// Datagrams with the headers of `native`, and the codes of `mac`.
    pub fn new(native: Native, mac: Mac) -> Self {
        Self { native, mac }
    }
}

impl Wire for Authenticated {
    const MARKS_WARM_UP: bool = true;

    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, flags: Flags) {
        self.native.prepare(message, seq, flags);
        self.mac.seal(message, Direction::There);
    }

    fn open(&mut self, message: &mut [u8]) {
        self.native.open(message);
    }

    #[inline]
    fn answers(&self, request: &[u8], reply: &[u8]) -> bool {
        // The code is each one's own, and so is the last word.
        let alike = match (request.first_chunk::<28>(), reply.first_chunk::<28>()) {
            (Some(request), Some(reply)) => request[..NAME] == reply[..NAME] && request[SEQ..] == reply[SEQ..],
            _ => false,
        };
        alike && self.mac.holds(reply, Direction::Back)
    }

    #[inline]
    fn identify(&mut self, reply: &[u8], _oldest: u64) -> Reading {
        match reply.first_chunk::<LENGTH>() {
            Some(head) if head[..NAME] == self.native.token.0[..NAME] && self.mac.holds(reply, Direction::Back) => {
                self.native.number(head)
            }
            _ => Reading::Stray,
        }
    }

    fn peer_stamps(&self, reply: &[u8]) -> Option<PeerStamps> {
        self.native.peer_stamps(reply)
    }
}

/// Requests with a header, whose replies have no room for one: told apart by their order, as [`crate::wire::Bare`]
/// does, while the reflector still reads what each request asks for.
#[derive(Clone, Debug)]
pub struct Ordered(
    /// The wire that writes the requests' header.
    pub Native,
);

impl Wire for Ordered {
    const MARKS_WARM_UP: bool = true;

    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, flags: Flags) {
        self.0.prepare(message, seq, flags);
    }

    fn open(&mut self, message: &mut [u8]) {
        self.0.open(message);
    }

    #[inline]
    fn identify(&mut self, _reply: &[u8], oldest: u64) -> Reading {
        Reading::Reply(oldest)
    }
}

/// Requests with a header, each over a connection of its own: a reply answers the latest. The connection of a
/// request that was lost is gone, so nothing can answer that one any more.
#[derive(Clone, Debug)]
pub struct Apart {
    native: Native,
    latest: u64,
}

impl Apart {
    /// Requests with the headers of `native`.
    pub fn new(native: Native) -> Self {
        Self { native, latest: 0 }
    }
}

impl Wire for Apart {
    #[inline]
    fn prepare(&mut self, message: &mut [u8], seq: u64, flags: Flags) {
        self.latest = seq;
        self.native.prepare(message, seq, flags);
    }

    fn open(&mut self, message: &mut [u8]) {
        self.native.open(message);
    }

    #[inline]
    fn identify(&mut self, _reply: &[u8], _oldest: u64) -> Reading {
        Reading::Reply(self.latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::mac::DatagramKey;

    const TOKEN: Token = Token([7; 16]);

    #[test]
    fn the_method_knows_the_length_of_the_header() {
        assert_eq!(LENGTH as u64, measure::method::SMALLEST_NATIVE_DATAGRAM);
        assert!(STAMPED_LENGTH as u64 <= measure::method::default::SIZE.0, "stamps travel at the default size");
    }

    #[test]
    fn a_header_is_read_as_written() {
        let header = Header { token: TOKEN, seq: 0x0102_0304_0506_0708, flags: Flags::STAMPED, flow: 513, word: 64 };
        let mut message = [0xAA; 40];
        header.write(&mut message);
        assert_eq!(Header::read(&message), Some(header));
        assert_eq!(message[16..24], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(message[24..32], [1, 2, 2, 1, 0, 0, 0, 64]);
        assert_eq!(message[32..], [0xAA; 8], "what follows the header stays");
    }

    #[test]
    fn over_connections_of_their_own_no_reply_is_an_earlier_ones() {
        let mut wire = Apart::new(Native::new(TOKEN, 0, 64));
        let mut message = [0; 64];
        wire.prepare(&mut message, 4, Flags::NONE);
        // The third was lost, and is the oldest without an answer.
        assert_eq!(wire.identify(&[], 3), Reading::Reply(4));
    }

    #[test]
    fn stamps_that_are_absent_stay_absent() {
        let mut message = [0; STAMPED_LENGTH];
        let stamps = PeerStamps {
            received: Some(5),
            wake_up: Some(0),
            hold: None,
            previous_sched: None,
            previous_driver: Some(9),
        };
        stamps.write(&mut message);
        assert_eq!(PeerStamps::read(&message), Some(stamps));
        assert_eq!(PeerStamps::read(&message[..STAMPED_LENGTH - 1]), None);
    }

    #[test]
    fn where_order_tells_the_replies_the_requests_still_say_what_they_ask_for() {
        let mut wire = Ordered(Native::new(TOKEN, 3, 1));
        let mut message = [0; 64];
        wire.open(&mut message);
        wire.prepare(&mut message, 9, Flags::WARM_UP);
        let header = Header { token: TOKEN, seq: 9, flags: Flags::WARM_UP, flow: 3, word: 1 };
        assert_eq!(Header::read(&message), Some(header));
        assert_eq!(wire.identify(&[0], 9), Reading::Reply(9));
    }

    #[test]
    fn an_authenticated_reply_is_known_by_its_code_and_nothing_else_is_one() {
        let mac = Mac::new(&DatagramKey([3; 16]));
        let mut wire = Authenticated::new(Native::new(TOKEN, 3, 64), mac);
        let mut request = [0; 64];
        wire.open(&mut request);
        wire.prepare(&mut request, 41, Flags::STAMPED);
        assert!(mac.holds(&request, Direction::There));
        assert!(request[..NAME] == TOKEN.0[..NAME] && request[NAME..16] != TOKEN.0[NAME..], "the token is not told");
        let mut reply = request;
        reply[28..32].copy_from_slice(&[0, 0, 0, 42]);
        assert!(!wire.answers(&request, &reply) && wire.identify(&reply, 0) == Reading::Stray, "no code of its own");
        mac.seal(&mut reply, Direction::Back);
        assert!(wire.answers(&request, &reply), "the peer's count is its own");
        assert_eq!(wire.identify(&reply, 0), Reading::Reply(41));
        for octet in 0..STAMPED_LENGTH {
            let mut wrong = reply;
            wrong[octet] ^= 1;
            assert!(!wire.answers(&request, &wrong), "octet {octet}");
            assert_eq!(wire.identify(&wrong, 0), Reading::Stray, "octet {octet}");
        }
        assert_eq!(wire.identify(&reply[..63], 0), Reading::Stray, "cut off");
        assert_eq!(wire.identify(&reply[..31], 0), Reading::Stray);
    }

    #[test]
    fn a_reply_is_known_by_its_token_its_flow_and_its_number() {
        let mut wire = Native::new(TOKEN, 3, 64);
        let mut message = [0; 64];
        wire.open(&mut message);
        wire.prepare(&mut message, 41, Flags::NONE);
        let mut reply = message;
        reply[28..32].copy_from_slice(&[0, 0, 0, 42]);
        assert!(wire.answers(&message, &reply), "the peer's count is its own");
        for octet in 0..28 {
            let mut wrong = reply;
            wrong[octet] ^= 1;
            assert!(!wire.answers(&message, &wrong), "octet {octet}");
        }
        assert_eq!(wire.identify(&message, 0), Reading::Reply(41));
        assert_eq!(wire.identify(&message[..31], 0), Reading::Stray);
        message[27] = 4;
        assert_eq!(wire.identify(&message, 0), Reading::Corrupt(Some(41)));
        message[0] = 8;
        assert_eq!(wire.identify(&message, 0), Reading::Stray);
    }
}
