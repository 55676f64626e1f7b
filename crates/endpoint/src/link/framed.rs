//! Requests and replies of an application on a TCP connection: a reply ends where its protocol says, and a connection that the server
//! ends is made anew, outside of what is timed.
//!
//! Requests that went down with a connection are reported as refused, one by one. While a connection is made anew the
//! others of its thread are not read.

mod again;
mod opening;
pub mod phases;
mod reading;
mod secured;
mod sending;
#[cfg(test)]
mod tests;
pub mod turns;
mod unanswered;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;

use measure::event::Details;
use measure::method::{SocketOptions, Waiting};
use measure::unit::{Instant, Nanos};
use protocol::application::talk::Digest;
use protocol::application::tally::Tally;
use protocol::application::{Speech, Words};
use protocol::link::{Departure, Fault, Link, Stamped};
use protocol::native::stranger::Saw;
use protocol::tls::{Facts, Terms, TlsError};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use socket2::Socket;

pub(super) use self::opening::unmade;
use self::opening::{connect, hello};
use self::phases::{Book, Parts};
use self::reading::{Look, Parted};
pub(super) use self::secured::told as told_of_tls;
use self::secured::{Hello, Secured};
use super::clockwork::{poll_each, poll_one};
use super::stamping::{self, Stamping, Taker};
use crate::clock::{Monotonic, wall};
use crate::error::hint::Hint;
use crate::error::{Cause, EndpointError, Step};
use crate::pace;
use crate::socket::queue;
use crate::stop::{GLANCE, Stop};

/// Room for what has come and is not read yet: more than any head or line that a protocol believes.
const ROOM: usize = 128 << 10;
/// The longest that making a connection may take, and opening it for requests.
pub(crate) const PATIENCE: Nanos = Nanos::secs(5);
/// Looks at a connection in a row before another task has its turn: a server may send unrequested data without end.
const LOOKS: u32 = 8;
/// The most octets of answers that a server has asked for and does not take: one that asks without end would fill all memory.
const MOST_OWED: usize = 1 << 20;
/// Connections in a row without a reply that end a run without a schedule: more would be a flood of connections.
pub(super) const MOST_FRUITLESS: u32 = 20;
/// Pause after a connection without a reply.
pub(super) const PAUSE: Nanos = Nanos::millis(100);
/// Doublings of that pause while the server lets us in no more, to almost two minutes.
const MOST_DOUBLINGS: u32 = 10;
/// Time without a reply after which the connection is checked for data or an end.
const IDLE: Nanos = Nanos::millis(1);
/// The same where replies have no number, and what nobody asked for would be taken for the next. A request that leaves sooner is as near to the reply
/// as such data would be, which comes with the reply or behind the request as well: a look would cost a third of all calls and tell nothing.
const IDLE_BY_ORDER: Nanos = Nanos::micros(20);

/// The far end of connections, and the way they are made.
#[derive(Clone, Debug)]
pub struct Door {
    /// Address of the server.
    pub peer: SocketAddr,
    /// The terms of TLS; absent where the protocol goes in clear.
    pub tls: Option<Terms>,
    /// With which options.
    pub options: SocketOptions,
    /// The waiting for replies.
    pub waiting: Waiting,
    /// Longest wait for the reply to the trial.
    pub patience: Nanos,
    /// True where a request that cannot be sent at once must not block the thread, because replies wait to be read.
    pub patient: bool,
    /// Book of the requests' parts; present where each request has a connection of its own.
    pub anew: Option<Arc<Book>>,
    /// True where requests have instants at which they are due: then one that finds no connection is refused at once. Otherwise it waits.
    pub scheduled: bool,
    /// True where the kernel is asked for timestamps of some of them.
    pub stamps: bool,
    /// The end of every wait.
    pub stop: Stop,
}

/// Times of the steps before the first request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// The handshake of TCP; absent where the clock went back.
    pub connect: Option<Nanos>,
    /// The handshake of TLS; absent where there is none.
    pub secured: Option<Nanos>,
    /// Its outcome.
    pub tls: Option<Facts>,
    /// The words of the protocol before requests; absent where it has none.
    pub prologue: Option<Nanos>,
    /// The first request, which is in no distribution; absent where none went before the others.
    pub trial: Option<Nanos>,
}

