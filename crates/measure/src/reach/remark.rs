//! Conclusions from several findings of one address, which a reader of a check should not have to draw alone.

use crate::reach::mtu::MtuFinding;
use crate::reach::{AddressReach, Reporter, Says, Seen, Transport, Verdict};

/// Something that follows from several findings of one address. Its words stand where things are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// Nobody on the link has the next hop's address.
    NobodyOnTheLink {
        /// The address that nobody has.
        address: String,
        /// The link.
        interface: String,
    },
    /// Larger packets vanish.
    Hole {
        /// Bytes of the smallest packet that vanishes.
        vanishing_bytes: u32,
    },
    /// Nothing answers in the host's name.
    Dark,
    /// The hop limit of packets to it ran out.
    GoesRound {
        /// The hop at which it did.
        at: String,
    },
    /// Somebody else refuses ports in the host's place.
    RefusedByAnother {
        /// Address of the sender.
        by: String,
    },
    /// Many ports were asked at once; some are closed, and others silent: a limit on answers makes closed ones silent too.
    SilentBesideClosed {
        /// The transport.
        transport: Transport,
        /// Ports without an answer, a count.
        silent: usize,
        /// Ports that were refused, a count.
        closed: usize,
    },
}

/// Ports over one transport from which a limit on answers may have been met by this check alone: Linux sends six ICMP errors at once.
const MANY: usize = 8;
/// Silent ports, and closed ones, from which that is told.
const SEVERAL: usize = 2;

impl Remark {
    /// Returns the remarks about `address`.
    pub fn about(address: &AddressReach) -> Vec<Self> {
        let mut remarks = Vec::new();
        let lives = address.lives();
        let nobody = address.route.as_ref().filter(|route| route.nobody_on_the_link() && !lives);
        if let Some(route) = nobody {
            let next_hop = route.next_hop.clone().unwrap_or_else(|| address.address.clone());
            remarks.push(Self::NobodyOnTheLink { address: next_hop, interface: route.interface.clone() });
        } else if !lives && address.route.is_some() && asked_anything(address) {
            remarks.push(exceeded(address).map_or(Self::Dark, |at| Self::GoesRound { at }));
        }
        if let MtuFinding::Hole { vanishing_bytes, .. } = address.mtu {
            remarks.push(Self::Hole { vanishing_bytes });
        }
        remarks.extend(refuser(address).map(|by| Self::RefusedByAnother { by }));
        remarks.extend([Transport::Tcp, Transport::Udp].into_iter().filter_map(|over| beside_closed(address, over)));
        remarks
    }
}

fn asked_anything(address: &AddressReach) -> bool {
    let asked = |seen: &Seen| !matches!(seen, Seen::NotAsked { .. });
    asked(&address.echo) || address.ports.iter().any(|port| asked(&port.seen))
}

/// The first hop at which the hop limit ran out.
fn exceeded(address: &AddressReach) -> Option<String> {
    let seen = std::iter::once(&address.echo).chain(address.ports.iter().map(|port| &port.seen));
    seen.into_iter().find_map(|seen| match seen {
        Seen::Error { says: Says::HopLimit, from: Some(from), .. } => Some(from.clone()),
        _ => None,
    })
}

fn beside_closed(address: &AddressReach, transport: Transport) -> Option<Remark> {
    let ports: Vec<_> = address.ports.iter().filter(|port| port.transport == transport).collect();
    let silent = ports.iter().filter(|port| matches!(port.seen, Seen::Silence { .. })).count();
    let closed = ports.iter().filter(|port| port.verdict == Verdict::Refused).count();
    let is_told = ports.len() >= MANY && silent >= SEVERAL && closed >= SEVERAL;
    is_told.then_some(Remark::SilentBesideClosed { transport, silent, closed })
}

/// The first hop that refuses a port in the host's place.
fn refuser(address: &AddressReach) -> Option<String> {
    let refused = address.ports.iter().filter(|port| port.verdict == Verdict::Refused);
    refused.into_iter().find_map(|port| match &port.seen {
        Seen::Error { from: Some(from), by: Reporter::Hop, .. } => Some(from.clone()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::{PortFinding, Route};
    use crate::unit::Nanos;

    const SILENCE: Seen = Seen::Silence { waited_ns: Nanos(1) };

    fn address(echo: Seen, neighbour: &str, seen: Seen) -> AddressReach {
        let verdict = Verdict::of(Transport::Udp, &seen, false);
        let port = PortFinding { transport: Transport::Udp, port: 7, verdict, seen, service: None };
        let route = Route { interface: "eth0".into(), neighbour: Some(neighbour.into()), ..Route::default() };
        let mtu = MtuFinding::Whole { bytes: 1_500 };
        AddressReach {
            address: "10.0.0.2".into(),
            route: Some(route),
            no_route: None,
            echo,
            mtu,
            mtu_by: None,
            mtu_back_bytes: None,
            ports: vec![port],
        }
    }

    #[test]
    fn a_host_that_is_off_is_told_from_one_that_is_silent() {
        let nobody = Remark::NobodyOnTheLink { address: "10.0.0.2".into(), interface: "eth0".into() };
        assert_eq!(Remark::about(&address(SILENCE, "failed", SILENCE)), [nobody]);
        assert_eq!(Remark::about(&address(SILENCE, "reachable", SILENCE)), [Remark::Dark]);
        assert_eq!(Remark::about(&address(Seen::Answer { after_ns: Nanos(1) }, "failed", SILENCE)), []);
    }

    #[test]
    fn packets_that_go_round_are_told_from_silence() {
        let from = Some("10.0.0.1".to_owned());
        let echo = Seen::Error { says: Says::HopLimit, from, by: Reporter::Hop, after_ns: Nanos(1) };
        assert_eq!(Remark::about(&address(echo, "reachable", SILENCE)), [Remark::GoesRound { at: "10.0.0.1".into() }]);
    }

    #[test]
    fn who_refuses_in_the_hosts_place_is_named() {
        let by =
            |by| Seen::Error { says: Says::PortUnreachable, from: Some("10.0.0.1".into()), by, after_ns: Nanos(1) };
        let echo = Seen::Answer { after_ns: Nanos(1) };
        let remark = Remark::RefusedByAnother { by: "10.0.0.1".into() };
        assert_eq!(Remark::about(&address(echo.clone(), "reachable", by(Reporter::Hop))), [remark]);
        assert_eq!(Remark::about(&address(echo, "reachable", by(Reporter::Host))), []);
    }

    #[test]
    fn silence_of_many_ports_beside_closed_ones_may_be_a_limit_on_answers() {
        let told = |silent: usize, closed: usize| {
            let mut found = address(Seen::Answer { after_ns: Nanos(1) }, "reachable", SILENCE);
            let port = |(number, seen): (usize, Seen)| PortFinding {
                port: number as u16,
                verdict: Verdict::of(Transport::Udp, &seen, false),
                seen,
                ..found.ports[0].clone()
            };
            let refused =
                Seen::Error { says: Says::PortUnreachable, from: None, by: Reporter::Host, after_ns: Nanos(1) };
            let seen = [vec![SILENCE; silent], vec![refused; closed]].concat();
            found.ports = (1..).zip(seen).map(port).collect();
            Remark::about(&found)
        };
        let limit = Remark::SilentBesideClosed { transport: Transport::Udp, silent: 14, closed: 6 };
        assert_eq!(told(14, 6), [limit]);
        assert_eq!([told(0, 20), told(20, 0), told(1, 19), told(3, 4)], [vec![], vec![], vec![], vec![]]);
    }
}
