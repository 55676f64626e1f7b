//! The server: where it listens is said, then it serves until it is told to end, and says how much it was.

use logbook::whole;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;

use endpoint::daemon::{self, Side, Streams};
use endpoint::error::{Cause, EndpointError, Step};
use endpoint::name::{self, Family};
use endpoint::peer::sockperf::server::event::{Tell, Totals};
use endpoint::peer::sockperf::server::settings::{Carriers, Multicast, Options, Place, Settings};
use endpoint::peer::sockperf::server::{self, Server};
use endpoint::sandbox::Needs;
use endpoint::signal::Signal;
use endpoint::socket::multicast::{Interface, Outgoing};
use endpoint::stop::Stop;
use protocol::sockperf::feed;
use protocol::sockperf::server::Rules;

use crate::beginning::Beginning;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::process::{self, said};
use crate::persona::sockperf::options::{self, Transport, refused};
use crate::persona::sockperf::output::end::{self, End};
use crate::persona::sockperf::output::failure::{self, Errno};
use crate::persona::sockperf::output::paint::Paint;
use crate::persona::sockperf::output::{gaps, start};
use crate::persona::sockperf::run::teller::{Teller, plain};
use crate::words;

/// Listens and serves, in the foreground or the background, until a signal ends it.
///
/// # Errors
/// The text that is printed where it cannot.
pub fn run(asked: &options::Server, output: &Arc<Output>) -> Result<Exit, Answer> {
    let teller = Arc::new(Teller::new(asked, output));
    let stop = Stop::default();
    let deaf = |error| failure::other(&format!("cannot wait for signals: {error}"));
    let beginning = Beginning::new().map_err(deaf)?;
    let server = bind(asked, &teller)?;
    teller.bound(server.sockets());
    output.result(&opening(asked, &server));
    if asked.common.daemonize && detach()? == Side::Foreground {
        return Ok(Exit::Done);
    }
    let interruption = process::confine(beginning, Needs::default(), &stop).map_err(deaf)?;
    let totals = server.run(&stop).map_err(|error| failure::other(Failure::from(error).text().trim_end()))?;
    teller.end_dots(totals.messages);
    output.result(&ending(asked, &totals, interruption.signal().unwrap_or(Signal::Interrupt)));
    output.note(&besides(&totals));
    Ok(Exit::Done)
}

/// Threads are started behind this: none follows into the background. Its output there goes where it went before.
fn detach() -> Result<Side, Answer> {
    daemon::detach(Streams::OutputKept)
        .map_err(|error| failure::other(&format!("cannot go into the background: {error}")))
}

/// All that is said before it serves.
fn opening(asked: &options::Server, server: &Server) -> String {
    let sockets = server.sockets();
    let mut text = if asked.common.daemonize { start::daemon() } else { String::new() };
    for socket in sockets {
        if asked.common.pacing_rate.is_some() {
            text += &start::pacing_rate();
        }
        if let Some(got) = socket.buffers().filter(|_| asked.common.buffer_bytes.is_some()) {
            text += &start::buffers(got.descriptor, got.receive, got.send);
        }
    }
    text += &start::version(Paint::Coloured);
    if asked.threads > 1 {
        text += &start::threads(asked.threads, sockets.len());
    }
    text
}

/// All that is said behind it.
fn ending(asked: &options::Server, totals: &Totals, signal: Signal) -> String {
    let several = asked.threads > 1;
    let mut text = match signal {
        _ if several => end::server_threads(signal.number(), totals.messages),
        Signal::Interrupt => end::server(End::User, totals.messages),
        other => end::server(End::Signal(other.number()), totals.messages),
    };
    for (from, missing) in &totals.missing {
        text += &gaps::summary(plain(*from), *missing);
    }
    text + &if several { end::exit_threads() } else { end::exit() }
}

/// Lines that the original has not, where there is something to report.
fn besides(totals: &Totals) -> String {
    let lines = [
        (
            totals.dropped.unwrap_or(0),
            "datagrams were dropped by the kernel, as nobody had read those before: a larger --buffer-size holds more",
        ),
        (totals.malformed, "times something came that was no message"),
        (totals.unsent, "answers could not be sent"),
        (totals.turned_away, "connections were turned away"),
        (totals.unwatched, "messages came from more senders than gaps are looked for of"),
    ];
    let told = lines.into_iter().filter(|(count, _)| *count > 0);
    told.map(|(count, what)| format!("sockperf: {count} {what}\n")).collect::<Vec<_>>().concat()
}

fn bind(asked: &options::Server, teller: &Arc<Teller>) -> Result<Server, Answer> {
    let places = places(asked)?;
    if asked.threads as usize > places.len() {
        return Err(failure::too_many_threads());
    }
    let settings = settings(asked, places, teller)?;
    let everywhere = matches!(&asked.common.place, options::Place::One(socket) if socket.host.is_none());
    let bound = match server::bind(settings.clone()) {
        Err(error) if everywhere && error.lacks_ipv6() => {
            let v4 = |place: Place| Place { address: (Ipv4Addr::UNSPECIFIED, place.address.port()).into(), ..place };
            server::bind(Settings { places: settings.places.iter().copied().map(v4).collect(), ..settings })
        }
        bound => bound,
    };
    bound.map_err(|error| unable(&error, asked))
}

