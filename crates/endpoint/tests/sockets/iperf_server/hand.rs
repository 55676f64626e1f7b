//! Clients made by hand: the server's answers to them are known beforehand.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::time::Duration;

use endpoint::peer::iperf::server::event::{Event, Transport};
use measure::unit::Nanos;
use protocol::bulk::{Mark, Numbering};
use protocol::iperf::ack::Ack;
use protocol::iperf::ask::Ask;
use protocol::iperf::bounce::{Bounce, BounceFlags};
use protocol::iperf::datagram::IperfNumbering;
use protocol::iperf::fin::AckFin;
use protocol::iperf::settings::Amount;
use protocol::iperf::time::Stamp;
use protocol::iperf::wish::{Back, Pace, Way};

use test_case::test_case;

use crate::iperf_server::{Ours, until};

/// Far longer than anything here takes.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

fn connected(server: &Ours) -> TcpStream {
    let socket = TcpStream::connect(server.address()).unwrap();
    socket.set_read_timeout(PATIENCE).unwrap();
    socket
}

fn all_of(mut socket: TcpStream) -> Vec<u8> {
    let mut octets = Vec::new();
    socket.read_to_end(&mut octets).unwrap();
    octets
}

#[test]
fn a_header_is_acknowledged_and_everything_counted() {
    let server = Ours::start(Transport::Tcp);
    let mut socket = connected(&server);
    socket.write_all(&Ask::default().first(Stamp::default()).encode()).unwrap();
    socket.write_all(&[b'0'; 1_000]).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    let said = all_of(socket);
    assert_eq!(said, Ack::new(None).encode());
    let ended = server.await_ended(1).remove(0);
    assert_eq!((ended.count.carried.bytes.0, ended.cut_short), (1_060, None));
}

#[test]
fn a_header_may_come_octet_by_octet() {
    let server = Ours::start(Transport::Tcp);
    let mut socket = connected(&server);
    socket.set_nodelay(true).unwrap();
    let ask = Ask { trip_times: true, ..Ask::default() };
    for octet in ask.first(Stamp { seconds: 5, micros: 6 }).encode() {
        socket.write_all(&[octet]).unwrap();
    }
    socket.shutdown(Shutdown::Write).unwrap();
    let (ack, length) = Ack::read(&all_of(socket)).unwrap().unwrap();
    assert_eq!((ack.times.unwrap().start, length), (Stamp { seconds: 5, micros: 6 }, 52));
}

#[test]
fn a_client_with_the_key_is_served() {
    let key = "k".repeat(128);
    let server = Ours::with(Transport::Tcp, |settings| settings.key = Some(key.clone()));
    let mut socket = connected(&server);
    let header = Ask::default().first(Stamp::default()).showing(key.as_bytes()).encode();
    assert_eq!(header.len(), 60 + 2 + 128);
    // In pieces, one of which ends amid the key.
    for piece in [&header[..61], &header[61..100], &header[100..]] {
        socket.write_all(piece).unwrap();
    }
    socket.write_all(&[b'0'; 1_000]).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(all_of(socket), Ack::new(None).encode());
    let ended = server.await_ended(1).remove(0);
    assert_eq!((ended.count.carried.bytes.0, ended.cut_short), (1_190, None));
}

#[test]
fn an_old_client_is_served() {
    let server = Ours::start(Transport::Tcp);
    let mut socket = connected(&server);
    socket.write_all(&[&[0x80, 0, 0, 0][..], &[0; 20], b"0123456789"].concat()).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(all_of(socket), b"", "it knows of no acknowledgement");
    assert_eq!(server.await_ended(1)[0].count.carried.bytes.0, 34);
}

#[test]
fn a_reverse_stream_is_as_long_as_was_asked() {
    let server = Ours::start(Transport::Tcp);
    let mut socket = connected(&server);
    let ask = Ask { way: Way::Reverse, amount: Amount::bytes(100_001), buffer: Some(7_000), ..Ask::default() };
    socket.write_all(&ask.first(Stamp::default()).encode()).unwrap();
    let came = all_of(socket);
    assert_eq!(came.len(), 100_001);
    assert!(came.starts_with(b"0123456789"));
    assert_eq!(server.await_ended(1)[0].count.carried.bytes.0, 100_001);
}

#[test]
fn nobody_is_connected_back_to_where_that_is_not_allowed() {
    let server = Ours::with(Transport::Tcp, |settings| settings.connects_back = false);
    let mut socket = connected(&server);
    let ask = Ask { back: Some(Back { port: 1, now: true }), ..Ask::default() };
    socket.write_all(&ask.first(Stamp::default()).encode()).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    all_of(socket);
    until("a refusal", || !server.failures().is_empty());
    assert!(server.failures()[0].contains("connection back"), "{:?}", server.failures());
    assert_eq!(server.await_ended(1).len(), 1, "the upload is served");
}

