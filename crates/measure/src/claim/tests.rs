//! Claims in worlds whose truth is known: how often a verdict is wrong, and what is settled.

use fastrand::Rng;
use statrs::distribution::{Binomial, DiscreteCDF};
use test_case::test_case;

use super::*;
use crate::comparison::{ALARMS, LOOKS};

fn claim(text: &str) -> Claim {
    text.parse().unwrap()
}

#[test_case("p50(ping every 1s) > 1.5 × p50(tcp_rr back to back)"; "names with blanks, and a factor")]
#[test_case("p99(a) < 2ms"; "a bound")]
#[test_case("throughput(four)>3.5*throughput(one)"; "no blanks")]
#[test_case("loss(a) < 0.1 %"; "a share")]
#[test_case("rate(a) > 10k/s"; "a rate")]
#[test_case("throughput(a) > 1.9 Gbit/s"; "bits")]
#[test_case("p50(a) within 20 % of p50(b)"; "a margin")]
#[test_case("mean(a) within 5 % of 1.2 × mean(b)"; "a margin and a factor")]
fn a_claim_is_printed_as_it_was_typed(text: &str) {
    let read = claim(text);
    assert_eq!(read.to_string(), text);
    assert_eq!(claim(&format!("  {text} ")), read, "blanks around it say nothing");
    for term in read.terms() {
        assert!(text[term.at..].starts_with(&term.of), "{term:?}");
    }
    let json = serde_json::to_string(&read).unwrap();
    assert_eq!(serde_json::from_str::<Claim>(&json).unwrap(), read);
}

#[test_case("", 0..0, "begins with a figure"; "nothing")]
#[test_case("p5O(a) > 1ms", 0..3, "`p5O` is not a figure"; "a letter for a digit")]
#[test_case("p50(a) >= p50(b)", 7..9, "`>=` is not a relation"; "or equal")]
#[test_case("p50(a", 0..5, "left open"; "an open parenthesis")]
#[test_case("p50() > 1ms", 0..5, "a figure of nothing"; "no name")]
#[test_case("p50(a) > ", 9..9, "nothing to set it against"; "no right side")]
#[test_case("p50(a) > 3", 9..10, "`3` is not a bound for p50"; "no unit")]
#[test_case("p50(a) > 0us", 9..12, "nothing, or everything"; "a bound of nothing")]
#[test_case("loss(a) < 2ms", 10..13, "`2ms` is not a bound for loss"; "a time for a share")]
#[test_case("p50(a) > 0 × p50(b)", 9..13, "above 0"; "a factor of nothing")]
#[test_case("p50(a) > 2 × b", 14..15, "no figure behind the factor"; "a name alone")]
#[test_case("p50(a) > rate(b)", 0..16, "no unit in common"; "two units")]
#[test_case("p50(a) > p50(b) and more", 16..19, "one thing too many"; "more")]
#[test_case("p50(a) within 10 of p50(b)", 14..17, "a margin is a share"; "a margin without its sign")]
#[test_case("loss(a) within 10 % of loss(b)", 0..30, "no evidence"; "losses that agree")]
#[test_case("p50(ä) ? 1ms", 8..9, "no relation"; "another sign")]
fn a_fault_has_its_place(text: &str, at: std::ops::Range<usize>, what: &str) {
    let fault = text.parse::<Claim>().unwrap_err();
    assert!(fault.what.contains(what), "{fault:?}");
    assert!(fault.at == at && text.get(at.clone()).is_some() && !fault.hint.is_empty(), "{fault:?}");
}

#[test]
fn no_text_is_more_than_a_fault() {
    let mut rng = Rng::with_seed(1);
    let parts =
        ["p50", "(", ")", "a", " ", ">", "<", "within ", "10", "%", " of ", "×", "1.5", "ms", "loss", "µ", "\u{0}"];
    for _ in 0..20_000 {
        let text: String = (0..rng.usize(0..14)).map(|_| parts[rng.usize(..parts.len())]).collect();
        if let Err(fault) = text.parse::<Claim>() {
            assert!(text.get(fault.at.clone()).is_some(), "{text:?}: {fault:?}");
        }
    }
}

/// A normal value, by twelve even draws.
fn standard(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
}

