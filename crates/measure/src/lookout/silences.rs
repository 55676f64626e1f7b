//! The lookout's judgement of silence: which cells nobody answers any more, and which part of the mesh that is.

use super::culprit::{Seen, culprits};
use super::incident::{Change, Kind, Onset, Role, Scope};
use super::place::Placed;
use super::{ALL_SILENT, COMPANY, CellId, Lookout, SILENT_ALONE, client};

impl Lookout {
    pub(super) fn judge_silence(&mut self, now: u64, changes: &mut Vec<Change>) {
        let silent: Vec<bool> = self
            .silences
            .iter()
            .zip(&self.streams)
            .map(|(cell, stream)| cell.is_active(now) && cell.is_silent(stream.usual.normal()))
            .collect();
        self.end_silence(now, changes);
        let covered = self.incidents.cells(Kind::Silent, self.streams.len());
        let news = silent.iter().zip(&covered).any(|(silent, covered)| *silent && !covered);
        if !news {
            self.waiting = None;
            return;
        }
        let suspects =
            self.silences.iter().zip(&silent).any(|(cell, silent)| !silent && cell.is_active(now) && cell.is_suspect());
        if suspects && now < *self.waiting.get_or_insert(now) + COMPANY {
            return;
        }
        self.waiting = None;
        self.place_silence(now, &silent, changes);
    }

    pub(super) fn place_silence(&mut self, now: u64, silent: &[bool], changes: &mut Vec<Change>) {
        let old = self.incidents.older(Kind::Silent, now.saturating_sub(60), self.streams.len());
        let is_down = |id: usize| {
            !old[id] && (silent[id] || (self.silences[id].is_active(now) && self.silences[id].is_suspect()))
        };
        let counts = (0..self.streams.len())
            .map(|id| {
                let expected = if self.silences[id].is_active(now) && !old[id] { SILENT_ALONE } else { 1e-9 };
                (f64::from(u8::from(is_down(id))), expected)
            })
            .collect();
        let Some((names, _)) = culprits(&self.parts, &self.of, &Seen::Count(counts)) else { return };
        let down: Vec<CellId> = (0..self.streams.len()).filter(|id| is_down(*id)).map(|id| id as CellId).collect();
        let whole = |part: &usize| {
            let active = self.parts[*part].cells.iter().filter(|cell| self.silences[**cell as usize].is_active(now));
            let (count, of) =
                active.fold((0, 0), |sum, cell| (sum.0 + usize::from(is_down(*cell as usize)), sum.1 + 1));
            count as f64 >= ALL_SILENT * f64::from(of)
        };
        let is_named = |part: &usize| whole(part) || self.is_in_trouble(*part);
        let names: Vec<Option<usize>> = if names.is_empty() || !names.iter().all(is_named) {
            vec![None]
        } else {
            names.into_iter().map(|part| Some(self.with_its_agent(part, now))).collect()
        };
        for part in names {
            let affected: Vec<CellId> = match part {
                Some(part) => {
                    down.iter().copied().filter(|cell| self.parts[part].cells.binary_search(cell).is_ok()).collect()
                }
                None => down.clone(),
            };
            let onset = self.fell_silent(&affected, now);
            let placed = Placed { part, size: None, onset, affected, direction: None };
            self.merge(Kind::Silent, placed, now, changes);
        }
    }

    pub(super) fn fell_silent(&self, cells: &[CellId], now: u64) -> Onset {
        let cells = || cells.iter().map(|cell| &self.silences[*cell as usize]);
        let latest = cells().filter_map(|cell| cell.since).max().unwrap_or(now);
        let earliest = cells().filter_map(|cell| cell.answered).min().unwrap_or(latest).min(latest);
        let likely = cells().filter_map(|cell| cell.since).min().unwrap_or(latest);
        Onset { earliest, likely, latest: latest + 1 }
    }

    /// True for a host whose agent is told to report nothing, or to be late itself: it answers some and not others by that.
    pub(super) fn is_in_trouble(&self, part: usize) -> bool {
        let Scope::Host { host, .. } = &self.parts[part].scope else { return false };
        [Kind::AgentSilent, Kind::Overloaded].iter().any(|kind| self.incidents.has(*kind, &client(host)))
    }

    /// A host that nobody reaches and whose own agent reports nothing is lost in both roles.
    pub(super) fn with_its_agent(&self, part: usize, now: u64) -> usize {
        let Scope::Host { host, role: Role::Server } = &self.parts[part].scope else { return part };
        let id = self.mesh.hosts.iter().position(|known| known.name == *host);
        let quiet = id.is_some_and(|id| self.agents[id].last.is_none_or(|last| last + self.settings.settle < now));
        let both = Scope::Host { host: host.clone(), role: Role::Both };
        self.parts.iter().position(|part| quiet && part.scope == both).unwrap_or(part)
    }

    pub(super) fn end_silence(&mut self, now: u64, changes: &mut Vec<Change>) {
        let silences = &self.silences;
        let ended = self.incidents.quiet(Kind::Silent, now, |open| {
            let active: Vec<_> = open.cells.iter().filter(|cell| silences[**cell as usize].is_active(now)).collect();
            let back = active.iter().filter(|cell| !silences[***cell as usize].is_suspect()).count();
            (!active.is_empty()).then_some((back * 2 > active.len(), true))
        });
        self.finish(ended, now, changes);
    }
}
