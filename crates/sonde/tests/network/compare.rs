//! Comparisons between two hosts whose difference is known.

use serde_json::Value;

use crate::scene::{Reflector, Scene, document, installed, run, sonde_in};

/// The document of `sonde compare` in the near namespace with these words, and its status.
pub fn compare(scene: &Scene, words: &[&str]) -> (Value, Option<i32>) {
    let output = sonde_in(scene.near()).args(["compare", "--json", "-q"]).args(words).output().expect("started");
    (document(&output), output.status.code())
}

/// A text of a document, by its path.
pub fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_else(|| panic!("{path} is {:?}", value.pointer(path)))
}

/// A number of a document, by its path.
pub fn float(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} is {:?}", value.pointer(path)))
}

/// One side is answered 8 ms later than the other, by the same program otherwise: as much as no machine adds to one side alone by chance.
#[test]
fn a_planted_difference_is_found_with_its_size_and_one_beyond_the_limit_is_a_failure() {
    let Some(scene) = Scene::beside("a comparison with a reflector that holds its replies") else { return };
    let hold = 8e6;
    let _prompt = scene.reflector(&["--port", "7001"]);
    let _slow = Reflector::start(scene.far(), &["--open", "--port", "7002", "--hold", "8ms"]);
    let target = scene.target(false);
    let sides = [format!("{target} --port 7001"), format!("{target} --port 7002")];
    let common = "-c 25 --every 10ms --window 1 --warm-up 50ms --no-stamps";
    let words = [&sides[0], &sides[1], "--with", common, "--fail-if", "p50>+10%", "--figures", "p50", "--runs", "6"];
    let (found, code) = compare(&scene, &words);
    let comparison = "/comparisons/0";
    let figure = format!("{comparison}/figures/0/compared");
    assert_eq!(text(&found, &format!("{figure}/word")), "more", "{}", found["comparisons"]);
    let [low, high] = ["low", "high"].map(|end| float(&found, &format!("{figure}/difference/{end}")));
    // A reply is never earlier than its hold, and a busy machine may answer either side late.
    assert!(low > hold * 0.5 && low <= high, "{low} … {high}");
    assert_eq!(text(&found, &format!("{comparison}/thresholds/0/held")), "exceeded");
    assert_eq!(code, Some(99));
    assert_eq!(text(&found, &format!("{comparison}/axes/0/axis")), "address");
    let shifts = found.pointer(&format!("{comparison}/shifts")).and_then(Value::as_array).expect("shifts");
    assert!(!shifts.is_empty());
    for shift in shifts {
        assert!(shift["low_ns"].as_f64() <= shift["difference_ns"].as_f64(), "{shift}");
        assert!(shift["difference_ns"].as_f64() <= shift["high_ns"].as_f64(), "{shift}");
    }
}

/// One side loses each fifth datagram, and the other none: nobody asked for losses, and they are judged. The times of those that were answered
/// say nothing of them.
#[test]
fn losses_of_one_side_are_judged_where_nobody_asked() {
    let what = "a comparison in which one side loses";
    let Some(scene) = installed("nft", "nftables", what).then(|| Scene::beside(what)).flatten() else { return };
    let rule = "udp dport 7002 @th,264,8 & 4 == 0 numgen inc mod 5 == 0 drop;";
    run(scene.far(), &["nft", &format!("table ip t {{ chain i {{ type filter hook input priority 0; {rule} }}; }}")]);
    let _whole = scene.reflector(&["--port", "7001"]);
    let _lossy = scene.reflector(&["--port", "7002"]);
    let target = scene.target(false);
    let sides = [format!("{target} --port 7001"), format!("{target} --port 7002")];
    let common = "--udp -c 50 --every 2ms --timeout 800ms --warm-up 20ms --no-stamps";
    let (found, code) = compare(&scene, &[&sides[0], &sides[1], "--with", common, "--runs", "7"]);
    assert_eq!(code, Some(0), "{}", found["error"]);
    let figures = found.pointer("/comparisons/0/figures").and_then(Value::as_array).expect("figures");
    let loss = figures.iter().find(|figure| figure["figure"] == "loss").expect("judged");
    assert_eq!(text(loss, "/compared/word"), "more", "{loss}");
    let second: Vec<f64> = loss["second"].as_array().expect("runs").iter().filter_map(Value::as_f64).collect();
    // A busy host may be late with others; none of the dropped ones is answered.
    assert!(second.len() == 7 && second.iter().all(|share| *share >= 0.2), "{loss}");
    assert!(float(loss, "/compared/difference/low") > 0.1, "{loss}");
}

/// Ended in the middle, it tells what was found and which trials are missing.
#[test]
fn an_interrupted_comparison_keeps_its_trials() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    let Some(scene) = Scene::beside("a comparison that is interrupted") else { return };
    let _reflector = scene.reflector(&[]);
    let target = scene.target(false);
    let common = format!("{target} -t 300ms --warm-up 0 --no-stamps");
    let mut command = sonde_in(scene.near());
    command.args(["compare", "--json-lines", "-q", "--wait block", "--wait spin", "--with", &common, "--runs", "500"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    for _ in 0..3 {
        line.clear();
        lines.read_line(&mut line).expect("a trial");
        assert!(line.contains("\"trial\""), "{line}");
    }
    kill_process(Pid::from_child(&child), Signal::INT).expect("running");
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("the rest");
    assert_eq!(child.wait().expect("ended").code(), Some(130));
    let last: Value = serde_json::from_str(rest.lines().last().expect("an end")).expect("JSON");
    assert_eq!(last["event"], "studied");
    let study = &last["data"];
    assert_eq!(text(study, "/ended/signal"), "SIGINT");
    let trials = study["trials"].as_array().expect("trials");
    assert!((3..1_000).contains(&trials.len()), "{}", trials.len());
    assert!(trials.iter().all(|trial| trial["record"]["ended"]["how"] == "complete"), "none was cut short");
}
