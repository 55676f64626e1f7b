//! Common part of both ends of a control connection: octets that come and go, the way to a channel, messages over it, and an
//! end that is final. The order of messages is each end's own affair: see `client` and `server`.

use std::collections::VecDeque;

use serde::Serialize;

use crate::native::channel::Channel;
use crate::native::error::{SessionError, Step};
use crate::native::noise::Handshake;
use crate::native::stranger::{NotSonde, Saw};

/// Where an end stands once there is a channel.
pub(super) trait Phase: Copy + PartialEq {
    /// Where it begins.
    const FIRST: Self;

    /// Returns the progress of the connection in this phase.
    fn step(self) -> Step;
}

/// One end of a control connection, without the meaning of its messages.
#[derive(Debug)]
pub(super) struct Conversation<P, E> {
    state: State<P>,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    events: VecDeque<E>,
    /// The number of the key by which the other end's handshake was made, which may be a copy of somebody else's.
    claimed: Option<usize>,
    holder: Option<usize>,
}

#[derive(Debug)]
enum State<P> {
    Greeting,
    Shaking(Handshake),
    Talking(P, Channel),
    Done,
    Failed(SessionError),
}

/// Result of octets that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fed {
    /// More of a preamble stands in the inbox.
    Greeting,
    /// The channel is open, and there may be messages already.
    Open,
    /// There may be messages.
    Messages,
    /// Nothing to go on with.
    Nothing,
}

impl<P: Phase, E> Conversation<P, E> {
    /// A connection that was just made, with the first octets to be written.
    pub fn new(outbox: Vec<u8>) -> Self {
        Self { state: State::Greeting, inbox: Vec::new(), outbox, events: VecDeque::new(), claimed: None, holder: None }
    }

    /// The number of the key that the other end proved: only who made the handshake can seal a message after it.
    pub fn holder(&self) -> Option<usize> {
        self.holder
    }

