//! References of a cell: its normal median in each hour of the week, from the hours of the past that are kept.

use std::collections::BTreeMap;

use measure::span::Span;
use measure::unit::Nanos;

use crate::store::Level;

/// So much of the past says what is normal, seconds.
pub const PAST: u64 = 28 * 86_400;
/// Hours of the week that have to be known: five days.
const FEWEST: usize = 120;
/// 1970 began on a Thursday, so many hours after Monday 00:00.
const THURSDAY: u64 = 72;

/// The median of each hour of the week, from 0 at Monday 00:00 UTC: of the weeks in which it is known that of the middle one, so that one bad day is not normal.
/// Absent where too little is kept.
pub fn of(hours: &[(u64, Span)]) -> Option<Vec<(u8, Nanos)>> {
    let mut weeks: BTreeMap<u8, Vec<u64>> = BTreeMap::new();
    for (at, span) in hours.iter().filter(|(_, span)| !Level::Hour.is_disturbed(span)) {
        let hour = u8::try_from((at / 3_600 + THURSDAY) % 168).expect("less than 168");
        weeks.entry(hour).or_default().extend(span.times.quantile(0.5));
    }
    weeks.retain(|_, medians| !medians.is_empty());
    let of_middle = |mut medians: Vec<u64>| {
        medians.sort_unstable();
        Nanos(medians[(medians.len() - 1) / 2])
    };
    (weeks.len() >= FEWEST).then(|| weeks.into_iter().map(|(hour, medians)| (hour, of_middle(medians))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Monday, 2026-11-02 00:00 UTC.
    const MONDAY: u64 = 1_793_577_600;

    fn hour(took: u64, disturbed: u64) -> Span {
        let mut span = Span { disturbed, ..Span::default() };
        (0..60).for_each(|_| span.answer(Nanos(took)));
        span
    }

    #[test]
    fn the_middle_week_says_what_is_normal() {
        // In the second of three weeks everything takes twice as long; Monday's first hour is told from the others.
        let at = |week: u64, of: u64| MONDAY + week * 604_800 + of * 3_600;
        let level = |week, of| {
            if week == 1 {
                200_000
            } else if of == 0 {
                50_000
            } else {
                100_000
            }
        };
        let all: Vec<(u64, Span)> =
            (0..3).flat_map(|week| (0..168).map(move |of| (at(week, of), hour(level(week, of), 0)))).collect();
        let found = of(&all).unwrap();
        assert_eq!(found.len(), 168);
        let near = |found: Nanos, wanted: u64| found.0.abs_diff(wanted) * 50 < wanted;
        assert_eq!(found[0].0, 0);
        assert!(near(found[0].1, 50_000) && found[1..].iter().all(|(_, median)| near(*median, 100_000)), "{found:?}");
        // Four days are no week, and hours in which who asks was late himself say nothing.
        assert_eq!(of(&all[..96]), None);
        let late: Vec<(u64, Span)> = all.iter().map(|(at, _)| (*at, hour(100_000, 361))).collect();
        assert_eq!(of(&late), None);
    }
}
