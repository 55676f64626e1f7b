//! A session as lines and figures, while it happens, and the end of its wait for the last replies.

use std::sync::atomic::{AtomicBool, Ordering};

use endpoint::clock::Monotonic;
use endpoint::peer::irtt::client::link::{Moment, Sighting};
use endpoint::session::audience::Audience;
use endpoint::signal::Signal;
use endpoint::stop::Stop;
use measure::unit::{Instant, Nanos};
use protocol::irtt::reply::{Reply, Time};

use crate::output::Output;
use crate::persona::irtt::client::ending::{Call, Ending};
use crate::persona::irtt::client::options::Asked;
use crate::persona::irtt::client::output;
use crate::persona::irtt::client::trips::{Met, Trips};
use crate::persona::irtt::duration::rounded;
use crate::signal::Interruption;

/// The text of a run: on standard error where the JSON goes to standard output.
#[derive(Debug)]
pub struct Printer<'a> {
    /// Options of the run.
    pub asked: &'a Asked,
    /// Output of everything.
    pub output: &'a Output,
    /// Asked for the end where nobody reads any more.
    pub stop: &'a Stop,
    /// The signal that asked for the end.
    pub interruption: &'a Interruption,
    /// Set where SIGQUIT asked for it.
    pub quits: &'a AtomicBool,
    /// True once the signal was told.
    pub is_told: bool,
}

impl Printer<'_> {
    /// Says something, unless really quiet.
    pub fn say(&self, text: &str) {
        if text.is_empty() || self.asked.really_quiet {
            return;
        }
        if self.asked.output.as_deref() == Some("-") {
            self.output.aside(text);
        } else if !self.output.result(text) {
            self.stop.request();
        }
    }

    /// Tells the signal that asked for the end, once.
    pub fn tell_signal(&mut self) {
        let name = match self.interruption.signal() {
            Some(Signal::Interrupt) => "interrupt",
            Some(Signal::Hangup) => "hangup",
            Some(_) => "terminated",
            None if self.quits.load(Ordering::Relaxed) => "quit",
            None => return,
        };
        if !std::mem::replace(&mut self.is_told, true) {
            self.say(&format!("{name}\n"));
        }
    }
}

/// A session while it happens.
#[derive(Debug)]
pub struct Hearing<'a, 'b> {
    printer: &'a mut Printer<'b>,
    /// Addresses of the session.
    call: Call,
    /// Packets that are to leave.
    count: u64,
    /// Octets of each.
    length: usize,
    /// Start of the times by the monotonic clock: that of this program.
    start: Instant,
    trips: Trips,
    ending: Option<Ending>,
    /// The wait for the last replies, nanoseconds; absent: packets leave still.
    wait: Option<i64>,
    /// Its end.
    until: Instant,
    /// The latest look.
    looked: Instant,
    text: String,
}

/// All that was heard.
#[derive(Clone, Debug, PartialEq)]
pub struct Heard {
    /// The round trips.
    pub trips: Trips,
    /// The end before the time, where there was one.
    pub ending: Option<Ending>,
    /// The wait for the last replies, nanoseconds; absent: not all packets left.
    pub wait: Option<i64>,
    /// From the first packet to the end, nanoseconds.
    pub duration: i64,
}

impl<'a, 'b> Hearing<'a, 'b> {
    /// Before a packet left: `count` packets of `length` octets are to. `call` has the addresses of the session.
    pub fn new(printer: &'a mut Printer<'b>, call: Call, count: u64, length: usize, start: Instant) -> Self {
        Self {
            printer,
            call,
            count,
            length,
            start,
            trips: Trips::default(),
            ending: None,
            wait: None,
            until: Instant::NEVER,
            looked: start,
            text: String::new(),
        }
    }

    /// Asked for the end of the session.
    pub fn stop(&self) -> &'b Stop {
        self.printer.stop
    }

    /// Nothing more will be heard.
    pub fn finish(mut self) -> Heard {
        self.print();
        let began = self.trips.sent.map_or(0, |(first, _)| first);
        let end = self.monotonic(self.looked.min(self.until));
        let is_cut = self.looked < self.until && self.printer.stop.requested();
        let cancelled = is_cut.then_some(Ending::Cancelled);
        let duration = if self.trips.sent.is_some() { end.wrapping_sub(began) } else { 0 };
        Heard { trips: self.trips, ending: self.ending.or(cancelled), wait: self.wait, duration }
    }

    fn print(&mut self) {
        let text = std::mem::take(&mut self.text);
        self.printer.say(&text);
    }

    fn monotonic(&self, at: Instant) -> i64 {
        at.signed_since(self.start)
    }

    fn time(&self, at: Moment) -> Time {
        Time { wall: i64::try_from(at.wall).ok(), monotonic: Some(self.monotonic(at.monotonic)) }
    }

    fn sent(&mut self, began: Moment, ended: Instant) {
        let (at, behind) = (self.time(began), self.monotonic(ended));
        self.trips.sent(at, behind, self.length);
        if self.trips.calls.n < self.count {
            return;
        }
        let wait = self.printer.asked.wait.nanos(&self.trips.times).max(0);
        if wait > 0 {
            let server = self.call.server;
            let event = format!("[{server}] [WaitForPackets] waiting {} for final packets\n", rounded(wait));
            self.text.push_str(&event);
        }
        self.wait = Some(wait);
        self.until = ended.after(Nanos(wait.unsigned_abs()));
    }

    fn came(&mut self, at: Moment, length: usize, reply: &Reply) {
        // The original has closed its socket by then.
        if at.monotonic > self.until {
            return;
        }
        let at = self.time(at);
        let met = self.trips.came(at, length, reply);
        let number = reply.number as usize;
        match met {
            Met::Again => self.text += &output::again(reply.number),
            Met::New { is_late } if !self.printer.asked.quiet => {
                let before = self.trips.before(number);
                let trip = self.trips.all.get(number);
                let line = trip.map(|trip| output::line(reply.number, trip, before, is_late));
                self.text += &line.unwrap_or_default();
            }
            Met::New { .. } | Met::Stray => {}
        }
    }
}

impl Audience<Sighting> for Hearing<'_, '_> {
    fn hear(&mut self, sighting: Sighting) {
        match sighting {
            Sighting::Sent { began, ended, .. } => self.sent(began, ended),
            Sighting::Came { at, length, reply } => self.came(at, length, &reply),
            Sighting::Closed => self.ending = self.ending.or(Some(Ending::Closed)),
            Sighting::Failed { sends, errno } => {
                let name = if sends { "write" } else { "read" };
                self.ending = self.ending.or(Some(Ending::Call(Call { name, errno, ..self.call })));
            }
        }
    }

    fn enough(&mut self) -> bool {
        self.print();
        self.printer.tell_signal();
        self.looked = Monotonic::now();
        self.ending.is_some() || self.looked >= self.until
    }
}

#[cfg(test)]
mod tests;
