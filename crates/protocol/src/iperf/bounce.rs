//! `--bounceback`: requests and replies of one size over a connection.
//!
//! | octets | |
//! |---|---|
//! | 0-3 | [`Flags::BOUNCE`](super::flag::Flags::BOUNCE) and nothing else |
//! | 4-7 | octets of the message |
//! | 8-11 | number: always 1 |
//! | 12-13 | flags |
//! | 14-15 | type of service, [`UNSET_SERVICE`] where none was asked for |
//! | 16-19 | run time, 10 ms |
//! | 20-43 | client's send, server's receive, server's send time |
//! | 44-47 | how long the server holds a request, µs |
//! | 48-59 | for local use |
//! | 60-63 | 2.2: octets of the reply, where the flags say so |
//!
//! A reply is the request with the server's two times filled in.

use super::flag::Flags;
use super::time::Stamp;
use super::word;

/// Octets of 2.1's header.
pub const HEADER: usize = 60;
/// Octets of the smallest message: 2.1's header and one word.
pub const SMALLEST: usize = HEADER + 4;
/// Octets of the largest message that is taken: who says that it sends one has that much memory kept for it.
pub const LARGEST: usize = 1 << 20;
/// Octets of a message unless told otherwise.
pub const USUAL: usize = 100;
/// The type of service where none was asked for.
pub const UNSET_SERVICE: u16 = 0x5A5A;

const SENT: usize = 20;
const RECEIVED: usize = 28;
const RETURNED: usize = 36;
const REPLY_SIZE: usize = 60;

/// The bits of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BounceFlags(pub u16);

impl BounceFlags {
    /// Acknowledge at once (`TCP_QUICKACK`).
    pub const QUICK: Self = Self(0x8000);
    /// The clocks are synchronised (`--trip-times`).
    pub const CLOCKS: Self = Self(0x4000);
    /// A type of service is given.
    pub const SERVICE: Self = Self(0x2000);
    /// The last message.
    pub const STOP: Self = Self(0x1000);
    /// 2.2: the size of the reply is given.
    pub const REPLY_SIZE: Self = Self(0x0800);

    /// Returns true where all of `other` is set.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounce {
    /// Octets of the message.
    pub size: u32,
    /// 1.
    pub id: u32,
    /// Flags of the request.
    pub flags: BounceFlags,
    /// Type of service.
    pub service: u16,
    /// Units of 10 ms; seen as 0.
    pub run_time: u32,
    /// Send time at the client.
    pub sent: Stamp,
    /// Arrival of all of it at the server.
    pub received: Stamp,
    /// Send time at the server, on the way back.
    pub returned: Stamp,
    /// Time that the server was to hold it, µs.
    pub hold_us: u32,
    /// Whatever.
    pub local: [u32; 3],
    /// Octets of the reply: 2.2, where the flags say so.
    pub reply_size: Option<u32>,
}

impl Default for Bounce {
    /// A request as 2.1.8 sends it unless told otherwise.
    fn default() -> Self {
        Self {
            size: USUAL as u32,
            id: 1,
            flags: BounceFlags::QUICK,
            service: UNSET_SERVICE,
            run_time: 0,
            sent: Stamp::default(),
            received: Stamp::UNSET,
            returned: Stamp::UNSET,
            hold_us: 0,
            local: [0x5A5A_5A5A; 3],
            reply_size: None,
        }
    }
}

/// `size` where messages may have it.
pub fn sound(size: u32) -> Option<usize> {
    let size = usize::try_from(size).ok()?;
    (SMALLEST..=LARGEST).contains(&size).then_some(size)
}

/// The size that the header of a message says, where it is one; the first eight octets will do.
pub fn size_of(message: &[u8]) -> Option<u32> {
    (Flags(word::read(message, 0)?) == Flags::BOUNCE).then(|| word::read(message, 4)).flatten()
}

impl Bounce {
    /// Reads the header of a message; `None` where it is none, or not whole.
    pub fn read(message: &[u8]) -> Option<Self> {
        let words: [u32; HEADER / 4] = word::read_all(message)?;
        if Flags(words[0]) != Flags::BOUNCE {
            return None;
        }
        let stamp = |at: usize| Stamp { seconds: words[at / 4], micros: words[at / 4 + 1] };
        let flags = BounceFlags((words[3] >> 16) as u16);
        let sized = flags.has(BounceFlags::REPLY_SIZE);
        Some(Self {
            size: words[1],
            id: words[2],
            flags,
            service: words[3] as u16,
            run_time: words[4],
            sent: stamp(SENT),
            received: stamp(RECEIVED),
            returned: stamp(RETURNED),
            hold_us: words[11],
            local: [words[12], words[13], words[14]],
            reply_size: if sized { Some(word::read(message, REPLY_SIZE)?) } else { None },
        })
    }

    /// Writes it to the front of `message`; the rest stays.
    pub fn write(&self, message: &mut [u8]) {
        let what = u32::from(self.flags.0) << 16 | u32::from(self.service);
        word::write_all(message, 0, &[Flags::BOUNCE.0, self.size, self.id, what, self.run_time]);
        write_stamp(message, SENT, self.sent);
        write_stamp(message, RECEIVED, self.received);
        write_stamp(message, RETURNED, self.returned);
        word::write(message, 44, self.hold_us);
        word::write_all(message, 48, &self.local);
        if let Some(size) = self.reply_size {
            word::write(message, REPLY_SIZE, size);
        }
    }

    /// Octets of the reply to it: its own, where it does not ask for another number that a message may have.
    pub fn reply_octets(&self) -> Option<usize> {
        match self.reply_size.filter(|size| *size > 0) {
            Some(size) => sound(size),
            None => sound(self.size),
        }
    }
}

/// Writes the time of sending into a request that is otherwise ready.
#[inline]
pub fn stamp_sent(message: &mut [u8], sent: Stamp) {
    write_stamp(message, SENT, sent);
}

/// Makes `message`, which has a header, its own reply.
pub fn answer(message: &mut [u8], received: Stamp, returned: Stamp) {
    write_stamp(message, RECEIVED, received);
    write_stamp(message, RETURNED, returned);
}

fn write_stamp(message: &mut [u8], at: usize, stamp: Stamp) {
    word::write_all(message, at, &[stamp.seconds, stamp.micros]);
}