/// Reason for which the octets of a connection led to no reply.
#[derive(Debug)]
enum Trouble {
    /// The system says so.
    System(Errno),
    /// The peer has closed it.
    Closed,
    /// The server admits no client, or not us.
    Declined(Words),
    /// It speaks something else.
    Foreign(&'static str),
    /// TLS ends here.
    Tls(TlsError),
    /// TLS does not begin.
    Unsecured(EndpointError),
}

/// A connection of an application's protocol.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "five answers that go together in any way")]
pub struct Framed<S: Speech> {
    door: Door,
    socket: Socket,
    secured: Option<Secured>,
    /// Kernel timestamps, where they were asked for.
    stamping: Stamping,
    taker: Taker,
    speech: S,
    tally: Arc<Tally>,
    spinning: bool,
    incoming: Box<[u8]>,
    /// The part of it that has come and is not read, from here to `end`.
    begin: usize,
    end: usize,
    /// Set where the unread part is the beginning of something: more has to come before it can be read.
    starved: bool,
    /// Octets read of the reply under way.
    read: u64,
    /// A reply of which a part has come.
    parted: Option<Parted>,
    /// Set once a reply has come in parts with the pause of a delayed acknowledgement: from then on acknowledgements are counted.
    suspected: bool,
    /// Acknowledgements without data that this host had sent before the latest request left; absent where they are not counted.
    acknowledged: Option<u32>,
    /// Replies that answer no request and that the engine has not been told of.
    unasked: u64,
    /// Set where a part of a reply was there before the only request that is out was sent: that reply is to none.
    early: bool,
    /// Set where the latest reply had no number: a reply that nobody asked for would be taken for the next request's.
    by_order: bool,
    /// Rest of a request, or of an answer to an unrequested message, as it goes over the connection.
    unsent: Vec<u8>,
    /// Octets of such answers since nothing was left.
    owed: usize,
    /// Requests that the engine has numbered so far: it counts them from 0, and calls [`Link::ready`] once for each.
    numbered: u64,
    /// The numbers of those without a reply on this connection, oldest first.
    outstanding: VecDeque<u64>,
    /// The numbers of those that went down with a connection and are still to be told so.
    lost: VecDeque<u64>,
    /// The numbers of those that a server left behind and that are asked once more on the next connection.
    again: VecDeque<u64>,
    /// Requests numbered below this are not asked once more: they may have been.
    asked_again: u64,
    /// Set where requests differ by their number alone.
    alike: bool,
    /// The number of the request that the latest refusal is about.
    blamed: Option<u64>,
    /// Set where the latest look at all connections of the thread found nothing on this one.
    quiet: bool,
    /// Nothing more can be asked on this connection.
    spent: bool,
    /// Set where sending failed while requests were out: the replies that came before the end are read before anything more is asked.
    failing: bool,
    /// Set once this connection has brought a reply.
    fruitful: bool,
    /// Connections in a row that brought none.
    fruitless: u32,
    /// Connections in a row on which the server admitted no client, or not us.
    declined: u32,
    /// The next connection is not made before this.
    not_before: Instant,
    /// The instant of the latest reply.
    heard: Instant,
    opened: Opened,
    /// The first words of TLS on the next connection.
    hello: Option<Hello>,
    /// The time that the latest handshake of TLS took; absent where there was none.
    handshake: Option<Nanos>,
    /// The socket of the connection before, which has ended.
    former: Option<Socket>,
    /// Parts of the latest request with its own connection, until they are recorded.
    parts: Option<(u64, Parts)>,
    /// The steps of the request under way and the kind of its reply; on a connection that is kept the kind alone.
    details: Details,
    /// Time at which octets came last; recorded where each request has its own connection.
    fetched: Instant,
}

impl<S: Speech> Framed<S> {
    /// A connection that is open for requests.
    ///
    /// # Errors
    /// A server that cannot be reached, that admits no client, or that speaks something else.
    pub fn open(door: Door, speech: S, tally: Arc<Tally>) -> Result<Self, EndpointError> {
        let hello = hello(&door)?;
        let started = Monotonic::now();
        let socket = connect(&door)?;
        let connected = Monotonic::now();
        let connect = connected.since(started);
        let spinning = door.waiting == Waiting::Spin;
        let mut link = Self {
            door,
            socket,
            secured: None,
            stamping: Stamping::default(),
            taker: Taker::default(),
            speech,
            tally,
            spinning,
            incoming: vec![0; ROOM].into_boxed_slice(),
            begin: 0,
            end: 0,
            starved: true,
            read: 0,
            parted: None,
            suspected: false,
            acknowledged: None,
            unasked: 0,
            early: false,
            by_order: false,
            unsent: Vec::new(),
            owed: 0,
            numbered: 0,
            outstanding: VecDeque::new(),
            lost: VecDeque::new(),
            again: VecDeque::new(),
            asked_again: 0,
            alike: false,
            blamed: None,
            quiet: false,
            spent: false,
            failing: false,
            fruitful: false,
            fruitless: 0,
            declined: 0,
            not_before: Instant(0),
            heard: Instant(0),
            opened: Opened { connect, ..Opened::default() },
            hello,
            handshake: None,
            former: None,
            parts: None,
            details: Details::default(),
            fetched: Instant(0),
        };
        let greeted = link.admit()?;
        link.opened.tls = link.secured.as_ref().map(|secured| secured.facts().clone());
        link.opened.secured = link.handshake;
        link.opened.prologue = link.greeting(connected, Monotonic::now()).filter(|_| greeted);
        Ok(link)
    }

