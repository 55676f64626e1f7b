//! Lines of the original as the values that they show, and those as lines again.

use std::collections::BTreeMap;

use measure::unit::Nanos;

use crate::persona::iperf::options::{Form, Histograms};
use crate::persona::iperf::output::bounce::{Bounces, OneWay};
use crate::persona::iperf::output::connection::{Connection, Mark};
use crate::persona::iperf::output::csv::{Datagrams, Row};
use crate::persona::iperf::output::heading::Heading;
use crate::persona::iperf::output::histogram::Histogram;
use crate::persona::iperf::output::line::{Carried, Moments, Span, Style, Tag};
use crate::persona::iperf::output::tcp::{Bursts, Reads, Writer};
use crate::persona::iperf::output::udp::{self, Received, Receiver, Sender};

/// The line made again from its values; `None`: no such line is known.
pub fn again(line: &str, style: Style) -> Option<String> {
    let (tag, rest) = tag(line)?;
    if rest.starts_with("local ") {
        return connection(tag, rest).map(|connection| connection.line(false, style.form));
    }
    if let Some(rest) = rest.strip_prefix("Sent ") {
        return Some(udp::sent(tag, rest.strip_suffix(" datagrams")?.parse().ok()?));
    }
    if rest == "Server Report:" {
        let Tag::Stream(id) = tag else { return None };
        return Some(udp::server_report(id));
    }
    let (span, rest) = span(rest)?;
    if let Some(count) = rest.strip_suffix(" datagrams received out-of-order") {
        return Some(udp::out_of_order(tag, span, count.trim().parse().ok()?, style));
    }
    if rest.contains("-PDF: ") {
        return histogram(tag, span, rest, style);
    }
    if rest.contains(" OWD ") {
        return one_way(tag, span, rest, style);
    }
    let (carried, words) = carried(tag, span, rest)?;
    data(&carried, &words, rest, style)
}

/// Heading over a line; `None`: there is none.
pub fn heading(line: &str, style: Style) -> Option<Heading> {
    let (tag, rest) = tag(line)?;
    let (span, rest) = span(rest)?;
    if rest.contains("out-of-order") || rest.contains("-PDF: ") || rest.contains("OWD ") {
        return None;
    }
    let (_, words) = carried(tag, span, rest)?;
    if style.form == Form::V2_2_1 && matches!(tag, Tag::SumOf(_)) {
        return Some(match words.as_slice() {
            [one] if one.contains('=') => Heading::Readers,
            [_, _, "pps"] => Heading::Senders,
            [.., "pps"] => Heading::Receivers,
            _ => Heading::Writers,
        });
    }
    Some(match words.as_slice() {
        [] => Heading::Plain,
        [.., "rps"] => Heading::Bounce,
        [.., last] if last.starts_with("RPS=") => Heading::Bounce,
        [count, _, "pps"] if !count.contains('/') => Heading::BothWays,
        [_, _, "pps"] => Heading::Sender,
        [.., "pkts", _] | [.., "pkts", _, _] => Heading::Receiver,
        [_, "ms", _, _, _, "ms", _, "pps", _, _] => Heading::Read,
        [_, "ms", _, _] => Heading::Received,
        [one] if one.contains('=') => Heading::Reader,
        [.., last] if last.contains('=') => Heading::Bursts,
        // A sum says less than its heading.
        [_, percent] if percent.ends_with("%)") => Heading::Plain,
        _ => Heading::Writer,
    })
}

