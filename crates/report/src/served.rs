//! The counts of servers so far: as lines for a person, and in the text format of Prometheus.

use std::fmt::{Display, Write as _};

use measure::served::{Memory, Served, ServerCounts};
use measure::unit::{Bytes, grouped};

use crate::number;

/// Lines for a person, one for the process and one for each server.
pub fn text(served: &Served) -> String {
    let of_process = [
        served.threads.map(|threads| number::count(threads, "thread", "threads")),
        served.resident_bytes.map(|bytes| format!("{} resident", number::size(bytes))),
    ];
    let of_process: Vec<String> = of_process.into_iter().flatten().collect();
    let width = served.servers.keys().map(|name| name.len()).max().unwrap_or(0);
    let servers = served.servers.iter().map(|(name, counts)| format!("  {name:width$}  {}\n", line(counts)));
    format!("served so far: {}\n", of_process.join(", ")) + &servers.collect::<String>()
}

fn line(counts: &ServerCounts) -> String {
    let ended = counts.ended.iter().map(|(how, count)| (how.name(), *count)).collect::<Vec<_>>();
    let refused = counts.refused.iter().map(|(reason, count)| (reason.name(), *count)).collect::<Vec<_>>();
    let parts = [
        counts.opened.map(|opened| format!("{} opened", number::count(opened, "session", "sessions"))),
        counts.opened.map(|_| with_parts("ended", &ended)),
        (!refused.is_empty()).then(|| with_parts("refused", &refused)),
        counts.answered.map(|answered| format!("{} answered", number::count(answered, "request", "requests"))),
        malformed(counts),
        counts.memory.map(|memory| {
            format!("{} of memory granted, at most {}", number::size(memory.now), number::size(memory.most))
        }),
        Some(format!("{} received, {} sent", number::size(counts.received), number::size(counts.sent))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `3 malformed (90 B)`; `90 B malformed` where octets are counted and no messages.
fn malformed(counts: &ServerCounts) -> Option<String> {
    match (counts.malformed, counts.malformed_bytes.map(number::size)) {
        (None, None) => None,
        (None, Some(bytes)) => Some(format!("{bytes} malformed")),
        (Some(messages), None) => Some(format!("{} malformed", grouped(messages))),
        (Some(messages), Some(bytes)) => Some(format!("{} malformed ({bytes})", grouped(messages))),
    }
}

/// `3 ended (2 closed, 1 lost)`.
fn with_parts(what: &str, parts: &[(&str, u64)]) -> String {
    let sum: u64 = parts.iter().map(|(_, count)| count).sum();
    let each: Vec<String> = parts.iter().map(|(name, count)| format!("{} {name}", grouped(*count))).collect();
    let each = if each.is_empty() { String::new() } else { format!(" ({})", each.join(", ")) };
    format!("{} {what}{each}", grouped(sum))
}

/// The text format of Prometheus, version 0.0.4.
pub fn prometheus(served: &Served) -> String {
    let mut text = String::new();
    let seconds = served.since_ns.0 as f64 / 1e9;
    family(
        &mut text,
        "process_start_time_seconds",
        "gauge",
        "Start of the process, seconds since 1970.",
        [("", seconds)],
    );
    let threads = served.threads.map(|threads| ("", threads));
    family(&mut text, "process_threads", "gauge", "Threads of the process.", threads);
    let resident = served.resident_bytes.map(|Bytes(bytes)| ("", bytes));
    family(&mut text, "process_resident_memory_bytes", "gauge", "Resident memory of the process.", resident);
    for (name, help, rows) in counters(served) {
        family(&mut text, name, "counter", help, rows.iter().map(|(labels, value)| (labels.as_str(), value)));
    }
    for (name, help, rows) in gauges(served) {
        family(&mut text, name, "gauge", help, rows.iter().map(|(labels, value)| (labels.as_str(), value)));
    }
    text
}

/// A value with its labels.
type Row = (String, u64);

/// A family's name, help and rows.
type Family = (&'static str, &'static str, Vec<Row>);

/// A row for each server that has the value.
fn each(served: &Served, value: impl Fn(&ServerCounts) -> Option<u64>) -> Vec<Row> {
    let row = |(name, counts): (&&str, &ServerCounts)| Some((format!("server=\"{name}\""), value(counts)?));
    served.servers.iter().filter_map(row).collect()
}

fn gauges(served: &Served) -> [Family; 2] {
    let memory =
        |which: fn(&Memory) -> Bytes| each(served, |counts| counts.memory.as_ref().map(|memory| which(memory).0));
    [
        ("sonde_granted_memory_bytes", "Memory that open sessions may take.", memory(|memory| memory.now)),
        ("sonde_granted_memory_peak_bytes", "The most of it so far.", memory(|memory| memory.most)),
    ]
}

fn counters(served: &Served) -> [Family; 8] {
    let each = |value: &dyn Fn(&ServerCounts) -> Option<u64>| each(served, value);
    let by = |label: &str, parts: &dyn Fn(&ServerCounts) -> Vec<(&'static str, u64)>| -> Vec<Row> {
        let rows = |(name, counts): (&&str, &ServerCounts)| {
            let row = |(part, count): (&str, u64)| (format!("server=\"{name}\",{label}=\"{part}\""), count);
            parts(counts).into_iter().map(row).collect::<Vec<_>>()
        };
        served.servers.iter().flat_map(rows).collect()
    };
    let ended = |counts: &ServerCounts| counts.ended.iter().map(|(how, count)| (how.name(), *count)).collect();
    let refused = |counts: &ServerCounts| counts.refused.iter().map(|(why, count)| (why.name(), *count)).collect();
    [
        ("sonde_sessions_opened_total", "Sessions that began.", each(&|counts| counts.opened)),
        ("sonde_sessions_ended_total", "Sessions that ended, by how.", by("how", &ended)),
        ("sonde_clients_refused_total", "Clients that were refused, by why.", by("reason", &refused)),
        ("sonde_requests_answered_total", "Requests that were answered.", each(&|counts| counts.answered)),
        (
            "sonde_malformed_messages_total",
            "Messages that made no sense, and datagrams that belong to no session.",
            each(&|counts| counts.malformed),
        ),
        (
            "sonde_malformed_bytes_total",
            "Bytes of such datagrams, and of clients that were refused for what they said.",
            each(&|counts| counts.malformed_bytes.map(|bytes| bytes.0)),
        ),
        ("sonde_received_bytes_total", "Bytes of messages received.", each(&|counts| Some(counts.received.0))),
        ("sonde_sent_bytes_total", "Bytes of messages sent.", each(&|counts| Some(counts.sent.0))),
    ]
}

/// One family of metrics, where there is a value of it.
fn family<'a, V: Display>(
    text: &mut String,
    name: &str,
    kind: &str,
    help: &str,
    rows: impl IntoIterator<Item = (&'a str, V)>,
) {
    let mut rows = rows.into_iter().peekable();
    if rows.peek().is_none() {
        return;
    }
    let _infallible = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for (labels, value) in rows {
        let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _infallible = writeln!(text, "{name}{labels} {value}");
    }
}

#[cfg(test)]
mod tests {
    use measure::served::{RefusalReason, SessionEnd};
    use measure::unit::Nanos;

    use super::*;

    fn served() -> Served {
        let sonde = ServerCounts {
            opened: Some(12),
            ended: [(SessionEnd::Closed, 10), (SessionEnd::GaveWay, 1)].into(),
            refused: [(RefusalReason::Key, 2_000)].into(),
            answered: Some(12_345),
            received: Bytes(640),
            sent: Bytes(1_500_000),
            malformed: None,
            malformed_bytes: Some(Bytes(20)),
            memory: Some(Memory { now: Bytes(0), most: Bytes(4_096) }),
        };
        let stamp = ServerCounts {
            answered: Some(7),
            malformed: Some(1),
            malformed_bytes: Some(Bytes(9)),
            ..ServerCounts::default()
        };
        Served {
            since_ns: Nanos(1_764_000_000_500_000_000),
            threads: Some(9),
            resident_bytes: None,
            servers: [("stamp", stamp), ("sonde", sonde)].into(),
        }
    }

    #[test]
    fn a_person_reads_a_line_for_each_server() {
        assert_eq!(
            text(&served()),
            "served so far: 9 threads\n  \
             sonde  12 sessions opened, 11 ended (10 closed, 1 gave_way), 2 000 refused (2 000 key), 12 345 requests \
             answered, 20 B malformed, 0 B of memory granted, at most 4096 B, 640 B received, 1.50 MB sent\n  \
             stamp  7 requests answered, 1 malformed (9 B), 0 B received, 0 B sent\n"
        );
    }

    #[test]
    fn prometheus_reads_each_value_under_its_name_and_labels_and_nothing_that_is_not_known() {
        let text = prometheus(&served());
        let values: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            values,
            [
                "process_start_time_seconds 1764000000.5",
                "process_threads 9",
                "sonde_sessions_opened_total{server=\"sonde\"} 12",
                "sonde_sessions_ended_total{server=\"sonde\",how=\"closed\"} 10",
                "sonde_sessions_ended_total{server=\"sonde\",how=\"gave_way\"} 1",
                "sonde_clients_refused_total{server=\"sonde\",reason=\"key\"} 2000",
                "sonde_requests_answered_total{server=\"sonde\"} 12345",
                "sonde_requests_answered_total{server=\"stamp\"} 7",
                "sonde_malformed_messages_total{server=\"stamp\"} 1",
                "sonde_malformed_bytes_total{server=\"sonde\"} 20",
                "sonde_malformed_bytes_total{server=\"stamp\"} 9",
                "sonde_received_bytes_total{server=\"sonde\"} 640",
                "sonde_received_bytes_total{server=\"stamp\"} 0",
                "sonde_sent_bytes_total{server=\"sonde\"} 1500000",
                "sonde_sent_bytes_total{server=\"stamp\"} 0",
                "sonde_granted_memory_bytes{server=\"sonde\"} 0",
                "sonde_granted_memory_peak_bytes{server=\"sonde\"} 4096",
            ]
        );
        for family in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
            assert!(family.split(' ').count() == 2 && !text.contains(&format!("# TYPE {family}\n# ")), "{family}");
        }
    }
}
