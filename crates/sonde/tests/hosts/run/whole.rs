//! Plans that go well, are cut short, and go on.

use std::collections::BTreeSet;
use std::io::Read;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testbed::wait;

use crate::run::{Lab, cells, methods_of, processes, running};

const METHODS: [(&str, &str); 3] = [
    ("tcp_rr", "rtt --tcp -c 50 --warm-up 0"),
    ("udp_rr", "rtt --udp -c 50 --warm-up 0"),
    ("ping", "rtt --icmp -c 5 --every 1ms --warm-up 0"),
];

#[test]
fn a_mesh_is_measured_both_ways_by_each_method() {
    let lab = Lab::new();
    let plan = lab.plan(3, &METHODS, "name = \"mesh\"\nrepeats = 2\nseed = 7");
    let (code, run, said) = lab.run(&[&plan]);
    assert_eq!(code, Some(0), "{said}");
    let cells = cells(&run);
    assert_eq!(cells.len(), 3 * 2 * 3 * 2);
    assert!(cells.iter().all(|(_, measured)| *measured), "{cells:?}");
    assert_eq!(cells.iter().map(|(name, _)| name).collect::<BTreeSet<_>>().len(), cells.len(), "each once");
    assert_eq!(run["checks"].as_array().unwrap().len(), 6, "each pair is asked once each way");
    assert!(
        run["checks"]
            .as_array()
            .unwrap()
            .iter()
            .all(|check| (&check["tcp"], &check["udp"]) == (&json!("open"), &json!("open")))
    );
    assert!(run["cells"].as_array().unwrap().iter().all(|cell| cell["beside"] == 0), "one machine: one pair at a time");
    assert_eq!(run["stages"], json!(["prepare", "run"]));
    assert_eq!(running(&lab.port().to_string()), [] as [String; 0], "nobody is left on the hosts");
    // Nothing is left to do, and nothing is done twice.
    let (code, again, said) = lab.run(&["--resume", "last"]);
    assert_eq!((code, again["cells"].as_array().unwrap().len()), (Some(0), 36), "{said}");
}

#[test]
fn a_dry_run_says_how_much_and_touches_nothing() {
    let lab = Lab::new();
    let plan = lab.plan(4, &METHODS[..1], "name = \"dry\"");
    let output = lab.command(&["run", &plan, "--dry-run"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(said.starts_with("dry: 4 hosts, 6 pairs both ways, by tcp_rr: 12 cells in 6 rounds, about "), "{said}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[1], "h1    this machine  127.0.0.1", "{printed}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("round ")).count(), 6, "{printed}");
    assert!(lines[11].starts_with("12 cells in 6 rounds, about "), "{printed}");
    assert!(!lab.path("runs.db").exists());
}

#[test]
fn a_dry_run_is_told_as_json_too() {
    let lab = Lab::new();
    let more = "repeats = 2\npairs.listed = [[\"h1\", \"h2\"], [\"h2\", \"h3\"]]";
    let plan = lab.plan(4, &METHODS[..1], more);
    let output = lab.command(&["run", &plan, "--dry-run", "--json"]).output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&told["format"], &told["version"]), (&"sonde-dry-run".into(), &1.into()));
    assert_eq!(told["hosts"][1]["internal"], serde_json::json!(["127.0.0.2"]));
    let parts: Vec<bool> =
        told["hosts"].as_array().unwrap().iter().map(|host| host["takes_part"].as_bool().unwrap()).collect();
    assert_eq!(parts, [true, true, true, false]);
    assert_eq!(told["pairs"], serde_json::json!([["h1", "h2"], ["h2", "h3"]]));
    assert_eq!((told["rounds"].as_array().unwrap().len(), &told["cells"]), (2, &8.into()));
    let each = told["methods"][0]["expected_ns"].as_u64().unwrap();
    assert_eq!(told["expected_ns"].as_u64(), Some(each * 2 * 2 * 2), "two ways, two rounds, two repeats");
}

#[test]
fn a_mistyped_option_of_a_method_is_shown_at_its_line_with_the_nearest() {
    let lab = Lab::new();
    let plan = lab.plan(2, &[("good", "rtt --udp"), ("bad", "rtt --udp --siez 100")], "");
    let output = lab.command(&["run", &plan]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    let line = std::fs::read_to_string(&plan).unwrap().lines().position(|line| line.contains("--siez")).unwrap() + 1;
    let column = "command = \"rtt --udp ".len() + 1;
    assert!(said.contains(&format!("plan.toml, line {line}, column {column}: ")), "{said}");
    assert!(said.contains("unknown option `--siez`") && said.contains("did you mean --size?"), "{said}");
    assert!(!lab.path("runs.db").exists());
}

#[test]
fn flags_alone_make_a_plan() {
    let lab = Lab::new();
    let plan = lab.plan(2, &METHODS[..1], "");
    let port = lab.port().to_string();
    let words = [
        "--inventory",
        &plan,
        "--method",
        "quick=rtt --udp -c 20 --warm-up 0",
        "--forward",
        "--no-check",
        "--port",
        &port,
    ];
    let (code, run, said) = lab.run(&words);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(cells(&run), [("h1>h2 quick 0".to_owned(), true)]);
    assert_eq!(run["checks"], json!([]));
}

#[test]
fn killed_in_the_middle_it_goes_on_where_it_was() {
    let lab = Lab::new();
    let plan = lab.plan(3, &[("tcp_rr", "rtt --tcp -t 200ms --warm-up 0")], "repeats = 3\nseed = 1");
    let mut child = lab.start(&[&plan, "--no-check"]);
    let done = || {
        let output = lab.command(&["show", "last", "--json"]).output().unwrap();
        let run: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        run["cells"].as_array().map_or(0, Vec::len)
    };
    wait::until("some cells are there", || done() >= 4);
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::KILL).unwrap();
    child.wait().unwrap();
    wait::until("its agents have ended", || running(&lab.port().to_string()).is_empty());
    let before = done();
    assert!((4..18).contains(&before), "{before}");
    let (code, run, said) = lab.run(&["--resume", "last"]);
    assert_eq!((code, cells(&run).len()), (Some(0), 18), "{said}");
    assert!(cells(&run).iter().all(|(_, measured)| *measured));
}

