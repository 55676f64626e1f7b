//! Whole command lines, and the plans they make.

use insta::assert_snapshot;
use logbook::run::Stage;
use test_case::test_case;

use super::*;
use crate::persona::pkb::output::{announcement, toml_of};

const HOSTS: &str = r#"[
    {"ip_address": "192.0.2.1", "user_name": "perf", "keyfile_path": "/k", "internal_ip": "10.0.0.1", "zone": "z"},
    {"ip_address": "192.0.2.2", "user_name": "perf", "keyfile_path": "/k", "internal_ip": "10.0.0.2", "zone": "z"},
    {"ip_address": "192.0.2.3", "user_name": "perf", "keyfile_path": "/k"}
]"#;

fn session_of(words: &[&str]) -> Result<Session, Answer> {
    let read = |path: &str| match path {
        "hosts.json" => Ok(HOSTS.to_owned()),
        _ => Err("is not there".to_owned()),
    };
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let given = Given { run_uri: "0a1b2c3d".into(), owner: "ann".into() };
    session(&Flags::parse(&words, &read)?, &given, &read)
}

fn told(words: &[&str]) -> String {
    let session = session_of(words).unwrap();
    session.jobs.iter().map(|job| announcement(&session, job, &toml_of(job))).collect()
}

fn commands(words: &[&str]) -> Vec<String> {
    let session = session_of(words).unwrap();
    session
        .jobs
        .iter()
        .flat_map(|job| &job.plan.methods)
        .map(|method| format!("{}: {}", method.name, method.command))
        .collect()
}

#[test_case(&["--os_type=ubuntu2404", "--static_vm_file=hosts.json"], None; "of hosts that are there")]
#[test_case(&["--os_type=debian12"], None; "that machines run")]
#[test_case(&["--os_type=ubuntu2404", "--image=ubuntu-2404-lts"], None; "of an image that was said")]
#[test_case(&["--os_type=ubuntu2404"], Some("Debian 12"); "that no machine runs")]
#[test_case(&["--os_type=windows2022_core", "--static_vm_file=hosts.json"], Some("hosts run Linux"); "of Windows")]
fn a_system_is_taken_where_it_can_be_had(words: &[&str], refused: Option<&str>) {
    let told = session_of(&[&["--benchmarks=ping"], words].concat());
    match (told, refused) {
        (Ok(_), None) => {}
        (Err(answer), Some(why)) => assert!(answer.stderr.contains(why), "{answer:?}"),
        (told, _) => panic!("{told:?}"),
    }
}

#[test]
fn ping_as_the_first_article_recommends_it() {
    assert_snapshot!(told(&["--benchmarks=ping", "--cloud=GCP", "--zone=us-east1-c"]));
}

#[test]
fn netperf_within_a_zone_as_the_first_article_recommends_it() {
    assert_snapshot!(told(&[
        "--benchmarks=netperf",
        "--cloud=GCP",
        "--zone=us-central1-c",
        "--machine_type=c2-standard-16",
        "--placement_group_style=cluster",
        "--netperf_benchmarks=TCP_RR",
    ]));
}

#[test]
fn netperf_between_regions_as_the_first_article_recommends_it() {
    let zones = ["--zone=us-central1-c", "--zone=europe-west1-b"];
    let words = [&["--benchmarks=netperf", "--cloud=GCP", "--netperf_benchmarks=TCP_RR"], &zones[..]].concat();
    let session = session_of(&words).unwrap();
    let machines = &session.jobs[0].plan.machines[0];
    assert_eq!(machines.zones, ["us-central1-c", "europe-west1-b"]);
    assert_eq!(machines.placement, "closest_supported");
}

