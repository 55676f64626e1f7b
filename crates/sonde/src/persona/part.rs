//! `sonde netperf`, `sonde ping` and the other programs whose place is taken as commands among others: for help, man pages and
//! completions. Their words are read in [`crate::persona`], before anything here sees them.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches, Subcommand, value_parser};

use crate::failure::Failure;
use crate::persona::{self, call::Persona};

/// A persona, asked for behind options of ours.
#[derive(Debug)]
pub struct Part(&'static Persona);

impl Part {
    /// Options of ours before the name would be lost on it.
    pub fn misplaced(&self) -> Failure {
        let name = self.0.name;
        Failure::usage(format!("{name} has to be the first word: it takes its own options alone"))
            .hint(format!("write `sonde {name} …`"))
    }
}

impl Subcommand for Part {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(persona::ALL.iter().map(|persona| definition(persona)))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        persona::ALL.iter().any(|persona| persona.name == name)
    }
}

impl FromArgMatches for Part {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let named = matches.subcommand_name().and_then(persona::named);
        named.map(Self).ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Its help is ours, its words are its own.
fn definition(persona: &'static Persona) -> Command {
    let words = Arg::new("words")
        .value_name("WORDS")
        .help("The words, as the original takes them; options that sonde has everywhere are not among them")
        .num_args(1..)
        .action(ArgAction::Append)
        .value_parser(value_parser!(OsString))
        .trailing_var_arg(true)
        .allow_hyphen_values(true);
    Command::new(persona.name)
        .about(persona.about)
        .after_help((persona.help)())
        .disable_help_flag(true)
        .disable_version_flag(true)
        .arg(words)
}
