//! Records for tests, made as real ones are: a recorder is told of exchanges, and what it recorded is summarised.
//!
//! Times are drawn with integers alone, so that they are the same on every machine.

use std::collections::BTreeMap;
use std::ops::Range;

use logbook::document::Tool;
use logbook::document::{Form, Head};
use logbook::record::{Ended, Instrument, Peer, PeerKind, Question, Record, Target};
use measure::environment::{Disturbance, Environment, Interface};
use measure::event::Fate;
use measure::method::{Asked, Batch, BatchBy, Carrier, Direction, LoopKind, Pattern, Schedule, Share, Sizes, Stop};
use measure::outcome::flows::{Between, FlowGroup, Flows, OfFlow};
use measure::outcome::{SocketFacts, Split};
use measure::recorder::{Held, Recorder, Recording, Sequence};
use measure::statistics::loss::PeerCounts;
use measure::statistics::summary::{Extra, summarise};
use measure::throughput::meter::Meter;
use measure::throughput::{Carried, Sight, Theirs, Throughput};
use measure::unit::{Bytes, Instant, Nanos, Rate};
use measure::verdict::Warning;
use measure::verdict::lost::LeavesBy;
use uuid::Uuid;

mod look;
mod one_way;
mod run;
mod search;
mod study;
mod wire;

pub(crate) use self::look::{look, look_over_two_paths, silent_look, slow_look};
pub(crate) use self::one_way::{one_way, one_way_with_a_step};
pub(crate) use self::run::{run, run_comparison};
pub(crate) use self::search::search;
pub(crate) use self::study::{comparison, sweep};
pub(crate) use self::wire::{contradicted, verified};

/// Numbers that look drawn, the same on every machine: `SplitMix64`, from a seed.
struct Draw(u64);

impl Draw {
    fn within(&mut self, range: Range<u64>) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        range.start + (mixed ^ (mixed >> 31)) % (range.end - range.start)
    }
}

/// A round trip: a floor, a body within some microseconds, now and then a tail.
fn trip(rng: &mut Draw) -> Nanos {
    let body = rng.within(0..1_000).pow(3) / 100_000;
    let tail = match rng.within(0..5_000) {
        0 => rng.within(50_000..1_000_000),
        1..25 => rng.within(1_000..60_000),
        _ => 0,
    };
    Nanos(19_800 + body + tail)
}

/// `record` under another name.
pub(crate) fn named(id: Uuid, mut record: Record) -> Record {
    record.head.id = id;
    record
}

/// The head of a document: its number is the end of its name.
pub(crate) fn head<T>(number: u8, command: &[&str]) -> Head<T> {
    let id = Uuid::from_u128(0x0199_f2ab_1234_7abc_8def_0123_4567_8900 | u128::from(number));
    let tool = Tool { name: "sonde".to_owned(), version: "0.1.0".to_owned() };
    let command = command.iter().map(ToString::to_string).collect();
    Head::new(id, tool, command, "2026-10-20T14:03:12.25+02:00".parse().unwrap())
}

fn record(asked: Asked, recording: &Recording, extra: Extra) -> Record {
    let method = asked.resolve().unwrap();
    Record {
        head: head(0xab, &["sonde", "rtt", "10.0.0.2"]),
        question: Question::Rtt,
        target: Target {
            host: Some("10.0.0.2".to_owned()),
            address: [10, 0, 0, 2].into(),
            port: Some(7_663),
            own_reflector: false,
        },
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
        outcome: Some(summarise(recording, &method, extra)),
        stream: None,
        probes: None,
        wire: None,
        asked,
        method,
        ended: Ended::Complete,
        warnings: Vec::new(),
        instrument: Instrument {
            clock: Some("CLOCK_MONOTONIC".to_owned()),
            clock_read_ns: Some(Nanos(31)),
            clock_step_ns: Some(Nanos(1)),
            timer_slack_ns: Some(Nanos(1)),
            wake_up_late_ns: None,
            scheduling: Some("other".to_owned()),
        },
        ours: None,
        theirs: None,
    }
}

