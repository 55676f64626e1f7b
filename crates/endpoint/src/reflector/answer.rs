//! The loop that answers one flow: take a request, send its reply, nothing else.
//!
//! A plain request (whole, our version, this flow, the reply agreed on, no flags, of datagrams the next number) is
//! recognised by comparisons with constants and answered in a separate loop, `Answerer::take`; one that wants no reply
//! and nothing else is recognised as cheaply, and counted. All others (flags, a shorter reply, one in n, out of order)
//! leave that loop and are read closer, as `docs/protocol/native.md` has it.

mod segments;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use measure::unit::{Instant, Nanos, Rate};
use protocol::link::{Departure, Fault, Link, Stamped};
use protocol::native::header::{Flags, Header, LENGTH, PeerStamps, VERSION};
use protocol::native::mac::{Direction, Mac, NAME};
use protocol::native::reply::Agreed;

use super::behaviour::Behaviour;
use super::budget::Load;
use super::flow::FlowCount;
use super::seen::{Seen, Sight, number};
use super::session::Session;
use super::yard::Turn;
use crate::clock::{Monotonic, wall};
use crate::pace;
use crate::stop::GLANCE;

/// A receive with this deadline comes back at the link's next glance: it has passed already.
const ONE_GLANCE: Instant = Instant(0);
/// Most plain replies that a client that sends on and on still gets after its session's end.
const BETWEEN_LOOKS: u64 = 8;
/// A hold is slept until so shortly before its end, and spun from there.
const HOLD_SPIN: Nanos = Nanos::micros(150);

/// Messages of a flow without a thread that are answered one after the other.
const AT_ONCE: usize = 4;
/// Datagrams of the next session that are kept for it.
const FOREIGN: usize = 256;

const FLAGS: usize = 25;
const WORD: std::ops::Range<usize> = 28..32;
/// Version, flags, flow and asked length: the part of a header that says how its request is to be answered.
const TERMS: std::ops::Range<usize> = 24..32;
/// All bits of the terms but the flags that change nothing in the reply.
const TERMS_MASK: u64 = !(((!Flags::SILENT.0) as u64) << 48);
/// No masked terms have this bit, so terms with it are never usual.
const NEVER_USUAL: u64 = 1 << 48;

/// State of the thread of one flow.
#[derive(Debug)]
pub struct Answerer<L> {
    /// The way to the client.
    pub link: L,
    /// Session that the flow belongs to.
    pub session: Arc<Session>,
    /// Number of the flow within its session.
    pub flow: u16,
    /// Deviations from answering at once, used by tests.
    pub behaviour: Behaviour,
    /// The flow's counts, written by this thread alone.
    counts: Arc<FlowCount>,
    /// Sequence numbers received before; used for datagrams alone.
    seen: Seen,
    /// Set where the request in hand came before.
    again: bool,
    /// Key that authenticates its datagrams; absent: they are not authenticated.
    mac: Option<Mac>,
    buffer: Vec<u8>,
    request_head: usize,
    reply_head: usize,
    /// Datagrams that name another session, kept for a caller that knows the others ([`FlowEnd::Foreign`]).
    pub foreign: Vec<Vec<u8>>,
    /// [`Answerer::run`] comes back where nothing comes for a while.
    rests: bool,
    announced: bool,
    previous_sent: Option<u64>,
    /// Stamps of that reply's departure that the kernel has told of.
    departed: Departure,
    /// In it whether each message is a datagram of its own length, with a token to check.
    agreed: Agreed,
    /// The masked terms of a request that is answered as agreed on.
    usual: u64,
    /// The terms of a plain request, as they stand in it; absent where none is plain.
    plain: Option<[u8; 8]>,
    /// The same of one that wants no reply.
    silent: [u8; 8],
}

/// One message that came.
enum Taken {
    Plain(usize),
    Stamped(Stamped),
}

/// Cause of a flow's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// The session is over, or the reflector stops.
    Over,
    /// The client closed it, or it broke.
    Broken(Fault),
    /// It continues, but nothing came for as long as its socket waits ([`Answerer::rest`]).
    Quiet,
    /// It may go on, but what came names another session.
    Foreign,
}

