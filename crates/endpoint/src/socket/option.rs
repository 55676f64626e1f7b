//! Socket options that no safe library sets, each in one place.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use libc::{c_int, c_uint};
use socket2::{SockFilter, Socket};

/// `SO_BUSY_POLL`: time for which the kernel polls the card before it sleeps, microseconds.
pub fn set_busy_poll(socket: &Socket, micros: u32) -> io::Result<()> {
    set_int(socket.as_fd(), libc::SOL_SOCKET, libc::SO_BUSY_POLL, micros as c_int)
}

/// The type-of-service octet of IPv4, or the traffic class of IPv6.
pub fn set_type_of_service(socket: &Socket, ipv6: bool, tos: u8) -> io::Result<()> {
    let (level, name) = if ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) } else { (libc::IPPROTO_IP, libc::IP_TOS) };
    set_int(socket.as_fd(), level, name, c_int::from(tos))
}

/// The type-of-service octet as the kernel has it.
pub fn type_of_service(socket: BorrowedFd<'_>, ipv6: bool) -> io::Result<u8> {
    let (level, name) = if ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) } else { (libc::IPPROTO_IP, libc::IP_TOS) };
    read_int(socket, level, name).map(|value| value as u8)
}

/// Asks for ICMP errors and local failures on the error queue (`IP_RECVERR`). A kernel that refuses leaves us with the
/// plain errors of a connected socket, which is enough to go on.
pub fn tell_of_errors(socket: BorrowedFd<'_>, ipv6: bool) {
    let (level, name) =
        if ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) } else { (libc::IPPROTO_IP, libc::IP_RECVERR) };
    drop(set_int(socket, level, name, 1));
}

/// On a raw ICMP socket: lets through nothing but echo replies, so that neither our own requests (over loopback) nor
/// others' traffic wake us. The kernel filters before it queues a message.
pub fn only_echo_replies(socket: BorrowedFd<'_>, ipv6: bool) -> io::Result<()> {
    if !ipv6 {
        // include/uapi/linux/icmp.h: ICMP_FILTER is option 1 of SOL_RAW (255); a set bit drops that type.
        let drop_all_but_reply = !(1_u32 << 0);
        return set_int(socket, libc::SOL_RAW, 1, drop_all_but_reply as c_int);
    }
    // include/uapi/linux/icmpv6.h: ICMPV6_FILTER is option 1; 256 bits, a set bit drops that type.
    let mut filter = [u32::MAX; 8];
    filter[129 / 32] &= !(1 << (129 % 32));
    // SAFETY: as in `set_int`; the pointer and length describe the array.
    let result = unsafe {
        let length = size_of_val(&filter) as libc::socklen_t;
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_ICMPV6, 1, filter.as_ptr().cast(), length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// On a raw ICMP socket: of the messages lets through those with our identifier alone. Every raw socket is given every
/// reply that comes to this host: those of our other connections, and of other programs, would fill its buffer until our
/// own found no room.
pub fn only_identifier(socket: &Socket, ipv6: bool, identifier: u16) -> io::Result<()> {
    let code = |parts: &[u32]| parts.iter().sum::<u32>() as u16;
    let index = SockFilter::new(code(&[libc::BPF_LDX, libc::BPF_B, libc::BPF_MSH]), 0, 0, 0);
    let load = |mode| SockFilter::new(code(&[libc::BPF_LD, libc::BPF_H, mode]), 0, 0, 4);
    let is_ours = SockFilter::new(code(&[libc::BPF_JMP, libc::BPF_JEQ, libc::BPF_K]), 0, 1, u32::from(identifier));
    let answer = |length| SockFilter::new(code(&[libc::BPF_RET, libc::BPF_K]), 0, 0, length);
    let (all, nothing) = (answer(u32::MAX), answer(0));
    // For IPv4 the filter sees the IP header, whose length the first instruction takes; for IPv6 the message alone.
    if ipv6 {
        socket.attach_filter(&[load(libc::BPF_ABS), is_ours, all, nothing])
    } else {
        socket.attach_filter(&[index, load(libc::BPF_IND), is_ours, all, nothing])
    }
}

/// Asks with each datagram for the address it was sent to (`IP_PKTINFO`).
pub fn tell_destination(socket: BorrowedFd<'_>, ipv6: bool) -> io::Result<()> {
    if ipv6 {
        set_int(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)
    } else {
        set_int(socket, libc::IPPROTO_IP, libc::IP_PKTINFO, 1)
    }
}

/// Asks with each datagram for what was left of its time to live (`IP_RECVTTL`, `IPV6_RECVHOPLIMIT`). A socket of IPv6 may
/// be given datagrams of IPv4 too.
pub fn tell_time_to_live(socket: BorrowedFd<'_>, ipv6: bool) -> io::Result<()> {
    if ipv6 {
        set_int(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT, 1)?;
    }
    set_int(socket, libc::IPPROTO_IP, libc::IP_RECVTTL, 1)
}

/// Asks with each datagram for the octet of its type of service (`IP_RECVTOS`, `IPV6_RECVTCLASS`), likewise.
pub fn tell_service(socket: BorrowedFd<'_>, ipv6: bool) -> io::Result<()> {
    if ipv6 {
        set_int(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)?;
    }
    set_int(socket, libc::IPPROTO_IP, libc::IP_RECVTOS, 1)
}

/// The time to live, or hop limit, of what leaves the socket (`IP_TTL`, `IPV6_UNICAST_HOPS`).
pub fn set_time_to_live(socket: BorrowedFd<'_>, ipv6: bool, hops: u8) -> io::Result<()> {
    let (level, name) =
        if ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS) } else { (libc::IPPROTO_IP, libc::IP_TTL) };
    set_int(socket, level, name, c_int::from(hops))
}

