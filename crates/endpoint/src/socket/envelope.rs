//! Datagrams of many senders over one socket, each answered to where it came from, and from where it was sent to.
//!
//! A host with several addresses would answer from the one that its routes prefer. A client that asked another one,
//! over a connected socket or through a firewall, would never see the answer.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{c_int, c_void};
use rustix::io::Errno;

use super::queue::address_of;

/// Room for a name.
const NAME: libc::socklen_t = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
/// Room for the one control message that is asked for: 40 octets at most.
const CONTROL: usize = 64;

#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// Sender of a datagram and, where the socket delivers it (`option::tell_destination`), the local address it was sent
/// to.
pub struct Envelope {
    name: libc::sockaddr_storage,
    name_length: libc::socklen_t,
    control: Control,
    control_length: usize,
}

impl Default for Envelope {
    fn default() -> Self {
        // SAFETY: all-zero is a valid sockaddr_storage.
        let name = unsafe { std::mem::zeroed() };
        Self { name, name_length: 0, control: Control([0; CONTROL]), control_length: 0 }
    }
}

impl Envelope {
    /// Receives one datagram into `buffer`, on a socket that does not tell where it was sent to; `flags` as for
    /// `recvfrom`.
    #[inline]
    pub fn receive(&mut self, socket: BorrowedFd<'_>, buffer: &mut [u8], flags: c_int) -> Result<usize, Errno> {
        self.name_length = NAME;
        self.control_length = 0;
        // SAFETY: the buffer and the name are exclusively ours through the call, and as long as said.
        let received = unsafe {
            let (into, room) = (buffer.as_mut_ptr().cast::<c_void>(), buffer.len());
            let name = (&raw mut self.name).cast();
            libc::recvfrom(socket.as_raw_fd(), into, room, flags, name, &raw mut self.name_length)
        };
        usize::try_from(received).map_err(|_| errno())
    }

    /// The same on a socket that delivers the local address.
    #[inline]
    pub fn receive_told(&mut self, socket: BorrowedFd<'_>, buffer: &mut [u8], flags: c_int) -> Result<usize, Errno> {
        let mut part = part(buffer);
        let mut header = self.fillable(&mut part, true);
        // SAFETY: the header describes the buffer, the name and the control buffer, all exclusively ours through the call.
        let received = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags) };
        let length = usize::try_from(received).map_err(|_| errno())?;
        self.filled(&header);
        Ok(length)
    }

    /// Sends `message` to who sent the datagram, from the address that it was sent to, where the socket told.
    #[inline]
    pub fn answer(&self, socket: BorrowedFd<'_>, message: &[u8]) -> Result<(), Errno> {
        if self.control_length == 0 { self.answer_plain(socket, message) } else { self.answer_told(socket, message) }
    }

    /// Returns its sender; `None` where the address family is unknown.
    pub fn from(&self) -> Option<SocketAddr> {
        address_of(&self.name)
    }

    #[inline]
    fn answer_plain(&self, socket: BorrowedFd<'_>, message: &[u8]) -> Result<(), Errno> {
        uninterrupted(|| {
            // SAFETY: the message and the name are only read, and as long as said.
            unsafe {
                let (from, length) = (message.as_ptr().cast::<c_void>(), message.len());
                let name = (&raw const self.name).cast();
                libc::sendto(socket.as_raw_fd(), from, length, libc::MSG_NOSIGNAL, name, self.name_length)
            }
        })
    }

    #[inline]
    fn answer_told(&self, socket: BorrowedFd<'_>, message: &[u8]) -> Result<(), Errno> {
        let mut part = part_of(message);
        let header = self.sendable(&mut part);
        let sent = uninterrupted(|| {
            // SAFETY: sendmsg reads what the header describes: the message, and name and control as the kernel wrote them.
            unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL) }
        });
        match sent {
            // Nothing is sent from the address of a group, or of all hosts of a link.
            Err(Errno::INVAL | Errno::ADDRNOTAVAIL) => self.answer_plain(socket, message),
            sent => sent,
        }
    }

    /// A header by which the kernel fills this in, beside the buffer of `part`.
    #[inline]
    pub(super) fn fillable(&mut self, part: &mut libc::iovec, told: bool) -> libc::msghdr {
        let mut header = header(part);
        header.msg_name = (&raw mut self.name).cast();
        header.msg_namelen = NAME;
        if told {
            header.msg_control = (&raw mut self.control).cast();
            header.msg_controllen = CONTROL;
        }
        header
    }

    /// The kernel has filled this in, as it says in `header`.
    #[inline]
    pub(super) fn filled(&mut self, header: &libc::msghdr) {
        self.name_length = header.msg_namelen;
        self.control_length = if header.msg_control.is_null() { 0 } else { header.msg_controllen };
        if self.control_length > 0 {
            self.forget_interface();
        }
    }

    /// A header by which `part` is sent to who sent the datagram: only for calls that do not write there.
    #[inline]
    pub(super) fn sendable(&self, part: &mut libc::iovec) -> libc::msghdr {
        let mut header = header(part);
        header.msg_name = (&raw const self.name).cast_mut().cast();
        header.msg_namelen = self.name_length;
        if self.control_length > 0 {
            header.msg_control = (&raw const self.control).cast_mut().cast();
            header.msg_controllen = self.control_length;
        }
        header
    }

    /// The answer takes the interface that routes say: the datagram may have come by another.
    #[inline]
    fn forget_interface(&mut self) {
        // SAFETY: all-zero is a valid msghdr; the control buffer is aligned, as long as said, and holds what the kernel
        // wrote, so the CMSG functions stay within it; the four octets lie within the data that the header counts.
        unsafe {
            let mut header: libc::msghdr = std::mem::zeroed();
            header.msg_control = (&raw mut self.control).cast();
            header.msg_controllen = self.control_length;
            let first = libc::CMSG_FIRSTHDR(&raw const header);
            let Some(head) = first.as_ref() else { return };
            // struct in_pktinfo begins with the interface's number, struct in6_pktinfo ends with it.
            let (at, length) = match (head.cmsg_level, head.cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => (0, size_of::<libc::in_pktinfo>()),
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => (16, size_of::<libc::in6_pktinfo>()),
                _ => return,
            };
            if head.cmsg_len >= libc::CMSG_LEN(length as u32) as usize {
                libc::CMSG_DATA(first).add(at).cast::<u32>().write_unaligned(0);
            }
        }
    }
}

