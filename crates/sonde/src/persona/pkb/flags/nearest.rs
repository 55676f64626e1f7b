//! The flag that may have been meant.

/// Longest word that is compared: flags are shorter, and a longer word is a mistake of another kind.
const LONGEST: usize = 64;

/// The names that are nearest to `word` by edits, where few enough letters differ; none where the word is like no other.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let word: Vec<char> = word.chars().take(LONGEST).collect();
    if word.len() < 2 {
        return Vec::new();
    }
    let mut found: Vec<(usize, &str)> =
        names.map(|name| (edits(&word, &name.chars().collect::<Vec<_>>()), name)).collect();
    found.sort_unstable();
    let Some(least) = found.first().map(|(edits, _)| *edits).filter(|edits| edits * 2 < word.len()) else {
        return Vec::new();
    };
    found.into_iter().take_while(|(edits, _)| *edits == least).take(3).map(|(_, name)| name).collect()
}

/// Letters to put in, take out, change or swap (with the neighbour) to make one word of the other.
fn edits(one: &[char], other: &[char]) -> usize {
    let mut rows: [Vec<usize>; 3] = [Vec::new(), Vec::new(), (0..=other.len()).collect()];
    for (at, letter) in one.iter().enumerate() {
        rows.rotate_left(1);
        let mut row = vec![at + 1];
        for (place, theirs) in other.iter().enumerate() {
            let changed = rows[1][place] + usize::from(letter != theirs);
            let mut least = changed.min(rows[1][place + 1] + 1).min(row[place] + 1);
            if at > 0 && place > 0 && *letter == other[place - 1] && one[at - 1] == *theirs {
                least = least.min(rows[0][place - 1] + 1);
            }
            row.push(least);
        }
        rows[2] = row;
    }
    rows[2].last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("zone", &["zone"]; "itself")]
    #[test_case("zoen", &["zone"]; "two letters swapped")]
    #[test_case("machine_typ", &["machine_type"]; "a letter short")]
    #[test_case("netperf_benchmark", &["netperf_benchmarks"]; "the singular")]
    #[test_case("quite_something_else", &[]; "nothing like it")]
    #[test_case("x", &[]; "one letter")]
    #[test_case("", &[]; "no letter")]
    fn what_may_have_been_meant(word: &str, expected: &[&str]) {
        let names = ["zone", "zones", "machine_type", "netperf_benchmarks", "owner"];
        assert_eq!(nearest(word, names.into_iter()), expected);
    }

    #[test]
    fn edits_are_counted() {
        let count =
            |one: &str, other: &str| edits(&one.chars().collect::<Vec<_>>(), &other.chars().collect::<Vec<_>>());
        assert_eq!(
            (count("", "abc"), count("abc", "abc"), count("abcd", "acbd"), count("kitten", "sitting")),
            (3, 0, 1, 3)
        );
    }
}