/// Has packets of IPv6 leave without a flow label (`IPV6_AUTOFLOWLABEL`): one that is drawn anew for each socket may take
/// another path.
pub fn without_flow_label(socket: BorrowedFd<'_>) -> io::Result<()> {
    // include/uapi/linux/in6.h
    const IPV6_AUTOFLOWLABEL: c_int = 70;
    set_int(socket, libc::IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, 0)
}

// include/uapi/linux/in6.h
const IPV6_FLOWLABEL_MGR: c_int = 32;
const IPV6_FLOWINFO_SEND: c_int = 33;

/// The flow label of packets of IPv6 from `port`. It takes the lower half of all labels, which is for those that programs choose
/// (`net.ipv6.flowlabel_state_ranges`); no two ports have the same, and neighbours' are far apart in all bits.
pub fn flow_label(port: u16) -> u32 {
    u32::from(port).wrapping_mul(0x9E37_79B1) >> 13
}

/// Has the flow of a socket stay as it is: its packets of IPv6 have the label of `port`, where the kernel would draw one for each connection,
/// and repeats do not make it draw again (`SO_TXREHASH`). Whoever connects names the label: [`keeps_label`].
pub fn keep_flow(socket: BorrowedFd<'_>, peer: SocketAddr, port: u16) -> io::Result<()> {
    // include/uapi/asm-generic/socket.h, since Linux 5.18; of TCP alone, and what a kernel does not have is left.
    const SO_TXREHASH: c_int = 74;
    drop(set_int(socket, libc::SOL_SOCKET, SO_TXREHASH, 0));
    let SocketAddr::V6(peer) = peer else { return Ok(()) };
    // struct in6_flowlabel_req: to get a label, for any user, made where there is none; the shortest times.
    let mut request = [0_u8; 32];
    request[..16].copy_from_slice(&peer.ip().octets());
    request[16..20].copy_from_slice(&flow_label(port).to_be_bytes());
    request[21] = u8::MAX;
    request[22..24].copy_from_slice(&1_u16.to_ne_bytes());
    // SAFETY: as in `set_int`; the pointer and length describe the array.
    let result = unsafe {
        let length = size_of_val(&request) as libc::socklen_t;
        let request = request.as_ptr().cast();
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, request, length)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    set_int(socket, libc::IPPROTO_IPV6, IPV6_FLOWINFO_SEND, 1)
}

/// True where packets of IPv6 have the label of the socket's port.
pub fn keeps_label(socket: BorrowedFd<'_>) -> bool {
    read_int(socket, libc::IPPROTO_IPV6, IPV6_FLOWINFO_SEND).is_ok_and(|on| on == 1)
}

/// The first SYN of a handshake is repeated once at the most (`TCP_SYNCNT`).
pub fn repeat_syn_once(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_int(socket, libc::IPPROTO_TCP, libc::TCP_SYNCNT, 1)
}

/// `SO_TIMESTAMPING` with these flags.
pub fn set_timestamping(socket: BorrowedFd<'_>, flags: c_uint) -> io::Result<()> {
    set_int(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags as c_int)
}

/// `SO_RCVLOWAT`: a connection is readable once this number of octets is there, or none will follow.
pub fn set_least_received(socket: &Socket, octets: u16) -> io::Result<()> {
    set_int(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, octets.into())
}

/// `SO_PRIORITY`: the packet's priority within this host; above 6 it needs `CAP_NET_ADMIN`.
pub fn set_priority(socket: &Socket, priority: u32) -> io::Result<()> {
    set_int(socket.as_fd(), libc::SOL_SOCKET, libc::SO_PRIORITY, priority.cast_signed())
}

