//! The typed words as a plan: no I/O, nothing resolved against this host yet.

use std::sync::Arc;

use endpoint::name::Family;
use endpoint::reflector::PORT;
use endpoint::rtt::Protocol;
use measure::method::{
    Asked, Carrier, Far as Peer, Method, Pattern, Schedule, Sizes, SocketOptions, SourcePorts, Stop, Waiting,
};
use measure::reach::Transport;
use measure::trace::Trace;
use measure::unit::{Bytes, Nanos};
use protocol::netperf::passphrase::Passphrase;
use protocol::stamp::part::Part;
use protocol::stamp::{layout, tlv};
use protocol::{irtt, netperf, stamp, twamp};

use crate::command::application;
use crate::command::key_file::KeyFile;
use crate::command::result_options::ResultOptions;
use crate::command::rtt::options::{
    CarrierOptions, KeptOptions, PathOptions, PeerWord, ReachOptions, RecordingOptions, RttOptions, ScheduleOptions,
    ShapeOptions, StampAsk, WaitingOptions,
};
use crate::command::rtt::write_out::Template;
use crate::command::value::{self, CpuList, Far, SampleFile};
use crate::command::verify::Verify;
use crate::failure::Failure;

/// A request of `sonde rtt`.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The method, with gaps.
    pub asked: Asked,
    /// The trace that is replayed, where the schedule is one.
    pub trace: Option<Arc<Trace>>,
    /// The far side; `None`: a reflector of our own.
    pub target: Option<Target>,
    /// Protocol of a far side over TCP or UDP.
    pub protocol: Protocol,
    /// The key file that was named, whether or not there is a session to use it with.
    pub key: Option<KeyFile>,
    /// The key file of authenticated packets of STAMP.
    pub stamp_key: Option<KeyFile>,
    /// The key file of sealed packets of irtt.
    pub irtt_key: Option<KeyFile>,
    /// True where a missed rate or a loss is a failure.
    pub strict: bool,
    /// The file of every exchange.
    pub samples: Option<SampleFile>,
    /// True where each second that is told has a histogram.
    pub histograms: bool,
    /// The text that each request is told by, in place of a result for people.
    pub write_out: Option<Template>,
    /// The capture of packets, where the wire is watched.
    pub verify: Option<Verify>,
    /// Destination of the result.
    pub result: ResultOptions,
}

/// The far side as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name or address.
    pub host: String,
    /// Port; without meaning for ICMP.
    pub port: u16,
    /// Address family that a name may resolve to.
    pub family: Family,
}

impl Plan {
    /// The plan of these options.
    ///
    /// # Errors
    /// A port named twice, or a protocol that does not go with the carrier; everything else was refused when the options
    /// were read, or is when the plan is resolved.
    pub fn of(options: RttOptions) -> Result<Self, Failure> {
        let application = options.application.application(options.host.as_ref())?;
        let (protocol, asked) = if let Some(application) = application {
            refuse_peer(&options.path)?;
            let asked = application::towards(&application, &options.application, asked(&options))?;
            (Protocol::Application(Box::new(application)), asked)
        } else {
            let protocol = protocol(&options)?;
            let sealed = options.path.stamp_key.is_some() || options.path.irtt_key.is_some();
            let asked = towards(&protocol, sealed, asked(&options));
            (protocol, asked)
        };
        let write_out =
            options.write_out.as_deref().map(|typed| template(typed, &protocol, options.carrier.crr)).transpose()?;
        let target = options.host.map(|whom| target(whom.far, &options.path.reach, &protocol)).transpose()?;
        let key = options.path.reach.key.file();
        let stamp_key = options.path.reach.key.another(options.path.stamp_key.as_ref());
        let irtt_key = options.path.reach.key.another(options.path.irtt_key.as_ref());
        let KeptOptions { strict, samples, histograms, .. } = options.recording.kept;
        let verify = Verify::of(options.verify)?;
        if verify.is_some() {
            refuse_unknown_lengths(&protocol)?;
        }
        let result = options.result;
        Ok(Self {
            asked,
            trace: None,
            target,
            protocol,
            key,
            stamp_key,
            irtt_key,
            strict,
            samples,
            histograms,
            write_out,
            verify,
            result,
        })
    }

