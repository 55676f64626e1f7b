//! The loop that answers one flow: take a request, send its reply, nothing else.

use std::sync::atomic::Ordering;

use measure::unit::{Instant, Nanos};
use protocol::link::{Departure, Fault, Link, Stamped};
use protocol::native::header::{Flags, LENGTH, PeerStamps, VERSION};

use super::Behaviour;
use super::session::Session;
use crate::clock::{Monotonic, wall};
use crate::pace;
use crate::stop::Stop;

/// A receive with this deadline comes back at the link's next glance: it has passed already.
const ONE_GLANCE: Instant = Instant(0);
/// Requests between two looks at the clock where a rate is bounded.
const RATE_GRAIN: u64 = 256;
/// A hold is slept until so shortly before its end, and spun from there.
const HOLD_SPIN: Nanos = Nanos::micros(150);

const FLAGS: usize = 25;
const WORD: std::ops::Range<usize> = 28..32;

/// What one flow's thread knows.
#[derive(Debug)]
pub struct Answerer<'a, L> {
    /// The way to the client.
    pub link: L,
    /// Whose flow it is.
    pub session: &'a Session,
    /// Which.
    pub flow: u16,
    /// Whether each message is a datagram of its own length, with a token to check.
    pub datagrams: bool,
    /// What tests ask of the reflector.
    pub behaviour: &'a Behaviour,
    /// The reflector's own wish to stop.
    pub stop: &'a Stop,
    buffer: Vec<u8>,
    request_head: usize,
    reply_head: usize,
    count: u64,
    replied: u64,
    announced: bool,
    previous_sent: Option<u64>,
    started: Instant,
}

/// Why a flow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// The session is over, or the reflector stops.
    Over,
    /// The client closed it, or it broke.
    Broken(Fault),
}

impl<'a, L: Link> Answerer<'a, L> {
    /// An answerer of flow `flow` over `link`.
    pub fn new(
        link: L,
        session: &'a Session,
        flow: u16,
        datagrams: bool,
        behaviour: &'a Behaviour,
        stop: &'a Stop,
    ) -> Self {
        let piece = crate::link::stream::PIECE as u64;
        let request_head = session.open.request_bytes.0.min(piece) as usize;
        let reply_head = session.open.response_bytes.0.min(piece) as usize;
        let count = session.flows[usize::from(flow)].received.load(Ordering::Relaxed);
        let replied = session.flows[usize::from(flow)].replied.load(Ordering::Relaxed);
        Self {
            link,
            session,
            flow,
            datagrams,
            behaviour,
            stop,
            // One byte more, so that a datagram longer than agreed on is seen as such.
            buffer: vec![0; request_head.max(reply_head) + usize::from(datagrams)],
            request_head,
            reply_head,
            count,
            replied,
            announced: false,
            previous_sent: None,
            started: Monotonic::now(),
        }
    }

    /// Answers until the session is over or the flow breaks.
    pub fn run(mut self) -> FlowEnd {
        loop {
            let length = match self.take() {
                Ok(Some(length)) => length,
                Ok(None) if self.stop.requested() || self.session.over.requested() => return FlowEnd::Over,
                Ok(None) => continue,
                // An ICMP error of an earlier reply: the client has gone, or comes back.
                Err(fault) if !fault.ends_the_run() => continue,
                Err(fault) => return FlowEnd::Broken(fault),
            };
            if let Err(fault) = self.answer(length, None)
                && fault.ends_the_run()
            {
                return FlowEnd::Broken(fault);
            }
        }
    }

    /// Answers one message that came another way: the datagram that made this flow known.
    pub fn answer_first(&mut self, message: &[u8]) -> Result<(), Fault> {
        let length = message.len().min(self.buffer.len());
        self.buffer[..length].copy_from_slice(&message[..length]);
        self.answer(length, None)
    }

    #[inline]
    fn take(&mut self) -> Result<Option<usize>, Fault> {
        if self.announced {
            return self.take_stamped();
        }
        let end = self.request_head + usize::from(self.datagrams);
        self.link.receive(&mut self.buffer[..end], ONE_GLANCE)
    }

