//! Echo requests as ping sends them: the peer's kernel answers, and sightings of each message are reported.
//!
//! The engine measures and records as it does over any link; the caller also receives every [`Sighting`], on the thread
//! that started the test.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use measure::environment::Environment;
use measure::method::{Method, Schedule};
use measure::unit::Nanos;
use protocol::icmp::echo::Echo;
use socket2::{SockRef, Socket};

use crate::engine::{Ended, Flow};
use crate::environment::Reader;
use crate::environment::watch::Watch;
use crate::error::{EndpointError, Step};
use crate::link::echo::{EchoLink, Sighting};
use crate::link::teller;
use crate::session::audience::{Audience, Listener};
use crate::session::connections::{self, Connection, echo_facts};
use crate::session::scene::Scene;
use crate::session::workers::Gathered;
use crate::socket;
use crate::socket::icmp::{self, SocketName, Wishes};
use crate::stop::{GLANCE, Stop};

/// One test.
#[derive(Clone, Debug)]
pub struct Test {
    /// Method: one connection on one thread, without a warm-up and without stamps of its own.
    pub method: Method,
    /// Address of the peer; its port is unused.
    pub address: SocketAddr,
    /// Socket options beside the method's.
    pub wishes: Wishes,
    /// Payload of the requests. Numbers are written over the first 12 octets, where there are as many.
    pub payload: Vec<u8>,
    /// True where a reply's time is its receive in this program; false: the kernel's receive stamp.
    pub user_to_user: bool,
    /// Length of an interval of the series.
    pub interval: Nanos,
    /// Name and version of the program, for the facts of this host.
    pub program: String,
}

/// A socket that is ready.
#[derive(Debug)]
pub struct Prepared {
    socket: Socket,
    kind: SocketName,
    echo: Echo,
}

/// Result of a test.
#[derive(Debug)]
pub struct Measured {
    /// Recording and facts that the engine gathered.
    pub gathered: Gathered,
    /// This host.
    pub environment: Environment,
    /// Sightings that were dropped: the listener fell behind.
    pub unheard: u64,
}

/// The address that requests to `address` leave from, as the routing table has it.
pub fn source(address: SocketAddr, method: &Method, wishes: &Wishes) -> Result<IpAddr, EndpointError> {
    let fail = |cause| EndpointError::new(Step::ConnectData, address.ip(), cause);
    // Connecting a UDP socket looks the route up, and sends nothing.
    let probe = UdpSocket::bind(SocketAddr::new(method.socket.bind.unwrap_or_else(|| socket::any(address)), 0))
        .map_err(|cause| EndpointError::new(Step::Set("local address"), address.ip(), cause))?;
    let reference = SockRef::from(&probe);
    if let Some(interface) = &method.socket.interface {
        let bound = reference.bind_device(Some(interface.as_bytes()));
        bound.map_err(|cause| EndpointError::new(Step::Set("interface"), address.ip(), cause))?;
    }
    if wishes.broadcast {
        reference.set_broadcast(true).map_err(fail)?;
    }
    // Any port will do but 0, which some systems refuse.
    let mut to = address;
    to.set_port(1_025);
    probe.connect(to).map_err(fail)?;
    probe.local_addr().map(|local| local.ip()).map_err(fail)
}

/// Opens the socket of a test.
pub fn prepare(test: &Test) -> Result<Prepared, EndpointError> {
    let icmp::Opened { socket, kind, echo } = icmp::open_as(test.address, &test.method.socket, &test.wishes)?;
    let fail = |cause| EndpointError::new(Step::Set("timeouts"), test.address.ip(), cause);
    socket::echo::tell_all(&socket, test.address.is_ipv6(), !test.user_to_user);
    socket::set_waiting(&socket, test.address.ip(), test.method.waiting)?;
    socket.set_write_timeout(Some(GLANCE.into())).map_err(fail)?;
    // A wait for a reply that may be lost must not last beyond what follows it.
    let glance = match test.method.schedule {
        Schedule::AtLatest { gap_ns, adapts: false } => GLANCE.min(gap_ns),
        Schedule::AtLatest { adapts: true, .. } => GLANCE.min(Schedule::LEAST_GAP),
        _ => GLANCE,
    };
    socket.set_read_timeout(Some(glance.into())).map_err(fail)?;
    let echo = echo.counting_from(1).for_payload(test.payload.len());
    Ok(Prepared { socket, kind, echo })
}

impl Prepared {
    /// The identifier of the requests; `None` where the kernel does not tell.
    pub fn identifier(&self) -> Option<u16> {
        match self.kind {
            SocketName::Raw => Some(self.echo.identifier()),
            SocketName::Ping => self.socket.local_addr().ok()?.as_socket().map(|local| local.port()),
        }
    }

    /// Returns true where the socket is a raw one.
    pub fn is_raw(&self) -> bool {
        self.kind == SocketName::Raw
    }

    /// Runs the test. Changes of the network or of this host's interfaces during it are reported, and do not end it.
    pub fn measure(
        self,
        test: &Test,
        stop: &Stop,
        audience: &mut dyn Audience<Sighting>,
    ) -> Result<Measured, EndpointError> {
        let Self { socket, kind, echo } = self;
        let halt = Stop::default();
        let (teller, sightings) = teller::ring();
        let to = test.wishes.anybody.then(|| test.address.into());
        let mut request = vec![0; Echo::message_length(0)];
        request.extend_from_slice(&test.payload);
        // Room for an IPv4 header with all its options, which a raw socket puts in front, and for one octet too many.
        let reply = vec![0; request.len() + 61];
        // A raw IPv4 socket puts the IP header in front, whose length varies: there the checksum shows a cut reply.
        let bare = kind == SocketName::Ping || test.address.is_ipv6();
        let expected = bare.then_some(request.len());
        let facts = echo_facts(&socket, test.address.ip().to_string(), Some(kind.to_string()));
        let waiting = test.method.waiting;
        let link = EchoLink::new(socket, to, echo, test.payload.clone(), waiting, teller, halt.clone());
        let flow = Flow { link, wire: echo, index: 0, request, reply, expected };
        let opened = std::iter::once(Connection { flow, facts, refused: None, handed: None, errors: None }).collect();
        let mut watch = Watch::start(Reader::host(test.program.clone()).towards(test.address.ip()));
        let mut listener = Listener::new(sightings, audience, &halt);
        let mut scene = Scene {
            method: &test.method,
            trace: None,
            peer: test.address,
            far: &mut listener,
            samples: false,
            interval: test.interval,
            stop,
            halt: &halt,
            watch: &mut watch,
            on_event: &mut |_| {},
        };
        let gathered = connections::measure(opened, &mut scene, |link: &EchoLink| Some(link.socket()));
        listener.empty();
        let mut gathered = gathered?;
        if gathered.ended == Ended::Stopped && listener.has_enough() && !stop.requested() {
            gathered.ended = Ended::Complete;
        }
        Ok(Measured { gathered, environment: watch.finish(), unheard: listener.unheard() })
    }
}
