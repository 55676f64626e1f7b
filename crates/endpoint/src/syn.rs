//! Probes of a host without a connection: TCP segments, datagrams or echo requests through a raw socket, measured by the
//! engines that measure all else.
//!
//! Our own kernel knows of no TCP connection, so it answers a SYN+ACK with a reset: that clears the peer's half-open
//! connection. It must not meet a later probe, so source ports take turns, each held by an ordinary socket.

mod open;

pub use crate::probe::Kind;
pub use open::local_address;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use measure::answer::{Answer, Flags};
use measure::environment::Environment;
use measure::event::Event;
use measure::method::Method;
use measure::unit::Nanos;
use protocol::syn::probe::{Aim, Listener, WINDOW};
use protocol::wire::Wire;
use rtrb::{Consumer, Producer, RingBuffer};

use crate::environment::Reader;
use crate::environment::watch::Watch;
use crate::error::EndpointError;
use crate::link::raw::Raw;
use crate::session::connections::{self, Connection};
use crate::session::scene::{Nobody, Scene};
use crate::session::workers::Gathered;
use crate::stop::Stop;
use crate::wire::timed;
use crate::wire::{self, Watched, Wish};

/// Answers that may wait to be looked at.
const RING: usize = 1 << 16;

/// Settings of a probing.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own, and all go together")]
#[derive(Clone, Debug)]
pub struct Probing {
    /// Kind of the packets. Flags, window, options and numbers below apply to segments alone.
    pub kind: Kind,
    /// Method: the settings of one connection, whose requests are packets.
    pub method: Method,
    /// Address of the peer; its port is unused.
    pub peer: SocketAddr,
    /// Ports of the peer that are probed.
    pub aim: Aim,
    /// Local ports that the probes come from.
    pub sources: From,
    /// Flags of the segments.
    pub flags: Flags,
    /// Receive window in each segment, bytes before scaling.
    pub window: u16,
    /// TCP options of each segment, a multiple of four octets up to forty.
    pub options: Vec<u8>,
    /// Sequence number of all segments; absent: one for each probe.
    pub seq: Option<u32>,
    /// Acknowledgement number of all segments; absent: one for each probe where the ACK flag is set.
    pub ack: Option<u32>,
    /// True where the checksum is wrong on purpose.
    pub bad_checksum: bool,
    /// Time to live, hops; absent: the system's default.
    pub ttl: Option<u8>,
    /// True where each probe's time to live is one hop more than the one before.
    pub ttl_rises: bool,
    /// True where routers may fragment the packets, over IPv4.
    pub fragmentable: bool,
    /// True where every exchange is reported as an event.
    pub samples: bool,
    /// Length of an interval of the series.
    pub interval: Nanos,
    /// Name and version of the program, for the facts of this host.
    pub program: String,
    /// Settings of the packet capture beside the measurement, for held ports alone; absent: no capture.
    pub verify: Option<Wish>,
}

/// Ports that probes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// Free ones in turn, as many as can be out at once, held by ordinary sockets.
    Held,
    /// This one, then the next, and so on: another program that uses one of them receives their answers.
    Rising(u16),
    /// Always this one.
    Always(u16),
}

impl Probing {
    /// SYNs to `peer` by `method`.
    pub fn syn(method: Method, peer: SocketAddr) -> Self {
        Self {
            kind: Kind::Segments,
            method,
            aim: Aim::One(peer.port()),
            peer,
            sources: From::Held,
            flags: Flags::SYN,
            window: WINDOW,
            options: protocol::syn::probe::MSS.to_vec(),
            seq: None,
            ack: None,
            bad_checksum: false,
            ttl: None,
            ttl_rises: false,
            fragmentable: false,
            samples: false,
            interval: measure::event::INTERVAL,
            program: String::new(),
            verify: None,
        }
    }
}

