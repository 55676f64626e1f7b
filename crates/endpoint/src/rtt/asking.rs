//! A measurement with a program at work, in its own protocol: each connection is opened as its clients open it, and asked the same
//! over and over, or the requests of a mix.

mod mixing;

use std::net::SocketAddr;
use std::sync::Arc;

use measure::event::Event;
use measure::method::{Carrier, Method, Pattern, Window};
use measure::outcome::replies::{Down, Held, Replies, Stuck, Tls};
use measure::unit::{Bytes, Nanos};
use protocol::application::dns::{self, OverUdp};
use protocol::application::h3::H3;
use protocol::application::mix::Turns;
use protocol::application::ntp::{self, Ntp};
use protocol::application::packet::Packet;
use protocol::application::quic::{self, Quic};
use protocol::application::sip::{self, Sip};
use protocol::application::talk::{Asking, Digest, Talk};
use protocol::application::tally::{End, Tally};
use protocol::application::{Application, Asked, Kind, Speech};
use protocol::native::header::Flags;
use protocol::tls::Terms;
use protocol::wire::{Reading, Wire};
use socket2::Socket;

use self::mixing::Mixing;
use super::{Finding, PeerFacts, Task, clock_tolerance, conclude, timed, watch};
use crate::clock::{Monotonic, wall_offset};
use crate::engine::{Flow, exchanges};
use crate::error::{Cause, EndpointError, Side, Step};
use crate::facts::socket::socket_facts;
use crate::link::datagram::Datagram;
use crate::link::elsewhere;
use crate::link::framed::phases::Book;
use crate::link::framed::{Door, Framed, Opened as Steps, PATIENCE};
use crate::link::http3::Http3;
use crate::random;
use crate::session::connections::{self, Connection, Opened};
use crate::session::scene::{Nobody, Scene};
use crate::socket;
use crate::stop::Stop;
use crate::wire;

/// A connection over which a program is asked.
type Conversation = Connection<Framed<Talk>, Asking<Talk>>;
/// The same over QUIC.
type OverQuic = Connection<Http3, Asking<H3>>;

/// Longest wait for an answer from another address than the one that was asked in vain.
const ONCE_MORE: Nanos = Nanos::secs(1);

/// The number of the request that shows whether the peer speaks the protocol: none of a measurement.
pub const TRIAL: u64 = u64::MAX / 2;

