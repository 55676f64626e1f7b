//! Selectors of what was moved: rates each way, calls, bytes, buffers.

use super::{Row, always, int, int_or, row, two};
use crate::persona::netperf::facts::End;
use crate::persona::netperf::unit::quotient;
use crate::persona::netperf::view::View;

/// Rates of each direction, as each end counted.
pub(super) const RATES: [Row; 4] = [
    row("LOCAL_SEND_THROUGHPUT", &["Local", "Send", "Throughput"], |v| two(one_way(v, v.local().sent_bytes))),
    row("LOCAL_RECV_THROUGHPUT", &["Local", "Recv", "Throughput"], |v| two(one_way(v, v.local().received_bytes))),
    row("REMOTE_SEND_THROUGHPUT", &["Remote", "Send", "Throughput"], |v| two(one_way(v, v.remote().sent_bytes))),
    row("REMOTE_RECV_THROUGHPUT", &["Remote", "Recv", "Throughput"], |v| two(one_way(v, v.remote().received_bytes))),
];

/// Calls, bytes and buffers of each end.
pub(super) const ROWS: [Row; 36] = [
    row("LOCAL_SEND_CALLS", &["Local", "Send", "Calls"], |v| int(v.local().send_calls)),
    row("LOCAL_RECV_CALLS", &["Local", "Recv", "Calls"], |v| int(v.local().receive_calls)),
    row("LOCAL_BYTES_PER_RECV", &["Local", "Bytes", "Per", "Recv"], |v| two(per_receive(v.local()))),
    row("LOCAL_BYTES_PER_SEND", &["Local", "Bytes", "Per", "Send"], |v| two(per_send(v.local()))),
    row("LOCAL_BYTES_SENT", &["Local", "Bytes", "Sent"], |v| int(v.local().sent_bytes)),
    row("LOCAL_BYTES_RECVD", &["Local", "Bytes", "Received"], |v| int(v.local().received_bytes)),
    row("LOCAL_BYTES_XFERD", &["Local", "Bytes", "Xferred"], |v| int(v.local().sent_bytes + v.local().received_bytes)),
    row("LOCAL_SEND_OFFSET", &["Local", "Send", "Offset"], |v| int(v.options.buffers.send_offset.local)),
    row("LOCAL_RECV_OFFSET", &["Local", "Recv", "Offset"], |v| int(v.options.buffers.receive_offset.local)),
    row("LOCAL_SEND_ALIGN", &["Local", "Send", "Alignment"], |v| int(v.options.buffers.send_alignment.local)),
    row("LOCAL_RECV_ALIGN", &["Local", "Recv", "Alignment"], |v| int(v.options.buffers.receive_alignment.local)),
    row("LOCAL_SEND_WIDTH", &["Local", "Send", "Width"], |v| int_or(v.local().send_width, 0)),
    row("LOCAL_RECV_WIDTH", &["Local", "Recv", "Width"], |v| int_or(v.local().receive_width, 0)),
    always("LOCAL_SEND_DIRTY_COUNT", &["Local", "Send", "Dirty", "Count"], "-1"),
    always("LOCAL_RECV_DIRTY_COUNT", &["Local", "Recv", "Dirty", "Count"], "-1"),
    always("LOCAL_RECV_CLEAN_COUNT", &["Local", "Recv", "Clean", "Count"], "-1"),
    row("LOCAL_NODELAY", &["Local", "NODELAY"], |v| int(v.local().nodelay)),
    row("LOCAL_CORK", &["Local", "Cork"], |v| int(v.options.data.cork)),
    row("REMOTE_SEND_CALLS", &["Remote", "Send", "Calls"], |v| int(v.remote().send_calls)),
    row("REMOTE_RECV_CALLS", &["Remote", "Recv", "Calls"], |v| int(v.remote().receive_calls)),
    row("REMOTE_BYTES_PER_RECV", &["Remote", "Bytes", "Per", "Recv"], |v| two(per_receive(v.remote()))),
    row("REMOTE_BYTES_PER_SEND", &["Remote", "Bytes", "Per", "Send"], |v| two(per_send(v.remote()))),
    row("REMOTE_BYTES_SENT", &["Remote", "Bytes", "Sent"], |v| int(v.remote().sent_bytes)),
    row("REMOTE_BYTES_RECVD", &["Remote", "Bytes", "Received"], |v| int(v.remote().received_bytes)),
    row("REMOTE_BYTES_XFERD", &["Remote", "Bytes", "Xferred"], |v| {
        int(v.remote().sent_bytes + v.remote().received_bytes)
    }),
    row("REMOTE_SEND_OFFSET", &["Remote", "Send", "Offset"], |v| int(v.options.buffers.send_offset.remote)),
    row("REMOTE_RECV_OFFSET", &["Remote", "Recv", "Offset"], |v| int(v.options.buffers.receive_offset.remote)),
    row("REMOTE_SEND_ALIGN", &["Remote", "Send", "Alignment"], |v| int(v.options.buffers.send_alignment.remote)),
    row("REMOTE_RECV_ALIGN", &["Remote", "Recv", "Alignment"], |v| int(v.options.buffers.receive_alignment.remote)),
    row("REMOTE_SEND_WIDTH", &["Remote", "Send", "Width"], |v| int_or(v.remote().send_width, 0)),
    row("REMOTE_RECV_WIDTH", &["Remote", "Recv", "Width"], |v| int_or(v.remote().receive_width, 0)),
    always("REMOTE_SEND_DIRTY_COUNT", &["Remote", "Send", "Dirty", "Count"], "-1"),
    always("REMOTE_RECV_DIRTY_COUNT", &["Remote", "Recv", "Dirty", "Count"], "-1"),
    always("REMOTE_RECV_CLEAN_COUNT", &["Remote", "Recv", "Clean", "Count"], "-1"),
    row("REMOTE_NODELAY", &["Remote", "NODELAY"], |v| int(v.remote().nodelay)),
    row("REMOTE_CORK", &["Remote", "Cork"], |v| int(v.options.data.cork)),
];

fn one_way(v: &View<'_>, bytes: u64) -> f64 {
    v.options.display.unit.of_bytes(bytes as f64, v.figures.last_elapsed_s)
}

fn per_send(end: &End) -> f64 {
    quotient(end.sent_bytes as f64, end.send_calls as f64)
}

fn per_receive(end: &End) -> f64 {
    quotient(end.received_bytes as f64, end.receive_calls as f64)
}
