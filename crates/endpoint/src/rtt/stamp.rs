//! A measurement with a session-reflector of STAMP, or of TWAMP: each reply carries the peer's own times. STAMP has no
//! control connection; a server of TWAMP is asked by one for sessions.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;

use measure::clock_offset;
use measure::event::Event;
use measure::method::{Carrier, Exchange, Method, Schedule, Traffic};
use measure::outcome::one_way::OneWay;
use measure::recorder::Recording;
use measure::statistics::loss::PeerCounts;
use measure::unit::Nanos;
use protocol::stamp::key::Key;
use protocol::stamp::layout::LIGHT_ANSWER;
use protocol::stamp::part::Part;
use protocol::stamp::sender::Session;
use protocol::stamp::time::{ErrorEstimate, Format};
use protocol::{irtt, twamp};
use socket2::Socket;

use super::{Ending, Finding, PeerFacts, Task, clock_tolerance, conclude, timed, watch};
use crate::clock::wall_offset;
use crate::engine::{Flow, warm_up};
use crate::environment::clock_state;
use crate::error::hint::Hint;
use crate::error::{Cause, EndpointError, Side, Step};
use crate::facts::socket::socket_facts;
use crate::peer::irtt::{self as irtt_server, Farewell};
use crate::peer::stamp::control::Control;
use crate::peer::stamp::sender::Each;
use crate::peer::stamp::sender::gather::{Gather, Numbers};
use crate::peer::stamp::sender::link::StampLink;
use crate::peer::stamp::sender::opening::{self, Anchor, Opening, Unopened};
use crate::peer::stamp::sender::packets::Packets;
use crate::peer::stamp::sender::wire::StampWire;
use crate::session::connections::{self, Connection, Opened};
use crate::session::scene::Scene;
use crate::socket::option;
use crate::stop::Stop;
use crate::wire::{self, Watched};
use crate::{random, socket};

/// The user's statements about the peer.
#[derive(Clone, Copy)]
pub(super) struct Said<'a> {
    /// Its protocol.
    pub spoken: Spoken<'a>,
    /// Within what the clocks of both ends agree.
    pub clocks_agree: Option<Nanos>,
}

/// The protocol of the far side.
#[derive(Clone, Copy)]
pub(super) enum Spoken<'a> {
    /// STAMP's.
    Stamp {
        /// The key of authenticated packets.
        key: Option<&'a Key>,
        /// The parts by which packets ask.
        parts: &'a [Part],
    },
    /// TWAMP's: sessions are asked for by a control connection.
    Twamp,
    /// irtt's: sessions are asked for by datagrams.
    Irtt {
        /// The key of sealed packets.
        key: Option<&'a irtt::key::Key>,
    },
}

impl Spoken<'_> {
    /// Octets of the shortest packet, and its name.
    fn shortest(&self) -> (u64, &'static str) {
        let (length, name) = match self {
            Self::Irtt { key } => (irtt::session::Session::shortest(*key), "a packet of irtt"),
            Self::Stamp { key: Some(key), .. } => {
                (session(Some(key), &[], 0, 0).length(), "an authenticated packet of STAMP")
            }
            Self::Stamp { key: None, parts } => (session(None, parts, 0, 0).length(), "a packet of STAMP"),
            Self::Twamp => (session(None, &[], 0, 0).length(), "a packet of STAMP"),
        };
        (length as u64, name)
    }

    /// True where a packet may lack the room that its answer needs, as that of a sender of TWAMP.
    fn may_be_short(&self) -> bool {
        matches!(self, Self::Twamp | Self::Stamp { key: None, parts: [] })
    }
}

