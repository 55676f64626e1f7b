//! Incidents from their beginning to their end: one cause is one incident, its scope may become clearer, and it ends when it was quiet for long enough.

use serde::{Deserialize, Serialize};

use super::CellId;
use super::incident::{Change, Ending, Estimate, Incident, Kind, Role, Scope, Size};
use super::parts::Part;
use super::place::Placed;
use super::stream::{Losses, NORMAL_LOSS, Stream};

/// Quiet before an incident ends, seconds: of silence, and of all else.
const QUIET: (u64, u64) = (5, 180);
/// Seconds after its end in which the same change is the same incident.
const RETURNS: u64 = 600;
/// Returns that lengthen the quiet which an incident needs, fourfold each, and the longest quiet, seconds.
const RETURNED: u32 = 3;
const LONGEST_QUIET: u64 = 3_600;
/// Losses that an unchanged rate would have brought in the quiet.
const MISSED: f64 = 4.0;
/// Slots of quiet after which that is not waited for.
const LONG: u64 = 100;
/// Seconds in which an incident's scope may be told anew.
const YOUNG: u64 = 900;

/// Incidents that are open, and those that ended a short time ago.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Incidents {
    last: u64,
    pub open: Vec<Open>,
    gone: Vec<(Open, u64)>,
}

/// An incident that has not ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Open {
    pub incident: Incident,
    /// Its cells.
    #[serde(skip)]
    pub cells: Vec<CellId>,
    /// Second since which it is quiet.
    quiet: Option<u64>,
    /// Scope that the last look found instead.
    #[serde(skip)]
    instead: Option<Scope>,
}

impl Open {
    /// Returns two answers: true where its cells are as before in the slots since `since`, and true where the change
    /// would have shown in its quiet. `None` where the cells show nothing.
    pub fn is_quiet(&self, streams: &[Stream], since: u64) -> Option<(bool, bool)> {
        let own = self.cells.iter().map(|cell| &streams[*cell as usize]);
        if self.incident.kind == Kind::Loss {
            let size = self.lost();
            let from = self.quiet.map_or(since, |quiet| (quiet / super::SLOT).min(since));
            let mut sum = Losses::default();
            own.clone()
                .flat_map(|stream| stream.requests.iter())
                .filter(|kept| kept.0 > from)
                .for_each(|kept| sum.add(&kept.1));
            let normal = own.map(|stream| stream.usual.normal()).fold(NORMAL_LOSS, f64::max);
            let allowed = (sum.sent as f64 * normal.max(size / 4.0)).max(1.0);
            let shown = sum.sent as f64 * size >= MISSED || since >= from + LONG;
            return (sum.sent > 0).then_some((sum.lost as f64 <= allowed, shown));
        }
        let steps = own.clone().flat_map(|stream| stream.steps.iter()).filter(|step| step.slot > since);
        if self.incident.kind == Kind::Tail {
            let (above, count) =
                steps.map(|step| step.tail).fold((0, 0), |sum, (above, of)| (sum.0 + above, sum.1 + of));
            return (count > 0).then(|| (above * 100 <= count * 3, true));
        }
        let mut offs: Vec<f64> = steps.map(|step| step.off).collect();
        let off = super::culprit::median(&mut offs)?;
        let mut slacks: Vec<f64> = own.map(|stream| stream.level.slack()).collect();
        let slack = super::culprit::median(&mut slacks)?;
        let towards = if self.incident.kind == Kind::Slower { off } else { -off };
        let size = if let Some(Size::Ratio(ratio)) = self.incident.size { ratio.value.ln().abs() } else { 0.0 };
        Some((towards < (slack / 2.0).max(size / 3.0), true))
    }

    fn lost(&self) -> f64 {
        if let Some(Size::Lost(Estimate { value, .. })) = self.incident.size { value } else { 0.0 }
    }

    /// Returns true where the quiet since then is long enough; a change that returned needs more.
    fn is_over(&self, quiet: u64, now: u64) -> bool {
        let base = if self.incident.kind == Kind::Silent { QUIET.0 } else { QUIET.1 };
        now >= quiet + (base << (2 * self.incident.returned.min(RETURNED))).min(LONGEST_QUIET)
    }
}

