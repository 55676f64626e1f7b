//! Argv to plan, case by case, and the refusals on the way.

use clap::Parser;
use clap::error::ErrorKind;
use measure::method::{NotOf, Pacing, Part, Refusal, Settled, Sizes, Waiting, Window, default};
use measure::unit::{Nanos, Rate};
use test_case::test_case;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    options: RttOptions,
}

fn plan(line: &str) -> Plan {
    let words = std::iter::once("rtt").chain(line.split_whitespace());
    Plan::of(Line::try_parse_from(words).unwrap().options).unwrap()
}

fn refused(line: &str) -> ErrorKind {
    let words = std::iter::once("rtt").chain(line.split_whitespace());
    Line::try_parse_from(words).unwrap_err().kind()
}

fn per_second(count: u64) -> Rate {
    Rate::per_second(count).unwrap()
}

#[test]
fn nothing_said_leaves_every_gap() {
    let Plan { asked, target, .. } = plan("");
    assert_eq!(
        asked,
        Asked { socket: SocketOptions { nodelay: true, ..SocketOptions::default() }, ..Asked::default() }
    );
    assert_eq!(target, None);
}

#[test_case("--tcp", Some(Carrier::Tcp), None)]
#[test_case("--udp", Some(Carrier::Udp), None)]
#[test_case("--icmp", Some(Carrier::Icmp), None)]
#[test_case("--connect", Some(Carrier::TcpConnect), None)]
#[test_case("--carrier tcp-connect", Some(Carrier::TcpConnect), None)]
#[test_case("--carrier icmp", Some(Carrier::Icmp), None)]
#[test_case("--crr", None, Some(Pattern::ConnectExchange))]
#[test_case("--crr --tcp", Some(Carrier::Tcp), Some(Pattern::ConnectExchange))]
fn a_carrier_has_two_spellings(line: &str, carrier: Option<Carrier>, pattern: Option<Pattern>) {
    let asked = plan(line).asked;
    assert_eq!((asked.carrier, asked.pattern), (carrier, pattern));
}

#[test_case("--every 10ms", Schedule::Every { interval_ns: Nanos::millis(10) })]
#[test_case("--rate 10k/s", Schedule::Rate { rate_per_1000s: per_second(10_000) })]
#[test_case("--poisson 100", Schedule::Poisson { rate_per_1000s: per_second(100) })]
#[test_case("--every 1ms --burst 4", Schedule::Bursts { count: 4, interval_ns: Nanos::millis(1) })]
fn a_schedule_is_one_of_four(line: &str, schedule: Schedule) {
    assert_eq!(plan(line).asked.schedule, Some(schedule));
}

#[test]
fn each_axis_arrives_where_it_belongs() {
    let Plan { asked, strict, samples, .. } = plan(
        "db1 --every 1ms --window 3 --pace spin --wait spin --peer-wait block --cpu 2 --peer-cpu 0-1 \
         --request-size 1kB --response-size 100 --connections 4 --threads 2 -t 30 -c 10k --until p99:5% \
         --timeout 2s --warm-up 0 --bind 10.0.0.1 --interface eth0 --dscp ef --nagle --congestion reno \
         --send-buffer 64KiB --receive-buffer 1MiB --stamps --seed 7 --strict --samples s.csv",
    );
    let expected = Asked {
        in_turn: false,
        carrier: None,
        pattern: None,
        direction: None,
        window: Some(3),
        volley: None,
        schedule: Some(Schedule::Every { interval_ns: Nanos::millis(1) }),
        pacing: Some(Pacing::Spin),
        waiting: Some(Waiting::Spin),
        peer_waiting: Some(Waiting::Block),
        reply_every: None,
        batch: None,
        sending: None,
        discard: false,
        request_bytes: Some(Bytes(1_000)),
        sizes: Sizes::Fixed,
        response_bytes: Some(Bytes(100)),
        connections: Some(4),
        threads: Some(2),
        cpus: vec![2],
        peer_cpus: vec![0, 1],
        stop: Stop {
            after_ns: Some(Nanos::secs(30)),
            count: Some(10_000),
            bytes: None,
            settled: Some(Settled { quantile: 0.99, within: Some(0.05) }),
            linger_ns: None,
            linger_answered_ns: None,
        },
        timeout_ns: Some(Nanos::secs(2)),
        warm_up_ns: Some(Nanos::ZERO),
        socket: SocketOptions {
            source_ports: None,
            bind: Some("10.0.0.1".parse().unwrap()),
            interface: Some("eth0".into()),
            tos: Some(46 << 2),
            nodelay: false,
            congestion: Some("reno".into()),
            send_buffer_bytes: Some(Bytes(65_536)),
            receive_buffer_bytes: Some(Bytes(1 << 20)),
        },
        nagle: true,
        stamps: Some(true),
        application: None,
        seed: Some(7),
    };
    assert_eq!(asked, expected);
    assert!(strict);
    assert_eq!(samples.unwrap().path.to_str(), Some("s.csv"));
}