    /// The requests that the peer can answer.
    pub fn far(&self) -> Peer {
        if self.protocol == Protocol::Native { Peer::Native } else { Peer::Foreign }
    }

    /// The key file, where measuring by `method` makes a session with a reflector of somebody else.
    pub fn key_for(&self, method: &Method) -> Option<&KeyFile> {
        let makes_session = self.target.is_some() && self.protocol == Protocol::Native && method.needs_reflector();
        self.key.as_ref().filter(|_| makes_session)
    }

    /// The spelling of the peer where its last group was meant as a port: for whoever was not reached.
    pub fn port_in_address(&self) -> Option<String> {
        let host = &self.target.as_ref()?.host;
        let (address, port) = value::port_in_address(host)?;
        Some(format!("{host} was read as one IPv6 address: where {port} is the port, write [{address}]:{port}"))
    }
}

/// The template that was typed, of requests whose steps are known.
fn template(typed: &str, protocol: &Protocol, anew: bool) -> Result<Template, Failure> {
    let Protocol::Application(application) = protocol else {
        return Err(Failure::usage("--write-out is for programs at work").hint("ask one with http://HOST/PATH --crr"));
    };
    if !anew {
        let what = "--write-out tells the steps of requests with a connection each: those that are kept have none";
        return Err(Failure::usage(what).hint("add --crr"));
    }
    let template = Template::of(typed)?;
    let name = application.protocol.name();
    match template.of_http().filter(|_| !matches!(name, "http" | "https" | "h2c" | "h2")) {
        Some(variable) => {
            let what = format!("--write-out: %{{{variable}}} is for HTTP, and {name} has no statuses");
            Err(Failure::usage(what).hint("write %{reply}"))
        }
        None => Ok(template),
    }
}

/// Refuses to find replies on the wire whose length, or port, nobody knows beforehand.
///
/// # Errors
/// A program at work over TCP, whose replies are as long as it makes them; a server that names the port.
pub fn refuse_unknown_lengths(protocol: &Protocol) -> Result<(), Failure> {
    match protocol {
        Protocol::Twamp { .. } => {
            Err(Failure::usage("--verify watches one port, and a server of TWAMP names another for each session")
                .hint("capture beside it (tcpdump)"))
        }
        Protocol::Irtt { .. } => Err(Failure::usage(
            "--verify finds requests on the wire by their length, and irtt's sessions begin and end with others",
        )
        .hint("capture beside it (tcpdump)")),
        Protocol::Application(application) if application.mix.is_some() => {
            Err(Failure::usage("--verify finds requests on the wire by their length, and those of a mix differ")
                .hint("remove --verify, or --mix"))
        }
        Protocol::Application(application) if application.protocol.over == Transport::Tcp => {
            let what = format!(
                "--verify finds replies on the wire by their length, which a program that speaks {} chooses",
                application.protocol.name()
            );
            Err(Failure::usage(what).hint("capture beside it (tcpdump), or verify over UDP: dns://, ntp://"))
        }
        _ => Ok(()),
    }
}

/// Refuses what belongs to another program than the one that is asked in its own protocol.
fn refuse_peer(options: &PathOptions) -> Result<(), Failure> {
    let given = [
        ("--peer", options.peer.is_some()),
        ("--passphrase", options.passphrase.is_some()),
        ("--stamp-key", options.stamp_key.is_some()),
        ("--irtt-key", options.irtt_key.is_some()),
        ("--clocks-agree", options.clocks_agree.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            let what = format!("{option} and the protocol of a program at work exclude each other");
            Err(Failure::usage(what).hint("remove one of them"))
        }
        None => Ok(()),
    }
}