#[test]
fn a_reply_has_the_size_that_is_asked_for() {
    let server = Ours::start(Transport::Tcp);
    let mut socket = connected(&server);
    let flags = BounceFlags::QUICK.with(BounceFlags::REPLY_SIZE);
    for (size, reply_size) in [(100_u32, 300_u32), (200, 64), (64, 64)] {
        let header = Bounce { size, flags, reply_size: Some(reply_size), ..Bounce::default() };
        let mut request = vec![b'7'; size as usize];
        header.write(&mut request);
        socket.write_all(&request).unwrap();
        let mut reply = vec![0; reply_size as usize];
        socket.read_exact(&mut reply).unwrap();
        let told = Bounce::read(&reply).unwrap();
        assert_eq!((told.size, told.sent), (size, header.sent));
        assert!(told.received != Stamp::UNSET && told.returned.nanos() >= told.received.nanos());
    }
    socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(all_of(socket), b"");
    until("its end", || server.events().iter().any(|event| matches!(event, Event::Bounced { replies: 3, .. })));
}

fn udp(server: &Ours) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server.address()).unwrap();
    socket.set_read_timeout(PATIENCE).unwrap();
    socket
}

fn datagram(ask: &Ask, number: u64, sent: u64) -> Vec<u8> {
    let mut datagram = vec![0; 500];
    ask.opening(Stamp::default()).write(&mut datagram);
    IperfNumbering::CURRENT.write(&mut datagram, number, Nanos(sent));
    datagram
}

fn last(ask: &Ask, count: u64, again: u64, sent: u64) -> Vec<u8> {
    let mut datagram = datagram(ask, 1, 0);
    IperfNumbering::CURRENT.write_last(&mut datagram, count, again, Nanos(sent));
    datagram
}

fn report(socket: &UdpSocket) -> AckFin {
    let mut octets = [0; 200];
    let length = socket.recv(&mut octets).unwrap();
    AckFin::read(&octets[..length]).unwrap()
}

#[test]
fn loss_is_told_exactly_and_as_often_as_it_is_asked_for() {
    let server = Ours::start(Transport::Udp);
    let (socket, ask) = (udp(&server), Ask::default());
    // Every tenth of these 100 is lost but the last; 55 and 56 change places.
    let mut numbers: Vec<u64> = (1..=100).filter(|number| number % 10 != 0 || *number == 100).collect();
    let place = numbers.iter().position(|number| *number == 55).unwrap();
    numbers.swap(place, place + 1);
    for number in &numbers {
        socket.send(&datagram(&ask, *number, *number)).unwrap();
    }
    for again in 0..3 {
        socket.send(&last(&ask, 100, again, 1_000)).unwrap();
        let report = report(&socket);
        assert_eq!((report.lost, report.out_of_order, report.datagrams), (9, 1, 101), "{again}");
        assert_eq!(report.bytes, 92 * 500);
    }
    let told = server.await_ended(1).remove(0).count.sight.datagrams.unwrap();
    assert_eq!((told.lost, told.out_of_order, told.expected, told.received), (9, 1, 101, 92));
    assert_eq!(server.ended().len(), 1, "it ends once");
}

/// A client of 2.2 prints its longer lines where a report carries latencies.
#[test_case(true, false, true; "to everybody")]
#[test_case(false, false, false; "to nobody who does not ask")]
#[test_case(false, true, true; "to who asks by its clock")]
fn latencies_are_told_where_they_are_wanted(tells: bool, trip_times: bool, expected: bool) {
    let server = Ours::with(Transport::Udp, |settings| settings.tells_latencies = tells);
    let (socket, ask) = (udp(&server), Ask { trip_times, ..Ask::default() });
    socket.send(&datagram(&ask, 1, 1_000)).unwrap();
    socket.send(&last(&ask, 1, 0, 2_000)).unwrap();
    assert_eq!(report(&socket).has_rest(), expected);
}

#[test]
fn the_next_flow_of_the_same_source_is_another() {
    let server = Ours::start(Transport::Udp);
    let (socket, ask) = (udp(&server), Ask::default());
    for round in 0..3_u64 {
        let at = 1_000_000 * (round + 1);
        for number in 1..=5 {
            socket.send(&datagram(&ask, number, at + number * 1_000)).unwrap();
        }
        socket.send(&last(&ask, 5, 0, at + 9_000)).unwrap();
        assert_eq!(report(&socket).datagrams, 6);
    }
    assert_eq!(server.await_ended(3).len(), 3);
}

