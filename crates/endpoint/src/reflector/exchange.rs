//! A flow of exchanges at the reflector: answered by its own thread while requests come, and by the one thread of the
//! [yard](super::yard) while hardly any do.
//!
//! A session that pins its threads or polls keeps them, and so does a flow of large messages: a client that sends on
//! and on, or does not read, would hold up the others of the yard.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use measure::method::{Pattern, Waiting};
use measure::unit::{Bytes, Instant, Nanos};
use protocol::link::Link;
use rustix::io::Errno;
use socket2::Socket;

use super::Shared;
use super::answer::{Answerer, FlowEnd};
use super::datagram;
use super::session::{Session, SocketEnd};
use super::yard::{Resting, Turn};
use crate::clock::Monotonic;
use crate::facts::thread::{ThreadFacts, ThreadSpan};
use crate::serve::places::Place;
use crate::socket::option;
use crate::stop::GLANCE;
use crate::thread::CpuTime;

/// Silence after which a thread leaves the flow. A flow at two requests a second or fewer needs none.
const QUIET: Nanos = Nanos::millis(400);
/// A resting flow whose requests come as close as this gets a thread …
const CLOSE: Nanos = GLANCE;
/// … and so does one whose client leaves so much unread.
const UNREAD: u32 = 8 << 10;
/// Larger messages are taken and sent by a thread of their own.
const SMALL: Bytes = Bytes(4 << 10);

/// One flow of a session, as long as it has a socket. Its drop reports the end to the session.
#[derive(Debug)]
pub struct Held {
    session: Arc<Session>,
    flow: u16,
    /// A descriptor of the socket that outlives a shut: the end is signalled by it, and waits use it. Absent: the
    /// system had none left.
    socket: Option<Arc<Socket>>,
    /// Its place among the session's sockets.
    place: Option<u64>,
    datagrams: bool,
    /// Its places among what the session, and the reflector, wait for at their end.
    running: Option<Place>,
    _here: Option<Place>,
    stints: Stints,
}

impl Held {
    /// Flow `flow` of `session` over `socket`, which is shut when the session ends. `places`: of the session's threads, and of
    /// the reflector's flows.
    pub fn new(
        session: Arc<Session>,
        flow: u16,
        (socket, datagrams): (Option<Arc<Socket>>, bool),
        (running, here): (Option<Place>, Option<Place>),
    ) -> Self {
        let place = socket.as_ref().map(|socket| session.sockets.enter(socket));
        Self { session, flow, socket, place, datagrams, running, _here: here, stints: Stints::default() }
    }

    /// Reads what the scheduler has given this thread, which answers the flow from here on. Connect + exchange has many threads
    /// for a moment each: that would be measured with every connection.
    pub fn look_at_thread(&mut self) {
        if self.session.open.pattern == Pattern::Exchange {
            self.stints.begin();
        }
    }

    /// The client's address of a flow of datagrams, and ours.
    fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        let socket = self.socket.as_ref().filter(|_| self.datagrams)?;
        socket.peer_addr().ok()?.as_socket().zip(socket.local_addr().ok()?.as_socket())
    }

    /// Has the kernel deliver nothing more of the client's port to this UDP socket, whose turn is over: the port may be
    /// another client's by now, and datagrams between a last look and the closing would stay unanswered. It is
    /// connected to itself.
    fn turn_away(&self) {
        let own = self.socket.as_ref().and_then(|socket| socket.local_addr().ok().map(|own| (socket, own)));
        // If that fails, the two stand as close together as possible.
        let _turned = own.map(|(socket, own)| socket.connect(&own));
    }

    /// Session that the flow belongs to.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(socket) = &self.socket
            && self.datagrams
        {
            self.session.end_socket(SocketEnd {
                receive_buffer: socket.recv_buffer_size().ok().map(|bytes| Bytes(bytes as u64)),
                dropped: option::dropped(socket.as_fd()).ok().map(u64::from),
            });
        }
        if let Some(place) = self.place {
            self.session.sockets.leave(place);
        }
        if let Some(span) = self.stints.span() {
            self.session.had(span);
        }
        drop(self.running.take());
        // The flow of a connect + exchange session is never taken: one connection comes while the last is still ending.
        if self.session.open.pattern != Pattern::ConnectExchange {
            self.session.flows[usize::from(self.flow)].leave();
        }
    }
}

/// Scheduler time of the threads that answered one flow, one after the other: a flow at rest has none for a while.
#[derive(Debug, Default)]
struct Stints {
    /// The first stint's begin, and the time on a CPU and waiting for one of all that have ended.
    had: Option<(Instant, Nanos, Nanos)>,
    /// The facts of the present stint's thread when it began.
    before: Option<ThreadFacts>,
}

impl Stints {
    fn begin(&mut self) {
        self.before = ThreadFacts::own();
    }

    fn end(&mut self) {
        let Some(before) = self.before.take() else { return };
        if let Some(span) = ThreadFacts::own().and_then(|now| now.since(&before)) {
            let (first, ran, waited) = self.had.unwrap_or((before.at, Nanos::ZERO, Nanos::ZERO));
            self.had = Some((first, Nanos(ran.0 + span.ran_ns.0), Nanos(waited.0 + span.waited_ns.0)));
        }
    }

    /// All of them as one, from the first's begin until now: of a stint of a moment no share says anything.
    fn span(&self) -> Option<ThreadSpan> {
        let (first, ran_ns, waited_ns) = self.had?;
        Some(ThreadSpan { watched_ns: Monotonic::now().since(first)?, ran_ns, waited_ns })
    }
}

