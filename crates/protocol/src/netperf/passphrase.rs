//! The word a server may insist on. It travels in the clear and keeps out mistakes, not people.

use std::fmt;

/// Octets of the longest passphrase.
pub const LONGEST: usize = 647;

/// A passphrase that fits into its message.
#[derive(Clone, PartialEq, Eq)]
pub struct Passphrase(Vec<u8>);

/// A passphrase that can't be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPassphrase {
    /// Longer than a message has room for.
    #[error("the passphrase has {length} octets, and a message has room for {LONGEST}: choose a shorter one")]
    TooLong {
        /// Its length, octets.
        length: usize,
    },
    /// It holds a NUL, which is where a server stops reading.
    #[error("the passphrase contains a NUL, at which the peer stops reading")]
    Nul,
}

impl Passphrase {
    /// Takes a passphrase, in whatever encoding both ends share.
    pub fn new(text: impl Into<Vec<u8>>) -> Result<Self, BadPassphrase> {
        let text = text.into();
        match text.len() {
            length if length > LONGEST => Err(BadPassphrase::TooLong { length }),
            _ if text.contains(&0) => Err(BadPassphrase::Nul),
            _ => Ok(Self(text)),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns true where `said` is the same, in a time that does not show where it differs.
    pub(super) fn is(&self, said: &[u8]) -> bool {
        let differing = self.0.iter().zip(said).fold(0, |differing, (ours, theirs)| differing | (ours ^ theirs));
        self.0.len() == said.len() && differing == 0
    }
}

/// Does not show it.
impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Passphrase({} octets)", self.0.len())
    }
}
