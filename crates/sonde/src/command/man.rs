//! `sonde man`: manual pages, made from the definitions.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::Output;
use crate::program::PROGRAM;

const EXAMPLES: &str = "\
Examples:
  sonde man | man -l -                         read sonde(1)
  sonde man rtt | man -l -                     read sonde-rtt(1)
  sonde man --write ~/.local/share/man/man1    write all of them
";

/// Arguments of `sonde man`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ManOptions {
    /// Print the page of this command [default: sonde itself]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
    /// Write the pages of all commands to FOLDER
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    write: Option<PathBuf>,
}

/// Prints a page, or writes them all.
///
/// # Errors
/// No such command; a folder that cannot be written to.
pub fn run(options: &ManOptions, mut whole: Command, output: &Output) -> Result<Exit, Failure> {
    // Without this a subcommand knows neither the options that hold everywhere nor its full name.
    whole.build();
    if let Some(folder) = &options.write {
        write_all(&whole, folder)
            .map_err(|error| Failure::usage(format!("{}: cannot write there: {error}", folder.display())))?;
    } else {
        let page = page(command_named(&whole, options.command.as_deref())?);
        let page = page.map_err(|error| Failure::usage(format!("cannot make the page: {error}")))?;
        output.result(&String::from_utf8_lossy(&page));
    }
    Ok(Exit::Done)
}

fn write_all(whole: &Command, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for command in std::iter::once(whole).chain(shown(whole)) {
        std::fs::write(folder.join(Man::new(command.clone()).get_filename()), page(command)?)?;
    }
    Ok(())
}

fn shown(whole: &Command) -> impl Iterator<Item = &Command> {
    whole.get_subcommands().filter(|command| !command.is_hide_set())
}

fn command_named<'a>(whole: &'a Command, name: Option<&str>) -> Result<&'a Command, Failure> {
    let Some(name) = name else { return Ok(whole) };
    shown(whole).find(|command| command.get_name() == name).ok_or_else(|| {
        let names: Vec<&str> = shown(whole).map(Command::get_name).collect();
        Failure::usage(format!("unknown command `{name}`")).hint(format!("one of {}", names.join(", ")))
    })
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone()).source(PROGRAM);
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    verbatim(&mut page, "EXIT STATUS", exit::TABLE)?;
    if let Some(examples) = command.get_after_help() {
        verbatim(&mut page, "EXAMPLES", &examples.to_string())?;
    }
    Ok(page)
}

/// A section whose lines stay as they are, less the heading that they bring along.
fn verbatim(page: &mut dyn Write, title: &str, text: &str) -> io::Result<()> {
    let mut roff = Roff::default();
    roff.control("SH", [title]).control("nf", []);
    for line in text.trim_end().lines().filter(|line| !line.eq_ignore_ascii_case(&format!("{title}:"))) {
        roff.text([roman(line)]);
    }
    roff.control("fi", []).to_writer(page)
}
