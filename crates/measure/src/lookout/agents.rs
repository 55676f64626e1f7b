//! The lookout's judgement of agents and their machines: who reports nothing, and who is late itself.

use super::agent::Agent;
use super::incident::{Change, Kind, Onset, Role, Scope, Size};
use super::place::Placed;
use super::{Cell, CellId, HostId, Lookout, client};

impl Lookout {
    pub(super) fn judge_agents(&mut self, now: u64, changes: &mut Vec<Change>) {
        let (settle, since) = (self.settings.settle, self.since);
        let probing: Vec<usize> = (0..self.probed.len()).filter(|host| !self.probed[*host].is_empty()).collect();
        let quiet = probing.iter().filter(|host| self.agents[**host].is_silent(now, settle, since)).count();
        // Where nobody reports, that is one fact: it may be this end.
        let had = self.incidents.has(Kind::AgentSilent, &Scope::Everything);
        let all = quiet > 1 && if had { quiet * 2 > probing.len() } else { quiet == probing.len() };
        let last = self.agents.iter().filter_map(|agent| agent.last).max();
        let scope = Scope::Everything;
        self.tell(&Fact { kind: Kind::AgentSilent, scope, is: all, last, size: None }, now, changes);
        self.judge_machines(now, changes);
        for host in probing {
            let (agent, name) = (self.agents[host], &self.mesh.hosts[host].name);
            let scope = client(name);
            let had = |kind| self.incidents.has(kind, &scope);
            let alone = had(Kind::AgentSilent) || !(all || self.incidents.is_host_lost(name));
            let is_silent = agent.is_silent(now, settle, since) && alone;
            let had_overload = had(Kind::Overloaded);
            // An overload that its machine already has is not reported again for the host.
            let is_overloaded = agent.is_overloaded(had_overload)
                && (had_overload || !self.incidents.is_overloaded(&self.mesh.hosts[host]));
            let size = agent.disturbed().map(Size::Disturbed);
            let silent =
                Fact { kind: Kind::AgentSilent, scope: scope.clone(), is: is_silent, last: agent.last, size: None };
            self.tell(&silent, now, changes);
            self.tell(&Fact { kind: Kind::Overloaded, scope, is: is_overloaded, last: None, size }, now, changes);
        }
    }

    /// Where most hosts of a machine are late, that is one fact.
    pub(super) fn judge_machines(&mut self, now: u64, changes: &mut Vec<Change>) {
        for (machine, hosts) in self.machines.clone() {
            let scope = Scope::Machine { machine };
            let had = self.incidents.has(Kind::Overloaded, &scope);
            let agents: Vec<Agent> = hosts.iter().map(|host| self.agents[*host]).collect();
            let is = Agent::is_machine_overloaded(&agents, had);
            let size = agents.iter().filter_map(Agent::disturbed).max_by(f64::total_cmp).map(Size::Disturbed);
            self.tell(&Fact { kind: Kind::Overloaded, scope, is, last: None, size }, now, changes);
            let Some(Change::Began { incident }) = changes.last().filter(|_| is && !had) else { continue };
            let into = incident.id;
            for host in hosts {
                let scope = client(&self.mesh.hosts[host].name);
                changes.extend(self.incidents.merge_scope(Kind::Overloaded, &scope, into, now));
            }
        }
    }

    /// Cells that an incident of this scope is about.
    pub(super) fn cells_of(&self, scope: &Scope) -> Vec<CellId> {
        let of = |is: &dyn Fn(&Cell) -> bool| {
            self.mesh.cells.iter().zip(0..).filter(|(cell, _)| is(cell)).map(|(_, id)| id).collect()
        };
        let named = |at: HostId| &self.mesh.hosts[at as usize];
        match scope {
            Scope::Everything | Scope::Unknown => of(&|_| true),
            Scope::Machine { machine } => of(&|cell| named(cell.from).machine.as_ref() == Some(machine)),
            Scope::Host { host, role } => of(&|cell| {
                (*role != Role::Server && named(cell.from).name == *host)
                    || (*role != Role::Client && named(cell.to).name == *host)
            }),
            scope => self.parts.iter().find(|part| part.scope == *scope).map_or(Vec::new(), |part| part.cells.clone()),
        }
    }

    fn tell(&mut self, fact: &Fact, now: u64, changes: &mut Vec<Change>) {
        let had = self.incidents.has(fact.kind, &fact.scope);
        if fact.is && !had {
            let affected = self.cells_of(&fact.scope);
            let onset = match fact.last {
                Some(last) => Onset { earliest: last + 1, likely: last + 1, latest: last + 2 },
                // Told after a part of a minute, in which it began.
                None => Onset { earliest: now.saturating_sub(60), likely: now.saturating_sub(20), latest: now },
            };
            let of = affected.len();
            let placed = Placed { part: None, size: fact.size, onset, affected, direction: None };
            changes.push(self.incidents.begin(fact.kind, fact.scope.clone(), placed, of, now));
        } else if !fact.is && had {
            changes.extend(self.incidents.end_scope(fact.kind, &fact.scope, now));
        }
    }
}

/// The state of one agent, of those of a machine, or of all.
struct Fact {
    kind: Kind,
    scope: Scope,
    is: bool,
    /// Last second that was reported, for an incident about reports.
    last: Option<u64>,
    size: Option<Size>,
}
