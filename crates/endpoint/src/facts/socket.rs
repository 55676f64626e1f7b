//! Settings that a connected socket has in effect, read back from the kernel: asked and granted may differ.

use std::os::fd::AsFd;

use measure::outcome::SocketFacts;
use measure::unit::Bytes;
use rustix::net::sockopt;
use socket2::{SockAddr, SockRef, Type};

use crate::socket::{label_of, option};
use crate::tcp_info::TcpInfo;

/// Reads the facts of a socket, as far as its kind has them. Call it at the end of a run for the counts, or after
/// connecting for the settings; each call reads all. A fact that the socket's kind does not have, or the kernel does
/// not report, is absent.
pub fn socket_facts(socket: impl AsFd) -> SocketFacts {
    let socket = socket.as_fd();
    let reference = SockRef::from(&socket);
    let local = reference.local_addr().ok();
    let six = local.as_ref().is_some_and(SockAddr::is_ipv6);
    let mut facts = SocketFacts {
        flow_label: local.as_ref().and_then(|local| label_of(socket, local)),
        local: local.map(|address| spell(&address)).unwrap_or_default(),
        remote: reference.peer_addr().map(|address| spell(&address)).unwrap_or_default(),
        send_buffer_bytes: reference.send_buffer_size().ok().map(|n| Bytes(n as u64)),
        receive_buffer_bytes: reference.recv_buffer_size().ok().map(|n| Bytes(n as u64)),
        path_mtu_bytes: path_mtu(socket, six),
        tos: traffic_class(socket, six),
        ..SocketFacts::default()
    };
    if let Ok(info) = TcpInfo::of(socket) {
        add_tcp(&mut facts, socket, &info);
    }
    if reference.r#type().is_ok_and(|kind| kind != Type::STREAM) {
        facts.dropped = option::dropped(socket).ok().map(u64::from);
    }
    if is_icmp(&reference) {
        facts.icmp_socket =
            reference.r#type().ok().map(|kind| if kind == Type::RAW { "raw" } else { "ping" }.to_owned());
    }
    facts
}

fn add_tcp(facts: &mut SocketFacts, socket: impl AsFd, info: &TcpInfo) {
    facts.nodelay = sockopt::tcp_nodelay(&socket).ok();
    facts.congestion = sockopt::tcp_congestion(&socket).ok();
    // A socket that was never connected reports no path: the smallest segment possible, and zeros.
    let unconnected = matches!(info.state.as_deref(), Some("closed" | "syn-sent" | "listen"));
    let connected = !unconnected || info.smoothed_rtt_ns.is_some();
    facts.mss_bytes = info.snd_mss_bytes.filter(|_| connected);
    facts.window_scaling = info.options.as_ref().filter(|_| connected).map(|options| options.window_scale.is_some());
    facts.selective_acks = info.options.as_ref().filter(|_| connected).map(|options| options.sack);
    facts.retransmitted = retransmitted(info).filter(|_| connected);
    facts.unacknowledged = info.unacked.filter(|segments| connected && *segments > 0).map(u64::from);
    facts.had_already = info.dsack_dups.filter(|_| connected).map(u64::from);
    facts.kernel_smoothed_rtt_ns = info.smoothed_rtt_ns;
    facts.kernel_min_rtt_ns = info.min_rtt_ns;
    if facts.path_mtu_bytes.is_none() {
        facts.path_mtu_bytes = info.pmtu_bytes;
    }
}

/// Segments sent again that a reply may have waited for. None has waited for a handshake, whose segments carry no octet.
fn retransmitted(info: &TcpInfo) -> Option<u64> {
    let of_handshake = info.bytes_retrans == Some(Bytes(0));
    info.total_retrans.map(|segments| if of_handshake { 0 } else { u64::from(segments) })
}

/// Path MTU of a connected socket (`IP_MTU`, `IPV6_MTU`); an IPv6 socket that speaks IPv4 answers to either.
fn path_mtu(socket: impl AsFd, six: bool) -> Option<Bytes> {
    let mtu =
        if six { sockopt::ipv6_mtu(&socket).or_else(|_| sockopt::ip_mtu(&socket)) } else { sockopt::ip_mtu(&socket) };
    mtu.ok().map(|bytes| Bytes(u64::from(bytes)))
}

fn traffic_class(socket: impl AsFd, six: bool) -> Option<u8> {
    if six { sockopt::ipv6_tclass(&socket).ok()?.try_into().ok() } else { sockopt::ip_tos(&socket).ok() }
}

