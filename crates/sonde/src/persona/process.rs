//! Relations between a persona and its process: wishes to end, rights that a server gives up, and faults in the system's
//! words.

use std::io;

use endpoint::sandbox::{Capability, Needs};
use endpoint::signal::{Signal, end_by};
use endpoint::stop::Stop;

use crate::beginning::Beginning;
use crate::signal::{self, Interruption};

/// `off`: a server keeps all that it may do.
const SANDBOX: &str = "SONDE_SANDBOX";
/// Files of the local time, which may be asked for late.
const LOCAL_TIME: [&str; 2] = ["/etc/localtime", "/usr/share/zoneinfo"];

/// Has `stop` requested by the first signal that asks for an end. Call it before any thread is started, and behind the
/// way into the background: neither a thread nor what signals do follows there.
///
/// # Errors
/// Errors of the system where it grants no thread.
pub fn heed(stop: &Stop) -> io::Result<Interruption> {
    let stop = stop.clone();
    signal::watch(move || stop.request(), || {})
}

/// The same for a test that SIGALRM ends as Ctrl-C does. Where nothing is kept of it, SIGTERM and SIGHUP end the process at once and
/// nothing is printed, as of a program that does not heed them.
///
/// # Errors
/// As [`heed`].
pub fn heed_test(stop: &Stop, keeps: bool) -> io::Result<Interruption> {
    let stop = stop.clone();
    signal::watch_test(move |signal| match signal {
        Signal::Terminate | Signal::Hangup if !keeps => end_by(signal),
        _ => stop.request(),
    })
}

/// The same for a server whose sockets are bound: behind the way into the background it gives up what is no part of `needs`, or of what
/// every such server needs for whatever its clients may ask. Not a word is said of it: the originals have none.
///
/// # Errors
/// As [`heed`].
pub fn confine(beginning: Beginning, needs: Needs, stop: &Stop) -> io::Result<Interruption> {
    let is_off = std::env::var_os(SANDBOX).is_some_and(|value| value == "off");
    let confined = if is_off { beginning.keep_all() } else { beginning.confine(&with_usual(needs)).0 };
    let stop = stop.clone();
    signal::watch_confined(&confined, move || stop.request())
}

/// Ports below 1024, and congestion controls and priorities that the system grants to few.
fn with_usual(mut needs: Needs) -> Needs {
    needs.capabilities.extend([Capability::NetBindService, Capability::NetAdmin]);
    needs.read.extend(LOCAL_TIME.map(Into::into));
    needs
}

/// The system's own words without Rust's "(os error n)".
pub fn said(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_in_the_system_s_words() {
        assert_eq!(said(&io::Error::from_raw_os_error(13)), "Permission denied");
        assert_eq!(said(&io::Error::other("something else")), "something else");
    }
}
