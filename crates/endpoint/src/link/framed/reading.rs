//! Octets that have come on a connection, read up to the end of a reply.

use std::ops::RangeInclusive;

use measure::event::Details;
use measure::unit::{Bytes, Instant, Nanos};
use protocol::application::talk::Digest;
use protocol::application::{Came, Reply, Speech};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::phases::Parts;
use super::secured::Fetched;
use super::{Framed, Trouble};
use crate::clock::Monotonic;
use crate::tcp_info::TcpInfo;

/// Pauses, beyond a round trip, for which Linux delays an acknowledgement where nothing is to be sent: `TCP_DELACK_MIN`, which a tick of its clock and
/// a busy host lengthen.
const DELAYED_ACKNOWLEDGEMENT: RangeInclusive<Nanos> = Nanos::millis(38)..=Nanos::millis(60);

/// A first part that is longer may wait for more of the congestion window: one of less than a segment does not.
const LESS_THAN_A_SEGMENT: u64 = 1_400;

/// A reply of which a part has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parted {
    /// Arrival of the latest part.
    came: Instant,
    /// The longest pause between two parts.
    longest: Nanos,
    /// Set where this host has acknowledged the first part at once, as far as that is known: no pause is a wait for that.
    acknowledged: bool,
}

impl Parted {
    /// The pause behind the latest part.
    fn pause(&self, now: Instant) -> Nanos {
        now.since(self.came).unwrap_or_default()
    }
}

/// The outcome of one look at a connection.
#[derive(Debug)]
pub(super) enum Look {
    Reply(Digest),
    /// Something else came, or a part.
    Something,
    Nothing,
}

impl<S: Speech> Framed<S> {
    /// Reads what is there; where that is not enough, takes what has come.
    #[inline]
    pub(super) fn look(&mut self, flags: RecvFlags) -> Result<Look, Trouble> {
        let unasked = self.unasked;
        if let Some(digest) = self.read_on()? {
            return Ok(Look::Reply(digest));
        }
        if self.unasked > unasked {
            // It is told before the connection is waited for, which may end.
            return Ok(Look::Something);
        }
        if self.begin > 0 {
            self.incoming.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        if self.end == self.incoming.len() {
            return Err(Trouble::Foreign("what comes has no end"));
        }
        match self.fetch(flags)? {
            Fetched::End => self.ended(),
            Fetched::Octets(count) => {
                if self.door.anew.is_some() {
                    self.fetched = Monotonic::now();
                    self.details.first.get_or_insert(self.fetched);
                }
                self.end += count;
                self.starved = false;
                let read = self.read_on()?;
                if read.is_none() && (self.read > 0 || self.begin < self.end) {
                    self.note_part();
                }
                Ok(read.map_or(Look::Something, Look::Reply))
            }
            Fetched::Aside => {
                // A server that waits until it is acknowledged holds the reply behind it, as behind a first part of it.
                self.note_part();
                Ok(Look::Nothing)
            }
            Fetched::Nothing => Ok(Look::Nothing),
        }
    }

    /// Takes what has come behind what is unread.
    #[inline]
    pub(super) fn fetch(&mut self, flags: RecvFlags) -> Result<Fetched, Trouble> {
        let room = &mut self.incoming[self.end..];
        let Some(secured) = &mut self.secured else {
            return match self.taker.take(&self.socket, room, flags) {
                Ok(0) => Ok(Fetched::End),
                Ok(count) => Ok(Fetched::Octets(count)),
                Err(Errno::AGAIN | Errno::INTR) => Ok(Fetched::Nothing),
                Err(errno) => Err(Trouble::System(errno)),
            };
        };
        let before = self.unsent.len();
        let taker = &mut self.taker;
        let fetched = secured.fetch(room, &mut self.unsent, |room| taker.take(&self.socket, room, flags))?;
        if self.unsent.len() > before {
            self.flush_now()?;
        }
        Ok(fetched)
    }

    /// Reads of what is there up to the end of a reply.
    #[inline]
    pub(super) fn read_on(&mut self) -> Result<Option<Digest>, Trouble> {
        while self.begin < self.end && !self.starved {
            let taken = self.speech.take(&self.incoming[self.begin..self.end]);
            self.begin += taken.octets;
            match taken.came {
                Came::Part => {
                    self.read += taken.octets as u64;
                    self.starved = taken.octets == 0;
                }
                Came::Reply(reply) if self.is_unasked(&reply) => self.passed_over(&reply),
                Came::Reply(reply) => return Ok(Some(self.replied(reply, taken.octets as u64))),
                Came::Aside | Came::Opened => {
                    // Between the parts of a reply it ends nothing.
                    if self.read == 0 || !self.speech.interleaves() {
                        (self.read, self.early) = (0, false);
                        // A reply does not begin with it: what follows it has just come.
                        self.details.first = (self.begin < self.end).then_some(self.fetched);
                    }
                    let answer = self.speech.answer().to_vec();
                    self.say(&answer)?;
                }
                Came::Secure => self.secure_within()?,
                Came::Declined(words) => return Err(Trouble::Declined(words)),
                Came::Unsound(why) => return Err(Trouble::Foreign(why)),
            }
        }
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        }
        Ok(None)
    }

