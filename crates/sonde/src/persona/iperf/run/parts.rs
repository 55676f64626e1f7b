//! Counts of a stream in a span: of an interval, or of all of it.

use measure::frames::Frames;
use measure::interval::arrivals::{Datagrams, Transit};
use measure::interval::glance::TcpGlance;
use measure::throughput::meter::StreamCount;
use measure::throughput::{self, Interval};
use measure::unit::{Bytes, Nanos};
use protocol::iperf::fin::AckFin;

use crate::persona::iperf::output::line::{Moments, Span};
use crate::persona::iperf::output::tcp::{Bursts, Reads, Writer};
use crate::persona::iperf::output::udp::{Received, Receiver, Sender};

/// A latency outside these bounds, in nanoseconds, says that the two clocks do not agree.
const PLAUSIBLE: std::ops::RangeInclusive<i64> = -10_000_000..=60_000_000_000;

/// Counts of a stream in a span.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// Span of the counts.
    pub span: Span,
    /// Bytes carried.
    pub bytes: u64,
    /// Calls that carried them.
    pub calls: u64,
    /// Calls that failed.
    pub failed: u64,
    /// A sender's TCP; retransmissions are those of this time.
    pub tcp: Option<TcpGlance>,
    /// Bytes that its TCP had sent at the end of this time, and the peer not acknowledged.
    pub flying: Option<u64>,
    /// Counts of a receiver of datagrams.
    pub datagrams: Option<Datagrams>,
    /// Counts of frames.
    pub frames: Option<Frames>,
    /// True of what the far side says: it does not tell its calls.
    pub reported: bool,
    /// Reads of a reader of TCP; known of the whole alone.
    pub reads: Option<Reads>,
    /// Times of bursts; known of the whole alone.
    pub bursts: Option<Transit>,
    /// Times of writes, where they were asked for; known of the whole alone.
    pub write_times: Option<Transit>,
}

impl Parts {
    /// Those of an interval; `before`: the sender's TCP at its beginning.
    pub fn of(interval: &Interval, before: Option<&TcpGlance>) -> Self {
        let from = interval.at_ns;
        Self {
            span: Span { from, to: Nanos(from.0 + interval.length_ns.0) },
            bytes: interval.carried.bytes.0,
            calls: interval.carried.calls,
            failed: interval.carried.failed_calls,
            tcp: interval.tcp.map(|tcp| before.map_or(tcp, |before| tcp.since(before))),
            flying: interval.tcp.as_ref().and_then(flying),
            datagrams: interval.datagrams,
            frames: interval.frames,
            reported: false,
            reads: None,
            bursts: None,
            write_times: None,
        }
    }

    /// Those of a whole stream.
    pub fn of_all(count: &StreamCount, reads: Option<[u64; 8]>, bursts: Option<Transit>) -> Self {
        let to = count.ended.since(count.began).unwrap_or_default();
        Self {
            span: Span { from: Nanos::ZERO, to },
            bytes: count.carried.bytes.0,
            calls: count.carried.calls,
            failed: count.carried.failed_calls,
            tcp: count.sight.tcp,
            flying: count.sight.tcp.as_ref().and_then(flying),
            datagrams: count.sight.datagrams,
            frames: count.sight.frames,
            reported: false,
            reads: reads.map(Reads),
            bursts,
            write_times: None,
        }
    }

    fn per_second(&self, count: u64) -> f64 {
        let time = Nanos(self.span.to.0.saturating_sub(self.span.from.0));
        throughput::per_second(Bytes(count), time).unwrap_or(0.0)
    }

    /// As a writer of TCP.
    pub fn writer(&self) -> Writer {
        let tcp = self.tcp.unwrap_or_default();
        let micros = |time: Option<Nanos>| time.map_or(0, |time| time.0 / 1_000);
        Writer {
            writes: self.calls,
            errors: self.failed,
            retries: tcp.retransmits.unwrap_or(0),
            cwnd_bytes: tcp.cwnd_bytes.map(|bytes| bytes.0),
            flying_bytes: self.flying,
            segment_bytes: tcp.mss_bytes.map_or(0, |bytes| bytes.0),
            rtt_us: micros(tcp.rtt_ns),
            deviation_us: micros(tcp.rttvar_ns),
        }
    }

