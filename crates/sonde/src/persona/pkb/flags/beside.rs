//! Flags of PKB's that are beside what is measured: kernels, disks, logs.

use super::kind::{Flag, Kind};
use super::table::{
    COUNT, ELSEWHERE, FALSE, FROM_ZERO, NO_NUMBER, NO_SAMPLE, NOTHING, OWN_BOUNDS, heeded, idle, refused,
};

const KERNEL: &str = "hosts are measured as they are, and nothing of their kernel is changed: set it there beforehand";
const OTHER_LOAD: &str = "no load runs beside a measurement here";
const NO_DISK: &str =
    "no number of a network hangs on a disk, and none is made beside the one that machines start from";
const NO_SCRIPT: &str = "nothing is run on hosts but this program";
const NO_LOG: &str = "notes go to standard error, and there is no log";

pub(super) const HOSTS: &[Flag] = &[
    refused("sysctl", Kind::List, NOTHING, KERNEL),
    refused("set_files", Kind::List, NOTHING, KERNEL),
    refused("network_enable_BBR", Kind::Switch, FALSE, KERNEL),
    refused("num_disable_cpus", FROM_ZERO, NO_NUMBER, KERNEL),
    refused("disable_smt", Kind::Switch, FALSE, KERNEL),
    refused("visible_core_count", FROM_ZERO, NOTHING, KERNEL),
    refused("disable_interrupt_moderation", Kind::Switch, FALSE, KERNEL),
    refused("disable_rss", Kind::Switch, FALSE, KERNEL),
    refused("append_kernel_command_line", Kind::Text, NOTHING, KERNEL),
    refused("tcp_max_receive_buffer", FROM_ZERO, NOTHING, KERNEL),
    refused("tcp_max_send_buffer", FROM_ZERO, NOTHING, KERNEL),
    refused("tcp_max_notsent_bytes", FROM_ZERO, NOTHING, KERNEL),
    refused("rmem_max", FROM_ZERO, NOTHING, KERNEL),
    refused("wmem_max", FROM_ZERO, NOTHING, KERNEL),
    refused("kernel_modules_to_add", Kind::List, NOTHING, KERNEL),
    refused("kernel_modules_to_remove", Kind::List, NOTHING, KERNEL),
    refused("disable_cstate_by_name_and_deeper", Kind::Text, NOTHING, KERNEL),
    refused("enable_rt_kernel", Kind::Switch, FALSE, KERNEL),
    refused("gce_hpc_tools", Kind::Switch, FALSE, KERNEL),
    refused(
        "setup_remote_firewall",
        Kind::Switch,
        FALSE,
        "what a host's firewall closes is told with the rule that opens it",
    ),
    refused(
        "mtu",
        COUNT,
        NOTHING,
        "interfaces are measured as they are: set it on the hosts beforehand; what fits is found and told",
    ),
    refused(
        "required_cpu_version",
        Kind::Text,
        NOTHING,
        "the cloud chooses: each end's processor stands in the record",
    ),
    refused("connect_via_internal_ip", Kind::Switch, FALSE, "a host is reached at its external address, `ip_address`"),
    refused("ssh_via_internal_ip", Kind::Switch, FALSE, "a host is reached at its external address, `ip_address`"),
    refused("assign_external_ip", Kind::Switch, &["true", "t", "1"], "machines are reached at their external address"),
    refused("startup_script", Kind::Text, NOTHING, NO_SCRIPT),
    refused("postrun_script", Kind::Text, NOTHING, NO_SCRIPT),
    refused("boot_startup_script", Kind::Text, NOTHING, NO_SCRIPT),
    refused("vm_metadata", Kind::List, NOTHING, "machines bear the owner and the run alone"),
    refused(
        "skip_firewall_rules",
        Kind::Switch,
        FALSE,
        "of the machines that are made, only what is measured is let in",
    ),
    idle("skip_vm_preparation", Kind::Switch, "nothing is prepared on a host"),
    idle("vm_user_name", Kind::Text, "a host's user is that of the static file, or the cloud's own"),
    idle("background_network_ip_type", Kind::Text, OTHER_LOAD),
    idle("ssh_key_type", Kind::Text, "keys are taken as they are"),
    idle("ssh_control_path", Kind::Text, OWN_BOUNDS),
    idle("ssh_control_persist", Kind::Text, OWN_BOUNDS),
    idle("ssh_server_alive_interval", FROM_ZERO, OWN_BOUNDS),
    idle("ssh_server_alive_count_max", FROM_ZERO, OWN_BOUNDS),
    idle("scp_connect_timeout", FROM_ZERO, OWN_BOUNDS),
    refused("burn_cpu_seconds", FROM_ZERO, NO_NUMBER, OTHER_LOAD),
    refused("background_cpu_threads", FROM_ZERO, NO_NUMBER, OTHER_LOAD),
    refused("background_network_mbits_per_sec", FROM_ZERO, NO_NUMBER, OTHER_LOAD),
    idle("burn_cpu_threads", FROM_ZERO, OTHER_LOAD),
];

pub(super) const DISKS: &[Flag] = &[
    idle("boot_disk_size", COUNT, NO_DISK),
    idle("data_disk_type", Kind::Text, NO_DISK),
    idle("data_disk_size", COUNT, NO_DISK),
    idle("num_striped_disks", COUNT, NO_DISK),
    idle("scratch_dir", Kind::Text, NO_DISK),
    idle("mount_options", Kind::List, NO_DISK),
    refused("gpu_count", FROM_ZERO, NO_NUMBER, "machines have no GPUs"),
    refused("gpu_type", Kind::Text, NOTHING, "machines have no GPUs"),
    idle("timing_measurements", Kind::List, NO_SAMPLE),
    idle("record_ulimit", Kind::Switch, NO_SAMPLE),
    idle("es_index", Kind::Text, ELSEWHERE),
    idle("es_type", Kind::Text, ELSEWHERE),
    idle("influx_db_name", Kind::Text, ELSEWHERE),
    idle("retry_substatuses", Kind::Texts, "nothing is retried by itself"),
];

pub(super) const LOG: &[Flag] = &[
    heeded("help", Kind::Switch, "these flags"),
    heeded("helpshort", Kind::Switch, "those of the first two groups"),
    heeded("helpfull", Kind::Switch, "all, also those that are refused or do nothing here"),
    heeded("helpmatch", Kind::Text, "those whose name or group holds this word"),
    heeded("version", Kind::Switch, "what this program is"),
    refused("helpmatchmd", Kind::Text, NOTHING, "say --helpmatch"),
    idle("log_dir", Kind::Text, NO_LOG),
    idle("verbosity", Kind::Text, NO_LOG),
    idle("v", Kind::Text, NO_LOG),
    idle("logtostderr", Kind::Switch, NO_LOG),
    idle("alsologtostderr", Kind::Switch, NO_LOG),
    idle("stderrthreshold", Kind::Text, NO_LOG),
    idle("log_level", Kind::Text, "there are no levels: notes go to standard error"),
    idle("file_log_level", Kind::Text, "there is no log beside the run's document"),
    idle("use_pkb_logging", Kind::Switch, "notes go to standard error"),
    idle("log_dmesg", Kind::Switch, "hosts' kernel logs are not fetched"),
    idle("time_commands", Kind::Switch, "each record says when it was made"),
    idle("capture_vm_logs", Kind::Switch, "hosts' logs are not fetched"),
    idle("truncate_duplicate_logs", Kind::Switch, "there is no log"),
    idle("vm_command_log_mode", Kind::Text, "there is no log"),
];