/// Runs of measurements whose numbers are so large, each with a spread of its own, in blocks that drift together.
fn world(rng: &mut Rng, levels: &[(f64, f64)], runs: usize) -> Vec<Series> {
    let mut all = vec![Series::default(); levels.len()];
    for run in 0..runs {
        let drift = if run % 3 == 0 { (0.05 * standard(rng)).exp() } else { 1.0 };
        for (series, (level, spread)) in all.iter_mut().zip(levels) {
            series.values.push(Some(level * drift * (spread * standard(rng)).exp()));
            series.sent.push(1_000);
        }
    }
    all
}

fn verdicts(claims: &[Claim], names: &[&str], all: &[Series], runs: u32) -> Vec<ClaimFinding> {
    settle(claims, &LOOKS, runs, &|term| all[names.iter().position(|name| *name == term.of).unwrap()].clone())
}

/// Refuses a count of wrong verdicts that a rate of `rate` would not make in one of a million.
fn at_most(wrong: u64, of: u64, rate: f64) {
    let beyond = 1.0 - Binomial::new(rate, of).unwrap().cdf(wrong.saturating_sub(1));
    assert!(wrong == 0 || beyond > 1e-6, "{wrong} wrong of {of}");
}

/// Five claims together, at the very limit of each: any verdict is wrong for one of the relations, so each counts.
#[test]
fn at_the_limit_all_claims_and_all_looks_together_are_wrong_in_no_more_than_5_percent() {
    let claims = [
        "p50(a) > 1.5 × p50(b)",
        "p50(a) < 1.5 × p50(b)",
        "p99(c) > 40us",
        "throughput(d) < 2 × throughput(e)",
        "mean(c) within 20 % of 0.8 × mean(f)",
    ]
    .map(claim);
    let names = ["a", "b", "c", "d", "e", "f"];
    // c is 1.2 times 0.8 times f, where the margin ends.
    let levels = [(150e3, 0.03), (100e3, 0.03), (40e3, 0.04), (2e9, 0.08), (1e9, 0.02), (40e3 / 0.96, 0.04)];
    let (mut rng, trials) = (Rng::with_seed(7), 2_000);
    let wrong = (0..trials)
        .filter(|_| {
            let all = world(&mut rng, &levels, 12);
            verdicts(&claims, &names, &all, 12).iter().any(|found| found.verdict.is_settled())
        })
        .count();
    at_most(wrong as u64, trials, ALARMS);
}

/// The verdict of a claim that is true, or false, by so much in so many of two hundred worlds, among five claims.
#[test_case("p50(a) > 1.5 × p50(b)", 1.8, true; "more, and it is")]
#[test_case("p50(a) > 1.5 × p50(b)", 1.25, false; "more, and it is not")]
#[test_case("p50(a) < 1.5 × p50(b)", 1.25, true; "less, and it is")]
#[test_case("p50(a) < 1.5 × p50(b)", 1.8, false; "less, and it is not")]
#[test_case("p50(a) > 100us", 1.3, true; "above a bound")]
#[test_case("p50(a) > 100us", 0.7, false; "not above it")]
#[test_case("rate(a) < 100k/s", 0.7, true; "below a bound")]
#[test_case("rate(a) < 100k/s", 1.3, false; "not below it")]
#[test_case("p50(a) within 30 % of p50(b)", 1.0, true; "within a margin")]
#[test_case("p50(a) within 30 % of p50(b)", 1.7, false; "beyond it")]
#[test_case("p50(a) within 30 % of 100us", 1.05, true; "within a margin of a bound")]
#[test_case("p50(a) within 30 % of 100us", 0.5, false; "below it")]
fn a_world_for_or_against_a_claim_is_told_as_it_is(text: &str, times: f64, holds: bool) {
    let claims = vec![claim(text); 5];
    let mut rng = Rng::with_seed(11);
    let (mut wrong, mut right) = (0, 0);
    for _ in 0..200 {
        let all = world(&mut rng, &[(100e3 * times, 0.03), (100e3, 0.05)], 12);
        let found = verdicts(&claims, &["a", "b"], &all, 12)[0];
        match found.verdict {
            ClaimVerdict::Holds | ClaimVerdict::DoesNotHold if (found.verdict == ClaimVerdict::Holds) == holds => {
                right += 1;
            }
            ClaimVerdict::Holds | ClaimVerdict::DoesNotHold => wrong += 1,
            _ => {}
        }
    }
    assert_eq!(wrong, 0, "{right} right");
    assert!(right >= 195, "{right} right of 200");
}

