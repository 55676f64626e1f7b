//! Where words meet sockets: one run of the client, one of the server.
//!
//! [`conduct`] is the course of a client's run, from the control connection to the result, over a [`Bench`] that owns
//! the sockets. What a bench finds out reaches the text only as facts.

use uuid::Uuid;

use crate::exit::Exit;
use crate::output::Output;
use crate::persona::netperf::confidence;
use crate::persona::netperf::facts::{Facts, Iteration, Latency, Path};
use crate::persona::netperf::options::Options;
use crate::persona::netperf::options::answer::Answer;
use crate::persona::netperf::options::server::ServerOptions;
use crate::persona::netperf::output::interim::{self, Interval};
use crate::persona::netperf::output::{banner, bare, failure, result};
use crate::persona::netperf::test_name::Test;

/// Runs the test and prints what is to be printed.
///
/// # Errors
/// What is printed in place of a result, or behind a worthless one.
pub fn client(options: &Options, output: &Output) -> Result<Exit, Answer> {
    conduct(options, &mut Unbuilt, &mut |text| {
        output.result(text);
    })
}

/// Listens and serves, in the foreground or as a daemon.
///
/// # Errors
/// What is printed where it cannot.
pub fn server(options: &ServerOptions, _output: &Output) -> Result<Exit, Answer> {
    let line = if options.foreground { options.starting() } else { options.unable() };
    Err(Answer::complaint(format!("{line}netserver: serving is not built yet\n")))
}

/// Who owns the sockets of a run. Every fault comes as what is to be printed of it.
pub trait Bench {
    /// Opens the control connection; tells between which ends the data will flow.
    fn open(&mut self, options: &Options) -> Result<Path, Answer>;

    /// One time through the test. `tell` hears of each interval as it ends.
    fn iterate(&mut self, options: &Options, tell: &mut dyn FnMut(Interval)) -> Result<Iteration, Answer>;

    /// Durations of all iterations so far, where they were kept.
    fn latency(&mut self) -> Option<Latency>;

    /// CPU rate and number of CPUs: ours, or the server's.
    fn cpu_rate(&mut self, of_server: bool) -> Result<(f64, u32), Answer>;
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
    while confidence::goes_on(options, &facts.iterations) {
        facts.iterations.push(bench.iterate(options, &mut tell)?);
    }
    facts.latency = bench.latency();
    print(&result(options, &facts));
    failure::worthless(options, &facts).map_or(Ok(Exit::Done), Err)
}

/// No bench yet.
struct Unbuilt;

impl Bench for Unbuilt {
    fn open(&mut self, options: &Options) -> Result<Path, Answer> {
        Err(failure::other(&format!("{}: running a test is not built yet", options.test.name())))
    }

    fn iterate(&mut self, _: &Options, _: &mut dyn FnMut(Interval)) -> Result<Iteration, Answer> {
        Err(failure::other("not built yet"))
    }

    fn latency(&mut self) -> Option<Latency> {
        None
    }

    fn cpu_rate(&mut self, _: bool) -> Result<(f64, u32), Answer> {
        Err(failure::other("not built yet"))
    }
}

#[cfg(test)]
mod tests;
