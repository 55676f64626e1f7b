//! What an ICMP socket tells beside an echo reply (who sent it, how far it came, when the kernel had it), and what its
//! error queue says of requests that nobody answered.

use std::net::{IpAddr, SocketAddr};
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
    /// When the kernel had it, wall clock, nanoseconds since 1970.
    pub stamp: Option<u64>,
    /// The IP options of its header, where a ping socket got some; a raw socket has them in the header.
    pub options: Option<Box<[u8]>>,
}

/// What the error queue says of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// Who complains; `None`: our own host.
    pub from: Option<IpAddr>,
    /// The error number it stands for.
    pub errno: i32,
    /// ICMP type.
    pub kind: u8,
    /// ICMP code.
    pub code: u8,
    /// The MTU of a packet too big, the pointer of a header that was not accepted.
    pub info: u32,
    /// The request as it was quoted, from its ICMP header on, and how much of it there is.
    request: ([u8; 8], usize),
}

impl Complaint {
    /// The start of the request it is about.
    pub fn request(&self) -> &[u8] {
        &self.request.0[..self.request.1]
    }
}

/// Has `socket` tell of TTL, IP options and, where `stamped`, of the kernel's receive stamp. What a kernel refuses is
/// absent in what is heard.
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
            (libc::IPPROTO_IP, libc::IP_RETOPTS) if !data.is_empty() => heard.options = Some(data.into()),
            _ => {}
        })?;
    heard.from = queue::address_of(&name);
    Ok(heard)
}

/// Takes the oldest complaint off the error queue; `None` when it is empty.
pub fn next_complaint(socket: BorrowedFd<'_>) -> Option<Complaint> {
    loop {
        let mut complaint = None;
        let mut request = [0; 8];
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        let length = queue::message(socket, &mut request, flags, |level, kind, data| {
            if matches!((level, kind), (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR))
            {
                complaint = read(data);
            }
        })
        .ok()?;
        if let Some(complaint) = complaint {
            return Some(Complaint { request: (request, length.min(request.len())), ..complaint });
        }
    }
}

/// `struct timespec`; all zero is none.
fn timespec(data: &[u8]) -> Option<u64> {
    let seconds = u64::try_from(i64::from_ne_bytes(*data.first_chunk()?)).ok()?;
    let nanos = u64::try_from(i64::from_ne_bytes(*data.get(8..)?.first_chunk()?)).ok()?;
    Some(seconds * 1_000_000_000 + nanos).filter(|at| *at > 0)
}

/// `struct sock_extended_err` (include/uapi/linux/errqueue.h), and the offender's socket address behind it. What is no
/// error of ours or of the network is none.
fn read(data: &[u8]) -> Option<Complaint> {
    let word = |at: usize| data.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
    let local = match *data.get(4)? {
        libc::SO_EE_ORIGIN_LOCAL => true,
        libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6 => false,
        _ => return None,
    };
    let offender = data.get(16..).and_then(offender).filter(|_| !local);
    Some(Complaint {
        from: offender,
        errno: word(0)?.cast_signed(),
        kind: *data.get(5)?,
        code: *data.get(6)?,
        info: word(8)?,
        request: ([0; 8], 0),
    })
}

/// The address of a `sockaddr_in` or a `sockaddr_in6`.
fn offender(name: &[u8]) -> Option<IpAddr> {
    match i32::from(u16::from_ne_bytes(*name.first_chunk()?)) {
        libc::AF_INET => name.get(4..)?.first_chunk::<4>().map(|octets| IpAddr::from(*octets)),
        libc::AF_INET6 => name.get(8..)?.first_chunk::<16>().map(|octets| IpAddr::from(*octets)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extended(origin: u8, name: &[u8]) -> Vec<u8> {
        let mut data = vec![0; 16];
        data[..4].copy_from_slice(&(libc::EHOSTUNREACH as u32).to_ne_bytes());
        data[4..7].copy_from_slice(&[origin, 3, 1]);
        data[8..12].copy_from_slice(&1_400_u32.to_ne_bytes());
        data.extend_from_slice(name);
        data
    }

    #[test]
    fn a_complaint_says_who_and_why() {
        let mut name = vec![0; 16];
        name[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        name[4..8].copy_from_slice(&[10, 0, 0, 254]);
        let complaint = read(&extended(libc::SO_EE_ORIGIN_ICMP, &name)).unwrap();
        assert_eq!(complaint.from, Some("10.0.0.254".parse().unwrap()));
        let Complaint { errno, kind, code, info, .. } = complaint;
        assert_eq!((errno, kind, code, info), (libc::EHOSTUNREACH, 3, 1, 1_400));
        assert_eq!(read(&extended(libc::SO_EE_ORIGIN_LOCAL, &name)).unwrap().from, None, "our own host");
        assert_eq!(read(&extended(libc::SO_EE_ORIGIN_TIMESTAMPING, &name)), None, "a stamp");
        assert_eq!(read(&extended(libc::SO_EE_ORIGIN_ICMP, &[0; 3])).unwrap().from, None, "nobody named");
        assert_eq!(read(&[0; 9]), None, "cut short");
    }
}
