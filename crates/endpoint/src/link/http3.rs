//! Requests and replies of HTTP/3 on a connection of QUIC over a UDP socket; a connection that the server ends is made anew, outside of what is
//! timed.
//!
//! The machine of QUIC allocates, so it stands outside of the stamps. The datagrams of a request are sealed before its stamp is taken
//! ([`Link::ready`]); the stamp of what comes is taken behind the call that receives, before a datagram is opened, and is the reply's where
//! the datagram completes it ([`Link::received`]). A kept connection is tended between requests ([`Link::idle`]) and while replies are out:
//! acknowledgements, what has to be sent again, pings.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::Arc;

use measure::method::Waiting;
use measure::unit::{Instant, Nanos};
use protocol::application::h3::H3;
use protocol::application::h3::conversation::{Conversation, Heard, Unasked};
use protocol::application::h3::session::{Anchor, Dial, QuicError};
use protocol::application::mix::Turns;
use protocol::application::talk::Digest;
use protocol::application::tally::Tally;
use protocol::link::{Fault, Link};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;

use super::clockwork::{fault_of, poll_one, poll_until};
use super::framed::phases::Parts;
use super::framed::{Door, MOST_FRUITLESS, Opened, PATIENCE, PAUSE, deliver, told_of_tls, unmade};
use crate::clock::{self, Monotonic};
use crate::error::{Cause, EndpointError, Step};
use crate::pace;
use crate::socket;
use crate::stop::GLANCE;

/// Room for a datagram; longer ones than servers are told to send are cut, which makes them invalid.
const ROOM: usize = 2 << 10;
/// Datagrams taken in a row before another task has its turn.
const AT_ONCE: usize = 64;

/// A connection of HTTP/3.
#[derive(Debug)]
pub struct Http3 {
    door: Door,
    dial: Dial,
    question: H3,
    /// Order of the requests, where they differ.
    turns: Option<Box<Turns>>,
    tally: Arc<Tally>,
    socket: Socket,
    conversation: Conversation,
    spinning: bool,
    incoming: Box<[u8]>,
    outgoing: Vec<u8>,
    /// The datagrams of the next request: the first `staged` of them; the others are room.
    sealed: Vec<Vec<u8>>,
    staged: usize,
    /// The stamp of the reply that was handed over, until it is asked for.
    came: Option<Instant>,
    /// Requests that the engine has numbered so far: it counts them from 0, and calls [`Link::ready`] once for each.
    numbered: u64,
    /// The numbers of those that went down with a connection and are still to be told so.
    lost: VecDeque<u64>,
    blamed: Option<u64>,
    /// Nothing more can be asked on this connection.
    spent: bool,
    /// Set once this connection has brought a reply.
    fruitful: bool,
    /// Connections in a row that brought none.
    fruitless: u32,
    /// The next connection is not made before this.
    not_before: Instant,
    opened: Opened,
    /// Parts of the latest request with its own connection, until they are recorded.
    parts: Option<(u64, Parts)>,
    /// The instants at which such a request went and at which the first octet of its reply came.
    asked: Instant,
    answered: Option<Instant>,
}

impl Http3 {
    /// A connection that is open for requests.
    ///
    /// # Errors
    /// A server that cannot be reached, is not believed, or speaks something else.
    pub fn open(door: Door, question: H3, tally: Arc<Tally>) -> Result<Self, EndpointError> {
        let peer = door.peer;
        let terms = door.tls.as_ref().ok_or_else(|| {
            EndpointError::new(Step::Secure, peer, Cause::Peer("is asked over QUIC without TLS".to_owned()))
        })?;
        let dial = Dial::new(terms, Anchor::new(clock::as_others_have_it(), Monotonic::now()));
        let dial = dial.map_err(|error| told(&error, peer))?;
        // The first key that a thread draws takes it some 40 ms, which is no time of the network's or the server's.
        let conversation = Conversation::begin(&dial, question.clone(), peer, Monotonic::now());
        let (socket, begun) = (reach(&door)?, Monotonic::now());
        let mut link = Self {
            spinning: door.waiting == Waiting::Spin,
            conversation: conversation.map_err(|error| told(&error, peer))?,
            door,
            dial,
            question,
            turns: None,
            tally,
            socket,
            incoming: vec![0; ROOM].into_boxed_slice(),
            outgoing: Vec::with_capacity(ROOM),
            sealed: Vec::new(),
            staged: 0,
            came: None,
            numbered: 0,
            lost: VecDeque::new(),
            blamed: None,
            spent: false,
            fruitful: false,
            fruitless: 0,
            not_before: Instant(0),
            opened: Opened::default(),
            parts: None,
            asked: Instant(0),
            answered: None,
        };
        link.admit()?;
        link.opened.connect = Monotonic::now().since(begun);
        link.opened.tls = Some(link.conversation.facts());
        Ok(link)
    }

