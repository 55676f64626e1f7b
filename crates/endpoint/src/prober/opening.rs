//! Opens a way to a cell: the session with a reflector of ours, a socket for echoes, or nothing but a route. This waits for the peer, and is done on a
//! thread of its own.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use measure::method::default::SIZE;
use measure::method::{Asked as Wanted, Carrier, Pattern, SocketOptions, Waiting};
use measure::unit::{Instant, Nanos};
use protocol::application::Asked;
use protocol::application::talk::Talk;
use protocol::icmp::echo::Echo;
use protocol::native::header::{Authenticated, Flags, Native};
use protocol::native::message::Open;

use super::Target;
use super::link::{Connecting, Form, Link, Taken, is_bare};
use super::talking::{Said, Talking};
use crate::clock::Monotonic;
use crate::control::{Control, Credential};
use crate::error::{Cause, EndpointError, Step};
use crate::link::framed::{Door, Framed, PATIENCE};
use crate::name::{self, Family};
use crate::random;
use crate::rtt::asking;
use crate::rtt::open::{Admission, connected};
use crate::socket::{self, icmp};
use crate::stop::Stop;

/// Silence, of messages and of data, after which a reflector may take us for dead.
const IDLE: Nanos = Nanos::secs(60);
/// Longest wait for the answer to the first datagram of a session. Without one it begins all the same: the requests'
/// results show the rest.
const HELLO: Nanos = Nanos::millis(400);

/// A way to ask a cell.
#[derive(Debug)]
pub enum Way {
    /// Over a socket of datagrams.
    Link {
        /// Its socket.
        link: Link,
        /// Datagrams that had arrived at the far end before the first request; absent where it does not say.
        count: Option<u32>,
    },
    /// With a connection for each request.
    Connect(Connecting),
    /// A program at work, over a connection that stays.
    Talk(Box<Talking>),
}

/// A way, and the session that it belongs to, where there is one.
#[derive(Debug)]
pub struct Opened {
    /// Way by which requests are sent.
    pub way: Way,
    /// Control connection that keeps the session open; absent: there is none.
    pub control: Option<Control>,
    /// Time at which it is to be opened anew.
    pub renew: Instant,
}

/// Opens a way to `target`.
pub fn open(
    target: &Target,
    program: &str,
    credential: Option<&Credential>,
    (said, was_well): (Option<&Said>, bool),
    stop: &Stop,
) -> Result<Opened, EndpointError> {
    let peer = name::look_up(&target.host, target.port, Family::Any, stop)?;
    let without_session = |way| Opened { way, control: None, renew: Instant::NEVER };
    if let Some(said) = said {
        return program_at_work(peer, said, was_well, stop).map(without_session);
    }
    match target.carrier {
        Carrier::Udp => {
            let request = request(program, Carrier::Udp);
            let control = Control::open(peer, request, credential, &SocketOptions::default(), stop)?;
            if !control.opened.udp {
                return Err(EndpointError::new(Step::Agree, peer, Cause::Peer("it answers no UDP".to_owned())));
            }
            let native = Native::new(control.opened.token, 0, SIZE.0 as u32);
            let form = match control.mac() {
                Some(mac) => Form::Authenticated(Authenticated::new(native, mac)),
                None => Form::Native(native),
            };
            let socket = socket::udp(peer, &SocketOptions::default())?;
            let mut link = Link::new(socket, form, SIZE.0 as usize, true);
            let count = hello(&mut link, stop);
            let renew = renewal(&control);
            Ok(Opened { way: Way::Link { link, count }, control: Some(control), renew })
        }
        Carrier::Icmp => {
            let icmp::Opened { socket, kind, echo } = icmp::open(peer, &SocketOptions::default())?;
            let echo = echo.keeping_checksum();
            let bare = is_bare(&echo, kind == icmp::SocketName::Raw);
            let link = Link::new(socket, Form::Echo(echo), Echo::message_length(SIZE.0 as usize), bare);
            Ok(without_session(Way::Link { link, count: None }))
        }
        Carrier::TcpConnect => Ok(without_session(Way::Connect(Connecting::new(peer)?))),
        Carrier::Tcp => {
            let request = request(program, Carrier::Tcp);
            let control = Control::open(peer, request, credential, &SocketOptions::default(), stop)?;
            let exchange = Wanted { carrier: Some(Carrier::Tcp), ..Wanted::default() };
            let refused = |refusal| EndpointError::new(Step::Agree, peer, Cause::Peer(format!("{refusal:?}")));
            let method = exchange.resolve().map_err(refused)?;
            let socket = connected(peer, Admission::of(&control), 0, &method, stop)?;
            let native = Native::new(control.opened.token, 0, SIZE.0 as u32);
            let link = Link::over_stream(socket, Form::Native(native), SIZE.0 as usize);
            let renew = renewal(&control);
            Ok(Opened { way: Way::Link { link, count: None }, control: Some(control), renew })
        }
        Carrier::TcpSyn => {
            let told = format!("{} is not asked without end", target.carrier);
            Err(EndpointError::new(Step::Agree, peer, Cause::Peer(told)).on(crate::error::Side::Ours))
        }
    }
}

