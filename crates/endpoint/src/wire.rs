//! Watches the wire while a measurement runs: a packet socket beside it, on a thread of its own.
//!
//! The kernel copies the beginnings of the packets to and from the peer into memory that both share (`ring`); the thread
//! wakes for a block of them, looks at each and keeps counts, so that memory is bounded however long the run. Nothing of
//! it stands between a stamp and a socket of the measurement: what it costs is the kernel's copy and a share of a CPU.
//!
//! The capture takes what passes any interface, so that a packet which took another one than the route's is found. It
//! needs `CAP_NET_RAW`.

mod keep;
mod ring;

use std::net::SocketAddr;
use std::thread::{self, JoinHandle};

use measure::method::{BatchBy, Carrier as Carries, Exchange, Method, Traffic, Window};
use measure::recorder::Recording;
use measure::unit::Nanos;
use measure::wire::finding::CaptureFacts;
use measure::wire::judge::Place;
use measure::wire::observer::{Observed, Observer, Setting};
use protocol::capture::filter::program;
use protocol::capture::watch::{Carrier, Marks, Passage, Target, look};
use protocol::native::header::LENGTH;

pub use keep::Keep;

use crate::clock::Monotonic;
use crate::clock::wall_offset;
use crate::environment::Towards;
use crate::error::hint::Hint;
use crate::error::{EndpointError, Step};
use crate::stop::Stop;
use keep::Keeper;
use ring::Ring;

/// The beginnings of packets that are looked at, bytes of IP: the longest headers, and the head of one of our messages.
const LOOK: u32 = 192;
/// Longest wait for packets that the kernel counted and that have not reached the ring.
const PATIENCE: Nanos = Nanos::secs(5);

/// Settings of a capture beside a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Limits of the packets kept for a file; absent: packets are counted alone.
    pub keep: Option<Keep>,
}

/// A watch that is on.
#[derive(Debug)]
pub struct Watch {
    thread: Option<JoinHandle<Taken>>,
    stop: Stop,
    place: Place,
    snap: u32,
}

/// Result of a capture.
#[derive(Debug)]
pub struct Watched {
    /// Flows, counts, times.
    pub observed: Observed,
    /// Place of the capture, and its losses.
    pub place: Place,
    /// Our ends of what was measured, where its sockets do not tell them.
    pub own: Option<Vec<SocketAddr>>,
    /// Our ends of connections that were not measured.
    pub apart: Vec<SocketAddr>,
    /// Messages to the peer and from it before the first of the warm-up; nothing in them marks them.
    pub before: (u64, u64),
    /// Start of the recording, nanoseconds since 1970; 0: the engine that measured did not report it.
    pub began_ns: u64,
    /// Packets kept, as a pcap file; absent: none were to be kept.
    pub kept: Option<Vec<u8>>,
}

/// Result of the capturing thread.
#[derive(Debug)]
struct Taken {
    observed: Observed,
    packets: u64,
    dropped: u64,
    keeper: Option<Keeper>,
}

/// Packets that belong to a measurement by `method` with `peer`.
fn target(method: &Method, peer: SocketAddr) -> Target {
    let carrier = match method.traffic.carrier() {
        Carries::Tcp | Carries::TcpConnect | Carries::TcpSyn => Carrier::Tcp,
        Carries::Udp => Carrier::Udp,
        Carries::Icmp => Carrier::Icmp,
    };
    let marks = match (method.traffic.carrier(), &method.traffic) {
        (Carries::Udp, Traffic::Stream(_)) => Marks::Numbers,
        (Carries::Udp, _) => Marks::Header,
        (Carries::Tcp, Traffic::Exchange(_) | Traffic::Load(_)) if headed(method) => Marks::Header,
        _ => Marks::None,
    };
    Target { peer, carrier, marks }
}

fn headed(method: &Method) -> bool {
    method.traffic.request_bytes().0.min(method.traffic.response_bytes().0) >= LENGTH as u64
}

/// Returns the settings of the observer for a measurement by `method`.
fn setting(method: &Method, target: &Target, towards: &Towards) -> Setting {
    let (traffic, of_datagrams) = (&method.traffic, target.carrier == Carrier::Udp);
    let load = traffic.load().and_then(|load| load.batch);
    let of_segments = load.is_some_and(|batch| batch.by == BatchBy::Segments);
    Setting {
        interface: towards.index,
        mtu_bytes: towards.mtu_bytes,
        // A stream's datagrams are alike, and a path without a card hands them over as they were merged.
        segment_bytes: (of_datagrams && (of_segments || traffic.stream().is_some()))
            .then_some(traffic.request_bytes().0 as u32),
        in_turn: target.marks == Marks::None
            && matches!(traffic, Traffic::Exchange(Exchange { window: Window::Closed(1), .. })),
    }
}

