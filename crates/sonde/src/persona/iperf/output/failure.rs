//! Lines of a run that comes to nothing, in the words that the original's errors have. The exit status is 1, also where the
//! original has 0: a script must see it.

use crate::persona::answer::Answer;
use crate::persona::iperf::output::line::Tag;

/// A TCP connection is not made. `why`: what the system says.
pub fn connect(why: &str) -> Answer {
    Answer::complaint(format!("tcp connect failed: {why}\n"))
}

/// A name that nobody knows.
pub fn unknown_host(host: &str) -> Answer {
    Answer::complaint(format!("{host}: Host name lookup failure\n"))
}

/// A server cannot listen.
pub fn bind(why: &str) -> Answer {
    Answer::complaint(format!("listener bind failed: {why}\n"))
}

/// The server's report of UDP did not come.
pub fn no_report(id: u32) -> String {
    format!("{}WARNING: did not receive ack of last datagram after 10 tries.\n", Tag::Stream(id))
}

/// Any other reason, in our words.
pub fn other(reason: &str) -> Answer {
    Answer::complaint(format!("iperf: {reason}\n"))
}
