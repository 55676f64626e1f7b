//! The server: where it listens is said, then it serves until it is told to end.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use endpoint::name::{self, Family};
use endpoint::peer::netperf::server::{self, Settings};
use endpoint::process;
use endpoint::stop::Stop;

use crate::PROGRAM;
use crate::failure::Failure;
use crate::output::Output;
use crate::persona::netperf::options::answer::Answer;
use crate::persona::netperf::options::server::ServerOptions;
use crate::persona::netperf::run::client::read_passphrase;
use crate::signal;

/// Runs the server that `options` ask for. Returns the exit status.
pub fn run(options: &ServerOptions, output: &Arc<Output>) -> u8 {
    serve(options, output).unwrap_or_else(|answer| {
        output.result(&answer.stdout);
        output.aside(&answer.stderr);
        answer.status
    })
}

fn serve(options: &ServerOptions, output: &Arc<Output>) -> Result<u8, Answer> {
    for note in &options.notes {
        output.note(&format!("netserver: {note}\n"));
    }
    let passphrase = options.passphrase.as_ref().map(read_passphrase).transpose()?;
    let settings = Settings { passphrase, serial: options.serial, ..Settings::at(places(options)?, PROGRAM) };
    let netserver = server::bind(settings).map_err(|error| {
        let hint = Failure::from(error).text();
        Answer::complaint(options.unable() + &hint)
    })?;
    output.result(&options.starting());
    if !options.foreground {
        // Nothing runs beside this thread yet.
        process::become_daemon().map_err(|error| Answer::complaint(format!("netserver: cannot leave the foreground: {error}\n")))?;
    }
    let stop = Stop::default();
    let asked = stop.clone();
    signal::watch(move || asked.request(), || {})
        .map_err(|error| Answer::complaint(format!("netserver: cannot wait for signals: {error}\n")))?;
    netserver.run(&stop).map_err(|error| Answer::complaint(Failure::from(error).text()))?;
    Ok(0)
}

/// One socket of IPv6 takes IPv4 too, where there is IPv6.
fn places(options: &ServerOptions) -> Result<Vec<SocketAddr>, Answer> {
    let any = match options.family {
        Family::V4 => SocketAddr::from((Ipv4Addr::UNSPECIFIED, options.port)),
        Family::Any | Family::V6 => SocketAddr::from((Ipv6Addr::UNSPECIFIED, options.port)),
    };
    let Some(host) = &options.host else { return Ok(vec![any]) };
    let address = name::look_up(host, options.port, options.family);
    address.map(|address| vec![address]).map_err(|error| {
        Answer::complaint(options.unable() + &Failure::from(error).text())
    })
}
