//! Command of a measurement, as far as its options decide what can be tried.

use std::fmt;

use measure::method::default::IN_TURN;
use measure::method::{Carrier, Exchange, Method, Schedule, Traffic};

/// A command that makes records. A program of the field that sonde stands in for counts as the command that asks the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Command {
    /// `sonde rtt`.
    Rtt,
    /// The same over many connections, as `sonde paths` has it.
    Paths,
    /// The same of a program at work.
    Ask,
    /// `sonde load`.
    Load,
    /// `sonde replay`.
    Replay,
    /// `sonde throughput`.
    Throughput,
    /// `sonde syn`.
    Syn,
}

impl Command {
    /// All that have advice of their own in the list of warnings: of many connections it is that of `rtt`.
    pub const ALL: [Self; 6] = [Self::Rtt, Self::Ask, Self::Load, Self::Replay, Self::Throughput, Self::Syn];

    /// The one that measures by `method`.
    pub fn of(method: &Method) -> Self {
        match (&method.traffic, method.schedule) {
            (Traffic::Stream(_), _) => Self::Throughput,
            (_, Schedule::Trace { .. }) => Self::Replay,
            (Traffic::Load(_), _) => Self::Load,
            (Traffic::Exchange(Exchange { carrier: Carrier::TcpSyn, .. }), _) => Self::Syn,
            (traffic, _) if traffic.application().is_some() => Self::Ask,
            _ if method.spread.connections > IN_TURN => Self::Paths,
            _ => Self::Rtt,
        }
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rtt | Self::Ask => "rtt",
            Self::Paths => "paths",
            Self::Load => "load",
            Self::Replay => "replay",
            Self::Throughput => "throughput",
            Self::Syn => "syn",
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::method::{Asked, Pattern};
    use measure::trace::{Departure, Trace};
    use measure::unit::Nanos;

    #[test]
    fn a_method_belongs_to_the_command_that_asks_so() {
        let of = |asked: Asked| Command::of(&asked.resolve().unwrap());
        let pattern = |pattern| Asked { pattern: Some(pattern), ..Asked::default() };
        let departures = [0, 1_000].map(|at| Departure { at: Nanos(at), bytes: 64 });
        let trace = Some(Trace::new(departures.to_vec()).unwrap().schedule());
        assert_eq!(of(Asked::default()), Command::Rtt);
        assert_eq!(of(Asked { carrier: Some(Carrier::Icmp), ..Asked::default() }), Command::Rtt);
        assert_eq!(of(Asked { connections: Some(16), ..Asked::default() }), Command::Paths);
        assert_eq!(of(pattern(Pattern::Load)), Command::Load);
        assert_eq!(of(Asked { schedule: trace, ..pattern(Pattern::Load) }), Command::Replay);
        assert_eq!(of(pattern(Pattern::Stream)), Command::Throughput);
        assert_eq!(of(Asked { carrier: Some(Carrier::TcpSyn), ..Asked::default() }), Command::Syn);
    }
}
