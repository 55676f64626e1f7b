//! Reach of a plan: the changes that it will notice, and the time until then, before anything is measured.

use logbook::monitor::plan::MonitorPlan;
use measure::lookout::{Mesh, delay};
use measure::topology::Outlook;
use report::number::count;
use serde::Serialize;

use super::mesh::topology;
use super::settings;

/// All of it. An absent value stands for a change that is never noticed, or a pair that never has its turn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Foresight {
    format: &'static str,
    version: u32,
    hosts: usize,
    targets: usize,
    cells: usize,
    /// Requests of all hosts together.
    requests_per_second: f64,
    /// Cells of the host that asks most.
    cells_of_a_host: u64,
    /// Share of all ordered pairs of hosts that are measured at a time.
    covered: Option<f64>,
    /// Until every pair had its turn.
    covered_after_s: Option<u64>,
    /// Until medians are judged.
    judged_after_s: Option<u64>,
    silence_noticed_after_s: f64,
    /// Time until a loss of 1 % is noticed at the host whose cells make the fewest requests.
    loss_noticed_after_s: Option<f64>,
    slower_noticed: Option<Slower>,
}

/// Time after which it is noticed that one cell is 30 % slower.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Slower {
    within_s: u64,
    /// Share of cases in which it is noticed.
    share: f64,
}

impl Foresight {
    /// Foresight for a plan whose cells are `mesh`.
    pub fn of(plan: &MonitorPlan, mesh: &Mesh) -> Self {
        let (hosts, every) = (plan.hosts.len(), plan.measure.every);
        let ways = plan.measure.over.len() as u32;
        let topology = topology(plan.measure.pairs);
        let outlook = Outlook::of(topology, &mesh.hosts[..hosts], 0, ways, every, plan.measure.timeout);
        let per_second = 1e9 / every.0.max(1) as f64;
        let of = |is: &dyn Fn(u32, u32) -> bool| mesh.cells.iter().filter(|cell| is(cell.from, cell.to)).count();
        let ids = 0..hosts as u32;
        let fewest = ids.clone().map(|host| of(&|from, to| from == host || to == host)).min().unwrap_or(0);
        let loss = delay::of_loss(&settings(plan, mesh), mesh.cells.len(), fewest as f64 * per_second, 0.01);
        Self {
            format: "sonde-monitor-check",
            version: 1,
            hosts,
            targets: plan.targets.len(),
            cells: mesh.cells.len(),
            requests_per_second: mesh.cells.len() as f64 * per_second,
            cells_of_a_host: ids.map(|host| of(&|from, _| from == host)).max().unwrap_or(0) as u64,
            covered: outlook.covered,
            covered_after_s: match topology.epochs_to_cover(hosts) {
                Some(1) => Some(0),
                // Zones of a host each leave no pair out.
                _ if outlook.covered.is_some_and(|share| share >= 1.0) => Some(0),
                _ => outlook.cover_seconds,
            },
            judged_after_s: delay::of_warm_up(every),
            silence_noticed_after_s: outlook.silence_seconds,
            loss_noticed_after_s: loss,
            slower_noticed: delay::of_slower(every).map(|(within_s, share)| Slower { within_s, share }),
        }
    }

    /// In sentences that follow another one.
    pub fn text(&self) -> String {
        let covered = match self.covered_after_s {
            Some(0) => "every pair is measured all the time".to_owned(),
            Some(after) => format!("every pair has its turn within {:.1} h", after as f64 / 3_600.0),
            None => "some pairs are never measured".to_owned(),
        };
        let loss = match self.loss_noticed_after_s {
            Some(after) => format!("1 % lost at a host after about {}", lasting(after)),
            None => "1 % lost at a host is not noticed".to_owned(),
        };
        let slower = match self.slower_noticed {
            Some(Slower { within_s, share }) => {
                format!("one cell 30 % slower within {}, {:.0} times in 100", lasting(within_s as f64), share * 100.0)
            }
            None => "how soon one slower cell is noticed is not known for so few requests".to_owned(),
        };
        let judged = self.judged_after_s.map_or_else(
            || "medians are never judged: there are too few requests".to_owned(),
            |after| format!("medians are judged from {} on", lasting(after as f64)),
        );
        format!(
            " A host has at most {}; {covered}.\nNoticed: a silent host or pair after about {}; {loss}; {slower}; {judged}.",
            count(self.cells_of_a_host, "cell", "cells"),
            lasting(self.silence_noticed_after_s),
        )
    }

    /// For programs.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("our types have string keys alone")
    }
}

/// `5 s`, `12 min`.
fn lasting(seconds: f64) -> String {
    if seconds < 120.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}

#[cfg(test)]
mod tests {
    use super::super::mesh::mesh;
    use super::*;

    fn foreseen(every: &str) -> Foresight {
        let host = |at: u8| format!("[[hosts]]\nname = \"h{at}\"\nreach = \"local\"\ninternal = \"10.0.0.{at}\"\n");
        let hosts: String = (1..=6).map(host).collect();
        let plan = MonitorPlan::read(&format!("{hosts}[measure]\nevery = \"{every}\"\n"), "plan").unwrap();
        Foresight::of(&plan, &mesh(&plan, 0, 0))
    }

    #[test]
    fn a_plan_says_how_soon_it_notices_what() {
        let seldom = foreseen("1s");
        assert_eq!((seldom.cells, seldom.cells_of_a_host, seldom.covered), (30, 5, Some(1.0)));
        assert_eq!((seldom.silence_noticed_after_s, seldom.judged_after_s), (5.0, Some(900)));
        assert_eq!(seldom.slower_noticed, Some(Slower { within_s: 3_600, share: 0.67 }));
        let often = foreseen("100ms");
        assert_eq!((often.slower_noticed.unwrap().within_s, often.judged_after_s), (360, Some(150)));
        // The tables have about 41 s at 100 requests a second of a host.
        assert!((30.0..60.0).contains(&often.loss_noticed_after_s.unwrap()), "{often:?}");
        assert!(often.loss_noticed_after_s < seldom.loss_noticed_after_s);
        let text = often.text();
        assert!(text.contains("within 6 min, 97 times in 100") && text.contains("at most 5 cells"), "{text}");
        let rare = foreseen("30s");
        assert_eq!((rare.slower_noticed, rare.judged_after_s), (None, None));
        assert!(rare.json().contains("\"judged_after_s\": null"));
    }
}
