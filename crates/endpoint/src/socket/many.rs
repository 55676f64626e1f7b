//! Many datagrams in one call: one by one (`sendmmsg`), or as one buffer that the kernel or the card cuts into segments
//! (`UDP_SEGMENT`), and such buffers received whole (`UDP_GRO`).
//!
//! A wire carries the same packets either way. Within a host, loopback and virtual interfaces included, a segmented
//! buffer travels whole to a socket that takes it whole.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{c_int, c_void};
use protocol::link::Many;
use rustix::io::Errno;
use rustix::net::SendFlags;

use super::option::{read_int, set_int};
use super::queue::{Control, errno, first_stamp, message};

/// include/uapi/linux/udp.h: the size of the segments that a longer message is to be cut into.
const UDP_SEGMENT: c_int = 103;
/// include/uapi/linux/udp.h: segments that came together are received together, with their size.
const UDP_GRO: c_int = 104;

/// Messages of one `sendmmsg` at most: what fits the stack comfortably, and costs a thousandth of a call each.
pub const CALLED: usize = 64;

/// Checks that this kernel cuts messages into segments (since Linux 4.18). An older one would send the whole of them as
/// one datagram, without an error.
pub fn can_segment(socket: BorrowedFd<'_>) -> io::Result<()> {
    read_int(socket, libc::IPPROTO_UDP, UDP_SEGMENT).map(drop)
}

/// Has segments that come together received together (since Linux 5.0): [`receive`] separates them, every other call
/// returns them as one message.
pub fn take_segments(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_int(socket, libc::IPPROTO_UDP, UDP_GRO, 1)
}

/// Sends the messages of `length` octets, at least 1, that stand one behind the other in `messages`, each as its own
/// datagram. Returns the number of messages, from the first on, that the kernel took; it may be fewer than there are.
pub fn send_each(socket: BorrowedFd<'_>, messages: &[u8], length: usize, flags: SendFlags) -> Result<usize, Errno> {
    let mut parts = [const { MaybeUninit::<libc::iovec>::uninit() }; CALLED];
    let mut headers = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; CALLED];
    let mut count = 0;
    for ((part, header), message) in parts.iter_mut().zip(&mut headers).zip(messages.chunks_exact(length)) {
        let part =
            part.write(libc::iovec { iov_base: message.as_ptr().cast_mut().cast::<c_void>(), iov_len: message.len() });
        // SAFETY: all-zero is a valid mmsghdr (null pointers, zero lengths).
        let header = header.write(unsafe { std::mem::zeroed() });
        header.msg_hdr.msg_iov = part;
        header.msg_hdr.msg_iovlen = 1;
        count += 1;
    }
    // SAFETY: the first `count` headers are written above and describe parts of `messages`, which is alive and only read;
    // headers and parts stay where they are until the call is over.
    let sent = unsafe {
        libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr().cast(), count as libc::c_uint, flags.bits() as c_int)
    };
    usize::try_from(sent).map_err(|_| Errno::from_raw_os_error(errno()))
}

/// Sends `messages` as datagrams of `segment` octets each, of which the last may be shorter: all of them or none.
pub fn send_segmented(socket: BorrowedFd<'_>, messages: &[u8], segment: u16, flags: SendFlags) -> Result<(), Errno> {
    let mut control = Control::default();
    let mut part = libc::iovec { iov_base: messages.as_ptr().cast_mut().cast::<c_void>(), iov_len: messages.len() };
    // SAFETY: all-zero is a valid msghdr (null pointers, zero lengths).
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = (&raw mut control).cast();
    // SAFETY: CMSG_SPACE and CMSG_LEN only compute.
    header.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<u16>() as u32) } as usize;
    // SAFETY: the control buffer is aligned, zeroed and longer than CMSG_SPACE of one u16, so the first header and its
    // two bytes of data lie within it; sendmsg reads what the header describes, all of which outlives the call.
    let sent = unsafe {
        let first = libc::CMSG_FIRSTHDR(&raw const header);
        (*first).cmsg_level = libc::IPPROTO_UDP;
        (*first).cmsg_type = UDP_SEGMENT;
        (*first).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as u32) as usize;
        libc::CMSG_DATA(first).cast::<u16>().write_unaligned(segment);
        libc::sendmsg(socket.as_raw_fd(), &raw const header, flags.bits() as c_int)
    };
    if sent < 0 { Err(Errno::from_raw_os_error(errno())) } else { Ok(()) }
}

/// Receives one datagram, or all segments that came with it where the socket takes them so ([`take_segments`]). What
/// does not fit `buffer` is cut off. `flags` as for `recvmsg`.
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8], flags: c_int) -> Result<Many, i32> {
    receive_stamped(socket, buffer, flags).map(|(many, _)| many)
}

/// Has the kernel stamp what arrives ([`receive_stamped`]).
pub fn stamp_arrivals(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_int(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// As [`receive`], with the wall clock of the kernel's receive stamp in nanoseconds since 1970, where the socket stamps
/// ([`stamp_arrivals`]): of segments that came together, that of the first.
pub fn receive_stamped(socket: BorrowedFd<'_>, buffer: &mut [u8], flags: c_int) -> Result<(Many, Option<u64>), i32> {
    let (mut segment, mut stamp) = (None, None);
    let length = message(socket, buffer, flags, |level, kind, data| match (level, kind) {
        (libc::IPPROTO_UDP, UDP_GRO) => {
            segment = data.first_chunk().and_then(|size| usize::try_from(c_int::from_ne_bytes(*size)).ok());
        }
        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => stamp = first_stamp(data),
        _ => {}
    })?;
    let segment = segment.filter(|size| *size > 0).unwrap_or(length);
    Ok((Many { length, segment }, stamp))
}

#[cfg(test)]
mod tests;
