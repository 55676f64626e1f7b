//! A flow of datagrams as a server sees it: its arrivals, its end, and the report.
//!
//! A flow begins with any datagram of a new source that does not end one. It ends with the first datagram that says so,
//! and the same report answers every further one. The datagram that ends it counts as one of it, as the original counts:
//! its octets and its number are among those reported.

use measure::frames::Frames;
use measure::interval::arrivals::{Arrivals, Datagrams};
use measure::interval::bins::Bins;
use measure::unit::{Instant, Nanos};

use super::datagram::{self, IperfNumbering, Opening, Settings};
use super::fin::{AckFin, Rest};
use super::frame::Arrived;
use super::time::{self, Span};
use crate::bulk::{Mark, Numbering};

/// A flow of one source.
#[derive(Clone, Debug)]
pub struct Flow {
    numbering: IperfNumbering,
    settings: Settings,
    bytes: u64,
    arrivals: Arrivals,
    /// Its frames, where it has such.
    frames: Option<Arrived>,
    /// All transit times, where these are kept in bins.
    bins: Option<Bins>,
    /// Transit times of the first and the latest datagram, nanoseconds.
    transits: Option<(i64, i64)>,
    /// Arrival of the first and the latest datagram.
    began: Instant,
    latest: Instant,
    /// Send time of the latest, by the sender's clock.
    sent: Nanos,
    ended: Option<AckFin>,
}

/// Place of a datagram in its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// One of it.
    Data,
    /// It ended the flow: the report is to be sent.
    Ended,
    /// It says again that the flow has ended: so is the report.
    Again,
    /// Nothing of it: too short, or late behind its end.
    Stray,
    /// Sent after its end: the source has begun another.
    Anew,
}

impl Flow {
    /// A flow that begins with `datagram`, which came at `now` by the monotonic clock and at `arrived` by that of the day.
    /// `None`: it begins none.
    pub fn begin(datagram: &[u8], now: Instant, arrived: Nanos) -> Option<Self> {
        let numbering = IperfNumbering::of_first(datagram)?;
        let settings = datagram::settings(datagram);
        let opening = if let Settings::Test(opening) = &settings { Some(opening) } else { None };
        let layout = opening.filter(|opening| opening.is_isochronous()).and_then(Opening::layout);
        let mut flow = Self {
            numbering,
            settings,
            bytes: 0,
            arrivals: Arrivals::new(true),
            frames: layout.map(Arrived::new),
            bins: None,
            transits: None,
            began: now,
            latest: now,
            sent: Nanos::ZERO,
            ended: None,
        };
        flow.arrive(datagram, now, arrived);
        Some(flow)
    }

    /// Keeps transit times in `bins` too, that of the first datagram among them.
    #[must_use]
    pub fn in_bins(mut self, mut bins: Bins) -> Self {
        if let Some((first, _)) = self.transits {
            bins.take(first);
        }
        self.bins = Some(bins);
        self
    }

    /// Transit times in bins, where these are kept.
    pub fn bins(&self) -> Option<&Bins> {
        self.bins.as_ref()
    }

    /// Returns the settings in its first datagram.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Octets of payload that came, copies included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the counts of all that came.
    pub fn total(&self) -> Datagrams {
        self.arrivals.total()
    }

    /// The same, with the transit times since this was asked last.
    pub fn sight(&mut self) -> Datagrams {
        self.arrivals.sight()
    }

    /// Returns the counts of all frames, where it has such.
    pub fn frames(&self) -> Option<Frames> {
        self.frames.as_ref().map(Arrived::total)
    }

    /// The same, with the times since this was asked last.
    pub fn frames_in_sight(&mut self) -> Option<Frames> {
        self.frames.as_mut().map(Arrived::sight)
    }

    /// Returns the arrival of its first datagram.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Returns the arrival of its latest datagram.
    pub fn latest(&self) -> Instant {
        self.latest
    }

    /// Returns the report; `None`: it has not ended.
    pub fn report(&self) -> Option<&AckFin> {
        self.ended.as_ref()
    }

    /// Takes a datagram of its source.
    pub fn arrive(&mut self, datagram: &[u8], now: Instant, arrived: Nanos) -> Heard {
        let Some(mark) = self.numbering.read(datagram) else { return Heard::Stray };
        match (mark, self.ended.is_some()) {
            (Mark::Last { sent, .. }, true) => {
                (self.latest, self.sent) = (now, self.sent.max(sent));
                Heard::Again
            }
            (Mark::Data { sent, .. }, true) if sent > self.sent => Heard::Anew,
            (Mark::Data { .. }, true) => Heard::Stray,
            (Mark::Data { number, sent }, false) => {
                self.take(number, datagram.len(), sent, now, arrived);
                if let Some(frames) = &mut self.frames {
                    frames.arrive(datagram, arrived);
                }
                Heard::Data
            }
            (Mark::Last { count, sent }, false) => {
                self.take(count.saturating_add(1), datagram.len(), sent, now, arrived);
                self.ended = Some(self.made_report());
                Heard::Ended
            }
        }
    }

