//! Verdicts on claims in the forms that machines of others read: the XML of JUnit, and Markdown for the page of a job.

use std::fmt::Write;

use logbook::study::{StatedClaim, StudyDocument};
use measure::claim::ClaimVerdict;

use crate::flat::markdown::escaped as in_markdown;
use crate::markup::escaped;
use crate::study::claims::{answer, counts, found, name, word};

/// The claims of `study` as a suite of tests: what does not hold has failed, what is not shown is skipped with the reason.
pub fn junit(study: &StudyDocument) -> String {
    let (_, against, open) = counts(study);
    let (suite, all) = (in_xml(name(study)), study.claims.len());
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{all}\" failures=\"{against}\" errors=\"0\" skipped=\"{open}\">\n  \
         <testsuite name=\"{suite}\" tests=\"{all}\" failures=\"{against}\" errors=\"0\" skipped=\"{open}\" timestamp=\"{}\">\n",
        in_xml(&study.head.started.timestamp().strftime("%Y-%m-%dT%H:%M:%S").to_string())
    );
    for claim in &study.claims {
        let (title, said) = (in_xml(&claim.claim.to_string()), in_xml(&found(claim)));
        let inside = match claim.finding.map(|found| found.verdict) {
            Some(ClaimVerdict::Holds) => format!("<system-out>{said}</system-out>"),
            Some(ClaimVerdict::DoesNotHold) => {
                format!("<failure type=\"claim\" message=\"does not hold: {said}\"/>")
            }
            _ => format!("<skipped message=\"{}: {said}\"/>", word(claim)),
        };
        let case = format!("classname=\"{suite}\" name=\"{title}\"");
        // A String takes all that is written to it.
        let _ = writeln!(text, "    <testcase {case}>\n      {inside}\n    </testcase>");
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// The claims of `study` as a part of a job's page.
pub fn summary(study: &StudyDocument) -> String {
    let mut text = format!("### {}: {}\n\n", in_markdown(name(study)), in_markdown(&answer(study)));
    text.push_str("| verdict | claim | found | said |\n| --- | --- | --- | --- |\n");
    for claim in &study.claims {
        let StatedClaim { said, .. } = claim;
        let cells = [word(claim).to_owned(), claim.claim.to_string(), found(claim), said.clone().unwrap_or_default()];
        let _ = writeln!(text, "| {} |", cells.map(|cell| in_markdown(&cell)).join(" | "));
    }
    text.push_str("\nEvery ratio has its interval; all claims together are wrong in at most 5 % of such studies.\n");
    text
}

/// `text` as XML 1.0 has it: what is no letter there (its section 2.2) has been made a sign.
fn in_xml(text: &str) -> String {
    escaped(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::claims::tests::study;

    #[test]
    fn junit_is_well_formed_and_counts_what_it_holds() {
        let text = junit(&study());
        let head = "<testsuites tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\">";
        assert!(text.contains(head) && text.contains("testsuite name=\"a&lt;b\""), "{text}");
        assert_eq!(text.matches("<testcase ").count(), 3);
        assert_eq!(well_formed(&text), Ok(()), "{text}");
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn what_xml_does_not_know_is_no_part_of_it() {
        let all: String = (0..0x20).chain([0x7f, 0xfffe, 0xffff]).filter_map(char::from_u32).collect();
        let safe = in_xml(&format!("{all}&<>\"'"));
        assert!(safe.chars().all(|letter| letter >= ' ' || "\n\t".contains(letter)), "{safe:?}");
        assert!(safe.ends_with("&amp;&lt;&gt;&quot;&#39;"), "{safe}");
    }

    #[test]
    fn a_summary_has_a_row_for_each_claim() {
        let text = summary(&study());
        assert!(text.starts_with("### a\\<b: 1 of 3 claims hold"), "{text}");
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
        assert_eq!(rows.len(), 5);
        for row in rows {
            assert_eq!(row.replace("\\|", "").matches('|').count(), 5, "{row}");
        }
        assert!(!text.contains('\u{1b}'));
    }

    /// Reads XML as far as these documents use it: tags that close each other, and attributes in double quotes.
    fn well_formed(text: &str) -> Result<(), String> {
        let mut open = Vec::new();
        let mut rest = text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").ok_or("no declaration")?;
        while let Some(at) = rest.find('<') {
            if rest[..at].contains('>') {
                return Err(format!("a bare > in {}", &rest[..at]));
            }
            let end = rest[at..].find('>').ok_or("an open tag")? + at;
            let (tag, after) = (&rest[at + 1..end], &rest[end + 1..]);
            if let Some(name) = tag.strip_prefix('/') {
                let last: Option<String> = open.pop();
                if last.as_deref() != Some(name) {
                    return Err(format!("{name} closes {last:?}"));
                }
            } else {
                if tag.matches('"').count() % 2 != 0 || tag.contains('<') {
                    return Err(format!("quotes of {tag}"));
                }
                if !tag.ends_with('/') {
                    open.push(tag.split(' ').next().unwrap_or_default().to_owned());
                }
            }
            rest = after;
        }
        if open.is_empty() { Ok(()) } else { Err(format!("{open:?} left open")) }
    }
}