#[test]
fn iperf_as_the_fifth_article_wants_it() {
    let words = [
        "--benchmarks=ping,iperf",
        "--cloud=GCP",
        "--zone=us-central1-a",
        "--iperf_sending_thread_count=1,4,8",
        "--ip_addresses=BOTH",
    ];
    assert_eq!(
        commands(&words)[1..],
        [
            "TCP_1streams: throughput --tcp --no-test --nagle --time 60s",
            "TCP_4streams: throughput --tcp --no-test --nagle --streams 4 --time 60s",
            "TCP_8streams: throughput --tcp --no-test --nagle --streams 8 --time 60s",
        ]
    );
    let session = session_of(&words).unwrap();
    let iperf = &session.jobs[1];
    let plan = &iperf.plan;
    assert_eq!((plan.addresses, plan.directions), (Addresses::Both, Directions::Both));
    // Three tests of 60 s, both ways, over both addresses.
    assert_eq!((iperf.uid.as_str(), iperf.seconds), ("iperf0", 720));
    assert_eq!(plan.machines[0].open.len(), 3, "over external addresses too");
}

#[test]
fn netperf_on_hosts_that_are_there() {
    assert_snapshot!(told(&[
        "--benchmarks=netperf",
        "--static_vm_file=hosts.json",
        "--netperf_benchmarks=TCP_RR,TCP_CRR,TCP_STREAM,UDP_RR,UDP_STREAM",
        "--netperf_test_length=5",
        "--netperf_warmup_test_length=0",
        "--netperf_num_streams=1,4",
        "--netperf_numactl_physcpubind=2",
        "--machine_type=x",
        "--log_level=debug",
    ]));
}

#[test]
fn a_mesh_takes_the_hosts_it_was_told() {
    let counts = ["--num_vms=5", "--num_connections=2", "--num_iterations=3", "--run_stage_iterations=2"];
    let session = session_of(&[&["--benchmarks=mesh_network"], &counts[..]].concat()).unwrap();
    let job = &session.jobs[0];
    assert_eq!((job.plan.machines[0].zones.len(), job.plan.repeats, job.ask.repeats_of_a_run), (5, 6, 3));
    let stream = "throughput --tcp --size 16384 --nagle --no-test --streams 2 --time 10s";
    assert_eq!(job.plan.methods[1].command, stream);
    assert!(job.notes[0].contains("rounds"), "{:?}", job.notes);
}

#[test]
fn one_host_with_several_at_once() {
    let session =
        session_of(&["--benchmarks=bidirectional_network", "--zone=us-east1-c", "--zone=us-east1-d"]).unwrap();
    let (plan, seconds) = (&session.jobs[0].plan, session.jobs[0].seconds);
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let (first, second) = ("us-east1-c-0", "us-east1-d-1");
    let pairs = [pair(first, second), pair("us-east1-c-2", first), pair("us-east1-d-3", first)];
    assert_eq!((&plan.pairs, plan.at_once), (&Pairs::Listed(pairs.to_vec()), AtOnce::All));
    assert_eq!((plan.directions, seconds), (Directions::Forward, 60), "all at once take the time of one");
    let stream = "throughput --tcp --size 16384 --nagle --no-test --streams 8 --time 60s";
    assert_eq!(plan.methods[0].command, stream);
    let listed = ["--static_vm_file=hosts.json", "--bidirectional_network_tests=TCP_MAERTS"];
    let session = session_of(&[&["--benchmarks=bidirectional_network"], &listed[..]].concat()).unwrap();
    let hosts: Vec<&String> = session.jobs[0].plan.hosts.iter().map(|host| &host.name).collect();
    assert_eq!(session.jobs[0].plan.pairs, Pairs::Listed(vec![pair(hosts[1], hosts[0])]));
}

#[test_case("--bidirectional_network_tests=TCP_RR", "TCP_STREAM, TCP_MAERTS"; "a test that is none")]
#[test_case("--bidirectional_network_tests=", "0 tests"; "none")]
fn tests_of_one_host_with_several(word: &str, told: &str) {
    let answer = session_of(&["--benchmarks=bidirectional_network", word]).unwrap_err();
    assert!(answer.stderr.contains(told), "{answer:?}");
}

