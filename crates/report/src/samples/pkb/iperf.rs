//! The samples of `iperf`: one number a stream, and what was seen of it as metadata in the units that iperf prints.

use logbook::record::Record;
use measure::interval::arrivals::Datagrams;
use measure::interval::glance::TcpGlance;
use measure::method::Carrier;
use measure::study::figure::Figure;
use measure::throughput::{Interval, Throughput};
use measure::unit::{Bytes, Nanos};

use super::metrics::{Told, megabits, rate, retransmissions};

pub(super) fn of(told: &mut Told, record: &Record, series: bool) {
    let Some(stream) = &record.stream else { return };
    told.note("sending_thread_count", Some(record.method.spread.connections));
    told.note("runtime_in_seconds", record.method.stop.after_ns.map(|ns| ns.0 / 1_000_000_000));
    told.note("err_packet_count", Some(stream.ours.failed_calls));
    let all = Figure::Throughput.of(None, Some(stream)).map(megabits);
    if record.method.traffic.carrier() == Carrier::Udp {
        of_datagrams(told, record, stream);
        told.put("UDP Throughput", all, "Mbits/sec");
    } else {
        of_tcp(told, record, stream);
        if series {
            of_intervals(told, stream);
        }
        told.put("Throughput", all, "Mbits/sec");
    }
}

fn of_datagrams(told: &mut Told, record: &Record, stream: &Throughput) {
    told.note("buffer_size", record.sockets().first().and_then(|socket| socket.send_buffer_bytes).map(mebibytes));
    told.note("datagram_size_bytes", Some(record.method.traffic.request_bytes().0));
    let Some(each) = arrivals(stream) else { return };
    let expected: u64 = each.iter().map(|datagrams| datagrams.expected).fold(0, u64::saturating_add);
    told.note("write_packet_count", Some(expected));
    let pps = (stream.elapsed_ns.0 > 0).then(|| expected as f64 * 1e9 / stream.elapsed_ns.0 as f64);
    told.note("pps", pps.map(|pps| format!("{pps:.0}")));
    told.note("lost_datagrams", Some(each.iter().map(|datagrams| datagrams.lost).fold(0, i64::saturating_add)));
    told.note("total_datagrams", Some(expected));
    told.note(
        "out_of_order_datagrams",
        Some(each.iter().map(|datagrams| datagrams.out_of_order).fold(0, u64::saturating_add)),
    );
    let jitter = mean(each.iter().map(|datagrams| datagrams.jitter_ns));
    told.note("jitter", jitter.map(|ns| places(ns / 1e6, 3)));
    told.note("jitter_unit", jitter.map(|_| "ms"));
}

/// The datagrams of each stream, as their receiver counted them; absent where one of them did not tell.
fn arrivals(stream: &Throughput) -> Option<Vec<&Datagrams>> {
    let ours = stream.streams.iter().map(|stream| stream.datagrams.as_ref());
    let theirs = || stream.detail.iter().flat_map(|detail| &detail.theirs).map(|stream| stream.datagrams.as_ref());
    let whole = |each: Option<Vec<_>>| each.filter(|all| !all.is_empty());
    whole(ours.collect()).or_else(|| whole(theirs().collect()))
}

fn of_tcp(told: &mut Told, record: &Record, stream: &Throughput) {
    told.note("buffer_size", Some(mebibytes(record.method.traffic.request_bytes())));
    let window = record.sockets().first().and_then(|socket| socket.send_buffer_bytes);
    told.note("tcp_window_size", window.map(mebibytes));
    told.note("write_packet_count", Some(stream.ours.calls));
    told.note("retry_packet_count", retransmissions(stream));
    let glance =
        |of: fn(&TcpGlance) -> Option<f64>| mean(stream.streams.iter().map(|stream| stream.tcp.as_ref().and_then(of)));
    told.note("congestion_window", glance(congestion_window).map(|size| places(size, 1)));
    let rtt = glance(round_trip);
    told.note("rtt", rtt.map(|us| places(us, 2)));
    told.note("rtt_unit", rtt.map(|_| "us"));
    // Its power of a network: bytes a second by the round trip in seconds, in millions; of several streams their mean.
    let power = mean(stream.streams.iter().map(|one| {
        let rtt = one.tcp.as_ref()?.rtt_ns.filter(|rtt| rtt.0 > 0)?;
        let bits = rate(one.carried.bytes.0, one.elapsed_ns)?;
        Some(bits / 8.0 * 1e9 / rtt.0 as f64)
    }));
    told.note("netpwr", power.map(|power| places(power, 2)));
}

