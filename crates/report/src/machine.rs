//! The resolution of a machine (clock, timers, wake-up delay, loopback) as a screen of text.
//!
//! The numbers and what they mean come from `measure::resolution`; nothing is judged here.

use measure::environment::Environment;
use measure::resolution::{Hiccups, Lateness, LoopbackFloor, Resolution, Times, WakeUp};
use measure::unit::Nanos;

use crate::layout::{INDENT, Page, Piece, Style, Tone};
use crate::number;
use crate::words::{capitalised, spoiler};

/// Column at which text behind a label starts.
const LABEL: usize = 13;

/// The screen for `found`: lines of at most `style.width` cells.
pub fn render(found: &Resolution, style: &Style) -> String {
    let mut page = Page::new(*style);
    page.answer(&answer(found));
    page.flow(INDENT, INDENT, " · ", &headline(&found.environment, found.took_ns));
    page.gap();
    costs(&mut page, found);
    kept(&mut page, &found.lateness);
    wake_ups(&mut page, &found.wake_up);
    floors(&mut page, &found.loopback);
    page.gap();
    for spoiler in &found.spoilers {
        let text = format!("{} → {}", capitalised(&spoiler::fact(spoiler)), spoiler::advice(spoiler));
        page.warning(&text);
    }
    for failed in &found.failed {
        page.warning(&format!("Not measured: {failed}"));
    }
    page.finish()
}

/// The three times that a measurement here cannot go below.
fn answer(found: &Resolution) -> String {
    let p50 = |times: &Times| times.p50_ns.map(number::measured);
    let read = found.clock.read_ns.and_then(number::time).map(|cost| format!("clock reading {cost}"));
    let wakes = found.wake_up.iter().find_map(|wake_up| p50(&wake_up.times));
    let floor =
        found.loopback.iter().filter_map(|floor| Some((floor.round_trip.p50_ns?, floor))).min_by_key(|(p50, _)| *p50);
    let floor = floor.map(|(p50, floor)| format!("loopback round trip {p50} ({}, p50)", means(floor)));
    let parts = [read, wakes.map(|wake| format!("wake-up delay {wake} (p50)")), floor];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let host = found.environment.host.as_deref().unwrap_or("this host");
    if parts.is_empty() {
        format!("{host}: nothing could be measured")
    } else {
        format!("{host}: {}", parts.join(", "))
    }
}

/// `tcp block, two CPUs`.
fn means(floor: &LoopbackFloor) -> String {
    let waiting = if floor.spinning { "spin" } else { "block" };
    format!("{} {waiting}, {}", floor.carrier, floor.placement)
}

/// `2 CPUs · Linux 6.18 · clock source tsc · measured for 5.5 s`, as far as it is known.
fn headline(machine: &Environment, took: Nanos) -> Vec<Piece> {
    let cpus = machine.cpus_allowed.map(|count| number::count(u64::from(count), "CPU", "CPUs"));
    let clock = machine.clock_source.as_ref().map(|source| format!("clock source {source}"));
    let parts = [machine.cpu_model.clone(), cpus, machine.kernel.clone(), clock, Some(format!("measured for {took}"))];
    parts.into_iter().flatten().map(Piece::from).collect()
}

fn costs(page: &mut Page, found: &Resolution) {
    let read = found.clock.read_ns.and_then(number::time).map(|cost| format!("{cost} per reading"));
    let step = found.clock.smallest_step_ns.map(|step| format!("steps of {step}"));
    labelled(page, "clock", &[read, step]);
    let record = found
        .record_ns
        .and_then(number::time)
        .map(|cost| format!("{cost} per exchange, without its two clock readings"));
    labelled(page, "recorder", &[record]);
    labelled(page, "pauses", &[found.hiccups.as_ref().map(pauses)]);
}

fn labelled(page: &mut Page, label: &str, parts: &[Option<String>]) {
    let parts: Vec<&str> = parts.iter().flatten().map(String::as_str).collect();
    if !parts.is_empty() {
        page.paragraph(INDENT, &Piece::new(label, Tone::Faint), LABEL, &parts.join(", "));
    }
}

fn pauses(hiccups: &Hiccups) -> String {
    let Hiccups { watched_ns, count, longest_ns, .. } = hiccups;
    let limit = measure::resolution::HICCUP;
    format!("{} above {limit} in {watched_ns} of spinning, the longest {longest_ns}", measure::unit::grouped(*count))
}

