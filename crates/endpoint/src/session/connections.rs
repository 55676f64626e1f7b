//! Connections of one kind, ready to be measured over: shared out to the threads, and the facts of their sockets read
//! back at the end.

use std::net::{Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;

use measure::method::{Method, Window};
use measure::outcome::SocketFacts;
use protocol::link::Link;
use protocol::wire::Wire;
use socket2::Socket;

use super::scene::Scene;
use super::workers::{self, Gathered};
use crate::engine::{self, Flow};
use crate::environment::way;
use crate::error::EndpointError;
use crate::facts::socket::socket_facts;
use crate::link::batching::Handed;
use crate::link::datagram::Datagram;
use crate::link::datagram::complaints::IcmpErrors;
use crate::link::stamping::Stamping;
use crate::link::stream::{PIECE, Stream};
use crate::stop::Stop;

/// A connection as it was opened.
#[derive(Debug)]
pub struct Connection<L, W> {
    /// Link and wire, for an engine.
    pub flow: Flow<L, W>,
    /// Facts of its socket.
    pub facts: SocketFacts,
    /// Reason for which it does not take the kernel stamps that were asked for; absent: it takes them, or none were
    /// asked for.
    pub refused: Option<String>,
    /// Counts of the batches that leave it; absent where messages leave one by one.
    pub handed: Option<Arc<Handed>>,
    /// Counts of the ICMP errors that come for it; absent where nobody looks for them.
    pub errors: Option<Arc<IcmpErrors>>,
}

impl<L, W> Connection<L, W> {
    /// The same with another wire.
    #[must_use]
    pub fn with_wire(self, change: impl FnOnce(W) -> W) -> Self {
        let Flow { link, wire, index, request, reply, expected } = self.flow;
        Self { flow: Flow { link, wire: change(wire), index, request, reply, expected }, ..self }
    }
}

/// Connections of one kind.
#[derive(Debug)]
pub struct Opened<L, W> {
    flows: Vec<Flow<L, W>>,
    sockets: Vec<SocketFacts>,
    handed: Vec<Option<Arc<Handed>>>,
    errors: Vec<Option<Arc<IcmpErrors>>>,
    refused: Option<String>,
}

impl<L, W> FromIterator<Connection<L, W>> for Opened<L, W> {
    fn from_iter<I: IntoIterator<Item = Connection<L, W>>>(connections: I) -> Self {
        let mut opened =
            Self { flows: Vec::new(), sockets: Vec::new(), handed: Vec::new(), errors: Vec::new(), refused: None };
        for Connection { flow, facts, refused, handed, errors } in connections {
            opened.errors.push(errors);
            opened.flows.push(flow);
            opened.sockets.push(facts);
            opened.handed.push(handed);
            opened.refused = opened.refused.or(refused);
        }
        opened
    }
}

/// A connected stream of requests and replies, over any wire.
pub fn stream<W>(socket: Socket, wire: W, index: u32, method: &Method, stop: &Stop) -> Connection<Stream, W> {
    let stamping = stamping(&socket, method);
    let refused = stamping.refused.clone();
    let facts = socket_facts(&socket);
    let lengths = (method.traffic.request_bytes().0 as usize, method.traffic.response_bytes().0 as usize);
    let patient = method.traffic.window() != Window::Closed(1);
    let mut link = Stream::new(socket, method.waiting, lengths, patient, stop.clone());
    link.stamping = stamping;
    let (request, reply) = (vec![0; lengths.0.min(PIECE)], vec![0; lengths.1.min(PIECE)]);
    let expected = Some(reply.len());
    Connection {
        flow: Flow { link, wire, index, request, reply, expected },
        facts,
        refused,
        handed: None,
        errors: None,
    }
}

/// A connected socket of datagrams, of which requests have `length` bytes; what replies have is left open.
pub fn datagram<W>(
    socket: Socket,
    wire: W,
    index: u32,
    length: usize,
    method: &Method,
    stop: &Stop,
) -> Connection<Datagram, W> {
    let stamping = stamping(&socket, method);
    let refused = stamping.refused.clone();
    let facts = socket_facts(&socket);
    let mut link = Datagram::new(socket, method.waiting, stop.clone());
    link.stamping = stamping;
    if engine::exchanges::one_at_a_time(method) {
        link.go_one_by_one();
    }
    let handed = method.traffic.load().and_then(|load| load.batch).map(|batch| link.batch(batch.by));
    let errors = Some(link.errors());
    // Room for an IPv4 header with all its options, which a raw socket puts in front.
    let reply = vec![0; length + 61];
    let flow = Flow { link, wire, index, request: vec![0; length], reply, expected: None };
    Connection { flow, facts, refused, handed, errors }
}

fn stamping(socket: &Socket, method: &Method) -> Stamping {
    if method.traffic.stamps().is_some() { Stamping::prepare(socket.as_fd()) } else { Stamping::default() }
}

/// Shares the connections out to the threads and measures over them.
pub fn measure<L, W>(
    opened: Opened<L, W>,
    scene: &mut Scene<'_>,
    socket_of: fn(&L) -> Option<&Socket>,
) -> Result<Gathered, EndpointError>
where
    L: Link + Send,
    W: Wire + Send,
{
    let Opened { flows, mut sockets, handed, errors, refused } = opened;
    // Kept open beside the links, so that what TCP counted can be read when the threads have ended.
    let beside: Vec<Option<Socket>> =
        flows.iter().map(|flow| socket_of(&flow.link).and_then(|socket| socket.try_clone().ok())).collect();
    let threads = scene.method.spread.threads as usize;
    let mut crews: Vec<Vec<Flow<L, W>>> = (0..threads).map(|_| Vec::new()).collect();
    for (place, flow) in flows.into_iter().enumerate() {
        crews[place % threads].push(flow);
    }
    let mut gathered = workers::run(crews, scene)?;
    for (facts, socket) in sockets.iter_mut().zip(&beside) {
        if let Some(socket) = socket {
            *facts = match facts.icmp_socket.take() {
                None => socket_facts(socket),
                kind => echo_facts(socket, facts.remote.clone(), kind),
            };
        }
    }
    if sockets.len() > 1 {
        for facts in &mut sockets {
            facts.next_hop = next_hop(facts, scene.method.socket.bind.is_some());
        }
    }
    for (facts, handed) in sockets.iter_mut().zip(handed) {
        facts.batched = handed.map(|handed| handed.told());
    }
    for (facts, errors) in sockets.iter_mut().zip(errors) {
        facts.icmp_errors = errors.map(|errors| errors.told(scene.peer.ip())).unwrap_or_default();
    }
    gathered.sockets = sockets;
    gathered.stamps_refused = refused;
    Ok(gathered)
}

/// Next hop of a socket with ports; routes with several next hops choose by them. `named` is true where the user named
/// the local address.
fn next_hop(facts: &SocketFacts, named: bool) -> Option<String> {
    let protocol = if facts.icmp_socket.is_some() {
        return None;
    } else if facts.nodelay.is_some() {
        libc::IPPROTO_TCP
    } else {
        libc::IPPROTO_UDP
    };
    let (mut local, remote): (SocketAddr, SocketAddr) = (facts.local.parse().ok()?, facts.remote.parse().ok()?);
    if local.is_ipv6() && !named {
        // The route was chosen when the socket was connected, before it had an address.
        local.set_ip(Ipv6Addr::UNSPECIFIED.into());
    }
    way::of_flow(local, remote, u8::try_from(protocol).ok()?, facts.flow_label).ok()
}

/// Facts of a socket for ICMP. It has no ports: the values in their place mean nothing to a reader, and a raw socket
/// does not report its peer.
pub fn echo_facts(socket: &Socket, remote: String, icmp_socket: Option<String>) -> SocketFacts {
    let local = socket.local_addr().ok().and_then(|address| address.as_socket());
    let local = local.map_or_else(String::new, |address| address.ip().to_string());
    SocketFacts { local, remote, icmp_socket, ..socket_facts(socket) }
}
