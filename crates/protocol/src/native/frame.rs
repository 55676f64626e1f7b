//! Messages on a stream: a length of four octets (big-endian), then so many octets of message.
//!
//! The decoder takes the stream in any pieces and holds at most one frame beside the latest piece: memory grows
//! with octets that came, never with a length that was only announced.

/// The longest message, octets.
pub const LARGEST: usize = 256 * 1024;

const PREFIX: usize = 4;

/// A frame that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Longer than a frame may be.
    #[error("a message of {length} octets; the limit is {LARGEST}")]
    TooLong {
        /// Its length, octets.
        length: usize,
    },
}

/// Appends `message` as a frame to `out`; one that is too long is refused and nothing is appended.
pub fn write(message: &[u8], out: &mut Vec<u8>) -> Result<(), FrameError> {
    let length = message.len();
    let prefix = u32::try_from(length).ok().filter(|_| length <= LARGEST).ok_or(FrameError::TooLong { length })?;
    out.extend_from_slice(&prefix.to_be_bytes());
    out.extend_from_slice(message);
    Ok(())
}

/// Takes frames out of a stream.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Octets at its front that are taken already; moving the rest once a piece is enough.
    taken: usize,
}

impl Decoder {
    /// Takes the next piece of the stream. Call [`Decoder::message`] until it yields nothing before the next piece.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole message; `None` while its end has not come. An announced length beyond [`LARGEST`] is an error
    /// that stays: the place of the next frame is unknown.
    pub fn message(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        let rest = &self.buffer[self.taken..];
        let Some(prefix) = rest.first_chunk::<PREFIX>() else { return Ok(None) };
        let length = u32::from_be_bytes(*prefix) as usize;
        if length > LARGEST {
            return Err(FrameError::TooLong { length });
        }
        let Some(message) = rest.get(PREFIX..PREFIX + length) else { return Ok(None) };
        let message = message.to_vec();
        self.taken += PREFIX + length;
        Ok(Some(message))
    }

    /// Octets held of a frame that is not whole.
    pub fn pending(&self) -> usize {
        self.buffer.len() - self.taken
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(decoder: &mut Decoder) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| decoder.message().expect("within the bounds")).collect()
    }

    #[test]
    fn the_largest_message_passes_and_one_more_octet_does_not() {
        let mut out = Vec::new();
        write(&vec![1; LARGEST], &mut out).unwrap();
        let mut decoder = Decoder::default();
        decoder.feed(&out);
        assert_eq!(all(&mut decoder), [vec![1; LARGEST]]);
        let length = out.len();
        assert_eq!(write(&vec![1; LARGEST + 1], &mut out), Err(FrameError::TooLong { length: LARGEST + 1 }));
        assert_eq!(out.len(), length, "nothing was appended");
    }

    #[test]
    fn an_announced_length_beyond_the_bound_is_an_error_that_stays() {
        let mut decoder = Decoder::default();
        decoder.feed(&[0, 4, 0, 1]);
        let error = Err(FrameError::TooLong { length: LARGEST + 1 });
        assert_eq!((decoder.message(), decoder.message()), (error.clone(), error));
    }

    #[test]
    fn an_announced_length_takes_no_memory() {
        let mut decoder = Decoder::default();
        decoder.feed(&[0, 3, 255, 255, 7]);
        assert_eq!(decoder.message(), Ok(None));
        assert!(decoder.buffer.capacity() < 64, "{} octets held", decoder.buffer.capacity());
    }

    proptest! {
        #[test]
        fn any_split_yields_the_same_messages(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8),
            cuts in prop::collection::vec(1..9_usize, 1..20),
        ) {
            let mut stream = Vec::new();
            for message in &messages {
                write(message, &mut stream).unwrap();
            }
            let (mut decoder, mut seen, mut rest) = (Decoder::default(), Vec::new(), &stream[..]);
            for cut in cuts.iter().cycle().take_while(|_| !messages.is_empty()) {
                let (piece, tail) = rest.split_at((*cut).min(rest.len()));
                decoder.feed(piece);
                seen.extend(all(&mut decoder));
                rest = tail;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(seen, messages);
            prop_assert_eq!(decoder.pending(), 0);
        }
    }
}
