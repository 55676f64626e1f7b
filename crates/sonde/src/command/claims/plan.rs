//! A plan of claims with its words read, its figures checked, and its peers found among the hosts that were given.

use std::path::Path;

use logbook::claims::{ClaimPlan, Measurement};
use logbook::plan::PlanError;
use logbook::whole;
use measure::study::figure::{Figure, Unit};

use crate::command::argv::nearest;
use crate::command::claims::founding;
use crate::command::study::trials::FEWEST;
use crate::command::study::words::Words;
use crate::failure::Failure;

/// The address of a peer where no host is given and none is within the measuring process.
const LOOPBACK: &str = "127.0.0.1";
/// The word for this host.
const LOCAL: &str = "local";

/// The place of a peer.
#[derive(Clone, Copy)]
enum Place<'a> {
    /// This host.
    Loopback,
    /// A host by name.
    Host(&'a str),
}

/// The hosts that were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The one that measures, where it is another than this one.
    pub from: Option<String>,
    /// The plan's peers by name, each with its host.
    peers: Vec<(String, String)>,
    is_given: bool,
}

impl Hosts {
    /// These words, for the peers of `plan`.
    ///
    /// # Errors
    /// More than the plan has peers, and what is no host.
    pub fn of(words: &[String], plan: &ClaimPlan) -> Result<Self, Failure> {
        if let Some(word) = words.iter().find(|word| word.trim().is_empty() || word.starts_with('-')) {
            return Err(Failure::usage(format!("--hosts: `{word}` is not a host"))
                .hint("--hosts FROM,TO, as in --hosts web1,db1"));
        }
        let (from, peers) = match words {
            [] | [_] => (None, words),
            [from, peers @ ..] => (Some(from.clone()).filter(|from| from != LOCAL), peers),
        };
        if peers.len() > plan.peers.len() {
            let what = format!("--hosts: {} peers, and the plan has {}", peers.len(), plan.peers.join(", "));
            return Err(
                Failure::usage(what).hint("give the host that measures, then one host for each peer of the plan")
            );
        }
        let peers = plan.peers.iter().cloned().zip(peers.iter().cloned()).collect();
        Ok(Self { from, peers, is_given: !words.is_empty() })
    }

    /// The place of a peer; absent where no host is given for it.
    fn of_peer(&self, peer: &str, plan: &ClaimPlan) -> Option<Place<'_>> {
        let given = self.peers.iter().find(|(name, _)| name == peer).map(|(_, host)| Place::Host(host));
        // Two peers on one loopback would be one.
        given.or((!self.is_given && plan.peers.first().is_some_and(|first| first == peer)).then_some(Place::Loopback))
    }
}

/// The plan in the file, or of the study, that `word` names, and its text.
///
/// # Errors
/// A word that names neither, and a fault of the plan.
pub fn read(word: &str) -> Result<(ClaimPlan, String), Failure> {
    if let Some(text) = founding::plan(word).filter(|_| !Path::new(word).exists()) {
        return Ok((parse(text, word)?, text.to_owned()));
    }
    let text = whole::text(Path::new(word), whole::BY_HAND).map_err(|error| {
        let names = founding::STUDIES.map(|(name, _)| name);
        let hint = match nearest(word, names.into_iter()) {
            Some(name) => format!("did you mean `sonde study {name}`?"),
            None => format!("give a TOML file, or one of {}", names.join(", ")),
        };
        Failure::usage(format!("{word}: no study of this name, and cannot read the plan: {error}"))
            .hint(hint)
            .about(word)
    })?;
    Ok((parse(&text, word)?, text))
}

/// The plan that `text` is.
///
/// # Errors
/// The fault, with its line.
pub fn parse(text: &str, name: &str) -> Result<ClaimPlan, Failure> {
    let meant = |word: &str, known: &[&str]| nearest(word, known.iter().copied()).map(str::to_owned);
    ClaimPlan::read(text, name, &meant).map_err(told)
}

fn told(fault: PlanError) -> Failure {
    Failure { told: fault.into(), ..Failure::usage("") }
}

/// Each measurement as words, or why it cannot be made with these hosts.
///
/// # Errors
/// Words that their command would refuse, with their line; a claim on a figure that its measurement has not.
pub fn asked(plan: &ClaimPlan, hosts: &Hosts, text: &str, name: &str) -> Result<Vec<Result<Words, String>>, Failure> {
    let mut all = Vec::with_capacity(plan.measurements.len());
    for measurement in &plan.measurements {
        let located = |failure: Failure| {
            let logbook::failure::Failure { what, hint, .. } = failure.told;
            let hint = hint.unwrap_or_else(|| "see `docs/howto/study.md`".to_owned());
            told(PlanError::at(text, name, measurement.at.clone(), what, hint))
        };
        let mut words = Words::read(&measurement.command).map_err(located)?;
        if let Some(host) = &words.host {
            let what = format!("`{}` names a host, `{host}`", measurement.command);
            return Err(located(Failure::usage(what).hint("--hosts says who measures whom")));
        }
        let Some(place) = hosts.of_peer(&measurement.peer, plan) else {
            all.push(Err(format!("it takes a host for `{}` (--hosts {})", measurement.peer, wanted(plan))));
            continue;
        };
        let needs_host = words.command == "syn" || words.value("--peer").is_some();
        words.host = match place {
            Place::Host(host) => Some(host.to_owned()),
            Place::Loopback => needs_host.then(|| LOOPBACK.to_owned()),
        };
        let method = words.method().map_err(located)?;
        check(plan, measurement, method.traffic.stream().is_some()).map_err(located)?;
        all.push(Ok(words));
    }
    Ok(all)
}

