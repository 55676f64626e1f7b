//! `netperf`: round trips and streams, from the first host to the second.

use std::fmt::Write;

use logbook::plan::Directions;

use super::{Test, Wanted, chosen, named, streams, test};
use crate::persona::answer::Answer;
use crate::persona::pkb::ask::{Histogram, Metrics};
use crate::persona::pkb::flags::{Flags, complain};

const KNOWN: [&str; 5] = ["TCP_RR", "TCP_CRR", "TCP_STREAM", "UDP_RR", "UDP_STREAM"];
const PERCENTILES: [f64; 7] = [10.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999];

/// As the flags want it.
///
/// # Errors
/// A test that is none, or SCTP.
pub fn wanted(flags: &Flags) -> Result<Wanted, Answer> {
    if flags.list("netperf_benchmarks").iter().any(|test| test == "SCTP_STREAM") {
        return Err(complain(
            "--netperf_benchmarks=SCTP_STREAM: no SCTP is spoken here: leave it out, or measure it by netperf itself",
        ));
    }
    let tests = chosen(flags, "netperf_benchmarks", &KNOWN[..3], &KNOWN)?;
    let counts = streams(flags, "netperf_num_streams")?;
    let common = Common::of(flags)?;
    let mut wanted = Wanted {
        hosts: 2,
        directions: Directions::Forward,
        fan: Vec::new(),
        repeats: flags.count("netperf_max_iter").unwrap_or(1),
        tests: Vec::new(),
        notes: Vec::new(),
    };
    for count in &counts {
        wanted.tests.extend(tests.iter().map(|test| common.test(test, *count, &counts)));
    }
    wanted.notes = common.notes(&tests, wanted.repeats);
    Ok(wanted)
}

/// Common settings of all tests of a run.
struct Common {
    seconds: u64,
    warm_up: u64,
    iterations: u32,
    tcp_send: u32,
    udp_send: u32,
    cpus: Option<String>,
    histogram: Option<Histogram>,
}

impl Common {
    fn of(flags: &Flags) -> Result<Self, Answer> {
        let count = |name: &str, usual: u32| flags.count(name).unwrap_or(usual);
        let percentiles = flags.numbers("netperf_histogram_percentiles").unwrap_or(&PERCENTILES).to_vec();
        if let Some(wrong) = percentiles.iter().find(|percentile| **percentile > 100.0) {
            return Err(complain(&format!("--netperf_histogram_percentiles={wrong}: is no percentile, 0 to 100")));
        }
        let cpus = flags.text("netperf_numactl_physcpubind").map(str::to_owned);
        let is_list = |cpus: &String| cpus.chars().all(|letter| letter.is_ascii_digit() || ",-".contains(letter));
        if let Some(cpus) = cpus.as_ref().filter(|cpus| cpus.is_empty() || !is_list(cpus)) {
            return Err(complain(&format!(
                "--netperf_numactl_physcpubind={cpus}: is no list of processors, as 2 or 0,2-3"
            )));
        }
        Ok(Self {
            seconds: u64::from(count("netperf_test_length", 60)),
            warm_up: u64::from(count("netperf_warmup_test_length", 60)),
            iterations: count("netperf_max_iter", 1),
            tcp_send: count("netperf_tcp_stream_send_size_in_bytes", 131_072),
            udp_send: count("netperf_udp_stream_send_size_in_bytes", 1_024),
            cpus,
            histogram: flags
                .switch("netperf_enable_histograms", true)
                .then(|| Histogram { buckets: count("netperf_histogram_buckets", 1_000), percentiles }),
        })
    }

    fn test(&self, name: &str, streams: u32, of: &[u32]) -> Test {
        let is_stream = name.ends_with("STREAM");
        // Nagle's algorithm is on, as netperf leaves it; requests of 1 byte as netperf's, but over UDP, where ours bear a number.
        let mut command = match name {
            "TCP_RR" => "rtt --tcp --size 1 --nagle".to_owned(),
            "TCP_CRR" => "rtt --crr --size 1 --nagle".to_owned(),
            "UDP_RR" => "rtt --udp".to_owned(),
            "UDP_STREAM" => format!("throughput --udp --size {} --no-test", self.udp_send),
            _ => format!("throughput --tcp --size {} --nagle --no-test", self.tcp_send),
        };
        // netperf exchanges over one connection, where we would take several in turn.
        if streams > 1 || command.starts_with("rtt") && name != "TCP_CRR" {
            let _ = write!(command, " --{} {streams}", if is_stream { "streams" } else { "connections" });
        }
        if let Some(cpus) = &self.cpus {
            let _ = write!(command, " --cpu {cpus}");
        }
        let _ = write!(command, " --time {}s --warm-up {}", self.seconds, seconds(self.warm_up));
        let mut metadata = vec![
            ("netperf_test_length", self.seconds.to_string()),
            ("sending_thread_count", streams.to_string()),
            ("max_iter", self.iterations.to_string()),
            ("netperf_warmup_test_length", self.warm_up.to_string()),
        ];
        if is_stream {
            let size = if name.starts_with("UDP") { self.udp_send } else { self.tcp_send };
            metadata.push(("netperf_send_size_in_bytes", size.to_string()));
        }
        metadata.extend(self.cpus.iter().map(|cpus| ("netperf_physcpubind", cpus.clone())));
        let histogram = self.histogram.clone().filter(|_| !is_stream);
        let metrics = Metrics::Netperf { test: name.to_owned(), streams, histogram };
        test(&named(name, streams, of), command, metrics, &metadata, self.seconds + self.warm_up)
    }

    fn notes(&self, tests: &[&str], repeats: u32) -> Vec<String> {
        let mut notes = Vec::new();
        if self.warm_up > 0 {
            notes.push(format!(
                "the first {} s of each test are its warm-up, over the same connections: netperf makes new ones for the test",
                self.warm_up
            ));
        }
        if tests.contains(&"UDP_RR") {
            notes.push("UDP_RR: requests of 64 bytes, each with its number: netperf's 1 byte cannot tell a late reply from the next".into());
        }
        if repeats > 1 {
            notes.push(format!(
                "--netperf_max_iter={repeats}: all {repeats} are done: netperf stops sooner where its interval is narrow enough"
            ));
        }
        notes
    }
}

/// As an option takes it: 0 has no unit.
fn seconds(count: u64) -> String {
    if count == 0 { "0".to_owned() } else { format!("{count}s") }
}