/// Measures with `peer`; `each` is filled with answers one by one, where the caller has one.
pub(super) fn against(
    task: &Task,
    peer: SocketAddr,
    said: Said<'_>,
    each: Option<&mut Each>,
    stop: &Stop,
    on_event: &mut dyn FnMut(Event),
) -> Result<Finding, EndpointError> {
    let Said { spoken, clocks_agree } = said;
    let mut method = task.method.clone();
    check(&method, peer, spoken, each.is_some() && spoken.may_be_short())?;
    let wire = task.verify.map(|wish| wire::Watch::start_foreign(&method, peer, wish)).transpose()?;
    let stamps = method.traffic.stamps().is_some();
    // The engine has no parts to ask for: the kernel stamps each exchange throughout.
    if let Traffic::Exchange(exchange) = &mut method.traffic {
        exchange.stamps = None;
    }
    let halt = Stop::default();
    let sender = Sender { method: &method, peer, spoken, stamps, counts_hops: each.is_some(), stop, halt: &halt };
    let mut gather = Gather::keeping(each.as_ref().map_or(0, |each| each.most));
    let mut ways: Vec<Way> = Vec::new();
    let (sockets, control) = match spoken {
        Spoken::Twamp => sender.granted()?,
        Spoken::Stamp { .. } | Spoken::Irtt { .. } => (sender.sockets()?, None),
    };
    // A server of TWAMP names the port of each session; the first stands for all.
    let target = sockets.first().and_then(|socket| socket.peer_addr().ok()?.as_socket()).unwrap_or(peer);
    let opened: Opened<_, _> = (0..)
        .zip(sockets)
        .map(|(index, socket)| sender.open(index, socket, &mut gather, &mut ways))
        .collect::<Result<_, _>>()?;
    // A warm-up comes faster than some servers answer, and those would drop it.
    let slow = ways.iter().any(|way| way.floor.is_some_and(|floor| floor > warm_up::GAP));
    let warm_up_ns = if slow { Nanos::ZERO } else { method.warm_up_ns };
    let method = &Method { warm_up_ns, ..method.clone() };
    let mut watch = watch(task, method, peer);
    let offset_before = wall_offset();
    let (samples, interval, trace) = (task.samples, task.interval, task.trace.as_deref());
    let far = &mut gather;
    let mut scene =
        Scene { method, trace, peer, far, samples, interval, stop, halt: &halt, watch: &mut watch, on_event };
    let gathered = connections::measure(opened, &mut scene, |link: &StampLink| Some(link.socket()))?;
    gather.empty();
    let clock_stepped = (wall_offset() - offset_before).unsigned_abs() > clock_tolerance(&gathered.recording);
    let environment = watch.finish();
    // Before a session is asked once more, which is no part of the measurement.
    let before = ways.iter().fold((0, 0), |sum, way| (sum.0 + way.before.0, sum.1 + way.before.1));
    let wire = wire.map(|wire| timed(Watched { before, ..wire.finish(Vec::new()) }, &gathered.recording));
    let losses = sender.losses(&gather, &ways, &gathered.recording);
    if let Some(each) = each {
        each.answers = std::mem::take(&mut gather.kept);
        each.session = control.as_ref().and_then(|control| control.sessions.first().copied());
    }
    let deserted = control.is_some_and(|control| !control.end());
    let facts = PeerFacts::default();
    let finding = conclude(gathered, Ok(None), environment, facts, target, false, clock_stepped);
    let extensions = match spoken {
        Spoken::Stamp { parts, .. } => gather.parts.found(parts),
        Spoken::Twamp | Spoken::Irtt { .. } => None,
    };
    let one_way = OneWay { extensions, ..one_way(gather, &losses, clocks_agree) };
    let ended = match finding.ended {
        Ending::Complete if deserted => {
            Ending::PeerLost { reason: "the server closed the control connection before the end".to_owned() }
        }
        ended => ended,
    };
    Ok(Finding { peer_counts: losses.counts(), one_way: Some(one_way), wire, ended, ..finding })
}

