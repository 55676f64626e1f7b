//! Claims as people type them; a fault is said with its place.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::{Claim, Relation, Right, Term};
use crate::study::figure::{Figure, Unit};
use crate::unit::{Nanos, Rate, split_number};

/// Longest text of a claim, octets.
const LONGEST: usize = 1_000;
const FORM: &str = "write it as p50(A) > 1.5 × p50(B), p99(A) < 2ms, or p50(A) within 10 % of p50(B)";
const FIGURES: &str = "there are min, mean, p50 to p99.999, loss, rate and throughput";

/// A text that is no claim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct ClaimError {
    /// Octets of the text that are wrong.
    pub at: Range<usize>,
    /// The fault.
    pub what: String,
    /// The form to write instead.
    pub hint: String,
    /// The word that names no figure, where that is the fault.
    pub unknown: Option<String>,
}

impl ClaimError {
    fn new(at: Range<usize>, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { at, what: what.into(), hint: hint.into(), unknown: None }
    }
}

/// As it was typed.
impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for Claim {
    type Error = ClaimError;

    fn try_from(text: String) -> Result<Self, ClaimError> {
        text.parse()
    }
}

impl From<Claim> for String {
    fn from(claim: Claim) -> Self {
        claim.text
    }
}

impl FromStr for Claim {
    type Err = ClaimError;

    fn from_str(text: &str) -> Result<Self, ClaimError> {
        if text.len() > LONGEST {
            return Err(ClaimError::new(0..0, format!("a claim has at most {LONGEST} letters"), FORM));
        }
        let mut reader = Reader { text, at: 0 };
        let left = reader.term()?.ok_or_else(|| reader.fault("a claim begins with a figure", FORM))?;
        let relation = reader.relation(&left)?;
        let right = reader.right(&left)?;
        reader.blanks();
        if reader.at < text.len() {
            return Err(reader.fault(format!("`{}` is one thing too many", reader.rest().trim()), FORM));
        }
        if let Right::Times(_, term) = &right
            && term.figure.unit() != left.figure.unit()
        {
            let what = format!("{} and {} have no unit in common", left.figure, term.figure);
            return Err(ClaimError::new(0..text.len(), what, "set times against times, rates against rates"));
        }
        if left.figure == Figure::Loss && matches!(relation, Relation::Within(_)) {
            let what = "no losses in either are no evidence that losses agree";
            return Err(ClaimError::new(0..text.len(), what, "bound each: loss(A) < 1 %"));
        }
        Ok(Self { text: text.trim().to_owned(), left, relation, right }.moved(text))
    }
}

impl Claim {
    /// The same with its places counted from the first letter that is no blank.
    fn moved(mut self, text: &str) -> Self {
        let before = text.len() - text.trim_start().len();
        self.left.at -= before;
        if let Right::Times(_, term) = &mut self.right {
            term.at -= before;
        }
        self
    }
}

