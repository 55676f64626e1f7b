//! One test, from its control connection's cookie to its end.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use measure::event::Event as Engine;
use measure::method::Pacing;
use measure::served::{RefusalReason, SessionEnd};
use measure::unit::{Instant, Nanos};
use protocol::iperf3::code::Code;
use protocol::iperf3::cookie::Cookie;
use protocol::iperf3::parameters::{Parameters, Protocol};
use protocol::iperf3::results::Results;
use protocol::iperf3::server::Action;
use socket2::Socket;

use super::Shared;
use super::arrivals::{Arrived, Expecting};
use super::control::{Control, Stopped};
use super::event::Event;
use super::flows;
use super::settings::{Limits, RateLimit};
use crate::clock::{Monotonic, wall};
use crate::error::{Cause, EndpointError, Step};
use crate::facts::socket::socket_facts;
use crate::peer::iperf3::course::{Course, Limit};
use crate::peer::iperf3::sockets::{self, Connection};
use crate::peer::iperf3::streams::{self, Ran, Ready, Run};
use crate::peer::iperf3::tell;
use crate::serve::book::Session;
use crate::serve::mailbox::mailbox;
use crate::serve::visits::Visit;
use crate::thread::CpuTime;

/// Longest wait for a client to open its streams, and for a test to have its turn at that.
const STREAMS: Nanos = Nanos::secs(30);
/// Time beyond its duration after which a timed test is ended, where its client does not; a real server does the same.
const GRACE: Nanos = Nanos::secs(40);
/// Longest wait for the end message of a client whose streams have ended.
const WORD: Nanos = Nanos::secs(10);
/// Longest duration of one look while data flow; events are handed on between two.
const TURN: Nanos = Nanos::millis(20);
/// Bytes of memory that a stream takes beside its calls' buffers.
const BESIDE: u64 = 96 << 10;

/// Serves one control connection to its end. `false`: it was no test, for its client was not admitted.
pub(super) fn attend(
    connection: &Socket,
    from: SocketAddr,
    (cookie, test): (Cookie, u64),
    shared: &Shared,
    visits: [&Visit; 2],
) -> bool {
    let control = Control::new(connection, shared);
    let mut attendant = Attendant { control, from, cookie, test, shared, visits, session: None };
    match attendant.serve() {
        Ok(()) => {
            attendant.ends(SessionEnd::Closed);
            shared.tell(&Event::Done { test });
            true
        }
        Err(stopped) => {
            let (end, reason) = of_book(&stopped);
            let (code, why) = attendant.control.conclude(stopped);
            if !attendant.ends(end) {
                shared.settings.door.book.refuse(Some(from), reason, &why);
            }
            shared.tell(&Event::Failed { test, code, why: &why });
            code != Code::AUTHORISATION
        }
    }
}

struct Attendant<'a> {
    control: Control<'a>,
    from: SocketAddr,
    cookie: Cookie,
    test: u64,
    shared: &'a Shared,
    /// Its place among connections, and among tests.
    visits: [&'a Visit; 2],
    /// In the book, once it may have what it asks for.
    session: Option<Session>,
}

