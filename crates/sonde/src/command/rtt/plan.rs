//! What was typed, as a plan: no I/O, nothing resolved against this host yet.

use std::path::PathBuf;

use endpoint::name::Family;
use endpoint::reflector::PORT;
use measure::method::{Asked, Carrier, Pattern, Schedule, SocketOptions, Stop};
use measure::unit::Bytes;

use crate::command::result_options::ResultOptions;
use crate::command::rtt::options::{
    CarrierOptions, PathOptions, RecordingOptions, RttOptions, ScheduleOptions, ShapeOptions,
};
use crate::command::value::{self, Far, SampleFile};
use crate::failure::Failure;

/// What a person asked `sonde rtt` for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The method, with gaps.
    pub asked: Asked,
    /// The far side; `None`: a reflector of our own.
    pub target: Option<Target>,
    /// The key file, where there is a far side to use it with.
    pub key: Option<PathBuf>,
    /// Whether a missed rate or a loss is a failure.
    pub strict: bool,
    /// The file of every exchange.
    pub samples: Option<SampleFile>,
    /// Where the result goes.
    pub result: ResultOptions,
}

/// The far side as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name or address.
    pub host: String,
    /// Port; without meaning for ICMP.
    pub port: u16,
    /// Which address family a name may resolve to.
    pub family: Family,
}

impl Plan {
    /// The plan of these options.
    ///
    /// # Errors
    /// A port named twice; everything else was refused when the options were read, or is when the plan is resolved.
    pub fn of(options: RttOptions) -> Result<Self, Failure> {
        let asked = asked(&options);
        let target = options.host.map(|far| target(far, &options.path)).transpose()?;
        let key = options.path.key.filter(|_| target.is_some());
        let RecordingOptions { strict, samples, .. } = options.recording;
        Ok(Self { asked, target, key, strict, samples, result: options.result })
    }

    /// How to write the far side where its last group was meant as a port: for whoever was not reached.
    pub fn port_in_address(&self) -> Option<String> {
        let host = &self.target.as_ref()?.host;
        let (address, port) = value::port_in_address(host)?;
        Some(format!("{host} was read as one IPv6 address: where {port} is the port, write [{address}]:{port}"))
    }
}

fn target(far: Far, path: &PathOptions) -> Result<Target, Failure> {
    let port = match (far.port, path.port) {
        (Some(written), Some(port)) if written != port => {
            return Err(Failure::usage(format!("{}:{written} and --port {port} name two ports", far.host))
                .hint("leave one of them away"));
        }
        (written, port) => written.or(port).unwrap_or(PORT),
    };
    let family = match (path.ipv4, path.ipv6) {
        (true, _) => Family::V4,
        (_, true) => Family::V6,
        _ => Family::Any,
    };
    Ok(Target { host: far.host, port, family })
}

fn asked(options: &RttOptions) -> Asked {
    let (request_bytes, response_bytes) = sizes(&options.shape);
    Asked {
        carrier: carrier(&options.carrier),
        pattern: options.carrier.crr.then_some(Pattern::ConnectExchange),
        direction: None,
        window: options.schedule.window,
        schedule: schedule(&options.schedule),
        pacing: options.schedule.pace,
        waiting: options.waiting.wait.map(|word| word.0),
        peer_waiting: options.waiting.peer_wait.map(|word| word.0),
        request_bytes,
        response_bytes,
        connections: options.shape.connections,
        threads: options.shape.threads,
        cpus: options.waiting.cpu.clone().unwrap_or_default().0,
        peer_cpus: options.waiting.peer_cpu.clone().unwrap_or_default().0,
        stop: Stop { after_ns: options.stop.time, count: options.stop.count, bytes: None, settled: options.stop.until },
        timeout_ns: options.stop.timeout,
        warm_up_ns: options.stop.warm_up,
        socket: socket(&options.path),
        nagle: options.path.nagle,
        stamps: stamps(&options.recording),
        seed: options.recording.seed,
    }
}

fn carrier(options: &CarrierOptions) -> Option<Carrier> {
    let words = [
        (options.tcp, Carrier::Tcp),
        (options.udp, Carrier::Udp),
        (options.icmp, Carrier::Icmp),
        (options.connect, Carrier::TcpConnect),
    ];
    let word = words.into_iter().find_map(|(given, carrier)| given.then_some(carrier));
    options.carrier.or(word)
}

fn schedule(options: &ScheduleOptions) -> Option<Schedule> {
    match (options.every, options.burst) {
        (Some(interval_ns), None) => Some(Schedule::Every { interval_ns }),
        (Some(interval_ns), Some(count)) => Some(Schedule::Bursts { count, interval_ns }),
        (None, _) => options
            .rate
            .map(|rate_per_1000s| Schedule::Rate { rate_per_1000s })
            .or(options.poisson.map(|rate_per_1000s| Schedule::Poisson { rate_per_1000s })),
    }
}

fn sizes(options: &ShapeOptions) -> (Option<Bytes>, Option<Bytes>) {
    (options.request_size.or(options.size), options.response_size.or(options.size))
}

fn socket(options: &PathOptions) -> SocketOptions {
    SocketOptions {
        bind: options.bind,
        interface: options.interface.clone(),
        tos: options.tos.or(options.dscp.map(|bits| bits << 2)),
        nodelay: !options.nagle,
        congestion: options.congestion.clone(),
        send_buffer_bytes: options.send_buffer,
        receive_buffer_bytes: options.receive_buffer,
    }
}

fn stamps(options: &RecordingOptions) -> Option<bool> {
    match (options.stamps, options.no_stamps) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
