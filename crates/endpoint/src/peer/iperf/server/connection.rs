//! One connection: its beginning, and the test that it asks for.

use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;

use measure::interval::bins::Bins;
use measure::served::{RefusalReason, SessionEnd};
use measure::throughput::Carried;
use measure::unit::Nanos;
use protocol::iperf::ack::{Ack, Times};
use protocol::iperf::first::{Beginning, First};
use protocol::iperf::flag::{Flags, Upper};
use protocol::iperf::settings::{Amount, Base, Extension, Version};
use protocol::iperf::time::Stamp;
use protocol::iperf::wish::{Acknowledged, Back, Pace, Quantity, Way, Wish};
use socket2::Socket;

use super::event::{Began, Ended, Event, Kind, Transport};
use super::{Shared, back, bounce};
use crate::engine::stream::{self, Halt, Plan, Streamed};
use crate::engine::{self, Ended as How};
use crate::peer::iperf::course::{self, Idle};
use crate::peer::iperf::tcp::{self, HEADER, NoBeginning, Reader, Writer, wall};
use crate::peer::iperf::usual;
use crate::serve::book::Session;
use crate::serve::visits::Visit;
use crate::socket::tuning::Tuning;
use crate::tcp_info::TcpInfo;

/// Longest wait for a client to end its half after we ended ours.
const LINGER: Nanos = Nanos::secs(5);

/// Reason for which a client is refused that wants frames sent to it.
pub(super) const NO_FRAMES: &str = "asks for frames, which this server sends none of";

/// Serves a connection to its end.
pub(super) fn serve(socket: &Socket, peer: SocketAddr, shared: &Arc<Shared>, visit: &Visit) {
    let (beginning, octets) = match tcp::beginning(socket, visit.since().after(HEADER), &shared.hall.stop) {
        Ok(begun) => begun,
        Err(NoBeginning::Stopped) => return shared.fail(Some(peer), &NoBeginning::Stopped),
        Err(why) => return shared.refuse(peer, RefusalReason::Protocol, &why),
    };
    if let Err(why) = shared.settings.permits(&beginning) {
        return shared.refuse(peer, RefusalReason::Key, &why);
    }
    visit.known();
    let session = Arc::new(shared.settings.door.book.begin(peer, false, || name(&beginning).to_owned()));
    let connection = Connection { socket, peer, shared, test: shared.number(), session };
    match beginning {
        Beginning::Plain => {
            connection.began(Kind::Plain);
            connection.receive(octets.len(), None, false);
        }
        Beginning::Bounce { size } => bounce::serve(&connection, octets, size),
        Beginning::Test(first) => connection.serve(&first, octets.len()),
    }
}

/// A connection that is served.
pub(super) struct Connection<'a> {
    pub socket: &'a Socket,
    pub peer: SocketAddr,
    pub shared: &'a Arc<Shared>,
    pub test: u64,
    pub session: Arc<Session>,
}

