//! `PerfKit` Benchmarker: the omni test with selectors and a histogram; and the classic tables its older benchmarks read.

use std::collections::BTreeMap;

use test_case::test_case;
use testbed::port;

use crate::netperf_pairs::transcripts::fixture;

use super::{at_all_ends, words};
use crate::netperf_pairs::ends::{End, Server};

/// Result of its parser for an output.
#[derive(Debug, PartialEq)]
struct Parsed {
    throughput: f64,
    unit: &'static str,
    confidence: (f64, f64),
    latency: BTreeMap<String, f64>,
    retransmissions: Option<[f64; 3]>,
    histogram: Option<BTreeMap<u64, u64>>,
}

const ROWS: [&str; 8] =
    ["UNIT_USEC", "TEN_USEC", "HUNDRED_USEC", "UNIT_MSEC", "TEN_MSEC", "HUNDRED_MSEC", "UNIT_SEC", "TEN_SEC"];

/// Banner, header, values on the first three lines; columns by their long names; known units; the histogram if wanted.
fn parse(stdout: &str, tcp: bool, wants_histogram: bool) -> Result<Parsed, String> {
    let lines: Vec<&str> = stdout.split('\n').collect();
    let banner = lines[0];
    if !banner.starts_with("MIGRATED") && !banner.starts_with("OMNI") {
        return Err(format!("no banner: {banner}"));
    }
    let [header, values] = lines.get(1..3).ok_or("no header and values")? else { return Err("two lines".into()) };
    let cells = |line: &str| line.split(',').map(|cell| cell.trim_matches('"').to_owned()).collect::<Vec<_>>();
    let (header, values) = (cells(header), cells(values));
    if header.len() != values.len() {
        return Err(format!("{} titles over {} values", header.len(), values.len()));
    }
    let row: BTreeMap<String, String> = header.into_iter().zip(values).collect();
    let text = |title: &str| row.get(title).ok_or_else(|| format!("no column {title}"));
    let number = |title: &str| -> Result<f64, String> {
        text(title)?.parse().map_err(|_| format!("{title} is {:?}", row.get(title)))
    };
    let unit = match text("Throughput Units")?.as_str() {
        "10^6bits/s" => "Mbits/sec",
        "Trans/s" => "transactions_per_second",
        other => return Err(format!("unknown unit {other}")),
    };
    let latencies = row.keys().filter(|title| title.ends_with("Latency Microseconds"));
    let latency = latencies.map(|title| Ok((title.clone(), number(title)?))).collect::<Result<_, String>>()?;
    let counts = ["Local Transport Retransmissions", "Remote Transport Retransmissions", "Transport MSS bytes"];
    let counts = || Ok::<_, String>([number(counts[0])?, number(counts[1])?, number(counts[2])?]);
    Ok(Parsed {
        throughput: number("Throughput")?,
        unit,
        confidence: (number("Confidence Iterations Run")?, number("Throughput Confidence Width (%)")?),
        latency,
        retransmissions: tcp.then(counts).transpose()?,
        histogram: wants_histogram.then(|| histogram(stdout)).transpose()?,
    })
}

/// Lower edges of buckets in nanoseconds, and counts: what stands from `UNIT_USEC` to `>100_SECS`.
fn histogram(stdout: &str) -> Result<BTreeMap<u64, u64>, String> {
    let start = stdout.find("UNIT_USEC").ok_or("no histogram")?;
    let end = stdout.find(">100_SECS").ok_or("no end of the histogram")?;
    let rows: Vec<&str> = stdout[start..end].trim_end().lines().collect();
    if rows.len() != ROWS.len() {
        return Err(format!("{} rows", rows.len()));
    }
    let (mut histogram, mut span) = (BTreeMap::new(), 10_000);
    for (row, name) in rows.iter().zip(ROWS) {
        let mut cells = row.split(':').map(str::trim);
        if cells.next() != Some(name) {
            return Err(format!("{row} is not {name}"));
        }
        let counts: Vec<u64> =
            cells.map(str::parse).collect::<Result<_, _>>().map_err(|_| format!("no counts: {row}"))?;
        let width = span / counts.len() as u64;
        for (index, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            *histogram.entry(index as u64 * width).or_insert(0) += count;
        }
        span *= 10;
    }
    Ok(histogram)
}

const SELECTORS: &str = "THROUGHPUT,THROUGHPUT_UNITS,P50_LATENCY,P90_LATENCY,P99_LATENCY,STDDEV_LATENCY,MIN_LATENCY,\
    MAX_LATENCY,CONFIDENCE_ITERATION,THROUGHPUT_CONFID,LOCAL_TRANSPORT_RETRANS,REMOTE_TRANSPORT_RETRANS,TRANSPORT_MSS";

#[test]
fn the_reader_reads_the_original() {
    let model = fixture("A5_pkb_style").stdout;
    let parsed = parse(&model, false, true).unwrap();
    assert_eq!((parsed.throughput, parsed.unit), (112_420.52, "transactions_per_second"));
    assert_eq!(parsed.latency["99th Percentile Latency Microseconds"], 21.0);
    let histogram = parsed.histogram.unwrap();
    assert_eq!((histogram[&6_000], histogram[&10_000], histogram[&20_000_000]), (43_885, 5_054, 1));
    assert_eq!(histogram.values().sum::<u64>(), 112_433);
    assert!(parse(&model, true, true).is_err(), "TCP takes retransmissions");
    for (from, to) in [("MIGRATED", "Migrated"), ("\nThroughput,", "\n\nThroughput,"), ("Trans/s", "Trans/sec")] {
        assert!(parse(&model.replace(from, to), false, true).is_err(), "{to:?}");
    }
    assert!(parse(&model.replace("TEN_MSEC", "TEN_MS"), false, true).is_err());
}

