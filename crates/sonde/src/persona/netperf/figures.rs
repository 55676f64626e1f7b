//! Rates, means over iterations, service demand and confidence: the arithmetic between facts and text.

use measure::statistics::width::width_percent;

use crate::persona::netperf::facts::{Cpu, End, Iteration};
use crate::persona::netperf::options::Options;
use crate::persona::netperf::options::pair::Pair;
use crate::persona::netperf::unit::{Unit, quotient};

/// Figures of a run. Means are over iterations, the rest is of the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Mean of the elapsed times, in seconds.
    pub elapsed_s: f64,
    /// Mean of the main result, in the unit of `-f`.
    pub throughput: f64,
    /// Means of the CPU use, in percent of all CPUs; `None` where it was not measured.
    pub cpu_percent: Pair<Option<f64>>,
    /// Means of the service demand, in microseconds of CPU a `KByte` (1024 bytes) or a transaction.
    pub service_demand: Pair<Option<f64>>,
    /// Full widths of the confidence intervals in percent of their means; `None` where no confidence was asked for.
    pub width_percent: Option<Widths>,
    /// Transactions a second.
    pub transaction_rate: f64,
    /// Microseconds of a transaction, from the rate: pacing left out, requests in flight divided out. `None` in
    /// one-way tests and where no transaction was completed.
    pub round_trip_us: Option<f64>,
    /// The last elapsed time, in seconds.
    pub last_elapsed_s: f64,
}

/// Widths of confidence intervals in percent; 0 where there is nothing that could vary.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Widths {
    /// Width of the main result's interval.
    pub throughput: f64,
    /// Width of the local CPU use's.
    pub local_cpu: f64,
    /// Width of the remote CPU use's.
    pub remote_cpu: f64,
}

impl Figures {
    /// Figures of iterations, of which there is one at least.
    pub fn of(options: &Options, iterations: &[Iteration]) -> Self {
        let last = iterations.last().cloned().unwrap_or_default();
        let each = |find: &dyn Fn(&Iteration) -> f64| mean(&iterations.iter().map(find).collect::<Vec<_>>());
        let cpu = |end: fn(&Iteration) -> &End| mean_of_some(iterations, |it| end(it).cpu.map(|cpu| cpu.busy_percent));
        let demand = |end: fn(&Iteration) -> &End| {
            mean_of_some(iterations, |it| end(it).cpu.map(|cpu| service_demand(options, it, &cpu)))
        };
        Self {
            elapsed_s: each(&seconds),
            throughput: each(&|it| throughput(options, it)),
            cpu_percent: Pair::new(cpu(local), cpu(remote)),
            service_demand: Pair::new(demand(local), demand(remote)),
            width_percent: options.confidence.map(|asked| widths(options, iterations, asked.level)),
            transaction_rate: transaction_rate(options, &last),
            round_trip_us: round_trip_us(options, &last),
            last_elapsed_s: seconds(&last),
        }
    }
}

fn local(iteration: &Iteration) -> &End {
    &iteration.local
}

fn remote(iteration: &Iteration) -> &End {
    &iteration.remote
}

/// Elapsed seconds.
pub fn seconds(iteration: &Iteration) -> f64 {
    iteration.elapsed_ns as f64 / 1e9
}

/// The main result of an iteration, in the unit of `-f`.
///
/// Transactions are counted by the client. Bytes are those the client received where only the server sends, else those
/// that the server received and sent.
pub fn throughput(options: &Options, iteration: &Iteration) -> f64 {
    let seconds = seconds(iteration);
    if options.display.unit == Unit::Transactions {
        return quotient(iteration.transactions as f64, seconds);
    }
    let bytes = if options.data.direction.is_receive() {
        iteration.local.received_bytes
    } else {
        iteration.remote.received_bytes + iteration.remote.sent_bytes
    };
    options.display.unit.of_bytes(bytes as f64, seconds)
}

/// Microseconds of CPU for a transaction or a `KByte` of the client's own bytes.
fn service_demand(options: &Options, iteration: &Iteration, cpu: &Cpu) -> f64 {
    let done = if options.display.unit == Unit::Transactions {
        iteration.transactions as f64
    } else {
        (iteration.local.sent_bytes + iteration.local.received_bytes) as f64 / 1_024.0
    };
    let rate = quotient(done, seconds(iteration));
    quotient(cpu.busy_percent * 10_000.0 * f64::from(cpu.count), rate)
}

/// A one-way test counts as one transaction a second, as the original tells it.
fn transaction_rate(options: &Options, last: &Iteration) -> f64 {
    if options.data.direction.is_transactions() { quotient(last.transactions as f64, seconds(last)) } else { 1.0 }
}

fn round_trip_us(options: &Options, last: &Iteration) -> Option<f64> {
    let direction = options.data.direction;
    if !direction.is_transactions() || last.transactions == 0 {
        return None;
    }
    let in_flight = if direction.per_connection { 1.0 } else { 1.0 + f64::from(options.data.first_burst) };
    let busy_us = last.elapsed_ns.saturating_sub(last.waited_ns) as f64 / 1e3;
    Some(busy_us / last.transactions as f64 * in_flight)
}

fn widths(options: &Options, iterations: &[Iteration], level: u8) -> Widths {
    let width = |values: Vec<f64>| width_percent(&values, level);
    let cpu =
        |end: fn(&Iteration) -> &End| iterations.iter().filter_map(|it| Some(end(it).cpu?.busy_percent)).collect();
    Widths {
        throughput: width(iterations.iter().map(|it| throughput(options, it)).collect()),
        local_cpu: width(cpu(local)),
        remote_cpu: width(cpu(remote)),
    }
}

fn mean(values: &[f64]) -> f64 {
    quotient(values.iter().sum(), values.len() as f64)
}

fn mean_of_some(iterations: &[Iteration], find: impl Fn(&Iteration) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = iterations.iter().filter_map(find).collect();
    (!values.is_empty()).then(|| mean(&values))
}

#[cfg(test)]
mod tests;
