//! What a persona and its process say to each other: wishes to end, and faults in the system's words.

use std::io;

use endpoint::stop::Stop;

use crate::signal::{self, Interruption};

/// Has `stop` requested by the first signal that asks for an end. Call it before any thread is started, and behind the
/// way into the background: neither a thread nor what signals do follows there.
///
/// # Errors
/// What the system says where it grants no thread.
pub fn heed(stop: &Stop) -> io::Result<Interruption> {
    let stop = stop.clone();
    signal::watch(move || stop.request(), || {})
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
