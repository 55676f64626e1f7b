//! A connection whose thread waits for others too: nothing here waits, and nothing is made anew.

use measure::unit::Instant;
use protocol::application::number::nearest;
use protocol::application::{Reply, Speech};
use rustix::net::RecvFlags;

use super::{Framed, Look};
use crate::clock::Monotonic;

/// Looks at a connection in a row: more than the TLS records that fit its buffer, which no event reports.
const LOOKS: u32 = 2_048;

/// The next thing that came on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A reply.
    Reply {
        /// To which request.
        number: u64,
        /// True where the request counts as answered.
        sound: bool,
        /// The instant at which it was in our hands.
        at: Instant,
        /// True where the server has said that it answers nothing behind this on the connection: what is out on it was not served.
        closes: bool,
    },
    /// Something that is none of the protocol, in the place of the reply to this request, where one was out. Nothing more is asked here.
    Corrupt(Option<u64>),
    /// Nothing more for now.
    Nothing,
    /// The connection has ended: [`Framed::fallen`] names the requests that went down with it.
    End,
}

impl<S: Speech> Framed<S> {
    /// Sends request `number`, a copy of `request`; false where the connection has ended, and the request has not left. The rest of one that did not
    /// go at once goes with what is heard or asked next.
    pub fn ask(&mut self, number: u64, request: &mut [u8]) -> bool {
        if self.spent {
            return false;
        }
        self.numbered = number.wrapping_add(1);
        self.speech.mark(request, number);
        self.refresh().is_ok() && self.flush_now().is_ok() && self.put(request).is_ok()
    }

    /// The number of requests that have no reply yet.
    pub fn unanswered(&self) -> usize {
        self.outstanding.len()
    }

    /// True once the connection has brought a reply.
    pub fn is_fruitful(&self) -> bool {
        self.fruitful
    }

    /// True where nothing more can be asked here.
    pub fn is_spent(&self) -> bool {
        self.spent
    }

    /// Takes the next of what has come.
    pub fn hear(&mut self) -> Heard {
        for _ in 0..LOOKS {
            if self.spent {
                return Heard::End;
            }
            let oldest = self.outstanding.front().copied();
            match self.look(RecvFlags::DONTWAIT) {
                Ok(Look::Reply(digest)) => {
                    let at = Monotonic::now();
                    // A reply without a request ends none.
                    let Some(oldest) = oldest else { continue };
                    let Reply { kind, sound, number, closes } = digest.reply;
                    self.tally.count(kind, sound, digest.octets);
                    let number = number.map_or(oldest, |low| nearest(low, self.speech.mark_bits(), oldest));
                    return Heard::Reply { number, sound, at, closes };
                }
                Ok(Look::Something) => {}
                Ok(Look::Nothing) => match self.flush_now() {
                    Ok(_) => return Heard::Nothing,
                    Err(_) => self.spend(),
                },
                Err(trouble) => {
                    let foreign = self.keep_foreign(&trouble);
                    self.spend();
                    if foreign {
                        return Heard::Corrupt(self.lost.pop_front());
                    }
                }
            }
        }
        if self.spent { Heard::End } else { Heard::Nothing }
    }

    /// The next request that went down with the connection.
    pub fn fallen(&mut self) -> Option<u64> {
        self.lost.pop_front()
    }
}
