//! A token bucket between the hosts, whose rate is known: the search for the highest rate without loss finds it.
//!
//! The bucket counts frames: a datagram's payload, 8 bytes of UDP, 20 of IPv4 and 14 of Ethernet. It holds two of them, and
//! its queue six more, so a probe of 1500 messages is long against both: with the losses that may be, it tells a rate 0.7 % too
//! high at most. Its ends are 2 % apart at most, and what is reported is the lower one.

use std::path::Path;

use lab::namespace::Namespace;
use measure::search::{Bracket, Reached};
use serde_json::Value;
use test_case::test_case;

use crate::scene::{Scene, document, installed, run, sonde_in, tell};

/// Payload of a message, bytes.
const PAYLOAD: u64 = 1_000;
/// The same as the bucket counts it.
const FRAME: u64 = PAYLOAD + 8 + 20 + 14;

/// Place of the bucket.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Behind the wire, where nobody but the counts of the far side tell of a loss.
    Path,
    /// At our own interface, whose queue tells our own side of each message that it does not take.
    OurInterface,
}

/// Puts a bucket of `frames` frames a second before what comes in there, or goes out here.
fn bucket(scene: &Scene, place: Place, frames: u64) {
    let bytes = |frames: u64| (frames * FRAME).to_string();
    let rate = format!("{}bit", frames * FRAME * 8);
    let (burst, limit) = (bytes(2), bytes(6));
    let tbf = |namespace: &Namespace, interface: &str| {
        let words = ["tc", "qdisc", "add", "dev", interface, "root", "tbf", "rate", &rate, "burst", &burst];
        run(namespace, &[&words[..], &["limit", &limit]].concat());
    };
    match place {
        Place::OurInterface => tbf(scene.near(), scene.near().interface()),
        Place::Path => {
            let (far, interface) = (scene.far(), scene.far().interface());
            run(far, &["ip", "link", "add", "middle", "type", "ifb"]);
            run(far, &["ip", "link", "set", "middle", "up"]);
            run(far, &["tc", "qdisc", "add", "dev", interface, "handle", "ffff:", "ingress"]);
            let filter = ["tc", "filter", "add", "dev", interface, "parent", "ffff:", "protocol", "ip", "u32"];
            let action = ["match", "u32", "0", "0", "action", "mirred", "egress", "redirect", "dev", "middle"];
            run(far, &[&filter[..], &action].concat());
            tbf(far, "middle");
        }
    }
}

/// The ends of what was found, messages a second.
fn ends(bracket: &Bracket) -> (f64, f64) {
    let rate = |end: Option<measure::search::End>| end.map(|end| end.rate_per_1000s.0.get() as f64 / 1e3);
    let (Some(met), Some(missed)) = (rate(bracket.met), rate(bracket.missed)) else { panic!("{bracket:?}") };
    (met, missed)
}

#[test_case(Place::Path, 1_500; "on the path")]
#[test_case(Place::OurInterface, 1_200; "at our own interface")]
fn the_rate_of_a_token_bucket_is_found(place: Place, frames: u64) {
    let what = "a token bucket between the hosts";
    if !installed("tc", "iproute2", what) {
        return;
    }
    let Some(scene) = Scene::ahead(what) else { return };
    let _reflector = scene.reflector(&[]);
    bucket(&scene, place, frames);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("found.json");
    let mut command = sonde_in(scene.near());
    command.args(["load", "--json", "-q", &scene.target(false), "--size", &PAYLOAD.to_string(), "-o"]).arg(&file);
    let output = command
        .args(["--find", "loss<0.2%", "--probe", "1s", "--rate", "1000", "--probes", "150"])
        .output()
        .expect("started");
    let found = document(&output);
    assert!(output.status.success(), "{}: {}", found["bracket"], String::from_utf8_lossy(&output.stderr));
    let bracket: Bracket = serde_json::from_value(found["bracket"].clone()).expect("a bracket");
    let (met, missed) = ends(&bracket);
    let probes = found["probes"].as_array().expect("probes");
    tell(&format!("{place:?}: {frames} frames a second were found as {met} by {} probes", probes.len()));
    // More than the bucket lets through is never found; less is where the search itself says that our own side was late, again
    // and again.
    let least = if bracket.missed.is_some_and(|end| end.is_spoilt()) { 0.8 } else { 0.98 };
    assert!(
        (least..=1.02).contains(&(met / frames as f64)),
        "{met} of {frames}: {}{}",
        found["bracket"],
        course(probes)
    );
    assert!(met < missed && missed / met <= 1.02, "{met} {missed}");
    assert_eq!(bracket.reached, Reached::Width);
    // Our own interface's queue is our own side's, which the path is not blamed for.
    let ours = bracket.missed.is_some_and(|end| end.is_ours());
    assert!(ours || matches!(place, Place::Path), "{}", found["bracket"]);
    shown(scene.near(), &file, &found);
    each_probe_is_a_record(probes);
}

/// Each probe in a line, for whoever reads why a search went astray.
fn course(probes: &[Value]) -> String {
    let line = |probe: &Value| {
        let (rate, outcome) = (&probe["rate_per_1000s"], &probe["record"]["outcome"]);
        format!(
            "\n{rate} {} {} {} {}",
            probe["verdict"], probe["missed"], outcome["counts"], outcome["slip"]["behind_share"]
        )
    };
    probes.iter().map(line).collect()
}

/// The same document is in the file, and is told again.
fn shown(namespace: &Namespace, file: &Path, found: &Value) {
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(file).expect("written")).expect("JSON");
    assert_eq!(&kept, found);
    let told = sonde_in(namespace).arg("show").arg(file).output().expect("started");
    let text = String::from_utf8(told.stdout).expect("text");
    assert!(text.contains("loss<0.2%") && text.contains("Highest rate"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

fn each_probe_is_a_record(probes: &[Value]) {
    for probe in probes {
        let record = &probe["record"];
        assert_eq!((&record["format"], &record["question"]), (&"sonde-record".into(), &"load".into()));
        let offered = record["outcome"]["offered_per_s"].as_f64().expect("a rate");
        assert!((offered * 1e3 - probe["rate_per_1000s"].as_f64().expect("a rate")).abs() < 1.0, "{offered}");
        let met = probe["verdict"] == "met";
        assert_eq!(met, probe["missed"].as_array().is_some_and(Vec::is_empty), "a verdict has its reasons");
    }
}