/// A closed loop over tcp with all that a record can hold.
pub(crate) fn closed() -> Record {
    let mut rng = Draw(7);
    let mut recorder = Recorder::new(LoopKind::Closed, 100_000);
    let mut now = Instant(5_000);
    recorder.begin(now, Some(Nanos::micros(1_020)));
    let mut edge = now;
    for _ in 0..40_000 {
        let sent = now;
        now = now.after(trip(&mut rng));
        recorder.answered(sent, now);
        if now.since(edge) > Some(Nanos::secs(1)) {
            recorder.second(now);
            edge = now;
        }
    }
    let extra =
        Extra { split: Some(split()), sockets: vec![socket()], peer: counted(40_000, 40_000), ..Extra::default() };
    Record {
        ours: Some(environment("probe-1")),
        theirs: Some(Environment { disturbance: None, interface: None, ..environment("db-1") }),
        warnings: vec![
            Warning::TooFewForQuantile { q: 0.9999, needed: 100_000, seen: 40_000, run_for_ns: Some(Nanos::secs(3)) },
            Warning::PowerSavingGovernor { governor: "powersave".to_owned(), end: "our".to_owned(), lowest: false },
        ],
        ..record(Asked::default(), &recorder.finish(now), extra)
    }
}

fn counted(received: u64, replied: u64) -> PeerCounts {
    PeerCounts { received: Some(received), replied: Some(replied), dropped: Some(0), elsewhere: Some(0), unique: true }
}

fn split() -> Split {
    Split {
        samples: 512,
        send_to_sched_ns: Some(Nanos(970)),
        sched_to_driver_ns: Some(Nanos(180)),
        outside_ns: Some(Nanos(15_950)),
        wake_up_ns: Some(Nanos(6_010)),
        path_ns: Some(Nanos(8_620)),
        peer_ns: Some(Nanos(7_330)),
        peer_wake_up_ns: Some(Nanos(6_010)),
        peer_hold_ns: Some(Nanos(30)),
        peer_send_ns: Some(Nanos(1_290)),
        round_trip_ns: Some(Nanos(23_110)),
        round_trip_unstamped_ns: Some(Nanos(21_100)),
        missing: Vec::new(),
        clock_stepped: false,
        slowest: None,
    }
}

fn socket() -> SocketFacts {
    SocketFacts {
        local: "10.0.0.1:40312".to_owned(),
        remote: "10.0.0.2:7663".to_owned(),
        send_buffer_bytes: Some(Bytes(87_040)),
        receive_buffer_bytes: Some(Bytes(131_072)),
        nodelay: Some(true),
        congestion: Some("cubic".to_owned()),
        mss_bytes: Some(Bytes(1_448)),
        path_mtu_bytes: Some(Bytes(1_500)),
        kernel_min_rtt_ns: Some(Nanos(19_000)),
        ..SocketFacts::default()
    }
}

fn environment(host: &str) -> Environment {
    Environment {
        program: "sonde 0.1.0".to_owned(),
        host: Some(host.to_owned()),
        kernel: Some("6.18.3 #1 SMP PREEMPT_DYNAMIC Mon Oct 5 10:11:12 UTC 2026".to_owned()),
        cpu_model: Some("A Processor of Some Maker @ 2.60GHz".to_owned()),
        cpus_online: Some(4),
        cpus_allowed: Some(2),
        smt: Some(true),
        hypervisor: Some("KVM".to_owned()),
        clock_source: Some("tsc".to_owned()),
        clock_synchronised: Some(false),
        governors: vec!["powersave".to_owned()],
        congestion_control: Some("cubic".to_owned()),
        interface: Some(Interface {
            name: "eth0".to_owned(),
            driver: Some("virtio_net".to_owned()),
            mtu_bytes: Some(1_500),
            offloads: ["gro", "gso", "tso"].map(str::to_owned).to_vec(),
            qdisc: Some("fq_codel".to_owned()),
            ..Interface::default()
        }),
        settings: BTreeMap::from([("net.core.busy_poll".to_owned(), "0".to_owned())]),
        disturbance: Some(Disturbance {
            watched_ns: Nanos::secs(1),
            run_queue_share: Some(0.000_42),
            involuntary_switches: Some(3),
            steal_share: Some(0.0),
            ..Disturbance::default()
        }),
        counters: BTreeMap::from([("Tcp.RetransSegs".to_owned(), 2)]),
        unread: vec!["idle states: no driver".to_owned()],
        ..Environment::default()
    }
}