#[test]
fn one_size_is_that_of_request_and_reply() {
    let asked = plan("--size 1KiB").asked;
    assert_eq!((asked.request_bytes, asked.response_bytes), (Some(Bytes(1_024)), Some(Bytes(1_024))));
}

#[test_case("db1", "db1", PORT, Family::Any; "name alone")]
#[test_case("db1:80", "db1", 80, Family::Any; "port behind the name")]
#[test_case("db1 --port 80 -4", "db1", 80, Family::V4; "port by option")]
#[test_case("db1:80 --port 80", "db1", 80, Family::Any; "the same port twice")]
#[test_case("[::1]:80 -6", "::1", 80, Family::V6; "v6")]
fn a_target_is_host_port_and_family(line: &str, host: &str, port: u16, family: Family) {
    assert_eq!(plan(line).target, Some(Target { host: host.into(), port, family }));
}

#[test_case("db1 --peer netperf", 12_865, None; "its port is another")]
#[test_case("db1:80 --peer netperf --udp", 80, None; "one that is written")]
#[test_case("db1 --peer netperf --passphrase x --crr", 12_865, Some("x"); "with a passphrase")]
fn a_netserver_is_a_far_side_of_another_protocol(line: &str, port: u16, passphrase: Option<&str>) {
    let passphrase = passphrase.map(|text| Passphrase::new(text).unwrap());
    let plan = plan(line);
    assert_eq!(plan.target.as_ref().map(|target| target.port), Some(port));
    assert_eq!((plan.far(), &plan.protocol), (Peer::Foreign, &Protocol::Netperf { passphrase }));
}

#[test_case("db1 --peer stamp", 862, 44, 44; "its port and its packets")]
#[test_case("db1:8620 --peer stamp --stamp-key k", 8_620, 112, 112; "authenticated ones")]
#[test_case("db1 --peer stamp --udp --size 1kB", 862, 1_000, 1_000; "padded")]
#[test_case("db1 --peer stamp --request-size 100", 862, 100, 100; "answers are as long")]
fn a_session_reflector_is_asked_over_udp(line: &str, port: u16, request: u64, response: u64) {
    let plan = plan(line);
    assert_eq!(plan.target.as_ref().map(|target| target.port), Some(port));
    assert_eq!(
        (plan.far(), &plan.protocol),
        (Peer::Foreign, &Protocol::Stamp { key: None, clocks_agree: None, parts: Vec::new() })
    );
    assert_eq!(plan.stamp_key.is_some(), line.contains("--stamp-key"));
    let method = plan.asked.resolve_towards(Peer::Foreign).unwrap();
    assert_eq!(
        (method.traffic.carrier(), method.traffic.request_bytes(), method.traffic.response_bytes()),
        (Carrier::Udp, Bytes(request), Bytes(response))
    );
}

#[test_case("db1 --peer twamp", 862, None, 44; "its port and its packets")]
#[test_case("db1:8862 --peer twamp --size 200 --clocks-agree 1ms", 8_862, Some(Nanos::millis(1)), 200; "padded, of clocks that agree")]
fn a_server_of_twamp_is_asked_for_sessions(line: &str, port: u16, clocks_agree: Option<Nanos>, octets: u64) {
    let plan = plan(line);
    assert_eq!(plan.target.as_ref().map(|target| target.port), Some(port));
    assert_eq!((plan.far(), &plan.protocol), (Peer::Foreign, &Protocol::Twamp { clocks_agree }));
    let traffic = plan.asked.resolve_towards(Peer::Foreign).unwrap().traffic;
    assert_eq!(
        (traffic.carrier(), traffic.request_bytes(), traffic.response_bytes()),
        (Carrier::Udp, Bytes(octets), Bytes(octets))
    );
}

#[test_case("db1 --peer irtt", 2_112, Nanos::millis(50), 52; "its port, its packets, and as often as it answers")]
#[test_case("db1:7 --peer irtt --irtt-key k --every 1s", 7, Nanos::secs(1), 68; "sealed, of an interval")]
fn a_server_of_irtt_is_asked_as_often_as_it_answers(line: &str, port: u16, interval_ns: Nanos, octets: u64) {
    let plan = plan(line);
    assert_eq!(plan.target.as_ref().map(|target| target.port), Some(port));
    assert_eq!((plan.far(), &plan.protocol), (Peer::Foreign, &Protocol::Irtt { key: None, clocks_agree: None }));
    assert_eq!(plan.irtt_key.is_some(), line.contains("--irtt-key"));
    let method = plan.asked.resolve_towards(Peer::Foreign).unwrap();
    assert_eq!((method.schedule, method.traffic.carrier()), (Schedule::Every { interval_ns }, Carrier::Udp));
    let (request, response) = (method.traffic.request_bytes(), method.traffic.response_bytes());
    assert_eq!((request, response), (Bytes(octets), Bytes(octets)));
}

