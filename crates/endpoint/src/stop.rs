//! The wish to stop: a flag that measuring threads look at between exchanges, and an event that all others wait for.
//!
//! The event is made by the first thread that waits: a run without such waits needs no descriptor for it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use measure::unit::{Instant, Nanos};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::Timespec;

use crate::clock::Monotonic;

/// Longest time for which a blocking call holds a thread before it checks the stop flag and its deadline.
pub const GLANCE: Nanos = Nanos::millis(100);

/// Asks everything that holds a copy to come to an end in order. Engines look at least every tenth of a second; who waits
/// for it is woken at once.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Wish>);

#[derive(Debug, Default)]
struct Wish {
    requested: AtomicBool,
    /// Readable for good once it is requested.
    event: OnceLock<OwnedFd>,
    /// Asked along with this one. Held while the flag is set and while the event is made, so that neither misses the other.
    followers: Mutex<Vec<Weak<Wish>>>,
}

impl Stop {
    /// Asks.
    pub fn request(&self) {
        self.0.request();
    }

    /// Returns true once the end was requested.
    #[inline]
    pub fn requested(&self) -> bool {
        self.0.requested.load(Ordering::Relaxed)
    }

    /// Is asked too as soon as `other` is.
    pub fn follow(&self, other: &Self) {
        let mut followers = other.0.followers();
        if other.requested() {
            drop(followers);
            return self.request();
        }
        followers.retain(|follower| follower.strong_count() > 0);
        followers.push(Arc::downgrade(&self.0));
    }

    /// Returns a descriptor that is readable once the end was requested, for threads that wait for other events too.
    ///
    /// # Errors
    /// A system that has no descriptor left. Once it was made it is there for good.
    pub fn event(&self) -> io::Result<BorrowedFd<'_>> {
        let wish = &*self.0;
        if let Some(event) = wish.event.get() {
            return Ok(event.as_fd());
        }
        let _while_it_is_made = wish.followers();
        let made = eventfd(u32::from(self.requested()), EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(wish.event.get_or_init(|| made).as_fd())
    }

    /// Waits until the end is requested, or `until`; returns true where it was requested.
    pub fn wait(&self, until: Instant) -> bool {
        while !self.requested() && Monotonic::now() < until {
            self.wait_or_inputs(&[], until);
        }
        self.requested()
    }

    /// Waits until `socket` has something to read, the end is requested, or `until`; returns true where there is
    /// something to read. An interruption ends the wait early.
    pub fn wait_or_input(&self, socket: impl AsFd, until: Instant) -> bool {
        self.wait_or_inputs(&[socket.as_fd()], until)
    }

    /// The same with several sockets; whether there is something at one of them.
    pub fn wait_or_inputs(&self, sockets: &[BorrowedFd<'_>], until: Instant) -> bool {
        self.wait_or_events(sockets, PollFlags::IN, until)
    }

    /// The same with any `events`; errors are always among them.
    pub fn wait_or_events(&self, sockets: &[BorrowedFd<'_>], events: PollFlags, until: Instant) -> bool {
        let event = self.event();
        // Without an event it is looked at now and then.
        let until = if event.is_ok() { until } else { until.min(Monotonic::now().after(GLANCE)) };
        let all = sockets.iter().map(|one| (*one, events)).chain(event.ok().map(|event| (event, PollFlags::IN)));
        let mut set: Vec<PollFd<'_>> = all.map(|(one, events)| PollFd::from_borrowed_fd(one, events)).collect();
        let woken = poll(&mut set, timeout(until).as_ref());
        woken.is_ok() && set[..sockets.len()].iter().any(|socket| !socket.revents().is_empty())
    }
}

/// Returns the time left until `until`, as the system takes it; `None`: for ever.
pub fn timeout(until: Instant) -> Option<Timespec> {
    let left = |until: Instant| until.since(Monotonic::now()).unwrap_or(Nanos::ZERO).0;
    (until != Instant::NEVER)
        .then(|| left(until))
        .map(|left| Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 })
}

impl Wish {
    fn request(&self) {
        let followers = {
            let mut followers = self.followers();
            self.requested.store(true, Ordering::Relaxed);
            if let Some(event) = self.event.get() {
                // Its count is never read, so a second one changes nothing; it cannot be full.
                let _woken = rustix::io::write(event, &1_u64.to_ne_bytes());
            }
            std::mem::take(&mut *followers)
        };
        for follower in followers.iter().filter_map(Weak::upgrade) {
            follower.request();
        }
    }

    fn followers(&self) -> MutexGuard<'_, Vec<Weak<Self>>> {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;
    use std::thread;

    use super::*;

    fn is_readable(stop: &Stop) -> bool {
        let event = stop.event().unwrap();
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::from_borrowed_fd(event, PollFlags::IN)], Some(&now)).unwrap() == 1
    }

    #[test]
    fn who_waits_is_woken_whether_the_wish_came_before_or_after() {
        let early = Stop::default();
        early.request();
        assert!(early.wait(Instant::NEVER) && is_readable(&early));
        let late = Stop::default();
        assert!(!is_readable(&late) && !late.wait(Instant(0)));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| late.wait(Instant::NEVER));
            late.request();
            assert!(waiting.join().unwrap());
        });
        late.request();
        assert!(is_readable(&late), "for good, however often it is asked");
    }

    #[test]
    fn input_ends_the_wait_too_and_is_told_apart() {
        let stop = Stop::default();
        let (near, far) = UnixDatagram::pair().unwrap();
        far.send(&[1]).unwrap();
        assert!(stop.wait_or_input(&near, Instant::NEVER));
        near.recv(&mut [0]).unwrap();
        assert!(!stop.wait_or_input(&near, Instant(0)), "nothing is there any more");
        stop.request();
        assert!(!stop.wait_or_input(&near, Instant::NEVER));
    }

    #[test]
    fn followers_are_asked_along_and_ask_nobody_themselves() {
        let (first, second, third) = (Stop::default(), Stop::default(), Stop::default());
        second.follow(&first);
        third.follow(&second);
        third.request();
        assert!(!second.requested() && !first.requested());
        first.request();
        assert!(second.requested());
        let late = Stop::default();
        late.follow(&first);
        assert!(late.requested(), "the wish was there before");
    }

    #[test]
    fn those_that_are_gone_are_forgotten() {
        let stop = Stop::default();
        for _ in 0..100 {
            Stop::default().follow(&stop);
        }
        assert_eq!(stop.0.followers().len(), 1);
    }
}
