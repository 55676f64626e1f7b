//! A transcript played again: its command line is read, facts with its numbers are told, and the text is compared byte
//! for byte. Where ours differs on purpose the scene says so by [`Scene::differs`].

use crate::persona::netperf::command_line;
use crate::persona::netperf::facts::{Cpu, End, Facts, Histogram, Iteration, Latency, Path, Percentile};
use crate::persona::netperf::options::Options;
use crate::persona::netperf::output::interim::Interval;
use crate::persona::netperf::output::{banner, interim, result};
use crate::persona::netperf::test_name::{Test, Transport};
use crate::persona::netperf::transcript::Transcript;
use crate::persona::netperf::unit::Unit;
use endpoint::name::Family;
use measure::method::Pacing;

/// A transcript and what ours is to say in its place.
pub struct Scene {
    pub options: Options,
    pub facts: Facts,
    expected: String,
    notes: Vec<String>,
    intervals: Vec<Interval>,
}

/// Reads the command line, which must be that of a run, and sets up facts as a run on loopback finds them.
pub fn scene(name: &str) -> Scene {
    let transcript = Transcript::of(name);
    assert!(matches!(transcript.status, 0 | 124), "a run that was over, or that its maker interrupted");
    let mut options = command_line::parse("netperf", &transcript.words).unwrap();
    if transcript.program == "netperf-intervals" {
        options.own.pacing = Some(Pacing::Sleep);
    }
    let scene = Scene {
        facts: Facts { iterations: vec![iteration(&options)], path: path(&options), ..Facts::default() },
        options,
        expected: transcript.stdout,
        notes: transcript.stderr.lines().map(|line| line.trim_start_matches("netperf: ").to_owned()).collect(),
        intervals: Vec::new(),
    };
    scene.of_another_build(&transcript.program, name).with_addresses_in_full()
}

fn path(options: &Options) -> Path {
    let host = options.data.address.remote.as_ref().map_or(options.control.target(), |address| &address.host);
    let six = options.data.family == Family::V6 || host == "::1";
    let (any, name, loopback) = if six { ("::", "::0", "::1") } else { ("0.0.0.0", "0.0.0.0", "127.0.0.1") };
    let asked = options.data.address.local.as_ref().map(|address| address.host.as_str());
    Path {
        source_name: asked.unwrap_or(name).to_owned(),
        source: (asked.unwrap_or(any).parse::<std::net::IpAddr>().unwrap(), 0).into(),
        destination_name: host.to_owned(),
        destination: (loopback.parse::<std::net::IpAddr>().unwrap(), 0).into(),
    }
}

fn iteration(options: &Options) -> Iteration {
    let data = &options.data;
    let (send, receive) = if data.transport == Transport::Tcp { (16_384, 131_072) } else { (212_992, 212_992) };
    let end = |sends: bool, receives: bool, sizes: [Option<u32>; 4]| End {
        send_buffer_bytes: Some(send),
        receive_buffer_bytes: Some(receive),
        send_buffer_end_bytes: Some(send),
        receive_buffer_end_bytes: Some(receive),
        send_bytes: sizes[0].or(sizes[1].or(Some(send)).filter(|_| sends)),
        receive_bytes: sizes[2].or(sizes[3].or(Some(receive)).filter(|_| receives)),
        send_width: Some(1).filter(|_| sends),
        receive_width: Some(1).filter(|_| receives),
        nodelay: data.nodelay,
        priority: None,
        tos: None,
        ..End::default()
    };
    let direction = data.direction;
    let ours = [None, data.send_bytes.local, None, data.receive_bytes.local];
    let theirs = [data.response_bytes, data.send_bytes.remote, data.request_bytes, data.receive_bytes.remote];
    Iteration {
        elapsed_ns: 1_000_000_000,
        local: End {
            priority: options.priority.local,
            tos: options.tos.local,
            ..end(direction.sends, direction.receives, ours)
        },
        remote: End {
            priority: options.priority.remote,
            tos: options.tos.remote,
            ..end(direction.receives, direction.sends, theirs)
        },
        ..Iteration::default()
    }
}

impl Scene {
    /// Builds with other features say so in the banner, and Debian's has no histogram.
    fn of_another_build(self, program: &str, name: &str) -> Self {
        let ours = " : histogram : spin interval : demo";
        match program {
            _ if name.starts_with('d') && self.expected.contains(" : demo") => self.differs(" : demo", ours),
            "netperf-plain" => self.differs("AF_INET : first burst", &format!("AF_INET{ours} : first burst")),
            _ => self,
        }
    }