fn kept(page: &mut Page, lateness: &[Lateness]) {
    let rows = lateness.iter().map(|late| {
        let cpu = late.cpu_share.map(number::percent).unwrap_or_default();
        let first = [late.keeping.to_string(), late.interval_ns.to_string()];
        first.into_iter().chain(times(&late.late)).chain([cpu]).collect()
    });
    table(page, "schedule lag by pacing", &["pacing", "every", "p50", "p99", "max", "CPU"], rows);
}

fn wake_ups(page: &mut Page, wake_ups: &[WakeUp]) {
    let rows = wake_ups.iter().map(|wake_up| {
        let first = [wake_up.placement.to_string()];
        first.into_iter().chain(times(&wake_up.times)).collect()
    });
    table(page, "wake-up delay of a thread", &["on", "p50", "p99", "max"], rows);
}

fn floors(page: &mut Page, floors: &[LoopbackFloor]) {
    let rows = floors.iter().map(|floor| {
        let how = means(floor);
        let shortest = floor.round_trip.min_ns.map(number::measured).unwrap_or_default();
        let rate = number::rate(floor.per_s).unwrap_or_default();
        [how, shortest].into_iter().chain(times(&floor.round_trip)).chain([rate]).collect()
    });
    let title = "round trips over loopback, 64 B: the lower limit for sockets here";
    table(page, title, &["by", "min", "p50", "p99", "max", "rate"], rows);
}

/// Median, 99th percentile and longest; what was not seen often enough is left empty.
fn times(times: &Times) -> [String; 3] {
    [times.p50_ns, times.p99_ns, times.max_ns].map(|time| time.map(number::measured).unwrap_or_default())
}

fn table(page: &mut Page, title: &str, head: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let rows: Vec<Vec<Piece>> = rows.map(|row| row.into_iter().map(Piece::from).collect()).collect();
    if rows.is_empty() {
        return;
    }
    page.gap();
    page.line(INDENT, &[Piece::new(title, Tone::Strong)]);
    let head = head.iter().map(|name| Piece::new(*name, Tone::Faint)).collect();
    page.table(&[vec![head], rows].concat());
}

#[cfg(test)]
mod tests {
    use measure::resolution::{ClockCost, FloorCarrier, Keeping, Placement, Spoiler};

    use super::*;

    fn found() -> Resolution {
        let times = |p50| Times {
            count: 1_000,
            min_ns: Some(Nanos(p50 / 2)),
            p50_ns: Some(Nanos(p50)),
            p99_ns: None,
            p999_ns: None,
            max_ns: Some(Nanos(p50 * 9)),
        };
        let late = |keeping, p50| Lateness {
            keeping,
            interval_ns: Nanos::millis(1),
            late: times(p50),
            cpu_share: Some(0.061),
        };
        Resolution {
            environment: Environment {
                host: Some("db1".into()),
                cpus_allowed: Some(2),
                kernel: Some("6.18.5".into()),
                clock_source: Some("tsc".into()),
                ..Environment::default()
            },
            took_ns: Nanos::millis(5_500),
            optimised_build: true,
            clock: ClockCost { read_ns: Some(31.4), smallest_step_ns: Some(Nanos(1)) },
            record_ns: Some(12.25),
            lateness: vec![late(Keeping::SleepWithSlack, 55_100), late(Keeping::Hybrid, 12)],
            wake_up: vec![WakeUp { placement: Placement::TwoCpus, times: times(6_010) }],
            loopback: vec![LoopbackFloor {
                carrier: FloorCarrier::Tcp,
                spinning: false,
                placement: Placement::TwoCpus,
                round_trip: times(14_900),
                per_s: 64_016.0,
            }],
            hiccups: Some(Hiccups {
                watched_ns: Nanos::millis(770),
                count: 14,
                total_ns: Nanos::millis(2),
                longest_ns: Nanos::micros(1_034),
            }),
            spoilers: vec![Spoiler::Guest { hypervisor: "kvm".into() }],
            failed: vec!["wake-ups on one CPU: not permitted".into()],
        }
    }

    #[test]
    fn a_machine_is_one_screen() {
        insta::assert_snapshot!(render(&found(), &Style::default()));
    }

    #[test]
    fn what_was_not_seen_has_no_table() {
        let text = render(&Resolution::default(), &Style::default());
        assert_eq!(text, "this host: nothing could be measured\n\n  measured for 0 ns\n");
    }
}