impl Attendant<'_> {
    /// Its session, where there was one, ends so.
    fn ends(&self, how: SessionEnd) -> bool {
        self.session.as_ref().inspect(|session| session.ends(how)).is_some()
    }

    fn serve(&mut self) -> Result<(), Stopped> {
        let greeting = self.control.server.greet();
        self.control.say(&greeting)?;
        let parameters = match self.control.await_word()? {
            Action::Ask(parameters) => *parameters,
            other => return Err(astray(&other)),
        };
        let (shared, test) = (self.shared, self.test);
        let limits = &shared.settings.limits;
        let user = admit(shared, &parameters)?;
        bounded(limits, &parameters)?;
        self.visits.iter().for_each(|visit| visit.known());
        let count = u64::from(parameters.uploads() + parameters.downloads());
        let memory = count * (2 * u64::from(parameters.block_bytes()) + BESIDE);
        let full = || Stopped::Failed(Code::CREATE_STREAM, Some(libc::EAGAIN), "too many streams run already".into());
        let _streams = shared.streams.take_some(count).ok_or_else(full)?;
        let _memory = shared.memory.take_some(memory).ok_or_else(full)?;
        let datagrams = parameters.protocol == Protocol::Udp;
        self.session = Some(shared.settings.door.book.begin(self.from, datagrams, || name(&parameters)));
        shared.tell(&Event::Asked { test, parameters: &parameters, user: user.as_deref() });
        let (ready, no_congestion) = self.open(&parameters)?;
        let connections: Vec<Connection> = ready.iter().map(|stream| stream.connection.clone()).collect();
        shared.tell(&Event::Streams { test, connections: &connections, no_congestion: no_congestion.as_deref() });
        self.run(&parameters, ready)
    }

    /// Has the client open its streams: those that it sends on come first.
    fn open(&mut self, parameters: &Parameters) -> Result<(Vec<Ready>, Option<String>), Stopped> {
        let uploads = parameters.uploads() as usize;
        let all = uploads + parameters.downloads() as usize;
        let sockets = match parameters.protocol {
            Protocol::Udp => self.flows(all)?,
            _ => self.connections(all)?,
        };
        let mut no_congestion = None;
        let mut ready = Vec::new();
        for (index, socket) in sockets.into_iter().enumerate() {
            no_congestion = sockets::set_up(&socket, self.from, parameters).map_err(|e| failed(&e))?.or(no_congestion);
            let connection = Connection::of(&socket, index, index >= uploads)
                .map_err(|cause| Stopped::Failed(Code::STREAM_ACCEPT, cause.raw_os_error(), cause.to_string()))?;
            let at_start = socket_facts(&socket);
            let file = self.shared.settings.file.as_ref();
            let way = sockets::way(socket, parameters, connection.sends, file).map_err(|e| failed(&e))?;
            ready.push(Ready { connection, way, at_start });
        }
        Ok((ready, no_congestion))
    }

    fn connections(&mut self, all: usize) -> Result<Vec<Socket>, Stopped> {
        let taken = || Stopped::Gone(Code::MESSAGE, "another test has its cookie".to_owned());
        let expecting =
            Expecting::new(self.shared, self.cookie, all).map_err(|cause| unawaited(&cause))?.ok_or_else(taken)?;
        let accept = self.control.server.accept();
        self.control.say(&accept)?;
        let mut arrived: Vec<Arrived> = Vec::new();
        let give_up = Monotonic::now().after(STREAMS);
        while arrived.len() < all {
            self.wait(give_up, &[expecting.as_fd()])?;
            arrived.extend(expecting.arrived());
        }
        // Threads may have heard their cookies in another order than the client connected in.
        arrived.sort_by_key(|arrived| arrived.place);
        Ok(arrived.into_iter().map(|arrived| arrived.socket).collect())
    }

    fn flows(&mut self, all: usize) -> Result<Vec<Socket>, Stopped> {
        let give_up = Monotonic::now().after(STREAMS);
        let (to, arrivals) = mailbox().map_err(|cause| unawaited(&cause))?;
        let _turn = loop {
            match self.shared.flows.turn(self.from.ip(), all, &to) {
                Some(turn) => break turn,
                None => self.wait(give_up, &[arrivals.as_fd()])?,
            }
            arrivals.take().for_each(drop);
        };
        let accept = self.control.server.accept();
        self.control.say(&accept)?;
        let mut arrived: Vec<Socket> = Vec::new();
        while arrived.len() < all {
            let all: Vec<BorrowedFd<'_>> = arrived.iter().map(AsFd::as_fd).chain([arrivals.as_fd()]).collect();
            self.wait(give_up, &all)?;
            arrived.extend(arrivals.take());
            arrived.iter().for_each(flows::answer_again);
        }
        Ok(arrived)
    }

    /// Waits for something at one of `others`, and watches the control connection; until `give_up` in all.
    fn wait(&mut self, give_up: Instant, others: &[BorrowedFd<'_>]) -> Result<(), Stopped> {
        let (now, code) = (Monotonic::now(), Code::STREAM_ACCEPT);
        if self.shared.hall.stop.requested() {
            return Err(Stopped::Stopping);
        }
        if now >= give_up {
            return Err(Stopped::Failed(code, Some(libc::ETIMEDOUT), format!("{code}: not within {STREAMS}")));
        }
        self.control.hear_beside(others, give_up)
    }

    fn run(&mut self, parameters: &Parameters, ready: Vec<Ready>) -> Result<(), Stopped> {
        let (shared, test) = (self.shared, self.test);
        let course = Course::new(Limit::None, shared.settings.limits.rate.is_some());
        let own = CpuTime::own();
        let start = self.control.server.start();
        self.control.say(&start)?;
        let how = Run {
            parameters,
            after: None,
            interval: shared.settings.interval,
            cpu: parameters.server_affinity.or(shared.settings.cpu),
            patience: shared.settings.receive_timeout,
            course: &course,
            // Several tests may run at once: none spins.
            pacing: Pacing::Sleep,
            closes: false,
        };
        let mut on_event = |event: Engine| {
            if let Engine::Carried { thread, interval } = event {
                shared.tell(&Event::Interval { test, stream: thread as usize, interval: &interval });
            }
        };
        let mut keeping = Keeping::new(&mut self.control, parameters, shared, &course);
        let ran = streams::run(ready, how, &mut on_event, &mut |began| keeping.look(began));
        let ended = keeping.ended();
        let (ran, began_wall) = ran.map_err(|error| failed(&error))?;
        // Payload that a client does not wait for need not be sent.
        for stream in &ran {
            let _closed = stream.way.socket().shutdown(std::net::Shutdown::Both);
        }
        self.note(&ran);
        let elapsed = ran.iter().map(|stream| stream.elapsed).max().unwrap_or_default();
        let mut ours = tell::results(parameters, &ran, CpuTime::own().since(own), elapsed, None);
        let theirs = ended.and_then(|()| self.exchange());
        shared.tell(&Event::Ran { test, began_wall, streams: &ran, ours: &ours, theirs: theirs.as_ref().ok() });
        theirs?;
        if parameters.get_server_output {
            ours.output = shared.observer.output(test);
        }
        let told = self.control.server.results(&ours);
        self.control.say(&told)?;
        drop(ran);
        self.await_content()
    }

    /// Adds the payload of the streams to the book.
    fn note(&self, ran: &[Ran]) {
        let Some(session) = &self.session else { return };
        for stream in ran {
            let bytes = stream.count.carried.bytes.0;
            if stream.connection.sends { session.moved(0, bytes) } else { session.moved(bytes, 0) }
        }
    }

    fn exchange(&mut self) -> Result<Results, Stopped> {
        let exchange = self.control.server.exchange();
        self.control.say(&exchange)?;
        match self.control.await_word()? {
            Action::Results(results) => Ok(*results),
            other => Err(astray(&other)),
        }
    }

    /// A client that has its results and goes without a word is content too.
    fn await_content(&mut self) -> Result<(), Stopped> {
        match self.control.await_word() {
            Ok(Action::Done) | Err(Stopped::Gone(Code::CLOSED, _)) => Ok(()),
            Ok(other) => Err(astray(&other)),
            Err(stopped) => Err(stopped),
        }
    }
}

