//! `sonde history`: what a monitor's store holds, for people and for machines. It only reads.

pub mod accept;
mod against;
mod document;
mod overview;
pub mod silence;
mod table;
pub mod time;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use jiff::Zoned;
use jiff::tz::TimeZone;
use logbook::monitor::talk::Over;
use measure::span::Span;

use crate::failure::Failure;
use crate::store::place::open;
use crate::store::{Cell, Incident, IncidentFilter, Level, Mark, Purpose, Store};
use time::Stretch;

/// Without an option, the longest stretch that is shown by minutes, and by hours, in seconds.
const BY_MINUTE: u64 = 2 * 3_600;
const BY_HOUR: u64 = 2 * 86_400;

/// More rows than a table can be read of.
const MOST_ROWS: u64 = 100_000;

/// The store.
#[derive(Clone, Debug, Args)]
pub struct StoreOptions {
    /// The monitor's store: a file or `postgres://USER@HOST/DATABASE` [default: sonde/monitor.db in `$XDG_STATE_HOME` or ~/.local/state]
    #[arg(long, value_name = "STORE", env = "SONDE_MONITOR_STORE", hide_env_values = true)]
    store: Option<String>,
}

impl StoreOptions {
    /// The store, which has to be there.
    fn open(&self) -> Result<Box<dyn Store>, Failure> {
        Ok(open(self.store.as_deref(), Purpose::Read)?)
    }
}

/// Which past.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Two hosts: the one that asks and the one that is asked. One: all that it asks and is asked. None: all hosts
    #[arg(value_name = "HOST", num_args = 0..=2)]
    pub hosts: Vec<String>,
    /// From this time on: 7d, 90m, yesterday, mon, 2026-11-24, 2026-11-24T14:05
    #[arg(long, value_name = "TIME", default_value = "1d")]
    pub since: String,
    /// Until this time, likewise; a day means its start [default: now]
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// By this protocol alone [default: each that was measured]
    #[arg(long, value_name = "PROTOCOL")]
    pub over: Option<Protocol>,
    /// Length of an interval; a day is one of UTC [default: minute up to 2 hours, hour up to 2 days, then day]
    #[arg(long, value_name = "LENGTH")]
    pub by: Option<By>,
    /// Compare with this stretch: tue, tue..wed, or the name of a baseline (`sonde accept`)
    #[arg(long, value_name = "TIME", conflicts_with_all = ["by", "csv"])]
    pub against: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print CSV, a line for each interval
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Which store.
    #[command(flatten)]
    pub store: StoreOptions,
}

/// Which two stretches are compared.
#[derive(Clone, Debug, Args)]
pub struct CompareOptions {
    /// Two cells with their time, as in 'a>b@mon' 'a>b@tue': FROM>TO@TIME, where TIME is a day or START..END
    #[arg(value_name = "CELL", num_args = 2, required = true)]
    pub cells: Vec<String>,
    /// By this protocol [default: the one that both were measured by]
    #[arg(long, value_name = "PROTOCOL")]
    pub over: Option<Protocol>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Which store.
    #[command(flatten)]
    pub store: StoreOptions,
}

/// Protocol by which a host was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    /// A request and a reply over UDP
    Udp,
    /// The same over TCP
    Tcp,
    /// ICMP echo
    Icmp,
    /// The TCP handshake alone
    TcpConnect,
    /// A program at work, by its URL
    Url,
}

impl Protocol {
    fn over(self) -> Over {
        match self {
            Self::Udp => Over::Udp,
            Self::Tcp => Over::Tcp,
            Self::Icmp => Over::Icmp,
            Self::TcpConnect => Over::TcpConnect,
            Self::Url => Over::Url,
        }
    }
}

/// Length of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// 60 s
    Minute,
    /// 3,600 s
    Hour,
    /// A day of UTC
    Day,
}

impl By {
    fn level(self) -> Level {
        match self {
            Self::Minute => Level::Minute,
            Self::Hour => Level::Hour,
            Self::Day => Level::Day,
        }
    }
}

