//! Our end of a control connection to a netserver: the messages of `protocol`, on a socket, in bounded time.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use measure::method::SocketOptions;
use measure::unit::{Instant, Nanos};
use protocol::native::error::Side as PeerSide;
use protocol::netperf::MESSAGE;
use protocol::netperf::answer::{Calibration, Ready, Results};
use protocol::netperf::ask::Ask;
use protocol::netperf::client::{ANSWER, Answer, CALIBRATION, CLOSE, Client};
use protocol::netperf::error::{Error, Step as ProtocolStep, UNKNOWN_REQUEST};
use protocol::netperf::passphrase::Passphrase;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::clock::Monotonic;
use crate::error::hint::Hint;
use crate::error::{Cause, EndpointError, Side, Step, plain};
use crate::link::clockwork::poll_one;
use crate::socket;
use crate::stop::{GLANCE, Stop};

/// Longest time to connect to one address: a lost SYN is sent again after one, three and seven seconds.
const CONNECT: Nanos = Nanos::secs(10);
/// Longest wait for results once the user requests the end: a server whose data connection ended sends them at once,
/// but for a connection per transaction, where it does not notice.
const HASTE: Nanos = Nanos::secs(3);

/// A control connection that is open.
#[derive(Debug)]
pub struct Control {
    socket: Socket,
    client: Client,
    /// Address of the server.
    pub peer: SocketAddr,
    /// Answers that came before they were asked for: while the data flowed.
    early: VecDeque<Answer>,
}

