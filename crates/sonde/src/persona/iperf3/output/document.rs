//! A run as JSON: its start, each interval, its end, and all of it as one.

use protocol::iperf3::parameters::{Direction, Protocol};
use protocol::iperf3::results::Output;

use crate::persona::iperf3::facts::{
    Datagrams, Outcome, Role, Slice, Stream, Summary, Test, bits_per_second, percent, seconds,
};
use crate::persona::iperf3::options::usage::{VERSION, system_info};
use crate::persona::iperf3::output::json::Value;
use crate::persona::iperf3::output::start::{ip, time};
use crate::persona::iperf3::output::{interval, summary};

type Entries = Vec<(&'static str, Value)>;

/// All of a run. A part that it did not come to is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Whole<'a> {
    /// The test, once its streams were there.
    pub test: Option<&'a Test>,
    /// Its intervals, each with a slice for every stream.
    pub intervals: &'a [Vec<Slice>],
    /// Its result.
    pub summary: Option<&'a Summary>,
    /// Its failure.
    pub error: Option<&'a str>,
    /// Output of the server.
    pub server_output: Option<&'a Output>,
}

impl Whole<'_> {
    /// As one object.
    pub fn value(&self) -> Value {
        let intervals = |test: &Test| self.intervals.iter().map(|slices| interval(test, slices)).collect();
        let mut entries = vec![
            ("start", start(self.test)),
            ("intervals", Value::Array(self.test.map_or_else(Vec::new, intervals))),
            ("end", self.test.zip(self.summary).map_or(Value::Object(Vec::new()), |(test, all)| end(test, all))),
        ];
        let text = |text: &str| Value::text(text);
        entries.extend(self.error.map(|error| ("error", text(error))));
        let of = |what: fn(&Test) -> Option<&String>| self.test.and_then(what);
        entries.extend(of(|test| test.title.as_ref()).map(|title| ("title", text(title))));
        entries.extend(of(|test| test.extra_data.as_ref()).map(|data| ("extra_data", text(data))));
        entries.extend(self.server_output.map(server_output));
        Value::Object(entries)
    }
}

/// Output of a server, by its key.
pub fn server_output(output: &Output) -> (&'static str, Value) {
    match output {
        Output::Text(printed) => ("server_output_text", Value::text(printed)),
        Output::Json(json) => ("server_output_json", Value::Raw(json.clone())),
    }
}

/// A line of `--json-stream`.
pub fn event(name: &str, data: Value) -> String {
    Value::Object(vec![("event", Value::text(name)), ("data", data)]).line()
}

/// Object of the test's start, once the streams are there; without a test the facts that are known before.
pub fn start(test: Option<&Test>) -> Value {
    let connected = test.map_or_else(Vec::new, |test| test.streams.iter().map(connected).collect());
    let mut entries = vec![
        ("connected", Value::Array(connected)),
        ("version", Value::text(VERSION)),
        ("system_info", Value::text(system_info())),
    ];
    if let Some(test) = test {
        entries.extend(match test.role {
            Role::Client { .. } => client_start(test),
            Role::Server { .. } => server_start(test),
        });
        entries.push(("test_start", test_start(test)));
    }
    Value::Object(entries)
}

fn connected(stream: &Stream) -> Value {
    Value::Object(vec![
        ("socket", Value::count(stream.label)),
        ("local_host", Value::text(ip(&stream.local))),
        ("local_port", Value::count(stream.local.port())),
        ("remote_host", Value::text(ip(&stream.remote))),
        ("remote_port", Value::count(stream.remote.port())),
    ])
}

fn client_start(test: &Test) -> Entries {
    [agreed(test), rates(test), buffers(test)].concat()
}

/// The target's rate stands there twice, as in the original.
fn server_start(test: &Test) -> Entries {
    let rate = vec![("target_bitrate", Value::count(test.rate))];
    match test.protocol {
        Protocol::Udp => [rate, agreed(test), rates(test), buffers(test)].concat(),
        _ => [rate, buffers(test), agreed(test), rates(test)].concat(),
    }
}

