//! The prober on real sockets of this host.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use endpoint::prober::{Assignment, Prober, Target, Told};
use endpoint::reflector::permit::{Permit, Permits};
use endpoint::reflector::{self, Settings};
use endpoint::serve::book::{Book, Entry, Tell};
use endpoint::stop::Stop;
use measure::method::Carrier;
use measure::prober::CellId;
use measure::prober::second::{Second, Tally};
use measure::served::SessionEnd;
use measure::unit::Nanos;
use protocol::native::limits::Limits;

/// Far above what any of this takes.
const PATIENCE: Duration = Duration::from_mins(1);
const EVERY: Nanos = Nanos::millis(20);

fn target(carrier: Carrier, port: u16) -> Target {
    Target { host: "127.0.0.1".to_owned(), port, carrier, every: EVERY, question: None }
}

fn assign(prober: &Prober, cells: &[(CellId, Carrier, u16)]) {
    let cells = cells.iter().map(|(cell, carrier, port)| (*cell, target(*carrier, *port))).collect();
    prober.assign(Assignment { timeout: Nanos::secs(2), credential: None, cells });
}

/// Seconds until one of this cell has what is wanted.
fn until(told: &Receiver<Told>, cell: CellId, wanted: impl Fn(&Tally) -> bool) -> Second {
    loop {
        let Told::Second { second, .. } = told.recv_timeout(PATIENCE).expect("it goes on") else { continue };
        if second.tallies.get(&cell).is_some_and(&wanted) {
            return second;
        }
    }
}

#[test]
fn whoever_answers_is_answered_and_whoever_refuses_refused_each_by_itself() {
    let reflector = reflector::bind(Settings::loopback("test")).unwrap();
    let port = reflector.addresses()[0].port();
    let stop = Stop::default();
    thread::scope(|scope| {
        scope.spawn(|| reflector.run(&stop));
        let (tell, told) = channel();
        let prober = Prober::start(1, "test", tell).unwrap();
        let closed = testbed::port::free();
        let all = [
            (0, Carrier::Udp, port),
            (1, Carrier::TcpConnect, port),
            (2, Carrier::TcpConnect, closed),
            (3, Carrier::Udp, closed),
            (4, Carrier::Icmp, 0),
            (5, Carrier::TcpSyn, port),
            (6, Carrier::Tcp, port),
        ];
        assign(&prober, &all);
        let is_whole = |tally: &Tally| tally.times.len() as u64 == tally.due() && tally.due() >= 40;
        let second = until(&told, 0, is_whole);
        assert!(second.slip.is_some());
        until(&told, 1, is_whole);
        until(&told, 6, is_whole);
        until(&told, 2, |tally| tally.refused == tally.due() && tally.due() >= 40);
        until(&told, 3, |tally| tally.refused == tally.due() && tally.due() >= 40);
        let icmp = until(&told, 4, |tally| tally.due() >= 40);
        let failed = icmp.tallies[&4].send_failed == icmp.tallies[&4].due();
        assert!(is_whole(&icmp.tallies[&4]) || failed, "echoes, unless this user may send none");
        until(&told, 5, |tally| tally.send_failed == tally.due() && tally.due() >= 40);
        // A cell that is no longer asked has no more seconds, and the others continue.
        assign(&prober, &all[..1]);
        until(&told, 0, is_whole);
        until(&told, 0, is_whole);
        let second = until(&told, 0, is_whole);
        assert!(second.tallies.keys().eq([&0]));
        drop(prober);
        assert!(told.iter().count() < 10, "nothing is told once it has ended");
        stop.request();
    });
}

#[test]
fn a_reflector_that_starts_again_is_asked_on_without_a_new_order() {
    let port = testbed::port::free();
    let settings =
        || Settings { listen: vec![std::net::SocketAddr::from(([127, 0, 0, 1], port))], ..Settings::loopback("test") };
    let (tell, told) = channel();
    let prober = Prober::start(2, "test", tell).unwrap();
    assign(&prober, &[(9, Carrier::Udp, port), (10, Carrier::Tcp, port)]);
    for _ in 0..2 {
        let stop = Stop::default();
        let reflector = reflector::bind(settings()).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| reflector.run(&stop));
            until(&told, 9, |tally| tally.times.len() >= 40);
            until(&told, 10, |tally| tally.times.len() >= 40);
            stop.request();
        });
        until(&told, 9, |tally| tally.refused >= 40);
        until(&told, 10, |tally| tally.refused >= 40);
    }
}

/// A reflector that ends each session after sixteen seconds: the prober opens another before that and lets go of the old one, so that no request goes
/// without an answer.
#[test]
fn a_session_of_bounded_duration_is_renewed_without_a_gap() {
    const BOUND: u64 = 16;
    let limits = Limits { duration_ns: Nanos::secs(BOUND), ..Limits::default() };
    let (end, ends) = channel();
    let tell = Tell(Arc::new(move |entry| {
        if let Entry::Ended { how, .. } = entry {
            let _ended = end.send(*how);
        }
    }));
    let (permits, book) = (Permits::open(Permit::within(limits)), Book::new("sonde", Some(tell)));
    let reflector = reflector::bind(Settings { limits, permits, book, ..Settings::loopback("test") }).unwrap();
    let port = reflector.addresses()[0].port();
    let stop = Stop::default();
    // Nothing is asserted while the reflector runs: it would go on.
    let (seconds, ends) = thread::scope(|scope| {
        scope.spawn(|| reflector.run(&stop));
        let (tell, told) = channel();
        let prober = Prober::start(3, "test", tell).unwrap();
        let cells = [(0, target(Carrier::Udp, port)), (1, target(Carrier::Tcp, port))];
        // A replaced session is closed after two of these.
        let timeout = Nanos::secs(1);
        prober.assign(Assignment { timeout, credential: None, cells: cells.to_vec() });
        for (cell, _) in &cells {
            until(&told, *cell, is_whole);
        }
        let seconds = told.iter().filter_map(|told| match told {
            Told::Second { second, .. } => Some(second),
            _ => None,
        });
        let seconds: Vec<Second> = seconds.take(BOUND as usize + 2).collect();
        let ends: Vec<SessionEnd> = ends.try_iter().collect();
        drop(prober);
        stop.request();
        (seconds, ends)
    });
    let torn = seconds.iter().find(|second| !second.tallies.values().all(is_whole) || second.tallies.len() != 2);
    assert_eq!((torn, seconds.len()), (None, BOUND as usize + 2));
    // The prober lets go of what it has replaced.
    assert_eq!(ends, [SessionEnd::Lost; 2], "one of each cell, and none by its bound");
}

fn is_whole(tally: &Tally) -> bool {
    tally.times.len() as u64 == tally.due() && tally.due() >= 40
}
