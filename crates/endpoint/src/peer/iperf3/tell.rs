//! Results of one end, for the other.

use measure::interval::arrivals::Datagrams;
use measure::unit::Nanos;
use protocol::iperf3::parameters::{Parameters, Protocol};
use protocol::iperf3::results::{Cpu, Omitted, Output, Results, StreamResults};

use super::streams::Ran;
use crate::thread::CpuTime;

/// The results of our end. `own`: CPU time of the thread that kept the control connection, from the start of the streams.
pub fn results(parameters: &Parameters, ran: &[Ran], own: CpuTime, elapsed: Nanos, output: Option<Output>) -> Results {
    let tcp = parameters.protocol == Protocol::Tcp;
    let sends = ran.iter().any(|stream| stream.connection.sends);
    let congestion = ran.iter().find_map(|stream| stream.at_end.congestion.clone()).filter(|_| tcp);
    let knows = |stream: &Ran| stream.count.sight.tcp.is_some_and(|tcp| tcp.retransmits.is_some());
    Results {
        cpu: cpu(ran, own, elapsed),
        sender_has_retransmits: sends.then(|| tcp && ran.iter().any(knows)),
        congestion,
        output,
        streams: ran.iter().map(|stream| of(stream, tcp)).collect(),
    }
}

/// Shares of one CPU, in per cent, of all threads of the test.
pub fn cpu(ran: &[Ran], own: CpuTime, elapsed: Nanos) -> Cpu {
    let all = |of: fn(&CpuTime) -> Nanos| ran.iter().map(|stream| of(&stream.cpu).0).sum::<u64>() + of(&own).0;
    let share = |nanos: u64| if elapsed.0 == 0 { 0.0 } else { nanos as f64 / elapsed.0 as f64 * 100.0 };
    let (user, system) = (share(all(|cpu| cpu.user_ns)), share(all(|cpu| cpu.system_ns)));
    Cpu { total: user + system, user, system }
}

fn of(stream: &Ran, tcp: bool) -> StreamResults {
    let (count, sends) = (&stream.count, stream.connection.sends);
    let whole = StreamResults {
        id: stream.connection.id,
        bytes: count.carried.bytes.0,
        omitted: Some(Omitted::default()),
        times_s: Some((0.0, seconds(stream.elapsed))),
        ..StreamResults::default()
    };
    match (tcp, sends) {
        (true, true) => StreamResults { retransmits: count.sight.tcp.and_then(|tcp| tcp.retransmits), ..whole },
        (true, false) => whole,
        (false, true) => StreamResults {
            packets: count.carried.calls + count.omitted.calls,
            omitted: Some(Omitted { errors: 0, packets: count.omitted.calls }),
            ..whole
        },
        (false, false) => {
            let (counted, before) = (seen(count.sight.datagrams), seen(count.omitted_sight.datagrams));
            StreamResults {
                jitter_s: counted.jitter_ns.unwrap_or(0.0) / 1e9,
                errors: counted.lost + before.lost,
                packets: counted.expected + before.expected,
                omitted: Some(Omitted { errors: before.lost, packets: before.expected }),
                ..whole
            }
        }
    }
}

fn seen(datagrams: Option<Datagrams>) -> Datagrams {
    datagrams.unwrap_or_default()
}

/// To the microsecond, as iperf3 measures time.
pub fn seconds(time: Nanos) -> f64 {
    (time.0 / 1_000) as f64 / 1e6
}
