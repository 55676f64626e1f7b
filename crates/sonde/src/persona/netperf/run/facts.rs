//! Results of a session, as the facts that the output is made from.

use endpoint::cpu_usage::Usage;
use endpoint::peer::netperf::client::{Found, Measured, Test};
use measure::method::Schedule;
use measure::outcome::SocketFacts;
use measure::recorder::{Recording, Values};
use measure::statistics::moments;
use measure::statistics::quantile::Ranked;
use measure::unit::Nanos;
use protocol::netperf::answer;
use protocol::netperf::ask::Flags;

use crate::persona::netperf::facts::{Cpu, End, Histogram, Iteration, Latency, Percentile};
use crate::persona::netperf::options::Options;

/// The facts of one iteration.
pub fn iteration(options: &Options, test: &Test, measured: &Measured) -> Iteration {
    let local = local(options, test, measured);
    let remote = remote(measured);
    let mss = measured.course.at_end.mss_bytes.or(measured.course.at_start.mss_bytes);
    let (transactions, waited_ns) = match &measured.found {
        Found::Exchanges(gathered) => (gathered.recording.counts.answered, waited(test, measured, &gathered.recording)),
        Found::Stream(_) => (0, 0),
    };
    Iteration {
        elapsed_ns: measured.elapsed.0,
        waited_ns,
        transactions,
        lost: lost(test, measured, &local, &remote),
        mss_bytes: mss.and_then(|bytes| u32::try_from(bytes.0).ok()),
        local,
        remote,
    }
}

/// The recording whose times are told: of exchanges, or of a stream's calls where they were kept.
pub fn timed(measured: &Measured) -> Option<&Recording> {
    match &measured.found {
        Found::Exchanges(gathered) => Some(&gathered.recording),
        Found::Stream(streams) => streams.metered.calls.as_ref(),
    }
}

/// A paced exchange waits for its instants whenever it does not wait for an answer.
fn waited(test: &Test, measured: &Measured, recording: &Recording) -> u64 {
    if test.method.schedule == Schedule::BackToBack {
        return 0;
    }
    let busy = u64::try_from(recording.response.sum()).unwrap_or(u64::MAX);
    measured.elapsed.0.saturating_sub(busy)
}

fn lost(test: &Test, measured: &Measured, local: &End, remote: &End) -> Option<u64> {
    if !super::task::is_lossy(&test.method) {
        return None;
    }
    match &measured.found {
        Found::Exchanges(gathered) => {
            let counts = gathered.recording.counts;
            Some(counts.lost + counts.late + counts.corrupt + counts.refused)
        }
        // Without the server's word nothing is known.
        Found::Stream(_) if measured.course.results.is_err() => None,
        Found::Stream(_) if test.ask.server_receives => Some(local.send_calls.saturating_sub(remote.receive_calls)),
        Found::Stream(_) => Some(remote.send_calls.saturating_sub(local.receive_calls)),
    }
}

fn local(options: &Options, test: &Test, measured: &Measured) -> End {
    let course = &measured.course;
    let bytes = |bytes: Option<measure::unit::Bytes>| bytes.and_then(|bytes| u32::try_from(bytes.0).ok());
    let (sent, received) = (measured.sent, measured.received);
    let call = match &measured.found {
        Found::Stream(streams) => u32::try_from(streams.call_bytes.0).ok(),
        Found::Exchanges(_) => None,
    };
    let direction = options.data.direction;
    let each = test.ask.per_connection;
    End {
        send_buffer_bytes: bytes(course.at_start.send_buffer_bytes),
        send_buffer_end_bytes: bytes(at_end(course).send_buffer_bytes),
        receive_buffer_bytes: bytes(course.at_start.receive_buffer_bytes),
        receive_buffer_end_bytes: bytes(at_end(course).receive_buffer_bytes),
        send_bytes: call.filter(|_| direction.sends),
        receive_bytes: call.filter(|_| direction.receives),
        send_width: direction.sends.then(|| options.buffers.send_width.unwrap_or(1)),
        receive_width: direction.receives.then(|| options.buffers.receive_width.unwrap_or(1)),
        send_calls: sent.calls,
        failed_sends: failed(measured),
        receive_calls: received.calls,
        sent_bytes: sent.bytes,
        received_bytes: received.bytes,
        nodelay: options.data.nodelay,
        priority: options.priority.local,
        tos: options.tos.local,
        congestion: at_end(course).congestion.clone().filter(|_| !each),
        retransmits: at_end(course).retransmitted.filter(|_| !each).and_then(|count| u32::try_from(count).ok()),
        cpu: measured.cpu.as_ref().filter(|_| options.cpu.local.is_some()).map(ours),
    }
}

/// The socket at the end; as at the start where it could not be asked any more.
fn at_end(course: &endpoint::peer::netperf::client::Course) -> &SocketFacts {
    if course.at_end.send_buffer_bytes.is_some() { &course.at_end } else { &course.at_start }
}

fn failed(measured: &Measured) -> u64 {
    match &measured.found {
        Found::Exchanges(gathered) => gathered.recording.counts.send_failed,
        Found::Stream(streams) => streams.metered.carried.failed_calls,
    }
}

