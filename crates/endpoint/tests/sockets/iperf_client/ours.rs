//! Our client against our server: both ends are seen from within.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;

use endpoint::clock::Monotonic;
use endpoint::pace;
use endpoint::peer::iperf::client::Test;
use endpoint::peer::iperf::server;
use endpoint::peer::iperf::server::event::{Ended, Event, Tell, Transport};
use endpoint::peer::iperf::server::settings::{Place, Settings};
use endpoint::stop::Stop;
use measure::unit::Nanos;
use protocol::iperf::wish::{Back, Quantity, Way};
use test_case::test_case;

use crate::iperf_client::{Made, by_bytes, flow};

/// A server of ours that ends with this.
pub struct Ours {
    pub address: SocketAddr,
    events: Arc<Mutex<Vec<Event>>>,
    stop: Stop,
    running: Option<thread::JoinHandle<()>>,
}

impl Ours {
    pub fn start(transport: Transport) -> Self {
        let mut settings = Settings::at(vec![Place { address: "127.0.0.1:0".parse().unwrap(), transport }]);
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let into = Arc::clone(&events);
        settings.tell = Some(Tell(Arc::new(move |event: &Event| into.lock().unwrap().push(event.clone()))));
        let server = server::bind(settings).unwrap();
        let address = server.sockets()[0].address;
        let stop = Stop::default();
        let stops = stop.clone();
        let running = thread::spawn(move || server.run(&stops).unwrap());
        Self { address, events, stop, running: Some(running) }
    }

    /// Waits until `count` streams have ended there; returns them.
    pub fn await_ended(&self, count: usize) -> Vec<Ended> {
        let give_up = Monotonic::now().after(Nanos::secs(30));
        while self.ended().len() < count {
            assert!(Monotonic::now() < give_up, "{count} streams never ended");
            pace::sleep_until(Monotonic::now().after(Nanos::millis(2)));
        }
        self.ended()
    }

    /// Ends it; the streams that ended there.
    pub fn end(mut self) -> Vec<Ended> {
        self.stop.request();
        self.running.take().unwrap().join().unwrap();
        self.ended()
    }

    fn ended(&self) -> Vec<Ended> {
        let ended = |event: &Event| if let Event::Ended(ended) = event { Some(*ended.clone()) } else { None };
        self.events.lock().unwrap().iter().filter_map(ended).collect()
    }
}

#[test_case(Way::Upload, false)]
#[test_case(Way::Reverse, false)]
#[test_case(Way::Duplex, false)]
#[test_case(Way::Upload, true)]
#[test_case(Way::Reverse, true)]
#[test_case(Way::Duplex, true)]
fn octets_of_a_connection_are_the_same_at_both_ends(way: Way, trip_times: bool) {
    let server = Ours::start(Transport::Tcp);
    let test = Test { trip_times, streams: 2, ..by_bytes(server.address, way) };
    let made = Made::by(&test);
    server.await_ended(test.lanes().len());
    let ended = server.end();
    assert_eq!(ended.len(), test.lanes().len());
    for sends in [true, false] {
        let theirs: u64 = ended.iter().filter(|one| one.sends != sends).map(|one| one.count.carried.bytes.0).sum();
        assert_eq!(made.bytes(sends), theirs, "ours sent: {sends}");
    }
    assert!(ended.iter().all(|one| one.cut_short.is_none()), "{ended:?}");
}

#[test]
fn more_than_can_be_asked_for_comes_all_the_same() {
    // 31 bits hold no such amount: the client ends it.
    let server = Ours::start(Transport::Tcp);
    let bytes = (1_u64 << 31) + 5;
    let test = Test { quantity: Quantity::Bytes(bytes), call_bytes: None, ..by_bytes(server.address, Way::Reverse) };
    let made = Made::by(&test);
    assert!(made.bytes(false) >= bytes, "{}", made.bytes(false));
}

#[test_case(Way::Upload)]
#[test_case(Way::Reverse)]
#[test_case(Way::Duplex)]
fn datagrams_are_the_same_at_both_ends(way: Way) {
    let server = Ours::start(Transport::Udp);
    let test = Test { streams: 2, ..flow(server.address, way) };
    let made = Made::by(&test);
    server.await_ended(test.lanes().len());
    let ended = server.end();
    for sends in [true, false] {
        // The last datagram of an upload counts where it is received by a server.
        let mut sent: Vec<u64> = made.lanes(true).map(|found| found.count.carried.calls + 1).collect();
        let mut came: Vec<u64> = ended.iter().filter(|one| !one.sends).map(|one| one.count.carried.calls).collect();
        if !sends {
            let calls = |one: &Ended| one.count.carried.calls;
            sent = ended.iter().filter(|one| one.sends).map(calls).collect();
            came = made.lanes(false).map(|found| found.count.sight.datagrams.unwrap().received).collect();
        }
        sent.sort_unstable();
        came.sort_unstable();
        assert_eq!(sent, came, "ours sent: {sends}");
    }
}

#[test_case(true; "at once")]
#[test_case(false; "afterwards")]
fn several_streams_come_back(now: bool) {
    let server = Ours::start(Transport::Tcp);
    let back = Some(Back { port: 0, now });
    let made = Made::by(&Test { back, streams: 3, ..by_bytes(server.address, Way::Upload) });
    assert_eq!((made.outcome.missing_back, made.back.len()), (0, 3));
    assert!(made.back.iter().all(|ended| ended.count.carried.bytes.0 == 307_200));
}

#[test]
fn a_test_that_is_stopped_ends_in_order() {
    let server = Ours::start(Transport::Tcp);
    let test = Test { quantity: Quantity::Time(Nanos::secs(600)), ..by_bytes(server.address, Way::Duplex) };
    let stop = Stop::default();
    let asks = stop.clone();
    // Stopped as soon as something has gone through.
    let mut listen = |told: endpoint::peer::iperf::client::Told<'_>| {
        if let endpoint::peer::iperf::client::Told::Measured(measure::event::Event::Carried { .. }) = told {
            asks.request();
        }
    };
    let test = Test { interval: Nanos::millis(10), ..test };
    let outcome = endpoint::peer::iperf::client::measure(&test, &stop, &mut listen).unwrap();
    assert!(outcome.found.iter().any(|found| found.count.carried.bytes.0 > 0));
}

#[test]
fn traffic_without_a_header_is_reported_too() {
    let server = Ours::start(Transport::Udp);
    let made = Made::by(&Test { plain: true, ..flow(server.address, Way::Upload) });
    let report = made.outcome.found[0].report.expect("a report");
    assert_eq!((report.lost, report.datagrams, report.bytes), (0, 61, 30_500));
}

#[test]
fn no_report_is_asked_for_where_none_is_wanted() {
    let server = Ours::start(Transport::Udp);
    let made = Made::by(&Test { silent: true, ..flow(server.address, Way::Upload) });
    assert_eq!(made.outcome.found[0].report, None);
    let ended = server.await_ended(1);
    assert_eq!((ended[0].count.carried.calls, &ended[0].cut_short), (61, &None), "its end was said all the same");
}

#[test_case(Way::Reverse)]
#[test_case(Way::Duplex)]
fn the_servers_word_comes_before_what_it_sends(way: Way) {
    let server = Ours::start(Transport::Tcp);
    let made = Made::by(&Test { detects: true, ..by_bytes(server.address, way) });
    assert!(made.outcome.found.iter().all(|found| found.ack.is_some()));
    assert_eq!(made.bytes(false), 307_200, "the word is none of it");
}
