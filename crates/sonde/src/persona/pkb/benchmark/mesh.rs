//! `mesh_network`: every host with every other.

use logbook::plan::Directions;

use super::{Wanted, test};
use crate::persona::pkb::ask::Metrics;
use crate::persona::pkb::flags::Flags;

/// As the flags want it.
pub fn wanted(flags: &Flags) -> Wanted {
    let hosts = flags.count("num_vms").unwrap_or(2).max(2);
    let connections = flags.count("num_connections").unwrap_or(1);
    let seconds = u64::from(flags.count("duration_in_seconds").unwrap_or(10));
    let metadata = [("number_machines", hosts.to_string()), ("number_connections", connections.to_string())];
    let streams = if connections > 1 { format!(" --streams {connections}") } else { String::new() };
    // Here netperf is left its own size of a send: that of a socket's send buffer as Linux makes it.
    let rr = format!("rtt --tcp --size 1 --nagle --connections {connections} --time {seconds}s --warm-up 0");
    let stream = format!("throughput --tcp --size 16384 --nagle --no-test{streams} --time {seconds}s");
    let tests = vec![
        test("TCP_RR", rr, Metrics::MeshLatency, &metadata, seconds),
        test("TCP_STREAM", stream, Metrics::MeshThroughput, &metadata, seconds),
    ];
    let notes = vec![
        "pairs are measured in rounds in which no host appears twice: PKB starts all at once, and tells what contention leaves. \
         TCP_RR_Average_Latency is that of pairs left alone, and no TCP_STREAM_Total_Throughput is told, which is of contention alone"
            .to_owned(),
    ];
    let repeats = flags.count("num_iterations").unwrap_or(1);
    Wanted { hosts, directions: Directions::Both, fan: Vec::new(), repeats, tests, notes }
}
