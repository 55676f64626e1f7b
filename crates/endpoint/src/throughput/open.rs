//! Asks for a session of streams and opens its flows: connections, or flows of datagrams that greeted each other.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use measure::method::{Pattern, Sending, SocketOptions, StreamOver};
use measure::unit::{Bytes, Nanos};
use protocol::native::header::{Flags, Header, LENGTH};
use protocol::native::mac::Direction as MacDirection;
use protocol::native::message::{Open, capability};
use protocol::native::stream::{Ask, Numbers, goes_there, place};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;

use super::Task;
use super::lane::{Lane, Start};
use crate::clock::Monotonic;
use crate::control::Control;
use crate::error::hint::Hint;
use crate::error::{Cause, EndpointError, Side, Step};
use crate::facts::socket::socket_facts;
use crate::link::bulk::Receiver;
use crate::link::bulk::any::Any;
use crate::link::bulk::numbered::{NumberedReceiver, NumberedSender};
use crate::link::clockwork::poll_one;
use crate::link::elsewhere;
use crate::link::ring::{Ring, Shape};
use crate::reflector::stream::{content, sender};
use crate::rtt::open::{Admission, connected};
use crate::socket;
use crate::stop::Stop;

/// Silence after which the reflector may take us for dead; we speak in a third of it. A source of datagrams continues
/// for this long where the network between has gone.
const IDLE: Nanos = Nanos::secs(10);
/// Beyond the duration asked for: connecting, the end of what is on its way, the report.
const SLACK: Nanos = Nanos::secs(60);
/// Default receive buffer of a flow of datagrams, at both ends: the payload of 3 ms at 10 Gbit/s.
const ROOM: Bytes = Bytes(4 << 20);
/// Largest receive buffer of all flows together.
const ROOM_IN_ALL: Bytes = Bytes(64 << 20);
/// Times that a greeting is sent before silence is reported: one lost packet is no closed port.
const GREETINGS: u32 = 5;
/// Longest wait for the answer to each of them.
const GREETING: Nanos = Nanos::millis(400);

/// Builds the request that opens the session.
pub fn request(task: &Task) -> Open {
    let method = &task.method;
    let (call, theirs) = (method.traffic.request_bytes(), method.traffic.response_bytes());
    let (sending, discard) = match task.over() {
        StreamOver::Tcp { sending, discard } => (sending, discard),
        StreamOver::Udp { .. } => (Sending::Copy, false),
    };
    let ask = Ask {
        direction: task.direction(),
        sending,
        discard,
        segments: Some(task.segments()).filter(|segments| *segments > 1),
        after_ns: method.stop.after_ns,
        bytes: method.stop.bytes,
        warm_up_ns: method.warm_up_ns,
        interval_ns: Some(task.interval),
        congestion: method.socket.congestion.clone(),
        send_buffer_bytes: method.socket.send_buffer_bytes,
        tos: method.socket.tos,
        even: task.even,
    };
    Open {
        program: task.program.clone(),
        capabilities: [capability::STREAMS.to_owned()].into(),
        carrier: method.traffic.carrier(),
        pattern: Pattern::Stream,
        request_bytes: call,
        response_bytes: if theirs == Bytes(0) { call } else { theirs },
        reply_every: 1,
        waiting: method.peer_waiting,
        cpus: method.spread.peer_cpus.clone(),
        flows: task.flows(),
        stamps: false,
        batch: None,
        receive_buffer_bytes: receive_room(task),
        stream: Some(Box::new(ask)),
        rate_per_flow: task.rate(),
        duration_ns: method.stop.after_ns.map(|length| longest(length, method.warm_up_ns)),
        idle_ns: IDLE,
    }
}

fn longest(length: Nanos, warm_up: Nanos) -> Nanos {
    Nanos(length.0.saturating_add(warm_up.0).saturating_add(SLACK.0))
}

