//! Many hosts at the same time, but not all of them: and those that hang do not keep the others waiting.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// How many things are done at the same time.
const FAN_OUT: usize = 32;
/// After how long without the end of any of them as many more are begun: those that are there hang.
const STALL: Duration = Duration::from_secs(1);

/// Does `act` to each of `things`, [`FAN_OUT`] at a time and more where they hang. What came of each, in their order.
pub(super) fn each<T: Sync, R: Send>(things: &[T], act: &(dyn Fn(usize, &T) -> R + Sync)) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let (ended, ends) = mpsc::channel();
    let worker = || {
        let mut mine = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(thing) = things.get(at) else { return mine };
            mine.push((at, act(at, thing)));
            // Nobody hears it any more once all have been begun.
            let _ = ended.send(());
        }
    };
    let left = || things.len().saturating_sub(next.load(Ordering::Relaxed));
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let mut workers = Vec::new();
        while left() > 0 {
            workers.extend((0..FAN_OUT.min(left())).map(|_| scope.spawn(worker)));
            while left() > 0 && ends.recv_timeout(STALL).is_ok() {}
        }
        // One that panicked has no results, and places would no longer be those of the things.
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::{Condvar, Mutex};

    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_things() {
        let things: Vec<usize> = (0..100).collect();
        assert_eq!(each(&things, &|at, thing| (at, thing * 2)), (0..100).map(|n| (n, n * 2)).collect::<Vec<_>>());
        assert_eq!(each(&[] as &[u8], &|at, _| at), [] as [usize; 0]);
    }

    #[test]
    fn those_that_hang_do_not_keep_the_others_waiting() {
        // All but the last wait for the last, which is far beyond those that are begun first.
        let (last, bell) = (Mutex::new(false), Condvar::new());
        let things = [(); 3 * FAN_OUT];
        let done = each(&things, &|at, ()| {
            if at + 1 == things.len() {
                *last.lock().unwrap() = true;
                bell.notify_all();
            }
            let waited = bell.wait_timeout_while(last.lock().unwrap(), Duration::from_mins(1), |last| !*last).unwrap();
            !waited.1.timed_out()
        });
        assert!(done.into_iter().all(|met| met), "the last was begun while the others hung");
    }
}
