//! Agreement of the values of one result with each other, so that a field is more than a number of the right form.
//!
//! Each rule is a function from the selectors of a result to what is wrong with them. A count that the original has wrong by
//! its nature is excused where it stands at that end ([`Ends`]), and nothing else.

use crate::netperf_pairs::fields::{Fields, Interim};

/// Ends at which the original stood. Its percentiles may lie a bucket beyond the largest value; the part of a message that
/// left before its clock interrupted the call is not counted, nor what it has not read when a test that only receives is
/// over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// As the client, which printed the result.
    pub original_client: bool,
    /// As the server.
    pub original_server: bool,
}

/// Ours at both ends: every rule holds.
pub const OURS: Ends = Ends { original_client: false, original_server: false };

type Rule = fn(&Fields, Ends) -> Result<(), String>;

/// All rules of a result of `-k all`.
pub const RULES: &[(&str, Rule)] = &[
    ("what was measured is not 0", measured),
    ("rate = work / time", rate),
    ("rate and latency of transactions", transactions),
    ("min <= p50 <= p90 <= p99 <= max", latencies),
    ("bytes and calls", calls),
    ("rates of each end and direction", directions),
    ("both ends count the same", ends),
    ("use of the CPU and service demand", cpu),
];

/// All that is wrong with a result, by rule.
pub fn complaints(fields: &Fields, at: Ends) -> Vec<String> {
    let failed = RULES.iter().filter_map(|(name, rule)| rule(fields, at).err().map(|what| format!("{name}: {what}")));
    failed.collect()
}

/// Half of the last printed place of a time in seconds: what `ELAPSED_TIME` may hide.
const ELAPSED_HALF: f64 = 0.005_01;

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

fn between(name: &str, value: f64, low: f64, high: f64) -> Result<(), String> {
    ensure((low..=high).contains(&value), || format!("{name} = {value} is not within {low} … {high}"))
}

/// The rates that `work` in the printed time may mean, with `half` of the last place of the rate.
fn rates(work: f64, elapsed: f64, half: f64) -> (f64, f64) {
    let shortest = elapsed - ELAPSED_HALF;
    let high = if shortest > 0.0 { work / shortest + half } else { f64::INFINITY };
    (work / (elapsed + ELAPSED_HALF) - half, high)
}

fn is_rr(fields: &Fields) -> Result<bool, String> {
    Ok(matches!(fields.text("DIRECTION")?, "Send|Recv" | "Connect|Send|Recv"))
}

fn is_tcp(fields: &Fields) -> Result<bool, String> {
    Ok(fields.text("PROTOCOL")? == "TCP")
}

fn is_connecting(fields: &Fields) -> Result<bool, String> {
    Ok(fields.text("DIRECTION")?.starts_with("Connect"))
}

/// Bytes in one unit of a rate by bytes; `None` for transactions.
fn unit_bytes(units: &str) -> Result<Option<f64>, String> {
    Ok(Some(match units {
        "Trans/s" => return Ok(None),
        "10^3bits/s" => 1e3 / 8.0,
        "10^6bits/s" => 1e6 / 8.0,
        "10^9bits/s" => 1e9 / 8.0,
        "Bytes/s" => 1.0,
        "KBytes/s" => 1024.0,
        "MBytes/s" => 1024.0 * 1024.0,
        "GBytes/s" => 1024.0 * 1024.0 * 1024.0,
        other => return Err(format!("THROUGHPUT_UNITS={other} is no unit")),
    }))
}