fn agreed(test: &Test) -> Entries {
    let timestamp = Value::Object(vec![
        ("time", Value::text(time(test.began_ms))),
        ("timesecs", Value::Integer(test.began_ms.div_euclid(1_000))),
        ("timemillisecs", Value::Integer(test.began_ms)),
    ]);
    let place =
        |host: String, port: u16| Value::Object(vec![("host", Value::text(host)), ("port", Value::count(port))]);
    let peer = match &test.role {
        Role::Client { host, port } => ("connecting_to", place(host.clone(), *port)),
        Role::Server { client } => ("accepted_connection", place(ip(client), client.port())),
    };
    let mut entries = vec![("timestamp", timestamp), peer, ("cookie", Value::text(&test.cookie))];
    if test.protocol != Protocol::Udp {
        entries.push(match test.segment_bytes {
            Some(bytes) => ("tcp_mss", Value::count(bytes)),
            None => ("tcp_mss_default", Value::count(test.control_segment_bytes)),
        });
    }
    entries
}

fn rates(test: &Test) -> Entries {
    vec![("target_bitrate", Value::count(test.rate)), ("fq_rate", Value::count(test.fq_rate))]
}

fn buffers(test: &Test) -> Entries {
    vec![
        ("sock_bufsize", Value::count(test.window)),
        ("sndbuf_actual", Value::count(test.send_buffer.unwrap_or(0))),
        ("rcvbuf_actual", Value::count(test.receive_buffer.unwrap_or(0))),
    ]
}

fn test_start(test: &Test) -> Value {
    let flag = |flag: bool| Value::count(u8::from(flag));
    Value::Object(vec![
        ("protocol", Value::text(test.protocol.name())),
        ("num_streams", Value::count(test.parallel)),
        ("blksize", Value::count(test.block_bytes)),
        ("omit", Value::count(test.omit_s)),
        ("duration", Value::count(test.time_s)),
        ("bytes", Value::count(test.bytes)),
        ("blocks", Value::count(test.blocks)),
        ("reverse", flag(test.direction == Direction::Reverse)),
        ("tos", Value::count(test.tos)),
        ("target_bitrate", Value::count(test.rate)),
        ("bidir", flag(test.direction == Direction::Both)),
        ("fqrate", Value::count(test.fq_rate)),
        ("interval", Value::Number(test.interval_s)),
        ("gso", flag(test.segmented)),
        ("gro", flag(test.segmented)),
    ])
}

/// One interval.
pub fn interval(test: &Test, slices: &[Slice]) -> Value {
    let streams = test.streams.iter().zip(slices);
    let streams = streams.map(|(stream, slice)| slice_of(test, slice, Some(stream.label), stream.sends)).collect();
    let mut entries = vec![("streams", Value::Array(streams))];
    for (name, sends) in ["sum", "sum_bidir_reverse"].into_iter().zip(test.ways()) {
        if let Some(sum) = interval::sum(test, slices, sends) {
            entries.push((name, slice_of(test, &sum, None, sends)));
        }
    }
    Value::Object(entries)
}

/// A stream in an interval; without a number all of its direction.
fn slice_of(test: &Test, slice: &Slice, label: Option<u32>, sends: bool) -> Value {
    let length = interval::length(slice);
    let mut entries = Vec::new();
    entries.extend(label.map(|label| ("socket", Value::count(label))));
    entries.extend([
        ("start", Value::Number(seconds(slice.start_ns))),
        ("end", Value::Number(seconds(slice.end_ns))),
        ("seconds", Value::Number(length)),
        ("bytes", Value::count(slice.bytes)),
        ("bits_per_second", Value::Number(bits_per_second(slice.bytes, length))),
    ]);
    match (test.protocol, sends) {
        (Protocol::Udp, true) => entries.push(("packets", Value::count(slice.datagrams.packets))),
        (Protocol::Udp, false) => entries.extend(lost(&slice.datagrams)),
        (_, true) => entries.extend(sender_tcp(slice, label.is_some())),
        (_, false) => {}
    }
    entries.extend([("omitted", Value::Flag(slice.omitted)), ("sender", Value::Flag(sends))]);
    Value::Object(entries)
}

