//! The exit statuses. One table: the help, the man page and the code read it here.

use std::process::ExitCode;

use endpoint::signal::Signal;

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done as requested: for a measurement, at least one request was answered.
    Done,
    /// Nothing answered, the peer refused, or it went away or fell silent in the middle.
    NothingAnswered,
    /// The command line, a file, a permission: nothing was measured.
    Usage,
    /// Some of several things that were to be measured were, and some could not be.
    PartlyDone,
    /// A condition that was asked for does not hold (`--strict`).
    Threshold,
    /// A claim of a study is not shown, and none is shown not to hold.
    NotShown,
    /// A run with an end was cut short by a signal; what was measured so far was printed.
    CutShort(Signal),
    /// Another program's part was played (`persona`): its own status, which the table below says nothing of.
    Persona(u8),
}

impl Exit {
    /// The status as a number.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::NothingAnswered => 1,
            Self::Usage => 2,
            Self::PartlyDone => 3,
            Self::NotShown => 98,
            Self::Threshold => 99,
            Self::CutShort(signal) => 128 + signal.number() as u8,
            Self::Persona(status) => status,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The table of `--help`, the man page and the reference.
pub const TABLE: &str = "\
Exit status:
    0  measured: at least one request was answered
    1  nothing answered, the peer refused, went away or fell silent (results so far are printed)
    2  error in usage, configuration or permission: nothing was measured
    3  some cells of a plan or trials of a study failed: the output names them
   98  a claim of sonde study is not shown, and none is shown not to hold
   99  a requested condition or a claim does not hold (--strict, --fail-if, study)
  129  ended early by SIGHUP (terminal closed); the partial result is printed
  130  the same by SIGINT (Ctrl-C)
  143  the same by SIGTERM";

#[cfg(test)]
mod tests {
    use super::*;
    use test_case::test_case;

    #[test_case(Exit::Done)]
    #[test_case(Exit::NothingAnswered)]
    #[test_case(Exit::Usage)]
    #[test_case(Exit::Threshold)]
    #[test_case(Exit::NotShown)]
    #[test_case(Exit::CutShort(Signal::Interrupt))]
    #[test_case(Exit::CutShort(Signal::Terminate))]
    #[test_case(Exit::CutShort(Signal::Hangup))]
    fn the_table_knows_every_status(exit: Exit) {
        let start = format!("{:>5}  ", exit.code());
        assert!(TABLE.lines().any(|line| line.starts_with(&start)), "no line for {exit:?}");
    }
}
