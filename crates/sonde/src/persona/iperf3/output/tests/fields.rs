//! Facts read back out of a document of the original.

use std::net::SocketAddr;

use protocol::iperf3::parameters::{Direction, Protocol};
use serde_json::Value;

use crate::persona::iperf3::facts::{Cpu, Datagrams, Outcome, Peaks, Role, Slice, Stream, Summary, Tcp, Test};

/// Content of a document.
pub struct Facts {
    pub test: Option<Test>,
    pub intervals: Vec<Vec<Slice>>,
    pub summary: Option<Summary>,
    pub error: Option<String>,
}

impl Facts {
    pub fn of(json: &str) -> Self {
        let document: Value = serde_json::from_str(json).unwrap();
        let test = document["start"].get("test_start").map(|_| test(&document));
        let intervals = document["intervals"].as_array().unwrap().iter();
        let slices = |interval: &Value| interval["streams"].as_array().unwrap().iter().map(slice).collect();
        let end = Some(&document["end"]).filter(|end| end.get("streams").is_some());
        Self {
            intervals: intervals.map(slices).collect(),
            summary: end.zip(test.as_ref()).map(|(end, test)| summary(end, test)),
            error: document["error"].as_str().map(str::to_owned),
            test,
        }
    }
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn nanos(seconds: &Value) -> u64 {
    (seconds.as_f64().unwrap_or_default() * 1e6).round() as u64 * 1_000
}

/// Seconds that are told as these milliseconds.
fn jitter(ms: &Value) -> f64 {
    let ms = ms.as_f64().unwrap_or_default();
    let near = ms / 1e3;
    [near, near.next_up(), near.next_down()].into_iter().find(|seconds| seconds * 1e3 == ms).unwrap_or(near)
}

fn test(document: &Value) -> Test {
    let (start, agreed) = (&document["start"], &document["start"]["test_start"]);
    let role = if let Some(to) = start.get("connecting_to") {
        Role::Client { host: text(&to["host"]), port: count(&to["port"]) as u16 }
    } else {
        let from = &start["accepted_connection"];
        Role::Server { client: format!("{}:{}", text(&from["host"]), count(&from["port"])).parse().unwrap() }
    };
    let udp = agreed["protocol"] == "UDP";
    let direction = match (count(&agreed["reverse"]), count(&agreed["bidir"])) {
        (1, _) => Direction::Reverse,
        (_, 1) => Direction::Both,
        _ => Direction::Upload,
    };
    let connected = start["connected"].as_array().unwrap().iter();
    let ends = document["end"]["streams"].as_array().unwrap().iter();
    let sends = |end: &Value| if udp { &end["udp"]["sender"] } else { &end["sender"]["sender"] }.as_bool().unwrap();
    let place = |stream: &Value, host: &str, port: &str| -> SocketAddr {
        format!("{}:{}", text(&stream[host]), count(&stream[port])).parse().unwrap()
    };
    let stream = |(stream, end): (&Value, &Value)| Stream {
        label: count(&stream["socket"]) as u32,
        local: place(stream, "local_host", "local_port"),
        remote: place(stream, "remote_host", "remote_port"),
        sends: sends(end),
    };
    let optional = |value: &Value| value.as_str().map(str::to_owned);
    Test {
        role,
        cookie: text(&start["cookie"]),
        began_ms: start["timestamp"]["timemillisecs"].as_i64().unwrap(),
        protocol: if udp { Protocol::Udp } else { Protocol::Tcp },
        direction,
        parallel: count(&agreed["num_streams"]) as u32,
        block_bytes: count(&agreed["blksize"]) as u32,
        omit_s: count(&agreed["omit"]) as u32,
        time_s: count(&agreed["duration"]) as u32,
        bytes: count(&agreed["bytes"]),
        blocks: count(&agreed["blocks"]),
        tos: count(&agreed["tos"]) as u8,
        rate: count(&agreed["target_bitrate"]),
        fq_rate: count(&agreed["fqrate"]),
        segmented: false,
        segment_bytes: start.get("tcp_mss").map(|mss| count(mss) as u32),
        control_segment_bytes: count(&start["tcp_mss_default"]) as u32,
        window: count(&start["sock_bufsize"]) as u32,
        send_buffer: start["sndbuf_actual"].as_u64(),
        receive_buffer: start["rcvbuf_actual"].as_u64(),
        interval_s: agreed["interval"].as_f64().unwrap(),
        title: optional(&document["title"]),
        extra_data: optional(&document["extra_data"]),
        streams: connected.zip(ends).map(stream).collect(),
    }
}

fn slice(stream: &Value) -> Slice {
    Slice {
        start_ns: nanos(&stream["start"]),
        end_ns: nanos(&stream["end"]),
        length_ns: nanos(&stream["seconds"]),
        bytes: count(&stream["bytes"]),
        omitted: stream["omitted"].as_bool().unwrap(),
        retransmits: stream["retransmits"].as_u64(),
        tcp: Tcp {
            cwnd: count(&stream["snd_cwnd"]),
            window: count(&stream["snd_wnd"]),
            rtt_us: count(&stream["rtt"]),
            rttvar_us: count(&stream["rttvar"]),
            pmtu: count(&stream["pmtu"]),
            reorder: count(&stream["reorder"]),
        },
        datagrams: datagrams(stream),
    }
}

fn datagrams(value: &Value) -> Datagrams {
    Datagrams {
        packets: count(&value["packets"]),
        lost: Some(value["lost_packets"].as_i64().unwrap_or(0)),
        out_of_order: count(&value["out_of_order"]),
        jitter_s: jitter(&value["jitter_ms"]),
    }
}

fn summary(end: &Value, test: &Test) -> Summary {
    let outcomes = end["streams"].as_array().unwrap().iter();
    let mut outcomes: Vec<Outcome> = outcomes.map(|stream| outcome(stream, test)).collect();
    let first = &end["streams"][0];
    let (sender, receiver, own) = match test.protocol {
        Protocol::Udp => {
            let sums = ["sum_received", "sum_received_bidir_reverse"].into_iter().zip(test.ways());
            // The bytes that each stream received stand in no document of the original: all of them are the first one's.
            for (name, sends) in sums {
                let place = test.way(sends).next().unwrap().0;
                outcomes[place].received_bytes = count(&end[name]["bytes"]);
                outcomes[place].received.packets = count(&end[name]["packets"]);
            }
            (&first["udp"]["end"], &end["sum"]["end"], &end["sum"]["end"])
        }
        _ => (&first["sender"]["end"], &first["receiver"]["end"], &first["receiver"]["seconds"]),
    };
    let cpu = |end_of: &str| {
        let part = |part: &str| end["cpu_utilization_percent"][format!("{end_of}_{part}")].as_f64().unwrap();
        Cpu { total: part("total"), user: part("user"), system: part("system") }
    };
    Summary {
        sender_ns: nanos(sender),
        receiver_ns: nanos(receiver),
        own_ns: nanos(own),
        outcomes,
        cpu: cpu("host"),
        peer_cpu: cpu("remote"),
        sender_congestion: end["sender_tcp_congestion"].as_str().map(str::to_owned),
        receiver_congestion: end["receiver_tcp_congestion"].as_str().map(str::to_owned),
        file: None,
    }
}

fn outcome(stream: &Value, test: &Test) -> Outcome {
    if test.protocol == Protocol::Udp {
        let udp = &stream["udp"];
        let received = Datagrams { packets: 0, ..datagrams(udp) };
        return Outcome {
            sent_bytes: count(&udp["bytes"]),
            sent_packets: count(&udp["packets"]),
            received,
            ..Outcome::default()
        };
    }
    let (sender, receiver) = (&stream["sender"], &stream["receiver"]);
    Outcome {
        sent_bytes: count(&sender["bytes"]),
        received_bytes: count(&receiver["bytes"]),
        retransmits: sender["retransmits"].as_u64(),
        peaks: Peaks {
            reorder: count(&sender["reorder"]),
            cwnd: count(&sender["max_snd_cwnd"]),
            window: count(&sender["max_snd_wnd"]),
            max_rtt_us: count(&sender["max_rtt"]),
            min_rtt_us: count(&sender["min_rtt"]),
            sum_rtt_us: count(&sender["mean_rtt"]),
            count: 1,
        },
        ..Outcome::default()
    }
}
