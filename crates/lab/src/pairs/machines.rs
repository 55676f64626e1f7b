//! Hosts on one machine: those that the plan says so of, those that are this machine or namespaces of it, and those whose
//! kernel told the same name.

use std::collections::BTreeMap;

use logbook::host::{Host, Reach};

/// The machine of each host, as a number that hosts of one machine share. `kernels`: what each host's kernel called its present
/// run (`boot_id`), in the order of the hosts, where it is known.
pub fn machines(hosts: &[Host], kernels: &[Option<String>]) -> Vec<usize> {
    let mut machine: Vec<usize> = (0..hosts.len()).collect();
    let mut first_of: BTreeMap<Key<'_>, usize> = BTreeMap::new();
    for (place, host) in hosts.iter().enumerate() {
        let said = host.machine.as_deref().map(Key::Said);
        let here = matches!(host.reach, Reach::Local | Reach::Namespace(_)).then_some(Key::Here);
        let kernel = kernels.get(place).and_then(Option::as_deref).map(Key::Kernel);
        for key in [said, here, kernel].into_iter().flatten() {
            let first = *first_of.entry(key).or_insert(place);
            join(&mut machine, first, place);
        }
    }
    (0..hosts.len()).map(|place| root(&machine, place)).collect()
}

/// Facts by which hosts are known to share a machine.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key<'a> {
    /// This one.
    Here,
    /// The plan says so.
    Said(&'a str),
    /// Their kernel says so.
    Kernel(&'a str),
}

/// The lowest host of the machine of `place`.
fn root(machine: &[usize], mut place: usize) -> usize {
    while machine[place] != place {
        place = machine[place];
    }
    place
}

fn join(machine: &mut [usize], one: usize, other: usize) {
    let (one, other) = (root(machine, one), root(machine, other));
    machine[one.max(other)] = one.min(other);
}
