//! Options that refine the question to programs at work: each is passed on to the URLs whose protocol knows it.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use crate::way::Way;

/// Schemes whose connections go through TLS.
const TLS: &[&str] = &[
    "https",
    "h2",
    "h3",
    "h2pings",
    "grpcs",
    "wss",
    "rediss",
    "mqtts",
    "dns+tls",
    "dns+https",
    "postgres+tls",
    "postgresql+tls",
    "mysql+tls",
    "mariadb+tls",
];
/// Schemes of requests of HTTP.
const HTTP: &[&str] = &["http", "https", "h2c", "h2", "h3"];
/// Schemes that take header fields.
const FIELDS: &[&str] = &["http", "https", "h2c", "h2", "h3", "ws", "wss"];
/// Schemes that log in.
const LOGIN: &[&str] =
    &["postgres", "postgresql", "mysql", "mariadb", "postgres+tls", "postgresql+tls", "mysql+tls", "mariadb+tls"];

/// The options of `sonde rtt` by the same names.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Programs by URL")]
pub struct Refining {
    /// TLS: a file with the certificates to trust, in PEM [default: those that this host trusts]
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// TLS: the name that the certificate must be for, where the URL has another
    #[arg(long, value_name = "NAME")]
    pub tls_name: Option<String>,
    /// TLS: do not verify certificates
    #[arg(long, conflicts_with = "ca")]
    pub insecure: bool,
    /// PostgreSQL, MySQL: a file with the password
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// HTTP, WebSocket: a file with header fields, one `Name: value` on each line
    #[arg(long, value_name = "FILE")]
    pub headers: Option<PathBuf>,
    /// HTTP: status codes that count as answered, as in 2xx or 200,404; others count as refused
    #[arg(long, value_name = "STATUSES")]
    pub expect: Option<String>,
}

/// An option as it is passed on, and the schemes that know it.
type Given = (&'static str, Option<OsString>, &'static [&'static str]);

impl Refining {
    fn given(&self) -> Vec<Given> {
        let file = |file: &Option<PathBuf>| file.as_ref().map(|file| Some(file.clone().into_os_string()));
        let text = |text: &Option<String>| text.as_ref().map(|text| Some(text.into()));
        let all = [
            ("--ca", file(&self.ca), TLS),
            ("--tls-name", text(&self.tls_name), TLS),
            ("--insecure", self.insecure.then_some(None), TLS),
            ("--password-file", file(&self.password_file), LOGIN),
            ("--headers", file(&self.headers), FIELDS),
            ("--expect", text(&self.expect), HTTP),
        ];
        all.into_iter().filter_map(|(option, value, schemes)| Some((option, value?, schemes))).collect()
    }

    /// The words for the question to `way`.
    pub fn words(&self, way: &Way) -> Vec<OsString> {
        let scheme = way.word().to_ascii_lowercase();
        let known = self.given().into_iter().filter(|(_, _, schemes)| schemes.contains(&scheme.as_str()));
        known.flat_map(|(option, value, _)| std::iter::once(option.into()).chain(value)).collect()
    }

    /// Refuses an option that none of `hosts` knows: it would look as if it was followed.
    ///
    /// # Errors
    /// There is one.
    pub fn check(&self, hosts: &[String]) -> Result<()> {
        let ways: Vec<Way> = hosts.iter().filter_map(|host| Way::of_url(host)).collect();
        for (option, _, schemes) in self.given() {
            if !ways.iter().any(|way| schemes.contains(&way.word().to_ascii_lowercase().as_str())) {
                bail!("{option} is for URLs that begin with one of {}, and none was given", schemes.join(", "));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_goes_to_those_who_know_it_and_is_refused_where_nobody_does() {
        let refining = Refining { insecure: true, expect: Some("2xx".to_owned()), ..Refining::default() };
        let words = |url| refining.words(&Way::of_url(url).unwrap());
        assert_eq!(words("https://api/"), ["--insecure", "--expect", "2xx"]);
        assert_eq!(words("http://api/"), ["--expect", "2xx"]);
        assert_eq!(words("rediss://db1"), ["--insecure"]);
        assert_eq!(words("redis://db1"), [""; 0]);
        assert!(refining.check(&["db1".to_owned(), "HTTPS://api".to_owned()]).is_ok());
        let refused = refining.check(&["db1".to_owned(), "http://api".to_owned()]).unwrap_err();
        assert!(refused.to_string().starts_with("--insecure is for URLs"), "{refused}");
    }
}
