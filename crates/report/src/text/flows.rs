//! Several connections apart: their groups, and what a run over one of them would have said.

use logbook::record::{Question, Record};
use measure::method::{Carrier, Exchange, LoopKind, Method, Schedule, Traffic};
use measure::outcome::Outcome;
use measure::outcome::flows::{Between, FlowGroup, Flows, OfFlow};
use measure::unit::{Nanos, grouped};

use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number;
use crate::text::column::LABEL;
use crate::words;

/// Groups have letters; of more than these the last ones are told by their number.
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Ranges of ports that are listed; the record has all.
const MOST: usize = 12;

/// The connections of `record` apart, and the scope of its intervals.
pub(super) fn tell(page: &mut Page, record: &Record) {
    let Some(outcome) = &record.outcome else { return };
    if let Some(flows) = &outcome.flows {
        groups(page, flows, record);
    }
    if let Some(text) = scope(record) {
        page.paragraph(INDENT, &Piece::new("scope", Tone::Faint), LABEL, &text);
    }
}

fn groups(page: &mut Page, flows: &Flows, record: &Record) {
    let label = Piece::new("flows", Tone::Faint);
    page.items(INDENT, &label, LABEL, &[summary(flows, record)]);
    let busy = words::warning::may_explain(&record.warnings, &["groups", "moved", "losing"]);
    let busy = if busy { words::BUSY_BY_CONNECTION } else { "" };
    if let Some(groups) = flows.groups.as_ref().filter(|groups| groups.len() > 1) {
        let rows: Vec<Vec<Piece>> =
            groups.iter().enumerate().map(|(place, group)| row(place, group).map(Piece::from).to_vec()).collect();
        page.table(&rows);
        for (place, group) in groups.iter().enumerate() {
            members(page, &name(place), &group.flows, record);
        }
        let one = |group: &FlowGroup| number::percent(group.flows.len() as f64 / flows.each.len() as f64);
        let shares: Vec<String> =
            groups.iter().enumerate().map(|(place, group)| format!("{} {}", name(place), one(group))).collect();
        let end = if busy.is_empty() { "" } else { "." };
        let text = format!("a run over one connection measures one group ({} of these){end}{busy}", shares.join(", "));
        page.paragraph(INDENT, &Piece::new("so", Tone::Faint), LABEL, &text);
        if let Some(text) = record.outcome.as_ref().and_then(|outcome| drawn_labels(outcome, record)) {
            page.paragraph(INDENT, &Piece::new("label", Tone::Faint), LABEL, &text);
        }
    }
    if !flows.moved.is_empty() {
        let (count, of, end) = (flows.moved.len(), flows.each.len(), if busy.is_empty() { "" } else { "." });
        let text = format!(
            "at least {count} of {of} connections took another time among the others from some time on, as where paths are chosen anew{end}{busy}"
        );
        page.paragraph(INDENT, &Piece::new("moved", Tone::Alarm), LABEL, &text);
        members(page, "moved", &flows.moved, record);
    }
    if !flows.losing.is_empty() {
        let [label, what, which] =
            if only_refused(record) { ["refused", "are refused", "refused"] } else { ["loss", "lose", "losing"] };
        let (count, of) = (flows.losing.len(), flows.each.len());
        let text = format!("{count} of {of} connections {what} more than the others");
        page.paragraph(INDENT, &Piece::new(label, Tone::Alarm), LABEL, &text);
        members(page, which, &flows.losing, record);
    }
}

/// True where requests were refused, and none was lost.
fn only_refused(record: &Record) -> bool {
    let counts = record.outcome.as_ref().map(|outcome| &outcome.counts);
    counts.is_some_and(|counts| counts.lost == 0 && counts.refused > 0)
}

/// Over IPv6, where this host drew the flow labels: a port alone is no flow.
fn drawn_labels(outcome: &Outcome, record: &Record) -> Option<String> {
    let drawn = record.target.address.is_ipv6() && outcome.sockets.iter().any(|socket| socket.flow_label.is_none());
    let remedy = if record.method.socket.source_ports.is_none() { " → --source-port" } else { "" };
    let text = "flow labels not kept: routers may choose by them, and another run from the same port draws others";
    drawn.then(|| format!("{text}{remedy}"))
}

/// The share below which all connections of a path may be missing among `flows` that were drawn by chance (95 %).
fn least_share(flows: usize) -> Option<f64> {
    (flows > 1).then(|| 1.0 - 0.05_f64.powf(1.0 / flows as f64))
}