/// Refuses a method that such a far side has not. Packets that `may_be_short` have the lengths of TWAMP Light.
fn check(method: &Method, peer: SocketAddr, spoken: Spoken<'_>, may_be_short: bool) -> Result<(), EndpointError> {
    let refuse = |what: &str, hint| {
        Err(EndpointError::new(Step::Agree, peer, Cause::Peer(what.to_owned())).on(Side::Ours).with_hint(hint))
    };
    let name = if matches!(spoken, Spoken::Irtt { .. }) { "irtt" } else { "STAMP" };
    if !matches!(method.traffic, Traffic::Exchange(Exchange { carrier: Carrier::Udp, .. })) {
        return refuse(&format!("{name}'s packets are exchanged over UDP alone"), Hint::StampIsUdp);
    }
    let is_one_host = match peer.ip().to_canonical() {
        IpAddr::V4(address) => !address.is_multicast() && !address.is_broadcast(),
        IpAddr::V6(address) => !address.is_multicast(),
    };
    if !is_one_host {
        return refuse("no session-reflector answers what is sent to many", Hint::StampIsOneHost);
    }
    let (shortest, packet) = spoken.shortest();
    let (request, response) = (method.traffic.request_bytes().0, method.traffic.response_bytes().0);
    let (shortest_of_light, answer) = (twamp::PACKET as u64, request.max(LIGHT_ANSWER as u64));
    let is_light = may_be_short && request >= shortest_of_light && response == answer;
    if !is_light && (request < shortest || response != request) {
        let what = format!("{packet} has {shortest} bytes at least, and its answer as many");
        return refuse(&what, Hint::StampSize { shortest });
    }
    Ok(())
}

fn session(key: Option<&Key>, parts: &[Part], class: u8, name: u16) -> Session {
    let state = clock_state();
    let error = state.error_ns.map(|error| error.0);
    Session {
        key: key.cloned(),
        session: name,
        error: ErrorEstimate::new(state.synchronised == Some(true), Format::Ntp, error),
        parts: parts.to_vec(),
        class,
    }
}

/// Arguments needed to open a session and to close it.
struct Sender<'a> {
    method: &'a Method,
    peer: SocketAddr,
    spoken: Spoken<'a>,
    stamps: bool,
    /// True where packets leave with the largest time to live, and that of answers is read.
    counts_hops: bool,
    /// Set once the user requests the end.
    stop: &'a Stop,
    /// Flag that the links check.
    halt: &'a Stop,
}

/// A session's socket, kept beside its link, to ask once more at the end.
struct Way {
    socket: Option<Socket>,
    session: Arc<Packets>,
    counts: bool,
    /// Shortest time between packets that the far side answers, where it says so.
    floor: Option<Nanos>,
    /// The end of the session, where the far side is told.
    _farewell: Option<Farewell>,
    /// Packets to the far side and from it before the measurement.
    before: (u64, u64),
}

