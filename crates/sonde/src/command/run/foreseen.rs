//! A plan as it would be carried out: its hosts with their addresses, its pairs, its rounds and their time; for people and as JSON.

use std::fmt;

use lab::campaign::Measure;
use lab::pairs::{self, Chosen, Pair};
use lab::rounds;
use logbook::host::Reach;
use logbook::host::data::{DataAddress, DataAddresses};
use logbook::plan::Plan;
use measure::unit::Nanos;
use report::number::count;
use serde::Serialize;

use super::announce::takes;
use crate::command::study::trials::Span;
use crate::failure::Failure;

/// Head of the column of ways.
const WAY: &str = "reached by";
/// Narrowest column of a host's name.
const NAME: usize = 4;

/// The work that would be done.
#[derive(Debug, Serialize)]
pub struct Foreseen<'a> {
    format: &'static str,
    version: u32,
    hosts: Vec<HostSeen<'a>>,
    pairs: Vec<(&'a str, &'a str)>,
    /// Pairs that are measured at the same time, of one repeat; their order is drawn when the plan is carried out.
    rounds: Vec<Vec<(&'a str, &'a str)>>,
    methods: Vec<MethodSeen<'a>>,
    repeats: u32,
    cells: usize,
    expected_ns: Nanos,
}

#[derive(Debug, Serialize)]
struct HostSeen<'a> {
    name: &'a str,
    reach: &'a Reach,
    internal: Vec<String>,
    external: Vec<String>,
    takes_part: bool,
}

#[derive(Debug, Serialize)]
struct MethodSeen<'a> {
    name: &'a str,
    command: String,
    expected_ns: Nanos,
}

impl<'a> Foreseen<'a> {
    /// That of `plan`, whose pairs and methods these are.
    pub fn of(plan: &'a Plan, chosen: &Chosen, measures: &'a [Measure]) -> Self {
        let named = |pair: &Pair| (plan.hosts[pair.first].name.as_str(), plan.hosts[pair.second].name.as_str());
        let all = chosen.pairs.pairs();
        let rounds = rounds::of(&chosen.pairs, &pairs::machines(&plan.hosts, &[]), plan.at_once);
        let host = |(at, host): (usize, &'a logbook::host::Host)| HostSeen {
            name: &host.name,
            reach: &host.reach,
            internal: addresses(host.internal.as_ref()),
            external: addresses(host.external.as_ref()),
            takes_part: all.iter().any(|pair| pair.first == at || pair.second == at),
        };
        let method = |measure: &'a Measure| MethodSeen {
            name: &measure.name,
            command: measure.words.join(" "),
            expected_ns: measure.lasts,
        };
        Self {
            format: "sonde-dry-run",
            version: 1,
            hosts: plan.hosts.iter().enumerate().map(host).collect(),
            pairs: all.iter().map(named).collect(),
            methods: measures.iter().map(method).collect(),
            repeats: plan.repeats,
            cells: super::wanted(plan),
            expected_ns: takes(plan, rounds.len(), measures),
            rounds: rounds.iter().map(|round| round.iter().map(named).collect()).collect(),
        }
    }

    /// As one JSON document.
    ///
    /// # Errors
    /// None that is known of.
    pub fn to_json(&self) -> Result<String, Failure> {
        let text = serde_json::to_string(self);
        text.map(|text| text + "\n")
            .map_err(|error| Failure::usage(format!("the plan cannot be told as JSON: {error}")))
    }
}

fn addresses(all: Option<&DataAddresses>) -> Vec<String> {
    all.into_iter().flat_map(DataAddresses::each).map(DataAddress::to_string).collect()
}

/// For people: hosts and rounds, a line each.
impl fmt::Display for Foreseen<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.hosts.iter().map(|host| host.name.chars().count()).fold(NAME, usize::max);
        let by = |host: &HostSeen<'_>| match host.reach {
            Reach::Local => "this machine".to_owned(),
            Reach::Namespace(at) => format!("namespace {at}"),
            Reach::Ssh(ssh) => format!("ssh {}", ssh.to),
            Reach::Pod(pod) => format!("pod {}", pod.pod),
        };
        let way = self.hosts.iter().map(|host| by(host).chars().count()).fold(WAY.len(), usize::max);
        writeln!(to, "{:name$}  {WAY:way$}  addresses", "host")?;
        for host in &self.hosts {
            let kinds = [("", &host.internal), ("external ", &host.external)].into_iter();
            let addresses: Vec<String> = kinds
                .filter(|(_, all)| !all.is_empty())
                .map(|(kind, all)| format!("{kind}{}", all.join(",")))
                .collect();
            let addresses = if addresses.is_empty() { "none".to_owned() } else { addresses.join(", ") };
            let part = if host.takes_part { "" } else { "; in no pair, left alone" };
            writeln!(to, "{:name$}  {:way$}  {addresses}{part}", host.name, by(host))?;
        }
        for (at, round) in self.rounds.iter().enumerate() {
            let pairs: Vec<String> = round.iter().map(|(one, other)| format!("{one} – {other}")).collect();
            writeln!(to, "round {}: {}", at + 1, pairs.join(", "))?;
        }
        let each = count(self.rounds.len() as u64 * u64::from(self.repeats), "round", "rounds");
        writeln!(to, "{} in {each}, about {}", count(self.cells as u64, "cell", "cells"), Span(self.expected_ns))
    }
}
