//! Links over virtual paths: what [`protocol::link::Link`] asks for, in virtual time.
//!
//! Flows of one [`Network`] share its clock. Time passes only where a call waits (`receive`, `wait_any`, `sleep`,
//! `spin`) or where the path says that a call takes time; everything happens in one order, given by the seed. The path's
//! treatment of each message is kept as a [`Passage`], for comparison with what was recorded.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use measure::clock::Clock;
use measure::unit::{Instant, Nanos};
use protocol::link::{Departure, Fault, Link, Stamped};

use crate::clock::VirtualClock;
use crate::path::{self, Near, Parts, Path, Way};
use crate::peer::{AtPeer, Numbered, Peer};

/// Our wall clock when true time is 0, nanoseconds since 1970.
const WALL: u64 = 1_700_000_000_000_000_000;
/// The system's number for a refusal, `ECONNREFUSED`.
const REFUSED: i32 = 111;
/// The system's number for a full queue of our own, `ENOBUFS`.
const NO_BUFFER: i32 = 105;

/// Virtual paths with one clock. Copies are the same network.
#[derive(Clone, Debug)]
pub struct Network {
    clock: VirtualClock,
    state: Rc<RefCell<State>>,
}

#[derive(Debug, Default)]
struct State {
    flows: Vec<Flow>,
    passages: Vec<Passage>,
    /// Arrivals so far: the order of what arrives at the same instant.
    arrivals: u64,
}

/// Way of one message along the path, all in true time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The flow, in the order of [`Network::link`].
    pub flow: usize,
    /// The number of the request; of a warm-up, its number in the header.
    pub number: u64,
    /// Bytes it had.
    pub bytes: usize,
    /// True where it was flagged as warm-up.
    pub warm_up: bool,
    /// Instant at which our side let go of it.
    pub left: Instant,
    /// Instant at which it reached the peer's kernel; `None`: lost on the way.
    pub reached: Option<Instant>,
    /// Instants at which the copies of its reply reached our kernel, in order; empty: none.
    pub back: Vec<Instant>,
}

#[derive(Debug)]
struct Flow {
    path: Path,
    peer: Peer,
    arrivals: BTreeMap<(Instant, u64), Arrival>,
    /// Overtaken replies, by the number that goes before.
    overtaken: Vec<(u64, Reply)>,
    /// Instant at which the peer is done with all it has.
    busy_until: Instant,
    closed: bool,
    departure: Departure,
}

#[derive(Debug)]
enum Arrival {
    Message(Vec<u8>),
    Refusal,
    Close,
}

/// A reply that is ready to arrive.
#[derive(Debug)]
struct Reply {
    passage: usize,
    bytes: Vec<u8>,
    twice: bool,
}

/// A request that reached the peer.
#[derive(Clone, Copy)]
struct Request<'a> {
    passage: usize,
    flow: usize,
    number: u64,
    fault: path::Fault,
    message: &'a [u8],
}

impl Network {
    /// A network without flows, in the time of `clock`.
    pub fn new(clock: &VirtualClock) -> Self {
        Self { clock: clock.clone(), state: Rc::default() }
    }

    /// A further flow, over `path` to `peer`. Its number is the count of those before it.
    pub fn link(&self, path: Path, peer: Peer) -> VirtualLink {
        let mut state = self.state.borrow_mut();
        state.flows.push(Flow {
            path,
            peer,
            arrivals: BTreeMap::new(),
            overtaken: Vec::new(),
            busy_until: Instant(0),
            closed: false,
            departure: Departure::default(),
        });
        VirtualLink {
            flow: state.flows.len() - 1,
            network: self.clone(),
            held: Cell::default(),
            full_from: Instant::NEVER,
        }
    }

    /// Passages of all messages that left our side so far, in order of departure.
    pub fn passages(&self) -> Vec<Passage> {
        self.state.borrow().passages.clone()
    }

    /// The clock of this network.
    pub fn clock(&self) -> &VirtualClock {
        &self.clock
    }

    /// The first arrival, from `after` on, at one of `flows`.
    fn next_arrival(&self, flows: impl Iterator<Item = usize>, after: Instant) -> Option<Instant> {
        let state = self.state.borrow();
        let first = |flow: usize| state.flows[flow].arrivals.range((after, 0)..).next().map(|(key, _)| key.0);
        flows.filter_map(first).min()
    }

    fn all_flows(&self) -> std::ops::Range<usize> {
        0..self.state.borrow().flows.len()
    }
}

