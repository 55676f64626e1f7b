//! Output of a server on its tests, from whichever thread.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use endpoint::peer::iperf::server::event::{Began, Ended, Event, Kind, Transport as Over};
use endpoint::stop::Stop;
use measure::method::SocketOptions;
use measure::unit::{Bytes, Nanos};
use protocol::iperf::wish::{Frames, Pace, Way, Wish};

use crate::output::Output;
use crate::persona::iperf::options::{Form, Rate, Server, Transport};
use crate::persona::iperf::output::banner::{self, Place, Sending, Window};
use crate::persona::iperf::output::connection::{Connection, Mark};
use crate::persona::iperf::output::histogram::Histogram;
use crate::persona::iperf::output::line::{self, Span, Tag};
use crate::persona::iperf::output::moment;
use crate::persona::iperf::run::client::{record, tcp_mark};
use crate::persona::iperf::run::parts::{self, Parts};
use crate::persona::iperf::run::place;
use crate::persona::iperf::run::teller::{Stream, Teller};

/// Hears of tests, and tells of them.
pub struct Desk {
    asked: Server,
    output: Arc<Output>,
    stop: Stop,
    state: Mutex<State>,
}

struct State {
    teller: Teller<'static>,
    /// Streams by their test and way.
    streams: BTreeMap<(u64, bool), Stream>,
    /// Requests of the tests that go on.
    wishes: BTreeMap<u64, Wish>,
    /// Bytes of a message and its answer, of tests of these.
    bounces: BTreeMap<u64, u64>,
    last_id: u32,
    over: u32,
}

impl Desk {
    /// Nothing has come yet; `stop` is asked for after as many connections as the command line says.
    pub fn new(asked: &Server, output: &Arc<Output>, stop: &Stop) -> Self {
        let out = Arc::clone(output);
        let key = asked.key.as_ref().and_then(|key| key.key.clone());
        let print = move |text: &str| {
            if !text.is_empty() {
                out.result(&line::keyed(text, key.as_deref()));
            }
        };
        let state = State {
            teller: Teller::new(&asked.common.display, true, record::zoned, print),
            streams: BTreeMap::new(),
            wishes: BTreeMap::new(),
            bounces: BTreeMap::new(),
            last_id: 0,
            over: 0,
        };
        Self { asked: asked.clone(), output: Arc::clone(output), stop: stop.clone(), state: Mutex::new(state) }
    }