/// Buffer that a datagram is received into.
#[inline]
pub(super) fn part(buffer: &mut [u8]) -> libc::iovec {
    libc::iovec { iov_base: buffer.as_mut_ptr().cast::<c_void>(), iov_len: buffer.len() }
}

/// Buffer that a datagram is sent from: only for calls that do not write there.
#[inline]
pub(super) fn part_of(message: &[u8]) -> libc::iovec {
    libc::iovec { iov_base: message.as_ptr().cast_mut().cast::<c_void>(), iov_len: message.len() }
}

#[inline]
fn header(part: &mut libc::iovec) -> libc::msghdr {
    // SAFETY: all-zero is a valid msghdr.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = part;
    header.msg_iovlen = 1;
    header
}

/// A send that an interruption does not end.
#[inline]
fn uninterrupted(mut send: impl FnMut() -> isize) -> Result<(), Errno> {
    loop {
        if send() >= 0 {
            return Ok(());
        }
        match errno() {
            Errno::INTR => {}
            errno => return Err(errno),
        }
    }
}

pub(super) fn errno() -> Errno {
    Errno::from_raw_os_error(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd;
    use std::time::Duration;

    use test_case::test_case;

    use super::*;
    use crate::socket::option;

    fn listening(at: &str) -> UdpSocket {
        let socket = UdpSocket::bind(at).unwrap();
        option::tell_destination(socket.as_fd(), at.starts_with('[')).unwrap();
        socket
    }

    /// Loopback has all of 127.0.0.0/8; unless told otherwise the kernel answers from its first.
    #[test_case("0.0.0.0:0", "127.0.0.9"; "v4")]
    #[test_case("[::]:0", "127.0.0.9"; "v4 on a socket of v6")]
    #[test_case("[::]:0", "::1"; "v6")]
    fn an_answer_comes_from_where_the_question_went(at: &str, asked: &str) {
        let server = listening(at);
        let client = UdpSocket::bind(if asked.contains(':') { "[::1]:0" } else { "127.0.0.1:0" }).unwrap();
        client.connect((asked, server.local_addr().unwrap().port())).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        client.send(b"question").unwrap();
        let (mut envelope, mut buffer) = (Envelope::default(), [0; 16]);
        let length = envelope.receive_told(server.as_fd(), &mut buffer, 0).unwrap();
        assert_eq!(&buffer[..length], b"question");
        assert_eq!(envelope.from().unwrap().port(), client.local_addr().unwrap().port());
        for _ in 0..2 {
            envelope.answer(server.as_fd(), b"answer").unwrap();
            assert_eq!(client.recv(&mut buffer).unwrap(), 6, "a connected socket hears whom it asked alone");
        }
    }

    #[test]
    fn nothing_there_is_an_error_and_an_empty_datagram_is_none() {
        let server = listening("0.0.0.0:0");
        let (mut envelope, mut buffer) = (Envelope::default(), [0; 16]);
        assert_eq!(envelope.receive(server.as_fd(), &mut buffer, libc::MSG_DONTWAIT), Err(Errno::AGAIN));
        assert_eq!(envelope.receive_told(server.as_fd(), &mut buffer, libc::MSG_DONTWAIT), Err(Errno::AGAIN));
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.send_to(&[], ("127.0.0.1", server.local_addr().unwrap().port())).unwrap();
        assert_eq!(envelope.receive(server.as_fd(), &mut buffer, 0), Ok(0));
        envelope.answer(server.as_fd(), b"answer").unwrap();
        assert_eq!(client.recv(&mut buffer).unwrap(), 6);
    }
}
