//! Memory of a reflector about its senders: the rate that each may have, and the number of answers of each session.
//!
//! Both tables have a bound, and no source has more than half of one. Where one is full, an entry that has been silent
//! for a while is removed; if there is none, a new sender is turned away.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;

use measure::unit::{Instant, Nanos};

use super::part::Counted;
use crate::source::source;

/// A table is looked through for what may go once in so long at the most: a flood of new names must not cost more than an
/// answer each.
const SWEEP: Nanos = Nanos::millis(100);

/// Name in a table, with its source.
trait Sourced {
    /// Where it comes from.
    fn source(&self) -> IpAddr;
}

impl Sourced for IpAddr {
    fn source(&self) -> IpAddr {
        source(*self)
    }
}

/// A table with a bound, of what was heard of lately.
#[derive(Debug)]
struct Table<K, V> {
    entries: HashMap<K, (Instant, V)>,
    /// Number of entries of each source.
    counts: HashMap<IpAddr, usize>,
    most: usize,
    /// An entry that was silent for so long begins anew …
    idle: Nanos,
    /// … and goes after so long where its place is needed.
    stalled: Nanos,
    /// True where a sender found no room lately; beside it the next instant to look for some.
    crowded: bool,
    sweep: Instant,
}

impl<K: Copy + Eq + Hash + Sourced, V: Default> Table<K, V> {
    fn new(most: usize, idle: Nanos, stalled: Nanos) -> Self {
        Self { entries: HashMap::new(), counts: HashMap::new(), most, idle, stalled, crowded: false, sweep: Instant(0) }
    }

    /// Returns the value under this name, and makes it where there is none; `None`: there is no room, or its source has
    /// its share.
    fn of(&mut self, name: K, now: Instant) -> Option<&mut V> {
        if (self.crowded || self.entries.len() >= self.most) && !self.entries.contains_key(&name) {
            self.make_room(now);
        }
        let (is_full, share) = (self.entries.len() >= self.most, (self.most / 2).max(1));
        let (latest, value) = match self.entries.entry(name) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let source = name.source();
                self.crowded = is_full || self.counts.get(&source).is_some_and(|count| *count >= share);
                if self.crowded {
                    return None;
                }
                *self.counts.entry(source).or_default() += 1;
                new.insert((now, V::default()))
            }
        };
        if now.since(*latest).is_some_and(|silence| silence >= self.idle) {
            *value = V::default();
        }
        *latest = now;
        Some(value)
    }

    /// Somebody found no room: what has been silent goes.
    #[cold]
    fn make_room(&mut self, now: Instant) {
        if now < self.sweep {
            return;
        }
        (self.crowded, self.sweep) = (false, now.after(SWEEP));
        let stalled = self.stalled;
        self.entries.retain(|_, (latest, _)| now.since(*latest).is_none_or(|silence| silence < stalled));
        self.counts.clear();
        for name in self.entries.keys() {
            *self.counts.entry(name.source()).or_default() += 1;
        }
    }
}

/// Limit of each source's rate: so many packets a second, and as many at once as come in a tenth of one.
#[derive(Debug)]
pub struct Limiter {
    /// Time that a packet takes of its source's share.
    each: Nanos,
    /// Lead over its share that a source may have.
    ahead: Nanos,
    /// Instant until which each source has used its share.
    used: Table<IpAddr, Instant>,
}

/// Sources that are told apart at once.
const SOURCES: usize = 16_384;

impl Limiter {
    /// At most so many packets a second from each address, and from each network of 64 bits of IPv6.
    pub fn new(per_second: NonZeroU32) -> Self {
        let each = Nanos((1_000_000_000 / u64::from(per_second.get())).max(1));
        let ahead = Nanos(each.0.max(100_000_000));
        Self { each, ahead, used: Table::new(SOURCES, Nanos(ahead.0 * 2), Nanos(ahead.0 * 2)) }
    }

    /// Returns true where a packet from `address` that came at `now` is within its share.
    pub fn admits(&mut self, address: IpAddr, now: Instant) -> bool {
        let Some(used) = self.used.of(source(address), now) else { return false };
        let next = (*used).max(now).after(self.each);
        let within = next.since(now).is_none_or(|ahead| ahead <= self.ahead);
        if within {
            *used = next;
        }
        within
    }
}

/// A session: from where it comes, to which of our ports it goes, what it calls itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// Its sender.
    pub from: SocketAddr,
    /// Its identifier (RFC 8972 section 3); 0 where it has none.
    pub session: u16,
}

impl Sourced for Name {
    fn source(&self) -> IpAddr {
        source(self.from.ip())
    }
}

/// Packets that each session has brought and had.
#[derive(Debug)]
pub struct Sessions {
    answers: Table<Name, Kept>,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    received: u32,
    answered: u32,
    /// The number of the latest answer to a packet with parts, and when it left, as it said.
    left: Option<(u32, [u8; 8])>,
}

/// Sessions that are counted at once.
const SESSIONS: usize = 16_384;
/// After so long a silence a session is over, and another may have its name: as long as a reflector of TWAMP waits
/// (REFWAIT, RFC 5357 section 4.2).
const IDLE: Nanos = Nanos::secs(900);
/// After so long a silence it goes where there is no room for another: whoever forges its source can name many, but has to go on
/// with each. One that comes again then is counted from 0, as after a restart of the reflector.
const STALLED: Nanos = Nanos::secs(60);

