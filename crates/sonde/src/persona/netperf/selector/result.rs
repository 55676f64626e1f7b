//! Selectors of the result: what it is of, how much, of what sizes, and how sure.

use super::{Row, int, int_or, row, three, two};
use crate::persona::netperf::test_name::SocketType;
use crate::persona::netperf::view::View;

/// The first block of `all`.
pub(super) const ROWS: [Row; 24] = [
    row("SOCKET_TYPE", &["Socket", "Type"], |v| Some(socket_type(v).to_owned())),
    row("PROTOCOL", &["Protocol"], |v| Some(v.options.data.transport.name().to_owned())),
    row("DIRECTION", &["Direction"], |v| Some(v.options.data.direction.words().to_owned())),
    row("ELAPSED_TIME", &["Elapsed", "Time", "(sec)"], |v| two(v.figures.elapsed_s)),
    row("THROUGHPUT", &["Throughput"], |v| two(v.figures.throughput)),
    row("THROUGHPUT_UNITS", &["Throughput", "Units"], |v| Some(format!("{}/s", v.options.display.unit.text()))),
    row("LSS_SIZE_REQ", &["Local", "Send Socket", "Size", "Requested"], |v| {
        int_or(v.options.data.send_buffer_bytes.local, -1)
    }),
    row("LSS_SIZE", &["Local", "Send Socket", "Size", "Initial"], |v| int_or(v.local().send_buffer_bytes, -1)),
    row("LSS_SIZE_END", &["Local", "Send Socket", "Size", "Final"], |v| int_or(v.local().send_buffer_end_bytes, -1)),
    row("LSR_SIZE_REQ", &["Local", "Recv Socket", "Size", "Requested"], |v| {
        int_or(v.options.data.receive_buffer_bytes.local, -1)
    }),
    row("LSR_SIZE", &["Local", "Recv Socket", "Size", "Initial"], |v| int_or(v.local().receive_buffer_bytes, -1)),
    row("LSR_SIZE_END", &["Local", "Recv Socket", "Size", "Final"], |v| int_or(v.local().receive_buffer_end_bytes, -1)),
    row("RSS_SIZE_REQ", &["Remote", "Send Socket", "Size", "Requested"], |v| {
        int_or(v.options.data.send_buffer_bytes.remote, -1)
    }),
    row("RSS_SIZE", &["Remote", "Send Socket", "Size", "Initial"], |v| int_or(v.remote().send_buffer_bytes, -1)),
    row("RSS_SIZE_END", &["Remote", "Send Socket", "Size", "Final"], |v| int_or(v.remote().send_buffer_end_bytes, -1)),
    row("RSR_SIZE_REQ", &["Remote", "Recv Socket", "Size", "Requested"], |v| {
        int_or(v.options.data.receive_buffer_bytes.remote, -1)
    }),
    row("RSR_SIZE", &["Remote", "Recv Socket", "Size", "Initial"], |v| int_or(v.remote().receive_buffer_bytes, -1)),
    row("RSR_SIZE_END", &["Remote", "Recv Socket", "Size", "Final"], |v| {
        int_or(v.remote().receive_buffer_end_bytes, -1)
    }),
    row("LOCAL_SEND_SIZE", &["Local", "Send", "Size"], |v| {
        int(local_size(v, v.local().send_bytes, v.options.data.send_bytes.local))
    }),
    row("LOCAL_RECV_SIZE", &["Local", "Recv", "Size"], |v| {
        int(local_size(v, v.local().receive_bytes, v.options.data.receive_bytes.local))
    }),
    row("REMOTE_SEND_SIZE", &["Remote", "Send", "Size"], |v| int_or(v.remote().send_bytes, -1)),
    row("REMOTE_RECV_SIZE", &["Remote", "Recv", "Size"], |v| int_or(v.remote().receive_bytes, -1)),
    row("REQUEST_SIZE", &["Request", "Size", "Bytes"], |v| int_or(v.options.data.request_bytes, -1)),
    row("RESPONSE_SIZE", &["Response", "Size", "Bytes"], |v| int_or(v.options.data.response_bytes, -1)),
];

/// Confidence, and rates beside the result.
pub(super) const CERTAINTY: [Row; 12] = [
    row("CONFIDENCE_LEVEL", &["Confidence", "Level", "Percent"], |v| {
        int_or(v.options.confidence.map(|asked| asked.level), 0)
    }),
    row("CONFIDENCE_INTERVAL", &["Confidence", "Width", "Target"], |v| {
        Some(format!("{:.6}", v.options.confidence.map_or(-1.0, |asked| asked.width_percent)))
    }),
    row("CONFIDENCE_ITERATION", &["Confidence", "Iterations", "Run"], |v| int(v.facts.iterations.len() as u64)),
    row("THROUGHPUT_CONFID", &["Throughput", "Confidence", "Width (%)"], |v| {
        three(v.figures.width_percent.map_or(-1.0, |width| width.throughput))
    }),
    row("LOCAL_CPU_CONFID", &["Local", "CPU", "Confidence", "Width (%)"], |v| {
        three(v.figures.width_percent.map_or(-1.0, |width| width.local_cpu))
    }),
    row("REMOTE_CPU_CONFID", &["Remote", "CPU", "Confidence", "Width (%)"], |v| {
        three(v.figures.width_percent.map_or(-1.0, |width| width.remote_cpu))
    }),
    row("TRANSACTION_RATE", &["Transaction", "Rate", "Tran/s"], |v| three(v.figures.transaction_rate)),
    row("RT_LATENCY", &["Round", "Trip", "Latency", "usec/tran"], |v| three(v.figures.round_trip_us.unwrap_or(-1.0))),
    row("BURST_SIZE", &["Initial", "Burst", "Requests"], |v| int(v.options.data.first_burst)),
    row("LOCAL_TRANSPORT_RETRANS", &["Local", "Transport", "Retransmissions"], |v| int_or(v.local().retransmits, -1)),
    row("REMOTE_TRANSPORT_RETRANS", &["Remote", "Transport", "Retransmissions"], |v| {
        int_or(v.remote().retransmits, -1)
    }),
    row("TRANSPORT_MSS", &["Transport", "MSS", "bytes"], |v| int_or(v.last.mss_bytes, -1)),
];

fn socket_type(v: &View<'_>) -> &'static str {
    v.options.data.socket_type.unwrap_or_else(|| SocketType::of(v.options.data.transport)).name()
}

/// Bytes of a call: as resolved in one-way tests, as asked for (0 where not) in those of transactions.
fn local_size(v: &View<'_>, resolved: Option<u32>, asked: Option<u32>) -> u32 {
    let size = if v.options.data.direction.is_transactions() { asked } else { resolved };
    size.unwrap_or(0)
}
