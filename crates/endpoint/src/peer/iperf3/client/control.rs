//! Our end of a control connection to an iperf3 server: the messages of `protocol`, on a socket, in bounded time.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use measure::method::SocketOptions;
use measure::unit::{Instant, Nanos};
use protocol::iperf3::client::{Client, Event};
use protocol::iperf3::code::Code;
use protocol::iperf3::cookie::Cookie;
use protocol::iperf3::error::{Error, Step as ProtocolStep};
use protocol::iperf3::parameters::Parameters;
use protocol::iperf3::results::Results;
use protocol::native::error::Side as PeerSide;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::{Domain, Protocol, Socket, Type};

use super::{Failure, Setup, now};
use crate::error::hint::Hint;
use crate::error::{Cause, EndpointError, Side, Step};
use crate::link::clockwork::poll_one;
use crate::socket;
use crate::stop::{GLANCE, Stop};

/// Longest wait for each message of a server. A real one waits for its streams without a limit.
const ANSWER: Nanos = Nanos::secs(30);
/// Longest wait for the last message once the user requests the end.
const HASTE: Nanos = Nanos::secs(3);

/// Message of the server while data flowed.
#[derive(Debug)]
pub enum Heard {
    /// It ends the test by itself.
    Terminated,
    /// It cannot go on, or is gone.
    Failed(Failure),
}

/// A control connection that is open.
#[derive(Debug)]
pub struct Control {
    socket: Socket,
    client: Client,
    /// Address of the server.
    pub peer: SocketAddr,
    /// Messages that are not handled yet, oldest first.
    heard: Vec<Event>,
}

