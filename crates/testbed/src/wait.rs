//! Waits of a test for what has to come to pass elsewhere, and of which nobody tells.
//!
//! A test looks again and again, and gives up only after so long that what it waits for never comes. No test waits for a
//! time to go by: what has not happened yet is no result.

use std::thread;
use std::time::{Duration, Instant};

/// Far longer than anything here takes, on a machine that has other work to do as well.
pub const LIMIT: Duration = Duration::from_mins(1);

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

#[cfg(test)]
mod tests {
    use super::*;

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
