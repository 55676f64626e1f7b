//! The typed words as a plan of the kind that `sonde rtt` carries out: no I/O, nothing resolved against this host yet.

use std::num::NonZeroU64;

use endpoint::rtt::Protocol;
use measure::method::{Asked, Batch, BatchBy, Carrier, Pattern, Schedule, Sizes, Stop};
use measure::unit::{Bytes, Rate};

use crate::command::application::{self, INTERVAL};
use crate::command::load::options::{CarrierOptions, LoadOptions, ScheduleOptions, ShapeOptions};
use crate::command::load::words::{RateWord, SizeWord};
use crate::command::rtt::options::KeptOptions;
use crate::command::rtt::plan::{Plan, cpus, ours, refuse_unknown_lengths, socket, target, theirs};
use crate::command::verify::Verify;
use crate::failure::Failure;

/// Messages per 1000 seconds where nobody says: 10 000 a second, which any machine and most paths carry.
const RATE: NonZeroU64 = NonZeroU64::new(10_000_000).expect("above 0");

/// The plan of these options.
///
/// # Errors
/// A port named twice, or what a program at work cannot be asked; everything else was refused when the options were read, or is when the
/// plan is resolved.
pub fn of(options: LoadOptions) -> Result<Plan, Failure> {
    let application = options.application.application(options.host.as_ref())?;
    let (protocol, asked) = match application {
        Some(application) => {
            let asked = application::towards(&application, &options.application, of_program(&options)?)?;
            (Protocol::Application(Box::new(application)), asked)
        }
        None => (Protocol::Native, asked(&options)),
    };
    let target = options.host.map(|whom| target(whom.far, &options.reach, &protocol)).transpose()?;
    let key = options.reach.key.file();
    let KeptOptions { strict, samples, histograms, .. } = options.kept;
    let (trace, verify) = (None, Verify::of(options.verify)?);
    if verify.is_some() {
        refuse_unknown_lengths(&protocol)?;
    }
    Ok(Plan {
        asked,
        trace,
        target,
        protocol,
        key,
        stamp_key: None,
        irtt_key: None,
        strict,
        samples,
        histograms,
        write_out: None,
        verify,
        result: options.result,
    })
}

/// The method that a program at work is asked by: requests of its protocol in an open loop, each of which has a reply.
fn of_program(options: &LoadOptions) -> Result<Asked, Failure> {
    let ShapeOptions { reply_every, size, batch, segments, .. } = &options.shape;
    let given = [
        ("--reply-every", reply_every.is_some()),
        ("--size", size.is_some()),
        ("--batch", batch.is_some()),
        ("--segments", segments.is_some()),
    ];
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!(
            "{option} shapes messages of sonde's own, and a program at work is asked in its protocol"
        ))
        .hint(format!("remove {option}")));
    }
    let searches = options.find.find.is_some();
    if searches && !options.application.force {
        let what = "a search raises the rate until the program no longer answers in time, and its other users wait";
        return Err(Failure::usage(what).hint("add --force where that is meant, and --up-to for a bound"));
    }
    let schedule = match schedule(&options.schedule) {
        Some(Schedule::BackToBack) => {
            return Err(Failure::usage(
                "--rate max sends without waiting for replies, which a program at work is not there for",
            )
            .hint("name a rate, or ask back to back: `sonde rtt` with --force"));
        }
        said => said.unwrap_or(Schedule::Every { interval_ns: INTERVAL }),
    };
    Ok(Asked { pattern: None, schedule: Some(schedule), ..asked(options) })
}

fn asked(options: &LoadOptions) -> Asked {
    let (request_bytes, sizes) = sizes(&options.shape);
    Asked {
        carrier: carrier(&options.carrier),
        pattern: Some(Pattern::Load),
        schedule: schedule(&options.schedule).or(Some(Schedule::Rate { rate_per_1000s: Rate(RATE) })),
        pacing: options.schedule.pace,
        waiting: ours(&options.waiting),
        peer_waiting: theirs(&options.waiting),
        reply_every: options.shape.reply_every,
        batch: batch(&options.shape),
        request_bytes,
        sizes,
        response_bytes: options.shape.response_size,
        connections: options.shape.connections,
        threads: options.shape.threads,
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

/// The protocol of the messages, where it was said.
pub fn carrier(options: &CarrierOptions) -> Option<Carrier> {
    let words = [(options.udp, Carrier::Udp), (options.tcp, Carrier::Tcp)];
    options.carrier.or(words.into_iter().find_map(|(given, carrier)| given.then_some(carrier)))
}

fn schedule(options: &ScheduleOptions) -> Option<Schedule> {
    Some(match (options.every, options.burst, options.poisson, options.rate) {
        (Some(interval_ns), None, ..) => Schedule::Every { interval_ns },
        (Some(interval_ns), Some(count), ..) => Schedule::Bursts { count, interval_ns },
        (None, _, Some(rate_per_1000s), _) => Schedule::Poisson { rate_per_1000s },
        (None, _, None, Some(RateWord::Max)) => Schedule::BackToBack,
        (None, _, None, Some(RateWord::Rate(rate_per_1000s))) => Schedule::Rate { rate_per_1000s },
        (None, _, None, None) => return None,
    })
}

fn sizes(options: &ShapeOptions) -> (Option<Bytes>, Sizes) {
    match &options.size {
        None => (None, Sizes::Fixed),
        Some(SizeWord::One(size)) => (Some(*size), Sizes::Fixed),
        Some(SizeWord::Several(sizes)) => (None, sizes.clone()),
    }
}

fn batch(options: &ShapeOptions) -> Option<Batch> {
    let calls = options.batch.map(|messages| Batch { messages, by: BatchBy::Calls });
    calls.or(options.segments.map(|messages| Batch { messages, by: BatchBy::Segments }))
}

#[cfg(test)]
mod tests;
