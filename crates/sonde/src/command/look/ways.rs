//! From what was tried at an address to the ways by which it is measured, and those by which it cannot be.

use std::net::SocketAddr;

use endpoint::reach::Port;
use measure::look::Who;
use measure::method::Carrier;
use measure::reach::{AddressReach, PortFinding, Seen, Service, ServiceFinding, Transport, Verdict};

use crate::command::check::target::PortWish;
use crate::command::peer::{self, Asked};

/// TCP ports that are tried: those of programs that answer requests, then those where most hosts answer anything.
const TCP: [u16; 8] = [7_663, 12_865, 11_111, 5_001, 7, 443, 80, 22];
/// UDP ports that are tried, each a program's.
const UDP: [u16; 3] = [862, 11_111, 7];
/// Ports that handshakes are made with, the first that is open: servers that expect many strangers before those that fork for
/// each or take it for an attack. A real iperf 2 server ends at a connection that says nothing, and an SSH server shuts out who makes
/// many.
const HANDSHAKES: [u16; 6] = [7_663, 443, 80, 7, 11_111, 12_865];

/// The usual port of SSH.
const SSH: u16 = 22;

/// A way to ask the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// Which of the addresses, from 0.
    pub address: u32,
    /// Where that is; the port has no meaning to an echo.
    pub to: SocketAddr,
    /// The host as it was named, for programs that are told whom they are asked for.
    pub host: String,
    /// What carries it.
    pub carrier: Carrier,
    /// Who answers.
    pub who: Who,
    /// Why it cannot be measured.
    pub trouble: Option<String>,
}

impl Way {
    /// The port, where the carrier has one.
    pub fn port(&self) -> Option<u16> {
        (self.carrier != Carrier::Icmp).then_some(self.to.port()).filter(|port| *port > 0)
    }

    fn is_like(&self, other: &Self) -> bool {
        (self.carrier, self.who, self.port()) == (other.carrier, other.who, other.port())
    }
}

/// The ports to try: the one that was named, the usual ones, and by UDP the programs'.
pub fn ports(named: Option<PortWish>) -> Vec<Port> {
    let wish = named.map(|wish| wish.over(Transport::Tcp));
    // Programs at work are asked where somebody names them; others are there to be asked.
    let usual_at = |number| {
        let port = Port::usual(Transport::Tcp, number);
        if port.services.iter().any(|service| service.is_at_work()) { port.unasked() } else { port }
    };
    let usual = TCP.into_iter().filter(|number| wish.as_ref().is_none_or(|port| port.number != *number));
    // Where a port was named, nobody else is knocked at who is no program to measure with.
    let tcp = usual.map(usual_at).filter(|port| wish.is_none() || !port.services.is_empty());
    let tcp: Vec<Port> = tcp.collect();
    let udp = UDP.into_iter().map(|number| Port::usual(Transport::Udp, number));
    let also = named.filter(|wish| wish.goes_over_udp() && !UDP.contains(&wish.number));
    let also = also.map(|wish| wish.over(Transport::Udp));
    wish.into_iter().chain(tcp).chain(udp).chain(also).collect()
}

/// What was found at one address.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// Which of the addresses, from 0.
    pub address: u32,
    /// Where it is.
    pub at: SocketAddr,
    /// The host as it was named.
    pub host: &'a str,
    /// What was tried there.
    pub reach: &'a AddressReach,
    /// The port that was named.
    pub named: Option<u16>,
    /// Whether there is a key for a reflector that wants one.
    pub key: bool,
}

