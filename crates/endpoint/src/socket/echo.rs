//! Echo replies with the facts an ICMP socket delivers beside them: sender, TTL, and kernel receive stamp.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use libc::c_int;
use socket2::Socket;

use super::option::set_int;
use super::queue;

/// A message with what came beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Bytes put into the buffer.
    pub length: usize,
    /// Its sender.
    pub from: Option<SocketAddr>,
    /// Its TTL or hop limit; of a raw IPv4 socket it stands in the IP header that came along.
    pub ttl: Option<u8>,
    /// Kernel's receive stamp, wall clock, nanoseconds since 1970; absent where the socket does not stamp.
    pub stamp: Option<u64>,
    /// Bytes of the largest of the packets it came in, IP header included, where it was cut on the way.
    pub fragment: Option<u32>,
    /// The IP options of its header, where a ping socket got some; a raw socket has them in the header.
    pub options: Option<Box<[u8]>>,
}

/// Has `socket` deliver TTL, IP options and, where `stamped`, the kernel's receive stamp. An option that the kernel
/// refuses is absent in each [`Heard`].
pub fn tell_all(socket: &Socket, ipv6: bool, stamped: bool) {
    let on = |level, name| drop(set_int(socket.as_fd(), level, name, 1));
    if ipv6 {
        on(libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT);
    } else {
        on(libc::IPPROTO_IP, libc::IP_RECVTTL);
        on(libc::IPPROTO_IP, libc::IP_RETOPTS);
    }
    if stamped {
        on(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS);
    }
}

/// Has `socket` tell of replies that were cut on the way (Linux 4.15). A kernel that does not tell has them absent in what is heard.
pub fn tell_fragments(socket: &Socket, ipv6: bool) {
    let (level, name) =
        if ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_RECVFRAGSIZE) } else { (libc::IPPROTO_IP, libc::IP_RECVFRAGSIZE) };
    let _ = set_int(socket.as_fd(), level, name, 1);
}

/// Receives one message. `flags` as for `recvmsg`; `Err` is the error number.
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8], flags: c_int) -> Result<Heard, i32> {
    let mut heard = Heard::default();
    // SAFETY: all-zero is a valid sockaddr_storage.
    let mut name: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    heard.length =
        queue::message_from(socket, buffer, flags, Some(&mut name), |level, kind, data| match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => heard.stamp = timespec(data),
            (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                heard.ttl = data.first_chunk().and_then(|word| u8::try_from(c_int::from_ne_bytes(*word)).ok());
            }
            (libc::IPPROTO_IP, libc::IP_RECVFRAGSIZE) | (libc::IPPROTO_IPV6, libc::IPV6_RECVFRAGSIZE) => {
                heard.fragment = data.first_chunk().map(|word| u32::from_ne_bytes(*word));
            }
            (libc::IPPROTO_IP, libc::IP_RETOPTS) if !data.is_empty() => heard.options = Some(data.into()),
            _ => {}
        })?;
    heard.from = queue::address_of(&name);
    Ok(heard)
}

/// `struct timespec`; all zero is none.
fn timespec(data: &[u8]) -> Option<u64> {
    let seconds = u64::try_from(i64::from_ne_bytes(*data.first_chunk()?)).ok()?;
    let nanos = u64::try_from(i64::from_ne_bytes(*data.get(8..)?.first_chunk()?)).ok()?;
    Some(seconds * 1_000_000_000 + nanos).filter(|at| *at > 0)
}
