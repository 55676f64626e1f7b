//! Difference of two clocks, from exchanges that each end stamped by its own: offset, drift, steps, and their bound.
//!
//! An exchange leaves us at T1, arrives at T2, is answered at T3 and comes back at T4; T2 and T3 are of the far clock. No
//! packet arrives before it left, so the far clock is at most T2 - T1 ahead, and at least T3 - T4: each exchange is a
//! ceiling and a floor for the difference of the clocks, whatever the path does to it. While both clocks run evenly the
//! difference is a line over time. All lines below every ceiling and above every floor are possible, none other is; the
//! middle of them is the estimate, the farthest of them its bound. For one exchange that is the estimate of NTP (RFC 5905
//! section 8), within half of the round trip without the far side's time. For many it is that of the shortest ones; drift is
//! followed by the lines beneath the ceilings and above the floors (Moon, Skelly and Towsley, "Estimation
//! and removal of clock skew from network delay measurements", INFOCOM 1999).
//!
//! Where no line is possible a clock was set or slewed: the exchanges are split there, as Paxson ("On calibrating
//! measurements of packet transit times", SIGMETRICS 1998) does it. A clock that was set by less than the shortest round
//! trip may pass for one that drifts.
//!
//! The bound is no matter of chance: it is wrong only where a clock changed its rate within a window and a line was
//! possible all the same, or where a stamp was not made where it says.

mod delays;
mod envelope;
mod kept;
mod windows;

pub use kept::Gathered;

use crate::outcome::one_way::{Agreement, ClockDifference, ClockStep, ClockWindow, Spread};
use crate::unit::Nanos;
use envelope::Envelope;
use windows::{Break, Cut};

/// The times of one exchange, nanoseconds since 1970, each by the clock of the end where it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FourTimes {
    /// It left us.
    pub sent: u64,
    /// It arrived there.
    pub received: u64,
    /// Its answer left there.
    pub left: u64,
    /// The answer arrived here.
    pub came: u64,
}

impl FourTimes {
    /// The most that the far clock can be ahead of ours.
    fn ceiling(&self) -> i64 {
        self.received.wrapping_sub(self.sent).cast_signed()
    }

    /// The least.
    fn floor(&self) -> i64 {
        self.left.wrapping_sub(self.came).cast_signed()
    }

    /// The round trip without the far side's own time; no clock difference is in it. Below zero where a clock was set in
    /// between.
    pub fn path(&self) -> i64 {
        self.ceiling().saturating_sub(self.floor())
    }

    /// The far side's own time.
    fn held(&self) -> i64 {
        self.left.wrapping_sub(self.received).cast_signed()
    }
}

/// Estimate of the difference of two clocks, with the delays that follow from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Round trips without the far side.
    pub path: Option<Spread>,
    /// The far side's own times.
    pub held: Option<Spread>,
    /// Delays there.
    pub forward: Option<Spread>,
    /// Delays back.
    pub reverse: Option<Spread>,
    /// The clocks.
    pub clock: Option<ClockDifference>,
    /// Their stated agreement; absent where none was stated.
    pub agreement: Option<Agreement>,
}

/// Looks at exchanges, in whatever order they came. Clocks that are said to agree `within` so much have no difference to be estimated,
/// and a path that is slower one way than the other shows as such; unless a packet would have come before it left.
pub fn analyse(mut gathered: Gathered, within: Option<Nanos>) -> Found {
    gathered.close();
    let tightest = sorted(gathered.tightest());
    let evenly = sorted(gathered.evenly());
    let grain = grain(&tightest);
    let agreed = within.and_then(|within| Line::agreed(&tightest, within, grain));
    let agreement = within.map(|within_ns| Agreement { within_ns, holds: agreed.is_some() });
    let (lines, breaks) = if let Some(line) = agreed {
        (vec![line], Vec::new())
    } else {
        let Cut { windows, breaks } = windows::cut(&tightest, grain);
        (windows.iter().filter_map(|range| Line::of(&tightest[range.clone()], grain)).collect(), breaks)
    };
    let first = tightest.first().map_or(0, |first| first.sent);
    let (forward, reverse) = delays::of(&evenly, &lines);
    Found {
        path: Spread::of(evenly.iter().map(FourTimes::path)),
        held: Spread::of(evenly.iter().map(FourTimes::held)),
        forward: Spread::of(forward),
        reverse: Spread::of(reverse),
        clock: difference(&lines, &breaks, first, grain),
        agreement,
    }
}

fn sorted(exchanges: &[FourTimes]) -> Vec<FourTimes> {
    let mut sorted = exchanges.to_vec();
    sorted.sort_by_key(|exchange| exchange.sent);
    sorted
}

