//! Connections of an application's protocol: how one is made and opened for requests, made anew, and ended in order.

use std::net::Shutdown;
use std::os::fd::AsFd;

use measure::event::Details;
use measure::unit::{Instant, Nanos};
use protocol::application::Speech;
use protocol::link::Fault;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use socket2::Socket;

use super::phases::Parts;
use super::secured::Hello;
use super::{Door, Framed, MOST_DOUBLINGS, MOST_FRUITLESS, PATIENCE, PAUSE, Trouble};
use crate::clock::Monotonic;
use crate::error::{Cause, EndpointError, Step};
use crate::link::stamping::Stamping;
use crate::socket;

impl<S: Speech> Framed<S> {
    /// Goes through all that comes before requests on a connection that was just made; true where the protocol has words for it.
    pub(super) fn admit(&mut self) -> Result<bool, EndpointError> {
        (self.secured, self.handshake, self.starved) = (None, None, true);
        if self.door.stamps {
            self.stamping = Stamping::prepare(self.socket.as_fd());
        }
        self.speech.begin();
        if !self.speech.asks_for_tls() {
            self.secure()?;
        }
        let opening = self.speech.opening();
        let says = !opening.is_empty() || !self.speech.is_open();
        self.say(&opening).map_err(|trouble| self.told(trouble))?;
        let heard = self.within_patience(self.door.patience, |link| {
            if link.speech.is_open() {
                return Ok(Some(says));
            }
            link.look(RecvFlags::empty())?;
            link.flush_now().map(|_| None)
        });
        heard.map_err(|error| match error.cause {
            Cause::Silence(patience) if opening.is_empty() => {
                EndpointError { cause: Cause::Ungreeted(patience), ..error }
            }
            _ => error,
        })
    }

    /// Has TLS begin, where the door wants it.
    pub(super) fn secure(&mut self) -> Result<(), EndpointError> {
        let Some(hello) = self.hello.take() else { return Ok(()) };
        let begun = Monotonic::now();
        let secured = hello.secure(&self.socket, &self.door.stop)?;
        self.tally.certified(secured.facts().until);
        self.secured = Some(secured);
        let secured = Monotonic::now();
        (self.handshake, self.details.secured) = (secured.since(begun), Some(secured));
        Ok(())
    }

    /// Has TLS begin as the protocol has agreed: behind the last octets that go in clear, and before any that the server could have been
    /// made to say in its name.
    pub(super) fn secure_within(&mut self) -> Result<(), Trouble> {
        let answer = self.speech.answer().to_vec();
        self.say(&answer)?;
        if self.begin < self.end || !self.unsent.is_empty() {
            return Err(Trouble::Foreign("says more in clear where TLS was to begin"));
        }
        self.secure().map_err(Trouble::Unsecured)?;
        if self.secured.is_none() {
            return Err(Trouble::Foreign("begins TLS that nobody asked for"));
        }
        let first = self.speech.secured();
        self.say(&first)
    }

    /// The time of the protocol's own words before requests, of a connection that was made at `connected` and is open at `opened`.
    pub(super) fn greeting(&self, connected: Instant, opened: Instant) -> Option<Nanos> {
        let handshake = self.handshake.unwrap_or(Nanos::ZERO);
        opened.since(connected).map(|both| Nanos(both.0.saturating_sub(handshake.0)))
    }

    /// Goes on until something is there, for no longer than `patience`.
    pub(super) fn within_patience<T>(
        &mut self,
        patience: Nanos,
        mut go_on: impl FnMut(&mut Self) -> Result<Option<T>, Trouble>,
    ) -> Result<T, EndpointError> {
        let peer = self.door.peer;
        let give_up = Monotonic::now().after(patience);
        loop {
            match go_on(self) {
                Ok(Some(found)) => return Ok(found),
                Ok(None) if self.door.stop.requested() => {
                    return Err(EndpointError::new(Step::Ask, peer, Cause::Stopped));
                }
                Ok(None) if Monotonic::now() >= give_up => {
                    let began = self.begin < self.end || self.read > 0;
                    let cause = if began { Cause::Unfinished(patience) } else { Cause::Silence(patience) };
                    return Err(EndpointError::new(Step::Ask, peer, cause));
                }
                Ok(None) => {}
                Err(trouble) => return Err(self.told(trouble)),
            }
        }
    }

    /// Between requests with a connection each: records the parts of the latest, and ends its connection.
    #[cold]
    pub(super) fn part(&mut self) -> Result<(), Fault> {
        self.tell_parts();
        self.details = Details::default();
        self.hang_up();
        let _ended = self.socket.shutdown(Shutdown::Both);
        self.former = None;
        self.spend();
        self.lost.clear();
        self.fruitful = false;
        if !self.door.scheduled && Monotonic::now() < self.not_before {
            self.door.stop.wait(self.not_before);
        }
        let hello = hello(&self.door);
        self.hello = hello.map_err(|_| Fault::Refused(Errno::CONNRESET.raw_os_error()))?;
        Ok(())
    }

