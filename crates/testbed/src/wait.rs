//! Waits of a test for what has to come to pass elsewhere, and of which nobody tells.
//!
//! A test looks again and again, and gives up only after so long that what it waits for never comes. No test waits for a
//! time to go by: what has not happened yet is no result.

use std::io::{self, ErrorKind, Read};
use std::thread;
use std::time::{Duration, Instant};

/// Far longer than anything here takes, on a machine that has other work to do as well.
pub const LIMIT: Duration = Duration::from_mins(3);

/// Between two looks.
const LOOK: Duration = Duration::from_millis(2);

/// Waits until `done`.
///
/// # Panics
/// Where that does not come to pass within [`LIMIT`]; `what` says what it was.
pub fn until(what: &str, done: impl FnMut() -> bool) {
    assert!(within(LIMIT, done), "not within {LIMIT:?}: {what}");
}

/// Waits until `done`, at most until `limit` has passed; whether it came to pass.
#[expect(clippy::disallowed_methods, reason = "the one room where a test waits; nothing is measured by it")]
pub fn within(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    loop {
        // The time is read before the look: what comes to pass at the last is not missed.
        let over = began.elapsed() >= limit;
        if done() {
            return true;
        }
        if over {
            return false;
        }
        thread::sleep(LOOK);
    }
}

/// Reads once, as `Read::read` does, but past interruptions: a socket with a time-out is interrupted where the whole machine, or its
/// container, was stopped for a while and went on (signal(7)), and that says nothing of the other end.
pub fn read(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(into) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interruption_is_no_answer() {
        struct Interrupted(u32);
        impl Read for Interrupted {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                if self.0 < 3 { Err(ErrorKind::Interrupted.into()) } else { (&b"x"[..]).read(into) }
            }
        }
        let (mut from, mut into) = (Interrupted(0), [0; 4]);
        assert_eq!(read(&mut from, &mut into).unwrap(), 1);
        assert_eq!((from.0, into[0]), (3, b'x'));
    }

    #[test]
    fn what_comes_to_pass_is_seen_and_what_does_not_is_told() {
        let mut looks = 0;
        until("the third look", || {
            looks += 1;
            looks == 3
        });
        assert_eq!(looks, 3);
        assert!(!within(Duration::from_millis(3), || false) && within(Duration::ZERO, || true));
    }
}
