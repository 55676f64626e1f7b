//! Addresses that a client sends to: the names of its command line or of its feed file, looked up.

use logbook::whole;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use endpoint::name::{self, Family};
use endpoint::peer::sockperf::client::Place;
use endpoint::stop::Stop;
use measure::method::Carrier;
use protocol::sockperf::feed;

use crate::failure::Failure;
use crate::persona::answer::Answer;
use crate::persona::process::said;
use crate::persona::sockperf::options::{self, CLIENT_HOST, Client, Transport, refused};
use crate::persona::sockperf::output::failure::{self, Errno};
use crate::persona::sockperf::output::start::Endpoint;

/// Addresses of a client's messages, at both ends.
#[derive(Clone, Debug)]
pub struct Places {
    /// A socket each, in their order.
    pub all: Vec<Place>,
    /// The same as they are printed.
    pub endpoints: Vec<Endpoint>,
    /// The first as it was named.
    pub host: String,
    /// Our address; `None`: any.
    pub local: Option<IpAddr>,
}

/// A socket before its name is looked up.
struct Named {
    transport: Transport,
    host: String,
    port: u16,
    source: Option<String>,
}

impl Places {
    /// Those that `client` names.
    ///
    /// # Errors
    /// A name that nobody knows, a file that is not there or names nobody.
    pub fn of(client: &Client, stop: &Stop) -> Result<Self, Answer> {
        let named = match &client.common.place {
            options::Place::One(socket) => vec![Named {
                transport: socket.transport,
                host: socket.host.clone().unwrap_or_else(|| CLIENT_HOST.to_owned()),
                port: socket.port,
                source: None,
            }],
            options::Place::Feed { file, .. } => feed(file)?,
        };
        let host = named.first().map(|first| first.host.clone()).unwrap_or_default();
        let source = client.multicast.source.as_deref();
        let all = named.iter().map(|named| place(named, source, stop)).collect::<Result<Vec<_>, Answer>>()?;
        let endpoints = all.iter().zip(&named);
        let endpoints = endpoints.map(|(place, named)| Endpoint { address: place.address, transport: named.transport });
        let endpoints = endpoints.collect();
        let family = match all.first() {
            Some(first) if first.address.is_ipv6() => Family::V6,
            _ => Family::V4,
        };
        let local = client.local.host.as_ref().map(|host| look_up(host, 0, family, stop)).transpose()?;
        Ok(Self { all, endpoints, host, local: local.map(|address| address.ip()) })
    }

    /// Returns true where a datagram goes to any of them.
    pub fn has_datagrams(&self) -> bool {
        self.all.iter().any(|place| place.carrier == Carrier::Udp)
    }
}

fn feed(file: &Path) -> Result<Vec<Named>, Answer> {
    let text = whole::text(file, whole::BY_HAND).map_err(|error| unreadable(file, &error))?;
    let sockets = feed::parse(&text).map_err(|error| match error {
        feed::Error::Empty => failure::empty_feed(file),
        line @ feed::Error::Line { .. } => failure::other(&format!("{}: {line}", file.display())),
    })?;
    let named = |socket: feed::Socket| {
        if let Some(why) = refused::host(&socket.address) {
            return Err(failure::other(&format!("{}: {}: {why}", file.display(), socket.address)));
        }
        let transport = match socket.transport {
            feed::Transport::Datagram => Transport::Udp,
            feed::Transport::Stream => Transport::Tcp,
        };
        Ok(Named { transport, host: socket.address, port: socket.port, source: socket.source })
    };
    sockets.into_iter().map(named).collect()
}

/// `source`: the only sender to hear of a group that has none of its own.
fn place(named: &Named, source: Option<&str>, stop: &Stop) -> Result<Place, Answer> {
    let address = look_up(&named.host, named.port, Family::Any, stop)?;
    let is_group = address.ip().is_multicast();
    if is_group && named.transport == Transport::Tcp {
        return Err(failure::other(&format!("{}: no connection is made to a group", named.host)));
    }
    let family = if address.is_ipv6() { Family::V6 } else { Family::V4 };
    let source = named.source.as_deref().or(source).filter(|_| is_group);
    let source = source.map(|source| look_up(source, 0, family, stop)).transpose()?;
    let carrier = match named.transport {
        Transport::Udp => Carrier::Udp,
        Transport::Tcp => Carrier::Tcp,
    };
    Ok(Place { address, carrier, source: source.map(|address| address.ip()) })
}

/// The address of a name, of IPv4 where either will do: servers of every version listen there.
fn look_up(host: &str, port: u16, family: Family, stop: &Stop) -> Result<SocketAddr, Answer> {
    let mut found = name::look_up_all(host, port, family, stop)
        .map_err(|error| failure::other(Failure::from(error).text().trim_end()))?;
    found.sort_by_key(SocketAddr::is_ipv6);
    // There is at least one.
    Ok(found[0])
}

/// A file that cannot be read.
pub fn unreadable(file: &Path, error: &io::Error) -> Answer {
    match error.raw_os_error() {
        Some(number) => failure::no_file(file, Errno { number, said: &said(error) }),
        None => failure::other(&format!("{}: {error}", file.display())),
    }
}
