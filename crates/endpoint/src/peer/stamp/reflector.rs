//! A session-reflector: a thread for each address, each with the sessions that arrive there.
//!
//! `protocol::stamp::reflector` decides which packets are answered. Packets never answered besides: those that
//! [`datagrams`] passes over, and those from a port below 1,024 or from our own: an echo service or another reflector,
//! whose packets would be answered for ever. Nothing from the network ends the reflector.

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::os::fd::AsFd;

use measure::served::RefusalReason;
use measure::unit::{Instant, Nanos};
use protocol::stamp::key::Key;
use protocol::stamp::layout::LONGEST;
use protocol::stamp::reflector::{Arrival, Manner, Reflector as Decider, Silence};
use protocol::stamp::time::{ErrorEstimate, Format};
use rustix::io::Errno;
use socket2::Socket;

use crate::clock::{Monotonic, wall};
use crate::environment::clock_state;
use crate::error::hint::Hint;
use crate::error::{EndpointError, Step};
use crate::serve::book::{Book, Meter};
use crate::serve::datagrams;
use crate::serve::door::Door;
use crate::serve::gate::Gate;
use crate::socket::{option, queue};
use crate::stop::Stop;

/// Packets a second from each address where nothing else is said: more than a core answers to one that waits for each.
pub const PER_SECOND: NonZeroU32 = NonZeroU32::MIN.saturating_add(199_999);
/// Ports below it belong to services, and no session-sender sends from there.
const SERVICES: u16 = 1_024;
/// Interval at which the state of our clock is read.
const STATE: Nanos = Nanos::secs(1);

/// Addresses of a reflector, and its settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its addresses.
    pub listen: Vec<SocketAddr>,
    /// Networks that are served, and the book of the clients.
    pub door: Door,
    /// Key of authenticated packets, where it answers only these; absent: it answers unauthenticated ones.
    pub key: Option<Key>,
    /// True where it numbers its answers.
    pub counts: bool,
    /// True where short packets of TWAMP Light have longer answers.
    pub lengthens: bool,
    /// Packets a second that each address may send.
    pub per_second: NonZeroU32,
    /// Pretended error of its clock.
    pub clock: Pretence,
}

impl Settings {
    /// The usual ones at these addresses.
    pub fn at(listen: Vec<SocketAddr>) -> Self {
        Self {
            listen,
            door: Door::default(),
            key: None,
            counts: true,
            lengthens: false,
            per_second: PER_SECOND,
            clock: Pretence::default(),
        }
    }
}

/// A clock that is wrong by a known difference, so that a test knows the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pretence {
    /// Lead at the start, nanoseconds; negative: it is behind.
    pub offset_ns: i64,
    /// Gain, parts per million.
    pub ppm: f64,
    /// Start of the gain, nanoseconds since 1970.
    pub since: u64,
}

impl Pretence {
    /// Returns its reading at time `at`.
    fn shows(self, at: u64) -> u64 {
        let gained = at.wrapping_sub(self.since).cast_signed() as f64 * self.ppm / 1e6;
        at.saturating_add_signed(self.offset_ns).saturating_add_signed(gained as i64)
    }
}

/// A reflector whose sockets are bound.
#[derive(Debug)]
pub struct StampReflector {
    sockets: Vec<(Socket, SocketAddr)>,
    settings: Settings,
}

/// Binds the sockets; nothing is answered before [`StampReflector::run`].
pub fn bind(settings: Settings) -> Result<StampReflector, EndpointError> {
    let sockets =
        settings.listen.iter().map(|address| open(*address, &settings.door.gate)).collect::<Result<_, _>>()?;
    let clock = Pretence { since: wall(), ..settings.clock };
    Ok(StampReflector { sockets, settings: Settings { clock, ..settings } })
}

fn open(address: SocketAddr, gate: &Gate) -> Result<(Socket, SocketAddr), EndpointError> {
    let fail = |cause: io::Error| listening(address, cause);
    let ipv6 = address.is_ipv6();
    let socket = datagrams::unbound(address, gate)?;
    option::tell_time_to_live(socket.as_fd(), ipv6).map_err(fail)?;
    // Without it the class of service that is asked for is reported as not known.
    let _refused = option::tell_service(socket.as_fd(), ipv6);
    // Hops back are counted from it, as those of other reflectors. Over IPv6 there may be packets of IPv4 too.
    for version in [ipv6, false] {
        let _refused = option::set_time_to_live(socket.as_fd(), version, u8::MAX);
    }
    datagrams::bind(socket, address).map_err(fail)
}

