//! Send times of the kept exchanges of a run, as far as its seconds and times show them: the basis for periodic delays
//! and changes of level.

use std::collections::BTreeSet;

use crate::method::{LoopKind, Method, Schedule};
use crate::outcome::change::Change;
use crate::outcome::periodic::Periodic;
use crate::recorder::{Kept, Recording};
use crate::statistics::change::change;
use crate::statistics::periodic::{Taken, excess_above, periodic, periodic_or_counted};
use crate::statistics::quantile::Ranked;

/// The kept exchanges of the first thread in the order of time: a peer that is stopped, or a path that changes, is so for each.
pub(super) struct Timeline<'a> {
    /// Send time, nanoseconds from the start; the exchange; true where its connection's turn began with it.
    due: Vec<(u64, &'a Kept, bool)>,
    /// The time of all seconds, nanoseconds.
    length: u64,
    is_whole: bool,
}

impl<'a> Timeline<'a> {
    /// The exchanges of `recording`; `None` where nothing was kept.
    pub(super) fn of(recording: &'a Recording, method: &Method) -> Option<Self> {
        let (series, seconds) = (recording.series.first()?, recording.seconds.first()?);
        let open = recording.kind == LoopKind::Open;
        let gap = method.schedule.mean_gap().map_or(0, |gap| gap.0);
        let at_once = method.waiting_per_thread();
        let (mut due, mut answered, mut from, mut flow) = (Vec::with_capacity(series.samples.len()), 0, 0, None);
        for second in seconds {
            let (began, count) = (answered, second.counts.answered);
            answered += count;
            let upto = from + series.samples[from..].partition_point(|kept| kept.index < answered);
            let kept = &series.samples[from..upto];
            from = upto;
            // An open loop sends on; a closed one waits for each reply, and the rest of the second lies between them.
            let waits = |kept: &Kept| if open { 0 } else { (kept.response / at_once).max(gap) };
            let waited: u64 = kept.iter().map(waits).sum();
            let step = (second.length_ns.0 as f64 - waited as f64) / count.max(1) as f64;
            let mut before = second.at_ns.0;
            for kept in kept {
                let at = before.saturating_add_signed(((kept.index - began) as f64 * step) as i64);
                let turns = method.spread.in_turn && flow.replace(kept.flow) != Some(kept.flow);
                due.push((at, kept, turns));
                before += waits(kept);
            }
        }
        let length = seconds.last().map(|last| last.at_ns.0 + last.length_ns.0)?;
        Some(Self { due, length, is_whole: series.stride == 1 })
    }

    /// The period of the long times. A thinned series lacks most of the returning ones.
    pub(super) fn periodic(&self, response: &Ranked, method: &Method) -> Option<Periodic> {
        if !self.is_whole {
            return None;
        }
        let excess = excess_above(response.quantile(0.5)?, response.quantile(0.75)?);
        // The first exchange of a connection's turn comes when ours does.
        let taken = |&(from, kept, turns): &(u64, &Kept, bool)| Taken {
            lane: 0,
            from,
            took: kept.response,
            excess: if turns { 0 } else { excess(kept.response) },
        };
        let taken: Vec<Taken> = self.due.iter().map(taken).collect();
        let step_ns = self.length as f64 / taken.len().max(1) as f64;
        // What a peer counts is all requests, and here are those of the first thread.
        if method.spread.threads > 1 {
            return periodic(&taken, step_ns);
        }
        periodic_or_counted(&taken, step_ns, matches!(method.schedule, Schedule::Poisson { .. }))
    }

    /// A part of the run at another level. From the send: how late this host sent is no level of the path.
    pub(super) fn change(&self) -> Option<Change> {
        let taken: Vec<(u64, u64)> =
            self.due.iter().map(|(at, kept, _)| (*at, kept.response.saturating_sub(kept.slip))).collect();
        change(&taken, self.length).map(|change| Change { of_firsts: self.is_of_firsts(&change), ..change })
    }

    /// True where connections take turns, and a level ends with their first exchanges.
    fn is_of_firsts(&self, change: &Change) -> bool {
        let mut known = BTreeSet::new();
        let firsts: Vec<(u64, bool)> = self.due.iter().map(|(at, kept, _)| (*at, known.insert(kept.flow))).collect();
        let of = |before: bool| {
            let (mut first, mut all) = (0_usize, 0_usize);
            for (_, is_first) in firsts.iter().filter(|(at, _)| (*at < change.from_ns.0) == before) {
                (first, all) = (first + usize::from(*is_first), all + 1);
            }
            (first, all)
        };
        let ((first, all), (later, rest)) = (of(true), of(false));
        known.len() > 1 && change.to_ns.is_none() && first * 10 >= all * 9 && later * 10 <= rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Asked;
    use crate::recorder::Recorder;
    use crate::unit::{Instant, Nanos};
    use test_case::test_case;

    const CONNECTIONS: u64 = 64;

    /// 1,000 exchanges of connections that take turns, one each, of which exchange `n` takes 20 ms where `is_long`.
    fn run(is_long: impl Fn(u64) -> bool) -> Option<Change> {
        let asked = Asked { connections: Some(CONNECTIONS as u32), in_turn: true, ..Asked::default() };
        let method = asked.resolve().unwrap();
        let mut recorder = Recorder::of(&method, 100_000);
        let mut now = Instant(1_000_000_000);
        recorder.begin(now, None);
        for n in 0..1_000 {
            let sent = now;
            now = now.after(if is_long(n) { Nanos::millis(20) } else { Nanos::millis(2) });
            recorder.over((n % CONNECTIONS) as u32);
            recorder.answered(sent, now);
        }
        let recording = recorder.finish(now);
        Timeline::of(&recording, &method)?.change()
    }

    #[test_case(&|n| n < CONNECTIONS, Some(true); "each connection's first exchange")]
    #[test_case(&|n| n < 3 * CONNECTIONS, Some(false); "the first three rounds")]
    #[test_case(&|n| n > 500, Some(false); "the second half")]
    #[test_case(&|_| false, None; "nothing")]
    fn a_change_behind_first_exchanges_may_be_of_these(is_long: &dyn Fn(u64) -> bool, is_of_firsts: Option<bool>) {
        assert_eq!(run(is_long).map(|change| change.of_firsts), is_of_firsts);
    }
}