pub(super) fn against(
    task: &Task,
    method: &Method,
    peer: SocketAddr,
    application: &Application,
    stop: &Stop,
    on_event: &mut dyn FnMut(Event),
) -> Result<Finding, EndpointError> {
    refuse(method, application, peer)?;
    if task.verify.is_some() && matches!(application.asked, Asked::H3(_)) {
        let what = "requests over QUIC share their datagrams with what is said for the connection: they cannot be counted on the wire";
        return Err(EndpointError::new(Step::Agree, peer, Cause::Peer(what.to_owned())).on(Side::Ours));
    }
    let wire = task.verify.map(|wish| wire::Watch::start_foreign(method, peer, wish)).transpose()?;
    let mut watch = watch(task, method, peer);
    let offset_before = wall_offset();
    let halt = Stop::default();
    let tallies: Vec<Arc<Tally>> = (0..method.spread.connections).map(|_| Arc::default()).collect();
    let mut told = Replies::default();
    let mixing = application.mix.as_ref().map(|mix| Mixing::new(mix, method));
    let mut classes = mixing.as_ref().map(Mixing::books);
    let mut on_event = |event| {
        if let Some(classes) = &mut classes
            && classes.take(&event)
            && !task.samples
        {
            return;
        }
        if matches!(event, Event::Second { .. }) {
            let now = replies(&tallies, |kind, sound| application.kind(kind, sound));
            let news = now.kinds_since(&told);
            told = now;
            on_event(Event::Replies(news));
        }
        on_event(event);
    };
    let mut scene = Scene {
        method,
        trace: task.trace.as_deref(),
        peer,
        far: &mut Nobody,
        samples: task.samples || mixing.is_some(),
        interval: task.interval,
        stop,
        halt: &halt,
        watch: &mut watch,
        on_event: &mut on_event,
    };
    let all_replies = || replies(&tallies, |kind, sound| application.kind(kind, sound));
    let (gathered, replies) = match &application.asked {
        Asked::Talk(talk) => {
            let mut steps = Vec::new();
            let anew: Option<Arc<Book>> = method.traffic.connects().then(Arc::default);
            let opened: Opened<Framed<Talk>, Asking<Talk>> = tallies
                .iter()
                .zip(0..)
                .map(|(tally, flow)| {
                    let stream = stream(flow, (talk, application.tls.as_ref(), anew.as_ref()), tally, &scene);
                    let (mut connection, taken) = stream.map_err(|error| further(error, flow, method))?;
                    if mixing.is_none() {
                        connection.flow.link.ask_alike();
                    }
                    let turns = mixing.as_ref().and_then(|mixing| mixing.turns(flow));
                    let connection = connection.with_wire(|wire| wire.mixing(turns));
                    steps.push(taken);
                    Ok(connection)
                })
                .collect::<Result<_, EndpointError>>()?;
            // The sockets of connections that are made anew are not the ones there were at the begin.
            let socket_of: fn(&Framed<Talk>) -> Option<&Socket> =
                if method.traffic.connects() { |_| None } else { |link| Some(link.socket()) };
            let gathered = connections::measure(opened, &mut scene, socket_of)?;
            let replies = timed_steps(all_replies(), &steps);
            (gathered, Replies { phases: anew.map(|book| book.told()), ..replies })
        }
        Asked::H3(question) => {
            let mut steps = Vec::new();
            let anew: Option<Arc<Book>> = method.traffic.connects().then(Arc::default);
            let opened: Opened<Http3, Asking<H3>> = tallies
                .iter()
                .zip(0..)
                .map(|(tally, flow)| {
                    let door = door(flow, application.tls.as_ref(), anew.as_ref(), &scene);
                    let turns = mixing.as_ref().and_then(|mixing| mixing.turns(flow));
                    let stream = over_quic(flow, (question, turns), door, tally);
                    let (connection, taken) = stream.map_err(|error| further(error, flow, method))?;
                    steps.push(taken);
                    Ok(connection)
                })
                .collect::<Result<_, EndpointError>>()?;
            let socket_of: fn(&Http3) -> Option<&Socket> =
                if method.traffic.connects() { |_| None } else { |link| Some(link.socket()) };
            let gathered = connections::measure(opened, &mut scene, socket_of)?;
            let replies = timed_steps(all_replies(), &steps);
            (gathered, Replies { phases: anew.map(|book| book.told()), ..replies })
        }
        Asked::Dns(_) | Asked::Ntp | Asked::Sip(_) | Asked::Quic => {
            let opened: Opened<Datagram, Packet> = tallies
                .iter()
                .zip(0..)
                .map(|(tally, flow)| {
                    let connection = datagram(flow, &application.asked, tally, &scene)?;
                    let turns = mixing.as_ref().and_then(|mixing| mixing.turns(flow));
                    Ok(connection.with_wire(|packet| packet.mixing(turns)))
                })
                .collect::<Result<_, EndpointError>>()?;
            let gathered = connections::measure(opened, &mut scene, |link: &Datagram| Some(link.socket()))?;
            let heard = gathered.recording.counts.answered + gathered.recording.counts.refused;
            if heard == 0
                && !stop.requested()
                && let Some(from) = elsewhere(&application.asked, method, peer)
            {
                return Err(EndpointError::new(Step::Ask, peer, Cause::Elsewhere(from)));
            }
            (gathered, all_replies())
        }
    };
    let most_at_once = tallies.iter().filter_map(|tally| tally.most_at_once()).min();
    let replies = Replies { most_at_once: most_at_once.filter(|most| *most < wanted(method)), ..replies };
    let name = |kind, sound| application.kind(kind, sound);
    let classes = mixing.as_ref().zip(classes).map(|(mixing, books)| mixing.told(&books, name));
    let clock_stepped = (wall_offset() - offset_before).unsigned_abs() > clock_tolerance(&gathered.recording);
    let wire = wire.map(|wire| timed(wire.finish(Vec::new()), &gathered.recording));
    let facts = PeerFacts::default();
    let finding = conclude(gathered, Ok(None), watch.finish(), facts, peer, false, clock_stepped);
    Ok(Finding { wire, replies: Some(Replies { classes, ..replies }), ..finding })
}