    /// True for a reply to no request, as far as that can be known without a number: none is out, or it began before the only one was sent.
    #[inline]
    fn is_unasked(&self, reply: &Reply) -> bool {
        reply.number.is_none() && (self.early || self.outstanding.is_empty())
    }

    /// A reply to no request ends none. One that only says that the connection ends, as a status 408 between requests, is that end alone.
    #[cold]
    fn passed_over(&mut self, reply: &Reply) {
        (self.read, self.early) = (0, false);
        if reply.closes {
            self.end_as_announced();
        } else {
            self.unasked += 1;
        }
    }

    #[inline]
    pub(super) fn replied(&mut self, reply: Reply, octets: u64) -> Digest {
        (self.fruitful, self.fruitless) = (true, 0);
        self.answered_one(reply.number);
        (self.by_order, self.early) = (reply.number.is_none(), false);
        // Parts of several replies that come in turn are not told apart here.
        let mixed = self.speech.interleaves() && !self.outstanding.is_empty();
        let digest = Digest { reply, octets: if mixed { 0 } else { self.read + octets } };
        self.read = 0;
        self.details.kind = Some(reply.kind.0);
        if let Some(parted) = self.parted.take() {
            self.whole_in_parts(parted);
        }
        if self.door.anew.is_some() {
            self.whole();
        }
        if reply.closes {
            self.end_as_announced();
        }
        digest
    }

    /// A part of a reply has come, and not all of it.
    fn note_part(&mut self) {
        let came = Monotonic::now();
        match &mut self.parted {
            Some(parted) => *parted = Parted { came, longest: parted.longest.max(parted.pause(came)), ..*parted },
            // Of several replies that are waited for it is not known whose part it is.
            None if self.outstanding.len() == 1
                && self.read + (self.end - self.begin) as u64 <= LESS_THAN_A_SEGMENT =>
            {
                let acknowledged = self.acknowledged.is_some() && self.acknowledgements() != self.acknowledged;
                self.parted = Some(Parted { came, longest: Nanos::ZERO, acknowledged });
            }
            None => {}
        }
    }

    /// A reply that came in parts is complete. A pause between them as long as this host delays an acknowledgement is a wait of its sender for that
    /// (RFC 896), which is no work of the program. Where the first part was acknowledged at once, the program itself took as long; the first such
    /// reply tells nothing, for only from then on that is looked at.
    #[cold]
    fn whole_in_parts(&mut self, parted: Parted) {
        let pause = parted.longest.max(parted.pause(Monotonic::now()));
        let beyond = Nanos(pause.0.saturating_sub(self.opened.connect.unwrap_or_default().0));
        if self.numbered == 0 || !self.records() || !DELAYED_ACKNOWLEDGEMENT.contains(&beyond) {
            return;
        }
        if std::mem::replace(&mut self.suspected, true) && !parted.acknowledged {
            self.tally.held_up(pause);
        }
    }

    /// Segments without data that this host has sent; absent where the kernel does not count them.
    #[cold]
    fn acknowledgements(&self) -> Option<u32> {
        let info = TcpInfo::of(&self.socket).ok()?;
        Some(info.segs_out?.wrapping_sub(info.data_segs_out?))
    }

    /// Notes them before a request leaves: behind it, what it is answered by may have been acknowledged already.
    pub(super) fn count_acknowledgements(&mut self) {
        if self.suspected {
            self.acknowledged = self.acknowledgements();
        }
    }

    /// Strikes out the request that a reply is to: that of its number, or else the oldest.
    #[inline]
    pub(super) fn answered_one(&mut self, low: Option<u32>) {
        let Some(low) = low else {
            self.outstanding.pop_front();
            return;
        };
        let mask = u32::MAX >> (u32::BITS - self.speech.mark_bits().min(u32::BITS));
        let is_it = |number: &u64| (*number as u32 ^ low) & mask == 0;
        let place = self.outstanding.iter().position(is_it).unwrap_or(0);
        self.outstanding.remove(place);
    }

    /// Notes that the reply to a request with its own connection is complete.
    pub(super) fn whole(&mut self) {
        let last = Monotonic::now();
        let Details { opened, first, .. } = self.details;
        let seen = opened.zip(first).and_then(|(opened, first)| first.since(opened).zip(last.since(first)));
        // One that came before it was asked for has no parts.
        self.parts = self
            .parts
            .take()
            .zip(seen)
            .map(|((number, parts), (wait, receive))| (number, Parts { wait, receive, ..parts }));
        let (head, body) = self.speech.lengths().map(|(head, body)| (Bytes(head), Bytes(body))).unzip();
        self.details = Details { last: Some(last), head, body, ..self.details };
        self.fruitful = true;
    }

    /// The peer has closed the connection, which may be how a reply ends.
    #[cold]
    pub(super) fn ended(&mut self) -> Result<Look, Trouble> {
        match self.speech.closed() {
            Some(reply) if self.is_unasked(&reply) => {
                self.passed_over(&reply);
                Ok(Look::Something)
            }
            Some(reply) => Ok(Look::Reply(self.replied(reply, 0))),
            None => Err(Trouble::Closed),
        }
    }
}
