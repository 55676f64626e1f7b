//! A store filled with time that never passed: what a store takes, and how fast it answers, is measured with it, through the code that a monitor uses.
//!
//! Hidden: it is for `make store` and for tests. Each host asks its next ones once a second over UDP; answers take about 100 µs (log-normal, σ 0.25; one in a
//! hundred about 1 ms), one request in a thousand is lost. It goes on where the store ends, so that it can be killed at any time.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use logbook::monitor::talk::Over;
use measure::event::Fate;
use measure::span::Span;
use measure::unit::Nanos;
use serde::Serialize;
use uuid::Uuid;

use crate::failure::Failure;
use crate::store::place::open;
use crate::store::{Batch, Cell, Incident, IncidentFilter, Level, Part, Purpose, Retention, Store};

/// Requests of a minute.
pub const REQUESTS: u64 = 60;
/// The first minute: 4 October 2024, 00:00 UTC.
const START: u64 = 20_000 * 86_400;
/// Incidents that are kept before it is asked for them.
const INCIDENTS: u64 = 10_000;

/// Store to fill, and the size of its history.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Store to fill
    #[arg(long, value_name = "STORE")]
    pub store: String,
    /// Hosts
    #[arg(long, default_value_t = 1_000)]
    pub hosts: u64,
    /// Hosts that each asks
    #[arg(long, default_value_t = 16)]
    pub cells: u64,
    /// Minutes from the first one on
    #[arg(long, default_value_t = 60)]
    pub minutes: u64,
    /// Keep minutes for so many hours
    #[arg(long, default_value_t = 14 * 24)]
    pub keep_hours: u64,
    /// Batches that a minute comes in
    #[arg(long, default_value_t = 1)]
    pub batches: u64,
    /// Print a line for each minute that is kept
    #[arg(long)]
    pub lines: bool,
}

/// Measured values; times in milliseconds.
#[derive(Default, Serialize)]
struct Measured {
    minute_rows: u64,
    /// Octets that the store has grown by, and what it has in all.
    grown: u64,
    size: u64,
    /// Rows of minutes that were kept each second of the time that keeping took.
    rows_per_s: f64,
    keep_ms_mean: f64,
    keep_ms_max: f64,
    roll_hour_ms_max: f64,
    roll_day_ms_max: f64,
    retain_ms_max: f64,
    one_cell_week_by_minute_ms: f64,
    one_cell_week_by_minute_rows: usize,
    one_cell_week_by_hour_ms: f64,
    all_cells_of_a_minute_ms: f64,
    all_cells_of_an_hour_ms: f64,
    incidents_of_a_day_ms: f64,
    incidents_of_a_day: usize,
}

