//! Streams of a client: what is told while they go on, and at their end.

use endpoint::engine::Ended;
use endpoint::peer::iperf::client::{self as peer, Found, Outcome, Told};
use endpoint::{clock::Monotonic, pace};
use measure::event::Event;
use measure::unit::Nanos;

use crate::exit::Exit;
use crate::persona::answer::Answer;
use crate::persona::iperf::options::{Form, Kind, Transport};
use crate::persona::iperf::output::line::Tag;
use crate::persona::iperf::output::{banner, connection, failure};
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
    let mut told = Telling::new(course);
    if let Some(text) = course.waiting() {
        told.teller.settings(&text);
    }
    told.teller.settings(&course.banner(&course.facts()));
    let outcome = measure(course, &mut told)?;
    told.ended(course, &outcome);
    let fault = fault(course, &outcome);
    let document = course.keeping.deliver(|| Ok(record::of_streams(course, outcome)))?;
    course.end(document, fault)
}

fn measure(course: &Course<'_>, told: &mut Telling<'_>) -> Result<Outcome, Answer> {
    let mut tried = 0;
    loop {
        let measured = peer::measure(&course.test, &course.stop, &mut |what| told.hear(course, &what));
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

/// Output of a test.
struct Telling<'a> {
    teller: Teller<'a>,
    streams: Vec<Stream>,
    connecting: Vec<Nanos>,
    home: Home,
}

impl<'a> Telling<'a> {
    fn new(course: &Course<'a>) -> Self {
        let display = &course.client.common.display;
        let teller = Teller::new(display, course.client.streams > 1, record::zoned, course.print());
        let home = Home::new(course.client.streams + 1, display.enhanced);
        Self { teller, streams: Vec::new(), connecting: Vec::new(), home }
    }

    fn hear(&mut self, course: &Course<'_>, told: &Told<'_>) {
        match told {
            Told::Open(opened) => {
                self.teller.connection(&course.connection(opened));
                self.connecting.push(opened.connecting);
                let lanes = course.test.lanes();
                for lane in lanes.iter().filter(|lane| lane.stream == opened.stream) {
                    let id = lane.stream + 1;
                    let stream = Stream {
                        id,
                        tag: if lane.sends { Tag::Stream(id) } else { Tag::Turned(id) },
                        transport: course.client.common.transport,
                        sends: lane.sends,
                        local: opened.local,
                        peer: opened.remote,
                        enhanced: course.client.common.display.enhanced,
                        timed: course.client.trip_times,
                        summed: true,
                    };
                    self.teller.begins(&stream);
                    self.streams.push(stream);
                }
            }
            Told::Measured(Event::Carried { thread, interval }) => {
                if let Some(stream) = self.streams.get(*thread as usize).copied() {
                    self.teller.interval(&stream, interval);
                }
            }
            Told::Measured(_) => {}
            Told::Back(event) => self.home.hear(&mut self.teller, event),
        }
    }

    fn ended(&mut self, course: &Course<'_>, outcome: &Outcome) {
        let udp = course.client.common.transport == Transport::Udp;
        for (found, stream) in outcome.found.iter().zip(self.streams.clone()) {
            let whole = Parts::of_all(&found.count, found.reads, found.latency);
            let parts = Parts { write_times: found.write_times, ..whole };
            // The one that ends a flow is a datagram too.
            let sent = (udp && stream.sends).then(|| found.count.carried.calls + 1);
            self.teller.ended(&stream, &parts, sent);
        }
        for (found, stream) in outcome.found.iter().zip(self.streams.clone()) {
            if let Some(report) = &found.report {
                self.teller.report(&stream, &parts::reported(report));
            } else if is_missing(course, found) {
                course.output.aside(&failure::no_report(stream.id));
            }
        }
        self.home.finish(&mut self.teller);
        let display = &course.client.common.display;
        if display.enhanced && display.form != Form::V2_2_1 && !udp && course.client.streams > 1 {
            let failed = course.client.streams as usize - self.connecting.len();
            self.teller.data(&connection::times(&self.connecting, failed).unwrap_or_default());
        }
    }
}

/// Reason for which the result is worth nothing, or not what was asked for; `None`: neither.
fn fault(course: &Course<'_>, outcome: &Outcome) -> Option<Answer> {
    let server = course.server();
    if let Some(fault) = outcome.found.iter().find_map(|found| match &found.ended {
        Ended::Broken(fault) => Some(fault.to_string()),
        _ => None,
    }) {
        let key = if course.client.key.is_some() { ": has the server this key?" } else { "" };
        return Some(failure::other(&format!("{server}: the test ended early: {fault}{key}")));
    }
    if outcome.found.iter().any(|found| found.ended == Ended::Stopped) {
        // Somebody interrupted it, or the server fell silent.
        return (!course.stop.requested()).then(|| failure::other(&format!("{server}: nothing came for too long")));
    }
    if outcome.found.iter().any(|found| is_missing(course, found)) {
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
    let is_alone = !matches!(course.client.kind, Kind::Reverse | Kind::FullDuplex);
    if course.client.key.is_some() && is_alone && outcome.found.iter().any(is_dropped) {
        return Some(failure::other(&format!("{server}: the server did not acknowledge the header: has it this key?")));
    }
    let nothing = outcome.found.iter().any(|found| found.count.carried.bytes.0 == 0);
    nothing.then(|| failure::other(&format!("{server}: nothing was carried")))
}

/// Returns true where a server's report was asked for and did not come.
fn is_missing(course: &Course<'_>, found: &Found) -> bool {
    let test = &course.test;
    let asked = test.datagrams && found.lane.sends && course.client.kind != Kind::FullDuplex && !test.silent;
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
