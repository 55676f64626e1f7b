//! iperf3: its server beside ours.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use endpoint::error::EndpointError;
use endpoint::peer::iperf3::server::bind as bind_server;
use endpoint::peer::iperf3::server::event::Nobody;
use endpoint::peer::iperf3::server::settings::Settings;
use measure::reach::Service;

use crate::command::peer::{Asked, Bound, Manner, Peer, Server};

/// Its row.
pub const PEER: Peer = Peer {
    service: Service::Iperf3,
    server: Some(Server {
        option: "iperf3",
        port: "5201",
        help: "Also run an iperf3 server, with any number of tests at once,",
        keyless: "It does not use the key of sonde: only with loopback or --open. `sonde iperf3 -s` has the logins of iperf3.",
        name: "an iperf3 server",
        bind,
    }),
    asked: Asked::Not("an iperf3 server answers no requests: `sonde throughput` measures with it"),
};

fn bind(hosts: &[IpAddr], port: u16, manner: &Manner) -> Result<Bound, EndpointError> {
    let listen = hosts.iter().map(|host| SocketAddr::new(*host, port)).collect();
    let settings = Settings { listen, door: manner.door.clone(), ..Settings::at(SocketAddr::from(([0; 4], port))) };
    let server = bind_server(settings, Arc::new(Nobody))?;
    Ok(Bound::new(server.addresses(), move |stop| server.run(stop)))
}
