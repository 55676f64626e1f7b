//! The typed words as a plan: no I/O, nothing resolved against this host yet.

use endpoint::rtt::Protocol;
use measure::method::{Asked, Batch, BatchBy, Carrier, Direction, Pattern, Schedule, Stop, default};
use measure::unit::{Bytes, Nanos, Rate};

use crate::command::rtt::plan::{Plan as Measurement, cpus, ours, socket, target, theirs};
use crate::command::throughput::options::{CarrierOptions, ThroughputOptions};
use crate::command::throughput::words::{BitRate, Counts};
use crate::command::verify::Verify;
use crate::failure::Failure;

/// A request of `sonde throughput`.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The measurement, of which streams and CPUs are those of its first run.
    pub measurement: Measurement,
    /// Runs, one after the other; at least one.
    pub runs: Vec<Run>,
    /// True where exchanges beside the streams are timed.
    pub with_latency: bool,
    /// True where what loses is tested.
    pub tests_losses: bool,
    /// Length of an interval of the series.
    pub interval: Nanos,
}

/// One of several runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Streams each way.
    pub streams: u32,
    /// CPUs that each end may use; `None`: the scheduler decides.
    pub cores: Option<u32>,
}

/// The plan of these options.
///
/// # Errors
/// A port named twice, a rate too low for the size of a call, more cores than this host has; everything else was refused
/// when the options were read, or is when the plan is resolved.
pub fn of(options: ThroughputOptions, cpus_here: u32) -> Result<Plan, Failure> {
    let runs = runs(options.shape.streams.as_ref(), options.shape.cores.as_ref(), cpus_here)?;
    let asked = asked(&options)?;
    let target = options.host.map(|far| target(far, &options.reach, &Protocol::Native)).transpose()?;
    let key = options.reach.key.file();
    let measurement = Measurement {
        asked,
        trace: None,
        target,
        protocol: Protocol::Native,
        key,
        stamp_key: None,
        irtt_key: None,
        strict: false,
        samples: None,
        histograms: false,
        write_out: None,
        verify: Verify::of(options.verify)?,
        result: options.result,
    };
    Ok(Plan {
        measurement,
        runs,
        with_latency: options.beside.with_latency,
        tests_losses: !options.beside.no_test,
        interval: options.stop.interval.unwrap_or(measure::event::INTERVAL),
    })
}

impl Plan {
    /// The measurement of one run.
    pub fn of_run(&self, run: Run) -> Measurement {
        let mut measurement = self.measurement.clone();
        measurement.asked.connections = Some(run.streams);
        measurement.asked.threads = Some(run.streams);
        if let Some(cores) = run.cores {
            measurement.asked.cpus = (0..cores).collect();
            measurement.asked.peer_cpus = (0..cores).collect();
        }
        measurement
    }
}

/// Every number of streams on every number of cores.
fn runs(streams: Option<&Counts>, cores: Option<&Counts>, cpus_here: u32) -> Result<Vec<Run>, Failure> {
    let streams = streams.map_or(&[1][..], |counts| &counts.0);
    let Some(cores) = cores else {
        return Ok(streams.iter().map(|&streams| Run { streams, cores: None }).collect());
    };
    if let Some(beyond) = cores.0.iter().find(|count| **count > cpus_here) {
        let what = format!("--cores {beyond}: this host has {cpus_here} CPUs that this process may use");
        return Err(Failure::usage(what).hint("ask for no more: threads beyond them would share a CPU"));
    }
    let of = |&cores: &u32| streams.iter().map(move |&streams| Run { streams, cores: Some(cores) });
    Ok(cores.0.iter().flat_map(of).collect())
}

fn asked(options: &ThroughputOptions) -> Result<Asked, Failure> {
    let carrier = carrier(&options.carrier);
    let call = options.shape.size.unwrap_or(if carrier == Carrier::Udp { default::DATAGRAM } else { default::CALL });
    Ok(Asked {
        carrier: Some(carrier),
        pattern: Some(Pattern::Stream),
        direction: Some(direction(&options.carrier)),
        schedule: options.shape.rate.map(|rate| schedule(rate, call, carrier)).transpose()?,
        pacing: options.shape.pace,
        waiting: ours(&options.waiting),
        peer_waiting: theirs(&options.waiting),
        batch: options.handing.segments.map(|messages| Batch { messages, by: BatchBy::Segments }),
        sending: options.handing.send,
        discard: options.handing.discard,
        request_bytes: Some(call),
        cpus: cpus(options.waiting.cpu.as_ref()),
        peer_cpus: cpus(options.waiting.peer_cpu.as_ref()),
        stop: Stop { after_ns: options.stop.time, bytes: options.stop.bytes, ..Stop::default() },
        warm_up_ns: options.stop.warm_up,
        socket: socket(&options.reach),
        nagle: options.reach.nagle,
        ..Asked::default()
    })
}

