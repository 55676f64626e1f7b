//! The figures of a run as the original makes them of its round trips.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::persona::irtt::client::statistics::Statistics;
use crate::persona::irtt::client::trips::{RoundTrip, Trips};

/// The figures of a run, by the keys and in the order of the original's JSON. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// The beginning, RFC 3339.
    pub start_time: String,
    /// Durations of calls that send.
    pub send_call: Statistics,
    /// Distances of departures from their schedule.
    pub timer_error: Statistics,
    /// Round trips.
    pub rtt: Statistics,
    /// Ways to the server.
    pub send_delay: Statistics,
    /// Ways from the server.
    pub receive_delay: Statistics,
    /// Packets that arrived, by the server's latest count; 0 where it does not count.
    pub server_packets_received: u32,
    /// Octets sent.
    pub bytes_sent: u64,
    /// Octets received.
    pub bytes_received: u64,
    /// Second replies.
    pub duplicates: u64,
    /// Replies out of order.
    pub late_packets: u64,
    /// The wait for the last replies.
    pub wait: i64,
    /// From the beginning to the end.
    pub duration: i64,
    /// Packets that left.
    pub packets_sent: u64,
    /// Replies, second ones among them.
    pub packets_received: u64,
    /// Packets without a reply.
    pub packet_loss_percent: Percent,
    /// Packets that did not arrive.
    pub upstream_loss_percent: Percent,
    /// Packets that arrived, and whose reply did not.
    pub downstream_loss_percent: Percent,
    /// Second replies among all.
    pub duplicate_percent: Percent,
    /// Replies out of order among all.
    pub late_packets_percent: Percent,
    /// Sizes of changes of the way to the server.
    pub ipdv_send: Statistics,
    /// The same of the way back.
    pub ipdv_receive: Statistics,
    /// The same of the round trip.
    pub ipdv_round_trip: Statistics,
    /// Times at the server.
    pub server_processing_time: Statistics,
    /// The mean distance from the schedule in intervals.
    pub timer_err_percent: Percent,
    /// Packets that were due and did not leave.
    pub timer_misses: u64,
    /// The same among those that were due.
    pub timer_miss_percent: Percent,
    /// Rate of the packets.
    pub send_rate: Rate,
    /// Rate of the replies.
    pub receive_rate: Rate,
    /// Packets that were due.
    #[serde(skip)]
    pub expected: u64,
}

/// Facts of a run beside its round trips.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// The beginning, RFC 3339.
    pub start_time: String,
    /// From there to the end, nanoseconds.
    pub duration: i64,
    /// The wait for the last replies, nanoseconds.
    pub wait: i64,
    /// From packet to packet, nanoseconds, more than 0.
    pub interval: i64,
}

impl Outcome {
    /// The figures of these round trips.
    pub fn of(trips: &Trips, course: Course) -> Self {
        let Course { start_time, duration, wait, interval } = course;
        let all = || trips.all.iter();
        let medians = |mut statistics: Statistics, of: fn(&RoundTrip) -> Option<i64>| {
            statistics.find_median(all().filter_map(of).collect());
            statistics
        };
        let changes = |of: fn(&RoundTrip, &RoundTrip) -> Option<i64>| {
            let pairs = all().skip(1).zip(all());
            Statistics::of(pairs.filter_map(|(trip, before)| of(trip, before)).map(i64::wrapping_abs))
        };
        let (sent, answered) = (trips.calls.n, trips.times.n);
        let received = answered + trips.duplicates;
        let arrived = trips.server_count.unwrap_or(0);
        let elapsed = |span: Option<(i64, i64)>| span.map_or(0, |(first, last)| last.wrapping_sub(first));
        let errors = timer_errors(trips, interval);
        let (expected, missed) = due(elapsed(trips.sent), interval, sent);
        let part = |part: u64, whole: u64| share(part as f64, whole as f64);
        let counted = |lost: i128, of: u64| if arrived > 0 { share(lost as f64, of as f64) } else { Percent(0.0) };
        Self {
            start_time,
            send_call: trips.calls,
            timer_error: errors,
            rtt: medians(trips.times, RoundTrip::time),
            send_delay: medians(trips.send_delays, RoundTrip::send_delay),
            receive_delay: medians(trips.receive_delays, RoundTrip::receive_delay),
            server_packets_received: arrived,
            bytes_sent: trips.octets_sent,
            bytes_received: trips.octets_received,
            duplicates: trips.duplicates,
            late_packets: trips.late,
            wait,
            duration,
            packets_sent: sent,
            packets_received: received,
            packet_loss_percent: if answered == 0 { Percent(100.0) } else { part(sent - answered, sent) },
            upstream_loss_percent: counted(i128::from(sent) - i128::from(arrived), sent),
            downstream_loss_percent: counted(i128::from(arrived) - i128::from(received), arrived.into()),
            duplicate_percent: part(trips.duplicates, received),
            late_packets_percent: part(trips.late, received),
            ipdv_send: changes(RoundTrip::send_variation),
            ipdv_receive: changes(RoundTrip::receive_variation),
            ipdv_round_trip: changes(RoundTrip::variation),
            server_processing_time: without_median(all().filter_map(RoundTrip::held)),
            timer_err_percent: share(errors.mean() as f64, interval as f64),
            timer_misses: missed,
            timer_miss_percent: part(missed, expected),
            send_rate: Rate::of(trips.octets_sent, elapsed(trips.sent)),
            receive_rate: Rate::of(trips.octets_received, elapsed(trips.received)),
            expected,
        }
    }
}