/// History of one cell in a stretch.
pub struct Past {
    /// The cell.
    pub cell: Cell,
    /// Length of its intervals.
    pub level: Level,
    /// The first second of the first interval, and the one after the last.
    pub stretch: Stretch,
    /// Those of which anything is known, in order.
    pub rows: Vec<(u64, Span)>,
    /// All of it.
    pub whole: Span,
}

/// Events of a stretch.
pub struct Events {
    /// Incidents, the earliest first.
    pub incidents: Vec<Incident>,
    /// Marks, in order.
    pub marks: Vec<Mark>,
}

/// Text to print, and `true` where anything is known at all.
type Told = (String, bool);

/// Shows the past.
///
/// # Errors
/// A time or a host that is not understood, what the store says, an output that takes nothing.
pub fn run(options: &Options, now: &Zoned) -> Result<ExitCode> {
    print(told(options, now)?)
}

fn told(options: &Options, now: &Zoned) -> Result<Told> {
    let since = time::instant(&options.since, now)?.from;
    let until = match &options.until {
        Some(word) => time::instant(word, now)?.from,
        None => time::second(now),
    };
    let asked = Stretch { from: since, to: until };
    if asked.from >= asked.to {
        let told =
            format!("--since {} is not before --until {}", options.since, options.until.as_deref().unwrap_or("now"));
        return Err(Failure::new(told, "give an earlier --since").into());
    }
    let mut store = options.store.open()?;
    let zone = now.time_zone();
    match (&options.hosts[..], &options.against) {
        ([from, to], Some(before)) => {
            let before = before_of(store.as_mut(), before, now)?;
            let over = options.over.map(Protocol::over);
            let sides = [(from, to, before), (from, to, asked)];
            against::told(store.as_mut(), sides, over, options.json, zone)
        }
        ([from, to], None) => cells(store.as_mut(), (from, to), asked, options, now),
        (_, Some(_)) => Err(Failure::new("--against compares one pair of hosts", "name two hosts").into()),
        (hosts, None) => overview::told(store.as_mut(), hosts.first(), options, zone),
    }
}

/// Accepts a stretch of time as a baseline, lists them, removes one.
///
/// # Errors
/// As of [`run`].
pub fn accept(options: &accept::Options, now: &Zoned) -> Result<ExitCode> {
    print(accept::told(options, now)?)
}

/// The stretch that something is compared with: a baseline by its name, else a time.
fn before_of(store: &mut dyn Store, word: &str, now: &Zoned) -> Result<Stretch> {
    let baselines = store.baselines().map_err(Failure::from)?;
    match baselines.iter().find(|baseline| baseline.name == word) {
        Some(baseline) => Ok(Stretch { from: baseline.from, to: baseline.to }),
        None => Ok(time::stretch(word, now)?),
    }
}

/// Compares two cells, or one at two times.
///
/// # Errors
/// As of [`run`].
pub fn compare(options: &CompareOptions, now: &Zoned) -> Result<ExitCode> {
    print(compared(options, now)?)
}

fn compared(options: &CompareOptions, now: &Zoned) -> Result<Told> {
    let parsed: Vec<_> = options.cells.iter().map(|word| time::cell_at(word, now)).collect::<Result<_, _>>()?;
    let mut store = options.store.open()?;
    let [(a, b, first), (c, d, second)] = &parsed[..] else {
        return Err(Failure::new("two cells are compared", "'a>b@mon' 'a>b@tue'").into());
    };
    let over = options.over.map(Protocol::over);
    against::told(store.as_mut(), [(a, b, *first), (c, d, *second)], over, options.json, now.time_zone())
}

