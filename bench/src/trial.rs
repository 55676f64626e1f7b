//! Pairs of runs, ours and theirs, one right after the other in random order: what the machine does meanwhile falls on both.

use anyhow::Result;
use serde::Serialize;

/// Pairs of a row that counts.
pub const PAIRS: usize = 21;

/// One pair of runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// Figure of our run, in the row's unit.
    pub ours: f64,
    /// Figure of theirs.
    pub theirs: f64,
    /// True where ours ran first.
    pub ours_first: bool,
}

/// Runs `count` pairs, the order within each drawn from `chance`. A run that fails ends the row: no pair is run again
/// and none is left out.
pub fn alternate(
    count: usize,
    chance: &mut fastrand::Rng,
    mut ours: impl FnMut() -> Result<f64>,
    mut theirs: impl FnMut() -> Result<f64>,
) -> Result<Vec<Pair>> {
    let mut pairs = Vec::with_capacity(count);
    for _ in 0..count {
        let ours_first = chance.bool();
        let (ours, theirs) = if ours_first {
            let ours = ours()?;
            (ours, theirs()?)
        } else {
            let theirs = theirs()?;
            (ours()?, theirs)
        };
        pairs.push(Pair { ours, theirs, ours_first });
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use anyhow::bail;

    use super::*;

    #[test]
    fn both_sides_run_once_a_pair_in_the_order_said() {
        let ran = RefCell::new(Vec::new());
        let side = |name: &'static str| {
            let ran = &ran;
            move || {
                ran.borrow_mut().push(name);
                Ok(if name == "ours" { 2.0 } else { 1.0 })
            }
        };
        let pairs = alternate(40, &mut fastrand::Rng::with_seed(7), side("ours"), side("theirs")).unwrap();
        assert!(pairs.iter().all(|pair| (pair.ours, pair.theirs) == (2.0, 1.0)));
        let said: Vec<&str> =
            pairs.iter().flat_map(|p| if p.ours_first { ["ours", "theirs"] } else { ["theirs", "ours"] }).collect();
        assert_eq!(*ran.borrow(), said);
        let first = pairs.iter().filter(|pair| pair.ours_first).count();
        assert!((10..=30).contains(&first), "{first} of 40 began with ours");
    }

    #[test]
    fn one_seed_gives_one_order() {
        let order = |seed| {
            let pairs = alternate(21, &mut fastrand::Rng::with_seed(seed), || Ok(1.0), || Ok(1.0)).unwrap();
            pairs.iter().map(|pair| pair.ours_first).collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }

    #[test]
    fn a_run_that_fails_ends_the_row() {
        let mut runs = 0;
        let theirs = || {
            runs += 1;
            if runs == 3 {
                bail!("no answer");
            }
            Ok(1.0)
        };
        assert!(alternate(21, &mut fastrand::Rng::with_seed(1), || Ok(1.0), theirs).is_err());
        assert_eq!(runs, 3);
    }
}
