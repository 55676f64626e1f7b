//! Words for who sent an answer, as far as a comparison with another port shows it.

use measure::origin::{Counting, Fit, Origin, Trait, Verdict};

/// The verdict in a sentence, with its evidence.
pub fn sentence(origin: &Origin) -> String {
    let told = |fit: Fit| {
        let those = origin.traits.iter().filter(|found| found.fit == fit);
        those.map(|found| evidence(&found.of)).collect::<Vec<_>>().join("; ")
    };
    let (against, otherwise, same) = (told(Fit::Impossible), told(Fit::Otherwise), told(Fit::Same));
    match (origin.verdict, origin.compared_port) {
        (Verdict::AnotherHop, Some(port)) => format!("probably another box than at port {port}: {against}"),
        (Verdict::AnotherHop, None) => format!("probably another box: {against}"),
        (Verdict::NotShown, None) => {
            "who answered is not established: no port of the host that accepts connections was compared".to_owned()
        }
        (Verdict::NotShown, _) if origin.traits.is_empty() => format!(
            "who answered is not established: {} answers, and {} of an open port, are too few to compare",
            origin.questioned, origin.accepted
        ),
        (Verdict::NotShown, _) if origin.both_accept && otherwise.is_empty() => {
            format!("like the other port in all that was compared ({same})")
        }
        (Verdict::NotShown, _) if origin.both_accept => {
            format!("unlike the other port in {otherwise}; this proves nothing, because one host may do so")
        }
        (Verdict::NotShown, _) if otherwise.is_empty() => format!(
            "who answered is not established: like the host that accepts connections in everything compared ({same}), but a middlebox can imitate the host"
        ),
        (Verdict::NotShown, _) => {
            format!("who answered is not established: {otherwise}; this proves nothing, because one host may do so")
        }
    }
}

fn evidence(of: &Trait) -> String {
    let span = |(low, high): (u8, u8)| if low == high { low.to_string() } else { format!("{low}..{high}") };
    let bit = |set: bool| if set { "set" } else { "not set" };
    match of {
        Trait::Ttl { host, theirs, outside: 0 } if host == theirs => format!("TTL {}", span(*host)),
        Trait::Ttl { host, theirs, .. } => {
            format!("TTL {} where those of the other port have {}", span(*theirs), span(*host))
        }
        Trait::IpId { host, theirs } if host == theirs => format!("IP id {}", counting(*host)),
        Trait::IpId { host, theirs } => {
            format!("IP id {} where that of the other port is {}", counting(*theirs), counting(*host))
        }
        Trait::DontFragment { host, theirs } if host == theirs => format!("DF {}", bit(*host)),
        Trait::DontFragment { host, theirs } => {
            format!("DF {} where that of the other port is {}", bit(*theirs), bit(*host))
        }
        Trait::Time { host_min_ns, host_median_ns, their_median_ns } => format!(
            "median round trip {their_median_ns} where that of the other port is {host_median_ns} and never below {host_min_ns}"
        ),
    }
}

fn counting(counting: Counting) -> &'static str {
    match counting {
        Counting::Zero => "always 0",
        Counting::Constant => "always the same",
        Counting::Rising => "rising",
        Counting::Scattered => "scattered",
    }
}

#[cfg(test)]
mod tests {
    use measure::origin::{Finding, judge};
    use test_case::test_case;

    use super::*;

    /// An answer of a closed port, compared with those of port 80 by one trait.
    fn compared(verdict: Verdict, fit: Fit, theirs: u8) -> Origin {
        let of = Trait::Ttl { host: (63, 63), theirs: (theirs, theirs), outside: u64::from(theirs != 63) };
        Origin { compared_port: Some(80), verdict, traits: vec![Finding { fit, of }], ..judge(None, &[], &[]) }
    }

    #[test_case(Verdict::AnotherHop, Fit::Impossible, 64, "probably another box than at port 80: TTL 64 where those of the other port have 63"; "another box")]
    #[test_case(Verdict::NotShown, Fit::Otherwise, 254, "who answered is not established: TTL 254 where those of the other port have 63; this proves nothing, because one host may do so"; "otherwise")]
    #[test_case(Verdict::NotShown, Fit::Same, 63, "who answered is not established: like the host that accepts connections in everything compared (TTL 63), but a middlebox can imitate the host"; "the same")]
    fn a_verdict_has_its_evidence(verdict: Verdict, fit: Fit, theirs: u8, words: &str) {
        assert_eq!(sentence(&compared(verdict, fit, theirs)), words);
    }

    #[test]
    fn without_another_port_nothing_is_shown() {
        assert!(sentence(&judge(None, &[], &[])).contains("no port of the host that accepts connections"));
    }
}
