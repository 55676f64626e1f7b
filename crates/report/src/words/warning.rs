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

/// One line for two busy hosts, with the first figure of each; `None` where not both were. Alone each has its own line.
pub fn busy_hosts(warnings: &[Warning], command: Command) -> Option<String> {
    let figure = |ours: bool| {
        let reason = disturbed(warnings, ours)?.first()?;
        Some(reason[reason.find(|letter: char| letter.is_ascii_digit())?..].to_owned())
    };
    let (here, peer) = (figure(true)?, figure(false)?);
    let spoils = warnings.iter().find_map(|warning| match warning {
        Warning::Disturbed { spoils, .. } if !spoils.is_empty() => Some(format!(". {}", spoiled(spoils))),
        _ => None,
    });
    let spoils = spoils.unwrap_or_default();
    let rest = match command {
        Command::Throughput => "the rate is affected → quiet them, --cpu",
        Command::Syn => "compare only min, p50 → --cpu",
        _ => "compare only min, p50 → --cpu, --peer-cpu",
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

/// The reasons why this host, or the peer, counts as busy.
pub(crate) fn disturbed(warnings: &[Warning], ours: bool) -> Option<&[String]> {
    warnings.iter().find_map(|warning| match warning {
        Warning::Disturbed { end, by, .. } if (end == "our") == ours => Some(by.as_slice()),
        _ => None,
    })
}