    fn take(&mut self, number: u64, octets: usize, sent: Nanos, now: Instant, arrived: Nanos) {
        let transit = time::difference(arrived, sent);
        self.bytes += octets as u64;
        self.arrivals.arrived(number, transit);
        if let Some(bins) = &mut self.bins {
            bins.take(transit);
        }
        self.transits = Some((self.transits.map_or(transit, |(first, _)| first), transit));
        (self.latest, self.sent) = (now, self.sent.max(sent));
    }

    fn made_report(&self) -> AckFin {
        let told = self.arrivals.total();
        let elapsed = self.latest.since(self.began).unwrap_or(Nanos::ZERO);
        AckFin {
            flags: AckFin::flags(true),
            bytes: self.bytes,
            duration: Span::of(i64::try_from(elapsed.0).unwrap_or(i64::MAX)),
            lost: told.lost.max(0).unsigned_abs(),
            out_of_order: told.out_of_order,
            datagrams: told.expected,
            jitter: Span::of(told.jitter_ns.unwrap_or(0.0) as i64),
            rest: Some(self.rest(&told, elapsed)),
        }
    }

    fn rest(&self, told: &Datagrams, elapsed: Nanos) -> Rest {
        let transit = told.transit.unwrap_or_default();
        let bounded = |value: u128| u32::try_from(value).unwrap_or(u32::MAX);
        let per_second = u128::from(told.received) * 1_000_000_000;
        let (first, latest) = self.transits.unwrap_or_default();
        let changes = i64::try_from(transit.count.saturating_sub(1)).unwrap_or(i64::MAX);
        Rest {
            min: Span::of(transit.min_ns),
            max: Span::of(transit.max_ns),
            sum: Span::of((transit.mean_ns * transit.count as f64) as i64),
            mean: Span::of(transit.mean_ns as i64),
            // Square microseconds where a length of time has its seconds.
            m2: Span::of((transit.squares * 1_000.0) as i64),
            // The changes from one to the next add up to the change from the first to the last.
            variation: Span::of(latest.saturating_sub(first).checked_div(changes).unwrap_or(0)),
            count: bounded(transit.count.into()),
            rate: per_second.checked_div(elapsed.0.into()).map_or(0, bounded),
            divisor: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use measure::interval::bins::Layout;

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
        IperfNumbering::CURRENT.write(&mut late, 1, Nanos(ARRIVAL.0 + 20_000_000));
        assert_eq!(flow.arrive(&late, end, ARRIVAL), Heard::Anew, "sent after the end");
    }

    #[test]
    fn a_copy_hides_no_loss() {
        let mut flow = flow(&[1, 2, 2, 4]);
        flow.arrive(&last(4, 0), Instant(5), ARRIVAL);
        let report = *flow.report().unwrap();
        assert_eq!((report.lost, report.out_of_order, report.datagrams, report.bytes), (1, 0, 5, 5_000));
    }

    #[test]
    fn what_is_lost_at_the_start_and_at_the_end_counts() {
        let mut flow = flow(&[3, 4]);
        assert_eq!(flow.total().lost, 2);
        flow.arrive(&last(6, 4), Instant(5), ARRIVAL);
        // The end was said four times in vain; nobody can know that those were none of the flow's.
        assert_eq!((flow.total().lost, flow.total().expected), (8, 11));
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
    fn every_transit_is_in_a_bin() {
        let layout = Layout { width: Nanos::micros(100), count: 2 };
        let mut flow = flow(&[1]).in_bins(Bins::new(layout));
        flow.arrive(&last(1, 0), Instant(2_000_000), Nanos(ARRIVAL.0 + 250_000));
        let bins = flow.bins().unwrap();
        assert_eq!((bins.counts().collect::<Vec<_>>(), bins.outside()), (vec![(1, 1)], (0, 1)));
    }

    #[test]
    fn an_end_begins_nothing() {
        assert!(Flow::begin(&last(5, 0), Instant(0), ARRIVAL).is_none());
        assert!(Flow::begin(&[1, 2, 3], Instant(0), ARRIVAL).is_none());
    }
}