fn remote(measured: &Measured) -> End {
    let ready = &measured.course.ready;
    let none = answer::Results::default();
    let results = measured.course.results.as_ref().unwrap_or(&none);
    let sent = results.sent.unwrap_or_default();
    let received = results.received.unwrap_or_default();
    End {
        send_buffer_bytes: ready.send_buffer,
        send_buffer_end_bytes: results.send_buffer.or(ready.send_buffer),
        receive_buffer_bytes: ready.receive_buffer,
        receive_buffer_end_bytes: results.receive_buffer.or(ready.receive_buffer),
        send_bytes: ready.send_bytes,
        receive_bytes: ready.receive_bytes,
        send_width: ready.send_buffers,
        receive_width: ready.receive_buffers,
        send_calls: sent.calls,
        failed_sends: 0,
        receive_calls: received.calls,
        sent_bytes: sent.bytes,
        received_bytes: received.bytes,
        nodelay: ready.flags.has(Flags::NODELAY),
        priority: ready.priority.and_then(|priority| i32::try_from(priority).ok()),
        tos: ready.tos.and_then(|tos| u8::try_from(tos).ok()),
        congestion: results.congestion.clone(),
        retransmits: results.retransmits,
        cpu: results.cpu.as_ref().map(theirs),
    }
}

fn ours(usage: &Usage) -> Cpu {
    Cpu {
        busy_percent: usage.busy_share * 100.0,
        user_percent: usage.user_share * 100.0,
        system_percent: usage.system_share * 100.0,
        iowait_percent: usage.iowait_share * 100.0,
        irq_percent: usage.irq_share * 100.0,
        softirq_percent: usage.softirq_share * 100.0,
        method: answer::Method::PROC_STAT.letter(),
        count: usage.cpus,
        peak_id: usage.busiest,
        peak_percent: usage.busiest_share * 100.0,
    }
}

fn theirs(cpu: &answer::Cpu) -> Cpu {
    let share = |share: Option<f32>| f64::from(share.unwrap_or_default());
    Cpu {
        busy_percent: share(cpu.util),
        user_percent: share(cpu.user),
        system_percent: share(cpu.system),
        iowait_percent: share(cpu.iowait),
        irq_percent: share(cpu.irq),
        softirq_percent: share(cpu.swintr),
        method: cpu.method.letter(),
        count: cpu.count,
        peak_id: cpu.peak_id.unwrap_or_default(),
        peak_percent: share(cpu.peak_util),
    }
}

/// Times of all iterations together: every one of them while there is room, and counts to three digits beyond.
#[derive(Debug)]
pub struct Durations {
    values: Values,
    exact: Option<Vec<u64>>,
}

impl Default for Durations {
    fn default() -> Self {
        Self { values: Values::new(), exact: Some(Vec::new()) }
    }
}

impl Durations {
    /// Adds the times of another iteration.
    pub fn add(&mut self, recording: &Recording) {
        self.values.merge(&recording.response);
        self.exact = self.exact.take().zip(recording.exact()).map(|(mut all, more)| {
            all.extend(more);
            all
        });
    }

    /// The words for them, with a histogram of so many columns; `None` where there are none.
    pub fn latency(self, columns: usize) -> Option<Latency> {
        let Self { values, exact } = self;
        let (min, max, mean) = (values.min()?, values.max()?, moments::mean(&values)?);
        let mut histogram = Histogram::of(columns);
        // An exchange that the clock stepped over has a count and no time: then the histogram alone says how many there are.
        let whole = exact.filter(|all| all.len() as u64 == values.count());
        let ranked = if let Some(all) = whole {
            for nanos in &all {
                histogram.add(*nanos, 1);
            }
            Ranked::exact(all)
        } else {
            for step in values.histogram().iter_recorded() {
                histogram.add(step.value_iterated_to(), step.count_at_value());
            }
            Ranked::counted(&values)
        };
        let percentiles_ns = Percentile::ALL.map(|percentile| ranked.quantile(percentile.share()).unwrap_or(max.0));
        let Nanos(min_ns) = min;
        Some(Latency {
            count: values.count(),
            min_ns,
            max_ns: max.0,
            mean_ns: mean,
            stddev_ns: moments::mdev(&values).unwrap_or_default(),
            percentiles_ns,
            histogram,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::method::LoopKind;
    use measure::recorder::Recorder;
    use measure::unit::Instant;

    fn recording(times: &[u64], keep: usize) -> Recording {
        let mut recorder = Recorder::new(LoopKind::Closed, keep);
        recorder.begin(Instant(0), None);
        for &time in times {
            recorder.answered(Instant(1_000), Instant(1_000 + time));
        }
        recorder.finish(Instant(1))
    }

    #[test]
    fn iterations_are_told_together() {
        let mut durations = Durations::default();
        durations.add(&recording(&[5_000, 7_000], 10));
        durations.add(&recording(&[9_000, 250_000], 10));
        let latency = durations.latency(10).unwrap();
        assert_eq!((latency.count, latency.min_ns, latency.max_ns), (4, 5_000, 250_000));
        assert_eq!(latency.percentile_ns(Percentile::P50), 7_000);
        assert_eq!(latency.percentile_ns(Percentile::P99), 250_000);
        assert_eq!(latency.histogram.rows[0][5..], [1, 0, 1, 0, 1]);
        assert_eq!((latency.histogram.rows[2][2], latency.histogram.total()), (1, 4));
        assert!((latency.mean_ns - 67_750.0).abs() < 1e-9);
    }

    #[test]
    fn beyond_what_is_kept_there_are_three_digits_and_never_more_than_the_longest() {
        let times: Vec<u64> = (1..=1_000).map(|n| n * 1_000).collect();
        let mut durations = Durations::default();
        durations.add(&recording(&times, 10));
        let latency = durations.latency(10).unwrap();
        let p50 = latency.percentile_ns(Percentile::P50) as f64;
        assert!((p50 / 500_000.0 - 1.0).abs() < 0.001, "{p50}");
        assert_eq!(latency.percentile_ns(Percentile::P99999), 1_000_000);
        assert_eq!(latency.histogram.total(), 1_000);
    }

    #[test]
    fn nothing_timed_is_nothing_told() {
        assert_eq!(Durations::default().latency(10), None);
    }
}