/// A trial waits so often only once it has exchanged something: each exchange is waited for, and a start takes some dozens of waits.
const BEYOND_A_START: u64 = 1_000;

/// Waits of the threads of a trial towards `port`; 0 where there is none yet.
fn waits_of_a_trial(port: &str) -> u64 {
    let trials = processes(port).into_iter().filter(|(_, line)| line.contains(" rtt "));
    let statuses =
        trials.flat_map(|(folder, _)| std::fs::read_dir(folder.join("task")).into_iter().flatten()).flatten();
    let texts = statuses.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
    let waits = |text: String| {
        text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")?.trim().parse::<u64>().ok())
    };
    texts.filter_map(waits).sum::<u64>()
}

#[test]
fn ctrl_c_ends_it_in_order_and_keeps_what_there_is() {
    let lab = Lab::new();
    let plan = lab.plan(2, &[("tcp_rr", "rtt --tcp --every 1ms -t 60s --warm-up 0")], "directions = \"forward\"");
    let mut child = lab.start(&[&plan, "--no-check"]);
    let port = lab.port().to_string();
    wait::until("it measures", || waits_of_a_trial(&port) > BEYOND_A_START);
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::INT).unwrap();
    let status = child.wait().unwrap();
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert_eq!(status.code(), Some(130), "{printed}");
    assert_eq!(running(&lab.port().to_string()), [] as [String; 0]);
    let output = lab.command(&["show", "last", "--json"]).output().unwrap();
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&run["ended"]["how"], &run["ended"]["signal"]), (&json!("interrupted"), &json!("SIGINT")));
    let measured = [("h1>h2 tcp_rr 0".to_owned(), true)];
    assert_eq!(cells(&run), measured, "what was measured until then is kept: {:#}", run["cells"]);
}

#[test]
fn an_address_is_taken_by_family_and_a_name_is_looked_up_by_who_measures() {
    let lab = Lab::new();
    let host = |name: &str, internal: &str| {
        format!("[[hosts]]\nname = \"{name}\"\nreach = \"local\"\ninternal = {internal}\n")
    };
    let methods =
        [("either", "rtt --icmp -c 3 --every 1ms --warm-up 0"), ("six", "rtt --icmp -6 -c 3 --every 1ms --warm-up 0")];
    let hosts = [
        host("a", "\"127.0.0.2\""),
        host("b", "[\"::1\", \"127.0.0.3\"]"),
        host("named", "\"localhost\""),
        host("four", "\"127.0.0.4\""),
        host("nowhere", "\"nowhere.invalid\""),
    ];
    let top = "directions = \"forward\"\npairs.one-to-all = \"a\"\n";
    let plan = lab.write("plan.toml", &format!("{top}{}{}", methods_of(&methods), hosts.concat()));
    let (code, run, said) = lab.run(&[&plan]);
    assert_eq!(code, Some(3), "{said}");
    let cells = run["cells"].as_array().unwrap();
    let cell = |to: &str, method: &str| {
        cells.iter().find(|cell| cell["place"]["to"] == to && cell["place"]["method"] == method).unwrap()
    };
    // The address that was really used stands in the record.
    let target = |to: &str, method: &str| -> Value {
        let id = cell(to, method)["record"].as_str().unwrap_or_else(|| panic!("{:#}", cell(to, method)));
        let output = lab.command(&["show", id, "--json"]).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["target"].clone()
    };
    assert_eq!(target("b", "either")["address"], "127.0.0.3", "a family that both have");
    assert_eq!(target("b", "six")["address"], "::1", "the family that the method wants");
    let named = target("named", "either");
    assert_eq!(named["host"], "localhost");
    assert!(["127.0.0.1", "::1"].contains(&named["address"].as_str().unwrap()), "{named}");
    let why = |to: &str, method: &str| cell(to, method)["failure"]["what"].as_str().unwrap().to_owned();
    assert_eq!(why("four", "six"), "four: has no internal IPv6 address, which `six` wants");
    assert!(why("nowhere", "either").contains("nowhere.invalid"), "{}", why("nowhere", "either"));
}