#[test]
fn every_command_is_one_that_can_be_measured_by() {
    let all = "--netperf_benchmarks=TCP_RR,TCP_CRR,TCP_STREAM,UDP_RR,UDP_STREAM";
    let flags = [
        "--benchmarks=ping,netperf,iperf,mesh_network,bidirectional_network",
        all,
        "--netperf_num_streams=1,4",
        "--iperf_benchmarks=TCP,UDP",
    ];
    let more = [
        &flags[..],
        &["--iperf_sending_thread_count=1,4", "--iperf_interval=0.5", "--iperf_tcp_per_stream_bandwidth=10"],
        &["--iperf_buffer_length=8K", "--num_connections=3", "--netperf_warmup_test_length=0"],
    ]
    .concat();
    for words in [&flags[..], &more[..]] {
        for method in session_of(words).unwrap().jobs.iter().flat_map(|job| &job.plan.methods) {
            let mut words = crate::command::study::words::Words::read(&method.command).unwrap();
            words.host = Some("192.0.2.1".into());
            words.method().unwrap_or_else(|failure| panic!("{}: {}", method.command, failure.text()));
        }
    }
}

#[test]
fn what_is_printed_is_a_plan() {
    let words = ["--benchmarks=netperf", "--static_vm_file=hosts.json", "--netperf_max_iter=5"];
    let session = session_of(&words).unwrap();
    let job = &session.jobs[0];
    assert_eq!(Plan::read(&toml_of(job), "plan").unwrap(), job.plan);
    assert_eq!((job.plan.repeats, job.plan.hosts.len()), (5, 2));
}

#[test]
fn what_is_asked_of_the_samples() {
    let session = session_of(&[
        "--benchmarks=netperf",
        "--run_uri=np1",
        "--owner=bob",
        "--metadata=a:1,b:x:y",
        "--metadata=c:3",
        "--nocollapse_labels",
        "--netperf_histogram_percentiles=50",
        "--netperf_histogram_buckets=100",
        "--ip_addresses=REACHABLE",
    ])
    .unwrap();
    let ask = &session.jobs[0].ask;
    assert_eq!((ask.run_uri.as_str(), ask.owner.as_str(), ask.uid.as_str()), ("np1", "bob", "netperf0"));
    let metadata: Vec<String> = ask.metadata.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(metadata, ["a=1", "b=x:y", "c=3"]);
    assert!(!ask.collapse_labels && ask.internal_where_reachable && !ask.official);
    insta::assert_debug_snapshot!(ask.measurements);
}

#[test]
fn a_time_for_the_run_stage_makes_repeats() {
    let session = session_of(&["--benchmarks=ping", "--run_stage_time=1000"]).unwrap();
    // Once is 200 s: 100 from either end.
    assert_eq!((session.jobs[0].plan.repeats, session.jobs[0].seconds), (5, 1_000));
}

#[test]
fn benchmarks_are_counted_by_their_names() {
    let session = session_of(&["--benchmarks=ping,netperf,ping"]).unwrap();
    assert_eq!(session.jobs.iter().map(|job| job.uid.as_str()).collect::<Vec<_>>(), ["ping0", "netperf0", "ping1"]);
    assert_eq!((session.run_uri.as_str(), session.stages.len()), ("0a1b2c3d", 5));
}

#[test]
fn later_stages_go_on_with_a_run() {
    let session = session_of(&["--benchmarks=ping", "--run_stage=run,cleanup", "--run_uri=ABC12"]).unwrap();
    assert_eq!((session.run_uri.as_str(), session.stages), ("ABC12", vec![Stage::Run, Stage::Cleanup]));
}