impl State {
    /// A message leaves our side at `left`, and the path does with it what it does.
    fn depart(
        &mut self,
        flow: usize,
        numbered: Numbered,
        fault: path::Fault,
        message: &[u8],
        left: Instant,
        start: Instant,
    ) {
        let Numbered { number, warm_up } = numbered;
        let request = Request { passage: self.passages.len(), flow, number, fault, message };
        let reached = left.after(self.flows[flow].path.takes(flow, number, Way::There));
        let reached = (!fault.lost).then_some(reached);
        let bytes = message.len();
        self.passages.push(Passage { flow, number, bytes, warm_up, left, reached, back: Vec::new() });
        if let Some(reached) = reached {
            self.reach(request, reached, start);
        }
    }

    /// A request reaches the peer's kernel at `reached`.
    fn reach(&mut self, request: Request, reached: Instant, start: Instant) {
        let flow = &mut self.flows[request.flow];
        let back = flow.path.takes(request.flow, request.number, Way::Back);
        if request.fault.refused {
            return self.arrive(request.flow, reached.after(back), Arrival::Refusal);
        }
        if request.fault.closed {
            return self.arrive(request.flow, reached.after(back), Arrival::Close);
        }
        let (read, answered) = flow.served(reached, request.fault.held, start);
        let parts = flow.path.stamps.unwrap_or_default();
        let at_peer = flow.path.stamps.map(|parts| AtPeer {
            received: (WALL + reached.0).wrapping_add_signed(parts.peer_clock_offset),
            wake_up: read.0 - reached.0,
            hold: answered.0 - read.0,
            parts,
        });
        let Some(mut bytes) = flow.peer.answer(request.message, at_peer) else { return };
        if let Some(octet) = request.fault.corrupted {
            spoil(&mut bytes, octet);
        }
        if request.fault.reply_lost {
            return;
        }
        let arrives = answered.after(parts.peer_sched).after(parts.peer_driver).after(back);
        let reply = Reply { passage: request.passage, bytes, twice: request.fault.duplicated };
        match request.fault.behind {
            Some(number) => flow.overtaken.push((number, reply)),
            None => self.deliver(request.flow, request.number, arrives, &reply),
        }
    }

    /// The reply to request `number` arrives, and behind it those that it has overtaken.
    fn deliver(&mut self, flow: usize, number: u64, at: Instant, reply: &Reply) {
        self.deliver_one(flow, at, reply);
        let overtaken = std::mem::take(&mut self.flows[flow].overtaken);
        for (before, reply) in overtaken {
            if before <= number {
                self.deliver_one(flow, at, &reply);
            } else {
                self.flows[flow].overtaken.push((before, reply));
            }
        }
    }

    fn deliver_one(&mut self, flow: usize, at: Instant, reply: &Reply) {
        let copies = if reply.twice { 2 } else { 1 };
        for _ in 0..copies {
            self.passages[reply.passage].back.push(at);
            self.arrive(flow, at, Arrival::Message(reply.bytes.clone()));
        }
    }

    fn arrive(&mut self, flow: usize, at: Instant, arrival: Arrival) {
        self.arrivals += 1;
        self.flows[flow].arrivals.insert((at, self.arrivals), arrival);
    }
}

impl Flow {
    /// Instants at which the peer's application reads a request that reached its kernel at `reached`, and at which it sends
    /// the reply.
    fn served(&mut self, reached: Instant, held: Nanos, start: Instant) -> (Instant, Instant) {
        let parts = self.path.stamps.unwrap_or_default();
        let mut read = reached.after(parts.peer_wake_up).max(self.busy_until);
        for &(from, length) in &self.path.stalls {
            let begin = start.after(from);
            let end = begin.after(length);
            if begin <= read && read < end {
                read = end;
            }
        }
        self.busy_until = read.after(self.path.service);
        (read, self.busy_until.after(self.path.hold).after(held))
    }

    /// First in order of the messages that arrived until `now`.
    fn take(&mut self, now: Instant) -> Result<Option<(Instant, Vec<u8>)>, Fault> {
        if self.closed {
            return Err(Fault::Closed);
        }
        let Some(entry) = self.arrivals.first_entry().filter(|entry| entry.key().0 <= now) else { return Ok(None) };
        let at = entry.key().0;
        match entry.remove() {
            Arrival::Message(bytes) => Ok(Some((at, bytes))),
            Arrival::Refusal => Err(Fault::Refused(REFUSED)),
            Arrival::Close => {
                self.closed = true;
                Err(Fault::Closed)
            }
        }
    }

