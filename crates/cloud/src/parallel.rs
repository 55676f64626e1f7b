//! Several things at once, by a bounded number of threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does `act` for each of `all`, at most `at_once` at a time, in their order where that is one. Where one fails, those that have
/// not begun do not, unless `whole`. The failures, in the order of what they are of.
pub(super) fn each<T: Sync, E: Send>(
    all: &[T],
    at_once: usize,
    whole: bool,
    act: impl Fn(&T) -> Result<(), E> + Sync,
) -> Vec<E> {
    let next = AtomicUsize::new(0);
    let failed: Mutex<Vec<(usize, E)>> = Mutex::default();
    let lock = || failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let work = || {
        while whole || lock().is_empty() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = all.get(index) else { return };
            if let Err(error) = act(one) {
                lock().push((index, error));
            }
        }
    };
    if at_once <= 1 || all.len() <= 1 {
        work();
    } else {
        thread::scope(|scope| {
            for _ in 0..at_once.min(all.len()) {
                scope.spawn(work);
            }
        });
    }
    let mut failed = failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    failed.sort_by_key(|(index, _)| *index);
    failed.into_iter().map(|(_, error)| error).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_done_and_failures_are_in_order() {
        let done = AtomicUsize::new(0);
        let failed = each(&[1, 2, 3, 4, 5], 3, true, |one| {
            done.fetch_add(1, Ordering::Relaxed);
            if one % 2 == 0 { Err(*one) } else { Ok(()) }
        });
        assert_eq!((failed, done.into_inner()), (vec![2, 4], 5));
    }

    #[test]
    fn behind_a_failure_nothing_begins() {
        let done = AtomicUsize::new(0);
        let failed = each(&[1, 2, 3], 1, false, |one| {
            done.fetch_add(1, Ordering::Relaxed);
            if *one == 2 { Err(()) } else { Ok(()) }
        });
        assert_eq!((failed.len(), done.into_inner()), (1, 2));
    }
}