fn sender_tcp(slice: &Slice, of_one: bool) -> Entries {
    let Some(retransmits) = slice.retransmits else { return Vec::new() };
    let mut entries = vec![("retransmits", Value::count(retransmits))];
    if of_one {
        entries.extend([
            ("snd_cwnd", Value::count(slice.tcp.cwnd)),
            ("snd_wnd", Value::count(slice.tcp.window)),
            ("rtt", Value::count(slice.tcp.rtt_us)),
            ("rttvar", Value::count(slice.tcp.rttvar_us)),
            ("pmtu", Value::count(slice.tcp.pmtu)),
            ("reorder", Value::count(slice.tcp.reorder)),
        ]);
    }
    entries
}

fn lost(datagrams: &Datagrams) -> Entries {
    let Datagrams { packets, lost, jitter_s, .. } = *datagrams;
    vec![
        ("jitter_ms", Value::Number(jitter_s * 1e3)),
        ("lost_packets", lost.map_or(Value::Null, Value::Integer)),
        ("packets", Value::count(packets)),
        ("lost_percent", lost.map_or(Value::Null, |lost| Value::Number(percent(lost, packets)))),
    ]
}

/// Object of the test's end.
pub fn end(test: &Test, all: &Summary) -> Value {
    let streams = test.streams.iter().zip(&all.outcomes);
    let mut entries = vec![(
        "streams",
        Value::Array(streams.map(|(stream, outcome)| stream_end(test, all, stream, outcome)).collect()),
    )];
    let names = [["sum", "sum_sent", "sum_received"], BIDIR];
    for ([sum, sent, received], sends) in names.into_iter().zip(test.ways()) {
        let whole = summary::sum(test, all, sends);
        entries.extend(match test.protocol {
            Protocol::Udp => udp_sums([sum, sent, received], all, &whole, sends),
            _ => tcp_sums([sent, received], all, &whole, sends),
        });
    }
    entries.push(("cpu_utilization_percent", cpu(all)));
    if test.protocol != Protocol::Udp {
        let named = |key, name: &Option<String>| name.as_ref().map(|name| (key, Value::text(name)));
        entries.extend(named("sender_tcp_congestion", &all.sender_congestion));
        entries.extend(named("receiver_tcp_congestion", &all.receiver_congestion));
    }
    Value::Object(entries)
}

const BIDIR: [&str; 3] = ["sum_bidir_reverse", "sum_sent_bidir_reverse", "sum_received_bidir_reverse"];

/// From 0 to `end_ns`, over `length_ns`, at the rate of `rate_ns`.
fn span(end_ns: u64, length_ns: u64, bytes: u64, rate_ns: u64) -> Entries {
    vec![
        ("start", Value::Integer(0)),
        ("end", Value::Number(seconds(end_ns))),
        ("seconds", Value::Number(seconds(length_ns))),
        ("bytes", Value::count(bytes)),
        ("bits_per_second", Value::Number(bits_per_second(bytes, seconds(rate_ns)))),
    ]
}

