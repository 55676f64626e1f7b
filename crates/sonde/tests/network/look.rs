//! The first look: causes that are planted between two hosts are named, and none that is not there.
//!
//! Each is planted and looked for once, and once where it is absent; or all of them as often as `SONDE_PLANTED` says. A wrong cause may
//! not happen at all. That none is established is no accusation: how often that may happen is a rate, which one run does not have; of
//! many it is one of twenty.

use std::io::{BufRead, BufReader, Read};
use std::process::{Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_case::test_case;

use crate::limits::plant::{FORWARDED, Forward};
use crate::paths::{HOST, TwoPaths};
use crate::scene::{Reflector, Scene, document, installed, key_in, let_ping, run, sonde_in, tell};

/// How often each is planted: once, where nobody wants it more often.
#[expect(clippy::disallowed_methods, reason = "how often is up to whoever runs the tests")]
fn runs() -> usize {
    let asked = std::env::var("SONDE_PLANTED").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or_else(|| {
        testbed::skip::aloud(
            "causes of a first look, planted in 20 runs each, and how often they are named: `make planted`; here one run of each",
        );
        1
    })
}

fn output(scene: &Scene, words: &[&str]) -> Output {
    sonde_in(scene.near()).args(words).output().expect("started")
}

/// The document of one look, which is as its schema says.
fn look(scene: &Scene, words: &[&str]) -> Value {
    let output = output(scene, &[words, &["--json", "-q"]].concat());
    let document = document(&output);
    jsonschema::validate(&logbook::schema::look_schema(), &document).expect("as the schema says");
    document["look"].clone()
}

/// The legs by carrier, and the finding about the one that is asked by `carrier`.
fn cause<'a>(look: &'a Value, carrier: &str) -> &'a Value {
    let legs = look["legs"].as_array().expect("legs");
    let place = legs.iter().position(|leg| leg["carrier"] == carrier).expect("that leg");
    about(look, &json!({ "kind": "leg", "leg": place }))
}

fn about<'a>(look: &'a Value, of: &Value) -> &'a Value {
    let findings = look["judgement"]["findings"].as_array().expect("findings");
    findings.iter().find(|finding| finding["of"] == *of).map_or(&Value::Null, |finding| &finding["cause"])
}

/// Whether a cause is named anywhere.
fn anywhere(look: &Value, cause: &str) -> bool {
    look["judgement"]["findings"].as_array().expect("findings").iter().any(|finding| finding["cause"] == cause)
}

/// Looks so often, and holds what `found` says of each look to be `planted`, or `null`, or not established.
fn named(what: &str, planted: &str, mut found: impl FnMut() -> Value) {
    let runs = runs();
    let causes: Vec<Value> = (0..runs).map(|_| found()).collect();
    let named = causes.iter().filter(|cause| **cause == planted).count();
    tell(&format!("{what}: {planted} in {named} of {runs}"));
    let allowed = [json!(planted), json!("not-established"), Value::Null];
    assert!(causes.iter().all(|cause| allowed.contains(cause)), "{what}: {causes:?}");
    assert!(runs - named <= runs.div_ceil(20), "{what}: {causes:?}");
}

#[test]
fn a_millisecond_on_icmp_alone_is_said_to_be_another_path() {
    let Some(scene) = Scene::undisturbed("a delay of ICMP alone") else { return };
    let _forward = Forward::start(&scene, &["--delay", "1ms", "--one-way", "--only", "icmp"]);
    let _reflector = scene.reflector(&[]);
    named("a delay of ICMP alone", "slow-icmp", || cause(&look(&scene, &[FORWARDED]), "icmp").clone());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("look.json");
    let text = output(&scene, &[FORWARDED, "-t", "4", "-o", path.to_str().expect("UTF-8")]).stdout;
    let text = String::from_utf8(text).expect("text").split_whitespace().collect::<Vec<_>>().join(" ");
    let kept: Value = serde_json::from_slice(&std::fs::read(&path).expect("kept")).expect("JSON");
    let said = text.contains("slow ICMP path: ICMP takes a slower path, or a box nearer than the host answers TCP.");
    assert_eq!(said, anywhere(&kept["look"], "slow-icmp"), "{text}");
}

