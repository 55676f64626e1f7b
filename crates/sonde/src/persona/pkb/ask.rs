//! Samples that a benchmark of PKB's makes of a measurement: the request to the writer of samples.

use std::collections::BTreeMap;

/// The samples of one benchmark's run.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// The benchmark, as `test` in each sample: `netperf`.
    pub test: String,
    /// Its name among the benchmarks of this run: `netperf0`.
    pub uid: String,
    /// The run's name as it was said or drawn, without the UUID that PKB hangs on it.
    pub run_uri: String,
    /// Owner of the run.
    pub owner: String,
    /// `product_name`.
    pub product_name: String,
    /// `official`.
    pub official: bool,
    /// Metadata of every sample: `--metadata`.
    pub metadata: BTreeMap<String, String>,
    /// True where metadata is one string, `labels`; else an object, `metadata`.
    pub collapse_labels: bool,
    /// Cells of a place that make one run of the run stage: repeats in a row are a run together, and `run_number` counts them.
    pub repeats_of_a_run: u32,
    /// Internal addresses that do not answer are left out: `--ip_addresses=REACHABLE`.
    pub internal_where_reachable: bool,
    /// Samples that are asked for of each method of the plan, in the plan's order.
    pub measurements: Vec<Measurement>,
}

/// Samples that are asked for of a method.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The method's name in the plan.
    pub method: String,
    /// Metrics that are made of its records.
    pub metrics: Metrics,
    /// Metadata that PKB's samples of it have from the flags alone; zones, machine types, `ip_type` and what was found come from the
    /// run.
    pub metadata: BTreeMap<String, String>,
}

/// Metrics of a record, by their names in PKB.
#[derive(Clone, Debug, PartialEq)]
pub enum Metrics {
    /// `Min Latency`, `Average Latency`, `Max Latency`, `Latency Std Dev`, in ms.
    Ping,
    /// `<test>_Transaction_Rate` or `<test>_Throughput`, and `<test>_Latency_*` in us.
    Netperf {
        /// `TCP_RR`, and so on.
        test: String,
        /// Streams at once, a count: above 1 their statistics are told, and `TCP_STREAM_Throughput_<n>streams`.
        streams: u32,
        /// The histogram, where it is wanted: never of a stream.
        histogram: Option<Histogram>,
    },
    /// `Throughput`, in Mbits/sec.
    IperfTcp {
        /// True where the series of intervals is among the metadata.
        series: bool,
    },
    /// `UDP Throughput`, in Mbits/sec.
    IperfUdp,
    /// `TCP_RR_Average_Latency` of all pairs, in ms: the mean of 1000 by the rate.
    MeshLatency,
    /// `<n>_<test>_Throughput_*` of each second host, and the totals of the first host's two directions, in Mbits/sec.
    Bidirectional,
    /// Throughput of each pair. No `TCP_STREAM_Total_Throughput`: pairs were not measured at once.
    MeshThroughput,
}

/// A histogram of latencies.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// Buckets of each row of ten times, a count.
    pub buckets: u32,
    /// Percentiles taken from it, 0 to 100.
    pub percentiles: Vec<f64>,
}

/// A sample as it was written, for the table at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// `test`.
    pub test: String,
    /// `metric`.
    pub metric: String,
    /// `value`, in `unit`.
    pub value: f64,
    /// `unit`.
    pub unit: String,
    /// Its metadata.
    pub metadata: BTreeMap<String, String>,
}
