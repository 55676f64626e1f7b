//! Requests and replies that have no other: requests that went down with their connection, and what came that nobody asked for.

use protocol::application::Speech;
use protocol::application::talk::Digest;
use protocol::application::tally::End;
use protocol::link::Fault;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::reading::Look;
use super::{Framed, LOOKS, PAUSE, Trouble, deliver};
use crate::clock::Monotonic;

impl<S: Speech> Framed<S> {
    /// Nothing more is asked on this connection: what is out on it has no reply any more.
    #[cold]
    pub(super) fn spend(&mut self) {
        (self.spent, self.failing) = (true, false);
        self.lost.append(&mut self.outstanding);
        self.unsent.clear();
        (self.begin, self.end, self.read, self.parted) = (0, 0, 0, None);
    }

    /// The connection broke: after one that has brought a reply the next is made at once.
    #[cold]
    pub(super) fn broke(&mut self) {
        let asked = !self.outstanding.is_empty();
        self.spend();
        // One on which nothing was asked brought nothing either. Where each request has its own connection, the next is no attempt to mend this one.
        if asked && !self.fruitful && self.door.anew.is_none() {
            self.fruitless += 1;
            self.not_before = Monotonic::now().after(PAUSE);
        }
    }

    /// The end of the request that is waited for by trouble: a form of what came in its place, or a refusal.
    #[cold]
    pub(super) fn suffer(&mut self, trouble: &Trouble, buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        let had = !self.outstanding.is_empty();
        let foreign = self.keep_foreign(trouble);
        self.note_end(trouble);
        self.broke();
        if foreign {
            // In place of the reply to the oldest that is out, or of none.
            let form = if had { &Digest::CORRUPT } else { &Digest::UNASKED };
            self.lost.pop_front();
            return Ok(deliver(form, buffer));
        }
        self.refusal().map_or(Ok(None), Err)
    }

    /// Counts the requests that go down with the connection, by how that ended.
    fn note_end(&self, trouble: &Trouble) {
        let Some(behind) = (self.outstanding.len() as u64).checked_sub(1).filter(|_| self.records()) else { return };
        let end = match trouble {
            Trouble::System(Errno::CONNRESET | Errno::PIPE) => End::Reset,
            // The kernel tells of a reset once: behind a send that it failed the end reads as an orderly one.
            Trouble::Closed if self.failing => End::Reset,
            Trouble::Closed => End::Closed,
            _ => return,
        };
        let began = self.read > 0 || self.begin < self.end;
        self.tally.went_down(if began { End::Cut } else { end }, 1);
        self.tally.went_down(end, behind);
    }

    /// Counts what the end of the run leaves behind a request without a reply.
    pub(super) fn note_left(&self) {
        let Some(behind) = (self.outstanding.len() as u64).checked_sub(1).filter(|behind| *behind > 0) else { return };
        if self.by_order && self.records() {
            self.tally.left_behind(behind, self.read > 0 || self.begin < self.end);
        }
    }

    /// True where the trouble is that what came is none of the protocol, which is kept to be shown.
    #[cold]
    pub(super) fn keep_foreign(&self, trouble: &Trouble) -> bool {
        let Trouble::Foreign(why) = trouble else { return false };
        if self.records() {
            self.tally.keep_unread(why, &self.incoming[self.begin..self.end]);
        }
        true
    }

    /// The next request that went down with its connection. Where one is out at a time, those before the latest were given up long ago.
    #[cold]
    fn told_lost(&mut self) -> Option<Fault> {
        loop {
            let number = self.lost.pop_front()?;
            if self.door.patient || number + 1 == self.numbered {
                self.blamed = Some(number);
                return Some(Fault::Refused(Errno::CONNRESET.raw_os_error()));
            }
        }
    }

    #[inline]
    pub(super) fn refusal(&mut self) -> Option<Fault> {
        if self.lost.is_empty() { None } else { self.told_lost() }
    }

    /// Between requests: reads the server's data, of which no part is a reply to the next request, and notices an end of the connection.
    #[cold]
    pub(super) fn tidy(&mut self) {
        for _ in 0..LOOKS {
            match self.look(RecvFlags::DONTWAIT) {
                Ok(Look::Reply(_)) if !self.spent => self.unasked += 1,
                Ok(Look::Something) if !self.spent => {}
                Ok(_) => return,
                Err(trouble) => {
                    self.unasked += u64::from(self.keep_foreign(&trouble));
                    return self.spend();
                }
            }
        }
    }

    /// The next reply that answers no request, told to the engine in its place.
    #[cold]
    pub(super) fn tell_unasked(&mut self, buffer: &mut [u8]) -> Option<usize> {
        self.unasked -= 1;
        deliver(&Digest::UNASKED, buffer)
    }
}
