//! `sonde reference` (hidden): the pages of `docs/reference/`, made from the definitions, and `docs/warnings.md`. A test
//! fails where a committed copy differs.

pub mod warnings;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Arg, Args, Command};

use crate::exit::{self, Exit};
use crate::failure::Failure;

/// Arguments of `sonde reference`.
#[derive(Debug, Args)]
pub struct ReferenceOptions {
    /// The folder to write to
    #[arg(value_name = "FOLDER", default_value = "docs/reference")]
    folder: PathBuf,
    /// Also write the page of the warnings
    #[arg(long, value_name = "FILE")]
    warnings: Option<PathBuf>,
}

/// Writes the pages.
///
/// # Errors
/// A folder that cannot be written to.
pub fn run(options: &ReferenceOptions, whole: Command) -> Result<Exit, Failure> {
    let folder = &options.folder;
    let cannot =
        |at: &Path, error: std::io::Error| Failure::usage(format!("{}: cannot write there: {error}", at.display()));
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    for (name, text) in pages(whole) {
        std::fs::write(folder.join(name), text).map_err(|error| cannot(folder, error))?;
    }
    if let Some(file) = &options.warnings {
        std::fs::write(file, warnings::page()).map_err(|error| cannot(file, error))?;
    }
    Ok(Exit::Done)
}

/// File names and texts of all pages.
fn pages(mut whole: Command) -> Vec<(String, String)> {
    whole.build();
    let mut pages = vec![("README.md".to_owned(), index(&whole))];
    for command in shown(&whole) {
        pages.push((format!("{}.md", command.get_name()), page(command)));
    }
    pages
}

fn shown(whole: &Command) -> impl Iterator<Item = &Command> {
    whole.get_subcommands().filter(|command| !command.is_hide_set())
}

const MADE: &str = "<!-- Made by `sonde reference` from the definitions of the options: change those. -->\n";

fn index(whole: &Command) -> String {
    let mut text = format!("# sonde: reference\n{MADE}\n{}\n\n| command | |\n|---|---|\n", long_about(whole));
    for command in shown(whole) {
        let name = command.get_name();
        let _ = writeln!(text, "| [`sonde {name}`]({name}.md) | {} |", cell(&about(command)));
    }
    text.push_str(&tables(whole, "##", true));
    let _ = write!(text, "\n```\n{}\n```\n", exit::TABLE);
    text
}

fn page(command: &Command) -> String {
    let name = command.get_name();
    let mut text = format!("# sonde {name}\n{MADE}\n");
    text.push_str(&body(command, "##", true));
    below(command, &format!("sonde {name}"), &mut text);
    text
}

/// The page of a command: its purpose, its usage and its options.
fn body(command: &Command, level: &str, everywhere: bool) -> String {
    let mut usage = command.clone();
    let mut text = format!("{}\n\n```\n{}\n```\n", long_about(command), usage.render_usage());
    text.push_str(&tables(command, level, everywhere));
    if let Some(after) = command.get_after_help() {
        let _ = write!(text, "\n```\n{}\n```\n", after.to_string().trim_end());
    }
    text
}

/// The commands of a command, and theirs, each whole but for what is taken everywhere.
fn below(command: &Command, path: &str, text: &mut String) {
    for command in shown(command).filter(|command| command.get_name() != "help") {
        let path = format!("{path} {}", command.get_name());
        let _ = write!(text, "\n## {path}\n\n{}", body(command, "###", false));
        below(command, &path, text);
    }
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

fn long_about(command: &Command) -> String {
    command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default()
}

/// Options that every command takes.
const EVERYWHERE: &str = "Everywhere";

/// A table for each heading, in the order of the definitions; `everywhere`: with what every command takes.
fn tables(command: &Command, level: &str, everywhere: bool) -> String {
    let mut headings: Vec<&str> = Vec::new();
    let arguments = || {
        let common = |argument: &Arg| {
            heading(argument) == EVERYWHERE || ["help", "version"].contains(&argument.get_id().as_str())
        };
        arguments(command).filter(move |argument| everywhere || !common(argument))
    };
    for argument in arguments() {
        if !headings.contains(&heading(argument)) {
            headings.push(heading(argument));
        }
    }
    let mut text = String::new();
    for title in headings {
        let _ = write!(text, "\n{level} {title}\n\n| | |\n|---|---|\n");
        for argument in arguments().filter(|a| heading(a) == title) {
            let _ = writeln!(text, "| `{}` | {} |", spelling(argument), cell(&meaning(argument)));
        }
    }
    text
}

fn arguments(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|argument| !argument.is_hide_set())
}

fn heading(argument: &Arg) -> &str {
    argument.get_help_heading().unwrap_or(if argument.is_positional() { "Arguments" } else { "Options" })
}

fn spelling(argument: &Arg) -> String {
    let short = argument.get_short().map(|letter| format!("-{letter}"));
    let long = argument.get_long().map(|name| format!("--{name}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let value = if argument.get_action().takes_values() {
        argument.get_value_names().map(|names| names.iter().map(|n| n.to_uppercase()).collect::<Vec<_>>().join(" "))
    } else {
        None
    };
    [names.join(", "), value.unwrap_or_default()].join(" ").trim().to_owned()
}

fn meaning(argument: &Arg) -> String {
    let mut text = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    if argument.get_action().takes_values() {
        for default in argument.get_default_values() {
            let _ = write!(text, " [default: {}]", default.to_string_lossy());
        }
    }
    if let Some(name) = argument.get_env() {
        let _ = write!(text, " [environment: {}]", name.to_string_lossy());
    }
    text
}

/// A text that fits a cell of a table.
fn cell(text: &str) -> String {
    text.split("\n\n").map(|part| part.replace('\n', " ")).collect::<Vec<_>>().join("<br>").replace('|', "\\|")
}
