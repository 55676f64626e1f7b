//! A run as a record: the same counts, and what the original does not tell.

use serde_json::Value;

use crate::ping_pairs::scene::{Scene, run};

fn record(scene: &Scene, line: &str) -> (Value, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let ended = scene.end(&format!("{line} --record {}", file.display()));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}: {}", ended.told()));
    let output =
        assert_cmd::Command::cargo_bin("sonde").expect("built").arg("show").arg(&file).output().expect("shown");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (serde_json::from_str(&text).expect("a record"), ended.stdout)
}

#[test]
fn a_run_leaves_a_record_of_its_point_in_the_space() {
    let Some(scene) = Scene::new("the record of a ping", &[]) else { return };
    let (record, stdout) = record(&scene, "-c 20 -i 0.01 D");
    assert!(stdout.contains("20 packets transmitted, 20 received"), "{stdout}");
    let counts = &record["outcome"]["counts"];
    assert_eq!((counts["scheduled"].as_u64(), counts["answered"].as_u64()), (Some(20), Some(20)), "{counts}");
    assert_eq!(record["method"]["carrier"], "icmp");
    assert_eq!(record["method"]["schedule"]["preloaded"]["interval_ns"], 10_000_000);
    assert_eq!(record["peer"]["kind"], "kernel");
    assert_eq!(record["command"][0], "ping");
    assert_eq!(record["ended"], serde_json::json!({ "how": "complete" }), "{}", record["ended"]);
}

#[test]
fn errors_are_counted_by_kind() {
    let Some(scene) = Scene::new("the errors of a ping", &[]) else { return };
    run(scene.far(), "sysctl -qw net.ipv4.icmp_ratelimit=0");
    let rule = "icmp type echo-request reject with icmp type host-prohibited";
    let Some(()) = scene.filter("the errors of a ping", "input", rule) else { return };
    let (record, stdout) = record(&scene, "-c 3 -i 0.05 D");
    assert!(stdout.contains("+3 errors"), "{stdout}");
    assert_eq!(record["outcome"]["counts"]["refused"], 3);
    assert_eq!(record["outcome"]["sockets"][0]["icmp_errors"], serde_json::json!({ "forbidden by a filter": 3 }));
}

#[test]
fn a_record_on_standard_output_stands_there_alone() {
    let Some(scene) = Scene::new("the record of a ping", &[]) else { return };
    let ended = scene.end("--json -f -c 100 D");
    let record: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.told()));
    assert_eq!(record["outcome"]["counts"]["answered"], 100);
    assert_eq!(ended.code, Some(0));
}