/// Distances of departures behind the first from their schedule, which begins with it.
fn timer_errors(trips: &Trips, interval: i64) -> Statistics {
    let departures = trips.all.iter().filter_map(|trip| trip.sent.monotonic);
    let Some((first, _)) = trips.sent else { return Statistics::default() };
    let error = |(number, at): (i64, i64)| at.wrapping_sub(first).wrapping_sub(number.wrapping_mul(interval));
    without_median((0..).zip(departures).skip(1).map(error).map(i64::wrapping_abs))
}

fn without_median(durations: impl Iterator<Item = i64>) -> Statistics {
    let mut statistics = Statistics::default();
    durations.for_each(|nanos| statistics.push(nanos));
    statistics
}

/// Packets that were due within a time, as the original counts them, and those of them that did not leave.
fn due(elapsed: i64, interval: i64, sent: u64) -> (u64, u64) {
    let expected = 1 + u64::try_from(elapsed.checked_div(interval).unwrap_or(0)).unwrap_or(0);
    (expected.max(sent), expected.saturating_sub(sent))
}

/// A share in the hundred.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Percent(pub f64);

fn share(part: f64, whole: f64) -> Percent {
    Percent(if whole == 0.0 { 0.0 } else { 100.0 * part / whole })
}

/// Two decimals and the sign.
impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}%", self.0)
    }
}

/// A whole number has no point, as Go's library writes it.
impl Serialize for Percent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < 1e15 {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

/// Bits a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub u64);

impl Rate {
    /// So many octets in so many nanoseconds.
    fn of(octets: u64, nanos: i64) -> Self {
        let seconds = nanos as f64 / 1e9;
        Self(if octets == 0 || nanos == 0 { 0 } else { (8.0 * octets as f64 / seconds) as u64 })
    }
}

/// `90.5 Kbps`; the original's units leave out the tera.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.0 as f64;
        match self.0 {
            0..1_000 => write!(f, "{} bps", self.0),
            1_000..1_000_000 => write!(f, "{:.1} Kbps", rate / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.2} Mbps", rate / 1e6),
            1_000_000_000..1_000_000_000_000 => write!(f, "{:.3} Gbps", rate / 1e9),
            1_000_000_000_000..1_000_000_000_000_000 => write!(f, "{:.3} Pbps", rate / 1e12),
            1_000_000_000_000_000..1_000_000_000_000_000_000 => write!(f, "{:.3} Ebps", rate / 1e15),
            _ => write!(f, "{:.3} Zbps", rate / 1e18),
        }
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Form {
            bps: u64,
            string: String,
        }
        Form { bps: self.0, string: self.to_string() }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use protocol::irtt::reply::{Reply, Time};
    use test_case::test_case;

    use super::*;

    fn at(nanos: i64) -> Time {
        Time { wall: Some(nanos), monotonic: Some(nanos) }
    }