/// `IP_MTU_DISCOVER`, `IPV6_MTU_DISCOVER`: no packet larger than the path takes leaves, and none is fragmented.
pub fn never_fragment(socket: &Socket, ipv6: bool) -> io::Result<()> {
    let (level, name, how) = if ipv6 {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_DO)
    } else {
        (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO)
    };
    set_int(socket.as_fd(), level, name, how)
}

/// `SO_MAX_PACING_RATE`: bytes a second, TCP paces itself to it, other carriers where the fq queue does. Beyond what
/// 32 bits hold it is unlimited, which is as good.
pub fn set_max_pacing_rate(socket: &Socket, bytes_per_s: u64) -> io::Result<()> {
    let rate = u32::try_from(bytes_per_s).unwrap_or(u32::MAX);
    set_int(socket.as_fd(), libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate.cast_signed())
}

/// IP options of all that leaves the socket (`IP_OPTIONS`), at most 40 octets.
pub fn set_ip_options(socket: &Socket, options: &[u8]) -> io::Result<()> {
    // SAFETY: as in `set_int`; the pointer and length describe the slice.
    let result = unsafe {
        let length = options.len() as libc::socklen_t;
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_OPTIONS, options.as_ptr().cast(), length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets an integer option.
pub fn set_int(socket: BorrowedFd<'_>, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open for the borrow's life; the pointer and length describe one c_int that outlives
    // the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an integer option.
pub fn read_int(socket: BorrowedFd<'_>, level: c_int, name: c_int) -> io::Result<c_int> {
    let mut value: c_int = 0;
    let mut length = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: as above; `length` says how much may be written and is updated by the kernel.
    let result = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut length) };
    if result == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

/// True of a connection over several paths that has not become one of plain TCP: of that, and of any other, the kernel has no such facts.
pub fn is_multipath(socket: BorrowedFd<'_>) -> bool {
    // SOL_MPTCP and MPTCP_INFO of include/uapi/linux/mptcp.h.
    read_int(socket, 284, 1).is_ok()
}

/// Messages that came for this socket and that the kernel dropped: its receive buffer was full, or a checksum wrong.
/// Counted from the socket's beginning (since Linux 4.12).
pub fn dropped(socket: BorrowedFd<'_>) -> io::Result<u32> {
    memory(socket).map(|memory| memory[libc::SK_MEMINFO_DROPS as usize])
}

/// Returns the octets in the socket's send buffer, kernel overhead included: not sent yet, or not acknowledged.
pub fn queued(socket: BorrowedFd<'_>) -> io::Result<u32> {
    memory(socket).map(|memory| memory[libc::SK_MEMINFO_WMEM_QUEUED as usize])
}

/// The socket's memory as the kernel keeps account of it (`SO_MEMINFO`).
fn memory(socket: BorrowedFd<'_>) -> io::Result<[u32; libc::SK_MEMINFO_DROPS as usize + 1]> {
    let mut memory = [0_u32; libc::SK_MEMINFO_DROPS as usize + 1];
    let mut length = size_of_val(&memory) as libc::socklen_t;
    // SAFETY: as above; `length` is that of the array, and the kernel writes no more.
    let result = unsafe {
        let into = memory.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MEMINFO, into, &raw mut length)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let whole = length as usize == size_of_val(&memory);
    whole.then_some(memory).ok_or_else(|| io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::{SocketAddr, TcpListener};

    use measure::method::SocketOptions;
    use socket2::{Domain, Protocol, SockAddr, Type};

    use super::*;
    use crate::socket::multipath_tcp;
    use crate::stop::Stop;

    fn connected(server: SocketAddr) -> Socket {
        let socket = multipath_tcp(server, &SocketOptions::default()).expect("a kernel with MPTCP");
        let patience = measure::unit::Nanos::secs(20);
        assert!(crate::socket::connect(&socket, server, patience, &Stop::default()).unwrap());
        socket
    }

    #[test]
    fn a_connection_of_several_paths_is_told_from_one_that_fell_back() {
        let Ok(listener) = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::from(libc::IPPROTO_MPTCP))) else {
            return testbed::skip::aloud("connections of several paths: this kernel has no MPTCP");
        };
        listener.bind(&SockAddr::from(SocketAddr::from(([127, 0, 0, 1], 0)))).unwrap();
        listener.listen(4).unwrap();
        let server = listener.local_addr().unwrap().as_socket().unwrap();
        let socket = connected(server);
        let _theirs = listener.accept().unwrap();
        assert!(is_multipath(socket.as_fd()));
        let plain = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = connected(plain.local_addr().unwrap());
        assert!(!is_multipath(socket.as_fd()));
    }

    #[test]
    fn every_port_has_a_label_of_its_own() {
        let labels: BTreeSet<u32> = (1..=u16::MAX).map(flow_label).collect();
        assert_eq!(labels.len(), usize::from(u16::MAX));
        assert!(labels.first() > Some(&0) && labels.last() < Some(&(1 << 19)));
    }
}