/// Four connections in two groups, one of which loses.
pub(crate) fn grouped() -> Record {
    let mut record = closed();
    let Some(outcome) = &mut record.outcome else { return record };
    let at = |port: u16| SocketFacts { local: format!("10.0.0.1:{port}"), ..socket() };
    outcome.sockets = [40_000, 40_008, 40_016, 40_024].map(at).to_vec();
    let of_flow =
        |p50| OfFlow { scheduled: 50, answered: 50, p50_ns: Some(Nanos(p50)), p99_ns: None, histogram: String::new() };
    let time =
        |value_ns: f64| Some(Between { value_ns, low_ns: Some(value_ns - 500.0), high_ns: Some(value_ns + 500.0) });
    let group = |flows: [u32; 2], p50, shift: Option<Between>, answered| FlowGroup {
        flows: flows.to_vec(),
        time: time(p50),
        shift,
        scheduled: 100,
        answered,
    };
    outcome.flows = Some(Flows {
        each: [13_900, 358_000, 14_100, 359_000].map(of_flow).to_vec(),
        groups: Some(vec![group([0, 2], 14_000.0, None, 100), group([1, 3], 358_500.0, time(344_500.0), 97)]),
        least_ns: 2_000.0,
        moved: Vec::new(),
        losing: Vec::new(),
    });
    record
}

/// An open loop over udp that lost, delayed, doubled and reordered, and was behind its schedule.
pub(crate) fn open_with_losses() -> Record {
    let mut rng = Draw(11);
    let mut recorder = Recorder::new(LoopKind::Open, 100_000);
    recorder.begin(Instant(0), Some(Nanos::micros(310)));
    let mut sequence = Sequence::default();
    for n in 0..10_000_u64 {
        let due = Instant(n * 1_000_000);
        let slip = if n % 90 == 0 { rng.within(1_000_000..2_000_000) } else { rng.within(10..900) };
        match n % 500 {
            17 | 18 => recorder.ended(Fate::Lost, &mut sequence, n, Some(Nanos(slip))),
            19 => recorder.ended(Fate::Late, &mut sequence, n, Some(Nanos(slip))),
            _ => {
                let sent = due.after(Nanos(slip));
                recorder.answered_as_scheduled(due, sent, sent.after(trip(&mut rng)));
                // Every thousandth comes behind the one after it.
                let place = match n % 1_000 {
                    3 => n + 1,
                    4 => n - 1,
                    _ => n,
                };
                recorder.arrived(&mut sequence, place);
            }
        }
    }
    recorder.duplicated();
    let rate_per_1000s = Rate::per_second(1_000).unwrap();
    let asked =
        Asked { carrier: Some(Carrier::Udp), schedule: Some(Schedule::Poisson { rate_per_1000s }), ..Asked::default() };
    let extra = Extra { peer: counted(9_970, 9_970), ..Extra::default() };
    Record {
        target: Target {
            host: Some("db-1.example".to_owned()),
            address: "2001:db8::2".parse().unwrap(),
            port: Some(7_663),
            own_reflector: false,
        },
        warnings: vec![
            Warning::Lost {
                count: 60,
                sent: 10_000,
                dropped_by_us: None,
                dropped_by_peer: None,
                late: 0,
                leaves_by: LeavesBy::Window,
                waited_share: None,
                unacknowledged: 0,
            },
            Warning::BehindSchedule { share: 0.0111 },
        ],
        ..record(asked, &recorder.finish(Instant(10_000_000_000)), extra)
    }
}

/// Twenty echoes, one a second, which a kernel answers.
pub(crate) fn icmp() -> Record {
    let mut rng = Draw(3);
    let mut recorder = Recorder::new(LoopKind::Open, 1_000);
    recorder.begin(Instant(0), None);
    for n in 0..20_u64 {
        let due = Instant(n * 1_000_000_000);
        let sent = due.after(Nanos(rng.within(100..400)));
        recorder.answered_as_scheduled(due, sent, sent.after(Nanos(rng.within(140_000..170_000))));
    }
    let asked = Asked {
        carrier: Some(Carrier::Icmp),
        schedule: Some(Schedule::Every { interval_ns: Nanos::secs(1) }),
        stop: Stop { count: Some(20), ..Stop::default() },
        ..Asked::default()
    };
    let split = Split {
        samples: 20,
        send_to_sched_ns: Some(Nanos(650)),
        sched_to_driver_ns: Some(Nanos(170)),
        outside_ns: Some(Nanos(150_110)),
        wake_up_ns: Some(Nanos(1_190)),
        ..Split::default()
    };
    let extra = Extra { split: Some(split), ..Extra::default() };
    let base = record(asked, &recorder.finish(Instant(19_000_200_000)), extra);
    Record {
        target: Target { port: None, ..base.target },
        peer: Peer { kind: PeerKind::Kernel, ..nobody() },
        warnings: vec![Warning::IcmpIsNotTheApplication],
        ..base
    }
}

