//! The text of fping, from plain values.

use std::fmt::Write as _;
use std::net::IpAddr;

use measure::unit::Nanos;

use crate::persona::fping::statistics::{Host, Tally, Totals};

/// The form of hosts in lines and summaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Columns of the longest name.
    pub width: usize,
    /// `-C`: each round trip in the summary.
    pub each: bool,
    /// `-o`: what is lost as time, by this period.
    pub outage: Option<Nanos>,
}

/// Milliseconds with some three digits.
pub fn millis(time: Nanos) -> String {
    let millis = time.0 as f64 / 1e6;
    match millis {
        ..1.0 => format!("{millis:.3}"),
        ..10.0 => format!("{millis:.2}"),
        ..100.0 => format!("{millis:.1}"),
        ..1e6 => format!("{millis:.0}"),
        _ => {
            let text = format!("{millis:.3e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{digits}e+{exponent:0>2}")
        }
    }
}

/// The line of a reply to request `index`; the sender where it is another than was asked goes to standard error.
pub fn reply(form: Form, host: &Host, (index, octets, time): (u32, usize, Nanos)) -> String {
    let (mean, loss) = (millis(host.all.mean().unwrap_or_default()), host.all.loss());
    let width = form.width;
    format!("{:width$} : [{index}], {octets} bytes, {} ms ({mean} avg, {loss}% loss)\n", host.shown, millis(time))
}

/// The line of request `index` that has no reply.
pub fn lost(form: Form, host: &Host, index: u32) -> String {
    let (mean, loss, width) = (host.all.mean().map_or_else(|| "NaN".to_owned(), millis), host.all.loss(), form.width);
    format!("{:width$} : [{index}], timed out ({mean} avg, {loss}% loss)\n", host.shown)
}

/// The sender of a reply, where it is another than was asked.
pub fn sender(from: IpAddr) -> String {
    format!(" [<- {from}]")
}

/// A reply to a request that has one.
pub fn duplicate(host: &Host, (index, octets, time): (u32, usize, Nanos)) -> String {
    format!("{} : duplicate for [{index}], {octets} bytes, {} ms", host.shown, millis(time))
}

/// The time in front of a line, from nanoseconds since 1970.
pub fn stamp(wall: u64) -> String {
    format!("[{:.5}] ", wall as f64 / 1e9)
}

/// An ICMP error, where it has words.
pub fn error(host: &Host, from: IpAddr, kind: u8, code: u8) -> Option<String> {
    let what = if from.is_ipv6() { error_v6(kind, code)? } else { error_v4(kind, code)? };
    Some(format!("{what} from {from} for ICMP Echo sent to {}\n", host.shown))
}

/// Codes of ICMP's unreachable, in their order.
const UNREACHABLE: [&str; 16] = [
    "ICMP Network Unreachable",
    "ICMP Host Unreachable",
    "ICMP Protocol Unreachable",
    "ICMP Port Unreachable",
    "ICMP Unreachable (Fragmentation Needed)",
    "ICMP Unreachable (Source Route Failed)",
    "ICMP Unreachable (Destination Network Unknown)",
    "ICMP Unreachable (Destination Host Unknown)",
    "ICMP Unreachable (Source Host Isolated)",
    "ICMP Unreachable (Communication with Network Prohibited)",
    "ICMP Unreachable (Communication with Host Prohibited)",
    "ICMP Unreachable (Network Unreachable For Type Of Service)",
    "ICMP Unreachable (Host Unreachable For Type Of Service)",
    "ICMP Unreachable (Communication Administratively Prohibited)",
    "ICMP Unreachable (Host Precedence Violation)",
    "ICMP Unreachable (Precedence cutoff in effect)",
];

fn error_v4(kind: u8, code: u8) -> Option<&'static str> {
    Some(match kind {
        3 => UNREACHABLE.get(usize::from(code)).copied().unwrap_or("ICMP Unreachable (Invalid Code)"),
        4 => "ICMP Source Quench",
        5 => "ICMP Redirect",
        11 => "ICMP Time Exceeded",
        12 => "ICMP Parameter Problem",
        _ => return None,
    })
}

