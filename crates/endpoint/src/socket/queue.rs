//! Messages with their control data: kernel timestamps of arrivals, and the error queue, where ICMP errors and the
//! stamps of departures come back.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{c_int, c_void};
use rustix::io::Errno;
use rustix::net::SendFlags;
use socket2::SockAddr;

use super::report::{self, Report};

/// include/uapi/linux/errqueue.h.
const SO_EE_ORIGIN_ZEROCOPY: u8 = 5;
/// The same.
const SO_EE_CODE_ZEROCOPY_COPIED: u8 = 1;
/// Room for the control messages we ask for: three timestamps, an extended error with its offender, and the like.
const CONTROL: usize = 512;

/// Control messages, empty at first and aligned as they must be.
#[repr(C, align(8))]
pub(super) struct Control([u8; CONTROL]);

impl Default for Control {
    fn default() -> Self {
        Self([0; CONTROL])
    }
}

/// A message that was received with its kernel stamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Bytes put into the buffer.
    pub length: usize,
    /// Wall clock of the software receive stamp, ns since 1970.
    pub stamp: Option<u64>,
    /// Its time to live on arrival, where the socket delivers it (`option::tell_time_to_live`).
    pub time_to_live: Option<u8>,
}

/// One message of the error queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A departure stamp.
    Stamp {
        /// Point of the way out.
        point: Point,
        /// The message's number (datagrams) or its last byte's (streams), counted from when stamping was set.
        id: u32,
        /// Wall clock, ns since 1970.
        at: u64,
    },
    /// An ICMP error for something we sent, or our own host's refusal of it.
    Error(Report),
    /// Sends that took their payload from our memory are done with it (`MSG_ZEROCOPY`).
    Released {
        /// Number of the first of them, counted by the socket from 0 …
        first: u32,
        /// … and of the last.
        last: u32,
        /// True where the kernel copied the payload after all.
        copied: bool,
    },
}

/// A point on the way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Entered the packet scheduler.
    Sched,
    /// Handed to the driver.
    Driver,
    /// Acknowledged by the peer (streams).
    Acknowledged,
}

/// Receives one message with its stamp. `flags` as for `recvmsg`; `Err` is the error number.
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8], flags: c_int) -> Result<Arrival, i32> {
    let mut arrival = Arrival::default();
    arrival.length = message(socket, buffer, flags, |level, kind, data| match (level, kind) {
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => arrival.stamp = first_stamp(data),
        (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
            arrival.time_to_live = data.first_chunk().and_then(|word| u8::try_from(i32::from_ne_bytes(*word)).ok());
        }
        _ => {}
    })?;
    Ok(arrival)
}

/// A datagram with where it came from and which of our addresses it was sent to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Addressed {
    /// Bytes put into the buffer.
    pub length: usize,
    /// Its sender.
    pub from: Option<SocketAddr>,
    /// Our address it was sent to, where the socket delivers it (`option::tell_destination`).
    pub to: Option<IpAddr>,
    /// Wall clock of the kernel's receive stamp, ns since 1970, where the socket stamps.
    pub stamp: Option<u64>,
    /// Its time to live on arrival, where the socket delivers it (`option::tell_time_to_live`).
    pub time_to_live: Option<u8>,
    /// The octet of its type of service, where the socket delivers it (`option::tell_service`).
    pub service: Option<u8>,
}

