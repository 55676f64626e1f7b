//! Datagrams: received, handled, answered, by one thread for one socket or several.
//!
//! Between a message and its answer nothing is done but that: no clock is read, no lock taken, nothing allocated. Where
//! datagrams wait, several are taken by one call and answered by another.

use std::net::SocketAddr;
use std::sync::Arc;

use measure::unit::{Instant, Nanos};
use protocol::sockperf::count;
use protocol::sockperf::message::{Flags, Header, LARGEST_DATAGRAM};
use protocol::sockperf::server::{Decision, Malformed};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SendFlags, sendto};

use super::Shared;
use super::askers::Askers;
use super::bound::{Bound, Kind};
use super::event::Event;
use super::tally::Count;
use crate::clock::Monotonic;
use crate::error::{EndpointError, Step};
use crate::pace::{self, Courtesy};
use crate::serve;
use crate::serve::book::Meter;
use crate::socket::envelope::Envelope;
use crate::socket::envelopes::{self, Answer, Envelopes};
use crate::stop::Stop;

/// Any datagram fits.
const BUFFER: usize = 1 << 16;
/// Rows of waiting datagrams that are handled of one socket before the next has its turn.
const TURN: u32 = 4;
/// Most datagrams taken before the next look, where none waited behind others.
const PATIENCE: u32 = 63;
/// Datagrams of each socket that are still handled once the server is to stop, of those that have arrived.
const LAST: u32 = 1 << 16;
/// Sockets that one wait reports at once.
const READY: usize = 64;

/// Serves until it is to stop, then what has come by then.
pub(super) fn serve(sockets: &[&Bound], shared: &Shared) {
    let mut server = Server::new(shared);
    match sockets {
        _ if shared.settings.spin => server.spin(sockets),
        [one] => server.block(one),
        several => server.wait(several),
    }
    for socket in sockets {
        server.rest(socket);
    }
    shared.tally.add(server.seen.count);
}

/// Two warm-ups to each group of `socket`, as sockperf sends them when it starts: what the path has to learn is learnt.
pub(super) fn warm_up(socket: &Bound, shared: &Shared) {
    let mut message = vec![0; LARGEST_DATAGRAM as usize];
    Header { sequence: 0, flags: Flags::WARMUP, length: LARGEST_DATAGRAM }.write(&mut message);
    for group in socket.listens.iter().filter(|address| address.ip().is_multicast()) {
        for _ in 0..2 {
            if let Err(cause) = sendto(socket.fd(), &message, SendFlags::NOSIGNAL, group) {
                shared.tally.complain(|| Event::Unsent { to: Some(*group), cause: cause.into() });
            }
        }
    }
}

struct Server<'a> {
    shared: &'a Shared,
    buffer: Vec<u8>,
    envelope: Envelope,
    many: Envelopes,
    /// Those to datagrams of `many` that are to be sent.
    answers: Vec<Answer>,
    backlog: Backlog,
    courtesy: Courtesy,
    seen: Seen,
}

