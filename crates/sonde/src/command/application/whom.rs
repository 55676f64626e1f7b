//! The far side as it is typed: `db1`, or `redis://db1:6379`.

use std::str::FromStr;

use protocol::application::{self, ALL, Protocol};

use crate::command::value::Far;
use crate::masking;

/// The far side as it is typed: a host, or a URL that says what is spoken there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whom {
    /// The host.
    pub far: Far,
    /// Protocol and target, of a URL.
    pub url: Option<Url>,
}

/// The part of a URL that is not its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// The protocol of the scheme.
    pub protocol: &'static Protocol,
    /// The name that stands before the host, where one does.
    pub user: Option<String>,
    /// Path and query as they were written; empty where nothing was.
    pub target: String,
}

impl FromStr for Whom {
    type Err = String;

    /// `db1`, `db1:7663`, or `redis://db1:6379/…`.
    fn from_str(text: &str) -> Result<Self, String> {
        let Some((scheme, rest)) = text.split_once("://") else { return Ok(Self { far: text.parse()?, url: None }) };
        let protocol = application::of(&scheme.to_ascii_lowercase()).ok_or_else(|| {
            format!("begins with {scheme}://, which sonde does not speak. It speaks {}", schemes().join(", "))
        })?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (host, target) = rest.split_at(end);
        let (user, host) = host.rsplit_once('@').map_or((None, host), |(user, host)| (Some(user), host));
        if user.is_some_and(|user| user.contains(':')) || masking::password(rest).is_some() {
            return Err("has a password, which everybody on this host can read there: use --password-file".into());
        }
        let target = target.split('#').next().unwrap_or_default().to_owned();
        Ok(Self { far: host.parse()?, url: Some(Url { protocol, user: user.map(str::to_owned), target }) })
    }
}

fn schemes() -> Vec<String> {
    ALL.iter().flat_map(|protocol| protocol.schemes).map(|scheme| format!("{scheme}://")).collect()
}

/// The host as its URL has it: an IPv6 address in brackets, and a port where it is not the usual one.
pub fn host_field(far: &Far, usual: u16) -> String {
    let address = far.host.split('%').next().unwrap_or_default();
    let host = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
    match far.port.filter(|port| *port != usual) {
        Some(port) => format!("{host}:{port}"),
        None => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_written_as_its_url_has_it() {
        let host = |text: &str| host_field(&text.parse().unwrap(), 80);
        assert_eq!(
            ["db1", "db1:80", "db1:81", "[fe80::1%eth0]:81"].map(host),
            ["db1", "db1", "db1:81", "[fe80::1]:81"]
        );
    }
}
