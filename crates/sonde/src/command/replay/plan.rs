//! The typed words and the schedule that was read, as a plan of the kind that `sonde rtt` carries out.

use std::sync::Arc;

use endpoint::rtt::Protocol;
use measure::method::{Asked, Batch, BatchBy, Pattern, Stop};
use measure::trace::Trace;

use crate::command::load::plan::carrier;
use crate::command::replay::options::ReplayOptions;
use crate::command::rtt::options::KeptOptions;
use crate::command::rtt::plan::{Plan, cpus, ours, socket, target, theirs};
use crate::command::verify::Verify;
use crate::failure::Failure;

/// The plan of these options for `trace`.
///
/// # Errors
/// A port named twice; everything else was refused when the options were read, or is when the plan is resolved.
pub fn of(options: ReplayOptions, trace: Trace) -> Result<Plan, Failure> {
    let asked = asked(&options, &trace);
    let target = Some(target(options.host, &options.reach, &Protocol::Native)?);
    let KeptOptions { strict, samples, histograms, .. } = options.kept;
    Ok(Plan {
        asked,
        trace: Some(Arc::new(trace)),
        target,
        protocol: Protocol::Native,
        key: options.reach.key.file(),
        stamp_key: None,
        irtt_key: None,
        strict,
        samples,
        histograms,
        write_out: None,
        verify: Verify::of(options.verify)?,
        result: options.result,
    })
}

fn asked(options: &ReplayOptions, trace: &Trace) -> Asked {
    let shape = &options.shape;
    Asked {
        carrier: carrier(&options.carrier),
        pattern: Some(Pattern::Load),
        schedule: Some(trace.schedule()),
        pacing: shape.pace,
        waiting: ours(&options.waiting),
        peer_waiting: theirs(&options.waiting),
        reply_every: shape.reply_every,
        batch: shape.batch.map(|messages| Batch { messages, by: BatchBy::Calls }),
        response_bytes: shape.response_size,
        connections: shape.connections,
        threads: shape.threads,
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
        socket: socket(&options.reach),
        nagle: options.reach.nagle,
        seed: options.kept.seed,
        ..Asked::default()
    }
}