/// Result of a probing.
#[derive(Debug)]
pub struct Measured {
    /// Recording and facts that the engine gathered.
    pub gathered: Gathered,
    /// This host.
    pub environment: Environment,
    /// Probes that left, those still out when it was stopped among them.
    pub departed: u64,
    /// Answers that came too fast to be examined one by one.
    pub unseen: u64,
    /// Packets seen on the wire; absent where nothing was captured.
    pub wire: Option<Watched>,
}

/// Callbacks of a probing; both are called on the thread that started the measurement.
pub struct Ears<'a> {
    /// Events of the engine.
    pub on_event: &'a mut dyn FnMut(Event),
    /// Answers, each before the event of the exchange that it ends.
    pub on_answer: &'a mut dyn FnMut(Answer),
}

/// Probes. Blocks until it is over. An error is one of the time before the first probe; what happened later stands in
/// the result.
pub fn measure(probing: &Probing, stop: &Stop, ears: Ears<'_>) -> Result<Measured, EndpointError> {
    crate::socket::raise_descriptor_limit();
    let (producer, consumer) = RingBuffer::new(RING);
    let unseen = Arc::new(AtomicU64::new(0));
    let post = Post { ring: producer, unseen: Arc::clone(&unseen) };
    let halt = Stop::default();
    let round = Round { probing, stop, halt: &halt, heard: consumer, unseen };
    match probing.kind {
        Kind::Segments => round.run(open::segments(probing, post, &halt)?, ears),
        Kind::Datagrams => round.run(open::datagrams(probing, post, &halt)?, ears),
        Kind::Echoes => round.run(open::echoes(probing, post, &halt)?, ears),
    }
}

/// A measurement, whatever its probes are.
struct Round<'a> {
    probing: &'a Probing,
    stop: &'a Stop,
    halt: &'a Stop,
    heard: Consumer<Answer>,
    unseen: Arc<AtomicU64>,
}

impl Round<'_> {
    fn run<W: Wire + Send>(mut self, opened: Connection<Raw, W>, ears: Ears<'_>) -> Result<Measured, EndpointError> {
        let probing = self.probing;
        let wire = probing.verify.map(|wish| wire::Watch::start(&probing.method, probing.peer, wish)).transpose()?;
        let ends = opened.flow.link.ends();
        let departed = opened.flow.link.departed();
        let mut watch = Watch::start(Reader::host(probing.program.clone()).towards(probing.peer.ip()));
        let Ears { on_event, on_answer } = ears;
        let mut hand_over = |event: Option<Event>| {
            while let Ok(answer) = self.heard.pop() {
                on_answer(answer);
            }
            event.into_iter().for_each(&mut *on_event);
        };
        let mut scene = Scene {
            method: &probing.method,
            trace: None,
            peer: probing.peer,
            far: &mut Nobody,
            samples: probing.samples,
            interval: probing.interval,
            stop: self.stop,
            halt: self.halt,
            watch: &mut watch,
            on_event: &mut |event| hand_over(Some(event)),
        };
        let gathered =
            connections::measure([opened].into_iter().collect(), &mut scene, |link: &Raw| Some(link.socket()))?;
        hand_over(None);
        let (departed, unseen) = (departed.load(Ordering::Relaxed), self.unseen.load(Ordering::Relaxed));
        let wire = wire.map(|wire| {
            let watched = timed(wire.finish(Vec::new()), &gathered.recording);
            Watched { own: Some(ends), ..watched }
        });
        Ok(Measured { gathered, environment: watch.finish(), departed, unseen, wire })
    }
}

/// Sending end of the answers, for the listener.
#[derive(Debug)]
struct Post {
    ring: Producer<Answer>,
    unseen: Arc<AtomicU64>,
}

impl Listener for Post {
    #[inline]
    fn hear(&mut self, answer: Answer) {
        if self.ring.push(answer).is_err() {
            self.unseen.fetch_add(1, Ordering::Relaxed);
        }
    }
}
