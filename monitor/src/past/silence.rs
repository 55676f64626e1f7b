//! `sonde monitor silence`: silences, kept in the store, from which a running monitor reads them.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use jiff::Zoned;
use jiff::tz::TimeZone;
use logbook::monitor::plan::{MonitorPlan, Stranger};
use logbook::monitor::silence::Silence;
use measure::lookout::incident::Kind;
use report::markup::visible;
use serde::de::IntoDeserializer;
use serde::{Deserialize, Serialize};

use super::table::clock;
use super::time::{from_now, second};
use super::{Told, document, print};
use crate::discovery::listed;
use crate::failure::Failure;
use crate::incident;
use crate::store::place::open;
use crate::store::{Purpose, Store};

/// Options of a new silence, which listing and ending exclude.
const MAKING: [&str; 7] = ["host", "pair", "zone", "kind", "everything", "length", "why"];

/// Incidents that are silenced.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The plan, for its store and the names of hosts and zones [default: your own store and its hosts]
    #[arg(value_name = "PLAN")]
    pub plan: Option<PathBuf>,
    /// Incidents of this host; repeatable
    #[arg(long, value_name = "HOST")]
    pub host: Vec<String>,
    /// Incidents between these two hosts; repeatable
    #[arg(long, value_names = ["HOST", "HOST"], num_args = 2, action = clap::ArgAction::Append)]
    pub pair: Vec<String>,
    /// Incidents of this zone of the plan, and between it and other zones; repeatable
    #[arg(long, value_name = "ZONE")]
    pub zone: Vec<String>,
    /// Only incidents of this kind: silent, agent-silent, overloaded, loss, slower, faster or tail; repeatable [default: all]
    #[arg(long, value_name = "KIND", value_parser = kind)]
    pub kind: Vec<Kind>,
    /// Incidents of all hosts
    #[arg(long, conflicts_with_all = ["host", "pair", "zone"])]
    pub everything: bool,
    /// Duration from now, as in 2h or 90m
    #[arg(long = "for", value_name = "TIME", required_unless_present_any = ["list", "end"])]
    pub length: Option<String>,
    /// Reason, shown on the page
    #[arg(long, value_name = "TEXT")]
    pub why: Option<String>,
    /// List active and planned silences
    #[arg(long, conflicts_with_all = MAKING)]
    pub list: bool,
    /// Print the list as JSON
    #[arg(long, requires = "list")]
    pub json: bool,
    /// End the silence of this number
    #[arg(long, value_name = "NUMBER", conflicts_with_all = MAKING, conflicts_with = "list")]
    pub end: Option<u64>,
    /// The store [default: the plan's, else your own]
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
}

fn kind(word: &str) -> Result<Kind, serde::de::value::Error> {
    Kind::deserialize(word.into_deserializer())
}

/// Silences something, lists what is silenced, or ends a silence.
///
/// # Errors
/// A plan that cannot be read, a name or a time that is not understood, what the store says.
pub fn run(options: &Options, now: &Zoned) -> Result<ExitCode> {
    print(told(options, now)?)
}

pub(super) fn told(options: &Options, now: &Zoned) -> Result<Told> {
    let plan = options.plan.as_deref().map(listed).transpose()?;
    let named = options.store.as_deref().or_else(|| plan.as_ref()?.store.as_deref());
    // It is read as history is: a store is made by who measures.
    let mut store = open(named, Purpose::Read).map_err(Failure::from)?;
    let at = second(now);
    if options.list {
        return list(store.as_mut(), plan.as_ref(), options.json, now);
    }
    if let Some(number) = options.end {
        if store.end_silence(number, at).map_err(Failure::from)? {
            return Ok((format!("Ended: silence {number}\n"), true));
        }
        let told = format!("{}: silence {number} is not active", store.place());
        return Err(Failure::new(told, "`sonde monitor silence --list` lists the active ones").into());
    }
    let silence = asked(options, now)?;
    check(&silence, plan.as_ref(), store.as_mut())?;
    let number = store.silence(&silence, at).map_err(Failure::from)?;
    let told = line(&silence, at, now.time_zone());
    let store = store.place();
    Ok((
        format!("Silenced: {told}\nIt is silence {number} in {store}; a running monitor applies it within 10 s\n"),
        true,
    ))
}