impl<L: Link> Answerer<L> {
    /// An answerer of flow `flow` over `link`.
    pub fn new(link: L, session: Arc<Session>, flow: u16, datagrams: bool) -> Self {
        let behaviour = session.behaviour;
        let piece = crate::link::stream::PIECE as u64;
        let request_head = session.open.request_bytes.0.min(piece) as usize;
        let reply_head = session.open.response_bytes.0.min(piece) as usize;
        let agreed = Agreed {
            reply_bytes: u32::try_from(session.open.response_bytes.0).unwrap_or(u32::MAX),
            reply_every: session.open.reply_every,
            datagrams,
        };
        let usual = usual_terms(agreed, flow);
        // Authenticated requests are examined more closely than the loop of plain requests does.
        let mac = session.mac.filter(|_| datagrams);
        let always_alike = usual & NEVER_USUAL == 0
            && request_head >= LENGTH
            && !behaviour.is_unusual()
            && mac.is_none()
            && !session.is_bounded();
        Self {
            link,
            flow,
            behaviour,
            // One byte more, so that a datagram longer than agreed on is seen as such.
            buffer: vec![0; request_head.max(reply_head) + usize::from(datagrams)],
            request_head,
            reply_head,
            counts: Arc::clone(&session.flows[usize::from(flow)]),
            session,
            seen: Seen::new(),
            again: false,
            mac,
            foreign: Vec::new(),
            rests: false,
            announced: false,
            previous_sent: None,
            departed: Departure::default(),
            usual,
            plain: always_alike.then_some(usual.to_be_bytes()),
            silent: silent_terms(agreed, flow).to_be_bytes(),
            agreed,
        }
    }

    /// Has it come back where nothing came for as long as its socket waits ([`FlowEnd::Quiet`]).
    pub fn rest(&mut self) {
        self.rests = true;
    }

    /// Answers until the session is over or the flow breaks, or nothing comes.
    pub fn run(&mut self) -> FlowEnd {
        loop {
            if !self.foreign.is_empty() {
                return FlowEnd::Foreign;
            }
            let length = match self.take() {
                // No message, but the end of a wait at a socket that was shut.
                Ok(Some(0)) if self.is_over() => return self.end(),
                Ok(Some(length)) => length,
                Err(fault) if fault.ends_the_run() => return FlowEnd::Broken(fault),
                // The errors left are an ICMP error about an earlier reply (the client has gone, or comes back) and a
                // reply that was not sent.
                Ok(None) | Err(_) if self.is_over() => return self.end(),
                Ok(None) if self.rests => return FlowEnd::Quiet,
                Ok(None) | Err(_) => continue,
            };
            if let Err(fault) = self.answer(length, None)
                && fault.ends_the_run()
            {
                return FlowEnd::Broken(fault);
            }
            // After each: what is malformed is not counted, and so cannot say when to look.
            if self.is_over() {
                return self.end();
            }
        }
    }

    /// Ends the flow. Messages that have arrived by now are read and counted: a client ends its session as soon as it
    /// has its last reply, and would take the messages behind that for lost.
    #[cold]
    fn end(&mut self) -> FlowEnd {
        if self.session.over.requested() {
            self.drain();
        }
        FlowEnd::Over
    }

    /// Counts what has come by now.
    #[cold]
    pub fn drain(&mut self) {
        let until = Monotonic::now().after(GLANCE);
        while Monotonic::now() < until {
            let end = self.request_head + usize::from(self.agreed.datagrams);
            match self.link.try_receive(&mut self.buffer[..end]) {
                Ok(Some(length)) => self.count(length),
                Err(fault) if fault.ends_the_run() => break,
                Err(_) => {}
                Ok(None) => break,
            }
        }
    }

    fn is_over(&self) -> bool {
        self.session.over.requested()
    }

    /// Requests that were received.
    pub fn received(&self) -> u64 {
        self.counts.received.load(Ordering::Relaxed)
    }

    /// Answers what has come, without waiting for more: of a flow that has no thread.
    pub fn turn(&mut self) -> Turn {
        for _ in 0..AT_ONCE {
            let end = self.request_head + usize::from(self.agreed.datagrams);
            let taken = if self.announced {
                self.expect_stamped();
                self.link.try_receive_stamped(&mut self.buffer[..end]).map(|arrival| arrival.map(Taken::Stamped))
            } else {
                self.link.try_receive(&mut self.buffer[..end]).map(|length| length.map(Taken::Plain))
            };
            let answered = match taken {
                Ok(Some(Taken::Plain(0)) | None) if self.is_over() => Err(self.end()),
                Ok(Some(Taken::Plain(length))) => self.answer(length, None).or_else(Self::unless_broken),
                Ok(Some(Taken::Stamped(arrival))) => self.answer_stamped(arrival).or_else(Self::unless_broken),
                Err(fault) => Self::unless_broken(fault),
                Ok(None) => return Turn::Wait,
            };
            if answered.is_err() {
                return Turn::Over;
            }
        }
        Turn::Busy
    }

