//! Messages of a load: their sizes, and whether those that are due together share a call.

use std::fmt;

use fastrand::Rng;
use serde::{Deserialize, Serialize};

use crate::unit::Bytes;

/// Sizes of the messages of a load. The size of a request in the method is the largest; draws are seeded by
/// [`super::Method::seed`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// All alike; or, where the schedule is a trace, as the trace has them.
    #[default]
    Fixed,
    /// Every size of a range as often as any other.
    Uniform {
        /// The smallest, in bytes.
        smallest: Bytes,
        /// The largest, in bytes, at least the smallest.
        largest: Bytes,
    },
    /// A few sizes, each with its share.
    Mix(
        /// At least one.
        Vec<Share>,
    ),
}

/// One size of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Share {
    /// The size in bytes.
    pub bytes: Bytes,
    /// Relative frequency: a number above 0.
    pub weight: u32,
}

impl Sizes {
    /// The smallest and the largest that can come; `None` where all are of one size, which [`super::Method`] tells, and
    /// of an empty mix.
    pub fn range(&self) -> Option<(Bytes, Bytes)> {
        match self {
            Self::Fixed => None,
            Self::Uniform { smallest, largest } => Some((*smallest, *largest)),
            Self::Mix(shares) => {
                let sizes = || shares.iter().map(|share| share.bytes);
                sizes().min().zip(sizes().max())
            }
        }
    }

    /// One size by chance; `None` where all are of one size.
    fn draw(&self, rng: &mut Rng) -> Option<Bytes> {
        match self {
            Self::Fixed => None,
            Self::Uniform { smallest, largest } => Some(Bytes(rng.u64(smallest.0..=largest.0.max(smallest.0)))),
            Self::Mix(shares) => draw_share(shares, rng),
        }
    }
}

/// The sizes of the messages of one connection, one after the other.
#[derive(Clone, Debug)]
pub struct Draws<'a> {
    sizes: &'a Sizes,
    rng: Rng,
}

/// Keeps the draws of sizes apart from those of gaps, which have the same seed.
const SIZES: u64 = 0x5129_e5a1_0000_0000;

impl<'a> Draws<'a> {
    /// Sizes of connection `turn`: each has draws of its own, and all follow from `seed`.
    pub fn new(sizes: &'a Sizes, turn: u32, seed: u64) -> Self {
        Self { sizes, rng: Rng::with_seed(seed ^ SIZES ^ (u64::from(turn) << 32)) }
    }

    /// The next one; `None` where all are of one size.
    pub fn draw(&mut self) -> Option<Bytes> {
        self.sizes.draw(&mut self.rng)
    }
}

fn draw_share(shares: &[Share], rng: &mut Rng) -> Option<Bytes> {
    let total: u64 = shares.iter().map(|share| u64::from(share.weight)).sum();
    let mut drawn = rng.u64(0..total.max(1));
    for share in shares {
        let weight = u64::from(share.weight);
        if drawn < weight {
            return Some(share.bytes);
        }
        drawn -= weight;
    }
    None
}

/// As it is typed: `64..1400 B`, `64:7,576:4,1500:1 B`; nothing where all are of one size.
impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed => Ok(()),
            Self::Uniform { smallest, largest } => write!(f, "{}..{} B", smallest.0, largest.0),
            Self::Mix(shares) => {
                for (index, share) in shares.iter().enumerate() {
                    write!(f, "{}{}:{}", if index > 0 { "," } else { "" }, share.bytes.0, share.weight)?;
                }
                f.write_str(" B")
            }
        }
    }
}

/// Bound on the one-way messages that are due together and leave in one call. Messages that ask for a reply go alone, so
/// that each has a send stamp of its own; one that is due never waits for others to join it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Batch {
    /// Messages of one call at most, from 2.
    pub messages: u32,
    /// Way in which they share the call.
    pub by: BatchBy,
}

/// Way in which messages share a call. It changes what is measured: messages of one call arrive close together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BatchBy {
    /// Datagrams of their own, handed over together (`sendmmsg`).
    Calls,
    /// One buffer that the kernel or the card cuts into datagrams (`UDP_SEGMENT`): messages of one size only. On a path
    /// without a wire it is not cut at all, so a rate reached by it says nothing of a wire.
    Segments,
}

impl fmt::Display for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.by {
            BatchBy::Calls => write!(f, "up to {} datagrams a call", self.messages),
            BatchBy::Segments => write!(f, "up to {} segments a call", self.messages),
        }
    }
}
