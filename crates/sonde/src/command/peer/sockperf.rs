//! sockperf: its server beside ours, and a first look at one.

use std::net::{IpAddr, SocketAddr};

use endpoint::error::EndpointError;
use endpoint::peer::sockperf::client::{self, Test, prepare};
use endpoint::peer::sockperf::server::bind as bind_server;
use endpoint::peer::sockperf::server::settings::{Carriers, Place, Settings};
use endpoint::stop::Stop;
use measure::event::Event;
use measure::method::Method;
use measure::reach::Service;

use crate::command::peer::{Asked, Bound, Manner, Peer, Server};
use crate::program::PROGRAM;

/// Its row.
pub const PEER: Peer = Peer {
    service: Service::Sockperf,
    server: Some(Server {
        option: "sockperf",
        port: "11111",
        help: "Also run a sockperf server, over UDP and TCP,",
        keyless: "The sockperf protocol has no key: only with loopback or --open.",
        name: "a sockperf server",
        bind,
    }),
    asked: Asked::Own { size: None, ask },
};

fn bind(hosts: &[IpAddr], port: u16, manner: &Manner) -> Result<Bound, EndpointError> {
    let place = |host: &IpAddr| Place { address: SocketAddr::new(*host, port), carriers: Carriers::Both, source: None };
    let places: Vec<Place> = hosts.iter().map(place).collect();
    // A thread for each address and carrier: no client waits for another's.
    let server =
        bind_server(Settings { threads: 2 * places.len() as u32, door: manner.door.clone(), ..Settings::at(places) })?;
    Ok(Bound::new(server.addresses(), move |stop| server.run(stop).map(drop)))
}

fn ask(to: SocketAddr, method: &Method, stop: &Stop, on_event: &mut dyn FnMut(Event)) -> Result<(), EndpointError> {
    let place = client::Place { address: to, carrier: method.traffic.carrier(), source: None };
    let test = Test { samples: true, program: PROGRAM.to_owned(), ..Test::new(method.clone(), vec![place]) };
    let session = prepare(&test)?.connect(&test, stop)?;
    session.measure(&test, stop, on_event).map(drop)
}
