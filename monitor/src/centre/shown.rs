//! The picture of a second, of which pages and screens are made.

use logbook::monitor::plan::Target;
use logbook::monitor::talk::Over;
use measure::lookout::Cell;

use super::Centre;
use super::cells::Live;
use super::picture::{CellNow, HostNow, MarkNow, Picture};

impl Centre {
    pub(super) fn picture(&self, now: u64) -> Picture {
        let agents = self.hosts.iter().map(|host| Some(host.agent.clone())).chain(std::iter::repeat(None));
        let hosts = self.mesh.hosts.iter().zip(agents);
        let scheme = |target: &Target| Some(target.url.as_ref()?.split_once("://")?.0.to_ascii_lowercase());
        let schemes = self.hosts.iter().map(|_| None).chain(self.plan.targets.iter().map(scheme));
        // The picture of a thousand hosts has megabytes, each second: no room is made that stays empty.
        let mut cells = Vec::with_capacity(self.live.len());
        cells.extend(self.mesh.cells.iter().zip(&self.live).filter_map(|(cell, live)| cell_now(cell, live, now)));
        Picture {
            at: now,
            name: self.plan.name.clone(),
            every_ns: self.plan.measure.every,
            hosts: hosts
                .zip(schemes)
                .map(|((host, agent), scheme)| HostNow {
                    name: host.name.clone(),
                    zone: host.zone.clone(),
                    agent,
                    scheme,
                })
                .collect(),
            cells,
            incidents: self.incidents.values().rev().map(|incident| self.shown(incident, None)).collect(),
            past: self.past.iter().cloned().collect(),
            marks: self.marks.iter().rev().map(|mark| MarkNow { at: mark.at, text: mark.text.clone() }).collect(),
            store_fault: self.store_fault.clone(),
            collector: self.board.collector(),
        }
    }
}

fn cell_now(cell: &Cell, live: &Live, now: u64) -> Option<CellNow> {
    let over = Over::named(&cell.over)?;
    let last = live.last.as_ref();
    Some(CellNow {
        from: cell.from,
        to: cell.to,
        over,
        state: live.state(now),
        p50_ns: last.and_then(|last| last.p50),
        p99_ns: last.and_then(|last| last.p99),
        sent: last.map_or(0, |last| last.sent),
        lost: last.map_or(0, |last| last.lost),
        usual_ns: live.usual,
        probe: live.probe.clone().filter(|_| live.is_told(now)),
    })
}