    /// The original leaves addresses of more than seven characters out.
    fn with_addresses_in_full(mut self) -> Self {
        self.expected = self.expected.replace(" ()", " (127.0.0.1)");
        self
    }

    /// Ours says `ours` where the original says `original`.
    pub fn differs(mut self, original: &str, ours: &str) -> Self {
        assert_eq!(self.expected.matches(original).count(), 1, "{original:?} in {:?}", self.expected);
        self.expected = self.expected.replace(original, ours);
        self
    }

    /// A sentence of ours on standard error begins like this.
    pub fn notes(mut self, begin: &str) -> Self {
        self.notes.push(begin.to_owned());
        self
    }

    /// The last iteration.
    pub fn last(&mut self) -> &mut Iteration {
        self.facts.iterations.last_mut().unwrap()
    }

    /// Anything else.
    pub fn with(mut self, change: impl FnOnce(&mut Iteration)) -> Self {
        change(self.last());
        self
    }

    /// So many transactions a second, in about so many seconds.
    pub fn rate(self, rate: f64, seconds: f64) -> Self {
        let (request, response) = (self.options.data.request_bytes, self.options.data.response_bytes);
        let sizes = (u64::from(request.unwrap_or(0)), u64::from(response.unwrap_or(0)));
        self.with(|it| {
            it.transactions = (rate * seconds).round() as u64;
            it.elapsed_ns = (it.transactions as f64 / rate * 1e9).round() as u64;
            (it.local.sent_bytes, it.remote.received_bytes) = (it.transactions * sizes.0, it.transactions * sizes.0);
            (it.local.received_bytes, it.remote.sent_bytes) = (it.transactions * sizes.1, it.transactions * sizes.1);
        })
    }

    /// So much in the unit of the run in so many seconds, one way or, half and half, both.
    pub fn throughput(self, value: f64, seconds: f64) -> Self {
        let (unit, direction) = (self.options.display.unit, self.options.data.direction);
        self.with(|it| {
            let bytes = match unit {
                Unit::Usec => seconds * 1e6 / value,
                unit => value / unit.of_bytes(1.0, 1.0) * seconds,
            };
            it.elapsed_ns = (seconds * 1e9).round() as u64;
            let half = if direction.is_transactions() { 0.5 } else { 1.0 };
            if !direction.is_receive() {
                (it.local.sent_bytes, it.remote.received_bytes) = both(bytes * half);
            }
            if !direction.is_send() {
                (it.local.received_bytes, it.remote.sent_bytes) = both(bytes * half);
            }
        })
    }

    /// Bytes that were moved, exactly, and their time by a rate in the unit of the run.
    pub fn bytes(self, bytes: u64, rate: f64) -> Self {
        let seconds = bytes as f64 * self.options.display.unit.of_bytes(1.0, 1.0) / rate;
        let mut scene = self.throughput(rate, seconds);
        let it = scene.last();
        for count in [
            &mut it.local.sent_bytes,
            &mut it.local.received_bytes,
            &mut it.remote.sent_bytes,
            &mut it.remote.received_bytes,
        ] {
            if *count > 0 {
                *count = bytes;
            }
        }
        scene
    }

    /// Three iterations with this mean and full width of the confidence interval in percent; the last is as told so far
    /// where `last` is set.
    pub fn confident(mut self, mean: f64, width_percent: f64, last: Option<f64>, seconds: f64) -> Self {
        let level = self.options.confidence.unwrap().level;
        let t = if level == 95 { 4.303 } else { 9.925 };
        let variance = (width_percent / 100.0 * mean / 2.0 / t).powi(2) * 2.0;
        let last = last.unwrap_or(mean);
        let middle = (3.0 * mean - last) / 2.0;
        let apart = ((3.0 * variance - 2.0 * (middle - mean).powi(2) - (last - mean).powi(2)) / 2.0).sqrt();
        let template = self.last().clone();
        self.facts.iterations.clear();
        for rate in [middle - apart, middle + apart, last] {
            self.facts.iterations.push(template.clone());
            self = self.rate(rate, seconds);
        }
        self
    }