impl Control {
    /// Connects to the first of `servers` that can be had, from `local` and by `interface` where they are given.
    pub fn open(
        servers: &[SocketAddr],
        local: Option<SocketAddr>,
        interface: Option<&str>,
        passphrase: Option<Passphrase>,
        stop: &Stop,
    ) -> Result<Self, EndpointError> {
        let mut failed = None;
        for &peer in servers {
            match connect(peer, local, interface, stop) {
                Ok(socket) => {
                    return Ok(Self { socket, client: Client::new(passphrase), peer, early: VecDeque::new() });
                }
                Err(error) if matches!(error.cause, Cause::Stopped) => return Err(error),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let none = || io::Error::new(io::ErrorKind::NotFound, "there is no address to connect to");
        Err(failed.unwrap_or_else(|| EndpointError::new(Step::Connect, "netserver", none())))
    }

    /// Asks for a test; the server is ready when this returns.
    pub fn ask(&mut self, ask: &Ask, stop: &Stop) -> Result<Ready, EndpointError> {
        let said = self.client.ask(ask).map_err(|error| self.fail(Step::Agree, &error))?;
        self.say(&said, Step::Agree)?;
        match self.wait(Step::Agree, Monotonic::now(), ANSWER, stop)? {
            Answer::Ready(ready) => Ok(ready),
            other => Err(self.astray(Step::Agree, &other)),
        }
    }

    /// Asks how the server's CPUs count, of which it binds itself to `cpu` where one is given.
    pub fn calibrate(&mut self, cpu: Option<u32>, stop: &Stop) -> Result<Calibration, EndpointError> {
        let said = self.client.calibrate(cpu).map_err(|error| self.fail(Step::Calibrate, &error))?;
        self.say(&said, Step::Calibrate)?;
        match self.wait(Step::Calibrate, Monotonic::now(), CALIBRATION, stop)? {
            Answer::Cpu(calibration) => Ok(calibration),
            other => Err(self.astray(Step::Calibrate, &other)),
        }
    }

    /// Waits until `patience` after `since` for the results of the test that was asked for, or not much longer than `stop`.
    pub fn results(&mut self, since: Instant, patience: Nanos, stop: &Stop) -> Result<Results, EndpointError> {
        match self.wait(Step::FetchResults, since, patience, stop)? {
            Answer::Results(results) => Ok(results),
            other => Err(self.astray(Step::FetchResults, &other)),
        }
    }

    /// Takes the server's messages during the data; an error where it gave up or is gone.
    pub fn look(&mut self) -> Result<(), EndpointError> {
        self.take(Step::Measure)
    }

    /// Returns the error of a wait of this length in vain. Nothing is awaited on this connection any more.
    pub fn given_up(&mut self, step: Step, waited: Nanos) -> EndpointError {
        match self.client.silent(waited) {
            Err(error) => self.fail(step, &error),
            Ok(()) => EndpointError::new(step, self.peer, Cause::Silence(waited)),
        }
    }

    /// The address of our end.
    pub fn local(&self) -> Option<IpAddr> {
        self.local_end().map(|end| end.ip())
    }

    /// Our end.
    pub fn local_end(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok().and_then(|address| address.as_socket())
    }

    /// Waits until `give_up`, or until the server sends something or is gone. Returns true where it did.
    pub fn hears(&mut self, give_up: Instant, stop: &Stop) -> bool {
        while !self.answered() && self.look().is_ok() {
            let now = Monotonic::now();
            if now >= give_up || stop.requested() {
                return self.answered();
            }
            poll_one(self.socket.as_fd(), false, give_up.min(now.after(GLANCE)));
        }
        true
    }

    /// Returns true where an answer has arrived already.
    pub fn answered(&self) -> bool {
        !self.early.is_empty()
    }

    /// Ends the connection: our half first, then the server's is waited for, unless it still owes an answer.
    pub fn close(mut self, stop: &Stop) {
        if self.client.step() != ProtocolStep::Idle || self.client.feed(&[]).is_err() {
            return;
        }
        // A server that is gone has closed it already.
        let _gone = shutdown(&self.socket, Shutdown::Write);
        let give_up = Monotonic::now().after(CLOSE);
        while Monotonic::now() < give_up && !stop.requested() {
            poll_one(self.socket.as_fd(), false, Monotonic::now().after(GLANCE));
            match recv(&self.socket, &mut [0; MESSAGE][..], RecvFlags::DONTWAIT) {
                Ok((1.., _)) | Err(Errno::AGAIN | Errno::INTR) => {}
                Ok((0, _)) | Err(_) => return,
            }
        }
    }

    fn say(&self, mut message: &[u8], step: Step) -> Result<(), EndpointError> {
        let give_up = Monotonic::now().after(ANSWER);
        while !message.is_empty() {
            match send(&self.socket, message, SendFlags::NOSIGNAL) {
                Ok(count) => message = &message[count..],
                Err(Errno::AGAIN | Errno::INTR) if Monotonic::now() < give_up => {}
                // Messages that the server sent before it closed are the reason, where there are any.
                Err(Errno::PIPE | Errno::CONNRESET) => return Ok(()),
                Err(cause) => return Err(EndpointError::new(step, self.peer, cause)),
            }
        }
        Ok(())
    }

    fn wait(&mut self, step: Step, since: Instant, mut patience: Nanos, stop: &Stop) -> Result<Answer, EndpointError> {
        loop {
            if self.early.is_empty() {
                self.take(step.clone())?;
            }
            if let Some(answer) = self.early.pop_front() {
                return Ok(answer);
            }
            // An error that came before is final.
            self.client.feed(&[]).map_err(|error| self.fail(step.clone(), &error))?;
            if stop.requested() {
                if step != Step::FetchResults {
                    return Err(EndpointError::new(step, self.peer, Cause::Stopped));
                }
                patience = patience.min(HASTE);
            }
            let now = Monotonic::now();
            if now >= since.after(patience) {
                return Err(self.given_up(step, patience));
            }
            poll_one(self.socket.as_fd(), false, since.after(patience).min(now.after(GLANCE)));
        }
    }

    /// Takes what is there, without waiting.
    fn take(&mut self, step: Step) -> Result<(), EndpointError> {
        let mut buffer = [0; 4 * MESSAGE];
        let fed = match recv(&self.socket, &mut buffer[..], RecvFlags::DONTWAIT) {
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Ok((0, _)) | Err(Errno::CONNRESET | Errno::PIPE) => return Err(self.ended(step)),
            Ok((count, _)) => self.client.feed(&buffer[..count]),
            Err(cause) => return Err(EndpointError::new(step, self.peer, cause)),
        };
        self.early.extend(fed.map_err(|error| self.fail(step, &error))?);
        Ok(())
    }

    fn ended(&mut self, step: Step) -> EndpointError {
        match self.client.end() {
            Err(error) => self.fail(step, &error),
            Ok(()) => EndpointError::new(step, self.peer, io::Error::from(io::ErrorKind::UnexpectedEof)),
        }
    }

    fn astray(&self, step: Step, answer: &Answer) -> EndpointError {
        let what = match answer {
            Answer::Ready(_) => "is ready for a test",
            Answer::Results(_) => "sent results",
            Answer::Cpu(_) => "told of its CPUs",
        };
        EndpointError::new(step, self.peer, Cause::Peer(format!("the server {what}, which was not asked for")))
    }

    fn fail(&self, step: Step, error: &Error) -> EndpointError {
        failure(step, self.peer, error)
    }
}

/// To wait on, beside the data.
impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// An error of the protocol as one towards this peer.
fn failure(step: Step, peer: SocketAddr, error: &Error) -> EndpointError {
    let side = match error.side() {
        PeerSide::Ours => Side::Ours,
        PeerSide::Theirs => Side::Theirs,
        PeerSide::Path => Side::Path,
    };
    let cause = match error {
        Error::Refused { code, .. } if *code != UNKNOWN_REQUEST => {
            format!("the server can't do this: {} (its error {code})", plain(&io::Error::from_raw_os_error(*code)))
        }
        error => error.to_string(),
    };
    EndpointError::new(step, peer, Cause::Peer(cause)).on(side).with_hint(Hint::Netperf(error.clone()))
}

fn connect(
    peer: SocketAddr,
    local: Option<SocketAddr>,
    interface: Option<&str>,
    stop: &Stop,
) -> Result<Socket, EndpointError> {
    let fail = |cause: io::Error| {
        let refused = cause.kind() == io::ErrorKind::ConnectionRefused;
        let error = EndpointError::new(Step::Connect, peer, cause);
        if refused { error.with_hint(Hint::NoNetserver) } else { error }
    };
    let socket = Socket::new(Domain::for_address(peer), Type::STREAM, Some(Protocol::TCP)).map_err(fail)?;
    let way = SocketOptions { interface: interface.map(str::to_owned), ..SocketOptions::default() };
    socket::prepare(&socket, peer, &way)?;
    if let Some(local) = local {
        socket.set_reuse_address(true).map_err(fail)?;
        socket.bind(&SockAddr::from(local)).map_err(|cause| {
            EndpointError::new(Step::Set("local address"), peer, cause).with_hint(Hint::LocalAddress { local })
        })?;
    }
    match socket::connect(&socket, peer, CONNECT, stop) {
        Ok(true) => {}
        Ok(false) => return Err(EndpointError::new(Step::Connect, peer, Cause::Stopped)),
        Err(cause) => return Err(fail(cause)),
    }
    socket.set_tcp_nodelay(true).map_err(fail)?;
    socket::set_glance(&socket).map_err(fail)?;
    Ok(socket)
}