#[test_case("db1 --peer irtt --stamp-key k", "STAMP"; "a key of stamp for a server of irtt")]
#[test_case("db1 --peer stamp --irtt-key k", "irtt"; "a key of irtt for a session-reflector")]
#[test_case("db1 --peer irtt --verify", "irtt"; "packets of other lengths on the wire")]
#[test_case("db1 --peer twamp --stamp-key k", "STAMP"; "a key for a server that is asked without one")]
#[test_case("db1 --peer twamp --stamp-ask class", "STAMP"; "parts for a server that knows none")]
#[test_case("db1 --peer twamp --verify", "TWAMP"; "ports that nobody knows beforehand")]
#[test_case("db1 --peer netperf --stamp-key k", "STAMP"; "a key of stamp for a netserver")]
#[test_case("db1 --peer stamp --passphrase x", "netserver"; "a passphrase for a session-reflector")]
#[test_case("db1 --peer netperf --icmp", "kernel"; "over icmp")]
#[test_case("db1 --peer netperf --connect", "kernel"; "handshakes alone")]
#[test_case("db1 --peer sonde --passphrase x", "netserver"; "a passphrase for ours")]
fn what_does_not_go_with_the_far_sides_protocol_is_refused_with_the_reason(line: &str, reason: &str) {
    let words = std::iter::once("rtt").chain(line.split(' '));
    let failure = Plan::of(Line::try_parse_from(words).unwrap().options).unwrap_err();
    assert_eq!(failure.exit, crate::exit::Exit::Usage);
    assert!(failure.told.what.contains(reason) && failure.told.hint.is_some(), "{failure:?}");
}

#[test]
fn a_netserver_is_not_told_how_to_wait_and_needs_no_room_for_a_header() {
    let asked = |line| plan(line).asked.resolve_towards(Peer::Foreign);
    assert_eq!(asked("db1 --peer netperf --peer-wait spin").unwrap_err(), Refusal::ForeignWaiting);
    let one = asked("db1 --peer netperf --udp --request-size 1 --response-size 2").unwrap();
    assert_eq!((one.traffic.request_bytes(), one.traffic.response_bytes()), (Bytes(1), Bytes(2)));
    assert_eq!(one.peer_waiting, None);
}

#[test]
fn two_ports_are_refused() {
    let line = Line::try_parse_from(["rtt", "db1:80", "--port", "81"]).unwrap();
    assert_eq!(Plan::of(line.options).unwrap_err().exit, crate::exit::Exit::Usage);
}

#[test_case("db1", true; "a session")]
#[test_case("db1 --udp", true; "a session of datagrams")]
#[test_case("db1 --crr", true; "a session of new connections")]
#[test_case("", false; "nobody else")]
#[test_case("db1 --icmp", false; "the kernel")]
#[test_case("db1 --connect", false; "handshakes")]
#[test_case("db1 --peer netperf", false; "a netserver")]
#[test_case("db1 --peer stamp", false; "a STAMP reflector")]
fn a_key_is_for_sessions_with_a_reflector(line: &str, is_used: bool) {
    let plan = plan(&format!("{line} --key k"));
    let method = plan.asked.resolve_towards(plan.far()).unwrap();
    assert_eq!(plan.key, Some(KeyFile::new("k".into(), false)));
    assert_eq!(plan.key_for(&method).is_some(), is_used);
}

#[test_case("--tcp --udp"; "two carriers")]
#[test_case("--carrier tcp --icmp"; "two spellings")]
#[test_case("--crr --udp"; "connect and udp")]
#[test_case("--every 1ms --rate 10"; "two schedules")]
#[test_case("--rate 10 --poisson 10"; "even and random")]
#[test_case("--size 64 --request-size 64"; "both sizes")]
#[test_case("--stamps --no-stamps"; "both stamps")]
#[test_case("--tos 4 --dscp 1"; "octet and code point")]
#[test_case("db1 -4 -6"; "both families")]
#[test_case("--json --json-lines"; "two formats on one output")]
fn what_excludes_each_other_is_refused(line: &str) {
    assert_eq!(refused(line), ErrorKind::ArgumentConflict);
}

