//! Figures of a session as the original makes them: extremes of all answers, and a histogram of the first answer to each packet, by which
//! percentiles go.
//!
//! A delay of one direction is the difference of two clocks. It is told only where both say that they are kept at UTC, and within
//! which error; its variation and the round trip need neither.

use std::collections::{BTreeMap, BTreeSet};

use measure::clock_offset::FourTimes;
use protocol::stamp::time::ErrorEstimate;

/// One line of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// An answer came in time.
    Reply(Reply),
    /// None did.
    Lost {
        /// Number of the packet, from 0.
        seq: u32,
        /// Time at which it was due, nanoseconds since 1970.
        at: u64,
    },
}

/// An answer to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Number of the packet, from 0.
    pub seq: u32,
    /// Number that the far side gave the answer, from 0.
    pub own: u32,
    /// Its four times.
    pub times: FourTimes,
    /// Error that the far side admits of its clock.
    pub theirs: ErrorEstimate,
    /// Time to live that was left of the packet there, and of the answer here.
    pub times_to_live: [Option<u8>; 2],
}

/// A delay; the place of its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// There and back, without the time at the far side.
    RoundTrip,
    /// There.
    There,
    /// Back.
    Back,
    /// From arrival to departure at the far side.
    Held,
}

impl Delay {
    /// All, in the order in which they are told.
    pub const ALL: [Self; 4] = [Self::RoundTrip, Self::There, Self::Back, Self::Held];
    /// Those with a histogram.
    pub const OF_PATH: [Self; 3] = [Self::RoundTrip, Self::There, Self::Back];

    /// True where it is the difference of two clocks.
    pub fn is_one_way(self) -> bool {
        matches!(self, Self::There | Self::Back)
    }
}

impl Record {
    /// Number of its packet.
    pub fn seq(&self) -> u32 {
        match *self {
            Self::Reply(Reply { seq, .. }) | Self::Lost { seq, .. } => seq,
        }
    }
}

impl Reply {
    /// Its delays in seconds, in the order of [`Delay::ALL`].
    pub fn delays(&self) -> [f64; 4] {
        let FourTimes { sent, received, left, came } = self.times;
        let path = self.times.path() as f64 / 1e9;
        [path, seconds(sent, received), seconds(left, came), seconds(received, left)]
    }

    /// The most that a delay of one direction is off, seconds: both clocks' errors. `None`: a clock is not kept at UTC.
    pub fn error(&self, ours: ErrorEstimate) -> Option<f64> {
        let kept = [ours, self.theirs].iter().all(|end| end.synchronised && end.multiplier > 0);
        kept.then(|| error(ours) + error(self.theirs))
    }
}

fn seconds(earlier: u64, later: u64) -> f64 {
    later.wrapping_sub(earlier).cast_signed() as f64 / 1e9
}

/// An error estimate in seconds.
pub fn error(estimate: ErrorEstimate) -> f64 {
    f64::from(estimate.multiplier) * 2_f64.powi(i32::from(estimate.scale) - 32)
}

/// Figures of some records.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Packets that were answered or lost.
    pub sent: u32,
    /// Packets that were lost.
    pub lost: u32,
    /// Copies that were made on the way there, and on the way back.
    pub copies: [u32; 2],
    /// True where both clocks were kept at UTC, as both ends say.
    pub synchronised: bool,
    /// The most that delays of the path are off, seconds, in the order of [`Delay::OF_PATH`].
    pub errors: [f64; 3],
    /// The shortest and the longest delay, seconds, in the order of [`Delay::ALL`].
    pub extremes: [Option<(f64, f64)>; 4],
    /// True where an answer came before it left, by the clocks.
    pub contradicts: bool,
    /// Answers by the upper end of their delay, in buckets, in the order of [`Delay::OF_PATH`].
    pub histogram: BTreeMap<i64, [u32; 3]>,
    /// Packets by the time to live that was left there, and answers by the one here.
    pub times_to_live: [BTreeMap<u8, u32>; 2],
    /// Seconds of a bucket.
    pub bucket: f64,
}

