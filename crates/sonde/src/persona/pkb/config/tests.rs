//! Configurations, settings and matrices: what they make of a benchmark.

use test_case::test_case;

use super::*;

const MATRIX: &str = "\
ping:
  flag_matrix: inter_region
  flag_matrix_filters:
    inter_region: \"zones < extra_zones\"
  flag_matrix_defs:
    inter_region:
      zones: [a, b, c]
      extra_zones: [a, b, c]
      machine_type: [n1-standard-2]
  flags:
    cloud: GCP
    ip_addresses: BOTH
";

fn runs_of(words: &[&str], file: &str) -> Result<Vec<(Benchmark, Flags)>, Answer> {
    let read = |path: &str| if path == "f" { Ok(file.to_owned()) } else { Err("is not there".to_owned()) };
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    runs(&Flags::parse(&words, &read)?, &read)
}

fn zones(runs: &[(Benchmark, Flags)]) -> Vec<String> {
    runs.iter()
        .map(|(_, flags)| format!("{}{}", flags.list("zones").join(""), flags.list("extra_zones").join("")))
        .collect()
}

#[test]
fn each_combination_that_the_filter_keeps_is_a_run() {
    let runs = runs_of(&["--benchmarks=ping", "--benchmark_config_file=f"], MATRIX).unwrap();
    // Flags vary in the order of their names, the last the fastest.
    assert_eq!(zones(&runs), ["ab", "ac", "bc"].map(|both| both.chars().collect::<String>()));
    assert!(runs.iter().all(|(_, flags)| flags.text("ip_addresses") == Some("BOTH")));
    assert_eq!(runs[0].1.text("machine_type"), Some("n1-standard-2"));
}

#[test]
fn the_command_line_goes_before_the_file() {
    let words = ["--benchmarks=ping", "--benchmark_config_file=f", "--ip_addresses=EXTERNAL", "--flag_matrix="];
    let runs = runs_of(&words, &MATRIX.replace("flag_matrix: inter_region", "flag_matrix: ''")).unwrap();
    assert_eq!(
        (runs.len(), runs[0].1.text("ip_addresses"), runs[0].1.text("cloud")),
        (1, Some("EXTERNAL"), Some("GCP"))
    );
}

#[test]
fn a_zip_takes_first_with_first() {
    let file = "netperf:\n  flag_zip_defs:\n    z:\n      zones: [a, b]\n      extra_zones: [c, d]\n  flag_matrix_defs:\n    m:\n      \
                netperf_num_streams: ['1,2', 4]\n";
    let runs = runs_of(&["--benchmarks=netperf", "--benchmark_config_file=f", "--flag_zip=z", "--flag_matrix=m"], file)
        .unwrap();
    assert_eq!(zones(&runs), ["ac", "ac", "bd", "bd"]);
    assert_eq!(runs[2].1.integers("netperf_num_streams"), Some(&[1, 2][..]));
}

#[test]
fn a_list_of_benchmarks_runs_each() {
    let file = "flags:\n  netperf_test_length: 5\nbenchmarks:\n- netperf: {flags: {netperf_benchmarks: TCP_RR}}\n- \
                netperf:\n    flags:\n      netperf_test_length: 7\n";
    let runs = runs_of(&["--benchmark_config_file=f"], file).unwrap();
    let lengths: Vec<_> = runs.iter().map(|(_, flags)| flags.count("netperf_test_length")).collect();
    assert_eq!(lengths, [Some(5), Some(7)]);
}

#[test]
fn settings_are_read_as_they_are_written() {
    let text = "# of regions\nping:\n  description: >\n    from each\n    to each\n  flag_matrix: inter_region   # its name\n  \
                flag_matrix_filters:\n    inter_region: \"zones < extra_zones\"\n  flag_matrix_defs:\n    inter_region:\n      \
                zones: [asia-east1-a,us-east1-b,\n        us-west1-a]\n      machine_type:\n      - n1-standard-2\n      \
                - 'c2 #4'\n  flags: {cloud: GCP, official: true, said: 'true', length: 010, owner: ~, project: None}\n";
    let expected = serde_json::json!({"ping": {
        "description": "from each to each",
        "flag_matrix": "inter_region",
        "flag_matrix_filters": {"inter_region": "zones < extra_zones"},
        "flag_matrix_defs": {"inter_region": {
            "zones": ["asia-east1-a", "us-east1-b", "us-west1-a"], "machine_type": ["n1-standard-2", "c2 #4"]}},
        "flags": {
            "cloud": "GCP", "official": true, "said": "true", "length": "010", "owner": null, "project": null},
    }});
    assert_eq!(from_yaml(text), Ok(expected));
    assert_eq!(from_yaml("# nothing\n"), Ok(Value::Null));
}

