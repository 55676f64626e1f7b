//! A server of irtt: a thread for each address, each with the sessions that were opened there.
//!
//! `protocol::irtt::server` decides which datagrams are answered, and with what. Nothing from the network ends the server.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;

use measure::served::RefusalReason;
use measure::unit::{Instant, Nanos};
use protocol::irtt::server::event::{Dropped, Event};
use protocol::irtt::server::{Arrival, Moment, Outcome, Rules, Server as Machine};
use socket2::Socket;

use crate::clock::{Monotonic, wall};
use crate::error::{EndpointError, Step, plain};
use crate::random;
use crate::serve::book::{Book, Meter};
use crate::serve::datagrams;
use crate::serve::door::Door;
use crate::socket::{option, queue};
use crate::stop::Stop;

/// Room for any datagram.
const LARGEST: usize = 1 << 16;
/// Age of a datagram that its kernel stamp may show. A higher one is of a wall clock that was set meanwhile.
const OLDEST: Nanos = Nanos::secs(1);

/// Addresses of a server, and its settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its addresses.
    pub listen: Vec<SocketAddr>,
    /// True where the wildcard of IPv6 is that of IPv6 alone.
    pub only_v6: bool,
    /// Networks that are served, and the book of the clients.
    pub door: Door,
    /// Rules of its sessions.
    pub rules: Rules,
    /// Time to live of its replies; absent: the system's.
    pub time_to_live: Option<u8>,
    /// Listener to its events; absent: none.
    pub tell: Option<Tell>,
}

impl Settings {
    /// The usual ones at these addresses.
    pub fn at(listen: Vec<SocketAddr>) -> Self {
        let (door, rules) = (Door::default(), Rules::default());
        Self { listen, only_v6: false, door, rules, time_to_live: None, tell: None }
    }
}

/// Listener to what a sender's datagram caused, in irtt's words; a stranger's text may be among them. It is called once the reply
/// has left.
#[derive(Clone)]
pub struct Tell(pub Arc<Listener>);

/// A listener to a sender and a line.
pub type Listener = dyn Fn(SocketAddr, &dyn fmt::Display) + Send + Sync;

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tell(…)")
    }
}

/// A server whose sockets are bound.
#[derive(Debug)]
pub struct IrttServer {
    sockets: Vec<(Socket, SocketAddr)>,
    settings: Settings,
}

/// Binds the sockets; nothing is answered before [`IrttServer::run`].
pub fn bind(settings: Settings) -> Result<IrttServer, EndpointError> {
    let sockets = settings.listen.iter().map(|address| open(*address, &settings)).collect::<Result<_, _>>()?;
    Ok(IrttServer { sockets, settings })
}

fn open(address: SocketAddr, settings: &Settings) -> Result<(Socket, SocketAddr), EndpointError> {
    let fail = |cause: io::Error| EndpointError::new(Step::Listen, address, cause);
    let ipv6 = address.is_ipv6();
    let socket = datagrams::unbound(address, &settings.door.gate)?;
    if ipv6 && settings.only_v6 {
        socket.set_only_v6(true).map_err(fail)?;
    }
    if let Some(hops) = settings.time_to_live {
        option::set_time_to_live(socket.as_fd(), ipv6, hops)
            .map_err(|cause| EndpointError::new(Step::Set("time to live"), address, cause))?;
    }
    datagrams::bind(socket, address).map_err(fail)
}

impl IrttServer {
    /// Returns the addresses it listens at, ports filled in.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.sockets.iter().map(|(_, address)| *address).collect()
    }

    /// Answers until `stop`.
    pub fn run(self, stop: &Stop) -> Result<(), EndpointError> {
        let Self { sockets, settings } = &self;
        let start = Monotonic::now();
        datagrams::on_threads(sockets, "sonde-irtt", stop, |socket, _| serve(socket, settings, start, stop))
    }
}

/// Answers what comes to one address.
fn serve(socket: &Socket, settings: &Settings, start: Instant, stop: &Stop) {
    let Settings { door, rules, tell, .. } = settings;
    let meter = door.book.meter();
    let mut machine = Machine::new(rules.clone(), drawn().unwrap_or_default());
    datagrams::attend(socket, LARGEST, stop, |buffer, came, from, to| {
        let arrival = Arrival { from, now: Monotonic::now(), at: came_at(came.stamp, moment(start)) };
        let outcome = machine.take(buffer, came.length, &arrival, drawn, || moment(start));
        // A reply that does not fit the queue is lost as any packet.
        let sent = outcome.reply.map_or(Ok(0), |reply| {
            let class = Some(reply.class).filter(|class| *class != 0);
            queue::send_from(socket.as_fd(), &buffer[..reply.length], from, to, class)
        });
        if let Some(meter) = &meter {
            count(&door.book, meter, came.length as u64, &outcome);
        }
        let Some(Tell(tell)) = tell else { return };
        outcome.events.iter().for_each(|event| tell(from, event));
        if let Err(errno) = sent {
            tell(from, &format_args!("[Drop] {}", plain(&errno.into())));
        }
    });
}

/// A number by chance; `None` where the system grants none.
fn drawn() -> Option<u64> {
    random::bytes().ok().map(u64::from_le_bytes)
}

/// The present moment. Its times are above 0, which is none.
fn moment(start: Instant) -> Moment {
    Moment { wall: wall().cast_signed(), monotonic: Monotonic::now().signed_since(start).max(1) }
}

/// The moment of a datagram's arrival, which is at `here` or a little before: at this time by the wall clock, where the kernel says so.
fn came_at(stamp: Option<u64>, here: Moment) -> Moment {
    let age = stamp.map_or(0, |stamp| here.wall.wrapping_sub(stamp.cast_signed()));
    let age = if (0..OLDEST.0.cast_signed()).contains(&age) { age } else { 0 };
    Moment { wall: here.wall - age, monotonic: (here.monotonic - age).max(1) }
}

/// Counts a datagram, of which there may be many: it is worth no line.
fn count(book: &Book, meter: &Meter, came: u64, outcome: &Outcome) {
    meter.received(came);
    if let Some(reply) = outcome.reply {
        meter.answered(reply.length as u64);
    }
    for event in &outcome.events {
        match event {
            Event::Dropped(Dropped::TooSoon | Dropped::Openings) => book.count_refused(RefusalReason::Limit),
            Event::Dropped(Dropped::Sessions) => book.count_refused(RefusalReason::Full),
            Event::Dropped(_) => meter.malformed(came),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(Some(5_000_000_000), 0; "just now")]
    #[test_case(Some(4_999_960_000), 40_000; "a while ago")]
    #[test_case(Some(45_000_000_000), 0; "before the clock was set back")]
    #[test_case(Some(1), 0; "before the clock was set ahead")]
    #[test_case(Some(u64::MAX), 0; "as far ahead as can be")]
    #[test_case(None, 0; "without a stamp")]
    fn arrival_is_at_the_stamp_of_the_kernel(stamp: Option<u64>, earlier: i64) {
        let here = Moment { wall: 5_000_000_000, monotonic: 3_000_000_000 };
        let came = Moment { wall: here.wall - earlier, monotonic: here.monotonic - earlier };
        assert_eq!(came_at(stamp, here), came);
    }
}