impl Connection<'_> {
    pub fn began(&self, kind: Kind) {
        let local = self.socket.local_addr().ok().and_then(|local| local.as_socket()).unwrap_or(self.peer);
        let tcp = TcpInfo::of(self.socket).ok().map(|info| info.glance());
        let began = Began { test: self.test, transport: Transport::Tcp, local, peer: self.peer, kind, tcp };
        self.shared.telling.tell(&Event::Began(Box::new(began)));
    }

    fn serve(&self, first: &First, octets: usize) {
        let received = Stamp::of(wall());
        let wish = Wish::of_first(first);
        if wish.way != Way::Upload && wish.frames.is_some() {
            self.session.ends(SessionEnd::Fault);
            return self.shared.refuse(self.peer, RefusalReason::Unable, &NO_FRAMES);
        }
        self.began(Kind::Asked(wish));
        if let Err(error) = self.acknowledge(&wish, received) {
            return self.shared.fail(Some(self.peer), &format_args!("cannot acknowledge the header: {error}"));
        }
        let tuning = Tuning { unsent_bytes: wish.prefetch, quick_acks: wish.quick_acks, ..Tuning::default() };
        // Best effort, as in the original: the stream is as it is without it, and the client says what it asked for.
        let _asked = tuning.apply(self.socket, self.peer);
        self.connect_back(&wish, |back| back.now);
        match wish.way {
            Way::Upload => self.receive(octets, wish.pace, wish.trip_times.is_some()),
            Way::Reverse => {
                send(self.socket, self.peer, (self.test, &self.session), self.shared, &wish, first);
                tcp::drain(self.socket, LINGER, &self.shared.hall.stop, |_| {});
            }
            Way::Duplex => self.both(&wish, first, octets),
        }
        self.connect_back(&wish, |back| !back.now);
    }

    fn acknowledge(&self, wish: &Wish, received: Stamp) -> std::io::Result<()> {
        let times = match wish.acknowledged {
            Acknowledged::Not => return Ok(()),
            Acknowledged::Plainly => None,
            Acknowledged::WithTimes => {
                Some(Times { start: wish.trip_times.unwrap_or_default(), received, sent: Stamp::of(wall()) })
            }
        };
        tcp::send_all(self.socket, &Ack::new(times).encode(), &self.shared.hall.stop)
    }

    fn connect_back(&self, wish: &Wish, is_due: impl Fn(&Back) -> bool) {
        if let Some(back) = wish.back.filter(is_due) {
            back::open(self.shared, self.test, self.peer, back.port, *wish, Transport::Tcp);
        }
    }

    /// The thread of the connection receives; another one sends.
    fn both(&self, wish: &Wish, first: &First, octets: usize) {
        let sending = self.socket.try_clone();
        let (peer, test, wish_of_it, first) = (self.peer, self.test, *wish, first.clone());
        let session = Arc::clone(&self.session);
        match sending {
            Ok(socket) => {
                self.shared.send_on_thread(peer, move |shared| {
                    send(&socket, peer, (test, &session), shared, &wish_of_it, &first);
                });
            }
            Err(error) => return self.shared.fail(Some(peer), &format_args!("cannot send as well: {error}")),
        }
        self.receive(octets, wish.pace, wish.trip_times.is_some());
    }

    /// Takes what comes to its end.
    fn receive(&self, early: usize, pace: Option<Pace>, in_bursts: bool) {
        let Self { socket, peer, shared, test, ref session } = *self;
        let size = shared.settings.read_bytes.map_or(usual::WRITE, |bytes| bytes as usize);
        let socket = match socket.try_clone() {
            Ok(socket) => socket,
            Err(error) => return shared.fail(Some(peer), &error),
        };
        let reader = Reader::new(socket, size, early);
        let reader = if in_bursts { reader.in_bursts(shared.settings.bins.map(Bins::new)) } else { reader };
        let slow = pace.map_or(Nanos::ZERO, |pace| pace.gap(size.max(usual::WRITE)));
        let idle = Idle::new(shared.settings.limits.idle.max(Nanos(slow.0.saturating_mul(4))));
        let halt = |carried: &Carried| idle.is_over(carried);
        let plan = Plan {
            interval: shared.settings.interval(),
            intervals: course::KEPT,
            halt: Some(Halt(&halt)),
            ..Plan::unbounded(&shared.hall.stop)
        };
        let Streamed { way, metered, ended } = stream::run(reader, &plan, shared.telling.outlet(test, false));
        let Some(count) = metered.streams.into_iter().next() else { return };
        session.moved(count.carried.bytes.0, 0);
        session.ends(end_of(ended, shared));
        let cut_short = why(ended, shared);
        let (latency, reads, bins) = (way.latency(), Some(way.reads()), way.bins().cloned());
        shared.telling.ended(Ended { test, sends: false, count, cut_short, latency, bins, reads, report: None });
    }
}

/// Kind of a connection, in words of its protocol.
fn name(beginning: &Beginning) -> &'static str {
    match beginning {
        Beginning::Plain => "a stream from the client, without a header",
        Beginning::Bounce { .. } => "requests and replies",
        Beginning::Test(first) => name_of(&Wish::of_first(first)),
    }
}

/// Kind of the test that a client asks for, in words.
pub(super) fn name_of(wish: &Wish) -> &'static str {
    match wish.way {
        Way::Upload => "a stream from the client",
        Way::Reverse => "a stream to the client",
        Way::Duplex => "streams both ways",
    }
}

/// Cause of a stream's end, for the book.
pub(super) fn end_of(ended: How, shared: &Shared) -> SessionEnd {
    match ended {
        engine::Ended::Complete => SessionEnd::Closed,
        engine::Ended::Stopped if shared.hall.stop.requested() => SessionEnd::Stopping,
        engine::Ended::Stopped => SessionEnd::Idle,
        engine::Ended::Broken(_) => SessionEnd::Fault,
    }
}

