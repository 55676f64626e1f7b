//! The packets of a session, and the replies: the server's count of packets, and its times by two clocks.
//!
//! A server can also tell which of the 64 packets before it has seen. That is not asked for: one packet that overtakes another makes
//! it forget those in between, which would pass for lost. Its count does not forget.

use super::key::{Key, SEAL};
use super::{BARE, CLOSE, HEAD, MAGIC, OPEN, REPLY, SEALED, SEALED_FLAG, datagram, head};

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The key, where packets are sealed.
    pub key: Option<Key>,
    /// Its name.
    pub token: u64,
    /// Octets of a packet, and of a reply.
    pub length: usize,
    /// True where replies have the times of arrival and departure by both clocks.
    pub has_times: bool,
}

/// The content of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number of the packet that it answers.
    pub number: u32,
    /// Packets that the server has had, this one included.
    pub count: u32,
    /// Arrival and departure there, nanoseconds since 1970 by its wall clock; the time in between is that of its monotonic one.
    pub times: Option<(u64, u64)>,
    /// True where the server has ended the session with it.
    pub is_last: bool,
}

/// The reason why octets are no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// They are none of this session.
    Foreign,
    /// Their seal is not that of the key, or what they hold cannot be.
    Corrupt,
}

impl Session {
    /// Octets that a packet has at least.
    pub fn shortest(key: Option<&Key>) -> usize {
        if key.is_some() { SEALED } else { BARE }
    }

    /// The place behind head and seal.
    fn fields(&self) -> usize {
        if self.key.is_some() { HEAD + SEAL } else { HEAD }
    }

    /// Writes all of a packet that stays the same.
    pub fn open(&self, packet: &mut [u8]) {
        packet.fill(0);
        put(packet, 0, &MAGIC);
        put(packet, MAGIC.len(), &[if self.key.is_some() { SEALED_FLAG } else { 0 }]);
        put(packet, self.fields(), &self.token.to_le_bytes());
    }

    /// Writes packet `number` into what [`Session::open`] has written.
    #[inline]
    pub fn write(&self, packet: &mut [u8], number: u32) {
        put(packet, self.fields() + 8, &number.to_le_bytes());
        if let Some(key) = &self.key {
            key.seal(packet);
        }
    }

    /// The number in a packet or in a reply; nothing of it is checked.
    pub fn number(&self, packet: &[u8]) -> u32 {
        u32::from_le_bytes(take(packet, self.fields() + 8).unwrap_or_default())
    }

    /// Reads a reply.
    ///
    /// # Errors
    /// Octets that are none.
    pub fn read(&self, reply: &[u8]) -> Result<Answer, Wrong> {
        if reply.len() < Self::shortest(self.key.as_ref()) {
            return Err(Wrong::Foreign);
        }
        let (flags, at) = self.recognise(reply)?;
        if reply.len() != self.length {
            return Err(Wrong::Corrupt);
        }
        let count = take(reply, at + 4).map(u32::from_le_bytes).ok_or(Wrong::Corrupt)?;
        let times = if self.has_times { Some(times(reply, at + 8).ok_or(Wrong::Corrupt)?) } else { None };
        Ok(Answer { number: self.number(reply), count, times, is_last: flags & CLOSE != 0 })
    }

    /// The flags of a reply, and the place of its number. Nothing else of it is checked but its seal.
    pub(super) fn recognise(&self, reply: &[u8]) -> Result<(u8, usize), Wrong> {
        let Some((flags, at)) = head(reply, self.key.as_ref()) else {
            let is_sealed = reply.starts_with(&MAGIC) && self.key.is_some();
            return Err(if is_sealed { Wrong::Corrupt } else { Wrong::Foreign });
        };
        let token = take(reply, at).map(u64::from_le_bytes);
        let is_ours = flags & (REPLY | OPEN) == REPLY && token == Some(self.token);
        is_ours.then_some((flags, at + 8)).ok_or(Wrong::Foreign)
    }

    /// The datagram that ends it; nothing answers.
    pub fn close(&self) -> Vec<u8> {
        datagram(CLOSE, &[&self.token.to_le_bytes()], self.key.as_ref())
    }
}

/// Arrival and departure by the wall clock; `None`: they are before 1970, or the monotonic clock went back in between.
fn times(reply: &[u8], at: usize) -> Option<(u64, u64)> {
    let time = |place: usize| take(reply, at + 8 * place).map(i64::from_le_bytes);
    let (came, came_monotonic, left_monotonic) = (time(0)?, time(1)?, time(3)?);
    let came = u64::try_from(came).ok().filter(|came| *came > 0)?;
    let held = u64::try_from(left_monotonic.checked_sub(came_monotonic)?).ok()?;
    Some((came, came.checked_add(held)?))
}

/// `N` octets at `at`, where there are so many.
fn take<const N: usize>(packet: &[u8], at: usize) -> Option<[u8; N]> {
    packet.get(at..)?.first_chunk().copied()
}

