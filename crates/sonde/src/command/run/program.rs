//! This very program, as it is put onto hosts.

use lab::transport::Program;

use crate::failure::Failure;

/// Its file and its checksum.
///
/// # Errors
/// A file that cannot be read any more.
pub fn own() -> Result<Program, Failure> {
    let cannot = |error: std::io::Error| {
        Failure::usage(format!("cannot read this program to give it to hosts: {error}"))
            .hint("it was replaced or removed while it runs: start it again")
    };
    let path = std::env::current_exe().map_err(cannot)?;
    let octets = std::fs::read(&path).map_err(cannot)?;
    Ok(Program { path, sha256: protocol::checksum::sha256(&octets) })
}
