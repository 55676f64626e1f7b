//! Records for tests.

use std::net::{IpAddr, Ipv4Addr};

use measure::comparison::{Design, Runs, compare};
use measure::method::{Asked, Far, Pattern};
use measure::outcome::Outcome;
use measure::search::condition::Verdict;
use measure::search::{Bounds, Reached, Search};
use measure::study::figure::Figure;
use measure::study::threshold::Threshold;
use measure::unit::{Nanos, Rate};
use measure::verdict::Warning;
use serde_json::json;
use uuid::Uuid;

use crate::document::Head;
use crate::document::Tool;
use crate::failure::{Failure, Side};
use crate::host::Address;
use crate::look::LookDocument;
use crate::plan::Plan;
use crate::record::{Ended, Instrument, Peer, PeerKind, Question, Record, Target};
use crate::run::{self, Answer, Cell, Figures, HostSeen, PairCheck, RunDocument, Stage};
use crate::search::{Probe, SearchDocument};
use crate::study::{
    self, AxisDifference, ComparedFigure, Comparison, Place, Setting, Shift, StatedClaim, StudyDocument, ThresholdHeld,
    Trial,
};

/// The head of a document: its number is the end of its name.
pub(crate) fn head<T>(number: u8, command: &[&str]) -> Head<T> {
    let id = Uuid::from_u128(0x0199_f2ab_1234_7abc_8def_0123_4567_8900 | u128::from(number));
    let tool = Tool { name: "sonde".to_owned(), version: "0.1.0".to_owned() };
    let command = command.iter().map(ToString::to_string).collect();
    Head::new(id, tool, command, "2026-10-20T14:03:12.25+02:00".parse().unwrap())
}

/// A small measurement with its numbers in place.
pub(crate) fn record() -> Record {
    let asked = Asked::default();
    Record {
        head: Head::new(
            Uuid::from_u128(0x0199_f2ab_1234_7abc_8def_0123_4567_89ab),
            Tool { name: "sonde".to_owned(), version: "0.1.0".to_owned() },
            vec!["sonde".to_owned(), "rtt".to_owned()],
            "2026-10-20T14:03:12.25+02:00".parse().unwrap(),
        ),
        question: Question::Rtt,
        target: Target { host: None, address: IpAddr::V4(Ipv4Addr::LOCALHOST), port: Some(7_663), own_reflector: true },
        peer: Peer {
            kind: PeerKind::Native,
            program: Some("sonde".to_owned()),
            version: Some("0.1.0".to_owned()),
            protocol: None,
            protocol_version: Some(1),
            batch: None,
            receive_buffer_bytes: None,
            authentication: None,
            datagrams_authenticated: None,
        },
        method: asked.resolve().unwrap(),
        asked,
        outcome: Some(outcome()),
        stream: None,
        probes: None,
        wire: None,
        ended: Ended::Interrupted { signal: "SIGINT".to_owned() },
        warnings: vec![Warning::OwnReflector, Warning::Correlated { count: 3, effective: 1.1 }],
        instrument: Instrument::default(),
        ours: None,
        theirs: None,
    }
}

/// A stream towards a server of another protocol.
pub(crate) fn stream() -> Record {
    let asked = Asked { pattern: Some(Pattern::Stream), ..Asked::default() };
    let carried = json!({ "bytes": 2_000_000, "calls": 20, "failed_calls": 1 });
    let found = json!({
        "direction": "send", "elapsed_ns": 2_000_000_000, "ours": carried,
        "theirs": { "bytes": 1_900_000, "calls": 31, "failed_calls": 0, "elapsed_ns": 1_999_000_000 },
        "sent_bytes_per_s": 1_000_000.0, "received_bytes_per_s": 950_000.0, "sockets": [],
        "intervals": [
            { "at_ns": 0, "length_ns": 2_000_000_000, "bytes": 2_000_000, "calls": 20, "failed_calls": 1 }
        ]
    });
    Record {
        question: Question::Throughput,
        peer: Peer {
            kind: PeerKind::Foreign,
            program: None,
            version: None,
            protocol: Some("netperf".to_owned()),
            protocol_version: None,
            batch: None,
            receive_buffer_bytes: None,
            authentication: None,
            datagrams_authenticated: None,
        },
        method: asked.resolve_towards(Far::Foreign).unwrap(),
        asked,
        outcome: None,
        stream: Some(serde_json::from_value(found).unwrap()),
        warnings: Vec::new(),
        ..record()
    }
}