/// The scope of the numbers of `record`; absent where nothing was answered. It is never more than one run: the next one starts its
/// threads on other processors, which no number of connections within this one shows (docs/explain/statistics.md).
pub(crate) fn scope(record: &Record) -> Option<String> {
    let outcome = record.outcome.as_ref().filter(|outcome| outcome.counts.answered > 0)?;
    if record.question == Question::Throughput {
        return None;
    }
    let asked = |flows: &Flows| flows.each.iter().filter(|flow| flow.answered > 0).count();
    let flows = outcome.flows.as_ref().map_or(1, asked);
    let held = if let Some(share) = least_share(flows) {
        let share = number::percent(share);
        format!("this run and its {flows} connections. A path of less than {share} of all connections may be missing")
    } else if let Some(one) = one_connection(outcome, record) {
        format!("this run and {one}. Others may take another path, queue or CPU → --flows 8")
    } else {
        "this run. Another one may differ → sonde compare".to_owned()
    };
    let step = in_step(&record.method)
        .map(|gap| format!(". A cycle on the path that divides {gap:#} is met at one point alone → --poisson"));
    Some(held + &step.unwrap_or_default())
}

/// The gap of requests that are due at even intervals, where something on a path may recur as seldom: grants of a radio link, beacons, timers.
fn in_step(method: &Method) -> Option<Nanos> {
    let even = matches!(method.schedule, Schedule::Every { .. } | Schedule::Rate { .. });
    method.schedule.mean_gap().filter(|gap| even && *gap >= Nanos::millis(1))
}

/// The connection of a run that has no more; absent where the exchanges had a connection each, and of what has none.
fn one_connection(outcome: &Outcome, record: &Record) -> Option<String> {
    let Traffic::Exchange(Exchange { carrier: Carrier::Tcp | Carrier::Udp, .. }) = record.method.traffic else {
        return None;
    };
    let socket = outcome.sockets.first().filter(|_| record.method.spread.connections == 1)?;
    let port = port(&socket.local).map_or_else(String::new, |port| format!(" (source port {port})"));
    Some(format!("its one connection{port}"))
}

/// `8 connections: no difference of 2 µs or more shown; p50 of each 13.8 µs to 15.2 µs`.
pub(crate) fn summary(flows: &Flows, record: &Record) -> String {
    let count = flows.each.len();
    let least = Nanos(flows.least_ns.round() as u64);
    let told = match &flows.groups {
        None if !flows.moved.is_empty() => "their times changed during the run, so no groups are shown".to_owned(),
        None if record.method.spread.threads > 1 => "on several threads, so not compared".to_owned(),
        None => too_few(flows, record),
        Some(groups) if groups.len() > 1 && groups.iter().all(|group| are_alike(flows, &group.flows)) => {
            format!("{} groups, within each no difference of {least} or more shown", groups.len())
        }
        Some(groups) if groups.len() > 1 => {
            format!("{} groups at least; whether those of one group differ was not established", groups.len())
        }
        Some(groups) if groups.iter().all(|group| are_alike(flows, &group.flows)) => {
            format!("no difference of {least} or more between them shown")
        }
        // Groups as far apart as these have more noise than difference, or too few values.
        Some(_) => "whether they differ was not established".to_owned(),
    };
    let range = medians(flows.each.iter());
    let range = range.map_or_else(String::new, |(low, high)| format!("; p50 of each {low:#} to {high:#}"));
    let silent = flows.each.iter().filter(|each| each.scheduled > 0 && each.answered == 0).count();
    let fate = if only_refused(record) { "were refused" } else { "had no answer in time" };
    let silent = if silent > 0 && silent < count { format!("; {silent} {fate}") } else { String::new() };
    format!("{count} connections: {told}{range}{silent}")
}

/// Why connections have too few values. In a closed loop each request that is lost is waited for, and nothing is asked meanwhile.
fn too_few(flows: &Flows, record: &Record) -> String {
    // A refusal is not waited for.
    let missing: u64 = flows.each.iter().map(|each| each.scheduled.saturating_sub(each.answered)).sum();
    let refused = record.outcome.as_ref().map_or(0, |outcome| outcome.counts.refused);
    let lost = missing.saturating_sub(refused);
    let timeout = record.method.timeout_ns;
    let waits = if record.method.loop_kind() == LoopKind::Closed { timeout.0.saturating_mul(lost) } else { 0 };
    let words = "too few values of each to compare them";
    if waits < Nanos::secs(1).0 {
        return format!("{words}, use a longer -t");
    }
    let lost =
        if lost == 1 { "the lost request".to_owned() } else { format!("each of {} lost requests", grouped(lost)) };
    format!("{words}: {lost} was waited for {timeout} → a longer -t, or a --timeout of some times the round trip")
}

