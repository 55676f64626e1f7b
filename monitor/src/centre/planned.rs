//! The plan in force: the cells that it draws, what each agent is told of it, and the change to another.

use std::collections::{BTreeMap, HashMap};

use logbook::monitor::plan::MonitorPlan;
use logbook::monitor::talk::{Assignment, Order, Over};
use measure::lookout::{self, Lookout, Mesh, Settings};

use super::cells::Live;
use super::host::Host;
use super::{Centre, WAY, WEEK, mesh, now};
use crate::store;

impl Centre {
    pub(super) fn assign(&self, at: usize) {
        let Some(line) = self.hosts[at].line else { return };
        let (cells, programs) = mesh::tasks_apart(&self.plan, &self.mesh, at as u32);
        let assignment = Assignment {
            revision: self.revision,
            host: self.plan.hosts[at].name.clone(),
            port: Some(self.plan.measure.port),
            key: Some(self.tools.key.clone()),
            timeout_ns: self.plan.measure.timeout,
            cells,
            programs,
        };
        self.order(line, &Order::Assign(assignment));
    }

    /// The cells are others now: those that stay keep what is known of them, and all agents hear.
    pub(super) fn redraw(&mut self) {
        let mesh = mesh::mesh(&self.plan, self.state.seed, self.epoch);
        if mesh == self.mesh {
            return;
        }
        let known: HashMap<_, _> =
            self.mesh.cells.iter().enumerate().map(|(at, cell)| (key(&self.mesh, cell), at)).collect();
        let live =
            mesh.cells.iter().map(|cell| known.get(&key(&mesh, cell)).map(|at| std::mem::take(&mut self.live[*at])));
        self.live = live.map(Option::unwrap_or_default).collect();
        self.mesh = mesh;
        let settings = settings(&self.plan, &self.mesh);
        let none = Lookout::new(settings, Mesh::default());
        self.lookout = std::mem::replace(&mut self.lookout, none).over(settings, self.mesh.clone());
        self.revision += 1;
        self.has_news = true;
        self.settle_in();
        self.end_unwatched(now());
        (0..self.hosts.len()).for_each(|at| self.assign(at));
    }

    /// Makes room for what is known of each cell of the mesh.
    pub(super) fn settle_in(&mut self) {
        self.live.resize_with(self.mesh.cells.len(), Live::default);
        self.ids = self.mesh.hosts.iter().zip(0..).map(|(host, id)| (host.name.clone(), id)).collect();
    }

    /// The cell of the mesh, whose cells are in order, by which a host asks another.
    pub(super) fn cell(&self, from: u32, to: &str, over: Over) -> Option<u32> {
        let wanted = (from, *self.ids.get(to)?, over.name());
        let cells = &self.mesh.cells;
        Some(cells.binary_search_by(|cell| (cell.from, cell.to, cell.over.as_str()).cmp(&wanted)).ok()? as u32)
    }

    pub(super) fn reload(&mut self) {
        let plan = match self.tools.plan.read(false) {
            Ok(plan) if plan == self.plan => return,
            Ok(plan) => plan,
            Err(error) => return self.say(&format!("the plan that is in force stays: {error:#}")),
        };
        let now = now();
        let mut old: BTreeMap<String, (logbook::host::Host, Host)> = BTreeMap::new();
        for (host, known) in self.plan.hosts.iter().zip(self.hosts.drain(..)) {
            old.insert(host.name.clone(), (host.clone(), known));
        }
        self.hosts = plan
            .hosts
            .iter()
            .enumerate()
            .map(|(at, host)| match old.remove(&host.name) {
                Some((before, mut known)) if before == *host => {
                    known.id = at as u32;
                    known
                }
                _ => Host::new(at as u32, now),
            })
            .collect();
        let lines: HashMap<u64, usize> =
            self.hosts.iter().enumerate().filter_map(|(at, host)| Some((host.line?, at))).collect();
        // Agents of hosts that are gone go on with nothing to measure, until they are removed.
        for (_, gone) in old.into_values() {
            if let Some(line) = gone.line {
                self.order(
                    line,
                    &Order::Assign(Assignment {
                        revision: self.revision + 1,
                        host: String::new(),
                        port: None,
                        key: None,
                        timeout_ns: plan.measure.timeout,
                        cells: Vec::new(),
                        programs: Vec::new(),
                    }),
                );
                self.switchboard.hang_up(line);
            }
        }
        self.lines = lines;
        self.plan = plan;
        self.epoch = epoch(&self.plan, now);
        self.mesh.cells.clear();
        self.live.clear();
        self.redraw();
        self.note_open(now);
        self.say(&format!("the plan changed: {}", told(&self.plan, &self.mesh)));
    }
}

/// Measurements of a plan, in a few words.
pub fn told(plan: &MonitorPlan, mesh: &Mesh) -> String {
    let targets = if plan.targets.is_empty() { String::new() } else { format!(" and {} targets", plan.targets.len()) };
    let rate = mesh.cells.len() as f64 * 1e9 / plan.measure.every.0 as f64;
    format!("{} hosts{targets}, {} cells, {rate:.0} requests a second in all", plan.hosts.len(), mesh.cells.len())
}

/// The epoch at second `now`.
pub fn epoch(plan: &MonitorPlan, now: u64) -> u64 {
    now / mesh::topology(plan.measure.pairs).epoch_seconds(plan.hosts.len())
}

pub(super) fn key(mesh: &Mesh, cell: &lookout::Cell) -> (String, String, String) {
    let name = |at: u32| mesh.hosts[at as usize].name.clone();
    (name(cell.from), name(cell.to), cell.over.clone())
}

/// The plan's rate of false alarms, as the lookout counts it.
pub(super) fn settings(plan: &MonitorPlan, mesh: &Mesh) -> Settings {
    let cell_days = mesh.cells.len() as f64 * WEEK / plan.notice.false_alarms_a_week;
    Settings { cell_days: cell_days.max(1.0), settle: plan.measure.timeout.0.div_ceil(1_000_000_000) + WAY }
}

pub(super) fn retention(plan: &MonitorPlan) -> store::Retention {
    let days = |count: u32| u64::from(count) * 86_400;
    store::Retention {
        minutes: Some(days(plan.keep.minutes_days)),
        hours: Some(days(plan.keep.hours_days)),
        days: plan.keep.days_days.map(days),
    }
}