    /// Makes the connection of one request.
    #[cold]
    pub(super) fn call(&mut self) -> Result<(), EndpointError> {
        let begun = Monotonic::now();
        if begun < self.not_before {
            return Err(EndpointError::new(Step::Ask, self.door.peer, Errno::CONNREFUSED));
        }
        let former = std::mem::replace(&mut self.socket, connect(&self.door)?);
        // To close it here would count as this connection's time.
        self.former = Some(former);
        let connected = Monotonic::now();
        self.details.connected = Some(connected);
        self.spent = false;
        let greeted = self.admit()?;
        let asked = Monotonic::now();
        let parts = connected.since(begun).map(|connect| Parts {
            connect,
            tls: self.handshake,
            resumed: self.secured.as_ref().map(|secured| secured.facts().resumed),
            greeting: self.greeting(connected, asked).filter(|_| greeted),
            ..Parts::default()
        });
        self.parts = parts.map(|parts| (self.numbered.wrapping_sub(1), parts));
        (self.details.opened, self.details.first) = (Some(asked), None);
        Ok(())
    }

    /// Makes the connection anew, opens it, and asks on it what was left on the one before.
    #[cold]
    pub(super) fn renew(&mut self) -> Result<(), Fault> {
        match self.make_anew() {
            Ok(()) => self.hand_over_again(),
            Err(fault) => {
                self.lost.append(&mut self.again);
                Err(fault)
            }
        }
    }

    fn make_anew(&mut self) -> Result<(), Fault> {
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
        // Another descriptor may hold the socket until its facts are read, and a server that serves one connection at a time waits for the end of this.
        let _ended = self.socket.shutdown(Shutdown::Both);
        let again = hello(&self.door).and_then(|hello| {
            self.hello = hello;
            self.socket = connect(&self.door)?;
            (self.begin, self.end, self.read) = (0, 0, 0);
            self.admit()
        });
        if let Err(error) = again {
            self.fruitless += 1;
            self.wait_after(&error);
            return Err(refused);
        }
        (self.spent, self.fruitful, self.declined) = (false, false, 0);
        if self.records() {
            self.tally.renewed();
        }
        Ok(())
    }

    /// The next connection is made after a pause; where the server let us in no more, after a longer one each time: refused logins are counted by
    /// those who ban.
    #[cold]
    pub(super) fn wait_after(&mut self, error: &EndpointError) {
        let doublings = if matches!(error.cause, Cause::Peer(_)) { self.declined.min(MOST_DOUBLINGS) } else { 0 };
        self.declined += u32::from(matches!(error.cause, Cause::Peer(_)));
        self.not_before = Monotonic::now().after(Nanos(PAUSE.0 << doublings));
    }

    /// Records the parts of the latest request with its own connection, where it has its reply and is recorded.
    pub(super) fn tell_parts(&mut self) {
        let (Some((number, parts)), Some(book)) = (self.parts.take(), &self.door.anew) else { return };
        if self.fruitful && self.tally.records(number) {
            book.add(&parts);
        }
    }

    /// Tells the server that nothing more is asked, where the protocol or TLS has words for it and they go without waiting.
    pub(super) fn hang_up(&mut self) {
        if self.spent || !self.unsent.is_empty() {
            return;
        }
        let farewell = self.speech.farewell();
        if !farewell.is_empty() {
            drop(self.say(&farewell));
        }
        if let Some(secured) = self.secured.as_mut().filter(|_| self.unsent.is_empty()) {
            secured.close(&self.socket);
        }
    }
}

/// The first words of TLS, where `door` wants it.
pub(super) fn hello(door: &Door) -> Result<Option<Hello>, EndpointError> {
    door.tls.as_ref().map(|terms| Hello::new(terms, door.peer)).transpose()
}

/// A connected socket that blocks as `door` says.
pub(super) fn connect(door: &Door) -> Result<Socket, EndpointError> {
    let fail = |cause| EndpointError::new(Step::Reach, door.peer, cause);
    let socket = socket::tcp(door.peer, &door.options)?;
    socket::set_waiting(&socket, door.peer, door.waiting)?;
    if !socket::connect(&socket, door.peer, PATIENCE, &door.stop).map_err(fail)? {
        return Err(EndpointError::new(Step::Reach, door.peer, Cause::Stopped));
    }
    socket::set_glance(&socket).map_err(fail)?;
    Ok(socket)
}

/// The fate of a request whose connection was not made: lost where nothing came back, not sent where our own side had no port or descriptor left,
/// refused otherwise.
pub(in crate::link) fn unmade(error: &EndpointError) -> Result<(), Fault> {
    const OURS: [Errno; 4] = [Errno::ADDRNOTAVAIL, Errno::MFILE, Errno::NFILE, Errno::NOBUFS];
    match &error.cause {
        Cause::Silence(_) | Cause::Ungreeted(_) | Cause::Elsewhere(_) | Cause::Unfinished(_) | Cause::Stopped => Ok(()),
        Cause::System(error) if OURS.iter().any(|ours| error.raw_os_error() == Some(ours.raw_os_error())) => {
            Err(Fault::SendFailed(error.raw_os_error().unwrap_or_default()))
        }
        Cause::System(error) if error.kind() == std::io::ErrorKind::TimedOut => Ok(()),
        Cause::System(error) => Err(Fault::Refused(error.raw_os_error().unwrap_or(Errno::CONNRESET.raw_os_error()))),
        Cause::Peer(_) | Cause::Link(_) => Err(Fault::Refused(Errno::CONNRESET.raw_os_error())),
    }
}
