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
    let rest = match command {
        Command::Throughput => "the rate is affected → quiet them, --cpu",
        Command::Syn => "compare only min, p50 → --cpu",
        _ => "compare only min, p50 → --cpu, --peer-cpu",
    };
    Some(format!("Hosts busy (here {here}, peer {peer}): {rest}"))
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
        Warning::Disturbed { end, by } if (end == "our") == ours => Some(by.as_slice()),
        _ => None,
    })
}