/// Fills a store and measures it.
///
/// # Errors
/// Errors of the store.
pub fn run(options: &Options) -> Result<ExitCode> {
    let mut store = open(Some(&options.store), Purpose::Keep).map_err(Failure::from)?;
    let mut measured = filled(store.as_mut(), options)?;
    asked(store.as_mut(), options, &mut measured).map_err(Failure::from)?;
    say(&(serde_json::to_string_pretty(&measured)? + "\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Answer times to choose from: making each anew would take longer than keeping it.
struct Source {
    times: Vec<u64>,
    random: fastrand::Rng,
}

impl Source {
    fn new() -> Self {
        let mut random = fastrand::Rng::with_seed(20);
        let mut normal = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let time = |k: u64, normal: f64| {
            if k.is_multiple_of(100) { 1e6 * f64::exp(0.8 * normal) } else { 1e5 * f64::exp(0.25 * normal) }
        };
        let times = (0..1 << 14).map(|k| time(k, normal()) as u64).collect();
        Self { times, random }
    }

    /// Counts and times of a cell in a minute, in which `requests` are made.
    fn span(&mut self, requests: u64) -> Span {
        let mut span = Span::default();
        for _ in 0..requests {
            if self.random.u32(..1_000) == 0 {
                span.counts.end(Fate::Lost);
                span.lost_out += 1;
            } else {
                span.answer(Nanos(self.times[self.random.usize(..self.times.len())]));
            }
        }
        span
    }
}

/// Octets that a minute of so many answers takes, on an average of a hundred.
pub fn octets_of_a_span(requests: u64) -> f64 {
    let mut source = Source::new();
    (0..100).map(|_| source.span(requests).to_octets().len()).sum::<usize>() as f64 / 100.0
}

fn name(host: u64) -> String {
    format!("host{host:04}")
}

fn instance(host: u64) -> Uuid {
    Uuid::from_u128(u128::from(host) + 1)
}

/// Minute `minute` of all hosts, its part `part` of `parts`; beats are seconds.
fn batch(options: &Options, source: &mut Source, minute: u64, part: u64) -> Batch {
    let (at, beats) = (START + minute * 60, REQUESTS / options.batches);
    let first = minute * REQUESTS + part * beats + 1;
    let of_host = |host: u64| {
        let cells = (1..=options.cells).map(|k| {
            let cell = Cell { from: name(host), to: name((host + k) % options.hosts), over: Over::Udp };
            (cell, at, source.span(beats))
        });
        Part { instance: instance(host), first, last: first + beats - 1, minutes: cells.collect() }
    };
    Batch { parts: (0..options.hosts).map(of_host).collect(), ..Batch::default() }
}

fn filled(store: &mut dyn Store, options: &Options) -> Result<Measured> {
    let mut source = Source::new();
    let mut measured = Measured::default();
    let begun = store.size().map_err(Failure::from)?;
    // All hosts are kept together, so that the first tells where it ended.
    let done = store.kept().map_err(Failure::from)?.get(&instance(0)).copied().unwrap_or(0);
    let (mut keeping, mut batches) = (Duration::ZERO, 0_u32);
    for minute in done / REQUESTS..options.minutes {
        for part in 0..options.batches {
            let batch = batch(options, &mut source, minute, part);
            let took = timed(|| store.keep(&batch))?.1;
            keeping += took;
            batches += 1;
            measured.keep_ms_max = measured.keep_ms_max.max(millis(took));
        }
        measured.minute_rows += options.hosts * options.cells;
        if options.lines {
            say(&format!("kept {minute}\n"))?;
        }
        made(store, options, START + (minute + 1) * 60, &mut measured)?;
    }
    measured.rows_per_s = measured.minute_rows as f64 / keeping.as_secs_f64();
    measured.keep_ms_mean = millis(keeping) / f64::from(batches.max(1));
    measured.size = store.size().map_err(Failure::from)?;
    measured.grown = measured.size.saturating_sub(begun);
    Ok(measured)
}

/// Makes what is due and removes what is old, once an hour.
fn made(store: &mut dyn Store, options: &Options, now: u64, measured: &mut Measured) -> Result<()> {
    if now != Level::Hour.start(now) {
        return Ok(());
    }
    for (level, at) in store.due(now).map_err(Failure::from)? {
        let took = millis(timed(|| store.roll(level, at))?.1);
        let most = if level == Level::Hour { &mut measured.roll_hour_ms_max } else { &mut measured.roll_day_ms_max };
        *most = most.max(took);
    }
    let retention = Retention { minutes: Some(options.keep_hours * 3_600), ..Retention::default() };
    let took = timed(|| store.retain(now, &retention))?.1;
    measured.retain_ms_max = measured.retain_ms_max.max(millis(took));
    Ok(())
}

/// Asks what people ask.
fn asked(
    store: &mut dyn Store,
    options: &Options,
    measured: &mut Measured,
) -> Result<(), crate::store::error::StoreError> {
    let incidents = (0..INCIDENTS).map(|k| {
        let begun = START + k * 600;
        let hosts = vec![name(k % options.hosts)];
        let told = serde_json::json!({ "cells": [k % 17, 16], "value": 0.31 });
        let id = Uuid::from_u128(u128::from(k) + 1);
        let (kind, onset, ended, silent_until) = ("slower".to_owned(), begun - 60, Some(begun + 900), None);
        Incident { id, kind, hosts, onset, begun, ended, silent_until, told }
    });
    store.keep(&Batch { incidents: incidents.collect(), ..Batch::default() })?;
    let end = START + options.minutes * 60;
    let from = end.saturating_sub(7 * 86_400);
    let cell =
        Cell { from: name(options.hosts / 2), to: name((options.hosts / 2 + 1) % options.hosts), over: Over::Udp };
    let (rows, took) = timed(|| store.history(&cell, Level::Minute, from, end))?;
    (measured.one_cell_week_by_minute_rows, measured.one_cell_week_by_minute_ms) = (rows.len(), millis(took));
    measured.one_cell_week_by_hour_ms = millis(timed(|| store.history(&cell, Level::Hour, from, end))?.1);
    measured.all_cells_of_a_minute_ms = millis(timed(|| store.slice(Level::Minute, end - 60))?.1);
    measured.all_cells_of_an_hour_ms = millis(timed(|| store.slice(Level::Hour, Level::Hour.start(end - 3_600)))?.1);
    let day = IncidentFilter { from: START + 86_400, to: START + 2 * 86_400, ..IncidentFilter::default() };
    let (found, took) = timed(|| store.incidents(&day))?;
    (measured.incidents_of_a_day, measured.incidents_of_a_day_ms) = (found.len(), millis(took));
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "how long the store takes, not the network")]
fn timed<T>(
    act: impl FnOnce() -> Result<T, crate::store::error::StoreError>,
) -> Result<(T, Duration), crate::store::error::StoreError> {
    let begun = Instant::now();
    let done = act()?;
    Ok((done, begun.elapsed()))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn say(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}
