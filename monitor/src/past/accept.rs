//! `sonde accept`: a stretch of time as how things should be, which later times are compared with.

use std::fmt::Write;

use anyhow::Result;
use clap::Args;
use jiff::Zoned;
use jiff::tz::TimeZone;
use report::markup::visible;

use super::table::clock;
use super::time::{Stretch, second, stretch};
use super::{StoreOptions, Told, document};
use crate::failure::Failure;
use crate::store::{Baseline, Store};

/// What is accepted.
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
            let hosts = options.host.clone();
            let baseline = Baseline { name: name.clone(), from, to, hosts, accepted: second(now) };
            store.accept(&baseline).map_err(Failure::from)?;
            Ok((format!("Accepted: {}\n", line(&baseline, zone)), true))
        }
        (Some(name), None) => {
            let told = format!("no time for the baseline {}", visible(name));
            Err(Failure::new(told, "`sonde accept NAME TIME`, as in `sonde accept good tue`").into())
        }
    }
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

/// `good: 2026-11-24 00:00 to 2026-11-25 00:00, all hosts`.
fn line(baseline: &Baseline, zone: &TimeZone) -> String {
    let hosts = match &baseline.hosts[..] {
        [] => "all hosts".to_owned(),
        hosts => hosts.iter().map(|host| visible(host)).collect::<Vec<_>>().join(", "),
    };
    let (from, to) = (clock(baseline.from, zone), clock(baseline.to, zone));
    format!("{}: {from} to {to}, {hosts}", visible(&baseline.name))
}
