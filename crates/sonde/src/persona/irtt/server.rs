//! `irtt server`: where it listens is said, then it answers until a signal ends it, with a line for each session that begins or
//! ends, and for each datagram that it drops.

pub mod options;
mod places;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use endpoint::error::{EndpointError, Step};
use endpoint::peer::irtt::server::{self, IrttServer, Settings, Tell};
use endpoint::sandbox::Needs;
use endpoint::signal::Signal;
use endpoint::stop::Stop;

use crate::beginning::Beginning;
use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::irtt::VERSION;
use crate::persona::irtt::server::options::Asked;
use crate::persona::process;
use crate::words;

pub use options::help;

/// Listens and serves until a signal ends it.
///
/// # Errors
/// The text that is printed where it cannot, and the version where that is asked for.
pub fn run(words: &[String], output: &Arc<Output>) -> Result<Exit, Answer> {
    let Some(asked) = options::parse(words)? else { return Err(super::version()) };
    let deaf = |error| failed(&format!("Error: cannot wait for signals: {error}"));
    let beginning = Beginning::new().map_err(deaf)?;
    output.result(&format!("[ServerStart] starting IRTT server version {VERSION}\n"));
    let server = bind(&asked, output)?;
    let addresses = server.addresses();
    output.result(&addresses.iter().map(|address| started(*address)).collect::<String>());
    let stop = Stop::default();
    let interruption = process::confine(beginning, Needs::default(), &stop).map_err(deaf)?;
    server.run(&stop).map_err(|error| failed(&format!("Error: {error}")))?;
    let stopped = addresses.iter().map(|address| format!("[ListenerStop] stopped listener on {address}\n"));
    let signal = interruption.signal().map(name).unwrap_or_default();
    output.result(&format!("{signal}{}[ServerStop] stopped IRTT server\n", stopped.collect::<String>()));
    Ok(Exit::Done)
}

/// The line of a signal.
fn name(signal: Signal) -> &'static str {
    match signal {
        Signal::Interrupt => "interrupt\n",
        Signal::Hangup => "hangup\n",
        Signal::Quit => "quit\n",
        Signal::Terminate | Signal::User1 | Signal::Alarm => "terminated\n",
    }
}

fn started(address: SocketAddr) -> String {
    let version = if address.is_ipv4() { "IPv4" } else { "IPv6" };
    format!("[ListenerStart] starting {version} listener on {address}\n")
}

fn bind(asked: &Asked, output: &Arc<Output>) -> Result<IrttServer, Answer> {
    let listen = places::resolve(&asked.addresses, asked.versions).map_err(|why| failed(&why))?;
    let output = Arc::clone(output);
    let tell = Tell(Arc::new(move |from, event| {
        // A stranger's text is among it, and is one line.
        output.result(&format!("[{from}] {}\n", event.to_string().replace('\n', " ")));
    }));
    let settings = Settings {
        only_v6: true,
        rules: asked.rules.clone(),
        time_to_live: asked.time_to_live,
        tell: Some(tell),
        ..Settings::at(listen)
    };
    let everywhere = |address: &SocketAddr| address.ip() == IpAddr::from([0; 4]);
    let bound = match server::bind(settings.clone()) {
        // The original ends on a host without IPv6, unless it is told to leave that out.
        Err(error) if error.lacks_ipv6() && settings.listen.iter().any(everywhere) => {
            let listen = settings.listen.iter().copied().filter(SocketAddr::is_ipv4).collect();
            server::bind(Settings { listen, ..settings })
        }
        bound => bound,
    };
    bound.map_err(|error| unable(&error))
}

/// The reason why it cannot listen, in the form of the original, and what to try.
fn unable(error: &EndpointError) -> Answer {
    let hint = words::hint(error).map(|hint| format!("\nhint:  {hint}")).unwrap_or_default();
    let place = error.peer.parse::<SocketAddr>().ok().filter(|_| error.step == Step::Listen);
    let Some(place) = place else { return failed(&format!("Error: {error}{hint}")) };
    let network = if place.is_ipv4() { "udp4" } else { "udp6" };
    failed(&format!("Error: listen {network} {place}: bind: {}{hint}", error.cause))
}

/// An error of a run.
fn failed(text: &str) -> Answer {
    Answer::complaint(format!("{text}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_taken_is_reported_as_the_original_does() {
        let place = SocketAddr::from(([127, 0, 0, 1], 2_112));
        let error = EndpointError::new(Step::Listen, place, std::io::Error::from_raw_os_error(98));
        let said = unable(&error);
        let line = "Error: listen udp4 127.0.0.1:2112: bind: address already in use";
        assert_eq!((said.stderr.lines().next(), said.status), (Some(line), 1));
    }

    #[test]
    fn each_address_has_its_line() {
        let line = "[ListenerStart] starting IPv6 listener on [::]:2112\n";
        assert_eq!(started("[::]:2112".parse().unwrap()), line);
    }
}