/// The most requests that are wanted in flight on a connection.
fn wanted(method: &Method) -> u64 {
    match method.traffic.window() {
        Window::Closed(most) | Window::Volley(most) | Window::Open { cap: most } => u64::from(most),
    }
}

/// Refuses what is no exchange of this application.
fn refuse(method: &Method, application: &Application, peer: SocketAddr) -> Result<(), EndpointError> {
    let carrier = if matches!(application.asked, Asked::Talk(_)) { Carrier::Tcp } else { Carrier::Udp };
    let length = Bytes(application.request_length() as u64);
    if application.mix.is_some() && !matches!(application.asked, Asked::Talk(_) | Asked::Dns(_) | Asked::H3(_)) {
        let what = format!("{} is asked one thing over and over", application.protocol.name());
        return Err(EndpointError::new(Step::Agree, peer, Cause::Peer(what)).on(Side::Ours));
    }
    if method.traffic.carrier() == carrier
        && (method.traffic.pattern() == Pattern::Exchange
            || method.traffic.connects() && exchanges::one_at_a_time(method))
        && method.traffic.application().is_some()
        && method.traffic.request_bytes() == length
    {
        return Ok(());
    }
    let what = format!("{} is asked one thing over {carrier}: it has no {method}", application.protocol.name());
    Err(EndpointError::new(Step::Agree, peer, Cause::Peer(what)).on(Side::Ours))
}

fn stream(
    flow: u32,
    (talk, tls, anew): (&Talk, Option<&Terms>, Option<&Arc<Book>>),
    tally: &Arc<Tally>,
    scene: &Scene<'_>,
) -> Result<(Conversation, Steps), EndpointError> {
    let draw = random::bytes().map_err(|cause| EndpointError::new(Step::Reach, scene.peer, cause))?;
    let talk = talk.clone().drawn(draw);
    let door = door(flow, tls, anew, scene);
    let mut link = Framed::open(door, talk.clone(), Arc::clone(tally))?;
    let mut steps = link.opened();
    if flow == 0 {
        // A peer that speaks something else is reported as such, and not as a thousand replies that cannot be read.
        let left = Monotonic::now();
        link.try_once(TRIAL)?;
        steps.trial = Monotonic::now().since(left);
    }
    let (facts, refused) = (socket_facts(link.socket()), link.unstamped());
    let request = talk.request();
    let wire = Asking::new(talk, Arc::clone(tally)).with_connections(anew.is_some());
    let flow =
        Flow { link, wire, index: flow, request, reply: vec![0; Digest::LENGTH], expected: Some(Digest::LENGTH) };
    Ok((Connection { flow, facts, refused, handed: None, errors: None }, steps))
}

/// The same error of connection `flow`: where it is not the first, the program has answered before.
fn further(error: EndpointError, flow: u32, method: &Method) -> EndpointError {
    let opens = matches!(error.step, Step::Reach | Step::Secure | Step::ReachByQuic | Step::Ask);
    // Where the cause lies here or between, the number of sessions has no part in it.
    let theirs = matches!(error.side, Side::Theirs | Side::Unknown);
    if flow == 0 || !opens || !theirs {
        return error;
    }
    let step = Step::OpenFurther { number: flow + 1, of: method.spread.connections };
    EndpointError { step, ..error }
}

