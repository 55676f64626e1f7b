//! The keys of each object, in order: one that is missing, renamed or elsewhere is seen here.

use protocol::iperf3::results::Output;
use test_case::test_case;

use crate::persona::iperf3::facts::File;
use crate::persona::iperf3::output::document::Whole;
use crate::persona::iperf3::output::json::Value;
use crate::persona::iperf3::output::tests::fields::Facts;
use crate::persona::iperf3::transcript::file;

const TOP: &str = "start intervals end error title extra_data server_output_text";
const START_TCP: &str = "connected version system_info timestamp connecting_to cookie tcp_mss_default target_bitrate fq_rate sock_bufsize sndbuf_actual rcvbuf_actual test_start";
const START_UDP: &str = "connected version system_info timestamp connecting_to cookie target_bitrate fq_rate sock_bufsize sndbuf_actual rcvbuf_actual test_start";
const START_SERVER: &str = "connected version system_info target_bitrate sock_bufsize sndbuf_actual rcvbuf_actual timestamp accepted_connection cookie tcp_mss_default target_bitrate fq_rate test_start";
const CONNECTED: &str = "socket local_host local_port remote_host remote_port";
const TEST_START: &str =
    "protocol num_streams blksize omit duration bytes blocks reverse tos target_bitrate bidir fqrate interval gso gro";
const TCP_SENDER: &str = "socket start end seconds bytes bits_per_second retransmits snd_cwnd snd_wnd rtt rttvar pmtu reorder omitted sender";
const TCP_RECEIVER: &str = "socket start end seconds bytes bits_per_second omitted sender";
const UDP_SENDER: &str = "socket start end seconds bytes bits_per_second packets omitted sender";
const UDP_RECEIVER: &str =
    "socket start end seconds bytes bits_per_second jitter_ms lost_packets packets lost_percent omitted sender";
const TCP_SENDER_SUM: &str = "start end seconds bytes bits_per_second retransmits omitted sender";
const TCP_RECEIVER_SUM: &str = "start end seconds bytes bits_per_second omitted sender";
const UDP_SENDER_SUM: &str = "start end seconds bytes bits_per_second packets omitted sender";
const END_TCP: &str =
    "streams sum_sent sum_received cpu_utilization_percent sender_tcp_congestion receiver_tcp_congestion";
const END_TCP_BIDIR: &str = "streams sum_sent sum_received sum_sent_bidir_reverse sum_received_bidir_reverse cpu_utilization_percent sender_tcp_congestion receiver_tcp_congestion";
const END_UDP: &str = "streams sum sum_sent sum_received cpu_utilization_percent";
const END_UDP_BIDIR: &str = "streams sum sum_sent sum_received sum_bidir_reverse sum_sent_bidir_reverse sum_received_bidir_reverse cpu_utilization_percent";
const STREAM_SENDER: &str = "socket start end seconds bytes bits_per_second retransmits reorder max_snd_cwnd max_snd_wnd max_rtt min_rtt mean_rtt sender";
const STREAM_RECEIVER: &str = "socket start end seconds bytes bits_per_second sender";
const STREAM_UDP: &str =
    "socket start end seconds bytes bits_per_second jitter_ms lost_packets packets lost_percent out_of_order sender";
const SUM_SENT: &str = "start end seconds bytes bits_per_second retransmits sender";
const SUM_RECEIVED: &str = "start end seconds bytes bits_per_second sender";
const SUM_UDP: &str = "start end seconds bytes bits_per_second jitter_ms lost_packets packets lost_percent sender";
const CPU: &str = "host_total host_user host_system remote_total remote_user remote_system";
const DISKFILE: &str = "sent received size percent_sent percent_received filename";

/// Everything that can stand in a document of this run.
fn whole(name: &str) -> Value {
    let mut facts = Facts::of(&file(name));
    if let (Some(test), Some(summary)) = (&mut facts.test, &mut facts.summary) {
        (test.title, test.extra_data) = (Some("t".to_owned()), Some("x".to_owned()));
        summary.file = Some(File { name: "f".to_owned(), size: 9 });
    }
    let output = Output::Text("printed".to_owned());
    let whole = Whole {
        test: facts.test.as_ref(),
        intervals: &facts.intervals,
        summary: facts.summary.as_ref(),
        error: Some("why"),
        server_output: Some(&output),
    };
    whole.value()
}