impl Figures {
    /// Figures of these records, by buckets of so many seconds. `ours` is the error of this host's clock.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>, ours: ErrorEstimate, bucket: f32) -> Self {
        let mut figures = Self {
            sent: 0,
            lost: 0,
            copies: [0; 2],
            synchronised: true,
            errors: [0.0; 3],
            extremes: [None; 4],
            contradicts: false,
            histogram: BTreeMap::new(),
            times_to_live: [BTreeMap::new(), BTreeMap::new()],
            bucket: f64::from(bucket),
        };
        let (mut packets, mut answers) = (BTreeSet::new(), BTreeSet::new());
        for record in records {
            match record {
                Record::Lost { .. } => {
                    figures.sent += 1;
                    figures.lost += 1;
                    figures.synchronised &= ours.synchronised;
                    figures.widen([error(ours); 3]);
                }
                Record::Reply(reply) => {
                    let is_first = packets.insert(reply.seq);
                    match (is_first, answers.insert((reply.seq, reply.own))) {
                        (true, _) => figures.sent += 1,
                        (false, true) => figures.copies[0] += 1,
                        (false, false) => figures.copies[1] += 1,
                    }
                    figures.take(reply, ours, is_first);
                }
            }
        }
        figures
    }

    fn take(&mut self, reply: &Reply, ours: ErrorEstimate, is_first: bool) {
        let delays = reply.delays();
        match reply.error(ours) {
            Some(error) => self.widen([2.0 * error, error, error]),
            None => self.synchronised = false,
        }
        for (extremes, delay) in self.extremes.iter_mut().zip(delays) {
            let (least, most) = extremes.unwrap_or((delay, delay));
            *extremes = Some((least.min(delay), most.max(delay)));
        }
        let [path, there, back, _] = delays;
        self.contradicts |= there < 0.0 || back < 0.0;
        if !is_first {
            return;
        }
        for (place, delay) in [path, there, back].into_iter().enumerate() {
            let buckets = delay / self.bucket;
            let bucket = if buckets < 0.0 { buckets.floor() } else { buckets.ceil() };
            self.histogram.entry(bucket as i64).or_default()[place] += 1;
        }
        for (counts, left) in self.times_to_live.iter_mut().zip(reply.times_to_live) {
            if let Some(left) = left {
                *counts.entry(left).or_default() += 1;
            }
        }
    }

    fn widen(&mut self, errors: [f64; 3]) {
        for (most, error) in self.errors.iter_mut().zip(errors) {
            *most = most.max(error);
        }
    }

    /// True where the delay itself may be told.
    pub fn tells(&self, delay: Delay) -> bool {
        self.synchronised || !delay.is_one_way()
    }

    /// The shortest and the longest delay in seconds, where it may be told.
    pub fn extremes(&self, delay: Delay) -> Option<(f64, f64)> {
        self.extremes[delay as usize].filter(|_| self.tells(delay))
    }

    /// The upper end of the bucket that this share of packets does not exceed, seconds. Lost packets count as longest.
    pub fn percentile(&self, share: f64, delay: Delay) -> Option<f64> {
        self.bucket_of(share, delay).filter(|_| self.tells(delay))
    }

    /// The 95th percentile less the median, seconds: a difference of the clocks is not in it.
    pub fn jitter(&self, delay: Delay) -> Option<f64> {
        Some(self.bucket_of(0.95, delay)? - self.bucket_of(0.5, delay)?)
    }

    fn bucket_of(&self, share: f64, delay: Delay) -> Option<f64> {
        let (mut sum, wanted) = (0.0, share * f64::from(self.sent));
        for (bucket, counts) in &self.histogram {
            sum += f64::from(*counts.get(delay as usize)?);
            if sum >= wanted {
                return Some(*bucket as f64 * self.bucket);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use protocol::stamp::time::Format;

    use super::*;

    const AT: u64 = 1_700_000_000_000_000_000;

    fn estimate(synchronised: bool) -> ErrorEstimate {
        ErrorEstimate { synchronised, format: Format::Ntp, scale: 22, multiplier: 2 }
    }

    /// An answer to a packet that took so many microseconds there, at the far side and back.
    fn reply(seq: u32, own: u32, [there, held, back]: [u64; 3]) -> Record {
        let (received, left) = (AT + there * 1_000, AT + (there + held) * 1_000);
        let times = FourTimes { sent: AT, received, left, came: left + back * 1_000 };
        Record::Reply(Reply { seq, own, times, theirs: estimate(true), times_to_live: [Some(254), Some(253)] })
    }

    #[test]
    fn a_copy_is_of_the_way_there_where_it_was_answered_anew() {
        let records = [
            reply(0, 0, [100, 5, 200]),
            reply(0, 1, [700, 5, 200]),
            reply(0, 1, [700, 5, 900]),
            reply(1, 2, [100, 5, 200]),
            Record::Lost { seq: 2, at: AT },
        ];
        let figures = Figures::of(&records, estimate(true), 0.0001);
        assert_eq!((figures.sent, figures.lost, figures.copies), (3, 1, [1, 1]));
        assert_eq!(figures.extremes(Delay::There), Some((0.0001, 0.0007)), "of all answers");
        let first: u32 = figures.histogram.values().map(|counts| counts[1]).sum();
        assert_eq!((first, &figures.times_to_live[1]), (2, &BTreeMap::from([(253, 2)])), "of first ones alone");
    }

    #[test]
    fn percentiles_are_ends_of_buckets_and_the_lost_have_none() {
        let mut records: Vec<Record> = (1..=9).map(|n| reply(n, n, [50, 10, n_th(n)])).collect();
        records.push(Record::Lost { seq: 0, at: AT });
        let figures = Figures::of(&records, estimate(true), 0.0001);
        // Round trips of 150 to 950 µs: the fifth is 550, and ends in the sixth bucket.
        let at = |share| figures.percentile(share, Delay::RoundTrip).map(|time| (time * 1e6).round());
        assert_eq!([0.1, 0.5, 0.9, 0.95].map(at), [Some(200.0), Some(600.0), Some(1_000.0), None]);
        assert_eq!(figures.jitter(Delay::RoundTrip), None);
        assert_eq!(figures.percentile(0.5, Delay::Held), None);
    }

    fn n_th(n: u32) -> u64 {
        u64::from(n) * 100
    }

    #[test]
    fn a_delay_of_one_direction_is_told_only_of_clocks_that_are_kept() {
        let records = [reply(0, 0, [100, 5, 200])];
        let kept = Figures::of(&records, estimate(true), 0.0001);
        // 2 at 2^(22 - 32) s, of either end.
        let both = 2.0 * 2.0 / 1_024.0;
        assert_eq!((kept.synchronised, kept.errors), (true, [2.0 * both, both, both]));
        let free = Figures::of(&records, estimate(false), 0.0001);
        assert_eq!(
            (free.synchronised, free.extremes(Delay::There), free.percentile(0.5, Delay::Back)),
            (false, None, None)
        );
        assert!(free.extremes(Delay::RoundTrip).is_some() && free.extremes(Delay::Held).is_some());
        assert_eq!(free.jitter(Delay::There), Some(0.0), "a variation needs no common clock");
    }

    #[test]
    fn an_estimate_without_a_multiplier_is_none() {
        let Record::Reply(reply) = reply(0, 0, [1, 1, 1]) else { panic!("a reply") };
        let theirs = ErrorEstimate { multiplier: 0, ..estimate(true) };
        assert_eq!(Reply { theirs, ..reply }.error(estimate(true)), None);
    }

    #[test]
    fn clocks_that_contradict_each_other_are_seen() {
        let times = FourTimes { sent: AT, received: AT - 1_000, left: AT, came: AT + 5_000 };
        let early = Record::Reply(Reply { seq: 0, own: 0, times, theirs: estimate(true), times_to_live: [None; 2] });
        let figures = Figures::of([&early], estimate(true), 0.0001);
        assert!(figures.contradicts);
        // Below nothing buckets end at their lower end.
        assert_eq!(figures.histogram.get(&-1), Some(&[0, 1, 0]));
        assert_eq!(figures.times_to_live, [BTreeMap::new(), BTreeMap::new()]);
    }
}
