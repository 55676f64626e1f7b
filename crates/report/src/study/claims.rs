//! Claims: how many hold, the verdict of each with its interval, and what was measured.

use logbook::study::{Question, StatedClaim, StudyDocument};
use measure::claim::{ClaimFinding, ClaimVerdict};
use measure::comparison::{Interval, Look};
use measure::study::figure::{Figure, Unit};

use super::comparison::{signed, told};
use super::{busy, failed, incomplete};
use crate::layout::{INDENT, Page, Piece, Tone};
use crate::number;

/// The answer: how many claims hold, and how many do not or are not shown.
pub(crate) fn answer(study: &StudyDocument) -> String {
    let (holds, against, open) = counts(study);
    let all = study.claims.len();
    if all == 1 {
        let verdict = match (holds, against) {
            (1, _) => "holds",
            (_, 1) => "does not hold",
            _ => "is not shown",
        };
        return format!("The claim {verdict}{}", super::missing(study));
    }
    let mut parts = vec![format!("{holds} of {all} claims hold")];
    if against > 0 {
        parts.push(format!("{against} {}", if against == 1 { "does not" } else { "do not" }));
    }
    if open > 0 {
        parts.push(format!("{open} {} not shown", if open == 1 { "is" } else { "are" }));
    }
    format!("{}{}", parts.join(", "), super::missing(study))
}

/// Claims that hold, that do not, and all others.
pub(crate) fn counts(study: &StudyDocument) -> (usize, usize, usize) {
    let of = |wanted: ClaimVerdict| {
        study.claims.iter().filter(|claim| claim.finding.is_some_and(|found| found.verdict == wanted)).count()
    };
    let (holds, against) = (of(ClaimVerdict::Holds), of(ClaimVerdict::DoesNotHold));
    (holds, against, study.claims.len() - holds - against)
}

/// The screen for claims.
pub(super) fn render(page: &mut Page, study: &StudyDocument, title: Option<&str>, looks: &[Look]) {
    page.answer(&answer(study));
    if let Some(title) = title {
        page.paragraph(INDENT, &Piece::default(), INDENT, title);
    }
    page.gap();
    for claim in &study.claims {
        let tone = match claim.finding.map(|found| found.verdict) {
            Some(ClaimVerdict::Holds) => Tone::Plain,
            Some(ClaimVerdict::DoesNotHold) => Tone::Alarm,
            _ => Tone::Strong,
        };
        let label = format!("{:<LABEL$}", word(claim));
        page.paragraph(INDENT, &Piece::new(label, tone), INDENT + LABEL + 1, &claim.claim.to_string());
        page.paragraph(INDENT + LABEL + 1, &Piece::default(), INDENT + LABEL + 1, &found(claim));
        if let Some(said) = claim.said.as_ref().filter(|_| page.style().verbose) {
            page.paragraph(INDENT + LABEL + 1, &Piece::new("said:", Tone::Faint), INDENT + LABEL + 1, said);
        }
    }
    page.gap();
    for setting in &study.settings {
        page.paragraph(
            INDENT,
            &Piece::new(format!("{}:", setting.name), Tone::Strong),
            INDENT * 3,
            &setting.command.join(" "),
        );
    }
    page.gap();
    if let Some(last) = looks.last().filter(|last| study.blocks < last.runs && super::made(study).is_none()) {
        let said = format!(
            "Ended after {} of {} runs of each measurement: every claim is settled. The intervals allow for the early end.",
            study.blocks, last.runs
        );
        page.paragraph(INDENT, &Piece::default(), INDENT, &said);
    }
    if page.style().verbose {
        page.paragraph(INDENT, &Piece::new("test", Tone::Faint), INDENT + 6, &test(study, looks));
    }
    incomplete(page, study, "");
    failed(page, study);
    busy(page, study);
}

/// Room for the longest word of a verdict.
const LABEL: usize = 13;

/// The verdict in words.
pub(crate) fn word(claim: &StatedClaim) -> &'static str {
    match claim.finding.map(|found| found.verdict) {
        Some(ClaimVerdict::Holds) => "holds",
        Some(ClaimVerdict::DoesNotHold) => "does not hold",
        Some(ClaimVerdict::NotShown | ClaimVerdict::TooFewRuns) => "not shown",
        None => "not measured",
    }
}