/// The words of an error of IPv6. The original reads its types by the numbers of IPv4, and so prints none: these words are ours.
fn error_v6(kind: u8, code: u8) -> Option<&'static str> {
    Some(match (kind, code) {
        (1, 0) => "ICMP Network Unreachable",
        (1, 1) => "ICMP Unreachable (Communication Administratively Prohibited)",
        (1, 3) => "ICMP Host Unreachable",
        (1, 4) => "ICMP Port Unreachable",
        (1, _) => "ICMP Unreachable",
        (2, _) => "ICMP Unreachable (Fragmentation Needed)",
        (3, _) => "ICMP Time Exceeded",
        (4, _) => "ICMP Parameter Problem",
        _ => return None,
    })
}

/// The summary of all hosts.
pub fn summary(form: Form, hosts: &[Host]) -> String {
    hosts.iter().map(|host| if form.each { each(form, host) } else { counts(form, host, &host.all) }).collect()
}

/// The summary since the last one, at this time of day.
pub fn part(form: Form, hosts: &[Host], time_of_day: &str) -> String {
    let lines: String = hosts.iter().map(|host| counts(form, host, &host.part)).collect();
    format!("[{time_of_day}]\n{lines}")
}

fn each(form: Form, host: &Host) -> String {
    let times = host.each.iter().take(usize::try_from(host.all.sent).unwrap_or(usize::MAX));
    let times: String =
        times.map(|time| time.map_or_else(|| " -".to_owned(), |time| format!(" {}", millis(time)))).collect();
    let width = form.width;
    format!("{:width$} :{times}\n", host.shown)
}

fn counts(form: Form, host: &Host, tally: &Tally) -> String {
    let width = form.width;
    let Tally { sent, received, shortest, longest, .. } = *tally;
    let mut text = format!("{:width$} : xmt/rcv/%loss = {sent}/{received}/{}%", host.shown, tally.loss());
    if let Some(period) = form.outage {
        let outage = u128::from(sent - received) * u128::from(period.0) / 1_000_000;
        let _ = write!(text, ", outage(ms) = {outage}");
    }
    if let Some(mean) = tally.mean() {
        let _ = write!(text, ", min/avg/max = {}/{}/{}", millis(shortest), millis(mean), millis(longest));
    }
    text.push('\n');
    text
}

/// The same for netdata, with what is to be drawn where it is the `first`; so many seconds from one to the next.
pub fn netdata(hosts: &[Host], every: Nanos, first: bool) -> String {
    hosts.iter().map(|host| charts(host, every, first)).collect()
}

fn charts(host: &Host, every: Nanos, first: bool) -> String {
    let Tally { sent, received, shortest, longest, .. } = host.part;
    let mut text = String::new();
    let mut chart = |name: &str, title: &str, unit: &str, kind: &str, dimensions: &[&str], values: String| {
        let id = format!("fping.{}_{name}", host.id);
        let shown = &host.shown;
        if first {
            let seconds = every.0 as f64 / 1e9;
            let _ = writeln!(
                text,
                "CHART {id} '' 'FPing {title} for host {shown}' {unit} '{shown}' fping.{name} {kind} {seconds:.0}"
            );
            for dimension in dimensions {
                let _ = writeln!(text, "DIMENSION {dimension}");
            }
        }
        let _ = write!(text, "BEGIN {id}\n{values}END\n");
    };
    let packets = ["xmt sent absolute 1 1", "rcv received absolute 1 1"];
    chart(
        "packets",
        "Packets",
        "packets",
        "line 110020",
        &packets,
        format!("SET xmt = {sent}\nSET rcv = {received}\n"),
    );
    let quality = ["returned '' absolute 1 1"];
    let returned = format!("SET returned = {}\n", host.part.returned());
    chart("quality", "Quality", "percentage", "area 110010", &quality, returned);
    let latency =
        ["min minimum absolute 1 1000000", "max maximum absolute 1 1000000", "avg average absolute 1 1000000"];
    let times = host.part.mean().map_or_else(String::new, |mean| {
        format!("SET min = {}\nSET avg = {}\nSET max = {}\n", shortest.0, mean.0, longest.0)
    });
    chart("latency", "Latency", "ms", "area 110000", &latency, times);
    text
}