/// The keys of the object at a place such as `end/streams/0/sender`.
fn keys(document: &Value, place: &str) -> String {
    let step = |value: &Value, step: &str| match value {
        Value::Object(entries) => entries.iter().find(|(key, _)| *key == step).unwrap().1.clone(),
        Value::Array(values) => values[step.parse::<usize>().unwrap()].clone(),
        other => panic!("{step} of {other:?}"),
    };
    let at = place.split('/').filter(|part| !part.is_empty()).fold(document.clone(), |value, part| step(&value, part));
    let Value::Object(entries) = at else { panic!("{place} is no object") };
    entries.iter().map(|(key, _)| *key).collect::<Vec<_>>().join(" ")
}

#[test_case("02-tcp.json", "", TOP; "top")]
#[test_case("02-tcp.json", "start", START_TCP; "start of tcp")]
#[test_case("04-udp.json", "start", START_UDP; "start of udp")]
#[test_case("14-server.json", "start", START_SERVER; "start of a server")]
#[test_case("02-tcp.json", "start/connected/0", CONNECTED; "connected")]
#[test_case("02-tcp.json", "start/timestamp", "time timesecs timemillisecs"; "timestamp")]
#[test_case("02-tcp.json", "start/connecting_to", "host port"; "connecting_to")]
#[test_case("14-server.json", "start/accepted_connection", "host port"; "accepted_connection")]
#[test_case("02-tcp.json", "start/test_start", TEST_START; "test_start")]
#[test_case("02-tcp.json", "intervals/0", "streams sum"; "interval")]
#[test_case("06-tcp-bidir.json", "intervals/0", "streams sum sum_bidir_reverse"; "interval both ways")]
#[test_case("02-tcp.json", "intervals/0/streams/0", TCP_SENDER; "interval of a sender over tcp")]
#[test_case("05-tcp-reverse.json", "intervals/0/streams/0", TCP_RECEIVER; "interval of a receiver over tcp")]
#[test_case("04-udp.json", "intervals/0/streams/0", UDP_SENDER; "interval of a sender over udp")]
#[test_case("05-udp-reverse.json", "intervals/0/streams/0", UDP_RECEIVER; "interval of a receiver over udp")]
#[test_case("07-tcp-P4.json", "intervals/0/sum", TCP_SENDER_SUM; "interval of senders over tcp")]
#[test_case("05-tcp-reverse.json", "intervals/0/sum", TCP_RECEIVER_SUM; "interval of receivers over tcp")]
#[test_case("07-udp-P4.json", "intervals/0/sum", UDP_SENDER_SUM; "interval of senders over udp")]
#[test_case("02-tcp.json", "end", END_TCP; "end of tcp")]
#[test_case("06-tcp-bidir.json", "end", END_TCP_BIDIR; "end of tcp both ways")]
#[test_case("04-udp.json", "end", END_UDP; "end of udp")]
#[test_case("06-udp-bidir.json", "end", END_UDP_BIDIR; "end of udp both ways")]
#[test_case("02-tcp.json", "end/streams/0", "sender receiver diskfile"; "end of a stream")]
#[test_case("02-tcp.json", "end/streams/0/sender", STREAM_SENDER; "end of its sender")]
#[test_case("05-tcp-reverse.json", "end/streams/0/sender", STREAM_SENDER; "end of a sender there")]
#[test_case("14-server.json", "end/streams/0/sender", STREAM_RECEIVER; "end of a sender nobody knows of")]
#[test_case("02-tcp.json", "end/streams/0/receiver", STREAM_RECEIVER; "end of its receiver")]
#[test_case("02-tcp.json", "end/streams/0/diskfile", DISKFILE; "diskfile")]
#[test_case("04-udp.json", "end/streams/0/udp", STREAM_UDP; "end of a stream over udp")]
#[test_case("02-tcp.json", "end/sum_sent", SUM_SENT; "sum_sent")]
#[test_case("02-tcp.json", "end/sum_received", SUM_RECEIVED; "sum_received")]
#[test_case("04-udp.json", "end/sum", SUM_UDP; "sum of udp")]
#[test_case("04-udp.json", "end/sum_sent", SUM_UDP; "sum_sent of udp")]
#[test_case("04-udp.json", "end/sum_received", SUM_UDP; "sum_received of udp")]
#[test_case("02-tcp.json", "end/cpu_utilization_percent", CPU; "cpu_utilization_percent")]
fn the_keys_of(name: &str, place: &str, expected: &str) {
    assert_eq!(keys(&whole(name), place), expected);
}
