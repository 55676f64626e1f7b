//! A plan of claims: measurements with names, and what is claimed of them, as TOML. A fault is reported with its line and
//! column.
//!
//! Not here: the words of measuring commands, which the commands read.

use std::ops::Range;

use measure::claim::{Claim, ClaimError, MOST};
use measure::unit::Nanos;
use serde::Deserialize;
use toml::Spanned;

use crate::plan::{PlanError, worded};

/// Most measurements of a plan.
pub const MOST_MEASUREMENTS: usize = 60;
/// The name of the peer that a measurement has unless it names another.
pub const PEER: &str = "peer";
const HINT: &str = "see `docs/howto/study.md`";

/// Measurements and claims.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimPlan {
    /// Its name for readers.
    pub name: String,
    /// Its subject, in a line.
    pub title: Option<String>,
    /// The most that it takes, unless the caller says otherwise.
    pub budget: Option<Nanos>,
    /// The names of its peers, in the order in which hosts are given for them.
    pub peers: Vec<String>,
    /// The measurements, their names different.
    pub measurements: Vec<Measurement>,
    /// The claims.
    pub claims: Vec<PlannedClaim>,
}

/// A measurement with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Its name.
    pub name: String,
    /// The measuring command and its options without a host.
    pub command: String,
    /// The name of its peer.
    pub peer: String,
    /// Octets of the plan's text where its command stands.
    pub at: Range<usize>,
}

/// A claim as it stands in a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedClaim {
    /// The claim.
    pub claim: Claim,
    /// The words of somebody else, as of an article.
    pub said: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    title: Option<String>,
    budget: Option<Spanned<String>>,
    #[serde(default)]
    peers: Vec<String>,
    #[serde(default)]
    measurements: Vec<WrittenMeasurement>,
    #[serde(default)]
    claims: Vec<WrittenClaim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenMeasurement {
    name: Spanned<String>,
    command: Spanned<String>,
    peer: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenClaim {
    claim: Spanned<String>,
    said: Option<String>,
}

impl ClaimPlan {
    /// The plan in `text`, a TOML document that is called `file`. `nearest` finds the word of a list that was meant by another.
    ///
    /// # Errors
    /// Text that is no TOML, a key that no plan has, a claim that cannot be read or names what is not measured; the first of them.
    pub fn read(text: &str, file: &str, nearest: &dyn Fn(&str, &[&str]) -> Option<String>) -> Result<Self, PlanError> {
        let reader = Reader { text, file, nearest };
        let written: Written = toml::from_str(text).map_err(|error| {
            let (at, what, hint) = worded(&error);
            let hint = if hint.contains("docs/plans.md") { HINT.to_owned() } else { hint };
            reader.fault(at, what, hint)
        })?;
        reader.plan(written)
    }
}

struct Reader<'a> {
    text: &'a str,
    file: &'a str,
    nearest: &'a dyn Fn(&str, &[&str]) -> Option<String>,
}

