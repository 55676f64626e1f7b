//! A claim about measurements, as `p50(ping every 1s) > 1.5 × p50(tcp_rr)`, and the judgement of several claims together.
//!
//! A claim sets a figure of one measurement against that of another, or against a bound. It holds, or does not hold, where the whole
//! interval says so; otherwise it is not shown. All intervals of a study together leave out [`crate::comparison::ALARMS`]: among its claims
//! (Bonferroni), and among the looks at which it may end ([`crate::comparison::LOOKS`]).

mod judge;
#[cfg(test)]
mod tests;
mod text;

use serde::{Deserialize, Serialize};

pub use self::judge::{ClaimFinding, ClaimVerdict, Series, looks, settle};
pub use self::text::ClaimError;
use crate::study::figure::Figure;

/// Most claims of a study: beyond, no number of blocks that is made could show one.
pub const MOST: usize = 60;

/// A claim, read from its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct Claim {
    text: String,
    left: Term,
    relation: Relation,
    right: Right,
}

/// A figure of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The figure.
    pub figure: Figure,
    /// The measurement's name.
    pub of: String,
    /// Octets of the claim's text from which the name begins.
    pub at: usize,
}

/// The relation in which the left side is said to stand to the right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Relation {
    More,
    Less,
    /// Apart by no more than this share of the right side.
    Within(f64),
}

/// The right side of a claim.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Right {
    /// A multiple of another measurement's figure.
    Times(f64, Term),
    /// A number in the unit of the figure.
    Bound(f64),
}

impl Claim {
    /// The figures that it names, the left one first.
    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        let right = match &self.right {
            Right::Times(_, term) => Some(term),
            Right::Bound(_) => None,
        };
        std::iter::once(&self.left).chain(right)
    }

    /// The figure on its left, in whose unit its numbers are.
    pub fn figure(&self) -> Figure {
        self.left.figure
    }

    /// The bound, in the unit of the figure, where the right side is one.
    pub fn bound(&self) -> Option<f64> {
        match self.right {
            Right::Bound(bound) => Some(bound),
            Right::Times(..) => None,
        }
    }

    /// The factor before the right figure, without unit; 1 of a bound.
    pub fn factor(&self) -> f64 {
        match self.right {
            Right::Times(factor, _) => factor,
            Right::Bound(_) => 1.0,
        }
    }
}
