//! `sonde man`: manual pages, made from the definitions.

use std::path::PathBuf;

use clap::Args;
use clap_mangen::Man;

use crate::command::definition;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  sonde man | man -l -                         read sonde(1)
  sonde man rtt | man -l -                     read sonde-rtt(1)
  sonde man --write ~/.local/share/man/man1    write them all, one for each command
";

/// What `sonde man` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ManOptions {
    /// The command whose page to print; without it that of sonde itself
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
    /// Write the pages of all commands into FOLDER instead
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    write: Option<PathBuf>,
}

/// Prints a page, or writes them all.
///
/// # Errors
/// No such command; a folder that cannot be written to.
pub fn run(options: &ManOptions, output: &Output) -> Result<Exit, Failure> {
    if let Some(folder) = &options.write {
        let cannot = |error: std::io::Error| Failure::usage(format!("{}: cannot write there: {error}", folder.display()));
        std::fs::create_dir_all(folder).map_err(cannot)?;
        clap_mangen::generate_to(definition(), folder).map_err(cannot)?;
        return Ok(Exit::Done);
    }
    let mut page = Vec::new();
    let rendered = Man::new(page_of(options.command.as_deref())?).render(&mut page);
    rendered.map_err(|error| Failure::usage(format!("cannot make the page: {error}")))?;
    output.result(&String::from_utf8_lossy(&page));
    Ok(Exit::Done)
}

fn page_of(name: Option<&str>) -> Result<clap::Command, Failure> {
    let mut whole = definition();
    // Without this a subcommand knows neither the options that hold everywhere nor its full name.
    whole.build();
    let Some(name) = name else { return Ok(whole) };
    let found = whole.find_subcommand(name).cloned();
    found.ok_or_else(|| {
        let names: Vec<&str> = whole.get_subcommands().filter(|c| !c.is_hide_set()).map(clap::Command::get_name).collect();
        Failure::usage(format!("no command is called `{name}`")).hint(format!("there are {}", names.join(", ")))
    })
}