/// Silence of the options.
fn asked(options: &Options, now: &Zoned) -> Result<Silence, Failure> {
    let silence = Silence {
        hosts: options.host.clone(),
        pairs: options.pair.chunks_exact(2).map(|two| [two[0].clone(), two[1].clone()]).collect(),
        zones: options.zone.clone(),
        kinds: options.kind.clone(),
        from: None,
        until: from_now(options.length.as_deref().unwrap_or_default(), now)?,
        why: options.why.clone(),
    };
    if silence.is_everywhere() && !options.everything {
        let hint = "add --host, --pair or --zone; --everything silences all";
        return Err(Failure::new("the silence names no host, pair or zone", hint));
    }
    Ok(silence)
}

/// That a silence names what there is: else it would silence nothing, and nobody would know.
fn check(silence: &Silence, plan: Option<&MonitorPlan>, store: &mut dyn Store) -> Result<(), Failure> {
    if let Some(plan) = plan {
        return match plan.stranger(silence) {
            Some(Stranger { what, hint, .. }) => Err(Failure::new(visible(&what), hint)),
            None => Ok(()),
        };
    }
    if let Some(zone) = silence.zones.first() {
        let told = format!("zone {}: zones are defined in a plan, and no plan is named", visible(zone));
        return Err(Failure::new(told, "`sonde monitor silence PLAN --zone ZONE …`"));
    }
    let cells = store.cells()?;
    let is_known = |name: &String| cells.iter().any(|cell| cell.from == *name || cell.to == *name);
    match silence.hosts.iter().chain(silence.pairs.iter().flatten()).find(|name| !is_known(name)) {
        Some(name) => {
            let told = format!("{}: {}: no host of this name was ever measured", store.place(), visible(name));
            Err(Failure::new(told, "`sonde history` lists the hosts; name the plan for one that is new"))
        }
        None => Ok(()),
    }
}

/// A silence in a list.
#[derive(Serialize)]
struct Row {
    /// Its number; absent: it stands in the plan.
    number: Option<u64>,
    /// Time of its request, seconds since 1970; absent likewise.
    asked: Option<u64>,
    silence: Silence,
}

fn list(store: &mut dyn Store, plan: Option<&MonitorPlan>, json: bool, now: &Zoned) -> Result<Told> {
    let (at, zone) = (second(now), now.time_zone());
    let asked = store.silences(at).map_err(Failure::from)?.into_iter();
    let asked = asked.map(|asked| Row { number: Some(asked.number), asked: Some(asked.asked), silence: asked.silence });
    let planned = plan.iter().flat_map(|plan| &plan.silence).filter(|silence| silence.until > at);
    let planned = planned.map(|silence| Row { number: None, asked: None, silence: silence.clone() });
    let rows: Vec<Row> = asked.chain(planned).collect();
    if json {
        return Ok((document::written(&rows), !rows.is_empty()));
    }
    let mut text = if rows.is_empty() { "No silence is active\n".to_owned() } else { String::new() };
    for Row { number, silence, .. } in &rows {
        let number = number.map_or_else(|| "plan".to_owned(), |number| number.to_string());
        // Writing to a string does not fail.
        let _written = writeln!(text, "{number}: {}", line(silence, at, zone));
    }
    Ok((text, !rows.is_empty()))
}

/// `db2, a ↔ b, zone z, only loss, until 2026-11-28 02:00 (new kernel)`.
fn line(silence: &Silence, now: u64, zone: &TimeZone) -> String {
    let mut parts: Vec<String> = silence.hosts.iter().map(|host| visible(host)).collect();
    parts.extend(silence.pairs.iter().map(|[one, other]| format!("{} ↔ {}", visible(one), visible(other))));
    parts.extend(silence.zones.iter().map(|name| format!("zone {}", visible(name))));
    if silence.is_everywhere() {
        parts.push("all hosts".to_owned());
    }
    if !silence.kinds.is_empty() {
        let kinds: Vec<&str> = silence.kinds.iter().map(|kind| incident::kind(*kind)).collect();
        parts.push(format!("only {}", kinds.join(" and ")));
    }
    parts.extend(silence.from.filter(|from| *from > now).map(|from| format!("from {}", clock(from, zone))));
    parts.push(format!("until {}", clock(silence.until, zone)));
    let why = silence.why.as_ref().map(|why| format!(" ({})", visible(why))).unwrap_or_default();
    format!("{}{why}", parts.join(", "))
}