    pub fn outgoing(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.outbox)
    }

    /// Octets to be written beside the messages: a preamble's answer.
    pub fn write(&mut self, octets: &[u8]) {
        self.outbox.extend_from_slice(octets);
    }

    /// Returns the octets that wait to be written, a count.
    pub fn unwritten(&self) -> usize {
        self.outbox.len()
    }

    pub fn event(&mut self) -> Option<E> {
        self.events.pop_front()
    }

    pub fn tell(&mut self, event: E) {
        self.events.push_back(event);
    }

    /// Returns the octets that came and were not taken yet, while there is no channel.
    pub fn inbox(&self) -> &[u8] {
        &self.inbox
    }

    /// The same, once.
    pub fn take_inbox(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.inbox)
    }

    /// Drops the first octets of the inbox, which are dealt with.
    pub fn drop_read(&mut self, octets: usize) {
        self.inbox.drain(..octets);
    }

    /// Where this end stands; `None` without a channel.
    pub fn phase(&self) -> Option<P> {
        match self.state {
            State::Talking(phase, _) => Some(phase),
            _ => None,
        }
    }

    /// Stands at `phase` from here on, where there is a channel.
    pub fn enter(&mut self, next: P) {
        if let State::Talking(phase, _) = &mut self.state {
            *phase = next;
        }
    }

    pub fn step(&self) -> Step {
        match &self.state {
            State::Greeting => Step::Greet,
            State::Shaking(_) => Step::Handshake,
            State::Talking(phase, _) => phase.step(),
            State::Done | State::Failed(_) => Step::Done,
        }
    }

    /// The error that ended it.
    pub fn failure(&self) -> Option<&SessionError> {
        match &self.state {
            State::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// Nothing comes any more; an error stays one.
    pub fn finish(&mut self) {
        if self.failure().is_none() {
            self.state = State::Done;
        }
    }

    /// Ends it by an error, which every later call gives again.
    pub fn fail(&mut self, error: SessionError) {
        self.state = State::Failed(error);
    }

    /// The error of a call that has no place now.
    pub fn misplaced(&self, what: &'static str) -> SessionError {
        self.failure().cloned().unwrap_or_else(|| SessionError::OutOfOrder { what, step: self.step() })
    }

    /// Returns the error of having waited in vain for the other end's preamble, by the octets that came; `None` where
    /// that is past.
    pub fn stranger(&self, nothing: Saw) -> Option<SessionError> {
        let saw = if self.inbox.is_empty() { nothing } else { Saw::of(&self.inbox) };
        matches!(self.state, State::Greeting).then_some(SessionError::NotSonde(NotSonde { saw }))
    }

    /// Returns the reason why it is an error that the other end closed the connection; `None` where nothing more was to come.
    pub fn closed(&self) -> Option<SessionError> {
        match &self.state {
            State::Done => None,
            State::Failed(error) => Some(error.clone()),
            // An end that cannot open our handshake may be gone before its message about it is read.
            _ => self.stranger(Saw::CLOSED).or_else(|| Some(SessionError::Closed { step: self.step() })),
        }
    }

    /// Takes octets that arrived.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Fed, SessionError> {
        match &mut self.state {
            State::Failed(error) => Err(error.clone()),
            State::Done => Ok(Fed::Nothing),
            State::Greeting => {
                self.inbox.extend_from_slice(bytes);
                Ok(Fed::Greeting)
            }
            State::Shaking(handshake) => {
                let done = handshake.feed(bytes, &mut self.outbox)?;
                if done { self.open_sealed() } else { Ok(Fed::Nothing) }
            }
            State::Talking(_, channel) => channel.feed(bytes).map(|()| Fed::Messages),
        }
    }

    /// Continues with a handshake, whose first octets `begin` may write, and the octets behind the preamble.
    pub fn shake(
        &mut self,
        begin: impl FnOnce(&mut Vec<u8>) -> Result<Handshake, SessionError>,
        rest: &[u8],
    ) -> Result<Fed, SessionError> {
        self.state = State::Shaking(begin(&mut self.outbox)?);
        self.feed(rest)
    }

    /// Continues with a channel that is not sealed, and the octets behind the preamble.
    pub fn open(&mut self, rest: &[u8]) -> Result<Fed, SessionError> {
        self.begin(Channel::default(), rest)
    }

    fn open_sealed(&mut self) -> Result<Fed, SessionError> {
        let State::Shaking(handshake) = std::mem::replace(&mut self.state, State::Done) else {
            return Ok(Fed::Nothing);
        };
        let (transport, rest, number) = handshake.finish()?;
        self.claimed = Some(number);
        self.begin(Channel::sealed(transport), &rest)
    }

    fn begin(&mut self, mut channel: Channel, rest: &[u8]) -> Result<Fed, SessionError> {
        channel.feed(rest)?;
        self.state = State::Talking(P::FIRST, channel);
        Ok(Fed::Open)
    }

    /// The next whole message, as it came.
    pub fn message(&mut self) -> Result<Option<Vec<u8>>, SessionError> {
        let State::Talking(_, channel) = &mut self.state else { return Ok(None) };
        let message = channel.message()?;
        if message.is_some() {
            self.holder = self.claimed;
        }
        Ok(message)
    }

    /// Octets that came over the channel and are no message yet, or one that nobody took.
    pub fn pending(&self) -> usize {
        match &self.state {
            State::Talking(_, channel) => channel.pending(),
            _ => 0,
        }
    }

    /// Says a message, where there is a channel to say it over.
    pub fn say(&mut self, message: &impl Serialize) -> Result<(), SessionError> {
        let State::Talking(_, channel) = &mut self.state else { return Ok(()) };
        let text =
            serde_json::to_vec(message).map_err(|error| SessionError::Unreadable { detail: error.to_string() })?;
        channel.write(&text, &mut self.outbox)
    }
}
