//! The way to a database: its address, whose password stays unsaid, and what goes wrong on the way.

use std::error::Error;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use postgres::config::Host;
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};

use crate::environment::variable;
use crate::store::Purpose;
use crate::store::error::Fault;

/// Longest wait for a connection to be made, and to be found broken.
const PATIENCE: Duration = Duration::from_secs(15);
/// The port where none is named.
const PORT: u16 = 5432;
/// Begin of a session of ours: the longest wait for others, and the longest query.
const SESSION: &str = "SET lock_timeout = '30s'; SET statement_timeout = '10min'; SET client_min_messages = 'warning'";
/// Table of the session into which rows come, and from which they are put into place.
const COMING: &str = "CREATE TEMPORARY TABLE coming (at bigint NOT NULL, cell bigint NOT NULL, span bytea NOT NULL)";

/// Returns true where `named` is the address of a database, and no file.
pub fn is_address(named: &str) -> bool {
    named.starts_with("postgres://") || named.starts_with("postgresql://")
}

/// An address as it is read, and as it is told: without a password, which may stand in `PGPASSWORD` or a file (`PGPASSFILE`, else `~/.pgpass`) too.
pub fn described(address: &str) -> Result<(Config, String), Fault> {
    // The library reports a faulty address without the address itself.
    let mut config: Config =
        address.parse().map_err(|cause| Fault::Unclear(format!("no address of a database: {cause}")))?;
    config.connect_timeout(PATIENCE).tcp_user_timeout(PATIENCE);
    config.keepalives_idle(PATIENCE).keepalives_interval(PATIENCE / 3).keepalives_retries(3);
    if config.get_application_name().is_none() {
        config.application_name("sonde-monitor");
    }
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        // Where Debian's and most servers have their socket.
        config.host_path("/var/run/postgresql");
    }
    let place = told(&config);
    if config.get_password().is_none()
        && let Some(password) = password(&config)?
    {
        config.password(password);
    }
    Ok((config, place))
}

/// An address without a password.
fn told(config: &Config) -> String {
    let user = config.get_user().map_or_else(String::new, |user| format!("{user}@"));
    let host = host(config);
    let port =
        config.get_ports().first().filter(|port| **port != PORT).map_or_else(String::new, |port| format!(":{port}"));
    format!("postgres://{user}{host}{port}/{}", config.get_dbname().unwrap_or_default())
}

fn host(config: &Config) -> String {
    match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(path)) => path.display().to_string(),
        None => config.get_hostaddrs().first().map_or_else(String::new, ToString::to_string),
    }
}

/// The password that the environment names.
fn password(config: &Config) -> Result<Option<String>, Fault> {
    if let Some(password) = variable("PGPASSWORD") {
        return Ok(Some(password));
    }
    let named = variable("PGPASSFILE").map(PathBuf::from);
    let usual = || variable("HOME").map(|home| Path::new(&home).join(".pgpass"));
    let Some(path) = named.or_else(usual).filter(|path| path.exists()) else { return Ok(None) };
    let refused = |why: String| Fault::Refused(format!("password file {}: {why}", path.display()));
    let others = std::fs::metadata(&path).map_err(|cause| refused(cause.to_string()))?.permissions().mode() & 0o077;
    if others != 0 {
        return Err(refused("others may read it; take that right away (chmod 600)".to_owned()));
    }
    let text = std::fs::read_to_string(&path).map_err(|cause| refused(cause.to_string()))?;
    let port = config.get_ports().first().copied().unwrap_or(PORT).to_string();
    let user = config.get_user().map(str::to_owned).or_else(|| variable("USER")).unwrap_or_default();
    let database = config.get_dbname().unwrap_or(&user);
    // A socket's folder stands there as `localhost`, as libpq has it.
    let host = match config.get_hosts().first() {
        Some(Host::Unix(_)) => "localhost".to_owned(),
        _ => host(config),
    };
    Ok(looked_up(&text, [&host, &port, database, &user]))
}

/// The password of the first line of a password file that fits: `host:port:database:user:password`, where `*` fits all and `\` stands before a colon.
fn looked_up(text: &str, wanted: [&str; 4]) -> Option<String> {
    let fits = |line: &&str| {
        let fields = fields(line);
        fields.len() == 5 && fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted)
    };
    text.lines().filter(|line| !line.starts_with('#')).find(fits).and_then(|line| fields(line).pop())
}

