//! Two single runs, one of each side: the difference of these two, which says nothing of other runs.

use crate::outcome::{Quantile, Standing};

/// True where the 95 % intervals of a quantile of two runs lie apart; `None` where an interval is missing, or too few values lie beyond.
///
/// Two runs that draw from one distribution have intervals apart no more often than in 5 % of cases: apart means a distance above the
/// sum of both half widths, which is at least the half width of the difference's own interval. The intervals are of the values of
/// one run each, and allow for their correlation. They do not contain the variation between runs.
pub fn apart(first: &Quantile, second: &Quantile) -> Option<bool> {
    let ends = |of: &Quantile| of.low_ns.zip(of.high_ns).filter(|_| of.standing != Standing::TooFew);
    let ((low, high), (other_low, other_high)) = (ends(first)?, ends(second)?);
    Some(high < other_low || other_high < low)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::unit::Nanos;

    fn quantile((low, high): (u64, u64)) -> Quantile {
        Quantile {
            q: 0.5,
            value_ns: Some(Nanos(low.midpoint(high))),
            low_ns: Some(Nanos(low)),
            high_ns: Some(Nanos(high)),
            beyond: 1_000,
            standing: Standing::Firm,
        }
    }

    #[test_case((100, 110), (111, 120), true; "above")]
    #[test_case((111, 120), (100, 110), true; "below")]
    #[test_case((100, 110), (110, 120), false; "touching")]
    #[test_case((100, 120), (105, 110), false; "within")]
    fn intervals_are_apart_or_share_a_value(first: (u64, u64), second: (u64, u64), is_apart: bool) {
        assert_eq!(apart(&quantile(first), &quantile(second)), Some(is_apart));
    }

    #[test]
    fn without_both_ends_or_values_beyond_nothing_is_said() {
        let whole = quantile((100, 110));
        assert_eq!(apart(&whole, &Quantile { high_ns: None, ..quantile((200, 210)) }), None);
        assert_eq!(apart(&Quantile { standing: Standing::TooFew, ..whole }, &whole), None);
    }
}