    fn course() -> Course {
        Course { start_time: "2026-11-29T15:00:00Z".to_owned(), duration: 5_000, wait: 600, interval: 1_000 }
    }

    /// Four packets of 50 octets, of which the third is lost and the fourth leaves 20 ns late.
    fn four() -> Trips {
        let mut trips = Trips::default();
        for sent in [100, 1_100, 2_100, 3_120] {
            trips.sent(at(sent), sent + 10, 50);
        }
        for (number, sent, time) in [(0, 100, 300), (1, 1_100, 500), (3, 3_120, 200)] {
            let (received, replied) = (at(sent + time / 2), at(sent + time / 2 + 7));
            let reply =
                Reply { number, count: Some(number + 1), window: None, received, sent: replied, is_last: false };
            trips.came(at(sent + time + 7), 50, &reply);
        }
        trips
    }

    #[test]
    fn figures_are_those_of_the_round_trips() {
        let outcome = Outcome::of(&four(), course());
        assert_eq!((outcome.packets_sent, outcome.packets_received, outcome.server_packets_received), (4, 3, 4));
        assert_eq!((outcome.rtt.min, outcome.rtt.median, outcome.rtt.max), (200, Some(300), 500));
        assert_eq!((outcome.send_delay.mean(), outcome.receive_delay.mean()), (166, 166));
        assert_eq!(
            (outcome.ipdv_round_trip.n, outcome.ipdv_round_trip.max, outcome.ipdv_round_trip.median),
            (1, 200, Some(200))
        );
        assert_eq!((outcome.ipdv_send.max, outcome.ipdv_receive.max), (100, 100));
        assert_eq!((outcome.server_processing_time.mean(), outcome.server_processing_time.median), (7, None));
        assert_eq!((outcome.timer_error.n, outcome.timer_error.max, outcome.timer_error.mean()), (3, 20, 6));
        assert_eq!(
            (outcome.packet_loss_percent, outcome.upstream_loss_percent, outcome.downstream_loss_percent),
            (Percent(25.0), Percent(0.0), Percent(25.0))
        );
        assert_eq!((outcome.expected, outcome.timer_misses, outcome.timer_err_percent), (4, 0, Percent(0.6)));
        // 200 octets in 3,030 ns, 150 in 2,920.
        assert_eq!((outcome.send_rate, outcome.receive_rate), (Rate(528_052_805), Rate(410_958_904)));
    }

    #[test]
    fn nothing_that_left_is_all_lost() {
        let outcome = Outcome::of(&Trips::default(), course());
        assert_eq!((outcome.packets_sent, outcome.packet_loss_percent), (0, Percent(100.0)));
        assert_eq!((outcome.expected, outcome.timer_misses, outcome.timer_miss_percent), (1, 1, Percent(100.0)));
        assert_eq!((outcome.send_rate, outcome.duplicate_percent), (Rate(0), Percent(0.0)));
    }

    #[test_case(5_000, 1_000, 4, (6, 2); "two were left out")]
    #[test_case(3_999, 1_000, 4, (4, 0); "all left")]
    #[test_case(2_900, 1_000, 4, (4, 0); "one left early")]
    fn what_was_due_is_by_the_clock(elapsed: i64, interval: i64, sent: u64, expected: (u64, u64)) {
        assert_eq!(due(elapsed, interval, sent), expected);
    }

    #[test_case(999, "999 bps"; "bits")]
    #[test_case(9_600, "9.6 Kbps"; "thousands")]
    #[test_case(1_234_567, "1.23 Mbps"; "millions")]
    #[test_case(1_234_567_890, "1.235 Gbps"; "more")]
    #[test_case(1_500_000_000_000, "1.500 Pbps"; "the unit that is not there")]
    fn a_rate_has_its_unit(rate: u64, text: &str) {
        assert_eq!(Rate(rate).to_string(), text);
    }

    #[test]
    fn the_json_has_the_forms_of_the_original() {
        let percents = serde_json::to_string(&[Percent(0.0), Percent(100.0), Percent(12.5)]);
        assert_eq!(percents.unwrap(), "[0,100,12.5]");
        assert_eq!(serde_json::to_string(&Rate(9_600)).unwrap(), r#"{"bps":9600,"string":"9.6 Kbps"}"#);
    }
}
