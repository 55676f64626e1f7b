//! End of a running test: the client ends it, in whichever direction the data go.

use measure::unit::{Instant, Nanos};
use protocol::iperf3::code::Code;
use socket2::Socket;

use super::control::{Control, Heard};
use super::{Failure, Finish, Test, lost, now};
use crate::error::{Cause, EndpointError, Step};
use crate::pace;
use crate::peer::iperf3::course::Course;
use crate::peer::iperf3::streams::Ready;
use crate::stop::Stop;
use crate::tcp_info::TcpInfo;

/// Longest duration of one look; events are handed on between two.
const TURN: Nanos = Nanos::millis(20);
/// Longest wait of a test's end for sent payload to arrive, so that the server counts it. Beyond that the end is sent
/// as an iperf3 sends it: at once.
const ARRIVAL: Nanos = Nanos::millis(300);
/// A server reads its control connection before its data: payload that has arrived needs this time to be read.
const READ: Nanos = Nanos::millis(5);
/// Longest wait for the reason of a server that ended its streams.
const REASON: Nanos = Nanos::millis(300);

/// The end of one test.
#[derive(Debug)]
pub(super) struct Ending<'a> {
    control: &'a mut Control,
    course: &'a Course,
    stop: &'a Stop,
    peer: std::net::SocketAddr,
    /// Duration from the start of the streams; `None`: by the payload carried, or never.
    length: Option<Nanos>,
    /// True where our senders end by themselves in time.
    senders: bool,
    /// The sockets of our senders, to see whether what was sent has arrived.
    sent: Vec<Socket>,
    /// The server knows that the test is over.
    said: bool,
    finish: Finish,
    trouble: Option<Failure>,
}

impl<'a> Ending<'a> {
    /// The end of a test whose streams are `ready`.
    pub fn new(control: &'a mut Control, test: &Test, course: &'a Course, stop: &'a Stop, ready: &[Ready]) -> Self {
        let omit = Nanos::secs(u64::from(test.parameters.omit));
        let senders = ready.iter().filter(|stream| stream.connection.sends);
        // Without a second descriptor it is not seen whether all has arrived, and the end is said at once.
        let sent: Vec<Socket> = senders.filter_map(|stream| stream.way.socket().try_clone().ok()).collect();
        Self {
            peer: control.peer,
            control,
            course,
            stop,
            length: test.length().map(|length| Nanos(omit.0 + length.0)),
            senders: test.parameters.uploads() > 0,
            sent,
            said: false,
            finish: Finish::Complete,
            trouble: None,
        }
    }

    /// Waits a little, and ends the test where it is time.
    pub fn look(&mut self, began: Instant) {
        let turn = now().after(TURN);
        let due = self.length.map_or(Instant::NEVER, |length| began.after(length));
        let until = if self.said || now() >= due { turn } else { turn.min(due) };
        if let Some(heard) = self.control.watch(until) {
            return self.give_up(heard);
        }
        if self.stop.requested() && !self.said {
            self.control.terminate();
            return self.over(Finish::Stopped);
        }
        if self.said {
            return;
        }
        // Senders keep time by themselves, each from its own start; who only receives is stopped from here.
        if now() >= due && !self.senders {
            self.course.stop();
        }
        let senders_done = self.senders && self.course.sending() == 0;
        if senders_done || self.course.is_over() && self.course.sending() == 0 {
            self.end();
        }
    }

    /// The streams have ended: how.
    pub fn finish(mut self) -> (Finish, Option<Failure>) {
        if !self.said {
            if self.stop.requested() {
                self.control.terminate();
                self.over(Finish::Stopped);
            } else {
                // Streams that the server ended before time: it may say why.
                let early = !self.senders && !self.course.is_over();
                let until = if early { now().after(REASON) } else { now() };
                match self.control.watch(until) {
                    Some(heard) => self.give_up(heard),
                    None => self.end(),
                }
            }
        }
        (self.finish, self.trouble)
    }

    fn end(&mut self) {
        if self.course.is_silent() {
            self.control.terminate();
            let cause = Cause::Peer(Code::NOTHING_RECEIVED.to_string());
            let error = EndpointError::new(Step::Measure, self.peer, cause);
            self.trouble = Some(Failure::new(Code::NOTHING_RECEIVED, error));
            return self.over(Finish::Silent);
        }
        self.await_arrival();
        if let Err(failure) = self.control.end() {
            return self.give_up(Heard::Failed(failure));
        }
        self.over(Finish::Complete);
    }

    /// Waits, a moment at most, until the server has what we sent: the kernel has let go of it, and a round trip has passed
    /// (an acknowledgement may be kept back for longer than that).
    fn await_arrival(&self) {
        let give_up = now().after(ARRIVAL);
        let mut trip = READ;
        loop {
            let infos: Vec<TcpInfo> = self.sent.iter().filter_map(|socket| TcpInfo::of(socket).ok()).collect();
            trip = infos.iter().filter_map(|info| info.smoothed_rtt_ns).max().unwrap_or(trip).max(READ);
            let gone = infos.iter().all(|info| info.notsent_bytes.is_none_or(|bytes| bytes.0 == 0));
            if gone || now() >= give_up || self.stop.requested() {
                break;
            }
            pace::sleep_until(now().after(Nanos::millis(1)));
        }
        if !self.sent.is_empty() {
            pace::sleep_until(now().after(trip).min(give_up.max(now().after(READ))));
        }
    }

    fn give_up(&mut self, heard: Heard) {
        if self.said && self.finish != Finish::Complete {
            return self.course.end(now());
        }
        let (finish, trouble) = lost(heard);
        self.trouble = trouble;
        self.over(finish);
    }

    fn over(&mut self, finish: Finish) {
        (self.said, self.finish) = (true, finish);
        self.course.end(now());
    }
}
