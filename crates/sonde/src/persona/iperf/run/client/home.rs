//! Streams that the server opens itself (`-d`, `-r`), as the client reports them.

use std::collections::BTreeMap;

use endpoint::peer::iperf::server::event::{Began, Event, Transport as Over};

use crate::persona::iperf::options::Transport;
use crate::persona::iperf::output::connection::Connection;
use crate::persona::iperf::output::line::Tag;
use crate::persona::iperf::run::parts::Parts;
use crate::persona::iperf::run::place;
use crate::persona::iperf::run::teller::{Stream, Teller};

/// Streams of the server's.
pub struct Home {
    next: u32,
    enhanced: bool,
    streams: BTreeMap<u64, Stream>,
    /// Streams that ended while ours went on: told of behind them.
    held: Vec<(Stream, Parts)>,
}

impl Home {
    /// They are numbered from `first`.
    pub fn new(first: u32, enhanced: bool) -> Self {
        Self { next: first, enhanced, streams: BTreeMap::new(), held: Vec::new() }
    }

    /// Something happened.
    pub fn hear(&mut self, teller: &mut Teller<'_>, event: &Event) {
        match event {
            Event::Began(began) => self.began(teller, began),
            Event::Interval { test, interval, .. } => {
                if let Some(stream) = self.streams.get(test) {
                    teller.interval(stream, interval);
                }
            }
            Event::Ended(ended) => {
                if let Some(stream) = self.streams.remove(&ended.test) {
                    self.held.push((stream, Parts::of_all(&ended.count, ended.reads, ended.latency)));
                }
            }
            Event::Bounced { .. } | Event::Failed { .. } => {}
        }
    }

    /// Tells of all that have ended.
    pub fn finish(&mut self, teller: &mut Teller<'_>) {
        for (stream, parts) in self.held.drain(..) {
            teller.ended(&stream, &parts, None);
        }
    }

    fn began(&mut self, teller: &mut Teller<'_>, began: &Began) {
        let id = self.next;
        self.next += 1;
        let local = place::towards(began.local, began.peer);
        let stream = Stream {
            id,
            tag: Tag::Stream(id),
            transport: if began.transport == Over::Udp { Transport::Udp } else { Transport::Tcp },
            sends: false,
            local,
            peer: began.peer,
            enhanced: self.enhanced,
            timed: false,
            isochronous: false,
            summed: false,
        };
        teller.connection(&Connection { tag: stream.tag, local, device: None, peer: began.peer, marks: Vec::new() });
        teller.begins(&stream);
        self.streams.insert(began.test, stream);
    }
}
