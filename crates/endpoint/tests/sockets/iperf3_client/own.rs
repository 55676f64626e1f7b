//! Our client against our server: both ends count the same.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use endpoint::peer::iperf3::client::{Session, Setup, Test};
use endpoint::peer::iperf3::server;
use endpoint::peer::iperf3::server::event::Nobody;
use endpoint::peer::iperf3::server::settings::Settings;
use endpoint::stop::Stop;
use measure::unit::{Bytes, Nanos};
use protocol::iperf3::parameters::{Direction, Parameters, Protocol};
use test_case::test_case;
use testbed::port;

use super::relay::Relay;
use super::{bytes, complete};

/// A server of ours that ends with this.
pub(super) struct Ours {
    address: SocketAddr,
    stop: Stop,
    running: Option<thread::JoinHandle<()>>,
}

impl Ours {
    pub fn start() -> Self {
        let server = server::bind(Settings::at("[::]:0".parse().unwrap()), Arc::new(Nobody)).unwrap();
        let (address, stop) = (server.addresses()[0], Stop::default());
        let stops = stop.clone();
        let running = thread::spawn(move || server.run(&stops).unwrap());
        Self { address, stop, running: Some(running) }
    }

    pub fn at(&self, host: &str) -> SocketAddr {
        SocketAddr::new(host.parse().unwrap(), self.address.port())
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        self.stop.request();
        let running = self.running.take().expect("it ends once");
        running.thread().unpark();
        assert!(running.join().is_ok() || thread::panicking());
    }
}

fn one_second(direction: Direction, parallel: u32) -> Parameters {
    Parameters { time: 1, direction, parallel, ..Parameters::default() }
}

#[test_case("127.0.0.1", Direction::Upload, 1; "to the server")]
#[test_case("::1", Direction::Reverse, 1; "from the server over v6")]
#[test_case("127.0.0.1", Direction::Both, 1; "both ways")]
#[test_case("::1", Direction::Both, 3; "three each way over v6")]
fn bytes_are_the_same_at_both_ends_without_a_rate(host: &str, direction: Direction, parallel: u32) {
    let server = Ours::start();
    let (measured, intervals) = complete(server.at(host), &Test::new(one_second(direction, parallel)));
    for (stream, (ours, theirs)) in bytes(&measured).into_iter().enumerate() {
        assert_eq!(ours, theirs, "stream {stream} of {}", measured.streams.len());
        assert_eq!(ours, intervals[stream], "intervals add up");
    }
    assert!(bytes(&measured).iter().map(|stream| stream.0).sum::<u64>() > 1 << 20);
    assert!(measured.streams.iter().all(|stream| stream.elapsed < Nanos::secs(20)));
}

#[test]
fn as_many_streams_as_may_be_are_carried() {
    let server = Ours::start();
    let parameters = Parameters { rate: Some(1_000_000), block: Some(1_000), ..one_second(Direction::Both, 128) };
    let (measured, intervals) = complete(server.at("127.0.0.1"), &Test::new(parameters));
    assert_eq!(measured.streams.len(), 256);
    for ((ours, theirs), counted) in bytes(&measured).into_iter().zip(intervals) {
        assert_eq!((ours, counted), (theirs, ours));
    }
}

#[test]
fn a_rate_is_kept_by_both_ends() {
    let server = Ours::start();
    let parameters =
        Parameters { rate: Some(16_000_000), block: Some(1_000), burst: 4, ..one_second(Direction::Both, 2) };
    let (measured, _) = complete(server.at("127.0.0.1"), &Test::new(parameters));
    let theirs = measured.theirs.as_ref().unwrap();
    for (ours, theirs) in measured.ours.streams.iter().zip(&theirs.streams) {
        // Two million bytes a second of the sender's own time, and what an instant may be ahead of it.
        let sender = if ours.id <= 3 { ours } else { theirs };
        let most = 2_000_000.0 * sender.times_s.unwrap().1;
        assert_eq!(ours.bytes, theirs.bytes);
        assert!((most * 0.25..=most + 100_000.0).contains(&(ours.bytes as f64)), "{ours:?} {theirs:?}");
    }
}

#[test_case(Direction::Upload, 3_000_000, 0, 3_000_000; "bytes")]
#[test_case(Direction::Upload, 3_000_001, 0, 3_001_000; "bytes, to whole calls")]
#[test_case(Direction::Upload, 0, 777, 777_000; "calls")]
fn what_was_asked_for_is_sent_exactly(direction: Direction, size: u64, blocks: u64, expected: u64) {
    let server = Ours::start();
    for parallel in [1, 4] {
        let parameters =
            Parameters { bytes: size, blocks, block: Some(1_000), time: 0, ..one_second(direction, parallel) };
        let (measured, _) = complete(server.at("127.0.0.1"), &Test::new(parameters));
        let seen = bytes(&measured).iter().fold((0, 0), |sum, stream| (sum.0 + stream.0, sum.1 + stream.1));
        assert_eq!(seen, (expected, expected));
    }
}