fn data(carried: &Carried, words: &[&str], rest: &str, style: Style) -> Option<String> {
    match words {
        [] => Some(carried.line(style)),
        [count, rate, "pps"] if !count.contains('/') => {
            Some(udp::both_ways(carried, count.parse().ok()?, rate.parse().ok()?, style))
        }
        [counts, rate, "pps"] if style.form == Form::V2_2_1 && matches!(carried.tag, Tag::SumOf(_)) => {
            let (writes, errors) = pair(counts)?;
            Some(Sender { writes, errors, per_second: rate.parse().ok()? }.sum(carried, style))
        }
        [counts, _, latency, rate, "pps"] => {
            let values: Vec<f64> = latency.split('/').map_while(|part| part.parse().ok()).collect();
            let &[mean_ms, min_ms, max_ms] = values.as_slice() else { return None };
            let latency = Moments { mean_ms, min_ms, max_ms, ..Moments::default() };
            Some(received("0", counts)?.sum_counted(carried, Some(latency), rate.parse().ok()?, style))
        }
        [jitter, "ms", counts, _, latency, "ms", rate, "pps", calls, power] => {
            let receiver = Receiver {
                received: received(jitter, counts)?,
                latency: moments(latency),
                per_second: rate.parse().ok()?,
                count: 0,
                reads: Some(calls.split_once('/')?.0.parse().ok()?),
                timed: false,
            };
            Some(receiver.line_with(carried, moments(latency)?, power, style))
        }
        [counts, rate, "pps"] => {
            // 2.2.1 has writes that waited in vain behind them, of which there are none.
            let (writes, errors) = pair(counts.strip_suffix("/0").unwrap_or(counts)).or_else(|| pair(counts))?;
            Some(Sender { writes, errors, per_second: rate.parse().ok()? }.line(carried, style))
        }
        [jitter, "ms", counts, _] => Some(received(jitter, counts)?.line(carried, style)),
        [jitter, "ms", counts, _, latency, "ms", rate, "pps", flying, "pkts", power] => {
            let (count, _) = flying.split_once('/')?;
            let receiver = Receiver {
                received: received(jitter, counts)?,
                latency: moments(latency),
                per_second: rate.parse().ok()?,
                count: count.parse().ok()?,
                reads: None,
                timed: true,
            };
            Some(receiver.line_with(carried, moments(latency)?, power, style))
        }
        [jitter, "ms", counts, _, latency, "ms", rate, "pps", flying, "pkts", calls, power] => {
            let (count, _) = flying.split_once('/')?;
            let receiver = Receiver {
                received: received(jitter, counts)?,
                latency: moments(latency),
                per_second: rate.parse().ok()?,
                count: count.parse().ok()?,
                reads: Some(calls.split_once('/')?.0.parse().ok()?),
                timed: true,
            };
            Some(receiver.line_with(carried, moments(latency)?, power, style))
        }
        [counts, percent] if percent.ends_with("%)") => Some(received("0", counts)?.sum(carried, style)),
        [one] => Some(reads(one)?.line(carried, style)),
        [counts, retries] => {
            let (writes, errors) = pair(counts)?;
            let writer = Writer { writes, errors, retries: retries.parse().ok()?, ..Writer::default() };
            Some(writer.sum(carried, style))
        }
        [counts, retries, tcp, "us", power] if style.form == Form::V2_2_1 => {
            let (writes, errors) = pair(counts)?;
            let mut parts = tcp.split('/');
            let (flying, cwnd, times) = (segments(parts.next()?)?, segments(parts.next()?)?, parts.next()?);
            let (rtt, deviation) = times.split_once('(')?;
            let known = [flying, cwnd].into_iter().filter(|(_, count)| *count > 0);
            let segment = known.map(|(bytes, count)| bytes.div_ceil(count)).max().unwrap_or(1);
            let writer = Writer {
                writes,
                errors,
                retries: retries.parse().ok()?,
                cwnd_bytes: Some(cwnd.0),
                flying_bytes: Some(flying.0),
                segment_bytes: segment,
                rtt_us: rtt.parse().ok()?,
                deviation_us: deviation.strip_suffix(')')?.parse().ok()?,
            };
            Some(writer.line_with(carried, power, style))
        }
        [counts, retries, tcp, "us", power] => {
            let (writes, errors) = pair(counts)?;
            let (cwnd, times) = tcp.split_once("K/")?;
            let (rtt, deviation) = times.split_once('(')?;
            let writer = Writer {
                writes,
                errors,
                retries: retries.parse().ok()?,
                cwnd_bytes: Some(cwnd.parse::<u64>().ok()? * 1024),
                rtt_us: rtt.parse().ok()?,
                deviation_us: deviation.strip_suffix(')')?.parse().ok()?,
                ..Writer::default()
            };
            Some(writer.line_with(carried, power, style))
        }
        [.., "rps"] => bounces(carried, words, style),
        [.., rate] if rate.starts_with("RPS=") => bounces_newest(carried, words, rest, style),
        [latency, "ms", counts, _, _, power, reading] => {
            let (count, bytes) = pair(counts.strip_prefix('(')?.strip_suffix(')')?)?;
            let bursts = Bursts { count, latency: moments(latency)?, bytes };
            // Four places, the blanks in front among them.
            let (_, behind) = rest.split_once(&format!("{counts} "))?;
            let flying = behind.split_once(&format!(" {power}"))?.0;
            Some(bursts.line_with(carried, flying, power, &reads(reading)?, style))
        }
        _ => None,
    }
}