/// A run over loopback that Ctrl-C ended.
pub(crate) fn interrupted() -> Record {
    let mut rng = Draw(5);
    let mut recorder = Recorder::new(LoopKind::Closed, 10_000);
    let mut now = Instant(0);
    recorder.begin(now, Some(Nanos::micros(60)));
    for _ in 0..2_500 {
        let sent = now;
        now = now.after(trip(&mut rng));
        recorder.answered(sent, now);
    }
    let base = record(Asked::default(), &recorder.finish(now), Extra::default());
    Record {
        target: Target { host: None, address: [127, 0, 0, 1].into(), own_reflector: true, ..base.target },
        ended: Ended::Interrupted { signal: "SIGINT".to_owned() },
        warnings: vec![Warning::OwnReflector, Warning::Interrupted],
        ..base
    }
}

/// Nothing was answered.
pub(crate) fn silent() -> Record {
    let mut recorder = Recorder::new(LoopKind::Closed, 10);
    recorder.begin(Instant(0), None);
    let mut sequence = Sequence::default();
    for n in 0..8 {
        recorder.ended(if n < 5 { Fate::Lost } else { Fate::Refused }, &mut sequence, n, None);
    }
    let asked = Asked { carrier: Some(Carrier::Udp), ..Asked::default() };
    let base = record(asked, &recorder.finish(Instant(8_000_000_000)), Extra::default());
    let reason = "it closed the control connection".to_owned();
    Record {
        ended: Ended::PeerLost { reason: reason.clone() },
        warnings: vec![Warning::PeerLost { reason }],
        peer: nobody(),
        ..base
    }
}

fn nobody() -> Peer {
    Peer {
        kind: PeerKind::Unknown,
        program: None,
        version: None,
        protocol: None,
        protocol_version: None,
        batch: None,
        receive_buffer_bytes: None,
        authentication: None,
        datagrams_authenticated: None,
    }
}

/// A UDP stream to a server of another protocol, which had less of it than was sent; its calls were timed.
pub(crate) fn stream() -> Record {
    let mut rng = Draw(13);
    let mut meter = Meter::new(100_000);
    let mut now = Instant(7_000);
    meter.begin(now, Sight::default());
    let mut edge = now;
    for n in 0..20_000 {
        let before = now;
        now = now.after(Nanos(rng.within(150_000..250_000)));
        meter.took(before, before.after(Nanos(rng.within(2_000..9_000))));
        if n % 5_000 == 77 {
            meter.failed();
        } else {
            meter.moved(1_400);
        }
        if now.since(edge) > Some(Nanos::secs(1)) {
            meter.interval(now, Sight::default());
            edge = now;
        }
    }
    let asked = Asked { carrier: Some(Carrier::Udp), pattern: Some(Pattern::Stream), ..Asked::default() };
    let carried = Carried { bytes: Bytes(1_400 * 19_941), calls: 19_941, failed_calls: 0 };
    let theirs = Theirs { carried, elapsed_ns: Some(Nanos::millis(3_990)) };
    let found = Throughput::of(Direction::Send, &meter.finish(now, Sight::default()), Some(theirs), vec![socket()]);
    let base = record(asked, &Recorder::new(LoopKind::Closed, 10).finish(Instant(0)), Extra::default());
    Record {
        question: Question::Throughput,
        peer: Peer { kind: PeerKind::Foreign, protocol: Some("netperf".to_owned()), ..nobody() },
        outcome: None,
        stream: Some(found),
        probes: None,
        ..base
    }
}