    /// From here on requests differ, where there are turns.
    pub fn take_turns(&mut self, turns: Option<Turns>) {
        self.turns = turns.map(Box::new);
    }

    /// The socket in use.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Times of the steps before its first request: the handshake of QUIC, which has that of TLS within it.
    pub fn opened(&self) -> Opened {
        self.opened.clone()
    }

    /// Asks once, to see that the peer speaks the protocol.
    ///
    /// # Errors
    /// A peer that does not answer, or in something else.
    pub fn try_once(&mut self, number: u64) -> Result<(), EndpointError> {
        let peer = self.door.peer;
        let fail = |fault: Fault| EndpointError::new(Step::Ask, peer, fault);
        self.stage(number).map_err(fail)?;
        self.put().map_err(fail)?;
        self.within_patience(self.door.patience, |link| {
            Ok(link.conversation.hear().map(|heard| {
                link.fruitful = matches!(heard, Heard::Reply { .. });
            }))
        })
    }

    /// Goes through the handshake on a connection that has just begun.
    fn admit(&mut self) -> Result<(), EndpointError> {
        self.within_patience(PATIENCE, |link| Ok(link.conversation.is_open().then_some(())))?;
        self.tally.certified(self.conversation.facts().until);
        Ok(())
    }

    /// Goes on until something is there, for no longer than `patience`.
    fn within_patience<T>(
        &mut self,
        patience: Nanos,
        mut found: impl FnMut(&mut Self) -> Result<Option<T>, EndpointError>,
    ) -> Result<T, EndpointError> {
        let peer = self.door.peer;
        let give_up = Monotonic::now().after(patience);
        loop {
            if let Some(found) = found(self)? {
                return Ok(found);
            }
            let tended = self.tend();
            if let Some(error) = self.conversation.ended() {
                return Err(told(error, peer));
            }
            tended.map_err(|errno| EndpointError::new(Step::ReachByQuic, peer, errno))?;
            let now = Monotonic::now();
            if self.door.stop.requested() {
                return Err(EndpointError::new(Step::Ask, peer, Cause::Stopped));
            }
            if now >= give_up {
                let step = if self.conversation.has_begun() { Step::Ask } else { Step::ReachByQuic };
                return Err(EndpointError::new(step, peer, Cause::Silence(patience)));
            }
            self.wait(give_up, now);
            self.fetch().map_err(|errno| EndpointError::new(Step::ReachByQuic, peer, errno))?;
        }
    }

    /// Waits for a datagram, until something is due on the connection, or until `until`.
    #[inline]
    fn wait(&mut self, until: Instant, now: Instant) {
        if !self.spinning {
            let until = until.min(self.conversation.due()).min(now.after(GLANCE));
            poll_one(self.socket.as_fd(), false, until);
        }
    }

