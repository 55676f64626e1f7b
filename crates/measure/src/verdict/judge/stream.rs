//! Warnings about the rate of a stream.

use super::Ends;
use crate::environment::Environment;
use crate::method::{Direction, Method};
use crate::throughput::detail::{Detail, Processors, TELLING, steady_after};
use crate::throughput::limit::Limiter;
use crate::throughput::{Interval, Throughput, per_second};
use crate::unit::{Bytes, Nanos};
use crate::verdict::Warning;
use crate::verdict::threshold::{SATURATED, SILENT, START, THROTTLED_LIMITS};

/// Warns where our own side failed to send.
pub(super) fn send_failed(stream: &Throughput) -> Option<Warning> {
    let count = stream.ours.failed_calls;
    (stream.direction != Direction::Receive && count > 0).then_some(Warning::SendFailed { count })
}

/// The processors of an end of `stream`, by its name.
fn processors<'a>(name: &str, stream: &'a Throughput, detail: &'a Detail) -> &'a Processors {
    if (name == "our") == (stream.direction != Direction::Receive) { &detail.sender } else { &detail.receiver }
}

/// Returns true where the limiter of the stream already reports the same.
pub(super) fn is_told_as_limit(warning: &Warning, stream: &Throughput) -> bool {
    let (Warning::Throttled { end, .. }, Some(detail)) = (warning, &stream.detail) else { return false };
    let by_cpu = matches!(detail.limit.limiter, Limiter::SenderCpu | Limiter::ReceiverCpu);
    by_cpu && processors(end, stream, detail).throttled_share.is_some_and(|share| share >= THROTTLED_LIMITS)
}

/// The name of a limit that other work on a CPU makes as well as the stream's own.
pub(super) fn limited_by_cpu(stream: &Throughput) -> Option<&'static str> {
    match stream.detail.as_ref()?.limit.limiter {
        Limiter::SenderCpu => Some("sender-cpu"),
        Limiter::ReceiverCpu => Some("receiver-cpu"),
        _ => None,
    }
}

/// Warns where the only stream of its direction is as fast as one CPU of an end that has more.
pub(super) fn one_cpu_of_many(stream: &Throughput, method: &Method, ends: Ends<'_>) -> Option<Warning> {
    let detail = stream.detail.as_ref().filter(|_| method.spread.connections == 1 && stream.back.is_none())?;
    let sends = stream.direction != Direction::Receive;
    let name = match detail.limit.limiter {
        Limiter::SenderCpu if sends => "our",
        Limiter::ReceiverCpu if !sends => "our",
        Limiter::SenderCpu | Limiter::ReceiverCpu => "the peer's",
        _ => return None,
    };
    let theirs = if ends.own_reflector { ends.ours } else { ends.theirs };
    let cpus = usable(if name == "our" { ends.ours } else { theirs }?)?;
    let busy = processors(name, stream, detail);
    let thread = busy.busiest_thread_share.unwrap_or(0.0) + busy.waiting_thread_share.unwrap_or(0.0);
    let full = thread.max(busy.busiest_cpu_share.unwrap_or(0.0)) >= SATURATED;
    // A group that may not run more gets no more by more streams; where that cannot be read, waiting longer than running may be it.
    let waits = busy.waiting_thread_share.unwrap_or(0.0) > busy.busiest_thread_share.unwrap_or(0.0);
    let free = busy.throttled_share.map_or(!waits, |share| share < THROTTLED_LIMITS);
    (cpus > 1 && full && free).then(|| Warning::OneStreamOneCpu { end: name.to_owned(), cpus })
}

fn usable(end: &Environment) -> Option<u32> {
    end.cpus_allowed.or(end.cpus_online)
}

/// Warns where the receiver got nothing for a hundredth of the time or more.
pub(super) fn silent(stream: &Throughput) -> Option<Warning> {
    let silence = stream.detail.as_ref()?.silence.filter(|silence| silence.share >= SILENT)?;
    Some(Warning::Silent { silence })
}

/// Warns where datagrams reached the peer from elsewhere than their stream began.
pub(super) fn rebound(stream: &Throughput) -> Option<Warning> {
    stream.detail.as_ref()?.elsewhere.map(|count| Warning::Rebound { count, sent: None })
}

/// Warns where the rate had two levels: the printed one is the mean of both.
pub(super) fn rate_changed(stream: &Throughput) -> Option<Warning> {
    stream.detail.as_ref()?.rate_change.map(|change| Warning::RateChanged { change })
}

/// Warns where the run was too short to show a steady rate, where the rate was never steady, or where it counts a slower start.
pub(super) fn course(stream: &Throughput) -> Option<Warning> {
    let counted: Vec<Interval> = stream.intervals.iter().filter(|interval| !interval.omitted).copied().collect();
    let whole = counted.len().checked_sub(1)?;
    // Where nothing arrived there is no rate, and that is told.
    if stream.ours.bytes == Bytes(0) || stream.received_bytes_per_s == Some(0.0) {
        return None;
    }
    if whole < TELLING {
        return Some(Warning::TooShort { intervals: whole as u64, needed: TELLING as u64 });
    }
    let Some(steady_from) = steady_after(&counted) else { return Some(Warning::NotSteady { shift_ns: None }) };
    let rate = |from: Nanos| {
        let part = || counted.iter().filter(|interval| interval.at_ns >= from);
        let sum = |of: fn(&Interval) -> u64| part().fold(0_u64, |sum, interval| sum.saturating_add(of(interval)));
        per_second(Bytes(sum(|interval| interval.carried.bytes.0)), Nanos(sum(|interval| interval.length_ns.0)))
    };
    let (all, steady) = (rate(Nanos::ZERO)?, rate(steady_from)?);
    let share = 1.0 - all / steady;
    let start = counted.first().map_or(Nanos::ZERO, |first| first.at_ns);
    (steady > 0.0 && share > START)
        .then(|| Warning::StartIncluded { steady_after_ns: Nanos(steady_from.0.saturating_sub(start.0)), share })
}