fn difference(lines: &[Line], breaks: &[Break], first: u64, grain: Nanos) -> Option<ClockDifference> {
    let bound_ns = lines.iter().map(|line| line.bound).max()?;
    let since = |at: u64| Nanos(at.saturating_sub(first));
    let steps = breaks.iter().filter_map(|cut| {
        let Break { after, before, by: Some((by_ns, bound_ns)) } = *cut else { return None };
        Some(ClockStep { after_ns: since(after), before_ns: since(before), by_ns, bound_ns })
    });
    Some(ClockDifference {
        bound_ns,
        grain_ns: grain,
        windows: lines.iter().map(|line| line.window(first)).collect(),
        steps: steps.collect(),
        rate_changes: breaks.iter().filter(|cut| cut.by.is_none()).count() as u64,
    })
}

/// The difference of the clocks over one window.
#[derive(Clone, Copy, Debug)]
struct Line {
    begin: u64,
    end: u64,
    exchanges: u64,
    /// The instant that the numbers below are counted from, and the difference there that they are counted on.
    origin: u64,
    base: i64,
    offset: f64,
    drift: f64,
    drifts: (f64, f64),
    bound: Nanos,
}

impl Line {
    /// Both clocks as one, within what they agree; `None` where a time contradicts that.
    fn agreed(exchanges: &[FourTimes], within: Nanos, grain: Nanos) -> Option<Self> {
        let (first, end) = (exchanges.first()?.sent, exchanges.iter().map(|e| e.came.max(e.sent)).max()?);
        let bound = Nanos(within.0.saturating_add(grain.0));
        let most = i64::try_from(bound.0).unwrap_or(i64::MAX);
        let all = exchanges.iter().all(|exchange| exchange.ceiling() >= -most && exchange.floor() <= most);
        all.then_some(Self {
            begin: first,
            end,
            exchanges: exchanges.len() as u64,
            origin: first,
            base: 0,
            offset: 0.0,
            drift: 0.0,
            drifts: (0.0, 0.0),
            bound,
        })
    }

    fn of(exchanges: &[FourTimes], grain: Nanos) -> Option<Self> {
        let (first, last) = (exchanges.first()?, exchanges.last()?);
        let envelope = Envelope::of(exchanges, grain);
        let drifts = envelope.drifts()?;
        let drift = envelope.drift(drifts);
        let offset = envelope.offset(drift);
        let at = |instant: u64| envelope.place(instant);
        // The difference of two lines is largest at one of the ends.
        let off = [first.sent, last.came].map(at).map(|x| {
            let (low, high) = envelope.range(x, drifts);
            let here = offset + drift * x;
            (high - here).max(here - low)
        });
        let bound = off[0].max(off[1]).max(0.0).ceil();
        Some(Self {
            begin: first.sent,
            end: last.came.max(first.sent),
            exchanges: exchanges.len() as u64,
            origin: envelope.origin,
            base: envelope.base,
            offset,
            drift,
            drifts,
            bound: Nanos(bound as u64 + 1),
        })
    }

    /// Returns the lead of the far clock at an instant of ours, nanoseconds.
    fn at(&self, instant: u64) -> i64 {
        let x = instant.wrapping_sub(self.origin).cast_signed() as f64;
        self.base.saturating_add((self.offset + self.drift * x).round() as i64)
    }

    fn window(&self, first: u64) -> ClockWindow {
        let since = |at: u64| Nanos(at.saturating_sub(first));
        ClockWindow {
            begin_ns: since(self.begin),
            end_ns: since(self.end),
            exchanges: self.exchanges,
            offset_ns: self.at(self.begin + (self.end - self.begin) / 2),
            bound_ns: self.bound,
            drift_ppm: self.drift * 1e6,
            drift_low_ppm: self.drifts.0 * 1e6,
            drift_high_ppm: self.drifts.1 * 1e6,
        }
    }
}

/// Stamps are good to this at the best: clocks of several CPUs are not one to the nanosecond.
const FINEST: Nanos = Nanos(50);

/// The smallest difference that the far side's times show: many programs write whole micro- or milliseconds. A time that
/// was cut off lies before its instant, by which it would forbid what is true.
fn grain(exchanges: &[FourTimes]) -> Nanos {
    let is_whole = |at: u64, unit: u64| (at + 1) % unit <= 2;
    let all = |unit: u64| exchanges.iter().all(|e| is_whole(e.received, unit) && is_whole(e.left, unit));
    let units = [1_000_000_000, 1_000_000, 1_000];
    units.into_iter().find(|unit| all(*unit)).filter(|_| !exchanges.is_empty()).map_or(FINEST, Nanos)
}

#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
