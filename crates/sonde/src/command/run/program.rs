//! This very program, as it is put onto hosts.

use lab::own;
use lab::transport::Program;
use lab::transport::program::stripped;

use crate::failure::Failure;

/// Its file, and where it `is_sent` to other machines what of it they need, with the checksum of that.
///
/// # Errors
/// A file that cannot be read any more.
pub fn own(is_sent: bool) -> Result<Program, Failure> {
    let cannot = |error: std::io::Error| {
        Failure::usage(format!("cannot read this program to give it to hosts: {error}"))
            .hint("it was replaced or removed while it runs: start it again")
    };
    let path = std::env::current_exe().map_err(cannot)?;
    if !is_sent {
        return Ok(Program::new(path, &[], ""));
    }
    // The file that the kernel runs is read, for the one of that name may be another by now.
    let octets = stripped(&std::fs::read(own::PROGRAM).map_err(cannot)?);
    let sha256 = protocol::checksum::sha256(&octets);
    Ok(Program::new(path, &octets, sha256))
}
