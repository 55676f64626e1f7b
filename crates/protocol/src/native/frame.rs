//! Messages on a stream: a length of four octets (big-endian), then so many octets of message.
//!
//! The decoder takes the stream in any pieces and holds at most one frame beside what it was just given: memory grows
//! with octets that came, never with a length that was only announced.

/// The longest message, octets.
pub const LARGEST: usize = 256 * 1024;

const PREFIX: usize = 4;

/// A frame that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Longer than a frame may be.
    #[error("a message of {length} octets, where {LARGEST} is the most")]
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
}

impl Decoder {
    /// Takes the next piece of the stream. Call [`Decoder::message`] until it yields nothing before the next piece.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole message; `None` while its end has not come. An announced length beyond [`LARGEST`] is an error
    /// that stays: the place of the next frame is unknown.
    pub fn message(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        let Some(prefix) = self.buffer.first_chunk::<PREFIX>() else { return Ok(None) };
        let length = u32::from_be_bytes(*prefix) as usize;
        if length > LARGEST {
            return Err(FrameError::TooLong { length });
        }
        let Some(message) = self.buffer.get(PREFIX..PREFIX + length) else { return Ok(None) };
        let message = message.to_vec();
        self.buffer.drain(..PREFIX + length);
        Ok(Some(message))
    }

    /// Octets held of a frame that is not whole.
    pub fn pending(&self) -> usize {
        self.buffer.len()
    }
}