impl<'a> Server<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self {
            shared,
            buffer: vec![0; BUFFER],
            envelope: Envelope::default(),
            many: Envelopes::default(),
            answers: Vec::with_capacity(envelopes::MOST),
            backlog: Backlog::default(),
            courtesy: Courtesy::default(),
            seen: Seen { meter: shared.settings.door.book.meter(), ..Seen::default() },
        }
    }

    fn block(&mut self, socket: &Bound) {
        let stop = &self.shared.hall.stop;
        while !stop.requested() {
            // A call without a datagram within a tenth of a second means an unused server.
            if !self.take(socket, 0) {
                stop.wait_or_input(socket.fd(), Instant::NEVER);
            }
        }
    }

    fn spin(&mut self, sockets: &[&Bound]) {
        while !self.shared.hall.stop.requested() {
            for socket in sockets {
                if !self.take(socket, libc::MSG_DONTWAIT) {
                    std::hint::spin_loop();
                }
            }
        }
    }

    fn wait(&mut self, sockets: &[&Bound]) {
        let Ok(set) = interest(sockets, &self.shared.hall.stop) else {
            // Then they are looked at in turn, with a rest in between.
            return self.take_turns(sockets);
        };
        let mut ready = Vec::with_capacity(READY);
        while !self.shared.hall.stop.requested() {
            ready.clear();
            // An interruption ends the wait early, which is allowed for.
            let _woken = epoll::wait(&set, spare_capacity(&mut ready), None);
            for event in &ready {
                if let Some(socket) = sockets.get(event.data.u64() as usize) {
                    self.take(socket, libc::MSG_DONTWAIT);
                }
            }
        }
    }

    fn take_turns(&mut self, sockets: &[&Bound]) {
        while !self.shared.hall.stop.requested() {
            for socket in sockets {
                while self.take(socket, libc::MSG_DONTWAIT) && !self.shared.hall.stop.requested() {}
            }
            pace::sleep_until(Monotonic::now().after(Nanos::millis(1)));
        }
    }

    /// Handles the messages that arrived before the end, but no more than [`LAST`].
    fn rest(&mut self, socket: &Bound) {
        for _ in 0..LAST {
            if !self.one(socket, libc::MSG_DONTWAIT) {
                break;
            }
        }
    }

    /// Takes one datagram, and those that wait behind it where that has been worth a look; whether there was one.
    #[inline]
    fn take(&mut self, socket: &Bound, flags: libc::c_int) -> bool {
        self.courtesy.turn();
        let taken = self.one(socket, flags);
        if taken && self.backlog.is_worth_a_look() {
            let found = self.behind(socket);
            self.backlog.saw(found);
        }
        taken
    }

    /// Takes what waits already, one turn's at most; whether there was anything.
    fn behind(&mut self, socket: &Bound) -> bool {
        if socket.kind == Kind::Group {
            // The answers go elsewhere than to the senders.
            return (0..TURN).take_while(|_| self.one(socket, libc::MSG_DONTWAIT)).count() > 0;
        }
        let mut found = false;
        for _ in 0..TURN {
            let some = self.several(socket);
            found |= some > 0;
            // Fewer than fit: none is left.
            if some < envelopes::MOST {
                break;
            }
        }
        found
    }

    /// Takes one datagram and answers what is in it; whether there was one.
    #[inline]
    fn one(&mut self, socket: &Bound, flags: libc::c_int) -> bool {
        let Self { shared, buffer, envelope, seen, .. } = self;
        let received = if socket.told {
            envelope.receive_told(socket.fd(), buffer, flags)
        } else {
            envelope.receive(socket.fd(), buffer, flags)
        };
        let length = match received {
            Ok(length) => length,
            Err(errno) => {
                nothing(errno);
                return false;
            }
        };
        let mut failed = 0;
        let whole = seen.handle(
            shared,
            socket,
            || envelope.from(),
            &mut buffer[..length],
            |bytes, _| {
                if let Err(errno) = answer(socket, envelope, bytes) {
                    failed += 1;
                    unsent(shared, envelope.from(), errno);
                }
            },
        );
        seen.count.unsent += failed;
        if let Err(what) = whole {
            malformed(shared, socket, envelope.from(), what);
        }
        true
    }

    /// Takes several that are there already, and answers what is in them; how many there were.
    fn several(&mut self, socket: &Bound) -> usize {
        let Self { shared, many, answers, seen, .. } = self;
        let received = many.receive(socket.fd(), socket.told);
        for to in 0..received {
            let (datagram, envelope) = many.one(to);
            let whole = seen.handle(
                shared,
                socket,
                || envelope.from(),
                datagram,
                |bytes, start| {
                    answers.push(Answer { to, octets: start..start + bytes.len() });
                },
            );
            if let Err(what) = whole {
                malformed(shared, socket, envelope.from(), what);
            }
        }
        many.answer(socket.fd(), answers, |to, errno| {
            seen.count.unsent += 1;
            unsent(shared, to, errno);
        });
        answers.clear();
        received
    }
}

/// Counts of one thread.
#[derive(Default)]
struct Seen {
    count: Count,
    askers: Askers,
    /// Counts that are read while the thread runs; absent: none are.
    meter: Option<Arc<Meter>>,
}

