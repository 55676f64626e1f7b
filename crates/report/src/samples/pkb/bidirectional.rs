//! `bidirectional_network`: each second host by its place among the pairs, and the first host's two directions in total.

use logbook::plan::{AtOnce, Pairs};
use logbook::record::Record;
use logbook::run::{Cell, RunDocument};
use measure::throughput::Throughput;

use super::metrics::{Told, number, of_several, rate};
use super::row::{Sample, seconds};
use super::{Telling, hosts};

const UNIT: &str = "Mbits/sec";

/// The samples of one second host: every stream's rate as our end of the sender, or the receiver, counted it.
pub(super) fn of(told: &mut Told, run: &RunDocument, cell: &Cell, record: &Record) {
    let (Some(place), Some(stream)) = (place(run, cell), &record.stream) else { return };
    let outbound = run.plan.hosts.first().is_some_and(|first| first.name == cell.place.from);
    let test = format!("{place}_{}", if outbound { "TCP_STREAM" } else { "TCP_MAERTS" });
    if let Some(each) = rates(stream) {
        of_several(told, &test, &each, UNIT);
        told.put(format!("{test}_Throughput_total"), Some(each.iter().sum()), UNIT);
    }
}

/// The place of a cell's pair among those of the plan, from 0.
fn place(run: &RunDocument, cell: &Cell) -> Option<usize> {
    let Pairs::Listed(pairs) = &run.plan.pairs else { return None };
    pairs.iter().position(|(from, to)| (from, to) == (&cell.place.from, &cell.place.to))
}

/// The rate of each stream, ascending; absent unless each has one.
fn rates(stream: &Throughput) -> Option<Vec<f64>> {
    let each = stream.streams.iter().map(|stream| rate(stream.carried.bytes.0, stream.elapsed_ns));
    let mut each: Vec<f64> = each.collect::<Option<_>>()?;
    each.sort_unstable_by(f64::total_cmp);
    (!each.is_empty()).then_some(each)
}

/// The parts of the totals, of one second host.
pub(super) struct InStar<'a> {
    cell: &'a Cell,
    started: f64,
    total: f64,
}

impl<'a> InStar<'a> {
    pub(super) fn of(cell: &'a Cell, record: &Record) -> Option<Self> {
        let total = rates(record.stream.as_ref()?)?.iter().sum();
        Some(Self { cell, started: seconds(record.head.started), total })
    }
}

/// The totals of a repeat: only where all pairs were measured, and at once, for a sum of some, or of what came one after the other, is no load
/// that was there.
pub(super) fn totals(run: &RunDocument, cells: &[InStar<'_>], telling: &Telling) -> Vec<Sample> {
    let (Some(one), Some(first), Pairs::Listed(pairs)) = (cells.first(), run.plan.hosts.first(), &run.plan.pairs)
    else {
        return Vec::new();
    };
    let is_whole = pairs.len() * run.plan.addresses.each().len() == cells.len();
    if !is_whole || run.plan.at_once != AtOnce::All || run.plan.addresses.each().len() > 1 {
        return Vec::new();
    }
    let metadata = telling.metadata.clone().into_iter().chain(hosts::each(run, one.cell, telling.benchmark)).collect();
    let mut told = Told::new(telling.benchmark, metadata, one.started);
    number(&mut told, one.cell, telling);
    for (metric, outbound) in [("outbound_network_total", true), ("inbound_network_total", false)] {
        let those = cells.iter().filter(|one| (one.cell.place.from == first.name) == outbound);
        let (count, total) = those.fold((0, 0.0), |(count, total), one| (count + 1, total + one.total));
        told.put(metric, (count > 0).then_some(total), UNIT);
    }
    told.samples()
}