    /// The end of the flow, where `fault` is more than an ICMP error of an earlier reply, or a reply not sent.
    fn unless_broken(fault: Fault) -> Result<(), FlowEnd> {
        if fault.ends_the_run() { Err(FlowEnd::Broken(fault)) } else { Ok(()) }
    }

    /// Answers one message that came another way: the datagram that made this flow known.
    pub fn answer_first(&mut self, message: &[u8]) -> Result<(), Fault> {
        let length = message.len().min(self.buffer.len());
        self.buffer[..length].copy_from_slice(&message[..length]);
        self.answer(length, None)
    }

    /// The next message that is not plain: plain ones are answered here. `None`: it is time to look up.
    #[inline]
    fn take(&mut self) -> Result<Option<usize>, Fault> {
        if self.announced {
            return self.take_stamped();
        }
        self.take_unstamped()
    }

    #[inline]
    fn take_unstamped(&mut self) -> Result<Option<usize>, Fault> {
        match self.plain {
            Some(terms) if self.agreed.datagrams => self.answer_plain::<true>(terms),
            Some(terms) => self.answer_plain::<false>(terms),
            None => {
                let end = self.request_head + usize::from(self.agreed.datagrams);
                self.link.receive(&mut self.buffer[..end], ONE_GLANCE)
            }
        }
    }

    /// Takes messages and answers them for as long as they are plain requests.
    #[inline(never)]
    fn answer_plain<const DATAGRAMS: bool>(&mut self, terms: [u8; 8]) -> Result<Option<usize>, Fault> {
        let Self { link, session, counts, seen, request_head, reply_head, silent, .. } = self;
        let (token, request, over, counts) = (session.token.0, *request_head, &session.over, &**counts);
        let end = request + usize::from(DATAGRAMS);
        let reply = if DATAGRAMS { request.min(*reply_head) } else { *reply_head };
        let buffer = self.buffer.as_mut_slice();
        // As `new` has made it. Said here, it need not be looked at again for each message.
        assert!(LENGTH <= end && end <= buffer.len() && reply <= buffer.len(), "a header, a request and a reply fit");
        loop {
            let Some(length) = link.receive(&mut buffer[..end], ONE_GLANCE)? else { return Ok(None) };
            // On a stream the connection itself has shown the token.
            let ours = |message: &[u8]| !DATAGRAMS || message[..16] == token;
            let plain = length == request && buffer[TERMS] == terms && ours(buffer);
            let received = if plain && (!DATAGRAMS || seen.continues(number(buffer))) {
                let received = counts.another_received();
                buffer[WORD].copy_from_slice(&(received as u32).to_be_bytes());
                link.send(&buffer[..reply])?;
                counts.another_replied(false);
                received
            } else if (LENGTH..=request).contains(&length) && buffer[TERMS] == *silent && ours(buffer) {
                if DATAGRAMS {
                    counts.noted(seen, buffer);
                }
                counts.another_received()
            } else {
                return Ok(Some(length));
            };
            if received.is_multiple_of(BETWEEN_LOOKS) && over.requested() {
                return Ok(None);
            }
        }
    }

    /// The next request is stamped at the client's end: its arrival here is stamped too.
    #[cold]
    fn take_stamped(&mut self) -> Result<Option<usize>, Fault> {
        while self.announced {
            self.expect_stamped();
            let end = self.request_head + usize::from(self.agreed.datagrams);
            let began = Monotonic::now();
            let Some(arrival) = self.link.receive_stamped(&mut self.buffer[..end], ONE_GLANCE)? else {
                // A piece of a message has come, if it did not wait: the rest is on its way.
                if Monotonic::now() < began.after(GLANCE) && !self.is_over() {
                    continue;
                }
                return Ok(None);
            };
            if !self.is_stamped(arrival.length) {
                self.announced = false;
                return Ok(Some(arrival.length));
            }
            match self.answer_stamped(arrival) {
                Err(fault) if fault.ends_the_run() => return Err(fault),
                Ok(()) | Err(_) => {}
            }
            if self.is_over() {
                return Ok(None);
            }
        }
        self.take_unstamped()
    }

    /// Makes ready for the request that was announced, once the reply to the one that announced it is out: here neither of them waits for
    /// what the kernel is asked, on one CPU with the client neither.
    fn expect_stamped(&mut self) {
        self.link.stamp_arrivals(true);
        if self.previous_sent.is_some() && self.departed.driver.is_none() {
            let news = self.link.departure();
            self.departed = Departure { sched: self.departed.sched.or(news.sched), driver: news.driver };
        }
    }

