//! Ways by which an address is measured, and those by which it cannot be, of the trials of it.

use std::net::SocketAddr;

use endpoint::reach::Port;
use measure::look::Who;
use measure::method::Carrier;
use measure::reach::{AddressReach, PortFinding, Seen, Service, ServiceFinding, Transport, Verdict};
use measure::unit::Nanos;

use protocol::inquiry::usual_port;

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
    /// Number of the address, from 0.
    pub address: u32,
    /// Address of the way; the port has no meaning to an echo.
    pub to: SocketAddr,
    /// The host as it was named, for programs that are told whom they are asked for.
    pub host: String,
    /// The protocol.
    pub carrier: Carrier,
    /// The one who answers.
    pub who: Who,
    /// A request without an answer for so long is lost.
    pub patience: Nanos,
    /// The reason why it cannot be measured.
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

/// The ports to try: those that were named, the usual ones, and by UDP the programs'.
pub fn ports(named: &[PortWish]) -> Vec<Port> {
    // Programs at work are asked where somebody names them; others are there to be asked.
    let usual_at = |number| {
        let port = Port::usual(Transport::Tcp, number);
        if port.services.iter().any(|service| service.is_at_work()) { port.unasked() } else { port }
    };
    let is_named = |number: &u16| named.iter().any(|wish| wish.number == *number);
    let usual = TCP.into_iter().filter(|number| !is_named(number));
    // Where a port was named, nobody else is knocked at who is no program to measure with.
    let tcp = usual.map(usual_at).filter(|port| named.is_empty() || !port.services.is_empty());
    let udp = UDP.into_iter().map(|number| Port::usual(Transport::Udp, number));
    let also = named.iter().filter(|wish| wish.goes_over_udp() && !UDP.contains(&wish.number));
    let also = also.map(|wish| wish.over(Transport::Udp));
    named.iter().map(|wish| wish.over(Transport::Tcp)).chain(tcp).chain(udp).chain(also).collect()
}

/// Shortest time after which a request is lost, and the multiple of the slowest answer that was seen, where that is longer.
const PATIENCE: (Nanos, u64) = (Nanos::secs(1), 3);

/// The findings at one address.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// Number of the address, from 0.
    pub address: u32,
    /// The address.
    pub at: SocketAddr,
    /// The host as it was named.
    pub host: &'a str,
    /// The probes there.
    pub reach: &'a AddressReach,
    /// The port that was named, the first of several.
    pub named: Option<u16>,
    /// True where there is a key for a reflector that wants one.
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
        let slowest = self.reach.seen().filter_map(Seen::answered_after).max().unwrap_or_default();
        let patience = PATIENCE.0.max(Nanos(slowest.0.saturating_mul(PATIENCE.1)));
        Way { address: self.address, to, host: self.host.to_owned(), carrier, who, patience, trouble: None }
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
            let why = format!("{service} shuts out hosts that connect often without a login");
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
                ServiceFinding::Silent { asked, .. }
                | ServiceFinding::Closed { asked }
                | ServiceFinding::Reset { asked },
            ) => asked.clone(),
            // It spoke, and as none of those that were asked for.
            Some(ServiceFinding::Other { .. }) => Vec::new(),
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
        // A router refuses and forbids in the host's place, under its own address.
        let another = || self.tcp().filter_map(|found| found.seen.by_another()).map(|(from, _)| from);
        let is_own = |found: &&PortFinding| found.seen.by_another().is_none();
        let count = |verdict| self.tcp().filter(is_own).filter(|found| found.verdict == verdict).count();
        let (all, refused) = (self.tcp().count(), count(Verdict::Refused));
        let open = count(Verdict::Open);
        if open > 0 && self.open(SSH) {
            return format!("only port {SSH} accepts, where SSH shuts out hosts that connect again and again");
        }
        let (reset, met, unasked) = (count(Verdict::Reset), another().count(), count(Verdict::NotAsked));
        let rest = all - refused - reset - met - unasked;
        let errors = another().next().map_or_else(String::new, |from| format!("{met} met an ICMP error of {from}, "));
        let why = self.tcp().find_map(|found| if let Seen::NotAsked { why } = &found.seen { Some(why) } else { None });
        let errors = why.map_or(errors.clone(), |why| format!("{errors}{unasked} not asked ({why}), "));
        if reset > 0 {
            return format!(
                "none of {all} ports stays open: {reset} accepted and then reset, {refused} refused, {errors}{rest} silent or unreachable"
            );
        }
        format!("none of {all} ports accepts: {refused} refused, {errors}{rest} silent or unreachable")
    }

    /// The place as a URL of this program says it.
    fn place(&self, port: u16, service: Service) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.to_owned() };
        let is_usual = [Transport::Tcp, Transport::Udp].map(|over| usual_port(service, over)).contains(&Some(port));
        if is_usual { host } else { format!("{host}:{port}") }
    }

    /// The ways of a program that was recognised.
    fn of_program(&self, port: &PortFinding, service: Service, state: Option<&str>) -> Vec<Way> {
        let who = Who::Program { service };
        let way = |carrier| self.way(carrier, who, port.port);
        let untold = |why: &str| vec![Way { trouble: Some(why.to_owned()), ..way(Carrier::Tcp) }];
        match peer::of(service).map(|peer| &peer.asked) {
            None if state == Some("wants a key") && !self.key => untold("the reflector wants a key: --key FILE"),
            None => vec![way(Carrier::Tcp), way(Carrier::Udp)],
            Some(Asked::Not(why)) => {
                let why = match state.filter(|state| is_complaint(state)) {
                    Some(state) => format!("{state}: {why}"),
                    None => (*why).to_owned(),
                };
                let over = if port.transport == Transport::Udp { Carrier::Udp } else { Carrier::Tcp };
                vec![Way { trouble: Some(why.replace("HOST", &self.place(port.port, service))), ..way(over) }]
            }
            Some(asked) => asked.carriers(port.transport).into_iter().map(way).collect(),
        }
    }
}

