//! Lines of a run that comes to nothing, in the words that the original's errors have. The exit status is the original's
//! too, but never 0.

use std::net::SocketAddr;
use std::path::Path;

use protocol::sockperf::playback;

use crate::persona::answer::Answer;
use crate::persona::sockperf::options::Transport;
use crate::persona::sockperf::output::start::word;
use crate::persona::sockperf::statistics::{Finding, Statistics};

/// Status where the original has 0: arguments, a bind or connect that failed, no answer.
pub const NOTHING: u8 = 1;
/// An answer was not its request, or a playback file is not one.
pub const INCORRECT: u8 = 2;
/// A file lacks.
pub const NO_FILE: u8 = 4;
/// The other end broke the protocol.
pub const PROTOCOL: u8 = 6;
/// A socket failed.
pub const SOCKET: u8 = 7;
/// `-n` was not reached in time.
pub const TIMED_OUT: u8 = 8;

/// An error of the system, or none of it (`errno` 0, "Success"). `said`: what the system says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno<'a> {
    /// Its number.
    pub number: i32,
    /// Its name for people.
    pub said: &'a str,
}

impl Errno<'_> {
    /// None: what failed was no call of the system.
    pub const NONE: Errno<'static> = Errno { number: 0, said: "Success" };
}

/// An error line of the program.
pub fn error(text: &str, errno: Errno<'_>) -> String {
    format!("sockperf: ERROR: {text} (errno={} {})\n", errno.number, errno.said)
}

/// An error line of a socket.
pub fn socket_error(peer: SocketAddr, transport: Transport, text: &str, errno: Errno<'_>) -> String {
    format!("ADDR = {peer} # {} {}", word(transport), error(text, errno))
}

/// A server cannot listen at `address`.
pub fn bind(fd: i32, address: SocketAddr, errno: Errno<'_>) -> Answer {
    let text = format!("[fd={fd}] Can`t bind socket, IP to bind: {address}\n");
    Answer::said(error(&text, errno), NOTHING)
}

/// A TCP connection is refused.
pub fn connect(errno: Errno<'_>) -> Answer {
    Answer::said(error("Can`t connect socket", errno), NOTHING)
}

/// The other end closed its TCP connection in the middle.
pub fn closed(peer: SocketAddr) -> Answer {
    let text = "A connection was forcibly closed by a peer";
    Answer::said(socket_error(peer, Transport::Tcp, text, Errno::NONE), SOCKET)
}

/// `--data-integrity`: an answer is not its request.
pub fn corrupt() -> Answer {
    Answer::said(error("data integrity test failed", Errno::NONE), INCORRECT)
}

/// An answer carries a number that was not sent.
pub fn unknown_number() -> Answer {
    Answer::said(error("Sequence Number received was higher than expected", Errno::NONE), PROTOCOL)
}

/// An answer is longer than any request.
pub fn too_long() -> Answer {
    Answer::said(error("Message received was larger than expected.", Errno::NONE), PROTOCOL)
}

/// A feed or playback file cannot be read.
pub fn no_file(path: &Path, errno: Errno<'_>) -> Answer {
    let text = format!("sockperf: Can't open file: {}\n\n", path.display());
    Answer::said(text + &error("program exits because of an error.", errno), NO_FILE)
}

/// A playback file has a line that is none. `what` is ours, and says more.
pub fn unplayable(path: &Path, line: usize, fault: playback::Fault, what: &str) -> Answer {
    let (text, status) = match fault {
        playback::Fault::OutOfOrder => (format!("out-of-order timestamp at line #{line}\n"), INCORRECT),
        playback::Fault::Illegal => (format!("illegal time or size at line #{line}\n"), INCORRECT),
        playback::Fault::Unreadable => (format!("can't read time & size, at line #{line}\n"), NOTHING),
    };
    Answer { stderr: format!("sockperf: {}: {what}\n", path.display()), ..Answer::said(text, status) }
}

/// A full log cannot be written. `reason`: what the system says.
pub fn no_log(path: &Path, reason: &str) -> Answer {
    let path = path.display();
    Answer::said(format!("sockperf: Invalid 24 val. Can't open file {path} for writing: {reason}\n"), NOTHING)
}

/// `-n` was not reached in time.
pub fn timed_out() -> Answer {
    let text = "Test ends uncompleted, number of packets requested taking too long (interrupted by timer)";
    Answer::said(error(text, Errno::NONE), TIMED_OUT)
}

/// More threads than sockets.
pub fn too_many_threads() -> Answer {
    let text = "sockperf: Number of threads should be less than sockets count\n".to_owned();
    Answer::said(text + &error("program exits because of an error.", Errno::NONE), NOTHING)
}

/// A feed file that names no socket.
pub fn empty_feed(path: &Path) -> Answer {
    let text = format!("sockperf: Feedfile '{}' is empty!\n", path.display());
    Answer::said(text + &error("program exits because of an error.", Errno::NONE), NOTHING)
}

/// Any other reason, in our words on standard error.
pub fn other(reason: &str) -> Answer {
    Answer::complaint(format!("sockperf: {reason}\n"))
}

/// The sentence, with status 1, for a run that came to its end and to nothing; `None` where it came to something.
pub fn worthless(statistics: &Statistics) -> Option<Answer> {
    let why = match statistics.finding {
        Finding::Valid(_) => return None,
        Finding::NothingReceived => "not one answer came: is a sockperf server there, over the same transport?",
        Finding::TooShort => {
            "the run was cut short within the 450 ms that are left out of it: nothing is left to tell of"
        }
        Finding::NothingValid => "not one message of the valid time was answered: the result says nothing",
    };
    Some(other(why))
}