/// Receives one datagram with both its addresses.
pub fn receive_from(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<Addressed, i32> {
    let (mut to, mut stamp, mut time_to_live, mut service) = (None, None, None, None);
    // SAFETY: all-zero is a valid sockaddr_storage.
    let mut name: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let length = message_from(socket, buffer, 0, Some(&mut name), |level, kind, data| match (level, kind) {
        // struct in_pktinfo: interface index, local address, header's destination address.
        (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
            to = data.get(8..12).and_then(|b| b.first_chunk::<4>()).map(|b| IpAddr::from(*b));
        }
        // struct in6_pktinfo: destination address, interface index.
        (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => to = data.first_chunk::<16>().map(|b| IpAddr::from(*b)),
        (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
            time_to_live = data.first_chunk::<4>().map(|b| i32::from_ne_bytes(*b) as u8);
        }
        // One octet of IPv4, an int of IPv6.
        (libc::IPPROTO_IP, libc::IP_TOS) => service = data.first().copied(),
        (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
            service = data.first_chunk::<4>().map(|b| i32::from_ne_bytes(*b) as u8);
        }
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => stamp = first_stamp(data),
        _ => {}
    })?;
    Ok(Addressed { length, from: address_of(&name), to, stamp, time_to_live, service })
}

/// Sends one datagram to `to`, from this address of ours alone: a host with several would answer from the one that its
/// routes prefer. An address that nothing is sent from, a group's or that of all hosts of a link, is refused. `service` is the
/// octet of its type of service, where it is not to be the socket's.
pub fn send_from(
    socket: BorrowedFd<'_>,
    message: &[u8],
    to: SocketAddr,
    from: IpAddr,
    service: Option<u8>,
) -> Result<usize, Errno> {
    let name = SockAddr::from(to);
    let mut control = Control::default();
    let mut part = libc::iovec { iov_base: message.as_ptr().cast_mut().cast::<c_void>(), iov_len: message.len() };
    let (level, kind, length) = match from {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_PKTINFO, size_of::<libc::in_pktinfo>()),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, size_of::<libc::in6_pktinfo>()),
    };
    // A socket of IPv6 that sends to IPv4 takes the options of that.
    let (service_level, service_kind) = match from.to_canonical() {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
    };
    // SAFETY: all-zero is a valid msghdr (null pointers, zero lengths).
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_name = name.as_ptr().cast_mut().cast();
    header.msg_namelen = name.len();
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = (&raw mut control).cast();
    let (int, more) = (size_of::<c_int>() as u32, service.is_some());
    // SAFETY: CMSG_SPACE and CMSG_LEN only compute.
    header.msg_controllen =
        unsafe { libc::CMSG_SPACE(length as u32) + if more { libc::CMSG_SPACE(int) } else { 0 } } as usize;
    // SAFETY: the control buffer is aligned, zeroed and longer than CMSG_SPACE of either structure and an int together, so the
    // headers and their data lie within it; struct in_pktinfo has the local address in its octets 4 to 7, struct in6_pktinfo in
    // its first 16, both an interface of 0, which leaves the choice to the routes. sendmsg reads what the header describes, all
    // of which outlives the call.
    let sent = unsafe {
        let first = libc::CMSG_FIRSTHDR(&raw const header);
        (*first).cmsg_level = level;
        (*first).cmsg_type = kind;
        (*first).cmsg_len = libc::CMSG_LEN(length as u32) as usize;
        let data = libc::CMSG_DATA(first);
        match from {
            IpAddr::V4(address) => data.add(4).cast::<[u8; 4]>().write_unaligned(address.octets()),
            IpAddr::V6(address) => data.cast::<[u8; 16]>().write_unaligned(address.octets()),
        }
        if let Some(octet) = service {
            let next = libc::CMSG_NXTHDR(&raw const header, first);
            (*next).cmsg_level = service_level;
            (*next).cmsg_type = service_kind;
            (*next).cmsg_len = libc::CMSG_LEN(int) as usize;
            libc::CMSG_DATA(next).cast::<c_int>().write_unaligned(c_int::from(octet));
        }
        libc::sendmsg(socket.as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL)
    };
    usize::try_from(sent).map_err(|_| Errno::from_raw_os_error(errno()))
}

