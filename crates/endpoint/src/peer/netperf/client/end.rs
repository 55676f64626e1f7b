//! The end of a test: its data connections ended as the servers expect it, and the servers' results fetched.
//!
//! netperf grants a server two minutes for its results, and a slow one has them here too. One that fell silent in the
//! test is not given as long. Signs of life are bytes that it takes or sends, the end of a data connection, and any
//! answer. A UDP server closes its socket before it sends results, when its own time is up at the latest: then its
//! kernel refuses further datagrams. Without any sign a few seconds decide.

use std::cell::Cell;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use measure::method::Carrier;
use measure::outcome::SocketFacts;
use measure::unit::{Instant, Nanos};
use protocol::netperf::ask::Length;
use protocol::netperf::client::ANSWER;
use protocol::netperf::data::{END_DATAGRAMS, PAD};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use socket2::{Domain, SockAddr, Socket, Type};

use super::phase::Open;
use super::{Course, Session, Test, stream};
use crate::clock::Monotonic;
use crate::cpu_usage::Usage;
use crate::error::Step;
use crate::link::clockwork::{poll_one, poll_until};
use crate::socket;
use crate::stop::{GLANCE, Stop};
use crate::tcp_info::TcpInfo;

/// Time without a sign of life after which a server is given up at the end of a test: its end of a data connection,
/// which it closes at once, would have come through after four losses of it.
const SILENT: Nanos = Nanos::secs(5);
/// Shortest wait for a server's end, however long it was silent before.
const HASTE: Nanos = Nanos::secs(3);
/// Time after our end at which a server that missed it ends by itself; then its results are due.
const OVERDUE: Nanos = Nanos(PAD.0 + HASTE.0);
/// Longest wait for a refusal to come back.
const REFUSAL: Nanos = Nanos::secs(1);
/// Longest wait for results that are not wanted: a server that ends at once leaves its control connection in order.
const UNWANTED: Nanos = Nanos::millis(300);

/// State of the data phase, as far as its end depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Went {
    /// A control connection failed, or nothing came over the data connections: our end may not come through either.
    pub silently: bool,
    /// The last request was lost: it is not known that the server is still there.
    pub unanswered: bool,
    /// Fewer transactions than asked for: a server that counts them waits for more.
    pub short: bool,
}

/// End of a test with its servers.
#[derive(Debug)]
pub struct Ends {
    /// Messages and sockets of each session.
    pub courses: Vec<Course>,
    /// CPU use of this host, from before the data connections until they were closed; `None` where no tick of the
    /// kernel's accounting passed.
    pub cpu: Option<Usage>,
}

/// End of a test with its servers: all of them are informed before one of them is waited for.
#[derive(Debug)]
pub struct End<'a> {
    test: &'a Test,
    stop: &'a Stop,
    went: Went,
    /// No recent arrival shows that the servers are there.
    quiet: bool,
    /// True where a server that accepts connections must be told that there are no more.
    resets: bool,
    began: Instant,
    /// Time of the last sign of life of any server: a wait spent on one need not be spent on the others.
    sign: Cell<Instant>,
}

/// End of a data connection.
#[derive(Clone, Copy, Debug)]
pub struct Closing {
    took: Nanos,
    how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// There was no end to be seen.
    Unseen,
    /// The server ended it, or has said what there is to say.
    Ended,
    /// Not yet: bytes went on through, or the user would not wait.
    Unfinished,
    /// The server gave no sign of life.
    Silent { waited: Nanos },
}

impl<'a> End<'a> {
    /// An end that begins now, `silence` after the last that came of a server; `gap`: between two operations of a schedule.
    pub fn new(test: &'a Test, stop: &'a Stop, went: Went, silence: Nanos, gap: Nanos) -> Self {
        let counts = matches!(test.ask.length, Length::Count(_));
        let began = Monotonic::now();
        // The rest of the patience: never less than `HASTE`.
        let before = if went.silently { SILENT } else { silence }.min(Nanos(SILENT.0 - HASTE.0));
        Self {
            test,
            stop,
            went,
            quiet: went.unanswered || silence.0 > HASTE.0.saturating_add(gap.0.saturating_mul(10)),
            resets: !test.wants_results || (counts && went.short),
            began,
            sign: Cell::new(began.before(before)),
        }
    }

    /// Ends the data connections.
    pub fn close(&self, sessions: &mut [Session], opened: &[Open]) -> Vec<Closing> {
        for open in opened {
            self.tell(open);
        }
        sessions.iter_mut().zip(opened).map(|(session, open)| self.wait(session, open)).collect()
    }

    /// Fetches what the servers saw.
    pub fn results(
        &self,
        sessions: &mut [Session],
        opened: Vec<Open>,
        closings: &[Closing],
        at_end: &[SocketFacts],
    ) -> Vec<Course> {
        let since = Monotonic::now();
        let parts = sessions.iter_mut().zip(opened).zip(closings).zip(at_end);
        parts.map(|(((session, open), closing), at_end)| self.course(since, session, open, *closing, at_end)).collect()
    }

    fn course(
        &self,
        since: Instant,
        session: &mut Session,
        open: Open,
        closing: Closing,
        at_end: &SocketFacts,
    ) -> Course {
        let Open { ready, facts, local, remote, connecting, socket } = open;
        // A server that sends continues as long as the connection stands.
        let socket = socket.filter(|_| stream::sends(&self.test.method));
        let results = match closing.how {
            How::Silent { waited } => Err(session.control.given_up(Step::FetchResults, waited)),
            how => {
                let told = self.resets && socket.is_none();
                let mut patience = self.patience(how, told);
                let datagrams = how == How::Unseen && self.test.method.traffic.carrier() == Carrier::Udp;
                if datagrams && patience == ANSWER && self.still_open(since, session, socket.as_ref(), remote) {
                    patience = OVERDUE;
                }
                session.control.results(since, patience, self.stop)
            }
        };
        drop(socket);
        Course {
            results,
            ready,
            at_start: facts,
            at_end: at_end.clone(),
            local,
            remote,
            connecting,
            closing: closing.took,
        }
    }