/// Kind of a test, in words of its protocol.
fn name(parameters: &Parameters) -> String {
    let way = match (parameters.uploads(), parameters.downloads()) {
        (_, 0) => "from the client",
        (0, _) => "to the client",
        _ => "both ways",
    };
    format!("streams {way}: {}", parameters.uploads() + parameters.downloads())
}

/// End of a stopped session, and reason of a refused one, for the book.
fn of_book(stopped: &Stopped) -> (SessionEnd, RefusalReason) {
    match stopped {
        Stopped::Gone(..) => (SessionEnd::Lost, RefusalReason::Protocol),
        Stopped::Failed(Code::AUTHORISATION, ..) => (SessionEnd::Fault, RefusalReason::Key),
        Stopped::Failed(..) => (SessionEnd::Fault, RefusalReason::Limit),
        Stopped::Stopping => (SessionEnd::Stopping, RefusalReason::Unable),
    }
}

/// Looks after the control connection while data flow.
struct Keeping<'a, 'c> {
    control: &'a mut Control<'c>,
    shared: &'a Shared,
    course: &'a Course,
    length: Option<Nanos>,
    rate: Option<Watch>,
    ended: Option<Result<(), Stopped>>,
}

/// The rate since a while ago.
struct Watch {
    limit: RateLimit,
    since: Instant,
    moved: u64,
}

impl<'a, 'c> Keeping<'a, 'c> {
    fn new(control: &'a mut Control<'c>, parameters: &Parameters, shared: &'a Shared, course: &'a Course) -> Self {
        let timed = parameters.time > 0 && parameters.bytes == 0 && parameters.blocks == 0;
        let length = Nanos::secs(u64::from(parameters.time) + u64::from(parameters.omit));
        let watch = |limit| Watch { limit, since: Monotonic::now(), moved: 0 };
        Self {
            control,
            shared,
            course,
            length: timed.then(|| Nanos(length.0 + GRACE.0)),
            rate: shared.settings.limits.rate.map(watch),
            ended: None,
        }
    }

