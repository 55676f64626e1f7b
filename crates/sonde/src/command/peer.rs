//! The programs of other tools' protocols, a row and a file each: what `sonde serve` can be beside itself, and how a first look asks
//! the one that it finds.

pub mod application;
pub mod echo;
pub mod iperf;
pub mod iperf3;
pub mod netperf;
pub mod sockperf;
pub mod stamp;

use std::net::{IpAddr, SocketAddr};

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches, value_parser};
use endpoint::error::EndpointError;
use endpoint::rtt::Protocol;
use endpoint::serve::door::Door;
use endpoint::stop::Stop;
use measure::event::Event;
use measure::method::{Carrier, Method};
use measure::reach::{Service, Transport};
use measure::unit::Bytes;
use protocol::application::Application;
use protocol::inquiry::Place;

/// All of them.
pub static ALL: &[Peer] = &[
    netperf::PEER,
    sockperf::PEER,
    iperf::PEER,
    iperf3::PEER,
    stamp::PEER,
    echo::PEER,
    application::REDIS,
    application::MEMCACHED,
    application::NATS,
    application::MQTT,
    application::POSTGRES,
    application::HTTP,
    application::HTTPS,
    application::TLS,
    application::MYSQL,
    application::DNS,
    application::NTP,
    application::SSH,
    application::KAFKA,
    application::SIP,
];

/// A program of another tool's protocol.
pub struct Peer {
    /// The service that it is recognised as.
    pub service: Service,
    /// The server that `sonde serve` can also be; absent: no such server, or one with options of its own.
    pub server: Option<Server>,
    /// The client that a quick survey uses.
    pub asked: Asked,
}

/// The client that a quick survey uses for a program.
pub enum Asked {
    /// It answers no requests, for this reason.
    Not(&'static str),
    /// By the engine of `sonde rtt`, over what it was found on and these besides.
    Exchanged {
        /// In this protocol.
        protocol: Protocol,
        /// Over these carriers; none: over the one that it was found on.
        over: &'static [Carrier],
    },
    /// The same of a program at work, in its own protocol.
    Application(Question),
    /// By a client of its own, which has one message out at a time.
    Own {
        /// Payload of a message where the usual one is too short for a real server.
        size: Option<Bytes>,
        /// Measures towards an address, as the method says.
        ask: Ask,
    },
}

/// The question to a program at work at this place, by this carrier; `None`: the place has no name that can be said.
pub type Question = fn(&Place<'_>, Carrier) -> Option<Application>;

/// A measurement by a client of its own.
pub type Ask = fn(SocketAddr, &Method, &Stop, &mut dyn FnMut(Event)) -> Result<(), EndpointError>;

impl Asked {
    /// The carriers of its ways, found over `transport`; none where it cannot be asked.
    pub fn carriers(&self, transport: Transport) -> Vec<Carrier> {
        let own = if transport == Transport::Tcp { Carrier::Tcp } else { Carrier::Udp };
        match self {
            Self::Not(_) => Vec::new(),
            Self::Exchanged { over: [], .. } | Self::Own { .. } | Self::Application(_) => vec![own],
            Self::Exchanged { over, .. } => over.to_vec(),
        }
    }
}

/// The peer that is known as `service`; `None` for a reflector of ours.
pub fn of(service: Service) -> Option<&'static Peer> {
    ALL.iter().find(|peer| peer.service == service)
}

/// A server that `sonde serve` can be beside itself.
pub struct Server {
    /// The option, without dashes.
    pub option: &'static str,
    /// Its usual port, as text.
    pub port: &'static str,
    /// The help in a line.
    pub help: &'static str,
    /// The help below it: why a key of ours is of no use to it.
    pub keyless: &'static str,
    /// Its name where it says that it listens.
    pub name: &'static str,
    /// Binds it at these hosts, on this port of its own, for those who come by the door.
    pub bind: fn(&[IpAddr], u16, &Manner) -> Result<Bound, EndpointError>,
}

/// The settings of the servers beside ours.
#[derive(Clone, Debug)]
pub struct Manner {
    /// The rules for clients.
    pub door: Door,
    /// True where they send datagrams to whoever asks by one, without having shown that it is there.
    pub sends_datagrams: bool,
}

/// A server that is bound and does not answer yet.
pub struct Bound {
    /// Addresses at which it listens.
    pub addresses: Vec<SocketAddr>,
    /// Answers until it is stopped.
    pub run: Answering,
}

/// A server that answers until it is stopped.
pub type Answering = Box<dyn FnOnce(&Stop) -> Result<(), EndpointError> + Send>;

impl Bound {
    /// A server at these addresses, which answers by `run`.
    pub fn new(
        addresses: Vec<SocketAddr>,
        run: impl FnOnce(&Stop) -> Result<(), EndpointError> + Send + 'static,
    ) -> Self {
        Self { addresses, run: Box::new(run) }
    }
}

/// The servers that were asked for, each with its port: an option for each in the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerOptions(Vec<(&'static str, u16)>);

impl ServerOptions {
    /// Each server with its port.
    pub fn chosen(&self) -> impl Iterator<Item = (&'static Server, u16)> {
        self.0.iter().filter_map(|(option, port)| Some((servers().find(|server| server.option == *option)?, *port)))
    }
}

fn servers() -> impl Iterator<Item = &'static Server> {
    ALL.iter().filter_map(|peer| peer.server.as_ref())
}

impl FromArgMatches for ServerOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let port = |server: &'static Server| Some((server.option, *matches.get_one(server.option)?));
        Ok(Self(servers().filter_map(port).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for ServerOptions {
    fn augment_args(command: Command) -> Command {
        let option = |server: &'static Server| {
            Arg::new(server.option)
                .long(server.option)
                .value_name("PORT")
                .num_args(0..=1)
                .default_missing_value(server.port)
                .value_parser(value_parser!(u16))
                .conflicts_with("key")
                .help(format!("{} on this port of the same addresses [default: {}]", server.help, server.port))
                .long_help(format!(
                    "{} on this port of the same addresses [default: {}]\n\n{}",
                    server.help, server.port, server.keyless
                ))
        };
        command.args(servers().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_usually_where_its_service_is_looked_for() {
        for peer in ALL {
            let Some(server) = &peer.server else { continue };
            assert_eq!(
                server.port.parse().ok(),
                protocol::inquiry::usual_port(peer.service, Transport::Tcp),
                "{}",
                server.option
            );
        }
    }

    #[test]
    fn each_service_but_our_own_has_one_row() {
        for service in Service::ALL {
            let rows = ALL.iter().filter(|peer| peer.service == service).count();
            assert_eq!(rows, usize::from(service != Service::Sonde), "{service}");
        }
    }
}
