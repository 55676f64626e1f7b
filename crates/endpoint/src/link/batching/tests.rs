//! Number of calls for a batch, over loopback, and the outcome where a kernel refuses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsFd;

use socket2::SockRef;
use test_case::test_case;

use super::*;
use crate::socket::option::set_int;

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

fn pair(ip: IpAddr) -> (UdpSocket, UdpSocket) {
    let (near, far) = (UdpSocket::bind((ip, 0)).unwrap(), UdpSocket::bind((ip, 0)).unwrap());
    near.connect(far.local_addr().unwrap()).unwrap();
    far.set_nonblocking(true).unwrap();
    SockRef::from(&far).set_recv_buffer_size(4 << 20).unwrap();
    (near, far)
}

fn messages(count: usize, length: usize) -> Vec<u8> {
    (0..count).flat_map(|index| std::iter::repeat_n(index as u8 ^ 0x5A, length)).collect()
}

/// Asserts that all of `sent` has arrived, each message of `length` octets in its own datagram.
#[track_caller]
fn assert_came(far: &UdpSocket, sent: &[u8], length: usize) {
    let mut buffer = vec![0; 1 << 16];
    for message in sent.chunks(length) {
        let had = far.recv(&mut buffer).unwrap();
        assert!(buffer[..had] == *message, "another message came");
    }
    assert!(far.recv(&mut buffer).is_err(), "more came than was sent");
}

#[test_case(V4, BatchBy::Segments, 300, 64, 3; "as many segments as a call takes")]
#[test_case(V6, BatchBy::Segments, 300, 64, 3; "the same of IPv6")]
#[test_case(V4, BatchBy::Segments, 70, 1_000, 2; "as many octets as a datagram has")]
#[test_case(V4, BatchBy::Segments, 3, 40_000, 3; "messages too long to go together")]
#[test_case(V4, BatchBy::Segments, 1, 64, 1; "one alone")]
#[test_case(V4, BatchBy::Calls, 130, 64, 3; "each in a buffer of its own")]
#[test_case(V6, BatchBy::Calls, 130, 64, 3; "the same over IPv6")]
#[test_case(V4, BatchBy::Calls, 1, 65_507, 1; "the largest alone")]
fn every_message_leaves_in_as_few_calls_as_it_takes(ip: IpAddr, by: BatchBy, count: usize, length: usize, calls: u64) {
    let (near, far) = pair(ip);
    let mut batching = Batching::new(near.as_fd(), by);
    let sent = messages(count, length);
    assert_eq!(batching.send(near.as_fd(), &mut Room::default(), &sent, length), Ok(count));
    assert_came(&far, &sent, length);
    let told = batching.handed().told();
    assert_eq!((told.got, &told.refused, told.cut_short), (Some(by), &None, 0));
    if batching.most < MOST {
        return testbed::skip::aloud("calls of 128 segments: this kernel takes 64");
    }
    assert_eq!((told.calls, told.messages), (calls, count as u64));
}

#[test]
fn nothing_to_send_is_nothing_sent() {
    let (near, _far) = pair(V4);
    assert_eq!(Batching::new(near.as_fd(), BatchBy::Segments).send(near.as_fd(), &mut Room::default(), &[], 64), Ok(0));
}

/// A socket without checksums is what the kernel refuses to segment for; every path of a device that computes none is
/// one to older kernels.
#[test]
fn where_segments_are_refused_each_message_leaves_alone_and_it_is_said() {
    let (near, far) = pair(V4);
    set_int(near.as_fd(), libc::SOL_SOCKET, libc::SO_NO_CHECK, 1).unwrap();
    let mut batching = Batching::new(near.as_fd(), BatchBy::Segments);
    let sent = messages(100, 64);
    for _ in 0..2 {
        assert_eq!(batching.send(near.as_fd(), &mut Room::default(), &sent, 64), Ok(100));
        assert_came(&far, &sent, 64);
    }
    let told = batching.handed().told();
    assert_eq!((told.asked, told.got, told.calls, told.messages), (BatchBy::Segments, None, 200, 200));
    assert!(told.refused.unwrap().contains("Invalid argument"));
}

#[test]
fn messages_longer_than_the_paths_packets_leave_alone_and_in_fragments() {
    let (near, far) = pair(V6);
    set_int(near.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_MTU, 1_280).unwrap();
    let mut batching = Batching::new(near.as_fd(), BatchBy::Segments);
    let sent = messages(10, 2_000);
    assert_eq!(batching.send(near.as_fd(), &mut Room::default(), &sent, 2_000), Ok(10));
    assert_came(&far, &sent, 2_000);
    let told = batching.handed().told();
    assert!(told.got.is_none() && told.refused.unwrap().contains("Message too long"));
}

#[test]
fn a_message_that_no_datagram_holds_is_an_error_and_no_lesser_batch() {
    let (near, _far) = pair(V4);
    for by in [BatchBy::Calls, BatchBy::Segments] {
        let mut batching = Batching::new(near.as_fd(), by);
        assert_eq!(
            batching.send(near.as_fd(), &mut Room::default(), &messages(2, 65_508), 65_508),
            Err(Errno::MSGSIZE)
        );
        let told = batching.handed().told();
        assert_eq!((told.got, told.calls, told.cut_short), (Some(by), 0, 1));
    }
}

#[test]
fn an_error_behind_messages_that_left_belongs_to_the_next_call() {
    let (near, far) = pair(V4);
    let mut batching = Batching::new(near.as_fd(), BatchBy::Calls);
    batching.deferred = Some(Errno::NOBUFS);
    let sent = messages(3, 64);
    assert_eq!(batching.send(near.as_fd(), &mut Room::default(), &sent, 64), Err(Errno::NOBUFS));
    assert_eq!(batching.send(near.as_fd(), &mut Room::default(), &sent, 64), Ok(3));
    assert_came(&far, &sent, 64);
}

#[test]
fn a_refusal_that_came_meanwhile_stops_the_first_and_the_next_call_goes_through() {
    let (near, far) = pair(V4);
    let mut batching = Batching::new(near.as_fd(), BatchBy::Segments);
    drop(far);
    let sent = messages(100, 64);
    assert_eq!(batching.send(near.as_fd(), &mut Room::default(), &sent, 64), Ok(100));
    // The kernel's port-unreachable error wakes a reader.
    near.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
    crate::link::clockwork::poll_one(near.as_fd(), false, measure::unit::Instant::NEVER);
    assert_eq!(batching.send(near.as_fd(), &mut Room::default(), &sent, 64), Err(Errno::CONNREFUSED));
    let told = batching.handed().told();
    assert_eq!((told.messages, told.cut_short), (100, 1));
}