fn door(flow: u32, tls: Option<&Terms>, anew: Option<&Arc<Book>>, scene: &Scene<'_>) -> Door {
    let Scene { method, peer, halt, .. } = *scene;
    Door {
        peer,
        tls: tls.cloned(),
        options: method.options_of(flow),
        waiting: method.waiting,
        patience: PATIENCE.max(method.timeout_ns),
        patient: !exchanges::one_at_a_time(method),
        anew: anew.cloned(),
        scheduled: method.schedule.has_instants(),
        stamps: method.traffic.stamps().is_some(),
        stop: halt.clone(),
    }
}

fn over_quic(
    flow: u32,
    (question, turns): (&H3, Option<Turns>),
    door: Door,
    tally: &Arc<Tally>,
) -> Result<(OverQuic, Steps), EndpointError> {
    let mut link = Http3::open(door, question.clone(), Arc::clone(tally))?;
    let mut steps = link.opened();
    if flow == 0 {
        let left = Monotonic::now();
        link.try_once(TRIAL)?;
        steps.trial = Monotonic::now().since(left);
    }
    let facts = socket_facts(link.socket());
    let request = question.request();
    link.take_turns(turns.clone());
    let wire = Asking::new(question.clone(), Arc::clone(tally)).mixing(turns);
    let flow =
        Flow { link, wire, index: flow, request, reply: vec![0; Digest::LENGTH], expected: Some(Digest::LENGTH) };
    Ok((Connection { flow, facts, refused: None, handed: None, errors: None }, steps))
}

/// Messages of a program that is asked over UDP, and the size of the buffer for a reply. Each socket has its own
/// numbers.
///
/// # Errors
/// A system without chance.
pub fn packet(asked: &Asked, tally: Arc<Tally>) -> std::io::Result<(Packet, usize)> {
    let draw: [u8; 16] = random::bytes()?;
    Ok(match asked {
        Asked::Dns(question) => {
            (Packet::Dns(Box::new(OverUdp::new(question.clone(), draw, tally))), dns::LONGEST_DATAGRAM)
        }
        Asked::Sip(options) => (Packet::Sip(Box::new(Sip::new(options, draw, tally))), sip::LONGEST_DATAGRAM),
        Asked::Quic => (Packet::Quic(Box::new(Quic::new(draw, tally))), quic::LONGEST_DATAGRAM),
        Asked::Ntp | Asked::Talk(_) | Asked::H3(_) => {
            let key = draw.first_chunk().copied().map_or(0, u64::from_be_bytes);
            (Packet::Ntp(Box::new(Ntp::new(key, tally))), ntp::LENGTH)
        }
    })
}

fn datagram(
    flow: u32,
    asked: &Asked,
    tally: &Arc<Tally>,
    scene: &Scene<'_>,
) -> Result<Connection<Datagram, Packet>, EndpointError> {
    let Scene { method, peer, halt, .. } = *scene;
    let fail = |cause: std::io::Error| EndpointError::new(Step::Reach, peer, cause);
    let (packet, room) = packet(asked, Arc::clone(tally)).map_err(fail)?;
    let socket = socket::udp(peer, &method.options_of(flow))?;
    socket::set_waiting(&socket, peer, method.waiting)?;
    socket::set_glance(&socket).map_err(fail)?;
    let length = packet.length();
    let mut connection = connections::datagram(socket, packet, flow, length, method, halt);
    // Longer replies are cut: their beginning says all that is asked of them.
    connection.flow.reply.resize(room.max(length), 0);
    Ok(connection)
}