/// The text, and how much of it is read.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Returns the fault of the next word.
    fn fault(&self, what: impl Into<String>, hint: impl Into<String>) -> ClaimError {
        let length = self.rest().find(char::is_whitespace).unwrap_or(self.rest().len());
        ClaimError::new(self.at..self.at + length, what, hint)
    }

    fn take(&mut self, word: &str) -> bool {
        let taken = self.rest().starts_with(word);
        self.at += if taken { word.len() } else { 0 };
        taken
    }

    /// A number that comes next.
    fn number(&mut self) -> Option<f64> {
        let (number, _) = split_number(self.rest());
        let value = number.parse().ok().filter(|value: &f64| value.is_finite())?;
        self.at += number.len();
        Some(value)
    }

    /// `p50(name)`; `None` where no figure comes next.
    fn term(&mut self) -> Result<Option<Term>, ClaimError> {
        self.blanks();
        let from = self.at;
        let Some(open) = self.rest().find(['(', '<', '>']).filter(|open| self.rest()[*open..].starts_with('(')) else {
            return Ok(None);
        };
        let word = self.rest()[..open].trim_end();
        if word.is_empty() || word.starts_with(|first: char| !first.is_alphabetic()) {
            return Ok(None);
        }
        let figure: Figure = word.parse().map_err(|_| ClaimError {
            unknown: Some(word.to_owned()),
            ..ClaimError::new(from..from + word.len(), format!("`{word}` is not a figure"), FIGURES)
        })?;
        self.at += open + 1;
        let inside = self.rest();
        let close = inside.find(')').ok_or_else(|| {
            ClaimError::new(from..self.text.len(), "a parenthesis is left open", "close it behind the name")
        })?;
        let name = inside[..close].trim();
        let at = self.at + inside[..close].len() - inside[..close].trim_start().len();
        if name.is_empty() {
            return Err(ClaimError::new(from..self.at + close + 1, "a figure of nothing", FORM));
        }
        self.at += close + 1;
        Ok(Some(Term { figure, of: name.to_owned(), at }))
    }

    fn relation(&mut self, left: &Term) -> Result<Relation, ClaimError> {
        self.blanks();
        let or_equal = ["≥", "≤", ">=", "<=", "=="].into_iter().find(|sign| self.rest().starts_with(sign));
        if let Some(sign) = or_equal {
            let hint = "write > or <, or `within 10 % of`: no measurement tells a limit from what lies just beside it";
            return Err(self.fault(format!("`{sign}` is not a relation of a claim"), hint));
        }
        match () {
            () if self.take(">") => Ok(Relation::More),
            () if self.take("<") => Ok(Relation::Less),
            () if self.take("within ") => {
                self.blanks();
                let from = self.at;
                let share = self.number();
                self.blanks();
                let is_percent = self.take("%");
                self.blanks();
                let share = share.filter(|share| is_percent && *share > 0.0 && *share < 100.0);
                match share.filter(|_| self.take("of ")) {
                    Some(share) => Ok(Relation::Within(share / 100.0)),
                    None => Err(ClaimError::new(
                        from..self.at.max(from + 1).min(self.text.len()),
                        "a margin is a share, more than 0 % and less than 100 %",
                        "write `within 10 % of`",
                    )),
                }
            }
            () => Err(self.fault(format!("no relation behind {}({})", left.figure, left.of), FORM)),
        }
    }

    fn right(&mut self, left: &Term) -> Result<Right, ClaimError> {
        self.blanks();
        if let Some(term) = self.term()? {
            return Ok(Right::Times(1.0, term));
        }
        let from = self.at;
        if let Some(factor) = self.number() {
            self.blanks();
            if self.take("×") || self.take("*") || self.take("x ") {
                let what = "a factor is a number above 0";
                let factor = Some(factor).filter(|factor| *factor > 0.0);
                let factor = factor.ok_or_else(|| ClaimError::new(from..self.at, what, FORM))?;
                let none = |reader: &Self| reader.fault("no figure behind the factor", FORM);
                return self.term()?.map(|term| Right::Times(factor, term)).ok_or_else(|| none(self));
            }
        }
        self.at = self.text.len();
        let said = self.text[from..].trim();
        let bound =
            bound(left.figure, said).map_err(|(what, hint)| ClaimError::new(from..self.text.len(), what, hint))?;
        Ok(Right::Bound(bound))
    }
}

/// Parses a bound into the unit of its figure; fails with the fault and the form to write.
fn bound(figure: Figure, said: &str) -> Result<f64, (String, String)> {
    if said.is_empty() {
        return Err(("nothing to set it against".to_owned(), FORM.to_owned()));
    }
    let positive = |value: f64, example: &str| {
        let fine = Some(value).filter(|value| value.is_finite() && *value > 0.0);
        fine.ok_or_else(|| (format!("`{said}` is a bound that nothing, or everything, keeps"), example.to_owned()))
    };
    let no = |example: &str| (format!("`{said}` is not a bound for {figure}"), format!("write it as {example}"));
    let (number, unit) = split_number(said);
    let value = || number.parse::<f64>().ok();
    match figure.unit() {
        Unit::Time => {
            let time: Nanos = said.parse().map_err(|_| no("200us, 1.5ms or 2s"))?;
            positive(time.0 as f64, "write it as 200us")
        }
        Unit::Share => {
            let percent = value().filter(|value| unit.trim() == "%" && *value < 100.0).ok_or_else(|| no("0.1 %"))?;
            positive(percent / 100.0, "write it as 0.1 %")
        }
        Unit::Rate => {
            let rate: Rate = said.parse().map_err(|_| no("10k/s"))?;
            Ok(rate.as_per_second())
        }
        Unit::Bytes => {
            let scale = match unit.trim() {
                "bit/s" => 1.0,
                "kbit/s" => 1e3,
                "Mbit/s" => 1e6,
                "Gbit/s" => 1e9,
                _ => return Err(no("1.9 Gbit/s")),
            };
            positive(value().ok_or_else(|| no("1.9 Gbit/s"))? * scale / 8.0, "write it as 1.9 Gbit/s")
        }
    }
}
