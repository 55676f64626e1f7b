//! A flow of datagrams as a server sees it: what came of it, when it ended, and what is reported.
//!
//! A flow begins with any datagram of a new source that does not end one. It ends with the first datagram that says so,
//! and the same report answers every further one. The datagram that ends it counts as one of it, as the original counts:
//! its octets and its number are among those reported.

use measure::unit::{Instant, Nanos};

use super::datagram::{self, IperfNumbering, Settings};
use super::fin::{AckFin, Rest};
use super::time::Span;
use super::transit::Transits;
use crate::bulk::{Mark, Numbering};

/// A flow of one source.
#[derive(Clone, Debug)]
pub struct Flow {
    numbering: IperfNumbering,
    settings: Settings,
    seen: Seen,
    /// Arrival of the first and the latest datagram.
    began: Instant,
    latest: Instant,
    ended: Option<AckFin>,
}

/// What has come of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Octets of payload.
    pub bytes: u64,
    /// Datagrams, late ones and duplicates included.
    pub received: u64,
    /// The highest number.
    pub highest: u64,
    /// Numbers that were passed over.
    pub gaps: u64,
    /// Datagrams with a number that was passed, or twice the highest.
    pub out_of_order: u64,
    /// What lies between sending and arrival.
    pub transits: Transits,
}

impl Seen {
    /// Numbers that never came, as far as can be told: a duplicate counts for one that was lost.
    pub fn lost(&self) -> u64 {
        self.gaps.saturating_sub(self.out_of_order)
    }

    fn add(&mut self, number: u64, octets: usize, sent: Nanos, arrived: Nanos) {
        self.bytes += octets as u64;
        self.received += 1;
        match number.checked_sub(self.highest) {
            None | Some(0) => self.out_of_order += 1,
            Some(step) => {
                self.gaps += step - 1;
                self.highest = number;
            }
        }
        self.transits.add(sent, arrived);
    }
}

/// What a datagram was to its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// One of it.
    Data,
    /// It ended the flow: the report is to be sent.
    Ended,
    /// It says again that the flow has ended: so is the report.
    Again,
    /// Nothing of it: too short, or behind the end.
    Stray,
}

impl Flow {
    /// A flow that begins with `datagram`, which came at `now` by the monotonic clock and at `arrived` by that of the day.
    /// `None`: it begins none.
    pub fn begin(datagram: &[u8], now: Instant, arrived: Nanos) -> Option<Self> {
        let numbering = IperfNumbering::of_first(datagram)?;
        let settings = datagram::settings(datagram);
        let mut flow = Self { numbering, settings, seen: Seen::default(), began: now, latest: now, ended: None };
        flow.arrive(datagram, now, arrived);
        Some(flow)
    }

    /// What its first datagram said.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What has come of it.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// When its first datagram came.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// When its latest datagram came.
    pub fn latest(&self) -> Instant {
        self.latest
    }

    /// What is reported; `None`: it has not ended.
    pub fn report(&self) -> Option<&AckFin> {
        self.ended.as_ref()
    }

    /// Takes a datagram of its source.
    pub fn arrive(&mut self, datagram: &[u8], now: Instant, arrived: Nanos) -> Heard {
        let Some(mark) = self.numbering.read(datagram) else { return Heard::Stray };
        match (mark, self.ended.is_some()) {
            (Mark::Last { .. }, true) => {
                self.latest = now;
                Heard::Again
            }
            (Mark::Data { .. }, true) => Heard::Stray,
            (Mark::Data { number, sent }, false) => {
                self.latest = now;
                self.seen.add(number, datagram.len(), sent, arrived);
                Heard::Data
            }
            (Mark::Last { count, sent }, false) => {
                self.latest = now;
                self.seen.add(count.saturating_add(1), datagram.len(), sent, arrived);
                self.ended = Some(self.made_report());
                Heard::Ended
            }
        }
    }

    fn made_report(&self) -> AckFin {
        let Seen { bytes, highest, out_of_order, transits, .. } = self.seen;
        let elapsed = self.latest.since(self.began).unwrap_or(Nanos::ZERO);
        let nanos = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        AckFin {
            flags: AckFin::flags(true),
            bytes,
            duration: Span::of(nanos(elapsed.0)),
            lost: self.seen.lost(),
            out_of_order,
            datagrams: highest,
            jitter: Span::of(transits.jitter as i64),
            rest: Some(self.rest(elapsed)),
        }
    }

