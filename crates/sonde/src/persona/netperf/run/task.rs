//! Options of a client, as a test that the engines know: a method, the server's task, and the data socket.

use std::path::PathBuf;

use endpoint::peer::netperf::client::data::DataSocket;
use endpoint::peer::netperf::client::stream::Calls;
use endpoint::peer::netperf::client::{TCP_TIMEOUT, Test};
use endpoint::socket::tuning::Tuning;
use measure::method::{
    Asked, Carrier, Direction, Far, Method, Pacing, Pattern, Refusal, Schedule, SocketOptions, Stop,
};
use measure::unit::{Bytes, Nanos};
use protocol::netperf::ask::{self, Ask, Flags, Ring};
use protocol::netperf::data::CLIENT_PORTS;

use crate::persona::answer::Answer;
use crate::persona::netperf::options::{Length, Options, RECEIVE_TIMEOUT_S};
use crate::persona::netperf::run::places::Places;
use crate::persona::netperf::selection::wants_latency;
use crate::persona::netperf::test_name::{self, Transport};
use crate::words;

/// The longest a method lasts: `-l 0` ends by then, if nobody interrupts it.
const LONGEST: Nanos = Nanos::secs(7 * 86_400);

/// The method with gaps, as it stands in a record.
pub fn asked(options: &Options, places: &Places) -> Asked {
    let data = &options.data;
    // A transport that is neither is driven as the one it resembles; no record is kept of it.
    let carrier = match data.transport {
        Transport::Tcp | Transport::Sctp => Carrier::Tcp,
        Transport::Udp | Transport::UdpLite | Transport::Dccp => Carrier::Udp,
    };
    let pattern = pattern(data.direction);
    let (request_bytes, response_bytes) = sizes(options, pattern);
    let paced = options.pace.local.is_paced();
    Asked {
        carrier: Some(carrier),
        pattern: Some(pattern),
        direction: (pattern == Pattern::Stream).then(|| direction(data.direction)),
        window: (pattern == Pattern::Exchange).then(|| data.first_burst.saturating_add(1)),
        schedule: paced.then(|| schedule(options)),
        pacing: paced.then(|| options.own.pacing.unwrap_or(Pacing::Hybrid)),
        request_bytes,
        response_bytes,
        cpus: options.bind_cpu.local.into_iter().collect(),
        stop: stop(options, pattern),
        timeout_ns: Some(timeout(options, carrier)),
        warm_up_ns: Some(Nanos::ZERO),
        socket: SocketOptions {
            source_ports: None,
            bind: places.data_local.map(super::places::Drawn::next),
            interface: None,
            tos: options.tos.local,
            nodelay: data.nodelay && carrier == Carrier::Tcp,
            // Datagrams have none, whatever -K says: the original passes it over too.
            congestion: data.congestion.local.clone().filter(|_| carrier == Carrier::Tcp),
            send_buffer_bytes: data.send_buffer_bytes.local.map(|bytes| Bytes(bytes.into())),
            receive_buffer_bytes: data.receive_buffer_bytes.local.map(|bytes| Bytes(bytes.into())),
        },
        nagle: !data.nodelay && carrier == Carrier::Tcp,
        // They cost a little, and nothing that the original prints shows them.
        stamps: (pattern == Pattern::Exchange).then_some(options.own.json || options.own.record.is_some()),
        ..Asked::default()
    }
}

/// The test of a method.
///
/// # Errors
/// A method that makes no sense, with the reason.
pub fn test(options: &Options, places: &Places, asked: &Asked) -> Result<Test, Answer> {
    let refused = |why: String| Answer::complaint(format!("netperf: {why}\n"));
    let method = asked.resolve_towards(Far::Foreign).map_err(|refusal| refused(why_not(&refusal)))?;
    let ask = ask(options);
    ask.check().map_err(|unsayable| refused(unsayable.to_string()))?;
    let ports = options.data.port_range.map(|(first, last)| first..=last);
    let data = DataSocket {
        server: places.data_server.map(super::places::Drawn::next),
        local_port: options.data.port.local,
        ports: ports.unwrap_or(CLIENT_PORTS),
        tuning: tuning(options),
    };
    Ok(Test {
        data,
        calls: calls(options),
        pause: Nanos::secs(options.wait_s.into()),
        samples: options.own.samples.is_some(),
        interval: options.display.interim.map_or(measure::event::INTERVAL, |interim| Nanos(interim.interval_ns)),
        ..Test::new(method, ask)
    })
}

