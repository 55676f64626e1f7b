//! Networks that a server may be reached from at all.

use std::io;
use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use socket2::{SockFilter, Socket};

/// Networks whose hosts are served; none: every network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gate(pub Vec<IpNet>);

impl Gate {
    /// Returns true where a host at `address` is served.
    pub fn admits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.is_empty() || self.0.iter().any(|network| network.contains(&address))
    }

    /// Has the kernel drop packets to `socket` from elsewhere, unseen by the program: a connection is not even refused.
    /// Connections that a listener accepts inherit this.
    ///
    /// # Errors
    /// More networks than a filter holds: some 1,000 of IPv4, some 300 of IPv6.
    pub fn guard(&self, socket: &Socket) -> io::Result<()> {
        if self.0.is_empty() { Ok(()) } else { socket.attach_filter(&self.filter()) }
    }

    /// A classic packet filter that accepts what [`Gate::admits`] does, by the source address in the IP header.
    fn filter(&self) -> Vec<SockFilter> {
        let (mut four, mut six) = (Vec::new(), Vec::new());
        for network in &self.0 {
            match network {
                IpNet::V4(network) => four.extend(of_ipv4(*network)),
                IpNet::V6(network) => six.extend(of_ipv6(*network)),
            }
        }
        four.push(ends(false));
        six.push(ends(false));
        // Packets of IPv4 come to sockets of IPv6 too: the version is in the header's first octet.
        let version = [
            step(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, HEADER),
            step(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0xF0),
            SockFilter::new((libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, 1, 0, 0x60),
            step(libc::BPF_JMP | libc::BPF_JA, six.len() as u32),
        ];
        version.into_iter().chain(six).chain(four).collect()
    }
}

/// Offset at which a filter finds the IP header of a packet, whatever the socket begins at (`SKF_NET_OFF`,
/// include/uapi/linux/filter.h).
const HEADER: u32 = -0x10_0000_i32 as u32;

fn step(code: u32, value: u32) -> SockFilter {
    SockFilter::new(code as u16, 0, 0, value)
}

/// The last step of a way: the whole packet, or none of it.
fn ends(accepts: bool) -> SockFilter {
    step(libc::BPF_RET | libc::BPF_K, if accepts { u32::MAX } else { 0 })
}

/// Compares the masked word at `offset` of the IP header with `word`; where they differ `skip` steps are left out.
fn same(offset: u32, word: u32, mask: u32, skip: u8) -> [SockFilter; 3] {
    [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, HEADER + offset),
        step(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, mask),
        SockFilter::new((libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, 0, skip, word & mask),
    ]
}

fn of_ipv4(network: Ipv4Net) -> impl Iterator<Item = SockFilter> {
    // RFC 791, section 3.1: the source address is the header's fourth word.
    same(12, network.network().to_bits(), network.netmask().to_bits(), 1).into_iter().chain([ends(true)])
}

fn of_ipv6(network: Ipv6Net) -> impl Iterator<Item = SockFilter> {
    let (address, mask) = (network.network().to_bits(), network.netmask().to_bits());
    let word = |bits: u128, place: u8| (bits >> (96 - 32 * u32::from(place))) as u32;
    // RFC 8200, section 3: it begins at octet 8.
    (0..4_u8)
        .flat_map(move |place| {
            let rest = 3 * (3 - place) + 1;
            same(8 + 4 * u32::from(place), word(address, place), word(mask, place), rest)
        })
        .chain([ends(true)])
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

    use test_case::test_case;

    use super::*;
    use crate::serve::listen;

    #[test_case("", "192.0.2.1" => true; "every network")]
    #[test_case("10.0.0.0/8 192.0.2.0/24", "192.0.2.1" => true; "one of two")]
    #[test_case("10.0.0.0/8 192.0.2.0/24", "192.0.3.1" => false; "none of two")]
    #[test_case("192.0.2.0/24", "::ffff:192.0.2.1" => true; "a mapped address is that of IPv4")]
    #[test_case("2001:db8::/32", "2001:db8:1::1" => true; "of ipv6")]
    #[test_case("::/0", "192.0.2.1" => false; "all of ipv6 is nothing of ipv4")]
    fn it_admits(networks: &str, address: &str) -> bool {
        gate(networks).admits(address.parse().unwrap())
    }

    fn gate(networks: &str) -> Gate {
        Gate(networks.split_whitespace().map(|one| one.parse().unwrap()).collect())
    }

    /// Datagrams from every address of the loopback that a network's edge may lie at, to a socket of each family.
    #[test_case(""; "every network")]
    #[test_case("127.0.0.0/8"; "all of the loopback")]
    #[test_case("10.0.0.0/8 127.0.0.2/32"; "one host")]
    #[test_case("127.3.0.0/17 127.0.0.0/31"; "two of its networks")]
    #[test_case("0.0.0.0/0"; "all of ipv4")]
    #[test_case("::/0"; "all of ipv6")]
    #[test_case("::1/128"; "one of ipv6")]
    #[test_case("::/127 2001:db8::/33"; "one whose last word differs")]
    #[test_case("2001:db8::/32 ::2/128"; "none of ipv6")]
    fn the_kernel_lets_through_what_is_admitted(networks: &str) {
        let gate = gate(networks);
        let senders =
            ["127.0.0.1", "127.0.0.2", "127.3.127.255", "127.3.128.0", "::1"].map(|from| from.parse().unwrap());
        for any in [IpAddr::from(Ipv4Addr::UNSPECIFIED), Ipv6Addr::UNSPECIFIED.into()] {
            let at = SocketAddr::new(any, 0);
            let socket = listen::unbound(at, socket2::Type::DGRAM, &gate).unwrap();
            socket.bind(&at.into()).unwrap();
            let socket = UdpSocket::from(socket);
            let port = socket.local_addr().unwrap().port();
            let mut heard = Vec::new();
            for from in senders.into_iter().filter(|from: &IpAddr| any.is_ipv6() || from.is_ipv4()) {
                let sender = UdpSocket::bind((from, 0)).unwrap();
                let to: IpAddr = if from.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() };
                sender.send_to(b"word", (to, port)).unwrap();
                // Over the loopback what was sent has come, or was dropped, when the call is over.
                socket.set_nonblocking(true).unwrap();
                if let Ok((_, whence)) = socket.recv_from(&mut [0; 8]) {
                    assert_eq!(whence.ip().to_canonical(), from);
                    heard.push(from);
                }
                assert_eq!(heard.contains(&from), gate.admits(from), "{from} to {any}");
            }
        }
    }
}