/// Nothing that was measured is 0 or absent.
pub fn measured(fields: &Fields, _: Ends) -> Result<(), String> {
    let mut names = vec!["THROUGHPUT", "MAX_LATENCY", "MEAN_LATENCY"];
    let sends = !matches!(fields.text("DIRECTION")?, "Receive" | "Connection");
    let receives = !matches!(fields.text("DIRECTION")?, "Send" | "Connection");
    if sends {
        names.extend(["LOCAL_SEND_CALLS", "LOCAL_BYTES_SENT", "REMOTE_RECV_CALLS", "REMOTE_BYTES_RECVD"]);
        names.extend(["LOCAL_BYTES_PER_SEND", "REMOTE_BYTES_PER_RECV"]);
    }
    if receives {
        names.extend(["LOCAL_RECV_CALLS", "LOCAL_BYTES_RECVD", "REMOTE_SEND_CALLS", "REMOTE_BYTES_SENT"]);
        names.extend(["LOCAL_BYTES_PER_RECV", "REMOTE_BYTES_PER_SEND"]);
    }
    if is_rr(fields)? {
        names.extend(["TRANSACTION_RATE", "RT_LATENCY", "MIN_LATENCY", "P50_LATENCY", "REQUEST_SIZE", "RESPONSE_SIZE"]);
    }
    names.extend(["LSS_SIZE", "LSR_SIZE", "RSS_SIZE", "RSR_SIZE"]);
    names.extend(["LSS_SIZE_END", "LSR_SIZE_END", "RSS_SIZE_END", "RSR_SIZE_END"]);
    if is_tcp(fields)? && !is_connecting(fields)? {
        names.push("TRANSPORT_MSS");
    }
    for name in names {
        let value = fields.number(name)?;
        ensure(value > 0.0, || format!("{name} = {value}"))?;
    }
    let elapsed = fields.number("ELAPSED_TIME")?;
    ensure(elapsed >= 0.0, || format!("ELAPSED_TIME = {elapsed}"))
}

/// The main result is what was moved, by the time it took.
pub fn rate(fields: &Fields, _: Ends) -> Result<(), String> {
    if fields.number("CONFIDENCE_ITERATION")? > 1.0 {
        // A mean over iterations, beside the counters of the last.
        return Ok(());
    }
    let elapsed = fields.number("ELAPSED_TIME")?;
    let work = match unit_bytes(fields.text("THROUGHPUT_UNITS")?)? {
        None if fields.text("DIRECTION")? == "Connection" => return Ok(()),
        None => transacted(fields)?,
        Some(unit) if fields.text("DIRECTION")? == "Receive" => fields.number("LOCAL_BYTES_RECVD")? / unit,
        Some(unit) => (fields.number("REMOTE_BYTES_RECVD")? + fields.number("REMOTE_BYTES_SENT")?) / unit,
    };
    let (low, high) = rates(work, elapsed, 0.005_1);
    between("THROUGHPUT", fields.number("THROUGHPUT")?, low, high)
}

/// `TRANSACTION_RATE` is the rate of the last iteration, and `RT_LATENCY` its inverse.
pub fn transactions(fields: &Fields, _: Ends) -> Result<(), String> {
    let (rate, latency) = (fields.number("TRANSACTION_RATE")?, fields.number("RT_LATENCY")?);
    let direction = fields.text("DIRECTION")?;
    if matches!(direction, "Send" | "Receive") {
        return ensure((rate, latency) == (1.0, -1.0), || format!("TRANSACTION_RATE={rate}, RT_LATENCY={latency}"));
    }
    if fields.text("THROUGHPUT_UNITS")? == "Trans/s" && fields.number("CONFIDENCE_ITERATION")? == 1.0 {
        between("TRANSACTION_RATE", rate, fields.number("THROUGHPUT")? - 0.01, fields.number("THROUGHPUT")? + 0.01)?;
    }
    let outstanding = if is_connecting(fields)? { 1.0 } else { 1.0 + fields.number("BURST_SIZE")? };
    let expected = 1e6 * outstanding / rate;
    // Waits of a paced test are in its rate and not in its latency.
    let low = if fields.number("LOCAL_INTERVAL_BURST")? > 0.0 { 0.0 } else { expected * 0.999 - 0.001 };
    between("RT_LATENCY", latency, low, expected * 1.001 + 0.001)
}

