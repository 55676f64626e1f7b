//! A reply with all that a session's parameters can ask for: counts and times, each where it was granted.

use super::CLOSE;
use super::parameters::{COUNT, MIDPOINT, MONOTONIC, Parameters, RECEIVE, SEND, WALL, WINDOW};
use super::session::{Session, Wrong};

/// The content of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The number of the packet that it answers.
    pub number: u32,
    /// Packets that the server has had, this one included.
    pub count: Option<u32>,
    /// Bits of the packets up to this one, the lowest for this one; 0 where the server cannot say.
    pub window: Option<u64>,
    /// Arrival of the packet there.
    pub received: Time,
    /// Departure of the reply. The same where the server tells the time halfway.
    pub sent: Time,
    /// True where the server has ended the session with it.
    pub is_last: bool,
}

/// A time by the clocks of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// Nanoseconds since 1970 by its wall clock.
    pub wall: Option<i64>,
    /// Nanoseconds by its monotonic clock, from an unknown start.
    pub monotonic: Option<i64>,
}

impl Session {
    /// Reads a reply that has what `granted` says.
    ///
    /// # Errors
    /// Octets that are none.
    pub fn read_as(&self, granted: &Parameters, reply: &[u8]) -> Result<Reply, Wrong> {
        let (flags, at) = self.recognise(reply)?;
        if reply.len() < self.length {
            return Err(Wrong::Corrupt);
        }
        let mut rest = reply.get(at..).unwrap_or_default();
        let number = take(&mut rest).map(u32::from_le_bytes)?;
        let has = |bit: i64| granted.stats & bit != 0;
        let count = if has(COUNT) { Some(take(&mut rest).map(u32::from_le_bytes)?) } else { None };
        let window = if has(WINDOW) { Some(take(&mut rest).map(u64::from_le_bytes)?) } else { None };
        let mut time = |at: i64| {
            if granted.stamp_at & at != 0 { take_time(&mut rest, granted.clock) } else { Ok(Time::default()) }
        };
        let (received, halfway, sent) = (time(RECEIVE)?, time(MIDPOINT)?, time(SEND)?);
        let is_halfway = granted.stamp_at & MIDPOINT != 0;
        let (received, sent) = if is_halfway { (halfway, halfway) } else { (received, sent) };
        Ok(Reply { number, count, window, received, sent, is_last: flags & CLOSE != 0 })
    }
}

/// The next octets of a reply.
fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], Wrong> {
    let (first, behind) = rest.split_first_chunk().ok_or(Wrong::Corrupt)?;
    *rest = behind;
    Ok(*first)
}

/// The next time, by these clocks. One that is 0 is none.
fn take_time(rest: &mut &[u8], clocks: i64) -> Result<Time, Wrong> {
    let mut by = |clock: i64| -> Result<Option<i64>, Wrong> {
        let time = if clocks & clock != 0 { i64::from_le_bytes(take(rest)?) } else { 0 };
        Ok(Some(time).filter(|time| *time != 0))
    };
    Ok(Time { wall: by(WALL)?, monotonic: by(MONOTONIC)? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use test_case::test_case;

    use super::super::{REPLY, datagram};
    use super::*;

    const SESSION: Session = Session { key: None, token: 7, length: 16, has_times: false };

    /// A reply to packet 3 with these octets behind its number.
    fn reply(fields: &[u8]) -> Vec<u8> {
        datagram(REPLY, &[&7_u64.to_le_bytes(), &3_u32.to_le_bytes(), fields], None)
    }

    fn granted(stats: i64, stamp_at: i64, clock: i64) -> Parameters {
        Parameters { stats, stamp_at, clock, ..Parameters::default() }
    }

    #[test]
    fn each_field_stands_behind_those_before_it() {
        let numbers: Vec<u8> = (1..=4_i64).flat_map(i64::to_le_bytes).collect();
        let fields = [&5_u32.to_le_bytes()[..], &9_u64.to_le_bytes(), &numbers].concat();
        let time = |wall, monotonic| Time { wall: Some(wall), monotonic: Some(monotonic) };
        let all = Reply {
            number: 3,
            count: Some(5),
            window: Some(9),
            received: time(1, 2),
            sent: time(3, 4),
            is_last: false,
        };
        assert_eq!(SESSION.read_as(&granted(3, 3, 3), &reply(&fields)), Ok(all));
        let window =
            Reply { count: None, window: Some(5 | 9 << 32), received: Time::default(), sent: Time::default(), ..all };
        assert_eq!(SESSION.read_as(&granted(2, 0, 3), &reply(&fields)), Ok(window));
        let halfway = Time { wall: None, monotonic: Some(1) };
        let seen = SESSION.read_as(&granted(0, 4, 2), &reply(&numbers));
        assert_eq!(seen, Ok(Reply { count: None, window: None, received: halfway, sent: halfway, ..all }));
    }

    #[test]
    fn a_time_of_nothing_is_none_and_the_end_is_told() {
        let mut octets = reply(&[0; 8]);
        octets[3] |= CLOSE;
        let seen = SESSION.read_as(&granted(0, 1, 1), &octets).unwrap();
        assert_eq!((seen.sent, seen.is_last), (Time::default(), true));
    }

    #[test_case(&granted(3, 3, 3), 43, Err(Wrong::Corrupt); "cut in a time")]
    #[test_case(&granted(3, 3, 3), 44, Ok(()); "as long as its fields")]
    #[test_case(&granted(1, 0, 0), 3, Err(Wrong::Corrupt); "cut in the count")]
    #[test_case(&granted(0, 0, 0), 0, Ok(()); "without fields")]
    fn what_is_cut_is_none(granted: &Parameters, fields: usize, expected: Result<(), Wrong>) {
        assert_eq!(SESSION.read_as(granted, &reply(&vec![1; fields])).map(|_| ()), expected);
        let longer = Session { length: 17 + fields, ..SESSION };
        assert_eq!(longer.read_as(granted, &reply(&vec![1; fields])), Err(Wrong::Corrupt));
    }

    proptest! {
        #[test]
        fn any_octets_are_read_without_a_fault(octets in prop::collection::vec(any::<u8>(), 0..80), stats in 0..4_i64, at in 0..5_i64, clock in 1..4_i64) {
            let granted = granted(stats, at, clock);
            for octets in [octets.clone(), reply(&octets)] {
                if let Ok(seen) = SESSION.read_as(&granted, &octets) {
                    prop_assert_eq!((seen.count.is_some(), seen.window.is_some()), (stats & 1 != 0, stats & 2 != 0));
                }
            }
        }
    }
}
