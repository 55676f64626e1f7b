//! The end of a session by what was heard of it, and by the clock.

use std::net::SocketAddr;

use anstream::ColorChoice;

use super::*;
use crate::persona::irtt::client::options;

/// A session of two packets, which began at 1 s of the monotonic clock, as `play` has it, and its text.
fn session(words: &str, play: impl FnOnce(&mut Hearing<'_, '_>)) -> Heard {
    let words: Vec<String> = format!("-Q {words} db1").split_whitespace().map(str::to_owned).collect();
    let asked = options::parse(&words).unwrap().unwrap();
    let (stop, quits) = (Stop::default(), AtomicBool::new(false));
    let (output, interruption) = (Output::new(ColorChoice::Never, true, false), Interruption::default());
    let mut printer = Printer {
        asked: &asked,
        output: &output,
        stop: &stop,
        interruption: &interruption,
        quits: &quits,
        is_told: false,
    };
    let address = SocketAddr::from(([127, 0, 0, 1], 2_112));
    let call = Call { name: "read", local: address, server: address, errno: 0 };
    let mut hearing = Hearing::new(&mut printer, call, 2, 60, Instant(1_000_000_000));
    play(&mut hearing);
    hearing.finish()
}

fn moment(nanos: u64) -> Moment {
    Moment { wall: 5_000_000_000 + nanos, monotonic: Instant(1_000_000_000 + nanos) }
}

fn sent(number: u32, nanos: u64) -> Sighting {
    Sighting::Sent { number, began: moment(nanos), ended: moment(nanos + 10).monotonic }
}

fn came(number: u32, nanos: u64) -> Sighting {
    Sighting::Came { at: moment(nanos), length: 60, reply: Reply { number, ..Reply::default() } }
}

fn hear(hearing: &mut Hearing<'_, '_>, seen: &[Sighting]) {
    for seen in seen {
        hearing.hear(*seen);
    }
}

#[test]
fn the_wait_is_by_the_round_trips_so_far() {
    let heard = session("", |hearing| {
        hear(hearing, &[sent(0, 100), came(0, 300), sent(1, 1_100)]);
        assert_eq!(
            (hearing.wait, hearing.until),
            (Some(600), Instant(1_000_001_710)),
            "three times 200 ns behind the call"
        );
        hearing.hear(came(1, 1_400));
    });
    assert_eq!((heard.trips.times.n, heard.wait, heard.ending), (2, Some(600), None));
    let heard = session("", |hearing| {
        hear(hearing, &[sent(0, 100), sent(1, 200)]);
        assert_eq!(hearing.wait, Some(4_000_000_000), "none is known");
    });
    assert_eq!(heard.trips.all.iter().filter(|trip| trip.came.is_none()).count(), 2);
}

#[test]
fn what_comes_behind_the_wait_does_not_count() {
    let heard = session("--wait=1us", |hearing| {
        hear(hearing, &[sent(0, 0), sent(1, 1_000), came(0, 2_010), came(1, 2_011)]);
        assert!(hearing.enough(), "the clock is far beyond");
    });
    assert_eq!((heard.trips.times.n, heard.wait, heard.duration), (1, Some(1_000), 2_010));
}

#[test]
fn without_a_wait_the_last_packet_ends_it() {
    let heard = session("--wait=0s", |hearing| {
        hear(hearing, &[sent(0, 0), sent(1, 1_000)]);
        assert!(hearing.enough());
    });
    assert_eq!((heard.wait, heard.duration), (Some(0), 1_010));
}

#[test]
fn failures_and_the_server_s_word_end_it() {
    let failed = |sends| Sighting::Failed { sends, errno: 111 };
    let heard = session("", |hearing| {
        assert!(!hearing.enough());
        hear(hearing, &[sent(0, 0), failed(true), Sighting::Closed]);
        assert!(hearing.enough());
    });
    assert!(matches!(heard.ending, Some(Ending::Call(Call { name: "write", errno: 111, .. }))), "the first: {heard:?}");
    let heard = session("", |hearing| hearing.hear(Sighting::Closed));
    assert_eq!((heard.ending, heard.duration), (Some(Ending::Closed), 0));
}

#[test]
fn a_wish_to_stop_is_an_end_before_the_time() {
    let heard = session("", |hearing| {
        hearing.hear(sent(0, 0));
        hearing.printer.stop.request();
        assert!(!hearing.enough(), "the engine sees it by itself");
    });
    assert_eq!((heard.ending, heard.wait), (Some(Ending::Cancelled), None));
}
