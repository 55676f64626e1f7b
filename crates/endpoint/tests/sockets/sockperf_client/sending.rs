//! Messages that leave: numbers over all sockets, flags, sizes, content, and times.

use std::num::NonZeroU32;
use std::sync::Arc;

use endpoint::peer::sockperf::client::{Content, Test};
use measure::method::{Asked, Carrier, Schedule, Sizes};
use measure::trace::{Departure, Trace};
use measure::unit::{Bytes, Nanos};
use protocol::sockperf::message::{Flags, HEADER};
use protocol::sockperf::payload;

use crate::sockperf_client::rogue::{Came, Rogue};
use crate::sockperf_client::{load, ping_pong, place, run, test, test_with};

fn numbers(came: &[Came]) -> Vec<u64> {
    came.iter().map(|came| came.header.sequence).collect()
}

#[test]
fn every_message_has_its_header_and_the_originals_content() {
    let server = Rogue::datagrams(|came| vec![came.answer()]);
    run(&test(&ping_pong(3), server.address));
    let came = server.came();
    // As captured of 3.10 with -m 20.
    for (place, came) in (1..).zip(&came) {
        let expected = [0, 0, 0, 0, 0, 0, 0, place, 0, 3, 0, 0, 0, 20, 0xb7, 0x31, 0x58, 0xa3, 0x5a, 0x25];
        assert_eq!(came.bytes, expected);
    }
    assert_eq!(came.len(), 3);
}

#[test]
fn every_nth_asks_by_the_number_of_the_whole_client() {
    let servers = [(); 2].map(|()| Rogue::datagrams(|came| if came.asks() { vec![came.answer()] } else { vec![] }));
    let places = servers.iter().map(|server| place(Carrier::Udp, server.address)).collect();
    let bursts = Schedule::Bursts { count: 3, interval_ns: Nanos::millis(2) };
    let asked = Asked { schedule: Some(bursts), ..load(24, 4) };
    let seen = run(&Test { burst: NonZeroU32::new(3).expect("positive"), ..test_with(&asked, places) });
    let [first, second] = servers.map(Rogue::came);
    assert_eq!(numbers(&first), [1, 2, 3, 7, 8, 9, 13, 14, 15, 19, 20, 21]);
    assert_eq!(numbers(&second), [4, 5, 6, 10, 11, 12, 16, 17, 18, 22, 23, 24]);
    let asking = first.iter().chain(&second).filter(|came| came.asks());
    let mut asking: Vec<u64> = asking.map(|came| came.header.sequence).collect();
    asking.sort_unstable();
    assert_eq!(asking, [4, 8, 12, 16, 20, 24]);
    assert_eq!((seen.counts().answered, seen.counts().one_way), (6, 18));
}

#[test]
fn sockets_of_a_ping_pong_take_turns() {
    let servers = [(); 3].map(|()| Rogue::datagrams(|came| vec![came.answer()]));
    let places = servers.iter().map(|server| place(Carrier::Udp, server.address)).collect();
    let asked = Asked { volley: Some(2), ..ping_pong(14) };
    let seen = run(&Test { burst: NonZeroU32::new(2).expect("positive"), ..test_with(&asked, places) });
    let came = servers.map(|server| numbers(&server.came()));
    assert_eq!(came, [vec![1, 2, 7, 8, 13, 14], vec![3, 4, 9, 10], vec![5, 6, 11, 12]]);
    // One after the other: no volley begins before the former has ended.
    let mut ends: Vec<_> =
        seen.told.iter().map(|one| (one.sent.expect("sent"), one.received.expect("answered"))).collect();
    ends.sort_unstable();
    assert!(ends.chunks(2).collect::<Vec<_>>().windows(2).all(|pair| pair[0].iter().all(|one| one.1 <= pair[1][0].0)));
}

#[test]
fn a_throughput_asks_for_nothing() {
    let server = Rogue::datagrams(|_| vec![]);
    let seen = run(&test(&load(100, 0), server.address));
    let came = server.came();
    assert!(came.iter().all(|came| came.header.flags == Flags::CLIENT));
    assert_eq!((numbers(&came), seen.counts().one_way), ((1..=100).collect(), 100));
    assert!(seen.told.is_empty());
}

#[test]
fn sizes_are_drawn_from_their_range() {
    for asked in [load(400, 0), Asked { volley: Some(1), ..ping_pong(400) }] {
        let server = Rogue::datagrams(|came| if came.asks() { vec![came.answer()] } else { vec![] });
        let sizes = Sizes::Uniform { smallest: Bytes(14), largest: Bytes(18) };
        let asked = Asked { request_bytes: None, response_bytes: None, sizes, ..asked };
        run(&Test { integrity: true, ..test(&asked, server.address) });
        let came = server.came();
        assert!(came.iter().all(|came| came.header.length as usize == came.bytes.len()));
        let sizes: std::collections::BTreeSet<usize> = came.iter().map(|came| came.bytes.len()).collect();
        assert_eq!(sizes, (14..=18).collect());
    }
}

#[test]
fn a_file_is_played_at_its_sizes_and_times() {
    let departures = [(10, 14), (30, 100), (31, 40), (60, 500)];
    let departures = departures.map(|(at, bytes)| Departure { at: Nanos::millis(at), bytes });
    let trace = Arc::new(Trace::new(departures.to_vec()).expect("a trace"));
    let server = Rogue::datagrams(|came| if came.asks() { vec![came.answer()] } else { vec![] });
    let mut asked = Asked { schedule: Some(trace.schedule()), request_bytes: None, ..load(0, 2) };
    asked.stop.count = None;
    let content = Content { longest: payload::PLAYBACK_LONGEST, seed: payload::SEED };
    let seen = run(&Test { trace: Some(trace), content, ..test(&asked, server.address) });
    let came = server.came();
    assert_eq!(came.iter().map(|came| came.bytes.len()).collect::<Vec<_>>(), [14, 100, 40, 500]);
    let mut expected = vec![0; 500];
    payload::fill(&mut expected, payload::PLAYBACK_LONGEST, payload::SEED);
    assert!(came.iter().all(|came| expected[HEADER..].starts_with(&came.bytes[HEADER..])));
    let began = seen.measured.gathered.recording.began;
    for (told, due) in seen.told.iter().zip([30, 60]) {
        assert_eq!(told.intended.and_then(|at| at.since(began)), Some(Nanos::millis(due)));
        assert!(told.sent >= told.intended);
    }
    assert_eq!(seen.counts().answered, 2);
}
