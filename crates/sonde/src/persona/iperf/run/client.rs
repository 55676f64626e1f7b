//! A client: whom it asks is said, then it sends, receives or both, and says what came of it.

pub mod bounce;
pub mod connect;
pub mod home;
pub mod load;
pub mod record;
pub mod streams;
pub mod task;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use endpoint::clock;
use endpoint::error::{Cause, EndpointError, Step};
use endpoint::peer::iperf::client::{Opened, Test};
use endpoint::stop::Stop;
use logbook::moment::Moment;
use measure::method::Asked;
use measure::outcome::SocketFacts;

use crate::exit::Exit;
use crate::output::Output;
use crate::persona::answer::Answer;
use crate::persona::iperf::options::{Amount, Client, Form, Kind, Own, Transport};
use crate::persona::iperf::output::banner::{self, Sending, Window};
use crate::persona::iperf::output::connection::{Connection, Mark};
use crate::persona::iperf::output::line::{self, Tag};
use crate::persona::iperf::output::{failure, moment};
use crate::persona::iperf::run::place;
use crate::persona::process;
use crate::persona::record::Keeping;
use crate::signal::Interruption;
use crate::words;

/// Measures and prints. `command` is the whole command line.
///
/// # Errors
/// The text that is printed in place of a result.
pub fn run(client: &Client, own: &Own, command: &[String], output: &Arc<Output>) -> Result<Exit, Answer> {
    let keeping = Keeping::of(own.record.as_deref(), own.json)?;
    if let Some(path) = &client.common.output {
        place::redirect(path, |text| {
            output.result(text);
        })?;
    }
    let client = &task::whole(client)?;
    let stop = Stop::default();
    let interruption =
        process::heed(&stop).map_err(|error| failure::other(&format!("cannot wait for signals: {error}")))?;
    let server = place::server(&client.host, client.port, client.common.ipv6, &stop)?;
    let local = place::local(&client.common.bind, server.ip(), &stop)?;
    let asked = task::asked(client, local);
    let test = task::test(client, server, &asked)?;
    place::wait(client.start, &stop)?;
    let course = Course {
        client,
        command,
        output,
        silent: own.json,
        stop,
        interruption,
        asked,
        test,
        keeping,
        started: record::now(),
        offset_before: clock::wall_offset(),
    };
    match client.kind {
        Kind::Bounceback(bounce) => bounce::run(&course, bounce),
        Kind::ConnectOnly(count) => connect::run(&course, count),
        _ => streams::run(&course),
    }
}

/// A run on its way.
pub struct Course<'a> {
    client: &'a Client,
    command: &'a [String],
    output: &'a Arc<Output>,
    silent: bool,
    stop: Stop,
    interruption: Interruption,
    asked: Asked,
    test: Test,
    keeping: Keeping,
    started: Moment,
    offset_before: i128,
}