/// The hosts that a plan takes, as they are given.
fn wanted(plan: &ClaimPlan) -> String {
    let peers: Vec<String> = plan.peers.iter().map(|peer| peer.to_uppercase()).collect();
    format!("FROM,{}", peers.join(","))
}

/// Refuses claims on what a measurement has not.
fn check(plan: &ClaimPlan, measurement: &Measurement, stream: bool) -> Result<(), Failure> {
    for claim in &plan.claims {
        let unfit = claim
            .claim
            .terms()
            .find(|term| term.of == measurement.name && (term.figure.unit() == Unit::Bytes) != stream);
        if let Some(term) = unfit {
            let what = format!("`{}` has no {}, which a claim is of", measurement.name, term.figure);
            let hint = if stream { "a stream has throughput" } else { "throughput is of `throughput`" };
            return Err(Failure::usage(what).hint(hint));
        }
    }
    Ok(())
}

/// Exchanges that a run of a measurement should have for the claims on it: its percentiles with two values beyond them.
pub fn samples(plan: &ClaimPlan, name: &str) -> u64 {
    let loss = figures(plan, name).any(|figure| figure == Figure::Loss);
    beyond(plan, name, 2.0).max(if loss { 100 } else { 10 })
}

/// Exchanges without which a run shows nothing for the claims on it: one value beyond its percentiles.
pub fn fewest(plan: &ClaimPlan, name: &str) -> u64 {
    beyond(plan, name, 1.0).max(FEWEST)
}

fn figures(plan: &ClaimPlan, name: &str) -> impl Iterator<Item = Figure> {
    plan.claims.iter().flat_map(|claim| claim.claim.terms()).filter(move |term| term.of == name).map(|term| term.figure)
}

/// Exchanges of which so many lie beyond the highest percentile that is claimed; 0 where none is.
fn beyond(plan: &ClaimPlan, name: &str, count: f64) -> u64 {
    let needed = figures(plan, name).filter_map(|figure| match figure {
        Figure::Quantile(q) => Some((count / (1.0 - q).max(1e-6) - 1e-6).ceil() as u64),
        _ => None,
    });
    needed.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    const PLAN: &str = r#"
name = "mine"
peers = ["near", "far"]
[[measurements]]
name = "near"
command = "tcp_rr"
[[measurements]]
name = "far"
command = "syn --port 7"
peer = "far"
[[claims]]
claim = "p99(near) < 1ms"
"#;

    fn hosts(words: &[&str]) -> Result<Vec<Result<String, String>>, Failure> {
        let plan = parse(PLAN, "mine.toml")?;
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let found = asked(&plan, &Hosts::of(&words, &plan)?, PLAN, "mine.toml")?;
        Ok(found.into_iter().map(|words| words.map(|words| words.to_string())).collect())
    }

    #[test]
    fn hosts_stand_for_the_peers_in_their_order() {
        let missing = || Err("it takes a host for `far` (--hosts FROM,NEAR,FAR)".to_owned());
        let near = |host: &str| Ok(format!("rtt {host}--tcp --size 1"));
        assert_eq!(hosts(&[]).unwrap(), [near(""), missing()]);
        assert_eq!(hosts(&["db1"]).unwrap(), [near("db1 "), missing()]);
        assert_eq!(hosts(&["local", "db1", "db2"]).unwrap(), [near("db1 "), Ok("syn db2 --port 7".to_owned())]);
        assert!(hosts(&["a", "b", "c", "d"]).unwrap_err().told.what.contains("3 peers"));
        assert!(hosts(&["-oProxyCommand=x", "b"]).unwrap_err().told.what.contains("is not a host"));
    }

    #[test_case("tcp_rr", "tcp_rr --json", "does not work in a study"; "another's option")]
    #[test_case("tcp_rr", "tcp_rr db1", "names a host"; "a host")]
    #[test_case("tcp_rr", "tcp_stream", "has no p99"; "a stream has no percentile")]
    #[test_case("tcp_rr", "tcp_rr --evry 1s", "unknown option"; "no option")]
    fn what_is_wrong_with_words_is_said_at_their_line(before: &str, after: &str, what: &str) {
        let text = PLAN.replacen(before, after, 1);
        let plan = parse(&text, "mine.toml").unwrap();
        let failure = asked(&plan, &Hosts::of(&[], &plan).unwrap(), &text, "mine.toml").unwrap_err();
        let said = &failure.told.what;
        assert!(said.starts_with("mine.toml, line 6, column 11: ") && said.contains(what), "{said}");
    }

    #[test]
    fn a_run_has_the_exchanges_that_its_claims_take() {
        let plan = parse(PLAN, "mine.toml").unwrap();
        assert_eq!((samples(&plan, "near"), samples(&plan, "far")), (200, 10));
        assert_eq!((fewest(&plan, "near"), fewest(&plan, "far")), (100, 5));
    }
}
