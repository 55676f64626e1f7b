//! Logins to databases: a user, and a password from a file or from the environment alone.

use std::fs;
use std::os::unix::fs::MetadataExt;

use protocol::application::login::{Login, Password};

use super::{ApplicationOptions, Whom, read};
use crate::failure::Failure;
use crate::system::variable;

/// The words of a database's own clients for a login.
pub struct LoginWords {
    scheme: &'static str,
    /// Names of variables of the environment.
    user: Option<&'static str>,
    password: &'static str,
}

pub const POSTGRES: LoginWords = LoginWords { scheme: "postgres", user: Some("PGUSER"), password: "PGPASSWORD" };
pub const MYSQL: LoginWords = LoginWords { scheme: "mysql", user: None, password: "MYSQL_PWD" };

impl ApplicationOptions {
    /// The note on a password that other users of this host can read in its file; absent where they cannot.
    pub fn note_on_password(&self) -> Option<String> {
        let path = self.password_file.as_deref()?;
        // A pipe has a mode too, and is read by whoever holds its end.
        let facts = fs::metadata(path).ok().filter(|facts| facts.is_file() && facts.mode() & 0o077 != 0)?;
        let (name, mode) = (path.display().to_string(), facts.mode() & 0o777);
        let word = report::shell::word(&name);
        Some(format!(
            "note: {name}: other users of this host can read this password (mode {mode:o}); chmod 600 {word}\n"
        ))
    }

    /// The login to a database, of which `target` is the path of the URL.
    pub fn login(&self, whom: &Whom, target: &str, of: &LoginWords) -> Result<Login, Failure> {
        let database = target.trim_start_matches('/');
        if database.contains(['/', '?', '\0']) {
            return Err(Failure::usage(format!("{target} is not a database"))
                .hint(format!("write {0}://USER@HOST/DATABASE, or {0}+tls:// for TLS", of.scheme)));
        }
        let file = self.password_file.as_deref().map(|path| read(path, "--password-file")).transpose()?;
        let word = match file {
            Some(octets) => {
                let word = String::from_utf8(octets).map_err(|_| Failure::usage("--password-file: is not text"))?;
                Some(word.trim_end_matches(['\r', '\n']).to_owned())
            }
            None => variable(of.password),
        };
        let user = whom.url.as_ref().and_then(|url| url.user.clone());
        let user = user.or_else(|| of.user.and_then(variable)).or_else(|| variable("USER"));
        let user = user.filter(|user| !user.is_empty() && !user.contains('\0'));
        Ok(Login {
            user: user.ok_or_else(|| {
                Failure::usage("who logs in is not said").hint(format!("write {}://USER@HOST", of.scheme))
            })?,
            database: (!database.is_empty()).then(|| database.to_owned()),
            password: word.map(Password::new),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use test_case::test_case;

    use super::*;

    #[test_case(0o644, Some("(mode 644); chmod 600 "); "anybody")]
    #[test_case(0o640, Some("(mode 640); chmod 600 "); "a group")]
    #[test_case(0o600, None; "nobody else")]
    fn who_can_read_a_password_is_said(mode: u32, told: Option<&str>) {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
        let options =
            ApplicationOptions { password_file: Some(file.path().to_owned()), ..ApplicationOptions::default() };
        let note = options.note_on_password();
        assert_eq!(note.is_some(), told.is_some());
        assert!(note.is_none_or(|note| note.contains(told.unwrap_or_default())));
        assert_eq!(ApplicationOptions::default().note_on_password(), None);
    }
}
