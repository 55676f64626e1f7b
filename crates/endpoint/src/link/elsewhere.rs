//! Answers that come from another address than the one that was asked, which a connected socket is never given.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use measure::unit::Nanos;
use rustix::net::{RecvFlags, SendFlags, connect_unspec, recvfrom, sendto};
use socket2::Socket;

use super::clockwork::poll_one;
use crate::clock::Monotonic;

/// The longest datagram, bytes.
const LONGEST: usize = 1 << 16;

/// Asks once more by `message`, as `socket`, connected to `peer`, did in vain, and takes an answer of anybody for `patience`. Returns the
/// address that answers where that is not `peer`: of a server with several, or of a box that changes addresses on one way. The socket
/// is not connected any more then.
pub fn answers_from(
    socket: &Socket,
    peer: SocketAddr,
    message: &[u8],
    patience: Nanos,
    mut is_answer: impl FnMut(&[u8]) -> bool,
) -> Option<SocketAddr> {
    let local = socket.local_addr().ok()?;
    connect_unspec(socket).ok()?;
    // With the connection goes a port that the kernel chose: a new one would be another flow, unknown to the server. One that was
    // asked for is kept, and cannot be bound again.
    let _kept = socket.bind(&local);
    sendto(socket, message, SendFlags::NOSIGNAL | SendFlags::DONTWAIT, &peer).ok()?;
    let until = Monotonic::now().after(patience);
    let mut answer = vec![0; LONGEST];
    while Monotonic::now() < until {
        poll_one(socket.as_fd(), false, until);
        let Ok((length, _, from)) = recvfrom(socket, &mut answer[..], RecvFlags::DONTWAIT) else { continue };
        if is_answer(&answer[..length]) {
            let from = SocketAddr::try_from(from?).ok()?;
            return ((from.ip(), from.port()) != (peer.ip(), peer.port())).then_some(from);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::thread;

    use super::*;

    /// A server that is asked at one address and answers from `own`, or else from the one that was asked.
    fn answered(own: Option<&str>) -> (Option<SocketAddr>, Option<SocketAddr>) {
        let asked = UdpSocket::bind("127.0.0.1:0").unwrap();
        let other = own.map(|own| UdpSocket::bind(own).unwrap());
        let (peer, from) = (asked.local_addr().unwrap(), other.as_ref().map(|other| other.local_addr().unwrap()));
        let server = thread::spawn(move || {
            let mut message = [0; 16];
            let (length, client) = asked.recv_from(&mut message).unwrap();
            let by = other.as_ref().unwrap_or(&asked);
            by.send_to(b"rubbish", client).unwrap();
            by.send_to(&message[..length], client).unwrap();
            client
        });
        let socket = crate::socket::udp(peer, &measure::method::SocketOptions::default()).unwrap();
        let local = socket.local_addr().unwrap().as_socket();
        let found = answers_from(&socket, peer, b"hello", Nanos::secs(60), |answer| answer == b"hello");
        assert_eq!(server.join().ok(), local, "the flow is the same");
        (found, from)
    }

    #[test]
    fn an_answer_from_another_address_is_heard() {
        for own in ["127.0.0.2:0", "127.0.0.1:0"] {
            let (found, from) = answered(Some(own));
            assert_eq!(found, from);
            assert!(found.is_some());
        }
    }

    #[test]
    fn an_answer_of_whom_was_asked_is_from_nowhere_else() {
        assert_eq!(answered(None), (None, None));
    }
}