    /// Durations as told: minimum, median, 90th and 99th percentile, maximum in microseconds, mean and deviation.
    pub fn durations(mut self, whole: [u64; 5], mean_us: f64, stddev_us: f64) -> Self {
        let [min, p50, p90, p99, max] = whole.map(|micros| micros * 1_000);
        let mut latency = self.facts.latency.take().unwrap_or_default();
        for (which, value) in Percentile::ALL.into_iter().zip(&mut latency.percentiles_ns) {
            *value = match which {
                Percentile::P10 | Percentile::P25 => min,
                Percentile::P50 => p50,
                Percentile::P75 | Percentile::P90 => p90,
                Percentile::P95 | Percentile::P99 => p99,
                _ => max,
            };
        }
        let (mean_ns, stddev_ns) = (mean_us * 1e3, stddev_us * 1e3);
        self.facts.latency = Some(Latency { count: 1, min_ns: min, max_ns: max, mean_ns, stddev_ns, ..latency });
        self
    }

    /// Counts as the rows of the transcript have them.
    pub fn histogram(mut self) -> Self {
        let mut histogram = Histogram::default();
        let rows = self.expected.lines().filter(|line| line.contains("SEC") && line.contains(": "));
        for (cells, line) in histogram.rows.iter_mut().zip(rows) {
            for (cell, word) in cells.iter_mut().zip(line.split(':').skip(1)) {
                *cell = word.trim().parse().unwrap();
            }
        }
        let latency = self.facts.latency.take().unwrap_or_default();
        self.facts.latency = Some(Latency { count: histogram.total(), histogram, ..latency });
        self
    }

    /// The same use of two CPUs at each end that was asked about.
    pub fn cpu(self, busy_percent: f64) -> Self {
        let asked = self.options.cpu;
        self.with(|it| {
            it.local.cpu = asked.local.map(|_| cpu(busy_percent));
            it.remote.cpu = asked.remote.map(|_| cpu(busy_percent));
        })
    }

    /// An interval: what was done a second, how long it was, when it ended.
    pub fn interval(mut self, rate: f64, seconds: f64, ended_ms: u64) -> Self {
        let duration_ns = (seconds * 1e9) as u64;
        let done = |per: f64| (rate / per * seconds).round() as u64;
        let (transactions, bytes) = match self.options.display.unit {
            Unit::Transactions => (done(1.0), 0),
            Unit::Usec => (0, (seconds * 1e6 / rate).round() as u64),
            unit => (0, done(unit.of_bytes(1.0, 1.0))),
        };
        // A whole number of transactions does not meet the rate to two digits: the length does.
        let duration_ns =
            if transactions > 0 { (transactions as f64 / rate * 1e9).round() as u64 } else { duration_ns };
        let (index, ended_ns) = (self.intervals.len() as u64, ended_ms * 1_000_000);
        self.intervals.push(Interval { index, transactions, bytes, duration_ns, ended_ns });
        self
    }

    /// An interval by what was moved in it.
    pub fn interval_of(mut self, bytes: u64, duration_ns: u64, ended_ms: u64) -> Self {
        let (index, ended_ns) = (self.intervals.len() as u64, ended_ms * 1_000_000);
        self.intervals.push(Interval { index, transactions: 0, bytes, duration_ns, ended_ns });
        self
    }

    /// Compares, byte for byte.
    pub fn plays(self) {
        if self.options.test == Test::TcpRr {
            assert!(self.facts.iterations.iter().all(|it| it.transactions > 0 || it.local.sent_bytes > 0));
        }
        let mut printed = banner::line(&self.options, &self.facts.path);
        printed.extend(self.intervals.iter().map(|interval| interim::line(&self.options, interval)));
        printed += &result(&self.options, &self.facts);
        pretty(&printed, &self.expected);
        assert_eq!(self.options.notes.len(), self.notes.len(), "{:?}", self.options.notes);
        for (note, begin) in self.options.notes.iter().zip(&self.notes) {
            assert!(note.starts_with(begin), "{note:?} is not {begin:?}");
        }
    }
}

fn pretty(printed: &str, expected: &str) {
    for (line, (ours, theirs)) in printed.lines().zip(expected.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {}", line + 1);
    }
    assert_eq!(printed, expected);
}

fn both(bytes: f64) -> (u64, u64) {
    let bytes = bytes.round() as u64;
    (bytes, bytes)
}

/// Two CPUs, equally busy.
pub fn cpu(busy_percent: f64) -> Cpu {
    Cpu {
        busy_percent,
        user_percent: 0.0,
        system_percent: 0.0,
        iowait_percent: 0.0,
        irq_percent: 0.0,
        softirq_percent: 0.0,
        method: 'S',
        count: 2,
        peak_id: 1,
        peak_percent: 100.0,
    }
}
