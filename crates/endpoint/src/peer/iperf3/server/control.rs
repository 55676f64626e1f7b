//! One control connection at the server: messages of `protocol`, in bounded time.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use measure::unit::{Instant, Nanos};
use protocol::iperf3::REST;
use protocol::iperf3::code::Code;
use protocol::iperf3::server::{Action, Reason, Server};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::{Socket, TcpKeepalive};

use super::Shared;
use crate::clock::Monotonic;

/// Longest time for which a client may read nothing; then it counts as gone.
const ANSWER: Nanos = Nanos::secs(20);

/// Cause of a test's early end.
#[derive(Debug)]
pub(super) enum Stopped {
    /// The client is gone, or spoke nonsense: nothing more is said to it.
    Gone(Code, String),
    /// We cannot go on, and the client receives the reason.
    Failed(Code, Option<i32>, String),
    /// The server stops.
    Stopping,
}

impl Stopped {
    /// We cannot go on for `code`, in its own words.
    pub fn of(code: Code) -> Self {
        Self::Failed(code, None, code.to_string())
    }
}

/// The connection.
pub(super) struct Control<'a> {
    connection: &'a Socket,
    shared: &'a Shared,
    /// The machine, whose calls say what is to be written.
    pub server: Server,
    heard: VecDeque<Action>,
}

impl<'a> Control<'a> {
    /// `connection`, whose cookie is here.
    pub fn new(connection: &'a Socket, shared: &'a Shared) -> Self {
        // Else each word would wait for the acknowledgement of the one before.
        let _best_effort = connection.set_tcp_nodelay(true);
        // A client whose host is gone says nothing, as one does whose test runs: the system asks after it.
        let probing = TcpKeepalive::new().with_time(Duration::from_secs(30)).with_interval(Duration::from_secs(10));
        let _best_effort = connection.set_tcp_keepalive(&probing.with_retries(4));
        Self { connection, shared, server: Server::default(), heard: VecDeque::new() }
    }

    /// Takes what has come, waiting until `until` at most for something.
    pub fn hear(&mut self, until: Instant) -> Result<(), Stopped> {
        self.hear_beside(&[], until)
    }

    /// The same; something at one of `others` ends the wait too.
    pub fn hear_beside(&mut self, others: &[BorrowedFd<'_>], until: Instant) -> Result<(), Stopped> {
        // Messages that came along with an earlier one, before the end of the connection is looked at.
        let kept = self.server.feed(&[]);
        self.take(kept)?;
        if self.heard.is_empty() || !others.is_empty() {
            let all: Vec<BorrowedFd<'_>> = [self.connection.as_fd()].iter().chain(others).copied().collect();
            self.shared.hall.stop.wait_or_inputs(&all, until);
        }
        let mut buffer = [0; 16 << 10];
        let actions = match recv(self.connection, &mut buffer[..], RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Err(Stopped::Gone(Code::CLOSED, Code::CLOSED.to_string())),
            Ok((count, _)) => self.server.feed(&buffer[..count]),
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Err(errno) => {
                return Err(Stopped::Gone(Code::CLOSED, format!("lost: {}", std::io::Error::from(errno))));
            }
        };
        self.take(actions)
    }

    fn take(&mut self, actions: Vec<Action>) -> Result<(), Stopped> {
        for action in actions {
            match action {
                Action::Answer(octets) => self.say(&octets)?,
                Action::Close(reason) => return Err(closed(&reason)),
                action => self.heard.push_back(action),
            }
        }
        Ok(())
    }

    /// The next thing that was heard.
    pub fn next(&mut self) -> Option<Action> {
        self.heard.pop_front()
    }

    /// Waits for the client's next message; each octet of it may take the whole of the limit.
    pub fn await_word(&mut self) -> Result<Action, Stopped> {
        let mut since = (Monotonic::now(), 0);
        loop {
            if let Some(action) = self.next() {
                return Ok(action);
            }
            if self.shared.hall.stop.requested() {
                return Err(Stopped::Stopping);
            }
            self.hear(since.0.after(REST))?;
            let (now, partial) = (Monotonic::now(), self.server.partial());
            if partial > since.1 {
                since = (now, partial);
            }
            if now >= since.0.after(REST) && self.heard.is_empty() {
                return Err(Stopped::Gone(Code::CLOSED, format!("it said nothing for {REST}")));
            }
        }
    }

    /// Writes `message`.
    pub fn say(&self, mut message: &[u8]) -> Result<(), Stopped> {
        let give_up = Monotonic::now().after(ANSWER);
        while !message.is_empty() {
            match send(self.connection, message, SendFlags::NOSIGNAL) {
                Ok(count) => message = &message[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if Monotonic::now() < give_up => {}
                Err(errno) => {
                    let why = format!("cannot be answered: {}", std::io::Error::from(errno));
                    return Err(Stopped::Gone(Code::CLOSED, why));
                }
            }
        }
        Ok(())
    }

    /// Says why the test came to no good end, where that is to be said, and what iperf3 has for it.
    pub fn conclude(&mut self, stopped: Stopped) -> (Code, String) {
        let (said, code, why) = match stopped {
            Stopped::Gone(code, why) => (Vec::new(), code, why),
            Stopped::Failed(code, errno, why) => (self.server.fail(code, errno.unwrap_or(0)), code, why),
            Stopped::Stopping => {
                let code = Code::SERVER_TERMINATED;
                (self.server.terminate(), code, code.to_string())
            }
        };
        // It may be gone.
        let _told = self.say(&said);
        let _closed = self.connection.shutdown(std::net::Shutdown::Write);
        self.drain();
        (code, why)
    }

    /// Takes what the client still says, for a moment: a connection closed with something unread is reset, and what was
    /// said last is lost with it.
    fn drain(&self) {
        let give_up = Monotonic::now().after(Nanos::millis(500));
        let mut rest = [0; 4_096];
        while Monotonic::now() < give_up {
            match recv(self.connection, &mut rest[..], RecvFlags::empty()) {
                Ok((1.., _)) | Err(Errno::AGAIN | Errno::INTR) => {}
                Ok((0, _)) | Err(_) => return,
            }
        }
    }
}

fn closed(reason: &Reason) -> Stopped {
    let code = match reason {
        Reason::Parameters(code) | Reason::Failed(code) => *code,
        Reason::Length { .. } => Code::PARAMETERS,
        Reason::Results(_) => Code::RESULTS,
        Reason::Streams => Code::STREAM_ID,
        Reason::Terminated => Code::CLIENT_TERMINATED,
        Reason::Unknown(_) | Reason::OutOfOrder(_) | Reason::Flood(_) => Code::MESSAGE,
    };
    Stopped::Gone(code, reason.to_string())
}
