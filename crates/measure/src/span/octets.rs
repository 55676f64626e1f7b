//! A [`Span`] as octets: the form in which stores keep it.
//!
//! Numbers are LEB128: seven bits an octet, the lowest first. A form (1), then the fields that are not 0 as bits of one number, then those fields in the
//! order of their bits, then the buckets of response times up to the end: the distance to the bucket before, doubled, and one more where
//! a count follows, which is 1 otherwise. Buckets are those of [`coarse`], numbered from 0, so that a minute of 60 answers takes about 70 octets, where an
//! `HdrHistogram` V2 of the same buckets alone takes about 130.

use super::{FURTHEST, Span, coarse};
use crate::unit::Nanos;

/// The form.
const FORM: u8 = 1;
/// More than anything that is measured: 10 million requests a second for three weeks. So sums of a million rows still fit their numbers.
const MOST: u64 = 1 << 44;
/// Fields that are numbers by themselves.
const FIELDS: usize = 22;

/// Octets that carry no span.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a valid time span: {reason}")]
pub struct NoSpan {
    /// Fault of the octets.
    pub reason: &'static str,
}

impl Span {
    /// As octets. Response times are kept by buckets of two digits.
    pub fn to_octets(&self) -> Vec<u8> {
        let fields = self.fields();
        let mut octets = vec![FORM];
        let set = fields.iter().enumerate().filter(|(_, value)| **value != 0).fold(0, |set, (at, _)| set | 1 << at);
        put(&mut octets, set);
        fields.iter().filter(|value| **value != 0).for_each(|value| put(&mut octets, *value));
        let mut next = 0;
        for (value, count) in self.times.coarsened().buckets() {
            let at = number(value);
            put(&mut octets, (at - next) << 1 | u64::from(count > 1));
            if count > 1 {
                put(&mut octets, count);
            }
            next = at + 1;
        }
        octets
    }

    /// Decodes a span. Counts and sizes in the octets are checked before they are used.
    ///
    /// # Errors
    /// They carry none.
    pub fn from_octets(octets: &[u8]) -> Result<Self, NoSpan> {
        let fault = |reason| NoSpan { reason };
        let (form, mut rest) = octets.split_first().ok_or(fault("it is empty"))?;
        if *form != FORM {
            return Err(fault("its form is unknown"));
        }
        let set = take(&mut rest)?;
        if set >> FIELDS != 0 {
            return Err(fault("it has unknown fields"));
        }
        let mut fields = [0; FIELDS];
        for (at, field) in fields.iter_mut().enumerate().filter(|(at, _)| set >> at & 1 == 1) {
            *field = take(&mut rest)?;
            // Those that are no counts are lengths of time.
            if at > 2 && *field > MOST {
                return Err(fault("a count beyond what can be measured"));
            }
        }
        let mut span = Self::of_fields(&fields);
        let (mut last, mut next) = (0, 0_u64);
        while !rest.is_empty() {
            let head = take(&mut rest)?;
            let count = if head & 1 == 1 { take(&mut rest)? } else { 1 };
            let value = next.checked_add(head >> 1).and_then(middle).filter(|value| *value <= FURTHEST);
            let value = value.ok_or(fault("a bucket is out of range"))?;
            if count == 0 || count > MOST || span.times.count() > MOST - count {
                return Err(fault("a count beyond what can be measured"));
            }
            span.times.push(last, value, count);
            (last, next) = (value, next + (head >> 1) + 1);
        }
        // The last field tells a distribution that holds another number of values than were answered.
        let told = if fields[FIELDS - 1] == 0 { span.counts.answered } else { fields[FIELDS - 1] - 1 };
        if span.times.count() != told {
            return Err(fault("its number of response times differs from the stated one"));
        }
        Ok(span)
    }

    /// The fields, those that are seldom 0 first.
    fn fields(&self) -> [u64; FIELDS] {
        let counts = &self.counts;
        let optional = |value: Option<Nanos>| value.map_or(0, |nanos| nanos.0.saturating_add(1));
        let count = self.times.count();
        [
            self.sum_ns,
            optional(self.min),
            optional(self.max),
            counts.answered,
            counts.scheduled,
            counts.lost,
            self.disturbed,
            counts.late,
            self.lost_out,
            self.lost_back,
            counts.refused,
            counts.send_failed,
            counts.corrupt,
            counts.duplicated,
            counts.reordered,
            counts.strays,
            counts.ticks_missed,
            counts.clock_steps,
            counts.one_way,
            counts.one_way_failed,
            counts.one_way_refused,
            if count == counts.answered { 0 } else { count + 1 },
        ]
    }

