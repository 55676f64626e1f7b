//! Many hosts at the same time, but not all of them: no more than this machine keeps up with, and those that hang do not keep the others
//! waiting.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// Things that are begun at first: a machine that is busy with these has no time for more.
const FIRST: usize = 8;
/// Things that are done at the same time; with each that ends one more is begun, until they are so many.
const FAN_OUT: usize = 32;
/// Time without the end of any of them after which twice as many are done: those that are there hang, unless this machine is
/// what they wait for.
const STALL: Duration = Duration::from_secs(3);

/// Where more threads than this for each CPU want to run, those that are there wait for one another.
const CROWDED: usize = 3;

/// Does `act` to each of `things`, [`FAN_OUT`] at a time and more where they hang. Returns the results, in their order.
pub(super) fn each<T: Sync, R: Send>(things: &[T], act: &(dyn Fn(usize, &T) -> R + Sync)) -> Vec<R> {
    each_unless(&is_crowded, things, act)
}

/// Returns true where more than [`CROWDED`] threads for each CPU want to run on this machine; `false` where that cannot be
/// read.
fn is_crowded() -> bool {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let told = std::fs::read_to_string("/proc/loadavg").ok();
    told.as_deref().and_then(running).is_some_and(|running| running > CROWDED * cpus)
}

/// The threads that run or want to, from `0.20 0.18 0.12 1/80 11206`.
fn running(loadavg: &str) -> Option<usize> {
    loadavg.split_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

/// The same; as long as this machine `is_crowded` no more are begun with than there are, but one for each that ends.
fn each_unless<T: Sync, R: Send>(
    is_crowded: &dyn Fn() -> bool,
    things: &[T],
    act: &(dyn Fn(usize, &T) -> R + Sync),
) -> Vec<R> {
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
        let mut more = FIRST;
        while left() > 0 {
            workers.extend((0..more.min(left())).map(|_| scope.spawn(worker)));
            more = match ends.recv_timeout(STALL) {
                _ if is_crowded() => 0,
                Ok(()) => usize::from(workers.len() < FAN_OUT),
                Err(_) => workers.len(),
            };
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
    fn few_are_begun_with_and_more_as_they_end() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (first, gate) = (Mutex::new(0), Condvar::new());
        let things = [(); 100];
        each_unless(&|| false, &things, &|_, ()| {
            let there = now.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(there, Ordering::SeqCst);
            let mut begun = first.lock().unwrap();
            *begun += 1;
            gate.notify_all();
            // The first ones end when all of them are there.
            let waited = gate.wait_timeout_while(begun, Duration::from_mins(1), |begun| *begun < FIRST).unwrap();
            assert!(!waited.1.timed_out());
            drop(waited);
            now.fetch_sub(1, Ordering::SeqCst);
        });
        let most = most.into_inner();
        assert!((FIRST..=FAN_OUT).contains(&most), "{most} at once");
    }

    #[test]
    fn no_more_are_begun_with_than_a_crowded_machine_keeps_up_with() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let things = [(); 100];
        let done = each_unless(&|| true, &things, &|_, ()| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::yield_now();
            now.fetch_sub(1, Ordering::SeqCst);
        });
        assert_eq!(done.len(), things.len());
        assert!(most.into_inner() <= FIRST);
        assert_eq!((running("0.20 0.18 0.12 17/80 11206\n"), running("what is this")), (Some(17), None));
    }

    #[test]
    fn those_that_hang_do_not_keep_the_others_waiting() {
        // All but the last wait for the last, which is far beyond those that are begun first.
        let (last, bell) = (Mutex::new(false), Condvar::new());
        let things = [(); 3 * FIRST];
        let done = each_unless(&|| false, &things, &|at, ()| {
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
