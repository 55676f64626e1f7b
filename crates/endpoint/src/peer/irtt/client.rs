//! Sessions as irtt's own client has them: opened by parameters of the caller's, each packet and each reply told as it is seen.
//!
//! The engine sends on schedule. The caller hears every [`Sighting`] on the thread that started the test, and ends the wait for
//! the last replies.

pub mod link;

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;

use measure::method::Method;
use measure::unit::Nanos;
use protocol::irtt::fill::Filler;
use protocol::irtt::key::Key;
use protocol::irtt::opening::{self, Refusal, Reply};
use protocol::irtt::parameters::Parameters;
use protocol::irtt::session::Session;
use socket2::{Domain, Protocol, Socket, Type};

use self::link::{EchoWire, IrttLink, Sighting};
use super::{Farewell, Unanswered, ask};
use crate::engine::Flow;
use crate::environment::Reader;
use crate::environment::watch::Watch;
use crate::error::{EndpointError, Step};
use crate::facts::socket::socket_facts;
use crate::link::teller;
use crate::session::audience::{Audience, Listener};
use crate::session::connections::{self, Connection};
use crate::session::scene::Scene;
use crate::socket;
use crate::socket::icmp::Fragments;
use crate::socket::option;
use crate::stop::Stop;

/// A test over an open session.
#[derive(Clone, Debug)]
pub struct Test {
    /// Method: so many requests on a schedule over one connection, without a warm-up and without stamps of its own.
    pub method: Method,
    /// The session.
    pub session: Session,
    /// The parameters that the server granted.
    pub granted: Parameters,
    /// Filling of packets.
    pub filler: Filler,
    /// True where all packets have the filling of the first.
    pub fills_once: bool,
    /// Name and version of the program, for the facts of this host.
    pub program: String,
}

/// The call by which a socket was not connected, and its error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unconnected {
    /// `socket`, `bind` or `connect`.
    pub call: &'static str,
    /// Its error number.
    pub errno: i32,
}

/// A socket that is connected to a server. It meets no more errors than the system tells of any.
#[derive(Debug)]
pub struct Connected {
    socket: Socket,
    server: SocketAddr,
}

impl Connected {
    /// A socket towards `server`, from `local` where that is named.
    ///
    /// # Errors
    /// The call that failed.
    pub fn new(server: SocketAddr, local: Option<SocketAddr>) -> Result<Self, Unconnected> {
        let failed =
            |call| move |error: io::Error| Unconnected { call, errno: error.raw_os_error().unwrap_or(libc::EIO) };
        let socket =
            Socket::new(Domain::for_address(server), Type::DGRAM, Some(Protocol::UDP)).map_err(failed("socket"))?;
        if let Some(local) = local {
            socket.bind(&local.into()).map_err(failed("bind"))?;
        }
        socket.connect(&server.into()).map_err(failed("connect"))?;
        Ok(Self { socket, server })
    }

    /// Its local address.
    pub fn local(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()?.as_socket()
    }

    /// Asks for a session of these parameters, once for each of `waits` until there is a reply; where it `closes`, for the
    /// reply alone.
    ///
    /// # Errors
    /// No reply; in its place where it is one that cannot be read.
    pub fn open(
        &self,
        parameters: &Parameters,
        closes: bool,
        key: Option<&Key>,
        waits: &[Nanos],
        stop: &Stop,
    ) -> Result<Result<Reply, Refusal>, Unanswered> {
        let request = opening::request(parameters, closes, key);
        ask(&self.socket, &request, waits, stop, |reply| opening::reply(reply, key))
    }

    /// Sets the octet of the type of service of what is sent from here on.
    pub fn set_class(&self, class: i32) -> io::Result<()> {
        let v4 = (libc::IPPROTO_IP, libc::IP_TOS);
        self.set(class, v4, (libc::IPPROTO_IPV6, libc::IPV6_TCLASS))
    }

    /// Sets the time to live of what is sent from here on.
    pub fn set_time_to_live(&self, hops: i32) -> io::Result<()> {
        let v4 = (libc::IPPROTO_IP, libc::IP_TTL);
        self.set(hops, v4, (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS))
    }

    /// Sets the fragmentation of what is sent from here on.
    pub fn set_fragments(&self, fragments: Fragments) -> io::Result<()> {
        let v4 = (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER);
        self.set(fragments.discovery(), v4, (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER))
    }

    /// Ends a session that is not used.
    pub fn leave(self, session: &Session) {
        drop(Farewell::new(self.socket, session));
    }

    fn set(&self, value: i32, v4: (i32, i32), v6: (i32, i32)) -> io::Result<()> {
        let (level, name) = if self.server.is_ipv6() { v6 } else { v4 };
        option::set_int(self.socket.as_fd(), level, name, value)
    }

    /// Runs the test, and ends the session. It lasts until its audience has heard enough, for the last packet keeps it waiting
    /// for as long as its timeout. Returns the number of sightings that were dropped: the audience fell behind.
    pub fn measure(self, test: Test, stop: &Stop, audience: &mut dyn Audience<Sighting>) -> Result<u64, EndpointError> {
        let Self { socket, server } = self;
        let Test { method, session, granted, filler, fills_once, program } = test;
        let fail = |cause| EndpointError::new(Step::Set("timeouts"), server, cause);
        socket::set_glance(&socket).map_err(fail)?;
        let _farewell = Farewell::new(socket.try_clone().map_err(fail)?, &session);
        let facts = socket_facts(&socket);
        let (halt, session) = (Stop::default(), Arc::new(session));
        let (teller, sightings) = teller::ring();
        let fields = granted.shortest(session.key.is_some());
        let (request, reply) = (vec![0; session.length], vec![0; session.length.max(LONGEST_HEAD)]);
        let wire = EchoWire::new(Arc::clone(&session), fields, filler, fills_once, method.stop.count);
        let link = IrttLink::new(socket, session, granted, teller, halt.clone());
        let flow = Flow { link, wire, index: 0, request, reply, expected: None };
        let opened = std::iter::once(Connection { flow, facts, refused: None, handed: None, errors: None }).collect();
        let mut watch = Watch::start(Reader::host(program).towards(server.ip()));
        let mut listener = Listener::new(sightings, audience, &halt);
        let mut scene = Scene {
            method: &method,
            trace: None,
            peer: server,
            far: &mut listener,
            samples: false,
            interval: measure::event::INTERVAL,
            stop,
            halt: &halt,
            watch: &mut watch,
            on_event: &mut |_| {},
        };
        let gathered = connections::measure(opened, &mut scene, |link: &IrttLink| Some(link.socket()));
        listener.empty();
        gathered.map(|_| listener.unheard())
    }
}

/// Octets that the fields of a reply have at most: shorter packets may have longer replies.
const LONGEST_HEAD: usize = 116;