    /// The socket in use.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The reason why it has no kernel timestamps, where it was asked for them.
    pub fn unstamped(&self) -> Option<String> {
        self.stamping.refused.clone()
    }

    /// Times of the steps before its first request.
    pub fn opened(&self) -> Opened {
        self.opened.clone()
    }

    /// Waits until there is something on one of `links`, of which one can be asked on, and notes on which there is nothing.
    fn attend(links: &mut [Self], until: Instant) {
        let open = || links.iter().filter(|link| !link.spent);
        let told = poll_each(open().map(|link| (link.socket.as_fd(), !link.unsent.is_empty())), until);
        let mut told = told.into_iter();
        for link in links {
            link.quiet = !link.spent && told.next().is_some_and(|something| !something);
        }
    }

    /// Asks once, to see that the peer speaks the protocol.
    ///
    /// # Errors
    /// A peer that does not answer, or in something else.
    pub fn try_once(&mut self, number: u64) -> Result<Digest, EndpointError> {
        let peer = self.door.peer;
        let mut request = self.speech.request();
        self.speech.mark(&mut request, number);
        self.put(&request).map_err(|fault| EndpointError::new(Step::Ask, peer, fault))?;
        let digest = self.within_patience(self.door.patience, |link| match link.look(RecvFlags::empty())? {
            Look::Reply(digest) if link.is_other(number, digest.reply.number) => {
                Err(Trouble::Foreign("its reply is to another request than the one that was sent"))
            }
            Look::Reply(digest) => Ok(Some(digest)),
            Look::Something | Look::Nothing => link.flush_now().map(|_| None),
        })?;
        if self.speech.is_told_of_tls() {
            self.tally.told_of_tls();
        }
        Ok(digest)
    }

    /// The error of a connection on which `trouble` came before the first request was answered.
    #[cold]
    fn told(&self, trouble: Trouble) -> EndpointError {
        let peer = self.door.peer;
        let fail = |cause| EndpointError::new(Step::Ask, peer, cause);
        match trouble {
            Trouble::System(errno) => fail(errno.into()),
            Trouble::Closed => fail(Fault::Closed.into()),
            Trouble::Declined(words) if self.speech.lacks_tls() => {
                fail(Cause::Peer(words.0)).with_hint(Hint::NoTlsOffered)
            }
            Trouble::Declined(words) => fail(Cause::Peer(words.0)),
            Trouble::Tls(error) => secured::told(&error, peer),
            Trouble::Foreign(why) => {
                let saw = Saw::of(&self.incoming[self.begin..self.end]);
                let shown = if saw.excerpt.is_empty() { String::new() } else { format!(": \"{}\"", saw.excerpt) };
                fail(Cause::Peer(format!("{why}{shown}"))).with_hint(Hint::AnotherProgram(saw.speaker))
            }
            Trouble::Unsecured(error) => error,
        }
    }

