//! Segments over loopback, against what was sent.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsFd;

use socket2::SockRef;
use test_case::test_case;

use super::*;
use crate::socket::option::dropped;

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);
const LARGEST: usize = 65_507;

/// Two sockets that are connected to each other.
fn pair(ip: IpAddr) -> (UdpSocket, UdpSocket) {
    let (near, far) = (UdpSocket::bind((ip, 0)).unwrap(), UdpSocket::bind((ip, 0)).unwrap());
    near.connect(far.local_addr().unwrap()).unwrap();
    far.connect(near.local_addr().unwrap()).unwrap();
    // Room for what a test sends before it reads.
    SockRef::from(&far).set_recv_buffer_size(4 << 20).unwrap();
    (near, far)
}

/// `count` messages of `length` octets, of which the last has `last`; no two alike.
fn messages(count: usize, length: usize, last: usize) -> Vec<u8> {
    let mut all = vec![0; (count - 1) * length + last];
    for (index, message) in all.chunks_mut(length).enumerate() {
        message.fill(index as u8 ^ 0x5A);
    }
    all
}

/// Everything that is there to be received, buffer by buffer.
fn received(far: &UdpSocket) -> Vec<(Many, Vec<u8>)> {
    let mut buffer = vec![0; 1 << 16];
    let once = || {
        let many = receive(far.as_fd(), &mut buffer, libc::MSG_DONTWAIT).ok()?;
        Some((many, buffer[..many.length].to_vec()))
    };
    std::iter::from_fn(once).collect()
}

/// Segments that one call may have: 64 before Linux had 128.
fn most() -> usize {
    let (near, _far) = pair(V4);
    if send_segmented(near.as_fd(), &messages(128, 1, 1), 1, SendFlags::NOSIGNAL).is_ok() { 128 } else { 64 }
}

#[test_case(V4; "IPv4")]
#[test_case(V6; "IPv6")]
fn segments_of_every_size_and_number_come_as_they_left(ip: IpAddr) {
    let (near, far) = pair(ip);
    take_segments(far.as_fd()).unwrap();
    let most = most();
    for length in [1, 2, 31, 32, 63, 64, 65, 127, 512, 1_000, 1_472, 8_191, 32_753] {
        for count in
            [2, 3, 7, 63, 64, 65, 127, 128].into_iter().filter(|count| count * length <= LARGEST && *count <= most)
        {
            for last in [1, length / 2, length.saturating_sub(1), length] {
                let last = last.clamp(1, length);
                let sent = messages(count, length, last);
                send_segmented(near.as_fd(), &sent, length as u16, SendFlags::NOSIGNAL).unwrap();
                let came = received(&far);
                let told: Vec<&[u8]> = came.iter().flat_map(|(many, buffer)| many.messages(buffer)).collect();
                let wanted: Vec<&[u8]> = sent.chunks(length).collect();
                assert!(told == wanted, "{count} of {length}, the last of {last}: {} came", told.len());
            }
        }
    }
    assert_eq!(dropped(far.as_fd()).unwrap(), 0);
}

#[test_case(V4; "IPv4")]
#[test_case(V6; "IPv6")]
fn who_does_not_ask_for_segments_gets_each_message_alone(ip: IpAddr) {
    let (near, far) = pair(ip);
    let sent = messages(100, 70, 33);
    send_segmented(near.as_fd(), &sent, 70, SendFlags::NOSIGNAL).unwrap();
    let came = received(&far);
    assert!(came.iter().map(|(_, message)| &message[..]).eq(sent.chunks(70)));
    assert!(came.iter().all(|(many, _)| *many == Many::one(many.length)));
}

#[test_case(V4; "IPv4")]
#[test_case(V6; "IPv6")]
fn one_call_sends_as_many_as_fit_it_and_says_how_many(ip: IpAddr) {
    let (near, far) = pair(ip);
    take_segments(far.as_fd()).unwrap();
    for (count, length) in [(1, 64), (2, 1), (CALLED, 1_000), (CALLED + 1, 32)] {
        let sent = messages(count, length, length);
        let taken = send_each(near.as_fd(), &sent, length, SendFlags::NOSIGNAL).unwrap();
        assert_eq!(taken, count.min(CALLED));
        let came = received(&far);
        assert!(
            came.iter().map(|(_, message)| &message[..]).eq(sent.chunks(length).take(taken)),
            "{count} of {length}"
        );
    }
}

#[test]
fn a_message_alone_is_no_segment_and_an_empty_one_is_one() {
    let (near, far) = pair(V4);
    take_segments(far.as_fd()).unwrap();
    near.send(&[7; 10]).unwrap();
    near.send(&[]).unwrap();
    near.send(&vec![8; 65_507]).unwrap();
    let came = received(&far);
    assert_eq!(came.iter().map(|(many, _)| *many).collect::<Vec<_>>(), [10, 0, 65_507].map(Many::one));
    assert_eq!(came[1].0.count(), 1);
}

#[test_case(129, 64, Errno::INVAL; "more segments than a call may have")]
#[test_case(3, 30_000, Errno::MSGSIZE; "more octets than a datagram may have")]
fn what_does_not_fit_one_call_is_refused_whole(count: usize, length: usize, errno: Errno) {
    let (near, far) = pair(V4);
    take_segments(far.as_fd()).unwrap();
    assert_eq!(
        send_segmented(near.as_fd(), &messages(count, length, length), length as u16, SendFlags::NOSIGNAL),
        Err(errno)
    );
    assert_eq!(received(&far), []);
}

/// The messages sent equal those received plus those that the socket says it dropped. A buffer of segments is taken or
/// dropped whole, and counts as one.
#[test_case(true; "in segments")]
#[test_case(false; "one by one")]
fn what_a_full_buffer_drops_is_counted(segments: bool) {
    let (near, far) = pair(V4);
    SockRef::from(&far).set_recv_buffer_size(20_000).unwrap();
    take_segments(far.as_fd()).unwrap();
    let (calls, each) = (40, 60);
    for _ in 0..calls {
        let sent = messages(each, 64, 64);
        if segments {
            send_segmented(near.as_fd(), &sent, 64, SendFlags::NOSIGNAL).unwrap();
        } else {
            assert_eq!(send_each(near.as_fd(), &sent, 64, SendFlags::NOSIGNAL), Ok(each));
        }
    }
    let came = received(&far);
    let had: usize = came.iter().map(|(many, _)| many.count()).sum();
    let drops = dropped(far.as_fd()).unwrap() as usize;
    assert!(0 < had && had < calls * each && drops > 0, "{had} came, {drops} were dropped");
    if segments {
        assert_eq!((came.len() + drops, had), (calls, came.len() * each));
    } else {
        assert_eq!(had + drops, calls * each);
    }
}
