//! The stages `provision` and `teardown`: machines that a plan wants are made and removed, as `sonde lab cloud` does it.

use cloud::wanted::Group;
use logbook::host::Host;
use logbook::machines::Machines;
use logbook::plan::Plan;
use logbook::run::{RunDocument, Stage};
use uuid::Uuid;

use crate::command::lab::cloud::Room;
use crate::command::lab::cloud::down::by_ledger;
use crate::command::lab::cloud::options::CallOptions;
use crate::command::lab::cloud::up::{Made, Order, make, refuse_while_owed};
use crate::failure::Failure;

/// An address that stands for a machine that is not made yet (RFC 5737).
const NOBODY: &str = "192.0.2.1";

/// The machines of a run's plan.
#[derive(Debug)]
pub struct Provision {
    orders: Vec<Order>,
    attended: bool,
}

impl Provision {
    /// Those that `run` wants, where these stages make them; `None`: they make none. Everything that can be refused before a
    /// machine is made is refused here.
    ///
    /// # Errors
    /// Settings of a cloud that make no sense, a key that cannot be read, machines that were made before.
    pub fn of(run: &RunDocument, stages: &[Stage], room: &Room) -> Result<Option<Self>, Failure> {
        let made = is_made(run);
        let on_hosts = stages.iter().any(|stage| is_of_hosts(*stage));
        if run.stages.contains(&Stage::Teardown) && (on_hosts || stages.contains(&Stage::Provision)) {
            let what = format!("run {}: its machines were removed", run.head.id);
            return Err(Failure::usage(what).hint("begin a new run of its plan"));
        }
        if !stages.contains(&Stage::Provision) {
            let missing = || {
                Failure::usage(format!("run {}: its machines are not made", run.head.id))
                    .hint("the stage provision makes them first")
            };
            return if on_hosts && !made { Err(missing()) } else { Ok(None) };
        }
        if made {
            let what = format!("run {}: its machines are made already", run.head.id);
            return Err(Failure::usage(what).hint("go on with the stages prepare and run, or remove them by teardown"));
        }
        let order = |(place, machines): (usize, &Machines)| {
            Order::of(machines, groups(machines), name(run.head.id, place), room)
        };
        let orders = run.plan.machines.iter().enumerate().map(order).collect::<Result<_, _>>()?;
        Ok(Some(Self { orders, attended: stages.contains(&Stage::Teardown) }))
    }

    /// The plan with its machines as they will be: what it asks of them can be looked at before there are any.
    pub fn foreseen(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        for order in &self.orders {
            add(&mut plan.hosts, order.foreseen(NOBODY));
        }
        plan
    }

    /// Makes all of them; they are hosts of `run` then. As long as what comes back is there nobody else removes them.
    ///
    /// # Errors
    /// A machine that could not be made, or a signal: then everything was removed, or is owed.
    pub fn make(&self, run: &mut RunDocument, room: &Room) -> Result<Vec<Made>, Failure> {
        refuse_while_owed(room, "")?;
        let mut all: Vec<Made> = Vec::new();
        for order in &self.orders {
            match make(order, &CallOptions::default(), self.attended, room) {
                Ok(made) => all.push(made),
                Err(told) => {
                    release(all);
                    let left = remove(run, &room.going_on());
                    let mut failure = room.failure(told);
                    if let Err(left) = left {
                        failure.told.what = format!("{}; and {}", failure.told.what, left.told.what);
                        failure.told.hint = left.told.hint.or(failure.told.hint);
                    }
                    return Err(failure);
                }
            }
        }
        for made in &all {
            add(&mut run.plan.hosts, made.hosts.clone());
        }
        Ok(all)
    }
}

/// Lets go of machines, so that they can be removed.
pub fn release(all: Vec<Made>) {
    all.into_iter().for_each(Made::release);
}

/// Removes the machines of a run; those that are gone already are.
///
/// # Errors
/// The first that could not be removed: it is owed.
pub fn remove(run: &RunDocument, room: &Room) -> Result<(), Failure> {
    let calls = CallOptions::default();
    let one = |place: usize| {
        let name = name(run.head.id, place);
        match room.shelf().take(&name, calls.call_timeout, room.stop())? {
            Some(book) => by_ledger(book, &calls, room),
            None => Ok(()),
        }
    };
    let removed: Vec<_> = (0..run.plan.machines.len()).map(one).collect();
    removed.into_iter().find_map(Result::err).map_or(Ok(()), |told| Err(room.failure(told)))
}

/// True where a stage is done on hosts, not on a cloud.
pub fn is_of_hosts(stage: Stage) -> bool {
    !matches!(stage, Stage::Provision | Stage::Teardown)
}

/// True where the machines that the plan wants are among its hosts.
fn is_made(run: &RunDocument) -> bool {
    let first = name(run.head.id, 0);
    run.plan.hosts.iter().any(|host| host.label("run") == Some(&*first))
}

/// The name of the machines for the table at this place of a run's plan, as the cloud's tags take it.
fn name(run: Uuid, place: usize) -> String {
    let digits = run.simple().to_string();
    format!("r{}{place:02}", &digits[digits.len() - 12..])
}

fn groups(machines: &Machines) -> Vec<Group> {
    let Machines { zones, machine_type, count, image, .. } = machines;
    let group = |zone: &String| Group {
        zone: zone.clone(),
        machine_type: machine_type.clone(),
        count: *count,
        image: image.clone(),
    };
    zones.iter().map(group).collect()
}

/// Puts hosts behind others; one whose name is taken gets another.
fn add(hosts: &mut Vec<Host>, more: Vec<Host>) {
    for mut host in more {
        let name = host.name.clone();
        let taken = |name: &str| hosts.iter().any(|host| host.name == name);
        let free = std::iter::once(name.clone()).chain((2_u32..).map(|nth| format!("{name}-{nth}")));
        host.name = free.into_iter().find(|name| !taken(name)).unwrap_or(name);
        hosts.push(host);
    }
}
