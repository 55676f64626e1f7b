//! A login at a database: user, database and password.

use std::fmt;

/// A login: user, database and password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The user; PostgreSQL calls it a role.
    pub user: String,
    /// The database; absent: that of the user's name at PostgreSQL, none at MySQL.
    pub database: Option<String>,
    /// Its proof, where there is one.
    pub password: Option<Password>,
}

/// A password, which no text shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// The password `word`.
    pub fn new(word: String) -> Self {
        Self(word)
    }

    /// Its octets, for a proof.
    pub(in crate::application) fn octets(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}
