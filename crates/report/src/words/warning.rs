//! What a warning says: what was seen, what to try, and when it is raised. `docs/warnings.md` is made of these.

mod advice;
pub mod example;
mod lost;
mod raised;
mod refused;
mod seen;

use measure::verdict::order::Group;

pub use advice::advice;
pub use raised::raised_when;
pub use seen::seen;

/// The heading of a group's part of the page.
pub fn title(group: Group) -> &'static str {
    match group {
        Group::WhoAnswered => "Who answered",
        Group::Missing => "What is missing, or contradicted",
        Group::Fates => "What became of requests",
        Group::Schedule => "The schedule",
        Group::Machines => "The machines",
        Group::Reading => "What a number does not stand for",
        Group::Statistics => "How far a number can be trusted",
        Group::Settings => "Sockets and sizes",
    }
}