/// The numbers behind a verdict, or why there are none.
pub(crate) fn found(claim: &StatedClaim) -> String {
    let Some(found) = claim.finding else {
        return claim.unmeasured.clone().unwrap_or_else(|| "it is not judged yet".to_owned());
    };
    let figure = claim.claim.figure();
    let value = |value: Option<f64>| value.and_then(|value| told(figure, value));
    let right = found.right.or(claim.claim.bound());
    let against = value(found.left).zip(value(right)).map(|(left, right)| {
        let factor = claim.claim.factor();
        let factor = if factor == 1.0 { String::new() } else { format!("{factor} × ") };
        format!("{left} against {factor}{right}")
    });
    let runs = match claim.claim.bound() {
        Some(_) => number::count(u64::from(found.runs.0), "run", "runs"),
        None => format!("{}+{} runs", found.runs.0, found.runs.1),
    };
    let parts = [without(claim).or_else(|| effect(figure, &found)), against, Some(runs)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The measurement that has its figure in none of its runs, so that no number of them tells.
fn without(claim: &StatedClaim) -> Option<String> {
    let (left, right) = claim.finding?.runs;
    let (term, _) = claim.claim.terms().zip([left, right]).find(|(_, runs)| *runs == 0)?;
    Some(format!("no run of {} has a {}: too few replies in each → longer --budget", term.of, term.figure))
}

/// The ratio or difference with its interval.
fn effect(figure: Figure, found: &ClaimFinding) -> Option<String> {
    if found.verdict == ClaimVerdict::TooFewRuns {
        return Some("too few runs for an interval".to_owned());
    }
    let ends = |interval: Interval, tell: &dyn Fn(f64) -> String| {
        let ends = interval.low.zip(interval.high);
        ends.map_or(String::new(), |(low, high)| format!(" [{}, {}]", tell(low), tell(high)))
    };
    if let Some(ratio) = found.ratio {
        return Some(format!("ratio {}{}", times(ratio.value), ends(ratio, &times)));
    }
    let tell = |value: f64| match figure.unit() {
        Unit::Share => format!("{}{:.3}", if value < 0.0 { "−" } else { "+" }, value.abs() * 100.0),
        _ => signed(figure, value),
    };
    let unit = if figure.unit() == Unit::Share { " percentage points" } else { "" };
    found.difference.map(|difference| format!("difference {}{}{unit}", tell(difference.value), ends(difference, &tell)))
}

/// A ratio with three digits.
fn times(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 100.0 => format!("{ratio:.0}"),
        ratio if ratio >= 10.0 => format!("{ratio:.1}"),
        ratio if ratio >= 0.1 => format!("{ratio:.2}"),
        // As many zeros as stand before them, and no exponent.
        ratio if ratio > 0.0 => {
            let decimals = (2.0 - ratio.log10().floor()).clamp(2.0, 9.0) as usize;
            format!("{ratio:.decimals$}")
        }
        _ => "0".to_owned(),
    }
}

fn test(study: &StudyDocument, looks: &[Look]) -> String {
    let list = |of: &dyn Fn(&Look) -> String| looks.iter().map(of).collect::<Vec<_>>().join(", ");
    format!(
        "the ratio is of the left side to the right, factor included; Mann–Whitney within blocks of three runs of each measurement in random \
         order, signed ranks of runs against a bound; 5 % divided among {} and looks after {} runs ({})",
        number::count(study.claims.len() as u64, "claim", "claims"),
        list(&|look| look.runs.to_string()),
        list(&|look| number::percent(look.alarms))
    )
}

/// The name of the plan, of a study of claims.
pub(crate) fn name(study: &StudyDocument) -> &str {
    match &study.question {
        Question::Claims { name, .. } => name,
        _ => "",
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use logbook::study::Setting;
    use measure::claim::{self, Claim};
    use measure::comparison::LOOKS;

    use super::*;
    use crate::layout::Style;

    /// A study of three claims: one that holds, one that does not, and one that was not measured.
    pub(crate) fn study() -> StudyDocument {
        let mut study = crate::fixture::comparison();
        study.question =
            Question::Claims { name: "a<b".to_owned(), title: Some("Two ways".to_owned()), looks: LOOKS.to_vec() };
        let named = |(setting, name): (Setting, &str)| Setting { name: name.to_owned(), ..setting };
        study.settings = study.settings.into_iter().zip(["one", "other"]).map(named).collect();
        study.comparisons = Vec::new();
        let texts = ["p50(other) > 1.1 × p50(one)", "p50(other) < p50(one)", "p50(one) > p50(third)"];
        let claims: Vec<Claim> = texts.map(|text| text.parse().unwrap()).to_vec();
        let found = claim::settle(&claims[..2], &LOOKS, study.blocks, &|term| study.series(term));
        let stated = |(place, claim): (usize, Claim)| StatedClaim {
            claim,
            said: Some("an <article> | said \u{1b}[31m so".to_owned()),
            finding: found.get(place).copied(),
            unmeasured: found.get(place).is_none().then(|| "no host for `third`".to_owned()),
        };
        study.claims = claims.into_iter().enumerate().map(stated).collect();
        study
    }

    #[test]
    fn a_ratio_has_three_digits_and_no_exponent() {
        assert_eq!([8.9e-3, 0.5, 12.34, 4_321.0, 0.0].map(times), ["0.00890", "0.50", "12.3", "4321", "0"]);
    }

    #[test]
    fn a_measurement_without_its_figure_is_named() {
        let mut study = study();
        study.claims[0].finding.as_mut().expect("judged").runs = (6, 0);
        let told = found(&study.claims[0]);
        assert!(told.starts_with("no run of one has a p50: too few replies in each → longer --budget, "), "{told}");
    }

    #[test]
    fn the_answer_comes_first_and_each_claim_has_its_verdict_and_numbers() {
        let text = crate::study::render(&study(), &Style { width: 80, ..Style::default() });
        assert!(text.starts_with("1 of 3 claims hold, 1 does not, 1 is not shown"), "{text}");
        for said in [
            "holds         p50(other) > 1.1 ×",
            "does not hold p50(other) < p50(one)",
            "not measured  p50(one)",
            "ratio 1.",
            "6+6 runs",
            "no host for `third`",
        ] {
            assert!(text.contains(said), "{said} in {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let verbose = crate::study::render(&study(), &Style { width: 80, verbose: true, ..Style::default() });
        assert!(verbose.contains("said: an <article>") && verbose.contains("divided among"), "{verbose}");
    }
}