/// The address that the kernel wrote; `None` where it is of another family than IP.
pub(super) fn address_of(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match i32::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that the storage, which is longer and aligned for any address, holds a sockaddr_in.
            let name = unsafe { &*std::ptr::from_ref(name).cast::<libc::sockaddr_in>() };
            Some(SocketAddr::new(IpAddr::from(name.sin_addr.s_addr.to_ne_bytes()), u16::from_be(name.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: as above, for a sockaddr_in6.
            let name = unsafe { &*std::ptr::from_ref(name).cast::<libc::sockaddr_in6>() };
            let ip = std::net::Ipv6Addr::from(name.sin6_addr.s6_addr);
            Some(SocketAddr::V6(std::net::SocketAddrV6::new(
                ip,
                u16::from_be(name.sin6_port),
                name.sin6_flowinfo,
                name.sin6_scope_id,
            )))
        }
        _ => None,
    }
}

/// Takes the oldest notice off the error queue; `None` when it is empty. Messages that are neither stamp nor error are
/// skipped.
pub fn next_notice(socket: BorrowedFd<'_>) -> Option<Notice> {
    let mut about = [0; 8];
    let (notice, quoted) = next_notice_into(socket, &mut about)?;
    Some(match notice {
        Notice::Error(report) => Notice::Error(Report { about, quoted, ..report }),
        other => other,
    })
}

/// The same, with what an error quotes put into `buffer`, and how much of that there is.
pub fn next_notice_into(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> Option<(Notice, usize)> {
    loop {
        let (mut stamp, mut entry, mut error, mut time_to_live) = (None, None, None, None);
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        let length = message(socket, buffer, flags, |level, kind, data| match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => stamp = first_stamp(data),
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                (entry, error) = (Extended::read(data), report::read(data));
            }
            (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                time_to_live = data.first_chunk().and_then(|word| u8::try_from(i32::from_ne_bytes(*word)).ok());
            }
            _ => {}
        })
        .ok()?;
        let error = error.map(|report| Notice::Error(Report { stamp, time_to_live, ..report }));
        if let Some(notice) = error.or_else(|| entry?.notice(stamp)) {
            return Some((notice, length.min(buffer.len())));
        }
    }
}

/// Takes the oldest error off the error queue, and the stamps that stand before it; `None` when there is none.
pub fn next_report(socket: BorrowedFd<'_>) -> Option<Report> {
    std::iter::from_fn(|| next_notice(socket)).find_map(|notice| match notice {
        Notice::Error(report) => Some(report),
        Notice::Stamp { .. } | Notice::Released { .. } => None,
    })
}

/// Sends one message, asking for departure stamps of this one alone (`SO_TIMESTAMPING` as control message).
pub fn send_stamped(socket: BorrowedFd<'_>, message: &[u8], request: u32, flags: SendFlags) -> Result<usize, Errno> {
    let mut control = Control::default();
    let mut part = libc::iovec { iov_base: message.as_ptr().cast_mut().cast::<c_void>(), iov_len: message.len() };
    // SAFETY: all-zero is a valid msghdr (null pointers, zero lengths).
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = (&raw mut control).cast();
    // SAFETY: CMSG_SPACE and CMSG_LEN only compute.
    header.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<u32>() as u32) } as usize;
    // SAFETY: the control buffer is aligned, zeroed and longer than CMSG_SPACE of one u32, so the first header and its
    // four bytes of data lie within it; sendmsg reads what the header describes, all of which outlives the call.
    let sent = unsafe {
        let first = libc::CMSG_FIRSTHDR(&raw const header);
        (*first).cmsg_level = libc::SOL_SOCKET;
        (*first).cmsg_type = libc::SO_TIMESTAMPING;
        (*first).cmsg_len = libc::CMSG_LEN(size_of::<u32>() as u32) as usize;
        libc::CMSG_DATA(first).cast::<u32>().write_unaligned(request);
        libc::sendmsg(socket.as_raw_fd(), &raw const header, flags.bits() as c_int)
    };
    usize::try_from(sent).map_err(|_| Errno::from_raw_os_error(errno()))
}

