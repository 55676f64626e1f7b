//! Messages over a control connection that is past its preamble: framed, and sealed where there is a key.

use crate::native::error::SessionError;
use crate::native::frame;
use crate::native::noise::Transport;

/// Both directions of a control connection.
#[derive(Debug, Default)]
pub(super) struct Channel {
    seal: Option<Transport>,
    frames: frame::Decoder,
}

impl Channel {
    /// Framed and sealed.
    pub fn sealed(seal: Transport) -> Self {
        Self { seal: Some(seal), frames: frame::Decoder::default() }
    }

    /// Takes the next piece of the stream.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), SessionError> {
        match &mut self.seal {
            None => self.frames.feed(bytes),
            Some(seal) => seal.open(bytes, &mut self.frames)?,
        }
        Ok(())
    }

    /// The next whole message.
    pub fn message(&mut self) -> Result<Option<Vec<u8>>, SessionError> {
        Ok(self.frames.message()?)
    }

    /// Octets held that are no message yet, or one that nobody took.
    pub fn pending(&self) -> usize {
        self.frames.pending()
    }

    /// Appends `message` to the octets to be written.
    pub fn write(&mut self, message: &[u8], out: &mut Vec<u8>) -> Result<(), SessionError> {
        match &mut self.seal {
            None => Ok(frame::write(message, out)?),
            Some(seal) => {
                let mut framed = Vec::with_capacity(message.len() + 4);
                frame::write(message, &mut framed)?;
                seal.seal(&framed, out)
            }
        }
    }
}
