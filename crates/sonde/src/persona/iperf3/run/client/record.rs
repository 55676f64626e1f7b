//! A run as a record: the same document that every other measurement leaves.

use std::net::SocketAddr;

use endpoint::peer::iperf3::client::{Finish, Measured, Test};
use endpoint::peer::iperf3::streams::Ran;
use endpoint::rtt::{Ending, PeerFacts, Target};
use logbook::moment::Moment;
use logbook::record::Record;
use measure::method::{Asked, Carrier, Direction, Far, Pacing, Pattern, SocketOptions, Stop};
use measure::throughput::meter::{Meter, Metered};
use measure::throughput::{Carried, Sight, Theirs, Throughput};
use measure::unit::{Bytes, Instant, Nanos};
use protocol::iperf3::parameters::{self, Parameters, Protocol};
use protocol::iperf3::results::Results;

use crate::command::rtt::conclude::Around;
use crate::command::spoken::Spoken;
use crate::failure::Failure;
use crate::persona::answer::Answer;
use crate::persona::iperf3::options::usage;
use crate::persona::iperf3::run::client::Course;
use crate::persona::record;
use crate::system::now;
use crate::words;

/// The longest a method lasts: `-t 0` ends by a signal.
const LONGEST: Nanos = Nanos::secs(7 * 86_400);

/// Refuses a test that no record can describe, before it runs.
///
/// # Errors
/// The reason for which no record of this test can be made.
pub fn check(course: &Course<'_>, test: &Test) -> Result<(), Answer> {
    let method = asked(course, test, &test.parameters).resolve_towards(Far::ForeignPaced);
    method.map(drop).map_err(|refusal| usage::parameter_error(format!("--record: {}", words::refusal(&refusal))))
}

/// Facts of a run beside its results.
pub struct Inquiry<'a> {
    course: &'a Course<'a>,
    test: &'a Test,
    peer: SocketAddr,
    started: Moment,
}

impl<'a> Inquiry<'a> {
    /// Before the test.
    pub fn begin(course: &'a Course<'a>, test: &'a Test, peer: SocketAddr) -> Self {
        Self { course, test, peer, started: now() }
    }

    /// The record of what was found.
    ///
    /// # Errors
    /// A method that none can describe.
    pub fn record(&self, measured: Measured) -> Result<Record, Failure> {
        let asked = asked(self.course, self.test, &measured.parameters);
        let method =
            asked.resolve_towards(Far::ForeignPaced).map_err(|refusal| Failure::usage(words::refusal(&refusal)))?;
        let target = Target { host: self.course.client.host.clone(), address: self.peer };
        let spoken = Spoken::foreign("iperf3");
        let inquiry = record::inquiry(self.course.command, &asked, &method, target, spoken, self.started);
        let stream = both_ways(&measured);
        let ended = match (&measured.finish, &measured.trouble) {
            (Finish::Complete, _) => Ending::Complete,
            (Finish::Stopped, _) => Ending::Stopped,
            (_, Some(trouble)) => Ending::PeerLost { reason: trouble.to_string() },
            (finish, None) => Ending::PeerLost { reason: format!("{finish:?}") },
        };
        let told = measured.theirs.is_none().then(|| "the test did not come to its results".to_owned());
        let around = Around {
            ours: measured.environment,
            theirs: None,
            // It does not tell its version.
            peer: PeerFacts { program: Some("iperf3".to_owned()), ..PeerFacts::default() },
            ended,
            target: self.peer,
            own_reflector: false,
            report_missing: told,
        };
        Ok(inquiry.stream_record(stream, around, self.course.interruption.signal()))
    }
}