/// The bucket that holds the nearest rank, by its lower edge in microseconds: its own rule takes the value behind that one.
fn percentile(histogram: &BTreeMap<u64, u64>, share: f64) -> f64 {
    let rank = (histogram.values().sum::<u64>() as f64 * share).ceil() as u64;
    let mut sum = 0;
    let bucket = histogram.iter().find(|(_, count)| {
        sum += **count;
        sum >= rank
    });
    *bucket.unwrap().0 as f64 / 1e3
}

/// The percentiles of several streams, which it has from their histograms alone.
#[test]
fn its_percentiles_of_the_histogram_are_those_that_were_measured() {
    let server = Server::start(End::Ours, &[]);
    let line = format!("-j -v2 -t OMNI -H 127.0.0.1 -l -2000 -- -T TCP -d RR -o {SELECTORS}");
    let ended = End::Ours.client(server.port, &words(&line, server.port));
    let parsed = parse(&ended.stdout, true, true).unwrap_or_else(|wrong| panic!("{wrong}: {}", ended.told()));
    let histogram = parsed.histogram.unwrap();
    for (share, title) in [(0.5, "50th"), (0.9, "90th"), (0.99, "99th")] {
        let measured = parsed.latency[&format!("{title} Percentile Latency Microseconds")];
        let told = percentile(&histogram, share);
        // A bucket is a hundredth at the most; what was measured is cut off at whole microseconds.
        let (low, high) = (measured * 0.99 - 0.01, measured + 1.0);
        assert!(
            (low..=high).contains(&told),
            "{title}: {told} from the histogram, {measured} measured: {}",
            ended.told()
        );
    }
}

#[test_case("-T TCP -d RR", true, true; "TCP_RR")]
#[test_case("-T UDP -d RR", false, true; "UDP_RR")]
#[test_case("-T TCP -d CRR", true, true; "TCP_CRR")]
#[test_case("-T TCP -d STREAM -m 131072 -M 131072", true, false; "TCP_STREAM")]
#[test_case("-T UDP -d STREAM -m 1024 -M 1024 -R 1", false, false; "UDP_STREAM")]
fn its_omni_tests_are_read(test: &str, tcp: bool, with_histogram: bool) {
    let verbose = if with_histogram { "-v2" } else { "" };
    let line = |port| {
        let data = port::free();
        let global = format!("-p {port} -j {verbose} -t OMNI -H 127.0.0.1 -L 127.0.0.1 -l 1");
        words(&format!("{global} -- {test} -P ,{data} -o {SELECTORS}"), port)
    };
    at_all_ends("a command line of PerfKit Benchmarker", line, |ended| {
        let parsed = parse(&ended.stdout, tcp, with_histogram)?;
        // The original takes a direction that it does not know for sending.
        let expected: &[&str] = match test {
            _ if test.contains("STREAM") => &["Mbits/sec"],
            _ if test.contains("CRR") => &["transactions_per_second", "Mbits/sec"],
            _ => &["transactions_per_second"],
        };
        if !expected.contains(&parsed.unit) || parsed.throughput <= 0.0 {
            return Err(format!("{parsed:?}"));
        }
        let total = parsed.histogram.as_ref().map(|histogram| histogram.values().sum::<u64>() as f64);
        // A second of them, as many as the rate says; a busy machine may make it longer.
        match total {
            Some(total)
                if parsed.unit != "Mbits/sec"
                    && !(parsed.throughput * 0.8..=parsed.throughput * 20.0).contains(&total) =>
            {
                Err(format!("{total} in the histogram of {parsed:?}"))
            }
            _ => Ok(()),
        }
    });
}

#[test]
fn its_confidence_runs_are_read() {
    let line = |port| {
        words(
            &format!(
                "-p {port} -j -v2 -t OMNI -H 127.0.0.1 -l 1 -I 99,5 -i 3,3 -- -T TCP -d RR -P ,{} -o {SELECTORS}",
                port::free()
            ),
            port,
        )
    };
    at_all_ends("a confidence run of PerfKit Benchmarker", line, |ended| {
        let parsed = parse(&ended.stdout, true, true)?;
        let (iterations, width) = parsed.confidence;
        if iterations == 3.0 && width > 0.0 { Ok(()) } else { Err(format!("{parsed:?}")) }
    });
}

/// Figures that the mesh benchmark looks for: a number with decimals, blanks, the end of the line.
fn figures_at_line_ends(stdout: &str) -> Vec<f64> {
    let lines = stdout.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let figure = |line: &str| {
        let trimmed = line.trim_end_matches(' ');
        let word = trimmed.split(' ').next_back()?;
        let decimals = word.split_once('.').is_some_and(|(a, b)| {
            [a, b].iter().all(|part| !part.is_empty() && part.bytes().all(|octet| octet.is_ascii_digit()))
        });
        (trimmed.len() < line.len() && decimals).then(|| word.parse().ok())?
    };
    lines.filter_map(figure).collect()
}

#[test_case("TCP_RR", "02_tcp_rr")]
#[test_case("TCP_STREAM", "04_tcp_stream")]
fn its_classic_tables_are_read(test: &str, model: &str) {
    assert_eq!(figures_at_line_ends(&fixture(model).stdout).len(), 1);
    let line = |port| words(&format!("-p {port} -t {test} -H 127.0.0.1 -i 1 -l 1"), port);
    at_all_ends("a mesh of PerfKit Benchmarker", line, |ended| match figures_at_line_ends(&ended.stdout)[..] {
        [figure] if figure > 0.0 => Ok(()),
        ref other => Err(format!("{other:?} in place of one figure")),
    });
}
