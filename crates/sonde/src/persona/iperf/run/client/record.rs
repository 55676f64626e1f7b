//! A run as a record: the same document that every other measurement leaves.

use endpoint::engine::Ended;
use endpoint::peer::iperf::client::Outcome;
use endpoint::peer::iperf::client::bounce::Bounced;
use endpoint::rtt::{self, Ending, PeerFacts, Target};
use jiff::Zoned;
use jiff::tz::TimeZone;
use logbook::record::Record;
use measure::method::{Direction, Traffic};
use measure::throughput::meter::Metered;
use measure::throughput::{Carried, Theirs, Throughput};
use measure::unit::{Bytes, Nanos};

use crate::command::rtt::conclude::{Around, Inquiry};
use crate::command::spoken::Spoken;
use crate::persona::iperf::run::client::Course;
use crate::persona::iperf::run::client::task::direction;
use crate::persona::record;

pub use crate::system::now;

/// The present moment, in the zone of this place.
pub fn zoned() -> Zoned {
    now().timestamp().to_zoned(TimeZone::system())
}

/// The record of requests and replies.
pub fn of_bounces(course: &Course<'_>, bounced: Bounced) -> Record {
    let finding = rtt::found(bounced.gathered, bounced.environment, course.server(), course.offset_before);
    let finding = rtt::Finding { peer: server(), ..finding };
    inquiry(course).record(finding, course.interruption.signal(), None)
}

/// The record of streams.
pub fn of_streams(course: &Course<'_>, outcome: Outcome) -> Record {
    let direction = direction(&course.client.kind);
    let theirs = reported(&outcome);
    let ended = ending(&outcome);
    let report_missing = (theirs.is_none() && wants_report(course)).then(|| "no report came".to_owned());
    // In a test of both directions the stream that we send is ours; the one that came back is in the text.
    let wanted = if direction == Direction::Receive { Direction::Receive } else { Direction::Send };
    let of_way = outcome.found.iter().filter(|found| found.lane.sends == (wanted == Direction::Send));
    let sockets = of_way.clone().map(|found| found.facts.clone()).collect();
    let mut all: Option<Metered> = None;
    for found in of_way {
        let one = Metered {
            carried: found.count.carried,
            began: found.count.began,
            ended: found.count.ended,
            streams: vec![found.count.clone()],
            calls: None,
        };
        match &mut all {
            Some(all) => all.merge(one),
            None => all = Some(one),
        }
    }
    let mut inquiry = inquiry(course);
    if let Traffic::Stream(stream) = &mut inquiry.method.traffic {
        (stream.direction, stream.call_bytes) = (wanted, Bytes(course.test.size() as u64));
    }
    let around = Around {
        ours: outcome.environment,
        theirs: None,
        peer: server(),
        ended,
        target: course.server(),
        own_reflector: false,
        report_missing,
    };
    let metered = all.unwrap_or_else(|| Metered {
        carried: Carried::default(),
        streams: Vec::new(),
        calls: None,
        began: measure::unit::Instant(0),
        ended: measure::unit::Instant(0),
    });
    let stream = Throughput::of(wanted, &metered, theirs, sockets);
    inquiry.stream_record(stream, around, course.interruption.signal())
}

fn inquiry(course: &Course<'_>) -> Inquiry {
    let target = Target { host: course.client.host.clone(), address: course.server() };
    let spoken = Spoken::foreign("iperf");
    record::inquiry(course.command, &course.asked, &course.test.method, target, spoken, course.started)
}

/// It tells no version but to those who wait for it.
fn server() -> PeerFacts {
    PeerFacts { program: Some("iperf".to_owned()), ..PeerFacts::default() }
}

fn wants_report(course: &Course<'_>) -> bool {
    let test = &course.test;
    test.datagrams && !test.silent && test.way == protocol::iperf::wish::Way::Upload
}

/// Sum of the server's reports; `None` where one is missing.
fn reported(outcome: &Outcome) -> Option<Theirs> {
    let mut theirs = Theirs { carried: Carried::default(), elapsed_ns: None };
    for found in &outcome.found {
        let report = found.report.as_ref()?;
        let received = report.datagrams.saturating_sub(report.lost);
        theirs.carried.add(&Carried { bytes: Bytes(report.bytes), calls: received, failed_calls: 0 });
        let lasted = Nanos(u64::try_from(report.duration.nanos()).unwrap_or(0));
        theirs.elapsed_ns = Some(theirs.elapsed_ns.map_or(lasted, |longest| longest.max(lasted)));
    }
    (!outcome.found.is_empty()).then_some(theirs)
}

fn ending(outcome: &Outcome) -> Ending {
    let broken = outcome.found.iter().find_map(|found| match &found.ended {
        Ended::Broken(fault) => Some(fault.to_string()),
        _ => None,
    });
    match broken {
        Some(reason) => Ending::PeerLost { reason },
        None if outcome.found.iter().any(|found| found.ended == Ended::Stopped) => Ending::Stopped,
        None => Ending::Complete,
    }
}