    /// Something happened.
    pub fn hear(&self, event: &Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Began(began) => self.began(&mut state, began),
            Event::Interval { test, sends, interval } => {
                let state = &mut *state;
                if let Some(stream) = state.streams.get(&(*test, *sends)) {
                    state.teller.interval(stream, interval);
                }
            }
            Event::Ended(ended) => self.ended(&mut state, ended),
            Event::Bounced { test, replies, elapsed } => self.bounced(&mut state, *test, *replies, *elapsed),
            Event::Failed { peer, why } => {
                let peer = peer.map_or_else(String::new, |peer| format!("{peer}: "));
                self.output.aside(&format!("iperf: {peer}{why}\n"));
            }
        }
    }

    fn began(&self, state: &mut State, began: &Began) {
        state.last_id += 1;
        let id = state.last_id;
        let back = matches!(began.kind, Kind::Back(_));
        if let Kind::Back(asked) = began.kind {
            let rate = state.wishes.get(&asked).and_then(|wish| wish.pace);
            let text = self.connecting(began, rate);
            state.teller.settings(&text);
        }
        let wish = match began.kind {
            Kind::Asked(wish) => Some(wish),
            _ => None,
        };
        let tag = if back { Tag::Turned(id) } else { Tag::Stream(id) };
        state.teller.connection(&self.connection(began, tag, wish.as_ref()));
        if let Some(wish) = wish {
            state.wishes.insert(began.test, wish);
        }
        if let Kind::Bounce(bounce) = began.kind {
            state.bounces.insert(began.test, u64::from(bounce.size) * 2);
        }
        let trip_times = wish.is_some_and(|wish| wish.trip_times.is_some());
        let stream = Stream {
            id,
            tag,
            transport: if began.transport == Over::Udp { Transport::Udp } else { Transport::Tcp },
            sends: back || wish.is_some_and(|wish| wish.way == Way::Reverse),
            local: place::towards(began.local, began.peer),
            peer: began.peer,
            enhanced: self.asked.common.display.enhanced || trip_times,
            timed: trip_times,
            isochronous: wish.is_some_and(|wish| wish.frames == Some(Frames::Isochronous)),
            summed: true,
        };
        Self::joins(state, began.test, stream);
        if wish.is_some_and(|wish| wish.way == Way::Duplex) {
            Self::joins(state, began.test, Stream { tag: Tag::Turned(id), sends: true, ..stream });
        }
    }

    fn joins(state: &mut State, test: u64, stream: Stream) {
        state.teller.begins(&stream);
        state.streams.insert((test, stream.sends), stream);
    }

    fn ended(&self, state: &mut State, ended: &Ended) {
        let Some(stream) = state.streams.remove(&(ended.test, ended.sends)) else { return };
        let parts = Parts::of_all(&ended.count, ended.reads, ended.latency);
        // The one that ends a flow is a datagram too.
        let sent = (stream.transport == Transport::Udp && stream.sends).then(|| ended.count.carried.calls + 1);
        state.teller.ended(&stream, &parts, sent);
        if let Some(bins) = &ended.bins {
            let name = if stream.transport == Transport::Udp { "T8(f)" } else { "F8(f)" };
            let line = Histogram::kept(bins).line(stream.tag, parts.span, name, state.teller.style());
            state.teller.data(&line);
        }
        if let Some(report) = ended.report.as_ref().filter(|_| stream.sends) {
            state.teller.report(&stream, &parts::reported(report));
        }
        if let Some(why) = ended.cut_short.as_ref().filter(|_| !self.stop.requested()) {
            self.output.aside(&format!("iperf: {}: cut short: {why}\n", stream.peer));
        }
        let goes_on = state.streams.contains_key(&(ended.test, !ended.sends));
        let wish = state.wishes.get(&ended.test).copied();
        if !goes_on {
            // A stream that is still to be opened back ends the test.
            let awaits = wish.is_some_and(|wish| wish.back.is_some());
            self.over(state, u32::from(!awaits));
        }
    }

    fn bounced(&self, state: &mut State, test: u64, replies: u64, elapsed: Nanos) {
        let Some(stream) = state.streams.remove(&(test, false)) else { return };
        let bytes = state.bounces.remove(&test).unwrap_or(0) * replies;
        let parts = Parts {
            span: Span { from: Nanos::ZERO, to: elapsed },
            bytes,
            calls: replies,
            failed: 0,
            tcp: None,
            flying: None,
            reported: false,
            datagrams: None,
            frames: None,
            reads: None,
            bursts: None,
            write_times: None,
        };
        state.teller.ended(&stream, &parts, None);
        self.over(state, 1);
    }

    /// So many tests more are over.
    fn over(&self, state: &mut State, count: u32) {
        state.over += count;
        if self.asked.connections.is_some_and(|most| state.over >= most) {
            self.stop.request();
        }
    }

    /// Lines before a connection that we make.
    fn connecting(&self, began: &Began, pace: Option<Pace>) -> String {
        let common = &self.asked.common;
        let rate = pace.map(|pace| match pace {
            Pace::Bits(bits) => Rate::Bits(bits),
            Pace::Packets(packets) => Rate::Packets(packets),
        });
        let host = began.peer.ip().to_canonical().to_string();
        let options = SocketOptions {
            send_buffer_bytes: common.window.map(|bytes| Bytes(bytes.into())),
            ..SocketOptions::default()
        };
        let facts = place::fresh(began.peer, began.transport == Over::Udp, &options);
        let bytes = facts.send_buffer_bytes.unwrap_or_default();
        let sending = Sending {
            window: Window { bytes: u32::try_from(bytes.0).unwrap_or(u32::MAX), asked: common.window },
            mss_bytes: None,
            congestion: facts.congestion.as_deref(),
            length: common.bytes(began.peer.is_ipv6()),
            pid: std::process::id(),
        };
        banner::connecting_back(
            common,
            &Place { host: &host, port: began.peer.port(), streams: 1, load: 0 },
            rate,
            &sending,
        )
    }

    fn connection(&self, began: &Began, tag: Tag, wish: Option<&Wish>) -> Connection {
        let display = &self.asked.common.display;
        let udp = began.transport == Over::Udp;
        let mut marks = Vec::new();
        if let Kind::Bounce(bounce) = began.kind {
            let quickack = bounce.flags.has(protocol::iperf::bounce::BounceFlags::QUICK);
            let reply = bounce.reply_octets().and_then(|octets| u32::try_from(octets).ok()).unwrap_or(bounce.size);
            marks.push(Mark::Bounces { quickack, bytes: bounce.size, reply, hold_us: bounce.hold_us.into() });
            let timed = bounce.flags.has(protocol::iperf::bounce::BounceFlags::CLOCKS);
            marks.extend(timed.then_some(Mark::TripTimes));
        }
        marks.extend(matches!(began.kind, Kind::Back(_)).then_some(Mark::Reverse));
        let mut enhanced = display.enhanced;
        if let Some(wish) = wish {
            marks.extend(wish.prefetch.map(Mark::Prefetch));
            marks.extend(wish.frames.map(|frames| match frames {
                Frames::Isochronous => Mark::Isochronous,
                Frames::Periodic(per_second) => Mark::Bursts(1.0 / per_second),
            }));
            marks.extend(match wish.way {
                Way::Upload => None,
                Way::Reverse => Some(Mark::Reverse),
                Way::Duplex => Some(Mark::FullDuplex),
            });
            marks.extend((udp && !wish.reported).then_some(Mark::NoUdpFin));
            marks.extend(wish.trip_times.map(|_| Mark::TripTimes));
            enhanced |= wish.trip_times.is_some() || matches!(wish.frames, Some(Frames::Periodic(_)));
            if enhanced {
                let octet = u8::try_from(wish.service).ok().filter(|octet| *octet > 0);
                marks.extend(octet.map(Mark::Service));
                marks.extend(wish.version.map(|version| Mark::Peer(version.numbers(), version.status())));
            }
        }
        marks.extend(wish.filter(|wish| wish.quick_acks).map(|_| Mark::QuickAcks));
        let tells_tcp = enhanced || display.form != Form::V2_2_1;
        marks.extend(began.tcp.as_ref().filter(|_| tells_tcp).and_then(tcp_mark));
        let answers = display.form == Form::V2_2_1 && wish.is_some_and(|wish| wish.way == Way::Reverse);
        if enhanced && !answers {
            marks.push(Mark::On(moment::spoken(&moment::shown(record::zoned(), display.utc), display.form)));
        }
        let device = self.asked.common.bind.device.clone().filter(|_| enhanced);
        Connection { tag, local: place::towards(began.local, began.peer), device, peer: began.peer, marks }
    }
}