#[test]
fn a_flow_that_falls_silent_is_forgotten_and_told_of() {
    let server = Ours::with(Transport::Udp, |settings| settings.limits.idle = Nanos::millis(200));
    let (socket, ask) = (udp(&server), Ask { pace: Some(Pace::Packets(1_000)), ..Ask::default() });
    socket.send(&datagram(&ask, 1, 1)).unwrap();
    socket.send(&datagram(&ask, 4, 2)).unwrap();
    let ended = server.await_ended(1).remove(0);
    assert!(ended.cut_short.is_some_and(|why| why.contains("too long")));
    assert_eq!(ended.count.sight.datagrams.unwrap().lost, 2);
}

#[test]
fn intervals_add_up() {
    let server = Ours::with(Transport::Tcp, |settings| settings.interval = Some(Nanos::millis(100)));
    let mut socket = connected(&server);
    let ask = Ask {
        way: Way::Reverse,
        amount: Amount::time(Nanos::secs(1)),
        buffer: Some(1_000),
        pace: Some(Pace::Bits(800_000)),
        ..Ask::default()
    };
    socket.write_all(&ask.first(Stamp::default()).encode()).unwrap();
    let came = all_of(socket).len() as u64;
    server.await_ended(1);
    let each = |event: &Event| match event {
        Event::Interval { interval, sends: true, .. } => Some(interval.carried.bytes.0),
        _ => None,
    };
    let intervals: Vec<u64> = server.events().iter().filter_map(each).collect();
    assert!(intervals.len() >= 2, "{intervals:?}");
    assert_eq!(intervals.iter().sum::<u64>(), came);
    assert_eq!(server.bytes(), (came, 0));
}

/// Takes a stream of datagrams to its end: how many there were.
fn taken(socket: &UdpSocket) -> u64 {
    let mut octets = [0; 2_000];
    loop {
        let length = socket.recv(&mut octets).unwrap();
        if let Some(Mark::Last { count, .. }) = IperfNumbering::CURRENT.read(&octets[..length]) {
            return count;
        }
    }
}

#[test]
fn datagrams_are_sent_once_however_often_they_are_asked_for() {
    let server = Ours::start(Transport::Udp);
    let socket = udp(&server);
    let ask = Ask {
        way: Way::Reverse,
        amount: Amount::bytes(3_000),
        buffer: Some(1_000),
        pace: Some(Pace::Packets(1_000)),
        ..Ask::default()
    };
    for _ in 0..10 {
        socket.send(&datagram(&ask, 1, 1)).unwrap();
    }
    assert_eq!(taken(&socket), 3);
    server.await_ended(1);
    // Asked again right after the end it is taken for a copy; some time later it is another.
    until("another stream", || {
        socket.send(&datagram(&ask, 1, 2)).unwrap();
        server.ended().len() == 2
    });
    assert_eq!(taken(&socket), 3);
}

#[test_case(&Ask { way: Way::Reverse, ..Ask::default() }, "sends none of"; "in place of ours")]
#[test_case(&Ask { back: Some(Back { now: true, port: 5_001 }), ..Ask::default() }, "sends none"; "back at once")]
fn no_datagrams_are_sent_where_that_is_not_allowed(ask: &Ask, why: &str) {
    let server = Ours::with(Transport::Udp, |settings| settings.sends_datagrams = false);
    udp(&server).send(&datagram(ask, 1, 1)).unwrap();
    until("a refusal", || server.failures().iter().any(|told| told.contains(why)));
}

#[test]
fn no_report_is_longer_than_what_came() {
    let server = Ours::start(Transport::Udp);
    let socket = udp(&server);
    // As a client would that forges another's source: the least that begins a flow, and its end again and again.
    let mut small = [0; 16];
    small[3] = 1;
    let numbering = IperfNumbering::of_first(&small).unwrap();
    socket.send(&small).unwrap();
    let mut came = small.len();
    for turn in 0..100 {
        numbering.write_last(&mut small, 1, turn, Nanos::micros(turn + 1));
        socket.send(&small).unwrap();
        came += small.len();
    }
    server.await_ended(1);
    let mut buffer = [0; 2_000];
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let (mut told, mut reports) = (0, 0);
    while let Ok(length) = socket.recv(&mut buffer) {
        (told, reports) = (told + length, reports + 1);
    }
    assert!(reports > 1 && told <= came, "{reports} reports, {told} octets for {came}");
}