/// Runs that lose requests one by one, at this share.
fn lossy(rng: &mut Rng, share: f64, sent: u64) -> Series {
    let lost = |rng: &mut Rng| (0..sent).filter(|_| rng.f64() < share).count() as f64 / sent as f64;
    Series { values: (0..12).map(|_| Some(lost(rng))).collect(), sent: vec![sent; 12] }
}

#[test]
fn no_loss_in_few_requests_does_not_show_that_there_is_little() {
    let none = |sent: u64| Series { values: vec![Some(0.0); 12], sent: vec![sent; 12] };
    let judge = |series: Series| settle(&[claim("loss(a) < 0.1 %")], &LOOKS, 12, &|_| series.clone())[0];
    assert_eq!(judge(none(50)).verdict, ClaimVerdict::NotShown);
    // With 12,000 requests and no loss, 1 − (tail)^(1/n) is 0.04 %.
    let found = judge(none(1_000));
    assert_eq!((found.verdict, found.ratio), (ClaimVerdict::Holds, None));
    assert!(found.difference.unwrap().high.unwrap() < 0.0, "{found:?}");
    assert_eq!(judge(Series { values: vec![None; 12], sent: vec![0; 12] }).verdict, ClaimVerdict::TooFewRuns);
}

#[test]
fn losses_at_their_bound_are_called_so_in_no_more_than_5_percent() {
    let (mut rng, trials) = (Rng::with_seed(5), 1_000);
    let claims = [claim("loss(a) < 2 %")];
    let judge = |series: Series| settle(&claims, &LOOKS, 12, &|_| series.clone())[0].verdict;
    let wrong = (0..trials).filter(|_| judge(lossy(&mut rng, 0.02, 300)).is_settled()).count();
    at_most(wrong as u64, trials, ALARMS);
    let found: Vec<ClaimVerdict> = [0.005, 0.06].map(|share| judge(lossy(&mut rng, share, 300))).to_vec();
    assert_eq!(found, [ClaimVerdict::Holds, ClaimVerdict::DoesNotHold]);
}

#[test]
fn what_is_settled_early_stays_so_and_what_ends_between_looks_has_the_last_part() {
    let claims = [claim("p50(a) > p50(b)")];
    let mut all = world(&mut Rng::with_seed(3), &[(200e3, 0.03), (100e3, 0.03)], 12);
    let early = verdicts(&claims, &["a", "b"], &all, 6)[0];
    assert_eq!((early.verdict, early.runs, early.left_out), (ClaimVerdict::Holds, (6, 6), LOOKS[0].alarms));
    // Later values are the other way round, and are not looked at.
    for value in all[0].values.iter_mut().skip(6) {
        *value = Some(1.0);
    }
    assert_eq!(verdicts(&claims, &["a", "b"], &all, 12)[0], early);
    let between = verdicts(&claims, &["a", "b"], &all[..], 5)[0];
    assert_eq!(between.left_out, LOOKS[2].alarms);
}

#[test]
fn few_runs_and_runs_without_the_figure_show_nothing() {
    let claims = [claim("p50(a) > p50(b)"), claim("p50(a) > 1us")];
    let all = world(&mut Rng::with_seed(3), &[(200e3, 0.03), (100e3, 0.03)], 3);
    assert!(verdicts(&claims, &["a", "b"], &all, 3).iter().all(|found| found.verdict == ClaimVerdict::TooFewRuns));
    let none = Series { values: vec![None; 12], sent: vec![0; 12] };
    let found = settle(&claims, &LOOKS, 12, &|_| none.clone());
    assert!(found.iter().all(|found| found.verdict == ClaimVerdict::TooFewRuns && found.left.is_none()));
}

#[test]
fn numbers_that_are_nothing_are_compared_by_their_difference() {
    let zeros = Series { values: vec![Some(0.0); 12], sent: vec![1_000; 12] };
    let some = Series { values: (1..=12).map(|k| Some(f64::from(k) / 100.0)).collect(), sent: vec![1_000; 12] };
    let judge = |left: &Series, right: &Series| {
        settle(&[claim("loss(a) > 2 × loss(b)")], &LOOKS, 12, &|term| {
            if term.of == "a" { left.clone() } else { right.clone() }
        })[0]
    };
    assert_eq!(judge(&some, &zeros).verdict, ClaimVerdict::Holds);
    assert!(judge(&some, &zeros).ratio.is_none());
    assert_eq!(judge(&zeros, &some).verdict, ClaimVerdict::DoesNotHold);
    assert_eq!(judge(&zeros, &zeros).verdict, ClaimVerdict::NotShown);
}
