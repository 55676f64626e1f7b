//! Threads that wait, are found again, and end.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier};
use std::thread::{self, ThreadId};

use super::{MOST, Pool};
use crate::clock::Monotonic;
use measure::unit::Nanos;

/// Waits for what has to come to pass, far longer than it takes.
fn until(done: impl Fn() -> bool) {
    let give_up = Monotonic::now().after(Nanos::secs(20));
    while !done() {
        assert!(Monotonic::now() < give_up, "it never came to pass");
        thread::yield_now();
    }
}

fn waiting(pool: &Pool) -> usize {
    pool.idle().threads.len()
}

/// Its threads that have not ended: each keeps hold of it.
fn threads(pool: &Arc<Pool>) -> usize {
    Arc::strong_count(pool) - 1
}

/// The thread that a job is done by.
fn served(pool: &Arc<Pool>) -> Receiver<ThreadId> {
    let (tell, told) = channel();
    pool.serve(move || tell.send(thread::current().id()).expect("the test listens")).expect("served");
    told
}

/// As many jobs at once, none of which ends before all have begun.
fn crowd(pool: &Arc<Pool>, jobs: usize) {
    let together = Arc::new(Barrier::new(jobs));
    for _ in 0..jobs {
        let together = Arc::clone(&together);
        pool.serve(move || _ = together.wait()).expect("served");
    }
}

#[test]
fn a_thread_that_waits_is_given_the_next_job() {
    let pool = Arc::new(Pool::default());
    let first = served(&pool).recv().unwrap();
    for _ in 0..100 {
        until(|| waiting(&pool) == 1);
        assert_eq!(served(&pool).recv().unwrap(), first);
    }
    assert_eq!(threads(&pool), 1);
}

#[test]
fn jobs_at_once_have_a_thread_each() {
    let pool = Arc::new(Pool::default());
    // Were two of them behind one another, neither would end.
    crowd(&pool, 8);
    until(|| waiting(&pool) == 8);
    crowd(&pool, 8);
    until(|| waiting(&pool) == 8);
    assert_eq!(threads(&pool), 8, "the second eight found the threads of the first");
}

#[test]
fn no_more_wait_than_a_bound() {
    let pool = Arc::new(Pool::default());
    crowd(&pool, MOST + 9);
    until(|| threads(&pool) == MOST && waiting(&pool) == MOST);
}

#[test]
fn a_job_that_panics_takes_its_thread_along_and_nothing_else() {
    let pool = Arc::new(Pool::default());
    pool.serve(|| panic!("as the test wants it")).unwrap();
    until(|| threads(&pool) == 0);
    served(&pool).recv().unwrap();
}

#[test]
fn closed_it_keeps_nobody_waiting_and_what_runs_ends_its_job() {
    let pool = Arc::new(Pool::default());
    crowd(&pool, 3);
    until(|| waiting(&pool) == 3);
    let (begun, has_begun) = channel();
    let (go_on, may_go_on) = channel::<()>();
    let (done, is_done) = channel();
    pool.serve(move || {
        begun.send(()).unwrap();
        may_go_on.recv().unwrap();
        done.send(()).unwrap();
    })
    .unwrap();
    has_begun.recv().unwrap();
    pool.close();
    until(|| threads(&pool) == 1);
    go_on.send(()).unwrap();
    is_done.recv().unwrap();
    until(|| threads(&pool) == 0);
}

#[test]
fn a_thread_without_a_job_ends_after_a_while() {
    let pool = Arc::new(Pool::default());
    served(&pool).recv().unwrap();
    until(|| waiting(&pool) == 1);
    until(|| threads(&pool) == 0);
    assert_eq!(waiting(&pool), 0);
}
