//! Lines when the last message has left: the reason, and at a server the number of messages.

use crate::persona::sockperf::output::say;

/// Reason for which a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// `-t` is over.
    Timer,
    /// `-n` is reached.
    Number,
    /// SIGINT.
    User,
    /// Another signal.
    Signal(i32),
    /// The file of a playback is at its end, of which nothing is said.
    File,
}

impl End {
    fn line(self) -> Option<String> {
        let why = match self {
            Self::Timer => "interrupted by timer".to_owned(),
            Self::Number => "reached packet number".to_owned(),
            Self::User => "interrupted by user".to_owned(),
            Self::Signal(number) => format!("interrupted by signal {number}"),
            Self::File => return None,
        };
        Some(say(format_args!("Test end ({why})")))
    }
}

/// A run by number (`-n`) is warm: how long it will take, and after how long it is given up.
pub fn estimate(run_ns: u64, give_up_ns: u64) -> String {
    let (run, give_up) = (seconds(run_ns), seconds(give_up_ns));
    say(format_args!("RunTime Estimate={run:.3} sec, Time out in {give_up:.3} sec"))
}

/// The end of a client's run. `dots`: `-a` was asked for, and its line is to be ended.
pub fn client(end: End, dots: bool) -> String {
    let dots = if dots { "\n" } else { "" };
    format!("{dots}{}{}", end.line().unwrap_or_default(), say("Test ended"))
}

/// The end of a server with one thread; between its two texts stand the summaries of [`super::gaps`]. `messages`: how
/// many it took.
pub fn server(end: End, messages: u64) -> String {
    end.line().unwrap_or_default() + &total(messages)
}

/// The very last line of a server with one thread, of one that could not listen too.
pub fn exit() -> String {
    say("cleanupAfterLoop() exit")
}

/// The end of a server with several threads, in two parts as [`server`] and [`exit`] are.
pub fn server_threads(signal: i32, messages: u64) -> String {
    say(format_args!("Got signal {signal} - exiting")) + &total(messages)
}

/// The very last line of a server with several threads.
pub fn exit_threads() -> String {
    say("server_select_per_thread() exit")
}

fn total(messages: u64) -> String {
    match messages {
        0 => say("No messages were received on the server."),
        _ => say(format_args!("Total {messages} messages received and handled")),
    }
}

/// Nanoseconds as seconds.
pub(super) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