#[test_case(Some(&["--delay", "1ms", "--one-way"]); "on all")]
#[test_case(Some(&["--delay", "1ms", "--one-way", "--only", "tcp"]); "on TCP")]
#[test_case(None; "on nothing")]
fn another_delay_is_never_laid_on_icmp(link: Option<&[&str]>) {
    let Some(scene) = Scene::undisturbed("a delay of all") else { return };
    let _forward = link.map(|link| Forward::start(&scene, link));
    let target = if link.is_some() { FORWARDED.to_owned() } else { scene.target(false) };
    let _reflector = scene.reflector(&[]);
    for _ in 0..runs() {
        let look = look(&scene, &[&target]);
        assert!(!anywhere(&look, "slow-icmp"), "{:#}", look["judgement"]);
        let of_tcp = link.is_some_and(|link| link.contains(&"tcp"));
        // What TCP alone waits for on its way is not the program's.
        assert!(!of_tcp || cause(&look, "icmp") != "nobody-woken", "{:#}", look["judgement"]);
    }
}

/// Which of two equal next hops a connection takes is for the hash of its ports to say, and one of them is longer. None of the causes
/// that a difference of one connection would suggest is there.
#[test]
fn of_two_equal_paths_no_other_cause_is_named() {
    let Some(scene) = Scene::undisturbed("two equal paths") else { return };
    let paths = TwoPaths::lay(&scene);
    let _reflector = scene.reflector(&["--listen", HOST]);
    let mut shown = 0;
    for (longer, at_most_ns) in [("300us", f64::INFINITY), ("1ms", 500e3), ("5ms", 2.5e6)] {
        let _forward = Forward::start(&scene, &["--delay", longer, "--one-way"]);
        paths.take_both();
        for _ in 0..runs() {
            let look = look(&scene, &[HOST]);
            for finding in look["judgement"]["findings"].as_array().expect("findings") {
                // Waking and the interval are there on a plain cable too, a few hundred microseconds at most.
                let of_path = finding["shift"]["value_ns"].as_f64().is_some_and(|shift| shift.abs() > at_most_ns);
                let allowed: &[&str] = if of_path { &[] } else { &["nobody-woken", "interval"] };
                let cause = finding["cause"].as_str().unwrap_or("not-established");
                let is_right = ["flow", "not-established"].contains(&cause) || allowed.contains(&cause);
                assert!(is_right, "{longer}: {:#}", look["judgement"]);
            }
            shown += usize::from(anywhere(&look, "flow"));
        }
    }
    tell(&format!("two equal paths: shown in {shown} of {}", 3 * runs()));
}

#[test]
fn a_kernel_that_wakes_nobody_is_named_beside_a_program() {
    let Some(scene) = Scene::undisturbed("a program that holds its replies") else { return };
    let _reflector = scene.reflector(&["--hold", "300us"]);
    let target = scene.target(false);
    named("a program that is waited for", "nobody-woken", || cause(&look(&scene, &[&target]), "tcp-connect").clone());
}

#[test]
fn without_a_program_nobody_is_to_be_woken() {
    let Some(scene) = Scene::undisturbed("a host without programs") else { return };
    // A program that keeps its word to those who have its key: whoever has none is left with handshakes.
    let folder = tempfile::tempdir().expect("a folder");
    let _listener = Reflector::start(scene.far(), &["--port", "9999", "--key", &key_in(folder.path())]);
    let look = look(&scene, &[&scene.target(false), "--port", "9999", "-t", "3"]);
    assert_eq!(look["judgement"]["believed"]["stands"], "handshake");
    assert!(!anywhere(&look, "nobody-woken"), "{:#}", look["judgement"]);
}

#[test_case("icmp", &json!({ "kind": "echo", "address": 0 }), "application"; "echo")]
#[test_case("tcp", &json!({ "kind": "tcp", "address": 0 }), "echo"; "TCP")]
fn what_is_filtered_is_said_to_be(protocol: &str, subject: &Value, stands: &str) {
    let Some(scene) = Scene::undisturbed("a filter") else { return };
    let _forward = Forward::start(&scene, &["--loss", "100%", "--only", protocol]);
    let _reflector = scene.reflector(&[]);
    named("a filter", "filtered", || {
        let look = look(&scene, &[FORWARDED, "-t", "2"]);
        assert_eq!(look["judgement"]["believed"]["stands"], stands, "{:#}", look["judgement"]);
        about(&look, subject).clone()
    });
}

#[test]
fn what_is_not_filtered_is_not_said_to_be_and_the_interval_shows() {
    let Some(scene) = Scene::undisturbed("a plain cable") else { return };
    let _reflector = scene.reflector(&[]);
    let target = scene.target(false);
    named("the interval", "interval", || {
        let look = look(&scene, &[&target]);
        assert!(!anywhere(&look, "filtered"), "{:#}", look["judgement"]);
        about(&look, &json!({ "kind": "burst", "burst": 0 })).clone()
    });
}