impl Incidents {
    /// Returns true where an incident of this kind and scope is open.
    pub fn has(&self, kind: Kind, scope: &Scope) -> bool {
        self.open.iter().any(|open| open.incident.kind == kind && open.incident.scope == *scope)
    }

    /// Returns true where nobody reaches the host of this name.
    pub fn is_host_lost(&self, name: &str) -> bool {
        self.open.iter().filter(|open| open.incident.kind == Kind::Silent).any(|open| match &open.incident.scope {
            Scope::Host { host, role } => host == name && *role != Role::Client,
            Scope::HostOrPair { from, to, .. } => from == name || to == name,
            Scope::Everything => true,
            _ => false,
        })
    }

    /// Returns true where a host or its machine is overloaded.
    pub fn is_overloaded(&self, named: &super::Host) -> bool {
        self.open.iter().filter(|open| open.incident.kind == Kind::Overloaded).any(|open| match &open.incident.scope {
            Scope::Host { host, .. } => *host == named.name,
            Scope::Machine { machine } => Some(machine) == named.machine.as_ref(),
            _ => false,
        })
    }

    /// Cells of all open incidents of a kind.
    pub fn cells(&self, kind: Kind, count: usize) -> Vec<bool> {
        self.marked(count, |open| open.incident.kind == kind)
    }

    /// The same of those noticed before a second.
    pub fn older(&self, kind: Kind, before: u64, count: usize) -> Vec<bool> {
        self.marked(count, |open| open.incident.kind == kind && open.incident.noticed < before)
    }

    fn marked(&self, count: usize, which: impl Fn(&Open) -> bool) -> Vec<bool> {
        let mut found = vec![false; count];
        let open = self.open.iter().filter(|open| which(open));
        open.flat_map(|open| &open.cells).for_each(|cell| found[*cell as usize] = true);
        found
    }

    /// Likely onset of the youngest incident of a kind that was noticed since.
    pub fn youngest_onset(&self, kind: Kind, since: u64) -> Option<u64> {
        let open = self.open.iter().filter(|open| open.incident.kind == kind && open.incident.noticed >= since);
        open.map(|open| open.incident.onset.likely).max()
    }

    /// Takes an incident out.
    pub fn take(&mut self, id: u64) -> Option<Open> {
        let at = self.open.iter().position(|open| open.incident.id == id)?;
        Some(self.open.remove(at))
    }

    /// Begins an incident, or continues the one of this kind and scope that ended a short time ago.
    pub fn begin(&mut self, kind: Kind, scope: Scope, placed: Placed, of: usize, now: u64) -> Change {
        self.gone.retain(|(_, at)| at + RETURNS >= now);
        let same = self.gone.iter().position(|(open, _)| open.incident.kind == kind && open.incident.scope == scope);
        let (id, returned) = if let Some(at) = same {
            let before = self.gone.remove(at).0.incident;
            (before.id, before.returned + 1)
        } else {
            self.last += 1;
            (self.last, 0)
        };
        let incident = Incident {
            id,
            kind,
            scope,
            size: placed.size,
            onset: placed.onset,
            affected: placed.affected.len() as u64,
            of: of as u64,
            direction: placed.direction,
            port: None,
            noticed: now,
            returned,
        };
        self.open.push(Open { incident: incident.clone(), cells: placed.affected, quiet: None, instead: None });
        Change::Began { incident }
    }

    /// Ends the incident of a kind and scope at once.
    pub fn end_scope(&mut self, kind: Kind, scope: &Scope, now: u64) -> Option<Change> {
        let at = self.open.iter().position(|open| open.incident.kind == kind && open.incident.scope == *scope)?;
        let open = self.open.remove(at);
        let incident = open.incident.clone();
        self.gone.push((open, now));
        Some(Change::Ended { incident, at: now, ending: Ending::Resolved })
    }

    /// Ends the incident of a kind and scope that another one covers.
    pub fn merge_scope(&mut self, kind: Kind, scope: &Scope, into: u64, now: u64) -> Option<Change> {
        let at = self.open.iter().position(|open| open.incident.kind == kind && open.incident.scope == *scope)?;
        let incident = self.open.remove(at).incident;
        Some(Change::Ended { incident, at: now, ending: Ending::Merged { into } })
    }