impl Found<'_> {
    /// The ways to ask it, echo and handshake first.
    pub fn ways(&self) -> Vec<Way> {
        let ports = self.reach.ports.iter();
        let programs = ports.filter_map(|port| match &port.service {
            Some(ServiceFinding::Known { service, state }) => Some((port, *service, state.as_deref())),
            _ => None,
        });
        let programs = programs.flat_map(|(port, service, state)| self.of_program(port, service, state));
        [self.echo(), self.handshake()].into_iter().chain(programs).collect()
    }

    /// Those of its ways that the first address has too: two addresses are compared like with like.
    pub fn ways_like(&self, first: &[Way]) -> Vec<Way> {
        let ways = self.ways().into_iter().filter(|way| way.carrier != Carrier::TcpConnect);
        let alike = |way: &Way| first.iter().any(|other| other.is_like(way));
        let mut ways: Vec<Way> = ways.filter(|way| way.trouble.is_some() || alike(way)).collect();
        let handshake = first.iter().find(|way| way.carrier == Carrier::TcpConnect && way.trouble.is_none());
        if let Some(port) = handshake.and_then(Way::port) {
            let open = self.open(port);
            let trouble = (!open).then(|| format!("port {port} does not accept at this address"));
            ways.insert(1.min(ways.len()), Way { trouble, ..self.way(Carrier::TcpConnect, Who::Kernel, port) });
        }
        ways
    }

    fn way(&self, carrier: Carrier, who: Who, port: u16) -> Way {
        let mut to = self.at;
        to.set_port(port);
        Way { address: self.address, to, host: self.host.to_owned(), carrier, who, trouble: None }
    }

    fn echo(&self) -> Way {
        let trouble = match &self.reach.echo {
            Seen::NotAsked { why } => Some(why.clone()),
            _ => None,
        };
        Way { trouble, ..self.way(Carrier::Icmp, Who::Kernel, 0) }
    }

    fn handshake(&self) -> Way {
        let named = self.named.filter(|port| self.open(*port));
        if let Some((port, service)) = named.and_then(|port| Some((port, self.counting(port)?))) {
            let why = format!("{service} shuts out hosts that connect again and again without a login");
            return Way { trouble: Some(why), ..self.way(Carrier::TcpConnect, Who::Kernel, port) };
        }
        let usual = HANDSHAKES.into_iter().find(|port| self.open(*port));
        match named.or(usual) {
            Some(port) => self.way(Carrier::TcpConnect, Who::Kernel, port),
            None => Way { trouble: Some(self.shut()), ..self.way(Carrier::TcpConnect, Who::Kernel, 0) },
        }
    }

    /// The program at a port that counts connections without a login: it was seen there, or is usually there.
    fn counting(&self, port: u16) -> Option<Service> {
        let found = self.tcp().find(|found| found.port == port).and_then(|found| found.service.as_ref());
        let services = match found {
            Some(ServiceFinding::Known { service, .. }) => vec![*service],
            Some(
                ServiceFinding::Other { asked } | ServiceFinding::Silent { asked } | ServiceFinding::Closed { asked },
            ) => asked.clone(),
            Some(ServiceFinding::LeftAlone { .. }) | None => Port::usual(Transport::Tcp, port).services,
        };
        services.into_iter().find(|service| service.counts_strangers())
    }

    fn tcp(&self) -> impl Iterator<Item = &PortFinding> {
        self.reach.ports.iter().filter(|port| port.transport == Transport::Tcp)
    }

    fn open(&self, port: u16) -> bool {
        self.tcp().any(|found| found.port == port && found.verdict == Verdict::Open)
    }

    fn shut(&self) -> String {
        let count = |verdict| self.tcp().filter(|found| found.verdict == verdict).count();
        let (all, refused) = (self.tcp().count(), count(Verdict::Refused));
        let open = count(Verdict::Open);
        if open > 0 && self.open(SSH) {
            return format!("only port {SSH} accepts, where SSH shuts out hosts that connect again and again");
        }
        format!("none of {all} ports accepts: {refused} refused, {} silent or unreachable", all - refused)
    }

    /// The ways of a program that was recognised.
    fn of_program(&self, port: &PortFinding, service: Service, state: Option<&str>) -> Vec<Way> {
        let who = Who::Program { service };
        let way = |carrier| self.way(carrier, who, port.port);
        let untold = |why: &str| vec![Way { trouble: Some(why.to_owned()), ..way(Carrier::Tcp) }];
        match peer::of(service).map(|peer| &peer.asked) {
            None if state == Some("wants a key") && !self.key => untold("the reflector wants a key: --key FILE"),
            None => vec![way(Carrier::Tcp), way(Carrier::Udp)],
            Some(Asked::Not(why)) => untold(why),
            Some(asked) => asked.carriers(port.transport).into_iter().map(way).collect(),
        }
    }
}