    /// An error that waits on the socket, which the next send meets instead of sending.
    fn pending_error(&mut self, now: Instant) -> Option<Fault> {
        if self.closed {
            return Some(Fault::Closed);
        }
        let mut arrived = self.arrivals.range(..=(now, u64::MAX));
        let (&key, error) = arrived.find(|(_, arrival)| !matches!(arrival, Arrival::Message(_)))?;
        // Messages before the end of the stream are still there to be read, so its mark stays.
        if matches!(error, Arrival::Close) {
            return Some(Fault::Closed);
        }
        self.arrivals.remove(&key);
        Some(Fault::Refused(REFUSED))
    }
}

fn spoil(reply: &mut [u8], octet: usize) {
    let last = reply.len().saturating_sub(1);
    if let Some(octet) = reply.get_mut(octet.min(last)) {
        *octet = !*octet;
    }
}

/// One flow of a [`Network`], for an engine to run on.
#[derive(Debug)]
pub struct VirtualLink {
    network: Network,
    flow: usize,
    /// Time that sends have waited for room.
    held: Cell<Nanos>,
    /// From here on it takes nothing.
    full_from: Instant,
}

impl VirtualLink {
    /// The same, whose buffer is full from `at` on, as that of a connection over which nothing is acknowledged any more.
    #[must_use]
    pub fn full_from(self, at: Instant) -> Self {
        Self { full_from: at, ..self }
    }

    /// The number of this flow in its network.
    pub fn flow(&self) -> usize {
        self.flow
    }

    fn with_flow<T>(&self, with: impl FnOnce(&mut Flow) -> T) -> T {
        with(&mut self.network.state.borrow_mut().flows[self.flow])
    }

    fn clock(&self) -> &VirtualClock {
        &self.network.clock
    }

    /// Sends; with `stamps`, by way of the packet scheduler and the driver they are taken at.
    fn hand_over(&mut self, message: &[u8], stamps: Option<Parts>) -> Result<(), Fault> {
        let called = self.call()?;
        self.leave(message, called, stamps)
    }

    /// A send call: meets an error that waits, or takes its time. Returns when it was made.
    fn call(&mut self) -> Result<Instant, Fault> {
        let clock = self.clock();
        clock.stand_still();
        let called = clock.true_now();
        if let Some(fault) = self.with_flow(|flow| flow.pending_error(called)) {
            return Err(fault);
        }
        for (from, length) in self.with_flow(|flow| flow.path.full.clone()) {
            let begin = clock.start().after(from);
            let end = begin.after(length);
            if begin <= clock.true_now() && clock.true_now() < end {
                self.held.set(Nanos(self.held.get().0 + (end.0 - clock.true_now().0)));
                clock.pass_until(end);
            }
        }
        clock.pass(self.with_flow(|flow| flow.path.near.send_takes));
        Ok(called)
    }

    /// A message leaves by a call that was made at `called`.
    fn leave(&mut self, message: &[u8], called: Instant, stamps: Option<Parts>) -> Result<(), Fault> {
        let clock = self.clock();
        let state = &mut *self.network.state.borrow_mut();
        let flow = &mut state.flows[self.flow];
        let numbered = flow.peer.number(message);
        flow.peer.left();
        let fault = if numbered.warm_up { path::Fault::default() } else { flow.path.fault(self.flow, numbered.number) };
        if fault.send_failed {
            return Err(Fault::SendFailed(NO_BUFFER));
        }
        let parts = flow.path.stamps.unwrap_or_default();
        let sched = called.after(parts.sched);
        let driver = sched.after(parts.driver);
        if stamps.is_some() {
            flow.departure = Departure { sched: Some(WALL + sched.0), driver: Some(WALL + driver.0) };
        }
        let left = driver.max(clock.true_now());
        state.depart(self.flow, numbered, fault, message, left, clock.start());
        Ok(())
    }

    fn take(&self) -> Result<Option<(Instant, Vec<u8>)>, Fault> {
        self.clock().stand_still();
        let now = self.clock().true_now();
        self.with_flow(|flow| flow.take(now))
    }

    /// Takes what is there; where nothing is, that was a look for nothing.
    fn poll(&self) -> Result<Option<(Instant, Vec<u8>)>, Fault> {
        let taken = self.take();
        if taken == Ok(None) {
            self.clock().pass(self.with_flow(|flow| flow.path.near.poll_takes));
        }
        taken
    }

    fn stamp(&self, (at, bytes): &(Instant, Vec<u8>), buffer: &mut [u8]) -> Stamped {
        let stamps = self.with_flow(|flow| flow.path.stamps);
        Stamped {
            length: put(bytes, buffer),
            kernel: stamps.map(|_| WALL + at.0),
            application: stamps.map(|_| WALL + self.clock().true_now().0),
        }
    }