/// `1023K(16)`: bytes, and segments.
fn segments(text: &str) -> Option<(u64, u64)> {
    let (kilobytes, count) = text.strip_suffix(')')?.split_once("K(")?;
    let count: u64 = count.parse().ok()?;
    // A size that was cut off to whole kilobytes is so many segments.
    Some((kilobytes.parse::<u64>().ok()? * 1024 + if count > 0 { 1023 } else { 0 }, count))
}

fn bounces_newest(carried: &Carried, words: &[&str], rest: &str, style: Style) -> Option<String> {
    let [times, "ms", retries, ..] = words else { return None };
    let (count, times) = times.split_once('=')?;
    let size = |name: &str| {
        let (_, behind) = rest.split_once(name)?;
        let mut words = behind.split_whitespace();
        Some(bytes(words.next()?, words.next()?)? as u64)
    };
    let bounces = Bounces {
        count: count.parse().ok()?,
        bytes: (size("Tx=")?, size("Rx=")?),
        times: moments(times)?,
        retries: retries.parse().ok(),
        ..Bounces::default()
    };
    Some(bounces.line_with(carried, words.last()?.strip_prefix("RPS=")?, style))
}

fn bounces(carried: &Carried, words: &[&str], style: Style) -> Option<String> {
    let [times, "ms", retries, tcp, "us", rate, "rps"] = words else { return None };
    let (count, times) = times.split_once('=')?;
    let (cwnd, rtt) = tcp.split_once("K/")?;
    let bounces = Bounces {
        count: count.parse().ok()?,
        times: moments(times)?,
        retries: retries.parse().ok(),
        cwnd_bytes: Some(cwnd.parse::<u64>().ok()? * 1024),
        rtt_us: rtt.parse().ok(),
        ..Bounces::default()
    };
    Some(bounces.line_with(carried, rate, style))
}

fn one_way(tag: Tag, span: Span, rest: &str, style: Style) -> Option<String> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let behind = |name: &str| words.iter().find_map(|word| word.strip_prefix(name));
    let one_way = OneWay {
        count: behind("Cnt=")?.parse().ok()?,
        to: moments(behind("To=").or_else(|| behind("TX="))?)?,
        from: moments(behind("From=").or_else(|| behind("RX="))?)?,
        asymmetry: moments(behind("Asymmetry=")?)?,
    };
    Some(one_way.line_with(tag, span, words.iter().rev().nth(1)?, style))
}

fn histogram(tag: Tag, span: Span, rest: &str, style: Style) -> Option<String> {
    let (name, rest) = rest.trim_start().split_once("-PDF: bin(w=")?;
    let (width, rest) = rest.split_once("us):cnt(")?;
    let (_, rest) = rest.split_once(")=")?;
    let (bins, _) = rest.split_once(' ')?;
    let counts: Option<BTreeMap<u32, u64>> = bins
        .split(',')
        .map(|bin| bin.split_once(':').and_then(|(bin, count)| Some((bin.parse().ok()?, count.parse().ok()?))))
        .collect();
    let bins = Histograms { width_us: width.parse().ok()?, bins: 10_000 };
    Some(Histogram::of(bins, counts?, (0, 0)).line(tag, span, name, style))
}