#[test_case(&["--run_uri=a-b"], "letters and digits"; "a sign in the name")]
#[test_case(&["--run_uri=abcdefghijklm"], "1 to 12"; "a long name")]
#[test_case(&["--run_stage=run"], "say which by --run_uri"; "a stage of no run")]
#[test_case(&["--cloud=IBMCloud"], "GCP, AWS and Azure"; "another cloud")]
#[test_case(&["--placement_group_style=near"], "COLLOCATED"; "no placement")]
#[test_case(&["--cloud=AWS", "--placement_group_style=partition"], "no partitions"; "partitions")]
#[test_case(&["--machine_type={cpus: 2, memory: 4GiB}"], "put together by hand"; "a type by hand")]
#[test_case(&["--netperf_benchmarks=SCTP_STREAM"], "no SCTP"; "sctp")]
#[test_case(&["--netperf_benchmarks=TCP_MAERTS"], "is no test"; "no test")]
#[test_case(&["--netperf_benchmarks="], "names no test"; "no test named")]
#[test_case(&["--netperf_num_streams=0"], "0 streams"; "no stream")]
#[test_case(&["--netperf_histogram_percentiles=101"], "no percentile"; "beyond all")]
#[test_case(&["--netperf_numactl_physcpubind=+0"], "no list of processors"; "relative processors")]
#[test_case(&["--static_vm_file=none.json"], "is not there"; "no file")]
#[test_case(&["--static_vm_file=hosts.json", "--benchmarks=mesh_network", "--num_vms=4"], "3 machines, and 4 are needed"; "too few")]
#[test_case(&["--static_vm_file=hosts.json", "--benchmarks=mesh_network", "--num_vms=3"], "no `internal_ip`"; "no internal address")]
#[test_case(&["--metadata=colour"], "no key:value"; "no pair")]
#[test_case(&["--metadata=a:b|c"], "parts labels"; "what parts labels")]
#[test_case(&["--run_stage_iterations=2", "--run_stage_time=10"], "one of the two"; "both ways to repeat")]
#[test_case(&["--run_stage_time=1000000000"], "1000 at most"; "for ever")]
#[test_case(&["--benchmarks=iperf", "--iperf_buffer_length=1x"], "is no length"; "no length")]
#[test_case(&["--benchmarks=iperf", "--iperf_benchmarks=UDP", "--iperf_buffer_length=100K"], "65507"; "no datagram")]
#[test_case(&["--benchmarks=iperf", "--iperf_benchmarks=UDP", "--iperf_udp_per_stream_bandwidth=0"], "nothing would be sent"; "no bandwidth")]
fn what_is_wrong_is_told(words: &[&str], says: &str) {
    let has_benchmark = words.iter().any(|word| word.starts_with("--benchmarks"));
    let usual = if has_benchmark { &[][..] } else { &["--benchmarks=netperf"][..] };
    let answer = session_of(&[usual, words].concat()).unwrap_err();
    assert!(answer.stderr.contains(says) && answer.status == 1, "{answer:?}");
}

#[test_case("GCP", "cluster", "COLLOCATED", true; "of old on gcp")]
#[test_case("GCP", "COLLOCATED", "COLLOCATED", false; "gcp's own")]
#[test_case("AWS", "cluster", "cluster", false; "aws's own")]
#[test_case("AWS", "spread", "spread", false; "apart on aws")]
#[test_case("Azure", "proximity-placement-group", "proximity-placement-group", false; "azure's own")]
#[test_case("gcp", "none", "none", false; "none and a cloud in small letters")]
fn placements_are_read(cloud: &str, word: &str, expected: &str, noted: bool) {
    let (cloud, style) = (format!("--cloud={cloud}"), format!("--placement_group_style={word}"));
    let session = session_of(&["--benchmarks=iperf", &cloud, &style]).unwrap();
    let job = &session.jobs[0];
    assert_eq!(job.plan.machines[0].placement, expected);
    assert_eq!(job.notes.iter().any(|note| note.contains("dropped the old word")), noted, "{:?}", job.notes);
}

#[test]
fn azure_is_as_pkb_has_it_and_says_so() {
    let job =
        |more: &[&str]| session_of(&[&["--benchmarks=ping", "--cloud=Azure"], more].concat()).unwrap().jobs.remove(0);
    let usual = job(&[]);
    assert!(!usual.plan.machines[0].accelerated_networking, "{usual:?}");
    assert!(usual.notes.iter().any(|note| note.contains("is off")), "{:?}", usual.notes);
    let on = job(&["--azure_accelerated_networking"]);
    assert!(on.plan.machines[0].accelerated_networking, "{on:?}");
    assert!(!on.notes.iter().any(|note| note.contains("is off")), "{:?}", on.notes);
}
