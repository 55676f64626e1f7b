//! Login: the key is read, the password taken from the environment or asked for.

use logbook::whole;
use std::io::{self, BufRead, IsTerminal, Write};

use endpoint::peer::iperf3::client::Credentials;
use protocol::iperf3::code::Code;
use protocol::iperf3::login::{Padding, PublicKey};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::persona::answer::Answer;
use crate::persona::iperf3::options::{Client, usage};

/// Variable in which a password is looked for before it is asked for.
const VARIABLE: &str = "IPERF3_PASSWORD";

/// The credentials, where there is a login.
///
/// # Errors
/// A key that cannot be read or is none; no password.
pub fn credentials(client: &Client, pkcs1: bool) -> Result<Option<Credentials>, Answer> {
    let Some(login) = &client.login else { return Ok(None) };
    let refused = |why: String| usage::parameter_error(format!("{}: {why}", Code(22)));
    let path = login.key.display();
    let text = whole::text(&login.key, whole::BY_HAND).map_err(|error| refused(format!("{path}: {error}")))?;
    let key = PublicKey::from_pem(&text).map_err(|error| refused(format!("{path}: {error}")))?;
    let password = match from_environment() {
        Some(password) => password,
        None => ask().map_err(|error| refused(format!("no password ({VARIABLE} is not set): {error}")))?,
    };
    let padding = if pkcs1 { Padding::Pkcs1 } else { Padding::Oaep };
    Ok(Some(Credentials { user: login.user.clone(), password, key, padding }))
}

#[expect(clippy::disallowed_methods, reason = "sonde is the crate that reads the environment")]
fn from_environment() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

/// Asks on the terminal, which does not show what is typed.
fn ask() -> io::Result<String> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "there is no terminal to ask at"));
    }
    let shown = tcgetattr(&stdin)?;
    let mut hidden = shown.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    anstream::stderr().write_all(b"Password: ")?;
    tcsetattr(&stdin, OptionalActions::Flush, &hidden)?;
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    tcsetattr(&stdin, OptionalActions::Flush, &shown)?;
    anstream::stderr().write_all(b"\n")?;
    read?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}
