//! Options of a data socket beside those that every method has: settings that common tools offer.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use socket2::Socket;

use super::multicast::{self, Outgoing};
use super::{option, set};
use crate::error::EndpointError;

/// Further options of a data socket; a new one leaves all as the system sets it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a socket option of its own, on or off by itself")]
pub struct Tuning {
    /// Largest segment of TCP in bytes (`TCP_MAXSEG`).
    pub segment_bytes: Option<u32>,
    /// True where TCP waits for full segments (`TCP_CORK`).
    pub cork: bool,
    /// True where an idle connection is probed for life (`SO_KEEPALIVE`).
    pub keepalive: bool,
    /// True where only hosts on the same link are reached (`SO_DONTROUTE`).
    pub link_only: bool,
    /// True where the path MTU is never exceeded, and nothing is fragmented (`IP_MTU_DISCOVER`).
    pub whole_packets: bool,
    /// Priority within the host's queues (`SO_PRIORITY`); above 6 it needs `CAP_NET_ADMIN`.
    pub priority: Option<u32>,
    /// Bytes a second at which the kernel paces this socket (`SO_MAX_PACING_RATE`).
    pub pacing_bytes_per_s: Option<u64>,
    /// Bytes that TCP takes before it has sent those of before (`TCP_NOTSENT_LOWAT`): a write waits.
    pub unsent_bytes: Option<u32>,
    /// Routers that datagrams pass at the most, and one more; of a group the kernel's own number is 1.
    pub hops: Option<u8>,
    /// True where data are acknowledged at once (`TCP_QUICKACK`). The kernel may leave that again by itself.
    pub quick_acks: bool,
}

impl Tuning {
    /// Sets what is to be set on `socket`.
    pub fn apply(&self, socket: &Socket, peer: SocketAddr) -> Result<(), EndpointError> {
        let flag =
            |name: &'static str, level, option| set(peer, name, || option::set_int(socket.as_fd(), level, option, 1));
        if let Some(bytes) = self.segment_bytes {
            set(peer, "maximum segment", || socket.set_tcp_mss(bytes))?;
        }
        if self.cork {
            flag("TCP_CORK", libc::IPPROTO_TCP, libc::TCP_CORK)?;
        }
        if self.keepalive {
            flag("SO_KEEPALIVE", libc::SOL_SOCKET, libc::SO_KEEPALIVE)?;
        }
        if self.link_only {
            flag("SO_DONTROUTE", libc::SOL_SOCKET, libc::SO_DONTROUTE)?;
        }
        if self.whole_packets {
            set(peer, "path MTU discovery", || option::never_fragment(socket, peer.is_ipv6()))?;
        }
        if let Some(priority) = self.priority {
            set(peer, "socket priority", || option::set_priority(socket, priority))?;
        }
        if let Some(rate) = self.pacing_bytes_per_s {
            set(peer, "pacing rate", || option::set_max_pacing_rate(socket, rate))?;
        }
        if let Some(bytes) = self.unsent_bytes {
            let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
            let (level, option) = (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT);
            set(peer, "TCP_NOTSENT_LOWAT", || option::set_int(socket.as_fd(), level, option, bytes))?;
        }
        if let Some(hops) = self.hops {
            let outgoing = Outgoing { interface: None, ttl: hops, loopback: true };
            set(peer, "time to live", || {
                if multicast::is_group(peer) {
                    multicast::send_by(socket, peer.is_ipv6(), &outgoing)
                } else {
                    option::set_time_to_live(socket.as_fd(), peer.is_ipv6(), hops)
                }
            })?;
        }
        if self.quick_acks {
            flag("TCP_QUICKACK", libc::IPPROTO_TCP, libc::TCP_QUICKACK)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::{Domain, Type};

    fn read(socket: &Socket, level: libc::c_int, name: libc::c_int) -> libc::c_int {
        option::read_int(socket.as_fd(), level, name).unwrap()
    }

    #[test]
    fn what_is_asked_is_set_and_nothing_else() {
        let peer = "127.0.0.1:9".parse().unwrap();
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        Tuning::default().apply(&socket, peer).unwrap();
        assert_eq!(read(&socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE), 0);
        let tuning = Tuning {
            segment_bytes: Some(1_000),
            cork: true,
            keepalive: true,
            link_only: true,
            whole_packets: true,
            priority: Some(5),
            pacing_bytes_per_s: Some(1_000_000),
            unsent_bytes: Some(16_384),
            hops: Some(7),
            quick_acks: true,
        };
        tuning.apply(&socket, peer).unwrap();
        assert_eq!(read(&socket, libc::IPPROTO_TCP, libc::TCP_CORK), 1);
        assert_eq!(read(&socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE), 1);
        assert_eq!(read(&socket, libc::SOL_SOCKET, libc::SO_DONTROUTE), 1);
        assert_eq!(read(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER), libc::IP_PMTUDISC_DO);
        assert_eq!(read(&socket, libc::SOL_SOCKET, libc::SO_PRIORITY), 5);
        assert_eq!(read(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE), 1_000_000);
        assert_eq!(read(&socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT), 16_384);
        assert_eq!(read(&socket, libc::IPPROTO_TCP, libc::TCP_QUICKACK), 1);
        assert_eq!(read(&socket, libc::IPPROTO_IP, libc::IP_TTL), 7);
    }

    #[test]
    fn what_goes_to_a_group_passes_as_many_routers() {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        let tuning = Tuning { hops: Some(3), ..Tuning::default() };
        tuning.apply(&socket, "239.1.1.1:9".parse().unwrap()).unwrap();
        assert_eq!(socket.multicast_ttl_v4().unwrap(), 3);
    }

    #[test]
    fn a_refused_option_is_named() {
        let peer = "127.0.0.1:9".parse().unwrap();
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        let error = Tuning { cork: true, ..Tuning::default() }.apply(&socket, peer).unwrap_err();
        assert!(error.to_string().contains("set TCP_CORK"), "{error}");
    }
}
