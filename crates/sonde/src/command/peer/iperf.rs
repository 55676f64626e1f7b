//! iperf 2: its server beside ours, and a first look at one.

use std::net::{IpAddr, SocketAddr};

use endpoint::error::EndpointError;
use endpoint::peer::iperf::client::bounce::{Asked as Bounced, measure};
use endpoint::peer::iperf::client::{Test, Told};
use endpoint::peer::iperf::server::bind as bind_server;
use endpoint::peer::iperf::server::event::Transport;
use endpoint::peer::iperf::server::settings::{Place, Settings};
use endpoint::stop::Stop;
use measure::event::Event;
use measure::method::Method;
use measure::reach::Service;
use measure::unit::Bytes;
use protocol::iperf::bounce;

use crate::command::peer::{Asked, Bound, Manner, Peer, Server};
use crate::program::PROGRAM;

/// Its row. A real server ends at messages shorter than its own client sends.
pub const PEER: Peer = Peer {
    service: Service::Iperf,
    server: Some(Server {
        option: "iperf",
        port: "5001",
        help: "Also run an iperf 2 server, over TCP and UDP,",
        keyless: "Its protocol has no key, and its server sends to every client: only with loopback or --open.",
        name: "an iperf 2 server",
        bind,
    }),
    asked: Asked::Own { size: Some(Bytes(bounce::USUAL as u64)), ask },
};

fn bind(hosts: &[IpAddr], port: u16, manner: &Manner) -> Result<Bound, EndpointError> {
    let both = [Transport::Tcp, Transport::Udp];
    let of_host = |host: &IpAddr| {
        let address = SocketAddr::new(*host, port);
        both.map(|transport| Place { address, transport })
    };
    let server = bind_server(Settings {
        door: manner.door.clone(),
        sends_datagrams: manner.sends_datagrams,
        // As a server without `-e`: a client that asks for no latencies prints its plain report.
        tells_latencies: false,
        ..Settings::at(hosts.iter().flat_map(of_host).collect())
    })?;
    let addresses = server.sockets().iter().map(|bound| bound.address).collect();
    Ok(Bound::new(addresses, move |stop| server.run(stop)))
}

fn ask(to: SocketAddr, method: &Method, stop: &Stop, on_event: &mut dyn FnMut(Event)) -> Result<(), EndpointError> {
    let test = Test { program: PROGRAM.to_owned(), ..Test::new(to, method.clone()) };
    let bounced = measure(&test, Bounced::default(), stop, &mut |told| {
        if let Told::Measured(event) = told {
            on_event(event);
        }
    });
    bounced.map(drop)
}