/// The address from which a program over UDP answers, where that is another than the one that is asked.
fn elsewhere(asked: &Asked, method: &Method, peer: SocketAddr) -> Option<SocketAddr> {
    let (mut packet, _) = packet(asked, Arc::default()).ok()?;
    let socket = socket::udp(peer, &method.options_of(0)).ok()?;
    let mut request = vec![0; packet.length()];
    packet.open(&mut request);
    packet.prepare(&mut request, 0, Flags::NONE);
    let is_answer = |answer: &[u8]| matches!(packet.identify(answer, 0), Reading::Reply(_) | Reading::Refused(_));
    elsewhere::answers_from(&socket, peer, &request, ONCE_MORE.min(method.timeout_ns), is_answer)
}

/// Replies of all connections together, their kinds by name.
fn replies(tallies: &[Arc<Tally>], name: impl Fn(Kind, bool) -> String) -> Replies {
    let mut replies = Replies::default();
    for tally in tallies {
        for (kind, sound, count) in tally.kinds() {
            replies.add(name(kind, sound), sound, count);
        }
        if let Some((shortest, longest)) = tally.lengths() {
            replies.stretch(Bytes(shortest), Bytes(longest));
        }
        replies.others += tally.others();
        replies.renewals += tally.renewals();
        let (count, pauses) = tally.held();
        if count > 0 {
            let before = replies.held.unwrap_or_default();
            replies.held = Some(Held { count: before.count + count, pauses_ns: Nanos(before.pauses_ns.0 + pauses.0) });
        }
        let [closed, cut, reset] = [End::Closed, End::Cut, End::Reset].map(|end| tally.down(end));
        if closed + cut + reset > 0 {
            let before = replies.down.unwrap_or_default();
            let sums = (before.closed + closed, before.cut + cut, before.reset + reset);
            replies.down = Some(Down { closed: sums.0, cut: sums.1, reset: sums.2 });
        }
        let (behind, begun) = tally.stuck();
        if behind > 0 {
            let before = replies.stuck.unwrap_or_default();
            replies.stuck = Some(Stuck { behind: before.behind + behind, begun: before.begun + begun });
        }
        replies.wants_tls |= tally.wants_tls();
        replies.unread = replies.unread.or_else(|| tally.unread().map(str::to_owned));
    }
    replies
}

fn timed_steps(replies: Replies, steps: &[Steps]) -> Replies {
    let connect_ns = median(steps.iter().filter_map(|steps| steps.connect).collect());
    let prologue_ns = median(steps.iter().filter_map(|steps| steps.prologue).collect());
    let tls_ns = median(steps.iter().filter_map(|steps| steps.secured).collect());
    let tls = steps.first().and_then(|steps| steps.tls.as_ref()).map(|facts| Tls {
        version: facts.version.to_owned(),
        cipher_suite: facts.suite.clone(),
        verified: facts.verified,
        valid_until_s: facts.until,
    });
    let trial_ns = steps.first().and_then(|steps| steps.trial);
    Replies { connect_ns, tls_ns, tls, prologue_ns, trial_ns, ..replies }
}

fn median(mut times: Vec<Nanos>) -> Option<Nanos> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use measure::method::Asked as Wish;
    use rustix::io::Errno;

    use super::*;

    /// The number of sessions explains what the program does, and no lack of this host's.
    #[test]
    fn a_further_session_is_told_by_its_number_where_the_program_may_be_the_cause() {
        let method = Wish { connections: Some(3), ..Wish::default() }.resolve().unwrap();
        let of = |flow, cause: Cause| further(EndpointError::new(Step::Ask, "db1", cause), flow, &method).step;
        let silence = || Cause::Silence(Nanos::secs(5));
        assert_eq!(of(1, silence()), Step::OpenFurther { number: 2, of: 3 });
        assert_eq!(of(0, silence()), Step::Ask);
        assert_eq!(of(1, Errno::ADDRNOTAVAIL.into()), Step::Ask);
        assert_eq!(of(1, Cause::Stopped), Step::Ask);
    }
}