impl Control {
    /// Connects to the first of the servers that can be had, and says the cookie.
    pub fn open(setup: &Setup, cookie: &Cookie, stop: &Stop) -> Result<Self, Failure> {
        let mut failed = None;
        for &peer in &setup.servers {
            match connect(peer, setup, stop) {
                Ok(socket) => {
                    let control = Self { socket, client: Client::default(), peer, heard: Vec::new() };
                    control.say(&cookie.octets(), Step::Connect).map_err(|error| Failure::new(Code(105), error))?;
                    return Ok(control);
                }
                Err(error) if matches!(error.cause, Cause::Stopped) => return Err(Failure::new(Code::CONNECT, error)),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let none = || io::Error::new(io::ErrorKind::NotFound, "there is no address to connect to");
        let error = failed.unwrap_or_else(|| EndpointError::new(Step::Connect, "iperf3 server", none()));
        Err(Failure::new(Code::CONNECT, error))
    }

    /// The socket itself.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Our end.
    pub fn local(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok().and_then(|address| address.as_socket())
    }

    /// Tells the server what is asked of it; it waits for the streams when this returns.
    pub fn ask(&mut self, parameters: &Parameters, stop: &Stop) -> Result<(), Failure> {
        self.await_event(Step::Agree, stop, |event| matches!(event, Event::SendParameters))?;
        let said = self.client.parameters(parameters);
        self.say(&said, Step::Agree).map_err(|error| Failure::new(Code(113), error))?;
        self.await_event(Step::Agree, stop, |event| matches!(event, Event::OpenStreams)).map(drop)
    }

    /// Waits until the server lets the test begin.
    pub fn await_start(&mut self, stop: &Stop) -> Result<(), Failure> {
        self.await_event(Step::ConnectData, stop, |event| matches!(event, Event::Go)).map(drop)
    }

    /// Returns the server's message, after waiting until `until` at most: while data flow, its only message is that it
    /// gives up.
    pub fn watch(&mut self, until: Instant) -> Option<Heard> {
        match self.hear(Step::Measure, until) {
            Err(failure) => Some(Heard::Failed(failure)),
            Ok(()) => self.heard.contains(&Event::ServerTerminated).then_some(Heard::Terminated),
        }
    }

    /// Returns true where the server has said already that it has all streams.
    pub fn has_streams(&self) -> bool {
        self.heard.contains(&Event::MakeReady)
    }

    /// Says that the test is over.
    pub fn end(&mut self) -> Result<(), Failure> {
        let said = self.client.end();
        self.say(&said, Step::FetchResults).map_err(|error| Failure::new(Code(111), error))
    }

    /// Tells our results, and returns the server's.
    pub fn exchange(&mut self, ours: &Results, stop: &Stop) -> Result<Results, Failure> {
        self.await_event(Step::FetchResults, stop, |event| matches!(event, Event::SendResults))?;
        let said = self.client.results(ours);
        self.say(&said, Step::FetchResults).map_err(|error| Failure::new(Code(116), error))?;
        let told = self.await_event(Step::FetchResults, stop, |event| matches!(event, Event::Results(_)))?;
        self.await_event(Step::FetchResults, stop, |event| matches!(event, Event::Complete))?;
        match told {
            Event::Results(results) => Ok(*results),
            other => Err(Failure::new(
                Code::RESULTS,
                EndpointError::new(Step::FetchResults, self.peer, Cause::Peer(format!("{other:?}"))),
            )),
        }
    }

    /// Says that we end by ourselves.
    pub fn terminate(&mut self) {
        let said = self.client.terminate();
        // It may be gone.
        let _said = self.say(&said, Step::Measure);
    }

    /// The last word, where one is due, and the end of the connection.
    pub fn close(&mut self) {
        let said = self.client.done();
        let _said = self.say(&said, Step::FetchResults);
        let _closed = self.socket.shutdown(std::net::Shutdown::Write);
    }

    /// Waits for one event in its order; whatever comes in its place is an error.
    fn await_event(&mut self, step: Step, stop: &Stop, wanted: fn(&Event) -> bool) -> Result<Event, Failure> {
        let since = now();
        let mut wished_at = None;
        loop {
            while !self.heard.is_empty() {
                let event = self.heard.remove(0);
                match event {
                    event if wanted(&event) => return Ok(event),
                    Event::MakeReady => {}
                    Event::ServerTerminated => {
                        let cause = Cause::Peer(Code::SERVER_TERMINATED.to_string());
                        let error = EndpointError::new(step.clone(), self.peer, cause);
                        return Err(Failure::new(Code::SERVER_TERMINATED, error));
                    }
                    other => {
                        let cause = Cause::Peer(format!("{other:?} came too early"));
                        return Err(Failure::new(Code::MESSAGE, EndpointError::new(step.clone(), self.peer, cause)));
                    }
                }
            }
            let now = now();
            if stop.requested() {
                let wished = *wished_at.get_or_insert(now);
                // Results are worth a moment; before that there is nothing to wait for.
                if step != Step::FetchResults || now >= wished.after(HASTE) {
                    self.terminate();
                    return Err(Failure::new(
                        Code::CLIENT_TERMINATED,
                        EndpointError::new(step, self.peer, Cause::Stopped),
                    ));
                }
            }
            if now >= since.after(ANSWER) {
                let error = self.client.silent(ANSWER).err();
                let error = error.unwrap_or(Error::Silent { step: ProtocolStep::Done, waited: ANSWER });
                return Err(self.fail(step, &error));
            }
            self.hear(step.clone(), now.after(GLANCE))?;
        }
    }

    /// Takes what the server said, waiting until `until` at most for something.
    fn hear(&mut self, step: Step, until: Instant) -> Result<(), Failure> {
        // Messages that came along with an earlier one, before the end of the connection is looked at.
        let kept = self.client.feed(&[]).map_err(|error| self.fail(step.clone(), &error))?;
        if !kept.is_empty() {
            self.heard.extend(kept);
            return Ok(());
        }
        poll_one(self.socket.as_fd(), false, until);
        let mut buffer = [0; 16 << 10];
        let heard = match recv(&self.socket, &mut buffer[..], RecvFlags::DONTWAIT) {
            Ok((0, _)) | Err(Errno::CONNRESET | Errno::PIPE) => self.client.ended().map(|()| Vec::new()),
            Ok((count, _)) => self.client.feed(&buffer[..count]),
            Err(Errno::AGAIN | Errno::INTR) => self.client.feed(&[]),
            Err(cause) => return Err(Failure::new(Code(108), EndpointError::new(step, self.peer, cause))),
        };
        match heard {
            Ok(events) => {
                self.heard.extend(events);
                Ok(())
            }
            Err(error) => Err(self.fail(step, &error)),
        }
    }

    fn say(&self, mut message: &[u8], step: Step) -> Result<(), EndpointError> {
        let give_up = now().after(ANSWER);
        while !message.is_empty() {
            match send(&self.socket, message, SendFlags::NOSIGNAL) {
                Ok(count) => message = &message[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if now() < give_up => {}
                // The reason for the closed connection may be in earlier messages: the next reader will find it.
                Err(Errno::PIPE | Errno::CONNRESET) => return Ok(()),
                Err(cause) => return Err(EndpointError::new(step, self.peer, cause)),
            }
        }
        Ok(())
    }

    /// A session's error as one towards this peer.
    fn fail(&self, step: Step, error: &Error) -> Failure {
        let side = match error.side() {
            PeerSide::Ours => Side::Ours,
            PeerSide::Theirs => Side::Theirs,
            PeerSide::Path => Side::Path,
        };
        let failed = EndpointError::new(step, self.peer, Cause::Peer(error.to_string())).on(side);
        let failed = failed.with_hint(Hint::Iperf3(error.clone()));
        let errno = if let Error::Server { errno, .. } = error { *errno } else { None };
        Failure { errno, ..Failure::new(error.code(), failed) }
    }
}

fn connect(peer: SocketAddr, setup: &Setup, stop: &Stop) -> Result<Socket, EndpointError> {
    let fail = |cause: io::Error| EndpointError::new(Step::Connect, peer, cause);
    let socket = Socket::new(Domain::for_address(peer), Type::STREAM, Some(Protocol::TCP)).map_err(fail)?;
    let way = SocketOptions { bind: setup.local, interface: setup.interface.clone(), ..SocketOptions::default() };
    socket::prepare(&socket, peer, &way)?;
    match socket::connect(&socket, peer, setup.connect_timeout, stop) {
        Ok(true) => {}
        Ok(false) => return Err(EndpointError::new(Step::Connect, peer, Cause::Stopped)),
        Err(cause) if cause.kind() == io::ErrorKind::ConnectionRefused => {
            return Err(fail(cause).with_hint(Hint::NoIperf3Server));
        }
        Err(cause) => return Err(fail(cause)),
    }
    socket.set_tcp_nodelay(true).map_err(fail)?;
    socket::set_glance(&socket).map_err(fail)?;
    Ok(socket)
}
