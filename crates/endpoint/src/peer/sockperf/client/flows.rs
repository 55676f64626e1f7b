//! From sockets to flows, each kind over its own link, and through the engine.

use std::num::NonZeroU32;
use std::sync::Arc;

use measure::event::Event;
use measure::method::{Carrier, Exchange, Traffic, Window};
use protocol::link::Link;
use protocol::sockperf::message::HEADER;
use protocol::sockperf::numbering::Numbering;
use protocol::sockperf::payload;
use protocol::sockperf::wire::{SockperfWire, Tally};
use socket2::{SockAddr, Socket};

use super::framed::{Framed, Full};
use super::group::Group;
use super::way::Way;
use super::{Place, Test};
use crate::engine::Flow;
use crate::environment::watch::Watch;
use crate::error::EndpointError;
use crate::facts::socket::socket_facts;
use crate::link::datagram::Datagram;
use crate::session::connections::{self, Connection};
use crate::session::scene::{Nobody, Scene};
use crate::session::workers::Gathered;
use crate::stop::Stop;

/// Measures `test` over `sockets`, one for each of its places.
pub fn measure(
    test: &Test,
    sockets: Vec<Socket>,
    tally: &Arc<Tally>,
    watch: &mut Watch,
    stop: &Stop,
    on_event: &mut dyn FnMut(Event),
) -> Result<Gathered, EndpointError> {
    let halt = Stop::default();
    let making = Making { test, tally, halt: &halt };
    let mut scene = Scene {
        method: &test.method,
        trace: test.trace.as_deref(),
        peer: test.places[0].address,
        far: &mut Nobody,
        samples: test.samples,
        interval: test.interval,
        stop,
        halt: &halt,
        watch,
        on_event,
    };
    let scene = &mut scene;
    let all = |is: fn(&Place) -> bool| test.places.iter().all(is);
    if all(|place| place.carrier == Carrier::Udp && !place.is_group()) {
        let made = making.each(sockets, |socket, _| making.datagram(socket));
        connections::measure(made.collect(), scene, |link: &Datagram| Some(link.socket()))
    } else if all(|place| place.carrier == Carrier::Tcp) {
        let made = making.each(sockets, |socket, place| making.framed(socket, place));
        connections::measure(made.collect(), scene, |link: &Framed| Some(link.socket()))
    } else {
        let made = making.each(sockets, |socket, place| making.way(socket, place));
        connections::measure(made.collect(), scene, |link: &Way| Some(link.socket()))
    }
}

/// The longest message, with all that stays the same.
pub fn content(test: &Test) -> Vec<u8> {
    let mut message = vec![0; (test.method.traffic.request_bytes().0 as usize).max(HEADER)];
    payload::fill(&mut message, test.content.longest, test.content.seed);
    message
}

/// Arguments that every kind of flow needs to be made.
#[derive(Clone, Copy)]
struct Making<'a> {
    test: &'a Test,
    tally: &'a Arc<Tally>,
    /// Flag that the links check.
    halt: &'a Stop,
}

impl Making<'_> {
    fn each<L: Link>(
        self,
        sockets: Vec<Socket>,
        link: impl Fn(Socket, &Place) -> L,
    ) -> impl Iterator<Item = Connection<L, SockperfWire>> {
        let lanes = self.test.places.iter().zip(0..);
        sockets.into_iter().zip(lanes).map(move |(socket, (place, lane))| {
            let facts = socket_facts(&socket);
            let request = content(self.test);
            // One byte more, so that a reply that is too long is seen as such.
            let reply = vec![0; request.len() + 1];
            let (link, wire) = (link(socket, place), self.wire(lane));
            let flow = Flow { link, wire, index: lane, request, reply, expected: None };
            Connection { flow, facts, refused: None, handed: None, errors: None }
        })
    }

    fn wire(&self, lane: u32) -> SockperfWire {
        let lanes = u32::try_from(self.test.places.len()).unwrap_or(u32::MAX);
        let numbering = Numbering::new(lane, NonZeroU32::new(lanes).unwrap_or(NonZeroU32::MIN), self.test.burst);
        let every = NonZeroU32::new(self.test.method.traffic.load().map_or(1, |load| load.reply_every));
        let wire = SockperfWire::new(numbering).with_tally(Arc::clone(self.tally), every);
        if self.test.integrity { wire.with_integrity() } else { wire }
    }

    fn datagram(&self, socket: Socket) -> Datagram {
        Datagram::new(socket, self.test.method.waiting, self.halt.clone())
    }

    fn framed(&self, socket: Socket, place: &Place) -> Framed {
        let method = &self.test.method;
        let full = match method.traffic {
            // One message out and its reply back: there is nothing to do but to wait.
            Traffic::Exchange(Exchange { window: Window::Closed(1), .. }) => Full::Wait,
            _ if self.test.skips => Full::Skip,
            _ => Full::Later,
        };
        let largest = u32::try_from(method.traffic.request_bytes().0).unwrap_or(u32::MAX).min(place.largest());
        Framed::new(socket, method.waiting, largest, full, self.halt.clone())
    }

    fn way(&self, socket: Socket, place: &Place) -> Way {
        match place.carrier {
            Carrier::Tcp => Way::Framed(self.framed(socket, place)),
            _ if place.is_group() => {
                let to = SockAddr::from(place.address);
                Way::Group(Group::new(socket, to, self.test.method.waiting, self.halt.clone()))
            }
            _ => Way::Datagram(self.datagram(socket)),
        }
    }
}