    /// Waits as a receive does, and takes what came.
    fn wait_and_take(&self, until: Instant) -> Result<Option<(Instant, Vec<u8>)>, Fault> {
        if let Some(there) = self.take()? {
            return Ok(Some(there));
        }
        let near = self.with_flow(|flow| flow.path.near);
        let until = self.clock().true_instant_of(until);
        if until <= self.clock().true_now() {
            return Ok(None);
        }
        wait(&self.network, [self.flow], until.after(near.coarse), near);
        self.take()
    }
}

/// Lets time pass until something arrives at one of `flows` and its reader is awake, or until true time is `until`.
/// Returns whether something is there.
fn wait(network: &Network, flows: impl IntoIterator<Item = usize>, until: Instant, near: Near) -> bool {
    let arrival = network.next_arrival(flows.into_iter(), Instant(0)).filter(|at| *at <= until);
    match arrival {
        Some(at) if at <= network.clock.true_now() => {}
        Some(at) => network.clock.pass_until(at.after(near.wake_up)),
        None => network.clock.pass_until(until),
    }
    arrival.is_some()
}

fn put(bytes: &[u8], buffer: &mut [u8]) -> usize {
    let length = bytes.len().min(buffer.len());
    buffer[..length].copy_from_slice(&bytes[..length]);
    length
}

impl Link for VirtualLink {
    fn now(&self) -> Instant {
        self.clock().now()
    }

    fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
        self.hand_over(message, None)
    }

    fn flush(&mut self) -> Result<bool, Fault> {
        Ok(self.now() < self.full_from)
    }

    fn held(&mut self) -> Nanos {
        self.held.take()
    }

    /// One call for all that the path lets through at once, up to the first that cannot be sent.
    fn send_many(&mut self, messages: &[u8], length: usize) -> Result<usize, Fault> {
        let called = self.call()?;
        let most = self.with_flow(|flow| flow.path.near.together.unwrap_or(usize::MAX));
        let mut taken = 0;
        for message in messages.chunks(length).take(most) {
            match self.leave(message, called, None) {
                Ok(()) => taken += 1,
                Err(fault) if taken == 0 => return Err(fault),
                Err(_) => break,
            }
        }
        Ok(taken)
    }

    fn receive(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        Ok(self.wait_and_take(until)?.map(|(_, bytes)| put(&bytes, buffer)))
    }

    fn try_receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        Ok(self.poll()?.map(|(_, bytes)| put(&bytes, buffer)))
    }

    fn wait_any(links: &mut [Self], until: Instant) {
        let Some(first) = links.first() else { return };
        let network = &first.network;
        network.clock.stand_still();
        let near = first.with_flow(|flow| flow.path.near);
        let until = network.clock.true_instant_of(until);
        let waits = until > network.clock.true_now();
        let came = wait(network, links.iter().map(|link| link.flow), until, near);
        if waits && !came {
            network.clock.pass(near.oversleep);
        }
    }

    fn sleep(&self, until: Instant) {
        let until = self.clock().true_instant_of(until);
        if until > self.clock().true_now() {
            self.clock().pass_until(until.after(self.with_flow(|flow| flow.path.near.oversleep)));
        }
    }

    /// Passes on to the next arrival anywhere in the network, or to `until`: a spinning reader misses none.
    fn spin(&self, until: Instant) {
        let clock = self.clock();
        let until = clock.true_instant_of(until);
        let soonest = self.network.next_arrival(self.network.all_flows(), clock.true_now().after(Nanos(1)));
        clock.pass_until(soonest.map_or(until, |at| at.min(until)));
    }

    fn send_stamped(&mut self, message: &[u8]) -> Result<Option<u64>, Fault> {
        let called = WALL + self.clock().true_now().0;
        let parts = self.with_flow(|flow| flow.path.stamps);
        self.hand_over(message, parts)?;
        Ok(parts.map(|_| called))
    }

    fn receive_stamped(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<Stamped>, Fault> {
        Ok(self.wait_and_take(until)?.map(|taken| self.stamp(&taken, buffer)))
    }

    fn try_receive_stamped(&mut self, buffer: &mut [u8]) -> Result<Option<Stamped>, Fault> {
        Ok(self.poll()?.map(|taken| self.stamp(&taken, buffer)))
    }

    fn departure(&mut self) -> Departure {
        self.with_flow(|flow| std::mem::take(&mut flow.departure))
    }
}

#[cfg(test)]
mod tests;
