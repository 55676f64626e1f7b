//! The histogram as a record carries it: `HdrHistogram` V2, base64, or its octets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

use crate::statistics::quantile::Ranked;
use crate::unit::Nanos;

/// A text that carries no histogram.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an HdrHistogram V2 payload in base64: {reason}")]
pub struct NoHistogram {
    /// Fault of the histogram.
    pub reason: String,
}

/// `histogram` as text; not compressed: most of it are runs of empty buckets, which take a byte or two.
pub fn encode(histogram: &Histogram<u64>) -> String {
    STANDARD.encode(to_bytes(histogram))
}

/// The same as octets.
pub fn to_bytes(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(histogram, &mut bytes)
        .expect("a vector takes all that is written, and our counts fit");
    bytes
}

/// The histogram that `text` carries. It takes no more memory than one of ours, whatever the text claims of itself: a payload that is
/// not as long as it says, one that is deflated, or one of more digits than three is refused before any is taken.
///
/// # Errors
/// It carries none.
pub fn decode(text: &str) -> Result<Histogram<u64>, NoHistogram> {
    from_bytes(&STANDARD.decode(text).map_err(|cause| NoHistogram { reason: cause.to_string() })?)
}

/// The histogram that octets carry, as of [`decode`].
///
/// # Errors
/// They carry none.
pub fn from_bytes(mut bytes: &[u8]) -> Result<Histogram<u64>, NoHistogram> {
    let fault = |reason: String| NoHistogram { reason };
    sound(bytes).map_err(|reason| fault(reason.to_owned()))?;
    let found: Histogram<u64> =
        Deserializer::new().deserialize(&mut bytes).map_err(|cause| fault(format!("{cause:?}")))?;
    // The sum stops there, so that it is no sum.
    if found.len() == u64::MAX { Err(fault("its counts add up to no number".to_owned())) } else { Ok(found) }
}

/// Compares the header of the format with the data behind it (`HdrHistogram`'s `V2` encoding: cookie, length of the payload,
/// offset, digits, four octets each, then lowest, highest and ratio, eight octets each; all big-endian).
fn sound(bytes: &[u8]) -> Result<(), &'static str> {
    const PLAIN: u32 = 0x1c84_9313;
    const HEADER: usize = 40;
    const DIGITS: u32 = 3;
    let word = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let payload = bytes.get(HEADER..).ok_or("shorter than its header")?;
    if word(0) != Some(PLAIN) {
        return Err("not the plain form of version 2");
    }
    if word(4).is_none_or(|claimed| claimed as usize != payload.len()) {
        return Err("its length is not the one it claims");
    }
    if word(12).is_none_or(|digits| digits > DIGITS) {
        return Err("more digits than three");
    }
    // The one number whose negative is none. No two numbers make such a row: each ends with an octet below 128, or is nine long.
    if payload.windows(9).any(|nine| nine.iter().all(|octet| *octet == u8::MAX)) {
        return Err("a count beyond all numbers");
    }
    Ok(())
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

    /// A real one with `octets` in place of those at `at`.
    fn forged(at: usize, octets: &[u8]) -> Result<Histogram<u64>, NoHistogram> {
        let mut values = Values::new();
        values.record(900);
        let mut bytes = STANDARD.decode(encode(&values.histogram())).unwrap();
        bytes.splice(at..bytes.len().min(at + octets.len()), octets.iter().copied());
        let length = (bytes.len() - 40) as u32;
        if at >= 40 {
            bytes.splice(4..8, length.to_be_bytes());
        }
        decode(&STANDARD.encode(bytes))
    }

    #[test]
    fn what_it_claims_of_itself_is_not_believed() {
        let reason = |at, octets: &[u8]| forged(at, octets).unwrap_err().reason;
        assert_eq!(reason(4, &u32::MAX.to_be_bytes()), "its length is not the one it claims");
        assert_eq!(reason(0, &0x1c84_9314_u32.to_be_bytes()), "not the plain form of version 2");
        assert_eq!(reason(12, &5_u32.to_be_bytes()), "more digits than three");
        assert_eq!(reason(40, &[u8::MAX; 9]), "a count beyond all numbers");
        // Three counts of 2^63 - 1.
        let most: Vec<u8> = [[0xfe_u8].as_slice(), &[0xff; 8]].concat().repeat(3);
        assert_eq!(reason(40, &most), "its counts add up to no number");
        assert!(forged(12, &3_u32.to_be_bytes()).is_ok(), "as it was");
    }

    #[test]
    fn what_is_no_histogram_is_refused() {
        assert!(decode("no base64!").is_err());
        assert!(decode("AAAA").is_err());
        assert!(decode("").is_err());
    }
}
