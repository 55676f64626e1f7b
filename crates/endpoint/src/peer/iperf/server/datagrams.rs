//! Flows of datagrams that come by one socket, told apart by their sources. One thread takes all of them.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use measure::interval::bins::Bins;
use measure::served::{RefusalReason, SessionEnd};
use measure::throughput::Sight;
use measure::throughput::meter::Meter;
use measure::unit::{Instant, Nanos};
use protocol::iperf::datagram::Settings;
use protocol::iperf::fin::AckFin;
use protocol::iperf::flow::{Flow, Heard};
use protocol::iperf::wish::{Pace, Way, Wish};
use rustix::io::Errno;
use socket2::Socket;

use super::event::{Began, Ended, Event, Kind, Transport};
use super::{Shared, back, connection};
use crate::clock::Monotonic;
use crate::peer::iperf::datagram::Aim;
use crate::peer::iperf::tcp::wall;
use crate::serve::SHORTAGE;
use crate::serve::book::Session;
use crate::serve::sources::source;
use crate::socket::envelope::Envelope;
use crate::stop::GLANCE;

/// Time after its last message for which an ended flow is kept, to answer clients that did not receive the report: a
/// client asks for two seconds.
const LINGER: Nanos = Nanos::secs(3);
/// A source that asks for datagrams repeats its request until they come. A repeat may arrive after a short stream has
/// ended; a request this long after the end asks for another stream.
const REPEATED: Nanos = Nanos::secs(1);
/// Where there is no room for another flow, one goes that has brought nothing for this long: a sender of forged sources
/// can claim many flows, but has to keep sending over each.
const STALLED: Nanos = Nanos::secs(2);
/// For room is looked that often: each look goes through all flows, and strangers can ask for one by every datagram.
const LOOK: Nanos = Nanos::millis(1);
/// Octets of the largest datagram.
const LARGEST: usize = 1 << 16;

/// Takes the datagrams of `socket`, which is bound to `local`, until the server stops.
pub(super) fn serve(socket: &Socket, local: SocketAddr, shared: &Arc<Shared>) {
    let mut desk = Desk {
        shared,
        socket,
        local,
        flows: HashMap::new(),
        newcomers: VecDeque::new(),
        edge: Instant::NEVER,
        look_at: Instant(0),
        turned_away: 0,
    };
    let (mut envelope, mut buffer) = (Envelope::default(), vec![0; LARGEST]);
    let mut glance = Monotonic::now();
    while !shared.hall.stop.requested() {
        if desk.flows.is_empty() {
            // Nothing is due.
            shared.hall.stop.wait_or_input(socket, Instant::NEVER);
        }
        let received = envelope.receive(socket.as_fd(), &mut buffer, 0);
        let now = Monotonic::now();
        if now >= glance || now >= desk.edge {
            desk.look_after(now);
            glance = now.after(GLANCE);
        }
        match received {
            Ok(length) => desk.take(&buffer[..length], &mut envelope, now),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => drop(shared.hall.stop.wait(now.after(SHORTAGE))),
        }
    }
    desk.end(Monotonic::now());
}

/// The flows of one socket.
struct Desk<'a> {
    shared: &'a Arc<Shared>,
    socket: &'a Socket,
    local: SocketAddr,
    flows: HashMap<SocketAddr, Kept>,
    /// Flows by their tests in the order in which they began: those of one datagram give way first. Never more than flows.
    newcomers: VecDeque<(SocketAddr, u64)>,
    /// The earliest end of an interval.
    edge: Instant,
    /// Before that no room is looked for.
    look_at: Instant,
    /// Datagrams beyond the bound.
    turned_away: u64,
}

/// A flow and the state of its reports.
struct Kept {
    test: u64,
    flow: Flow,
    /// True where it has brought more than one datagram.
    goes_on: bool,
    wish: Option<Wish>,
    /// Counter of its datagrams; none where they do not count, or it has ended.
    meter: Option<Meter>,
    edge: Instant,
    /// Silence after which the flow is forgotten …
    idle: Nanos,
    /// … and the one after which it goes where another needs its place.
    stalled: Nanos,
    /// State of our own stream over it.
    sending: Arc<Sending>,
    /// Entry in the book, until the client's stream is over; our own stream holds it too.
    session: Option<Arc<Session>>,
    /// Octets that came, less those of reports: the source may be forged, so no more is sent to it than came.
    credit: usize,
}