#[test_case("--burst 4"; "burst without interval")]
#[test_case("--port 80"; "port of nobody")]
#[test_case("-4"; "family of nobody")]
#[test_case("--peer netperf"; "a netserver of nobody")]
#[test_case("db1 --passphrase x"; "a passphrase for ours")]
fn what_needs_another_is_refused_without_it(line: &str) {
    assert_eq!(refused(line), ErrorKind::MissingRequiredArgument);
}

#[test_case("--every 10"; "bare interval")]
#[test_case("--timeout 1"; "bare timeout")]
#[test_case("--size 64K"; "bare K")]
#[test_case("--rate fast"; "no rate")]
#[test_case("--wait sleep"; "no waiting")]
#[test_case("--cpu 0-"; "no cpu list")]
#[test_case("-o result.pdf"; "no format")]
#[test_case("--samples s.txt"; "no format of samples")]
#[test_case("--until 99"; "no quantile")]
fn a_value_that_is_none_is_refused(line: &str) {
    assert_eq!(refused(line), ErrorKind::ValueValidation);
}

#[test]
fn a_word_that_is_none_of_the_words_is_refused() {
    assert_eq!(refused("--pace async"), ErrorKind::InvalidValue);
    assert_eq!(refused("--carrier sctp"), ErrorKind::InvalidValue);
}

fn not(what: Part, carrier: Carrier, pattern: Pattern) -> Refusal {
    Refusal::NotOf(NotOf { what, carrier, pattern })
}

#[test_case("--icmp --peer-cpu 1", &not(Part::FarProgram, Carrier::Icmp, Pattern::Exchange); "nobody to pin")]
#[test_case("--carrier icmp --crr", &not(Part::Pattern, Carrier::Icmp, Pattern::ConnectExchange); "connect over icmp")]
#[test_case("--window 0", &Refusal::UnboundedBackToBack; "open loop without schedule")]
#[test_case("--pace spin", &Refusal::NothingToPace; "pacing without schedule")]
#[test_case("-c 0", &Refusal::NothingToMeasure; "no requests")]
#[test_case("-t 0", &Refusal::NothingToMeasure; "no time")]
#[test_case("-t 10 --every 10m", &Refusal::IntervalBeyondEnd { interval: Nanos::secs(600), length: Nanos::secs(10) }; "an interval longer than the run")]
#[test_case("--connect --size 1", &not(Part::RequestBytes, Carrier::TcpConnect, Pattern::Exchange); "payload in a handshake")]
#[test_case("--udp --nagle", &not(Part::TcpOptions, Carrier::Udp, Pattern::Exchange); "nagle on udp")]
#[test_case("--connect --stamps", &not(Part::Stamps, Carrier::TcpConnect, Pattern::Exchange); "stamps on handshakes")]
fn nonsense_that_parses_is_refused_when_resolved(line: &str, refusal: &Refusal) {
    assert_eq!(&plan(line).asked.resolve().unwrap_err(), refusal);
}

#[test]
fn a_schedule_alone_is_an_open_loop() {
    assert_eq!(plan("--every 1ms").asked.resolve().unwrap().traffic.window(), Window::Open { cap: default::OPEN_CAP });
    assert_eq!(plan("--every 1ms --window 1").asked.resolve().unwrap().traffic.window(), Window::Closed(1));
}

/// The help repeats defaults as text; they are those that [`Asked::resolve`] fills in.
#[test]
fn the_help_names_the_defaults_in_force() {
    use clap::CommandFactory;
    let typed = |nanos: Nanos| nanos.to_string().replace(' ', "");
    let method = Asked::default().resolve().unwrap();
    let expected = [
        ("carrier", method.traffic.carrier().to_string()),
        ("pace", method.pacing.to_string()),
        ("wait", method.waiting.to_string()),
        ("size", default::SIZE.0.to_string()),
        ("request_size", method.traffic.request_bytes().0.to_string()),
        ("response_size", method.traffic.response_bytes().0.to_string()),
        ("flows", format!("{} where a request follows each reply, else 1", default::IN_TURN)),
        ("time", typed(default::DURATION)),
        ("timeout", typed(default::TIMEOUT)),
        ("warm_up", format!("a quarter of -t, at most {}", typed(default::WARM_UP))),
        ("port", PORT.to_string()),
    ];
    let command = Line::command();
    for (id, default) in expected {
        let argument = command.get_arguments().find(|a| a.get_id() == id).unwrap();
        let help = argument.get_help().unwrap().to_string();
        assert!(help.ends_with(&format!("[default: {default}]")), "{id}: {help}");
    }
    let stamps = command.get_arguments().find(|a| a.get_id() == "stamps").unwrap().get_help().unwrap().to_string();
    assert!(stamps.contains(&format!("per {}", default::STAMPS_ASKED.spacing_ns)), "{stamps}");
    assert!(stamps.contains(&format!("per {},", default::STAMPS.spacing_ns)), "{stamps}");
}