fn tag(line: &str) -> Option<(Tag, &str)> {
    let (inner, rest) = line.strip_prefix('[')?.split_once("] ")?;
    let inner = inner.trim();
    let number = |text: &str| text.parse().ok();
    let tag = if inner == "SUM" {
        Tag::Sum
    } else if let Some(count) = inner.strip_prefix("SUM-") {
        Tag::SumOf(number(count)?)
    } else if let Some(id) = inner.strip_prefix("FD") {
        Tag::Duplex(number(id)?)
    } else if let Some(id) = inner.strip_prefix('*') {
        Tag::Turned(number(id)?)
    } else {
        Tag::Stream(number(inner)?)
    };
    Some((tag, rest))
}

fn span(text: &str) -> Option<(Span, &str)> {
    let (times, rest) = text.split_once(" sec ")?;
    let (from, to) = times.split_once('-')?;
    let time = |text: &str| text.parse::<f64>().ok().map(|seconds| Nanos((seconds * 1e9).round() as u64));
    Some((Span { from: time(from)?, to: time(to)? }, rest))
}

fn carried(tag: Tag, span: Span, rest: &str) -> Option<(Carried, Vec<&str>)> {
    let mut words = rest.split_whitespace();
    let bytes = bytes(words.next()?, words.next()?.strip_suffix('s')?)?;
    let bytes_per_s = rate(words.next()?, words.next()?.strip_suffix("s/sec")?)?;
    Some((Carried { tag, span, bytes, bytes_per_s }, words.collect()))
}

/// An amount of bytes as printed.
pub fn bytes(number: &str, unit: &str) -> Option<f64> {
    let power = ["Byte", "KByte", "MByte", "GByte"].iter().position(|known| *known == unit)?;
    Some(number.parse::<f64>().ok()? * 1024_f64.powi(power as i32))
}

fn rate(number: &str, unit: &str) -> Option<f64> {
    match ["bit", "Kbit", "Mbit", "Gbit"].iter().position(|known| *known == unit) {
        Some(power) => {
            let value: f64 = number.parse().ok()?;
            // A thousand of a unit was a little less, for it would be one of the next.
            let value = if value == 1000.0 { 999.9 } else { value };
            Some(value * 1000_f64.powi(power as i32) / 8.0)
        }
        None => bytes(number, unit),
    }
}

fn received(jitter: &str, counts: &str) -> Option<Received> {
    let (lost, total) = counts.split_once('/')?;
    let (lost, total) = (lost.parse().ok()?, total.parse().ok()?);
    Some(Received { jitter_ms: jitter.parse().ok()?, lost, total, out_of_order: 0 })
}

fn moments(text: &str) -> Option<Moments> {
    let values: Vec<f64> = text.split('/').map_while(|part| part.parse().ok()).collect();
    let &[mean_ms, min_ms, max_ms, deviation_ms] = values.as_slice() else { return None };
    Some(Moments { mean_ms, min_ms, max_ms, deviation_ms })
}

fn reads(text: &str) -> Option<Reads> {
    let (_, bins) = text.split_once('=')?;
    let bins: Vec<u64> = bins.split(':').map_while(|bin| bin.parse().ok()).collect();
    bins.try_into().ok().map(Reads)
}

fn pair(text: &str) -> Option<(u64, u64)> {
    let (one, other) = text.split_once('/')?;
    Some((one.parse().ok()?, other.parse().ok()?))
}

fn connection(tag: Tag, rest: &str) -> Option<Connection> {
    let rest = rest.strip_prefix("local ")?;
    let (local, rest) = rest.split_once(" port ")?;
    let (local, device) = match local.split_once('%') {
        Some((local, device)) => (local, Some(device.to_owned())),
        None => (local, None),
    };
    let (port, rest) = rest.split_once(" connected with ")?;
    let (peer, rest) = rest.split_once(" port ")?;
    let (peer_port, marks) = rest.split_once(' ').unwrap_or((rest, ""));
    Some(Connection {
        tag,
        local: format!("{local}:{port}").parse().ok()?,
        device,
        peer: format!("{peer}:{peer_port}").parse().ok()?,
        marks: all_marks(marks)?,
    })
}