    /// True where a reply with these low bits of a number is not that to request `number`.
    fn is_other(&self, number: u64, low: Option<u32>) -> bool {
        let mask = u32::MAX >> (u32::BITS - self.speech.mark_bits().min(u32::BITS));
        low.is_some_and(|low| (number as u32 ^ low) & mask != 0)
    }

    /// Receives with the timestamps of what completes a message.
    fn taken_stamped(
        &mut self,
        receive: impl FnOnce(&mut Self) -> Result<Option<usize>, Fault>,
    ) -> Result<Option<Stamped>, Fault> {
        self.taker.wanted = true;
        let received = receive(self);
        self.taker.wanted = false;
        Ok(received?.map(|length| self.taker.stamped(length)))
    }

    /// True where the latest request is recorded: it is none of a warm-up.
    fn records(&self) -> bool {
        self.tally.records(self.numbered.wrapping_sub(1))
    }

    fn has_more(&self) -> bool {
        !self.lost.is_empty()
            || !self.again.is_empty()
            || self.begin < self.end && !self.starved
            || self.secured.as_ref().is_some_and(Secured::has_more)
    }

    /// Set where octets have come that no reply had: what has been read to its end asks for no look at the socket.
    #[inline]
    fn has_unread(&self) -> bool {
        self.begin < self.end || self.secured.as_ref().is_some_and(Secured::has_more)
    }
}

impl<S: Speech> Drop for Framed<S> {
    fn drop(&mut self) {
        if let Some(most) = self.speech.most_at_once() {
            self.tally.limited(most);
        }
        self.note_left();
        self.tell_parts();
        self.hang_up();
    }
}

/// Puts the form of a reply into `buffer`.
#[inline]
pub(super) fn deliver(form: &[u8; Digest::LENGTH], buffer: &mut [u8]) -> Option<usize> {
    buffer.get_mut(..Digest::LENGTH)?.copy_from_slice(form);
    Some(Digest::LENGTH)
}

impl<S: Speech> Link for Framed<S> {
    #[inline]
    fn now(&self) -> Instant {
        Monotonic::now()
    }

    #[inline]
    fn has_room(&mut self, out: u64) -> bool {
        out == 0 || !self.failing && self.speech.most_at_once().is_none_or(|most| out < u64::from(most))
    }