fn stream_end(test: &Test, all: &Summary, stream: &Stream, outcome: &Outcome) -> Value {
    let socket = vec![("socket", Value::count(stream.label))];
    let role = vec![("sender", Value::Flag(stream.sends))];
    let sent = span(all.sender_ns, all.sender_ns, outcome.sent_bytes, all.sender_ns);
    let mut entries = if test.protocol == Protocol::Udp {
        let told = counted(outcome);
        let late = vec![("out_of_order", Value::count(told.out_of_order))];
        vec![("udp", Value::Object([socket, sent, lost(&told), late, role].concat()))]
    } else {
        let received = span(all.receiver_ns, all.own_ns, outcome.received_bytes, all.receiver_ns);
        vec![
            ("sender", Value::Object([socket.clone(), sent, peaks(outcome), role.clone()].concat())),
            ("receiver", Value::Object([socket, received, role].concat())),
        ]
    };
    if let Some(file) = &all.file {
        let share = |bytes: u64| Value::Integer((100 * u128::from(bytes) / u128::from(file.size.max(1))) as i64);
        let (sent, received) = if stream.sends { (outcome.sent_bytes, 0) } else { (0, outcome.received_bytes) };
        let diskfile = vec![
            ("sent", Value::count(sent)),
            ("received", Value::count(received)),
            ("size", Value::count(file.size)),
            ("percent_sent", share(sent)),
            ("percent_received", share(received)),
            ("filename", Value::text(&file.name)),
        ];
        entries.push(("diskfile", Value::Object(diskfile)));
    }
    Value::Object(entries)
}

/// Counts of the receiver, over the packets that the sender sent where those are known.
fn counted(outcome: &Outcome) -> Datagrams {
    let packets = if outcome.sent_packets > 0 { outcome.sent_packets } else { outcome.received.packets };
    Datagrams { packets, ..outcome.received }
}

fn peaks(outcome: &Outcome) -> Entries {
    let (Some(retransmits), peaks) = (outcome.retransmits, outcome.peaks) else { return Vec::new() };
    vec![
        ("retransmits", Value::count(retransmits)),
        ("reorder", Value::count(peaks.reorder)),
        ("max_snd_cwnd", Value::count(peaks.cwnd)),
        ("max_snd_wnd", Value::count(peaks.window)),
        ("max_rtt", Value::count(peaks.max_rtt_us)),
        ("min_rtt", Value::count(peaks.min_rtt_us)),
        ("mean_rtt", Value::count(peaks.mean_rtt_us())),
    ]
}

fn tcp_sums(names: [&'static str; 2], all: &Summary, whole: &Outcome, sends: bool) -> Entries {
    let role = vec![("sender", Value::Flag(sends))];
    let retransmits = whole.retransmits.map(|count| ("retransmits", Value::count(count)));
    let sent = span(all.sender_ns, all.sender_ns, whole.sent_bytes, all.sender_ns);
    let received = span(all.receiver_ns, all.receiver_ns, whole.received_bytes, all.receiver_ns);
    let sent = [sent, retransmits.into_iter().collect(), role.clone()].concat();
    vec![(names[0], Value::Object(sent)), (names[1], Value::Object([received, role].concat()))]
}

fn udp_sums(names: [&'static str; 3], all: &Summary, whole: &Outcome, sends: bool) -> Entries {
    let role = |sends| vec![("sender", Value::Flag(sends))];
    let none = Datagrams { packets: whole.sent_packets, lost: Some(0), ..Datagrams::default() };
    // Kept for history's sake: the sender's bytes at its rate, over the receiver's time.
    let mixed = span(all.receiver_ns, all.receiver_ns, whole.sent_bytes, all.sender_ns);
    let sent = span(all.sender_ns, all.sender_ns, whole.sent_bytes, all.sender_ns);
    let received = span(all.receiver_ns, all.receiver_ns, whole.received_bytes, all.receiver_ns);
    vec![
        (names[0], Value::Object([mixed, lost(&counted(whole)), role(sends)].concat())),
        (names[1], Value::Object([sent, lost(&none), role(true)].concat())),
        (names[2], Value::Object([received, lost(&whole.received), role(false)].concat())),
    ]
}

fn cpu(all: &Summary) -> Value {
    let (host, remote) = (all.cpu, all.peer_cpu);
    Value::Object(vec![
        ("host_total", Value::Number(host.total)),
        ("host_user", Value::Number(host.user)),
        ("host_system", Value::Number(host.system)),
        ("remote_total", Value::Number(remote.total)),
        ("remote_user", Value::Number(remote.user)),
        ("remote_system", Value::Number(remote.system)),
    ])
}
