//! `sonde accept`: a stretch of time as how things should be, which later times are compared with.

use std::fmt::Write;

use anyhow::Result;
use clap::Args;
use jiff::Zoned;
use jiff::tz::TimeZone;
use measure::lookout::incident::Kind;
use report::markup::visible;

use super::table::clock;
use super::time::{Stretch, second, stretch};
use super::{StoreOptions, Told, document};
use crate::failure::Failure;
use crate::incident;
use crate::store::{Baseline, Incident, IncidentFilter, Store};

/// Stretch that is accepted.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Name of the baseline; without one all are listed
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Its time: a day or START..END, as in tue or mon..wed
    #[arg(value_name = "TIME")]
    pub time: Option<String>,
    /// For this host alone; repeatable [default: all]
    #[arg(long, value_name = "HOST")]
    pub host: Vec<String>,
    /// Accept the open incident of this number, and no other: the time since it began, for its hosts
    #[arg(long, value_name = "NUMBER", requires = "name", conflicts_with_all = ["time", "host", "withdraw"])]
    pub incident: Option<String>,
    /// Remove the baseline of this name
    #[arg(long, requires = "name", conflicts_with = "time")]
    pub withdraw: bool,
    /// Print the list as JSON
    #[arg(long, conflicts_with = "name")]
    pub json: bool,
    /// Which store.
    #[command(flatten)]
    pub store: StoreOptions,
}

pub(super) fn told(options: &Options, now: &Zoned) -> Result<Told> {
    // It is read as history is: a store is made by who measures.
    let mut store = options.store.open()?;
    let zone = now.time_zone();
    match (&options.name, &options.time) {
        (None, _) => list(store.as_mut(), options.json, zone),
        (Some(name), _) if options.withdraw => {
            if store.withdraw(name).map_err(Failure::from)? {
                return Ok((format!("Removed: {}\n", visible(name)), true));
            }
            Err(unknown(store.as_ref(), name).into())
        }
        (Some(name), Some(time)) => {
            let Stretch { from, to } = stretch(time, now)?;
            let (hosts, accepted) = (options.host.clone(), second(now));
            let baseline = Baseline { name: name.clone(), from, to, hosts, accepted, incident: None };
            accepted_as(store.as_mut(), &baseline, zone)
        }
        (Some(name), None) if options.incident.is_some() => {
            let incident = found(store.as_mut(), options.incident.as_deref().unwrap_or_default(), zone)?;
            accepted_as(store.as_mut(), &of_incident(name, &incident, second(now)), zone)
        }
        (Some(name), None) => {
            let told = format!("no time for the baseline {}", visible(name));
            Err(Failure::new(
                told,
                "`sonde accept NAME TIME`, as in `sonde accept good tue`, or `sonde accept NAME --incident NUMBER`",
            )
            .into())
        }
    }
}

fn accepted_as(store: &mut dyn Store, baseline: &Baseline, zone: &TimeZone) -> Result<Told> {
    store.accept(baseline).map_err(Failure::from)?;
    Ok((format!("Accepted: {}\n", line(baseline, zone)), true))
}

/// The time of an incident up to `now`, as how things should be.
fn of_incident(name: &str, incident: &Incident, now: u64) -> Baseline {
    Baseline {
        name: name.to_owned(),
        from: incident.onset,
        to: now.max(incident.onset + 1),
        hosts: incident.hosts.clone(),
        accepted: now,
        incident: Some(incident.id),
    }
}

/// The incident of this number, or of this name of the store, that goes on and can be accepted.
fn found(store: &mut dyn Store, word: &str, zone: &TimeZone) -> Result<Incident, Failure> {
    let is_named = |incident: &Incident| match word.parse::<u64>() {
        Ok(number) => incident.number() == number,
        Err(_) => word.parse() == Ok(incident.id),
    };
    let shown = format!("{}: incident {}", store.place(), visible(word));
    let open = IncidentFilter { open: true, most: usize::MAX, ..IncidentFilter::default() };
    let mut found: Vec<Incident> = store.incidents(&open)?.into_iter().filter(is_named).collect();
    if found.len() > 1 {
        let ids: Vec<String> = found.iter().map(|incident| incident.id.to_string()).collect();
        let told = format!("{shown}: {} monitors have one of this number", found.len());
        return Err(Failure::new(told, format!("name it by its id: {}", ids.join(" or "))));
    }
    let Some(incident) = found.pop() else {
        let over = store.incidents(&IncidentFilter::default())?.into_iter().find(is_named);
        return Err(match over.and_then(|incident| incident.ended) {
            Some(ended) => Failure::new(
                format!("{shown} ended at {}", clock(ended, zone)),
                "accept a time: `sonde accept NAME TIME`",
            ),
            None => Failure::new(
                format!("{shown}: no open incident has this number"),
                "`sonde history` lists open incidents with their numbers",
            ),
        });
    };
    let is_gradual = Kind::GRADUAL.iter().any(|kind| incident::kind(*kind) == incident.kind);
    if !is_gradual {
        let told = format!("{shown} has the kind {}: only loss and latency can be accepted", visible(&incident.kind));
        return Err(Failure::new(told, "`sonde monitor silence` stops its alerts"));
    }
    Ok(incident)
}

fn unknown(store: &dyn Store, name: &str) -> Failure {
    let told = format!("{}: there is no baseline {}", store.place(), visible(name));
    Failure::new(told, "`sonde accept` lists them")
}

fn list(store: &mut dyn Store, json: bool, zone: &TimeZone) -> Result<Told> {
    let baselines = store.baselines().map_err(Failure::from)?;
    if json {
        return Ok((document::written(&baselines), !baselines.is_empty()));
    }
    let mut text = if baselines.is_empty() { "No baseline was accepted yet\n".to_owned() } else { String::new() };
    for baseline in &baselines {
        // Writing to a string does not fail.
        let _written = writeln!(text, "{}", line(baseline, zone));
    }
    Ok((text, !baselines.is_empty()))
}

/// `good: 2026-11-24 00:00 to 2026-11-25 00:00, all hosts`; `moved: 2026-11-24 14:05 to 2026-11-24 14:20, a, incident 12`.
fn line(baseline: &Baseline, zone: &TimeZone) -> String {
    let hosts = match &baseline.hosts[..] {
        [] => "all hosts".to_owned(),
        hosts => hosts.iter().map(|host| visible(host)).collect::<Vec<_>>().join(", "),
    };
    let (from, to) = (clock(baseline.from, zone), clock(baseline.to, zone));
    let incident = baseline.incident.map(|id| format!(", incident {}", id.as_u64_pair().1)).unwrap_or_default();
    format!("{}: {from} to {to}, {hosts}{incident}", visible(&baseline.name))
}