/// Percentiles are ordered, and the mean lies among them.
pub fn latencies(fields: &Fields, at: Ends) -> Result<(), String> {
    let names = ["10", "25", "50", "75", "90", "95", "99", "999", "9999", "99999"].map(|p| format!("P{p}_LATENCY"));
    let (min, max) = (fields.number("MIN_LATENCY")?, fields.number("MAX_LATENCY")?);
    let mut before = ("MIN_LATENCY", min);
    for name in &names {
        let Some(value) = fields.optional(name)? else { continue };
        // The original's word for a percentile that falls into its bucket of 0 µs.
        if at.original_client && min == 0.0 && value == f64::from(i32::MIN) {
            continue;
        }
        // The original's percentile of few values is that of a smaller part of them: 0 of one value.
        let low = if at.original_client && before.0 == "MIN_LATENCY" { 0.0 } else { before.1 };
        ensure(value >= low, || format!("{name} = {value} is below {} = {}", before.0, before.1))?;
        before = (name.as_str(), value);
    }
    // A bucket of the original is as wide as the largest power of ten in it.
    let most = if at.original_client { max + 10_f64.powf(max.max(1.0).log10().floor()) } else { max };
    ensure(before.1 <= most, || format!("{} = {} is beyond MAX_LATENCY = {max}", before.0, before.1))?;
    // Least and largest are whole microseconds, cut off.
    between("MEAN_LATENCY", fields.number("MEAN_LATENCY")?, min, max + 1.0)?;
    between("STDDEV_LATENCY", fields.number("STDDEV_LATENCY")?, 0.0, (max - min + 1.0).max(0.0))
}

/// Bytes are those of a call times the calls; what was transferred is what was sent and received.
pub fn calls(fields: &Fields, _: Ends) -> Result<(), String> {
    for end in ["LOCAL", "REMOTE"] {
        let number = |rest: &str| fields.number(&format!("{end}_{rest}"));
        for (bytes, calls, each) in
            [("BYTES_SENT", "SEND_CALLS", "BYTES_PER_SEND"), ("BYTES_RECVD", "RECV_CALLS", "BYTES_PER_RECV")]
        {
            let (bytes, calls, each) = (number(bytes)?, number(calls)?, number(each)?);
            ensure(bytes == 0.0 || calls > 0.0, || format!("{end}: {bytes} bytes by no call"))?;
            let expected = if calls > 0.0 { bytes / calls } else { 0.0 };
            between(&format!("{end} bytes of a call"), each, expected - 0.006, expected + 0.006)?;
        }
        let (sum, all) = (number("BYTES_SENT")? + number("BYTES_RECVD")?, number("BYTES_XFERD")?);
        ensure(sum == all, || format!("{end}_BYTES_XFERD = {all}, not {sum}"))?;
    }
    Ok(())
}

/// The four rates by end and direction are their bytes by the time.
pub fn directions(fields: &Fields, _: Ends) -> Result<(), String> {
    if fields.number("CONFIDENCE_ITERATION")? > 1.0 {
        return Ok(());
    }
    let elapsed = fields.number("ELAPSED_TIME")?;
    let unit = unit_bytes(fields.text("THROUGHPUT_UNITS")?)?.unwrap_or(1e6 / 8.0);
    for end in ["LOCAL", "REMOTE"] {
        for (rate, bytes) in [("SEND_THROUGHPUT", "BYTES_SENT"), ("RECV_THROUGHPUT", "BYTES_RECVD")] {
            let name = format!("{end}_{rate}");
            let (low, high) = rates(fields.number(&format!("{end}_{bytes}"))? / unit, elapsed, 0.005_1);
            between(&name, fields.number(&name)?, low, high)?;
        }
    }
    Ok(())
}

/// Tests that one end received over TCP all that the other sent; by datagrams no more than that.
pub fn ends(fields: &Fields, at: Ends) -> Result<(), String> {
    let number = |name: &str| fields.number(name);
    let (there, arrived) = (number("LOCAL_BYTES_SENT")?, number("REMOTE_BYTES_RECVD")?);
    let (back, received) = (number("REMOTE_BYTES_SENT")?, number("LOCAL_BYTES_RECVD")?);
    let (tcp, rr) = (is_tcp(fields)?, is_rr(fields)?);
    // Transactions under way when the time is over: one of each that may be outstanding.
    let outstanding = 1.0 + number("BURST_SIZE")?;
    let (request, response) = (outstanding * number("REQUEST_SIZE")?, outstanding * number("RESPONSE_SIZE")?);
    let (lost_there, lost_back) = match (rr, tcp) {
        (true, true) if !is_connecting(fields)? => (0.0, response),
        (true, _) => (request, response),
        (false, true) => (0.0, if at.original_client { f64::INFINITY } else { 0.0 }),
        // Losses are no fault of the count.
        (false, false) => (there, back),
    };
    let message = |size: &str, of_rr: f64| if rr { Ok(of_rr) } else { number(size) };
    let uncounted_there = if at.original_client { message("LOCAL_SEND_SIZE", request)? } else { 0.0 };
    let uncounted_back = if at.original_server { message("REMOTE_SEND_SIZE", response)? } else { 0.0 };
    between("REMOTE_BYTES_RECVD", arrived, there - lost_there, there + uncounted_there)?;
    between("LOCAL_BYTES_RECVD", received, back - lost_back, back + uncounted_back.max(0.0))
}