/// A load over udp that lost on both ways, reordered, and was held back.
pub(crate) fn load() -> Record {
    let mut rng = Draw(17);
    let rate_per_1000s = Rate::per_second(10_000).unwrap();
    let asked = Asked {
        pattern: Some(Pattern::Load),
        reply_every: Some(10),
        batch: Some(Batch { messages: 64, by: BatchBy::Calls }),
        schedule: Some(Schedule::Rate { rate_per_1000s }),
        stop: Stop { after_ns: Some(Nanos::secs(3)), ..Stop::default() },
        ..Asked::default()
    };
    let mut recorder = Recorder::of(&asked.resolve().unwrap(), 100_000);
    recorder.begin(Instant(0), Some(Nanos::micros(310)));
    recorder.held_back(Held::Cap, Nanos::millis(12));
    let mut sequence = Sequence::default();
    let mut replies = 0..;
    for n in 0..29_000_u64 {
        let (due, slip) = (Instant(n * 100_000), Nanos(rng.within(10..900)));
        if n > 0 && n % 10_000 == 0 {
            recorder.second(due);
        }
        let reply = (n % 10 == 9).then(|| replies.next().unwrap());
        match reply {
            None if n % 7_000 == 1 => recorder.one_way_failed(Some(slip)),
            None => recorder.one_way(Some(slip)),
            Some(reply) if reply % 500 == 17 => recorder.ended(Fate::Lost, &mut sequence, reply, Some(slip)),
            Some(reply) => {
                let sent = due.after(slip);
                recorder.answered_as_scheduled(due, sent, sent.after(trip(&mut rng)));
                // Every thousandth comes behind the one after it.
                let place = match reply % 1_000 {
                    3 => reply + 1,
                    4 => reply - 1,
                    _ => reply,
                };
                recorder.arrived(&mut sequence, place);
            }
        }
    }
    recorder.sent_until(Instant(2_999_900_000));
    let extra = Extra { peer: counted(28_963, 2_897), ..Extra::default() };
    let warnings = vec![
        Warning::LostOnTheWay { count: 32, sent: 28_995, dropped_by_peer: Some(30) },
        Warning::RateNotAchieved {
            offered_per_s: 10_000.0,
            sent_per_s: 9_665.0,
            held_back_by_window: false,
            held_back_by_socket: false,
            in_turn: false,
        },
    ];
    Record {
        head: head(0xab, &["sonde", "load", "10.0.0.2"]),
        question: Question::Load,
        warnings,
        ..record(asked, &recorder.finish(Instant(3_000_000_000)), extra)
    }
}

/// A load as fast as it could, of sizes by chance.
pub(crate) fn load_at_max() -> Record {
    let mut rng = Draw(19);
    let share = |bytes, weight| Share { bytes: Bytes(bytes), weight };
    let asked = Asked {
        pattern: Some(Pattern::Load),
        reply_every: Some(100),
        sizes: Sizes::Mix(vec![share(64, 7), share(576, 4), share(1_400, 1)]),
        stop: Stop { count: Some(50_000), ..Stop::default() },
        ..Asked::default()
    };
    let mut recorder = Recorder::of(&asked.resolve().unwrap(), 100_000);
    recorder.begin(Instant(0), None);
    for n in 0..50_000_u64 {
        let sent = Instant(n * 2_100);
        if n % 100 == 99 {
            recorder.answered(sent, sent.after(trip(&mut rng)));
        } else {
            recorder.one_way(None);
        }
        recorder.sent_until(sent);
    }
    let extra = Extra { peer: counted(50_000, 500), ..Extra::default() };
    let base = record(asked, &recorder.finish(Instant(105_100_000)), extra);
    Record { question: Question::Load, ..base }
}

/// Each of them.
pub(crate) fn all() -> Vec<Record> {
    vec![
        closed(),
        open_with_losses(),
        icmp(),
        interrupted(),
        silent(),
        stream(),
        load(),
        load_at_max(),
        one_way(),
        one_way_with_a_step(),
        verified(),
        contradicted(),
    ]
}

#[test]
fn each_is_what_the_schema_says_and_is_read_as_it_was_written() {
    let validator = jsonschema::validator_for(&logbook::schema::json_schema()).unwrap();
    for record in all() {
        let text = record.to_json().unwrap();
        let document = serde_json::from_str(&text).unwrap();
        let faults: Vec<String> = validator.iter_errors(&document).map(|fault| fault.to_string()).collect();
        assert_eq!(faults, [] as [String; 0]);
        assert_eq!(Record::read(&text), Ok(record));
    }
}
