//! Conversion of a rate in bytes to a rate in calls.

use measure::interval::arrivals::Datagrams;
use measure::outcome::SocketFacts;
use measure::throughput::meter::Meter;
use measure::throughput::{Sight, Stream};
use measure::unit::{Instant, Nanos};
use protocol::native::stream::Told;

use super::lane::Home;
use super::*;
use crate::thread::CpuTime;

#[test]
fn a_rate_is_so_many_calls() {
    let calls = |bytes, call| calls_for(bytes, Bytes(call)).map(|rate| rate.0.get());
    assert_eq!(calls(1_000_000, 1_000), Some(1_000_000));
    assert_eq!(calls(125_000, 131_072), Some(953));
    assert_eq!(calls(1, 1 << 30), Some(1), "never none at all");
    assert_eq!(calls(0, 1_000), None);
    assert_eq!(calls(u64::MAX, 1), None, "more than can be counted");
}

/// An end of datagrams of a second, whose receiver saw them up to number 300 within ten seconds, 250 of them behind its warm-up.
fn home(sent: Option<u64>) -> Home {
    let seconds = if sent.is_some() { 1 } else { 10 };
    let mut meter = Meter::new(0);
    meter.begin(Instant(5), Sight::default());
    let sight = Sight { datagrams: sent.is_none().then(counted), ..Sight::default() };
    let metered = meter.finish(Instant(5).after(Nanos::secs(seconds)), sight);
    Home {
        running: metered.elapsed(),
        metered,
        ended: crate::engine::Ended::Complete,
        sent: sent.is_some(),
        number: 0,
        drained: false,
        sent_datagrams: sent,
        highest: sent.is_none().then_some(300),
        zero_copy: None,
        cpu: CpuTime::default(),
        socket: SocketFacts::default(),
    }
}

#[test]
fn datagrams_behind_the_highest_are_lost_where_no_end_mark_came() {
    let lost =
        |datagrams: Option<Datagrams>| datagrams.map(|counted| (counted.expected, counted.received, counted.lost));
    let second = Stream { elapsed_ns: Nanos::secs(1), ..Stream::default() };
    let mut receiver = home(None);
    receiver.make_up_for_end(&mut Told { stream: second, sent_datagrams: Some(1_000), ..Told::default() });
    assert_eq!(receiver.metered.elapsed(), Nanos::secs(1), "the rest was waited in vain");
    assert_eq!(lost(receiver.metered.streams[0].sight.datagrams), Some((950, 248, 702)));

    let stream = Stream { elapsed_ns: Nanos::secs(10), datagrams: Some(counted()), ..Stream::default() };
    let mut told = Told { stream, highest: Some(300), ..Told::default() };
    home(Some(1_000)).make_up_for_end(&mut told);
    assert_eq!((told.stream.elapsed_ns, lost(told.stream.datagrams)), (Nanos::secs(1), Some((950, 248, 702))));
    // One that heard the end knows by itself.
    let mut ended =
        Told { highest: None, stream: Stream { datagrams: Some(counted()), ..Stream::default() }, ..Told::default() };
    home(Some(1_000)).make_up_for_end(&mut ended);
    assert_eq!(lost(ended.stream.datagrams), Some((250, 248, 2)));
}

fn counted() -> Datagrams {
    Datagrams { expected: 250, received: 248, lost: 2, ..Datagrams::default() }
}