/// CPU use where it was measured, and that it says so where it was not.
pub fn cpu(fields: &Fields, _: Ends) -> Result<(), String> {
    for end in ["LOCAL", "REMOTE"] {
        let number = |rest: &str| fields.number(&format!("{end}_{rest}"));
        let (used, demand) = (number("CPU_UTIL")?, number("SD")?);
        if fields.text(&format!("{end}_CPU_METHOD"))? == "U" {
            ensure((used, demand) == (-1.0, -1.0), || format!("{end}: {used} % and {demand} without a method"))?;
            continue;
        }
        between(&format!("{end}_CPU_UTIL"), used, 0.0, 100.0)?;
        let parts = ["USER", "SYSTEM", "IOWAIT", "IRQ", "SWINTR"];
        let parts: Vec<f64> =
            parts.iter().map(|part| number(&format!("CPU_PERCENT_{part}"))).collect::<Result<_, _>>()?;
        ensure(parts.iter().all(|part| (0.0..=100.0).contains(part)), || format!("{end}: {parts:?} %"))?;
        between(&format!("{end}: the sum of {parts:?}"), parts.iter().sum(), 0.0, used + 0.5)?;
        let count = number("CPU_COUNT")?;
        ensure(count >= 1.0, || format!("{end}_CPU_COUNT = {count}"))?;
        between(&format!("{end}_CPU_PEAK_UTIL"), number("CPU_PEAK_UTIL")?, used - 0.1, 100.0)?;
        between(&format!("{end}_CPU_PEAK_ID"), number("CPU_PEAK_ID")?, 0.0, count - 1.0)?;
        let throughput = fields.number("THROUGHPUT")?;
        let units = fields.text("THROUGHPUT_UNITS")?;
        // It is printed to hundredths, which of a few tenths of a Gbit/s are more than one in a hundred.
        let unit = unit_bytes(units)?;
        let expected = |throughput: f64| {
            let work = unit.map_or(throughput, |unit| throughput * unit / 1024.0);
            used * 10_000.0 / work * count
        };
        let (least, most) = (expected(throughput + 0.005), expected((throughput - 0.005).max(0.001)));
        between(&format!("{end}_SD"), demand, least * 0.99 - 0.001, most * 1.01 + 0.001)?;
    }
    Ok(())
}

/// A test by count moved exactly so many transactions.
pub fn exactly(fields: &Fields, count: u64) -> Result<(), String> {
    let count = count as f64;
    let [request, response] = ["REQUEST_SIZE", "RESPONSE_SIZE"].map(|name| fields.number(name));
    let (request, response) = (request?, response?);
    let burst = fields.number("BURST_SIZE")?;
    for (name, least, most) in [
        ("LOCAL_BYTES_RECVD", count * response, count * response),
        ("REMOTE_BYTES_SENT", count * response, (count + burst) * response),
        ("LOCAL_SEND_CALLS", count, count + burst),
        ("LOCAL_BYTES_SENT", count * request, (count + burst) * request),
        ("REMOTE_BYTES_RECVD", count * request, (count + burst) * request),
    ] {
        between(name, fields.number(name)?, least, most)?;
    }
    Ok(())
}

/// A stream test by bytes sent the least number of whole messages that are so many.
pub fn exactly_bytes(fields: &Fields, bytes: u64) -> Result<(), String> {
    let (sender, receiver) =
        if fields.text("DIRECTION")? == "Send" { ("LOCAL", "REMOTE") } else { ("REMOTE", "LOCAL") };
    let message = fields.number(&format!("{sender}_SEND_SIZE"))?;
    let expected = (bytes as f64 / message).ceil() * message;
    for name in [format!("{sender}_BYTES_SENT"), format!("{receiver}_BYTES_RECVD")] {
        between(&name, fields.number(&name)?, expected, expected)?;
    }
    Ok(())
}