fn all_marks(text: &str) -> Option<Vec<Mark>> {
    let (marks, moment) = match text.strip_prefix("on ") {
        Some(moment) => ("", Some(moment)),
        None => text.split_once(" on ").map_or((text, None), |(marks, moment)| (marks, Some(moment))),
    };
    let inner = marks.split(") (").map(|mark| mark.trim_matches(['(', ')'])).filter(|mark| !mark.is_empty());
    let mut all: Vec<Mark> = inner.map(mark).collect::<Option<_>>()?;
    all.extend(moment.map(|moment| Mark::On(moment.to_owned())));
    Some(all)
}

fn mark(text: &str) -> Option<Mark> {
    match text {
        "reverse" => return Some(Mark::Reverse),
        "full-duplex" => return Some(Mark::FullDuplex),
        "no-udp-fin" => return Some(Mark::NoUdpFin),
        "trip-times" => return Some(Mark::TripTimes),
        "qack" => return Some(Mark::QuickAcks),
        _ => {}
    }
    if let Some(bytes) = text.strip_prefix("prefetch=") {
        return Some(Mark::Prefetch(bytes.parse().ok()?));
    }
    if let Some(octet) = text.strip_prefix("tos tx=0x") {
        return Some(Mark::Service(u8::from_str_radix(octet.split(',').next()?, 16).ok()?));
    }
    if ["cubic", "bbr", "reno"].contains(&text) {
        return Some(Mark::Congestion(text.to_owned()));
    }
    if let Some(number) = text.strip_prefix("sock=") {
        return Some(Mark::Socket(number.parse().ok()?));
    }
    if let Some(version) = text.strip_prefix("peer ") {
        let (version, status) = version.strip_suffix("-rc").map_or((version, ""), |version| (version, "-rc"));
        let parts: Vec<u16> = version.split('.').map_while(|part| part.parse().ok()).collect();
        return Some(Mark::Peer(parts.try_into().ok()?, status));
    }
    if let Some(values) = text.strip_prefix("icwnd/mss/irtt=") {
        let values: Vec<u32> = values.split('/').map_while(|part| part.parse().ok()).collect();
        let &[window, segment, rtt_us] = values.as_slice() else { return None };
        return Some(Mark::Tcp { window, segment, rtt_us });
    }
    if let Some(time) = text.strip_prefix("ct=") {
        let millis: f64 = time.strip_suffix(" ms")?.parse().ok()?;
        return Some(Mark::Connected(Nanos((millis * 1e6).round() as u64)));
    }
    let (how, sizes) = text.strip_prefix("bb")?.split_once("hold=")?;
    let sizes: Vec<u32> = sizes.split('/').map_while(|size| size.parse().ok()).collect();
    let (bytes, reply, hold_us) = match sizes[..] {
        [bytes, hold] => (bytes, bytes, hold),
        [bytes, reply, hold] => (bytes, reply, hold),
        _ => return None,
    };
    Some(Mark::Bounces { quickack: how.contains("quickack"), bytes, reply, hold_us: hold_us.into() })
}

/// A line of comma-separated values.
pub fn row(line: &str) -> Row {
    let fields: Vec<&str> = line.split(',').collect();
    let number = |at: usize| fields[at].parse::<f64>().unwrap();
    let address = |at: usize| format!("{}:{}", fields[at], fields[at + 1]).parse().unwrap();
    let (from, to) = fields[6].split_once('-').unwrap();
    let time = |text: &str| Nanos((text.parse::<f64>().unwrap() * 1e9).round() as u64);
    let datagrams = (fields.len() > 9).then(|| {
        let (lost, total) = (number(10) as i64, number(11) as i64);
        match u64::try_from(total) {
            Err(_) => Datagrams::SentInAll,
            Ok(total) => {
                Datagrams::Received(Received { jitter_ms: number(9), lost, total, out_of_order: number(13) as u64 })
            }
        }
    });
    Row {
        when: fields[0].to_owned(),
        from: address(1),
        to: address(3),
        id: fields[5].parse().unwrap(),
        carried: Carried {
            tag: Tag::Stream(1),
            span: Span { from: time(from), to: time(to) },
            bytes: number(7),
            bytes_per_s: number(8) / 8.0,
        },
        datagrams,
    }
}