/// Puts octets to `at`, where they have room.
fn put(packet: &mut [u8], at: usize, octets: &[u8]) {
    if let Some(place) = packet.get_mut(at..at + octets.len()) {
        place.copy_from_slice(octets);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn session(key: Option<&[u8]>) -> Session {
        let key = key.map(Key::new);
        let length = Session::shortest(key.as_ref());
        Session { key, token: 0x0102_0304_0506_0708, length, has_times: true }
    }

    /// The reply of a server to a packet: the 40th that it had, which arrived at 1,000 ns and left 250 ns later.
    fn reply(session: &Session, packet: &[u8]) -> Vec<u8> {
        let mut reply = packet.to_vec();
        let at = session.fields();
        reply[3] |= REPLY;
        put(&mut reply, at + 12, &40_u32.to_le_bytes());
        // Between the two the wall clock was set back, the monotonic one was not.
        for (place, time) in [1_000_i64, 70, 10, 320].into_iter().enumerate() {
            put(&mut reply, at + 16 + 8 * place, &time.to_le_bytes());
        }
        if let Some(key) = &session.key {
            key.seal(&mut reply);
        }
        reply
    }

    #[test]
    fn packets_stand_as_a_server_reads_them() {
        let session = session(None);
        let mut packet = [0xEE; BARE];
        session.open(&mut packet);
        session.write(&mut packet, 0x0a0b_0c0d);
        assert_eq!(packet[..4], [0x14, 0xa7, 0x5b, 0]);
        assert_eq!(packet[4..16], [8, 7, 6, 5, 4, 3, 2, 1, 0x0d, 0x0c, 0x0b, 0x0a]);
        assert!(packet[16..].iter().all(|octet| *octet == 0));
        assert_eq!(session.close(), [0x14, 0xa7, 0x5b, 4, 8, 7, 6, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn a_reply_tells_count_and_times() {
        for key in [None, Some(&b"secret"[..])] {
            let session = session(key);
            let mut packet = vec![0; session.length];
            session.open(&mut packet);
            session.write(&mut packet, 7);
            let reply = reply(&session, &packet);
            let answer = Answer { number: 7, count: 40, times: Some((1_000, 1_250)), is_last: false };
            assert_eq!(session.read(&reply), Ok(answer));
            assert_eq!((session.number(&packet), session.number(&reply)), (7, 7));
            let untimed = Session { has_times: false, ..session };
            assert_eq!(untimed.read(&reply), Ok(Answer { times: None, ..answer }));
        }
    }

    #[test]
    fn what_is_of_another_session_or_broken_is_told_apart() {
        let session = session(Some(b"secret"));
        let mut packet = vec![0; session.length];
        session.open(&mut packet);
        session.write(&mut packet, 7);
        assert_eq!(session.read(&packet), Err(Wrong::Foreign), "our own");
        let reply = reply(&session, &packet);
        let read = |change: &dyn Fn(&mut Vec<u8>), sealed: bool| {
            let mut reply = reply.clone();
            change(&mut reply);
            if sealed && let Some(key) = &session.key {
                key.seal(&mut reply);
            }
            session.read(&reply).map(|_| ())
        };
        assert_eq!(read(&|reply| reply[40] ^= 1, false), Err(Wrong::Corrupt), "another seal");
        assert_eq!(read(&|reply| reply[20] ^= 1, true), Err(Wrong::Foreign), "another token");
        assert_eq!(read(&|reply| reply[0] ^= 1, true), Err(Wrong::Foreign), "another program");
        assert_eq!(read(&|reply| reply[3] |= OPEN, true), Err(Wrong::Foreign), "an opening");
        assert_eq!(read(&|reply| reply[43] = 0x80, true), Err(Wrong::Corrupt), "a time before 1970");
        assert_eq!(read(&|reply| reply[44] = 0xff, true), Ok(()), "a monotonic clock of another start");
        assert_eq!(read(&|reply| reply[67] = 0x80, true), Err(Wrong::Corrupt), "a monotonic clock that went back");
        assert_eq!(read(&|reply| reply.push(0), true), Err(Wrong::Corrupt), "longer");
        assert_eq!(read(&|reply| reply.truncate(40), true), Err(Wrong::Foreign), "cut");
        let mut last = reply.clone();
        last[3] |= CLOSE;
        if let Some(key) = &session.key {
            key.seal(&mut last);
        }
        assert!(session.read(&last).is_ok_and(|answer| answer.is_last));
    }

    proptest! {
        #[test]
        fn any_octets_are_read_without_a_fault(octets in prop::collection::vec(any::<u8>(), 0..120), sealed: bool) {
            let session = session(sealed.then_some(b"secret"));
            let behind = [&[0x14, 0xa7, 0x5b, 2][..], &session.token.to_le_bytes(), &octets].concat();
            for octets in [&octets, &behind] {
                if let Ok(answer) = session.read(octets) {
                    prop_assert!(answer.times.is_none_or(|(came, left)| came > 0 && left >= came));
                    prop_assert_eq!(answer.number, session.number(octets));
                }
            }
        }
    }
}
