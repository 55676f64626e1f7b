//! End of a run, in the original's words where it has some, and with its status; and the lines that it has none for.

use std::fmt::Write;
use std::io;
use std::net::SocketAddr;

use endpoint::engine::Ended;
use endpoint::error::{Cause, EndpointError, Step};
use endpoint::peer::sockperf::client::Measured;
use endpoint::signal::Signal;
use measure::method::Carrier;
use protocol::link::Fault;
use protocol::sockperf::wire::Tallied;
use rustix::io::Errno;

use crate::failure::Failure;
use crate::persona::answer::Answer;
use crate::persona::process::said;
use crate::persona::sockperf::options::{Client, Kind, Stop};
use crate::persona::sockperf::output::end::End;
use crate::persona::sockperf::output::failure::{self, Errno as Told, SOCKET};
use crate::persona::sockperf::run::client::Ran;
use crate::persona::sockperf::run::client::listener::Heard;
use crate::persona::sockperf::run::client::places::Places;
use crate::signal::Interruption;
use crate::words;

/// Reason for which the messages ended.
pub fn how(client: &Client, interruption: &Interruption, heard: &Heard) -> End {
    match (interruption.signal(), client.kind.load().map(|load| load.stop)) {
        (Some(Signal::Interrupt), _) => End::User,
        (Some(signal), _) => End::Signal(signal.number()),
        (None, Some(Stop::Messages(_))) if !heard.timed_out() => End::Number,
        (None, Some(_)) => End::Timer,
        (None, None) => End::File,
    }
}

/// Complaint behind a result that is not the one asked for, with its status; `None` where it is.
pub fn fault(measured: &Measured, heard: &Heard, places: &Places) -> Option<Answer> {
    let Tallied { unknown, too_long, different, .. } = measured.tallied;
    if let Ended::Broken(fault) = measured.gathered.ended {
        return Some(broken(fault, places));
    }
    if let Some(trouble) = &measured.gathered.trouble {
        return Some(failure::other(&trouble.to_string()));
    }
    let told = [
        (different, failure::corrupt as fn() -> Answer),
        (too_long, failure::too_long),
        (unknown, failure::unknown_number),
    ];
    if let Some((count, answer)) = told.into_iter().find(|(count, _)| *count > 0) {
        let answer = answer();
        let besides = format!("sockperf: {count} such messages came; the test went on\n");
        return Some(Answer { stderr: answer.stderr.clone() + &besides, ..answer });
    }
    heard.timed_out().then(failure::timed_out)
}

/// Complaint about a run that came to its end and to nothing; `None` where it came to something.
pub fn worthless(client: &Client, measured: &Measured, heard: &Heard, ran: &Ran) -> Option<Answer> {
    let refused = measured.gathered.recording.counts.one_way_refused > 0;
    match client.kind {
        Kind::Throughput { .. } if ran.sent() == 0 => Some(failure::other("not one message could be sent")),
        Kind::Throughput { .. } if refused => {
            Some(failure::other("nobody listens there: is a sockperf server running, on that port and over UDP?"))
        }
        Kind::Throughput { .. } => None,
        _ => failure::worthless(heard.statistics()),
    }
}

fn broken(fault: Fault, places: &Places) -> Answer {
    let of = |carrier| places.all.iter().find(|place| place.carrier == carrier).map(|place| place.address);
    match (fault, of(Carrier::Tcp)) {
        (Fault::Closed | Fault::Reset, Some(peer)) => failure::closed(peer),
        // The octets that came cannot be cut into messages.
        (Fault::System(number), Some(_)) if number == Errno::PROTO.raw_os_error() => failure::too_long(),
        (Fault::System(number) | Fault::Refused(number) | Fault::SendFailed(number), _) => {
            let words = said(&io::Error::from_raw_os_error(number));
            let text = failure::error("send failed", Told { number, said: &words });
            Answer::said(text, SOCKET)
        }
        (Fault::TooLong, _) => {
            let words = "a message does not fit the path or the socket: choose a smaller -m";
            Answer { status: SOCKET, ..failure::other(words) }
        }
        (Fault::Closed | Fault::Reset | Fault::LeftOut, _) => {
            Answer { status: SOCKET, ..failure::other(&fault.to_string()) }
        }
    }
}

/// Lines that the original has not, where there is something to report.
pub fn besides(measured: &Measured, heard: &Heard) -> String {
    let counts = measured.gathered.recording.counts;
    let lines = [
        (measured.tallied.malformed, "answers said another length than they had"),
        (counts.refused + counts.one_way_refused, "messages met a refusal: nobody listened there at the time"),
        (counts.late, "answers came after the timeout, and count as dropped"),
        (heard.dropped(), "answers are in no figure: this host could not keep up with their number"),
    ];
    let mut text = String::new();
    for (count, what) in lines.into_iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(text, "sockperf: {count} {what}");
    }
    if let Some((missing, why)) = heard.samples_missing() {
        let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        let _ = writeln!(text, "sockperf: the file of samples lacks {missing}{why}");
    }
    text
}

/// A socket that could not be set up.
pub fn not_set_up(error: &EndpointError) -> Answer {
    let hint = words::hint(error).map_or_else(String::new, |hint| format!("\nhint:  {hint}"));
    let Cause::System(cause) = &error.cause else { return failure::other(&format!("{error}{hint}")) };
    match (&error.step, cause.raw_os_error()) {
        (Step::Set("local address"), Some(number)) => {
            let words = said(cause);
            let text = failure::error("Can`t bind socket", Told { number, said: &words });
            Answer { stderr: format!("sockperf: {error}{hint}\n"), ..Answer::said(text, failure::NOTHING) }
        }
        _ => failure::other(&format!("{error}{hint}")),
    }
}

/// A connection that could not be made.
pub fn not_connected(error: &EndpointError) -> Answer {
    let Cause::System(cause) = &error.cause else {
        return failure::other(&error.to_string());
    };
    let peer: Option<SocketAddr> = error.peer.parse().ok();
    let (number, words) = match (cause.raw_os_error(), cause.kind()) {
        (Some(number), _) => (number, said(cause)),
        (None, io::ErrorKind::TimedOut) => {
            let cause = io::Error::from(Errno::TIMEDOUT);
            (Errno::TIMEDOUT.raw_os_error(), said(&cause))
        }
        (None, _) => return failure::other(&error.to_string()),
    };
    if peer.is_none() || error.step != Step::ConnectData {
        return failure::other(Failure::usage(error.to_string()).text().trim_end());
    }
    let answer = failure::connect(Told { number, said: &words });
    let hint = "is a sockperf server running there, on that port and with --tcp?";
    Answer { stderr: format!("sockperf: {error}: {hint}\n"), ..answer }
}