impl Watch {
    /// Starts to capture the packets that a measurement by `method` exchanges with `peer`. From its return on, every
    /// packet is seen.
    ///
    /// # Errors
    /// No route to the peer, no `CAP_NET_RAW`, no memory for the capture.
    pub fn start(method: &Method, peer: SocketAddr, wish: Wish) -> Result<Self, EndpointError> {
        Self::begin(target(method, peer), method, wish)
    }

    /// The same of messages that another program's protocol has made. Port 0 is any port of the peer, as where it names
    /// the port only when it is asked.
    ///
    /// # Errors
    /// As [`Watch::start`].
    pub fn start_foreign(method: &Method, peer: SocketAddr, wish: Wish) -> Result<Self, EndpointError> {
        Self::begin(Target { marks: Marks::None, ..target(method, peer) }, method, wish)
    }

    fn begin(target: Target, method: &Method, wish: Wish) -> Result<Self, EndpointError> {
        let peer = target.peer;
        let fail = |cause: std::io::Error| {
            let forbidden = cause.kind() == std::io::ErrorKind::PermissionDenied;
            let error = EndpointError::new(Step::OpenSocket("packets, to watch the wire"), peer, cause);
            if forbidden { error.with_hint(Hint::WatchForbidden) } else { error }
        };
        let towards = Towards::find(peer.ip(), method.socket.interface.as_deref()).map_err(fail)?;
        let keeper = wish.keep.map(Keeper::new);
        let look_at = LOOK.max(wish.keep.map_or(0, |keep| keep.snap));
        let ring = Ring::open(&program(&target, look_at)).map_err(fail)?;
        let observer = Observer::new(setting(method, &target, &towards));
        let stop = Stop::default();
        let body = {
            let stop = stop.clone();
            move || watch(ring, observer, keeper, &target, &stop)
        };
        let builder = thread::Builder::new().name("sonde-wire".to_owned());
        let thread = builder.spawn(body).map_err(|cause| EndpointError::new(Step::StartThread, peer, cause))?;
        let place = Place {
            interface: towards.name,
            mtu_bytes: towards.mtu_bytes,
            others: Vec::new(),
            capture: CaptureFacts::default(),
        };
        Ok(Self { thread: Some(thread), stop, place, snap: wish.keep.map_or(0, |keep| keep.snap) })
    }

    /// Ends the watch when it has seen all that passed until now; `apart` are our ends of connections that were not
    /// measured.
    pub fn finish(mut self, apart: Vec<SocketAddr>) -> Watched {
        self.stop.request();
        let thread = self.thread.take().expect("ended once");
        let taken = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let Taken { observed, packets, dropped, keeper } = taken;
        let mut place = std::mem::take(&mut self.place);
        let elsewhere = observed.flows.iter().flat_map(|flow| [flow.out.elsewhere, flow.back.elsewhere]);
        for (index, _) in elsewhere.flatten() {
            if place.others.iter().all(|(other, _)| *other != index) {
                place.others.extend(Towards::name_of(index).map(|name| (index, name)));
            }
        }
        place.capture = CaptureFacts {
            packets,
            dropped,
            file: None,
            kept: keeper.as_ref().map_or(0, |keeper| keeper.kept),
            left_out: keeper.as_ref().map_or(0, |keeper| keeper.left_out),
            snap_bytes: self.snap,
        };
        Watched {
            observed,
            place,
            own: None,
            apart,
            before: (0, 0),
            began_ns: 0,
            kept: keeper.map(|keeper| keeper.file),
        }
    }
}

/// A measurement that fails leaves no thread behind.
impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.request();
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// Takes packets until it is asked to stop, and then those that the kernel has taken by then.
fn watch(mut ring: Ring, mut observer: Observer, mut keeper: Option<Keeper>, target: &Target, stop: &Stop) -> Taken {
    let (mut taken, mut goal) = (0_u64, None);
    let mut give_up = Monotonic::now();
    loop {
        let asked = stop.requested();
        while ring.block(&mut |packet| {
            taken += 1;
            let passage = Passage {
                at_ns: packet.at_ns,
                outgoing: packet.outgoing,
                interface: packet.interface,
                length: packet.length,
            };
            if let Some(seen) = look(packet.kept, passage, target) {
                observer.take(&seen);
                if let Some(keeper) = &mut keeper {
                    keeper.take(&packet);
                }
            }
        }) {}
        if asked {
            let goal = *goal.get_or_insert_with(|| {
                give_up = Monotonic::now().after(PATIENCE);
                ring.counted()
            });
            if taken >= goal.taken || Monotonic::now() >= give_up {
                let dropped = goal.dropped + goal.taken.saturating_sub(taken);
                return Taken { observed: observer.finish(), packets: taken, dropped, keeper };
            }
        }
        ring.wait(if asked { Nanos::millis(5) } else { Nanos::millis(50) });
    }
}

/// Adds to a capture the wall clock at the start of its recording.
pub(crate) fn timed(watched: Watched, recording: &Recording) -> Watched {
    let began = i128::from(recording.began.0) + wall_offset();
    Watched { began_ns: u64::try_from(began).unwrap_or(0), ..watched }
}
