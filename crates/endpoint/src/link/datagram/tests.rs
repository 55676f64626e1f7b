//! ICMP errors that are there when the next message is to be sent, over loopback: a port is left by its socket and taken again.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use protocol::icmp::echo::{Family, Socket as Kind};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use test_case::test_case;

use super::*;
use crate::socket::{option, set_glance};

const PATIENCE: Duration = Duration::from_secs(10);

fn peer(at: SocketAddr) -> UdpSocket {
    let peer = UdpSocket::bind(at).unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    peer
}

/// A link to a peer that listens, at an address where no other test does: its port is to stay free for a while.
fn scene(waiting: Waiting) -> (Datagram, UdpSocket) {
    let far = peer((Ipv4Addr::new(127, 77, 3, 1), 0).into());
    let near = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    near.connect(far.local_addr().unwrap()).unwrap();
    option::tell_of_errors(near.as_fd(), false);
    let near = Socket::from(near);
    set_glance(&near).unwrap();
    (Datagram::new(near, waiting, Stop::default()), far)
}

/// Sends `count` messages to the port of `far` after closing it, each of them the header of an echo request. Each is
/// refused, and no refusal is read; then the port is open again.
fn refused(link: &mut Datagram, far: UdpSocket, count: usize) -> UdpSocket {
    let at = far.local_addr().unwrap();
    drop(far);
    for number in 0..count {
        // By hand: the link would take the error of the one before.
        while send(&link.socket, &[8, 0, 0, 0, 0, 1, 0, number as u8], rustix::net::SendFlags::empty()).is_err() {
            let found = link.complaints();
            link.keep(found.ours);
        }
        let timeout = Timespec { tv_sec: 10, tv_nsec: 0 };
        let mut set = [PollFd::new(&link.socket, PollFlags::empty())];
        assert_eq!(poll(&mut set, Some(&timeout)), Ok(1), "an error comes");
        assert!(set[0].revents().contains(PollFlags::ERR));
    }
    peer(at)
}

/// That `far` got this message, and nothing else.
#[track_caller]
fn assert_came(far: &UdpSocket, message: &[u8]) {
    let mut buffer = [0; 64];
    let length = far.recv(&mut buffer).unwrap();
    assert_eq!(&buffer[..length], message);
    far.set_nonblocking(true).unwrap();
    assert!(far.recv(&mut buffer).is_err(), "it came once");
}

const REFUSED: Result<Option<usize>, Fault> = Err(Fault::Refused(libc::ECONNREFUSED));

#[test_case(|link| link.send(b"next"); "plainly")]
#[test_case(|link| link.send_stamped(b"next").map(|_| ()); "with stamps asked for")]
#[test_case(|link| link.send_many(b"next", 4).map(|_| ()); "many in one call")]
fn an_error_of_an_earlier_message_does_not_keep_the_next_from_leaving(
    send: impl FnOnce(&mut Datagram) -> Result<(), Fault>,
) {
    let (mut link, far) = scene(Waiting::Block);
    let far = refused(&mut link, far, 1);
    assert_eq!(send(&mut link), Ok(()));
    assert_came(&far, b"next");
    let mut buffer = [0; 64];
    assert_eq!(link.try_receive(&mut buffer), REFUSED, "the earlier one ends by it");
    assert_eq!(link.try_receive(&mut buffer), Ok(None), "and no other");
}

#[test]
fn icmp_errors_are_counted_by_kind_and_by_sender_where_it_is_not_the_peer() {
    let (mut link, far) = scene(Waiting::Block);
    let peer = far.local_addr().unwrap().ip();
    let errors = link.errors();
    assert_eq!(errors.told(peer), [].into());
    let _far = refused(&mut link, far, 3);
    assert_eq!(link.send(b"next"), Ok(()));
    assert_eq!(errors.told(peer), [("port unreachable".to_owned(), 3)].into());
    let elsewhere = format!("port unreachable from {peer}");
    assert_eq!(errors.told(Ipv4Addr::new(10, 0, 0, 1).into()), [(elsewhere, 3)].into());
}

#[test_case(Waiting::Block; "blocking")]
#[test_case(Waiting::Spin; "spinning")]
fn each_of_several_refusals_is_told_once(waiting: Waiting) {
    let (mut link, far) = scene(waiting);
    let far = refused(&mut link, far, 3);
    assert_eq!(link.send(b"next"), Ok(()));
    assert_came(&far, b"next");
    let (mut buffer, soon) = ([0; 64], || Monotonic::now().after(Nanos::secs(10)));
    assert_eq!(link.receive(&mut buffer, soon()), REFUSED);
    assert_eq!(link.try_receive(&mut buffer), REFUSED);
    Datagram::wait_any(std::slice::from_mut(&mut link), Instant::NEVER);
    assert_eq!(link.receive_stamped(&mut buffer, soon()), Err(Fault::Refused(libc::ECONNREFUSED)));
    assert_eq!(link.try_receive(&mut buffer), Ok(None));
    far.send_to(b"reply", link.socket.local_addr().unwrap().as_socket().unwrap()).unwrap();
    assert_eq!(link.receive(&mut buffer, soon()), Ok(Some(5)), "it waits again");
}

#[test_case(None, REFUSED; "of datagrams")]
#[test_case(Some(Echo::new(Family::V4, Kind::Raw, 1, 0)), REFUSED; "of echoes")]
#[test_case(Some(Echo::new(Family::V4, Kind::Raw, 2, 0)), Ok(None); "of another's echoes")]
fn stamps_are_taken_off_the_queue_and_refusals_are_kept(echo: Option<Echo>, told: Result<Option<usize>, Fault>) {
    let (mut link, far) = scene(Waiting::Block);
    link.echo = echo;
    let _far = refused(&mut link, far, 1);
    link.departure();
    assert_eq!(link.try_receive(&mut [0; 64]), told);
    assert_eq!(link.try_receive(&mut [0; 64]), Ok(None));
}

#[test]
fn where_one_is_out_at_a_time_an_earlier_refusal_is_nobodys() {
    let (mut link, far) = scene(Waiting::Block);
    link.go_one_by_one();
    let far = refused(&mut link, far, 1);
    assert_eq!(link.send(b"next"), Ok(()));
    assert_came(&far, b"next");
    assert_eq!(link.try_receive(&mut [0; 64]), Ok(None));
}

#[test]
fn a_message_that_cannot_leave_is_not_sent_again() {
    let (mut link, far) = scene(Waiting::Block);
    let _far = refused(&mut link, far, 1);
    assert_eq!(link.send(&vec![0; 70_000]), Err(Fault::TooLong));
}
