//! Every carrier from one namespace to the other, both IP versions: the counts of both ends agree, and the record names
//! both of them.

use serde_json::Value;
use test_case::test_case;

use crate::scene::{Reflector, Scene, counts, document, key_in, let_ping, number, quantile, run, sonde_in};

/// However long a busy machine keeps an end waiting: nothing is lost between the two namespaces.
const PATIENT: [&str; 2] = ["--timeout", "60s"];

/// A program's answer: what the record of an exchange with a reflector of ours must say, whatever the carrier.
fn answered_by_the_reflector(record: &Value, scene: &Scene, six: bool, count: u64) {
    jsonschema::validate(&logbook::schema::json_schema(), record).expect("a valid record");
    all_answered(record, count);
    assert_eq!(number(record, "/outcome/loss/peer_received"), count, "both ends count the same");
    assert_eq!((record["peer"]["kind"].as_str(), record["ended"]["how"].as_str()), (Some("native"), Some("complete")));
    assert_eq!(record["target"]["address"].as_str(), Some(scene.target(six).as_str()));
    for (end, namespace) in [("ours", scene.near()), ("theirs", scene.far())] {
        let environment = &record[end];
        assert_eq!(environment["interface"]["name"], namespace.interface(), "{end}: {}", environment["interface"]);
        assert_eq!(environment["interface"]["driver"], "veth", "{end}");
        assert_eq!(number(environment, "/interface/mtu_bytes"), 1_500);
        assert!(number(environment, "/disturbance/watched_ns") > 0, "{end}");
        assert!(environment["kernel"].as_str().is_some_and(|kernel| !kernel.is_empty()), "{end}");
    }
}

fn all_answered(record: &Value, count: u64) {
    let counts = counts(record);
    assert_eq!((counts.scheduled, counts.answered), (count, count), "{counts:?}");
    assert_eq!((counts.duplicated, counts.reordered, counts.strays), (0, 0, 0), "{counts:?}");
    let response = "/outcome/response";
    let order = [
        number(record, "/outcome/response/min_ns"),
        quantile(record, response, 0.5),
        quantile(record, response, 0.9),
        quantile(record, response, 0.99),
        number(record, "/outcome/response/max_ns"),
    ];
    assert!(order[0] > 0 && order.is_sorted(), "{order:?}");
}

/// The addresses of a record's first connection, without their ports.
fn ends(record: &Value) -> [String; 2] {
    ["local", "remote"].map(|end| {
        let text = record["outcome"]["sockets"][0][end].as_str().expect("an address");
        text.parse::<std::net::SocketAddr>().map_or_else(|_| text.to_owned(), |address| address.ip().to_string())
    })
}

fn addresses(scene: &Scene, six: bool) -> [String; 2] {
    let near = if six { scene.near().v6().to_string() } else { scene.near().v4().to_string() };
    [near, scene.target(six)]
}

/// An address that means something on one link alone keeps its interface, whatever carries the requests.
#[test_case(&["rtt", "--tcp"]; "TCP")]
#[test_case(&["rtt", "--udp"]; "UDP")]
#[test_case(&["rtt", "--icmp"]; "ICMP")]
#[test_case(&["rtt", "--connect"]; "handshakes")]
#[test_case(&["rtt", "--peer", "stamp"]; "STAMP")]
#[test_case(&["rtt", "--udp", "--bind", "fe80::1"]; "from such an address")]
fn a_link_local_address_is_measured(words: &[&str]) {
    let Some(scene) = Scene::beside("a link-local address") else { return };
    for (space, address) in [(scene.near(), "fe80::1/64"), (scene.far(), "fe80::2/64")] {
        run(space, &["ip", "address", "add", address, "dev", space.interface(), "nodad"]);
    }
    let _reflector = scene.reflector(&["--stamp"]);
    let host = format!("fe80::2%{}", scene.near().interface());
    let count = ["-c", "20", "--warm-up", "0", "--json", "-q", &host];
    let output = sonde_in(scene.near()).args([words, &PATIENT, &count].concat()).output().expect("started");
    all_answered(&document(&output), 20);
}

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn a_reflector_answers_by_every_method(six: bool) {
    let Some(scene) = Scene::beside("exchanges with a reflector") else { return };
    let _reflector = scene.reflector(&[]);
    let target = scene.target(six);
    let methods: [&[&str]; 12] = [
        &["--tcp"],
        &["--udp"],
        &["--crr"],
        &["--tcp", "--window", "16"],
        &["--udp", "--window", "16"],
        &["--tcp", "--rate", "5k/s"],
        &["--udp", "--rate", "5k/s"],
        &["--udp", "--poisson", "5k/s"],
        &["--udp", "--every", "5ms", "--burst", "10"],
        &["--tcp", "--wait", "spin", "--peer-wait", "spin"],
        &["--udp", "--wait", "spin", "--pace", "sleep", "--every", "200us"],
        &["--udp", "--connections", "4", "--threads", "2"],
    ];
    for method in methods {
        let record = scene.record(&[&[&target, "-c", "200", "--warm-up", "0"], &PATIENT[..], method].concat());
        answered_by_the_reflector(&record, &scene, six, 200);
        if method != ["--crr"] {
            assert_eq!(ends(&record), addresses(&scene, six), "{method:?}");
        }
    }
}