/// The least and the largest median of a connection.
fn medians<'a>(of: impl Iterator<Item = &'a OfFlow> + Clone) -> Option<(Nanos, Nanos)> {
    let medians = of.filter_map(|each| each.p50_ns);
    medians.clone().min().zip(medians.max())
}

/// True where no two medians of these connections lie farther apart than what is told as a difference.
fn are_alike(flows: &Flows, of: &[u32]) -> bool {
    let of = of.iter().filter_map(|flow| flows.each.get(*flow as usize));
    medians(of).is_some_and(|(low, high)| (high.0 - low.0) as f64 <= flows.least_ns)
}

/// The letter of a group.
pub(crate) fn name(place: usize) -> String {
    LETTERS.get(place).map_or_else(|| (place + 1).to_string(), |letter| char::from(*letter).to_string())
}

/// `A`, `35`, `13.9 µs [13.1, 14.6]`, `+344 µs [337, 349]`, `0 of 2 100 lost`.
fn row(place: usize, group: &FlowGroup) -> [String; 5] {
    let between = |of: Option<Between>| of.and_then(|of| number::within(of.value_ns, of.low_ns.zip(of.high_ns)));
    let lost = group.scheduled.saturating_sub(group.answered);
    [
        format!("  {}", name(place)),
        grouped(group.flows.len() as u64),
        between(group.time).unwrap_or_default(),
        between(group.shift).map_or_else(String::new, |shift| format!("+{shift}")),
        format!("{} of {} lost", grouped(lost), grouped(group.scheduled)),
    ]
}

fn members(page: &mut Page, name: &str, flows: &[u32], record: &Record) {
    let parts = whereabouts(flows, record);
    if !parts.is_empty() {
        page.paragraph(INDENT, &Piece::new(name, Tone::Faint), LABEL, &parts.join("; "));
    }
}

/// The source ports of these connections, neighbours as ranges, and where this host sends them.
pub(crate) fn whereabouts(flows: &[u32], record: &Record) -> Vec<String> {
    let Some(outcome) = &record.outcome else { return Vec::new() };
    let socket = |flow: &u32| outcome.sockets.get(*flow as usize);
    let mut ports: Vec<u16> = flows.iter().filter_map(socket).filter_map(|socket| port(&socket.local)).collect();
    ports.sort_unstable();
    let mut parts = Vec::new();
    if !ports.is_empty() {
        parts.push(format!("source ports {}", ranges(&ports)));
    }
    let mut hops: Vec<&str> = flows.iter().filter_map(socket).filter_map(|socket| socket.next_hop.as_deref()).collect();
    hops.sort_unstable();
    hops.dedup();
    if hops.len() == 1 && outcome.sockets.iter().any(|socket| socket.next_hop.as_deref() != Some(hops[0])) {
        parts.push(format!("this host sends them to {}", hops[0]));
    }
    parts
}

/// The port of an address and port.
pub(crate) fn port(address: &str) -> Option<u16> {
    address.parse::<std::net::SocketAddr>().ok().map(|address| address.port()).filter(|port| *port > 0)
}

