//! One way of a stream, as the bulk engine sees it: sockets in `endpoint`, a virtual pipe in `testbed`.

use measure::unit::Instant;

use crate::link::Fault;

/// What the bulk engine needs of a carrier, and of the clocks beside it. The engine is compiled for each apart: no call
/// here is dynamic.
pub trait Bulk {
    /// The present instant.
    fn now(&self) -> Instant;

    /// An instant at most some milliseconds before the present one and never after it, for less than a reading costs: it is
    /// looked at after every call.
    fn recently(&self) -> Instant {
        self.now()
    }

    /// One call: hands the kernel bytes to send, or takes what it received. Waits for room or for data about a tenth of a
    /// second at most, so that the engine can look whether to go on.
    fn call(&mut self) -> Result<Call, Fault>;

    /// Sleeps until `until`, never relative to now.
    fn sleep(&self, until: Instant);

    /// One turn of a loop that reads the clock until `until`.
    fn spin(&self, until: Instant);
}

/// What a call did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// It moved so many bytes of payload, at least one.
    Moved(usize),
    /// It waited, and nothing was moved.
    Nothing,
    /// Our own side had no buffer for it: nothing was moved, and what was to be sent is given up.
    Failed,
    /// The sender ended the stream.
    End,
}