/// In words. Messages of netperf have no header, which the words for our own peer tell of.
fn why_not(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Size { carrier, bytes: Bytes(bytes), smallest, largest } => {
            format!("{bytes} bytes do not fit a message over {carrier}: it takes {smallest} to {largest}")
        }
        other => words::refusal(other),
    }
}

fn pattern(direction: test_name::Direction) -> Pattern {
    match (direction.is_transactions(), direction.per_connection, direction.sends) {
        (true, true, true) => Pattern::ConnectExchange,
        (true, _, false) => Pattern::ConnectClose,
        (true, false, true) => Pattern::Exchange,
        (false, ..) => Pattern::Stream,
    }
}

fn direction(direction: test_name::Direction) -> Direction {
    if direction.sends { Direction::Send } else { Direction::Receive }
}

/// So many operations at the start of each interval.
fn schedule(options: &Options) -> Schedule {
    let pace = options.pace.local;
    Schedule::Bursts { count: pace.burst, interval_ns: Nanos(pace.interval_ns) }
}

/// Bytes of a request and a response, or of our calls and of the server's where they are said.
fn sizes(options: &Options, pattern: Pattern) -> (Option<Bytes>, Option<Bytes>) {
    let data = &options.data;
    let (ours, theirs) = match pattern {
        Pattern::ConnectClose => (None, None),
        Pattern::Exchange | Pattern::ConnectExchange | Pattern::Load => {
            (Some(data.request_bytes.unwrap_or(1)), Some(data.response_bytes.unwrap_or(1)))
        }
        Pattern::Stream if data.direction.sends => (call(data.send_bytes.local), call(data.receive_bytes.remote)),
        Pattern::Stream => (call(data.receive_bytes.local), call(data.send_bytes.remote)),
    };
    let bytes = |bytes: Option<u32>| bytes.map(|bytes| Bytes(bytes.into()));
    (bytes(ours), bytes(theirs))
}

/// The bytes of a call, as `-m` and `-M` say them: of 0 each end has its own, as if nothing had been said.
fn call(bytes: Option<u32>) -> Option<u32> {
    bytes.filter(|bytes| *bytes > 0)
}

/// The calls of a stream at our end.
fn calls(options: &Options) -> Calls {
    let (data, buffers) = (&options.data, options.buffers);
    let (bytes, alignment, offset, width) = if data.direction.sends {
        (data.send_bytes.local, buffers.send_alignment.local, buffers.send_offset.local, buffers.send_width)
    } else {
        (data.receive_bytes.local, buffers.receive_alignment.local, buffers.receive_offset.local, buffers.receive_width)
    };
    Calls {
        bytes: call(bytes),
        buffers: width,
        alignment,
        offset,
        fill: options.fill_file.local.as_ref().map(PathBuf::from),
        sendfile: options.test == test_name::Test::TcpSendfile,
        timed: wants_latency(options),
    }
}

fn stop(options: &Options, pattern: Pattern) -> Stop {
    if options.test == test_name::Test::TcpMss {
        // One call is enough for a connection to be asked for its segment size.
        return Stop { bytes: Some(Bytes(1)), ..Stop::default() };
    }
    match options.length {
        Length::Seconds(seconds) => Stop { after_ns: Some(Nanos::secs(seconds.into())), ..Stop::default() },
        Length::UntilInterrupted => Stop { after_ns: Some(LONGEST), ..Stop::default() },
        Length::Count(bytes) if pattern == Pattern::Stream => Stop { bytes: Some(Bytes(bytes)), ..Stop::default() },
        Length::Count(count) => Stop { count: Some(count), ..Stop::default() },
    }
}

