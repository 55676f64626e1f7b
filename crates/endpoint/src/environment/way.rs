//! Route of packets from this host to an address: the kernel's own answer (rtnetlink), without a privilege.

use std::io;
use std::net::SocketAddr;

use measure::reach::Route;

use super::ethtool::{Card, any_socket};
use super::netlink;

/// The way to an address.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// Route, as it is reported.
    pub route: Route,
    /// True where the address is that of all hosts on a network, or of a group.
    pub many: bool,
    index: u32,
    towards: std::net::IpAddr,
}

impl Way {
    /// The way to `peer`, whose port has no meaning; its scope is the interface.
    ///
    /// # Errors
    /// The kernel's error: mostly that there is no route.
    pub fn to(peer: SocketAddr) -> io::Result<Self> {
        let scope = if let SocketAddr::V6(six) = peer { six.scope_id() } else { 0 };
        let found = netlink::route_by(peer.ip(), scope)?;
        let interface = rustix::net::netdevice::index_to_name(any_socket()?, found.interface)?;
        let mtu_bytes = Card::named(&interface).and_then(|card| card.mtu()).ok();
        let text = |address: std::net::IpAddr| address.to_string();
        let route = Route {
            interface,
            source: found.source.map(text),
            next_hop: found.next_hop.map(text),
            mtu_bytes,
            route_mtu_bytes: found.mtu,
            neighbour: None,
        };
        let many = matches!(found.kind, libc::RTN_BROADCAST | libc::RTN_MULTICAST);
        Ok(Self { route, many, index: found.interface, towards: found.next_hop.unwrap_or(peer.ip()) })
    }

    /// State of the next hop's entry in the neighbour table now; `None` where there is none, or the kernel does not tell.
    pub fn neighbour(&self) -> Option<String> {
        netlink::neighbour(self.index, self.towards).ok().flatten().map(str::to_owned)
    }
}

/// Returns the route of one flow's packets, by their flow label where they have a known one: the address of the next
/// hop, where the peer is not on the link, and the interface.
///
/// # Errors
/// The kernel's error: mostly that there is no route, or that it is too old to be asked for ports (before 4.19) or labels.
pub fn of_flow(local: SocketAddr, peer: SocketAddr, protocol: u8, label: Option<u32>) -> io::Result<String> {
    // A socket that is bound to a port alone sends from the address that its route has. Over IPv6 the route is chosen among several
    // before the socket has that address, so the choice is that of no address.
    let late = local.ip().is_unspecified() && local.is_ipv4();
    let source = if late { netlink::route(peer.ip())?.source } else { Some(local.ip()) };
    let local = SocketAddr::new(source.unwrap_or(local.ip()), local.port());
    let found = netlink::route_of_flow(local, peer, protocol, label)?;
    let interface = rustix::net::netdevice::index_to_name(any_socket()?, found.interface)?;
    Ok(found.next_hop.map_or_else(|| interface.clone(), |next_hop| format!("{next_hop} ({interface})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_is_reached_over_loopback() {
        let way = Way::to("127.0.0.1:0".parse().unwrap()).unwrap();
        assert_eq!((way.route.interface.as_str(), way.many, way.neighbour()), ("lo", false, None));
        assert!(way.route.mtu_bytes > Some(1_500) && way.route.next_hop.is_none());
    }

    #[test]
    fn all_hosts_of_a_network_are_many() {
        assert!(Way::to("127.255.255.255:0".parse().unwrap()).unwrap().many);
    }
}