/// Reason for a stream's early end, in words; `None`: it was complete.
pub(super) fn why(ended: How, shared: &Shared) -> Option<String> {
    match ended {
        engine::Ended::Complete => None,
        engine::Ended::Stopped if shared.hall.stop.requested() => Some("the server stops".into()),
        engine::Ended::Stopped => Some("nothing went for too long".into()),
        engine::Ended::Broken(fault) => Some(fault.to_string()),
    }
}

/// Sends what was asked for over the client's own connection, and ends our half of it.
fn send(socket: &Socket, peer: SocketAddr, of: (u64, &Session), shared: &Arc<Shared>, wish: &Wish, first: &First) {
    let mut early = 0;
    if wish.trip_times.is_some() {
        let header = own_header(first).encode();
        if let Err(error) = tcp::send_all(socket, &header, &shared.hall.stop) {
            return shared.fail(Some(peer), &format_args!("cannot send a header: {error}"));
        }
        early = header.len();
    }
    let Ok(socket) = socket.try_clone() else { return };
    let writer = Writer::new(socket, write_size(wish, shared), early, course::bytes(wish.quantity));
    let writer = if early > 0 { writer.in_bursts() } else { writer };
    stream_out(writer, wish, of, shared);
}

/// Octets of a write that a client asks for, as far as it may.
pub(super) fn write_size(wish: &Wish, shared: &Shared) -> usize {
    let asked = wish.buffer.map_or(usual::WRITE, |bytes| bytes as usize);
    asked.clamp(1, (shared.settings.limits.write_bytes as usize).max(1))
}

/// Sends over a connection until the amount is reached, and ends our half of it.
pub(super) fn stream_out(writer: Writer, wish: &Wish, (test, session): (u64, &Session), shared: &Shared) {
    let size = write_size(wish, shared);
    let interval = shared.settings.interval();
    let idle = Idle::new(shared.settings.limits.idle.max(course_gap(wish.pace, size)));
    let halt = |carried: &Carried| idle.is_over(carried);
    let plan = Plan {
        intervals: course::KEPT,
        halt: Some(Halt(&halt)),
        ..course::sending(bounded(wish.quantity, shared), wish.pace, size, interval, &shared.hall.stop)
    };
    let Streamed { mut way, metered, ended } = stream::run(writer, &plan, shared.telling.outlet(test, true));
    let rest = way.complete(&shared.hall.stop);
    // A client that is gone has no use for it.
    let _gone = way.socket().shutdown(Shutdown::Write);
    let Some(mut count) = metered.streams.into_iter().next() else { return };
    count.carried.bytes.0 += rest;
    session.moved(0, count.carried.bytes.0);
    session.ends(end_of(ended, shared));
    let cut_short = why(ended, shared);
    let (latency, bins, reads, report) = (None, None, None, None);
    shared.telling.ended(Ended { test, sends: true, count, cut_short, latency, bins, reads, report });
}

fn course_gap(pace: Option<Pace>, size: usize) -> Nanos {
    Nanos(pace.map_or(0, |pace| pace.gap(size).0).saturating_mul(4))
}

/// Limits the quantity that a client asks for.
pub(super) fn bounded(quantity: Quantity, shared: &Shared) -> Quantity {
    match quantity {
        Quantity::Time(time) => Quantity::Time(time.min(shared.settings.limits.longest)),
        bytes @ Quantity::Bytes(_) => bytes,
    }
}

/// Header that a server sends before bursts: as an upload's of the same settings.
fn own_header(first: &First) -> First {
    let start = Stamp::of(wall());
    let base = Base { flags: Flags::EXTENDED, ..first.base };
    let extension = first.extension.unwrap_or_default();
    let extension = Extension { upper: Upper::TRIP_TIMES, version: Version::OURS, ..extension };
    let tail = [[0; 4], start.seconds.to_be_bytes(), start.micros.to_be_bytes(), [0; 4], [0; 4]].concat();
    let mut header = First { base, extension: Some(extension), tail, key: None };
    header.base.flags = header.base.flags.with_length(header.length());
    header.base.amount = Amount(first.base.amount.0);
    header
}

/// The longest wait for a header, for those who wait for one of ours.
pub(super) const PATIENCE: Nanos = HEADER;