#[test]
fn where_the_path_takes_long_the_interval_is_no_cause() {
    let Some(scene) = Scene::undisturbed("a long path") else { return };
    let _forward = Forward::start(&scene, &["--delay", "7ms"]);
    let _reflector = scene.reflector(&[]);
    for _ in 0..runs() {
        let look = look(&scene, &[FORWARDED]);
        assert!(!look["bursts"].as_array().expect("bursts").is_empty(), "{}", look["no_bursts"]);
        assert!(!anywhere(&look, "interval"), "{:#}", look["judgement"]);
    }
}

#[test]
fn another_address_of_the_host_is_told_from_the_first_by_its_way() {
    let Some(scene) = Scene::undisturbed("two addresses of a host") else { return };
    let _forward = Forward::start(&scene, &["--delay", "500us"]);
    let _reflector = scene.reflector(&[]);
    let target = scene.target(false);
    named("an address behind a longer way", "address", || {
        let look = look(&scene, &[&target, "--also", FORWARDED]);
        let legs = look["legs"].as_array().expect("legs");
        let program = |leg: &Value| leg["carrier"] == "tcp" && leg["address"] == 1;
        let place = legs.iter().position(program).expect("the same at the other address");
        let findings = look["judgement"]["findings"].as_array().expect("findings");
        let found = findings.iter().find(|finding| finding["of"]["kind"] == "further" && finding["of"]["leg"] == place);
        found.expect("held against the first")["cause"].clone()
    });
}

#[test]
fn two_addresses_by_one_way_are_not_told_apart() {
    let Some(scene) = Scene::undisturbed("two addresses of a host by one way") else { return };
    run(scene.far(), &["ip", "address", "add", "10.181.9.2/24", "dev", scene.far().interface()]);
    run(scene.near(), &["ip", "route", "add", "10.181.9.0/24", "dev", scene.near().interface()]);
    let _reflector = scene.reflector(&[]);
    let target = scene.target(false);
    for _ in 0..runs() {
        let look = look(&scene, &[&target, "--also", "10.181.9.2"]);
        assert!(!anywhere(&look, "address"), "{:#}", look["judgement"]);
    }
}