impl Reader<'_> {
    fn fault(&self, at: Range<usize>, what: impl Into<String>, hint: impl Into<String>) -> PlanError {
        PlanError::at(self.text, self.file, at, what.into(), hint.into())
    }

    fn plan(&self, written: Written) -> Result<ClaimPlan, PlanError> {
        if written.measurements.is_empty() || written.claims.is_empty() {
            let hint = "write tables `[[measurements]]` with a `name` and a `command`, and `[[claims]]` with a `claim`";
            return Err(self.fault(0..0, "a study measures something and claims something", hint));
        }
        if written.measurements.len() > MOST_MEASUREMENTS || written.claims.len() > MOST {
            let what = format!("more than {MOST_MEASUREMENTS} measurements or {MOST} claims");
            return Err(self.fault(0..0, what, "make several studies of it"));
        }
        let budget = written.budget.as_ref().map(|budget| {
            let read = budget.get_ref().parse::<Nanos>();
            read.map_err(|error| self.fault(budget.span(), error.to_string(), "write it as 5m"))
        });
        let mut peers = written.peers;
        if peers.is_empty() {
            peers.push(PEER.to_owned());
        }
        let mut measurements: Vec<Measurement> = Vec::new();
        for measurement in written.measurements {
            let measurement = self.measurement(&measurement, &peers, &measurements)?;
            measurements.push(measurement);
        }
        let claims = written.claims.into_iter().map(|claim| self.claim(claim, &measurements));
        let claims = claims.collect::<Result<_, _>>()?;
        let plan = ClaimPlan {
            name: written.name,
            title: written.title,
            budget: budget.transpose()?,
            peers,
            measurements,
            claims,
        };
        Ok(plan)
    }

    fn measurement(
        &self,
        written: &WrittenMeasurement,
        peers: &[String],
        before: &[Measurement],
    ) -> Result<Measurement, PlanError> {
        let name = written.name.get_ref().trim();
        if name.is_empty() || name.contains(['(', ')']) || name.chars().any(char::is_control) {
            let what = "the name of a measurement is words without parentheses";
            return Err(self.fault(written.name.span(), what, "claims name it, as p50(NAME)"));
        }
        if before.iter().any(|other| other.name == name) {
            let what = format!("a second measurement `{name}`");
            return Err(self.fault(written.name.span(), what, "give each a name of its own"));
        }
        let peer = written.peer.as_ref().map_or(peers[0].as_str(), |peer| peer.get_ref().as_str());
        if !peers.iter().any(|known| known == peer) {
            let at = written.peer.as_ref().map_or(0..0, Spanned::span);
            let known: Vec<&str> = peers.iter().map(String::as_str).collect();
            return Err(self.fault(at, format!("`{peer}` is none of its peers"), self.meant(peer, &known)));
        }
        Ok(Measurement {
            name: name.to_owned(),
            command: written.command.get_ref().clone(),
            peer: peer.to_owned(),
            at: written.command.span(),
        })
    }

    fn claim(&self, written: WrittenClaim, measurements: &[Measurement]) -> Result<PlannedClaim, PlanError> {
        let (text, span) = (written.claim.get_ref(), written.claim.span());
        let claim: Claim = text.parse().map_err(|ClaimError { at, what, hint, unknown }| {
            let figures = ["min", "mean", "median", "p50", "p90", "p95", "p99", "p99.9", "loss", "rate", "throughput"];
            let near = unknown.and_then(|word| (self.nearest)(&word, &figures));
            let hint = near.map_or(hint.clone(), |near| format!("did you mean {near}? {hint}"));
            self.fault(self.within(&span, text, at), what, hint)
        })?;
        let names: Vec<&str> = measurements.iter().map(|measurement| measurement.name.as_str()).collect();
        let trimmed = text.len() - text.trim_start().len();
        if let Some(term) = claim.terms().find(|term| !names.contains(&term.of.as_str())) {
            let at = term.at + trimmed..term.at + trimmed + term.of.len();
            let what = format!("no measurement is called `{}`", term.of);
            return Err(self.fault(self.within(&span, text, at), what, self.meant(&term.of, &names)));
        }
        Ok(PlannedClaim { claim, said: written.said })
    }

    fn meant(&self, word: &str, known: &[&str]) -> String {
        let near = (self.nearest)(word, known);
        near.map_or_else(|| format!("one of: {}", known.join(", ")), |near| format!("did you mean `{near}`?"))
    }

    /// Octets `at` of a value that stands at `span`; all of it where escapes make the two differ.
    fn within(&self, span: &Range<usize>, value: &str, at: Range<usize>) -> Range<usize> {
        let from = self.text.get(span.clone()).and_then(|written| written.find(value)).filter(|_| !value.is_empty());
        from.map_or(span.clone(), |from| span.start + from + at.start..span.start + from + at.end)
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    const PLAN: &str = r#"
name = "two"
title = "Two ways"
budget = "5m"
peers = ["near", "far"]

[[measurements]]
name = "ping every 1s"
command = "ping"

[[measurements]]
name = "far"
command = "tcp_rr"
peer = "far"

[[claims]]
claim = "p50(ping every 1s) > 1.5 × p50(far)"
said = "twice as long"
"#;

    fn read(text: &str) -> Result<ClaimPlan, PlanError> {
        ClaimPlan::read(text, "two.toml", &|word, known| {
            let alike = |known: &&&str| {
                known.chars().count() == word.chars().count() && known.chars().next() == word.chars().next()
            };
            known.iter().find(alike).map(|known| (*known).to_owned())
        })
    }

    #[test]
    fn a_plan_is_read_with_its_names_and_claims() {
        let plan = read(PLAN).unwrap();
        assert_eq!((plan.name.as_str(), plan.budget), ("two", Some(Nanos::secs(300))));
        assert_eq!(plan.peers, ["near", "far"]);
        let peers: Vec<&str> = plan.measurements.iter().map(|measurement| measurement.peer.as_str()).collect();
        assert_eq!(peers, ["near", "far"], "the first is meant where none is named");
        assert_eq!(&PLAN[plan.measurements[1].at.clone()], "\"tcp_rr\"");
        assert_eq!(plan.claims[0].said.as_deref(), Some("twice as long"));
    }

    #[test_case("1.5 × p50(far)", "1.5 × p50(fär)", 17, 41, "did you mean `far`?"; "an unknown name")]
    #[test_case("p50(ping", "p5o(ping", 17, 10, "did you mean p50?"; "an unknown figure")]
    #[test_case("peer = \"far\"", "peer = \"fer\"", 14, 8, "did you mean `far`?"; "an unknown peer")]
    #[test_case("name = \"far\"", "name = \"ping every 1s\"", 12, 8, "give each a name"; "a name twice")]
    #[test_case("name = \"far\"", "name = \"f(r\"", 12, 8, "p50(NAME)"; "a parenthesis")]
    #[test_case("budget = \"5m\"", "budget = \"5\"", 4, 10, "5m"; "a budget without its unit")]
    #[test_case("said =", "sayd =", 18, 1, "expected"; "an unknown key")]
    fn a_fault_has_its_line_and_column(before: &str, after: &str, line: usize, column: usize, hint: &str) {
        let fault = read(&PLAN.replacen(before, after, 1)).unwrap_err();
        assert_eq!((fault.line, fault.column), (line, column), "{fault}\n{}", fault.excerpt);
        assert!(fault.hint.contains(hint), "{}", fault.hint);
    }

    #[test]
    fn a_plan_that_claims_nothing_is_none() {
        let text = PLAN.split("[[claims]]").next().unwrap();
        assert!(read(text).unwrap_err().what.contains("claims something"));
        assert!(read("name = 1").is_err() && read("").is_err() && read("[[").is_err());
    }
}
