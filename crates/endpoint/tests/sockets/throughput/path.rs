//! A path between both ends whose every loss, copy and overtaking is known: the reports of the ends must equal it.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use endpoint::rtt::Ending;
use endpoint::stop::Stop;
use measure::interval::arrivals::Datagrams;
use measure::method::{Asked, Carrier, Direction};
use protocol::bulk::{Mark, Numbering};
use protocol::native::header::Header;
use protocol::native::stream::Numbers;
use test_case::test_case;
use testbed::port;

use crate::served::with_reflector;
use crate::throughput::{V4, V6, asked, measured, rate, task};

/// Interval at which its threads check for the end of the test.
const LOOK: Duration = Duration::from_millis(50);

/// Treatment of one datagram of a stream by the path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Pass,
    Drop,
    Twice,
    /// The next one overtakes it.
    Late,
}

/// By its number alone, whichever way it goes.
fn fate(number: u64) -> Fate {
    match number % 10 {
        0 => Fate::Drop,
        3 => Fate::Twice,
        6 => Fate::Late,
        _ => Fate::Pass,
    }
}

/// One way of one flow.
#[derive(Default)]
struct Way {
    held: Option<Vec<u8>>,
}

impl Way {
    fn carry(&mut self, datagram: &[u8], numbers: Option<Numbers>, mut send: impl FnMut(&[u8])) {
        let number = match numbers.and_then(|numbers| numbers.read(datagram)) {
            Some(Mark::Data { number, .. }) => Some(number),
            _ => None,
        };
        match number.map_or(Fate::Pass, fate) {
            Fate::Drop => {}
            Fate::Late => self.held = Some(datagram.to_vec()),
            Fate::Pass => send(datagram),
            Fate::Twice => (0..2).for_each(|_| send(datagram)),
        }
        if let Some(held) = self.held.take_if(|held| *held != datagram) {
            send(&held);
        }
    }
}

/// Passes data on between a separate address and `to`, both ways; over TCP unchanged.
fn with_path<T>(to: SocketAddr, body: impl FnOnce(SocketAddr) -> T) -> T {
    let address = SocketAddr::new(to.ip(), port::free());
    let (listener, socket) = (TcpListener::bind(address).unwrap(), UdpSocket::bind(address).unwrap());
    listener.set_nonblocking(true).unwrap();
    socket.set_read_timeout(Some(LOOK)).unwrap();
    let over = Stop::default();
    thread::scope(|scope| {
        let over = &over;
        scope.spawn(move || {
            while !over.requested() {
                match listener.accept() {
                    Ok((near, _)) => {
                        let far = TcpStream::connect(to).unwrap();
                        let (near_too, far_too) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                        scope.spawn(move || copy(near, far, over));
                        scope.spawn(move || copy(far_too, near_too, over));
                    }
                    Err(_) => thread::park_timeout(LOOK),
                }
            }
        });
        scope.spawn(move || {
            let socket = Arc::new(socket);
            let mut flows: BTreeMap<SocketAddr, (UdpSocket, Way, Option<Numbers>)> = BTreeMap::new();
            let mut buffer = [0; 2_000];
            while !over.requested() {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                let datagram = &buffer[..length];
                let (far, way, numbers) = flows.entry(from).or_insert_with(|| {
                    let far = UdpSocket::bind((to.ip(), 0)).unwrap();
                    far.connect(to).unwrap();
                    far.set_read_timeout(Some(LOOK)).unwrap();
                    // The first one of a flow is a greeting, and says whose it is.
                    let numbers = Header::read(datagram).map(|header| Numbers::new(&header.token, header.flow));
                    let (back, near) = (far.try_clone().unwrap(), Arc::clone(&socket));
                    scope.spawn(move || bring_back(&back, &near, from, numbers, over));
                    (far, Way::default(), numbers)
                });
                way.carry(datagram, *numbers, |datagram| drop(far.send(datagram)));
            }
        });
        let _ends = crate::served::Ends(over);
        body(address)
    })
}

fn bring_back(far: &UdpSocket, near: &UdpSocket, client: SocketAddr, numbers: Option<Numbers>, over: &Stop) {
    let (mut buffer, mut way) = ([0; 2_000], Way::default());
    while !over.requested() {
        if let Ok(length) = far.recv(&mut buffer) {
            way.carry(&buffer[..length], numbers, |datagram| drop(near.send_to(datagram, client)));
        }
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, over: &Stop) {
    from.set_nonblocking(false).unwrap();
    from.set_read_timeout(Some(LOOK)).unwrap();
    let mut buffer = [0; 4_096];
    while !over.requested() {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) if to.write_all(&buffer[..length]).is_ok() => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Ok(_) | Err(_) => break,
        }
    }
    let _gone = to.shutdown(std::net::Shutdown::Write);
}

#[test_case(Direction::Send, V4, 1; "sent, IPv4, one")]
#[test_case(Direction::Send, V6, 4; "sent, IPv6, four")]
#[test_case(Direction::Receive, V4, 4; "received, IPv4, four")]
#[test_case(Direction::Receive, V6, 1; "received, IPv6, one")]
#[test_case(Direction::Both, V4, 2; "both ways")]
fn what_the_path_did_is_what_is_told(direction: Direction, ip: IpAddr, streams: u32) {
    with_reflector(ip, |reflector| {
        with_path(reflector, |address| {
            // All of them together fit a socket's buffer, whatever keeps its reader away.
            let each = 160 / u64::from(streams);
            let bytes = u64::from(streams) * each * 100;
            let asked = asked(Carrier::Udp, direction, streams, 100, bytes);
            let found = measured(&task(&Asked { schedule: rate(2_000), ..asked }, address));
            assert_eq!((&found.ended, found.undrained), (&Ending::Complete, 0));
            let there = found.peer_received.iter().map(|told| told.stream.datagrams.unwrap());
            let back = found.received.iter().flat_map(|metered| &metered.streams);
            let back = back.map(|stream| stream.sight.datagrams.unwrap());
            let seen: Vec<Datagrams> = there.chain(back).collect();
            assert_eq!(seen.len(), found.threads.len());
            for seen in seen {
                let tenth = each / 10;
                assert_eq!((seen.expected, seen.received, seen.lost), (each, each - tenth, tenth.cast_signed()));
                assert_eq!((seen.out_of_order, seen.duplicates, seen.foreign), (tenth, tenth, 0));
            }
        });
    });
}