    /// Longest wait for results. `told`: the server was told by a reset, which a server that honours it answers at
    /// once.
    fn patience(&self, how: How, told: bool) -> Nanos {
        match how {
            _ if !self.test.wants_results => UNWANTED,
            How::Unfinished | How::Silent { .. } => HASTE,
            _ if told || self.went.silently => HASTE,
            How::Unseen if self.quiet => OVERDUE,
            How::Unseen | How::Ended => ANSWER,
        }
    }

    /// Returns true where the server has not even closed its UDP socket when it should have: asked after this long
    /// without a sign of it.
    fn still_open(&self, since: Instant, session: &mut Session, socket: Option<&Socket>, remote: SocketAddr) -> bool {
        if session.control.hears(since.after(OVERDUE), self.stop) {
            return false;
        }
        match socket {
            Some(socket) => !refused(socket),
            None => socket::udp(remote, &self.test.method.socket).is_ok_and(|socket| !refused(&socket)),
        }
    }

    fn tell(&self, open: &Open) {
        match (&open.socket, self.test.method.traffic.carrier()) {
            (None, _) if self.resets => end_by_reset(open.remote),
            (None, _) => {}
            (Some(socket), Carrier::Udp) => end_datagrams(socket),
            // If the peer ended it first this is no news.
            (Some(socket), _) => {
                let _half_closed = shutdown(socket, Shutdown::Write);
            }
        }
    }

    fn wait(&self, session: &mut Session, open: &Open) -> Closing {
        let how = match &open.socket {
            Some(socket) if self.test.method.traffic.carrier() != Carrier::Udp => self.drained(socket, session),
            _ => How::Unseen,
        };
        // With a connection for each transaction nothing is left to be closed, and an end that did not come took no
        // time.
        let timed = open.socket.is_some() && !matches!(how, How::Silent { .. });
        let took = Monotonic::now().since(self.began).filter(|_| timed);
        Closing { took: took.unwrap_or_default(), how }
    }

    /// Waits for the server to close its half once it has read everything; ours is closed. Data that it still sends are
    /// read, for a connection closed over unread data is reset.
    fn drained(&self, socket: &Socket, session: &mut Session) -> How {
        let mut scratch = vec![0; 64 << 10];
        let mut taken = taken(socket);
        while Monotonic::now() < self.began.after(ANSWER) && !self.stop.requested() {
            match recv(socket, &mut scratch[..], RecvFlags::DONTWAIT) {
                Ok((1.., _)) => self.sign.set(Monotonic::now()),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    // A server that is gone closes neither.
                    if session.control.answered() || session.control.look().is_err() {
                        return How::Ended;
                    }
                    let before = std::mem::replace(&mut taken, self::taken(socket));
                    // Our end counts as one byte, and the kernel of a server that is stopped takes it too.
                    if taken > before + 1 {
                        self.sign.set(Monotonic::now());
                    }
                    let now = Monotonic::now();
                    if now >= self.sign.get().after(SILENT) {
                        return How::Silent { waited: now.since(self.began).unwrap_or_default() };
                    }
                    let both = [(socket.as_fd(), false), (session.control.as_fd(), false)];
                    poll_until(both.into_iter(), Monotonic::now().after(GLANCE));
                }
                Ok((0, _)) | Err(_) => {
                    self.sign.set(Monotonic::now());
                    return How::Ended;
                }
            }
        }
        How::Unfinished
    }
}

/// Bytes of ours that the server's kernel has taken: as long as they become more, the path is slow and not dead. 0 of what
/// does not tell, as SCTP.
fn taken(socket: &Socket) -> u64 {
    TcpInfo::of(socket).ok().and_then(|info| info.bytes_acked).map_or(0, |bytes| bytes.0)
}

/// Returns true where the peer's kernel refuses datagrams, as it does once the socket is closed.
fn refused(socket: &Socket) -> bool {
    let give_up = Monotonic::now().after(REFUSAL);
    let mut result = send(socket, &[], SendFlags::NOSIGNAL | SendFlags::DONTWAIT).map(|_| ());
    // The refusals of what was sent before may be told first.
    while result != Err(Errno::CONNREFUSED) && Monotonic::now() < give_up {
        poll_one(socket.as_fd(), false, give_up);
        result = recv(socket, &mut [0; 1][..], RecvFlags::DONTWAIT).map(|_| ());
    }
    result == Err(Errno::CONNREFUSED)
}

/// A server that accepts connection after connection does not see the end of a timed test and waits four seconds more, or
/// waits for those that its count lacks. One that is reset at once ends it there, without results.
fn end_by_reset(remote: SocketAddr) {
    let connect = || -> std::io::Result<()> {
        let socket = Socket::new(Domain::for_address(remote), Type::STREAM, None)?;
        socket.set_linger(Some(Duration::ZERO))?;
        socket.connect_timeout(&SockAddr::from(remote), GLANCE.into())
    };
    // A connection that has ended already needs no end.
    let _ended = connect();
}

/// Three datagrams of nothing: one is enough, so two may be lost.
fn end_datagrams(socket: &Socket) {
    for _ in 0..END_DATAGRAMS {
        // A server that is done with its count has closed its socket, and the next call reports that: no matter.
        let _told = send(socket, &[], SendFlags::NOSIGNAL);
    }
}
