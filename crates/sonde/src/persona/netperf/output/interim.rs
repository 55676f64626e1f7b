//! Results in between (`-D`): one line each, or four of keyword and value.

use crate::persona::netperf::options::Options;
use crate::persona::netperf::options::form::Form;
use crate::persona::netperf::unit::{Unit, quotient};

/// Work of one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Number of the interval, from 0.
    pub index: u64,
    /// Transactions completed in it.
    pub transactions: u64,
    /// Bytes our end sent and received in it.
    pub bytes: u64,
    /// Its length.
    pub duration_ns: u64,
    /// Its end, since 1970.
    pub ended_ns: u64,
}

/// The line or lines of an interval.
pub fn line(options: &Options, interval: &Interval) -> String {
    let seconds = interval.duration_ns as f64 / 1e9;
    let unit = options.display.unit;
    let rate = match unit {
        Unit::Transactions => quotient(interval.transactions as f64, seconds),
        unit => unit.of_bytes(interval.bytes as f64, seconds),
    };
    let unit = unit.text();
    let ended = format!("{}.{:03}", interval.ended_ns / 1_000_000_000, interval.ended_ns / 1_000_000 % 1_000);
    let index = interval.index;
    match options.display.form {
        Form::Classic | Form::Human(_) => {
            format!("Interim result: {rate:>7.2} {unit}/s over {seconds:.3} seconds ending at {ended}\n")
        }
        Form::Csv(_) => format!("{rate:>7.2},{unit}/s,{seconds:.3},{ended}\n"),
        Form::Keyval(_) => format!(
            "NETPERF_INTERIM_RESULT[{index}]={rate:.2}\n\
             NETPERF_UNITS[{index}]={unit}/s\n\
             NETPERF_INTERVAL[{index}]={seconds:.3}\n\
             NETPERF_ENDING[{index}]={ended}\n"
        ),
    }
}