    fn is_stamped(&self, length: usize) -> bool {
        length > LENGTH && Flags(self.buffer[FLAGS]).has(Flags::STAMPED)
    }

    /// Answers a request that was announced, whose stamps go with the reply if it is indeed one of those.
    #[cold]
    fn answer_stamped(&mut self, arrival: Stamped) -> Result<(), Fault> {
        self.announced = false;
        let stamped = self.is_stamped(arrival.length);
        let last = stamped && Flags(self.buffer[FLAGS]).has(Flags::LAST_STAMPED);
        let answered = self.answer(arrival.length, stamped.then_some(arrival));
        if last {
            self.link.stamp_arrivals(false);
        }
        answered
    }

    #[inline]
    fn answer(&mut self, length: usize, arrival: Option<Stamped>) -> Result<(), Fault> {
        if self.session.is_bounded() && !self.passes(length) {
            return Ok(());
        }
        if length < LENGTH || !self.is_usual(length) {
            return self.answer_unusual(length, arrival);
        }
        if !self.take_note() {
            return Ok(());
        }
        let reply = if self.agreed.datagrams { self.reply_head.min(length) } else { self.reply_head };
        self.reply(reply, arrival)
    }

    /// Waits until a request of `length` octets fits what all may send; `false`: the session was over before.
    #[cold]
    fn passes(&self, length: usize) -> bool {
        let received = if self.agreed.datagrams { length } else { self.session.open.request_bytes.0 as usize };
        self.session.pass(Load { received, messages: 1, sent: 0 })
    }

    /// Returns true where this request, which is no shorter than a header, is to be answered as the session agreed on.
    #[inline]
    fn is_usual(&self, length: usize) -> bool {
        let mut terms = [0; 8];
        terms.copy_from_slice(&self.buffer[TERMS]);
        u64::from_be_bytes(terms) & TERMS_MASK == self.usual && (!self.agreed.datagrams || self.is_ours(length))
    }

    #[inline]
    fn is_ours(&self, length: usize) -> bool {
        let token = &self.session.token.0;
        length <= self.request_head
            && match &self.mac {
                None => self.buffer[..16] == *token,
                Some(mac) => {
                    self.buffer[..NAME] == token[..NAME] && mac.holds(&self.buffer[..length], Direction::There)
                }
            }
    }

    /// Counts a request with a header, and puts the count into it. `false`: it had come before and is authenticated, so
    /// that it may be a recorded copy, and is not answered.
    #[inline]
    fn take_note(&mut self) -> bool {
        let mut known = false;
        if self.mac.is_some() {
            let recorded = !Flags(self.buffer[FLAGS]).has(Flags::WARM_UP);
            match self.counts.sighted(&mut self.seen, &self.buffer, recorded) {
                Sight::New => {}
                Sight::Again if recorded => known = true,
                Sight::Again | Sight::Old => {
                    self.session.malformed.fetch_add(1, Ordering::Relaxed);
                    return false;
                }
            }
        }
        let flags = Flags(self.buffer[FLAGS]);
        self.announced = self.session.got.stamps && flags.has(Flags::ANNOUNCE);
        self.again = false;
        if flags.has(Flags::WARM_UP) {
            self.counts.warm_up.fetch_add(1, Ordering::Relaxed);
        } else if self.agreed.datagrams && self.mac.is_none() {
            self.again = self.counts.noted(&mut self.seen, &self.buffer);
        }
        let received = self.counts.another_received();
        self.buffer[WORD].copy_from_slice(&(received as u32).to_be_bytes());
        !known
    }

    #[inline]
    fn reply(&mut self, length: usize, arrival: Option<Stamped>) -> Result<(), Fault> {
        if self.behaviour.is_unusual() && !self.behave() {
            return Ok(());
        }
        if self.session.is_bounded() {
            let whole = self.session.open.response_bytes.0 as usize;
            let sent = if self.agreed.datagrams || length < self.reply_head { length } else { whole };
            if !self.session.pass(Load { sent, messages: 1, received: 0 }) {
                return Ok(());
            }
        }
        match arrival {
            None => {
                self.seal(length);
                self.link.send(&self.buffer[..length])?;
            }
            Some(arrival) => self.send_with_stamps(length, arrival)?,
        }
        self.counts.another_replied(self.again);
        Ok(())
    }

    /// Puts its code into a reply of `length` octets, all of which is written.
    #[inline]
    fn seal(&mut self, length: usize) {
        if let Some(mac) = &self.mac {
            mac.seal(&mut self.buffer[..length], Direction::Back);
        }
    }

