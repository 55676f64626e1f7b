//! Counts of the answers to probes of a port: the part of a record that a distribution of times does not show.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Class, Content, Datagram, Flags, Segment};
use crate::origin::Origin;

/// Kinds of answers that are told apart; a peer that invents more has the rest counted as one.
pub const KINDS: usize = 64;

/// Answers to the probes of one port, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Probes {
    /// The kinds that came, the most frequent first. A second answer to one probe counts again.
    pub kinds: Vec<Kind>,
    /// Answers of further kinds, not told apart.
    pub others: u64,
    /// Answers that came too fast to be looked at one by one; they are counted as answered all the same.
    pub unseen: u64,
    /// Sender of the resets; absent where none came.
    pub origin: Option<Origin>,
}

/// Answers that were alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Kind {
    /// Number of such answers.
    pub count: u64,
    /// State of the port that they show.
    pub class: Class,
    /// Sender, by the packets' own source address.
    pub from: IpAddr,
    /// Their flags, as SYN+ACK; of TCP alone.
    pub flags: Option<String>,
    /// TTL or hop limit, a count of hops they could still have gone; absent of ICMP errors.
    pub ttl: Option<u8>,
    /// Their window in octets, unscaled; of TCP alone.
    pub window: Option<u16>,
    /// Their TCP options in order; of TCP alone.
    pub options: Option<String>,
    /// Type and code of the ICMP error; of these alone.
    pub icmp: Option<(u8, u8)>,
}

/// Counts answers as they come.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    kinds: BTreeMap<Key, u64>,
    others: u64,
}

/// Key by which answers are counted together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(Class, IpAddr, What);

/// Fields beside class and sender that make two answers alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Segment { flags: u8, ttl: u8, window: u16, options: String },
    Datagram { ttl: u8 },
    Icmp { kind: u8, code: u8 },
}

impl Counter {
    /// Counts one.
    pub fn take(&mut self, answer: &Answer) {
        let class = answer.content.class();
        let key = match &answer.content {
            Content::Segment(segment) => {
                let Segment { flags, ttl, window, options, .. } = segment;
                let what = What::Segment { flags: flags.0, ttl: *ttl, window: *window, options: options.to_string() };
                Key(class, answer.from, what)
            }
            Content::Datagram(Datagram { ttl, .. }) | Content::Echo(Datagram { ttl, .. }) => {
                Key(class, answer.from, What::Datagram { ttl: *ttl })
            }
            Content::Icmp { kind, code, .. } => Key(class, answer.from, What::Icmp { kind: *kind, code: *code }),
        };
        if self.kinds.len() >= KINDS && !self.kinds.contains_key(&key) {
            self.others += 1;
        } else {
            *self.kinds.entry(key).or_default() += 1;
        }
    }

    /// Answers of this class so far.
    pub fn of(&self, class: Class) -> u64 {
        self.kinds.iter().filter(|(key, _)| key.0 == class).map(|(_, count)| count).sum()
    }

    /// Returns the counts. `unseen` answers were not examined.
    pub fn finish(self, unseen: u64, origin: Option<Origin>) -> Probes {
        let kind = |(Key(class, from, what), count): (Key, u64)| {
            let bare = Kind { count, class, from, flags: None, ttl: None, window: None, options: None, icmp: None };
            match what {
                What::Segment { flags, ttl, window, options } => Kind {
                    flags: Some(Flags(flags).to_string()),
                    ttl: Some(ttl),
                    window: Some(window),
                    options: Some(options),
                    ..bare
                },
                What::Datagram { ttl } => Kind { ttl: Some(ttl), ..bare },
                What::Icmp { kind, code } => Kind { icmp: Some((kind, code)), ..bare },
            }
        };
        let mut kinds: Vec<Kind> = self.kinds.into_iter().map(kind).collect();
        kinds.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.cmp(other)));
        Probes { kinds, others: self.others, unseen, origin }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Instant;

    fn icmp(code: u8) -> Answer {
        let content = Content::Icmp { kind: 3, code, info: 0, port: None };
        Answer { seq: 0, at: Instant(0), from: [10, 0, 0, 1].into(), content }
    }

    #[test]
    fn alike_are_counted_together_the_most_frequent_first() {
        let mut counter = Counter::default();
        for code in [3, 13, 13] {
            counter.take(&icmp(code));
        }
        assert_eq!(counter.of(Class::Icmp), 3);
        let probes = counter.finish(0, None);
        let told: Vec<_> = probes.kinds.iter().map(|kind| (kind.count, kind.icmp)).collect();
        assert_eq!(told, [(2, Some((3, 13))), (1, Some((3, 3)))]);
    }

    #[test]
    fn what_is_invented_takes_no_room() {
        let mut counter = Counter::default();
        (0..=255).for_each(|code| counter.take(&icmp(code)));
        let probes = counter.finish(0, None);
        assert_eq!((probes.kinds.len(), probes.others), (KINDS, 256 - KINDS as u64));
    }
}
