//! Names of the command line as addresses; files; waiting for a time.

use std::fs::OpenOptions;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use endpoint::clock::{self, Monotonic};
use endpoint::error::{Cause, EndpointError};
use endpoint::facts::socket::socket_facts;
use endpoint::name::{self, Family};
use endpoint::pace;
use endpoint::socket;
use endpoint::stop::{GLANCE, Stop};
use measure::method::SocketOptions;
use measure::outcome::SocketFacts;
use measure::unit::Nanos;

use crate::failure::Failure;
use crate::persona::answer::Answer;
use crate::persona::iperf::options::{Bind, Start};
use crate::persona::iperf::output::failure;
use crate::persona::process;

/// Address of a server.
///
/// # Errors
/// A name that nobody knows.
pub fn server(host: &str, port: u16, ipv6: bool, stop: &Stop) -> Result<SocketAddr, Answer> {
    let family = if ipv6 { Family::V6 } else { Family::Any };
    let mut found = name::look_up_all(host, port, family, stop).map_err(|error| unknown(host, &error))?;
    // As the original: of IPv4 first, unless it was told otherwise.
    found.sort_by_key(|address| address.is_ipv6() != ipv6);
    Ok(found[0])
}

/// Our own address of the command line, of the family of `like`.
///
/// # Errors
/// A name that nobody knows.
pub fn local(bind: &Bind, like: IpAddr, stop: &Stop) -> Result<Option<IpAddr>, Answer> {
    let Some(host) = &bind.host else { return Ok(None) };
    let family = if like.is_ipv6() { Family::V6 } else { Family::V4 };
    name::look_up(host, 0, family, stop).map(|found| Some(found.ip())).map_err(|error| unknown(host, &error))
}

/// Address of a server that was given none: every address, of IPv6 too where `ipv6`.
pub fn anywhere(ipv6: bool) -> IpAddr {
    if ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() }
}

fn unknown(host: &str, error: &EndpointError) -> Answer {
    match &error.cause {
        Cause::Stopped => failure::other("stopped before anything was measured"),
        _ => failure::unknown_host(host),
    }
}

/// An error in this program's words, with the next step.
pub fn told(error: EndpointError) -> Answer {
    failure::other(Failure::from(error).text().trim_end())
}

/// An error of the system, as the original prints it: with a capital letter, and no number behind.
pub fn said(error: &std::io::Error) -> String {
    let text = process::said(error);
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A new socket as those of a test will be: its buffers are told before there is a connection.
pub fn fresh(peer: SocketAddr, datagrams: bool, options: &SocketOptions) -> SocketFacts {
    let made = if datagrams { socket::udp_unconnected(peer, options) } else { socket::tcp(peer, options) };
    made.map(|made| socket_facts(&made)).unwrap_or_default()
}

/// The local address of what comes from `peer` to a socket that is bound to all of them: by the route back, as the original
/// finds it.
pub fn towards(local: SocketAddr, peer: SocketAddr) -> SocketAddr {
    if !local.ip().is_unspecified() {
        return local;
    }
    let routed = socket::udp(peer, &SocketOptions::default()).ok().and_then(|made| made.local_addr().ok());
    let address = routed.and_then(|address| address.as_socket()).map_or(local.ip(), |address| address.ip());
    SocketAddr::new(address, local.port())
}

/// Waits until a test is to start.
///
/// # Errors
/// A time that is over.
pub fn wait(start: Start, stop: &Stop) -> Result<(), Answer> {
    let until = match start {
        Start::Now => return Ok(()),
        Start::After(time) => Monotonic::now().after(time),
        Start::At(wall) => {
            let now = Nanos(clock::wall());
            let left = wall.0.checked_sub(now.0).ok_or_else(|| {
                failure::other(
                    "--txstart-time: that time is over: give one that is still to come, in seconds since 1970",
                )
            })?;
            Monotonic::now().after(Nanos(left))
        }
    };
    while Monotonic::now() < until && !stop.requested() {
        pace::sleep_until(until.min(Monotonic::now().after(GLANCE)));
    }
    Ok(())
}

/// Everything that is said goes to a file from here on. Says so first, as the original does.
///
/// # Errors
/// A file that cannot be written.
pub fn redirect(path: &Path, tell: impl FnOnce(&str)) -> Result<(), Answer> {
    let fail = |error: std::io::Error| failure::other(&format!("-o {}: {}", path.display(), said(&error)));
    let file = OpenOptions::new().create(true).write(true).truncate(true).open(path).map_err(fail)?;
    tell(&format!("Output from stdout and stderr will be redirected to file {}\n", path.display()));
    rustix::stdio::dup2_stdout(&file)
        .and_then(|()| rustix::stdio::dup2_stderr(&file))
        .map_err(|errno| fail(errno.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_words_have_the_originals_form() {
        let refused = std::io::Error::from_raw_os_error(111);
        assert_eq!(said(&refused), "Connection refused");
    }

    #[test]
    fn a_time_that_is_over_is_not_waited_for() {
        assert!(wait(Start::At(Nanos::secs(1)), &Stop::default()).is_err());
        assert!(wait(Start::Now, &Stop::default()).is_ok());
    }
}