    fn look(&mut self, began: Instant) {
        let heard = self.control.hear(Monotonic::now().after(TURN));
        if self.ended.is_some() {
            return;
        }
        let now = Monotonic::now();
        let ended = match (heard, self.control.next()) {
            (Err(stopped), _) => Err(stopped),
            (Ok(()), Some(Action::End)) => Ok(()),
            (Ok(()), Some(other)) => Err(astray(&other)),
            (Ok(()), None) => match self.intervene(began, now) {
                None => return,
                Some(stopped) => Err(stopped),
            },
        };
        self.course.end(now);
        self.ended = Some(ended);
    }

    /// Cause for which our side ends the test now; `None`: it continues.
    fn intervene(&mut self, began: Instant, now: Instant) -> Option<Stopped> {
        if self.shared.hall.stop.requested() {
            return Some(Stopped::Stopping);
        }
        if self.course.is_silent() {
            return Some(Stopped::of(Code::NOTHING_RECEIVED));
        }
        if self.length.is_some_and(|length| now >= began.after(length)) {
            return Some(Stopped::of(Code::EXPIRED));
        }
        let watch = self.rate.as_mut()?;
        let time = now.since(watch.since).filter(|time| *time >= watch.limit.averaging && *time > Nanos::ZERO)?;
        let moved = self.course.moved();
        let bits_per_s = (moved - watch.moved) as f64 * 8.0 / time.as_secs_f64();
        (watch.since, watch.moved) = (now, moved);
        (bits_per_s > watch.limit.bits_per_s as f64).then(|| Stopped::of(Code::TOTAL_RATE))
    }

    /// All streams have ended: how. A client whose streams end first has a moment to say that the test has.
    fn ended(mut self) -> Result<(), Stopped> {
        let give_up = Monotonic::now().after(WORD);
        loop {
            if let Some(ended) = self.ended.take() {
                return ended;
            }
            if Monotonic::now() >= give_up {
                let why = "its streams ended, and it said nothing of it".to_owned();
                return Err(Stopped::Failed(Code::STREAM_READ, None, why));
            }
            self.look(Instant::NEVER);
        }
    }
}

/// Checks that the client may run a test; returns the user's name where there is a login.
fn admit(shared: &Shared, parameters: &Parameters) -> Result<Option<String>, Stopped> {
    let Some(login) = &shared.settings.login else { return Ok(None) };
    let now_s = (wall() / 1_000_000_000).cast_signed();
    match login.admit(parameters.auth_token.as_deref(), now_s) {
        Ok(user) => Ok(Some(user)),
        Err(refusal) => Err(Stopped::Failed(Code::AUTHORISATION, None, format!("{}: {refusal}", Code::AUTHORISATION))),
    }
}

/// Refuses a test beyond the server's limits.
fn bounded(limits: &Limits, parameters: &Parameters) -> Result<(), Stopped> {
    if parameters.protocol == Protocol::Sctp {
        return Err(Stopped::of(Code::NO_SCTP));
    }
    let asked = parameters.total_rate();
    if limits.rate.zip(asked).is_some_and(|(limit, asked)| asked > limit.bits_per_s) {
        return Err(Stopped::of(Code::TOTAL_RATE));
    }
    let endless = parameters.time == 0;
    if limits.seconds.is_some_and(|most| endless || parameters.time.saturating_add(parameters.omit) > most) {
        return Err(Stopped::of(Code::SERVER_DURATION));
    }
    Ok(())
}

/// Converts a failure to iperf3's number for it.
fn failed(error: &EndpointError) -> Stopped {
    let code = match &error.step {
        Step::Set("maximum segment") => Code(123),
        Step::Set("send buffer" | "receive buffer") => Code(124),
        Step::Set("socket buffers") => Code::BUFFER_NOT_SET,
        Step::Set("type of service") => Code(125),
        Step::Set("pacing rate") => Code(140),
        Step::Set("path MTU discovery") => Code(145),
        Step::Set("content to be sent") => Code(14),
        Step::Pin(_) => Code(132),
        Step::StartThread => Code(151),
        _ => Code::CREATE_STREAM,
    };
    let errno = if let Cause::System(cause) = &error.cause { cause.raw_os_error() } else { None };
    Stopped::Failed(code, errno, error.to_string())
}

/// Its streams cannot be waited for.
fn unawaited(cause: &std::io::Error) -> Stopped {
    Stopped::Failed(Code::STREAM_ACCEPT, cause.raw_os_error(), cause.to_string())
}

/// The client said what it should not have: its machine does not let that through.
fn astray(action: &Action) -> Stopped {
    Stopped::Gone(Code::MESSAGE, format!("{action:?} came at the wrong time"))
}