fn carrier(options: &CarrierOptions) -> Carrier {
    options.carrier.unwrap_or(if options.udp { Carrier::Udp } else { Carrier::Tcp })
}

fn direction(options: &CarrierOptions) -> Direction {
    match (options.reverse, options.bidir) {
        (true, _) => Direction::Receive,
        (_, true) => Direction::Both,
        _ => Direction::Send,
    }
}

/// So many calls that they carry `rate` bits a second, all streams of a way together.
fn schedule(rate: BitRate, call: Bytes, carrier: Carrier) -> Result<Schedule, Failure> {
    let per_1000s = u128::from(rate.0) * 1_000 / (u128::from(call.0.max(1)) * 8);
    let found = u64::try_from(per_1000s).ok().and_then(std::num::NonZeroU64::new).map(Rate);
    // Below ten calls a second the rate of an interval says nothing.
    let found = found.filter(|rate| rate.0.get() >= 10_000).ok_or_else(|| {
        let what = format!("--rate: {} bit/s are too few calls of {} bytes a second to be even", rate.0, call.0);
        Failure::usage(what).hint(if carrier == Carrier::Udp {
            "take a smaller --size"
        } else {
            "take a smaller --size, as in 8KiB"
        })
    })?;
    Ok(Schedule::Rate { rate_per_1000s: found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use measure::method::StreamOver;
    use test_case::test_case;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        options: ThroughputOptions,
    }

    fn plan(words: &str) -> Result<Plan, Failure> {
        let line = Line::try_parse_from(["throughput"].into_iter().chain(words.split_whitespace()));
        of(line.unwrap_or_else(|error| panic!("{error}")).options, 2)
    }

    #[test]
    fn nothing_said_is_one_tcp_stream_to_the_far_side() {
        let plan = plan("").unwrap();
        assert_eq!(plan.runs, [Run { streams: 1, cores: None }]);
        let method = plan.of_run(plan.runs[0]).asked.resolve().unwrap();
        assert_eq!(method.to_string(), "tcp stream · send · back to back · 128 KiB a call · block · 10 s");
        assert!(plan.tests_losses && !plan.with_latency);
    }

    #[test]
    fn numbers_of_streams_and_cores_are_crossed() {
        let plan = plan("-P 1,4 --cores 1,2").unwrap();
        let runs: Vec<(u32, Option<u32>)> = plan.runs.iter().map(|run| (run.streams, run.cores)).collect();
        assert_eq!(runs, [(1, Some(1)), (4, Some(1)), (1, Some(2)), (4, Some(2))]);
        let asked = plan.of_run(plan.runs[3]).asked;
        assert_eq!((asked.connections, asked.cpus, asked.peer_cpus), (Some(4), vec![0, 1], vec![0, 1]));
    }

    #[test]
    fn a_rate_is_so_many_calls() {
        let method = |words: &str| plan(words).unwrap().measurement.asked.resolve().unwrap();
        let udp = method("--udp --rate 112M --bidir --segments 8");
        assert_eq!(udp.schedule, Schedule::Rate { rate_per_1000s: Rate::per_second(10_000).unwrap() });
        let stream = udp.traffic.stream().unwrap();
        assert_eq!((stream.direction, stream.over), (Direction::Both, StreamOver::Udp { segments: Some(8) }));
        let received = method("--reverse --rate 100M --size 8KiB");
        assert_eq!(received.traffic.stream().map(|stream| stream.direction), Some(Direction::Receive));
    }

    #[test_case("--cores 3", "2 CPUs"; "more cores than there are")]
    #[test_case("--rate 1M", "too few calls"; "a rate of few large calls")]
    fn what_makes_no_sense_is_refused(words: &str, told: &str) {
        let failure = plan(words).unwrap_err();
        assert!(failure.told.what.contains(told), "{}", failure.told.what);
    }
}