/// `recvmsg` into `buffer`, each control message handed to `each` as level, type and data.
pub(super) fn message(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    flags: c_int,
    each: impl FnMut(c_int, c_int, &[u8]),
) -> Result<usize, i32> {
    message_from(socket, buffer, flags, None, each)
}

/// The same, with the sender's address.
pub(super) fn message_from(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    flags: c_int,
    name: Option<&mut libc::sockaddr_storage>,
    mut each: impl FnMut(c_int, c_int, &[u8]),
) -> Result<usize, i32> {
    let mut control = Control::default();
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast::<c_void>(), iov_len: buffer.len() };
    // SAFETY: all-zero is a valid msghdr.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = (&raw mut control).cast();
    header.msg_controllen = CONTROL;
    if let Some(name) = name {
        header.msg_name = std::ptr::from_mut(name).cast();
        header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    }
    // SAFETY: the header describes `buffer`, `control` and perhaps `name`, all exclusively ours and alive through the call.
    let received = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags) };
    let length = usize::try_from(received).map_err(|_| errno())?;
    // SAFETY: the kernel has written `msg_controllen` bytes of well-formed control messages into our aligned buffer;
    // the CMSG functions stay within it, and each data slice is as long as its header says.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(&raw const header);
        while let Some(head) = next.as_ref() {
            let data_length = head.cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
            each(head.cmsg_level, head.cmsg_type, std::slice::from_raw_parts(libc::CMSG_DATA(next), data_length));
            next = libc::CMSG_NXTHDR(&raw const header, next);
        }
    }
    Ok(length)
}

pub(super) fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// The software stamp: the first of the three timespecs of `scm_timestamping`; all zero is none.
pub(super) fn first_stamp(data: &[u8]) -> Option<u64> {
    let seconds = i64::from_ne_bytes(*data.first_chunk()?);
    let nanos = i64::from_ne_bytes(*data.get(8..)?.first_chunk()?);
    let at = u64::try_from(seconds).ok()? * 1_000_000_000 + u64::try_from(nanos).ok()?;
    (at != 0).then_some(at)
}

/// `struct sock_extended_err` (include/uapi/linux/errqueue.h) of what is no error: origin, code, info, data.
#[derive(Clone, Copy)]
struct Extended {
    origin: u8,
    code: u8,
    info: u32,
    data: u32,
}

impl Extended {
    fn read(data: &[u8]) -> Option<Self> {
        let word = |at: usize| data.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        Some(Self { origin: *data.get(4)?, code: *data.get(6)?, info: word(8)?, data: word(12)? })
    }

    fn notice(self, stamp: Option<u64>) -> Option<Notice> {
        match (self.origin, self.info) {
            (libc::SO_EE_ORIGIN_TIMESTAMPING, info) => {
                let point = match info {
                    0 => Point::Driver,
                    1 => Point::Sched,
                    2 => Point::Acknowledged,
                    _ => return None,
                };
                Some(Notice::Stamp { point, id: self.data, at: stamp? })
            }
            (SO_EE_ORIGIN_ZEROCOPY, first) => {
                let copied = self.code & SO_EE_CODE_ZEROCOPY_COPIED != 0;
                Some(Notice::Released { first, last: self.data, copied })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::socket::option;

    #[test]
    fn a_closed_port_reports_itself() {
        // A port that the system assigns to no socket by itself, this one included.
        let closed = SocketAddr::from(([127, 0, 0, 1], testbed::port::free()));
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        option::tell_of_errors(socket.as_fd(), false);
        socket.connect(closed).unwrap();
        assert_eq!(next_report(socket.as_fd()), None);
        socket.send(b"question").unwrap();
        // Waits for it, and takes the socket's error thereby: the queue says more.
        assert_eq!(socket.recv(&mut [0; 8]).unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
        let report = next_report(socket.as_fd()).expect("port unreachable");
        assert_eq!((report.kind, report.code, report.errno), (3, 3, libc::ECONNREFUSED));
        assert_eq!((report.from, &report.about), (Some(SocketAddr::ip(&closed)), b"question"));
    }
}
