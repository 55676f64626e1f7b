//! Runs over sockets: one of the client, one of the server.
//!
//! [`conduct`] is the course of a client's run, from the control connection to the result, over a [`Bench`] that owns
//! the sockets: [`sockets`]. The findings of a bench reach the text only as facts.

pub mod facts;
pub mod places;
pub mod record;
pub mod server;
pub mod sockets;
pub mod task;

use uuid::Uuid;

use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::netperf::confidence;
use crate::persona::netperf::facts::{Facts, Iteration, Latency, Path};
use crate::persona::netperf::options::Options;
use crate::persona::netperf::output::interim::{self, Interval};
use crate::persona::netperf::output::{banner, bare, failure, result};
use crate::persona::netperf::run::sockets::Sockets;
use crate::persona::netperf::test_name::Test;

/// Runs the test and prints what is to be printed; `command` is the whole command line.
///
/// # Errors
/// The text that is printed in place of a result, or behind a worthless one.
pub fn client(options: &Options, command: &[String], output: &Output) -> Result<Exit, Answer> {
    let mut sockets = Sockets::new(options, command, output)?;
    let ended = conduct(options, &mut sockets, &mut |text| {
        // In its place the record is printed.
        if !options.own.json {
            output.result(text);
        }
    });
    sockets.print_records();
    ended
}

/// Owner of the sockets of a run. Every fault comes as the text that is printed of it.
pub trait Bench {
    /// Opens the control connection; tells between which ends the data will flow.
    fn open(&mut self, options: &Options) -> Result<Path, Answer>;

    /// One time through the test. `tell` hears of each interval as it ends.
    fn iterate(&mut self, options: &Options, tell: &mut dyn FnMut(Interval)) -> Result<Iteration, Answer>;

    /// Durations of all iterations so far, where they were kept.
    fn latency(&mut self) -> Option<Latency>;

    /// CPU rate and number of CPUs: ours, or the server's.
    fn cpu_rate(&mut self, of_server: bool) -> Result<(f64, u32), Answer>;

    /// Returns true where there may be another iteration: none where the last ended early.
    fn goes_on(&self) -> bool {
        true
    }

    /// True where a signal asked for the end and for no result.
    fn is_dismissed(&self) -> bool {
        false
    }

    /// Ends the control connection. Returns the text behind the result, where the last iteration ended early.
    fn close(&mut self) -> Option<Answer> {
        None
    }
}

/// The course of a run.
///
/// # Errors
/// See [`client`].
pub fn conduct(options: &Options, bench: &mut dyn Bench, print: &mut dyn FnMut(&str)) -> Result<Exit, Answer> {
    let path = bench.open(options)?;
    let uuid = options.data.uuid.clone().unwrap_or_else(|| Uuid::now_v7().to_string());
    match options.test {
        Test::Uuid => print(&bare::uuid(&uuid)),
        Test::LocCpu | Test::RemCpu => {
            let of_server = options.test == Test::RemCpu;
            let (rate, count) = bench.cpu_rate(of_server)?;
            print(&bare::cpu_rate(options, rate, count, if of_server { "remote" } else { "local" }));
            bench.close();
        }
        _ => return measure(options, Facts { uuid, path, ..Facts::default() }, bench, print),
    }
    Ok(Exit::Done)
}

fn measure(
    options: &Options,
    mut facts: Facts,
    bench: &mut dyn Bench,
    print: &mut dyn FnMut(&str),
) -> Result<Exit, Answer> {
    print(&banner::line(options, &facts.path));
    let mut tell = |interval| {
        if options.display.interim.is_some() {
            print(&interim::line(options, &interval));
        }
    };
    while bench.goes_on() && confidence::goes_on(options, &facts.iterations) {
        facts.iterations.push(bench.iterate(options, &mut tell)?);
    }
    facts.latency = bench.latency();
    let fault = bench.close();
    if bench.is_dismissed() {
        return fault.map_or(Ok(Exit::Done), Err);
    }
    print(&result(options, &facts));
    fault.or_else(|| failure::worthless(options, &facts)).map_or(Ok(Exit::Done), Err)
}

#[cfg(test)]
mod tests;