impl Default for Sessions {
    fn default() -> Self {
        Self { answers: Table::new(SESSIONS, IDLE, STALLED) }
    }
}

impl Sessions {
    /// A packet of this session: the number of its answer, from 0, and what is counted with both; `None`: there are too many
    /// sessions.
    pub fn count(&mut self, name: Name, now: Instant) -> Option<(u32, Counted)> {
        let kept = self.answers.of(name, now)?;
        let number = kept.answered;
        let before = kept.left;
        (kept.received, kept.answered) = (kept.received.wrapping_add(1), number.wrapping_add(1));
        Some((number, Counted { received: kept.received, answered: kept.answered, before }))
    }

    /// The answer of this number left at this time, as it says.
    pub fn left(&mut self, name: Name, now: Instant, number: u32, at: [u8; 8]) {
        if let Some(kept) = self.answers.of(name, now) {
            kept.left = Some((number, at));
        }
    }

    #[cfg(test)]
    fn number(&mut self, name: Name, now: Instant) -> Option<u32> {
        self.count(name, now).map(|(number, _)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn name(port: u16, session: u16) -> Name {
        Name { from: SocketAddr::new(address(1), port), session }
    }

    #[test]
    fn each_source_has_its_share_and_a_tenth_of_a_second_at_once() {
        let mut limiter = Limiter::new(NonZeroU32::new(100).unwrap());
        let now = Instant(5_000_000_000);
        let admitted = (0..50).filter(|_| limiter.admits(address(1), now)).count();
        assert_eq!(admitted, 10);
        assert!(limiter.admits(address(2), now), "another source has its own");
        let later = (1..=100).filter(|tick| limiter.admits(address(1), now.after(Nanos::millis(10 * tick)))).count();
        assert_eq!(later, 100);
    }

    #[test]
    fn an_address_of_ipv4_is_one_however_it_is_written() {
        let mut limiter = Limiter::new(NonZeroU32::new(10).unwrap());
        assert!(limiter.admits(address(1), Instant(1)));
        assert!(!limiter.admits("::ffff:10.0.0.1".parse().unwrap(), Instant(1)));
    }

    #[test]
    fn sessions_are_counted_apart_and_begin_again_after_a_silence() {
        let mut sessions = Sessions::default();
        let now = Instant(1);
        assert_eq!([0, 1, 2].map(|_| sessions.number(name(1, 0), now)), [Some(0), Some(1), Some(2)]);
        assert_eq!(sessions.number(name(1, 7), now), Some(0));
        assert_eq!(sessions.number(name(2, 0), now), Some(0));
        assert_eq!(sessions.number(name(1, 0), now.after(Nanos::secs(899))), Some(3));
        assert_eq!(sessions.number(name(1, 0), now.after(Nanos::secs(1_800))), Some(0));
    }

    #[test]
    fn a_full_table_turns_newcomers_away_until_others_have_gone() {
        let mut table: Table<IpAddr, u32> = Table::new(2, Nanos::secs(9), Nanos::secs(1));
        let at = |millis| Instant(1_000_000_000).after(Nanos::millis(millis));
        assert!(table.of(address(1), at(0)).is_some());
        assert!(table.of(address(2), at(500)).is_some());
        assert!(table.of(address(3), at(600)).is_none());
        assert!(table.of(address(1), at(600)).is_some(), "who is known is not");
        assert!(table.of(address(3), at(1_550)).is_some(), "the second was silent for long");
        assert_eq!((table.entries.len(), table.counts.len()), (2, 2));
    }

    #[test]
    fn a_source_that_names_sessions_without_end_keeps_no_other_out() {
        let mut sessions = Sessions::default();
        let of = |source: &str, port, session, sessions: &mut Sessions| {
            let from = SocketAddr::new(source.parse().unwrap(), port);
            sessions.number(Name { from, session }, Instant(1))
        };
        let named = (0..2 * SESSIONS as u16).filter(|session| of("10.0.0.1", 7, *session, &mut sessions).is_some());
        assert_eq!(named.count(), SESSIONS / 2);
        assert_eq!(of("10.0.0.2", 7, 0, &mut sessions), Some(0));
        // All IPv6 addresses of a network are one source.
        let each = |number: u16| of(&format!("2001:db8::{number:x}"), 7, 0, &mut sessions);
        assert_eq!((0..2 * SESSIONS as u16).filter_map(each).count(), SESSIONS / 2 - 1, "all that is left");
        assert_eq!(of("10.0.0.1", 7, 0, &mut sessions), Some(1), "who was there goes on");
        let later = Instant(1).after(STALLED);
        let name = Name { from: "10.0.0.3:7".parse().unwrap(), session: 0 };
        assert_eq!(sessions.number(name, later), Some(0), "who has been silent for a while gives way");
    }

    #[test]
    fn a_network_of_ipv6_has_one_share_and_takes_no_room_of_others() {
        let mut limiter = Limiter::new(NonZeroU32::new(10).unwrap());
        let mut admitted = 0;
        for number in 0..2 * SOURCES as u32 {
            let address: IpAddr = format!("2001:db8::{:x}:{:x}", number >> 16, number & 0xffff).parse().unwrap();
            admitted += u32::from(limiter.admits(address, Instant(1)));
        }
        assert_eq!(admitted, 1);
        assert!(limiter.admits("2001:db8:0:1::1".parse().unwrap(), Instant(1)));
    }
}
