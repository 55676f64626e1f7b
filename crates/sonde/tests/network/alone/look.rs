//! The first look: causes that are planted between two hosts are named, and none that is not there.
//!
//! Each is planted and looked for once, and once where it is absent; or all of them as often as `SONDE_PLANTED` says. A wrong cause may
//! not happen at all. That none is established is no accusation: how often that may happen is a rate, which one run does not have; of
//! many it is one of twenty.

use serde_json::{Value, json};
use test_case::test_case;

use crate::look::{look, output};
use crate::paths::{HOST, TwoPaths};
use crate::plant::{FORWARDED, Forward};
use crate::scene::{Reflector, Scene, key_in, run, tell};

/// Runs of each that is planted: one, where nobody wants it more often.
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

/// Returns true where a cause is named anywhere.
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
    let Some(scene) = Scene::quiet("a delay of ICMP alone") else { return };
    let _forward = Forward::start(&scene, &["--delay", "1ms", "--one-way", "--only", "icmp"]);
    let _reflector = scene.reflector(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("look.json");
    named("a delay of ICMP alone", "slow-icmp", || {
        let text = output(&scene, &[FORWARDED, "-o", path.to_str().expect("UTF-8")]).stdout;
        let text = String::from_utf8(text).expect("text").split_whitespace().collect::<Vec<_>>().join(" ");
        let kept: Value = serde_json::from_slice(&std::fs::read(&path).expect("kept")).expect("JSON");
        let said = "slow ICMP path: ICMP takes a slower path, or a middlebox nearer than the host answers TCP.";
        assert_eq!(text.contains(said), anywhere(&kept["look"], "slow-icmp"), "{text}");
        cause(&kept["look"], "icmp").clone()
    });
}

#[test_case(Some(&["--delay", "1ms", "--one-way"]); "on all")]
#[test_case(Some(&["--delay", "1ms", "--one-way", "--only", "tcp"]); "on TCP")]
#[test_case(None; "on nothing")]
fn another_delay_is_never_laid_on_icmp(link: Option<&[&str]>) {
    let Some(scene) = Scene::quiet("a delay of all") else { return };
    let _forward = link.map(|link| Forward::start(&scene, link));
    let target = if link.is_some() { FORWARDED.to_owned() } else { scene.target(false) };
    let _reflector = scene.reflector(&[]);
    for _ in 0..runs() {
        let look = look(&scene, &[&target]);
        assert!(!anywhere(&look, "slow-icmp"), "{:#}", look["judgement"]);
        let of_tcp = link.is_some_and(|link| link.contains(&"tcp"));
        // A delay of TCP alone on its way is not the program's.
        assert!(!of_tcp || cause(&look, "icmp") != "nobody-woken", "{:#}", look["judgement"]);
    }
}

/// Which of two equal next hops a connection takes is for the hash of its ports to say, and one of them is longer. None of the causes
/// that a difference of one connection would suggest is there.
#[test]
fn of_two_equal_paths_no_other_cause_is_named() {
    let Some(scene) = Scene::quiet("two equal paths") else { return };
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

/// It holds its replies without a pause too, as a box on the path would hold them.
#[test]
fn a_program_that_holds_its_replies_is_not_one_that_is_woken() {
    let Some(scene) = Scene::quiet("a program that holds its replies") else { return };
    let _reflector = scene.reflector(&["--hold", "300us"]);
    let target = scene.target(false);
    for _ in 0..runs() {
        let look = look(&scene, &[&target]);
        assert!(!anywhere(&look, "nobody-woken"), "{:#}", look["judgement"]);
    }
}

#[test]
fn without_a_program_nobody_is_to_be_woken() {
    let Some(scene) = Scene::quiet("a host without programs") else { return };
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
    let Some(scene) = Scene::quiet("a filter") else { return };
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
    let Some(scene) = Scene::quiet("a plain cable") else { return };
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
    let Some(scene) = Scene::quiet("a long path") else { return };
    let _forward = Forward::start(&scene, &["--delay", "7ms"]);
    let _reflector = scene.reflector(&[]);
    for _ in 0..runs() {
        let look = look(&scene, &[FORWARDED]);
        assert!(!anywhere(&look, "interval"), "{:#}", look["judgement"]);
        // Where this machine makes round trips longer than a quarter of the interval nothing is asked without a pause, which is said.
        let made = !look["bursts"].as_array().expect("bursts").is_empty();
        if let Some(why) = look["no_bursts"].as_str().filter(|why| !made && why.contains("is too long for one")) {
            return testbed::skip::aloud(&format!("the interval where the path takes long: {why}"));
        }
        assert!(made, "{}", look["no_bursts"]);
    }
}

#[test]
fn another_address_of_the_host_is_told_from_the_first_by_its_way() {
    let Some(scene) = Scene::quiet("two addresses of a host") else { return };
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
    let Some(scene) = Scene::quiet("two addresses of a host by one way") else { return };
    run(scene.far(), &["ip", "address", "add", "10.181.9.2/24", "dev", scene.far().interface()]);
    run(scene.near(), &["ip", "route", "add", "10.181.9.0/24", "dev", scene.near().interface()]);
    let _reflector = scene.reflector(&[]);
    let target = scene.target(false);
    for _ in 0..runs() {
        let look = look(&scene, &[&target, "--also", "10.181.9.2"]);
        assert!(!anywhere(&look, "address"), "{:#}", look["judgement"]);
    }
}