    /// Takes a datagram where one is there.
    #[inline]
    fn fetch(&mut self) -> Result<bool, Errno> {
        match recv(&self.socket, &mut *self.incoming, RecvFlags::DONTWAIT) {
            Ok((_, count)) => {
                let at = Monotonic::now();
                self.conversation.take(at, &self.incoming[..count.min(ROOM)]);
                if self.answered.is_none() && self.conversation.has_begun() {
                    self.answered = Some(at);
                }
                Ok(true)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    /// Does what is due on the connection, and sends what it has to say.
    fn tend(&mut self) -> Result<(), Errno> {
        let now = Monotonic::now();
        self.conversation.tick(now);
        while self.conversation.next_datagram(now, &mut self.outgoing) {
            match send(&self.socket, &self.outgoing, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                // One that finds no room is lost, and sent again.
                Ok(_) | Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Takes what has come, and tends the connection.
    fn pump(&mut self) {
        if self.spent {
            return;
        }
        let mut went = Ok(true);
        for _ in 0..AT_ONCE {
            if went != Ok(true) {
                break;
            }
            went = self.fetch();
        }
        let went = went.and_then(|_| self.tend());
        if went.is_err() || self.conversation.ended().is_some() {
            self.broke();
        }
    }

    fn ask(&mut self, number: u64) -> Result<(), Unasked> {
        let recorded = self.tally.recorded();
        let item = self.turns.as_ref().map(|turns| &turns.item(number, recorded).octets[..]);
        self.conversation.ask_for(number, item)
    }

    /// Has the datagrams of request `number` ready.
    fn stage(&mut self, number: u64) -> Result<(), Fault> {
        let refused = Fault::Refused(Errno::CONNRESET.raw_os_error());
        let give_up = Monotonic::now().after(PATIENCE);
        while let Err(why) = self.ask(number) {
            let now = Monotonic::now();
            // A server that lets fewer be out than are wanted refuses the rest; one that is slow to make room is waited for.
            let waits = why == Unasked::NoStream && self.conversation.unanswered() == 0 && now < give_up;
            if !waits || self.spent || self.door.stop.requested() {
                return Err(refused);
            }
            self.wait(give_up, now);
            self.pump();
        }
        self.staged = 0;
        let now = Monotonic::now();
        loop {
            if self.sealed.len() == self.staged {
                self.sealed.push(Vec::with_capacity(ROOM));
            }
            if !self.conversation.next_datagram(now, &mut self.sealed[self.staged]) {
                return Ok(());
            }
            self.staged += 1;
        }
    }

    /// Sends the datagrams that are ready.
    #[inline]
    fn put(&mut self) -> Result<(), Fault> {
        let staged = std::mem::take(&mut self.staged);
        for datagram in &self.sealed[..staged] {
            match send(&self.socket, datagram, SendFlags::NOSIGNAL) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(self.down(errno)),
            }
        }
        Ok(())
    }

    /// Handles a connection that broke under a request that was being sent: the fault is reported for this one.
    #[cold]
    fn down(&mut self, errno: Errno) -> Fault {
        self.broke();
        let number = self.numbered.wrapping_sub(1);
        self.lost.retain(|lost| *lost != number);
        fault_of(errno)
    }

    /// Nothing more is asked on this connection: what is out on it has no reply any more.
    #[cold]
    fn spend(&mut self) {
        self.spent = true;
        self.lost.extend(self.conversation.given_up());
    }

    /// The connection broke: after one that has brought a reply the next is made at once.
    #[cold]
    fn broke(&mut self) {
        self.spend();
        if !self.fruitful && self.door.anew.is_none() {
            self.fruitless += 1;
            self.not_before = Monotonic::now().after(PAUSE);
        }
    }

    /// The next thing that came of what is asked: a form of it in `buffer`, or the refusal of a request that went down.
    #[inline]
    fn heard(&mut self, buffer: &mut [u8]) -> Option<Result<Option<usize>, Fault>> {
        while let Some(heard) = self.conversation.hear() {
            match heard {
                Heard::Reply { digest, at } => {
                    (self.came, self.fruitful, self.fruitless) = (Some(at), true, 0);
                    if self.door.anew.is_some() {
                        self.whole(at);
                    }
                    return Some(Ok(deliver(&digest.encode(), buffer)));
                }
                Heard::Corrupt => return Some(Ok(deliver(&Digest::CORRUPT, buffer))),
                Heard::Gone(number) => self.lost.push_back(number),
            }
        }
        if !self.spent && self.conversation.ended().is_some() {
            self.broke();
        }
        self.refusal().map(Err)
    }

    /// The next request that went down with its connection. Where one is out at a time, those before the latest were given up long ago.
    fn refusal(&mut self) -> Option<Fault> {
        loop {
            let number = self.lost.pop_front()?;
            if self.door.patient || number + 1 == self.numbered {
                self.blamed = Some(number);
                return Some(Fault::Refused(Errno::CONNRESET.raw_os_error()));
            }
        }
    }

    /// Notes that the reply to a request with its own connection is complete.
    fn whole(&mut self, at: Instant) {
        let seen = self.answered.and_then(|first| first.since(self.asked).zip(at.since(first)));
        let parts = self.parts.take().zip(seen);
        self.parts = parts.map(|((number, parts), (wait, receive))| (number, Parts { wait, receive, ..parts }));
    }

    /// Between requests with a connection each: records the parts of the latest, and ends its connection.
    #[cold]
    fn part(&mut self) -> Result<(), Fault> {
        self.tell_parts();
        if !self.spent {
            self.hang_up();
            self.spend();
        }
        self.lost.clear();
        self.fruitful = false;
        if !self.door.scheduled && Monotonic::now() < self.not_before {
            self.door.stop.wait(self.not_before);
        }
        self.begin().map_err(|_| Fault::Refused(Errno::CONNRESET.raw_os_error()))
    }

    /// Makes the connection of one request, up to the datagrams of that.
    #[cold]
    fn call(&mut self) -> Result<(), EndpointError> {
        let begun = Monotonic::now();
        self.reach()?;
        let number = self.numbered.wrapping_sub(1);
        self.stage(number).map_err(|fault| EndpointError::new(Step::Ask, self.door.peer, fault))?;
        let resumed = Some(self.conversation.facts().resumed);
        (self.asked, self.answered) = (Monotonic::now(), None);
        let connect = self.asked.since(begun);
        self.parts = connect.map(|connect| (number, Parts { connect, resumed, ..Parts::default() }));
        Ok(())
    }

    /// The next connection has its key, and has said nothing yet.
    fn begin(&mut self) -> Result<(), EndpointError> {
        let begun = Conversation::begin(&self.dial, self.question.clone(), self.door.peer, Monotonic::now());
        self.conversation = begun.map_err(|error| told(&error, self.door.peer))?;
        Ok(())
    }

    /// Opens it for requests, on a socket of its own.
    fn reach(&mut self) -> Result<(), EndpointError> {
        self.socket = reach(&self.door)?;
        (self.spent, self.came) = (false, None);
        self.admit()
    }

    /// Makes the connection anew.
    #[cold]
    fn renew(&mut self) -> Result<(), Fault> {
        let refused = Fault::Refused(Errno::CONNRESET.raw_os_error());
        if self.fruitless >= MOST_FRUITLESS && !self.door.scheduled {
            return Err(Fault::Closed);
        }
        if Monotonic::now() < self.not_before {
            if self.door.scheduled {
                return Err(refused);
            }
            self.door.stop.wait(self.not_before);
        }
        self.hang_up();
        if self.begin().and_then(|()| self.reach()).is_err() {
            self.spend();
            self.fruitless += 1;
            self.not_before = Monotonic::now().after(PAUSE);
            return Err(refused);
        }
        self.fruitful = false;
        if self.tally.records(self.numbered.wrapping_sub(1)) {
            self.tally.renewed();
        }
        Ok(())
    }

    /// Records the parts of the latest request with its own connection, where it has its reply and is recorded.
    fn tell_parts(&mut self) {
        let (Some((number, parts)), Some(book)) = (self.parts.take(), &self.door.anew) else { return };
        if self.fruitful && self.tally.records(number) {
            book.add(&parts);
        }
    }

    /// Tells the server that nothing more is asked.
    fn hang_up(&mut self) {
        if self.conversation.ended().is_none() {
            self.conversation.close(Monotonic::now());
            // A server that does not hear it waits for a while, and forgets.
            let _heard = self.tend();
        }
    }
}

impl Drop for Http3 {
    fn drop(&mut self) {
        self.tell_parts();
        if !self.spent {
            self.hang_up();
        }
    }
}

/// A socket of its own, connected as `door` says.
fn reach(door: &Door) -> Result<Socket, EndpointError> {
    let socket = socket::udp(door.peer, &door.options)?;
    socket::set_waiting(&socket, door.peer, door.waiting)?;
    Ok(socket)
}

/// Error of a connection that failed to open, with its hint.
fn told(error: &QuicError, peer: std::net::SocketAddr) -> EndpointError {
    match error {
        QuicError::Tls(error) => told_of_tls(error, peer),
        other => EndpointError::new(Step::Ask, peer, Cause::Peer(other.to_string())),
    }
}

impl Link for Http3 {
    #[inline]
    fn now(&self) -> Instant {
        Monotonic::now()
    }

    #[inline]
    fn received(&mut self) -> Instant {
        self.came.take().unwrap_or_else(Monotonic::now)
    }

    fn has_room(&mut self, out: u64) -> bool {
        out == 0 || self.conversation.has_room()
    }

    fn ready(&mut self) -> Result<(), Fault> {
        self.numbered += 1;
        if self.door.anew.is_some() {
            return self.part();
        }
        self.pump();
        if self.conversation.is_leaving() && self.conversation.unanswered() == 0 && !self.spent {
            self.spend();
        }
        if self.spent || self.conversation.is_leaving() {
            // A reply to come on the old connection would be lost with it.
            self.spend();
            self.renew()?;
        }
        self.stage(self.numbered.wrapping_sub(1))
    }

    #[inline]
    fn send(&mut self, _message: &[u8]) -> Result<(), Fault> {
        if self.door.anew.is_some()
            && let Err(error) = self.call()
        {
            self.spend();
            self.lost.clear();
            if matches!(error.cause, Cause::Peer(_)) {
                self.not_before = Monotonic::now().after(PAUSE);
            }
            return unmade(&error);
        }
        self.put()
    }

    fn pending_refusal(&mut self) -> Option<Fault> {
        self.refusal()
    }

    fn blamed(&mut self) -> Option<u64> {
        self.blamed.take()
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        self.came = None;
        loop {
            if let Some(heard) = self.heard(buffer) {
                return heard;
            }
            let now = Monotonic::now();
            if self.spent || now >= until || self.door.stop.requested() {
                return Ok(None);
            }
            self.wait(until, now);
            match self.fetch() {
                // The reply goes to the engine before anything is said for the connection itself.
                Ok(true) if self.conversation.has_heard() => {}
                Ok(false) if self.spinning && self.conversation.due() > now => {}
                Ok(_) => {
                    if self.tend().is_err() {
                        self.broke();
                    }
                }
                Err(_) => self.broke(),
            }
        }
    }

    #[inline]
    fn try_receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        self.came = None;
        if self.conversation.has_heard() || !self.lost.is_empty() {
            return self.heard(buffer).unwrap_or(Ok(None));
        }
        if self.spent {
            // Early rather than when the next request is due; a failure here is reported by that one.
            let renews = self.fruitless == 0 && self.door.anew.is_none();
            let _later = if renews { self.renew() } else { Ok(()) };
            return Ok(None);
        }
        self.pump();
        self.heard(buffer).unwrap_or(Ok(None))
    }

    fn wait_any(links: &mut [Self], until: Instant) {
        let mut until = until;
        for link in &mut *links {
            link.pump();
            if link.spinning || link.conversation.has_heard() || !link.lost.is_empty() {
                return;
            }
            if !link.spent {
                until = until.min(link.conversation.due());
            }
        }
        match links {
            [only] if !only.spent => poll_one(only.socket.as_fd(), false, until),
            many if many.iter().any(|link| !link.spent) => {
                poll_until(many.iter().filter(|link| !link.spent).map(|link| (link.socket.as_fd(), false)), until);
            }
            // Nothing can come on any of them.
            _ => pace::sleep_until(until.min(Monotonic::now().after(GLANCE))),
        }
    }

    fn idle(&mut self, until: Instant) {
        loop {
            self.pump();
            if Monotonic::now() >= until {
                return;
            }
            if self.spent {
                return pace::sleep_until(until);
            }
            poll_one(self.socket.as_fd(), false, until.min(self.conversation.due()));
        }
    }

    fn sleep(&self, until: Instant) {
        pace::sleep_until(until);
    }

    #[inline]
    fn spin(&self, _until: Instant) {
        std::hint::spin_loop();
    }
}
