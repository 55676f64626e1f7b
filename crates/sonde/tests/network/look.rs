//! The first look: what it finds, says and keeps, whatever else this machine does.
//!
//! Not here: causes that are planted, and named (`alone::look`).

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use test_case::test_case;

use crate::scene::{Reflector, Scene, document, installed, key_in, let_ping, run, sonde_in};

/// A look, or another command, in the near namespace with these words, ended.
pub fn output(scene: &Scene, words: &[&str]) -> Output {
    sonde_in(scene.near()).args(words).output().expect("started")
}

/// The document of one look, which is as its schema says.
pub fn look(scene: &Scene, words: &[&str]) -> Value {
    let output = output(scene, &[words, &["--json", "-q"]].concat());
    let document = document(&output);
    jsonschema::validate(&logbook::schema::look_schema(), &document).expect("as the schema says");
    document["look"].clone()
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
    // A round may be complete by then or not; that somebody answered is known.
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
    // Where lines are broken depends on who said that it cannot be reached, and on when.
    let unbroken = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in ["did not answer", "Nothing answered →", "tried", "7663, 12865"] {
        assert!(unbroken.contains(word), "{word}: {text}");
    }
}

/// What `words` print in the near namespace, where `db1` is a name of both addresses of the far one.
fn by_name(scene: &Scene, hosts: &Path, words: &[&str]) -> Output {
    let bound = "mount --bind \"$1\" /etc/hosts && shift && exec \"$@\"";
    let mut command = scene.near().command("unshare");
    command.args(["--mount", "sh", "-c", bound, "sh"]).arg(hosts).args(words).output().expect("started")
}

#[test]
fn a_silent_address_of_a_name_is_left_for_the_other() {
    let what = "a name with a silent address";
    let Some(scene) = installed("nft", "nftables", what).then(|| Scene::beside(what)).flatten() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let hosts = folder.path().join("hosts");
    let (v4, v6) = (scene.target(false), scene.target(true));
    std::fs::write(&hosts, format!("{v4} db1\n{v6} db1\n")).expect("written");
    let listed = by_name(&scene, &hosts, &["getent", "ahosts", "db1"]);
    let listed = String::from_utf8(listed.stdout).expect("text");
    let first = listed.split_whitespace().next().expect("an address");
    let (version, other) = if first == v6 { ("ip6", &v4) } else { ("ip", &v6) };
    let _reflector = scene.reflector(&[]);
    // Neighbours are found, and what is for programs and echo is dropped.
    let echo = if version == "ip6" { "icmpv6 type echo-request drop" } else { "icmp type echo-request drop" };
    let rules = format!("meta l4proto {{ tcp, udp }} drop; {echo}");
    let table = format!("table {version} t {{ chain i {{ type filter hook input priority 0; {rules}; }}; }}");
    run(scene.far(), &["nft", &table]);
    let asked = by_name(&scene, &hosts, &[env!("CARGO_BIN_EXE_sonde"), "db1", "-t", "1", "--json", "-q"]);
    assert_eq!(asked.status.code(), Some(0), "{}", String::from_utf8_lossy(&asked.stderr));
    let document = document(&asked);
    jsonschema::validate(&logbook::schema::look_schema(), &document).expect("as the schema says");
    let look = &document["look"];
    let addresses =
        |of: &Value| of.as_array().expect("a list").iter().map(|of| of["address"].clone()).collect::<Vec<_>>();
    assert_eq!(
        (addresses(&look["addresses"]), addresses(&look["silent"])),
        (vec![other.as_str().into()], vec![first.into()])
    );
    assert!(look["judgement"]["believed"].is_object(), "{look}");
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