/// A flow with its way, ready to be answered.
#[derive(Debug)]
pub struct Exchange<L: Link> {
    answerer: Answerer<L>,
    held: Held,
    /// True where the link takes segments.
    many: bool,
    /// Time at which its latest request was answered in the yard.
    latest: Option<Instant>,
    shared: Arc<Shared>,
}

impl<L: Link + Send + std::fmt::Debug + 'static> Exchange<L> {
    /// Over `link`, whose socket is that of `held`.
    pub fn new(link: L, held: Held, shared: Arc<Shared>) -> Self {
        let answerer = Answerer::new(link, Arc::clone(&held.session), held.flow, held.datagrams);
        Self { answerer, held, many: false, latest: None, shared }
    }

    /// Answers `firsts`, which made the flow known, then all that comes, until its end, or until it rests. `many`: the link takes
    /// segments. The calling thread is the flow's own and had used `before` when it began.
    pub fn begin(mut self, firsts: &[Vec<u8>], many: bool, before: CpuTime) {
        self.many = many;
        self.set_patience();
        for first in firsts {
            let answered = self.answerer.answer_first(first);
            // Not before: its client waits for that.
            self.held.look_at_thread();
            if answered.is_err() {
                return self.account(before);
            }
        }
        Box::new(self).go_on(before);
    }

    /// Sets how long a call of the flow's thread waits for a request: for good, or where the flow may rest until it is quiet.
    fn set_patience(&mut self) {
        let Session { open, got, behaviour, .. } = &*self.held.session;
        let rests = open.pattern == Pattern::Exchange
            && got.waiting == Waiting::Block
            && got.cpus.is_empty()
            && open.request_bytes.max(open.response_bytes) <= SMALL
            && !behaviour.is_unusual()
            && !self.held.session.is_bounded()
            && !self.many;
        let patience = rests.then_some(QUIET.into());
        let set = self.held.socket.as_ref().map(|socket| socket.set_read_timeout(patience));
        if rests && matches!(set, Some(Ok(()))) {
            self.answerer.rest();
        }
    }

    fn go_on(mut self: Box<Self>, before: CpuTime) {
        let end = loop {
            let end = if self.many { self.answerer.run_many() } else { self.answerer.run() };
            if end != FlowEnd::Foreign || self.is_left() {
                break end;
            }
        };
        self.account(before);
        if end == FlowEnd::Quiet {
            let shared = Arc::clone(&self.shared);
            return shared.yard.keep(self);
        }
        self.end();
    }

    /// True where the client's port belongs to another session by now: the client has gone, and the next one got its port before that was
    /// known here. Other datagrams with a foreign token are counted as malformed.
    fn is_left(&mut self) -> bool {
        let from = self.held.ends().map(|(from, _)| from);
        let (held, shared) = (&self.held, &self.shared);
        self.answerer.foreign.retain(|message| {
            let is_anothers = from.is_some_and(|from| datagram::is_of_another(&held.session, message, from, shared));
            if !is_anothers {
                held.session.malformed.fetch_add(1, Ordering::Relaxed);
            }
            is_anothers
        });
        !self.answerer.foreign.is_empty()
    }

    /// Tells the session what this thread did for it.
    fn account(&mut self, before: CpuTime) {
        self.held.session.used(CpuTime::own().since(before));
        self.held.stints.end();
    }

    /// Returns true where its client does not read the replies.
    fn is_unread(&self) -> bool {
        let queued = || option::queued(self.held.socket.as_ref()?.as_fd()).ok();
        !self.held.datagrams && queued().is_some_and(|queued| queued > UNREAD)
    }
}

impl<L: Link + Send + std::fmt::Debug + 'static> Resting for Exchange<L> {
    fn socket(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.held.socket.as_ref().map(|socket| socket.as_fd()).ok_or(Errno::BADF)
    }

    fn turn(&mut self) -> Turn {
        let before = self.answerer.received();
        let turn = self.answerer.turn();
        if !self.answerer.foreign.is_empty() {
            return Turn::Busy;
        }
        if turn == Turn::Wait && self.answerer.received() != before {
            let now = Monotonic::now();
            let latest = self.latest.replace(now);
            if latest.is_some_and(|latest| now < latest.after(CLOSE)) || self.is_unread() {
                return Turn::Busy;
            }
        }
        turn
    }

    fn used(&self, time: CpuTime) {
        self.held.session.used(time);
        self.held.session.rested();
    }

    /// Ends it. Datagrams of a session that has its client's port by now begin a flow of that.
    fn end(mut self: Box<Self>) {
        let ends = self.held.ends();
        if ends.is_some() {
            self.held.turn_away();
            if self.many {
                self.answerer.drain_many();
            } else {
                self.answerer.drain();
            }
            self.is_left();
        }
        let (messages, shared) = (std::mem::take(&mut self.answerer.foreign), Arc::clone(&self.shared));
        drop(self);
        let Some((from, local)) = ends else { return };
        for message in messages {
            datagram::take_in(message, from, local, (&shared, None));
        }
    }

    fn resume(mut self: Box<Self>) {
        self.latest = None;
        let pool = Arc::clone(&self.shared.hall.pool);
        // Without a thread the connection is closed, which is all that can be signalled to the client.
        let _served = pool.serve(move || {
            let before = CpuTime::own();
            self.held.look_at_thread();
            self.go_on(before);
        });
    }
}
