//! The lookout's judgement of a slot whose seconds are all here: cells that became slower, faster or lossy, and incidents
//! that are over.

use super::agent::Own;
use super::incident::{Change, Kind};
use super::place::View;
use super::slot::SLOT;
use super::stream::{CREEPS, Growing, Growth, Held};
use super::{Cell, CellId, LOOK, Lookout, YOUNG};

impl Lookout {
    /// Judges a slot whose seconds are all here.
    pub(super) fn close(&mut self, slot: u64, now: u64, changes: &mut Vec<Change>) {
        let (mut alarms, mut drifted) = (Alarms::default(), None);
        let own: Vec<Own> = self.agents.iter().map(|agent| agent.slot(slot * SLOT)).collect();
        let mut values = Vec::new();
        for (id, gathered) in self.gathered.iter_mut().enumerate() {
            let Cell { from, to, .. } = self.mesh.cells[id];
            let losses = gathered.take_out(slot, (own[from as usize], own[to as usize]), &mut values);
            let stream = &mut self.streams[id];
            let (held, off) = stream.close(slot, &mut values, &losses);
            if stream.held {
                stream.calm(slot);
                continue;
            }
            alarms.take(&held, self.limit, &stream.growth);
            if held.drift >= self.limit / CREEPS as f64 {
                drifted = Some(stream.growth.drift.since);
            }
            if held.any(self.limit) {
                stream.calm(slot);
            }
            for part in &self.of[id] {
                if let Some(together) = &mut self.together[*part as usize] {
                    together.take(off, &losses);
                }
            }
        }
        if let Some(since) = drifted {
            self.streams.iter_mut().filter(|stream| !stream.held).for_each(|stream| stream.fall_back(since));
            alarms.slower(slot.saturating_sub(2 * LOOK));
        }
        for together in self.together.iter_mut().flatten() {
            let held = together.close(slot);
            alarms.take(&held, self.limit, &together.growth);
            if held.any(self.limit) {
                together.calm(slot);
            }
        }
        self.end_changes(slot, now, changes);
        for (kind, since) in Kind::GRADUAL.into_iter().zip(alarms.0) {
            let again =
                slot.is_multiple_of(LOOK).then(|| self.incidents.youngest_onset(kind, now.saturating_sub(YOUNG)));
            if let Some(since) = since.or(again.flatten().map(|onset| onset / SLOT)) {
                self.place(kind, since.min(slot.saturating_sub(1)), slot, now, changes);
            }
        }
    }

    pub(super) fn place(&mut self, kind: Kind, since: u64, slot: u64, now: u64, changes: &mut Vec<Change>) {
        let mut masked = self.incidents.older(kind, now.saturating_sub(YOUNG), self.streams.len());
        for other in [Kind::Slower, Kind::Faster, Kind::Silent] {
            let apart = (kind == Kind::Loss && other == Kind::Silent) || (kind.is_latency() && other.is_latency());
            if apart && other != kind {
                let cells = self.incidents.cells(other, self.streams.len());
                masked.iter_mut().zip(cells).for_each(|(masked, cell)| *masked |= cell);
            }
        }
        for (id, cell) in self.mesh.cells.iter().enumerate() {
            masked[id] |=
                [cell.from, cell.to].iter().any(|host| self.incidents.is_overloaded(&self.mesh.hosts[*host as usize]));
        }
        let view = View { parts: &self.parts, of: &self.of, streams: &self.streams, masked: &masked, now: slot };
        let told = changes.len();
        for placed in view.place(kind, since) {
            self.merge(kind, placed, now, changes);
        }
        if changes.len() > told {
            let cells = self.incidents.cells(kind, self.streams.len());
            let cells: Vec<CellId> = (0..).zip(cells).filter(|(_, is)| *is).map(|(cell, _)| cell).collect();
            self.calm(&cells, slot);
        }
        self.hold();
    }

    pub(super) fn end_changes(&mut self, slot: u64, now: u64, changes: &mut Vec<Change>) {
        let since = slot.saturating_sub(LOOK);
        for kind in Kind::GRADUAL {
            let streams = &self.streams;
            let ended = self.incidents.quiet(kind, now, |open| open.is_quiet(streams, since));
            self.finish(ended, now, changes);
        }
    }

    pub(super) fn calm(&mut self, cells: &[CellId], slot: u64) {
        for cell in cells {
            self.streams[*cell as usize].calm(slot);
            for part in &self.of[*cell as usize] {
                if let Some(together) = &mut self.together[*part as usize] {
                    together.calm(slot);
                }
            }
        }
    }

    /// Levels of cells with an open incident do not follow.
    pub(super) fn hold(&mut self) {
        for stream in &mut self.streams {
            (stream.held, stream.tail_held) = (false, false);
        }
        for kind in Kind::GRADUAL {
            let cells = self.incidents.cells(kind, self.streams.len());
            for (stream, _) in self.streams.iter_mut().zip(cells).filter(|(_, is_of_it)| *is_of_it) {
                stream.held = true;
                stream.tail_held |= kind != Kind::Loss;
            }
        }
    }
}

/// The slots since which kinds of change grow that reached the limit, in the order of [`Kind::GRADUAL`].
#[derive(Default)]
struct Alarms([Option<u64>; 4]);

impl Alarms {
    fn slower(&mut self, since: u64) {
        self.0[1] = Some(self.0[1].map_or(since, |at| at.min(since)));
    }

    fn take(&mut self, held: &Held, limit: f64, growth: &Growth) {
        let kinds: [(f64, &Growing); 4] = [
            (held.loss, &growth.loss),
            (held.slower, &growth.slower),
            (held.faster, &growth.faster),
            (held.tail, &growth.tail),
        ];
        for (earliest, (evidence, growing)) in self.0.iter_mut().zip(kinds) {
            if evidence >= limit {
                *earliest = Some(earliest.map_or(growing.since, |at| at.min(growing.since)));
            }
        }
    }
}