/// Receive buffer of each socket: as asked; of datagrams otherwise what takes a receiver that does not run for some
/// milliseconds. TCP's is left to its system, which fits it to the path.
fn receive_room(task: &Task) -> Option<Bytes> {
    let flows = task.flows();
    let usual = || task.is_of_datagrams().then(|| ROOM.min(Bytes(ROOM_IN_ALL.0 / u64::from(flows))));
    task.method.socket.receive_buffer_bytes.or_else(usual)
}

/// Opens all flows of the session.
pub fn lanes(task: &Task, peer: SocketAddr, control: &Control, stop: &Stop) -> Result<Vec<Lane>, EndpointError> {
    let flows = task.flows();
    let opening = Opening { task, peer, admission: Admission::of(control), stop };
    (0..flows)
        .map(|flow| {
            let sends = goes_there(task.direction(), flow, flows);
            let place = place(task.direction(), flow, flows);
            let number = flow as u16;
            let numbers = Numbers::new(&opening.admission.token(), number)
                .authenticated(opening.admission.mac(), MacDirection::There);
            let (way, start) = match task.over() {
                StreamOver::Udp { .. } => opening.datagrams(number, numbers, sends),
                StreamOver::Tcp { sending, .. } if sends => opening.tcp_sender(number, sending),
                StreamOver::Tcp { discard, .. } => opening.tcp_receiver(number, discard),
            }?;
            Ok(Lane { way, number, place, numbers, start })
        })
        .collect()
}

struct Opening<'a> {
    task: &'a Task,
    peer: SocketAddr,
    admission: Admission,
    stop: &'a Stop,
}