/// A comparison that was ended after one trial of each side.
pub(crate) fn study() -> StudyDocument {
    let record = record();
    let setting = |name: &str| Setting {
        name: name.to_owned(),
        command: ["rtt", "db1", name].map(str::to_owned).to_vec(),
        method: Some(record.method.clone()),
        at: Place::Side,
    };
    let figure = Figure::Quantile(0.5);
    let runs = Runs { first: vec![Some(20_000.0)], second: vec![Some(30_000.0)] };
    let compared = compare(std::slice::from_ref(&runs), Design::Paired).remove(0);
    let threshold: Threshold = "p50>+5%".parse().unwrap();
    StudyDocument {
        head: head(0xad, &["sonde", "compare", "db1 --tcp", "db1 --udp"]),
        question: study::Question::Compare { design: Design::Paired, looks: Vec::new() },
        settings: ["--tcp", "--udp"].map(setting).to_vec(),
        blocks: 7,
        seed: 4,
        takes_ns: Some(Nanos::secs(34)),
        budget_ns: None,
        trials: (0..2)
            .map(|setting| Trial { block: 0, setting, record: Some(Box::new(record.clone())), failure: None })
            .collect(),
        ended: Some(Ended::Interrupted { signal: "SIGINT".to_owned() }),
        comparisons: vec![Comparison {
            second: 1,
            thresholds: vec![ThresholdHeld { threshold, held: threshold.judge(&compared) }],
            figures: vec![ComparedFigure { figure, compared, first: runs.first, second: runs.second }],
            shifts: vec![Shift { q: 0.5, difference_ns: 10_000.0, low_ns: 9_000.0, high_ns: 11_000.0 }],
            axes: vec![AxisDifference {
                axis: "carrier".to_owned(),
                first: "tcp".to_owned(),
                second: "udp".to_owned(),
                worth: None,
            }],
            moved_by: None,
            incomparable: None,
        }],
        claims: vec![StatedClaim {
            claim: "p50(--tcp) > 1.5 × p50(--udp)".parse().unwrap(),
            said: Some("an article".to_owned()),
            finding: None,
            unmeasured: Some("no host".to_owned()),
        }],
        rerun: None,
        explanation: None,
    }
}

/// A search that was ended after its third probe.
pub(crate) fn search() -> SearchDocument {
    let record = record();
    let rate = |per_second| Rate::per_second(per_second).unwrap();
    let bounds = Bounds {
        start_per_1000s: rate(1_000),
        lowest_per_1000s: rate(1),
        highest_per_1000s: rate(1_000_000),
        width: 0.02,
        agreeing: 3,
        probes: 60,
    };
    let seen = [(1_000, Verdict::Met), (2_000, Verdict::Missed), (2_000, Verdict::OurSide)];
    let mut search = Search::new(bounds).unwrap();
    for (per_second, verdict) in seen {
        search.take(rate(per_second), verdict);
    }
    let probe = |(per_second, verdict): (u64, Verdict)| Probe {
        rate_per_1000s: rate(per_second),
        verdict,
        missed: if verdict == Verdict::Met { vec![] } else { vec!["p99 3.21 ms".to_owned()] },
        record: record.clone(),
    };
    SearchDocument {
        head: head(0xac, &["sonde", "load", "--find", "p99<1ms"]),
        target: record.target.clone(),
        condition: "p99<1ms".parse().unwrap(),
        bounds,
        probe_ns: Nanos::secs(2),
        bracket: search.bracket(Reached::Stopped),
        probes: seen.map(probe).to_vec(),
        ended: record.ended.clone(),
    }
}

/// A first look at a host whose kernel answers, and a program.
pub(crate) fn look() -> LookDocument {
    let record = record();
    let sums = json!({
        "due": 2, "answered": 1, "lost": 1, "refused": 0, "failed": 0, "min_ns": 80, "p25_ns": 80, "p75_ns": 80, "max_ns": 80,
        "quantiles": [{ "q": 0.5, "value_ns": 80, "beyond": 0, "standing": "too-few" }]
    });
    let leg = |carrier: &str, who: serde_json::Value| {
        json!({
            "address": 0, "carrier": carrier, "who": who, "method": record.method, "sums": sums,
            "exchanges": [{ "round": 7, "rtt_ns": 80 }, { "round": 8, "rtt_ns": null }]
        })
    };
    let look = json!({
        "host": "db1", "interval_ns": 100_000_000, "length_ns": 5_000_000_000_u64, "took_ns": 5_000_000_000_u64,
        "addresses": [{
            "address": "10.0.0.2", "echo": { "seen": "answer", "after_ns": 90 },
            "ports": [{ "transport": "tcp", "port": 12_865, "verdict": "open", "seen": { "seen": "answer", "after_ns": 95 },
                "service": { "answer": "known", "service": "netserver" } }]
        }],
        "legs": [
            leg("icmp", json!({ "kind": "kernel" })),
            leg("tcp", json!({ "kind": "program", "service": "netserver" }))
        ],
        "bursts": [{ "leg": 1, "method": record.method, "sums": sums, "quartiles_ns": [40, 41] }],
        "resets": [],
        "judgement": {
            "believed": { "leg": 1, "stands": "application" },
            "findings": [{
                "of": { "kind": "leg", "leg": 0 }, "shift": { "value_ns": -3.5, "low_ns": -4.0, "high_ns": null },
                "word": "less", "cause": "nobody-woken"
            }]
        }
    });
    LookDocument {
        head: head(0xad, &["sonde", "db1"]),
        look: serde_json::from_value(look).unwrap(),
        ended: record.ended.clone(),
    }
}