/// End of our own stream over a flow, an [`Instant`]; 0: nothing was sent.
#[derive(Debug, Default)]
struct Sending(AtomicU64);

impl Sending {
    fn begins(&self) {
        self.0.store(Instant::NEVER.0, Ordering::Release);
    }

    fn ends(&self) {
        self.0.store(Monotonic::now().0, Ordering::Release);
    }

    /// [`Instant::NEVER`]: it has not.
    fn ended(&self) -> Instant {
        Instant(self.0.load(Ordering::Acquire))
    }
}

impl Kept {
    fn receives(&self) -> bool {
        self.wish.is_none_or(|wish| wish.way != Way::Reverse)
    }

    /// Returns true where the client waits for a report.
    fn is_reported(&self) -> bool {
        self.wish.is_none_or(|wish| wish.reported)
    }

    /// Returns the time since a datagram last came or our own stream ended.
    fn silence(&self, now: Instant) -> Nanos {
        now.since(self.flow.latest().max(self.sending.ended())).unwrap_or_default()
    }

    fn sight(&mut self) -> Sight {
        Sight { datagrams: Some(self.flow.sight()), frames: self.flow.frames_in_sight(), ..Sight::default() }
    }
}

impl Desk<'_> {
    fn take(&mut self, datagram: &[u8], envelope: &mut Envelope, now: Instant) {
        let Some(from) = envelope.from() else { return };
        let arrived = wall();
        let Some(kept) = self.flows.get_mut(&from) else { return self.begin(from, datagram, envelope, now, arrived) };
        kept.credit = kept.credit.saturating_add(datagram.len());
        kept.goes_on = true;
        if !kept.receives() {
            if kept.silence(now) > REPEATED && is_first(datagram) {
                self.flows.remove(&from);
                self.begin(from, datagram, envelope, now, arrived);
            }
            return;
        }
        match kept.flow.arrive(datagram, now, arrived) {
            Heard::Data => {
                if let Some(meter) = &mut kept.meter {
                    meter.moved(datagram.len());
                }
            }
            Heard::Ended => {
                if let Some(meter) = &mut kept.meter {
                    meter.moved(datagram.len());
                }
                self.report(from, envelope);
                self.ended(from, now, None);
            }
            Heard::Again => self.report(from, envelope),
            Heard::Anew => {
                self.flows.remove(&from);
                self.begin(from, datagram, envelope, now, arrived);
            }
            Heard::Stray => {}
        }
    }

    fn begin(&mut self, from: SocketAddr, datagram: &[u8], envelope: &mut Envelope, now: Instant, arrived: Nanos) {
        let Some(mut flow) = Flow::begin(datagram, now, arrived) else { return };
        if self.flows.len() >= self.shared.settings.limits.flows {
            self.make_room(from, now);
        }
        if !self.shared.settings.serves(from.ip()) || self.flows.len() >= self.shared.settings.limits.flows {
            let why = "no more flows are served at once";
            self.shared.settings.door.book.refuse(Some(from), RefusalReason::Full, &why);
            if self.turned_away == 0 {
                self.shared.fail(Some(from), &why);
            }
            self.turned_away += 1;
            return;
        }
        let wish = if let Settings::Test(opening) = flow.settings() { Some(Wish::of_opening(opening)) } else { None };
        // Without clocks that are known to agree there is no transit.
        let timed = wish.is_some_and(|wish| wish.trip_times.is_some());
        if let Some(layout) = self.shared.settings.bins.filter(|_| timed) {
            flow = flow.in_bins(Bins::new(layout));
        }
        let test = self.shared.number();
        let kind = wish.map_or(Kind::Plain, Kind::Asked);
        let began = Began { test, transport: Transport::Udp, local: self.local, peer: from, kind, tcp: None };
        self.shared.telling.tell(&Event::Began(Box::new(began)));
        let name = wish.as_ref().map_or("a flow without a header", connection::name_of);
        let session = Arc::new(self.shared.settings.door.book.begin(from, true, || name.to_owned()));
        let mut kept = self.keep(test, flow, wish, datagram.len(), now);
        kept.session = kept.receives().then(|| Arc::clone(&session));
        self.edge = self.edge.min(kept.edge);
        let sending = Arc::clone(&kept.sending);
        self.flows.insert(from, kept);
        if self.newcomers.len() >= self.shared.settings.limits.flows {
            self.newcomers.pop_front();
        }
        self.newcomers.push_back((from, test));
        let Some(wish) = wish else { return };
        if wish.way != Way::Upload {
            self.send((test, session), from, wish, envelope, &sending);
        }
        if let Some(back) = wish.back.filter(|back| back.now) {
            back::open(self.shared, test, from, back.port, wish, Transport::Udp);
        }
    }

    fn keep(&self, test: u64, flow: Flow, wish: Option<Wish>, octets: usize, now: Instant) -> Kept {
        let interval = self.shared.settings.interval();
        let receives = wish.is_none_or(|wish| wish.way != Way::Reverse);
        let meter = receives.then(|| {
            let mut meter = Meter::new(0);
            meter.begin(now, Sight::default());
            meter.moved(octets);
            meter
        });
        let gap = wish.and_then(|wish| wish.pace).map_or(Nanos::ZERO, |pace: Pace| pace.gap(octets));
        Kept {
            test,
            flow,
            // One that is sent datagrams need bring no more.
            goes_on: !receives && self.shared.settings.sends_datagrams,
            wish,
            edge: if receives { now.after(interval) } else { Instant::NEVER },
            meter,
            idle: self.shared.settings.limits.idle.max(Nanos(gap.0.saturating_mul(4))),
            stalled: STALLED.max(Nanos(gap.0.saturating_mul(4))),
            sending: Arc::default(),
            session: None,
            credit: octets,
        }
    }

    /// Starts to send to the source of a flow. Its envelope goes along: it says from where to where.
    fn send(
        &self,
        (test, session): (u64, Arc<Session>),
        to: SocketAddr,
        wish: Wish,
        envelope: &mut Envelope,
        sending: &Arc<Sending>,
    ) {
        let shared = self.shared;
        let why = match wish.frames {
            Some(_) => Some(connection::NO_FRAMES),
            None if !shared.settings.sends_datagrams => Some("asks for datagrams, which this server sends none of"),
            None => None,
        };
        if let Some(why) = why {
            session.ends(SessionEnd::Fault);
            return shared.refuse(to, RefusalReason::Unable, &why);
        }
        let socket = match self.socket.try_clone() {
            Ok(socket) => socket,
            Err(error) => return shared.fail(Some(to), &error),
        };
        let aim = Aim::Answering(Box::new(std::mem::take(envelope)));
        sending.begins();
        let flag = Arc::clone(sending);
        let started = shared.send_on_thread(to, move |shared| {
            let ipv6 = to.is_ipv6() && !is_mapped(to);
            back::send_flow(shared, (test, &session), (socket, aim), &wish, ipv6, false);
            flag.ends();
        });
        if !started {
            sending.ends();
        }
    }

    /// Tells the source of an ended flow what came of it.
    fn report(&mut self, from: SocketAddr, envelope: &mut Envelope) {
        let Some(kept) = self.flows.get_mut(&from).filter(|kept| kept.is_reported()) else { return };
        let told = self.shared.settings.tells_latencies || kept.wish.is_some_and(|wish| wish.trip_times.is_some());
        let report = kept.flow.report().map(|report| AckFin { flags: AckFin::flags(told), ..*report }.encode());
        let Some(report) = report else { return };
        if let Some(rest) = kept.credit.checked_sub(report.len()) {
            kept.credit = rest;
            // One that does not leave is asked for again.
            let _gone = envelope.answer(self.socket.as_fd(), &report);
        }
    }

    /// A flow has ended: by its client's word, or cut short.
    fn ended(&mut self, from: SocketAddr, now: Instant, cut: Option<(SessionEnd, String)>) {
        let Some(kept) = self.flows.get_mut(&from) else { return };
        let (test, wish, report) = (kept.test, kept.wish, kept.flow.report().copied());
        let bins = kept.flow.bins().cloned();
        let session = kept.session.take();
        let (how, cut_short) = cut.map_or((SessionEnd::Closed, None), |(how, why)| (how, Some(why)));
        let tells = self.shared.settings.interval.is_some();
        let Some(mut meter) = kept.meter.take() else { return };
        kept.edge = Instant::NEVER;
        let end = if cut_short.is_some() { kept.flow.latest() } else { now };
        let sight = kept.sight();
        if let Some(interval) = meter.last_interval(end, sight).filter(|_| tells) {
            self.shared.telling.tell(&Event::Interval { test, sends: false, interval: Box::new(interval) });
        }
        let total = Sight { datagrams: Some(kept.flow.total()), frames: kept.flow.frames(), ..Sight::default() };
        if let Some(count) = meter.finish(end, total).streams.into_iter().next() {
            if let Some(session) = session {
                session.moved(count.carried.bytes.0, 0);
                session.ends(how);
            }
            let ended = Ended { test, sends: false, count, cut_short, latency: None, bins, reads: None, report };
            self.shared.telling.ended(ended);
        }
        if let (Some(wish), Some(_)) = (wish, report)
            && let Some(back) = wish.back.filter(|back| !back.now)
        {
            back::open(self.shared, test, from, back.port, wish, Transport::Udp);
        }
    }

    /// Ends intervals, and forgets flows that are silent.
    fn look_after(&mut self, now: Instant) {
        let mut silent = Vec::new();
        self.edge = Instant::NEVER;
        for (from, kept) in &mut self.flows {
            let interval = self.shared.settings.interval();
            // Nothing came between the edge and now that was not taken: the interval ends where it should.
            while kept.edge <= now && kept.meter.is_some() {
                let (edge, sight) = (kept.edge, kept.sight());
                if let Some(meter) = &mut kept.meter {
                    let interval = Box::new(meter.interval(edge, sight));
                    self.shared.telling.tell(&Event::Interval { test: kept.test, sends: false, interval });
                }
                kept.edge = edge.after(interval);
            }
            self.edge = self.edge.min(kept.edge);
            let most = if kept.meter.is_some() { kept.idle } else { LINGER };
            if kept.silence(now) > most {
                silent.push(*from);
            }
        }
        for from in silent {
            self.ended(from, now, Some((SessionEnd::Idle, "nothing came for too long".into())));
            self.flows.remove(&from);
        }
    }

    /// Forgets a flow for one from `from`: the oldest that has brought one datagram and no more; where there is none the one that has
    /// stalled longest, or else one of an address that has more than half of all and is another.
    fn make_room(&mut self, from: SocketAddr, now: Instant) {
        while let Some((newcomer, test)) = self.newcomers.pop_front() {
            if self.flows.get(&newcomer).is_some_and(|kept| kept.test == test && !kept.goes_on) {
                return self.give_way(newcomer, now, "it did not go on");
            }
        }
        if now < self.look_at {
            return;
        }
        self.look_at = now.after(LOOK);
        let quietest = |flows: &mut dyn Iterator<Item = (&SocketAddr, &Kept)>| {
            flows.max_by_key(|(_, kept)| kept.silence(now)).map(|(from, _)| *from)
        };
        let stalled = quietest(&mut self.flows.iter().filter(|(_, kept)| kept.silence(now) > kept.stalled));
        let why =
            if stalled.is_some() { "nothing came for a while" } else { "its address had more than half of all flows" };
        let gone = stalled.or_else(|| {
            let mut counts: HashMap<IpAddr, usize> = HashMap::new();
            self.flows.keys().for_each(|from| *counts.entry(source(from.ip())).or_default() += 1);
            let (most, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
            let is_too_many = count > self.shared.settings.limits.flows / 2 && most != source(from.ip());
            is_too_many.then(|| quietest(&mut self.flows.iter().filter(|(from, _)| source(from.ip()) == most)))?
        });
        if let Some(gone) = gone {
            self.give_way(gone, now, why);
        }
    }

    fn give_way(&mut self, from: SocketAddr, now: Instant, why: &str) {
        self.ended(from, now, Some((SessionEnd::GaveWay, format!("{why}, and its place was needed"))));
        self.flows.remove(&from);
    }

    fn end(&mut self, now: Instant) {
        let all: Vec<SocketAddr> = self.flows.keys().copied().collect();
        for from in all {
            self.ended(from, now, Some((SessionEnd::Stopping, "the server stops".into())));
        }
    }
}

/// Returns true where a datagram is the first of a flow.
fn is_first(datagram: &[u8]) -> bool {
    datagram.first_chunk() == Some(&1_u32.to_be_bytes())
}

fn is_mapped(address: SocketAddr) -> bool {
    matches!(address, SocketAddr::V6(v6) if v6.ip().to_ipv4_mapped().is_some())
}