impl Opening<'_> {
    fn tcp(&self, flow: u16) -> Result<(Socket, usize), EndpointError> {
        let method = &self.task.method;
        let socket = connected(self.peer, self.admission, flow, method, self.stop)?;
        Ok((socket, method.traffic.request_bytes().0 as usize))
    }

    fn tcp_receiver(&self, flow: u16, discard: bool) -> Result<(Any<Numbers>, Start), EndpointError> {
        let (socket, size) = self.tcp(flow)?;
        let way = Receiver::new(socket, Ring::new(Shape::of(size)), self.task.method.waiting);
        Ok((Any::Receive(if discard { way.discarding() } else { way }), Start::Octet))
    }

    fn tcp_sender(&self, flow: u16, sending: Sending) -> Result<(Any<Numbers>, Start), EndpointError> {
        let (socket, size) = self.tcp(flow)?;
        let fail = |cause| {
            EndpointError::new(Step::Set("how a stream is sent"), self.peer, cause).with_hint(Hint::NoSuchSending)
        };
        Ok((sender(socket, size, sending, self.task.method.waiting).map_err(fail)?, Start::AtOnce))
    }

    fn datagrams(&self, flow: u16, numbers: Numbers, sends: bool) -> Result<(Any<Numbers>, Start), EndpointError> {
        let (task, method) = (self.task, &self.task.method);
        let options = SocketOptions { receive_buffer_bytes: receive_room(task), ..method.options_of(u32::from(flow)) };
        let socket = socket::udp(self.peer, &options)?;
        socket::set_waiting(&socket, self.peer, method.waiting)?;
        socket::set_glance(&socket).map_err(|cause| EndpointError::new(Step::Set("timeouts"), self.peer, cause))?;
        let size = method.traffic.request_bytes().0 as usize;
        if sends {
            self.check_segments(&socket, size)?;
        }
        let greeting = Header { token: self.admission.token(), seq: 0, flags: Flags::WARM_UP, flow, word: 0 };
        // As long as what follows: whether the path lets it through is seen at once.
        let drawn = self.greet(&socket, &greeting, if sends { size.max(LENGTH) } else { LENGTH })?;
        if !sends {
            let go = Header { seq: drawn, flags: Flags::START, ..greeting };
            let mut datagram = [0; LENGTH];
            go.write(&mut datagram);
            if let Some(mac) = self.admission.mac() {
                mac.seal(&mut datagram, MacDirection::There);
            }
            let way = NumberedReceiver::new(socket, numbers, method.waiting).stamped(task.even).once();
            return Ok((Any::ReceiveNumbered(way), Start::Datagram(datagram)));
        }
        let (segments, mut ring) = (task.segments() as usize, content(size));
        let way = NumberedSender::new(socket, numbers, size, segments, ring.turn(), method.waiting);
        Ok((Any::SendNumbered(way), Start::AtOnce))
    }

    /// Checks that the segments the kernel is to cut fit the path MTU without fragmentation.
    fn check_segments(&self, socket: &Socket, size: usize) -> Result<(), EndpointError> {
        let headers = if self.peer.is_ipv6() { 48 } else { 28 };
        let Some(mtu) = socket_facts(socket).path_mtu_bytes.filter(|_| self.task.segments() > 1) else { return Ok(()) };
        if (size + headers) as u64 <= mtu.0 {
            return Ok(());
        }
        let told = format!("segments of {size} B do not fit packets of {mtu}");
        let cause = std::io::Error::new(std::io::ErrorKind::InvalidInput, told);
        Err(EndpointError::new(Step::Set("segments of one call"), self.peer, cause)
            .on(Side::Ours)
            .with_hint(Hint::SegmentsTooLong))
    }

    /// Greets until the reflector answers; the number that it drew for this flow.
    fn greet(&self, socket: &Socket, greeting: &Header, length: usize) -> Result<u64, EndpointError> {
        let mut message = vec![0; length];
        for attempt in 0..u64::from(GREETINGS) {
            // Each has its own number, so that none is taken for a copy of another.
            Header { seq: attempt, ..*greeting }.write(&mut message);
            if let Some(mac) = self.admission.mac() {
                mac.seal(&mut message, MacDirection::There);
            }
            // Any other error is of an earlier one, told by ICMP: the next may get through.
            if let Err(Errno::MSGSIZE) = send(socket, &message, SendFlags::NOSIGNAL) {
                return Err(EndpointError::new(Step::FirstExchange, self.peer, Errno::MSGSIZE));
            }
            if let Some(drawn) = answer(socket, &self.admission, greeting.flow) {
                return Ok(drawn);
            }
            if self.stop.requested() {
                return Err(EndpointError::new(Step::FirstExchange, self.peer, Cause::Stopped));
            }
        }
        let is_answer = |answer: &[u8]| drawn(answer, &self.admission, greeting.flow).is_some();
        if let Some(from) = elsewhere::answers_from(socket, self.peer, &message, GREETING, is_answer) {
            return Err(EndpointError::new(Step::FirstExchange, self.peer, Cause::Elsewhere(from)));
        }
        let waited = Nanos(GREETING.0 * u64::from(GREETINGS));
        Err(EndpointError::new(Step::FirstExchange, self.peer, Cause::Silence(waited))
            .on(Side::Path)
            .with_hint(Hint::unanswered_flow(greeting.flow)))
    }
}

/// Value that the reply to a greeting carries; `None`: no reply in time.
fn answer(socket: &Socket, admission: &Admission, flow: u16) -> Option<u64> {
    let until = Monotonic::now().after(GREETING);
    let mut buffer = [0_u8; LENGTH];
    while Monotonic::now() < until {
        poll_one(socket.as_fd(), false, until);
        let Ok((length, _)) = recv(socket, &mut buffer[..], RecvFlags::DONTWAIT) else { continue };
        if let Some(drawn) = drawn(&buffer[..length], admission, flow) {
            return Some(drawn);
        }
    }
    None
}

/// The number that the reflector drew for `flow`, where `message` is its reply to a greeting.
fn drawn(message: &[u8], admission: &Admission, flow: u16) -> Option<u64> {
    let header = Header::read(message).filter(|header| header.flow == flow)?;
    let (token, mac) = (admission.token(), admission.mac());
    header.is_of(&token, mac.as_ref(), (message, message.len()), MacDirection::Back).then_some(header.seq)
}