/// True where a program says of itself that it lets nobody in, or shows that it should not be believed.
fn is_complaint(state: &str) -> bool {
    ["error ", "alert ", "certificate "].iter().any(|word| state.starts_with(word))
}

#[cfg(test)]
mod tests {
    use measure::reach::mtu::MtuFinding;
    use measure::reach::{Reporter, Says};
    use measure::unit::Nanos;

    use super::*;

    fn open(port: u16, service: Option<ServiceFinding>) -> PortFinding {
        let seen = Seen::Answer { after_ns: Nanos(1) };
        PortFinding { transport: Transport::Tcp, port, verdict: Verdict::Open, seen, service }
    }

    fn reach(ports: Vec<PortFinding>) -> AddressReach {
        let (address, mtu) = ("10.0.0.2".to_owned(), MtuFinding::NotFound { why: String::new() });
        let echo = Seen::Answer { after_ns: Nanos(1) };
        AddressReach { address, route: None, no_route: None, echo, mtu, mtu_by: None, mtu_back_bytes: None, ports }
    }

    fn ways(host: &str, named: u16, service: Option<ServiceFinding>) -> Vec<Way> {
        let reach = reach(vec![open(named, service), open(443, None)]);
        let at = SocketAddr::from(([10, 0, 0, 2], 0));
        Found { address: 0, at, host, reach: &reach, named: Some(named), key: false }.ways()
    }

    fn known(service: Service) -> ServiceFinding {
        ServiceFinding::Known { service, state: None }
    }

    #[test]
    fn nobody_at_work_is_asked_where_no_port_was_named() {
        let ports = ports(&[]);
        let at = |number| ports.iter().find(|port| port.number == number).map(|port| port.services.clone());
        assert_eq!(
            (at(443), at(80), at(22), at(7_663)),
            (Some(vec![]), Some(vec![]), Some(vec![]), Some(vec![Service::Sonde]))
        );
        let ports = super::ports(&[PortWish::measured(53)]);
        let dns: Vec<_> =
            ports.iter().filter(|port| port.number == 53).map(|port| (port.transport, &port.services[..])).collect();
        assert_eq!(dns, [(Transport::Tcp, &[Service::Dns][..]), (Transport::Udp, &[Service::Dns][..])]);
        assert!(ports.iter().all(|port| ![443, 80, 22].contains(&port.number)), "nobody else is knocked at");
    }

    #[test]
    fn ports_that_a_router_forbids_are_not_refused_by_the_host() {
        let error = |by, says| Seen::Error { says, from: Some("10.0.0.1".into()), by, after_ns: Nanos(1) };
        let port = |(port, seen): (u16, Seen)| {
            let verdict = Verdict::of(Transport::Tcp, &seen, false);
            PortFinding { transport: Transport::Tcp, port, verdict, seen, service: None }
        };
        let seen = [
            (7_663, error(Reporter::Hop, Says::Prohibited)),
            (80, error(Reporter::Hop, Says::PortUnreachable)),
            (22, Seen::Reset { after_ns: Nanos(1) }),
            (443, Seen::Silence { waited_ns: Nanos(1) }),
            (7, Seen::NotAsked { why: "no port is free".to_owned() }),
        ];
        let reach = reach(seen.map(port).to_vec());
        let at = SocketAddr::from(([10, 0, 0, 2], 0));
        let handshake = Found { address: 0, at, host: "db1", reach: &reach, named: None, key: false }.ways()[1].clone();
        let said = "none of 5 ports accepts: 1 refused, 2 met an ICMP error of 10.0.0.1, 1 not asked (no port is free), 1 silent or unreachable";
        assert_eq!(handshake.trouble.as_deref(), Some(said));
    }

    #[test]
    fn no_series_of_handshakes_is_made_with_who_counts_them() {
        let handshake = |port, service| ways("db1", port, service)[1].clone();
        for (port, service) in [
            (5_000, Some(known(Service::Mysql))),
            (5_000, Some(known(Service::Ssh))),
            (3_306, Some(ServiceFinding::Closed { asked: vec![Service::Mysql] })),
            (3_306, None),
            (22, Some(ServiceFinding::Silent { asked: vec![Service::Ssh], within_ns: None })),
        ] {
            let way = handshake(port, service);
            assert!(way.trouble.as_ref().is_some_and(|why| why.contains("shuts out hosts")), "{way:?}");
        }
        assert_eq!((handshake(6_379, Some(known(Service::Redis))).trouble, handshake(25, None).trouble), (None, None));
        let another = ServiceFinding::Other { asked: vec![Service::Nats, Service::Ssh, Service::Mysql] };
        assert_eq!(handshake(6_390, Some(another)).trouble, None, "it spoke, and as none of them");
    }

    #[test]
    fn a_program_that_is_not_measured_says_how_it_is() {
        let trouble = |host, port, service| ways(host, port, Some(known(service)))[2].trouble.clone().unwrap();
        assert!(trouble("db1", 3_306, Service::Mysql).ends_with("sonde rtt mysql://USER@db1"));
        assert!(trouble("db1", 3_307, Service::Mysql).ends_with("sonde rtt mysql://USER@db1:3307"));
        assert!(trouble("fd00::2", 8_443, Service::Tls).ends_with("sonde rtt https://[fd00::2]:8443/PATH"));
    }
}
