//! Streams of a client: what is told while they go on, and at their end.

use endpoint::engine::Ended;
use endpoint::peer::iperf::client::{self as peer, Found, Outcome, Test, Told};
use endpoint::stop::Stop;
use endpoint::{clock::Monotonic, pace};
use measure::event::Event;
use measure::unit::Nanos;

use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::iperf::options::frames::Frames;
use crate::persona::iperf::options::{Client, Form, Kind, Transport};
use crate::persona::iperf::output::connection::Connection;
use crate::persona::iperf::output::line::Tag;
use crate::persona::iperf::output::{banner, connection, failure, udp};
use crate::persona::iperf::run::client::Course;
use crate::persona::iperf::run::client::home::Home;
use crate::persona::iperf::run::client::record;
use crate::persona::iperf::run::parts::{self, Parts};
use crate::persona::iperf::run::teller::{Stream, Teller};

/// Makes the test, and says what came of it.
///
/// # Errors
/// The text that is printed in place of a result, or behind one that is worth nothing.
pub fn run(course: &Course<'_>) -> Result<Exit, Answer> {
    let display = &course.client.common.display;
    let mut teller = Teller::new(display, course.client.streams > 1, record::zoned, course.print());
    if let Some(text) = course.waiting() {
        teller.settings(&text);
    }
    teller.settings(&course.banner(&course.facts()));
    let mut told = Telling::new(course.client, &course.test, 1);
    let outcome = measure(course, &mut told, &mut teller)?;
    told.ended(&mut teller, &outcome, course.output);
    let fault = fault(course.client, &course.test, &course.stop, &outcome);
    let document = course.keeping.deliver(|| Ok(record::of_streams(course, outcome)))?;
    course.end(document, fault)
}

fn measure(course: &Course<'_>, told: &mut Telling<'_>, teller: &mut Teller<'_>) -> Result<Outcome, Answer> {
    let mut tried = 0;
    loop {
        let measured = peer::measure(&course.test, &course.stop, &mut |what| told.hear(teller, &what));
        match measured {
            Ok(outcome) => return Ok(outcome),
            Err(error) if course.may_retry(&error, tried) => {
                tried += 1;
                pace::sleep_until(Monotonic::now().after(Nanos::secs(1)));
            }
            Err(error) => return Err(course.not_run(error)),
        }
    }
}

/// Streams of a test, as they are told of.
pub struct Telling<'a> {
    client: &'a Client,
    test: &'a Test,
    /// Number of the first.
    first: u32,
    streams: Vec<Stream>,
    connecting: Vec<Nanos>,
    home: Home,
}

impl<'a> Telling<'a> {
    /// Those of a client's test, numbered from `first`.
    pub fn new(client: &'a Client, test: &'a Test, first: u32) -> Self {
        let home = Home::new(first + client.streams, client.common.display.enhanced);
        Self { client, test, first, streams: Vec::new(), connecting: Vec::new(), home }
    }

    /// Something happened.
    pub fn hear(&mut self, teller: &mut Teller<'_>, told: &Told<'_>) {
        let Self { client, test, .. } = *self;
        match told {
            Told::Open(opened) => {
                let id = opened.stream + self.first;
                teller.connection(&Connection { tag: Tag::Stream(id), ..super::connection(client, test, opened) });
                self.connecting.push(opened.connecting);
                for lane in test.lanes().iter().filter(|lane| lane.stream == opened.stream) {
                    let stream = Stream {
                        id,
                        tag: if lane.sends { Tag::Stream(id) } else { Tag::Turned(id) },
                        transport: client.common.transport,
                        sends: lane.sends,
                        local: opened.local,
                        peer: opened.remote,
                        enhanced: client.common.display.enhanced,
                        timed: client.trip_times,
                        isochronous: client.frames.is_some_and(Frames::are_isochronous),
                        summed: true,
                    };
                    teller.begins(&stream);
                    self.streams.push(stream);
                }
            }
            Told::Measured(Event::Carried { thread, interval }) => {
                if let Some(stream) = self.streams.get(*thread as usize).copied() {
                    teller.interval(&stream, interval);
                }
            }
            Told::Measured(_) => {}
            Told::Back(event) => self.home.hear(teller, event),
        }
    }

