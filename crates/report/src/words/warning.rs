//! The text of each warning: fact and consequence, action, and condition. `docs/warnings.md` is made of these.

mod advice;
pub mod example;
mod lost;
mod raised;
mod refused;
mod seen;

use measure::verdict::Warning;
use measure::verdict::order::Group;

use crate::words::command::Command;

pub use advice::advice;
pub use raised::raised_when;
pub use seen::{held_back, seen};

/// One line for two busy hosts, with the largest figure of each; `None` where not both were. Alone each has its own line.
pub fn busy_hosts(warnings: &[Warning], command: Command) -> Option<String> {
    let figure = |ours: bool| largest(disturbed(warnings, ours)?);
    let (here, peer) = (figure(true)?, figure(false)?);
    let spoils = warnings.iter().find_map(|warning| match warning {
        Warning::Disturbed { spoils, .. } if !spoils.is_empty() => Some(format!(". {}", spoiled(spoils))),
        _ => None,
    });
    let spoils = spoils.unwrap_or_default();
    let rest = match command {
        Command::Throughput => "the rate is affected → quiet them, --cpu N",
        Command::Syn => "compare only min, p50 → --cpu N",
        _ => "compare only min, p50 → --cpu N, --peer-cpu N",
    };
    Some(format!("Hosts busy (here {here}, peer {peer}){spoils}: {rest}"))
}

/// `This alone can cause the drift and the retransmissions`: results that a busy host may have brought about, by their names in the record.
pub(crate) fn spoiled(spoils: &[String]) -> String {
    let name = |kind: &String| match kind.as_str() {
        "changed" => "the change",
        "not-steady" => "the drift",
        "rhythm" => "the rhythm",
        "periodic" => "the period",
        "stalled" => "the stalls",
        "mean-misleads" => "the long values",
        "retransmitted" => "the retransmissions",
        "groups" | "flow" | "losing" | "moved" => "differences between connections",
        "sender-cpu" | "receiver-cpu" => "the limit",
        _ => "other results",
    };
    let mut names: Vec<&str> = Vec::new();
    for one in spoils.iter().map(name) {
        if !names.contains(&one) {
            names.push(one);
        }
    }
    let told = match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    };
    format!("This alone can cause {told}")
}

/// True where a busy host may be the reason for a finding of one of these names: it is known to have waited long enough for it, or its waits
/// were not read.
pub(crate) fn may_explain(warnings: &[Warning], names: &[&str]) -> bool {
    warnings.iter().any(|warning| match warning {
        Warning::Disturbed { waited_share: Some(_), spoils, .. } => {
            spoils.iter().any(|one| names.contains(&one.as_str()))
        }
        other => other.busy_end().is_some(),
    })
}

/// The heading of a group's part of the page.
pub fn title(group: Group) -> &'static str {
    match group {
        Group::WhoAnswered => "Who answered",
        Group::Missing => "Missing or contradicted data",
        Group::Fates => "Request status",
        Group::Schedule => "Schedule",
        Group::Machines => "Hosts",
        Group::Reading => "Numbers that are easily misread",
        Group::Statistics => "Precision",
        Group::Settings => "Sockets and sizes",
    }
}

/// The reason with the largest share, `CPU pressure 57.1 %`; the first where none has one.
pub(crate) fn largest(reasons: &[String]) -> Option<&str> {
    let share = |reason: &str| reason.strip_suffix(" %")?.rsplit(' ').next()?.parse::<f64>().ok();
    let mut found = reasons.first()?.as_str();
    for reason in reasons {
        if share(reason).unwrap_or(0.0) > share(found).unwrap_or(0.0) {
            found = reason;
        }
    }
    Some(found)
}

/// The reasons why this host, or the peer, counts as busy.
pub(crate) fn disturbed(warnings: &[Warning], ours: bool) -> Option<&[String]> {
    warnings.iter().find_map(|warning| match warning {
        Warning::Disturbed { end, by, .. } if (end == "our") == ours => Some(by.as_slice()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_reasons_of_a_busy_host_the_one_with_the_largest_share_is_named() {
        let reasons = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let busy = reasons(&["run-queue delay 4.4 %", "CPU pressure 56.8 %", "steal 1.3 %"]);
        assert_eq!(largest(&busy), Some("CPU pressure 56.8 %"));
        assert_eq!(largest(&reasons(&["other work", "run-queue delay"])), Some("other work"));
        assert_eq!(largest(&[]), None);
    }
}