/// The past of two hosts, by each way of asking.
fn cells(
    store: &mut dyn Store,
    (from, to): (&str, &str),
    asked: Stretch,
    options: &Options,
    now: &Zoned,
) -> Result<Told> {
    let length = asked.to - asked.from;
    let level = options.by.map_or_else(|| level_for(length), By::level);
    if length / level.seconds() > MOST_ROWS {
        let told = format!("{} intervals are more than can be shown", length / level.seconds());
        return Err(Failure::new(told, "take a longer --by or a later --since").into());
    }
    let stretch = Stretch { from: level.start(asked.from), to: asked.to };
    let mut pasts = Vec::new();
    for cell in measured(store, from, to, options.over.map(Protocol::over))? {
        let rows = store.history(&cell, level, stretch.from, stretch.to).map_err(Failure::from)?;
        let whole = crate::store::sum(rows.iter().map(|(_, span)| span.clone())).unwrap_or_default();
        pasts.push(Past { cell, level, stretch, rows, whole });
    }
    let events = events(store, &[from, to], stretch)?;
    let zone = if level == Level::Day { TimeZone::UTC } else { now.time_zone().clone() };
    let is_known = pasts.iter().any(|past| !past.rows.is_empty());
    let text = if options.json {
        document::json(&pasts, &events, &zone)
    } else if options.csv {
        document::csv(&pasts)
    } else {
        table::text(&pasts, &events, &zone)
    };
    Ok((text, is_known))
}

/// The level by which so many seconds are shown.
fn level_for(length: u64) -> Level {
    match length {
        0..=BY_MINUTE => Level::Minute,
        _ if length <= BY_HOUR => Level::Hour,
        _ => Level::Day,
    }
}

/// The cells from one host to the other.
///
/// # Errors
/// There is none; with those that there are.
fn measured(store: &mut dyn Store, from: &str, to: &str, over: Option<Over>) -> Result<Vec<Cell>> {
    let all = store.cells().map_err(Failure::from)?;
    let is_meant = |cell: &&Cell| cell.from == from && cell.to == to && over.is_none_or(|over| cell.over == over);
    let meant: Vec<Cell> = all.iter().filter(is_meant).cloned().collect();
    if !meant.is_empty() {
        return Ok(meant);
    }
    let known = |name: &str| all.iter().any(|cell| cell.from == name || cell.to == name);
    let seen = report::markup::visible;
    let told = match [from, to].into_iter().find(|name| !known(name)) {
        Some(name) => format!("{}: no host of this name was ever measured", seen(name)),
        None => match over {
            Some(over) => format!("{} never asked {} over {}", seen(from), seen(to), over.name()),
            None => format!("{} never asked {}", seen(from), seen(to)),
        },
    };
    let hint = if all.iter().any(|cell| cell.from == to && cell.to == from) {
        format!("`sonde history {} {}`: that way it was measured", seen(to), seen(from))
    } else {
        "`sonde history` lists the hosts".to_owned()
    };
    Err(Failure::new(format!("{}: {told}", store.place()), hint).into())
}

/// Events of a stretch that are about any of `hosts`, or about all.
fn events(store: &mut dyn Store, hosts: &[&str], stretch: Stretch) -> Result<Events> {
    let is_about = |named: &[String]| {
        hosts.is_empty() || named.is_empty() || named.iter().any(|name| hosts.contains(&name.as_str()))
    };
    let filter = IncidentFilter { from: stretch.from, to: stretch.to, ..IncidentFilter::default() };
    let mut incidents = store.incidents(&filter).map_err(Failure::from)?;
    incidents.retain(|incident| is_about(&incident.hosts));
    incidents.reverse();
    let mut marks = store.marks(stretch.from, stretch.to).map_err(Failure::from)?;
    marks.retain(|mark| is_about(&mark.hosts));
    Ok(Events { incidents, marks })
}

/// Writes to standard output. A reader that has gone is none of our trouble.
fn print((text, is_known): Told) -> Result<ExitCode> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("standard output takes nothing: {error}"), "see where it leads").into())
        }
        _ => Ok(if is_known { ExitCode::SUCCESS } else { ExitCode::from(1) }),
    }
}

#[cfg(test)]
mod tests;
