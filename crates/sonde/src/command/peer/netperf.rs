//! netperf: a netserver beside ours, and a first look at one.

use std::net::{IpAddr, SocketAddr};

use endpoint::error::EndpointError;
use endpoint::peer::netperf::server::{Settings, bind as bind_server};
use endpoint::rtt::Protocol;
use measure::method::Carrier;
use measure::reach::Service;

use crate::command::peer::{Asked, Bound, Manner, Peer, Server};

/// Its row.
pub const PEER: Peer = Peer {
    service: Service::Netserver,
    server: Some(Server {
        option: "netperf",
        port: "12865",
        help: "Also run a netserver, for netperf and `--peer netperf`,",
        keyless: "The netperf protocol has no key: only with loopback or --open.",
        name: "a netserver",
        bind,
    }),
    asked: Asked::Exchanged { protocol: Protocol::Netperf { passphrase: None }, over: &[Carrier::Tcp, Carrier::Udp] },
};

fn bind(hosts: &[IpAddr], port: u16, manner: &Manner) -> Result<Bound, EndpointError> {
    let listen = hosts.iter().map(|host| SocketAddr::new(*host, port)).collect();
    let server =
        bind_server(Settings { listen, door: manner.door.clone(), ..Settings::at(SocketAddr::from(([0; 4], port))) })?;
    Ok(Bound::new(server.addresses(), move |stop| server.run(stop)))
}
