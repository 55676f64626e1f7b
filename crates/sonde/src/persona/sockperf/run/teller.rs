//! Output of a server while it serves: the original's lines on standard output, those it has not on standard error.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use endpoint::clock::Monotonic;
use endpoint::peer::sockperf::server::bound::{Bound, Kind};
use endpoint::peer::sockperf::server::event::Event;
use protocol::sockperf::gaps::Seen;
use protocol::sockperf::message::LengthError;
use protocol::sockperf::server::Malformed;

use crate::output::Output;
use crate::persona::sockperf::options::{Server, Transport};
use crate::persona::sockperf::output::activity::Ticker;
use crate::persona::sockperf::output::failure::{Errno, socket_error};
use crate::persona::sockperf::output::gaps;
use crate::persona::sockperf::output::start::{self, Endpoint};

/// Prints what happens.
#[derive(Debug)]
pub struct Teller {
    output: Arc<Output>,
    asked: Server,
    /// Addresses at which each socket listens; known once they are bound.
    sockets: OnceLock<Vec<Vec<Endpoint>>>,
    ticker: Option<Mutex<Ticker>>,
}

impl Teller {
    /// For a server that was asked for so.
    pub fn new(asked: &Server, output: &Arc<Output>) -> Self {
        let ticker = asked.common.activity.map(|activity| Mutex::new(Ticker::new(activity, Monotonic::now().0)));
        Self { output: Arc::clone(output), asked: asked.clone(), sockets: OnceLock::new(), ticker }
    }

    /// The sockets are bound.
    pub fn bound(&self, sockets: &[Bound]) {
        let endpoints = |socket: &Bound| {
            let transport = if socket.kind == Kind::Tcp { Transport::Tcp } else { Transport::Udp };
            socket.listens.iter().map(|address| Endpoint { address: *address, transport }).collect()
        };
        // They are bound once.
        let _set = self.sockets.set(sockets.iter().map(endpoints).collect());
    }

    /// Ends a line of dots, where there is one after so many messages.
    pub fn end_dots(&self, messages: u64) {
        let has_dots =
            |ticker: &Mutex<Ticker>| ticker.lock().unwrap_or_else(PoisonError::into_inner).has_dots(messages);
        if self.ticker.as_ref().is_some_and(has_dots) {
            self.output.result("\n");
        }
    }

    /// Something happened.
    pub fn tell(&self, event: &Event) {
        match event {
            Event::Serving { tid, sockets, .. } => self.say(&self.serving(*tid, sockets.clone())),
            Event::Buffers(got) => self.say(&start::buffers(got.descriptor, got.receive, got.send)),
            Event::Gaps { from, seen } => self.say(&gap(*from, *seen)),
            Event::Activity { messages, at } => self.tick(*messages, at.0),
            Event::Malformed { at, tcp, from, what } => self.malformed(*at, *tcp, *from, what),
            Event::TurnedAway { from, why } => self.note(*from, &format!("turned away: {why}")),
            Event::Unsent { to, cause } => self.note(*to, &format!("cannot be answered: {cause}")),
        }
    }

    fn serving(&self, tid: u32, sockets: Range<usize>) -> String {
        let own = self.sockets.get().and_then(|all| all.get(sockets)).unwrap_or_default();
        let warm_up = if self.asked.common.skip_warm_up { String::new() } else { start::warm_up() };
        start::server(&own.concat()) + &warm_up + &start::serving(&self.asked.common.place, tid.into())
    }

    fn tick(&self, messages: u64, at_ns: u64) {
        let Some(ticker) = &self.ticker else { return };
        // Printed under the lock: two threads never change places between a figure and its line.
        let mut ticker = ticker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = ticker.message(messages, at_ns) {
            self.say(&text);
        }
    }

    fn malformed(&self, at: SocketAddr, tcp: bool, from: Option<SocketAddr>, what: &Malformed) {
        if let Malformed::Length(LengthError::TooLong { .. }) = what {
            let transport = if tcp { Transport::Tcp } else { Transport::Udp };
            let text = "Message received was larger than expected, message ignored.";
            self.say(&socket_error(at, transport, text, Errno::NONE));
        }
        let end = if tcp { "its connection is closed" } else { "ignored" };
        self.note(from, &format!("{what}: {end}"));
    }

    fn say(&self, text: &str) {
        self.output.result(text);
    }

    fn note(&self, who: Option<SocketAddr>, what: &str) {
        let who = who.map(|who| format!("{}: ", plain(who))).unwrap_or_default();
        self.output.note(&format!("sockperf: {who}{what}\n"));
    }
}

fn gap(from: SocketAddr, seen: Seen) -> String {
    let from = plain(from);
    match seen {
        Seen::Nothing => String::new(),
        Seen::Started => gaps::started(from),
        Seen::Gap(gap) => gaps::gap(from, gap.missing, gap.first, gap.last),
        Seen::Ended { missing } => gaps::summary(from, missing),
    }
}

/// An IPv4 sender as such: to a socket of IPv6 its address is a mapped one.
pub fn plain(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip if ip.is_ipv4() => SocketAddr::new(ip, address.port()),
        _ => address,
    }
}
