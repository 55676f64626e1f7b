//! End of a client's run: its words, and the exit status.

use std::io;

use endpoint::error::{Cause, EndpointError, Step};
use endpoint::peer::iperf3::client::{Failure, Finish, Measured};
use endpoint::signal::Signal;
use protocol::iperf3::code::Code;

use crate::exit::Exit;
use crate::persona::iperf3::options::Until;
use crate::persona::iperf3::output::failure;
use crate::persona::process::said;
use crate::words;

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The fault; `None`: none.
    text: Option<String>,
    /// True for a signal, which is told in other words.
    interrupted: bool,
    /// Next step, which the original does not print.
    pub hint: Option<String>,
    status: u8,
}

impl End {
    const DONE: Self = Self { text: None, interrupted: false, hint: None, status: 0 };

    /// Words for the fault.
    pub fn told(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Its line of standard error.
    pub fn line(&self) -> Option<String> {
        let text = self.text.as_ref()?;
        Some(if self.interrupted { format!("iperf3: {text}\n") } else { failure::line(text) })
    }

    /// The exit status.
    pub fn exit(&self) -> Exit {
        if self.status == 0 { Exit::Done } else { Exit::Persona(self.status) }
    }

    /// There is no server, or no name for it.
    pub fn unconnected(error: &EndpointError, signal: Option<Signal>) -> Self {
        if let Some(signal) = signal {
            return Self::signalled(signal, 0);
        }
        let text = match (&error.cause, &error.step) {
            // The resolver's words begin with whose they are.
            (Cause::System(cause), Step::LookUp) => {
                failure::unconnected(said(cause).rsplit(": ").next().unwrap_or_default())
            }
            (Cause::System(cause), _) => failure::unconnected(&said(cause)),
            (cause, _) => failure::unconnected(&cause.to_string()),
        };
        Self { text: Some(text), status: 1, hint: words::hint(error), ..Self::DONE }
    }

    /// It came to no test.
    pub fn of(failure: &Failure, signal: Option<Signal>) -> Self {
        match signal {
            Some(signal) => Self::signalled(signal, 0),
            None => Self { text: Some(words(failure)), status: 1, hint: words::hint(&failure.error), ..Self::DONE },
        }
    }

    /// After a test.
    pub fn after(measured: &Measured, signal: Option<Signal>, until: Until) -> Self {
        let failed = |code: Code| Self { text: Some(code.to_string()), status: 1, ..Self::DONE };
        match (measured.finish, &measured.trouble) {
            (Finish::Complete, _) => Self::DONE,
            (Finish::Stopped, _) => {
                // One by time is a shorter run, as in the original; of a count the rest is missing.
                let signal = signal.unwrap_or(Signal::Interrupt);
                let counted = !matches!(until, Until::Seconds(_));
                Self::signalled(
                    signal,
                    if counted { 128 + u8::try_from(signal.number()).unwrap_or_default() } else { 0 },
                )
            }
            (Finish::ServerTerminated, _) => failed(Code::SERVER_TERMINATED),
            (Finish::Silent, _) => failed(Code::NOTHING_RECEIVED),
            (Finish::Lost, Some(trouble)) => Self::of(trouble, None),
            (Finish::Lost, None) => failed(Code::CLOSED),
        }
    }

    fn signalled(signal: Signal, status: u8) -> Self {
        let text = failure::interrupted(true, words_of(signal), signal.number());
        Self { text: Some(text), interrupted: true, hint: None, status }
    }
}

/// Name of a signal in C's library.
pub fn words_of(signal: Signal) -> &'static str {
    match signal {
        Signal::Interrupt => "Interrupt",
        Signal::Terminate => "Terminated",
        Signal::Hangup => "Hangup",
        Signal::Quit => "Quit",
        Signal::User1 => "User defined signal 1",
        Signal::Alarm => "Alarm clock",
    }
}

/// The original's words for a fault; what the system says behind them, where it was ours or the server told.
fn words(failure: &Failure) -> String {
    let system = match (&failure.error.cause, failure.errno) {
        (Cause::System(cause), _) => Some(said(cause)),
        (_, Some(errno)) if errno > 0 => Some(said(&io::Error::from_raw_os_error(errno))),
        _ => None,
    };
    // Its reason stands in its words.
    if failure.code == Code::CONGESTION {
        return failure.code.to_string();
    }
    failure::text(failure.code, system.as_deref())
}

#[cfg(test)]
mod tests {
    use endpoint::error::hint::Hint;

    use super::*;

    #[test]
    fn an_interruption_is_told_as_the_original_tells_it() {
        let end = End::signalled(Signal::Interrupt, 0);
        assert_eq!(end.line().unwrap(), "iperf3: interrupt - the client has terminated by signal Interrupt(2)\n");
        assert_eq!(end.exit(), Exit::Done);
        assert_eq!(End::signalled(Signal::Terminate, 143).exit(), Exit::Persona(143));
    }

    #[test]
    fn a_server_that_is_not_there_is_told_with_the_systems_reason_and_with_what_to_try() {
        let cause = io::Error::from(rustix::io::Errno::CONNREFUSED);
        let end =
            End::unconnected(&EndpointError::new(Step::Connect, "::1", cause).with_hint(Hint::NoIperf3Server), None);
        assert!(end.line().unwrap().ends_with("firewall issue, etc.: Connection refused\n"));
        assert_eq!(end.exit(), Exit::Persona(1));
        assert!(end.hint.unwrap().contains("start `iperf3 -s` there"));
    }

    #[test]
    fn a_congestion_control_that_is_not_there_is_told_once() {
        let cause = io::Error::from(rustix::io::Errno::NOENT);
        let error = EndpointError::new(Step::Set("congestion control"), "::1", cause);
        let line = End::of(&Failure::new(Code::CONGESTION, error), None).line().unwrap();
        let expected = "unable to set TCP_CONGESTION: Supplied congestion control algorithm not supported on this host";
        assert_eq!(line, format!("iperf3: error - {expected}\n"));
    }

    #[test]
    fn a_busy_server_is_told_in_its_words() {
        let error = EndpointError::new(Step::Agree, "::1", Cause::Peer(Code::BUSY.to_string()));
        let end = End::of(&Failure::new(Code::BUSY, error), None);
        assert_eq!(end.line().unwrap(), "iperf3: error - the server is busy running a test. try again later\n");
    }
}
