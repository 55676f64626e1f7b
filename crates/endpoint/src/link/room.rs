//! Sends that wait for room in their socket, and the time of these waits: it is the path's or the peer's, not ours.

use measure::unit::Nanos;
use rustix::io::Errno;
use rustix::net::SendFlags;

use crate::clock::Monotonic;
use crate::stop::GLANCE;

/// Time that the sends of one socket have waited for room.
#[derive(Debug, Default)]
pub struct Room {
    waited: Nanos,
}

impl Room {
    /// Flags by which a call does not wait.
    pub const FIRST_TRY: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);

    /// Calls `send` with flags by which it does not wait; where there is no room, again with flags by which it does, until
    /// there is some or [`GLANCE`] is over.
    #[inline]
    pub fn send<T>(&mut self, mut send: impl FnMut(SendFlags) -> Result<T, Errno>) -> Result<T, Errno> {
        match send(Self::FIRST_TRY) {
            Err(errno @ (Errno::AGAIN | Errno::INTR)) => self.wait(errno, send),
            result => result,
        }
    }

    /// Returns the time waited since the last call.
    pub fn take_waited(&mut self) -> Nanos {
        std::mem::take(&mut self.waited)
    }

    #[cold]
    fn wait<T>(&mut self, errno: Errno, mut send: impl FnMut(SendFlags) -> Result<T, Errno>) -> Result<T, Errno> {
        let began = Monotonic::now();
        let give_up = began.after(GLANCE);
        let mut full = errno == Errno::AGAIN;
        let result = loop {
            match send(SendFlags::NOSIGNAL) {
                Err(Errno::INTR) => {}
                // The socket's own limit of waiting may be a little shorter.
                Err(Errno::AGAIN) if Monotonic::now() < give_up => full = true,
                result => break result,
            }
        };
        if full {
            let waited = Monotonic::now().since(began).unwrap_or_default();
            self.waited = Nanos(self.waited.0.saturating_add(waited.0));
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    const WAITS: SendFlags = SendFlags::NOSIGNAL;

    /// Result of calls that end one after another as `ends` says, with the calls that waited, and true where time was
    /// counted.
    fn sent(ends: &[Result<u8, Errno>]) -> (Result<u8, Errno>, Vec<bool>, bool) {
        let (mut room, mut ends, mut waits) = (Room::default(), ends.iter(), Vec::new());
        let result = room.send(|flags| {
            waits.push(flags == WAITS);
            *ends.next().expect("no more calls than that")
        });
        let counted = room.take_waited() > Nanos::ZERO;
        assert_eq!((ends.next(), room.take_waited()), (None, Nanos::ZERO));
        (result, waits, counted)
    }

    #[test_case(&[Ok(1)], &[false], false; "room at once")]
    #[test_case(&[Err(Errno::AGAIN), Ok(1)], &[false, true], true; "room later")]
    #[test_case(&[Err(Errno::AGAIN), Err(Errno::AGAIN), Err(Errno::INTR), Ok(1)], &[false, true, true, true], true; "room much later")]
    #[test_case(&[Err(Errno::INTR), Ok(1)], &[false, true], false; "a signal")]
    #[test_case(&[Err(Errno::INTR), Err(Errno::AGAIN), Ok(1)], &[false, true, true], true; "a signal, and no room")]
    #[test_case(&[Err(Errno::NOBUFS)], &[false], false; "another error")]
    #[test_case(&[Err(Errno::AGAIN), Err(Errno::NOBUFS)], &[false, true], true; "another error later")]
    fn the_wait_for_room_is_counted_and_nothing_else(ends: &[Result<u8, Errno>], waits: &[bool], counted: bool) {
        assert_eq!(sent(ends), (*ends.last().expect("a call"), waits.to_vec(), counted));
    }

    #[test]
    fn a_socket_that_never_has_room_is_given_up() {
        let mut room = Room::default();
        let full: Result<(), Errno> = room.send(|_| Err(Errno::AGAIN));
        assert_eq!(full, Err(Errno::AGAIN));
        assert!(room.take_waited() >= GLANCE);
    }
}
