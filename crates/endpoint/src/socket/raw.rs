//! Raw TCP sockets: the facts that the kernel delivers with a segment.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use libc::c_int;
use socket2::{SockFilter, Socket};

use super::option::set_int;
use super::queue::{address_of, first_stamp, message_from};

/// A segment as it came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Octets put into the buffer.
    pub length: usize,
    /// Sender of the segment; absent where the kernel does not say.
    pub from: Option<IpAddr>,
    /// Its hop limit, of IPv6.
    pub hop_limit: Option<u8>,
    /// Its traffic class, of IPv6.
    pub traffic_class: Option<u8>,
    /// Wall clock of the software receive stamp, ns since 1970.
    pub stamp: Option<u64>,
}

/// Receives one packet (IPv4) or segment (IPv6) with what stands beside it. `Err` is the error number.
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8], flags: c_int) -> Result<Arrival, i32> {
    let mut arrival = Arrival::default();
    // SAFETY: all-zero is a valid sockaddr_storage.
    let mut name: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    arrival.length = message_from(socket, buffer, flags, Some(&mut name), |level, kind, data| match (level, kind) {
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => arrival.stamp = first_stamp(data),
        (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => arrival.hop_limit = small(data),
        (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => arrival.traffic_class = small(data),
        _ => {}
    })?;
    arrival.from = address_of(&name).map(|address| address.ip());
    Ok(arrival)
}

fn small(data: &[u8]) -> Option<u8> {
    data.first_chunk().and_then(|octets| u8::try_from(c_int::from_ne_bytes(*octets)).ok())
}

/// Lets through nothing but TCP to `count` ports from `first` on: every raw TCP socket is given a copy of every segment
/// that comes to this host, and would wake us for each.
pub fn only_ports(socket: &Socket, ipv6: bool, first: u16, count: u32) -> io::Result<()> {
    let code = |parts: &[u32]| parts.iter().sum::<u32>() as u16;
    let instruction = |parts: &[u32], yes, no, k| SockFilter::new(code(parts), yes, no, k);
    // The destination port lies behind the source port; of IPv4 the filter sees the IP header too, whose length the first
    // instruction takes.
    let load = if ipv6 { libc::BPF_ABS } else { libc::BPF_IND };
    let index = instruction(&[libc::BPF_LDX, libc::BPF_B, libc::BPF_MSH], 0, 0, 0);
    let rest = [
        instruction(&[libc::BPF_LD, libc::BPF_H, load], 0, 0, 2),
        instruction(&[libc::BPF_ALU, libc::BPF_SUB, libc::BPF_K], 0, 0, u32::from(first)),
        instruction(&[libc::BPF_ALU, libc::BPF_AND, libc::BPF_K], 0, 0, 0xFFFF),
        instruction(&[libc::BPF_JMP, libc::BPF_JGE, libc::BPF_K], 1, 0, count),
        instruction(&[libc::BPF_RET, libc::BPF_K], 0, 0, u32::MAX),
        instruction(&[libc::BPF_RET, libc::BPF_K], 0, 0, 0),
    ];
    if ipv6 {
        return socket.attach_filter(&rest);
    }
    let all: Vec<SockFilter> = std::iter::once(index).chain(rest).collect();
    socket.attach_filter(&all)
}

/// Asks for the hop limit and the traffic class of each segment, which a raw IPv6 socket keeps to itself.
pub fn tell_hop_limit(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_int(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT, 1)?;
    set_int(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)
}

/// Sets the time to live of later packets, hops.
pub fn set_ttl(socket: &Socket, ipv6: bool, ttl: u8) -> io::Result<()> {
    let (level, name) =
        if ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS) } else { (libc::IPPROTO_IP, libc::IP_TTL) };
    set_int(socket.as_fd(), level, name, c_int::from(ttl))
}

/// Lets hops cut what is sent over IPv4: without DF, as most probers send.
pub fn let_fragment(socket: &Socket) -> io::Result<()> {
    set_int(socket.as_fd(), libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DONT)
}