fn protocol(options: &RttOptions) -> Result<Protocol, Failure> {
    let PathOptions { peer, passphrase, stamp_key, irtt_key, stamp_ask, clocks_agree, .. } = &options.path;
    if *peer != Some(PeerWord::Stamp) && !stamp_ask.is_empty() {
        return Err(Failure::usage("--stamp-ask is for packets of STAMP").hint("add --peer stamp"));
    }
    if stamp_key.is_some() && !stamp_ask.is_empty() {
        let what = "--stamp-ask: the key of --stamp-key does not protect optional parts";
        return Err(Failure::usage(what).hint("remove one of them"));
    }
    if *peer != Some(PeerWord::Stamp) && stamp_key.is_some() {
        return Err(Failure::usage("--stamp-key is for packets of STAMP").hint("add --peer stamp"));
    }
    if *peer != Some(PeerWord::Irtt) && irtt_key.is_some() {
        return Err(Failure::usage("--irtt-key is for packets of irtt").hint("add --peer irtt"));
    }
    if !matches!(peer, Some(PeerWord::Stamp | PeerWord::Twamp | PeerWord::Irtt)) && clocks_agree.is_some() {
        return Err(Failure::usage("--clocks-agree is for one-way delays of STAMP and irtt").hint("add --peer stamp"));
    }
    if *peer != Some(PeerWord::Netperf) {
        return match passphrase {
            Some(_) => Err(Failure::usage("--passphrase is only for a netserver").hint("add --peer netperf")),
            // Keys are read when the plan is carried out.
            None if *peer == Some(PeerWord::Stamp) => {
                Ok(Protocol::Stamp { key: None, clocks_agree: *clocks_agree, parts: parts(stamp_ask) })
            }
            None if *peer == Some(PeerWord::Twamp) => Ok(Protocol::Twamp { clocks_agree: *clocks_agree }),
            None if *peer == Some(PeerWord::Irtt) => Ok(Protocol::Irtt { key: None, clocks_agree: *clocks_agree }),
            None => Ok(Protocol::Native),
        };
    }
    if let Some(carrier @ (Carrier::Icmp | Carrier::TcpConnect)) = carrier(&options.carrier) {
        let what = format!("{carrier} needs no netserver: the peer's kernel answers");
        return Err(Failure::usage(what).hint("remove --peer, or use --tcp or --udp"));
    }
    let passphrase = passphrase.clone().map(Passphrase::new).transpose();
    let passphrase = passphrase.map_err(|error| Failure::usage(format!("--passphrase: {error}")))?;
    Ok(Protocol::Netperf { passphrase })
}

/// The parts of packets that are asked for, each once.
fn parts(asked: &[StampAsk]) -> Vec<Part> {
    let of = |part: &Part| match part {
        Part::Class => StampAsk::Class,
        Part::Location => StampAsk::Location,
        Part::Counts => StampAsk::Counts,
        Part::FollowUp => StampAsk::FollowUp,
    };
    Part::ALL.into_iter().filter(|part| asked.contains(&of(part))).collect()
}

/// A server of irtt answers one packet every 10 ms, and five at once, unless it is told otherwise. What this host sends late leaves together, and five
/// of these intervals are longer than a busy one usually stalls.
const IRTT_INTERVAL: Nanos = Nanos::millis(50);

/// The defaults for a peer of this protocol: packets of STAMP and irtt go over UDP and have a size.
fn towards(protocol: &Protocol, sealed: bool, mut asked: Asked) -> Asked {
    let base = if sealed { layout::SEALED } else { layout::BARE };
    let shortest = match protocol {
        Protocol::Stamp { parts, .. } => base + tlv::length(parts),
        Protocol::Twamp { .. } => base,
        Protocol::Irtt { .. } => {
            asked.schedule.get_or_insert(Schedule::Every { interval_ns: IRTT_INTERVAL });
            if sealed { irtt::SEALED } else { irtt::BARE }
        }
        _ => return asked,
    };
    let carrier = asked.carrier.or((asked.pattern.is_none()).then_some(Carrier::Udp));
    let shortest = Bytes(shortest as u64);
    let request_bytes = asked.request_bytes.or(asked.response_bytes).or(Some(shortest));
    let response_bytes = asked.response_bytes.or(request_bytes);
    Asked { carrier, request_bytes, response_bytes, ..asked }
}

