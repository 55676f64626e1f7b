//! What `iperf`'s samples hold: its throughput, and in their metadata what it prints beside that, in the units it prints.
//!
//! Of several streams a round trip, a window and a power are the mean of theirs, as `PerfKit` Benchmarker takes them; where one did not
//! tell, there is none.

use logbook::record::Record;
use measure::method::Carrier;
use measure::study::figure::Figure;
use measure::throughput::Throughput;
use measure::throughput::glance::TcpGlance;
use measure::unit::{Bytes, Nanos};

use super::metrics::{Told, megabits, rate, retransmissions};

/// The samples of `record`; `series`: with lists of its intervals.
pub(super) fn tell(told: &mut Told, record: &Record, series: bool) {
    let Some(stream) = &record.stream else { return };
    told.note("sending_thread_count", Some(record.method.spread.connections));
    told.note("runtime_in_seconds", record.method.stop.after_ns.map(|ns| ns.0 / 1_000_000_000));
    let all = Figure::Throughput.of(None, Some(stream)).map(megabits);
    let socket_buffer = record.sockets().first().and_then(|socket| socket.send_buffer_bytes);
    if record.method.carrier == Carrier::Udp {
        datagrams(told, stream);
        told.note("datagram_size_bytes", Some(record.method.request_bytes.0));
        told.note("buffer_size", socket_buffer.map(megabytes));
        told.put("UDP Throughput", all, "Mbits/sec");
        return;
    }
    told.note("buffer_size", Some(megabytes(record.method.request_bytes)));
    told.note("tcp_window_size", socket_buffer.map(megabytes));
    told.note("retry_packet_count", retransmissions(stream));
    of_tcp(told, stream);
    if series {
        intervals(told, stream);
    }
    told.put("Throughput", all, "Mbits/sec");
}

fn datagrams(told: &mut Told, stream: &Throughput) {
    let datagrams = stream.streams.iter().map(|stream| stream.datagrams).collect::<Option<Vec<_>>>();
    let Some(each) = datagrams.filter(|each| !each.is_empty()) else { return };
    told.note("lost_datagrams", Some(each.iter().map(|datagrams| datagrams.lost).sum::<i64>()));
    told.note("total_datagrams", Some(each.iter().map(|datagrams| datagrams.expected).sum::<u64>()));
    told.note("out_of_order_datagrams", Some(each.iter().map(|datagrams| datagrams.out_of_order).sum::<u64>()));
    if let [one] = each.as_slice() {
        told.note("jitter", one.jitter_ns.map(|ns| format!("{:.3}", ns / 1e6)));
    }
}

/// What the senders' TCP knew at the end.
fn of_tcp(told: &mut Told, stream: &Throughput) {
    let each = || stream.streams.iter().map(|stream| (stream.tcp.as_ref(), stream));
    told.note("congestion_window", mean(each().map(|(tcp, _)| window(tcp?))));
    let round_trip = mean(each().map(|(tcp, _)| micros(tcp?)));
    told.note("rtt", round_trip);
    told.note("rtt_unit", round_trip.map(|_| "us"));
    // Its power of a network: bytes a second by the seconds of a round trip, in millions.
    let power = each().map(|(tcp, stream)| {
        let bytes_per_s = rate(stream.carried.bytes.0, stream.elapsed_ns)? * 1e6 / 8.0;
        micros(tcp?).filter(|rtt| *rtt > 0.0).map(|rtt| bytes_per_s / rtt)
    });
    told.note("netpwr", mean(power).map(|power| (power * 100.0).round() / 100.0));
}

fn intervals(told: &mut Told, stream: &Throughput) {
    let counted = || (0..stream.intervals.len()).filter(|at| !stream.intervals[*at].omitted);
    let rates = counted().map(|at| {
        let interval = &stream.intervals[at];
        rate(interval.carried.bytes.0, interval.length_ns).map(|rate| format!("{rate:.2}"))
    });
    told.note("interval_throughput_list", list(rates));
    let starts = counted().map(|at| Some(format!("{:.2}", stream.intervals[at].at_ns.0 as f64 / 1e9)));
    told.note("interval_start_time_list", list(starts));
    let seen = |at: usize, of: fn(&TcpGlance) -> Option<f64>| {
        mean(stream.streams.iter().map(|stream| of(stream.intervals.get(at)?.tcp.as_ref()?)))
            .map(|mean| mean.to_string())
    };
    told.note("interval_rtt_list", list(counted().map(|at| seen(at, micros))));
    let windows = list(counted().map(|at| seen(at, window)));
    told.note("congestion_window_scale", windows.as_ref().map(|_| "K"));
    told.note("interval_congestion_window_list", windows);
}

/// A list as Python writes it, where each is there.
fn list(each: impl Iterator<Item = Option<String>>) -> Option<String> {
    let each = each.collect::<Option<Vec<String>>>().filter(|each| !each.is_empty());
    each.map(|each| format!("[{}]", each.join(", ")))
}

/// The mean, where each is there.
fn mean(each: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let each = each.collect::<Option<Vec<f64>>>().filter(|each| !each.is_empty())?;
    Some(each.iter().sum::<f64>() / each.len() as f64)
}

/// A congestion window, in units of 1,024 bytes.
fn window(tcp: &TcpGlance) -> Option<f64> {
    tcp.cwnd_bytes.map(|bytes| (bytes.0 as f64 / 1024.0).round())
}

fn micros(tcp: &TcpGlance) -> Option<f64> {
    tcp.rtt_ns.map(|Nanos(ns)| ns as f64 / 1e3)
}

/// Units of 1,048,576 bytes, which it calls megabytes.
fn megabytes(bytes: Bytes) -> f64 {
    bytes.0 as f64 / 1_048_576.0
}
