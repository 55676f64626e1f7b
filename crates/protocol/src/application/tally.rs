//! Counts of the replies of a connection by kind. Written by the one thread that reads them, read when it has ended.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use measure::unit::Nanos;

use super::speech::Kind;
use crate::native::stranger::Saw;

/// Kinds that are told apart on one connection; those beyond are counted together.
const KINDS: usize = 16;
/// Bits of a slot that count; the kind stands above them, one more than it is, so that an empty slot is zero.
const COUNT: u32 = 46;

/// The end of a connection with a request on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// In order, with no octet of the reply.
    Closed,
    /// In the middle of the reply.
    Cut,
    /// By a reset, with no octet of the reply.
    Reset,
}

/// Replies of one connection, and how often it was made anew.
#[derive(Debug, Default)]
pub struct Tally {
    slots: [AtomicU64; KINDS],
    others: AtomicU64,
    /// One more than the octets of the shortest reply; 0: none came.
    shortest: AtomicU64,
    longest: AtomicU64,
    renewals: AtomicU64,
    /// Replies that were held up between their parts, and for how many nanoseconds together.
    held: [AtomicU64; 2],
    /// Requests that went down with their connection, by how that ended.
    down: [AtomicU64; 3],
    /// Requests that were left behind one without a reply, where replies come in order; and of those connections the ones whose reply had begun.
    stuck: [AtomicU64; 2],
    /// The number of the first request that is recorded.
    recorded: AtomicU64,
    /// The most requests that the server takes at once on a connection; 0: it has not said.
    most_at_once: AtomicU64,
    /// Set where a reply says that TLS is spoken at this port.
    wants_tls: AtomicBool,
    /// The second after 1970 at which the first of the server's certificates ends; 0: not known.
    certified_until: AtomicU64,
    /// The first octets in the place of a reply that were none, in words.
    unread: OnceLock<String>,
}

impl Tally {
    /// Requests are recorded from this one on.
    #[inline]
    pub fn record_from(&self, number: u64) {
        self.recorded.store(number, Ordering::Relaxed);
    }

    /// The number of the first request that is recorded.
    #[inline]
    pub fn recorded(&self) -> u64 {
        self.recorded.load(Ordering::Relaxed)
    }

    /// True for a request that is recorded: it is none of a warm-up.
    #[inline]
    pub fn records(&self, number: u64) -> bool {
        number >= self.recorded()
    }

    /// A reply of `octets` octets, 0 where that is not known, of this kind, which is sound or not.
    #[inline]
    pub fn count(&self, kind: Kind, sound: bool, octets: u64) {
        let name = u64::from(kind.0) << 1 | u64::from(sound);
        let free = self.slots.iter().find(|slot| {
            let held = slot.load(Ordering::Relaxed) >> COUNT;
            held == 0 || held == name + 1
        });
        match free {
            Some(slot) => {
                let held = slot.load(Ordering::Relaxed);
                let begun = if held == 0 { (name + 1) << COUNT } else { held };
                slot.store(begun + 1, Ordering::Relaxed);
            }
            None => add(&self.others),
        }
        if octets == 0 {
            return;
        }
        let shortest = self.shortest.load(Ordering::Relaxed);
        if shortest == 0 || octets + 1 < shortest {
            self.shortest.store(octets + 1, Ordering::Relaxed);
        }
        if octets > self.longest.load(Ordering::Relaxed) {
            self.longest.store(octets, Ordering::Relaxed);
        }
    }

    /// The first of the server's certificates ends at this second after 1970.
    pub fn certified(&self, until: Option<u64>) {
        self.certified_until.store(until.unwrap_or(0), Ordering::Relaxed);
    }

    /// That second; absent where no certificate is understood, or the protocol goes in clear.
    pub fn certified_until(&self) -> Option<u64> {
        Some(self.certified_until.load(Ordering::Relaxed)).filter(|until| *until > 0)
    }

    /// These octets came where a reply was read, and are none for this reason: the first such are kept.
    #[cold]
    pub fn keep_unread(&self, why: &str, octets: &[u8]) {
        let excerpt = Saw::of(octets).excerpt;
        self.unread.get_or_init(|| if excerpt.is_empty() { why.to_owned() } else { format!("{why}: \"{excerpt}\"") });
    }

    /// The first that were no reply, and the reason, in words; absent where there were none.
    pub fn unread(&self) -> Option<&str> {
        self.unread.get().map(String::as_str)
    }

    /// The server takes so many requests at once.
    pub fn limited(&self, most: u32) {
        self.most_at_once.store(u64::from(most), Ordering::Relaxed);
    }

    /// The most that it takes; absent where it has not said.
    pub fn most_at_once(&self) -> Option<u64> {
        Some(self.most_at_once.load(Ordering::Relaxed)).filter(|most| *most > 0)
    }

    /// A reply said that TLS is spoken at this port.
    pub fn told_of_tls(&self) {
        self.wants_tls.store(true, Ordering::Relaxed);
    }

    /// True where one did.
    pub fn wants_tls(&self) -> bool {
        self.wants_tls.load(Ordering::Relaxed)
    }

    /// The connection was made anew.
    pub fn renewed(&self) {
        add(&self.renewals);
    }

