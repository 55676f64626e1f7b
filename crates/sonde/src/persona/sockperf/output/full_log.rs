//! The file of `--full-log`: what ran, what it came to, every observation.
//!
//! In this order: [`head`], the lines of the screen ([`super::latency::Run::logged`]), [`columns`], a [`row`] for each
//! observation, [`RULE`], [`histogram`].

use std::fmt::Write;

use crate::persona::sockperf::options::{Client, Kind, Mps, SMALLEST, Stop};
use crate::persona::sockperf::output::histogram::{digits, rows};
use crate::persona::sockperf::statistics::Observation;
use crate::persona::sockperf::statistics::latency::Latency;

/// Rule between the parts.
pub const RULE: &str = "------------------------------\n";

/// Head of the log: the parameters of the run.
pub fn head(client: &Client) -> String {
    let mut line = String::from("test was performed using the following parameters:");
    let mut tell = |name: &str, value: u64| {
        let _ = write!(line, " --{name}={value}");
    };
    match client.kind.load().map(|load| (load, load.stop)) {
        Some((load, Stop::Messages(messages))) => {
            tell("burst", load.burst.into());
            tell("msg-size", load.size.most.into());
            tell("number-of-packets", messages.into());
        }
        Some((load, Stop::Seconds(seconds))) => {
            tell("mps", mps(&client.kind));
            tell("burst", load.burst.into());
            tell("reply-every", client.kind.reply_every().unwrap_or(1).into());
            tell("msg-size", load.size.most.into());
            tell("time", seconds.into());
        }
        // The original tells what it would have done without a file.
        None => {
            tell("mps", mps(&client.kind));
            tell("burst", 1);
            tell("reply-every", client.kind.reply_every().unwrap_or(1).into());
            tell("msg-size", SMALLEST.into());
            tell("time", 1);
        }
    }
    if client.display.full_rtt {
        line.push_str(" --full-rtt");
    }
    format!("{RULE}{line}\n{RULE}")
}

/// The rate, or the number that stands for as many as go: what the original could do at best.
fn mps(kind: &Kind) -> u64 {
    match (kind.load().map(|load| (load.rate, load.burst)), kind) {
        (Some((Mps::At(rate), _)), _) => rate.into(),
        (Some((Mps::Max, burst)), Kind::PingPong { .. }) => 600_000 * u64::from(burst),
        (Some((Mps::Max, _)), _) => 10_000_000,
        (None, _) => 10_000,
    }
}

/// The rule and the names of the columns.
pub fn columns(client: &Client) -> String {
    let name = if client.display.full_rtt { "rtt" } else { "latency" };
    format!("{RULE}packet, txTime(sec), rxTime(sec), {name}(usec)\n")
}

/// An observation. Times are told since `start_ns`.
pub fn row(client: &Client, observation: &Observation, start_ns: u64) -> String {
    let time = |nanos: u64| nanos.saturating_sub(start_ns) as f64 / 1000.0 / 1000.0 / 1000.0;
    let (sent, received) = (time(observation.sent_ns), time(observation.received_ns));
    // From the seconds, so that half a nanosecond goes where the original's goes.
    let value = (received - sent) * if client.display.full_rtt { 1e6 } else { 1e6 / 2.0 };
    format!("{}, {sent:.9}, {received:.9}, {value:.3}\n", observation.index)
}

/// The histogram; nothing where none was asked for.
pub fn histogram(latency: &Latency) -> String {
    let Some(bins) = &latency.bins else { return String::new() };
    let asked = bins.histogram;
    let mut text = format!(
        "histogram was built using the following parameters: --h_bin_size_us={} --h_lower_range_us={} \
         --h_upper_range_us={}\n{RULE}bin (usec)            frequency\n",
        asked.bin_us, asked.low_us, asked.high_us
    );
    let width = digits(latency.max_ns / 1_000) + 1 + digits(asked.high_us.into()) + 20;
    for row in rows(bins, latency) {
        let name = if row.is_outlier { format!("{}-{}", row.begin_us, row.end_us) } else { row.begin_us.to_string() };
        let _ = writeln!(text, "{name:<width$}{}", row.count);
    }
    text + RULE
}
