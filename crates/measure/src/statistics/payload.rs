//! The histogram as a record carries it: `HdrHistogram` V2, base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

use crate::statistics::quantile::Ranked;
use crate::unit::Nanos;

/// A text that carries no histogram.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no HdrHistogram V2 payload in base64: {reason}")]
pub struct NoHistogram {
    /// What is wrong with it.
    pub reason: String,
}

/// `histogram` as text; not compressed: most of it are runs of empty buckets, which take a byte or two.
pub fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(histogram, &mut bytes)
        .expect("a vector takes all that is written, and our counts fit");
    STANDARD.encode(bytes)
}

/// The histogram that `text` carries.
pub fn decode(text: &str) -> Result<Histogram<u64>, NoHistogram> {
    let fault = |reason: String| NoHistogram { reason };
    let bytes = STANDARD.decode(text).map_err(|cause| fault(cause.to_string()))?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|cause| fault(format!("{cause:?}")))
}

/// The middle of each occupied bucket and how many values it holds, ascending.
pub fn buckets(histogram: &Histogram<u64>) -> Vec<(Nanos, u64)> {
    histogram
        .iter_recorded()
        .map(|step| (Nanos(histogram.median_equivalent(step.value_iterated_to())), step.count_at_value()))
        .collect()
}

/// The distribution in a histogram as a record carries it; empty where it carries none.
pub fn ranked(text: &str) -> Ranked {
    decode(text).map_or(Ranked::Counted(Vec::new()), |histogram| {
        let mut upto = 0;
        let steps = buckets(&histogram).into_iter().map(|(Nanos(value), count)| {
            upto += count;
            (value, upto)
        });
        Ranked::Counted(steps.collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Values;

    #[test]
    fn what_was_recorded_comes_back_from_the_text() {
        let mut values = Values::new();
        for ns in [12, 900, 900, 25_000, 3_600_000_000_000] {
            values.record(ns);
        }
        let back = decode(&encode(&values.histogram())).unwrap();
        assert_eq!(back, values.histogram());
        let buckets = buckets(&back);
        assert_eq!(buckets[..2], [(Nanos(12), 1), (Nanos(900), 2)]);
        assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 5);
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        assert!(decode("no base64!").is_err());
        assert!(decode("AAAA").is_err());
        assert!(decode("").is_err());
    }
}