impl Course<'_> {
    /// Prints, unless the record is all that is printed.
    fn print(&self) -> impl Fn(&str) + Send + Sync + 'static {
        let (output, silent, key) = (Arc::clone(self.output), self.silent, self.client.key.clone());
        move |text| {
            if !silent && !text.is_empty() {
                output.result(&line::keyed(text, key.as_deref()));
            }
        }
    }

    /// Lines before the test. `facts`: those of a socket as it will be.
    fn banner(&self, facts: &SocketFacts) -> String {
        let client = self.client;
        let bytes = u32::try_from(facts.send_buffer_bytes.unwrap_or_default().0).unwrap_or(u32::MAX);
        let sending = Sending {
            window: Window { bytes, asked: client.common.window },
            congestion: facts.congestion.as_deref(),
            mss_bytes: facts.mss_bytes.and_then(|bytes| u32::try_from(bytes.0).ok()),
            length: u32::try_from(self.test.size()).unwrap_or(u32::MAX),
            pid: std::process::id(),
        };
        banner::client(client, &sending)
    }

    /// A socket as those of the test will be: its buffers are told before there is a connection.
    fn facts(&self) -> SocketFacts {
        place::fresh(self.test.server, self.test.datagrams, &self.test.method.socket)
    }

    /// Reason for which a test did not come to anything, in the original's words where it has some.
    fn not_run(&self, error: EndpointError) -> Answer {
        let reached = self.client.common.transport == Transport::Tcp && error.step == Step::ConnectData;
        match &error.cause {
            Cause::System(cause) if reached => {
                let hint = words::hint(&error).map(|hint| format!("hint:  {hint}\n")).unwrap_or_default();
                let answer = failure::connect(&place::said(cause));
                Answer { stderr: answer.stderr + &hint, ..answer }
            }
            _ => place::told(error),
        }
    }

    /// Returns true where connecting is to be tried again.
    fn may_retry(&self, error: &EndpointError, tried: u32) -> bool {
        let refused = |cause: &io::Error| cause.kind() == io::ErrorKind::ConnectionRefused;
        let passing = matches!(&error.cause, Cause::System(cause) if refused(cause));
        passing && error.step == Step::ConnectData && tried < self.client.retries && !self.stop.requested()
    }

    /// The status of a run by amount that a signal ended: the rest is missing. One by time is a shorter run.
    fn cut_short(&self) -> Option<Answer> {
        let signal = self.interruption.signal()?;
        let status = 128 + u8::try_from(signal.number()).unwrap_or_default();
        let counted = matches!(self.client.amount, Amount::Bytes(_));
        counted.then(|| Answer { status, ..failure::other(&format!("{}: the amount was not reached", signal.name())) })
    }

    /// The end of a run: its status, and the record where that is printed.
    fn end(&self, document: Option<String>, fault: Option<Answer>) -> Result<Exit, Answer> {
        if let Some(document) = document {
            self.output.result(&document);
        }
        fault.or_else(|| self.cut_short()).map_or(Ok(Exit::Done), Err)
    }

    fn server(&self) -> SocketAddr {
        self.test.server
    }
}

/// The line of a connection of this client's test.
fn connection(client: &Client, test: &Test, opened: &Opened) -> Connection {
    let Client { common, kind, .. } = client;
    let mut marks: Vec<Mark> = client.prefetch.map(Mark::Prefetch).into_iter().collect();
    if let Kind::Bounceback(bounce) = kind {
        let hold_us = u64::from(bounce.hold_ms) * 1_000;
        let bytes = u32::try_from(test.method.traffic.request_bytes().0).unwrap_or(u32::MAX);
        marks.push(Mark::Bounces { quickack: bounce.quickack, bytes, reply: bounce.reply.unwrap_or(bytes), hold_us });
    }
    let udp = common.transport == Transport::Udp;
    marks.extend(client.frames.filter(|frames| frames.are_isochronous()).map(|_| Mark::Isochronous));
    marks.extend((*kind == Kind::Reverse).then_some(Mark::Reverse));
    marks.extend((*kind == Kind::FullDuplex).then_some(Mark::FullDuplex));
    marks.extend((udp && *kind == Kind::FullDuplex || client.no_report).then_some(Mark::NoUdpFin));
    marks.extend(client.trip_times.then_some(Mark::TripTimes));
    let enhanced = common.display.enhanced;
    let named = common.congestion.clone().filter(|_| !udp && common.display.form == Form::V2_2_1);
    marks.extend(named.map(Mark::Congestion));
    marks.extend(common.tos.filter(|octet| enhanced && *octet > 0).map(Mark::Service));
    marks.extend(client.quick_acks.then_some(Mark::QuickAcks));
    let tells_tcp = enhanced || common.display.form != Form::V2_2_1;
    marks.extend(opened.tcp.as_ref().filter(|_| tells_tcp).and_then(tcp_mark));
    if enhanced || matches!(kind, Kind::ConnectOnly(_)) {
        marks.extend((!udp).then_some(Mark::Connected(opened.connecting)));
        let now = moment::shown(record::zoned(), common.display.utc);
        marks.push(Mark::On(moment::spoken(&now, common.display.form)));
    }
    Connection {
        tag: Tag::Stream(opened.stream + 1),
        local: opened.local,
        device: common.bind.device.clone().filter(|_| enhanced),
        peer: opened.remote,
        marks,
    }
}

/// TCP's figures of a connection at its beginning.
pub fn tcp_mark(tcp: &measure::interval::glance::TcpGlance) -> Option<Mark> {
    let window = tcp.cwnd_bytes?.0 / 1024;
    let (segment, rtt) = (tcp.mss_bytes?.0, tcp.rtt_ns?.0 / 1_000);
    let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    Some(Mark::Tcp { window: small(window), segment: small(segment), rtt_us: small(rtt) })
}
