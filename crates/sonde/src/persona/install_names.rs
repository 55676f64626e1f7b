//! `sonde install-names`: links by which this binary is called as the programs whose part it plays.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use crate::persona;

const EXAMPLES: &str = "\
Examples:
  sonde install-names ~/bin              ping, netperf, iperf3 and the others in a folder of your PATH
  sudo sonde install-names /usr/local/bin
";

/// Options of `sonde install-names`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct InstallNamesOptions {
    /// Folder for the links; other files there are not changed
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Its line in the list of commands.
pub fn about() -> String {
    let names: Vec<&str> = linked().collect();
    let names = names.join(", ");
    let (first, last) = names.rsplit_once(", ").unwrap_or(("", &names));
    format!("Create links to this program named {first} and {last}")
}

/// The names of the links.
fn linked() -> impl Iterator<Item = &'static str> {
    persona::ALL.iter().filter(|persona| persona.linked).map(|persona| persona.name)
}

/// File at the place of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Free,
    Ours,
}

/// Makes the links that are not there, and says so.
///
/// # Errors
/// No such folder; something else of that name in it, before any link is made; what the system says.
pub fn run(options: &InstallNamesOptions, output: &Output) -> Result<Exit, Failure> {
    let folder = &options.folder;
    if !folder.is_dir() {
        let name = folder.display();
        return Err(Failure::usage(format!("{name}: is not a folder")).hint("make it first").about(name.to_string()));
    }
    let binary = std::env::current_exe()
        .and_then(|path| path.canonicalize())
        .map_err(|error| Failure::usage(format!("cannot tell where this binary lies: {error}")))?;
    let places: Vec<PathBuf> = linked().map(|name| folder.join(name)).collect();
    let found: Vec<Place> = places.iter().map(|path| look(path, &binary)).collect::<Result<_, _>>()?;
    for (path, found) in places.iter().zip(found) {
        if found == Place::Free {
            link(&binary, path)?;
        }
        let since = if found == Place::Free { "now" } else { "already" };
        output.result(&format!("{} is a link to {} {since}\n", path.display(), binary.display()));
    }
    Ok(Exit::Done)
}

fn look(path: &Path, binary: &Path) -> Result<Place, Failure> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Place::Free),
        Err(error) => Err(Failure::usage(format!("{}: cannot look: {error}", path.display()))),
        Ok(_) if path.canonicalize().is_ok_and(|there| there == binary) => Ok(Place::Ours),
        Ok(_) => Err(Failure::usage(format!("{}: is something else, and is left alone", path.display()))
            .hint("remove it first, or choose another folder; no link was made")
            .about(path.display().to_string())),
    }
}

fn link(binary: &Path, path: &Path) -> Result<(), Failure> {
    symlink(binary, path).map_err(|error| {
        Failure::usage(format!("{}: cannot make the link: {error}", path.display())).about(path.display().to_string())
    })
}