#[test]
fn settings_share_what_has_an_anchor() {
    let file = "base: &base\n  netperf_test_length: 5\n  netperf_benchmarks: TCP_RR\nbenchmarks:\n- netperf: {flags: *base}\n- \
                netperf:\n    flags:\n      <<: *base\n      netperf_test_length: 7\n";
    let runs = runs_of(&["--benchmark_config_file=f"], file).unwrap();
    let lengths: Vec<_> = runs.iter().map(|(_, flags)| flags.count("netperf_test_length")).collect();
    assert_eq!(lengths, [Some(5), Some(7)]);
    assert!(runs.iter().all(|(_, flags)| flags.list("netperf_benchmarks") == ["TCP_RR"]));
}

#[test]
fn settings_may_be_json_or_said_one_by_one() {
    let json = r#"{"netperf": {"flags": {"netperf_test_length": 9}}}"#;
    let runs = runs_of(&["--benchmarks=netperf,ping", "--benchmark_config_file=f"], json).unwrap();
    assert_eq!((runs.len(), runs[0].1.count("netperf_test_length")), (2, Some(9)));
    let runs =
        runs_of(&["--benchmarks=netperf", "--config_override=netperf.flags.netperf_test_length=11"], "").unwrap();
    assert_eq!(runs[0].1.count("netperf_test_length"), Some(11));
}

#[test]
fn settings_under_another_name_are_those_of_the_benchmark_they_name() {
    let file = "short:\n  name: netperf\n  flags: {netperf_test_length: 3}\n";
    let runs = runs_of(&["--benchmarks=short", "--benchmark_config_file=f"], file).unwrap();
    assert_eq!((runs[0].0, runs[0].1.count("netperf_test_length")), (Benchmark::Netperf, Some(3)));
}

#[test_case(&[], "", "no benchmark is named"; "none")]
#[test_case(&["--benchmarks=fio"], "", "is none of those"; "of another kind")]
#[test_case(&["--benchmarks=netperf_aggregate"], "", "a script of netperf's"; "not had")]
#[test_case(&["--benchmarks=ping", "--benchmark_config_file=g"], "", "is not there"; "no file")]
#[test_case(&["--benchmarks=ping", "--benchmark_config_file=f"], "- 3", "no mapping"; "a list")]
#[test_case(&["--benchmarks=ping", "--benchmark_config_file=f"], "ping:\n  vm_groups: {}", "`ping.vm_groups`"; "machines by hand")]
#[test_case(&["--benchmarks=ping", "--benchmark_config_file=f"], "ping:\n  flags:\n    zoen: a", "Did you mean: zone"; "a slip")]
#[test_case(&["--benchmarks=ping", "--benchmark_config_file=f"], "ping:\n  flags:\n    run_uri: a", "command line alone"; "the run's name")]
#[test_case(&["--benchmarks=ping", "--benchmark_config_file=f"], "ping:\n  flags: *b", "line 2: no YAML"; "an alias of nothing")]
#[test_case(&["--benchmarks=ping", "--benchmark_config_file=f"], "ping:\n  flags:\n    owner: !vault x", "line 3: an encrypted value"; "encrypted")]
#[test_case(&["--benchmarks=ping", "--benchmark_config_file=f"], "ping:\n\tflags:", "line 2: no YAML"; "a tab")]
#[test_case(&["--benchmarks=ping", "--config_override=ping.flags=[a"], "", "no YAML"; "half an override")]
#[test_case(&["--benchmarks=ping", "--flag_matrix=m"], "", "define no such one"; "no matrix")]
#[test_case(&["--benchmarks=ping", "--config_override=x"], "", "lacks a `=`"; "no override")]
fn what_is_wrong_is_told(words: &[&str], file: &str, says: &str) {
    let answer = runs_of(words, file).unwrap_err();
    assert!(answer.stderr.contains(says), "{answer:?}");
}

#[test]
fn a_matrix_of_millions_is_refused() {
    let axis = (0..500).map(|at| format!("z{at}")).collect::<Vec<_>>().join(", ");
    let file = format!(
        "ping:\n  flag_matrix_defs:\n    m:\n      zones: [{axis}]\n      extra_zones: [{axis}]\n      owner: [{axis}]\n"
    );
    let answer = runs_of(&["--benchmarks=ping", "--benchmark_config_file=f", "--flag_matrix=m"], &file).unwrap_err();
    assert!(answer.stderr.contains("combinations"), "{answer:?}");
}