fn listening(address: SocketAddr, cause: io::Error) -> EndpointError {
    let privileged = cause.kind() == io::ErrorKind::PermissionDenied && address.port() < SERVICES;
    let error = EndpointError::new(Step::Listen, address, cause);
    if privileged { error.with_hint(Hint::StampPort) } else { error }
}

impl StampReflector {
    /// Returns the addresses it listens at, ports filled in.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.sockets.iter().map(|(_, address)| *address).collect()
    }

    /// Answers until `stop`.
    pub fn run(self, stop: &Stop) -> Result<(), EndpointError> {
        let Self { sockets, settings } = &self;
        datagrams::on_threads(sockets, "sonde-stamp", stop, |socket, address| serve(socket, address, settings, stop))
    }
}

/// Answers what comes to one address.
fn serve(socket: &Socket, address: SocketAddr, settings: &Settings, stop: &Stop) {
    let Settings { key, counts, lengthens, per_second, clock, door, .. } = settings.clone();
    let meter = door.book.meter();
    let mut decider = Decider::new(Manner { key, counts, lengthens, per_second });
    let mut ours = (Instant(0), estimate());
    datagrams::attend(socket, LONGEST, stop, |buffer, came, from, to| {
        let at = came.stamp.unwrap_or_else(wall);
        let now = Monotonic::now();
        if now >= ours.0 {
            ours = (now.after(STATE), estimate());
        }
        if !may_be_answered(from.port(), address.port()) {
            return;
        }
        let (time_to_live, service) = (came.time_to_live, came.service);
        let to_us = Some(SocketAddr::new(to, address.port()));
        let arrival = Arrival { from, at: clock.shows(at), now, time_to_live, to: to_us, service };
        let length = decider.answer_length(came.length);
        if let Some(beyond) = buffer.get_mut(came.length..length) {
            beyond.fill(0);
        }
        let packet = &mut buffer[..length];
        let answered = decider.answer(packet, arrival, ours.1, || clock.shows(wall()));
        if let Ok(service) = answered {
            // A sender without an answer asks again; an answer that does not fit the queue is lost as any packet.
            let _sent: Result<usize, Errno> = queue::send_from(socket.as_fd(), packet, from, to, service);
        }
        if let Some(meter) = &meter {
            count(&door.book, meter, (came.length as u64, length as u64), answered);
        }
    });
}

/// Counts a packet, of which there may be many: it is worth no line.
fn count(book: &Book, meter: &Meter, (came, left): (u64, u64), answered: Result<Option<u8>, Silence>) {
    meter.received(came);
    match answered {
        Ok(_) => meter.answered(left),
        Err(Silence::Short | Silence::Unsealed) => meter.malformed(came),
        Err(Silence::TooFast) => book.count_refused(RefusalReason::Limit),
        Err(Silence::TooMany) => book.count_refused(RefusalReason::Full),
    }
}

/// Returns true where `port` can be a session-sender's.
fn may_be_answered(port: u16, our_port: u16) -> bool {
    port >= SERVICES && port != our_port
}

fn estimate() -> ErrorEstimate {
    let state = clock_state();
    ErrorEstimate::new(state.synchronised == Some(true), Format::Ntp, state.error_ns.map(|error| error.0))
}

#[cfg(test)]
mod tests {
    use protocol::stamp::PORT;
    use test_case::test_case;

    use super::*;

    #[test_case(5_000, true; "a sender")]
    #[test_case(7, false; "an echo service")]
    #[test_case(862, false; "a reflector")]
    #[test_case(8_620, false; "a reflector at our own port")]
    #[test_case(0, false; "port 0")]
    fn only_a_sender_is_answered(port: u16, answered: bool) {
        assert_eq!(may_be_answered(port, 8_620), answered);
    }

    #[test]
    fn a_clock_that_is_to_be_wrong_is_wrong_by_so_much() {
        let clock = Pretence { offset_ns: -5_000, ppm: 100.0, since: 1_000_000_000 };
        assert_eq!(clock.shows(1_000_000_000), 999_995_000);
        assert_eq!(clock.shows(2_000_000_000), 2_000_095_000);
        assert_eq!(Pretence::default().shows(77), 77);
    }

    #[test]
    fn a_port_without_the_privilege_is_told_with_its_name() {
        let cause = io::Error::from_raw_os_error(libc::EACCES);
        let error = listening(([127, 0, 0, 1], PORT).into(), cause);
        assert_eq!(error.hint.as_deref(), Some(&Hint::StampPort));
    }
}
