//! `sonde pkb`: PerfKit Benchmarker's words, as its users type them.

use std::os::unix::fs::symlink;

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, starts_with};
use test_case::test_case;

use crate::{sonde, sonde_in};

const HOSTS: &str = r#"[
    {"ip_address": "192.0.2.1", "user_name": "perf", "keyfile_path": "/k", "internal_ip": "10.0.0.1"},
    {"ip_address": "192.0.2.2", "user_name": "perf", "keyfile_path": "/k", "internal_ip": "10.0.0.2"}
]"#;

#[test_case("pkb"; "by its name")]
#[test_case("pkb.py"; "by its script's name")]
fn a_link_of_its_name_is_enough(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    symlink(assert_cmd::cargo::cargo_bin!("sonde"), folder.path().join(name)).unwrap();
    Command::new(folder.path().join(name)).arg("--help").assert().success().stdout(starts_with("usage: sonde pkb "));
}

#[test]
fn a_plan_is_printed_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("hosts.json"), HOSTS).unwrap();
    let words =
        ["pkb", "--benchmarks=netperf", "--static_vm_file=hosts.json", "--netperf_benchmarks=TCP_RR", "--dry_run"];
    let printed = sonde_in(folder.path(), &words).assert().success().stderr("").get_output().stdout.clone();
    let printed = String::from_utf8(printed).unwrap();
    let says = [
        "to = \"perf@192.0.2.1\"",
        "command = \"rtt --tcp --size 1 --nagle --connections 1 --time 60s --warm-up 60s\"",
    ];
    assert!(says.iter().all(|says| printed.contains(says)), "{printed}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was made");
}

#[test]
fn a_matrix_in_a_file_makes_a_run_of_each_pair() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "ping:\n  flag_matrix: m\n  flag_matrix_filters: {m: 'zones < extra_zones'}\n  flag_matrix_defs:\n    m:\n      \
                    zones: [us-east1-b, us-west1-a, asia-east1-a]\n      extra_zones: [us-east1-b, us-west1-a, asia-east1-a]\n";
    std::fs::write(folder.path().join("all.yaml"), settings).unwrap();
    let words = ["pkb", "--benchmarks=ping", "--benchmark_config_file=all.yaml", "--dry_run"];
    let printed = sonde_in(folder.path(), &words).assert().success().get_output().stdout.clone();
    let printed = String::from_utf8(printed).unwrap();
    assert_eq!(printed.matches("[[machines]]").count(), 3, "{printed}");
    assert!(printed.contains("zones = [\"asia-east1-a\", \"us-west1-a\"]"), "{printed}");
}

#[test_case(&["--benchmark=ping"], "Did you mean: benchmarks ?"; "a slip")]
#[test_case(&["ping"], "`ping` is no flag"; "a bare word")]
#[test_case(&[], "no benchmark is named"; "nothing")]
#[test_case(&["--benchmarks=ping", "--static_vm_file=."], "is no file"; "a folder of hosts")]
#[test_case(&["--benchmarks=ping", "--static_vm_file=/dev/zero"], "is no file"; "hosts without end")]
fn what_is_wrong_is_status_1(words: &[&str], says: &str) {
    let words = [&["pkb"], words].concat();
    sonde(&words).assert().code(1).stdout("").stderr(starts_with("pkb: ").and(contains(says)));
}

#[test]
fn help_tells_flags_by_their_matter() {
    let iperf = contains("--iperf_runtime_in_seconds").and(contains("--netperf_mss").not());
    sonde(&["pkb", "--helpmatch=iperf"]).assert().success().stdout(iperf);
    for (word, says) in [("linux_benchmarks.netperf", "--netperf_mss"), ("ping", "has no flags of its own")] {
        sonde(&["pkb", &format!("--helpmatch={word}")]).assert().success().stdout(contains(says));
    }
    sonde(&["pkb", "--helpmatch=no such"]).assert().success().stdout("").stderr(contains("no flag and no group"));
    sonde(&["pkb", "--helpfull"]).assert().success().stdout(contains("--netperf_mss"));
    sonde(&["pkb", "--version"]).assert().success().stdout(starts_with("sonde "));
}
