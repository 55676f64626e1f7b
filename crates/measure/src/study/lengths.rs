//! Length of each trial of a study, so that the whole of it keeps a budget.

use crate::unit::Nanos;

/// Samples a trial is to have where time allows (method section 12).
pub const SAMPLES: u64 = 100;
/// No trial is shorter: start-up and warm-up would be most of it.
pub const SHORTEST: Nanos = Nanos::millis(200);
/// Time of a trial beside its measured time: its process, its sockets, its session, the peer's report. An allowance.
pub const AROUND: Nanos = Nanos::millis(250);

/// Time of one trial of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Measured time it should have.
    pub length: Nanos,
    /// Warm-up before it.
    pub warm_up: Nanos,
    /// The shortest it may be cut to: [`SHORTEST`], or the time in which there are the exchanges without which it says nothing.
    pub least: Nanos,
    /// True where its length cannot be changed: a count, or a stated time.
    pub fixed: bool,
}

/// Whole time of trials of these settings in so many blocks.
pub fn whole(wishes: &[Wish], blocks: u32) -> Nanos {
    let one = |wish: &Wish| wish.length.0.saturating_add(wish.warm_up.0).saturating_add(AROUND.0);
    let block = wishes.iter().map(one).fold(0, u64::saturating_add);
    Nanos(block.saturating_mul(blocks.into()))
}

/// The lengths with which `blocks` blocks stay within `budget`: those that wish for less than others keep it, the longest are cut,
/// all to the same. `None` where even the shortest trials take longer.
pub fn within(budget: Nanos, wishes: &[Wish], blocks: u32) -> Option<Vec<Nanos>> {
    let cut = |most: Nanos| -> Vec<Wish> {
        let one = |wish: &Wish| Wish { length: wish.length.min(most.max(wish.least)), ..*wish };
        wishes.iter().map(|wish| if wish.fixed { *wish } else { one(wish) }).collect()
    };
    let fits = |most: Nanos| whole(&cut(most), blocks) <= budget;
    let longest = wishes.iter().map(|wish| wish.length).max().unwrap_or(SHORTEST);
    if !fits(SHORTEST) {
        return None;
    }
    let (mut kept, mut over) = (SHORTEST.0, longest.0.max(SHORTEST.0) + 1);
    while over - kept > 1_000_000 {
        let middle = kept.midpoint(over);
        if fits(Nanos(middle)) { kept = middle } else { over = middle }
    }
    Some(cut(Nanos(kept)).into_iter().map(|wish| wish.length).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(millis: u64) -> Wish {
        Wish { length: Nanos::millis(millis), warm_up: Nanos::millis(100), least: SHORTEST, fixed: false }
    }

    #[test]
    fn the_longest_are_cut_and_the_budget_is_kept() {
        let wishes = [wish(1_000), wish(10_000), wish(100_000)];
        for budget in [5, 10, 60, 400].map(Nanos::secs) {
            let lengths = within(budget, &wishes, 3).unwrap();
            let cut: Vec<Wish> =
                lengths.iter().zip(wishes).map(|(length, wish)| Wish { length: *length, ..wish }).collect();
            let takes = whole(&cut, 3);
            assert!(takes <= budget, "{takes} of {budget}");
            let enough = budget >= whole(&wishes, 3);
            assert!(enough || takes.0 > budget.0 - 20_000_000, "{takes} of {budget}: nothing is left unused");
            assert!(lengths.windows(2).all(|pair| pair[0] <= pair[1]));
        }
        assert_eq!(within(Nanos::secs(60), &wishes, 3).unwrap()[0], Nanos::secs(1), "the short one keeps its length");
    }

    #[test]
    fn what_cannot_be_kept_is_said() {
        assert_eq!(within(Nanos::secs(1), &[wish(1_000); 10], 3), None);
        let fixed = Wish { fixed: true, ..wish(5_000) };
        assert_eq!(within(Nanos::secs(5), &[fixed], 1), None);
        assert_eq!(within(Nanos::secs(6), &[fixed], 1), Some(vec![Nanos::secs(5)]));
        let sparse = Wish { least: Nanos::secs(1), ..wish(10_000) };
        assert_eq!(within(Nanos::secs(1), &[sparse], 1), None, "not one exchange");
        let kept = within(Nanos::secs(2), &[sparse, wish(1_000)], 1).unwrap();
        assert!(kept[0] == Nanos::secs(1) && kept[1] < Nanos::millis(310), "{kept:?}");
    }
}