/// A congestion window in units of 1,024 bytes, its `K`.
fn congestion_window(tcp: &TcpGlance) -> Option<f64> {
    Some(tcp.cwnd_bytes?.0 as f64 / 1024.0)
}

/// A smoothed round trip in microseconds.
fn round_trip(tcp: &TcpGlance) -> Option<f64> {
    Some(tcp.rtt_ns?.0 as f64 / 1e3)
}

fn of_intervals(told: &mut Told, stream: &Throughput) {
    let counted: Vec<usize> = (0..stream.intervals.len()).filter(|at| !stream.intervals[*at].omitted).collect();
    let intervals: Vec<&Interval> = counted.iter().map(|at| &stream.intervals[*at]).collect();
    let listed =
        |each: Option<Vec<String>>| each.filter(|all| !all.is_empty()).map(|all| format!("[{}]", all.join(", ")));
    let list = |of: &dyn Fn(&Interval) -> Option<f64>| {
        listed(intervals.iter().map(|interval| Some(places(of(interval)?, 2))).collect())
    };
    // Mean of several streams, where each of them has a value.
    let glances = |of: fn(&TcpGlance) -> Option<f64>| {
        let at = |at: &usize| {
            let told = stream.streams.iter().map(|stream| of(stream.intervals.get(*at)?.tcp.as_ref()?));
            Some(places(mean(told)?, 2))
        };
        listed(counted.iter().map(at).collect())
    };
    told.note("interval_rtt_list", glances(round_trip));
    let windows = glances(congestion_window);
    told.note("congestion_window_scale", windows.as_ref().map(|_| "K"));
    told.note("interval_congestion_window_list", windows);
    let of_s = |ns: Nanos| ns.0 as f64 / 1e9;
    told.note("interval_throughput_list", list(&|interval| rate(interval.carried.bytes.0, interval.length_ns)));
    told.note("interval_start_time_list", list(&|interval| Some(of_s(interval.at_ns))));
    // Whole seconds and tenths, as it was asked for: an interval ends a little after that.
    told.note("interval_length_seconds", intervals.first().map(|first| places(of_s(first.length_ns), 1)));
    told.note("transfer_mbytes", Some(stream.ours.bytes.0 >> 20));
}

/// The mean; absent where one of them is, or there are none.
fn mean(each: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let all: Vec<f64> = each.collect::<Option<_>>()?;
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// Units of 2^20 bytes, as iperf prints sizes.
fn mebibytes(bytes: Bytes) -> String {
    places(bytes.0 as f64 / f64::from(1 << 20), 2)
}

/// A number of so many decimals at most, written as Python writes its floats: 4 is `4.0`.
fn places(number: f64, decimals: usize) -> String {
    let rounded = format!("{number:.decimals$}");
    format!("{:?}", rounded.parse::<f64>().unwrap_or(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_there() {
        assert_eq!(mebibytes(Bytes(4 << 20)), "4.0");
        assert_eq!(mebibytes(Bytes(128 << 10)), "0.12");
        assert_eq!(mebibytes(Bytes(212_992)), "0.2");
        assert_eq!((places(0.0021, 3), places(20_290.004, 2)), ("0.002".to_owned(), "20290.0".to_owned()));
        assert_eq!((mean([Some(1.0), None].into_iter()), mean([].into_iter())), (None, None));
    }
}
