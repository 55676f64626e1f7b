//! Table of the flags, and the effect of each. PKB's own names; the words are ours.

use super::beside::{DISKS, HOSTS, LOG};
use super::kind::{Fate, Flag, Kind};

/// Flags of one matter.
pub struct Group {
    /// The matter, as the help calls it, and as `--helpmatch` finds it.
    pub title: &'static str,
    /// PKB's own module of them, by which its `--helpmatch` goes; empty where there are several.
    pub module: &'static str,
    /// Its flags.
    pub flags: &'static [Flag],
}

/// Every flag.
pub fn all() -> impl Iterator<Item = &'static Flag> {
    GROUPS.iter().flat_map(|group| group.flags)
}

/// The flag of a name.
pub fn flag(name: &str) -> Option<&'static Flag> {
    all().find(|flag| flag.name == name)
}

pub(super) const fn heeded(name: &'static str, kind: Kind, help: &'static str) -> Flag {
    Flag { name, kind, fate: Fate::Heeded(help) }
}

pub(super) const fn idle(name: &'static str, kind: Kind, why: &'static str) -> Flag {
    Flag { name, kind, fate: Fate::Idle(why) }
}

pub(super) const fn refused(name: &'static str, kind: Kind, off: &'static [&'static str], why: &'static str) -> Flag {
    Flag { name, kind, fate: Fate::Refused { off, why } }
}

pub(super) const FALSE: &[&str] = &["false", "f", "0"];
pub(super) const NO_NUMBER: &[&str] = &["0"];
pub(super) const NOTHING: &[&str] = &[""];
/// Numbers that only have to be positive.
pub(super) const COUNT: Kind = Kind::Integer(1, u32::MAX as i64);
pub(super) const FROM_ZERO: Kind = Kind::Integer(0, u32::MAX as i64);

pub(super) const ELSEWHERE: &str =
    "results go into a file: publish that with PKB's own publisher, or load it as the documentation says";
pub(super) const NO_SAMPLE: &str = "such samples are not made here: `sonde show` tells what each end is";
pub(super) const OWN_BOUNDS: &str = "each wait has a bound of its own here";

/// All of them.
pub const GROUPS: &[Group] = &[
    Group { title: "what is measured", module: "", flags: WHAT },
    Group { title: "where", module: "", flags: WHERE },
    Group { title: "ping", module: "linux_benchmarks.ping_benchmark", flags: &[] },
    Group { title: "netperf", module: "linux_benchmarks.netperf_benchmark", flags: NETPERF },
    Group { title: "iperf", module: "linux_benchmarks.iperf_benchmark", flags: IPERF },
    Group { title: "mesh_network", module: "linux_benchmarks.mesh_network_benchmark", flags: MESH },
    Group {
        title: "bidirectional_network",
        module: "linux_benchmarks.bidirectional_network_benchmark",
        flags: BIDIRECTIONAL,
    },
    Group { title: "stages and runs", module: "", flags: RUNS },
    Group { title: "results", module: "perfkitbenchmarker.publisher", flags: RESULTS },
    Group { title: "the hosts and their kernels", module: "", flags: HOSTS },
    Group { title: "disks and other parts of machines", module: "", flags: DISKS },
    Group { title: "log and help", module: "", flags: LOG },
];

const WHAT: &[Flag] = &[
    heeded("benchmarks", Kind::List, "ping, netperf, iperf, mesh_network; several with commas between them"),
    heeded("benchmark_config_file", Kind::Text, "settings of benchmarks and flag matrices: YAML or JSON"),
    heeded("config_override", Kind::Texts, "one setting of that kind, as netperf.flags.netperf_test_length=10"),
    heeded("flag_matrix", Kind::Text, "the matrix of the settings to run: every combination is a run"),
    heeded("flag_zip", Kind::Text, "the zip of the settings to run: first with first, second with second"),
    refused(
        "num_benchmark_copies",
        Kind::Integer(1, 1_000),
        &["1"],
        "say --run_stage_iterations, which measures again on the same hosts",
    ),
    refused("run_with_pdb", Kind::Switch, FALSE, "there is no Python here"),
    refused(
        "run_processes",
        Kind::Integer(1, 1_000),
        &["1"],
        "benchmarks run one after the other: two at a time would disturb each other",
    ),
    idle("run_processes_delay", Kind::Number, "benchmarks run one after the other"),
    refused(
        "randomize_run_order",
        Kind::Switch,
        FALSE,
        "benchmarks run in the order said; `sonde run` measures interleaved and in random order",
    ),
    refused("benchmark_os_type", Kind::Text, NOTHING, "hosts run Linux"),
    refused("multi_os_benchmark", Kind::Switch, FALSE, "hosts run Linux"),
];

const WHERE: &[Flag] = &[
    heeded("cloud", Kind::Text, "GCP, AWS or Azure, by its own command line program"),
    heeded("zone", Kind::Texts, "a zone; said again, the next machine's"),
    heeded("zones", Kind::List, "zones, one machine each in turn"),
    heeded("extra_zones", Kind::List, "more of them"),
    heeded("machine_type", Kind::Text, "the type of every machine"),
    heeded("num_vms", Kind::Integer(1, 200), "how many machines, of mesh_network"),
    heeded("image", Kind::Text, "the image every machine starts from"),
    heeded(
        "placement_group_style",
        Kind::Text,
        "none, closest_supported, or the cloud's own word; of old: cluster, spread",
    ),
    heeded(
        "ip_addresses",
        Kind::Choice(&["INTERNAL", "EXTERNAL", "BOTH", "REACHABLE"]),
        "which addresses carry what is measured [INTERNAL]",
    ),
    heeded("static_vm_file", Kind::Text, "hosts that are there already, reached by ssh: a JSON array"),
    heeded("static_vm_tags", Kind::List, "of these, only those with such a tag"),
    heeded("project", Kind::Text, "project, profile or subscription that machines are made in"),
    heeded("ssh_public_key", Kind::Text, "the public key that machines are given"),
    heeded("ssh_private_key", Kind::Text, "its private half"),
    heeded(
        "ssh_from",
        Kind::Text,
        "from where ssh to machines is let in, ADDRESS/BITS (ours) [0.0.0.0/0, as PKB has it]",
    ),
    heeded("timeout_minutes", Kind::Integer(10, 10_080), "after how long machines may be removed by anybody [240]"),
    heeded("azure_accelerated_networking", Kind::Switch, "Azure's accelerated networking [false, as PKB has it]"),
    refused("gce_nic_type", Kind::Text, &["GVNIC"], "machines have gVNIC"),
    refused("gce_nic_types", Kind::Text, &["GVNIC"], "machines have one interface, a gVNIC"),
    refused("gce_network_tier", Kind::Text, &["premium"], "addresses are of the premium tier, the cloud's own choice"),
    refused(
        "gce_network_name",
        Kind::Text,
        NOTHING,
        "each run makes a network of its own: list hosts that are there already by --static_vm_file",
    ),
    refused(
        "gce_subnet_name",
        Kind::Text,
        NOTHING,
        "each run makes a network of its own: list hosts that are there already by --static_vm_file",
    ),
    refused("gce_prefer_rack_placement", Kind::Switch, FALSE, "say --placement_group_style=COLLOCATED"),
    refused("gce_placement_group_max_distance", FROM_ZERO, NOTHING, "no distance is said to the cloud"),
    heeded("os_type", Kind::Text, "debian12, which machines run; another Linux where --image names it"),
    refused("vm_platform", Kind::Text, &["DEFAULT_VM", "DEFAULT"], "machines alone are made from PKB's words"),
    refused("kubectl", Kind::Text, &["kubectl"], "clusters are not reached from PKB's words"),
    refused("kubeconfig", Kind::Text, NOTHING, "clusters are not reached from PKB's words"),
    refused("use_vpn", Kind::Switch, FALSE, "no VPN is made"),
    refused("use_ipv6", Kind::Switch, FALSE, "list hosts by their IPv6 addresses in --static_vm_file"),
    refused("dedicated_hosts", Kind::Switch, FALSE, "no dedicated hosts are made"),
    refused("use_managed_vm_groups", Kind::Switch, FALSE, "machines are made one by one"),
    refused("gcp_min_cpu_platform", Kind::Text, NOTHING, "no processor is asked for but by --machine_type"),
    refused("aws_efa", Kind::Switch, FALSE, "machines have the usual interface (ENA)"),
    refused("ssh_options", Kind::List, NOTHING, "`ssh` reads ~/.ssh/config: say it there"),
    idle("ssh_connect_timeout", FROM_ZERO, OWN_BOUNDS),
    idle("ssh_retries", FROM_ZERO, OWN_BOUNDS),
    idle("ssh_reuse_connections", Kind::Switch, "one connection to each host is shared by everything"),
    idle("copy_ssh_private_keys_into_static_vms", Kind::Switch, "no key is ever copied to a host"),
    idle("install_packages", Kind::Switch, "nothing is installed on a host"),
    idle("ignore_package_requirements", Kind::Switch, "nothing is required of this machine"),
    idle("accept_licenses", Kind::Switch, "nothing is installed that has one"),
    idle("http_proxy", Kind::Text, "hosts fetch nothing"),
    idle("https_proxy", Kind::Text, "hosts fetch nothing"),
    idle("ftp_proxy", Kind::Text, "hosts fetch nothing"),
    idle("no_proxy", Kind::Text, "hosts fetch nothing"),
];

const NETPERF: &[Flag] = &[
    heeded("netperf_benchmarks", Kind::List, "TCP_RR, TCP_CRR, TCP_STREAM, UDP_RR, UDP_STREAM [the first three]"),
    heeded("netperf_test_length", COUNT, "seconds of each test [60]"),
    heeded("netperf_warmup_test_length", FROM_ZERO, "seconds of the same before it that are not counted [60]"),
    heeded("netperf_num_streams", Kind::Integers, "streams at once; each number of the list is a test [1]"),
    heeded("netperf_enable_histograms", Kind::Switch, "whether a histogram of latencies is among the samples [true]"),
    heeded("netperf_histogram_buckets", COUNT, "buckets of each row of it [1000]"),
    heeded(
        "netperf_histogram_percentiles",
        Kind::Numbers,
        "percentiles taken from it; said again, one more [10, 50, 90, 99, 99.9, 99.99, 99.999]",
    ),
    heeded("netperf_max_iter", Kind::Integer(3, 30), "measured so often, for a confidence interval at 99 %"),
    heeded("netperf_tcp_stream_send_size_in_bytes", COUNT, "bytes of one send of TCP_STREAM [131072]"),
    heeded(
        "netperf_udp_stream_send_size_in_bytes",
        Kind::Integer(1, 65_507),
        "bytes of a datagram of UDP_STREAM [1024]",
    ),
    idle("netperf_sctp_stream_send_size_in_bytes", COUNT, "SCTP_STREAM is not had here"),
    refused(
        "netperf_mss",
        COUNT,
        NOTHING,
        "no maximum segment size is set here (TCP_MAXSEG): set the MTU or the route's advmss on the hosts",
    ),
    refused("netperf_thinktime", FROM_ZERO, NO_NUMBER, "our far side answers at once: it has no work to do in between"),
    refused(
        "netperf_thinktime_array_size",
        FROM_ZERO,
        NO_NUMBER,
        "our far side answers at once: it has no work to do in between",
    ),
    refused(
        "netperf_thinktime_run_length",
        FROM_ZERO,
        NO_NUMBER,
        "our far side answers at once: it has no work to do in between",
    ),
    heeded(
        "netperf_numactl_physcpubind",
        Kind::Text,
        "processors that the measuring side's threads are pinned to, as 2 or 0,2-3",
    ),
    refused(
        "netperf_numactl_cpunodebind",
        Kind::Text,
        NOTHING,
        "processors are named one by one: --netperf_numactl_physcpubind",
    ),
    refused("netperf_numactl_membind", Kind::Text, NOTHING, "memory is left to the kernel"),
    refused(
        "netperf_perf_record",
        Kind::Switch,
        FALSE,
        "it disturbs what it looks at: `sonde why` tells where the time goes",
    ),
];

const IPERF: &[Flag] = &[
    heeded("iperf_benchmarks", Kind::List, "TCP, UDP [TCP]"),
    heeded("iperf_sending_thread_count", Kind::Integers, "streams at once; each number of the list is a test [1]"),
    heeded("iperf_runtime_in_seconds", COUNT, "seconds of each test [60]"),
    heeded("iperf_interval", Kind::Number, "seconds of an interval of the series over TCP"),
    heeded("iperf_udp_per_stream_bandwidth", Kind::Number, "Mbit/s of each stream over UDP [1.048576, iperf's own]"),
    heeded("iperf_tcp_per_stream_bandwidth", Kind::Number, "Mbit/s of each stream over TCP [as many as go]"),
    heeded(
        "iperf_buffer_length",
        Kind::Text,
        "bytes of one send over TCP [128KiB], or of a datagram [1470]: n, nk, nm (1000s), nK, nM (1024s)",
    ),
    refused(
        "iperf_sleep_time",
        FROM_ZERO,
        &["0", "5"],
        "nothing is waited for between two tests: PKB's 5 s, or none, is taken without a word",
    ),
    idle("iperf_timeout", COUNT, OWN_BOUNDS),
];

const MESH: &[Flag] = &[
    heeded("num_connections", Kind::Integer(1, 1_000), "connections of each pair at once [1]"),
    heeded("num_iterations", Kind::Integer(1, 1_000), "how often each pair is measured [1]"),
    heeded("duration_in_seconds", COUNT, "seconds of each test [10, netperf's own]"),
];

const BIDIRECTIONAL: &[Flag] = &[
    heeded(
        "bidirectional_network_tests",
        Kind::List,
        "TCP_STREAM, TCP_MAERTS, each with a host of its own [the first, twice the second]",
    ),
    heeded("bidirectional_network_test_length", COUNT, "seconds of each test [60]"),
    heeded("bidirectional_stream_num_streams", Kind::Integer(1, 1_000), "streams of each test [8]"),
];

const RUNS: &[Flag] = &[
    heeded("run_uri", Kind::Text, "names the run: up to 12 letters and digits; said again, its later stages are done"),
    heeded(
        "run_stage",
        Kind::List,
        "provision, prepare (or install_packages, prepare_system, start_services), run, cleanup, teardown; or all",
    ),
    heeded("run_stage_iterations", Kind::Integer(1, 1_000), "how often the run stage is done [1]"),
    heeded("run_stage_time", FROM_ZERO, "the run stage is done again until so many seconds are measured [0]"),
    heeded("temp_dir", Kind::Text, "the folder under which each run has one of its own"),
    heeded("stop_after_benchmark_failure", Kind::Switch, "leave the rest out after one that failed"),
    heeded("dry_run", Kind::Switch, "say what would be done, and do nothing (ours: PKB plays the run through)"),
    refused(
        "run_stage_retries",
        FROM_ZERO,
        NO_NUMBER,
        "a cell that failed is marked and told; the run is resumed by its --run_uri",
    ),
    refused("retries", FROM_ZERO, NO_NUMBER, "a benchmark that failed is told; the run is resumed by its --run_uri"),
    idle("retry_delay_seconds", FROM_ZERO, "nothing is retried by itself"),
    refused("smart_quota_retry", Kind::Switch, FALSE, "no other zone is ever taken than the one said"),
    refused("smart_capacity_retry", Kind::Switch, FALSE, "no other zone is ever taken than the one said"),
    refused("restore", Kind::Text, NOTHING, "say the --run_uri of the run"),
    refused("freeze", Kind::Text, NOTHING, "say the --run_uri of the run"),
    refused(
        "before_run_pause",
        Kind::Switch,
        FALSE,
        "stages are separate: --run_stage=provision,prepare, and later --run_stage=run",
    ),
    refused(
        "before_cleanup_pause",
        Kind::Switch,
        FALSE,
        "stages are separate: --run_stage=run, and later --run_stage=cleanup,teardown",
    ),
    refused(
        "after_prepare_sleep_time",
        FROM_ZERO,
        NO_NUMBER,
        "stages are separate: wait between --run_stage=prepare and --run_stage=run",
    ),
    refused("between_runs_sleep_time", FROM_ZERO, NO_NUMBER, "nothing is waited for between two benchmarks"),
    refused(
        "after_run_sleep_time",
        FROM_ZERO,
        NO_NUMBER,
        "stages are separate: wait between --run_stage=run and --run_stage=cleanup",
    ),
    idle(
        "always_teardown_on_exception",
        Kind::Switch,
        "machines are removed whenever the teardown stage was asked for, and what is left is told",
    ),
    idle("always_call_cleanup", Kind::Switch, "what was started on a host is ended in any case"),
    refused("skip_teardown_conditions", Kind::List, NOTHING, "leave teardown out of --run_stage, and do it later"),
    refused("skip_pending_runs_file", Kind::Text, NOTHING, "a run is ended by a signal, once"),
    idle("persistent_timeout_minutes", FROM_ZERO, "say --timeout_minutes"),
    idle("default_timeout", FROM_ZERO, OWN_BOUNDS),
    idle("max_concurrent_threads", FROM_ZERO, "how many hosts are spoken to at once is bounded already"),
];

const RESULTS: &[Flag] = &[
    heeded("json_path", Kind::Text, "the samples, newline-delimited JSON [in the run's folder]; empty: none"),
    heeded("json_write_mode", Kind::Choice(&["w", "a"]), "over what is in that file, or behind it [a]"),
    heeded("collapse_labels", Kind::Switch, "metadata as one string, `labels`; else as an object, `metadata` [true]"),
    heeded(
        "metadata",
        Kind::Texts,
        "key:value, several with commas between them: put into every sample, in place of what it has of that name",
    ),
    idle("throw_on_metadata_conflict", Kind::Switch, "what hosts are and what was found have different names"),
    heeded("owner", Kind::Text, "whose run it is, in samples and on machines [you]"),
    heeded("official", Kind::Switch, "what samples say under `official` [false]"),
    heeded("product_name", Kind::Text, "what samples say under `product_name` [PerfKitBenchmarker]"),
    refused(
        "csv_path",
        Kind::Text,
        NOTHING,
        "samples are written as JSON: `sonde export` makes a table of the run's records",
    ),
    refused("bigquery_table", Kind::Text, NOTHING, ELSEWHERE),
    idle("bq_path", Kind::Text, ELSEWHERE),
    idle("bq_project", Kind::Text, ELSEWHERE),
    refused("cloud_storage_bucket", Kind::Text, NOTHING, ELSEWHERE),
    refused("hourly_partitioned_cloud_storage_bucket", Kind::Text, NOTHING, ELSEWHERE),
    idle("gsutil_path", Kind::Text, ELSEWHERE),
    refused("es_uri", Kind::Text, NOTHING, ELSEWHERE),
    refused("influx_uri", Kind::Text, NOTHING, ELSEWHERE),
    refused("archive_bucket", Kind::Text, NOTHING, ELSEWHERE),
    heeded(
        "completion_status_file",
        Kind::Text,
        "how each benchmark ended, a JSON object a line, beside the run's folder",
    ),
    refused("boot_samples", Kind::Switch, FALSE, NO_SAMPLE),
    refused("collect_delete_samples", Kind::Switch, FALSE, NO_SAMPLE),
    refused("create_failed_run_samples", Kind::Switch, FALSE, NO_SAMPLE),
    refused("create_started_run_sample", Kind::Switch, FALSE, NO_SAMPLE),
    refused("create_started_stage_samples", Kind::Switch, FALSE, NO_SAMPLE),
    idle("hostname_metadata", Kind::Switch, "samples name hosts as the run does"),
    idle(
        "publish_after_run",
        Kind::Switch,
        "samples are written when a benchmark has ended; its records are kept as they come",
    ),
    idle(
        "publish_period",
        FROM_ZERO,
        "samples are written when a benchmark has ended; its records are kept as they come",
    ),
    idle("record_lscpu", Kind::Switch, NO_SAMPLE),
    idle("record_proccpu", Kind::Switch, NO_SAMPLE),
    idle("record_cpu_vuln", Kind::Switch, NO_SAMPLE),
    idle("record_gcc", Kind::Switch, NO_SAMPLE),
    idle("record_glibc", Kind::Switch, NO_SAMPLE),
    idle("record_log_publisher", Kind::Switch, NO_SAMPLE),
    idle("collect_meminfo", Kind::Switch, NO_SAMPLE),
    idle("collect_lsmem", Kind::Switch, NO_SAMPLE),
    idle("sar", Kind::Switch, "each end's CPU use stands in the record of a stream"),
];
