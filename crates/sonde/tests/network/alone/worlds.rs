//! A route that moves while it is measured.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::plant::{FORWARDED, Forward};
use crate::scene::{Scene, number, run, sonde_in};

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
    let words =
        ["rtt", host, "--udp", "--every", "10ms", "-c", "400", "--warm-up", "0", "--no-stamps", "--json-lines", "-q"];
    let mut child = sonde_in(near).args(words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map(|line| line.expect("text"));
    let is_second = |line: &String| serde_json::from_str::<Value>(line).is_ok_and(|line| line["event"] == "second");
    assert_eq!(lines.by_ref().filter(is_second).take(2).count(), 2);
    run(near, &["ip", "route", "replace", host, "via", FORWARDED]);
    let last = lines.last().expect("the end");
    assert!(child.wait().expect("ended").success());
    let end: Value = serde_json::from_str(&last).expect("JSON");
    let record = &end["data"];
    let change = &record["outcome"]["change"];
    assert!(change["to_ns"].is_null(), "{change}");
    // A route takes over within moments; how late the second was told is the machine's.
    assert!((1_900_000_000..3_500_000_000).contains(&number(change, "/from_ns")), "{change}");
    assert!(number(change, "/before_ns") < 10_000_000 && number(change, "/within_ns") > 20_000_000, "{change}");
    let warnings = record["warnings"].as_array().expect("warnings");
    assert!(warnings.iter().any(|warning| warning["kind"] == "changed"), "{warnings:?}");
}
