//! The studies that come with the program: the five articles it was founded on, each as measurements and claims.

use report::layout::{INDENT, Page, Piece, Style, Tone};

/// Their names and plans.
pub const STUDIES: [(&str, &str); 5] = [
    ("ping-or-netperf", include_str!("founding/ping-or-netperf.toml")),
    ("netperf-round-trips", include_str!("founding/netperf-round-trips.toml")),
    ("icmp-and-the-card", include_str!("founding/icmp-and-the-card.toml")),
    ("sockperf-under-load", include_str!("founding/sockperf-under-load.toml")),
    ("cores-and-addresses", include_str!("founding/cores-and-addresses.toml")),
];

/// The plan of this name.
pub fn plan(name: &str) -> Option<&'static str> {
    STUDIES.iter().find(|(known, _)| *known == name).map(|(_, plan)| *plan)
}

/// Their list, each with its title and the number of its claims.
pub fn list(style: &Style) -> String {
    let mut page = Page::new(*style);
    page.answer("Studies that come with sonde");
    for (name, text) in STUDIES {
        let Ok(plan) = super::plan::parse(text, name) else { continue };
        let claims = report::number::count(plan.claims.len() as u64, "claim", "claims");
        let title = plan.title.unwrap_or_default();
        page.paragraph(
            INDENT,
            &Piece::new(format!("{name:<20}"), Tone::Strong),
            INDENT + 21,
            &format!("{title} ({claims})"),
        );
    }
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::claims::plan::{self, Hosts};

    #[test]
    fn every_study_is_read_and_there_are_enough_claims() {
        let mut claims = 0;
        for (name, text) in STUDIES {
            let plan = plan::parse(text, name).unwrap_or_else(|failure| panic!("{}", failure.told.what));
            assert_eq!(plan.name, name);
            assert!(plan.title.is_some() && plan.claims.iter().all(|claim| claim.said.is_some()), "{name}");
            claims += plan.claims.len();
            // Over loopback, and between hosts as many as it names.
            let all: Vec<String> = std::iter::once("local".to_owned())
                .chain(plan.peers.iter().map(|peer| format!("{peer}.example")))
                .collect();
            for hosts in [Vec::new(), all.clone()] {
                let asked = plan::asked(&plan, &Hosts::of(&hosts, &plan).unwrap(), text, name);
                let asked = asked.unwrap_or_else(|failure| panic!("{name}: {}", failure.told.what));
                let measured = asked.iter().filter(|measurement| measurement.is_ok()).count();
                assert!(measured > 1, "{name}");
                assert!(hosts.is_empty() || measured == plan.measurements.len(), "{name}");
            }
        }
        assert!(claims >= 25, "{claims}");
    }
}