/// Opens a way to ask a program at work. Where it was never well, it is asked once before: a peer that speaks something
/// else is reported as such.
fn program_at_work(peer: SocketAddr, said: &Said, was_well: bool, stop: &Stop) -> Result<Way, EndpointError> {
    let fail = |cause| EndpointError::new(Step::Reach, peer, cause);
    if matches!(said.application.asked, Asked::H3(_) | Asked::Talk(Talk::Ssh(_))) {
        let told = format!("{} is not asked without end", said.application.protocol.name());
        return Err(EndpointError::new(Step::Agree, peer, Cause::Peer(told)).on(crate::error::Side::Ours));
    }
    let Asked::Talk(talk) = &said.application.asked else {
        let (packet, _) = asking::packet(&said.application.asked, Arc::clone(&said.tally)).map_err(fail)?;
        let (socket, length) = (socket::udp(peer, &SocketOptions::default())?, packet.length());
        return Ok(Way::Link { link: Link::new(socket, Form::Packet(packet), length, false), count: None });
    };
    let open = || {
        let talk = talk.clone().drawn(random::bytes().map_err(fail)?);
        let door = Door {
            peer,
            tls: said.application.tls.clone(),
            options: SocketOptions::default(),
            waiting: Waiting::Block,
            patience: PATIENCE,
            patient: true,
            anew: None,
            scheduled: true,
            stamps: false,
            stop: stop.clone(),
        };
        Ok((Framed::open(door, talk.clone(), Arc::clone(&said.tally))?, talk))
    };
    let (mut link, mut talk) = open()?;
    if !was_well {
        link.try_once(asking::TRIAL)?;
        if link.is_spent() {
            // It ends each connection behind its reply.
            (link, talk) = open()?;
        }
    }
    Ok(Way::Talk(Box::new(Talking::new(link, &talk))))
}

/// Some time before the reflector ends the session.
fn renewal(control: &Control) -> Instant {
    let lasts = control.opened.got.duration_ns;
    Monotonic::now().after(Nanos(lasts.0 - (lasts.0 / 4).min(Nanos::secs(30).0)))
}

fn request(program: &str, carrier: Carrier) -> Open {
    Open {
        program: program.to_owned(),
        capabilities: BTreeSet::new(),
        carrier,
        pattern: Pattern::Exchange,
        request_bytes: SIZE,
        response_bytes: SIZE,
        reply_every: 1,
        waiting: None,
        cpus: Vec::new(),
        flows: 1,
        stamps: false,
        batch: None,
        receive_buffer_bytes: None,
        stream: None,
        rate_per_flow: None,
        duration_ns: None,
        idle_ns: IDLE,
    }
}

/// The first datagram, by which the reflector learns where we are; what it says of how many came.
fn hello(link: &mut Link, stop: &Stop) -> Option<u32> {
    let (at, sent) = link.send_with(u64::MAX, Flags::WARM_UP, &mut |_| ());
    sent.ok()?;
    let until = at.after(HELLO);
    while !stop.requested() && Monotonic::now() < until {
        stop.wait_or_input(link.socket(), until);
        if let Taken::Reply { seq: u64::MAX, count, .. } = link.take(0, &mut |_| ()) {
            return count;
        }
    }
    None
}