fn settings(asked: &options::Server, places: Vec<Place>, teller: &Arc<Teller>) -> Result<Settings, Answer> {
    let (common, teller) = (&asked.common, Arc::clone(teller));
    Ok(Settings {
        rules: Rules { largest: asked.largest_message, answers: !asked.dont_reply },
        threads: asked.threads,
        cpus: asked.cpus.0.clone(),
        spin: common.nonblocked,
        options: Options {
            nodelay: common.nodelay,
            tos: common.tos,
            reuse_address: common.reuse_address,
            busy_poll_us: common.busy_poll_us,
            buffer_bytes: common.buffer_bytes,
            pacing_bytes_per_s: common.pacing_rate.map(u64::from),
        },
        multicast: multicast(&asked.multicast, common.skip_warm_up)?,
        gaps: asked.gap_detection,
        activity: common.activity.map(|activity| activity.every),
        tell: Some(Tell(Arc::new(move |event| teller.tell(event)))),
        ..Settings::at(places)
    })
}

fn multicast(asked: &options::Multicast, skip_warm_up: bool) -> Result<Multicast, Answer> {
    let interface = |option: &str, word: &Option<String>| {
        let found = word.as_ref().map(|word| Interface::of(word)).transpose();
        found.map_err(|error| failure::other(&format!("{option}: {error}")))
    };
    Ok(Multicast {
        receive: interface("--mc-rx-if", &asked.receive_interface)?,
        outgoing: Outgoing {
            interface: interface("--mc-tx-if", &asked.send_interface)?,
            ttl: asked.ttl,
            loopback: asked.loopback,
        },
        unicast_reply: asked.unicast_reply,
        warm_up: !skip_warm_up,
    })
}

fn places(asked: &options::Server) -> Result<Vec<Place>, Answer> {
    let source = asked.multicast.source.as_deref().map(source).transpose()?;
    let all = match &asked.common.place {
        options::Place::One(socket) => {
            let carriers = match socket.transport {
                Transport::Udp => Carriers::Udp,
                Transport::Tcp => Carriers::Tcp,
            };
            let address = match &socket.host {
                None => SocketAddr::from((options::SERVER_HOST, socket.port)),
                Some(host) => address(host, socket.port)?,
            };
            vec![Place { address, carriers, source: None }]
        }
        options::Place::Feed { file, .. } => feed(file)?,
    };
    let with_source = |place: Place| {
        let source = place.source.or(source).filter(|_| place.address.ip().is_multicast());
        Place { source, ..place }
    };
    Ok(all.into_iter().map(with_source).collect())
}

fn feed(file: &Path) -> Result<Vec<Place>, Answer> {
    let text = whole::text(file, whole::BY_HAND).map_err(|error| match error.raw_os_error() {
        Some(number) => failure::no_file(file, Errno { number, said: &said(&error) }),
        None => failure::other(&format!("{}: {error}", file.display())),
    })?;
    let sockets = feed::parse(&text).map_err(|error| failure::other(&format!("{}: {error}", file.display())))?;
    let place = |socket: feed::Socket| {
        if let Some(why) = refused::host(&socket.address) {
            return Err(failure::other(&format!("{}: {}: {why}", file.display(), socket.address)));
        }
        let carriers = match socket.transport {
            feed::Transport::Datagram => Carriers::Udp,
            feed::Transport::Stream => Carriers::Tcp,
        };
        let source = socket.source.as_deref().map(source).transpose()?;
        Ok(Place { address: address(&socket.address, socket.port)?, carriers, source })
    };
    sockets.into_iter().map(place).collect()
}

fn address(host: &str, port: u16) -> Result<SocketAddr, Answer> {
    name::look_up(host, port, Family::Any, &Stop::default())
        .map_err(|error| failure::other(Failure::from(error).text().trim_end()))
}

fn source(host: &str) -> Result<IpAddr, Answer> {
    address(host, 0).map(|address| address.ip())
}

/// The version, why it cannot listen, and the last line, as the original prints them; what to try stands on standard
/// error.
fn unable(error: &EndpointError, asked: &options::Server) -> Answer {
    let version = start::version(Paint::Coloured);
    let hint = words::hint(error).map(|hint| format!("hint:  {hint}\n")).unwrap_or_default();
    let Cause::System(cause) = &error.cause else { return failure::other(&error.to_string()) };
    let place = error.peer.parse::<SocketAddr>().ok().filter(|_| error.step == Step::Listen);
    let (Some(number), Some(place)) = (cause.raw_os_error(), place) else {
        return Answer { stdout: version, ..failure::other(&format!("{error}\n{}", hint.trim_end())) };
    };
    let told = failure::bind(lowest_free_descriptor(), place, Errno { number, said: &said(cause) });
    let last = if asked.threads > 1 { end::exit_threads() } else { end::exit() };
    Answer { stdout: version + &told.stdout + &last, stderr: told.stderr + &hint, ..told }
}

/// The descriptor that the socket had that could not be bound: it is closed again, and the system hands out the lowest.
fn lowest_free_descriptor() -> i32 {
    rustix::io::dup(io::stdout()).map_or(-1, |descriptor| descriptor.as_raw_fd())
}
