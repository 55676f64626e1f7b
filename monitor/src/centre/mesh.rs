//! Cells of a plan at a time.

use logbook::host::{Host as Planned, Reach};
use logbook::monitor::plan::{MeshPairs, MonitorPlan, Target};
use logbook::monitor::talk::{CellTask, Over};
use measure::lookout::{Cell, Host, Mesh};
use measure::topology::Topology;

/// The rule by which a plan's hosts ask each other.
pub fn topology(pairs: MeshPairs) -> Topology {
    match pairs {
        MeshPairs::All => Topology::All,
        MeshPairs::Zones => Topology::ZONES,
        MeshPairs::Random(partners) => Topology::Random { partners: partners as usize },
        MeshPairs::Rotation => Topology::Rotation,
    }
}

/// Hosts of the plan, then its targets: by their places they are named.
pub fn hosts(plan: &MonitorPlan) -> Vec<Host> {
    let zones = plan.zones();
    let agents = plan.hosts.iter().map(|host| (&host.name, machine(host)));
    let named = agents.chain(plan.targets.iter().map(|target| (&target.name, None)));
    named
        .map(|(name, machine)| Host {
            name: name.clone(),
            zone: zones.get(name.as_str()).map(|zone| (*zone).to_owned()),
            machine,
        })
        .collect()
}

/// The machine that a host shares: as the plan says, by `machine` or the label of that name; this one, where it is one of its namespaces.
fn machine(host: &Planned) -> Option<String> {
    let said = host.machine.as_deref().or_else(|| host.label("machine"));
    let here = matches!(host.reach, Reach::Local | Reach::Namespace(_)).then_some("localhost");
    said.or(here).map(str::to_owned)
}

/// The cells of an epoch.
pub fn mesh(plan: &MonitorPlan, seed: u64, epoch: u64) -> Mesh {
    let hosts = hosts(plan);
    let with_agents = &hosts[..plan.hosts.len()];
    let pairs = topology(plan.measure.pairs).pairs(with_agents, seed, epoch);
    let mut cells: Vec<Cell> = pairs
        .iter()
        .flat_map(|(from, to)| {
            plan.measure.over.iter().map(|over| Cell { from: *from, to: *to, over: over.name().to_owned() })
        })
        .collect();
    for (at, target) in plan.targets.iter().enumerate() {
        let to = (plan.hosts.len() + at) as u32;
        let asks = |name: &str| target.from.as_ref().is_none_or(|from| from.iter().any(|from| from == name));
        let from = plan.hosts.iter().enumerate().filter(|(_, host)| asks(&host.name));
        cells.extend(from.map(|(from, _)| Cell { from: from as u32, to, over: target.over().name().to_owned() }));
    }
    cells.sort();
    cells.dedup();
    Mesh { hosts, cells }
}

/// The tasks of the host at `from`, of the cells of `mesh`; programs at work apart, as the second.
pub fn tasks_apart(plan: &MonitorPlan, mesh: &Mesh, from: u32) -> (Vec<CellTask>, Vec<CellTask>) {
    tasks(plan, mesh, from).into_iter().partition(|task| task.program.is_none())
}

fn tasks(plan: &MonitorPlan, mesh: &Mesh, from: u32) -> Vec<CellTask> {
    mesh.cells.iter().filter(|cell| cell.from == from).filter_map(|cell| task(plan, cell)).collect()
}

fn task(plan: &MonitorPlan, cell: &Cell) -> Option<CellTask> {
    let over = Over::named(&cell.over)?;
    let near = plan.hosts.get(cell.from as usize)?;
    let every_ns = plan.measure.every;
    if let Some(target @ Target { name, address, port, .. }) =
        (cell.to as usize).checked_sub(plan.hosts.len()).and_then(|at| plan.targets.get(at))
    {
        let program = target.program();
        return Some(CellTask { to: name.clone(), address: address.clone(), port: *port, over, every_ns, program });
    }
    let far = plan.hosts.get(cell.to as usize)?;
    let address = far.seen_from(near, plan.measure.address, None)?.to_string();
    let port = (over != Over::Icmp).then_some(plan.measure.port);
    Some(CellTask { to: far.name.clone(), address, port, over, every_ns, program: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(extra: &str) -> MonitorPlan {
        let host = |name: &str, at: u8| {
            format!("[[hosts]]\nname = \"{name}\"\nreach = \"local\"\ninternal = \"10.0.0.{at}\"\n")
        };
        let text = format!("{extra}{}{}{}", host("a", 1), host("b", 2), host("c", 3));
        MonitorPlan::read(&text, "plan").unwrap()
    }

    #[test]
    fn three_hosts_ask_each_other_and_a_target_is_asked_by_those_that_are_to() {
        let plan = plan("[[targets]]\nname = \"web\"\naddress = \"web.example\"\nport = 443\nfrom = [\"b\"]\n");
        let mesh = mesh(&plan, 1, 1);
        assert_eq!(mesh.cells.len(), 7);
        let tasks = tasks(&plan, &mesh, 1);
        assert_eq!(tasks.iter().map(|task| task.to.as_str()).collect::<Vec<_>>(), ["a", "c", "web"]);
        assert_eq!((tasks[0].address.as_str(), tasks[0].port), ("10.0.0.1", Some(7_665)));
        assert_eq!((tasks[2].port, tasks[2].over), (Some(443), Over::TcpConnect));
    }

    #[test]
    fn a_program_is_asked_by_its_url() {
        let plan = plan("[[targets]]\nname = \"api\"\nurl = \"https://api/health\"\ninsecure = true\n");
        let (cells, programs) = tasks_apart(&plan, &mesh(&plan, 1, 1), 0);
        assert_eq!(cells.len(), 2);
        let [CellTask { over: Over::Url, program: Some(program), to, .. }] = &*programs else { panic!("{programs:?}") };
        assert_eq!((&**to, &*program.url, program.insecure), ("api", "https://api/health", true));
    }

    #[test]
    fn hosts_share_the_machine_that_the_plan_says_else_this_one() {
        let mut plan = plan("[[targets]]\nname = \"web\"\naddress = \"web.example\"\nport = 443\n");
        plan.hosts[0].machine = Some("rack-7".to_owned());
        plan.hosts[1].labels.insert("machine".to_owned(), "rack-8".to_owned());
        let machines: Vec<_> = hosts(&plan).into_iter().map(|host| host.machine).collect();
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(machines, [named("rack-7"), named("rack-8"), named("localhost"), None]);
    }
}
