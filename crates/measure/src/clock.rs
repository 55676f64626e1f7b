//! Where time comes from, as an argument: the machine's monotonic clock in `endpoint`, a virtual one in `testbed`.

use crate::unit::Instant;

/// A monotonic clock. Reading it must not allocate, lock or fail: it is read twice an exchange.
pub trait Clock {
    /// The present instant, in nanoseconds since a fixed but unspecified moment. A clock that steps back is a fault
    /// of the machine that the recorder counts; callers must not assume `b >= a` for a later reading `b`.
    fn now(&self) -> Instant;
}

impl<C: Clock + ?Sized> Clock for &C {
    #[inline]
    fn now(&self) -> Instant {
        (**self).now()
    }
}