/// The method with gaps.
fn asked(course: &Course<'_>, test: &Test, parameters: &Parameters) -> Asked {
    let udp = parameters.protocol == Protocol::Udp;
    let in_blocks = parameters.blocks.saturating_mul(parameters.block_bytes().into());
    let timed = parameters.bytes == 0 && parameters.blocks == 0;
    let seconds = Some(Nanos::secs(parameters.time.into())).filter(|time| *time > Nanos::ZERO);
    let buffer = parameters.window.map(|bytes| Bytes(bytes.into()));
    let schedule = endpoint::peer::iperf3::sockets::schedule(parameters);
    let paced = parameters.rate.is_some();
    // A client that only receives paces nothing itself.
    let paces = paced && parameters.uploads() > 0;
    Asked {
        carrier: Some(if udp { Carrier::Udp } else { Carrier::Tcp }),
        pattern: Some(Pattern::Stream),
        direction: Some(direction(parameters.direction)),
        schedule: paced.then_some(schedule),
        pacing: paces.then_some(Pacing::Hybrid),
        request_bytes: Some(Bytes(parameters.block_bytes().into())),
        connections: Some(parameters.parallel),
        cpus: test.cpu.into_iter().collect(),
        peer_cpus: parameters.server_affinity.into_iter().collect(),
        discard: parameters.skip_rx_copy,
        stop: Stop {
            after_ns: timed.then(|| seconds.unwrap_or(LONGEST)),
            bytes: Some(Bytes(parameters.bytes.max(in_blocks))).filter(|bytes| bytes.0 > 0),
            ..Stop::default()
        },
        warm_up_ns: Some(Nanos::secs(parameters.omit.into())),
        socket: SocketOptions {
            source_ports: None,
            bind: None,
            interface: course.common.device.clone(),
            tos: (parameters.tos > 0).then_some(parameters.tos),
            nodelay: parameters.nodelay,
            congestion: parameters.congestion.clone(),
            send_buffer_bytes: buffer,
            receive_buffer_bytes: buffer,
        },
        nagle: !udp && !parameters.nodelay,
        ..Asked::default()
    }
}

fn direction(way: parameters::Direction) -> Direction {
    match way {
        parameters::Direction::Upload => Direction::Send,
        parameters::Direction::Reverse => Direction::Receive,
        parameters::Direction::Both => Direction::Both,
    }
}

/// The streams that we sent on, and those that we received on; where there were both the latter are the way back.
fn both_ways(measured: &Measured) -> Throughput {
    let of =
        |sends: bool| -> Vec<&Ran> { measured.streams.iter().filter(|ran| ran.connection.sends == sends).collect() };
    let theirs = measured.theirs.as_ref();
    let (sent, received) = (of(true), of(false));
    match (sent.is_empty(), received.is_empty()) {
        (true, _) => one_way(&received, theirs, Direction::Receive),
        (_, true) => one_way(&sent, theirs, Direction::Send),
        _ => {
            let back = Some(Box::new(one_way(&received, theirs, Direction::Receive)));
            Throughput { back, ..one_way(&sent, theirs, Direction::Send) }
        }
    }
}

fn one_way(streams: &[&Ran], theirs: Option<&Results>, direction: Direction) -> Throughput {
    let sockets = streams.iter().map(|ran| ran.at_end.clone()).collect();
    let told = theirs.map(|results| {
        let each = streams.iter().filter_map(|ran| results.stream(ran.connection.id));
        let mut carried = Carried::default();
        let mut elapsed = None;
        for stream in each {
            carried.add(&Carried { bytes: Bytes(stream.bytes), calls: stream.counted(), failed_calls: 0 });
            let length = stream.times_s.map(|(from, to)| Nanos(((to - from).max(0.0) * 1e9) as u64));
            elapsed = elapsed.max(length);
        }
        Theirs { carried, elapsed_ns: elapsed }
    });
    Throughput::of(direction, &metered(streams), told, sockets)
}

/// The counts of these streams as one.
fn metered(streams: &[&Ran]) -> Metered {
    let began = streams.iter().map(|ran| ran.count.began).min().unwrap_or(Instant(0));
    let ended = streams.iter().map(|ran| ran.count.began.after(ran.elapsed)).max().unwrap_or(began);
    let mut carried = Carried::default();
    for ran in streams {
        carried.add(&ran.count.carried);
    }
    let counts = streams.iter().map(|ran| ran.count.clone()).collect();
    Metered { carried, streams: counts, began, ended, ..Meter::new(0).finish(ended, Sight::default()) }
}
