//! Groups, over loopback.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU8, Ordering};

use endpoint::peer::sockperf::server::settings::{Carriers, Place, Settings};
use endpoint::peer::sockperf::server::{Server, bind, bound::Kind};
use endpoint::socket::multicast::{self, Interface, Outgoing};
use protocol::sockperf::message::{Flags, Header, LARGEST_DATAGRAM};
use socket2::{Domain, SockAddr, Socket, Type};
use testbed::port;

use crate::sockperf_server::hand::{ASKING, PATIENCE, answered, message, receive};
use crate::sockperf_server::{Ours, bound};

static GROUP: AtomicU8 = AtomicU8::new(1);

/// A group that no other test has. Over loopback no route leads to groups of IPv6.
fn group() -> IpAddr {
    let [.., a, b] = std::process::id().to_be_bytes();
    IpAddr::from([239, a, b, GROUP.fetch_add(1, Ordering::Relaxed)])
}

fn loopback() -> Outgoing {
    Outgoing { interface: Some(Interface::of("lo").unwrap()), ttl: 1, loopback: true }
}

/// Joined over loopback, on any port.
fn joining(group: IpAddr, change: impl FnOnce(&mut Settings)) -> Server {
    bound(|settings| {
        settings.places = vec![Place { address: SocketAddr::new(group, 0), carriers: Carriers::Udp, source: None }];
        settings.multicast.receive = loopback().interface;
        settings.multicast.outgoing = loopback();
        change(settings);
    })
}

/// A client of `group`: a member, that sends over loopback, at `port`.
fn member(group: IpAddr, port: u16) -> UdpSocket {
    let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
    let socket = Socket::new(Domain::for_address(any), Type::DGRAM, None).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.bind(&SockAddr::from(any)).unwrap();
    multicast::join(&socket, group, loopback().interface, None).unwrap();
    multicast::send_by(&socket, false, &loopback()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.into()
}

#[test]
fn a_request_to_a_group_is_answered_to_the_group_at_the_clients_port() {
    let group = group();
    let server = Ours::run(joining(group, |_| {}));
    let client = member(group, 0);
    // Another member, on the client's port: it hears request nor client, but the answer.
    let neighbour = member(group, client.local_addr().unwrap().port());
    let asked = message(1, ASKING, 50);
    client.send_to(&asked, (group, server.port())).unwrap();
    let mut buffer = [0; 100];
    for hears in [&client, &neighbour] {
        let (length, from) = hears.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..length], from.port()), (&answered(&asked)[..], server.port()));
    }
    assert_eq!(server.end().messages, 1);
}

#[test]
fn a_request_to_a_group_is_answered_to_its_sender_where_told_so() {
    let group = group();
    let server = Ours::run(joining(group, |settings| settings.multicast.unicast_reply = true));
    // No member: it would not hear the group.
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    let asked = message(1, ASKING, 50);
    send_over_loopback(&client, &asked, group, server.port());
    assert_eq!(receive(&client), answered(&asked));
}

fn send_over_loopback(client: &UdpSocket, asked: &[u8], group: IpAddr, port: u16) -> usize {
    let socket = Socket::from(client.try_clone().unwrap());
    multicast::send_by(&socket, false, &loopback()).unwrap();
    client.send_to(asked, (group, port)).unwrap()
}

#[test]
fn it_warms_a_group_up_with_two_large_messages_and_ignores_those_of_others() {
    let group = group();
    let server = joining(group, |_| {});
    let port = server.addresses()[0].port();
    let hears = member(group, port);
    let server = Ours::run(server);
    for _ in 0..2 {
        let warm_up = receive(&hears);
        let header = Header::read(&warm_up).unwrap();
        assert_eq!(header, Header { sequence: 0, flags: Flags::WARMUP, length: LARGEST_DATAGRAM });
        assert_eq!(warm_up.len(), 65_507);
    }
    let client = member(group, 0);
    client.send_to(&message(0, 7, 14), (group, port)).unwrap();
    let asked = message(1, ASKING, 14);
    client.send_to(&asked, (group, port)).unwrap();
    assert_eq!(receive(&client), answered(&asked));
    assert_eq!(server.end().messages, 1);
}

#[test]
fn without_a_warm_up_nothing_is_sent_unasked() {
    let group = group();
    let server = joining(group, |settings| settings.multicast.warm_up = false);
    let hears = member(group, server.addresses()[0].port());
    let server = Ours::run(server);
    let asked = message(1, ASKING, 14);
    hears.send_to(&asked, (group, server.port())).unwrap();
    assert_eq!(receive(&hears), asked, "its own request is the first that the group hears");
    assert_eq!(receive(&hears), answered(&asked));
}

#[test]
fn groups_on_one_port_share_a_socket_and_answer_the_sender() {
    let groups = [group(), group()];
    let port = port::free();
    let server = joining(groups[0], |settings| {
        let place = |group| Place { address: SocketAddr::new(group, port), carriers: Carriers::Udp, source: None };
        settings.places = groups.map(place).into();
    });
    assert_eq!((server.sockets().len(), server.addresses().len()), (1, 2));
    assert_eq!(server.sockets()[0].kind, Kind::Udp);
    let server = Ours::run(server);
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    for group in groups {
        let asked = message(1, ASKING, 50);
        send_over_loopback(&client, &asked, group, port);
        assert_eq!(receive(&client), answered(&asked));
    }
    assert_eq!(server.end().messages, 2);
}

#[test]
fn one_sender_alone_is_heard_where_told_so() {
    let group = group();
    let server = Ours::run(joining(group, |settings| {
        settings.places[0].source = Some("127.0.0.55".parse().unwrap());
        settings.multicast.unicast_reply = true;
    }));
    let (stranger, friend) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.55:0").unwrap());
    friend.set_read_timeout(Some(PATIENCE)).unwrap();
    send_over_loopback(&stranger, &message(1, ASKING, 14), group, server.port());
    let asked = message(2, ASKING, 14);
    send_over_loopback(&friend, &asked, group, server.port());
    assert_eq!(receive(&friend), answered(&asked));
    assert_eq!(server.end().messages, 1);
}

#[test]
fn groups_that_others_have_joined_are_not_heard() {
    let group = group();
    let server = Ours::with(|_| {});
    let client = member(group, 0);
    client.send_to(&message(1, ASKING, 14), (group, server.port())).unwrap();
    crate::sockperf_server::hand::good(&server);
    assert_eq!(server.end().messages, 2);
}

#[test]
fn connections_to_a_group_are_refused() {
    let place = Place { address: SocketAddr::new(group(), 0), carriers: Carriers::Tcp, source: None };
    let error = bind(Settings::at(vec![place])).unwrap_err();
    assert!(error.to_string().contains("no connection"), "{error}");
}