/// Intervals are the whole: what they hold is what was moved, and of ours each begins where the one before ended.
///
/// Nothing is asked of the original's clock: it reads it anew for every figure, and may lose its CPU in between.
pub fn intervals(fields: &Fields, interims: &[Interim], at: Ends) -> Result<(), String> {
    for pair in interims.windows(2) {
        let apart = pair[1].ending - pair[0].ending;
        let length = pair[1].seconds;
        // Ends are cut off to milliseconds and lengths rounded: a whole one and a half, and what a float of so many seconds hides.
        let around = if at.original_client { f64::INFINITY } else { 0.001_51 };
        between("from one end to the next", apart, (length - around).max(0.0), length + around)?;
    }
    if !at.original_client {
        let seconds: f64 = interims.iter().map(|interim| interim.seconds).sum();
        // The time behind the last interval held nothing, and its content is compared below.
        let most = fields.number("ELAPSED_TIME")? + ELAPSED_HALF + 0.000_51 * interims.len() as f64;
        between("the sum of the intervals", seconds, 0.0, most)?;
    }
    let work: f64 = interims.iter().map(|interim| interim.rate * interim.seconds).sum();
    // A rate is rounded to hundredths and a length to a millisecond.
    let loose: f64 = interims.iter().map(|interim| interim.rate * 0.000_51 + interim.seconds * 0.005_1).sum();
    let (whole, open) = match unit_bytes(fields.text("THROUGHPUT_UNITS")?)? {
        // Transactions that the original had under way when its time was over.
        None if at.original_client => (transacted(fields)?, 2.0 + fields.number("BURST_SIZE")?),
        None => (transacted(fields)?, 0.0),
        Some(unit) => (fields.number("LOCAL_BYTES_XFERD")? / unit, 0.0),
    };
    between("the work of the intervals", work, whole - loose - open, whole + loose + open)
}

/// Transactions that were answered.
fn transacted(fields: &Fields) -> Result<f64, String> {
    Ok(fields.number("LOCAL_BYTES_RECVD")? / fields.number("RESPONSE_SIZE")?)
}

/// The rows of a histogram add up to its total, which is `expected` where that is known; least and largest value lie in
/// the first and the last column that count anything.
pub fn histogram(stdout: &str, fields: &Fields, expected: Option<f64>) -> Result<(), String> {
    let (mut sum, mut lower, mut edges) = (0, 1_u64, Vec::new());
    let rows =
        ["UNIT_USEC", "TEN_USEC", "HUNDRED_USEC", "UNIT_MSEC", "TEN_MSEC", "HUNDRED_MSEC", "UNIT_SEC", "TEN_SEC"];
    for row in rows {
        let line =
            stdout.lines().find(|line| line.split(' ').next() == Some(row)).ok_or_else(|| format!("no {row}"))?;
        let counts: Vec<u64> =
            line.split(':').skip(1).map(|cell| cell.trim().parse()).collect::<Result<_, _>>().map_err(|_| line)?;
        ensure(counts.len() == 10, || format!("{line}: {} columns", counts.len()))?;
        sum += counts.iter().sum::<u64>();
        edges.extend(
            counts
                .iter()
                .zip(0..)
                .filter(|(count, _)| **count > 0)
                .map(|(_, column)| (column * lower, (column + 1) * lower)),
        );
        lower *= 10;
    }
    let number = |name: &str| -> Result<u64, String> {
        let line = stdout.lines().find_map(|line| line.strip_prefix(name)).ok_or_else(|| format!("no {name}"))?;
        line.trim().parse().map_err(|_| format!("{name}{line}"))
    };
    let total = number("HIST_TOTAL:")?;
    ensure(sum + number(">100_SECS:")? == total, || format!("the columns' sum is {sum}, HIST_TOTAL {total}"))?;
    if let Some(expected) = expected {
        between("HIST_TOTAL", total as f64, expected, expected)?;
    }
    let (Some(first), Some(last)) = (edges.first(), edges.last()) else { return Err("nothing is counted".into()) };
    between("MIN_LATENCY", fields.number("MIN_LATENCY")?, first.0 as f64, (first.1 - 1) as f64)?;
    between("MAX_LATENCY", fields.number("MAX_LATENCY")?, last.0 as f64, (last.1 - 1) as f64)
}

#[cfg(test)]
mod tests;