#[test]
fn first_numbers_are_there_before_the_end_which_a_signal_may_bring() {
    let Some(scene) = Scene::beside("a look that is ended early") else { return };
    let _reflector = scene.reflector(&[]);
    let mut command = sonde_in(scene.near());
    command.args([&scene.target(false), "-t", "300"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("started");
    let mut stdout = child.stdout.take().expect("piped");
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut first = String::new();
    while !first.contains("one round per") || !first.ends_with('\n') {
        assert!(stderr.read_line(&mut first).expect("a line") > 0, "{first}");
    }
    assert!(first.contains("µs") || first.contains("ms"), "{first}");
    assert!(child.try_wait().expect("a child").is_none(), "it goes on for minutes");
    kill_process(Pid::from_child(&child), Signal::INT).expect("running");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("text");
    assert_eq!(child.wait().expect("ended").code(), Some(130));
    // Whether a round was complete by then is not known; that somebody answered is.
    let said =
        ["(p50)", "median of only", "answers, but no time was measured"].iter().any(|words| rest.contains(words));
    assert!(rest.contains("interrupted by SIGINT") && said, "{rest}");
}

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn a_host_that_is_not_there_is_said_to_answer_nothing(six: bool) {
    let Some(scene) = Scene::beside("a host that is not there") else { return };
    run(scene.far(), &["ip", "link", "set", scene.far().interface(), "down"]);
    let output = output(&scene, &[&scene.target(six), "-t", "1"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(1), "{text}");
    for word in ["did not answer", "--port", "tried", "7663, 12865"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn every_program_that_is_there_is_a_row(six: bool) {
    let Some(scene) = Scene::beside("a look at a reflector") else { return };
    let _reflector = scene.reflector(&["--stamp"]);
    let_ping(scene.near(), "0 0");
    let look = look(&scene, &[&scene.target(six), "-t", "2"]);
    let legs: Vec<(&str, &str, bool)> = look["legs"]
        .as_array()
        .expect("legs")
        .iter()
        .map(|leg| {
            let who = leg["who"]["service"].as_str().unwrap_or("kernel");
            (leg["carrier"].as_str().expect("a carrier"), who, leg["sums"]["answered"].as_u64() > Some(10))
        })
        .collect();
    let expected = ["icmp kernel", "tcp-connect kernel", "tcp sonde", "udp sonde", "udp stamp"];
    assert!(legs.iter().map(|(carrier, who, _)| format!("{carrier} {who}")).eq(expected), "{legs:?}");
    assert!(legs.iter().all(|(.., answers)| *answers), "{look:#}");
    // Each once a round, in its own part of it: a reply too few for a median adds rounds for all.
    let more: u64 = look["further"].as_array().into_iter().flatten().filter_map(|added| added["rounds"].as_u64()).sum();
    let rounds = |leg: &Value| leg["exchanges"].as_array().expect("exchanges").len() as u64;
    let usual = 18 + more..=22 + more;
    assert!(look["legs"].as_array().expect("legs").iter().all(|leg| usual.contains(&rounds(leg))), "{look:#}");
}

/// An echo service over both protocols, on port 7 unless another is said.
const ECHO: &str = "
import socket, sys, threading
port = int(sys.argv[1])
def serve(connection):
    while True:
        octets = connection.recv(65536)
        if not octets:
            return connection.close()
        connection.sendall(octets)
listener = socket.create_server(('', port), family=socket.AF_INET6, dualstack_ipv6=True)
datagrams = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
datagrams.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
datagrams.bind(('::', port))
def answer():
    while True:
        octets, asker = datagrams.recvfrom(65536)
        datagrams.sendto(octets, asker)
threading.Thread(target=answer, daemon=True).start()
print('listening', file=sys.stderr, flush=True)
while True:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
";

#[test_case(false, "7"; "v4")]
#[test_case(true, "7"; "v6")]
#[test_case(false, "7007"; "another port")]
fn an_echo_service_is_measured_with(six: bool, port: &str) {
    let Some(scene) = Scene::beside("a look at an echo service") else { return };
    if !installed("python3", "python3", "a look at an echo service") {
        return;
    }
    let mut command = scene.far().command("python3");
    command.args(["-c", ECHO, port]);
    let _service = Reflector::started(command, "listening");
    let port: u16 = port.parse().expect("a number");
    let target = scene.target(six);
    let named = ["--port".to_owned(), format!("{port}=echo")];
    let mut words = vec![target.as_str(), "-t", "2"];
    if port != 7 {
        words.extend(named.iter().map(String::as_str));
    }
    let look = look(&scene, &words);
    let legs = look["legs"].as_array().expect("legs").iter().filter(|leg| leg["who"]["service"] == "echo");
    let legs: Vec<&Value> = legs.collect();
    let found: Vec<&str> = legs.iter().map(|leg| leg["carrier"].as_str().expect("a carrier")).collect();
    assert_eq!(found, ["tcp", "udp"], "{look:#}");
    for leg in legs {
        let sums = (&leg["trouble"], leg["sums"]["lost"].as_u64(), leg["port"].as_u64());
        assert_eq!(sums, (&Value::Null, Some(0), Some(port.into())), "{leg:#}");
        assert!(leg["sums"]["answered"].as_u64() > Some(10), "{leg:#}");
    }
    assert_eq!(look["judgement"]["believed"]["stands"], "application", "{:#}", look["judgement"]);
}

#[test]
fn a_key_is_wanted_and_used() {
    let Some(scene) = Scene::beside("a look at a reflector with a key") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let key = key_in(folder.path());
    let _reflector = Reflector::start(scene.far(), &["--key", &key]);
    let target = scene.target(false);
    let without = look(&scene, &[&target, "-t", "1"]);
    assert_eq!(without["judgement"]["believed"]["stands"], "handshake");
    let trouble = without["legs"][2]["trouble"].as_str().expect("why");
    assert!(trouble.contains("wants a key"), "{trouble}");
    let with = look(&scene, &[&target, "-t", "1", "--key", &key]);
    assert_eq!(with["judgement"]["believed"]["stands"], "application");
}

#[test]
fn a_look_that_was_kept_is_shown_as_it_was_printed() {
    let Some(scene) = Scene::beside("a look that is kept") else { return };
    let _reflector = scene.reflector(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let [json, text, lines] = ["look.json", "look.txt", "look.jsonl"].map(|name| folder.path().join(name));
    let paths = [&json, &text, &lines].map(|path| path.to_str().expect("UTF-8").to_owned());
    let printed = output(&scene, &[&scene.target(false), "-t", "1", "-o", &paths[0], "-o", &paths[1], "-o", &paths[2]]);
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    let whole = std::fs::read_to_string(&text).expect("text");
    for path in [&paths[0], &paths[2]] {
        let shown = output(&scene, &["show", path]);
        assert_eq!(String::from_utf8_lossy(&shown.stdout), whole, "{path}");
    }
    let below = |text: &str| text.split_once("\n\n").map(|(_, below)| below.to_owned()).expect("two parts");
    assert_eq!(
        below(&String::from_utf8_lossy(&printed.stdout)),
        below(&whole),
        "the first answers come in their own order"
    );
}
