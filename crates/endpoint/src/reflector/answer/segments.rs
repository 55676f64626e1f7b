//! Datagrams that come many in one call: each is looked at as if it had come alone, and one that makes no sense spoils
//! none of its neighbours.

use protocol::link::{Fault, Link, Many};
use protocol::native::header::LENGTH;

use super::{Answerer, FlowEnd, ONE_GLANCE, TERMS};
use crate::clock::Monotonic;
use crate::stop::GLANCE;

/// Room for whatever one call brings: more than a datagram can have.
const ROOM: usize = protocol::native::limits::SEGMENTS.0 as usize;

impl<L: Link> Answerer<L> {
    /// As [`Answerer::run`], over a link that takes segments. None of them is stamped by this end: they have one arrival.
    pub fn run_many(&mut self) -> FlowEnd {
        let mut buffer = vec![0; ROOM];
        loop {
            if !self.foreign.is_empty() {
                return FlowEnd::Foreign;
            }
            match self.link.receive_many(&mut buffer, ONE_GLANCE) {
                // No message, but the end of a wait at a socket that was shut.
                Ok(Some(Many { length: 0, .. })) if self.is_over() => return self.end_many(),
                Ok(Some(many)) => {
                    if let Err(fault) = self.answer_many(many, &buffer) {
                        return FlowEnd::Broken(fault);
                    }
                }
                Err(fault) if fault.ends_the_run() => return FlowEnd::Broken(fault),
                Ok(None) | Err(_) => {}
            }
            if self.is_over() {
                return self.end_many();
            }
        }
    }

    /// Counts the one-way messages of `many`, and answers the others one by one. An error ends the flow.
    fn answer_many(&mut self, many: Many, buffer: &[u8]) -> Result<(), Fault> {
        let mut silent = 0;
        for message in many.messages(buffer) {
            if self.mac.is_none() && !self.session.is_bounded() && self.is_silent(message) {
                self.counts.noted(&mut self.seen, message);
                silent += 1;
                continue;
            }
            // Before the next is answered, for its reply carries the number that have come.
            self.counts.more_received(std::mem::take(&mut silent));
            let length = self.take_up(message);
            match self.answer(length, None) {
                Err(fault) if fault.ends_the_run() => return Err(fault),
                // A reply that was not sent is the client's to miss.
                Ok(()) | Err(_) => {}
            }
        }
        self.counts.more_received(silent);
        Ok(())
    }

    #[inline]
    fn is_silent(&self, message: &[u8]) -> bool {
        (LENGTH..=self.request_head).contains(&message.len())
            && message[TERMS] == self.silent
            && message[..16] == self.session.token.0
    }

    /// Copies a message to the buffer of requests, as much of it as shows that it is too long.
    fn take_up(&mut self, message: &[u8]) -> usize {
        let length = message.len().min(self.buffer.len());
        self.buffer[..length].copy_from_slice(&message[..length]);
        length
    }

    /// As [`Answerer::end`].
    #[cold]
    fn end_many(&mut self) -> FlowEnd {
        if self.session.over.requested() {
            self.drain_many();
        }
        FlowEnd::Over
    }

    /// As [`Answerer::drain`].
    #[cold]
    pub fn drain_many(&mut self) {
        let mut buffer = vec![0; ROOM];
        let until = Monotonic::now().after(GLANCE);
        while Monotonic::now() < until {
            match self.link.try_receive_many(&mut buffer) {
                Ok(Some(many)) => {
                    for message in many.messages(&buffer) {
                        let length = self.take_up(message);
                        self.count(length);
                    }
                }
                Err(fault) if fault.ends_the_run() => break,
                Err(_) => {}
                Ok(None) => break,
            }
        }
    }
}
