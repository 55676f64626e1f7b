//! Parts of a mesh that a cause can have: hosts by role, pairs, zones and what lies between them.

use std::collections::{BTreeMap, BTreeSet};

use super::incident::{Role, Scope};
use super::{CellId, Mesh};

/// Partners that a host needs for its own fault to differ from that of a path.
const PARTNERS: usize = 3;

/// A part of the mesh.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name.
    pub scope: Scope,
    /// Its cells, ascending.
    pub cells: Vec<CellId>,
    /// True where its cells are also watched together.
    pub together: bool,
}

/// All parts, the smallest kinds first, each set of cells once, and the parts of each cell.
pub fn parts(mesh: &Mesh) -> (Vec<Part>, Vec<Vec<u32>>) {
    let mut sets: BTreeMap<(u8, Scope), Vec<CellId>> = BTreeMap::new();
    for (id, _) in mesh.cells.iter().enumerate() {
        for key in scopes(mesh, id as CellId) {
            sets.entry(key).or_default().push(id as CellId);
        }
    }
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let partners = partners(mesh);
    for ((rank, scope), cells) in sets {
        if seen.insert(cells.clone()) {
            found.push(Part { together: rank > 1 && cells.len() > 1, scope: doubted(scope, &partners), cells });
        }
    }
    let mut of = vec![Vec::new(); mesh.cells.len()];
    for (index, part) in found.iter().enumerate() {
        part.cells.iter().for_each(|cell| of[*cell as usize].push(index as u32));
    }
    // They stay as long as the mesh does.
    found.shrink_to_fit();
    of.iter_mut().for_each(Vec::shrink_to_fit);
    (found, of)
}

/// Every part that a cell belongs to, with its rank: of parts with the same cells the first is kept.
fn scopes(mesh: &Mesh, id: CellId) -> Vec<(u8, Scope)> {
    let cell = &mesh.cells[id as usize];
    let [from, to] = [cell.from, cell.to].map(|host| &mesh.hosts[host as usize]);
    let host = |name: &String, role| Scope::Host { host: name.clone(), role };
    let both = |one: &String, other: &String| (one.min(other).clone(), one.max(other).clone());
    let pair = both(&from.name, &to.name);
    let mut found = vec![
        (0, Scope::Pair { from: from.name.clone(), to: to.name.clone(), both_ways: false }),
        (1, Scope::Pair { from: pair.0, to: pair.1, both_ways: true }),
        (2, host(&from.name, Role::Client)),
        (2, host(&to.name, Role::Server)),
        (3, host(&from.name, Role::Both)),
        (3, host(&to.name, Role::Both)),
        (7, Scope::Everything),
    ];
    let zones = [&from.zone, &to.zone].map(|zone| zone.clone().unwrap_or_default());
    let [one, other] = zones;
    if one == other {
        if mesh.hosts.iter().any(|host| host.zone.as_deref().unwrap_or_default() != one) {
            found.push((6, Scope::Zone { zone: one }));
        }
    } else {
        let (first, second) = both(&one, &other);
        found.push((4, Scope::Zones { from: one, to: other, both_ways: false }));
        found.push((5, Scope::Zones { from: first, to: second, both_ways: true }));
    }
    found
}

fn partners(mesh: &Mesh) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for cell in &mesh.cells {
        let [from, to] = [cell.from, cell.to].map(|host| mesh.hosts[host as usize].name.as_str());
        found.entry(from).or_default().insert(to);
        found.entry(to).or_default().insert(from);
    }
    found
}

fn doubted(scope: Scope, partners: &BTreeMap<&str, BTreeSet<&str>>) -> Scope {
    match scope {
        Scope::Pair { from, to, both_ways } => {
            let count = |host: &String| partners[host.as_str()].len();
            let host = if count(&from) <= count(&to) { from.clone() } else { to.clone() };
            if count(&host) < PARTNERS {
                Scope::HostOrPair { host, from, to, both_ways }
            } else {
                Scope::Pair { from, to, both_ways }
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookout::{Cell, Host};

    fn mesh(zones: &[&str]) -> Mesh {
        let hosts: Vec<Host> = zones
            .iter()
            .enumerate()
            .map(|(k, zone)| Host { name: format!("h{k}"), zone: Some((*zone).to_owned()), machine: None })
            .collect();
        let count = hosts.len() as u32;
        let pairs = (0..count).flat_map(|from| (0..count).filter(move |to| *to != from).map(move |to| (from, to)));
        let cells = pairs.map(|(from, to)| Cell { from, to, over: "udp".to_owned() }).collect();
        Mesh { hosts, cells }
    }

    #[test]
    fn a_set_of_cells_is_one_part_under_its_smallest_name() {
        let (found, of) = parts(&mesh(&["p", "p"]));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().all(|part| matches!(part.scope, Scope::HostOrPair { .. })));
        assert_eq!(of, [vec![0, 2], vec![1, 2]]);
    }

    #[test]
    fn six_hosts_of_two_zones_have_all_kinds_of_parts() {
        let (found, of) = parts(&mesh(&["p", "p", "p", "q", "q", "q"]));
        let count = |of: fn(&Scope) -> bool| found.iter().filter(|part| of(&part.scope)).count();
        assert_eq!(count(|scope| matches!(scope, Scope::Pair { .. })), 30 + 15);
        assert_eq!(count(|scope| matches!(scope, Scope::Host { .. })), 18);
        assert_eq!(count(|scope| matches!(scope, Scope::Zones { .. })), 3);
        assert_eq!(count(|scope| matches!(scope, Scope::Zone { .. })), 2);
        assert_eq!(count(|scope| matches!(scope, Scope::Everything)), 1);
        assert!(of.iter().all(|parts| parts.len() == 8 || parts.len() == 9));
    }
}
