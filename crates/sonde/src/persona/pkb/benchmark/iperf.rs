//! `iperf`: streams from either end to the other.

use std::fmt::Write;

use logbook::plan::Directions;

use super::{Test, Wanted, chosen, named, streams, test};
use crate::persona::answer::Answer;
use crate::persona::pkb::ask::Metrics;
use crate::persona::pkb::flags::{Flags, complain};

/// Rate of a stream over UDP where none is given, bits a second: iperf's 1 Mbit/s is of 1024 times 1024.
const USUAL_UDP_BITS: f64 = 1_048_576.0;
/// A datagram of iperf's where nothing is said, bytes.
const USUAL_DATAGRAM: u64 = 1_470;
/// The largest payload of a datagram over IPv4, bytes.
const LARGEST_DATAGRAM: u64 = 65_507;

/// As the flags want it.
///
/// # Errors
/// A test that is none, a length that is none.
pub fn wanted(flags: &Flags) -> Result<Wanted, Answer> {
    let tests = chosen(flags, "iperf_benchmarks", &["TCP"], &["TCP", "UDP"])?;
    let counts = streams(flags, "iperf_sending_thread_count")?;
    let mut all = Vec::new();
    for name in &tests {
        for count in &counts {
            all.push(one(flags, name, *count, &counts)?);
        }
    }
    Ok(Wanted { hosts: 2, directions: Directions::Both, fan: Vec::new(), repeats: 1, tests: all, notes: Vec::new() })
}

fn one(flags: &Flags, name: &str, streams: u32, of: &[u32]) -> Result<Test, Answer> {
    let seconds = u64::from(flags.count("iperf_runtime_in_seconds").unwrap_or(60));
    let length = flags.text("iperf_buffer_length").map(length).transpose()?;
    let mut command = format!("throughput --{} --no-test", name.to_ascii_lowercase());
    let is_udp = name == "UDP";
    let bits = if is_udp {
        Some(mbits(flags, "iperf_udp_per_stream_bandwidth")?.unwrap_or(USUAL_UDP_BITS))
    } else {
        command += " --nagle";
        mbits(flags, "iperf_tcp_per_stream_bandwidth")?
    };
    match (length, is_udp) {
        (Some(size), true) if size > LARGEST_DATAGRAM => {
            return Err(complain(&format!("--iperf_buffer_length: {size} bytes: a datagram takes {LARGEST_DATAGRAM}")));
        }
        (None, true) => drop(write!(command, " --size {USUAL_DATAGRAM}")),
        (None, false) => {}
        (Some(size), _) => drop(write!(command, " --size {size}")),
    }
    // A rate here is that of all streams together; iperf's is that of each.
    if let Some(bits) = bits {
        let _ = write!(command, " --rate {:.0}", bits * f64::from(streams));
    }
    if streams > 1 {
        let _ = write!(command, " --streams {streams}");
    }
    let interval = flags.number("iperf_interval").filter(|_| !is_udp);
    match interval {
        Some(interval) if interval < 0.001 => {
            return Err(complain(&format!("--iperf_interval={interval}: an interval takes 0.001 s at least")));
        }
        Some(interval) => drop(write!(command, " --interval {:.0}ms", interval * 1e3)),
        None => {}
    }
    let _ = write!(command, " --time {seconds}s");
    let mut metadata = vec![("sending_thread_count", streams.to_string()), ("runtime_in_seconds", seconds.to_string())];
    if let Some(bits) = bits.filter(|_| is_udp) {
        // From one datagram of a stream to the next.
        let gap_us = length.unwrap_or(USUAL_DATAGRAM) as f64 * 8e6 / bits;
        metadata.extend([("ipg_target", format!("{gap_us:.2}")), ("ipg_target_unit", "us".to_owned())]);
        let said = flags.number("iperf_udp_per_stream_bandwidth");
        metadata.extend(said.map(|mbits| ("udp_per_stream_bandwidth_mbit", format!("{mbits:?}"))));
    }
    let metrics = if is_udp { Metrics::IperfUdp } else { Metrics::IperfTcp { series: interval.is_some() } };
    Ok(test(&named(name, streams, of), command, metrics, &metadata, seconds))
}

/// Bits a second of a flag that counts millions of them.
fn mbits(flags: &Flags, name: &str) -> Result<Option<f64>, Answer> {
    match flags.number(name) {
        Some(mbits) if mbits * 1e6 < 1.0 => Err(complain(&format!("--{name}={mbits}: nothing would be sent"))),
        mbits => Ok(mbits.map(|mbits| mbits * 1e6)),
    }
}

/// Bytes of iperf's words: `1470`, `8K` (1024s), `8k` (1000s).
fn length(text: &str) -> Result<u64, Answer> {
    let wrong = || complain(&format!("--iperf_buffer_length={text}: is no length, as 1470, 8K (1024s) or 8k (1000s)"));
    let (digits, unit) = match text.char_indices().next_back() {
        Some((at, 'k')) => (&text[..at], 1_000),
        Some((at, 'm')) => (&text[..at], 1_000_000),
        Some((at, 'K')) => (&text[..at], 1 << 10),
        Some((at, 'M')) => (&text[..at], 1 << 20),
        _ => (text, 1),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(unit));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(wrong)
}