/// The far side by these words.
///
/// # Errors
/// A port named twice.
pub fn target(far: Far, path: &ReachOptions, protocol: &Protocol) -> Result<Target, Failure> {
    let usual = match protocol {
        Protocol::Native => PORT,
        Protocol::Stamp { .. } => stamp::PORT,
        Protocol::Twamp { .. } => twamp::PORT,
        Protocol::Irtt { .. } => irtt::PORT,
        protocol => application::usual_port(protocol).unwrap_or(netperf::PORT),
    };
    let port = match (far.port, path.port) {
        (Some(written), Some(port)) if written != port => {
            return Err(Failure::usage(format!("{}:{written} and --port {port} name two ports", far.host))
                .hint("remove one of them"));
        }
        (written, port) => written.or(port).unwrap_or(usual),
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
        volley: None,
        schedule: schedule(&options.schedule),
        pacing: options.schedule.pace,
        waiting: ours(&options.waiting),
        peer_waiting: theirs(&options.waiting),
        reply_every: None,
        batch: None,
        sending: None,
        discard: false,
        request_bytes,
        sizes: Sizes::Fixed,
        response_bytes,
        connections: options.shape.flows.or(options.shape.connections),
        threads: options.shape.threads,
        in_turn: options.shape.flows.is_some(),
        cpus: cpus(options.waiting.cpu.as_ref()),
        peer_cpus: cpus(options.waiting.peer_cpu.as_ref()),
        stop: Stop {
            after_ns: options.stop.time,
            count: options.stop.count,
            settled: options.stop.until,
            ..Stop::default()
        },
        timeout_ns: options.stop.timeout,
        warm_up_ns: options.stop.warm_up,
        socket: SocketOptions { source_ports: source_ports(options), ..socket(&options.path.reach) },
        nagle: options.path.reach.nagle,
        stamps: stamps(&options.recording),
        application: None,
        seed: options.recording.kept.seed,
    }
}

/// The local ports: those that were asked for. A flow that connects anew for each request keeps its port, or it would be another flow each time.
fn source_ports(options: &RttOptions) -> Option<SourcePorts> {
    let anew = options.carrier.crr || carrier(&options.carrier) == Some(Carrier::TcpConnect);
    let flows = options.shape.flows.filter(|_| anew);
    options.path.reach.source_port.or(flows.map(SourcePorts::usual))
}

/// The wait mode of this host, where it was said.
pub fn ours(options: &WaitingOptions) -> Option<Waiting> {
    options.wait.map(|word| word.0)
}

/// The wait mode of the peer, where it was said.
pub fn theirs(options: &WaitingOptions) -> Option<Waiting> {
    options.peer_wait.map(|word| word.0)
}

/// CPUs that were named.
pub fn cpus(list: Option<&CpuList>) -> Vec<u32> {
    list.cloned().unwrap_or_default().0
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

/// Times of the requests, where they were said.
pub fn schedule(options: &ScheduleOptions) -> Option<Schedule> {
    match (options.every, options.burst) {
        (Some(Nanos::ZERO), None) => Some(Schedule::BackToBack),
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

/// The socket options that were asked for.
pub fn socket(options: &ReachOptions) -> SocketOptions {
    SocketOptions {
        bind: options.bind,
        interface: options.interface.clone(),
        tos: options.tos.or(options.dscp.map(|bits| bits << 2)),
        nodelay: !options.nagle,
        congestion: options.congestion.clone(),
        send_buffer_bytes: options.send_buffer,
        receive_buffer_bytes: options.receive_buffer,
        source_ports: options.source_port,
    }
}

/// True where there are to be kernel timestamps, where it was said.
pub fn stamps(options: &RecordingOptions) -> Option<bool> {
    match (options.stamps, options.no_stamps) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
