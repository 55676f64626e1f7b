//! When each kept exchange of a run was due, as far as its seconds and times say, and what comes back among the long ones.

use crate::method::{LoopKind, Method, Window};
use crate::outcome::periodic::Periodic;
use crate::recorder::{Kept, Recording};
use crate::statistics::periodic::{Taken, excess_above, periodic};
use crate::statistics::quantile::Ranked;

/// The period of the long times. Of several threads the first one's exchanges are looked at: a peer that is stopped is stopped for each.
pub(super) fn of_run(recording: &Recording, method: &Method, response: &Ranked) -> Option<Periodic> {
    // A thinned series lacks most of what comes back.
    let series = recording.series.first().filter(|series| series.stride == 1)?;
    let seconds = recording.seconds.first()?;
    let excess = excess_above(response.quantile(0.5)?, response.quantile(0.75)?);
    let open = recording.kind == LoopKind::Open;
    let gap = method.schedule.mean_gap().map_or(0, |gap| gap.0);
    let at_once = at_once(method);
    let (mut taken, mut answered, mut from, mut flow) = (Vec::with_capacity(series.samples.len()), 0, 0, None);
    for second in seconds {
        let (began, count) = (answered, second.counts.answered);
        answered += count;
        let upto = from + series.samples[from..].partition_point(|kept| kept.index < answered);
        let kept = &series.samples[from..upto];
        from = upto;
        // An open loop sends on; a closed one waits for each reply, and what is left of the second lies between them.
        let waits = |kept: &Kept| if open { 0 } else { (kept.response / at_once).max(gap) };
        let waited: u64 = kept.iter().map(waits).sum();
        let step = (second.length_ns.0 as f64 - waited as f64) / count.max(1) as f64;
        let mut before = second.at_ns.0;
        for kept in kept {
            let at = before.saturating_add_signed(((kept.index - began) as f64 * step) as i64);
            // The first exchange of a connection's turn comes when ours does.
            let turns = method.spread.in_turn && flow.replace(kept.flow) != Some(kept.flow);
            let excess = if turns { 0 } else { excess(kept.response) };
            taken.push(Taken { lane: 0, from: at, took: kept.response, excess });
            before += waits(kept);
        }
    }
    let length = seconds.last().map(|last| last.at_ns.0 + last.length_ns.0)?;
    let step_ns = length as f64 / taken.len().max(1) as f64;
    periodic(&taken, step_ns)
}

/// Exchanges of a thread that wait at the same time.
fn at_once(method: &Method) -> u64 {
    let window = match method.traffic.window() {
        Window::Closed(n) | Window::Volley(n) => u64::from(n),
        Window::Open { .. } => 1,
    };
    let spread = &method.spread;
    let connections = if spread.in_turn { 1 } else { u64::from(spread.connections.max(1)) };
    (window * connections).div_ceil(u64::from(spread.threads.max(1))).max(1)
}