#[test]
fn what_is_left_out_is_told_apart() {
    let server = Ours::start();
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let parameters = Parameters {
            protocol,
            omit: 1,
            rate: Some(100_000),
            block: Some(100),
            // Else small writes wait for acknowledgements at first, and what was held up then is caught up with later.
            nodelay: true,
            ..one_second(Direction::Upload, 1)
        };
        let (measured, intervals) = complete(server.at("127.0.0.1"), &Test::new(parameters));
        let (ours, theirs) = (measured.ours.streams[0], measured.theirs.as_ref().unwrap().streams[0]);
        // A second of two, by each end's own clock.
        assert!((6_000..20_000).contains(&ours.bytes) && ours.bytes == intervals[0], "{ours:?}");
        assert!((1..26_000).contains(&theirs.bytes), "{theirs:?}");
        if protocol == Protocol::Udp {
            assert_eq!((ours.packets, theirs.errors), (theirs.packets, 0));
            assert_eq!((ours.counted() * 100, theirs.counted() * 100), (ours.bytes, theirs.bytes));
            assert!(ours.omitted.is_some_and(|omitted| omitted.packets > 60));
        }
    }
}

#[test]
fn options_reach_both_ends() {
    let server = Ours::start();
    let parameters = Parameters {
        window: Some(100_000),
        mss: Some(1_000),
        nodelay: true,
        tos: 0x28,
        congestion: Some("reno".to_owned()),
        zerocopy: true,
        skip_rx_copy: true,
        repeating_payload: true,
        fq_rate: Some(80_000_000),
        server_affinity: Some(0),
        blocks: 20,
        time: 0,
        ..one_second(Direction::Both, 1)
    };
    let mut test = Test::new(parameters);
    (test.cpu, test.send_timeout) = (Some(0), Some(Nanos::secs(10)));
    let (measured, _) = complete(server.at("127.0.0.1"), &test);
    for stream in &measured.streams {
        let facts = &stream.at_start;
        assert_eq!((facts.send_buffer_bytes, facts.nodelay, facts.tos), (Some(Bytes(200_000)), Some(true), Some(0x28)));
        assert_eq!(facts.congestion.as_deref(), Some("reno"));
    }
    let theirs = measured.theirs.unwrap();
    assert_eq!((theirs.congestion.as_deref(), theirs.sender_has_retransmits), (Some("reno"), Some(true)));
}

#[test]
fn streams_leave_from_the_ports_that_were_asked_for() {
    let server = Ours::start();
    let first = port::row().start;
    let mut test =
        Test::new(Parameters { protocol: Protocol::Udp, blocks: 5, time: 0, ..one_second(Direction::Upload, 3) });
    test.local_port = Some(first);
    let (measured, _) = complete(server.at("127.0.0.1"), &test);
    let ports: Vec<u16> = measured.streams.iter().map(|stream| stream.connection.local.port()).collect();
    assert_eq!(ports, [first, first + 1, first + 2]);
}

/// A test by octets that is longer ends with it.
#[test]
fn a_file_is_sent_where_one_is_named() {
    let server = Ours::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("content");
    std::fs::write(&file, vec![3; 5_000]).unwrap();
    let mut test = Test::new(Parameters { bytes: 20_000, time: 0, ..one_second(Direction::Upload, 1) });
    test.parameters.block = Some(5_000);
    test.file = Some(file);
    let (measured, _) = complete(server.at("127.0.0.1"), &test);
    assert_eq!(bytes(&measured), [(5_000, 5_000)]);
}

#[test]
fn datagrams_have_the_size_of_a_segment_where_nobody_says() {
    let server = Ours::start();
    let stop = Stop::default();
    let session = Session::open(Setup::towards(vec![server.at("::1")]), &stop).unwrap();
    let segment = session.segment().unwrap().0;
    let parameters = Parameters { protocol: Protocol::Udp, blocks: 3, time: 0, ..one_second(Direction::Upload, 1) };
    let measured = session.measure(&Test::new(parameters), &stop, &mut |_| {}).unwrap();
    assert_eq!(measured.parameters.block.map(u64::from), Some(segment.min(65_507)));
    assert_eq!(bytes(&measured), [(3 * segment, 3 * segment)]);
}

/// Parameters of datagrams of a hundred octets, 250 a second.
fn datagrams(direction: Direction) -> Parameters {
    Parameters { protocol: Protocol::Udp, rate: Some(200_000), block: Some(100), ..one_second(direction, 1) }
}

#[test_case(Direction::Upload; "to the server")]
#[test_case(Direction::Reverse; "from the server")]
fn what_the_path_loses_is_what_is_told(direction: Direction) {
    let server = Ours::start();
    let relay = Relay::start(server.at("127.0.0.1"));
    let parameters =
        // A number of calls, however long they take.
        Parameters { blocks: 250, time: 0, ..datagrams(direction) };
    let (measured, _) = complete(relay.address, &Test::new(parameters));
    let theirs = measured.theirs.as_ref().unwrap();
    let receiver = if direction == Direction::Upload { theirs.streams[0] } else { measured.ours.streams[0] };
    let (dropped, swapped) = relay.done();
    assert_eq!((dropped, swapped), (9, 3));
    assert_eq!(receiver.errors, dropped, "{receiver:?}");
    assert_eq!(receiver.packets - dropped as u64, receiver.bytes / 100);
}
