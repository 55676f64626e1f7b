//! Probes of a host without a connection: TCP segments, datagrams or echo requests through a raw socket, measured by the
//! engines that measure all else.
//!
//! Of TCP our own kernel knows of no connection, so it answers a SYN+ACK by a reset: that clears the far side's half-open
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

/// What is probed, and how.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own, and all go together")]
#[derive(Clone, Debug)]
pub struct Probing {
    /// What leaves. Flags, window, options and numbers below are those of segments alone.
    pub kind: Kind,
    /// How it is measured: one connection's worth, in requests that are packets.
    pub method: Method,
    /// Whom. Its port is without meaning.
    pub peer: SocketAddr,
    /// Which ports of it.
    pub aim: Aim,
    /// From which ports of ours.
    pub sources: From,
    /// Flags of the segments.
    pub flags: Flags,
    /// Their window.
    pub window: u16,
    /// Their options, a multiple of four octets up to forty.
    pub options: Vec<u8>,
    /// One sequence number for all.
    pub seq: Option<u32>,
    /// One acknowledgement for all.
    pub ack: Option<u32>,
    /// Whether the checksum is wrong on purpose.
    pub bad_checksum: bool,
    /// Hops they may go; absent: as the system has it.
    pub ttl: Option<u8>,
    /// Whether each may go a hop farther than the one before.
    pub ttl_rises: bool,
    /// Whether hops on the way may cut them, over IPv4.
    pub fragmentable: bool,
    /// Whether every exchange is told as an event.
    pub samples: bool,
    /// Length of an interval of the series.
    pub interval: Nanos,
    /// Name and version of the program, for the facts of this host.
    pub program: String,
    /// Whether the wire is watched meanwhile, and how; of ports that are held.
    pub verify: Option<Wish>,
}

/// Ports that probes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// Free ones in turn, as many as can be out at once, held by ordinary sockets.
    Held,
    /// This one, then the next, and so on: whoever else uses one of them meets their answers.
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

/// What probing came to.
#[derive(Debug)]
pub struct Measured {
    /// What the engine brought.
    pub gathered: Gathered,
    /// This host.
    pub environment: Environment,
    /// Probes that left, those still out when it was stopped among them.
    pub departed: u64,
    /// Answers that came too fast to be looked at one by one.
    pub unseen: u64,
    /// What was seen on the wire; absent where it was not watched.
    pub wire: Option<Watched>,
}

/// Who is told what happens; both are called on the thread that started the measurement.
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

/// Where answers go on their way to whoever wants to know of them.
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