impl Sender<'_> {
    /// The sockets of all sessions: who reflects is known.
    fn sockets(&self) -> Result<Vec<Socket>, EndpointError> {
        (0..self.method.spread.connections)
            .map(|index| socket::udp(self.peer, &self.method.options_of(index)))
            .collect()
    }

    /// The same where a server of TWAMP says who reflects: sessions are asked for, and have started.
    fn granted(&self) -> Result<(Vec<Socket>, Option<Control>), EndpointError> {
        let mut control = Control::open(self.peer, &self.method.socket, self.stop)?;
        let padding = self.method.traffic.request_bytes().0.saturating_sub(twamp::PACKET as u64);
        let padding = u32::try_from(padding).unwrap_or(u32::MAX);
        let class = self.method.socket.tos.unwrap_or(0) >> 2;
        let each = (0..self.method.spread.connections).map(|index| {
            let fail = |cause: std::io::Error| EndpointError::new(Step::OpenSocket("UDP"), self.peer, cause);
            // The server's own port does not matter yet: the local address follows from the route to it.
            let socket = socket::udp(self.peer, &self.method.options_of(index))?;
            let local = socket.local_addr().map_err(fail)?.as_socket().unwrap_or(self.peer);
            let reflector = control.request(local, padding, class, self.method.timeout_ns)?;
            socket.connect(&socket::towards(&socket, reflector)).map_err(fail)?;
            Ok::<_, EndpointError>(socket)
        });
        let sockets = each.collect::<Result<_, _>>()?;
        control.start()?;
        Ok((sockets, Some(control)))
    }

    fn open(
        &self,
        index: u32,
        socket: Socket,
        gather: &mut Gather,
        ways: &mut Vec<Way>,
    ) -> Result<Connection<StampLink, StampWire>, EndpointError> {
        let fail = |cause: std::io::Error| EndpointError::new(Step::OpenSocket("UDP"), self.peer, cause);
        socket::set_waiting(&socket, self.peer, self.method.waiting)?;
        socket::set_glance(&socket).map_err(fail)?;
        if self.counts_hops {
            let (descriptor, ipv6) = (socket.as_fd(), self.peer.is_ipv6());
            option::set_time_to_live(descriptor, ipv6, u8::MAX).map_err(fail)?;
            option::tell_time_to_live(descriptor, ipv6).map_err(fail)?;
        }
        let (packets, floor, farewell) = self.packets(&socket)?;
        let session = Arc::new(packets);
        let facts = socket_facts(&socket);
        let beside = socket.try_clone().ok();
        let length = self.method.traffic.request_bytes().0 as usize;
        let (waiting, stop) = (self.method.waiting, self.halt.clone());
        let mut link = StampLink::new(socket, Arc::clone(&session), waiting, self.stamps, stop);
        let opening = opening::open(&mut link, &session, length, self.stop).map_err(|why| self.unopened(why))?;
        let producer = gather.add(&opening);
        let Opening { next, counts, exchanged, .. } = opening;
        let (session_beside, before) = (Arc::clone(&session), exchanged);
        ways.push(Way { socket: beside, session: session_beside, counts, floor, _farewell: farewell, before });
        let refused = link.refused.clone();
        let wire = StampWire::new(session, next, link.glimpse(), producer);
        // One byte more, so that an answer that is too long is seen as it is.
        let (request, reply) = (vec![0; length], vec![0; length.max(LIGHT_ANSWER) + 1]);
        let flow = Flow { link, wire, index, request, reply, expected: None };
        Ok(Connection { flow, facts, refused, handed: None, errors: None })
    }

    /// The packets of the session over `socket`; of irtt's, the shortest time between two, and the end.
    fn packets(&self, socket: &Socket) -> Result<(Packets, Option<Nanos>, Option<Farewell>), EndpointError> {
        let fail = |cause: std::io::Error| EndpointError::new(Step::OpenSocket("UDP"), self.peer, cause);
        let (key, parts) = match self.spoken {
            Spoken::Stamp { key, parts } => (key, parts),
            Spoken::Twamp => (None, &[][..]),
            Spoken::Irtt { key } => {
                let opening = self.irtt_opening(key);
                let granted = irtt_server::open(socket, self.peer, &opening, self.stop)?;
                let irtt::opening::Granted { token, floor, has_times } = granted;
                let session = irtt::session::Session { key: key.cloned(), token, length: opening.length, has_times };
                let farewell = socket.try_clone().ok().map(|socket| Farewell::new(socket, &session));
                return Ok((Packets::Irtt(session), floor.map(Nanos), farewell));
            }
        };
        // Any name but 0, which is none.
        let name = u16::from_be_bytes(random::bytes().map_err(fail)?).max(1);
        // Answers are to be marked as the packets are.
        let class = self.method.socket.tos.unwrap_or(0) >> 2;
        Ok((Packets::Stamp(session(key, parts, class, name)), None, None))
    }

    /// The session of irtt that the method needs.
    fn irtt_opening(&self, key: Option<&irtt::key::Key>) -> irtt::opening::Opening {
        let Method { traffic, schedule, stop, socket, .. } = self.method;
        let gap = schedule.mean_gap().map(|gap| gap.0);
        let for_count = stop.count.zip(gap).map(|(count, gap)| count.saturating_mul(gap));
        let is_even = matches!(
            schedule,
            Schedule::BackToBack | Schedule::AtLatest { .. } | Schedule::Every { .. } | Schedule::Rate { .. }
        );
        irtt::opening::Opening {
            key: key.cloned(),
            length: traffic.request_bytes().0 as usize,
            class: socket.tos.unwrap_or(0),
            duration: stop.after_ns.map(|time| time.0).into_iter().chain(for_count).min(),
            gap,
            is_even,
        }
    }

    fn unopened(&self, Unopened { cause, corrupt }: Unopened) -> EndpointError {
        let hint = match (&cause, corrupt, self.spoken) {
            (Cause::Stopped, ..) => return EndpointError::new(Step::FirstExchange, self.peer, cause),
            (Cause::Link(_), _, Spoken::Irtt { .. }) => Hint::NoIrttServer,
            (_, _, Spoken::Irtt { key }) => Hint::IrttSilent { keyed: key.is_some() },
            (_, true, _) => Hint::StampSeal,
            (Cause::Link(_), ..) => Hint::NoStampReflector,
            (_, false, spoken) => Hint::StampSilent { keyed: matches!(spoken, Spoken::Stamp { key: Some(_), .. }) },
        };
        EndpointError::new(Step::FirstExchange, self.peer, cause).with_hint(hint)
    }

    /// Derives the direction of losses from the peer's sequence numbers. Where the last packets of a session were not
    /// answered, one more request is sent.
    fn losses(&self, gather: &Gather, ways: &[Way], recording: &Recording) -> Losses {
        let missing = recording.counts.missing();
        let counting = ways.iter().all(|way| way.counts);
        let numbers = |(index, way): (usize, &Way)| {
            let closing = gather.open_end(index).and_then(|next| self.closing(way, next));
            gather.numbers(index, closing)
        };
        let numbers = if counting { ways.iter().enumerate().map(numbers).sum() } else { None };
        Losses { counting, missing, numbers }
    }

    fn closing(&self, way: &Way, next: u32) -> Option<(Anchor, u32)> {
        let socket = way.socket.as_ref()?.try_clone().ok()?;
        let (session, stop) = (Arc::clone(&way.session), self.stop.clone());
        let mut link = StampLink::new(socket, session, self.method.waiting, false, stop);
        let length = self.method.traffic.request_bytes().0 as usize;
        opening::close(&mut link, &way.session, length, next, self.stop)
    }
}