/// `40000-40003, 40007`.
fn ranges(ports: &[u16]) -> String {
    let mut parts: Vec<(u16, u16)> = Vec::new();
    for port in ports {
        match parts.last_mut() {
            Some((_, last)) if u32::from(*last) + 1 >= u32::from(*port) => *last = *port,
            _ => parts.push((*port, *port)),
        }
    }
    let text = |(first, last): (u16, u16)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    };
    let others = parts.len().saturating_sub(MOST);
    let shown = parts.into_iter().take(MOST).map(text).collect::<Vec<_>>().join(", ");
    if others > 0 { format!("{shown} and more") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_ports_are_a_range() {
        assert_eq!(ranges(&[40_000, 40_001, 40_003, 65_534, 65_535]), "40000-40001, 40003, 65534-65535");
    }

    #[test]
    fn labels_that_are_not_kept_are_told_over_ipv6() {
        let label = |record: &Record| drawn_labels(record.outcome.as_ref().unwrap(), record);
        let mut record = crate::fixture::grouped();
        assert_eq!(label(&record), None, "IPv4 has none");
        record.target.address = "fd00::2".parse().unwrap();
        assert!(label(&record).unwrap().ends_with("draws others → --source-port"));
        for socket in &mut record.outcome.as_mut().unwrap().sockets {
            socket.flow_label = Some(7);
        }
        assert_eq!(label(&record), None, "all are kept");
    }

    #[test]
    fn connections_of_one_group_whose_times_lie_apart_are_not_told_to_be_alike() {
        let record = crate::fixture::grouped();
        let mut flows = record.outcome.as_ref().unwrap().flows.clone().unwrap();
        assert!(summary(&flows, &record).contains("2 groups, within each no difference of 2 µs or more shown"));
        flows.each[2].p50_ns = Some(Nanos(16_000));
        let told = summary(&flows, &record);
        assert!(told.contains("2 groups at least; whether those of one group differ was not established"), "{told}");
    }

    #[test]
    fn losses_that_were_waited_for_are_why_values_are_too_few() {
        let mut record = crate::fixture::grouped();
        let mut flows = record.outcome.as_ref().unwrap().flows.clone().unwrap();
        flows.groups = None;
        for each in &mut flows.each {
            each.answered = each.scheduled;
        }
        record.method.timeout_ns = Nanos::secs(1);
        assert!(summary(&flows, &record).contains("compare them, use a longer -t"), "nothing was lost");
        flows.each[0].answered -= 1;
        assert!(summary(&flows, &record).contains("them: the lost request was waited for 1 s → a longer -t"));
        flows.each[1].answered -= 1;
        assert!(summary(&flows, &record).contains("each of 2 lost requests was waited for 1 s"));
        record.method.timeout_ns = Nanos::millis(100);
        assert!(summary(&flows, &record).contains("compare them, use a longer -t"), "that took no time to speak of");
    }

    fn text(record: &Record) -> String {
        let mut page = Page::new(crate::layout::Style::default());
        tell(&mut page, record);
        page.finish().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn groups_on_a_busy_host_need_not_be_paths() {
        let mut record = crate::fixture::grouped();
        record.warnings.clear();
        assert!(!text(&record).contains("busy"), "{}", text(&record));
        let by = vec!["CPU pressure 41 %".to_owned()];
        let disturbed = |waited_share| measure::verdict::Warning::Disturbed {
            end: "the peer's".to_owned(),
            by: by.clone(),
            waited_share,
            spoils: vec![],
        };
        record.warnings.push(disturbed(Some(0.02)));
        assert!(!text(&record).contains("busy"), "too little for these: {}", text(&record));
        record.warnings = vec![disturbed(None)];
        assert!(
            text(&record).contains("of these). Hosts were busy: CPUs that other work takes may be"),
            "{}",
            text(&record)
        );
        record.outcome.as_mut().unwrap().flows.as_mut().unwrap().moved = vec![0, 1];
        assert!(text(&record).contains("chosen anew. Hosts were busy: CPUs that other work takes may be"));
        record.warnings.clear();
        assert!(text(&record).contains("chosen anew moved"), "{}", text(&record));
    }

    #[test]
    fn connections_that_are_refused_are_not_said_to_lose() {
        let mut record = crate::fixture::grouped();
        let outcome = record.outcome.as_mut().unwrap();
        outcome.flows.as_mut().unwrap().losing = vec![1];
        (outcome.counts.lost, outcome.counts.refused) = (0, 9);
        outcome.flows.as_mut().unwrap().each[1].answered = 0;
        let told = text(&record);
        assert!(
            told.contains("connections are refused more than the others") && told.contains("; 1 were refused"),
            "{told}"
        );
        record.outcome.as_mut().unwrap().counts.lost = 1;
        assert!(text(&record).contains("connections lose more than the others"), "{}", text(&record));
    }

    /// A server that lets in four connections: the others have no p50, and say so.
    #[test]
    fn connections_that_nothing_answered_are_told() {
        let mut record = crate::fixture::grouped();
        assert!(!text(&record).contains("had no answer"), "{}", text(&record));
        let flows = record.outcome.as_mut().unwrap().flows.as_mut().unwrap();
        (flows.each[1].answered, flows.each[1].p50_ns) = (0, None);
        assert!(text(&record).contains("; 1 had no answer in time"), "{}", text(&record));
        for each in &mut record.outcome.as_mut().unwrap().flows.as_mut().unwrap().each {
            each.answered = 0;
        }
        assert!(!text(&record).contains("had no answer in time"), "told as the answer itself");
    }

    #[test]
    fn a_path_that_few_take_may_be_missed() {
        assert!((least_share(64).unwrap() - 0.0457).abs() < 1e-3);
        assert_eq!(least_share(1), None);
        let mut record = crate::fixture::grouped();
        assert!(scope(&record).unwrap().contains("its 4 connections"), "{:?}", scope(&record));
        record.outcome.as_mut().unwrap().flows.as_mut().unwrap().each[3].answered = 0;
        assert!(scope(&record).unwrap().contains("its 3 connections"), "one of which nothing is known");
    }
}