    /// Takes out incidents of a kind that were quiet for long enough, each with the second since which they are.
    pub fn quiet(
        &mut self,
        kind: Kind,
        now: u64,
        is_quiet: impl Fn(&Open) -> Option<(bool, bool)>,
    ) -> Vec<(Open, u64)> {
        let mut ended = Vec::new();
        for open in self.open.iter_mut().filter(|open| open.incident.kind == kind) {
            match is_quiet(open) {
                None => {}
                Some((false, _)) => open.quiet = None,
                Some((true, shown)) => {
                    let quiet = *open.quiet.get_or_insert(now);
                    if shown && open.is_over(quiet, now) {
                        ended.push((open.incident.id, quiet));
                    }
                }
            }
        }
        let taken: Vec<(Open, u64)> = ended.into_iter().filter_map(|(id, at)| Some((self.take(id)?, at))).collect();
        self.gone.extend(taken.iter().map(|(open, _)| (open.clone(), now)));
        taken
    }

    /// Makes of a place an incident, or more of one that there is.
    pub fn merge(
        &mut self,
        kind: Kind,
        placed: Placed,
        part: Option<(&Part, usize)>,
        all: usize,
        now: u64,
        changes: &mut Vec<Change>,
    ) {
        let (scope, cells) = match part {
            Some((part, _)) => (part.scope.clone(), part.cells.clone()),
            None => (Scope::Unknown, placed.affected.clone()),
        };
        let of = if scope == Scope::Unknown { all } else { cells.len() };
        let touches =
            |open: &Open| open.incident.kind == kind && open.cells.iter().any(|cell| cells.binary_search(cell).is_ok());
        let touched: Vec<u64> = self.open.iter().filter(|open| touches(open)).map(|open| open.incident.id).collect();
        let Some(first) = touched.first().copied() else {
            if placed.affected.is_empty() {
                return;
            }
            let began = self.begin(kind, scope, placed, of, now);
            if let Some(open) = self.open.last_mut() {
                open.cells = cells;
            }
            changes.push(began);
            return;
        };
        let covers = |open: &Open| open.cells.iter().all(|cell| cells.binary_search(cell).is_ok());
        let Some(open) = self.open.iter_mut().find(|open| open.incident.id == first) else { return };
        if scope == Scope::Unknown {
            return;
        }
        if open.incident.scope == scope {
            open.incident.size = placed.size.or(open.incident.size);
            open.incident.direction = placed.direction.or(open.incident.direction);
            open.incident.affected = placed.affected.len() as u64;
            open.instead = None;
            return;
        }
        let wider = open.incident.scope == Scope::Unknown || covers(open);
        if !wider && open.instead.as_ref() != Some(&scope) {
            open.instead = Some(scope);
            return;
        }
        if open.incident.noticed + YOUNG < now {
            return;
        }
        let incident = &mut open.incident;
        (incident.scope, incident.size, incident.onset) = (scope, placed.size.or(incident.size), placed.onset);
        (incident.affected, incident.of, incident.direction) =
            (placed.affected.len() as u64, of as u64, placed.direction);
        open.instead = None;
        let told = Change::Changed { incident: incident.clone() };
        let merged: Vec<u64> = self
            .open
            .iter()
            .filter(|open| touched[1..].contains(&open.incident.id) && covers(open))
            .map(|open| open.incident.id)
            .collect();
        if let Some(open) = self.open.iter_mut().find(|open| open.incident.id == first) {
            open.cells = cells;
        }
        changes.push(told);
        for id in merged {
            if let Some(open) = self.take(id) {
                changes.push(Change::Ended {
                    incident: open.incident,
                    at: now,
                    ending: Ending::Merged { into: first },
                });
            }
        }
    }

    /// After a restart: finds the cells of incidents again, and drops those that have none.
    pub fn settle_in(&mut self, cells: impl Fn(&Scope) -> Vec<CellId>) {
        for open in self.open.iter_mut().chain(self.gone.iter_mut().map(|gone| &mut gone.0)) {
            open.cells = cells(&open.incident.scope);
        }
        self.open.retain(|open| !open.cells.is_empty());
    }
}