    /// All are over.
    pub fn ended(&mut self, teller: &mut Teller<'_>, outcome: &Outcome, output: &Output) {
        let Client { common, streams, .. } = self.client;
        let by_datagrams = common.transport == Transport::Udp;
        for (found, stream) in outcome.found.iter().zip(self.streams.clone()) {
            let whole = Parts::of_all(&found.count, found.reads, found.latency);
            let parts = Parts { write_times: found.write_times, ..whole };
            // The one that ends a flow is a datagram too.
            let sent = (by_datagrams && stream.sends).then(|| found.count.carried.calls + 1);
            teller.ended(&stream, &parts, sent);
            let late = parts.frames.and_then(|frames| frames.transit).filter(|_| stream.isochronous);
            if let Some(late) = late.filter(|_| common.display.form == Form::V2_2_1 && !common.display.csv) {
                output.aside(&udp::schedule(stream.tag, parts::moments(&late)));
            }
        }
        for (found, stream) in outcome.found.iter().zip(self.streams.clone()) {
            if let Some(report) = &found.report {
                teller.report(&stream, &parts::reported(report));
            } else if is_missing(self.client, self.test, found) {
                output.aside(&failure::no_report(stream.id));
            }
        }
        self.home.finish(teller);
        let display = &common.display;
        if display.enhanced && display.form != Form::V2_2_1 && !by_datagrams && *streams > 1 {
            let failed = *streams as usize - self.connecting.len();
            teller.data(&connection::times(&self.connecting, failed).unwrap_or_default());
        }
    }
}

/// Reason for which the result is worth nothing, or not what was asked for; `None`: neither.
pub fn fault(client: &Client, test: &Test, stop: &Stop, outcome: &Outcome) -> Option<Answer> {
    let server = test.server;
    if let Some(fault) = outcome.found.iter().find_map(|found| match &found.ended {
        Ended::Broken(fault) => Some(fault.to_string()),
        _ => None,
    }) {
        let key = if client.key.is_some() { ": has the server this key?" } else { "" };
        return Some(failure::other(&format!("{server}: the test ended early: {fault}{key}")));
    }
    if outcome.found.iter().any(|found| found.ended == Ended::Stopped) {
        // Somebody interrupted it, or the server fell silent.
        return (!stop.requested()).then(|| failure::other(&format!("{server}: nothing came for too long")));
    }
    if outcome.found.iter().any(|found| is_missing(client, test, found)) {
        return Some(failure::other(&format!(
            "{server}: no report came, so nobody knows what arrived: is an iperf 2 server there, over UDP (-s -u)?"
        )));
    }
    if outcome.missing_back > 0 {
        return Some(failure::other(&format!(
            "{server}: the server did not send back, or not to the end: can it reach our port (-L)?"
        )));
    }
    // Bytes that a server without the key never read are in the sockets' buffers, and count as sent; a server that takes a
    // header acknowledges it.
    let is_taken = |found: &Found| found.closed && found.ack.is_some();
    let is_dropped = |found: &Found| found.lane.sends && found.ended == Ended::Complete && !is_taken(found);
    let is_alone = !matches!(client.kind, Kind::Reverse | Kind::FullDuplex);
    if client.key.is_some() && is_alone && outcome.found.iter().any(is_dropped) {
        return Some(failure::other(&format!("{server}: the server did not acknowledge the header: has it this key?")));
    }
    let nothing = outcome.found.iter().any(|found| found.count.carried.bytes.0 == 0);
    nothing.then(|| failure::other(&format!("{server}: nothing was carried")))
}

/// Returns true where a server's report was asked for and did not come.
fn is_missing(client: &Client, test: &Test, found: &Found) -> bool {
    let asked = test.datagrams && found.lane.sends && client.kind != Kind::FullDuplex && !test.silent;
    asked && found.report.is_none() && found.ended == Ended::Complete
}

impl Course<'_> {
    /// Lines on the port where the server's own streams come to.
    fn waiting(&self) -> Option<String> {
        let back = self.test.back?;
        let bytes = self.facts().receive_buffer_bytes.unwrap_or_default().0;
        let window =
            banner::Window { bytes: u32::try_from(bytes).unwrap_or(u32::MAX), asked: self.client.common.window };
        Some(banner::waiting(self.client, back.port, window, std::process::id()))
    }
}