/// The five fields of a line; in the last one a colon is a letter like others.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let is_last = fields.len() == 5;
        match letter {
            ':' if !is_last => fields.push(String::new()),
            other => {
                let letter = if other == '\\' { letters.next().unwrap_or('\\') } else { other };
                if let Some(field) = fields.last_mut() {
                    field.push(letter);
                }
            }
        }
    }
    fields
}

/// A session, ready for use.
pub fn connected(config: &Config, purpose: Purpose) -> Result<Client, Fault> {
    let mut client = config.connect(NoTls).map_err(|error| of_connecting(&error))?;
    client.batch_execute(SESSION)?;
    if purpose == Purpose::Keep {
        client.batch_execute(COMING)?;
    }
    Ok(client)
}

/// Reason for which no connection was made.
fn of_connecting(error: &postgres::Error) -> Fault {
    match error.as_db_error() {
        Some(_) => of_engine(error),
        None if source(error).contains("TLS") => {
            Fault::Refused("it wants TLS, which is not built in: reach it by a Unix socket or a tunnel".to_owned())
        }
        None if error.to_string().contains("password") => Fault::Refused(source(error)),
        None => Fault::Away(source(error)),
    }
}

/// An error with its causes.
fn source(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let words = next.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = next.source();
    }
    text
}

/// Returns true where the connection failed, and not the query over it.
fn is_broken(error: &postgres::Error) -> bool {
    let mut cause = error.source();
    while let Some(next) = cause {
        if next.is::<std::io::Error>() {
            return true;
        }
        cause = next.source();
    }
    error.is_closed()
}

/// Error of the engine, as one of ours.
fn of_engine(error: &postgres::Error) -> Fault {
    let Some(told) = error.as_db_error() else {
        return if is_broken(error) { Fault::Away(source(error)) } else { Fault::Engine(source(error)) };
    };
    let (code, text) = (told.code(), told.message().to_owned());
    match code {
        _ if *code == SqlState::DISK_FULL || text.contains("No space left") => Fault::Full,
        _ if *code == SqlState::LOCK_NOT_AVAILABLE
            || *code == SqlState::QUERY_CANCELED
            || *code == SqlState::T_R_DEADLOCK_DETECTED
            || *code == SqlState::T_R_SERIALIZATION_FAILURE =>
        {
            Fault::Locked
        }
        _ if *code == SqlState::READ_ONLY_SQL_TRANSACTION => Fault::ReadOnly,
        _ if code.code().starts_with("XX0") => Fault::Damaged { what: "the database".to_owned(), why: text },
        // Shut down, started up, too many sessions, out of memory.
        _ if ["57P", "53", "08"].iter().any(|class| code.code().starts_with(class)) => Fault::Away(text),
        _ if code.code().starts_with("28")
            || *code == SqlState::INVALID_CATALOG_NAME
            || *code == SqlState::INSUFFICIENT_PRIVILEGE =>
        {
            Fault::Refused(text)
        }
        _ => Fault::Engine(format!("{text} ({})", code.code())),
    }
}

impl From<postgres::Error> for Fault {
    fn from(error: postgres::Error) -> Self {
        of_engine(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_without_its_password() {
        let (config, place) = described("postgres://ada:se%3Acret@db.example:5433/team?sslmode=disable").unwrap();
        assert_eq!(place, "postgres://ada@db.example:5433/team");
        assert_eq!(config.get_password(), Some("se:cret".as_bytes()));
        let told = described("postgres://ada:secret@db:port/team").unwrap_err().to_string();
        assert!(!told.contains("secret"), "{told}");
        let (_, place) = described("postgres://ada:x@/team?host=/run/pg").unwrap();
        assert_eq!(place, "postgres://ada@/run/pg/team");
    }

    #[test]
    fn a_password_file_is_read_as_libpq_reads_it() {
        let text = "# ours\nother:5432:*:ada:no\ndb:5432:te\\:am:ada:first:with\\\\colon\n*:*:*:*:any\nshort:line\n";
        assert_eq!(looked_up(text, ["db", "5432", "te:am", "ada"]).as_deref(), Some("first:with\\colon"));
        assert_eq!(looked_up(text, ["db", "5433", "te:am", "ada"]).as_deref(), Some("any"));
        assert_eq!(looked_up("db:5432:a:b:c", ["db", "5432", "a", "x"]), None);
    }

    #[test]
    fn a_name_of_a_file_is_no_address() {
        assert!(is_address("postgres://db/x") && is_address("postgresql:///x"));
        assert!(!is_address("monitor.db") && !is_address("/var/lib/postgres"));
    }
}
