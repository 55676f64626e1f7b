//! The server: where it listens is said, then it serves until it is told to end.

use logbook::whole;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use endpoint::daemon::{self, Side, Streams};
use endpoint::error::EndpointError;
use endpoint::name::{self, Family};
use endpoint::peer::netperf::server::{self, Settings};
use endpoint::sandbox::Needs;
use endpoint::stop::Stop;
use protocol::netperf::passphrase::Passphrase;

use crate::beginning::Beginning;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::netperf::command_line::server::ServerOptions;
use crate::persona::netperf::passphrase;
use crate::persona::process;

/// Listens and serves, in the foreground or as a daemon, until a signal ends it.
///
/// # Errors
/// The text that is printed where it cannot.
pub fn run(options: &ServerOptions, output: &Output) -> Result<Exit, Answer> {
    let word = options.passphrase.as_ref();
    let word = word.map(|said| passphrase::read(said, |path| whole::text(path, whole::BY_HAND))).transpose()?;
    let passphrase =
        word.map(Passphrase::new).transpose().map_err(|fault| Answer::complaint(format!("netserver: {fault}\n")))?;
    let settings = Settings { passphrase, serial: options.serial, ..Settings::at(place(options)?) };
    let stop = Stop::default();
    let deaf = |error| Answer::complaint(format!("netserver: cannot wait for signals: {error}\n"));
    let beginning = Beginning::new().map_err(deaf)?;
    let netserver = server::bind(settings).map_err(|error| unable(options, error))?;
    output.result(&options.starting());
    if !options.foreground {
        let side = daemon::detach(Streams::Null)
            .map_err(|error| Answer::complaint(format!("netserver: cannot go into the background: {error}\n")))?;
        if side == Side::Foreground {
            return Ok(Exit::Done);
        }
    }
    // Each test has a socket of its own.
    let needs = Needs { connections: true, ..Needs::default() };
    let _interruption = process::confine(beginning, needs, &stop).map_err(deaf)?;
    netserver.run(&stop).map_err(Failure::from)?;
    Ok(Exit::Done)
}

/// One socket of IPv6 takes IPv4 too, where there is IPv6.
fn place(options: &ServerOptions) -> Result<SocketAddr, Answer> {
    let Some(host) = &options.host else {
        return Ok(match options.family {
            Family::V4 => SocketAddr::from((Ipv4Addr::UNSPECIFIED, options.port)),
            Family::Any | Family::V6 => SocketAddr::from((Ipv6Addr::UNSPECIFIED, options.port)),
        });
    };
    name::look_up(host, options.port, options.family, &Stop::default()).map_err(|error| unable(options, error))
}

fn unable(options: &ServerOptions, error: EndpointError) -> Answer {
    Answer::complaint(options.unable() + &Failure::from(error).text())
}
