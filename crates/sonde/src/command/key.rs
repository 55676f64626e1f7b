//! `sonde key`: a new pre-shared key, 256 random bits in a file that only its owner reads.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use protocol::native::key::Key;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;

const EXAMPLES: &str = "\
Examples:
  sonde key fleet.key                          create it once
  scp fleet.key db1:                           copy it to the peer over a trusted connection
  sonde serve --key fleet.key                  there
  sonde rtt db1 --key fleet.key                here (or SONDE_KEY_FILE=fleet.key)
";

/// What `sonde key` takes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct KeyOptions {
    /// The file to create; an existing file is never overwritten
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Makes the key.
///
/// # Errors
/// A file that exists or cannot be made; no random bits.
pub fn run(options: &KeyOptions, output: &Output) -> Result<Exit, Failure> {
    let file = &options.file;
    let bits = random_bits().map_err(|error| Failure::usage(format!("/dev/urandom: cannot draw a key: {error}")))?;
    write_new(file, &format!("{}\n", Key(bits).to_text())).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::usage(format!("{}: exists already", file.display()))
            .hint("a key in use is never overwritten: choose another name, or remove the file first")
            .about(file.display().to_string()),
        _ => Failure::usage(format!("{}: cannot make the key file: {error}", file.display()))
            .about(file.display().to_string()),
    })?;
    output.note(&format!("{}: a new key of 256 bits, readable by you alone\n", file.display()));
    Ok(Exit::Done)
}

/// 256 bits of the system's random source.
///
/// # Errors
/// What the system says.
pub fn random_bits() -> io::Result<[u8; 32]> {
    let mut bits = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut bits)?;
    Ok(bits)
}

/// Writes a file that was not there; a half-written one does not stay.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // What could not be written whole is no key; that it cannot be removed either adds nothing to the error.
        let _ = std::fs::remove_file(path);
    }
    written
}