    fn rest(&self, elapsed: Nanos) -> Rest {
        let Seen { received, transits, .. } = self.seen;
        let transit = transits.transit;
        let bounded = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let per_second = u128::from(received) * 1_000_000_000 / u128::from(elapsed.0.max(1));
        Rest {
            min: Span::of(transit.min),
            max: Span::of(transit.max),
            sum: Span::of(transit.sum),
            mean: Span::of(transit.mean().unwrap_or(0.0) as i64),
            // Square microseconds where a length of time has its seconds.
            m2: Span::of((transit.squares() * 1_000.0) as i64),
            variation: Span::of(transits.mean_variation().unwrap_or(0)),
            count: bounded(transit.count),
            rate: if elapsed == Nanos::ZERO { 0 } else { u32::try_from(per_second).unwrap_or(u32::MAX) },
            divisor: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARRIVAL: Nanos = Nanos(1_000_000_000_000);

    /// Datagrams of 1000 octets, a millisecond apart, 50 µs on their way.
    fn flow(numbers: &[u64]) -> Flow {
        let mut flow: Option<Flow> = None;
        for (place, number) in (0_u64..).zip(numbers) {
            let (now, wall) = (Instant(place * 1_000_000), Nanos(ARRIVAL.0 + place * 1_000_000));
            let mut datagram = vec![0; 1_000];
            IperfNumbering::CURRENT.write(&mut datagram, *number, Nanos(wall.0 - 50_000));
            datagram[16..20].copy_from_slice(&0x4801_0098_u32.to_be_bytes());
            match &mut flow {
                None => flow = Flow::begin(&datagram, now, wall),
                Some(flow) => assert_eq!(flow.arrive(&datagram, now, wall), Heard::Data),
            }
        }
        flow.expect("a flow")
    }

    fn last(count: u64, again: u64) -> Vec<u8> {
        let mut datagram = vec![0; 1_000];
        IperfNumbering::CURRENT.write_last(&mut datagram, count, again, ARRIVAL);
        datagram
    }

    #[test]
    fn loss_and_order_are_told_apart_and_the_last_one_counts() {
        // 3 and 7 are lost, 5 comes after 6.
        let mut flow = flow(&[1, 2, 4, 6, 5, 8, 9]);
        let end = Instant(10_000_000);
        assert_eq!(flow.arrive(&last(9, 0), end, ARRIVAL), Heard::Ended);
        let report = *flow.report().unwrap();
        assert_eq!((report.lost, report.out_of_order, report.datagrams, report.bytes), (2, 1, 10, 8_000));
        assert_eq!(report.duration, Span { seconds: 0, micros: 10_000 });
        assert_eq!(report.rest.unwrap().rate, 800);
        assert_eq!(flow.arrive(&last(9, 1), end, ARRIVAL), Heard::Again);
        assert_eq!(*flow.report().unwrap(), report, "the same again");
        let mut late = vec![0; 1_000];
        IperfNumbering::CURRENT.write(&mut late, 3, ARRIVAL);
        assert_eq!(flow.arrive(&late, end, ARRIVAL), Heard::Stray);
    }

    #[test]
    fn what_is_lost_at_the_start_and_at_the_end_counts() {
        let mut flow = flow(&[3, 4]);
        assert_eq!(flow.seen().lost(), 2);
        flow.arrive(&last(6, 4), Instant(5), ARRIVAL);
        // The end was said four times in vain; nobody can know that those were none of the flow's.
        assert_eq!((flow.seen().lost(), flow.seen().highest), (8, 11));
    }

    #[test]
    fn times_are_moments_of_the_transits() {
        let mut flow = flow(&[1, 2, 3]);
        flow.arrive(&last(3, 0), Instant(2_000_000), Nanos(ARRIVAL.0 + 250_000));
        let rest = flow.report().unwrap().rest.unwrap();
        assert_eq!((rest.min.micros, rest.max.micros, rest.sum.micros, rest.mean.micros), (50, 250, 400, 100));
        assert_eq!((rest.count, rest.variation.micros), (4, 66));
        // 3 · 50² + 150² square microseconds.
        assert_eq!(rest.m2, Span { seconds: 30_000, micros: 0 });
    }

    #[test]
    fn an_end_begins_nothing() {
        assert!(Flow::begin(&last(5, 0), Instant(0), ARRIVAL).is_none());
        assert!(Flow::begin(&[1, 2, 3], Instant(0), ARRIVAL).is_none());
    }
}
