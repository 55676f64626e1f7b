//! Datagrams that have come already, several by one call, and their answers by another.

use std::net::SocketAddr;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{iovec, mmsghdr};
use rustix::io::Errno;

use super::envelope::{Envelope, errno, part, part_of};

/// Most datagrams of one call.
pub const MOST: usize = 16;
/// Any datagram fits.
const BUFFER: usize = 1 << 16;

/// Room for several datagrams.
pub struct Envelopes {
    buffer: Vec<u8>,
    each: [Envelope; MOST],
    lengths: [usize; MOST],
}

/// An answer: to which of the datagrams, and which of its octets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// To which.
    pub to: usize,
    /// Place of its octets, as they are now.
    pub octets: Range<usize>,
}

impl Default for Envelopes {
    fn default() -> Self {
        Self { buffer: vec![0; BUFFER * MOST], each: Default::default(), lengths: [0; MOST] }
    }
}

impl Envelopes {
    /// Takes the datagrams that are there, [`MOST`] at most, without waiting. Returns their number; 0 where nothing is
    /// there or the call failed. `told`: the socket delivers the local address of a datagram.
    pub fn receive(&mut self, socket: BorrowedFd<'_>, told: bool) -> usize {
        let mut parts: [iovec; MOST] = nothing();
        let mut headers: [mmsghdr; MOST] = nothing();
        let buffers = self.buffer.chunks_exact_mut(BUFFER);
        for (((buffer, envelope), part_at), header) in buffers.zip(&mut self.each).zip(&mut parts).zip(&mut headers) {
            *part_at = part(buffer);
            header.msg_hdr = envelope.fillable(part_at, told);
        }
        // SAFETY: each header describes a buffer, a name and perhaps a control buffer, all exclusively ours through the
        // call; without a time limit none is read.
        let received = unsafe {
            let limit = std::ptr::null_mut();
            libc::recvmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), MOST as u32, libc::MSG_DONTWAIT, limit)
        };
        let received = usize::try_from(received).unwrap_or(0).min(MOST);
        for ((envelope, length), header) in self.each.iter_mut().zip(&mut self.lengths).zip(&headers[..received]) {
            envelope.filled(&header.msg_hdr);
            *length = (header.msg_len as usize).min(BUFFER);
        }
        received
    }

    /// One of those that were received, and from whom it came.
    #[inline]
    pub fn one(&mut self, at: usize) -> (&mut [u8], &Envelope) {
        let start = at * BUFFER;
        (&mut self.buffer[start..start + self.lengths[at]], &self.each[at])
    }

    /// Sends answers, in order, each as its own datagram. `fault` receives those that could not be sent.
    pub fn answer(&self, socket: BorrowedFd<'_>, answers: &[Answer], mut fault: impl FnMut(Option<SocketAddr>, Errno)) {
        let mut rest = answers;
        while let Some((first, behind)) = rest.split_first() {
            match self.send(socket, rest) {
                Ok(sent) => rest = rest.get(sent.max(1)..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                // Once more alone, where it may go another way.
                Err(_) => {
                    let octets = octets(first);
                    if let Err(errno) = self.each[first.to].answer(socket, &self.buffer[octets]) {
                        fault(self.each[first.to].from(), errno);
                    }
                    rest = behind;
                }
            }
        }
    }

    /// Sends as many as go by one call, [`MOST`] at most: at least one, or why that one does not.
    fn send(&self, socket: BorrowedFd<'_>, answers: &[Answer]) -> Result<usize, Errno> {
        let mut parts: [iovec; MOST] = nothing();
        let mut headers: [mmsghdr; MOST] = nothing();
        for ((answer, part_at), header) in answers.iter().zip(&mut parts).zip(&mut headers) {
            *part_at = part_of(&self.buffer[octets(answer)]);
            header.msg_hdr = self.each[answer.to].sendable(part_at);
        }
        let count = answers.len().min(MOST) as u32;
        // SAFETY: sendmmsg reads what the first `count` headers describe: octets of ours, and names and control as the
        // kernel wrote them.
        let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), count, libc::MSG_NOSIGNAL) };
        usize::try_from(sent).map_err(|_| errno())
    }
}

/// Place of an answer in the buffer.
fn octets(answer: &Answer) -> Range<usize> {
    let start = answer.to * BUFFER;
    start + answer.octets.start..start + answer.octets.end
}

fn nothing<T: Plain, const N: usize>() -> [T; N] {
    // SAFETY: `Plain` types are C structures of numbers and pointers, of which all-zero is a valid value.
    unsafe { std::mem::zeroed() }
}

/// C structures of numbers and pointers alone.
trait Plain {}
impl Plain for iovec {}
impl Plain for mmsghdr {}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd;
    use std::time::Duration;

    use test_case::test_case;

    use super::*;
    use crate::socket::option;

    #[test_case(false; "sent from where routes say")]
    #[test_case(true; "sent from where they were asked")]
    fn many_are_received_and_answered_in_order(told: bool) {
        let server = UdpSocket::bind("0.0.0.0:0").unwrap();
        if told {
            option::tell_destination(server.as_fd(), false).unwrap();
        }
        let asked = if told { "127.0.0.9" } else { "127.0.0.1" };
        let clients: Vec<UdpSocket> = (0..3).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
        for client in &clients {
            client.connect((asked, server.local_addr().unwrap().port())).unwrap();
            client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        }
        // One more than fits.
        for number in 0..=MOST {
            clients[number % 3].send(&[number as u8; 20][..=number]).unwrap();
        }
        let mut all = Envelopes::default();
        assert_eq!(all.receive(server.as_fd(), told), MOST);
        let mut answers = Vec::new();
        for at in 0..MOST {
            let (datagram, envelope) = all.one(at);
            assert_eq!(*datagram, [at as u8; 20][..=at]);
            assert_eq!(envelope.from(), clients[at % 3].local_addr().ok());
            // Twice, and a part of it.
            answers.extend([Answer { to: at, octets: 0..at + 1 }, Answer { to: at, octets: 0..1 }]);
        }
        all.answer(server.as_fd(), &answers, |to, errno| panic!("{to:?}: {errno}"));
        let mut buffer = [0; 100];
        for at in 0..MOST {
            for length in [at + 1, 1] {
                assert_eq!(clients[at % 3].recv(&mut buffer).unwrap(), length);
                assert_eq!(buffer[0], at as u8);
            }
        }
        assert_eq!(all.receive(server.as_fd(), told), 1);
        assert_eq!(*all.one(0).0, [MOST as u8; MOST + 1]);
        assert_eq!(all.receive(server.as_fd(), told), 0);
    }

    #[test]
    fn an_answer_that_cannot_be_sent_keeps_no_other_from_being_sent() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        for _ in 0..3 {
            client.send(&[7; 100]).unwrap();
        }
        let mut all = Envelopes::default();
        assert_eq!(all.receive(server.as_fd(), false), 3);
        // Too long for any datagram.
        all.buffer.resize(BUFFER * (MOST + 1), 0);
        let answers = [0..10, 0..65_536, 0..20].into_iter().enumerate().map(|(to, octets)| Answer { to, octets });
        let mut faults = Vec::new();
        all.answer(server.as_fd(), &answers.collect::<Vec<_>>(), |to, errno| faults.push((to, errno)));
        assert_eq!(faults, [(client.local_addr().ok(), Errno::MSGSIZE)]);
        let mut buffer = [0; 100];
        assert_eq!((client.recv(&mut buffer).unwrap(), client.recv(&mut buffer).unwrap()), (10, 20));
    }
}
