//! Number of datagrams that arrived, where the server is one of ours and reports it.

use std::os::fd::AsFd;

use measure::unit::Nanos;
use protocol::sockperf::count::{self, Told};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::Socket;

use crate::clock::Monotonic;
use crate::link::clockwork::poll_one;
use crate::stop::Stop;

/// Longest wait for an answer before the question is sent again.
const PATIENCE: Nanos = Nanos::millis(100);
/// Times that a server is asked for its count: the cost of a test with any other server.
const FIRST: u32 = 2;
/// So often it is asked in the end: one whose buffer was full has to come to it.
const LAST: u32 = 10;
/// No message of a test has a number that high: an answer that comes too late is taken for none of its replies.
const HIGH: u64 = 1 << 63;

/// Sockets whose server counts.
#[derive(Debug)]
pub struct Arrivals {
    /// Beside the engine's, and what their server had counted before.
    sockets: Vec<(Socket, Told)>,
}

impl Arrivals {
    /// Asks the servers of `sockets` to count; `None` where one of them does not answer.
    pub fn begin(sockets: &[Socket], stop: &Stop) -> Option<Self> {
        let mut counted = Vec::with_capacity(sockets.len());
        for socket in sockets {
            let beside = socket.try_clone().ok()?;
            let before = ask(&beside, FIRST, || stop.requested())?;
            counted.push((beside, before));
        }
        Some(Self { sockets: counted })
    }

    /// Returns the messages that have arrived since; `None` where a server does not report them, or has begun to count
    /// anew. A test that was interrupted does not wait for a server that is behind.
    pub fn end(self, stop: &Stop) -> Option<u64> {
        let times = if stop.requested() { FIRST } else { LAST };
        let each = self.sockets.iter().map(|(socket, before)| {
            let told = ask(socket, times, || false).filter(|told| told.since == before.since)?;
            told.arrived.checked_sub(before.arrived)
        });
        each.sum()
    }
}

/// Asks up to `times`, unless the test is `over` before.
fn ask(socket: &Socket, times: u32, over: impl Fn() -> bool) -> Option<Told> {
    let first = Monotonic::now().0 | HIGH;
    for number in (first..).take(times as usize) {
        // A question that is refused or does not fit is sent again.
        let _asked = send(socket, &count::question(number), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        let until = Monotonic::now().after(PATIENCE);
        while Monotonic::now() < until && !over() {
            match next(socket) {
                // Any of these questions left behind all messages, so that each answer counts them all.
                Ok(Some(told)) if (first..=number).contains(&told.number) => return Some(told),
                Ok(_) | Err(Errno::INTR) => {}
                // Nothing is there, or an error of what was sent before, which is no answer either.
                Err(_) => poll_one(socket.as_fd(), false, until),
            }
        }
    }
    None
}

/// Reads the next message; `None`: it is no answer.
fn next(socket: &Socket) -> Result<Option<Told>, Errno> {
    let mut message = [0; count::LENGTH + 1];
    let (length, _) = recv(socket, &mut message, RecvFlags::DONTWAIT)?;
    Ok(count::told(&message[..length]))
}
