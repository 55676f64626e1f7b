//! A route that moves while it is measured.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::plant::{FORWARDED, Forward};
use crate::scene::{Scene, number, run, samples, sonde_in};

/// A hundred requests a second in the first two seconds and in all: the route moves when the second one has been told.
#[test]
fn a_route_that_moves_in_the_middle_is_told_with_both_levels() {
    let Some(scene) = Scene::quiet("a route that moves") else { return };
    let (near, far) = (scene.near(), scene.far());
    let host = "10.9.9.9";
    for namespace in [near, far] {
        run(namespace, &["sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0"]);
    }
    run(far, &["ip", "address", "add", &format!("{host}/32"), "dev", "lo"]);
    let _forward = Forward::start(&scene, &["--delay", "20ms", "--one-way"]);
    let _reflector = scene.reflector(&["--listen", host]);
    run(near, &["ip", "route", "add", host, "via", &far.v4().to_string()]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("samples.csv");
    let words = ["rtt", host, "--udp", "--every", "10ms", "-c", "400", "--warm-up", "0", "--timeout", "60s"];
    let told = ["--no-stamps", "--json-lines", "-q", "--samples", file.to_str().expect("UTF-8")];
    let mut child =
        sonde_in(near).args(words).args(told).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map(|line| line.expect("text"));
    let is_second = |line: &String| serde_json::from_str::<Value>(line).is_ok_and(|line| line["event"] == "second");
    assert_eq!(lines.by_ref().filter(is_second).take(2).count(), 2);
    run(near, &["ip", "route", "replace", host, "via", FORWARDED]);
    let last = lines.last().expect("the end");
    assert!(child.wait().expect("ended").success());
    let end: Value = serde_json::from_str(&last).expect("JSON");
    let record = &end["data"];
    let change = &record["outcome"]["change"];
    // The last that took the cable: by the forwarder all take longer. How late the second was told is the machine's.
    let last = samples(&file).iter().filter(|sample| sample.service_ns < 20_000_000).map(|sample| sample.seq).max();
    let moved = last.expect("a request by the cable") + 1;
    if moved > 350 {
        return testbed::skip::aloud("a route that moves: this machine moved it when nearly all was measured");
    }
    assert!(change["to_ns"].is_null(), "{change}");
    // Others who have the CPU just before it moves make requests by the cable late as well.
    assert!(number(change, "/from_ns").abs_diff(moved * 10_000_000) < 300_000_000, "{moved}: {change}");
    assert!(number(change, "/before_ns") < 10_000_000 && number(change, "/within_ns") > 20_000_000, "{change}");
    let warnings = record["warnings"].as_array().expect("warnings");
    assert!(warnings.iter().any(|warning| warning["kind"] == "changed"), "{warnings:?}");
}