/// Losses by direction, as far as the sequence numbers show them.
struct Losses {
    counting: bool,
    /// Packets without an answer in time.
    missing: u64,
    numbers: Option<Numbers>,
}

impl Losses {
    /// Recorded packets that arrived and were answered: a reflector does both or neither. Absent where the numbers
    /// leave it open.
    fn counts(&self) -> PeerCounts {
        let told = self.numbers.filter(|numbers| self.missing == 0 || numbers.unsure == 0);
        let answered = told.map(|numbers| numbers.answered);
        PeerCounts { received: answered, replied: answered, ..PeerCounts::default() }
    }

    fn either_way(&self) -> Option<u64> {
        self.numbers.map(|numbers| numbers.unsure.min(self.missing))
    }
}

fn one_way(gather: Gather, losses: &Losses, clocks_agree: Option<Nanos>) -> OneWay {
    let theirs = gather.theirs();
    let Gather { times, left_by_kernel, came_by_kernel, time_to_live, .. } = gather;
    let exchanges = times.seen;
    let found = clock_offset::analyse(times, clocks_agree);
    OneWay {
        exchanges,
        left_by_kernel,
        came_by_kernel,
        path: found.path,
        held: found.held,
        forward: found.forward,
        reverse: found.reverse,
        clock: found.clock,
        agreement: found.agreement,
        ours: clock_state(),
        theirs,
        counts_answers: Some(losses.counting),
        lost_either_way: losses.either_way(),
        time_to_live,
        extensions: None,
    }
}