    /// The number of renewals.
    pub fn renewals(&self) -> u64 {
        self.renewals.load(Ordering::Relaxed)
    }

    /// A reply was held up for so long between its parts.
    pub fn held_up(&self, pause: Nanos) {
        let [count, pauses] = &self.held;
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        pauses.store(pauses.load(Ordering::Relaxed).saturating_add(pause.0), Ordering::Relaxed);
    }

    /// The number of replies that were held up, and the sum of their pauses.
    pub fn held(&self) -> (u64, Nanos) {
        let [count, pauses] = &self.held;
        (count.load(Ordering::Relaxed), Nanos(pauses.load(Ordering::Relaxed)))
    }

    /// So many requests were left `behind` one without a reply, whose first part had come or not.
    pub fn left_behind(&self, behind: u64, begun: bool) {
        let [count, begins] = &self.stuck;
        count.store(count.load(Ordering::Relaxed) + behind, Ordering::Relaxed);
        begins.store(begins.load(Ordering::Relaxed) + u64::from(begun), Ordering::Relaxed);
    }

    /// The number of requests that were left behind another, and of connections on which the reply to that one had begun.
    pub fn stuck(&self) -> (u64, u64) {
        let [count, begins] = &self.stuck;
        (count.load(Ordering::Relaxed), begins.load(Ordering::Relaxed))
    }

    /// So many requests went down with a connection that ended so.
    pub fn went_down(&self, end: End, count: u64) {
        let down = &self.down[end as usize];
        down.store(down.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }

    /// The number of requests that went down with a connection that ended so.
    pub fn down(&self, end: End) -> u64 {
        self.down[end as usize].load(Ordering::Relaxed)
    }

    /// Octets of the shortest and of the longest reply; absent where none came.
    pub fn lengths(&self) -> Option<(u64, u64)> {
        let shortest = self.shortest.load(Ordering::Relaxed).checked_sub(1)?;
        Some((shortest, self.longest.load(Ordering::Relaxed)))
    }

    /// Each kind that came, whether it was sound, and how often.
    pub fn kinds(&self) -> Vec<(Kind, bool, u64)> {
        let held = self.slots.iter().map(|slot| slot.load(Ordering::Relaxed)).filter(|held| *held > 0);
        held.map(|held| {
            let name = (held >> COUNT) - 1;
            (Kind((name >> 1) as u16), name & 1 == 1, held & ((1 << COUNT) - 1))
        })
        .collect()
    }

    /// Replies of kinds beyond those that are told apart.
    pub fn others(&self) -> u64 {
        self.others.load(Ordering::Relaxed)
    }
}

/// Requests whose reply is counted, by the low 16 bits of their numbers: what comes again for one is a copy.
#[derive(Clone, Debug)]
pub struct Counted(Box<[u64; 1 << 10]>);

impl Default for Counted {
    fn default() -> Self {
        Self(Box::new([0; 1 << 10]))
    }
}

impl Counted {
    /// Request `number` is sent: none of its replies is counted.
    #[inline]
    pub fn asked(&mut self, number: u64) {
        let (word, bit) = Self::place(number);
        self.0[word] &= !bit;
    }

    /// True of the first reply to request `number`, which is counted from here on.
    #[inline]
    pub fn first(&mut self, number: u64) -> bool {
        let (word, bit) = Self::place(number);
        let first = self.0[word] & bit == 0;
        self.0[word] |= bit;
        first
    }

    fn place(number: u64) -> (usize, u64) {
        let low = usize::from(number as u16);
        (low / 64, 1 << (low % 64))
    }
}

fn add(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_counted_and_those_beyond_together() {
        let tally = Tally::default();
        assert_eq!((tally.lengths(), tally.kinds()), (None, Vec::new()));
        for (kind, octets) in [(200, 150), (503, 90), (200, 151)] {
            tally.count(Kind(kind), kind == 200, octets);
        }
        assert_eq!(tally.kinds(), [(Kind(200), true, 2), (Kind(503), false, 1)]);
        assert_eq!(tally.lengths(), Some((90, 151)));
        for kind in 0..20 {
            tally.count(Kind(kind), true, 0);
        }
        assert_eq!((tally.kinds().len(), tally.others()), (KINDS, 6));
        tally.count(Kind(u16::MAX), true, 0);
        assert_eq!(tally.others(), 7);
    }

    #[test]
    fn the_first_that_is_no_reply_is_kept_in_words() {
        let tally = Tally::default();
        assert_eq!(tally.unread(), None);
        tally.keep_unread("the reply is none of Redis", b"\x16\x03\x01\"\r\n");
        tally.keep_unread("another", b"");
        assert_eq!(tally.unread(), Some("the reply is none of Redis: \"\\x16\\x03\\x01\\\"\""));
    }

    #[test]
    fn the_largest_kind_fits_its_slot() {
        let tally = Tally::default();
        tally.count(Kind(u16::MAX), true, 7);
        tally.count(Kind(u16::MAX), false, 7);
        assert_eq!(tally.kinds(), [(Kind(u16::MAX), true, 1), (Kind(u16::MAX), false, 1)]);
    }
}