#[test_case("--tcp")]
#[test_case("--udp")]
fn the_warm_up_is_in_no_count(carrier: &str) {
    let Some(scene) = Scene::beside("a warm-up") else { return };
    let _reflector = scene.reflector(&[]);
    let record =
        scene.record(&[&[&scene.target(false), "-c", "100", "--warm-up", "50ms", carrier], &PATIENT[..]].concat());
    answered_by_the_reflector(&record, &scene, false, 100);
    assert!(number(&record, "/outcome/first_ns") > 0);
}

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn with_a_key(six: bool) {
    let Some(scene) = Scene::beside("a key") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let key = key_in(folder.path());
    let _reflector = Reflector::start(scene.far(), &["--key", &key]);
    let target = scene.target(six);
    for carrier in ["--tcp", "--udp", "--crr"] {
        let words = [&target, "-c", "100", "--warm-up", "0", carrier];
        let record = scene.record(&[&words[..], &PATIENT[..], &["--key", &key]].concat());
        answered_by_the_reflector(&record, &scene, six, 100);
        let output = scene.rtt(&words);
        assert_eq!(output.status.code(), Some(1), "nobody is answered without it");
        assert_eq!(document(&output)["error"]["side"], "ours");
    }
}

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn icmp_takes_a_ping_socket_where_it_may_and_a_raw_one_otherwise(six: bool) {
    let Some(scene) = Scene::beside("ICMP") else { return };
    let target = scene.target(six);
    for (may, kind) in [(false, "raw"), (true, "ping")] {
        if may {
            let_ping(scene.near(), "0 0");
        }
        // Each of several connections is told its own replies alone: none of the others' are strays.
        let methods: [&[&str]; 5] =
            [&["--window", "1"], &["--window", "8"], &["--rate", "5k/s"], &["--wait", "spin"], &["--connections", "8"]];
        for method in methods {
            let words = [&[&target, "--icmp", "-c", "200", "--warm-up", "0"], &PATIENT[..], method].concat();
            let record = scene.record(&words);
            all_answered(&record, 200);
            assert_eq!(record["outcome"]["sockets"][0]["icmp_socket"], kind, "{words:?}");
            assert_eq!(ends(&record), addresses(&scene, six), "{kind}");
            assert_eq!(record["peer"]["kind"], "kernel");
            assert_eq!(record["theirs"], Value::Null, "nobody there told of their host");
            // The counts of this side's kernel are those of the requests and the replies.
            let [sent, answered] =
                if six { ["Icmp6.OutEchos", "Icmp6.InEchoReplies"] } else { ["Icmp.OutEchos", "Icmp.InEchoReps"] };
            let counters = &record["ours"]["counters"];
            assert_eq!((counters[sent].as_u64(), counters[answered].as_u64()), (Some(200), Some(200)), "{counters}");
        }
    }
}

#[test_case(false; "v4")]
#[test_case(true; "v6")]
fn a_handshake_with_an_open_port_is_answered_and_with_a_closed_one_refused(six: bool) {
    let Some(scene) = Scene::beside("handshakes") else { return };
    // No session is opened with it: any program that listens would do.
    let _listener = scene.reflector(&["--port", "9999"]);
    let target = scene.target(six);
    let words = ["--connect", "-c", "200", "--warm-up", "0"];
    let record = scene.record(&[&[target.as_str(), "--port", "9999"], &words[..]].concat());
    all_answered(&record, 200);
    assert_eq!(record["theirs"], Value::Null);
    let output = scene.rtt(&[&[target.as_str(), "--port", "9998"], &words[..]].concat());
    assert_eq!(output.status.code(), Some(1), "nothing was answered");
    let refused = counts(&document(&output));
    assert_eq!((refused.scheduled, refused.refused), (20, 20), "more would be a flood: {refused:?}");
}
