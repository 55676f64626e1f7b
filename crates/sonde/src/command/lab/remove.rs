//! `sonde lab down` and `sonde lab clean`.

use clap::Args;
use lab::network;
use lab::transport::ssh::sweep;
use measure::unit::Nanos;

use crate::command::lab::place::{self, failed};
use crate::command::value;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

/// Options of `sonde lab down`.
#[derive(Debug, Args)]
pub struct DownOptions {
    /// The lab's name [default: the one there is]
    #[arg(value_name = "ID")]
    id: Option<String>,
}

/// Options of `sonde lab clean`.
#[derive(Debug, Args)]
pub struct CleanOptions {
    /// Labs that stand are removed too where they are at least so old, as in 12h; 0 means all
    #[arg(long, value_name = "TIME", value_parser = value::time_or_none)]
    older_than: Option<Nanos>,
}

/// Removes one.
///
/// # Errors
/// No such lab; several where none was named; what could not be removed.
pub fn down(options: &DownOptions, output: &Output) -> Result<Exit, Failure> {
    let folder = place::folder()?;
    let id = options.id.clone().map_or_else(
        || {
            let names = folder.names().map_err(failed)?;
            match names.as_slice() {
                [one] => Ok(one.clone()),
                [] => Err(Failure::usage("no lab stands here").hint("`sonde lab up --hosts 3` makes one")),
                several => Err(Failure::usage(format!("several labs stand here: {}", several.join(", ")))
                    .hint("name the one that is meant; `sonde lab clean --older-than 0` removes all")),
            }
        },
        Ok,
    )?;
    network::down(&folder, &id).map_err(failed)?;
    output.note(&format!("lab {id}: removed\n"));
    Ok(Exit::Done)
}

/// Removes what was left, and what is old. All is tried; the first that stays is told.
///
/// # Errors
/// The first thing that could not be removed.
pub fn clean(options: &CleanOptions, output: &Output) -> Result<Exit, Failure> {
    sweep(&place::runtime());
    let cleaned = network::clean(&place::folder()?, options.older_than).map_err(failed)?;
    match cleaned.removed.as_slice() {
        [] => output.note("nothing was left to remove\n"),
        removed => output.note(&format!("removed: {}\n", removed.join(", "))),
    }
    let mut left = cleaned.left.into_iter().map(failed);
    let Some(first) = left.next() else { return Ok(Exit::Done) };
    left.for_each(|failure| output.complain(&failure));
    Err(first)
}