fn is_icmp(socket: &SockRef<'_>) -> bool {
    let protocol = socket.protocol().ok().flatten();
    protocol.is_some_and(|p| p == socket2::Protocol::ICMPV4 || p == socket2::Protocol::ICMPV6)
}

/// `10.0.0.2:7663`, `[fd00::2]:7663`; a Unix socket or another family has no such spelling.
fn spell(address: &SockAddr) -> String {
    address.as_socket().map(|address| address.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::unit::Nanos;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};

    /// A kernel that does not count octets (before 4.19) does not tell the two apart.
    #[test]
    fn a_syn_that_was_sent_again_is_no_retransmission_of_a_reply() {
        let seen = |octets: Option<u64>| {
            retransmitted(&TcpInfo { total_retrans: Some(2), bytes_retrans: octets.map(Bytes), ..TcpInfo::default() })
        };
        assert_eq!([seen(Some(0)), seen(Some(128)), seen(None)], [Some(0), Some(2), Some(2)]);
        assert_eq!(retransmitted(&TcpInfo::default()), None);
    }

    #[test]
    fn a_tcp_socket_tells_what_was_set_on_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut far = listener.accept().unwrap().0;
        near.set_nodelay(true).unwrap();
        sockopt::set_tcp_congestion(&near, "reno").unwrap();
        let reference = SockRef::from(&near);
        reference.set_tos_v4(0x10).unwrap();
        reference.set_send_buffer_size(20_000).unwrap();
        near.write_all(&[1; 10]).unwrap();
        far.read_exact(&mut [0; 10]).unwrap();

        let facts = socket_facts(&near);
        assert_eq!(facts.local, near.local_addr().unwrap().to_string());
        assert_eq!(facts.remote, listener.local_addr().unwrap().to_string());
        assert_eq!((facts.nodelay, facts.congestion.as_deref(), facts.tos), (Some(true), Some("reno"), Some(0x10)));
        // Linux doubles what is asked (socket(7), SO_SNDBUF).
        assert_eq!(facts.send_buffer_bytes, Some(Bytes(40_000)));
        assert_eq!(facts.retransmitted, Some(0));
        assert!(facts.kernel_min_rtt_ns.unwrap() > Nanos::ZERO);
        assert!(facts.mss_bytes.unwrap().0 < facts.path_mtu_bytes.unwrap().0, "{facts:?}");
        assert_eq!((facts.icmp_socket, facts.dropped), (None, None));
    }

    #[test]
    fn a_tcp_socket_that_was_never_connected_tells_of_no_path() {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, Type::STREAM, None).unwrap();
        let facts = socket_facts(&socket);
        assert_eq!((facts.mss_bytes, facts.retransmitted, facts.kernel_smoothed_rtt_ns), (None, None, None));
        assert!(facts.congestion.is_some() && facts.nodelay == Some(false));
    }

    #[test]
    fn a_udp_socket_has_no_facts_of_tcp() {
        let far = UdpSocket::bind("[::1]:0").unwrap();
        let near = UdpSocket::bind("[::1]:0").unwrap();
        near.connect(far.local_addr().unwrap()).unwrap();
        let facts = socket_facts(&near);
        assert_eq!(facts.remote, far.local_addr().unwrap().to_string());
        assert_eq!((facts.nodelay, facts.congestion, facts.retransmitted, facts.mss_bytes), (None, None, None, None));
        let lo = std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap();
        assert_eq!(facts.path_mtu_bytes, Some(Bytes(lo.trim().parse().unwrap())));
        assert!(facts.receive_buffer_bytes.unwrap().0 > 0);
    }

    #[test]
    fn a_full_receive_buffer_tells_what_it_dropped() {
        let near = UdpSocket::bind("127.0.0.1:0").unwrap();
        SockRef::from(&near).set_recv_buffer_size(4_096).unwrap();
        assert_eq!(socket_facts(&near).dropped, Some(0));
        let far = UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..100 {
            far.send_to(&[0; 1_000], near.local_addr().unwrap()).unwrap();
        }
        near.set_nonblocking(true).unwrap();
        let had = std::iter::repeat_with(|| near.recv(&mut [0; 1_000])).take_while(Result::is_ok).count() as u64;
        assert!(had < 100, "{had}");
        assert_eq!(socket_facts(&near).dropped, Some(100 - had));
    }

    #[test]
    fn a_socket_that_is_not_connected_has_no_path() {
        let facts = socket_facts(UdpSocket::bind("127.0.0.1:0").unwrap());
        assert_eq!((facts.remote.as_str(), facts.path_mtu_bytes), ("", None));
    }
}