impl Seen {
    /// Handles all messages of a datagram of `from`. `answer` is given each that goes back, made its own answer, and where
    /// it begins.
    #[inline]
    fn handle(
        &mut self,
        shared: &Shared,
        socket: &Bound,
        from: impl Fn() -> Option<SocketAddr>,
        datagram: &mut [u8],
        mut answer: impl FnMut(&[u8], usize),
    ) -> Result<(), Malformed> {
        let Self { count, askers, meter } = self;
        let (mut start, before, length) = (0, count.messages, datagram.len() as u64);
        let mut whole = Ok(());
        for item in shared.settings.rules.datagram(datagram) {
            let handled = match item {
                Ok(handled) => handled,
                Err(what) => {
                    count.malformed += 1;
                    whole = Err(what);
                    if let Some(meter) = meter {
                        meter.malformed(datagram.len() as u64);
                    }
                    break;
                }
            };
            match handled.decision {
                Decision::Ignore => {
                    if handled.header.flags == count::ASKED
                        && may_be_told(shared, socket)
                        && from().is_some_and(|from| askers.answer(from, handled.bytes))
                    {
                        answer(handled.bytes, start);
                    }
                }
                Decision::Count => count.messages += 1,
                Decision::Answer => {
                    count.messages += 1;
                    answer(handled.bytes, start);
                    if let Some(meter) = meter {
                        meter.answered(handled.bytes.len() as u64);
                    }
                }
            }
            start += handled.bytes.len();
            if let Some(watch) = &shared.tally.watch {
                shared.tally.see(watch, from(), &handled.header);
            }
        }
        let messages = count.messages - before;
        if let Some(meter) = meter {
            meter.received(length);
        }
        if !askers.is_empty()
            && let Some(from) = from()
        {
            askers.saw(from, messages);
        }
        if let Some(watch) = &shared.tally.watch {
            shared.tally.more(watch, messages);
        }
        whole
    }
}

/// Returns true where a sender may learn the number of its messages that came: not where nothing is answered, nor by a
/// group.
#[cold]
fn may_be_told(shared: &Shared, socket: &Bound) -> bool {
    shared.settings.rules.answers && socket.kind == Kind::Udp
}

/// Guess, from the latest looks, whether others wait behind a datagram: a client that waits for each answer is spared a
/// call in vain for each.
#[derive(Debug, Default)]
struct Backlog {
    skip: u32,
    patience: u32,
}

impl Backlog {
    #[inline]
    fn is_worth_a_look(&mut self) -> bool {
        let worth = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        worth
    }

    fn saw(&mut self, found: bool) {
        self.patience = if found { 0 } else { (2 * self.patience + 1).min(PATIENCE) };
        self.skip = self.patience;
    }
}

#[inline]
fn answer(socket: &Bound, envelope: &Envelope, bytes: &[u8]) -> Result<(), Errno> {
    if socket.kind == Kind::Group {
        return answer_group(socket, envelope, bytes);
    }
    envelope.answer(socket.fd(), bytes)
}

/// To the group, where all its members hear it, at the port that the request came from.
fn answer_group(socket: &Bound, envelope: &Envelope, bytes: &[u8]) -> Result<(), Errno> {
    let mut to: SocketAddr = socket.address();
    to.set_port(envelope.from().map_or(0, |from| from.port()));
    sendto(socket.fd(), bytes, SendFlags::NOSIGNAL, &to).map(drop)
}

#[cold]
fn malformed(shared: &Shared, socket: &Bound, from: Option<SocketAddr>, what: Malformed) {
    shared.tally.complain(|| Event::Malformed { at: socket.address(), tcp: false, from, what });
}

#[cold]
fn unsent(shared: &Shared, to: Option<SocketAddr>, errno: Errno) {
    shared.tally.complain(|| Event::Unsent { to, cause: errno.into() });
}

/// Nothing is there; or no memory, mostly, which is waited out instead of asking again and again.
fn nothing(errno: Errno) {
    if !matches!(errno, Errno::AGAIN | Errno::INTR) {
        pace::sleep_until(Monotonic::now().after(serve::SHORTAGE));
    }
}

/// The sockets, and behind them the wish to stop.
fn interest(sockets: &[&Bound], stop: &Stop) -> Result<rustix::fd::OwnedFd, EndpointError> {
    let fail = |cause: Errno| EndpointError::new(Step::OpenSocket("epoll"), "this host", cause);
    let set = epoll::create(CreateFlags::CLOEXEC).map_err(fail)?;
    for (index, socket) in sockets.iter().enumerate() {
        epoll::add(&set, socket.fd(), EventData::new_u64(index as u64), EventFlags::IN).map_err(fail)?;
    }
    let event = stop.event().map_err(|cause| EndpointError::new(Step::OpenSocket("event"), "this host", cause))?;
    epoll::add(&set, event, EventData::new_u64(sockets.len() as u64), EventFlags::IN).map_err(fail)?;
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_finds_nothing_looks_less_often_and_who_finds_something_at_once() {
        let mut backlog = Backlog::default();
        let mut looks = Vec::new();
        for at in 0..200 {
            if backlog.is_worth_a_look() {
                looks.push(at);
                backlog.saw(false);
            }
        }
        assert_eq!(looks, [0, 2, 6, 14, 30, 62, 126, 190]);
        backlog.saw(true);
        assert!(backlog.is_worth_a_look() && backlog.is_worth_a_look());
    }
}
