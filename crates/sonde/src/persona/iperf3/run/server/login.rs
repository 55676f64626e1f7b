//! Login at a server: its key and its users are read.

use logbook::whole;
use protocol::iperf3::code::Code;
use protocol::iperf3::login::{Login, Padding, PrivateKey, Users};

use crate::persona::answer::Answer;
use crate::persona::iperf3::options::{ServerLogin, usage};

/// The login of these options.
///
/// # Errors
/// A file that cannot be read, or is not what it should be.
pub fn read(asked: &ServerLogin, pkcs1: bool) -> Result<Login, Answer> {
    let text =
        |path: &std::path::Path| whole::text(path, whole::BY_HAND).map_err(|error| refused(path, &error.to_string()));
    let key = PrivateKey::from_pem(&text(&asked.key)?).map_err(|error| refused(&asked.key, &error.to_string()))?;
    let users = Users::read(&text(&asked.users)?).map_err(|error| refused(&asked.users, &error.to_string()))?;
    let padding = if pkcs1 { Padding::Pkcs1 } else { Padding::Oaep };
    Ok(Login { key, users, skew_s: asked.skew_s, padding })
}

fn refused(path: &std::path::Path, why: &str) -> Answer {
    usage::parameter_error(format!("{}: {}: {why}", Code(23), path.display()))
}
