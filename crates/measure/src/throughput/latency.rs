//! Effect of streams on the round trip of an exchange beside them: before, while and after they run.

use serde::{Deserialize, Serialize};

use crate::outcome::{Distribution, Standing};
use crate::unit::Nanos;

/// Exchanges over a flow of their own; none waits for another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnderLoad {
    /// Method of the exchanges, on one line.
    pub method: String,
    /// Before the streams.
    pub idle: Phase,
    /// While they ran.
    pub loaded: Phase,
    /// After they had ended.
    pub after: Phase,
    /// Median round trip of the loaded flows as their own TCP smooths it, mean over the intervals, in nanoseconds: the queues
    /// they share and those of their own sockets. Absent of datagrams.
    pub inside_ns: Option<Nanos>,
}

/// The exchanges of one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    /// Number of exchanges that were due.
    pub scheduled: u64,
    /// Number of those that nobody answered in time.
    pub unanswered: u64,
    /// Response times from the intended instant.
    pub response: Distribution,
}

impl Phase {
    /// A quantile, where the printing rule lets it be told.
    pub fn quantile(&self, q: f64) -> Option<Nanos> {
        let found = self.response.quantiles.iter().find(|quantile| quantile.q == q)?;
        (found.standing != Standing::TooFew).then_some(found.value_ns)?
    }
}

impl UnderLoad {
    /// Returns the increase of this quantile under the streams, in nanoseconds; `None` where either phase has too few
    /// exchanges to tell.
    pub fn added(&self, q: f64) -> Option<i64> {
        let (idle, loaded) = (self.idle.quantile(q)?, self.loaded.quantile(q)?);
        Some(loaded.0.cast_signed() - idle.0.cast_signed())
    }
}