    /// A message shorter than a header, one that asks for another reply than agreed on, or none of ours.
    #[inline(never)]
    fn answer_unusual(&mut self, length: usize, arrival: Option<Stamped>) -> Result<(), Fault> {
        if length < LENGTH && !self.agreed.datagrams {
            return self.answer_bare(arrival);
        }
        let Some(header) = self.sound(length) else { return Ok(()) };
        if !self.take_note() {
            return Ok(());
        }
        let Some(reply) = self.agreed.reply_length(&header, length) else { return Ok(()) };
        if self.agreed.datagrams {
            return self.reply(reply, arrival);
        }
        self.link.set_sent_length(reply);
        let sent = self.reply(reply.min(self.reply_head), arrival);
        self.link.set_sent_length(self.agreed.reply_bytes as usize);
        sent
    }

    /// The header of a message of this flow; one of none is counted as such.
    fn sound(&mut self, length: usize) -> Option<Header> {
        let header = Header::read(&self.buffer[..length]).filter(|header| header.flow == self.flow);
        let header = header.filter(|_| !self.agreed.datagrams || self.is_ours(length));
        if header.is_none() && !self.keep_foreign(length) {
            self.session.malformed.fetch_add(1, Ordering::Relaxed);
        }
        header
    }

    /// Keeps a datagram that names another session. `false`: it does not, or there are too many.
    fn keep_foreign(&mut self, length: usize) -> bool {
        let message = &self.buffer[..length];
        let is_foreign = self.agreed.datagrams && length >= LENGTH && message[..NAME] != self.session.token.0[..NAME];
        let is_kept = is_foreign && self.foreign.len() < FOREIGN;
        if is_kept {
            self.foreign.push(message.to_vec());
        }
        is_kept
    }

    /// Counts a message that is not answered any more.
    fn count(&mut self, length: usize) {
        if length < LENGTH && !self.agreed.datagrams {
            self.counts.another_received();
        } else if self.sound(length).is_some() {
            self.take_note();
        }
    }

    /// On a stream a message without a header is known by its order, and so is whether it is answered.
    fn answer_bare(&mut self, arrival: Option<Stamped>) -> Result<(), Fault> {
        let received = self.counts.another_received();
        if self.agreed.reply_every > 1 && !received.is_multiple_of(u64::from(self.agreed.reply_every)) {
            return Ok(());
        }
        self.reply(self.reply_head, arrival)
    }

    #[cold]
    fn send_with_stamps(&mut self, reply: usize, arrival: Stamped) -> Result<(), Fault> {
        let Departure { sched, driver } = self.departed;
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
        self.seal(reply);
        self.previous_sent = self.link.send_stamped(&self.buffer[..reply])?;
        self.departed = Departure::default();
        Ok(())
    }

    /// Applies the deviations of tests and limits: holds each reply, stalls now and then, keeps below a rate. Returns
    /// `false` where the session was over before the reply was due.
    #[cold]
    fn behave(&mut self) -> bool {
        if let Some(rate) = self.behaviour.rate
            && !self.keep_below(rate)
        {
            return false;
        }
        let arrived = Monotonic::now();
        if let Some((length, every)) = self.behaviour.stall
            && self.counts.received.load(Ordering::Relaxed) % every == every / 2
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
        true
    }

    /// Waits until another reply keeps the flow below `rate`: what comes faster is held back on a stream, and lost over
    /// UDP once the socket's buffer is full.
    fn keep_below(&self, rate: Rate) -> bool {
        let due = self.counts.next_reply(Monotonic::now(), rate);
        loop {
            let now = Monotonic::now();
            if now >= due {
                return true;
            }
            if self.is_over() {
                return false;
            }
            pace::sleep_until(due.min(now.after(GLANCE)));
            self.session.held_back(Monotonic::now().since(now).unwrap_or_default());
        }
    }
}

/// The terms of a request of this flow that asks for the reply agreed on and has no flags.
fn terms(agreed: Agreed, flow: u16) -> u64 {
    u64::from(VERSION) << 56 | u64::from(flow) << 32 | u64::from(agreed.reply_bytes)
}

/// The same masked, where each is answered.
fn usual_terms(agreed: Agreed, flow: u16) -> u64 {
    let terms = terms(agreed, flow);
    if agreed.reply_every > 1 { terms | NEVER_USUAL } else { terms }
}

/// The terms of one that wants no reply, and nothing else.
fn silent_terms(agreed: Agreed, flow: u16) -> u64 {
    terms(agreed, flow) | u64::from(Flags::SILENT.0) << 48
}