    /// As a sender of datagrams.
    pub fn sender(&self) -> Sender {
        Sender { writes: self.calls, errors: self.failed, per_second: self.per_second(self.calls) }
    }

    /// As a receiver of datagrams.
    pub fn received(&self) -> Received {
        let seen = self.datagrams.unwrap_or_default();
        Received {
            jitter_ms: seen.jitter_ns.unwrap_or(0.0) / 1e6,
            lost: seen.lost,
            total: seen.expected,
            out_of_order: seen.out_of_order,
        }
    }

    /// The same with what `-e` says more.
    pub fn receiver(&self, timed: bool) -> Receiver {
        let count = self.datagrams.map_or(0, |seen| seen.received);
        let latency = self.datagrams.and_then(|seen| seen.transit).filter(is_plausible);
        let per_second = self.per_second(count);
        let latency = latency.as_ref().map(moments);
        Receiver {
            received: self.received(),
            latency,
            per_second,
            count,
            reads: (!self.reported).then_some(self.calls),
            timed,
        }
    }

    /// Datagrams that the numbers account for, or that left.
    pub fn count(&self) -> u64 {
        self.datagrams.map_or(self.calls, |seen| seen.expected)
    }

    /// Bursts of so many bytes.
    pub fn bursts(&self) -> Option<Bursts> {
        let transit = self.bursts?;
        let bytes = self.bytes.checked_div(transit.count).unwrap_or(0);
        Some(Bursts { count: transit.count, latency: moments(&transit), bytes })
    }
}

/// Bytes of payload that were sent and are neither acknowledged nor sent again. The first acknowledgement is that of the handshake.
fn flying(tcp: &TcpGlance) -> Option<u64> {
    let gone = tcp.acknowledged_bytes?.0.saturating_sub(1) + tcp.retransmitted_bytes?.0;
    Some(tcp.sent_bytes?.0.saturating_sub(gone))
}

/// True where two clocks may agree by which such times came about.
pub fn is_plausible(transit: &Transit) -> bool {
    PLAUSIBLE.contains(&transit.min_ns)
}

/// Transit times as they are told.
pub fn moments(transit: &Transit) -> Moments {
    Moments::of(transit.count, transit.mean_ns, (transit.min_ns, transit.max_ns), transit.squares)
}

/// A server's report, as a receiver's counts and the span that they are of.
pub fn reported(report: &AckFin) -> Parts {
    let span = |span: protocol::iperf::time::Span| span.nanos();
    let transit = report.rest.filter(|_| report.has_rest()).map(|rest| Transit {
        count: rest.count.into(),
        min_ns: span(rest.min),
        mean_ns: span(rest.mean) as f64,
        max_ns: span(rest.max),
        // Square seconds times 1e12 are square microseconds.
        squares: span(rest.m2) as f64 / 1e9 * 1e6,
    });
    let received = report.datagrams.saturating_sub(report.lost);
    Parts {
        span: Span { from: Nanos::ZERO, to: Nanos(u64::try_from(span(report.duration)).unwrap_or(0)) },
        bytes: report.bytes,
        calls: received,
        failed: 0,
        tcp: None,
        flying: None,
        reported: true,
        frames: None,
        datagrams: Some(Datagrams {
            expected: report.datagrams,
            received,
            lost: i64::try_from(report.lost).unwrap_or(i64::MAX),
            out_of_order: report.out_of_order,
            jitter_ns: Some(span(report.jitter) as f64),
            transit,
            ..Datagrams::default()
        }),
        reads: None,
        bursts: None,
        write_times: None,
    }
}
