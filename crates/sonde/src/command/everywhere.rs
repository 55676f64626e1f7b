//! Options of every command.

use clap::Args;

use crate::command::argv;

/// Options of every command.
#[derive(Debug, Args)]
pub struct Everywhere {
    /// Print only the result and errors
    #[arg(short, long, global = true, help_heading = "Everywhere")]
    pub quiet: bool,
    /// Print details too: sockets, the environment of both hosts, each second, all warnings
    #[arg(short, long, global = true, help_heading = "Everywhere")]
    pub verbose: bool,
    /// Colours: auto, always or never; auto honours `NO_COLOR` and `CLICOLOR_FORCE`
    #[arg(long, global = true, value_name = "WHEN", env = "SONDE_COLOR", value_parser = argv::colors())]
    #[arg(default_value = "auto", hide_possible_values = true, help_heading = "Everywhere")]
    pub color: anstream::ColorChoice,
}
