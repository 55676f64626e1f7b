//! Facts of the output, from those of the protocol and the engine.

use endpoint::peer::iperf3::sockets::Connection;
use endpoint::peer::iperf3::streams::Ran;
use measure::interval::glance::TcpGlance;
use measure::throughput::Interval;
use measure::unit::{Bytes, Nanos};
use protocol::iperf3::parameters::{Parameters, Protocol};
use protocol::iperf3::results::{self, Results, StreamResults};

use crate::persona::iperf3::facts::{Cpu, Datagrams, Outcome, Peaks, Role, Slice, Stream, Summary, Tcp, Test};

/// Facts of a test beside the agreed parameters.
#[derive(Clone, Debug)]
pub struct About {
    /// Our end.
    pub role: Role,
    /// The cookie's characters.
    pub cookie: String,
    /// Start of the test, milliseconds since 1970.
    pub began_ms: i64,
    /// Bytes of a segment of the control connection; 0: a server, which tells none.
    pub control_segment_bytes: u32,
    /// Seconds between reports.
    pub interval_s: f64,
}

/// A test as it was agreed on, before its streams are there.
pub fn test(about: About, asked: &Parameters) -> Test {
    let About { role, cookie, began_ms, control_segment_bytes, interval_s } = about;
    Test {
        role,
        cookie,
        began_ms,
        protocol: asked.protocol,
        direction: asked.direction,
        parallel: asked.parallel,
        block_bytes: asked.block_bytes(),
        omit_s: asked.omit,
        time_s: asked.time,
        bytes: asked.bytes,
        blocks: asked.blocks,
        tos: asked.tos,
        rate: asked.rate.unwrap_or(0),
        fq_rate: asked.fq_rate.unwrap_or(0),
        segmented: asked.segmentation.is_some_and(|cut| cut.gso),
        segment_bytes: asked.mss,
        control_segment_bytes,
        window: asked.window.unwrap_or(0),
        send_buffer: None,
        receive_buffer: None,
        interval_s,
        title: asked.title.clone(),
        extra_data: asked.extra_data.clone(),
        streams: Vec::new(),
    }
}

/// A stream as output names it.
pub fn stream(connection: &Connection) -> Stream {
    Stream {
        label: u32::try_from(connection.descriptor).unwrap_or_default(),
        local: connection.local,
        remote: connection.remote,
        sends: connection.sends,
    }
}

/// An interval of a stream. `before`: what its TCP knew at the end of the one before.
pub fn slice(interval: &Interval, sends: bool, before: Option<&TcpGlance>) -> Slice {
    let (start, length) = (interval.at_ns.0, interval.length_ns.0);
    let tcp = interval.tcp.filter(|_| sends);
    let since = tcp.map(|tcp| before.map_or(tcp, |before| tcp.since(before)));
    Slice {
        start_ns: start,
        end_ns: start + length,
        length_ns: length,
        bytes: interval.carried.bytes.0,
        omitted: interval.omitted,
        retransmits: since.map(|tcp| tcp.retransmits.unwrap_or(0)),
        tcp: tcp.as_ref().map(glance).unwrap_or_default(),
        datagrams: match (sends, interval.datagrams) {
            (false, Some(datagrams)) => Datagrams {
                packets: datagrams.expected,
                lost: Some(datagrams.lost),
                out_of_order: datagrams.out_of_order,
                jitter_s: datagrams.jitter_ns.unwrap_or(0.0) / 1e9,
            },
            (false, None) => Datagrams { lost: Some(0), ..Datagrams::default() },
            (true, _) => Datagrams { packets: interval.carried.calls, lost: Some(0), ..Datagrams::default() },
        },
    }
}

/// An interval in which a sender sent nothing: what its TCP knew stands as it stood.
pub fn idle(slice: Slice, tcp: &TcpGlance) -> Slice {
    Slice { retransmits: Some(0), tcp: glance(tcp), ..slice }
}

fn glance(tcp: &TcpGlance) -> Tcp {
    let bytes = |bytes: Option<Bytes>| bytes.map_or(0, |bytes| bytes.0);
    let micros = |time: Option<Nanos>| time.map_or(0, |time| time.0 / 1_000);
    Tcp {
        cwnd: bytes(tcp.cwnd_bytes),
        window: bytes(tcp.snd_wnd_bytes),
        rtt_us: micros(tcp.rtt_ns),
        rttvar_us: micros(tcp.rttvar_ns),
        pmtu: bytes(tcp.pmtu_bytes),
        reorder: tcp.reorderings.map_or(0, u64::from),
    }
}

/// Result of a test, from the reports of both ends. `peaks`: those of each stream.
pub fn summary(
    asked: &Parameters,
    streams: &[Ran],
    ours: &Results,
    theirs: Option<&Results>,
    peaks: &[Peaks],
) -> Summary {
    let first = streams.first();
    let own_ns = first.map_or(0, |stream| stream.elapsed.0);
    let told = first.and_then(|stream| theirs?.stream(stream.connection.id));
    let peer_ns =
        told.and_then(|stream| stream.times_s).map_or(own_ns, |(from, to)| ((to - from).max(0.0) * 1e9).round() as u64);
    let we_send = first.is_some_and(|stream| stream.connection.sends);
    let (sender_ns, receiver_ns) = if we_send { (own_ns, peer_ns) } else { (peer_ns, own_ns) };
    let congestion = |of_sender: bool| {
        let of = if of_sender == we_send { Some(ours) } else { theirs };
        of.and_then(|results| results.congestion.clone())
    };
    let outcomes = streams.iter().enumerate().map(|(place, stream)| {
        let peak = peaks.get(place).copied().unwrap_or_default();
        outcome(asked, stream, ours, theirs, peak)
    });
    Summary {
        sender_ns,
        receiver_ns,
        own_ns,
        outcomes: outcomes.collect(),
        cpu: cpu(ours.cpu),
        peer_cpu: theirs.map(|results| cpu(results.cpu)).unwrap_or_default(),
        sender_congestion: congestion(true),
        receiver_congestion: congestion(false),
        file: None,
    }
}

fn outcome(asked: &Parameters, stream: &Ran, ours: &Results, theirs: Option<&Results>, peaks: Peaks) -> Outcome {
    let id = stream.connection.id;
    let of = |results: Option<&Results>| results.and_then(|results| results.stream(id).copied());
    let (own, far) = (of(Some(ours)), of(theirs));
    let (sender, receiver) = if stream.connection.sends { (own, far) } else { (far, own) };
    let knows = if stream.connection.sends { Some(ours) } else { theirs };
    let knows = knows.is_some_and(|results| results.sender_has_retransmits == Some(true));
    let bytes = |results: Option<StreamResults>| results.map_or(0, |results| results.bytes);
    let udp = asked.protocol == Protocol::Udp;
    let late = stream.count.sight.datagrams.map_or(0, |datagrams| datagrams.out_of_order);
    Outcome {
        sent_bytes: bytes(sender),
        received_bytes: bytes(receiver),
        retransmits: sender.and_then(|sender| sender.retransmits).filter(|_| knows),
        peaks,
        sent_packets: sender.filter(|_| udp).map_or(0, |sender| sender.counted()),
        received: receiver.map_or(Datagrams { lost: Some(0), ..Datagrams::default() }, |receiver| Datagrams {
            packets: receiver.counted(),
            lost: receiver.lost(asked.omit > 0),
            out_of_order: late,
            jitter_s: receiver.jitter_s,
        }),
    }
}

fn cpu(told: results::Cpu) -> Cpu {
    Cpu { total: told.total, user: told.user, system: told.system }
}