/// The totals; `unreachable` hosts of `hosts`, behind so much time.
pub fn totals(totals: &Totals, hosts: usize, unreachable: usize, elapsed: Nanos) -> String {
    let Totals { alive, unknown, timeouts, sent, replies, others, times } = totals;
    let mut text = format!(
        "\n {hosts:7} targets\n {alive:7} alive\n {unreachable:7} unreachable\n {unknown:7} unknown addresses\n\n \
         {timeouts:7} timeouts (waiting for response)\n {sent:7} ICMP Echos sent\n {replies:7} ICMP Echo Replies received\n \
         {others:7} other ICMP received\n\n"
    );
    // Without a reply the original has noughts here, and its readers want the lines.
    for (time, what) in [(times.shortest, "min"), (times.mean().unwrap_or_default(), "avg"), (times.longest, "max")] {
        let _ = writeln!(text, " {} ms ({what} round trip time)", millis(time));
    }
    let _ = writeln!(text, " {:12.3} sec (elapsed real time)\n", elapsed.0 as f64 / 1e9);
    text
}

/// The verdict of `-x`.
pub fn enough(wanted: u32, reachable: usize) -> String {
    let beginning = if reachable >= wanted as usize { "Enough" } else { "Not enough" };
    format!("{beginning} hosts reachable (required: {wanted}, reachable: {reachable})\n")
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn host() -> Host {
        let mut host = Host::new("10.0.0.1".into(), "10.0.0.1");
        host.answered(0, Nanos(32_000), true);
        host.lost(1, true);
        host.answered(2, Nanos(39_900), true);
        host
    }

    const FORM: Form = Form { width: 9, each: false, outage: None };

    #[test_case(32_499, "0.032"; "micros")]
    #[test_case(999_499, "0.999"; "below one")]
    #[test_case(1_234_000, "1.23"; "one")]
    #[test_case(12_340_000, "12.3"; "ten")]
    #[test_case(123_400_000, "123"; "hundred")]
    #[test_case(1_234_500_000_000, "1.234e+06"; "a long time")]
    fn times_have_three_digits(nanos: u64, expected: &str) {
        assert_eq!(millis(Nanos(nanos)), expected);
    }

    #[test]
    fn lines_and_summaries() {
        let host = host();
        assert_eq!(
            reply(FORM, &host, (2, 64, Nanos(39_900))),
            "10.0.0.1  : [2], 64 bytes, 0.040 ms (0.036 avg, 33% loss)\n"
        );
        assert_eq!(lost(FORM, &host, 1), "10.0.0.1  : [1], timed out (0.036 avg, 33% loss)\n");
        let hosts = [host, Host::new("a".into(), "a")];
        assert_eq!(
            summary(FORM, &hosts),
            "10.0.0.1  : xmt/rcv/%loss = 3/2/33%, min/avg/max = 0.032/0.036/0.040\na         : xmt/rcv/%loss = 0/0/0%\n"
        );
        let outage = Form { outage: Some(Nanos::millis(50)), ..FORM };
        assert!(summary(outage, &hosts).contains("33%, outage(ms) = 50, min/avg/max"));
        let each = Form { each: true, ..FORM };
        assert_eq!(summary(each, &hosts), "10.0.0.1  : 0.032 - 0.040\na         :\n");
    }

    #[test]
    fn errors_have_the_original_s_words() {
        let from = "10.0.0.9".parse().unwrap();
        assert_eq!(
            error(&host(), from, 3, 1).unwrap(),
            "ICMP Host Unreachable from 10.0.0.9 for ICMP Echo sent to 10.0.0.1\n"
        );
        assert!(error(&host(), from, 3, 200).unwrap().starts_with("ICMP Unreachable (Invalid Code)"));
        assert_eq!(error(&host(), from, 13, 0), None);
    }

    #[test]
    fn netdata_is_told_once_what_to_draw() {
        let hosts = [host()];
        let first = netdata(&hosts, Nanos::secs(1), true);
        assert!(first.starts_with("CHART fping.10_0_0_1_packets '' 'FPing Packets for host 10.0.0.1' packets '10.0.0.1' fping.packets line 110020 1\nDIMENSION xmt sent absolute 1 1\n"), "{first}");
        let next = netdata(&hosts, Nanos::secs(1), false);
        assert!(
            !next.contains("CHART") && next.contains("SET min = 32000\nSET avg = 35950\nSET max = 39900\n"),
            "{next}"
        );
    }
}