    fn of_fields(fields: &[u64; FIELDS]) -> Self {
        let mut span = Self::default();
        let optional = |value: u64| value.checked_sub(1).map(Nanos);
        [span.sum_ns, span.counts.answered, span.counts.scheduled] = [fields[0], fields[3], fields[4]];
        [span.min, span.max] = [optional(fields[1]), optional(fields[2])];
        [span.counts.lost, span.disturbed, span.counts.late] = [fields[5], fields[6], fields[7]];
        [span.lost_out, span.lost_back, span.counts.refused] = [fields[8], fields[9], fields[10]];
        [span.counts.send_failed, span.counts.corrupt, span.counts.duplicated] = [fields[11], fields[12], fields[13]];
        [span.counts.reordered, span.counts.strays, span.counts.ticks_missed] = [fields[14], fields[15], fields[16]];
        [span.counts.clock_steps, span.counts.one_way] = [fields[17], fields[18]];
        [span.counts.one_way_failed, span.counts.one_way_refused] = [fields[19], fields[20]];
        span
    }
}

/// The number of the bucket whose middle `value` is.
fn number(value: u64) -> u64 {
    let shift = u64::from((u64::BITS - value.leading_zeros()).saturating_sub(super::KEPT_BITS));
    (shift << 7) + (value >> shift)
}

/// The middle of the bucket of this number.
fn middle(number: u64) -> Option<u64> {
    let shift = (number >> 7).saturating_sub(1);
    let leading = number - (shift << 7);
    (shift <= u64::from(u64::BITS - super::KEPT_BITS)).then(|| coarse(leading << shift))
}

/// Writes a number.
pub(super) fn put(octets: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        octets.push(value as u8 | 0x80);
        value >>= 7;
    }
    octets.push(value as u8);
}

/// Reads a number.
pub(super) fn take(rest: &mut &[u8]) -> Result<u64, NoSpan> {
    let (mut value, mut shift) = (0, 0);
    while let [octet, after @ ..] = *rest {
        *rest = after;
        let part = u64::from(octet & 0x7f);
        if shift >= u64::BITS || part << shift >> shift != part {
            return Err(NoSpan { reason: "a number beyond 64 bits" });
        }
        value |= part << shift;
        if octet & 0x80 == 0 {
            return Ok(value);
        }
        shift += 7;
    }
    Err(NoSpan { reason: "it ends within a number" })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::Fate;

    fn minute(values: &[u64], lost: u64) -> Span {
        let mut span = Span::default();
        for value in values {
            span.answer(Nanos(*value));
        }
        (0..lost).for_each(|_| span.counts.end(Fate::Lost));
        span.lost_back = lost / 2;
        span
    }

    #[test]
    fn every_bucket_has_a_number_of_its_own() {
        for at in 0..7_424 {
            assert_eq!(number(middle(at).unwrap()), at);
        }
        assert_eq!(middle(7_424 + 128), None);
        assert_eq!(number(coarse(u64::MAX)), 56 * 128 + 255);
    }

    #[test]
    fn a_minute_of_sixty_answers_is_short() {
        let mut rng = fastrand::Rng::with_seed(1);
        let values: Vec<u64> = (0..60).map(|_| 100_000 + rng.u64(0..60_000)).collect();
        let octets = minute(&values, 0).to_octets();
        assert!(octets.len() < 85, "{}", octets.len());
        assert_eq!(Span::default().to_octets(), [FORM, 0]);
    }

    #[test]
    fn what_is_none_is_refused_with_the_reason() {
        let reason = |octets: &[u8]| Span::from_octets(octets).unwrap_err().reason;
        assert_eq!(reason(&[]), "it is empty");
        assert_eq!(reason(&[2, 0]), "its form is unknown");
        assert_eq!(reason(&[1, 0x80]), "it ends within a number");
        assert_eq!(reason(&[[1].as_slice(), &[0xff; 10]].concat()), "a number beyond 64 bits");
        let whole = minute(&[1_000, 5_000], 1).to_octets();
        assert_eq!(reason(&whole[..whole.len() - 2]), "its number of response times differs from the stated one");
        let mut many = vec![1, 1 << 3];
        put(&mut many, MOST + 1);
        assert_eq!(reason(&many), "a count beyond what can be measured");
        let mut far = vec![1, 0];
        put(&mut far, u64::MAX);
        assert_eq!(reason(&far), "it ends within a number");
    }

    proptest! {
        #[test]
        fn octets_carry_the_whole_span(
            values in proptest::collection::vec(1_u64..3_600_000_000_000, 0..80), lost in 0_u64..1_000, disturbed in 0_u64..60,
        ) {
            let span = Span { disturbed, ..minute(&values, lost) };
            prop_assert_eq!(Span::from_octets(&span.to_octets()).unwrap(), span);
        }

        #[test]
        fn any_octets_are_a_span_or_refused(octets in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(span) = Span::from_octets(&[[FORM].as_slice(), &octets].concat()) {
                let mut sum = span.clone();
                sum.add(&span);
                prop_assert_eq!(sum.times.count(), 2 * span.times.count());
            }
        }
    }
}