/// A run of two hosts that was interrupted: one cell measured, one that failed with its host.
pub(crate) fn run() -> RunDocument {
    let record = record();
    let plan: Plan = toml::from_str(
        r#"
        name = "mesh"
        hosts = [
            { name = "a", reach = "local", internal = "127.0.0.1", labels = { zone = "z1" } },
            { name = "b", reach = { namespace = "b" }, internal = "10.0.0.2" },
        ]
        methods = [{ name = "tcp_rr", command = "rtt --tcp -t 5s" }]
        repeats = 2
        seed = 4
        "#,
    )
    .unwrap();
    let lost = Failure {
        what: "b: the agent is gone".to_owned(),
        to_whom: Some("b".to_owned()),
        side: Some(Side::Theirs),
        hint: Some("see whether it runs".to_owned()),
        partial: None,
    };
    let place = |from: &str, to: &str| run::Place {
        from: from.to_owned(),
        to: to.to_owned(),
        over: Address::Internal,
        method: "tcp_rr".to_owned(),
        repeat: 0,
    };
    let cell = Cell {
        place: place("a", "b"),
        round: 0,
        beside: 1,
        started: record.head.started,
        record: Some(record.head.id),
        figures: Some(Figures::of(&record)),
        failure: None,
        host_lost: false,
    };
    let seen = |host: &str, lost: Option<Failure>| HostSeen {
        host: host.to_owned(),
        tool: Some(record.head.tool.clone()),
        kernel: Some("Linux 6.1.0".to_owned()),
        cpus: Some(2),
        boot_id: None,
        clock_ahead_ns: Some(-12_000),
        port: None,
        lost,
    };
    RunDocument {
        head: head(0xae, &["sonde", "run", "mesh.toml"]),
        plan,
        planned: Some(4),
        hosts: vec![seen("a", None), seen("b", Some(lost.clone()))],
        checks: vec![PairCheck {
            from: "a".to_owned(),
            to: "b".to_owned(),
            over: Address::Internal,
            address: Some("10.0.0.2".parse().unwrap()),
            name: None,
            icmp: Answer::Open,
            tcp: Answer::Open,
            udp: Answer::Silent,
            mtu_bytes: Some(1_500),
            mtu_hole: false,
            failure: None,
        }],
        cells: vec![
            cell.clone(),
            Cell {
                place: place("b", "a"),
                round: 1,
                record: None,
                figures: None,
                failure: Some(lost),
                host_lost: true,
                ..cell
            },
        ],
        stages: vec![Stage::Prepare],
        ended: Some(record.ended.clone()),
    }
}

/// As it stands in a record, so that a field that others add or drop shows in the tests of reading.
fn outcome() -> Outcome {
    let counts = json!({
        "scheduled": 4, "answered": 3, "late": 0, "lost": 1, "refused": 0, "corrupt": 0, "send_failed": 0,
        "duplicated": 0, "reordered": 0, "strays": 0, "ticks_missed": 0, "clock_steps": 0
    });
    let outcome = json!({
        "loop_kind": "closed", "elapsed_ns": 1_000_000, "counts": counts,
        "response": {
            "count": 3, "min_ns": 10, "max_ns": 30, "mean_ns": 20.1, "quantiles": [
                { "q": 0.5, "value_ns": 20, "low_ns": 10, "beyond": 1, "standing": "too-few" }
            ],
            "examined": 3, "exact": true, "saturated": 0, "histogram": ""
        },
        "loss": { "ratio": 0.25, "low": 0.0456, "high": 0.6994, "periods": 1, "longest_period": 1 },
        "reorder_extents": [], "steady": "too-short", "sockets": [],
        "seconds": [{ "at_ns": 0, "length_ns": 1_000_000, "counts": counts, "min_ns": 10, "mean_ns": 20.1, "max_ns": 30 }]
    });
    serde_json::from_value(outcome).unwrap()
}