fn timeout(options: &Options, carrier: Carrier) -> Nanos {
    match carrier {
        Carrier::Udp => Nanos::secs(options.data.receive_timeout_s.unwrap_or(RECEIVE_TIMEOUT_S).into()),
        _ => TCP_TIMEOUT,
    }
}

fn tuning(options: &Options) -> Tuning {
    let data = &options.data;
    Tuning {
        segment_bytes: data.mss_bytes,
        cork: data.cork,
        priority: options.priority.local.and_then(|priority| u32::try_from(priority).ok()),
        pacing_bytes_per_s: data.max_pacing_rate.map(u64::from),
        ..Tuning::default()
    }
}

/// Task of the server. Ports and addresses of our end are filled in when the data socket is there.
fn ask(options: &Options) -> Ask {
    let data = &options.data;
    let length = match options.length {
        Length::Seconds(seconds) => ask::Length::Seconds(seconds),
        Length::UntilInterrupted => ask::Length::UntilTold,
        Length::Count(count) => ask::Length::Count(count),
    };
    let buffers = options.buffers;
    let ring = |alignment, offset, width| Ring { alignment, offset, buffers: width, ..Ring::default() };
    Ask {
        request_bytes: data.request_bytes,
        response_bytes: data.response_bytes,
        send_bytes: call(data.send_bytes.remote),
        receive_bytes: call(data.receive_bytes.remote),
        send_buffer: data.send_buffer_bytes.remote,
        receive_buffer: data.receive_buffer_bytes.remote,
        send_ring: ring(buffers.send_alignment.remote, buffers.send_offset.remote, buffers.send_width),
        receive_ring: ring(buffers.receive_alignment.remote, buffers.receive_offset.remote, buffers.receive_width),
        per_connection: data.direction.per_connection,
        flags: flags(options),
        cpu_rate: options.cpu.remote.and_then(|measure| measure.rate),
        data_port: data.port.remote,
        pacing: options.pace.remote.is_paced().then(|| ask::Pacing {
            burst: options.pace.remote.burst,
            interval_us: u32::try_from(options.pace.remote.interval_us()).unwrap_or(u32::MAX),
        }),
        priority: options.priority.remote.and_then(|priority| u32::try_from(priority).ok()),
        tos: options.tos.remote.map(u32::from),
        congestion: data.congestion.remote.clone(),
        fill_file: options.fill_file.remote.clone(),
        server_cpu: options.bind_cpu.remote,
        ..base(options, length)
    }
}

/// The test in the layout that a netperf asks for it by.
fn base(options: &Options, length: ask::Length) -> Ask {
    let direction = options.data.direction;
    let transport = options.data.transport;
    let other = |socket_type| ask::Carrier::Other { protocol: u32::from(transport.number()), socket_type };
    let carrier = match transport {
        Transport::Tcp => ask::Carrier::Tcp,
        Transport::Udp => ask::Carrier::Udp,
        Transport::Sctp => other(1),
        Transport::Dccp => other(3),
        Transport::UdpLite => other(2),
    };
    match options.test {
        test_name::Test::TcpCc => Ask::classic(ask::Test::TcpCc, length),
        test_name::Test::TcpSendfile | test_name::Test::TcpMss => Ask::classic(ask::Test::TcpSink, length),
        _ => Ask::omni(carrier, direction.receives, direction.sends, length),
    }
}

fn flags(options: &Options) -> Flags {
    let data = &options.data;
    let asked = [
        (data.nodelay, Flags::NODELAY),
        (options.cpu.remote.is_some(), Flags::MEASURE_CPU),
        (data.routing, Flags::ROUTE),
        (options.keepalive, Flags::KEEPALIVE),
        (data.packet_info, Flags::PACKET_INFO),
        (data.connected.remote, Flags::CONNECT_UDP),
        (data.defer_accept, Flags::DEFER_ACCEPT),
        (data.path_mtu, Flags::PATH_MTU),
    ];
    asked.into_iter().filter(|(on, _)| *on).fold(Flags::NONE, |flags, (_, flag)| flags.with(flag))
}

/// Returns true where a test of this method can lose messages without being told.
pub fn is_lossy(method: &Method) -> bool {
    method.traffic.carrier() == Carrier::Udp
}
