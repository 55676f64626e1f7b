//! Cilium's connectivity tests, k8s-netperf and gRPC's scripts: selectors on one line, or one to a line.

use crate::netperf_pairs::fields::Fields;
use crate::netperf_pairs::transcripts::fixture;

use super::{at_all_ends, words};

/// Cilium: the third line's nine cells, in the order asked for.
fn cilium(stdout: &str) -> Result<[f64; 8], String> {
    let line = stdout.split('\n').nth(2).ok_or("no third line")?;
    let cells: Vec<&str> = line.split(',').collect();
    let [numbers @ .., unit] = &cells[..] else { return Err("an empty line".into()) };
    if !matches!(*unit, "10^6bits/s" | "Trans/s") {
        return Err(format!("unit {unit}"));
    }
    let numbers = numbers.iter().map(|cell| cell.parse().map_err(|_| format!("{cell} is no number")));
    let numbers: Vec<f64> = numbers.collect::<Result<_, _>>()?;
    numbers.try_into().map_err(|numbers: Vec<f64>| format!("{} numbers", numbers.len()))
}

#[test]
fn cilium_reads_its_cells() {
    let model = fixture("A6_cilium_style").stdout;
    assert_eq!(cilium(&model), Ok([1.0, 2.68, 5_463.0, 2.0, 4.0, 5.0, 1.0, 1_274.8]));
    assert!(cilium(&model.replace("Microseconds,", "Microseconds\n")).is_err());
    let selectors = "MIN_LATENCY,MEAN_LATENCY,MAX_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY,TRANSACTION_RATE,THROUGHPUT,THROUGHPUT_UNITS";
    for test in ["TCP_RR", "UDP_RR", "TCP_CRR", "TCP_STREAM", "UDP_STREAM"] {
        let own = if test.contains("STREAM") { "-R 1 -m 1024" } else { "-r 1,1" };
        let line = |port| words(&format!("-H 127.0.0.1 -p {port} -l 1s -t {test} -- {own} -o {selectors}"), port);
        at_all_ends("a command line of Cilium", line, |ended| {
            let [min, mean, max, p50, p90, p99, rate, throughput] = cilium(&ended.stdout)?;
            let ordered = min <= mean && mean <= max + 1.0 && p50 <= p90 && p90 <= p99;
            let rate = if test.contains("STREAM") { rate == 1.0 } else { (rate - throughput).abs() < 0.01 };
            if ordered && rate && throughput > 0.0 { Ok(()) } else { Err("values that do not agree".into()) }
        });
    }
}

/// k8s-netperf: keys in lower case, answered in upper case.
fn k8s(stdout: &str) -> Result<Vec<f64>, String> {
    let fields = Fields::of(stdout);
    fields.text("THROUGHPUT_UNITS")?;
    let names = ["RT_LATENCY", "P99_LATENCY", "THROUGHPUT", "REMOTE_RECV_CALLS", "LOCAL_SEND_CALLS"];
    names.iter().chain(&["LOCAL_TRANSPORT_RETRANS"]).map(|name| fields.number(name)).collect()
}

#[test]
fn k8s_netperf_reads_its_keys() {
    let model = fixture("A7_k8s_netperf_style").stdout;
    assert_eq!(k8s(&model), Ok(vec![-1.0, 6.0, 10_262.6, 42_944.0, 1_253_325.0, 0.0]));
    assert!(k8s(&model.replace("P99_LATENCY", "p99_latency")).is_err());
    let keys =
        "rt_latency,p99_latency,throughput,throughput_units,remote_recv_calls,local_send_calls,local_transport_retrans";
    for test in ["TCP_STREAM", "UDP_STREAM", "TCP_RR", "UDP_RR", "TCP_CRR"] {
        let line = |port| {
            let size = if test.contains("STREAM") { "-m 1024" } else { "-r 1024,1024" };
            words(&format!("-H 127.0.0.1 -p {port} -l 1 -t {test} -- -k {keys} {size} -R 1"), port)
        };
        at_all_ends("a command line of k8s-netperf", line, |ended| {
            let values = k8s(&ended.stdout)?;
            if values[2] > 0.0 && values[4] > 0.0 { Ok(()) } else { Err(format!("{values:?}")) }
        });
    }
}

#[test]
fn grpc_reads_one_line_of_three_numbers() {
    let read = |stdout: &str| -> Result<Vec<f64>, String> {
        let cells = stdout.strip_suffix('\n').ok_or("no end of line")?.split(',');
        cells.map(|cell| cell.parse().map_err(|_| format!("{cell:?} is no number"))).collect()
    };
    assert_eq!(read(&fixture("A3_grpc_style").stdout), Ok(vec![8.0, 10.0, 17.0]));
    let line = |port| {
        words("-P 0 -t TCP_RR -H 127.0.0.1 -p {port} -l 1 -- -r 1,1 -o P50_LATENCY,P90_LATENCY,P99_LATENCY", port)
    };
    at_all_ends("a command line of gRPC's scripts", line, |ended| match read(&ended.stdout)?[..] {
        [p50, p90, p99] if 0.0 < p50 && p50 <= p90 && p90 <= p99 => Ok(()),
        ref other => Err(format!("{other:?}")),
    });
}