    /// The next request is stamped at the client's end: its arrival here is stamped too.
    #[cold]
    fn take_stamped(&mut self) -> Result<Option<usize>, Fault> {
        let end = self.request_head + usize::from(self.datagrams);
        let Some(arrival) = self.link.receive_stamped(&mut self.buffer[..end], ONE_GLANCE)? else { return Ok(None) };
        self.announced = false;
        if arrival.length > LENGTH && Flags(self.buffer[FLAGS]).has(Flags::STAMPED) {
            return match self.answer(arrival.length, Some(arrival)) {
                // Answered already: nothing is left of it for the caller.
                Ok(()) => Ok(None),
                Err(fault) if fault.ends_the_run() => Err(fault),
                Err(_) => Ok(None),
            };
        }
        Ok(Some(arrival.length))
    }

    #[inline]
    fn answer(&mut self, length: usize, arrival: Option<Stamped>) -> Result<(), Fault> {
        let mut reply = self.reply_head;
        if length >= LENGTH {
            if self.datagrams {
                if !self.is_ours(length) {
                    self.session.malformed.fetch_add(1, Ordering::Relaxed);
                    return Ok(());
                }
                reply = reply.min(length);
            }
            let flags = Flags(self.buffer[FLAGS]);
            self.announced = self.session.got.stamps && flags.has(Flags::ANNOUNCE);
            self.count += 1;
            if flags.has(Flags::WARM_UP) {
                self.session.flows[usize::from(self.flow)].warm_up.fetch_add(1, Ordering::Relaxed);
            }
            self.buffer[WORD].copy_from_slice(&(self.count as u32).to_be_bytes());
        } else if self.datagrams {
            self.session.malformed.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        } else {
            self.count += 1;
        }
        let counts = &self.session.flows[usize::from(self.flow)];
        counts.received.store(self.count, Ordering::Relaxed);
        if self.behaviour.is_unusual() {
            self.behave()?;
        }
        match arrival {
            None => self.link.send(&self.buffer[..reply])?,
            Some(arrival) => self.send_with_stamps(reply, arrival)?,
        }
        self.replied += 1;
        counts.replied.store(self.replied, Ordering::Relaxed);
        Ok(())
    }

    #[inline]
    fn is_ours(&self, length: usize) -> bool {
        let flow = u16::from_be_bytes([self.buffer[26], self.buffer[27]]);
        length <= self.request_head
            && self.buffer[..16] == self.session.token.0
            && self.buffer[24] == VERSION
            && flow == self.flow
    }

    #[cold]
    fn send_with_stamps(&mut self, reply: usize, arrival: Stamped) -> Result<(), Fault> {
        let Departure { sched, driver } = self.link.departure();
        let span =
            |from: Option<u64>, to: Option<u64>| to?.checked_sub(from?).and_then(|span| u32::try_from(span).ok());
        let now = wall();
        let stamps = PeerStamps {
            received: arrival.kernel,
            wake_up: span(arrival.kernel, arrival.application),
            hold: span(arrival.application, Some(now)),
            previous_sched: span(self.previous_sent, sched),
            previous_driver: span(sched, driver),
        };
        stamps.write(&mut self.buffer[..reply]);
        self.previous_sent = self.link.send_stamped(&self.buffer[..reply])?;
        Ok(())
    }

    /// What tests and limits ask for: hold each reply, stall now and then, keep below a rate.
    #[cold]
    fn behave(&mut self) -> Result<(), Fault> {
        let arrived = Monotonic::now();
        if let Some(rate) = self.behaviour.rate
            && self.count.is_multiple_of(RATE_GRAIN)
        {
            let due = u128::from(self.count) * 1_000_000_000_000 / u128::from(rate.0.get());
            let earliest = self.started.after(Nanos(u64::try_from(due).unwrap_or(u64::MAX)));
            if earliest > arrived {
                pace::sleep_until(earliest.min(arrived.after(Nanos::millis(100))));
            }
        }
        if let Some((length, every)) = self.behaviour.stall
            && self.count % every == every / 2
        {
            pace::sleep_until(arrived.after(length));
        }
        if let Some(hold) = self.behaviour.hold {
            let until = arrived.after(hold);
            pace::sleep_until(until.before(HOLD_SPIN));
            while Monotonic::now() < until {
                std::hint::spin_loop();
            }
        }
        Ok(())
    }
}
