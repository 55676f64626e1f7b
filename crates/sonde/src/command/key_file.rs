//! Reading a pre-shared key from its file.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use protocol::native::key::Key;
use protocol::stamp::key::Key as StampKey;

use crate::failure::Failure;
use crate::output::Output;

/// The key in the file at `path`. That others can read it is worth a note, no refusal: mounted secrets often are so.
///
/// # Errors
/// A file that cannot be read, or holds no key. No error repeats what the file holds.
pub fn read(path: &Path, output: &Output) -> Result<Key, Failure> {
    let (name, text) = text(path, "`sonde key FILE` makes one", output)?;
    Key::parse(&text)
        .map_err(|fault| Failure::usage(format!("{name}: {fault}")).hint("create one: `sonde key FILE`").about(&name))
}

/// The key of STAMP's authenticated packets in the file at `path`, likewise.
///
/// # Errors
/// As [`read`].
pub fn read_stamp(path: &Path, output: &Output) -> Result<StampKey, Failure> {
    const HINT: &str = "create one: `sonde key FILE` or `openssl rand -hex 32 > FILE`";
    let (name, text) = text(path, HINT, output)?;
    StampKey::parse(&text).map_err(|fault| Failure::usage(format!("{name}: {fault}")).hint(HINT).about(&name))
}

/// The file's name and what it holds.
fn text(path: &Path, hint: &str, output: &Output) -> Result<(String, String), Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("{name}: cannot read the key: {error}")).hint(hint).about(&name))?;
    let open_to_others = std::fs::metadata(path).is_ok_and(|facts| facts.permissions().mode() & 0o077 != 0);
    if open_to_others {
        output.note(&format!("note: {name} can be read by others: chmod 600 {name}\n"));
    }
    Ok((name, text))
}
