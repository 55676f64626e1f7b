//! The disagreement of the founders' first article, compared.

use serde_json::Value;

use crate::compare::{compare, float, text};
use crate::scene::{Scene, let_ping, tell};

/// As ping and netperf in the founders' first article, at a fiftieth of the interval: one asks the kernel now and then, the other
/// a program without a pause.
#[test]
fn ping_and_a_request_without_a_pause_disagree_by_interval_and_by_who_answers() {
    let Some(scene) = Scene::alone("ping against requests back to back") else { return };
    let_ping(scene.near(), "0 2147483647");
    let _reflector = scene.reflector(&[]);
    let target = scene.target(false);
    let common = format!("{target} --warm-up 50ms --no-stamps");
    let sides = ["ping --every 20ms -t 400ms", "tcp_rr -t 200ms"];
    let words = [sides[0], sides[1], "--with", &common, "--figures", "p50", "--runs", "7"];
    let (found, code) = compare(&scene, &words);
    assert_eq!(code, Some(0), "{}", found["error"]);
    jsonschema::validate(&logbook::schema::study_schema(), &found).expect("a valid study");
    let axes = found.pointer("/comparisons/0/axes").and_then(Value::as_array).expect("axes");
    let names: Vec<&str> = axes.iter().map(|axis| text(axis, "/axis")).collect();
    assert_eq!(names, ["interval", "carrier and size"], "an echo of one octet is none, so these two move together");
    assert_eq!(text(&axes[0], "/second"), "no pause");
    assert!(text(&axes[1], "/first").contains("the peer's kernel answers"), "{}", axes[1]);
    assert!(text(&axes[1], "/second").contains("a program answers"), "{}", axes[1]);
    let compared = "/comparisons/0/figures/0/compared";
    if text(&found, &format!("{compared}/word")) == "not-shown" {
        // On a machine that does not mind a pause the two causes may cancel each other; then there is no gap to share.
        assert!(axes.iter().all(|axis| axis["worth"].is_null()), "{axes:?}");
        return testbed::skip::aloud("shares of a gap: here a pause costs as much as a program's answer");
    }
    let shares: f64 = axes.iter().map(|axis| float(axis, "/worth/share/value")).sum();
    assert!((shares - 1.0).abs() < 1e-6, "{shares}");
    let closes: f64 = axes.iter().map(|axis| float(axis, "/worth/closes/value")).sum();
    let gap = float(&found, &format!("{compared}/second")) - float(&found, &format!("{compared}/first"));
    assert!((closes - gap).abs() <= gap.abs() * 1e-3, "{closes} of {gap}");
    for axis in axes {
        let [low, value, high] = ["low", "value", "high"].map(|end| float(axis, &format!("/worth/closes/{end}")));
        assert!(low <= value && value <= high, "{axis}");
    }
    // A program that answers has to be woken, so moving to it makes no round trip shorter, whatever the interval.
    assert!(float(&axes[1], "/worth/closes/high") > 0.0, "{}", axes[1]);
    // The interval: a host that idled between two requests answers no earlier.
    assert!(float(&axes[0], "/worth/closes/low") < 0.0, "{}", axes[0]);
    let shown = [float(&axes[0], "/worth/closes/high") < 0.0, float(&axes[1], "/worth/closes/low") > 0.0];
    tell(&format!("ping against requests back to back: the interval and who answers are shown: {shown:?}"));
}
