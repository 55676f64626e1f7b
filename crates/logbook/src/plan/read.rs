//! A plan from its TOML: what is wrong is said with its line and column, and with what belongs there.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;

use super::{Plan, check};
use crate::failure::{Failure, Side};
use crate::host::Host;

/// Longest text of a plan, bytes.
const LONGEST: usize = 16 << 20;

/// A fault of a plan, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}, line {line}, column {column}: {what}")]
pub struct PlanError {
    /// The file's name, or what stands for it.
    pub name: String,
    /// The line, a count from 1.
    pub line: usize,
    /// The column, a count of characters from 1.
    pub column: usize,
    /// The fault.
    pub what: String,
    /// Text that belongs there instead.
    pub hint: String,
    /// The line itself, with a line of marks under what is wrong.
    pub excerpt: String,
}

impl PlanError {
    /// The fault of the octets `at` of `text`, a TOML document that is called `name`, and what belongs there.
    pub fn at(text: &str, name: &str, at: Range<usize>, what: String, hint: String) -> Self {
        locate(text, name, Fault { at, what, hint })
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        Self {
            what: format!("{error}\n{}", error.excerpt),
            to_whom: Some(error.name),
            side: Some(Side::Ours),
            hint: Some(error.hint),
            partial: None,
        }
    }
}

/// A fault of a piece of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Bytes from the start of the text.
    pub(super) at: Range<usize>,
    pub(super) what: String,
    pub(super) hint: String,
}

impl Plan {
    /// The plan in `text`, a TOML document that is called `name`.
    ///
    /// # Errors
    /// Text that is no TOML; a key that no plan has; a value of another type than its key takes, or out of its range; and
    /// contradictions, as two hosts of one name. The first of them, in the order of the text as far as TOML goes.
    pub fn read(text: &str, name: &str) -> Result<Self, PlanError> {
        let fault = |fault: Fault| locate(text, name, fault);
        if text.len() > LONGEST {
            let what = format!("a plan has at most {} MiB, and this has more", LONGEST >> 20);
            let hint = "list the hosts in inventories and name these under `inventory`".to_owned();
            return Err(fault(Fault { at: 0..0, what, hint }));
        }
        let plan = toml::from_str(text).map_err(|error| fault(worded(&error)))?;
        // It was read a moment ago, so it is TOML.
        let document = toml::de::DeTable::parse(text).map_err(|error| fault(worded(&error)))?;
        check::check(&plan, document.get_ref()).map_err(fault)?;
        Ok(plan)
    }

    /// The fault of `word` of the command of the method at `place`, a count from 0, in the plan that `text` is: the words of
    /// the command's own reader, at their line.
    pub fn method_fault(
        text: &str,
        name: &str,
        place: usize,
        word: Option<&str>,
        (what, hint): (String, String),
    ) -> PlanError {
        let at = check::command(text, place).unwrap_or(0..0);
        let within = word.filter(|word| !word.is_empty()).and_then(|word| text.get(at.clone())?.find(word));
        let at = match (within, word) {
            (Some(from), Some(word)) => at.start + from..at.start + from + word.len(),
            _ => at,
        };
        PlanError::at(text, name, at, what, hint)
    }

    /// The plan as TOML, which [`Plan::read`] reads again.
    ///
    /// # Errors
    /// None that is known of: a plan has nothing that TOML has no word for.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }
}

/// The hosts in `text`, a TOML document with tables `[[hosts]]` as a plan has them, that is called `name`; what else stands there is
/// passed over, so that a plan is a list of its hosts too.
///
/// # Errors
/// As of [`Plan::read`].
pub fn hosts(text: &str, name: &str) -> Result<Vec<Host>, PlanError> {
    #[derive(Deserialize)]
    struct Listed {
        hosts: Vec<Host>,
    }
    let listed: Result<Listed, _> = toml::from_str(text);
    Ok(listed.map_err(|error| locate(text, name, worded(&error)))?.hosts)
}

/// Error of the TOML reader in the words of a plan: its place, the fault, and the text that belongs there.
pub(crate) fn worded_parts(error: &toml::de::Error) -> (Range<usize>, String, String) {
    let Fault { at, what, hint } = worded(error);
    (at, what, hint)
}

fn worded(error: &toml::de::Error) -> Fault {
    const WORDS: [(&str, &str); 7] = [
        ("unknown field", "unknown key"),
        ("missing field", "missing key"),
        ("duplicate field", "a second key"),
        ("unknown variant", "unknown word"),
        ("expected u16", "expected a number from 1 to 65535"),
        ("expected u32", "expected a whole number from 1 on"),
        ("expected u64", "expected a whole number from 0 on"),
    ];
    let said = WORDS.iter().fold(error.message().to_owned(), |text, (theirs, ours)| text.replace(theirs, ours));
    let (what, hint) = match said.split_once(", expected") {
        Some((what, expected)) => (what.to_owned(), format!("expected{}", expected.trim_end())),
        None => (said.clone(), hint_of(&said).to_owned()),
    };
    Fault { at: error.span().unwrap_or(0..0), what, hint }
}

fn hint_of(said: &str) -> &'static str {
    if said.contains("missing key `methods`") {
        "write a table `[[methods]]` with a `name` and a `command`, as `rtt -t 5s`"
    } else if said.contains("missing key `reach`") {
        "say how the host is reached: `reach = \"local\"`, or `reach.ssh = { to = \"user@host\" }`"
    } else if said.contains("missing key `command`") {
        "write the measuring command without a host, as `command = \"rtt --udp -t 5s\"`"
    } else {
        "see `docs/plans.md`, or let an editor check it by `schema/plan.v1.json`"
    }
}

/// Position of a fault, as people count.
fn locate(text: &str, name: &str, fault: Fault) -> PlanError {
    let start = floor(text, fault.at.start.min(text.len()));
    let end = floor(text, fault.at.end.clamp(start, text.len()));
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let line = text[..start].matches('\n').count() + 1;
    let column = text[line_start..start].chars().count() + 1;
    let whole = text[line_start..line_end].trim_end_matches('\r');
    let marked = text[start..end.min(line_end)].chars().count();
    let excerpt = Excerpt { number: line, whole, column, marked }.to_string();
    PlanError { name: name.to_owned(), line, column, what: fault.what, hint: fault.hint, excerpt }
}

/// The last boundary between characters that is not beyond `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// A line of the text, and marks under a part of it.
struct Excerpt<'a> {
    number: usize,
    whole: &'a str,
    column: usize,
    marked: usize,
}

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Characters of a line that are shown.
        const SHOWN: usize = 100;
        // A long line is shown from shortly before the fault on.
        let skipped = (self.column - 1).saturating_sub(SHOWN / 2);
        let part: String = self.whole.chars().skip(skipped).take(SHOWN).collect();
        let part: String = part.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        let before = self.column - 1 - skipped;
        let most = part.chars().count().saturating_sub(before).max(1);
        let number = self.number.to_string();
        writeln!(f, "  {number} | {}", part.trim_end())?;
        let marks = "^".repeat(self.marked.clamp(1, most));
        write!(f, "  {:width$} | {:before$}{marks}", "", "", width = number.len())
    }
}
