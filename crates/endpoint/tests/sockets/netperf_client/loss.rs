//! Datagrams that get lost between us and the real netserver: a relay drops those that the test names.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::Duration;

use endpoint::rtt::Ending;
use endpoint::stop::Stop;
use measure::method::{Carrier, Pattern};
use measure::unit::Nanos;
use testbed::port;

use crate::netperf_client::exchanges::{counts, results};
use crate::netperf_client::server::{Netserver, V4, by_count, in_window, measured};

/// The relay's address: another of this host, so that the port can be the same.
const BESIDE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// Passes datagrams on between a client and `server`, but for these requests and replies, counted from 0. Empty
/// datagrams end it.
fn relay(socket: &UdpSocket, server: SocketAddr, lose: &[usize], lose_replies: &[usize], stop: &Stop) {
    let (mut client, mut requests, mut replies) = (None, 0, 0);
    let mut buffer = [0; 100];
    while !stop.requested() {
        let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
        let (to, number, lost) =
            if from == server { (client, &mut replies, lose_replies) } else { (Some(server), &mut requests, lose) };
        if from != server {
            client = Some(from);
        }
        if !lost.contains(number) {
            // A server that is done has closed its socket.
            let _sent = to.map(|to| socket.send_to(&buffer[..length], to));
        }
        *number += 1;
    }
}

/// Measures `count` requests over a relay that loses these.
fn over_a_relay(
    window: u32,
    count: u64,
    lose: &[usize],
    lose_replies: &[usize],
) -> Option<endpoint::peer::netperf::client::Measured> {
    let server = Netserver::start(&[])?;
    let port = port::free();
    let socket = UdpSocket::bind((BESIDE, port)).expect("a relay");
    socket.set_read_timeout(Some(Duration::from_millis(20))).expect("set");
    let mut test = in_window(by_count(Carrier::Udp, Pattern::Exchange, count), window);
    test.ask.data_port = port;
    test.ask.server_address = Some(V4);
    test.data.server = Some(BESIDE);
    // A busy machine keeps the relay waiting too: what it does not lose is answered by then.
    test.method.timeout_ns = Nanos::secs(3);
    let stop = Stop::default();
    Some(thread::scope(|scope| {
        scope.spawn(|| relay(&socket, SocketAddr::new(V4, port), lose, lose_replies, &stop));
        let measured = measured(&mut server.session(V4), &test);
        stop.request();
        assert_eq!(measured.course.ready.data_port, port);
        measured
    }))
}

#[test]
fn a_lost_datagram_is_counted_and_the_next_is_answered() {
    let Some(measured) = over_a_relay(1, 200, &[50, 51], &[120]) else { return };
    let counts = counts(&measured);
    assert_eq!((counts.scheduled, counts.answered, counts.lost), (200, 197, 3), "{counts:?}");
    assert_eq!(measured.ended, Ending::Complete);
    assert_eq!(results(&measured).transactions, Some(198), "two requests never came, one reply was lost on its way");
}

#[test]
fn of_a_burst_the_lost_are_counted_when_none_is_left_to_answer() {
    let Some(measured) = over_a_relay(4, 200, &[50], &[120]) else { return };
    let counts = counts(&measured);
    assert_eq!((counts.scheduled, counts.answered, counts.lost), (200, 198, 2), "{counts:?}");
    assert_eq!(results(&measured).transactions, Some(199));
}