    #[inline]
    fn ready(&mut self) -> Result<(), Fault> {
        self.numbered += 1;
        if self.door.anew.is_some() {
            return self.part();
        }
        let idle = if self.by_order { IDLE_BY_ORDER } else { IDLE };
        if self.outstanding.is_empty()
            && !self.spent
            && (self.has_unread() || Monotonic::now() > self.heard.after(idle))
        {
            self.tidy();
        }
        if self.failing {
            self.broke();
        }
        if self.spent {
            self.renew()?;
        } else {
            self.refresh()?;
        }
        self.count_acknowledgements();
        Ok(())
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> Result<(), Fault> {
        match &self.door.anew {
            None => self.put(message),
            Some(_) => match self.call() {
                Ok(()) => {
                    self.declined = 0;
                    self.count_acknowledgements();
                    self.put(message)?;
                    self.details.handed = Some(Monotonic::now());
                    Ok(())
                }
                Err(error) => {
                    self.spend();
                    if let Cause::System(cause) = &error.cause {
                        self.details.fault = cause.raw_os_error();
                    }
                    // Servers that ban count denied logins. A failed TLS handshake is none: the next request makes its
                    // own.
                    if matches!(error.cause, Cause::Peer(_)) && error.step == Step::Ask {
                        self.wait_after(&error);
                    }
                    unmade(&error)
                }
            },
        }
    }

    fn pending_refusal(&mut self) -> Option<Fault> {
        self.refusal()
    }

    fn blamed(&mut self) -> Option<u64> {
        self.blamed.take()
    }

    fn details(&mut self) -> Option<Details> {
        let details = std::mem::take(&mut self.details);
        if self.door.anew.is_none() {
            return Some(Details { kind: details.kind, ..Details::default() });
        }
        let local = details.connected.and_then(|_| self.socket.local_addr().ok()?.as_socket());
        // One that is over may have no port any more.
        Some(Details { port: local.map(|local| local.port()).filter(|port| *port > 0), ..details })
    }

    fn flush(&mut self) -> Result<bool, Fault> {
        Ok(self.flush_now().unwrap_or_else(|_| {
            // Nothing is left: what went down is told request by request.
            self.down();
            true
        }))
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        if !self.again.is_empty() {
            self.ask_again();
        }
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let flags = if self.spinning { RecvFlags::DONTWAIT } else { RecvFlags::empty() };
        while !self.spent && self.unasked == 0 {
            match self.look(flags) {
                Ok(Look::Reply(digest)) => {
                    self.heard = Monotonic::now();
                    return Ok(deliver(&digest.encode(), buffer));
                }
                Ok(Look::Something | Look::Nothing) => {}
                Err(trouble) => return self.suffer(&trouble, buffer),
            }
            if Monotonic::now() >= until || self.door.stop.requested() {
                return Ok(None);
            }
        }
        // What nobody asked for is told also where the connection ended behind it.
        if self.unasked > 0 {
            return Ok(self.tell_unasked(buffer));
        }
        self.refusal().map_or(Ok(None), Err)
    }

    #[inline]
    fn try_receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        if !self.again.is_empty() {
            self.ask_again();
        }
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        if self.unasked > 0 {
            return Ok(self.tell_unasked(buffer));
        }
        if self.spent {
            // Early rather than when the next request is due; a failure here is reported by that one. One after which nothing was asked was of no use:
            // a server that ends idle connections would end the next one too.
            let _later = if self.fruitful && self.fruitless == 0 { self.renew() } else { Ok(()) };
            return Ok(None);
        }
        if self.quiet && !self.has_more() {
            return Ok(None);
        }
        for _ in 0..LOOKS {
            match self.look(RecvFlags::DONTWAIT) {
                Ok(Look::Reply(digest)) => {
                    self.heard = Monotonic::now();
                    return Ok(deliver(&digest.encode(), buffer));
                }
                Ok(Look::Something) if self.unasked > 0 => return Ok(self.tell_unasked(buffer)),
                Ok(Look::Something) => {}
                Ok(Look::Nothing) => return Ok(None),
                Err(trouble) => return self.suffer(&trouble, buffer),
            }
        }
        Ok(None)
    }

    fn wait_any(links: &mut [Self], until: Instant) {
        match links {
            many if many.iter().any(|link| link.spinning || link.has_more()) => {
                for link in many {
                    link.quiet = false;
                }
            }
            [only] if !only.spent => {
                only.quiet = false;
                poll_one(only.socket.as_fd(), !only.unsent.is_empty(), until);
            }
            many if many.iter().any(|link| !link.spent) => Self::attend(many, until),
            // Nothing can come on any of them.
            _ => pace::sleep_until(until.min(Monotonic::now().after(GLANCE))),
        }
    }

    fn look_any(links: &mut [Self]) {
        if links.len() > 1 {
            Self::wait_any(links, Instant(0));
        }
    }

    fn sleep(&self, until: Instant) {
        pace::sleep_until(until);
    }

    #[inline]
    fn spin(&self, _until: Instant) {
        std::hint::spin_loop();
    }

    fn stamp_arrivals(&mut self, on: bool) {
        self.stamping.switch(self.socket.as_fd(), on);
    }

    fn send_stamped(&mut self, message: &[u8]) -> Result<Option<u64>, Fault> {
        if !self.stamping.possible() {
            return self.send(message).map(|()| None);
        }
        let mut at = None;
        self.put_by(message, |socket, octets, flags| {
            let before = wall();
            let sent = queue::send_stamped(socket.as_fd(), octets, stamping::MESSAGE_FLAGS, flags)?;
            // For a part of it the kernel would tell when that part left.
            at = (sent == octets.len()).then_some(before);
            Ok(sent)
        })?;
        Ok(at)
    }

    fn receive_stamped(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<Stamped>, Fault> {
        self.taken_stamped(|link| link.receive(buffer, until))
    }

    fn try_receive_stamped(&mut self, buffer: &mut [u8]) -> Result<Option<Stamped>, Fault> {
        self.taken_stamped(|link| link.try_receive(buffer))
    }

    fn departure(&mut self) -> Departure {
        stamping::departure(self.socket.as_fd())
    }
}
